"""Implicit time steps of particles, together with time steps of bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.jit import CFunction
from ...deformable.tables import SCHEMES
from ...dynamics.mechanism import Mechanism
from ...energies.kinds import KINDS
from ...integrate.stepper import Stepper
from ...model.compile import Model
from ...model.tables import System
from ..registry import Facts, one_of, register
from ..settings import LinearSolverName
from .contact import TIME_STEPPING, FixedSteps, compiled_for_particles, particle_stepper

LINEAR_SOLVERS = ("cg", "direct")


@register
@dataclass(frozen=True, kw_only=True)
class ImplicitParticles(FixedSteps):
    """Implicit time steps of particles, for cloth, soft bodies and stiff springs. Bodies in the same scene take the
    steps of `TimeStepping`.

    Parameters
    ----------
    name : "linear_implicit_euler" (one linear solve per step) or, with Newton's method, "implicit_euler",
        "implicit_midpoint" or "bdf2".
    dt : step, s. Default: chosen from sizes, speeds and stiffness.
    newton_tolerance : bound on the gradient, relative to the forces of the step. A bound below the rounding of positions
        is met as far as rounding allows, if that is within 1e-8.
    linear_solver : "cg" (conjugate gradients) or "direct" (SciPy's sparse LU).
    linear_tolerance : relative residual of conjugate gradients.
    solver, iterations, tolerance, threads, sleep_after : for bodies; see `TimeStepping`.

    Raises ValueError for an unknown name and invalid numbers.

    >>> import dalembert as dal
    >>> dal.ImplicitParticles("bdf2", dt=1 / 120).name
    'bdf2'
    """

    name: str = field(default="linear_implicit_euler", kw_only=False)
    linear_solver: LinearSolverName = "cg"

    def __post_init__(self) -> None:
        one_of("method", self.name, self.names(), "implicit methods of particles")
        super().__post_init__()
        one_of("linear solver", self.linear_solver, LINEAR_SOLVERS, "the linear solvers")

    @classmethod
    def names(cls) -> list[str]:
        """The names of the implicit schemes."""
        return [name for name in SCHEMES if name != TIME_STEPPING]

    @classmethod
    def facts(cls, name: str) -> Facts:
        """See `Method.facts`."""
        scheme = SCHEMES[name]
        return Facts(scheme.help, scheme.order, "fixed", "yes", "yes", "yes")

    def system(self, model: Model) -> System:
        """The tables of a run of the model, with the matrix of its particles."""
        return implicit_system(model) if self.steps_particles(model) else model.system()

    def compiled(self, model: Model) -> list[CFunction]:
        """See `Method.compiled`."""
        return compiled_for_particles(self, model)

    def make_stepper(self, model: Model, mechanism: Mechanism, stop_unsolved: bool) -> Stepper:
        """See `Method.make_stepper`."""
        if not self.steps_particles(model):
            raise ValueError(
                f"method {self.name!r} is for particles, but scene {model.name!r} has none; use {TIME_STEPPING!r}"
            )
        return particle_stepper(self, self.linear_solver, model, mechanism, stop_unsolved)


def implicit_system(model: Model) -> System:
    """The tables of a model with the matrix of its particles."""
    pattern = model.particles.pattern()
    slots = dict(zip(KINDS, (slots.ravel() for slots in pattern.slots), strict=True))
    return model.system(slots, pattern.starts[:-1])
