"""`GeneralizedCoordinates`: where the bodies of a scene are, as expressions in coordinates of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..scene.body import Body
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from .constraints import Constraints
from .differentiate import derivatives
from .generate import Generated
from .graph import Node, dot, needed
from .nearest import nearest, parts
from .placed import COMPILED
from .rotation import angular_velocity, rotation_of
from .variables import Variables

FIXED = 24  # numbers a body has in the generated output, before its Jacobian: x, R, drift (6), bias (6)
NOT_A_ROTATION = 1e-9


class GeneralizedCoordinates:
    """Coordinates u for a scene: ``Simulation(scene, coordinates=GeneralizedCoordinates(...))``.

    Parameters
    ----------
    scene : its joints hold by what the coordinates leave no other way; they are not constraints here.
    coordinates, velocities, time, constraints, nonholonomic, parameters : as those of `Lagrangian`.
    place : body, by name → the position of its centre of mass (m), world axes, or (position, orientation), as SymPy
        expressions in u and t. An orientation is a rotation matrix (3 × 3, from the body's frame to the world), a quaternion
        (w, x, y, z), or (axis, angle). Without one the body keeps that of the scene.
    start : coordinates near those at the start, which are found from the places of the bodies in the scene; else zeros.

    From x(u, t) and R(u, t) the code of v = J u̇ + drift and v̇ = J ü + bias is derived, with ω from Ṙ Rᵀ, so that

        Jᵀ M J ü = Jᵀ (Q − M bias − gyroscopic terms) + Gᵀ λ.

    Raises TypeError or ValueError, naming the body or symbol.
    """

    def __init__(
        self,
        scene: Scene,
        coordinates: Sequence[Any],
        place: Mapping[str, Any],
        *,
        velocities: Sequence[Any] | None = None,
        time: Any = None,
        constraints: Sequence[Any] = (),
        nonholonomic: Sequence[Any] = (),
        parameters: Mapping[Any, float] | None = None,
        start: Any = None,
    ) -> None:
        self.scene = scene
        self.variables = variables = Variables(coordinates, time, velocities, parameters)
        self.coordinates = tuple(variables.names)
        self.start = variables.numbers("start", start)
        self.bodies = list(scene.bodies.values())
        for name in place:
            if name not in scene.bodies:
                raise ValueError(f"place: there is no body {name!r}; there are {', '.join(scene.bodies) or 'none'}")
        nodes = []
        for body in self.bodies:
            if body.name not in place:
                raise ValueError(f"place: body {body.name!r} is missing; say where it is, in the coordinates")
            nodes += _motion(*_pose(body, place[body.name], variables), variables)
        self.rows = Constraints(variables, constraints, nonholonomic)
        nodes += self.rows.nodes()
        self.moving = variables.t in needed(
            nodes
        )  # whether they depend on time, so that what holds the bodies does work
        self.generated = Generated(nodes, variables.inputs)
        self.parameters = np.array(list(variables.parameters.values()))
        self._require_rotations()

    @property
    def compiled_parts(self) -> tuple[Any, ...]:
        """What a run takes, beside the generated code."""
        return (COMPILED,)

    @property
    def source(self) -> str:
        """The generated Python source."""
        return self.generated.source

    def evaluate(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """(bodies, 24 + 6 n): x, R (row by row), drift and bias of (x, turn), and the Jacobian of both."""
        n = len(self.coordinates)
        inputs = np.concatenate([self.variables.numbers("u", u), self.variables.numbers("v", v), self.parameters])
        found = self.generated(float(t), inputs)
        return found[: len(self.bodies) * (FIXED + 6 * n)].reshape(len(self.bodies), FIXED + 6 * n)

    def position(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 3): centres of mass, m."""
        return self.evaluate(u, None, t)[:, :3]

    def rotation(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 3, 3): from the frames of the bodies to the world."""
        return self.evaluate(u, None, t)[:, 3:12].reshape(-1, 3, 3)

    def jacobian(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6, n): J of (v, ω) = J u̇ + drift, world axes."""
        return self.evaluate(u, None, t)[:, FIXED:].reshape(len(self.bodies), 6, -1)

    def drift(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6): velocities at constant coordinates."""
        return self.evaluate(u, None, t)[:, 12:18]

    def bias(self, u: ArrayLike, v: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6): J̇ u̇ + what the drift changes by: accelerations at constant rates."""
        return self.evaluate(u, v, t)[:, 18:24]

    def mass_matrix(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(n, n): Jᵀ M J."""
        jacobian, rotations = self.jacobian(u, t), self.rotation(u, t)
        total = np.zeros((len(self.coordinates), len(self.coordinates)))
        for body, j, r in zip(self.bodies, jacobian, rotations, strict=True):
            total += body.mass * j[:3].T @ j[:3] + j[3:].T @ r @ body.inertia @ r.T @ j[3:]
        return total

    def nearest(self, y: ArrayLike, t: float = 0.0, near: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(u, u̇) of a state of the bodies, such as a row of ``run.trajectory.state``: those that bring them nearest, in the
        metric of the masses, found from the coordinates `near`, or `start`."""
        u = self.start if near is None else self.variables.numbers("near", near)
        states = parts(np.asarray(y, dtype=np.float64), len(self.bodies))
        return nearest(lambda at: self.evaluate(at, None, t), self.bodies, states, u)

    def _require_rotations(self) -> None:
        """Raises ValueError for a body whose orientation is no rotation, at the start or at other coordinates."""
        generator = np.random.default_rng(0)
        for spread in (0.0, 0.1, 0.5):
            u = self.start + spread * generator.normal(size=len(self.start))
            for body, r in zip(self.bodies, self.rotation(u, spread), strict=True):
                error = float(np.abs(r @ r.T - np.eye(3)).max())
                if not (error <= NOT_A_ROTATION and np.linalg.det(r) > 0.0):
                    raise ValueError(
                        f"place: the orientation of body {body.name!r} is not a rotation at {', '.join(self.coordinates)} = "
                        f"{u.tolist()}: R Rᵀ is off by {error:.3g}, det R = {np.linalg.det(r):.9g}"
                    )


def _pose(body: Body, place: Any, variables: Variables) -> tuple[list[Node], list[Node]]:
    what = f"place of body {body.name!r}"
    if isinstance(place, str) or not hasattr(place, "__len__") or len(place) not in (2, 3):
        raise TypeError(f"{what} is {place!r}; give (x, y, z), or ((x, y, z), orientation)")
    position, orientation = (place, rotation_matrix(body.orientation)) if len(place) == 3 else place
    if isinstance(position, str) or not hasattr(position, "__len__") or len(position) != 3:
        raise TypeError(f"{what}: its position is {position!r}; give three expressions")
    x = [variables.read(f"{what}, {axis}", value) for axis, value in zip("xyz", position, strict=True)]
    rotation = rotation_of(f"orientation of body {body.name!r}", orientation, variables)
    if set(variables.v) & set(needed([*x, *rotation])):
        raise ValueError(f"{what} has rates in it; it may depend on the coordinates and on time")
    return x, rotation


def _motion(x: list[Node], rotation: list[Node], variables: Variables) -> list[Node]:
    """What `FIXED` says, and J."""
    one = variables.graph.node(1.0)

    def velocities(direction: dict[Node, Node]) -> list[Node]:
        rates = derivatives([*x, *rotation], direction)
        return [*rates[:3], *angular_velocity(rotation, rates[3:])]

    columns = [velocities({u: one}) for u in variables.u]
    drift = velocities({variables.t: one})
    jacobian = [[column[k] for column in columns] for k in range(6)]
    moving = [dot(row, variables.v) + still for row, still in zip(jacobian, drift, strict=True)]
    bias = derivatives(moving, variables.motion)
    return [*x, *rotation, *drift, *bias, *(node for row in jacobian for node in row)]
