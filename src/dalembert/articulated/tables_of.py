"""The tables of a `Tree` and of a `Reduced` mechanism inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import nested_reader, reader
from ..linalg.ordering import COLUMN as LOOP_COLUMN
from ..linalg.ordering import ENTRY, UPDATE
from ..model.tree_tables import COLUMN, FREEDOM, MOTION, NODE, Tree
from .tables import CARRY, CLOSURE, END, FRONT, PRODUCT, REDUCED, Reduced

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
fronts_of = reader(Reduced, "fronts", FRONT)
carries_of = reader(Reduced, "carries", CARRY)
products_of = reader(Reduced, "products", PRODUCT)
ends_of = reader(Reduced, "ends", END)
closures_of = reader(Reduced, "closures", CLOSURE)
loop_columns_of = reader(Reduced, "columns", LOOP_COLUMN)
entries_of = reader(Reduced, "entries", ENTRY)
entry_carries_of = reader(Reduced, "entry_carries", np.int64)
updates_of = reader(Reduced, "updates", UPDATE)
values_of = reader(Reduced, "values")
lower_of = reader(Reduced, "lower")
sizes_of = reader(Reduced, "sizes")
free_of = reader(Reduced, "free")
kept_of = reader(Reduced, "kept", np.int64)
resistance_of = reader(Reduced, "resistance")
wanted_of = reader(Reduced, "wanted")
residual_of = reader(Reduced, "residual")
change_of = reader(Reduced, "change")
