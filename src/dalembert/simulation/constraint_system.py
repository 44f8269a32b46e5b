"""The linear system of a run's constraints, J W Jᵀ λ = b, as a SciPy matrix: its elimination order, its condition
number over time, its plot, and its iterative solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.c_function import MEASURE
from ..dynamics.mechanism import Mechanism
from ..linalg.equilibrate import METHODS, condition_number, equilibrate
from ..linalg.iterative import SOLVERS, IterativeSolver, IterativeSystem
from ..linalg.precondition import SINGULAR_BLOCK, ZERO_ROW
from ..model.compile import Model
from ..model.graph import Graph, constraint_pattern
from ..model.tables import System
from .initial_conditions import release

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Elimination:
    """The block LDLᵀ of the factorization: its nodes are joints, and bodies of many joints (hubs), in the order in
    which they are eliminated; its blocks lie below the diagonal, as (row, column) in that order."""

    nodes: tuple[str, ...]
    widths: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...]
    fill: tuple[tuple[int, int], ...]  # the blocks of these that the matrix itself does not have


@dataclass(frozen=True)
class ConstraintSystem:
    """The system J W Jᵀ λ = b at one state. Rows are in the order of the joints, without released ones.

    matrix : (rows, rows), scipy.sparse.csr_array, symmetric; blocks of joints without a common body are not stored.
    b : (rows,), −J̇ v − J W Q. multipliers : (rows,), λ from the solver of the run. Forces and torques along the
    constraints: N and N m for constraints of position; otherwise by the units of the constraint. joints : the joint of
    each row.
    """

    matrix: csr_array
    b: np.ndarray
    multipliers: np.ndarray
    joints: tuple[str, ...]
    elimination: Elimination

    @property
    def residual(self) -> float:
        """‖b − J W Jᵀ λ‖ / ‖b‖ of the solver of the run."""
        size = float(np.linalg.norm(self.b))
        return float(np.linalg.norm(self.b - self.matrix @ self.multipliers)) / size if size > 0.0 else 0.0

    def plot(self) -> Figure:
        """Draw the pattern of the matrix, and that of its factor in elimination order, with fill-in marked."""
        return plot_pattern(self)


class SystemReader:
    """Evaluates states of a model on its own tables, so that a run is not changed."""

    def __init__(self, model: Model) -> None:
        if model.tree is not None:
            raise ValueError(
                f"scene {model.name!r} uses joint coordinates, which have no such system; use coordinates='maximal'"
            )
        if not model.graph.rows:
            raise ValueError(f"scene {model.name!r} has no joint, so it has no constraint system")
        self.model = model
        self.mechanism = Mechanism(model.system())
        self._dydt = np.empty(model.size)
        self._gone: set[str] = set()

    def at(
        self, time: float, y: np.ndarray, released: dict[str, float]
    ) -> tuple[csr_array, np.ndarray, np.ndarray, np.ndarray]:
        """Matrix, b and λ of a state (of whose time what was let go earlier is gone), and the joint of each row."""
        system = self.mechanism.system
        for name, when in released.items():
            if when <= time and name not in self._gone and name in self.model.joint_names + self.model.force_names:
                release(self.model, system, name)
                self._gone.add(name)
        self.mechanism(MEASURE, time, y.copy(), self._dydt)
        joints = np.repeat(np.arange(len(system.joints)), system.joints.rows)
        held = system.joints.active[joints] != 0
        jacobian = sparse_jacobian(system)[np.flatnonzero(held)]
        matrix = (jacobian @ inverse_masses(system) @ jacobian.T).tocsr()
        rows = len(joints)
        return matrix, system.rhs[:rows][held].copy(), system.multipliers[:rows][held].copy(), joints[held]


def sparse_jacobian(system: Any) -> csr_array:
    """J, (rows, 6 bodies): for each body the columns of its velocity and then of its angular velocity, world axes."""
    from scipy.sparse import csr_array

    rows, columns, values = [], [], []
    for incidence in system.incidences:
        first, at = int(incidence.row), int(incidence.offset)
        block = system.jacobian[at : at + 6 * int(incidence.rows)]
        if incidence.is_point:
            sign, (x, y, z) = block[0], block[0] * block[1:4]
            cross = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]  # −σ [r]×
            block = np.hstack([sign * np.eye(3), cross])
        block = np.reshape(block, (-1, 6))
        r, c = np.indices(block.shape)
        rows.append(first + r.ravel())
        columns.append(6 * int(incidence.body) + c.ravel())
        values.append(block.ravel())
    shape = (int(system.error.size), 6 * len(system.bodies))
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def inverse_masses(system: Any) -> csr_array:
    """W, (6 bodies, 6 bodies): 1/m and I⁻¹ of each body, world axes."""
    from scipy.sparse import block_diag, csr_array

    blocks: list[np.ndarray] = []
    for body, kin in zip(system.bodies, system.kinematics, strict=False):
        xx, yy, zz, xy, xz, yz = kin.inverse_inertia
        blocks += [body.inverse_mass * np.eye(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]
    return csr_array(block_diag(blocks))


def read_system(model: Model, time: float, y: np.ndarray, released: dict[str, float]) -> ConstraintSystem:
    """The system of a state. Raises ValueError where the model has none."""
    matrix, b, multipliers, joints = SystemReader(model).at(time, y, released)
    names = tuple(model.joint_names[j] for j in joints)
    return ConstraintSystem(
        matrix, b, multipliers, names, elimination(model.graph, model.joint_names, model.body_names)
    )


def elimination(graph: Graph, joints: Sequence[str], bodies: Sequence[str]) -> Elimination:
    """What the factorization of a graph does, in names."""
    count = len(graph.joints)
    symbolic = graph.symbolic
    place = {int(node): k for k, node in enumerate(symbolic.order)}
    node_at = {int(column.x): int(node) for column, node in zip(symbolic.columns, symbolic.order, strict=True)}
    blocks = tuple(
        (place[node_at[int(entry.x)]], k)
        for k, column in enumerate(symbolic.columns)
        for entry in symbolic.entries[int(column.first) : int(column.last)]
    )
    hub_of = {int(hub.body): count + k for k, hub in enumerate(graph.hubs)}
    at_body: dict[int, set[int]] = {}
    for incidence in graph.incidences:
        at_body.setdefault(int(incidence.body), set()).add(int(incidence.joint))
    own: set[tuple[int, int]] = set()
    for body, meeting in at_body.items():
        pairs = [(j, hub_of[body]) for j in meeting] if body in hub_of else [(i, j) for i in meeting for j in meeting]
        own |= {(max(place[i], place[j]), min(place[i], place[j])) for i, j in pairs}
    names = [*joints[:count], *(bodies[body] for body in hub_of)]
    return Elimination(
        tuple(names[int(node)] for node in symbolic.order), tuple(int(column.width) for column in symbolic.columns),
        blocks, tuple(block for block in blocks if block not in own),
    )  # fmt: skip


def conditions(
    model: Model, times: np.ndarray, states: np.ndarray, released: dict[str, float], scaling: str | None
) -> xarray.DataArray:
    """The condition number of J W Jᵀ at each of these states; infinite where it is singular."""
    import xarray

    if scaling is not None and scaling not in METHODS:
        raise ValueError(f"equilibration must be None or one of {', '.join(METHODS)}, not {scaling!r}")
    reader = SystemReader(model)
    found = []
    for time, y in zip(times.tolist(), states, strict=True):
        matrix = reader.at(time, y, released)[0]
        try:
            found.append(condition_number(matrix if scaling is None else equilibrate(matrix, scaling).matrix))
        except ValueError:  # singular, or empty: all joints were let go
            found.append(np.inf if matrix.shape[0] else 1.0)
    attrs = {"units": "1", "description": f"condition number (1-norm) of J W Jᵀ, {scaling or 'not'} equilibrated"}
    return xarray.DataArray(found, dims=("time",), coords={"time": times}, name="condition", attrs=attrs)


# Picture of the matrix and of its factor ------------------------------------------------------------------------------

STORED, FILL, INK = "#3566b0", "#d1772a", "#232a35"
NAMED = 24  # up to so many blocks have their names beside them


def plot_pattern(system: Any) -> Figure:
    """Of a `ConstraintSystem` two squares: J W Jᵀ in the order of the joints, each entry by its size, and the blocks of L."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _draw_matrix(figure, left, system)
    _draw_factor(right, system)
    return figure


