"""State of a run: one flat vector y, with named arrays that can be read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike
from ..core.notebook import MOST_ROWS, block, note, numbers, table, title
from ..model.compile import Model
from ..model.tables import LEDGER, STATE_SIZE
from ..scene.checks import real_array
from ..scene.scene import Scene


class Named(Protocol):
    """What has a name: a body, joint, obstacle or group of particles, a force, or a handle of one of them."""

    @property
    def name(self) -> str: ...


def name_of(item: str | Named, scene: Scene) -> str:
    """The name of something of a scene, given by its name, by what the scene returned for it, or by a handle. Raises
    ValueError for things of another scene."""
    if isinstance(item, str):
        return item
    own, name = getattr(item, "scene_item", item), getattr(item, "name", None)
    tables: tuple[dict[str, Any], ...] = (
        scene.bodies, scene.joints, scene.obstacles, scene.particles, scene.forces, scene.links
    )  # fmt: skip
    if not isinstance(name, str) or not any(table.get(name) is own for table in tables):
        raise ValueError(
            f"{item!r:.80} is not part of scene {scene.name!r}; give a name, or an object that add_body, hinge, … returned"
        )
    return name


# Arrays of derived quantities, such as velocities, that write back what is assigned to them ---------------------------

Write = Callable[[np.ndarray, np.ndarray], None]


class DerivedArray(np.ndarray):
    """An (n, k) array of derived values. Assignments to it, and to views of it, are handed on to `write` (rows, values), so
    that ``state.velocity[0] = ...`` and ``state.velocity[2] += ...`` change the state.

    NumPy takes it for read-only, so that what cannot be handed on, such as ``out=``, raises ValueError.
    """

    _values: np.ndarray
    _write: Write

    @classmethod
    def of(cls, values: np.ndarray, write: Write) -> Self:
        """values : (n, k), which the array takes over. write : called with the numbers of the rows that changed, and these
        rows; where it raises, nothing is changed."""
        made = values.view(cls)
        made._values, made._write = values, write
        made.flags.writeable = False
        return made

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, DerivedArray) and hasattr(source, "_values"):
            self._values, self._write = source._values, source._write

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of a calculation is a plain array, or a number."""
        plain = np.asarray(array)
        return plain[()] if return_scalar or plain.ndim == 0 else plain

    def __setitem__(self, key: Any, value: Any) -> None:
        values = getattr(self, "_values", None)
        if values is None or self.flags.writeable or not np.may_share_memory(self, values):
            super().__setitem__(key, value)  # the result of a calculation
            return
        before = values.copy()
        first = self.__array_interface__["data"][0] - values.__array_interface__["data"][0]
        alias: Any = np.ndarray(self.shape, self.dtype, values, first, self.strides)
        alias[key] = value
        rows = np.flatnonzero((values != before).any(axis=1))
        try:
            self._write(rows, values[rows])
        except ValueError:
            values[:] = before
            raise

    def __iadd__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) + other
        return self

    def __isub__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) - other
        return self

    def __imul__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) * other
        return self

    def __itruediv__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) / other
        return self


# State ----------------------------------------------------------------------------------------------------------------

# Further entries of the ledger, behind those of the scene, of runs to whose bodies forces were applied: see `applied`.
LIVE_ENTRIES = ("applied forces", "changes of the state")


def with_live_entries(values: np.ndarray) -> np.ndarray:
    """A state, or what has its entries, with zeros for the two further entries of the ledger."""
    return np.insert(values, [len(values) - len(LEDGER)] * len(LIVE_ENTRIES), 0.0)


SYMMETRIC = np.array([(0, 3, 4), (3, 1, 5), (4, 5, 2)])  # where (xx, yy, zz, xy, xz, yz) has its entries


