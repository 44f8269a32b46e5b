"""Motions that are set between the steps of a run, and the check whether a run supports motions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.arrays import VectorLike
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import (
    COMMAND_KEYFRAMES,
    COMMAND_SET,
    LEDGER,
    PROJECTION,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    System,
)
from ..scene.checks import finite, real_array, unit_quaternion
from ..scene.motion import FASTEST
from .initial_conditions import ledger_size
from .registry import positive
from .state import Named, name_of

SAVED = (
    "begin",
    "end",
    "from_x",
    "from_q",
    "set_v",
    "set_omega",
    "after_v",
    "after_omega",
)  # of COMMAND, in a checkpoint
OF_BODY, OF_COORDINATE = ("position", "orientation", "velocity", "angular_velocity"), ("value", "speed")


def name_of_command(model: Model, row: Any) -> str:
    """The name of the body or joint that a row of COMMAND moves."""
    return model.force_names[int(row["entry"])]


class Motions:
    """The part of `Simulation` about motions that are set between steps."""

    model: Model
    _system: System
    _driver: Stepper
    _mechanism: Any
    _close_joints: Callable[[], None]
    _take_change: Callable[[], None]
    _totals: Callable[[], np.ndarray]
    _y: np.ndarray
    time: Any
    settings: dict[str, Any]
    _changed_by_hand: Callable[[str], None]
    changed: Callable[[], None]

    def set_motion(
        self, name: str | Named, *, position: VectorLike | None = None, orientation: VectorLike | None = None,
        velocity: VectorLike | None = None, angular_velocity: VectorLike | None = None, value: float | None = None,
        speed: float | None = None, over: float | None = None,
    ) -> None:  # fmt: skip
        """Set the motion of a kinematic body, or of a prescribed coordinate, from now on. Its motion must be "set".

        position (3,) m, orientation (w, x, y, z), of a body; value (rad or m) of a coordinate: it moves there at
        constant speed in `over` s (a whole number of steps; default: one), and stops in the step after that. Contacts
        and joints act with the velocity of this motion. velocity (3,) m/s, angular_velocity (3,) rad/s; speed (rad/s or
        m/s): they stay constant until they are set again.

        Velocities jump when a motion is set, so this needs method "time_stepping". Raises ValueError for an unknown
        name, a motion that is not "set", non-finite values, and other methods.
        """
        name = name_of(name, self.model.scene)
        commands, own = self._system.commands, f"motion of {name!r:.80}"
        found = [row for row in commands if name_of_command(self.model, row) == name]
        if not found:
            known = ", ".join(name_of_command(self.model, row) for row in commands) or "none"
            raise ValueError(f"set_motion: {name!r:.80} has no prescribed motion; these have one: {known}")
        row = found[0]
        if row.kind != COMMAND_SET:
            what = "keyframes" if row.kind == COMMAND_KEYFRAMES else "a function of time"
            raise ValueError(f"{own} is {what}; only motions 'set' can be set between steps")
        self._require_jumps(own, row)
        given = {"position": position, "orientation": orientation, "velocity": velocity,
                 "angular_velocity": angular_velocity, "value": value, "speed": speed}  # fmt: skip
        asked = {key for key, each in given.items() if each is not None}
        taken = OF_BODY if row.body >= 0 else OF_COORDINATE
        to, rates = asked & {taken[0], taken[1] if row.body >= 0 else ""}, asked & set(taken[2:] or taken[1:])
        if not asked or asked - set(taken) or (to and rates) or (over is not None and not to):
            raise ValueError(
                f"{own} is given {', '.join(sorted(asked)) or 'nothing'}{' and over' if over is not None else ''}; it takes "
                + ("position and orientation, in `over` s, or velocity and angular_velocity" if row.body >= 0
                   else "value, in `over` s, or speed")
            )  # fmt: skip
        if to and self._driver.bodies is None:
            raise ValueError(
                f"{own} is given a {min(to)} to reach, at which its velocity jumps again; with events give velocity and "
                "angular_velocity, or use method='time_stepping'"
            )
        new = self._moved(own, row, given, over)
        with self._jolted(row):
            row.from_x, row.from_q, row.begin = self._now(row)[0], self._now(row)[1], float(self.time)
            row.set_v, row.set_omega, row.end = new
        self._changed_by_hand(own)
        if self._driver.bodies is None:
            self.changed()

    @contextmanager
    def _jolted(self, row: Any) -> Iterator[None]:
        """A context in which a motion is set. Joints pass its jump of velocity on at once, as an impulse: velocities change
        by the least change in the metric of the masses. The energy that this adds is the work of the drive, and the
        momenta are those of its reaction."""
        name, joints = name_of_command(self.model, row), self.model.scene.joints.values()
        joined = row.body < 0 or any(name in (joint.a.name, joint.b.name) for joint in joints)
        if not joined or self._system.settings[0].hold != PROJECTION:
            yield
            return
        before, size = self._totals(), ledger_size(self.model)
        kept = self._y[-size:].copy()
        yield
        row.after_v, row.after_omega = row.set_v, row.set_omega
        if self.model.tree is not None:
            self._mechanism.forget()
        self._close_joints()
        self._y[-size:] = kept
        change, common = self._totals() - before, self._y[-len(LEDGER) :]
        self._y[len(self._y) - size + int(row.entry)] += change[0]
        common[REACTION_IMPULSE : REACTION_IMPULSE + 3] += change[1:4]
        common[REACTION_TORQUE : REACTION_TORQUE + 3] += change[4:7]
        self._take_change()

    def _require_jumps(self, own: str, row: Any) -> None:
        """Raises ValueError where the velocity of a motion may not jump. Time steps take all jumps; by events contacts do."""
        scene, name = self.model.scene, name_of_command(self.model, row)
        if self._driver.bodies is not None or (
            scene.touching()
            and row.body >= 0
            and not any(name in (joint.a.name, joint.b.name) for joint in scene.joints.values())
        ):
            return
        raise ValueError(
            f"{own}: its velocity jumps when it is set, but method {self.settings['method']!r} supports smooth "
            "motions only, except for bodies without joints; give a function of time or Keyframes, or use "
            "method='time_stepping'"
        )

    def _now(self, row: Any) -> tuple[np.ndarray, np.ndarray]:
        """Where a set motion is: position or (value, 0, 0), and quaternion."""
        moved = min(max(float(self.time), row.begin), row.end) - row.begin
        turn = np.asarray(row.set_omega) * moved
        return np.asarray(row.from_x) + moved * np.asarray(row.set_v), rotated(np.asarray(row.from_q), turn)

    def _moved(self, own: str, row: Any, given: dict[str, Any], over: float | None) -> tuple[Any, Any, float]:
        """Velocity, angular velocity, and the time at which they end."""
        x, q = self._now(row)
        v, omega, end = np.zeros(3), np.zeros(3), np.inf
        if given["position"] is not None or given["orientation"] is not None or given["value"] is not None:
            dt = float(self.settings["dt"])
            duration = dt if over is None else dt * max(1, round(positive(f"{own}: over", over, "s") / dt))
            end = float(self.time) + duration
            target = x
            if given["position"] is not None:
                target = real_array(own, "position", given["position"], (3,))
            if given["value"] is not None:
                target = np.array([finite(own, "value", given["value"]), 0.0, 0.0])
            v = (target - x) / duration
            if given["orientation"] is not None:
                omega = turn_between(q, np.array(unit_quaternion(own, "orientation", given["orientation"]))) / duration
        else:
            if given["velocity"] is not None:
                v = real_array(own, "velocity", given["velocity"], (3,))
            if given["angular_velocity"] is not None:
                omega = real_array(own, "angular_velocity", given["angular_velocity"], (3,))
            if given["speed"] is not None:
                v = np.array([finite(own, "speed", given["speed"]), 0.0, 0.0])
        fastest = max(float(np.linalg.norm(v)), float(np.linalg.norm(omega)))
        if fastest > FASTEST:
            raise ValueError(
                f"{own}: it would move at {fastest:.3g} m/s or rad/s, more than {FASTEST:g}; give it more time by `over`"
            )
        return v, omega, end


def rotated(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """A quaternion turned by a rotation vector, world axes."""
    half = 0.5 * float(np.linalg.norm(turn))
    w, v = np.cos(half), 0.5 * np.sinc(half / np.pi) * turn
    found = np.concatenate([[w * q[0] - v @ q[1:]], w * q[1:] + q[0] * v + np.cross(v, q[1:])])
    return np.asarray(found / np.linalg.norm(found))


def turn_between(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The rotation vector, world axes, of the shorter turn from quaternion q to p."""
    w, v = float(p @ q), -p[0] * q[1:] + q[0] * p[1:] - np.cross(p[1:], q[1:])
    if w < 0.0:
        w, v = -w, -v
    size = float(np.linalg.norm(v))
    return np.asarray(2.0 * v if size < 1e-12 else 2.0 * np.arctan2(size, w) / size * v)


def require_no_motions(model: Model) -> None:
    """Raises ValueError for a model with motions, naming what moves, and the way out: generalized coordinates take none."""
    commands = model.tables["commands"]
    if len(commands):
        raise ValueError(
            f"{name_of_command(model, commands[0])!r} has a prescribed motion, which generalized coordinates do not support; "
            "use coordinates='maximal' or 'joint', or make the coordinates depend on time"
        )
