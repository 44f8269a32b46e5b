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
    """Fixed time steps (Moreau) that solve contact, stops, dry friction and ideal motors at velocity level. Without
    contact they are leapfrog steps.

    Parameters
    ----------
    dt : step, s. Default: chosen from sizes, speeds and stiffness.
    solver : contact solver: "gauss_seidel" (sweeps until the residual of the contact law is below `tolerance`, in m/s;
        islands that are not solved after 20 sweeps go to the converging solver), or "converging", also called
        "interior_point" (the converging solver alone, to `tolerance` times the typical speed of the step).
    iterations : largest number of iterations per step. For "gauss_seidel" it is a budget: steps end after it, solved or
        not. Default: no budget; steps are solved. "converging" makes at most 1000.
    tolerance : default 1e-6 for "gauss_seidel", 1e-10 for "converging". For islands in motion with more than 300
        contacts "gauss_seidel" uses the largest of `tolerance`, a thousandth of their root mean square speed and a
        hundredth of the speed that gravity adds in a step. Without `tolerance`, "converging" solves islands of more than
        300 contacts to 1e-6 m/s, and closer only where a few more iterations do.
    threads : number of threads; results are bit-identical for any number. Threads save time from some thousands of
        contacts.
    sleep_after : s. An island whose bodies all move slower than a hundredth of the size of the smallest per second for
        this time sleeps until another body touches it or the state is changed. Bodies with joints, springs or forces of
        their own do not sleep. In joint coordinates a robot sleeps as a whole, unless motors, springs between bodies or
        forces of its own act on it. Contacts of sleeping bodies are not reported. Bodies that touch particles stay
        awake.
    newton_tolerance : a step of particles with a larger gradient, relative to its forces, counts as unsolved,
        unless rounding explains it; see `ImplicitParticles`.
    linear_tolerance : relative residual of the linear system of particles that touch or are attached to bodies.

    Raises ValueError for an unknown solver and invalid numbers.

    >>> import dalembert as dal
    >>> dal.TimeStepping(dt=1 / 240, solver="converging").solver
    'interior_point'
    """

    name = TIME_STEPPING

    @classmethod
    def names(cls) -> list[str]:
        """The name of the method."""
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
