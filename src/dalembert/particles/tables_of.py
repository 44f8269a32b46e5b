"""The tables of `Steps` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from ..linalg.conjugate_gradient import REPORT as SOLUTION
from ..linalg.ssor import HELD
from .tables import MEMORY, OPTIONS, REPORT, STAGE, TOUCH, Steps

options_of = reader(Steps, "options", OPTIONS)
stage_of = reader(Steps, "stage", STAGE)
report_of = reader(Steps, "report", REPORT)
touches_of = reader(Steps, "touches", TOUCH)
memory_of = reader(Steps, "memory", MEMORY)
active_of = reader(Steps, "active", np.int64)
touch_counts_of = reader(Steps, "touch_counts", np.int64)
pinned_of = reader(Steps, "pinned", np.int64)
start_of = reader(Steps, "start")
before_of = reader(Steps, "before")
aim_of = reader(Steps, "aim")
base_of = reader(Steps, "base")
place_of = reader(Steps, "place")
trial_of = reader(Steps, "trial")
forces_of = reader(Steps, "forces")
trial_forces_of = reader(Steps, "trial_forces")
power_of = reader(Steps, "power")
booked_of = reader(Steps, "booked")
gradient_of = reader(Steps, "gradient")
change_of = reader(Steps, "change")
moved_of = reader(Steps, "moved")
wanted_of = reader(Steps, "wanted")
inertia_of = reader(Steps, "inertia")
starts_of = reader(Steps, "starts", np.int64)
columns_of = reader(Steps, "columns", np.int32)
values_of = reader(Steps, "values")
rhs_of = reader(Steps, "rhs")
residual_of = reader(Steps, "residual")
direction_of = reader(Steps, "direction")
image_of = reader(Steps, "image")
scaled_of = reader(Steps, "scaled")
diagonal_of = reader(Steps, "diagonal")
d_of = reader(Steps, "d")
t_of = reader(Steps, "t")
g_of = reader(Steps, "g")
held_of = reader(Steps, "held", HELD)
solution_of = reader(Steps, "solution", SOLUTION)
spare_of = reader(Steps, "spare")
ticks_of = reader(Steps, "ticks")
