"""The tables of a `Stepping` inside compiled code; see `addresses`."""

from ..addresses import reader
from .tables import BOUND, OPTIONS, REPORT, Stepping

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
targets_of = reader(Stepping, "targets")
joint_impulses_of = reader(Stepping, "joint_impulses")
change_of = reader(Stepping, "change")
rates_of = reader(Stepping, "rates")
ticks_of = reader(Stepping, "ticks")
