"""The tables of a `Touching` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from .tables import OPTIONS, TOUCH, Touching

options_of = reader(Touching, "options", OPTIONS)
touches_of = reader(Touching, "touches", TOUCH)
sides_of = reader(Touching, "sides")
columns_of = reader(Touching, "columns")
matrix_of = reader(Touching, "matrix")
free_of = reader(Touching, "free")
system_of = reader(Touching, "system")
factor_of = reader(Touching, "factor")
right_of = reader(Touching, "right")
weight_of = reader(Touching, "weight")
unknown_of = reader(Touching, "unknown")
change_of = reader(Touching, "change")
rows_of = reader(Touching, "rows", np.int64)
pivots_of = reader(Touching, "pivots", np.int64)
shift_of = reader(Touching, "shift")
spare_of = reader(Touching, "spare")
