"""The tables of a `Tree` and of a `Reduced` mechanism inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import nested_reader, reader
from ..model.tree_tables import COLUMN, FREEDOM, MOTION, NODE, Tree
from .tables import REDUCED, Reduced

nodes_of = reader(Tree, "nodes", NODE)
freedoms_of = reader(Tree, "freedoms", FREEDOM)
motion_of = reader(Tree, "motion", MOTION)
columns_of = reader(Tree, "columns", COLUMN)
matrix_of = reader(Tree, "matrix")
efforts_of = reader(Tree, "efforts")
rates_of = reader(Tree, "rates")
scratch_of = reader(Tree, "scratch")

options_of = reader(Reduced, "options", REDUCED)
tree_of = nested_reader(Reduced, "tree")
system_of = nested_reader(Reduced, "system")
node_of_row_of = reader(Reduced, "node_of_row", np.int64)
y_of = reader(Reduced, "y")
dydt_of = reader(Reduced, "dydt")
jacobian_of = reader(Reduced, "jacobian")
response_of = reader(Reduced, "response")
schur_of = reader(Reduced, "schur")
factor_of = reader(Reduced, "factor")
pivots_of = reader(Reduced, "pivots", np.int64)
wanted_of = reader(Reduced, "wanted")
residual_of = reader(Reduced, "residual")
change_of = reader(Reduced, "change")
