"""dalembert: rigid mechanisms simulated exactly, fast, and with every joule accounted for."""

__version__ = "0.1.0"

from .articulation import Articulation
from .batch.result import Batch
from .batch.run import run_batch
from .constraint_system import ConstraintSystem
from .ensemble import SweepError, sweep
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
from .scene.contact import HalfSpace, Material
from .scene.joint import Curve
from .scene.mass import MassProperties, mass_properties
from .scene.mesh_topology import block, sheet
from .scene.scene import Scene
from .scene.shapes import Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Ellipsoid, Mesh, Sphere
from .scene.surfaces import HeightField, TriangleMesh
from .simulate import Simulation, simulate
from .state import State
from .symbolic import GeneralizedCoordinates, Lagrangian
from .time_series import TimeSeries
from .trajectory import Trajectory

__all__ = [
    "METHODS", "WORLD", "Articulation", "Batch", "Box", "Capsule", "Compound", "Cone", "ConstraintSystem",
    "ConvexHull", "Curve", "Cylinder", "Ellipsoid", "Equilibration", "GeneralizedCoordinates", "HalfSpace",
    "HeightField", "ImportedModel", "IterativeSolver", "Lagrangian", "LinearSolution", "MassProperties", "Matching",
    "Material", "Mesh", "Minimum", "Replay", "Scene", "Simulation", "SimulationError", "Sphere", "State", "SweepError",
    "TimeSeries", "Trajectory", "TriangleMesh", "__version__", "block", "condition_number", "equilibrate",
    "export_gltf", "export_mjcf", "export_usd", "load_model", "load_usd", "mass_properties", "matching", "minimize",
    "replay", "run_batch", "sheet", "show", "simulate", "solve", "solve_linear", "sweep",
]  # fmt: skip
