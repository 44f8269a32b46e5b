"""What the numbers, names and flags of a run must be. A message names the setting, its value, and what to give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MOST_STEPS_A_FRAME = 1e12  # weeks of computing


def positive(name: str, value: Any, unit: str) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and above zero."""
    number = _number(value)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number above zero ({unit})")
    return number


def not_negative(name: str, value: Any) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and not below zero."""
    number = _number(value)
    if not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number not below zero")
    return number


def _number(value: Any) -> float:
    """The value as a float; NaN for what is no number."""
    if isinstance(value, str | bytes | bool):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def require_kinds(names: dict[str, Any], flags: dict[str, Any]) -> None:
    """Raises ValueError for a name that is no text, and for a flag that is neither True nor False."""
    for name, value in names.items():
        if not (value is None or isinstance(value, str)):
            raise ValueError(f"{name} is {value!r:.80}; give a name")
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {value!r:.80}; give True or False")


def check_step(dt: Any, frames: float) -> None:
    """Raises ValueError for a fixed step that no run would ever get on with."""
    if dt is not None and positive("dt", dt, "s") * frames < 1.0 / MOST_STEPS_A_FRAME:
        raise ValueError(
            f"dt is {dt!r} s, and there would be {1.0 / (float(dt) * frames):.3g} steps from one frame to the next; give a "
            f"longer step, or more frames a second than {frames:g}"
        )


def whole(name: str, value: Any, most: int | None = None) -> int:
    """The value, a whole number from 1 to `most`. Raises ValueError."""
    if not (isinstance(value, int) and not isinstance(value, bool) and value >= 1 and (most is None or value <= most)):
        raise ValueError(
            f"{name} is {value!r:.80}; give a whole number {'of at least 1' if most is None else f'from 1 to {most}'}"
        )
    return value


def one_of(what: str, value: Any, names: Iterable[str], plural: str) -> str:
    """The value, one of the names. Raises ValueError that lists them."""
    known = list(names)
    if not isinstance(value, str):
        raise ValueError(f"{what} is {value!r:.80}; give a name, one of {', '.join(known)}")
    if value not in known:
        raise ValueError(f"unknown {what} {value!r:.80}; {plural} are {', '.join(known)}")
    return value
