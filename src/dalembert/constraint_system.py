"""The linear system of a run's constraints, J W Jᵀ λ = b, laid open: as a matrix of SciPy's, with the order of its
elimination, and its condition over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .linalg.condition import condition_number
from .linalg.equilibrate import METHODS, equilibrate
from .mechanics.mechanism import Mechanism
from .model.compile import Model
from .model.graph import Graph
from .pointer import MEASURE
from .release import release

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Elimination:
    """The block LDLᵀ of the factorization: its nodes are joints, and bodies of many joints (hubs), in the order in which
    they are eliminated; its blocks lie below the diagonal, (row, column) by places in that order."""

    nodes: tuple[str, ...]
    widths: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...]
    fill: tuple[tuple[int, int], ...]  # of these, what the matrix itself does not have


@dataclass(frozen=True)
class ConstraintSystem:
    """J W Jᵀ λ = b of one state. Rows are in the order of the joints; those that were let go are left out.

    matrix : (rows, rows), scipy.sparse.csr_array, symmetric; blocks of joints without a body in common are not stored.
    b : (rows,), −J̇ v − J W Q. multipliers : (rows,), λ as the run's own solver finds it. Forces and torques along the
    constraints: N and N m for those of position, by the units of each constraint. joints : the name of each row.
    """

    matrix: csr_array
    b: np.ndarray
    multipliers: np.ndarray
    joints: tuple[str, ...]
    elimination: Elimination

    @property
    def residual(self) -> float:
        """‖b − J W Jᵀ λ‖ / ‖b‖ of the run's own solver."""
        size = float(np.linalg.norm(self.b))
        return float(np.linalg.norm(self.b - self.matrix @ self.multipliers)) / size if size > 0.0 else 0.0

    def plot(self) -> Figure:
        """The pattern of the matrix, and that of its factor in the order of elimination, fill marked."""
        from .constraint_picture import plot_pattern

        return plot_pattern(self)


class SystemReader:
    """Evaluates states of a model on tables of its own, so that a run is not disturbed."""

    def __init__(self, model: Model) -> None:
        if model.tree is not None:
            raise ValueError(
                f"scene {model.name!r} is run in joint coordinates, which have no such system; take coordinates='maximal'"
            )
        if not model.graph.rows:
            raise ValueError(f"scene {model.name!r} has no joint, and so no constraint system")
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
