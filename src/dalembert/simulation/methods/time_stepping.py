"""The method "time_stepping": contact in steps of fixed length, of bodies and of particles."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.jit import CFunction
from ...dynamics.mechanism import Mechanism
from ...integrate.stepper import Stepper
from ...model.compile import Model
from ..registry import Facts, register
from .contact import TIME_STEPPING, FixedSteps, compiled_for_particles, particle_stepper, step_events


@register
@dataclass(frozen=True, kw_only=True)
class TimeStepping(FixedSteps):
    """Time steps of fixed length (Moreau) that solve contact, stops, dry friction and ideal motors at velocity level. Without
    contact they are leapfrog steps.

    Parameters
    ----------
    dt : step, s; chosen from sizes, speeds and stiffness if not given.
    solver : of contact: "gauss_seidel" (passes over the contacts until the residual of the contact law is below `tolerance`,
        in m/s; what touches each other and is not solved by 20 of them goes to the converging solver), or "converging", also
        called "interior_point" (that solver alone, to `tolerance` times the typical speed of the step).
    iterations : largest number of iterations of the solver in a step. For "gauss_seidel" it is a budget: steps end with it,
        solved or not; without it, they are solved. "converging" makes 1000 at most.
    tolerance : default 1e-6 and 1e-10. Bodies in motion with more than 300 contacts on each other are solved by
        "gauss_seidel" to the largest of `tolerance`, a thousandth of their speed (root mean square) and a hundredth of what
        gravity adds to it in a step.
    threads : number of threads; results are bit-identical for any. It pays from some thousands of contacts.
    sleep_after : s; bodies that touch, and have all moved slower than a hundredth of the size of the smallest per second for
        so long, sleep until another body touches them or the state is changed. Not bodies with joints, springs or forces of
        their own; in joint coordinates a robot sleeps as a whole, unless motors, springs between bodies or forces of its own
        drive it. Contacts of sleeping bodies are not reported. What particles push stays awake.
    newton_tolerance : a step of particles with a larger gradient, relative to its forces, counts as unsolved, unless rounding
        explains it; see `ImplicitParticles`.
    linear_tolerance : relative residual of the linear system of particles that touch or are attached to bodies.

    Raises ValueError for an unknown solver and impossible numbers.

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
