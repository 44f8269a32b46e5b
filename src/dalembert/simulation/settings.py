"""The settings of a run, for type checkers and completion: keywords of `Simulation` and of all that makes runs.

The options of methods are declared once, as fields of the classes in `simulation.methods`, and the other settings in
`Simulation.__init__`. Defaults, help text, tables of the documentation and signatures come from there. Type checkers read
files and not registries; what they need is written here, and `tests/types` compares it with the registries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from ..linalg.iterative import IterativeSolver
    from ..scene.scene import Scene
    from ..symbolic import GeneralizedCoordinates
    from .registry import Method
    from .simulation import Simulation

# Names, as listed by the registries -----------------------------------------------------------------------------------

MethodName: TypeAlias = Literal[
    "euler", "adaptive_euler", "symplectic_euler", "splitting", "midpoint", "rk4", "bogacki_shampine",
    "dormand_prince", "dop853", "time_stepping", "linear_implicit_euler", "implicit_euler", "implicit_midpoint",
    "bdf2",
]  # fmt: skip
Hold: TypeAlias = Literal["projection", "feedback", "penalty"]
Coordinates: TypeAlias = Literal["maximal", "joint"]
ImpactLaw: TypeAlias = Literal["simultaneous", "sequential", "poisson"]
ContactSolverName: TypeAlias = Literal["gauss_seidel", "interior_point", "converging"]
LinearSolverName: TypeAlias = Literal["cg", "direct"]
ConstraintSolverName: TypeAlias = Literal["ldl", "bicgstab", "conjugate_gradient", "minres", "gauss_seidel", "jacobi"]


class BatchOptions(TypedDict, total=False):
    """`MethodOptions` of the members of a batch, which shares its threads among them."""

    dt: float | None
    rtol: float
    atol: float | None
    impacts: ImpactLaw
    solver: ContactSolverName
    iterations: int | None
    tolerance: float | None
    sleep_after: float | None
    newton_tolerance: float
    linear_tolerance: float
    linear_solver: LinearSolverName


class MethodOptions(BatchOptions, total=False):
    """Options of methods, which are keywords where the method is given by its name; see `RungeKutta`, `Events`,
    `TimeStepping` and `ImplicitParticles`."""

    threads: int


class BatchSettings(BatchOptions, total=False):
    """`Settings` of the members of a batch: all but `threads`, which `run_batch` has."""

    method: MethodName | Method | None
    hold: Hold
    stiffness: float
    damping: float
    frames: float
    stop_unsolved: bool
    coordinates: Coordinates | GeneralizedCoordinates | Callable[[Scene], GeneralizedCoordinates]
    constraint_solver: ConstraintSolverName | IterativeSolver
    assemble: bool
    contact_points: bool
    controller: Callable[[Simulation], Any] | None
    control_rate: float | None


class Settings(BatchSettings, MethodOptions, total=False):
    """The settings of a run: the keywords of `Simulation`, which says what they mean.

    >>> import dalembert as dal
    >>> settings: dal.Settings = {"method": "rk4", "dt": 0.01, "frames": 100.0}
    >>> run = dal.simulate(dal.gallery.load("pendulum").build(), 0.1, **settings)
    """


class RunSettings(Settings, total=False):
    """The settings of a run with its simulated time: `SETTINGS` of a scene of the gallery, and of a Python file."""

    duration: Required[float]
    """s"""


# Signatures -----------------------------------------------------------------------------------------------------------

Function = TypeVar("Function", bound=Callable[..., Any])


def with_settings(of: Callable[..., Any] | None = None) -> Callable[[Function], Function]:
    """Give a function that takes `**settings` the signature that names them, for `help`, `inspect` and completion.

    of : the class whose keywords they are, with their defaults: `Simulation`; without it, for modules that do not import
        that, the names alone.
    """
    if of is None:
        names = [*Settings.__required_keys__, *Settings.__optional_keys__]
        settings = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...) for name in sorted(names)]
    else:
        settings = [each for each in inspect.signature(of).parameters.values() if each.kind is each.KEYWORD_ONLY]

    def named(function: Function) -> Function:
        own = inspect.signature(function)
        rest = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        names = {each.name for each in rest}
        found = [*rest, *(each for each in settings if each.name not in names)]
        function.__signature__ = own.replace(parameters=found)  # type: ignore[attr-defined]
        return function

    return named
