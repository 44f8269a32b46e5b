"""The coordinates of joints in a run, by name: read in any run, set in one in joint coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .articulated.driver import JointMechanism
from .mechanics.joint_state import read_coordinates
from .mechanics.mechanism import Mechanism
from .model import tables
from .model.compile import Model
from .model.elements import ForceCompiler
from .scene.body import WORLD
from .scene.checks import finite
from .scene.scene_warnings import beyond_a_turn, in_degrees

Vector = NDArray[np.float64]
ROUND = 0.5  # an angle beyond a turn that is a multiple of this was written by hand, and not measured


class JointStates:
    """The part of `Simulation` about the coordinates of joints."""

    model: Model
    changed: Callable[[], None]
    warn: Callable[..., None]
    _y: np.ndarray
    _mechanism: Mechanism
    _reader: JointReader | None

    @property
    def coordinates(self) -> Vector:
        """(n,) u, a read-only copy, in the order of `Articulation.coordinates`; `set_joint_state` sets them. Raises
        ValueError in coordinates of bodies."""
        own = self._tree()
        return _read_only(own.z[: len(own.layout.start)])

    @property
    def speeds(self) -> Vector:
        """(m,) w, a read-only copy, in the order of `Articulation.speeds`; `set_joint_state` sets them. Raises ValueError in
        coordinates of bodies."""
        own = self._tree()
        first = len(own.layout.start)
        return _read_only(own.z[first : first + len(own.layout.freedoms)])

    def joint_state(self) -> dict[str, tuple[float, float]]:
        """Joint → (s, ṡ): rad and rad/s of hinges, m and m/s of sliders; of cylindrical joints with ".displacement" and
        ".angle" after the name. Zero at the initial pose.

        In joint coordinates of all joints in the tree, with ".a" and ".b" of universal ones. In coordinates of bodies full
        turns of joints without motors, stops or springs are counted from one call to the next: ask at least twice a turn.
        """
        if self.model.tree is not None:
            own = self._tree()
            found = own.layout.scalars()
            first = len(own.layout.start)
            return {name: (float(own.z[u]), float(own.z[first + w])) for name, (u, w) in found.items()}
        if self._reader is None:
            self._reader = JointReader(self.model)
        return self._reader.read(self._y)

    def set_joint_state(self, state: Mapping[str, tuple[float, float]]) -> None:
        """Set (s, ṡ) of joints, by the names of `joint_state`; the others stay. In joint coordinates only. Angles count full
        turns: 3.5 rad is not 3.5 − 2π, for motors, springs, gears and stops too. A joint that closes a loop follows from the
        others, with the turn nearest to the one before.

        Raises ValueError for a name that is not there, a value that is not finite, and in coordinates of bodies.
        """
        own = self._tree()
        found = own.layout.scalars()
        z = own.z.copy()
        for name, pair in state.items():
            if name not in found:
                raise ValueError(f"there is no coordinate {name!r} to set; there are {', '.join(found)}")
            u, w = found[name]
            if len(pair) != 2:
                raise ValueError(f"joint {name!r}: give its value and its rate, (s, ṡ); got {pair!r:.80}")
            z[u] = finite(f"joint {name!r}", "s", pair[0])
            if beyond_a_turn(z[u]) and z[u] % ROUND == 0.0 and self._joint_units()[name] == "rad":
                self.warn(in_degrees(f"joint {name!r}", "its angle is set to", [z[u]]), f"angle of {name}")
            z[len(own.layout.start) + w] = finite(f"joint {name!r}", "ṡ", pair[1])
        own.z[:] = z
        own.count_turns()
        own.put(self._y)
        self.changed()

    def _joint_frame(self) -> dict[str, Vector]:
        """What is recorded of `joint_state`."""
        pairs = np.array(list(self.joint_state().values()))
        return {"joint_coordinate": pairs[:, 0], "joint_speed": pairs[:, 1]} if len(pairs) else {}

    def _joint_units(self) -> dict[str, str]:
        """The names of `joint_state`, each with its unit."""
        joints = self.model.scene.joints
        slides = {name for name, joint in joints.items() if joint.displacement and not joint.angle}
        return {name: "m" if name in slides or name.endswith(".displacement") else "rad" for name in self.joint_state()}

    def _joint_names(self) -> list[str]:
        """The names of `joint_state`, in its order."""
        if self.model.tree is not None:
            return list(self.model.tree.scalars())
        if self._reader is None:
            self._reader = JointReader(self.model)
        return self._reader.names

    def _recall_turns(self, values: Mapping[str, float]) -> None:
        """The state was replaced by a recorded one, where the joints had these values: their full turns count from there."""
        if self.model.tree is None:
            self._reader = JointReader(self.model)
            self._reader.recall(values)
        elif isinstance(self._mechanism, JointMechanism):
            for name, (u, _) in self.model.tree.scalars().items():
                self._mechanism.z[u] = values.get(name, self._mechanism.z[u])

    def _tree(self) -> JointMechanism:
        """What knows u and w, at the state. Raises ValueError in coordinates of bodies."""
        if self.model.tree is None or not isinstance(self._mechanism, JointMechanism):
            raise ValueError(
                f"scene {self.model.name!r} runs in coordinates of bodies; pass coordinates='joint', or ask joint_state()"
            )
        self._mechanism.take(self._y)
        return self._mechanism


def _read_only(values: Vector) -> Vector:
    found = values.copy()
    found.flags.writeable = False
    return found


class JointReader:
    """Coordinates of the hinges, sliders and cylindrical joints of a model in coordinates of bodies."""

    def __init__(self, model: Model) -> None:
        bodies = list(model.scene.bodies.values())
        index: dict[Any, int] = {body: i for i, body in enumerate(bodies)} | {WORLD: len(bodies)}
        compiler = ForceCompiler(index, 0, lambda function, name: 0)
        self.names: list[str] = []
        for joint in model.scene.joints.values():
            kinds = [kind for kind in ("displacement", "angle") if getattr(joint, kind)]
            if set(joint.bodies) <= set(index):
                self.names += [joint.coordinate_name(kind) for kind in kinds]
                for kind in kinds:
                    compiler.coordinate(joint, kind)
        self._rows = np.array(compiler.coordinates, tables.COORDINATE).view(np.recarray)
        counted = dict(zip(model.coordinate_names, model.tables["coordinates"]["at"].tolist(), strict=True))
        self._counted = [counted.get(name, -1) for name in self.names]  # places in the state, −1 for none
        self._bodies, self._curves = model.tables["bodies"], np.zeros(1)
        self._kinematics = np.zeros(len(bodies) + 1, tables.KINEMATICS).view(np.recarray)
        self._kinematics.rotation[:] = np.eye(3).ravel()
        self._values, self._rates = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def recall(self, values: Mapping[str, float]) -> None:
        """The next angles are those nearest to these."""
        self._values[:] = [values.get(name, value) for name, value in zip(self.names, self._values, strict=True)]

    @property
    def turns(self) -> np.ndarray:
        """The values that were read last, to which the next ones are the nearest: a view."""
        return self._values

    def read(self, y: np.ndarray) -> dict[str, tuple[float, float]]:
        """Name → (s, ṡ) at a state; angles that its own counts of turns do not tell are the nearest to those before."""
        if not self.names:
            return {}
        near = np.array([value if at < 0 else y[at] for value, at in zip(self._values, self._counted, strict=True)])
        read_coordinates(y, near, self._bodies, self._kinematics, self._rows, self._curves, self._values, self._rates)
        return dict(zip(self.names, zip(self._values.tolist(), self._rates.tolist(), strict=True), strict=True))
