"""A run by time steps of particles: the tables of a step, and the call of its kernel; bodies are stepped beside them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ..addresses import address_table, nested
from ..collide.particle_tables import Particles
from ..collide.tables import NEED_ROOM
from ..contact.step_events import StepEvents
from ..contact.time_stepping import Contact, ContactReport, TimeStepping
from ..linalg.block_pattern import BlockPattern
from ..linalg.coarse_space import coarse_space, coarse_workspace
from ..linalg.conjugate_gradient import REPORT as SOLUTION
from ..linalg.ssor import HELD
from ..mechanics.evaluate import Mechanism
from ..model.compile import Model
from ..model.tables import LEDGER, PARTICLE_FIELD
from ..pointer import C_TYPE
from ..status import EVENT, OK
from . import tables
from .detect import ParticleDetector
from .direct import DirectSolver
from .step import COMPILED, march
from .tables import STEP_STAGES, Steps, Walls

SCHEMES = {
    "time_stepping": tables.EXPLICIT, "linear_implicit_euler": tables.LINEAR_EULER,
    "implicit_euler": tables.IMPLICIT_EULER, "implicit_midpoint": tables.IMPLICIT_MIDPOINT, "bdf2": tables.BDF2,
}  # fmt: skip
NEWTON = 60  # most steps of Newton's method in a stage
DAMPING = ("damping", "stretch_damping", "shear_damping", "viscosity")  # fields of elements
ROUNDS = 12  # most linear solves about contacts in a step of it


class ParticleSettings(NamedTuple):
    """How a step is made.

    method : a name of `SCHEMES`. dt : s. tolerance : of Newton's method, relative to the forces of the step.
    linear_solver : "cg" or "direct"; linear_tolerance : of the first, relative. margin : m, within which contacts are
    looked for. ledger : where the entries of contact begin in the state.
    """

    method: str
    dt: float
    tolerance: float
    linear_solver: str
    linear_tolerance: float
    margin: float
    ledger: int


def _row(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)


def make_steps(model: Model, pattern: BlockPattern, settings: ParticleSettings, contacts: int) -> Steps:
    """The tables of a step of so many contacts."""
    n, b = model.particle_count, len(model.body_names)
    unknowns = 3 * n + tables.BODY_ROW * b
    explicit = SCHEMES[settings.method] == tables.EXPLICIT
    options = _row(tables.OPTIONS)
    options.scheme, options.dt, options.newton = SCHEMES[settings.method], settings.dt, NEWTON
    options.tolerance, options.linear_tolerance = settings.tolerance, settings.linear_tolerance
    options.linear_iterations, options.rounds = max(200, 10 * int(np.sqrt(unknowns))), ROUNDS
    options.margin, options.ledger, options.contacts = settings.margin, settings.ledger, int(contacts > 0)
    options.powers = int(depends_on_velocity(model))
    options.predict = int(explicit and depends_on_velocity(model))
    patched = not explicit and settings.linear_solver == "cg"
    space = coarse_space(pattern) if patched else coarse_space(pattern, fewest=n + 1)
    attachments = np.array(model.attachments, tables.ATTACHMENT).view(np.recarray)
    tied = np.zeros(n if len(attachments) else 0, np.int64)
    tied[attachments.particle] = 1
    m = np.zeros(unknowns)
    return Steps(
        options=options, stage=_row(tables.STAGE), report=_row(tables.REPORT),
        touches=np.zeros(n if contacts or len(attachments) else 0, tables.TOUCH).view(np.recarray),
        attachments=attachments, tied=tied, active=np.zeros(contacts, np.int64),
        memory=np.zeros(n if contacts else 0, tables.MEMORY).view(np.recarray),
        touch_counts=np.zeros(1, np.int64), pinned=np.nonzero(model.tables["particle_inverse_mass"] == 0.0)[0],
        start=np.zeros(6 * n), before=np.zeros(6 * n), aim=np.zeros(3 * n), base=np.zeros(3 * n), place=np.zeros(12 * n),
        trial=np.zeros(12 * n), forces=np.zeros(6 * n), trial_forces=np.zeros(6 * n),
        power=np.zeros(len(model.force_names) + len(LEDGER)), booked=np.zeros(len(model.force_names) + len(LEDGER)),
        gradient=m.copy(), change=m.copy(),
        moved=np.zeros(6 * b), wanted=np.zeros(6 * b), inertia=np.zeros(7 * b), starts=pattern.starts,
        columns=pattern.columns, values=np.zeros(0 if explicit else 9 * len(pattern.columns)), rhs=m.copy(),
        residual=m.copy(), direction=m.copy(), image=m.copy(), scaled=m.copy(), d=m.copy(), t=m.copy(), g=m.copy(),
        space=nested(space),
        coarse=nested(coarse_workspace(space)),
        held=np.zeros(n, HELD).view(np.recarray), solution=_row(SOLUTION), spare=np.zeros(model.size),
        diagonal=np.zeros(9 * n + 18 * b), ticks=np.zeros(len(STEP_STAGES) + 3),
    )  # fmt: skip


class ParticleStepping:
    """Steps particles, and with them bodies, from frame to frame.

    bodies : the time steps of the bodies, if there are any.
    """

    def __init__(
        self, model: Model, mechanism: Mechanism, pattern: BlockPattern, settings: ParticleSettings,
        detector: ParticleDetector | None, bodies: TimeStepping | None, events: StepEvents,
    ) -> None:  # fmt: skip
        self.settings, self.bodies = settings, bodies
        self._mechanism, self._detector, self._events = mechanism, detector, events
        mechanism.system.settings[0].stepped = 1
        mechanism.system.settings[0].contact_entry = max(0, settings.ledger - ledger_at(model))
        room = 0 if detector is None else len(detector.particles.contacts)
        self._steps = make_steps(model, pattern, settings, room)
        self.report = self._steps.report
        if settings.linear_solver == "direct" and SCHEMES[settings.method] != tables.EXPLICIT:
            self._direct = C_TYPE(DirectSolver(mechanism.system, self._steps))
            self._steps.options.direct = ctypes.cast(self._direct, ctypes.c_void_p).value or 0
        self._block = model.particle_block
        self.event = -1  # the event that the last call stopped at
        self._start = 0.0
        self._steps.memory.step = -1
        self._fit()

    def _fit(self) -> None:
        """The addresses of it all, with room for as many contacts as the detector has."""
        detector = self._detector
        particles = Particles(*[np.zeros(0)] * len(Particles._fields)) if detector is None else detector.particles
        if detector is not None and len(self._steps.active) < len(particles.contacts):
            self._steps = self._steps._replace(active=np.zeros(len(particles.contacts), np.int64))
        walls = Walls(
            self._mechanism.address, self._mechanism.data, 0 if detector is None else detector.address,
            0 if detector is None else detector.data,
        )  # fmt: skip
        own = (particles, self._mechanism.system, self._steps)
        if numba.config.DISABLE_JIT:
            self._march: Callable[..., int] = lambda y, dydt, stop: int(march(walls, y, dydt, stop, *own))
            return
        self._addresses = [address_table(table) for table in own]
        self._data = np.array([*walls, *(table.ctypes.data for table in self._addresses)], np.int64)
        function, data = C_TYPE(COMPILED.address), int(self._data.ctypes.data)
        self._march = lambda y, dydt, stop: int(
            function(data, 0, stop, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size)
        )

    # What `simulate` asks of a driver -------------------------------------------------------------------------------

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._start = time
        self.report.steps = 0
        if self.bodies is not None:
            self.bodies.restart(time)
        self._events.waiting.clear()
        self.changed()

    def changed(self) -> None:
        """The state was changed from outside: what was before it tells nothing."""
        self._events.forget()
        self._steps.options.history = 0
        self._steps.memory.step = -1
        if self.bodies is not None:
            self.bodies.changed()

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, end: float) -> int:
        """Step y until `target` (s) is reached, in place. Returns a status."""
        alone = self.bodies is None and len(self._events) == 0
        while True:
            if self._events.waiting:
                self.event = self._events.waiting.pop(0)
                return EVENT
            status = OK if self._events.known else self._events.look(self.time, y)
            done = float(self.report.steps[0]) * self.settings.dt
            if status != OK or done + 1e-9 * self.settings.dt >= target - self._start:
                return status
            status = self._step(y, dydt, target - self._start if alone else done + self.settings.dt, end)
            if status == OK:
                status = self._events.look(self.time, y)
            if status != OK:
                return status

    def _step(self, y: np.ndarray, dydt: np.ndarray, stop: float, end: float) -> int:
        """Steps of particles until so long after the start, and then of the bodies. Returns a status."""
        while True:
            status = self._march(y, dydt, stop)
            if status != NEED_ROOM or self._detector is None:
                break
            self._detector.make_room()
            self._fit()
        if status == OK and self.bodies is not None:
            return self.bodies.run(y, dydt, self._start + stop, end)
        return status

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried: how far its particles came, and where the forces there push them."""
        tried = (y if self.bodies is None else self.bodies.attempt(y)).copy()
        place, forces = self._steps.place[: self._steps.start.size], self._steps.forces
        x, v = place.reshape(2, -1, 3)
        push = self.settings.dt * forces.reshape(2, -1, 3).sum(axis=0)
        tried[self._block] = np.concatenate([x, self._mechanism.system.particle_mass[:, None] * v + push]).ravel()
        return tried

    def frame(self) -> dict[str, Any]:
        """What is recorded of the contacts of bodies."""
        return {} if self.bodies is None else self.bodies.frame()

    def contact_report(self) -> ContactReport | None:
        """How the contacts of bodies were solved in the run so far."""
        return None if self.bodies is None else self.bodies.contact_report()

    def contacts(self, model: Model) -> list[Contact]:
        """The contacts of bodies in the last step."""
        return [] if self.bodies is None else self.bodies.contacts(model)

    @property
    def ticks(self) -> dict[str, float]:
        """What the stages of a step took, in ticks of the processor."""
        own = {
            f"particles: {name}": value for name, value in zip(STEP_STAGES, self._steps.ticks.tolist(), strict=False)
        }
        return own if self.bodies is None else {**own, **self.bodies.ticks}

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return self._start + int(self.report.steps[0]) * self.settings.dt

    @property
    def counts(self) -> dict[str, int]:
        """Steps made, and steps of Newton's method."""
        report = self.report[0]
        return {"steps": int(report.steps), "rejected": 0, "evaluations": int(report.newton)}


def depends_on_velocity(model: Model) -> bool:
    """Whether forces on particles do: all that have no potential count."""
    damped = (table[name].any() for table in model.particles.element_rows().values() for name in table.dtype.names or ()
              if name in DAMPING)  # fmt: skip
    fields = (model.tables["particle_forces"].kind != PARTICLE_FIELD).any()
    return bool(any(damped) or fields or any(law.damping > 0.0 for law in model.particles.laws))


def ledger_at(model: Model) -> int:
    """Where the ledger starts in the state."""
    return model.size - len(LEDGER) - len(model.force_names)
