"""Values of USD attributes, and what they are refused with."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd


class Told:
    """Puts the prim before the message of a ValueError."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValueError) and not str(error).startswith(self.where.split(":")[0]):
            raise ValueError(f"{self.where}{error}") from None


def value(attribute: Any, default: Any) -> Any:
    """The value of an attribute at the earliest time; the default where it has none."""
    found = attribute.Get(Usd.TimeCode.EarliestTime()) if attribute else None
    return default if found is None else found


def quaternion(q: Any) -> tuple[float, float, float, float]:
    """A quaternion of USD, made unit in double precision."""
    parts = np.array([q.GetReal(), *q.GetImaginary()], float)
    w, x, y, z = (parts / np.linalg.norm(parts)).tolist()
    return w, x, y, z


def short(number: Any) -> float:
    """A number that a file keeps in float32 as the shortest decimal that it may have been: 9.81, not 9.8100004."""
    return float(str(np.float32(number)))
