"""dalembert: a physics engine for mechanisms, robots, contact and particles, with an energy audit of every run."""

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import gallery, sensors
    from .cli.live_session import show
    from .cli.replay import Replay, replay
    from .contact.problem import ContactProblem, ScalarRows, load_contact_problem, solve_contact, solve_delassus
    from .contact.problem_solution import ContactResiduals, ContactSolution
    from .core.status import SimulationWarning
    from .ensemble.batch import Batch, run_batch
    from .ensemble.sweep import SweepError, sweep
    from .export.formats import export_usd
    from .export.gltf import export_gltf
    from .export.mjcf import export_mjcf
    from .integrate.solve import solve
    from .integrate.tableaus import METHODS
    from .io.files import ImportedModel
    from .io.load import load_model, load_usd
    from .linalg.equilibrate import Equilibration, condition_number, equilibrate
    from .linalg.iterative import IterativeSolver, LinearSolution, solve_linear
    from .linalg.matching import Matching, matching
    from .linalg.newton import Minimum, minimize
    from .scene.angles import degrees
    from .scene.body import WORLD
    from .scene.cable import Cable, Drum, Eye, Pulley
    from .scene.contact import Material
    from .scene.joint import Curve
    from .scene.mass import MassProperties, mass_properties
    from .scene.mesh_file import tetrahedron_grid, triangle_grid
    from .scene.motion import Keyframes
    from .scene.scene import Scene
    from .scene.shapes import (
        Box,
        Capsule,
        Compound,
        Cone,
        ConvexHull,
        Cylinder,
        Ellipsoid,
        HalfSpace,
        HeightField,
        Mesh,
        Sphere,
        TriangleMesh,
    )
    from .simulation.articulation import Articulation
    from .simulation.constraint_system import ConstraintSystem
    from .simulation.control import TimeSeries
    from .simulation.equilibrium import Equilibrium, equilibrium
    from .simulation.errors import SimulationError
    from .simulation.methods import Events, ImplicitParticles, RungeKutta, TimeStepping
    from .simulation.settings import MethodName, RunSettings, Settings
    from .simulation.simulation import Simulation, simulate
    from .simulation.state import State
    from .simulation.trajectory import Trajectory
    from .symbolic import GeneralizedCoordinates, Lagrangian

__all__ = [
    "METHODS", "WORLD", "Articulation", "Batch", "Box", "Cable", "Capsule", "Compound", "Cone", "ConstraintSystem",
    "ContactProblem", "ContactResiduals", "ContactSolution", "ConvexHull", "Curve", "Cylinder",
    "Drum", "Ellipsoid", "Equilibration", "Equilibrium", "Events", "Eye", "GeneralizedCoordinates", "HalfSpace",
    "HeightField", "ImplicitParticles",
    "ImportedModel", "IterativeSolver", "Keyframes", "Lagrangian", "LinearSolution", "MassProperties", "Matching",
    "Material", "Mesh", "MethodName", "Minimum", "Pulley", "Replay", "RunSettings", "RungeKutta", "ScalarRows", "Scene",
    "Settings", "Simulation", "SimulationError", "SimulationWarning", "Sphere", "State", "SweepError", "TimeSeries",
    "TimeStepping", "Trajectory", "TriangleMesh", "__version__", "condition_number", "degrees", "equilibrate", "equilibrium",
    "export_gltf", "export_mjcf", "export_usd", "gallery", "load_contact_problem", "load_model", "load_usd",
    "mass_properties", "matching", "minimize", "replay", "run_batch", "sensors", "show", "simulate", "solve",
    "solve_contact", "solve_delassus", "solve_linear", "sweep", "tetrahedron_grid", "triangle_grid",
]  # fmt: skip

