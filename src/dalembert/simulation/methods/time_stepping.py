"""Time steps of contact (Moreau): of bodies, of bodies in joint coordinates, and of particles."""

from __future__ import annotations

from dataclasses import dataclass

from ...jit import CFunction
from ...mechanics.mechanism import Mechanism
from ...model.compile import Model
from ..registry import Facts, register
from ..stepper import Stepper
from .contact import TIME_STEPPING, FixedSteps, step_events
from .particles import compiled_for_particles, particle_stepper


@register
@dataclass(frozen=True, kw_only=True)
class TimeStepping(FixedSteps):
    """Time steps of fixed length that solve contact, stops, dry friction and ideal motors at velocity level. Without contact
    they are leapfrog steps.

    Parameters
    ----------
    dt : step, s.
    solver : of contact: "gauss_seidel" (real time; stops where the residual of the law of contact is within `tolerance`, in
        m/s) or "converging", also called "interior_point" (converges to `tolerance` times the typical speed of the step).
    iterations : most iterations of the solver in a step; 20 and 1000 if not given, and 400 in joint coordinates.
    tolerance : 1e-6 and 1e-10 if not given.
    threads : how many share the work; the results are the same, to the last bit. Worth it from some thousands of contacts.
    sleep_after : s; bodies that touch, and have all been slower than a hundredth of the size of the smallest a second for so
        long, are stopped until something else touches them or the state is changed. Not in joint coordinates, and not bodies
        with joints, springs or forces of their own. Their contacts are not reported.
    newton_tolerance : a step of particles with a larger gradient, relative to its forces, counts as unsolved.
    linear_tolerance : relative residual of the linear system of particles that touch or are attached to bodies.

    Raises ValueError for an unknown solver and numbers that cannot be.

    >>> import dalembert as dal
    >>> dal.TimeStepping(dt=1 / 240, solver="converging").solver
    'interior_point'
    """

    name = TIME_STEPPING

    @classmethod
    def names(cls) -> list[str]:
        """One."""
        return [TIME_STEPPING]

    @classmethod
    def facts(cls, name: str) -> Facts:
        """See `Method.facts`."""
        text = "Contact, stops, dry friction and ideal motors, of order 1 at impacts; leapfrog without them"
        return Facts(text, 2, "fixed", "yes", "yes", "yes")

    def compiled(self, model: Model) -> list[CFunction]:
        """See `Method.compiled`."""
        if self.steps_particles(model):
            return compiled_for_particles(self, model)
        return self.compiled_for_bodies(model)

    def make_stepper(self, model: Model, mechanism: Mechanism, stop_unsolved: bool) -> Stepper:
        """See `Method.make_stepper`."""
        if self.steps_particles(model):
            return particle_stepper(self, "cg", model, mechanism, stop_unsolved)
        return self.contact_stepper(model, mechanism, stop_unsolved, step_events(model))
