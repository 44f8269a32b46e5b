"""What is kept of a run, frame by frame, and the trajectory made of it."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from .listing import scene_listing
from .mechanics.evaluate import Mechanism
from .model.compile import Model
from .model.tables import (
    CONSTRAINT_WORK,
    FORCE_IMPULSE,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    TORQUE_IMPULSE,
)
from .pointer import MEASURE
from .scene.scene import Scene
from .trajectory import Trajectory

FURTHER_FRAMES = (
    "contact_force",
    "contacts",
    "penetration",
    "contact_residual",
    "effort",
    "solver_iterations",
    "solver_residual",
    "joint_coordinate",
    "joint_speed",
)


class Recorder:
    """Collects frames: the state, the energies, the reactions and the errors of the joints."""

    def __init__(self, model: Model, mechanism: Mechanism) -> None:
        self.model, self.mechanism, self.system = model, mechanism, mechanism.system
        self.frames: dict[str, list[Any]] = {
            key: []
            for key in ("time", "state", "energies", "joint_error", "joint_velocity_error", "reaction_force",
                        "reaction_torque", "condition")
        }  # fmt: skip
        self._dydt = np.empty(model.size)
        self._firsts = np.array(model.graph.joints["row"], dtype=np.int64).reshape(-1)
        self._active = self.system.joints.active

    def record(self, time: float, y: np.ndarray, contact: dict[str, Any] | None = None) -> None:
        """Keep one frame; `y` is read, and the workspace of the system is used. contact: what is known of contacts."""
        self.mechanism(MEASURE, time, y, self._dydt)
        wrenches = self.system.wrenches.reshape(-1, 6)
        frames = self.frames
        frames["time"].append(time)
        frames["state"].append(y.copy())
        frames["energies"].append(self.system.energies[:2].copy())
        frames["joint_error"].append(self._worst(self.system.error))
        frames["joint_velocity_error"].append(self._worst(self.system.rates))
        frames["reaction_force"].append(wrenches[:, :3].copy())
        frames["reaction_torque"].append(wrenches[:, 3:].copy())
        frames["condition"].append(float(self.system.settings[0].condition))
        self.keep(contact or {})

    def keep(self, values: dict[str, Any]) -> None:
        """Keep more of the frame that was recorded last; of every frame the same."""
        for key, value in values.items():
            self.frames.setdefault(key, []).append(value)

    def _worst(self, values: np.ndarray) -> np.ndarray:
        if not self._firsts.size:
            return np.zeros(len(self.model.joint_names))
        worst = np.maximum.reduceat(np.abs(values), self._firsts) * self._active
        return np.pad(worst, (0, len(self.model.joint_names) - len(worst)))  # joints of a tree cannot open

    def __len__(self) -> int:
        return len(self.frames["time"])

    def drop_from(self, time: float) -> None:
        """Forget frames at or after a time (they are recorded anew after an event changed the state)."""
        while len(self) and self.frames["time"][-1] >= time:
            for values in self.frames.values():
                values.pop()

    def ledger(self) -> dict[str, np.ndarray]:
        """The audit, frame by frame; see `Trajectory` for the names and units."""
        return ledger(self.model, np.array(self.frames["state"]), np.array(self.frames["energies"]))

    def since(self, index: int) -> dict[str, np.ndarray]:
        """Times and ledger of the frames from `index` on; residuals are counted from the first frame of all."""
        part = copy.copy(self)
        part.frames = {key: [values[0], *values[index:]] for key, values in self.frames.items()}
        found = {"time": np.array(part.frames["time"]), **part.ledger()}
        return {key: values[1:] for key, values in found.items()}

    def trajectory(self, attrs: dict[str, Any], coordinates: dict[str, str]) -> Trajectory:
        """Everything recorded so far as labelled arrays; coordinates: of joints, with their units."""
        model, joints = self.model, len(self.model.joint_names)
        count = len(self)
        variables = self.ledger()
        variables.update(
            time=np.array(self.frames["time"]),
            state=np.array(self.frames["state"]),
            reaction_force=np.array(self.frames["reaction_force"]).reshape(count, joints, 3),
            reaction_torque=np.array(self.frames["reaction_torque"]).reshape(count, joints, 3),
            joint_error=np.array(self.frames["joint_error"]).reshape(count, joints),
            joint_velocity_error=np.array(self.frames["joint_velocity_error"]).reshape(count, joints),
        )
        variables.update({key: np.array(self.frames[key]) for key in FURTHER_FRAMES if key in self.frames})
        return Trajectory.from_arrays(
            variables,
            bodies=list(model.body_names),
            joints=list(model.joint_names),
            forces=list(model.force_names),
            coordinates=coordinates,
            attrs=attrs,
        )


def ledger(model: Model, state: np.ndarray, energies: np.ndarray) -> dict[str, np.ndarray]:
    """The audit of a run: from states (f, n) and energies (f, 2), J, of its frames."""
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
    earned = total - work_spent(model, state)
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


def work_spent(model: Model, state: np.ndarray) -> np.ndarray:
    """Work since the start that no potential knows of, J, of states (..., n): of forces, constraints and projection."""
    at = model.particle_block.stop + len(model.tables["coordinates"])
    work, common = state[..., at : at + len(model.force_names)], state[..., at + len(model.force_names) :]
    return work.sum(axis=-1) + common[..., CONSTRAINT_WORK] + common[..., PROJECTION_WORK]


def scene_description(scene: Scene, released: dict[str, float]) -> dict[str, Any]:
    """The scene as plain data, for drawing and for the record: bodies and obstacles with their meshes, joints, springs,
    curves, and tables of everything to read.

    released: when joints or springs were let go (s).
    """
    from .scene.articulate import Link
    from .scene.body import Body
    from .scene.contact import HalfSpace
    from .scene.force import Force
    from .scene.particles import Particle
    from .scene.shape_dict import shape_to_dict

    def end(which: str, frame: Any, point: np.ndarray) -> dict[str, Any]:
        if isinstance(frame, Particle):
            return {f"particle_{which}": frame.number}
        anchor = frame.to_body(point) if isinstance(frame, Body) else point
        return {f"body_{which}": frame.name, f"anchor_{which}": anchor.tolist()}

    bodies = []
    for body in scene.bodies.values():
        vertices, faces = (
            body.shape.triangles() if body.shape is not None else (np.zeros((0, 3)), np.zeros((0, 3), int))
        )
        bodies.append(
            {"name": body.name, "mass": body.mass, "color": body.color, "center": body.center.tolist(),
             "shape": None if body.shape is None else shape_to_dict(body.shape),
             "vertices": np.round(vertices, 9).tolist(), "faces": faces.tolist()}
        )  # fmt: skip
    for obstacle in scene.obstacles.values():
        if isinstance(obstacle.shape, HalfSpace):
            continue
        vertices, faces = obstacle.shape.triangles()
        bodies.append(
            {"name": obstacle.name, "color": obstacle.color, "shape": shape_to_dict(obstacle.shape),
             "vertices": np.round(vertices, 9).tolist(), "faces": faces.tolist(),
             "position": obstacle.position.tolist(), "orientation": list(obstacle.orientation)}
        )  # fmt: skip
    joints: list[dict[str, Any]] = []
    for joint in scene.joints.values():
        if isinstance(joint.a, Link) or isinstance(joint.b, Link):
            continue  # what has no mass is not drawn
        first = joint.parts[0] if joint.parts else None
        row = {"name": joint.name, "kind": joint.kind,
               **end("a", joint.a, joint.at if first is None else first.point_a), **end("b", joint.b, joint.at)}  # fmt: skip
        if joint.axis is not None:
            row["axis_a"] = (joint.a.rotation.T @ joint.axis if isinstance(joint.a, Body) else joint.axis).tolist()
        joints.append(row)
    springs: list[dict[str, Any]] = [
        {"name": force.name, **end("a", force.a, force.at_a), **end("b", force.b, force.at_b)}
        for force in scene.forces.values()
        if isinstance(force, Force)
        and force.kind == "spring"
        and not isinstance(force.a, Link) | isinstance(force.b, Link)
    ]
    curves = [
        {"name": joint.name, "points": joint.curve.points().tolist()}
        for joint in scene.joints.values()
        if joint.curve is not None
    ]
    for drawn in (*joints, *springs):
        if drawn["name"] in released:
            drawn["until"] = released[drawn["name"]]
    return {"name": scene.name, "gravity": scene.gravity.tolist(), "description": scene.description, "bodies": bodies,
            "particles": [_group(group) for group in scene.particles.values()], "joints": joints, "springs": springs,
            "curves": curves, "listing": scene_listing(scene)}  # fmt: skip


def _group(group: Any) -> dict[str, Any]:
    """A group of particles as plain data: what is drawn between them."""
    return {"name": group.name, "first": group.first, "number": len(group), "color": group.color, "radius": group.radius,
            "segments": [pair for rows in group.segments for pair in rows.tolist()],
            "faces": [face for rows in group.faces for face in rows.tolist()]}  # fmt: skip


def as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
