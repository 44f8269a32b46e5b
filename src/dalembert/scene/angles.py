"""Angles are in radians everywhere. `degrees` converts from degrees."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import MatrixLike, Number, NumbersLike, VectorLike
from .checks import array_of


@overload
def degrees(angle: Number) -> float: ...
@overload
def degrees(angle: VectorLike | MatrixLike) -> NDArray[np.float64]: ...
def degrees(angle: NumbersLike) -> Any:
    """Convert an angle, or an array of angles, from degrees to radians.

    Use it like a unit: ``upper=degrees(90)``. (`math.degrees` converts the other way, from radians to degrees.)

    Raises ValueError for values that are not numbers or not finite.

    >>> import dalembert as dal
    >>> round(dal.degrees(180), 9)
    3.141592654
    >>> dal.degrees([0.0, 90.0]).round(4).tolist()
    [0.0, 1.5708]
    """
    values = array_of(angle)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ValueError(f"degrees: the angle is {angle!r:.80}; give a finite number, or an array of them")
    found = np.radians(values.astype(np.float64))
    return float(found) if found.ndim == 0 else found
