"""Types of numeric arguments, for type checkers. Unlike NumPy's ArrayLike they exclude text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray


class SupportsArray(Protocol):
    """An array, or what becomes one: of NumPy, xarray, pandas."""

    def __array__(self, *args: Any, **keywords: Any) -> NDArray[Any]: ...  # noqa: D105


Array: TypeAlias = NDArray[np.float64]
"""What functions of users get."""
Number: TypeAlias = "float | np.floating[Any] | np.integer[Any] | np.bool_"
VectorLike: TypeAlias = "Sequence[Number] | NDArray[Any] | SupportsArray"
"""Numbers in a row, such as a point (x, y, z)."""
MatrixLike: TypeAlias = "Sequence[VectorLike] | NDArray[Any] | SupportsArray"
"""Rows of numbers, such as points."""
NumbersLike: TypeAlias = "Number | VectorLike | MatrixLike | Sequence[MatrixLike]"
"""One number, or an array of any shape."""
