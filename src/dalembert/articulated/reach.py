"""Inverse kinematics: coordinates that bring points of bodies where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..scene.checks import positive, real_array, unit_quaternion

Vector = NDArray[np.float64]
ITERATIONS = 200
FIRST_DAMPING = 1e-3  # of the largest square in JᵀJ


class Reaching:
    """The part of `Articulation` about inverse kinematics."""

    speeds: tuple[str, ...]
    pose: Callable[..., tuple[Vector, Vector]]
    jacobian: Callable[..., Vector]
    displaced: Callable[..., Vector]

    def inverse_kinematics(
        self, start: ArrayLike, targets: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]], *,
        points: Mapping[str, ArrayLike] | None = None, tolerance: float = 1e-9,
    ) -> Vector:  # fmt: skip
        """Coordinates near `start` that bring bodies or links to their targets.

        targets : name → position (3,) m, world, of the centre of mass or of `points[name]` (body frame); or (position,
            quaternion (w, x, y, z), body → world); of a position None only the orientation counts.
        tolerance : m and rad.

        By Levenberg's and Marquardt's method on displacements along the speeds. Raises ValueError where no coordinates near
        by do it, telling how near it came.
        """
        limit = positive("inverse kinematics", "tolerance", tolerance, "m, rad")
        wanted = [self._target(name, target, points or {}) for name, target in targets.items()]
        u = np.array(start, float)
        error, jacobian = self._miss(u, wanted)
        damping = FIRST_DAMPING
        for _ in range(ITERATIONS):
            if np.abs(error).max(initial=0.0) <= limit:
                return u
            square = jacobian.T @ jacobian
            size = max(float(np.diag(square).max(initial=0.0)), 1e-12)
            change = np.linalg.solve(square + damping * size * np.eye(len(square)), jacobian.T @ error)
            tried = self.displaced(u, change)
            left, next_jacobian = self._miss(tried, wanted)
            if left @ left < error @ error:
                u, error, jacobian, damping = tried, left, next_jacobian, max(0.2 * damping, 1e-15)
            elif damping > 1e12:
                break
            else:
                damping *= 5.0
        raise ValueError(
            f"inverse kinematics: no coordinates near the start reach {', '.join(targets)}; the nearest miss is "
            f"{np.abs(error).max():.3g}; try another start, or a target within reach"
        )

    def _target(self, name: str, target: Any, points: Mapping[str, ArrayLike]) -> tuple[str, Any, Any, Vector]:
        from scipy.spatial.transform import Rotation  # here and below, as it is slow to load

        place, orientation = target if isinstance(target, tuple) and len(target) == 2 else (target, None)
        point = real_array(name, "point", points.get(name, (0.0, 0.0, 0.0)), (3,))
        position = None if place is None else real_array(name, "target", place, (3,))
        turned = None
        if orientation is not None:
            w, x, y, z = unit_quaternion(name, "target orientation", orientation)
            turned = Rotation.from_quat([x, y, z, w])
        if position is None and turned is None:
            raise ValueError(f"target of {name!r}: neither position nor orientation is given")
        return name, position, turned, point

    def _miss(self, u: Vector, wanted: list[tuple[str, Any, Any, Vector]]) -> tuple[Vector, Vector]:
        """What is missing to the targets (m, rad), and how displacements along the speeds make it up."""
        from scipy.spatial.transform import Rotation

        errors, rows = [np.zeros(0)], [np.zeros((0, len(self.speeds)))]
        for name, position, turned, point in wanted:
            x, rotation = self.pose(u, name)
            jacobian = self.jacobian(u, name, point)
            if position is not None:
                errors.append(position - x - rotation @ point)
                rows.append(jacobian[:3])
            if turned is not None:
                errors.append((turned * Rotation.from_matrix(rotation).inv()).as_rotvec())
                rows.append(jacobian[3:])
        return np.concatenate(errors), np.concatenate(rows)
