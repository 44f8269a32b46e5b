"""The solution of a frictional contact problem: residuals from the literature, and the reason if it is not solved.

Residuals are computed here in NumPy from the given matrices, not taken from the solver. With c = (J M⁻¹ Jᵀ)_nn of a
contact, û = u + μ |u_t| e_n and V the largest speed of the problem, the worst contact counts:

    natural map       c |p − proj_K(p − û / c)|
    penetration       −u_n
    cone              c |p − proj_K(p)|
    dual              |û − proj_K*(û)|
    complementarity   c |p·û| / max(c |p|, V)
    relative          ‖p − proj_K(p − û)‖ / ‖q‖,    q = u of the free velocity, 2-norms over all contacts, as in
                      V. Acary, M. Brémond, O. Huber, "On solving contact problems with Coulomb friction: formulations
                      and numerical comparisons", 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core.notebook import MOST_ROWS, block, lines, numbers, table, title
from .cone_problem import SOLVED
from .problem_checks import Problem

OVER_TOLERANCE = 2.0  # of the solver's residual: what other roundings may make of it


@dataclass(frozen=True)
class ContactResiduals:
    """Distances of a solution from the law: m/s (rad/s for rows of rotations), except `relative`, which has no fixed
    unit.
    """

    natural_map: float  # Coulomb's law, the worst contact
    penetration: float  # −u_n, of contacts that approach
    cone: float  # distance of p from the friction cone
    dual: float  # distance of û from the dual cone
    complementarity: float  # p·û
    rows: float  # the law of scalar rows
    balance: float  # M (v⁺ − v) − Jᵀ p − Gᵀ λ over the diagonal of M
    relative: float  # the natural map of Acary, Brémond and Huber

    @property
    def largest(self) -> float:
        """The number that the tolerance bounds: the largest of natural map, rows and balance."""
        return max(self.natural_map, self.rows, self.balance)


@dataclass(frozen=True, eq=False, repr=False)
class ContactSolution:
    """The solution of a problem with m contacts, k rows and n velocities: see `solve_contact`."""

    velocity: np.ndarray  # (n,) v⁺; empty if only W was given
    impulse: np.ndarray  # (m, 3) p: normal, two tangents, N s
    multipliers: np.ndarray  # (k,) λ of the rows, N s or N m s
    contact_velocity: np.ndarray  # (m, 3) u, m/s, with offset
    states: np.ndarray  # (m,) "open", "sticking" or "sliding", judged by the tolerance
    residuals: ContactResiduals
    tolerance: float  # m/s, bound on the residual
    iterations: int  # factorizations
    converged: bool
    status: str  # in words, with the reason if it is not solved

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18}{value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        head = ("contact", "state", "impulse n, t₁, t₂ (N s)", "velocity n, t₁, t₂ (m/s)")
        shown = zip(self.states[:MOST_ROWS], self.impulse, self.contact_velocity, strict=False)
        rows = [(i, state, numbers(p), numbers(u)) for i, (state, p, u) in enumerate(shown)]
        warned = () if self.converged else ("contact problem",)
        return block(title("Contact solution"), lines(self._rows(), warned), table(head, rows, len(self.impulse)))

    def _rows(self) -> list[tuple[str, str]]:
        """The lines of the table."""
        counts = ", ".join(
            f"{np.count_nonzero(self.states == name)} {name}" for name in ("sticking", "sliding", "open")
        )
        found = [
            ("contact problem", self.status),
            ("contacts", f"{len(self.impulse)}: {counts}"),
            ("velocities, rows", f"{len(self.velocity)}, {len(self.multipliers)}"),
            ("factorizations", str(self.iterations)),
        ]
        for field in fields(ContactResiduals):
            unit = "" if field.name == "relative" else " m/s"
            found.append((field.name.replace("_", " "), f"{getattr(self.residuals, field.name):.2e}{unit}"))
        return found


# Residuals ---------------------------------------------------------------------------------------------------------------


def make_solution(
    problem: Problem, tables: Any, status: int, velocity: np.ndarray, u: np.ndarray, error: np.ndarray, balance: float
) -> ContactSolution:
    """The solution in the solver's tables, with its residuals from velocities, u (m, 3), and e (k,) of rows."""
    step = tables.step[0]
    p, multipliers = tables.cones.impulse.copy(), tables.rows.impulse.copy()
    compliance, speed, tolerance = tables.cones.compliance, float(step.speed), float(step.tolerance)
    mu = problem.friction
    slip = np.hypot(u[:, 1], u[:, 2])
    u_hat = u + np.outer(mu * slip, [1.0, 0.0, 0.0])
    moved = compliance > 0.0
    c = np.where(moved, compliance, 1.0)
    scaled = p * c[:, None]
    natural = np.where(moved, _length(scaled - project(scaled - u_hat, mu)), 0.0)
    q = (problem.contacts @ problem.free).reshape(-1, 3) + problem.offset
    literature = np.linalg.norm((p - project(p - u_hat, mu))[moved])
    residuals = ContactResiduals(
        natural_map=_largest(natural),
        penetration=_largest(np.where(moved, -u[:, 0], 0.0)),
        cone=_largest(_length(scaled - project(scaled, mu))),
        dual=_largest(np.where(moved, _length(project(-u_hat, mu)), 0.0)),
        complementarity=_largest(c * np.abs((p * u_hat).sum(1)) / np.maximum(_length(scaled), speed)),
        rows=_largest(row_residuals(problem, tables.rows.response, multipliers, error)),
        balance=balance,
        relative=float(literature / (np.linalg.norm(q) or 1.0)),
    )
    converged = status == SOLVED and residuals.largest <= OVER_TOLERANCE * tolerance
    states = np.where(scaled[:, 0] <= tolerance, "open", np.where(slip <= tolerance, "sticking", "sliding"))
    words = explain(problem, residuals, natural, step, converged)
    return ContactSolution(
        velocity, p, multipliers, u, states, residuals, tolerance, int(step.iterations), converged, words
    )


