"""dalembert: rigid mechanisms simulated exactly, fast, and with every joule accounted for."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .articulation import Articulation
    from .batch.result import Batch
    from .batch.run import run_batch
    from .constraint_system import ConstraintSystem
    from .ensemble.sweep import SweepError, sweep
    from .errors import SimulationError
    from .export.gltf import export_gltf
    from .export.mjcf import export_mjcf
    from .export.usd import export_usd
    from .formats.imported import ImportedModel
    from .formats.load import load_model
    from .formats.usd import load_usd
    from .integrate.methods import METHODS
    from .integrate.solve import solve
    from .linalg.condition import condition_number
    from .linalg.equilibrate import Equilibration, equilibrate
    from .linalg.iterative import IterativeSolver, LinearSolution, solve_linear
    from .linalg.matching import Matching, matching
    from .linalg.newton import Minimum, minimize
    from .live_session import show
    from .replay import Replay, replay
    from .scene.body import WORLD
    from .scene.contact import Material
    from .scene.joint import Curve
    from .scene.mass import MassProperties, mass_properties
    from .scene.mesh_topology import block, sheet
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
    from .simulate import Simulation, simulate
    from .simulation.methods import Events, ImplicitParticles, RungeKutta, TimeStepping
    from .state import State
    from .symbolic import GeneralizedCoordinates, Lagrangian
    from .time_series import TimeSeries
    from .trajectory import Trajectory
    from .warning import SimulationWarning

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
    ".articulation": "Articulation",
    ".constraint_system": "ConstraintSystem",
    ".ensemble.sweep": "SweepError sweep",
    ".batch.result": "Batch",
    ".batch.run": "run_batch",
    ".errors": "SimulationError",
    ".export.gltf": "export_gltf",
    ".export.mjcf": "export_mjcf",
    ".export.usd": "export_usd",
    ".formats.imported": "ImportedModel",
    ".formats.load": "load_model",
    ".formats.usd": "load_usd",
    ".integrate.methods": "METHODS",
    ".integrate.solve": "solve",
    ".linalg.condition": "condition_number",
    ".linalg.equilibrate": "Equilibration equilibrate",
    ".linalg.iterative": "IterativeSolver LinearSolution solve_linear",
    ".linalg.matching": "Matching matching",
    ".linalg.newton": "Minimum minimize",
    ".live_session": "show",
    ".replay": "Replay replay",
    ".scene.body": "WORLD",
    ".scene.contact": "Material",
    ".scene.joint": "Curve",
    ".scene.mass": "MassProperties mass_properties",
    ".scene.mesh_topology": "block sheet",
    ".scene.scene": "Scene",
    ".scene.shapes": "Box Capsule Compound Cone ConvexHull Cylinder Ellipsoid HalfSpace HeightField Mesh Sphere TriangleMesh",
    ".simulate": "Simulation simulate",
    ".simulation.methods": "Events ImplicitParticles RungeKutta TimeStepping",
    ".state": "State",
    ".symbolic": "GeneralizedCoordinates Lagrangian",
    ".time_series": "TimeSeries",
    ".trajectory": "Trajectory",
    ".warning": "SimulationWarning",
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
