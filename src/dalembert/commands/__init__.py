"""Commands of the command line, a module each; `cli` registers them. Exit codes: 0 done, or one of these."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..warning import SimulationWarning

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each `SimulationWarning` on the standard error once, without a place in the code."""
    with warnings.catch_warnings():
        other = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, SimulationWarning):
                print(f"dalembert: warning: {message}", file=sys.stderr, flush=True)
            else:
                other(message, category, *where, **more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