# Public names by module. Each is imported when it is first used: drawing a scene or reading a file needs no compiler.
_HOME = {
    ".simulation.articulation": "Articulation",
    ".simulation.constraint_system": "ConstraintSystem",
    ".contact.problem": "ContactProblem ScalarRows load_contact_problem solve_contact solve_delassus",
    ".contact.problem_solution": "ContactResiduals ContactSolution",
    ".ensemble.sweep": "sweep SweepError",
    ".ensemble.batch": "Batch run_batch",
    ".simulation.errors": "SimulationError",
    ".simulation.equilibrium": "Equilibrium equilibrium",
    ".export.formats": "export_usd",
    ".export.gltf": "export_gltf",
    ".export.mjcf": "export_mjcf",
    ".io.files": "ImportedModel",
    ".io.load": "load_model load_usd",
    ".integrate.tableaus": "METHODS",
    ".integrate.solve": "solve",
    ".linalg.equilibrate": "condition_number equilibrate Equilibration",
    ".linalg.iterative": "IterativeSolver LinearSolution solve_linear",
    ".linalg.matching": "Matching matching",
    ".linalg.newton": "minimize Minimum",
    ".cli.live_session": "show",
    ".cli.replay": "Replay replay",
    ".scene.angles": "degrees",
    ".scene.body": "WORLD",
    ".scene.cable": "Cable Drum Eye Pulley",
    ".scene.contact": "Material",
    ".scene.joint": "Curve",
    ".scene.motion": "Keyframes",
    ".scene.mass": "mass_properties MassProperties",
    ".scene.mesh_file": "tetrahedron_grid triangle_grid",
    ".scene.scene": "Scene",
    ".scene.shapes": "Box Capsule Compound Cone ConvexHull Cylinder Ellipsoid HalfSpace HeightField Mesh Sphere TriangleMesh",
    ".simulation.settings": "MethodName RunSettings Settings",
    ".simulation.simulation": "simulate Simulation",
    ".simulation.methods": "Events ImplicitParticles RungeKutta TimeStepping",
    ".simulation.state": "State",
    ".symbolic": "GeneralizedCoordinates Lagrangian",
    ".simulation.control": "TimeSeries",
    ".simulation.trajectory": "Trajectory",
    ".core.status": "SimulationWarning",
}
_RENAMED = ("block", "sheet")  # old names of functions in scene.mesh_file
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}


# Modules that moved, as "new place": "old places". They can be imported from their old places, with a DeprecationWarning.
_MOVED = {
    "cli.live_session": "live_session",
    "cli.replay": "replay",
    "collide.detect": "collide.from_scene",
    "core.c_function": "pointer",
    "core.jit": "jit",
    "core.kernel": "kernel",
    "core.status": "warning",
    "deformable": "particles",
    "deformable.tables": "particles.report",
    "dynamics": "mechanics",
    "dynamics.mechanism": "mechanics.mechanism",
    "ensemble": "batch",
    "ensemble.batch": "batch.result batch.run",
    "export.shown": "export.shared",
    "gallery._loading": "sources",
    "impact.impact": "impact.laws impact.log",
    "integrate.solve": "integrate.solution",
    "integrate.tableaus": "integrate.methods",
    "io": "formats",
    "io.files": "formats.imported",
    "io.load": "formats.load formats.usd",
    "linalg.equilibrate": "linalg.condition",
    "scene.mesh_file": "scene.mesh_topology",
    "scene.shapes.surfaces": "scene.surfaces",
    "simulation.articulation": "articulation",
    "simulation.constraint_system": "constraint_system constraint_solver",
    "simulation.control": "control time_series",
    "simulation.environment": "environment",
    "simulation.errors": "errors",
    "simulation.inspection": "queries",
    "simulation.report": "report",
    "simulation.simulation": "simulate",
    "simulation.state": "state",
    "simulation.trajectory": "trajectory trajectory_format",
    "view.still": "view.movie",
}
_NEW_PLACE = {f"{__name__}.{old}": f"{__name__}.{new}" for new, olds in _MOVED.items() for old in olds.split()}


class _MovedModules:
    """The importer of modules at their old places: each is the module at the new place, under a second name."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that moved; None for all others."""
        return ModuleSpec(name, _MovedModules) if name in _NEW_PLACE else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Nothing: the module exists, or is imported by `exec_module`."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the module at the new place under the old name."""
        old = module.__name__
        warnings.warn(f"{old} is now {_NEW_PLACE[old]}; import it from there", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(_NEW_PLACE[old])


sys.meta_path.insert(0, _MovedModules)  # type: ignore[arg-type]


class _Package(ModuleType):
    """The package: `simulate` and `replay` are its functions, also after modules of these names were imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, getattr(value, name) if name in _WHERE and isinstance(value, ModuleType) else value)

    def __reduce__(self) -> Any:  # as any module: by its name
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name

    def __getattr__(name: str) -> Any:
        if name in _WHERE:
            value = globals()[name] = getattr(importlib.import_module(_WHERE[name], __name__), name)
            return value
        if name in ("gallery", "sensors") or f"{__name__}.{name}" in _NEW_PLACE:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _RENAMED:
            return getattr(importlib.import_module(".scene.mesh_file", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_meant(name)}")

    def _meant(name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, __all__, n=3)
        return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def __dir__() -> list[str]:
    return sorted(__all__)
