"""A run that a user steers: it advances frame by frame, and can be rewound and changed, and bodies can be pulled."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..core.c_function import MEASURE
from ..core.keywords import with_keywords
from ..model.compile import Model
from ..model.tables import CONSTANT, CUSTOM_FORCE, FIELD, LEDGER, PARTICLE_FIELD
from ..scene.checks import finite, real_array, rotation_matrix
from ..scene.scene import Scene
from ..symbolic import GeneralizedCoordinates
from .registry import override, positive
from .settings import Settings
from .simulation import Simulation
from .state import SYMMETRIC
from .summary import scene_description

# Hand: a damped spring between a point of a body and a target that may be moved between frames ------------------------
#
#     f = k (target − p) − c ṗ at the point p of the body, and the torque −c_ω ω, so that a suspended body comes to rest.
#
# The hand is an external force: the work of spring and damper together is one entry of the ledger. It is a load of the
# scene, whose row in the table of forces is written between frames. While nothing is grabbed the row is a field of strength
# zero, so that results are bit-identical to those without a hand.

FREQUENCY = 12.0  # rad/s, of the grabbed mass on the spring
DAMPING_RATIO = 0.7
MOST_STIFFNESS, MOST_DAMPING = 0.2, 0.4  # k λ h² and c λ h in fixed steps h, 1/λ the mass at the point: stable


class Hand:
    """The spring to a grabbed body, if there is one. `strength` multiplies the stiffness."""

    def __init__(self) -> None:
        self.body: str | None = None
        self.target = np.zeros(3)  # m, world axes
        self.strength = 1.0
        self.anchor = np.zeros(3)  # m, in the body's frame
        self._stiffness = self._damping = self._turning = 0.0
        self._row: int | None = None  # of the table of forces

    def load(self, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[float, ...]:
        """Force (N) at the anchor and torque (N m) on the body: a function for `Scene.external_force`."""
        arm = rotation_matrix(q) @ self.anchor
        force = self._stiffness * (self.target - x - arm) - self._damping * (v + np.cross(w, arm))
        return (*force, *(-self._turning * w))

    def point(self, run: Simulation) -> np.ndarray | None:
        """The grabbed point, (3,) m; None if nothing is grabbed."""
        if self.body is None:
            return None
        i = run.state.index(self.body)
        return run.state.position[i] + rotation_matrix(run.state.orientation[i]) @ self.anchor

    def take(self, run: Simulation, row: int, body: str, point: np.ndarray) -> None:
        """Grab a body at a point (m, world axes); row : of the table of forces. Raises ValueError for an unknown body."""
        if body not in run.model.body_names:
            raise ValueError(f"there is no body {body!r} to pull; bodies: {', '.join(run.model.body_names[:8])}")
        i = run.state.index(body)
        turn = rotation_matrix(run.state.orientation[i])
        self.body, self.target = body, np.array(point, float)
        self.anchor = turn.T @ (self.target - run.state.position[i])
        self._set_strength(run, i)
        self._row, own = row, run._system.forces[row]
        own.kind, own.active, own.a, own.anchor_a[:] = CUSTOM_FORCE, 1, i, self.anchor
        _predict(run, True)
        run.changed()

    def move(self, run: Simulation, target: np.ndarray) -> None:
        """Move the target (m) of the spring."""
        self.target = np.array(target, float)
        if self.body is not None:
            run.changed()

    def let_go(self, run: Simulation) -> None:
        """Release the body."""
        if self.body is not None:
            own = run._system.forces[self._row]
            self.body = self._row = None
            own.kind, own.active = FIELD, 0
            _predict(run, False)
            run.changed()

    def forget(self) -> None:
        """Release the body after the tables of the run were made anew."""
        self.body = self._row = None

    def _set_strength(self, run: Simulation, i: int) -> None:
        """Set the stiffness for the mass of all bodies that joints connect to this one, stable with a fixed step."""
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
    """The mass of a body and of all bodies that joints connect to it, kg."""
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
    """Have time steps evaluate velocity-dependent forces twice if there are any, as the hand is."""
    bodies = run._driver.bodies
    if bodies is not None:
        bodies._tables.options.predict = int(held or (run._system.forces.kind != FIELD).any())


# Rewind to a recorded frame -------------------------------------------------------------------------------------------


def rewind(run: Simulation, time: float, prepare: Callable[[Simulation], Any]) -> float:
    """Rewind a run to the last frame that is not later than `time` (s), and discard later frames. Returns its time, s.

    Joints and forces that were released later act again, and events that happened later may happen again. Contact impulses
    and the memory of the user's controller are not part of the state, so that the run that follows is near to the one before,
    but not bit-identical. prepare : sets changes of gravity and motors in the tables of the run, which are made anew.
    """
    frames, released, happened = run.recorder.frames, run.released, run.event_times
    index = int(np.searchsorted(frames["time"], time, side="right")) - 1
    if index < 0:
        raise ValueError(f"nothing was recorded at {time:g} s; the run starts at {frames['time'][0]:g} s")
    earlier = {key: values[: index + 1] for key, values in frames.items()}
    spent, clocks = [earlier["time"][-1], earlier["state"][-1]], (run.wall_time, run.kernel_time)
    sampled = run.sensors
    now = float(spent[0])
    run.restart(prepare)
    for name, then in released.items():
        if then <= now:
            run.release(name)
            run.released[name] = then
    run.event_times = {name: [then for then in times if then <= now] for name, times in happened.items()}
    run._spent = {event.name for event in run.model.events if event.once and run.event_times[event.name]}
    run.wall_time, run.kernel_time = clocks
    turns = None
    if "joint_coordinate" in earlier:
        turns = dict(zip(run._joint_names(), earlier["joint_coordinate"][-1].tolist(), strict=True))
    run._fit_entries(len(spent[1]))
    run._set_state(now, spent[1], turns)
    run.sensors.go_on_from(sampled, until=now)
    run.recorder.frames = earlier
    return now


def energy(run: Simulation) -> float:
    """Kinetic and potential energy of a run at its current state, J."""
    run._mechanism(MEASURE, run.time, run._y, np.empty_like(run._y))
    return float(np.sum(run._system.energies[:2]))


# Contacts and angular velocities of a frame, for the viewer -----------------------------------------------------------


def touching(run: Simulation) -> np.ndarray:
    """The contacts of a run at its current state, (k, 10): point (m), force (N) on the second body, or on the first where the
    second is an obstacle, the normal into that body, and a number of the manifold."""
    bodies = run._driver.bodies
    if bodies is not None:
        rows = bodies._contacts()
        onto = np.where(rows.b < len(run.model.body_names), 1.0, -1.0)[:, None]
        forces = onto * bodies._impulses(rows) / bodies.settings.dt
        parts = (rows.position, forces, onto * rows.frame[:, :3], rows.pair[:, None])
        found = np.concatenate(parts, axis=1)
    else:
        names = set(run.model.body_names)
        rows = [(c, 1.0 if c.b in names else -1.0) for c in run.contacts]
        found = np.array([(*c.position, *(s * c.force), *(s * c.normal), k) for k, (c, s) in enumerate(rows)]).reshape(
            -1, 10
        )
    return found.astype(np.float32)


def spins(model: Model, orientation: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Angular velocities ω = R I⁻¹ Rᵀ L (k, n, 3) rad/s of the model's bodies, from (k, n, 4) and (k, n, 3)."""
    w, v = orientation[..., :1], orientation[..., 1:]

    def turned(vector: np.ndarray, sign: float) -> np.ndarray:
        t = 2.0 * sign * np.cross(v, vector)
        return vector + w * t + sign * np.cross(v, t)

    inverse = model.tables["bodies"].inverse_inertia[: orientation.shape[1], SYMMETRIC]
    return turned(np.einsum("nij,knj->kni", inverse, turned(momentum, -1.0)), 1.0)


