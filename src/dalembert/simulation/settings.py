"""The settings of a run, for type checkers and completion: keywords of `Simulation` and of all functions that make
runs.

The options of methods are declared once, as fields of the classes in `simulation.methods`, and the other settings in
`Simulation.__init__`. Defaults, help text, tables of the documentation and signatures come from there. Type checkers do
not read registries, so the settings are repeated here, and `tests/typed` compares it with the registries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict

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


class CommonSettings(TypedDict, total=False):
    """Settings that are no options of methods."""

    method: MethodName | Method | None
    hold: Hold
    stiffness: float
    damping: float
    frame_rate: float
    stop_unsolved: bool
    coordinates: Coordinates | GeneralizedCoordinates | Callable[[Scene], GeneralizedCoordinates]
    constraint_solver: ConstraintSolverName | IterativeSolver
    assemble: bool
    contact_points: bool


class ControlSettings(TypedDict, total=False):
    """Settings of a controller."""

    controller: Callable[[Simulation], Any] | None
    control_rate: float | None


class BatchSettings(BatchOptions, CommonSettings, ControlSettings, total=False):
    """`Settings` of the members of a batch: all but `threads`, which `run_batch` has."""


class EnvironmentSettings(MethodOptions, CommonSettings, total=False):
    """`Settings` of the run of an environment, which is its controller itself."""


class Settings(MethodOptions, CommonSettings, ControlSettings, total=False):
    """The settings of a run: the keywords of `Simulation`, where they are explained.

    >>> import dalembert as dal
    >>> settings: dal.Settings = {"method": "rk4", "dt": 0.01, "frame_rate": 100.0}
    >>> run = dal.simulate(dal.gallery.load("pendulum").build(), 0.1, **settings)
    """


class RunSettings(Settings, total=False):
    """The settings of a run including its duration: `SETTINGS` of a gallery scene or of a Python file."""

    duration: Required[float]
    """s"""
