"""`Session`: a simulation that a person steers. One frame at a time; nothing here knows of a screen or of a thread."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..description import scene_description
from ..model.tables import CONSTANT, CUSTOM_FORCE, FIELD, LEDGER, PARTICLE_FIELD
from ..scene.checks import finite, real_array
from ..scene.scene import Scene
from ..simulate import Simulation
from ..simulation.checks import positive
from ..simulation.registry import override
from ..symbolic import GeneralizedCoordinates
from .hand import Hand
from .rewind import energy, rewind
from .watch import spins, touching

__all__ = ["Session"]

GRAB, CHANGES = "grab", "changed parameters"  # entries of the ledger


class Session:
    """A run of `scene` that may be taken back, grabbed and changed while it goes. settings : of `Simulation`.

    The scene itself is left alone: the run has two entries more in its ledger, "grab", the work of the hand, and "changed
    parameters", the energy that changes of gravity bring.

    Raises ValueError, as `Simulation` does.
    """

    def __init__(self, scene: Scene, **settings: Any) -> None:
        self.scene, self.settings = scene, dict(settings)
        self.settings.pop("duration", None)
        self.hand = Hand()
        self.gravity = scene.gravity.copy()
        self.inputs: dict[str, dict[str, float]] = {}  # motor → what it was told
        self.contacts: list[np.ndarray] = []  # of each frame: (k, 9), place, force on the second (N), normal
        self.gravities: list[np.ndarray] = []  # of each frame: (3,) m/s²
        self._rows: dict[str, int] = {}
        self._build()

    # The run ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """A run of a copy of the scene, with the hand and the entry of changes in it."""
        own = self.scene
        placed = isinstance(self.settings.get("coordinates"), GeneralizedCoordinates)
        if own.bodies and not placed:
            own = copy.copy(self.scene)
            own.forces = dict(self.scene.forces)
            first = next(iter(own.bodies.values()))
            for name, function in ((GRAB, self.hand.load), (CHANGES, None)):
                own.load(_new_name(own, name), first, function=function)
        self.run = Simulation(own, **self.settings)
        if own is not self.scene:
            self._idle_rows()
        self.hand.forget()
        self._begin()

    def _begin(self) -> None:
        """The run at its start."""
        self.run.restart(self._prepare)
        self.run._warn_before(self.frame_time)
        self.contacts.clear()
        self.gravities.clear()
        self._watch()

    def _idle_rows(self) -> None:
        """The rows of the two in the table of forces, made idle."""
        forces, names = self.run.model.tables["forces"], self.run.model.force_names
        added = list(self.run.model.scene.forces)[-2:]
        for key, name in zip((GRAB, CHANGES), added, strict=True):
            found = (forces.ledger == names.index(name)) & np.isin(forces.kind, (CONSTANT, CUSTOM_FORCE))
            self._rows[key] = int(np.flatnonzero(found)[0])
            forces.kind[self._rows[key]], forces.active[self._rows[key]] = FIELD, 0

    @property
    def can_grab(self) -> bool:
        """Whether there is something that a hand can hold."""
        return GRAB in self._rows

    @property
    def time(self) -> float:
        """s."""
        return float(self.run.time)

    @property
    def frame_time(self) -> float:
        """Simulated time from frame to frame, s."""
        return 1.0 / self.run.frames

    @property
    def memory(self) -> float:
        """Bytes that the recorded frames take, about; twice, as the viewer has its own."""
        return 16.0 * self.run.model.size * len(self.run.recorder)

    def advance(self) -> None:
        """Run on by one frame and record it. Raises SimulationError where the run fails; what was recorded is kept."""
        self.run.advance_frame()
        self._watch()

    def restart(self, **settings: Any) -> None:
        """Begin anew, with what was changed of gravity and motors, and with other settings of `Simulation` if given.

        Raises ValueError; the run before then stays.
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
        """Go back to the last frame that is not later than `time` (s), and forget those after it; returns its instant."""
        self.hand.forget()
        now = rewind(self.run, time, self._prepare)
        del self.contacts[len(self.run.recorder) :], self.gravities[len(self.run.recorder) :]
        self._book(float(np.sum(self.run.recorder.frames["energies"][-1])))
        return now

    # The hand ---------------------------------------------------------------------------------------------------------

    def grab(self, body: str, point: Any) -> None:
        """Hold a body at a point of it (3,) m, world axes. Raises ValueError where there is no such body."""
        if not self.can_grab:
            raise ValueError("nothing here can be grabbed: particles, and bodies in coordinates of your own, cannot")
        self.let_go()
        self.hand.take(self.run, self._rows[GRAB], body, real_array("grab", "point", point, (3,)))

    def move_hand(self, target: Any) -> None:
        """Move what the body held is drawn to, (3,) m, world axes."""
        self.hand.move(self.run, real_array("grab", "target", target, (3,)))

    def let_go(self) -> None:
        """Hold nothing any more."""
        self.hand.let_go(self.run)

    # Parameters -------------------------------------------------------------------------------------------------------

    def set_gravity(self, gravity: Any) -> None:
        """Gravity from now on, (3,) m/s². What it adds to the potential energy is booked. Raises ValueError."""
        wanted = real_array("session", "gravity", gravity, (3,))
        if not self.scene.gravity.any() and wanted.any():
            raise ValueError(
                "the scene was made without gravity; give it some, however little, to change it in the run"
            )
        self.gravity = wanted
        self._change(self._set_gravity)

    def set_motor(self, name: str, **inputs: float) -> None:
        """Inputs of a motor from now on, see `Simulation.set_motor`. Raises ValueError."""
        self.run.set_motor(name, **inputs)
        self.inputs[name] = self.inputs.get(name, {}) | inputs

    def motors(self) -> dict[str, dict[str, float]]:
        """Name of each motor → its inputs (those of `Simulation.set_motor`) as they are."""
        from ..motors import INPUTS as FIELDS
        from ..motors import inputs_of, motor_row

        forces, found = self.run.model.scene.forces.values(), {}
        for name in (force.name for force in forces if force.kind in ("motor", "servo")):
            row = motor_row(self.run.model, self.run._system, name)
            taken = {key: float(row[FIELDS[key]]) for key in inputs_of(row)}
            if taken:
                found[name] = taken
        return found

    def _prepare(self, run: Simulation) -> None:
        """What was changed so far, in a run whose tables are new."""
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
        self._book(before)
        self.run.changed()

    def _book(self, before: float) -> None:
        """What a change made of the energy (J) is work from outside."""
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

    def _watch(self) -> None:
        """Keep of the last frame what the recorder does not; there it is after a measurement. Of frames in between, which
        events leave, the contacts are not known."""
        last = len(self.run.recorder) - 1
        del self.contacts[last:], self.gravities[last:]
        self.contacts += [np.zeros((0, 9), np.float32)] * (last - len(self.contacts))
        self.contacts.append(touching(self.run))
        self.gravities += [self.gravity] * (last + 1 - len(self.gravities))

    def set_frames(self, rate: float) -> None:
        """Recorded frames a second from now on. Raises ValueError."""
        self.run.frames = self.settings["frames"] = positive("frames", rate, "frames a second")

    def set_strength(self, strength: float) -> None:
        """How strong the hand is, 1 for what holds the mechanism by a spring of 12 rad/s. Raises ValueError."""
        self.hand.strength = finite("session", "strength", strength, 0.0)


def _new_name(scene: Scene, name: str) -> str:
    while name in scene.forces:
        name += " (session)"
    return name