def _draw_matrix(figure: Any, axes: Any, system: Any) -> None:
    """Entries by the logarithm of their size; lines between joints."""
    matrix = system.matrix.tocoo()
    shown = np.full(matrix.shape, np.nan)
    sizes = np.abs(matrix.data)
    least = 1e-12 * sizes.max()  # below it an entry is rounding
    keep = sizes > least
    shown[matrix.row[keep], matrix.col[keep]] = np.log10(sizes[keep])
    image = axes.imshow(shown, cmap="viridis_r", interpolation="nearest")
    figure.colorbar(image, ax=axes, shrink=0.8, label="log₁₀ of the size, in the units of the rows")
    names = np.array(system.joints)
    firsts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
    if len(firsts) <= 3 * NAMED:
        for at in firsts[1:]:
            axes.axhline(at - 0.5, color=INK, linewidth=0.3)
            axes.axvline(at - 0.5, color=INK, linewidth=0.3)
    middles = firsts + 0.5 * np.diff(np.append(firsts, len(names))) - 0.5
    _name(axes, middles, names[firsts])
    axes.set_title(f"J W Jᵀ: {matrix.shape[0]} rows, {matrix.nnz} entries stored", fontsize=10)


def _draw_factor(axes: Any, system: Any) -> None:
    """Blocks of L and of the diagonal as squares."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    order = system.elimination
    starts = np.concatenate([[0], np.cumsum(order.widths)])
    fill = set(order.fill)
    kinds: dict[str, list[Any]] = {STORED: [], FILL: []}
    for row, column in [*((k, k) for k in range(len(order.nodes))), *order.blocks]:
        corner = (starts[column], starts[row])
        square = Rectangle(corner, order.widths[column], order.widths[row])
        kinds[FILL if (row, column) in fill else STORED].append(square)
    for color, squares in kinds.items():
        axes.add_collection(PatchCollection(squares, facecolor=color, edgecolor="white", linewidth=0.4))
    axes.set_xlim(0, starts[-1])
    axes.set_ylim(starts[-1], 0)
    axes.set_aspect("equal")
    _name(axes, starts[:-1] + 0.5 * np.array(order.widths), order.nodes)
    filled = f"{len(order.fill)} of them fill (orange)" if order.fill else "none of them fill"
    axes.set_title(
        f"L in the order of elimination: {len(order.nodes)} nodes,\n{len(order.blocks)} blocks below the diagonal, {filled}",
        fontsize=10,
    )


def _name(axes: Any, places: Any, names: Any) -> None:
    if len(names) <= NAMED:
        axes.set_xticks(places, [str(name).replace("$", r"\$") for name in names], rotation=90, fontsize=7)
        axes.set_yticks(places, [str(name).replace("$", r"\$") for name in names], fontsize=7)
    else:
        axes.set_xticks([])
        axes.set_yticks([])


# Iterative solver of a run, and its report ----------------------------------------------------------------------------

DIRECT = "ldl"


@dataclass(frozen=True)
class SolverReport:
    """Statistics of an iterative solver. iterations : mean per solution. residual : the largest, relative to b, after
    equilibration. unsolved : number of solutions with a residual above the tolerance."""

    solver: str
    solutions: int
    iterations: float
    residual: float
    unsolved: int

    def __str__(self) -> str:
        return (
            f"{self.solver}: {self.iterations:.3g} iterations each, residual {self.residual:.3g} at worst, above its "
            f"tolerance in {self.unsolved} of {self.solutions} solutions"
        )


def iterative_solver(given: str | IterativeSolver, hold: str, coordinates: str) -> IterativeSolver | None:
    """The iterative solver; None for "ldl". Raises ValueError for an unknown name, or one that does not apply."""
    if given == DIRECT:
        return None
    if not isinstance(given, IterativeSolver) and given not in SOLVERS:
        raise ValueError(
            f"unknown constraint_solver {given!r}; there are {DIRECT!r}, {', '.join(map(repr, SOLVERS))}, or an "
            "IterativeSolver"
        )
    if coordinates != "maximal" or hold == "penalty":
        what = f"coordinates={coordinates!r}" if coordinates != "maximal" else f"hold={hold!r}"
        raise ValueError(f"constraint_solver is {given!r}, and {what} does not solve such a system; leave it out")
    return IterativeSolver(given) if isinstance(given, str) else given


class ConstraintSolver:
    """Stands in the tables of a system in place of its factorization, and counts."""

    def __init__(self, solver: IterativeSolver, model: Model, system: System, strict: bool) -> None:
        pattern = constraint_pattern(model.graph)
        self.solver, self._names = solver, model.joint_names
        self._system = IterativeSystem(*pattern, solver, strict)
        self._blocks = pattern.blocks
        settings = system.settings[0]
        settings.solver, settings.solver_data = self._system.address, self._system.data
        settings.condition = np.nan  # the pivots of a factorization
        self._worst, self._solves, self._iterations = 0.0, 0, 0

    @classmethod
    def of(cls, solver: IterativeSolver | None, model: Model, system: System, strict: bool) -> ConstraintSolver | None:
        """The solver of a model's system; None if that is "ldl", or if there is nothing to solve. Raises ValueError for time
        steps in which forces of joints take part in that system."""
        if solver is None or model.graph.rows == 0:
            return None
        soft = np.flatnonzero(system.forces.implicit)
        if len(soft):
            first = model.force_names[system.forces.ledger[soft[0]]]
            raise ValueError(
                f"constraint_solver is {str(solver)!r}, and time steps solve for motors with gains and springs of joints "
                f"(here {first!r}) together with the joints, by 'ldl' only; leave constraint_solver out"
            )
        return cls(solver, model, system, strict)

    @property
    def last_solution(self) -> np.ndarray:
        """(rows,) what the next solution starts from: a view."""
        return self._system.tables.before

    def frame(self) -> dict[str, Any]:
        """The mean number of iterations of a solution, and the largest residual, since the last call."""
        done = self._system.iteration
        solves, iterations = int(done.solves) - self._solves, int(done.all_iterations) - self._iterations
        residual = float(done.worst)
        self._solves, self._iterations = int(done.solves), int(done.all_iterations)
        self._worst, done.worst = max(self._worst, residual), 0.0
        return {"solver_iterations": iterations / max(solves, 1), "solver_residual": residual}

    def report(self) -> SolverReport:
        """All of it so far."""
        done = self._system.iteration
        solutions = int(done.solves)
        return SolverReport(
            str(self.solver), solutions, int(done.all_iterations) / max(solutions, 1), max(self._worst, float(done.worst)),
            int(done.unsolved),
        )  # fmt: skip

    def explain(self) -> str:
        """Why the last solution failed, and at which joint."""
        done, tables = self._system.iteration, self._system.tables
        status, row = int(done.status), int(done.row)
        what = f"relative residual {float(done.residual):.3g} after {int(done.iterations)} iterations, worst at joint"
        if status in (ZERO_ROW, SINGULAR_BLOCK) or row >= 0:
            what = "at joint"
        else:
            row = int(np.argmax(np.where(np.isfinite(tables.r), np.abs(tables.r), np.inf)))
        joint = self._names[int(np.searchsorted(self._blocks, row, side="right")) - 1]
        return (
            f"the constraint system cannot be solved by {self.solver.solver!r}: {self._system.reason}, {what} {joint!r}; "
            "use constraint_solver='ldl', another preconditioner, or a larger tolerance"
        )
