"""Contact in steps of fixed length: options that all such methods share, and the stepper of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agreement import require_agreement
from ...articulated.contact_driver import JointContactStepper
from ...articulated.contact_step import COMPILED as JOINT_STEP
from ...articulated.driver import JointMechanism
from ...board import MOST_THREADS
from ...collide.from_scene import collision_of
from ...contact.limits import COMPILED as LIMITS
from ...contact.make_tables import StepSettings
from ...contact.separate import ROUNDING
from ...contact.soft_system import implicit_forces, is_implicit
from ...contact.solvers import DEFAULT, SOLVERS
from ...contact.step import COMPILED as STEP
from ...contact.time_stepping import ContactStepper
from ...jit import CFunction
from ...mechanics.mechanism import Mechanism
from ...model.compile import Model
from ...model.tables import BOUNDED, CONTACT_WORK, LEDGER
from ..checks import one_of, positive, whole
from ..registry import Method
from ..stepper import StepEvents

TIME_STEPPING = "time_stepping"
ALIASES = {"converging": "interior_point"}  # of solvers
JOINT_ITERATIONS = 400  # of Gauss–Seidel in joint coordinates, which have no other solver
MARGIN = 0.02  # of the size of the smallest thing that touches: pairs nearer than this are looked at
SLEEP_SPEED = 0.01  # sizes of the same thing a second: what is slower may fall asleep


@dataclass(frozen=True, kw_only=True)
class FixedSteps(Method):
    """Options of steps of fixed length: see `TimeStepping`."""

    dt: float
    solver: str = DEFAULT
    iterations: int | None = None
    tolerance: float | None = None
    threads: int = 1
    sleep_after: float | None = None
    newton_tolerance: float = 1e-8
    linear_tolerance: float = 1e-4

    holds = ("projection",)

    def __post_init__(self) -> None:
        if self.dt is None:
            raise ValueError(f"method {self.name!r} takes fixed steps; give dt, in s")
        positive("dt", self.dt, "s")
        if isinstance(self.solver, str):
            object.__setattr__(self, "solver", ALIASES.get(self.solver, self.solver))
        one_of("solver", self.solver, SOLVERS, "the solvers of contact")
        if self.iterations is not None:
            whole("iterations", self.iterations)
        if self.tolerance is not None:
            positive("tolerance", self.tolerance, SOLVERS[self.solver].unit)
        whole("threads", self.threads, MOST_THREADS)
        if self.sleep_after is not None:
            positive("sleep_after", self.sleep_after, "s")
        positive("newton_tolerance", self.newton_tolerance, "relative")
        positive("linear_tolerance", self.linear_tolerance, "relative")

    def steps_particles(self, model: Model) -> bool:
        """Whether there are any."""
        return model.particle_count > 0

    def compiled_for_bodies(self, model: Model) -> list[CFunction]:
        """What the steps of bodies call."""
        if model.tree is not None:
            return [JOINT_STEP]
        forces: Any = model.tables["forces"]
        limited = bool(((forces.kind >= BOUNDED) | is_implicit(forces)).any())
        return [STEP, *([LIMITS] if limited else []), *filter(None, [SOLVERS[self.solver].compiled])]

    def contact_stepper(
        self, model: Model, mechanism: Mechanism, stop_unsolved: bool, events: StepEvents
    ) -> ContactStepper:
        """The stepper of the bodies. Raises ValueError."""
        joint = isinstance(mechanism, JointMechanism)
        if joint and (self.solver != DEFAULT or self.sleep_after is not None):
            what = f"solver={self.solver!r}" if self.sleep_after is None else "sleep_after"
            raise ValueError(f"{what} takes coordinates='maximal'; time steps in joint coordinates do without it")
        collision = collision_of(model.scene)
        size = float(collision.colliders.radius[collision.order].min(initial=1.0))
        whole_size = mechanism.size if isinstance(mechanism, JointMechanism) else model.size
        if CONTACT_WORK[0] not in model.force_names and not len(implicit_forces(mechanism.system)):
            raise ValueError(
                f"scene {model.name!r}: nothing in it has a material, so that nothing can touch, and no joint has a stop, "
                "dry friction, a motor or a spring; another method runs it better"
            )
        require_agreement(model.size, mechanism.system, collision)
        settings, entry = self._settings(size, joint, stop_unsolved), contact_entry(model, whole_size)
        if isinstance(mechanism, JointMechanism):
            return JointContactStepper(mechanism, collision, entry, settings, events)
        return ContactStepper(model, mechanism, collision, entry, settings, events)

    def _settings(self, size: float, joint: bool, stop_unsolved: bool) -> StepSettings:
        """size : of the smallest thing that touches, m."""
        own = SOLVERS[self.solver]
        iterations = JOINT_ITERATIONS if joint else own.iterations
        return StepSettings(
            float(self.dt), self.solver, iterations if self.iterations is None else self.iterations,
            own.tolerance if self.tolerance is None else float(self.tolerance), MARGIN * size,
            max(own.slop * size, ROUNDING), stop_unsolved, self.threads,
            0.0 if self.sleep_after is None else float(self.sleep_after), SLEEP_SPEED * size,
        )  # fmt: skip


def contact_entry(model: Model, size: int) -> int:
    """Where the entries of contact begin in a state of that size; 0 where there are none."""
    if CONTACT_WORK[0] not in model.force_names:
        return 0
    return size - len(LEDGER) - len(model.force_names) + model.force_names.index(CONTACT_WORK[0])


def step_events(model: Model) -> StepEvents:
    """The user's events; where bodies step beside particles, they are looked at once for both."""
    return StepEvents(model.event_addresses, [event.direction for event in model.events])


NO_EVENTS = np.zeros(0, np.int64)