# Session: one frame at a time, without a screen or a thread -----------------------------------------------------------

GRAB, CHANGES = "grab", "changed parameters"  # entries of the ledger


class Session:
    """A run of `scene` that can be rewound, grabbed and changed on the way. settings : of `Simulation`.

    The scene itself is not changed. The ledger of the run has two more entries: "grab", the work of the hand, and "changed
    parameters", the change of energy by changes of gravity.

    Raises ValueError, as `Simulation` does.
    """

    @with_keywords(Settings, Simulation)
    def __init__(self, scene: Scene, **settings: Unpack[Settings]) -> None:
        self.scene = scene
        self.settings: dict[str, Any] = dict(settings)
        self.settings.pop("duration", None)
        self.hand: Hand = Hand()
        self.gravity: NDArray[np.float64] = scene.gravity.copy()
        self.inputs: dict[str, dict[str, float]] = {}  # motor → inputs that were set
        self.contacts: list[np.ndarray] = []  # of each frame: (k, 10), see `touching`
        self.gravities: list[np.ndarray] = []  # of each frame: (3,) m/s²
        self._rows: dict[str, int] = {}
        self._build()

    # The run ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Make a run of a copy of the scene, with the hand and the entry of changes."""
        own = self.scene
        placed = isinstance(self.settings.get("coordinates"), GeneralizedCoordinates)
        if own.bodies and not placed:
            own = copy.copy(self.scene)
            own.forces = dict(self.scene.forces)
            first = next(iter(own.bodies.values()))
            for name, function in ((GRAB, self.hand.load), (CHANGES, None)):
                own.external_force(_new_name(own, name), first, function=function)
        self.run: Simulation = Simulation(own, **self.settings)
        if own is not self.scene:
            self._idle_rows()
        self.hand.forget()
        self._begin()

    def _begin(self) -> None:
        """Restart the run, and record its first frame."""
        self.run.restart(self._prepare)
        self.run._warn_before(self.frame_time)
        self.contacts.clear()
        self.gravities.clear()
        self._store_extras()

    def _idle_rows(self) -> None:
        """Find the rows of the two loads in the table of forces, and deactivate them."""
        forces, names = self.run.model.tables["forces"], self.run.model.force_names
        added = list(self.run.model.scene.forces)[-2:]
        for key, name in zip((GRAB, CHANGES), added, strict=True):
            found = (forces.ledger == names.index(name)) & np.isin(forces.kind, (CONSTANT, CUSTOM_FORCE))
            self._rows[key] = int(np.flatnonzero(found)[0])
            forces.kind[self._rows[key]], forces.active[self._rows[key]] = FIELD, 0

    @property
    def can_grab(self) -> bool:
        """Whether the run has bodies that can be grabbed."""
        return GRAB in self._rows

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self.run.time)

    @property
    def frame_time(self) -> float:
        """Simulated time from frame to frame, s."""
        return 1.0 / self.run.frame_rate

    @property
    def memory(self) -> float:
        """Estimate of the bytes of recorded frames, here and in the viewer."""
        return 16.0 * self.run.model.size * len(self.run.recorder)

    def advance(self) -> None:
        """Advance by one frame and record it. Raises SimulationError if the run fails; recorded frames are not lost."""
        self.run.advance_frame()
        self._store_extras()

    @with_keywords(Settings, Simulation)
    def restart(self, **settings: Unpack[Settings]) -> None:
        """Restart with the current gravity and inputs of motors, and with other settings of `Simulation` if passed.

        Raises ValueError for bad settings; the current run then stays.
        """
        before = self.settings
        try:
            if settings:
                self.settings = override(before, settings)
                self._build()
            else:
                self.hand.forget()
                self._begin()
        except (ValueError, TypeError):
            self.settings = before
            raise

    def rewind(self, time: float) -> float:
        """Rewind to the last frame that is not later than `time` (s), and discard later frames. Returns its time, s."""
        self.hand.forget()
        now = rewind(self.run, time, self._prepare)
        del self.contacts[len(self.run.recorder) :], self.gravities[len(self.run.recorder) :]
        self._add_to_ledger(float(np.sum(self.run.recorder.frames["energies"][-1])))
        return now

    # The hand ---------------------------------------------------------------------------------------------------------

    def grab(self, body: str, point: Any) -> None:
        """Grab a body at a point of it (3,) m, world axes. Raises ValueError for an unknown body."""
        if not self.can_grab:
            raise ValueError("particles, and bodies in generalized coordinates, cannot be pulled")
        self.let_go()
        self.hand.take(self.run, self._rows[GRAB], body, real_array("grab", "point", point, (3,)))

    def move_hand(self, target: Any) -> None:
        """Move the target of the grabbed point, (3,) m, world axes."""
        self.hand.move(self.run, real_array("grab", "target", target, (3,)))

    def let_go(self) -> None:
        """Release the grabbed body."""
        self.hand.let_go(self.run)

    # Parameters -------------------------------------------------------------------------------------------------------

    def set_gravity(self, gravity: Any) -> None:
        """Set gravity from now on, (3,) m/s². The change of potential energy goes to the ledger. Raises ValueError."""
        wanted = real_array("session", "gravity", gravity, (3,))
        if not self.scene.gravity.any() and wanted.any():
            raise ValueError(
                "the scene has no gravity; give it a small nonzero vector to change gravity during the run"
            )
        self.gravity = wanted
        self._change(self._set_gravity)

    def set_motor(self, name: str, **inputs: float) -> None:
        """Set inputs of a motor from now on, see `Simulation.set_motor`. Raises ValueError."""
        self.run.set_motor(name, **inputs)
        self.inputs[name] = self.inputs.get(name, {}) | inputs

    def motors(self) -> dict[str, dict[str, float]]:
        """Motor → its current inputs, those of `Simulation.set_motor`."""
        from .control import INPUTS as FIELDS
        from .control import inputs_of, motor_row

        forces, found = self.run.model.scene.forces.values(), {}
        for name in (force.name for force in forces if force.kind in ("motor", "servo")):
            row = motor_row(self.run.model, self.run._system, name)
            taken = {key: float(row[FIELDS[key]]) for key in inputs_of(row)}
            if taken:
                found[name] = taken
        return found

    def _prepare(self, run: Simulation) -> None:
        """Set gravity and inputs of motors in a run whose tables are new."""
        self._set_gravity(run)
        for name, inputs in self.inputs.items():
            run.set_motor(name, **inputs)

    def _set_gravity(self, run: Simulation) -> None:
        forces = run._system.forces
        rows = [i for i in np.flatnonzero(forces.kind == FIELD) if i not in self._rows.values()]
        forces.vector[rows] = self.gravity
        of_particles = run._system.particle_forces
        of_particles.vector[(of_particles.kind == PARTICLE_FIELD) & (of_particles.ledger < 0)] = self.gravity

    def _change(self, change: Callable[[Simulation], Any]) -> None:
        before = energy(self.run)
        change(self.run)
        self._add_to_ledger(before)
        self.run.changed()

    def _add_to_ledger(self, before: float) -> None:
        """Add the change of energy since `before` (J) to the ledger, as external work."""
        if CHANGES in self._rows:
            names = self.run.model.force_names
            entry = names.index(list(self.run.model.scene.forces)[-1])
            self.run._y[self.run.model.size - len(LEDGER) - len(names) + entry] += energy(self.run) - before

    # What is shown ----------------------------------------------------------------------------------------------------

    def description(self) -> dict[str, Any]:
        """The scene as plain data, for drawing."""
        return scene_description(self.scene, self.run.released)

    def frames_since(self, index: int) -> dict[str, Any]:
        """The frames from `index` on: the ledger, reactions, errors and contacts of each, as the viewer takes them."""
        recorder = self.run.recorder
        found: dict[str, Any] = recorder.since(index)
        for name in ("reaction_force", "joint_error", "contact_force", "penetration", "contact_residual"):
            if name in recorder.frames:
                found[name] = np.array(recorder.frames[name][index:])
        found["angular_velocity"] = spins(self.run.model, found["orientation"], found["angular_momentum"])
        found["contact_points"] = self.contacts[index:]
        found["gravity"] = np.array(self.gravities[index:]).reshape(-1, 3)
        return found

    def _store_extras(self) -> None:
        """Store contacts and gravity of the last frame, which the recorder does not. Of frames in between, which events
        record, the contacts are not known."""
        last = len(self.run.recorder) - 1
        del self.contacts[last:], self.gravities[last:]
        self.contacts += [np.zeros((0, 10), np.float32)] * (last - len(self.contacts))
        self.contacts.append(touching(self.run))
        self.gravities += [self.gravity] * (last + 1 - len(self.gravities))

    def set_frames(self, rate: float) -> None:
        """Set the recorded frames per second from now on. Raises ValueError."""
        self.run.frame_rate = self.settings["frame_rate"] = positive("frame_rate", rate, "Hz")

    def set_strength(self, strength: float) -> None:
        """Set the factor of the stiffness of the hand; 1 is a spring of 12 rad/s. Raises ValueError."""
        self.hand.strength = finite("session", "strength", strength, 0.0)


def _new_name(scene: Scene, name: str) -> str:
    while name in scene.forces:
        name += " (session)"
    return name
