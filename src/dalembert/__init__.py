"""dalembert: rigid mechanisms simulated exactly, fast, and with every joule accounted for."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .cli.live_session import show
    from .cli.replay import Replay, replay
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
    from .scene.body import WORLD
    from .scene.contact import Material
    from .scene.joint import Curve
    from .scene.mass import MassProperties, mass_properties
    from .scene.mesh_file import block, sheet
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
    from .simulation.errors import SimulationError
    from .simulation.methods import Events, ImplicitParticles, RungeKutta, TimeStepping
    from .simulation.simulation import Simulation, simulate
    from .simulation.state import State
    from .simulation.trajectory import Trajectory
    from .symbolic import GeneralizedCoordinates, Lagrangian

__all__ = [
    "METHODS", "WORLD", "Articulation", "Batch", "Box", "Capsule", "Compound", "Cone", "ConstraintSystem", "ConvexHull",
    "Curve", "Cylinder", "Ellipsoid", "Equilibration", "Events", "GeneralizedCoordinates", "HalfSpace", "HeightField",
    "ImplicitParticles", "ImportedModel", "IterativeSolver", "Lagrangian", "LinearSolution", "MassProperties",
    "Matching", "Material", "Mesh", "Minimum", "Replay", "RungeKutta", "Scene", "Simulation", "SimulationError",
    "SimulationWarning", "Sphere", "State", "SweepError", "TimeSeries", "TimeStepping", "Trajectory", "TriangleMesh",
    "__version__", "block", "condition_number", "equilibrate", "export_gltf", "export_mjcf", "export_usd", "load_model",
    "load_usd", "mass_properties", "matching", "minimize", "replay", "run_batch", "sheet", "show", "simulate", "solve",
    "solve_linear", "sweep",
]  # fmt: skip

# Each is imported when it is first asked for: what only draws a scene or reads a file waits for no compiler.
_HOME = {
    ".simulation.articulation": "Articulation",
    ".simulation.constraint_system": "ConstraintSystem",
    ".ensemble.sweep": "sweep SweepError",
    ".ensemble.batch": "Batch run_batch",
    ".simulation.errors": "SimulationError",
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
    ".scene.body": "WORLD",
    ".scene.contact": "Material",
    ".scene.joint": "Curve",
    ".scene.mass": "mass_properties MassProperties",
    ".scene.mesh_file": "block sheet",
    ".scene.scene": "Scene",
    ".scene.shapes": "Box Capsule Compound Cone ConvexHull Cylinder Ellipsoid HalfSpace HeightField Mesh Sphere TriangleMesh",
    ".simulation.simulation": "simulate Simulation",
    ".simulation.methods": "Events ImplicitParticles RungeKutta TimeStepping",
    ".simulation.state": "State",
    ".symbolic": "GeneralizedCoordinates Lagrangian",
    ".simulation.control": "TimeSeries",
    ".simulation.trajectory": "Trajectory",
    ".core.status": "SimulationWarning",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}


class _Package(ModuleType):
    """The package: `simulate` and `replay` are its functions, also after the modules of these names were imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, getattr(value, name) if name in _WHERE and isinstance(value, ModuleType) else value)

    def __reduce__(self) -> Any:  # as any module: by its name
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_WHERE[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
