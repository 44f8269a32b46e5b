"""The tables of a `Tree` inside compiled code; see `addresses`."""

from ..addresses import reader
from .tables import COLUMN, FREEDOM, MOTION, NODE, Tree

nodes_of = reader(Tree, "nodes", NODE)
freedoms_of = reader(Tree, "freedoms", FREEDOM)
motion_of = reader(Tree, "motion", MOTION)
columns_of = reader(Tree, "columns", COLUMN)
matrix_of = reader(Tree, "matrix")
efforts_of = reader(Tree, "efforts")
rates_of = reader(Tree, "rates")
scratch_of = reader(Tree, "scratch")
