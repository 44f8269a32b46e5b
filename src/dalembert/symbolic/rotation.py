"""Orientations as nodes: rotation matrices, row by row, from what a user may write, and angular velocities from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Node, dot
from .variables import Variables

Rotation = list[Node]  # nine


def rotation_of(what: str, orientation: Any, variables: Variables) -> Rotation:
    """From a 3 × 3 matrix, a quaternion (w, x, y, z), or (axis, angle), of which quaternion and axis need not be of unit
    length. Raises TypeError or ValueError that begin with `what`.
    """
    shape = getattr(orientation, "shape", None)
    if shape == (3, 3):
        entries = list(orientation) if not isinstance(orientation, np.ndarray) else orientation.ravel().tolist()
        return [variables.read(f"{what}, entry {k} of its matrix", entry) for k, entry in enumerate(entries)]
    if isinstance(orientation, str) or not hasattr(orientation, "__len__"):
        raise TypeError(f"{what} is {orientation!r}; give a matrix, a quaternion, or (axis, angle)")
    if len(orientation) == 4:
        return _of_quaternion(
            [variables.read(f"{what}, {name}", q) for name, q in zip("wxyz", orientation, strict=True)]
        )
    if len(orientation) == 2 and hasattr(orientation[0], "__len__") and len(orientation[0]) == 3:
        axis = [variables.read(f"{what}, axis", a) for a in orientation[0]]
        return _of_angle(axis, variables.read(f"{what}, angle", orientation[1]))
    raise ValueError(f"{what} is {orientation!r}; give a 3 × 3 matrix, a quaternion (w, x, y, z), or (axis, angle)")


def _of_quaternion(q: Sequence[Node]) -> Rotation:
    """1 + 2 (w [r]× + [r]×²)/|q|², r = (x, y, z)."""
    w, x, y, z = q
    s = 2.0 / dot(q, q)
    return [
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    ]  # fmt: skip


def _of_angle(axis: Sequence[Node], angle: Node) -> Rotation:
    """Rodrigues: cos φ 1 + sin φ [n]× + (1 − cos φ) n nᵀ."""
    call = angle.graph.call
    length = call("sqrt", dot(axis, axis))
    x, y, z = (a / length for a in axis)
    c, s = call("cos", angle), call("sin", angle)
    rest = 1.0 - c
    return [
        c + rest * x * x, rest * x * y - s * z, rest * x * z + s * y,
        rest * x * y + s * z, c + rest * y * y, rest * y * z - s * x,
        rest * x * z - s * y, rest * y * z + s * x, c + rest * z * z,
    ]  # fmt: skip


def angular_velocity(rotation: Rotation, rate: Rotation) -> list[Node]:
    """ω, from [ω]× = Ṙ Rᵀ."""
    rows = [rotation[3 * k : 3 * k + 3] for k in range(3)]
    rates = [rate[3 * k : 3 * k + 3] for k in range(3)]
    return [dot(rates[2], rows[1]), dot(rates[0], rows[2]), dot(rates[1], rows[0])]