class State:
    """Named arrays of the state vector of a model. Writing to them, whole or in part, changes the run:

    >>> import dalembert as dal
    >>> scene = dal.Scene("thrown")
    >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=2.0)
    >>> run = dal.Simulation(scene)
    >>> run.state.velocity[0] = (3.0, 0.0, 0.0)
    >>> run.state.velocity[0, 2] += 1.0
    >>> run.state.momentum.tolist()
    [[6.0, 0.0, 2.0]]

    position (n, 3) m; orientation (n, 4) (w, x, y, z); momentum (n, 3) kg m/s; angular_momentum (n, 3) kg m²/s about
    the centre of mass; world axes, bodies in the order of `Model.body_names`; `index` tells the row of a body.
    particle_position (m, 3) m; particle_momentum (m, 3) kg m/s; of all particles, group after group (`particles`).

    velocity, angular_velocity and particle_velocity are computed from the momenta; writing to them changes the momenta.
    """

    model: Model
    time: float

    __slots__ = {
        "_bodies": "(n, 13) x, q, P, L",
        "_commands": "COMMAND rows of prescribed motions",
        "_particles": "(2, m, 3) x, p",
        "_y": "The whole state vector, flat.",
        "model": "The compiled scene.",
        "time": "s.",
    }

    def __init__(self, model: Model, y: np.ndarray, time: float, commands: Any = None) -> None:
        self._commands = model.tables["commands"] if commands is None else commands
        self.model, self._y, self.time = model, y, time
        self._bodies = y[: STATE_SIZE * len(model.body_names)].reshape(-1, STATE_SIZE)
        self._particles = y[model.particle_block].reshape(2, -1, 3)

    @property
    def y(self) -> NDArray[np.float64]:
        """(n,) the whole state as one array, a view: for each body position, orientation, momentum and angular momentum
        (13 numbers, see `Model.body_slice`), positions and then momenta of all particles (`Model.particle_block`),
        coordinates of joints that are counted over full turns, and the ledger of the energy audit. n is `Model.size`.

        ``saved = sim.state.y.copy()`` and later ``sim.state.y = saved`` restore a state, including the ledger. The time
        does not change, and contacts start without the impulses of the previous step; to get the same bits use
        `Simulation.copy`. A state saved before forces were applied for the first time, whose ledger is shorter, is
        accepted.

        Raises ValueError for another shape, and non-finite values."""
        return self._y

    @y.setter
    def y(self, value: NumbersLike) -> None:
        new = np.asarray(value, float)
        if new.shape == (len(self._y) - len(LIVE_ENTRIES),) and self.model.force_names[-1:] == LIVE_ENTRIES[-1:]:
            new = with_live_entries(new)
        _set("y", self._y, new)

    def _repr_html_(self) -> str:
        head = ("body", "position, m", "orientation w, x, y, z", "velocity, m/s", "angular velocity, rad/s")
        arrays = (self.position, self.orientation, self.velocity, self.angular_velocity)
        names = self.model.body_names
        rows = [(name, *(numbers(array[i]) for array in arrays)) for i, name in enumerate(names[:MOST_ROWS])]
        parts = [title(f"State of {self.model.name!r}", f"t = {self.time:g} s")]
        parts += [table(head, rows, len(names))] if len(names) else []
        parts += [note(f"{self.model.particle_count} particles")] if self.model.particle_count else []
        return block(*parts)

    # What the state vector holds --------------------------------------------------------------------------------------

    @property
    def position(self) -> NDArray[np.float64]:
        """(n, 3) m, of the centres of mass; a view."""
        return self._bodies[:, 0:3]

    @position.setter
    def position(self, value: NumbersLike) -> None:
        _set("position", self.position, value)

    @property
    def orientation(self) -> NDArray[np.float64]:
        """(n, 4) unit quaternions (w, x, y, z), body → world; a view."""
        return self._bodies[:, 3:7]

    @orientation.setter
    def orientation(self, value: NumbersLike) -> None:
        _set("orientation", self.orientation, value)

    @property
    def momentum(self) -> NDArray[np.float64]:
        """(n, 3) kg m/s; a view."""
        return self._bodies[:, 7:10]

    @momentum.setter
    def momentum(self, value: NumbersLike) -> None:
        _set("momentum", self.momentum, value)

    @property
    def angular_momentum(self) -> NDArray[np.float64]:
        """(n, 3) kg m²/s, about the centres of mass, world axes; a view."""
        return self._bodies[:, 10:13]

    @angular_momentum.setter
    def angular_momentum(self, value: NumbersLike) -> None:
        _set("angular_momentum", self.angular_momentum, value)

    @property
    def particle_position(self) -> NDArray[np.float64]:
        """(m, 3) m; a view."""
        return np.asarray(self._particles[0])

    @particle_position.setter
    def particle_position(self, value: NumbersLike) -> None:
        _set("particle_position", self.particle_position, value)

    @property
    def particle_momentum(self) -> NDArray[np.float64]:
        """(m, 3) kg m/s; a view."""
        return np.asarray(self._particles[1])

    @particle_momentum.setter
    def particle_momentum(self, value: NumbersLike) -> None:
        _set("particle_momentum", self.particle_momentum, value)

    # What follows from it ---------------------------------------------------------------------------------------------

    @property
    def velocity(self) -> NDArray[np.float64]:
        """(n, 3) m/s, of the centres of mass; writing to it changes `momentum`."""
        mass = self.model.tables["bodies"].mass[: len(self._bodies), None]
        values = self.momentum / np.where(mass > 0.0, mass, 1.0)
        self._show_commands(values, "v")
        return DerivedArray.of(values, self._writer_of("velocity", self.momentum, lambda i, v: v * mass[i]))

    @velocity.setter
    def velocity(self, value: NumbersLike) -> None:
        _set("velocity", self.velocity, value)

    @property
    def angular_velocity(self) -> NDArray[np.float64]:
        """(n, 3) rad/s, world axes; writing to it changes `angular_momentum`."""
        bodies = self.model.tables["bodies"]
        turned = _turned(self.orientation)
        inertia, inverse = (
            np.einsum("nij,njk,nlk->nil", turned, six[: len(turned), SYMMETRIC], turned)
            for six in (bodies.inertia, bodies.inverse_inertia)
        )
        values = np.einsum("nij,nj->ni", inverse, self.angular_momentum)
        self._show_commands(values, "omega")

        def momenta(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
            return np.asarray(np.einsum("nij,nj->ni", inertia[rows], w))

        write = self._writer_of("angular_velocity", self.angular_momentum, momenta)
        return DerivedArray.of(values, write)

    @angular_velocity.setter
    def angular_velocity(self, value: NumbersLike) -> None:
        _set("angular_velocity", self.angular_velocity, value)

    @property
    def particle_velocity(self) -> NDArray[np.float64]:
        """(m, 3) m/s; always zero for pinned particles. Writing to it changes `particle_momentum`."""
        mass, inverse = self.model.tables["particle_mass"], self.model.tables["particle_inverse_mass"]

        def momenta(rows: np.ndarray, v: np.ndarray) -> np.ndarray:
            held = rows[(inverse[rows] == 0.0) & v.any(axis=1)]
            if len(held):
                raise ValueError(f"state: particle_velocity[{held[0]}] is that of a pinned particle, which cannot move")
            return np.asarray(v * mass[rows, None])

        values = self.particle_momentum * inverse[:, None]
        return DerivedArray.of(values, _writer("particle_velocity", self.particle_momentum, momenta))

    @particle_velocity.setter
    def particle_velocity(self, value: NumbersLike) -> None:
        _set("particle_velocity", self.particle_velocity, value)

    def _show_commands(self, values: np.ndarray, name: str) -> None:
        """The prescribed velocities, in their rows of an array."""
        rows = self._commands[self._commands["body"] >= 0]
        values[rows["body"]] = rows[name]

    def _writer_of(self, name: str, target: np.ndarray, convert: Any) -> Write:
        """`_writer` for velocities of bodies, which refuses those that move by command."""
        write, moved = _writer(name, target, convert), set(self._commands["body"].tolist())

        def write_free(rows: np.ndarray, values: np.ndarray) -> None:
            held = sorted(moved & set(rows.tolist()))
            if held:
                raise ValueError(
                    f"state: {name} of body {self.model.body_names[held[0]]!r} is prescribed; change it with "
                    "Simulation.set_motion if its motion is 'set'"
                )
            write(rows, values)

        return write_free

    # Rows -------------------------------------------------------------------------------------------------------------

    def particles(self, group: str | Named) -> slice:
        """The rows of a group of particles in the arrays. Raises ValueError for an unknown name."""
        group = name_of(group, self.model.scene)
        if group not in self.model.particle_slices:
            raise ValueError(f"there are no particles {group!r}; groups: {', '.join(self.model.particle_slices)}")
        return self.model.particle_slices[group]

    def index(self, body: str | Named) -> int:
        """The row of a body in the arrays. Raises ValueError for an unknown name."""
        body = name_of(body, self.model.scene)
        if body not in self.model.body_names:
            raise ValueError(f"there is no body {body!r}; bodies: {', '.join(self.model.body_names[:8])}")
        return self.model.body_names.index(body)

    def check(self) -> None:
        """Normalize the quaternions. Raises ValueError, naming the body or particle, for non-finite values and zero
        quaternions."""
        norms = np.linalg.norm(self.orientation, axis=1)
        rows = [("body", name, row) for name, row in zip(self.model.body_names, self._bodies, strict=True)]
        bad = ~np.isfinite(self._bodies).all(axis=1) | ~(norms > 1e-150)
        if bad.any():
            kind, name, row = rows[int(np.argmax(bad))]
            parts = {
                "position": row[0:3],
                "orientation": row[3:7],
                "momentum": row[7:10],
                "angular_momentum": row[10:13],
            }
            what = next((key for key, part in parts.items() if not np.isfinite(part).all()), "orientation")
            raise ValueError(f"state: {what} of {kind} {name!r} is {parts[what].tolist()}; give finite numbers")
        wrong = np.isfinite(self._particles).all(axis=(0, 2))
        if not wrong.all():
            i = int(np.argmin(wrong))
            raise ValueError(f"state: particle {i} is at {self._particles[0, i].tolist()} with momentum "
                             f"{self._particles[1, i].tolist()}; give finite numbers")  # fmt: skip
        off = np.abs(norms - 1.0) > 1e-9
        self.orientation[off] /= norms[off, None]


def _set(name: str, array: np.ndarray, value: NumbersLike) -> None:
    """Write all of an array. Raises ValueError for another shape, or what is not finite."""
    if value is not array:
        array[...] = real_array("state", name, value, array.shape)


def _writer(name: str, target: np.ndarray, convert: Any) -> Any:
    """What writes rows of derived values to `target`, by `convert` (rows, values)."""

    def write(rows: np.ndarray, values: np.ndarray) -> None:
        if not np.isfinite(values).all():
            raise ValueError(f"state: {name} is given {values.tolist()!s:.80}; give finite numbers")
        target[rows] = convert(rows, values)

    return write


def _turned(q: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotation matrices of unit quaternions (n, 4)."""
    w, x, y, z = q.T
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
