"""The stepper of particles: the call of the kernel of a step, together with steps of bodies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..collide.particles import Particles
from ..collide.tables import NEED_ROOM
from ..contact.contact_point import Contact
from ..contact.joint_space_stepping import JointContactStepper
from ..contact.time_stepping import ContactReport, ContactStepper
from ..core.c_function import C_TYPE
from ..core.checkpoint_fields import LARGE, Field, columns, prefixed
from ..core.jit import DISABLED
from ..core.status import OK
from ..core.tables import address_table
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, StepEvents
from ..linalg.block_matrix import BlockPattern
from ..model.compile import Model
from . import tables
from .carriers import JoinedCarriers
from .contact import ParticleDetector
from .joint_space_carriers import TreeCarriers
from .linear import DirectSolver
from .rounds import Rounds
from .step import PARTICLE_STEP_ENTRY, run_steps
from .tables import SCHEMES, STEP_STAGES, Callbacks, ParticleReport, ParticleSettings, Steps, ledger_at, make_steps


class ParticleStepper(FixedStepper):
    """Steps particles, and after each step the bodies, from frame to frame.

    bodies : the stepper of the bodies, if there are any.
    """

    need_room = NEED_ROOM

    def __init__(
        self, model: Model, mechanism: Mechanism, pattern: BlockPattern, settings: ParticleSettings,
        detector: ParticleDetector | None, bodies: ContactStepper | None, events: StepEvents,
    ) -> None:  # fmt: skip
        self._bodies, self._detector = bodies, detector
        self._mechanism = mechanism.mechanism if isinstance(mechanism, JointMechanism) else mechanism
        mechanism.system.settings[0].stepped = 1
        mechanism.system.settings[0].contact_entry = max(0, settings.ledger - ledger_at(model))
        room = 0 if detector is None else len(detector.particles.contacts)
        self._carriers = self._make_carriers(model, settings)
        coordinates = None if self._carriers is None else self._carriers.unknowns
        self._steps = make_steps(model, pattern, settings, room, coordinates)
        if self._carriers is not None:
            self._steps.options.carriers, self._steps.options.carriers_data = (
                self._carriers.address,
                self._carriers.data,
            )
        super().__init__(settings, self._steps.options, self._steps.report, events)
        if settings.linear_solver == "direct" and not SCHEMES[settings.method].explicit:
            self._direct = C_TYPE(DirectSolver(mechanism.system, self._steps))
            self._steps.options.direct = ctypes.cast(self._direct, ctypes.c_void_p).value or 0
        self._rounds = Rounds(model, bodies, self) if bodies is not None else None
        self._block = model.particle_block
        self._steps.memory.step = -1
        self._fit()

    def _make_carriers(self, model: Model, settings: ParticleSettings) -> TreeCarriers | JoinedCarriers | None:
        """The coordinates of the bodies, if they have joints or are joint coordinates."""
        scheme = SCHEMES[settings.method]
        if isinstance(self._bodies, JointContactStepper):
            return TreeCarriers(self._bodies, settings.dt, scheme.fraction, scheme.explicit)
        if self._bodies is not None and model.graph.rows:
            return JoinedCarriers(self._mechanism, len(model.body_names))
        return None

    def _fit(self) -> None:
        """Take the addresses of all tables, with room for as many contacts as the detector has."""
        detector = self._detector
        particles = Particles(*[np.zeros(0)] * len(Particles._fields)) if detector is None else detector.particles
        if detector is not None and len(self._steps.active) < len(particles.contacts):
            self._steps = self._steps._replace(active=np.zeros(len(particles.contacts), np.int64))
        callbacks = Callbacks(
            self._mechanism.address, self._mechanism.data, 0 if detector is None else detector.address,
            0 if detector is None else detector.data,
        )  # fmt: skip
        own = (particles, self._mechanism.system, self._steps)
        if isinstance(self._carriers, JoinedCarriers) and DISABLED:
            self._carriers.fit(self._steps, 0, 0)
        if DISABLED:
            self._run_kernel: Callable[..., int] = lambda y, dydt, stop: int(run_steps(callbacks, y, dydt, stop, *own))
            return
        self._addresses = [address_table(table) for table in own]
        if isinstance(self._carriers, JoinedCarriers):
            self._carriers.fit(self._steps, *(int(table.ctypes.data) for table in self._addresses[1:]))
        self._data = np.array([*callbacks, *(table.ctypes.data for table in self._addresses)], np.int64)
        function, data = C_TYPE(PARTICLE_STEP_ENTRY.address), int(self._data.ctypes.data)
        self._run_kernel = lambda y, dydt, stop: int(
            function(data, 0, stop, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size)
        )

    @property
    def steps_tables(self) -> Steps:
        """The tables of a step."""
        return self._steps

    @property
    def bodies(self) -> ContactStepper | None:
        """The stepper of the bodies, if there are any."""
        return self._bodies

    @property
    def particles(self) -> ParticleStepper:
        """This stepper."""
        return self

    @property
    def detects(self) -> bool:
        """Whether particles touch anything."""
        return self._detector is not None

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        if self.bodies is not None:
            self.bodies.restart(time)
        super().restart(time)

    def changed(self) -> None:
        """The state was changed from outside: the history is invalid."""
        super().changed()
        self._steps.options.history = 0
        self._steps.memory.step = -1
        self._steps.assumed[:] = 0.0
        if self.bodies is not None:
            self.bodies.changed()

    def let_go(self, attachment: int) -> bool:
        """Release one of the model's attachments, from now on."""
        self._steps.tied[self._steps.attachments[attachment].particle] = 0
        return True

    def missed(self) -> str:
        """The message of a step that misses its tolerance."""
        stage, single = self._steps.stage[0], bool(self._steps.options.linear[0])
        what = "its linear system" if single else "Newton's method"
        return (
            f"at t = {self.time:.9g} s the step of the particles is not solved: {what} ends with a gradient of "
            f"{stage.residual / stage.typical:.3g} of the forces; allow a larger "
            f"{'linear_tolerance' if single else 'newton_tolerance'} or a smaller dt"
        )

    def _one_by_one(self) -> bool:
        """Bodies make their step after each of the particles."""
        return self.bodies is not None or super()._one_by_one()

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps of particles until so long after the start (s), and then of the bodies. Returns a status."""
        if self.bodies is None:
            return super().make_steps(y, dydt, stop)
        assert self._rounds is not None
        self._rounds.begin(y)
        while True:
            status = self._make_round(y, dydt, stop)
            if status != OK or not self._rounds.again(y):
                return status

    def _make_round(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """A step of the particles, and one of the bodies. Returns a status."""
        assert self.bodies is not None
        status = OK if self._carriers is None else self._carriers.begin(y)
        if status == OK:
            status = super().make_steps(y, dydt, stop)
        if status != OK:
            return status
        if self.bodies.settings.sleep_after > 0.0:
            self.bodies.keep_awake(self._mechanism.system.pushes.reshape(-1, 6).any(axis=1))
        return self.bodies.run(y, dydt, self._start + stop)

    def call_kernel(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps of particles until so long after the start (s). Returns a status."""
        return self._run_kernel(y, dydt, stop)

    def grow(self) -> None:
        """Give collision detection and the tables as much room as it needs."""
        assert self._detector is not None
        self._detector.make_room()
        self._fit()

    def room(self) -> dict[str, int]:
        """The lengths of `fields` that do not follow from the model."""
        return {} if self.bodies is None else self.bodies.room()

    def make_room(self, room: dict[str, int]) -> None:
        """Give `fields` these lengths."""
        if self.bodies is not None:
            self.bodies.make_room(room)

    def fields(self) -> list[Field]:
        """The history that a run needs besides the state."""
        steps = self._steps
        return [
            Field("steps", self.report.steps, 0, LARGE),
            Field("start", steps.options.start),
            Field("history", steps.options.history, 0, 1),
            Field("before", steps.before),
            Field("booked", steps.booked),
            Field("tied", steps.tied, 0, 1),
            Field("memory", steps.memory, columns=columns(tables.MEMORY, {"step": (-1, LARGE), "stick": (0, 1)})),
            *prefixed("events", self._events.fields()),
            *([] if self._rounds is None else self._rounds.fields()),
            *prefixed("bodies", [] if self.bodies is None else self.bodies.fields()),
        ]

    def put_back(self) -> None:
        """`fields` were written: continue from there."""
        super().put_back()
        self._steps.options.assumes = int(self._steps.assumed.any())
        if self.bodies is not None:
            self.bodies.put_back()

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried: the iterate, with the velocities that its forces would give."""
        tried = (y if self.bodies is None else self.bodies.attempt(y)).copy()
        iterate, forces = self._steps.iterate[: self._steps.start.size], self._steps.forces
        x, v = iterate.reshape(2, -1, 3)
        push = self.settings.dt * forces.reshape(2, -1, 3).sum(axis=0)
        tried[self._block] = np.concatenate([x, self._mechanism.system.particle_mass[:, None] * v + push]).ravel()
        return tried

    def frame(self) -> dict[str, Any]:
        """What a frame records of the contacts of bodies."""
        return {} if self.bodies is None else self.bodies.frame()

    def contact_report(self) -> ContactReport | None:
        """How the contacts of bodies were solved in the run so far."""
        return None if self.bodies is None else self.bodies.contact_report()

    def particle_report(self) -> ParticleReport:
        """How the steps of particles were solved in the run so far."""
        report = self.report[0]
        return ParticleReport(
            newton=int(report.newton), solves=int(report.solves), iterations=int(report.linear),
            unconverged=int(report.unconverged), indefinite=int(report.indefinite), unsolved=int(report.unsolved),
            gradient=float(report.worst), unsettled=0 if self._rounds is None else self._rounds.unsettled,
            mismatch=0.0 if self._rounds is None else self._rounds.worst,
        )  # fmt: skip

    def contacts(self, model: Model) -> list[Contact]:
        """The contacts of bodies in the last step."""
        return [] if self.bodies is None else self.bodies.contacts(model)

    def asleep(self, model: Model) -> list[str]:
        """The names of bodies that sleep."""
        return [] if self.bodies is None else self.bodies.asleep(model)

    def efforts(self, model: Model) -> dict[str, float]:
        """The efforts of stops, dry friction and ideal motors in the last step of the bodies."""
        return {} if self.bodies is None else self.bodies.efforts(model)

    @property
    def timer(self) -> dict[str, float]:
        """The time of each stage of a step, in cycles of the processor."""
        own = {
            f"particles: {name}": value for name, value in zip(STEP_STAGES, self._steps.timer.tolist(), strict=False)
        }
        return own if self.bodies is None else {**own, **self.bodies.timer}

    @property
    def counts(self) -> dict[str, int]:
        """Steps made since the run began or was resumed, and steps of Newton's method."""
        return super().counts | {"evaluations": int(self.report[0].newton)}
