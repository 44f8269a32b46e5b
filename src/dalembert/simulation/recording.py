"""The recorder: frames of a run, and the trajectory made of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from ..contact.contact_point import NO_POINTS, as_seen
from ..contact.points import Owners, forces_on, listed_points, of_sleepers
from ..core.c_function import MEASURE
from ..core.status import LARGEST
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import (
    CONSTRAINT_WORK,
    FORCE_IMPULSE,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    TORQUE_IMPULSE,
)
from .contact_points import joined
from .trajectory import Trajectory

MOST_POINTS = 2_000_000  # contact points of a run: 150 MB
FURTHER_FRAMES = (
    "contact_force",
    "obstacle_contact_force",
    "contacts",
    "penetration",
    "contact_residual",
    "effort",
    "solver_iterations",
    "solver_residual",
    "joint_coordinate",
    "joint_speed",
)


def square(values: np.ndarray) -> float:
    """The sum of the squares of values (n,). Not `values @ values`: for large n that starts a thread of a BLAS library, which
    waits for more work without sleep, and takes a core from the threads of a step."""
    return float(np.einsum("i,i", values, values))


class Recorder:
    """Collects frames: state, angular velocities, energies, reactions, errors of the joints, and contacts.

    points : whether contact points are kept. Of a run with more than `MOST_POINTS` they are kept of every second frame, then
    of every fourth, and so on: `points_every`.
    """

    def __init__(self, model: Model, mechanism: Mechanism, points: bool = True) -> None:
        self.model, self.mechanism, self.system = model, mechanism, mechanism.system
        self.moving = bool(getattr(mechanism, "moving", False))  # coordinates of the user's that depend on time
        self.frames: dict[str, list[Any]] = {
            key: []
            for key in ("time", "state", "energies", "angular_velocity", "joint_error", "joint_velocity_error",
                        "reaction_force", "reaction_torque", "condition")
        }  # fmt: skip
        self._dydt = np.empty(model.size)
        self._firsts = np.array(model.graph.joints["row"], dtype=np.int64).reshape(-1)
        self._active = self.system.joints.active
        self.owners = Owners(model.scene)
        self.points_every, self._points, self._last_points = 1 if points else 0, 0, NO_POINTS
        self._judged, self._largest = (
            0,
            np.zeros(2),
        )  # frames, and the largest energies in them: see `integration_error`

    def record(self, time: float, y: np.ndarray, contact: dict[str, Any] | None = None) -> bool:
        """Keep one frame; `y` is read, and the workspace of the system is used. contact: what is known of contacts.

        Returns whether it was kept: a frame whose state or energies are not finite, or so large that sums over them are not,
        would make the whole record useless.
        """
        self.mechanism(MEASURE, time, y, self._dydt)
        numbers = (y, self.system.energies[:2], self.system.error, self.system.rates)
        if not all(square(part) < LARGEST or (np.abs(part) < LARGEST).all() for part in numbers):
            return False
        wrenches = self.system.wrenches.reshape(-1, 6)
        frames = self.frames
        frames["time"].append(time)
        frames["state"].append(y.copy())
        frames["energies"].append(self.system.energies[:2].copy())
        frames["angular_velocity"].append(self.system.kinematics.omega[: len(self.model.body_names)].copy())
        frames["joint_error"].append(self._worst(self.system.error))
        frames["joint_velocity_error"].append(self._worst(self.system.rates))
        frames["reaction_force"].append(wrenches[:, :3].copy())
        frames["reaction_torque"].append(wrenches[:, 3:].copy())
        frames["condition"].append(float(self.system.settings[0].condition))
        self.keep(contact or {})
        self._thin_points()
        return True

    def record_unknown(self, time: float, y: np.ndarray) -> None:
        """Keep the state alone, as the only frame of a run that failed at its start: what could not be measured is zero, and
        reactions are NaN."""
        joints, nothing = len(self.model.joint_names), np.zeros(len(self.model.joint_names))
        state = y if (np.abs(y) < LARGEST).all() else self.model.initial
        only = {
            "time": time, "state": state.copy(), "energies": np.zeros(2), "joint_error": nothing,
            "angular_velocity": np.zeros((len(self.model.body_names), 3)), "joint_velocity_error": nothing,
            "reaction_force": np.full((joints, 3), np.nan), "reaction_torque": np.full((joints, 3), np.nan),
            "condition": 1.0,
        }  # fmt: skip
        self.frames = {key: [value] for key, value in only.items()}

    def keep(self, values: dict[str, Any]) -> None:
        """Keep more of the frame that was recorded last; of every frame the same."""
        for key, value in values.items():
            self.frames.setdefault(key, []).append(value)

    def contact_frame(self, driver: Stepper) -> dict[str, Any]:
        """What a frame records of contact: that of the stepper, the forces on obstacles, and the contact points."""
        values, bodies, owners = driver.frame(), driver.bodies, self.owners
        if "contact_force" not in values:
            return values
        if bodies is None:
            points = listed_points(driver.contacts(self.model), owners)
            values |= {"obstacle_contact_force": forces_on(points, len(owners.names))[owners.bodies :]}
        else:
            points = values.pop("contact_points")
            points = self._with_sleepers(points, values, bodies.collision.asleep)
        self._last_points = points
        return values | ({"contact_points": points} if self.points_every else {})

    def go_on_from(self, before: Trajectory) -> None:
        """Take the contact points of the last frame of a run for those of the frame before the first."""
        if "contact_point_count" in before:
            points = before.recorded_points
            if points.names == self.owners.names:
                self._last_points = points.of_frame(len(before) - 1)

    def _with_sleepers(self, points: Any, values: dict[str, Any], asleep: np.ndarray) -> Any:
        """The points with those between bodies that sleep, which bear what they bore, and their forces added to `values`. Of
        bodies that fell asleep in this very step, `points` has them already."""
        found, count = of_sleepers(self._last_points, asleep, self.owners), len(self.owners.names)
        if not len(found):
            return points
        found = found[~np.isin(found["a"] * count + found["b"], points["a"] * count + points["b"])]
        if not len(found):
            return points
        forces, bodies = forces_on(found, len(self.owners.names)), self.owners.bodies
        values["contact_force"] = values["contact_force"] + forces[:bodies]
        if "obstacle_contact_force" in values:
            values["obstacle_contact_force"] = values["obstacle_contact_force"] + forces[bodies:]
        return np.concatenate([points, found])

    def _thin_points(self) -> None:
        """Count the points of the last frame; where there are too many, keep those of every second frame only."""
        kept = self.frames.get("contact_points")
        if kept is None:
            return
        if (len(kept) - 1) % self.points_every:
            kept[-1] = None
            return
        self._points += len(kept[-1])
        if self._points > MOST_POINTS:
            self.points_every *= 2
            kept[:] = [points if i % self.points_every == 0 else None for i, points in enumerate(kept)]
            self._points = sum(len(points) for points in kept if points is not None)

    def _worst(self, values: np.ndarray) -> np.ndarray:
        if not self._firsts.size:
            return np.zeros(len(self.model.joint_names))
        worst = np.maximum.reduceat(np.abs(values), self._firsts) * self._active
        tree = len(self.model.joint_names) - len(worst)  # whose joints cannot open
        return np.concatenate([worst, np.zeros(tree)]) if tree else worst

    def __len__(self) -> int:
        return len(self.frames["time"])

    def drop_from(self, time: float) -> None:
        """Forget frames at or after a time (they are recorded anew after an event changed the state)."""
        while len(self) and self.frames["time"][-1] >= time:
            for values in self.frames.values():
                values.pop()
            self._points = sum(len(p) for p in self.frames.get("contact_points", ()) if p is not None)

    def ledger(self) -> dict[str, np.ndarray]:
        """The audit, frame by frame; see `Trajectory` for the names and units."""
        return ledger(self.model, np.array(self.frames["state"]), np.array(self.frames["energies"]), self.moving)

    def integration_error(self) -> tuple[float, float]:
        """(the error of the energy in the last frame that the integration made, the largest energy so far: kinetic, potential
        since the start, or total at the start), J."""
        states, energies = self.frames["state"], self.frames["energies"]
        if self._judged > len(energies):
            self._judged, self._largest = 0, np.zeros(2)
        new = np.array(energies[self._judged :]).reshape(-1, 2) - [0.0, energies[0][1]]
        self._judged, self._largest = len(energies), np.abs(new).max(axis=0, initial=0.0).clip(self._largest)
        first, last = (unexplained_energy(self.model, states[i], energies[i]) for i in (0, -1))
        return float(last - first), max(*self._largest, abs(float(energies[0].sum())))

    def since(self, index: int) -> dict[str, Any]:
        """Times, ledger and contact points (as views draw them) of the frames from `index` on; residuals are counted from the
        first frame of all."""
        part = copy.copy(self)
        part.frames = {key: [values[0], *values[index:]] for key, values in self.frames.items()}
        found = {"time": np.array(part.frames["time"]), **part.ledger()}
        later: dict[str, Any] = {key: values[1:] for key, values in found.items()}
        if "contact_points" in self.frames:
            points = self.frames["contact_points"][index:]
            later["contact_points"] = [as_seen(NO_POINTS if p is None else p, self.owners.bodies) for p in points]
        return later

    def trajectory(self, attrs: dict[str, Any], coordinates: dict[str, str]) -> Trajectory:
        """Everything recorded so far as labelled arrays; coordinates: of joints, with their units."""
        model, joints = self.model, len(self.model.joint_names)
        count = len(self)
        variables = self.ledger()
        variables.update(
            time=np.array(self.frames["time"]),
            state=np.array(self.frames["state"]),
            angular_velocity=np.array(self.frames["angular_velocity"]),
            reaction_force=np.array(self.frames["reaction_force"]).reshape(count, joints, 3),
            reaction_torque=np.array(self.frames["reaction_torque"]).reshape(count, joints, 3),
            joint_error=np.array(self.frames["joint_error"]).reshape(count, joints),
            joint_velocity_error=np.array(self.frames["joint_velocity_error"]).reshape(count, joints),
        )
        variables.update({key: np.array(self.frames[key]) for key in FURTHER_FRAMES if key in self.frames})
        variables.update(joined(self.frames["contact_points"]) if "contact_points" in self.frames else {})
        return Trajectory.from_arrays(
            variables,
            bodies=list(model.body_names),
            obstacles=self.owners.names[self.owners.bodies :] if "contact_force" in self.frames else (),
            joints=list(model.joint_names),
            forces=list(model.force_names),
            coordinates=coordinates,
            attrs=attrs,
        )


# `balance` is the error of the energy: what it has become beside what physics did to it, E − E₀ − Σ W. Impacts, friction and
# dampers are forces, and their work is in W. Joints do no work and nothing projects bodies on their constraints, so that what
# these two did is error, whatever caused it: `constraint_work` and −`projection_loss` are two parts of `balance`, and what is
# left is the error of the integration. Only where the user's coordinates move with time do constraints work: `moving`.
def ledger(model: Model, state: np.ndarray, energies: np.ndarray, moving: bool = False) -> dict[str, np.ndarray]:
    """The audit of a run: from states (f, n) and energies (f, 2), J, of its frames. moving : whether constraints depend on
    time, so that their work is a drive's."""
    bodies = len(model.body_names)
    parts = state[:, : STATE_SIZE * bodies].reshape(len(state), bodies, STATE_SIZE)
    places, momenta = np.moveaxis(state[:, model.particle_block].reshape(len(state), 2, -1, 3), 1, 0)
    at = model.particle_block.stop + len(model.tables["coordinates"])
    common = state[:, at + len(model.force_names) :]
    work = state[:, at : at + len(model.force_names)]
    total = energies.sum(axis=1)
    momentum = parts[:, :, 7:10].sum(axis=1) + momenta.sum(axis=1)
    spin = (np.cross(parts[:, :, 0:3], parts[:, :, 7:10]) + parts[:, :, 10:13]).sum(axis=1)
    if model.particle_count:
        spin += np.array([np.cross(x, p).sum(axis=0) for x, p in zip(places, momenta, strict=True)])
    impulse = common[:, FORCE_IMPULSE : FORCE_IMPULSE + 3] + common[:, REACTION_IMPULSE : REACTION_IMPULSE + 3]
    turning = common[:, TORQUE_IMPULSE : TORQUE_IMPULSE + 3] + common[:, REACTION_TORQUE : REACTION_TORQUE + 3]
    earned = total - work_done(model, state)
    if moving:
        earned = earned - common[:, CONSTRAINT_WORK]
    assert common.shape[1] == len(LEDGER)
    found = {"particle_position": places, "particle_momentum": momenta} if model.particle_count else {}
    return {
        **found,
        "position": parts[:, :, 0:3],
        "orientation": parts[:, :, 3:7],
        "momentum": parts[:, :, 7:10],
        "angular_momentum": parts[:, :, 10:13],
        "kinetic": energies[:, 0],
        "potential": energies[:, 1],
        "work": work,
        "projection_loss": -common[:, PROJECTION_WORK],
        "constraint_work": common[:, CONSTRAINT_WORK],
        "balance": earned - earned[0],
        "linear_impulse_balance": (momentum - impulse) - (momentum - impulse)[0],
        "angular_impulse_balance": (spin - turning) - (spin - turning)[0],
    }


def unexplained_energy(model: Model, state: np.ndarray, energies: np.ndarray) -> np.ndarray:
    """The energy (J) less the work of forces and constraints and what projection changed, of states (..., n) and energies
    (..., 2): what it changes by is the error of the integration."""
    common = state[..., model.particle_block.stop + len(model.tables["coordinates"]) + len(model.force_names) :]
    held = common[..., CONSTRAINT_WORK] + common[..., PROJECTION_WORK]
    return np.asarray(energies.sum(axis=-1) - work_done(model, state) - held)


def work_done(model: Model, state: np.ndarray) -> np.ndarray:
    """Work of the forces since the start that no potential knows of, J, of states (..., n)."""
    at = model.particle_block.stop + len(model.tables["coordinates"])
    return state[..., at : at + len(model.force_names)].sum(axis=-1)


def as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
