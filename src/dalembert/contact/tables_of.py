"""The tables of a `Stepping` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from .tables import BOUND, OPTIONS, REPORT, SOFT, Stepping

options_of = reader(Stepping, "options", OPTIONS)
report_of = reader(Stepping, "report", REPORT)
saved_of = reader(Stepping, "saved")
motion_of = reader(Stepping, "motion")
shift_of = reader(Stepping, "shift")
rows_of = reader(Stepping, "rows")
corrections_of = reader(Stepping, "corrections")
first_impulses_of = reader(Stepping, "first_impulses")
first_motion_of = reader(Stepping, "first_motion")
first_joint_impulses_of = reader(Stepping, "first_joint_impulses")
bounds_of = reader(Stepping, "bounds", BOUND)
soft_of = reader(Stepping, "soft", SOFT)
targets_of = reader(Stepping, "targets")
joint_impulses_of = reader(Stepping, "joint_impulses")
change_of = reader(Stepping, "change")
rates_of = reader(Stepping, "rates")
answer_of = reader(Stepping, "answer")
ticks_of = reader(Stepping, "ticks")
passes_of = reader(Stepping, "passes", np.int64)
waits_of = reader(Stepping, "waits", np.int64)
slow_of = reader(Stepping, "slow")
levels_of = reader(Stepping, "levels", np.int64)
queue_of = reader(Stepping, "queue", np.int64)
link_starts_of = reader(Stepping, "link_starts", np.int64)
link_ends_of = reader(Stepping, "link_ends", np.int64)
links_of = reader(Stepping, "links", np.int64)
own_rows_of = reader(Stepping, "own_rows")
own_system_of = reader(Stepping, "own_system")
standing_of = reader(Stepping, "standing")
kept_motion_of = reader(Stepping, "kept_motion")
kept_impulses_of = reader(Stepping, "kept_impulses")
