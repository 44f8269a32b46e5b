"""The one category of warnings: what runs, but probably not as it was meant."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class SimulationWarning(UserWarning):
    """Input that runs but is probably a mistake, or a result that is doubtful.

    Filter it as any Python warning: ``warnings.simplefilter("error", dal.SimulationWarning)`` turns each into an exception.
    Warnings of a run are also listed in ``run.report.warnings``.
    """


def warn(message: str) -> None:
    """Issue a SimulationWarning that points at the caller's line outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, SimulationWarning, stacklevel=level)
