"""The tables of a `TreeStepping` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from ..contact.tables import BOUND, OPTIONS, REPORT, SOFT
from .contact_tables import ROOT, TreeStepping

options_of = reader(TreeStepping, "options", OPTIONS)
report_of = reader(TreeStepping, "report", REPORT)
bounds_of = reader(TreeStepping, "bounds", BOUND)
roots_of = reader(TreeStepping, "roots", ROOT)
root_of_of = reader(TreeStepping, "root_of", np.int64)
soft_of = reader(TreeStepping, "soft", SOFT)
walls_of = reader(TreeStepping, "walls", np.int64)
saved_of = reader(TreeStepping, "saved")
slopes_of = reader(TreeStepping, "slopes")
mass_of = reader(TreeStepping, "mass")
factor_of = reader(TreeStepping, "factor")
before_of = reader(TreeStepping, "before")
loop_rates_of = reader(TreeStepping, "loop_rates")
free_of = reader(TreeStepping, "free")
after_of = reader(TreeStepping, "after")
pushed_of = reader(TreeStepping, "pushed")
shift_of = reader(TreeStepping, "shift")
jacobian_of = reader(TreeStepping, "jacobian")
response_of = reader(TreeStepping, "response")
spans_of = reader(TreeStepping, "spans", np.int64)
delassus_of = reader(TreeStepping, "delassus")
responses_of = reader(TreeStepping, "responses")
rates_before_of = reader(TreeStepping, "rates_before")
rates_free_of = reader(TreeStepping, "rates_free")
rates_of = reader(TreeStepping, "rates")
first_rates_of = reader(TreeStepping, "first_rates")
first_impulses_of = reader(TreeStepping, "first_impulses")
corrections_of = reader(TreeStepping, "corrections")
newton_matrix_of = reader(TreeStepping, "newton_matrix")
newton_pivots_of = reader(TreeStepping, "newton_pivots", np.int64)
newton_step_of = reader(TreeStepping, "newton_step")
newton_kept_of = reader(TreeStepping, "newton_kept")
ticks_of = reader(TreeStepping, "ticks")
