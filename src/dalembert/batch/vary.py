"""What varies by name: arrays of one row a member, put into the tables that a scene with these numbers would have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..articulated.driver import JointMechanism
from ..mechanics.mechanism import Mechanism
from ..model.compile import compile_scene
from ..model.tables import FIELD, PARTICLE_FIELD, STATE_SIZE
from ..scene.checks import rotation_matrix
from .workspace import Varied, Workspace, bytes_of

STATES = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
COORDINATES = ("position", "speed")
SYMMETRIC = ((0, 3, 4), (3, 1, 5), (4, 5, 2))  # where (xx, yy, zz, xy, xz, yz) has its entries


def varied_by_name(run: Workspace, vary: Mapping[str, ArrayLike]) -> tuple[list[Varied], int]:
    """What differs from member to member, and their number. Raises ValueError."""
    return Variation(run, vary).result()


class Variation:
    """Collects rows of tables, one a member."""

    def __init__(self, run: Workspace, vary: Mapping[str, ArrayLike]) -> None:
        self.model, self.made = run.model, run.made
        self.given = {name: _numbers(name, value) for name, value in vary.items()}
        lengths = {name: len(value) for name, value in self.given.items()}
        if not lengths:
            raise ValueError("vary names nothing; give {name: array of one value a member}")
        self.members = next(iter(lengths.values()))
        for name, length in lengths.items():
            if length != self.members:
                raise ValueError(f"vary: {name!r} has {length} members, and {next(iter(lengths))!r} has {self.members}")
        self.joint = run._mechanism if isinstance(run._mechanism, JointMechanism) else None
        self.rows: dict[tuple[str, int], np.ndarray] = {}

    def result(self) -> tuple[list[Varied], int]:
        """What varies, and the number of members."""
        states: dict[tuple[str, str], np.ndarray] = {}
        places: dict[tuple[str, str], np.ndarray] = {}
        masses: dict[str, np.ndarray] = {}
        scene = self.model.scene
        freedoms = {name for joint in scene.joints.values() for name in _freedoms_of(joint)}
        for name, values in self.given.items():
            owner, _, what = name.rpartition(".")
            if name == "gravity":
                self._gravity(self._shaped(name, (3,)))
            elif owner in self.model.body_names and what == "mass":
                masses[owner] = self._shaped(name, ())
            elif owner in self.model.body_names and what in STATES:
                states[owner, what] = self._shaped(name, (STATES[what],))
            elif owner in freedoms and what in COORDINATES:
                places[owner, what] = self._shaped(name, ())
            elif owner in self.model.force_names and self._force(owner, what, values):
                continue
            else:
                raise ValueError(f"vary: there is nothing called {name!r} to vary; {self._choices(freedoms)}")
        if states or places or masses:
            self._states(states, places, masses)
        found = [
            Varied(table, row * self.made[table].itemsize, _rows_of_bytes(values))
            for (table, row), values in self.rows.items()
        ]
        return found, self.members

    def _shaped(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = self.given[name]
        if values.shape != (self.members, *shape):
            wanted = ", ".join(map(str, (self.members, *shape)))
            raise ValueError(f"vary: {name!r} has shape {values.shape}; give ({wanted}{',' if not shape else ''})")
        return values

    def _choices(self, freedoms: set[str]) -> str:
        body = next(iter(self.model.body_names), None)
        known = ["'gravity'"]
        known += [] if body is None else [f"{body + '.' + what!r}" for what in ("mass", *STATES)]
        known += [f"{name + '.' + what!r}" for name in sorted(freedoms)[:2] for what in COORDINATES]
        forces = [self.model.scene.forces[name] for name in self.model.force_names if name in self.model.scene.forces]
        varied = [(force.name, getattr(force, "parameters_to_vary", ())) for force in forces]
        known += [f"{name + '.' + fields[0]!r}" for name, fields in varied if fields][:2]
        return f"such as {', '.join(known)}; for all else give scenes, one a member"

    def row(self, table: str, index: int) -> Any:
        """A row of a table for each member, (members,), to be changed."""
        key = table, index
        if key not in self.rows:
            own = np.asarray(self.made[table]).reshape(-1)
            self.rows[key] = np.repeat(own[index : index + 1], self.members)
        return self.rows[key]

    def whole(self, table: str) -> np.ndarray:
        """All numbers of a table for each member, (members, size), to be changed."""
        key = table, 0
        if key not in self.rows:
            self.rows[key] = np.repeat(self.made[table].reshape(1, -1), self.members, axis=0)
        return self.rows[key]

    # What varies ------------------------------------------------------------------------------------------------------

    def _gravity(self, values: np.ndarray) -> None:
        for table, kind in (("system.forces", FIELD), ("system.particle_forces", PARTICLE_FIELD)):
            own: Any = self.made[table]
            for index in np.flatnonzero((own["kind"] == kind) & (own["ledger"] <= 0)):
                if np.array_equal(own["vector"][index], self.model.scene.gravity):
                    self.row(table, int(index))["vector"] = values
        if not self.rows:
            raise ValueError("vary: 'gravity' varies, and the scene has none; give it some")

    def _force(self, name: str, what: str, values: np.ndarray) -> bool:
        """Whether it is a force on bodies or joints that has such a parameter."""
        forces: Any = self.made["system.forces"]
        force = self.model.scene.forces.get(name)
        if what not in getattr(force, "parameters_to_vary", ()):
            return False
        entry = self.model.force_names.index(name)
        for index in np.flatnonzero((forces["ledger"] == entry) & (forces["kind"] != FIELD)):
            self.row("system.forces", int(index))[what] = self._shaped(f"{name}.{what}", ())
        return True

    def _mass(self, name: str, mass: np.ndarray) -> np.ndarray:
        """The same body of another density; returns by how much it is heavier."""
        index = self.model.body_names.index(name)
        if not (np.isfinite(mass) & (mass > 0.0)).all():
            member = int(np.argmin(np.isfinite(mass) & (mass > 0.0)))
            raise ValueError(
                f"vary: the mass of body {name!r} is {mass[member]!r} in member {member}; give kg above zero"
            )
        row = self.row("system.bodies", index)
        ratio = mass / row["mass"]
        row["mass"], row["inverse_mass"] = mass, 1.0 / mass
        row["inertia"] *= ratio[:, None]
        row["moments"] *= ratio[:, None]
        row["inverse_inertia"] /= ratio[:, None]
        if self.joint is None:
            at = STATE_SIZE * index
            weights = self.whole("stepping.weights")
            weights[:, at + 7 : at + 13] *= ratio[:, None]
            for i in np.flatnonzero(self.made["system.spins"]["body"] == index):
                carried = self.model.size + 3 * int(i)
                weights[:, carried : carried + 3] *= ratio[:, None]
        else:
            node = next(
                n for n, place in enumerate(self.joint.layout.places) if getattr(place.item, "name", "") == name
            )
            own = self.row("joint.tree.nodes", node)
            own["mass"] = mass
            own["inertia"] *= ratio[:, None]
        return ratio

    def _states(
        self,
        states: dict[tuple[str, str], np.ndarray],
        places: dict[tuple[str, str], np.ndarray],
        masses: dict[str, np.ndarray],
    ) -> None:
        """The states at the start: bodies where they are put, then joints, then the momenta of the masses."""
        y = self.whole("y")
        for (name, what), values in states.items():
            if what in ("position", "orientation"):
                self._put(y, name, what, values)
        for (name, what), values in states.items():
            if what not in ("position", "orientation"):
                self._put(y, name, what, values)
        if places:
            self._move_joints(y, places)
        for name, mass in masses.items():
            at = STATE_SIZE * self.model.body_names.index(name)
            y[:, at + 7 : at + 13] *= self._mass(name, mass)[:, None]
        if places and self.joint is not None:
            self.rows["known", 0] = y

    def _put(self, y: np.ndarray, name: str, what: str, values: np.ndarray) -> None:
        index = self.model.body_names.index(name)
        body, at = self.made["system.bodies"][index], STATE_SIZE * index
        if what == "position":
            y[:, at : at + 3] = values
        elif what == "velocity":
            y[:, at + 7 : at + 10] = body["mass"] * values
        elif what == "orientation":
            size = np.linalg.norm(values, axis=1, keepdims=True)
            if (np.abs(size - 1.0) > 1e-6).any():
                raise ValueError(f"vary: the orientation of body {name!r} is not a unit quaternion in every member")
            turned = _rotations(values / size)
            spin = np.array(self.model.scene.bodies[name].angular_velocity)
            y[:, at + 3 : at + 7] = values / size
            y[:, at + 10 : at + 13] = _spun(turned, body, np.broadcast_to(spin, (self.members, 3)))
        else:
            y[:, at + 10 : at + 13] = _spun(_rotations(y[:, at + 3 : at + 7]), body, values)

    def _move_joints(self, y: np.ndarray, places: dict[tuple[str, str], np.ndarray]) -> None:
        """Bodies where coordinates of the joints take them; see `Simulation.set_joint_state`."""
        own = self.joint
        if own is None:
            tree = compile_scene(self.model.scene, hubs=False, coordinates="joint")
            own = JointMechanism(tree, Mechanism(tree.system()))
        found, first = own.layout.scalars(), len(own.layout.start)
        for name, _ in places:
            if name not in found:
                raise ValueError(
                    f"vary: joint {name!r} closes a loop, and follows from others; there are {', '.join(found)}"
                )
        columns = [
            (found[name][0] if what == "position" else first + found[name][1], values)
            for (name, what), values in places.items()
        ]
        start, bodies = own.z.copy(), STATE_SIZE * len(self.model.body_names)
        z = np.repeat(start[None], self.members, axis=0)
        tail = own.model.initial[bodies:]
        counts = [
            (int(row["at"]), found[name][0])
            for name, row in zip(self.model.coordinate_names, self.model.tables["coordinates"], strict=True)
            if name in found
        ]
        for member in range(self.members):
            own.z[:] = start
            state = np.concatenate([y[member, :bodies], tail])
            own.take(state)
            for column, values in columns:
                own.z[column] = values[member]
            own.count_turns()
            own.put(state)
            y[member, :bodies], z[member] = state[:bodies], own.z
            for count, u in counts:
                y[member, count] = own.z[u]
        if self.joint is not None:
            self.rows["z", 0] = z


def _freedoms_of(joint: Any) -> tuple[str, ...]:
    return tuple(joint.name + step.suffix for step in joint.steps or () if step.kind != "ball")


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"vary: {name!r} is {value!r:.80}; give an array of one row a member") from None
    if found.ndim == 0 or not len(found):
        raise ValueError(f"vary: {name!r} is {value!r:.80}; give an array of one row a member")
    if not np.isfinite(found.reshape(len(found), -1)).all():
        member = int(np.argmin(np.isfinite(found.reshape(len(found), -1)).all(axis=1)))
        raise ValueError(f"vary: {name!r} is {found[member]!r} in member {member}; give finite numbers")
    return found


def _rows_of_bytes(values: np.ndarray) -> np.ndarray:
    return bytes_of(np.ascontiguousarray(values)).reshape(len(values), -1)


def _rotations(q: np.ndarray) -> np.ndarray:
    """(m, 3, 3), body → world, of unit quaternions (m, 4)."""
    return np.array([rotation_matrix(row) for row in q])


def _spun(turned: np.ndarray, body: Any, omega: np.ndarray) -> np.ndarray:
    """L = R I Rᵀ ω, (m, 3)."""
    inertia = np.asarray(body["inertia"])[np.array(SYMMETRIC)]
    return np.einsum("mij,jk,mlk,ml->mi", turned, inertia, turned, omega)
