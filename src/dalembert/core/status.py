"""Status codes of kernels, and warnings.

A status is 0 for success, a small positive code of the driver, or a code of at least `PASSED_THROUGH` from the system's
derivative or completion, which is passed on unchanged.

Codes below `ENDS_RUN` say that the system could not be evaluated at one state. An adaptive method rejects the trial
step and makes a shorter one. Codes from `ENDS_RUN` on do not depend on the state, and end the run at once.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

OK = 0
EVENT = 1
STEP_UNDERFLOW = 2
NON_FINITE = 3
MAX_STEPS = 4
PASSED_THROUGH = 100
ENDS_RUN = 200

MESSAGES = {
    OK: "reached the end",
    EVENT: "stopped at an event",
    STEP_UNDERFLOW: "the step became too small for the requested tolerance: the problem is stiff or discontinuous here; "
    "increase rtol or atol, or make the discontinuity an event",
    NON_FINITE: "the state or its derivative became infinite or not a number",
    MAX_STEPS: "the largest number of steps was reached before the end: increase max_steps or rtol",
}


# Exceptions and limits ------------------------------------------------------------------------------------------------


class NoSolution(RuntimeError):
    """The equations of contact were not solved: impulses of an impact or of a step, or forces of resting contacts."""


LARGEST = 1e100  # SI units: the largest number of a record, whose squares can still be added up


# Warnings -------------------------------------------------------------------------------------------------------------

_PACKAGE = str(Path(__file__).parents[1])


class SimulationWarning(UserWarning):
    """A warning about input that is probably a mistake, or about a doubtful result.

    Filter it like any Python warning: ``warnings.simplefilter("error", dal.SimulationWarning)`` turns each one into an
    exception. Warnings of a run are also listed in ``run.report.warnings``.
    """


def warn(message: str) -> None:
    """Issue a SimulationWarning that points at the caller's line outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, SimulationWarning, stacklevel=level)