def project(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """(m, 3) nearest points of the cones |x_t| ≤ μ x_n."""
    t = np.hypot(x[:, 1], x[:, 2])
    normal = np.maximum(x[:, 0] + mu * t, 0.0) / (1.0 + mu * mu)
    along = np.divide(mu * normal, t, out=np.zeros_like(t), where=t > 0.0)
    outside = np.column_stack([normal, along * x[:, 1], along * x[:, 2]])
    return np.where((t <= mu * x[:, 0])[:, None], x, outside)


def row_residuals(problem: Problem, response: np.ndarray, multipliers: np.ndarray, error: np.ndarray) -> np.ndarray:
    """(k,) g |λ − clamp(λ − e / (g + C))| with g = (G M⁻¹ Gᵀ)_kk."""
    rows = problem.rows
    moved = response > 0.0
    total = np.where(moved, response + rows.compliance, 1.0)
    wanted = np.clip(multipliers - error / total, rows.least, rows.most)
    return np.where(moved, response * np.abs(wanted - multipliers), 0.0)


def _length(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(x, axis=1))


def _largest(x: np.ndarray) -> float:
    return float(np.max(x, initial=0.0))


# In words ----------------------------------------------------------------------------------------------------------------


def explain(problem: Problem, residuals: ContactResiduals, natural: np.ndarray, step: Any, converged: bool) -> str:
    """What became of a problem, in a sentence or two."""
    if converged:
        return f"solved: the residual {residuals.largest:.2e} m/s is within {step.tolerance:.2e} m/s"
    words = f"not solved: the residual is {residuals.largest:.2e} m/s, above {step.tolerance:.2e} m/s"
    if len(natural) and residuals.natural_map == residuals.largest:
        words += f", at contact {int(natural.argmax())}"
    violation, where = least_violation(problem)
    if violation > step.tolerance:
        named = ", ".join(where[:4]) + (" and others" if len(where) > 4 else "")
        return (
            f"{words}. The problem has no solution: whatever the velocity, one of {named} is violated by at least "
            f"{violation:.3g} m/s; change their offset or target"
        )
    if step.iterations >= step.max_iterations:
        return f"{words}. All {step.max_iterations} factorizations were used; raise max_iterations or tolerance"
    return f"{words}. The iteration stalled; impulses may grow without bound, or rounding may limit the accuracy"


def least_violation(problem: Problem) -> tuple[float, list[str]]:
    """The least t (m/s) for which a velocity has u_n ≥ −t at all contacts, and rigid rows within t; and who needs it, by the
    multipliers of this linear program. 0 where nothing is given that could contradict itself."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    rows = problem.rows
    rigid = rows.compliance == 0.0
    up, down = rigid & (rows.most == np.inf), rigid & (rows.least == -np.inf)
    if not (problem.offset[:, 0] < 0.0).any() and not rows.target[up | down].any():
        return 0.0, []
    normals = problem.contacts[::3]
    left = vstack([-normals, -rows.matrix[up], rows.matrix[down]])
    right = np.concatenate([problem.offset[:, 0], -rows.target[up], rows.target[down]])
    names = [f"contact {i}" for i in range(normals.shape[0])]
    names += [f"row {i}" for i in np.concatenate([np.flatnonzero(up), np.flatnonzero(down)])]
    n = left.shape[1]
    matrix = csr_array(hstack([left, -np.ones((left.shape[0], 1))]))
    cost = np.zeros(n + 1)
    cost[n] = 1.0
    found = linprog(cost, A_ub=matrix, b_ub=right, bounds=[(None, None)] * n + [(0.0, None)], method="highs")
    if found.status != 0:
        return 0.0, []
    tight = np.flatnonzero(np.abs(found.ineqlin.marginals) > 1e-9)
    return float(found.fun), [names[i] for i in tight]
