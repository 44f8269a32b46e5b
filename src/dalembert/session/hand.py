"""A hand that holds a point of a body: a damped spring to a target that may be moved between frames.

    f = k (target − p) − c ṗ at the point p of the body, and the torque −c_ω ω, so that what hangs from it comes to rest.

All of it is a force from outside: its work, of spring and damper together, is one entry of the ledger. The force is a load
of the scene whose row of the table of forces is written between frames; while the hand is empty the row is a field of no
strength, so that the run is the one without a hand, to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.tables import CUSTOM_FORCE, FIELD
from ..scene.checks import rotation_matrix

if TYPE_CHECKING:
    from ..simulate import Simulation

FREQUENCY = 12.0  # rad/s of what is held on the spring
DAMPING_RATIO = 0.7
MOST_STIFFNESS, MOST_DAMPING = (
    0.2,
    0.4,
)  # k λ h² and c λ h in fixed steps h, 1/λ the mass at the point


class Hand:
    """What holds a body, if anything does. `strength` multiplies the stiffness."""

    def __init__(self) -> None:
        self.body: str | None = None
        self.target = np.zeros(3)  # m, world axes
        self.strength = 1.0
        self.anchor = np.zeros(3)  # m, in the body's frame
        self._stiffness = self._damping = self._turning = 0.0
        self._row: Any = None

    def load(self, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[float, ...]:
        """Force (N) at the anchor and torque (N m) on the body; what `Scene.load` takes as its function."""
        arm = rotation_matrix(q) @ self.anchor
        force = self._stiffness * (self.target - x - arm) - self._damping * (v + np.cross(w, arm))
        return (*force, *(-self._turning * w))

    def point(self, run: Simulation) -> np.ndarray | None:
        """Where the point held is, (3,) m."""
        if self.body is None:
            return None
        i = run.state.index(self.body)
        return run.state.position[i] + rotation_matrix(run.state.orientation[i]) @ self.anchor

    def take(self, run: Simulation, row: int, body: str, point: np.ndarray) -> None:
        """Hold a body at a point (m, world axes); row : of the table of forces. Raises ValueError for no body."""
        if body not in run.model.body_names:
            raise ValueError(f"there is no body {body!r} to grab; bodies: {', '.join(run.model.body_names[:8])}")
        i = run.state.index(body)
        turn = rotation_matrix(run.state.orientation[i])
        self.body, self.target = body, np.array(point, float)
        self.anchor = turn.T @ (self.target - run.state.position[i])
        self._set_strength(run, i)
        self._row = run._system.forces[row]
        self._row.kind, self._row.active, self._row.a, self._row.anchor_a[:] = CUSTOM_FORCE, 1, i, self.anchor
        _predict(run, True)
        run.changed()

    def move(self, run: Simulation, target: np.ndarray) -> None:
        """Move the target (m) that the point held is drawn to."""
        self.target = np.array(target, float)
        if self.body is not None:
            run.changed()

    def let_go(self, run: Simulation) -> None:
        """Hold nothing."""
        if self.body is not None:
            self.body = None
            self._row.kind, self._row.active, self._row = FIELD, 0, None
            _predict(run, False)
            run.changed()

    def forget(self) -> None:
        """Hold nothing, where the tables of the run were made anew."""
        self.body = self._row = None

    def _set_strength(self, run: Simulation, i: int) -> None:
        """Stiffness for the mass of all that joints connect to the body, within what a fixed step is stable with."""
        scene = run.model.scene
        body = scene.bodies[run.model.body_names[i]]
        turned = np.cross(self.anchor, np.eye(3))
        mobility = np.eye(3) / body.mass + turned @ np.linalg.solve(body.inertia, turned.T)
        lightness = float(np.linalg.eigvalsh(mobility)[-1])
        mass = connected_mass(scene, body)
        step: Any = run.settings["dt"]
        k = self.strength * mass * FREQUENCY**2
        if step is not None:
            k = min(k, MOST_STIFFNESS / (lightness * step**2))
        c = 2.0 * DAMPING_RATIO * float(np.sqrt(k * mass))
        turning = 0.25 * c * float(np.linalg.eigvalsh(body.inertia)[-1]) / mass
        if step is not None:
            c = min(c, MOST_DAMPING / (lightness * step))
            turning = min(turning, MOST_DAMPING * float(np.linalg.eigvalsh(body.inertia)[0]) / step)
        self._stiffness, self._damping, self._turning = k, c, turning


def connected_mass(scene: Any, body: Any) -> float:
    """kg, of a body and of all that joints connect to it."""
    near: dict[Any, list[Any]] = {}
    for joint in scene.joints.values():
        ends = [end for end in joint.bodies if hasattr(end, "inertia")]
        for end in ends:
            near.setdefault(end, []).extend(ends)
    found, left = {body}, [body]
    while left:
        for other in near.get(left.pop(), ()):
            if other not in found:
                found.add(other)
                left.append(other)
    return float(sum(item.mass for item in found))


def _predict(run: Simulation, held: bool) -> None:
    """Time steps look twice at forces that may depend on velocities, which without a hand there may be none of."""
    bodies = run._driver.bodies
    if bodies is not None:
        bodies._tables.options.predict = int(held or (run._system.forces.kind != FIELD).any())
