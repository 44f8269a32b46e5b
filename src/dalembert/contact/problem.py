"""The public solver of frictional contact problems: `solve_contact`, `solve_delassus` and `load_contact_problem`.

With velocities v, contact impulses p (normal first, then two tangents) and impulses λ of scalar rows:

    M (v − v_free) = Jᵀ p + Gᵀ λ,    u = J v + offset,    K_μ ∋ p ⊥ u + μ |u_t| e_n ∈ K_μ*

which is Coulomb's law without penetration in the form of G. De Saxcé and Z.-Q. Feng (1998), and the problem of the
FCLib collection (V. Acary, M. Brémond, T. Koziara, F. Pérignon 2014). `cone_solver` solves it; residuals are computed
here from the given matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .cone_problem import NOT_FINITE
from .cone_solver import solve_tables
from .problem_checks import (
    Problem,
    Rows,
    as_matrix,
    as_vector,
    check_contacts,
    check_masses,
    check_settings,
    friction_of,
    local_matrix,
    rows_of,
    square_root,
    triples_of,
)
from .problem_solution import ContactSolution, make_solution
from .problem_tables import Layout, find_layout, make_tables

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

Matrix: TypeAlias = "ArrayLike | sparray | spmatrix"
TOLERANCE, ITERATIONS = 1e-8, 300


@dataclass(frozen=True, eq=False)
class ScalarRows:
    """Scalar constraints on velocities: joints, loops, motors, stops, dry friction. Row k has an impulse λ and the
    error e = (G v)_k − target + compliance λ, and

        e = 0 where least < λ < most,    e ≥ 0 at λ = least,    e ≤ 0 at λ = most.

    Without bounds a row is an equation, G v = target. With least = 0 it is a stop, with bounds ±μ N dry friction, with
    bounds ±(largest impulse) a motor.

    matrix : (k, n) G, dense or sparse. target : (k,) or one number, m/s or rad/s. compliance : (k,) or one number, m/s
    per N s, ≥ 0. least, most : (k,) or one number, N s or N m s; usually least ≤ 0.
    """

    matrix: Matrix
    target: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    least: ArrayLike = -np.inf
    most: ArrayLike = np.inf


def solve_contact(
    M: Matrix, J: Matrix, v: ArrayLike, mu: ArrayLike, *, offset: ArrayLike | None = None,
    rows: ScalarRows | None = None, start: ArrayLike | ContactSolution | None = None, tolerance: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
) -> ContactSolution:  # fmt: skip
    """Solve contact with Coulomb friction for m contacts between bodies with n velocities.

        M (v⁺ − v) = Jᵀ p + Gᵀ λ,    u = J v⁺ + offset,    K_μ ∋ p ⊥ u + μ |u_t| e_n ∈ K_μ*

    that is: u_n ≥ 0, p_n ≥ 0, u_n p_n = 0; |p_t| ≤ μ p_n; and if a contact slides, p_t = −μ p_n u_t / |u_t|.

    M : (n, n) masses, symmetric and positive definite, dense or sparse. Its blocks are found from its pattern: six rows
    for a body, or one for each joint of a tree. J : (3 m, n) dense or sparse, three rows for each contact: normal, then
    two tangents. v : (n,) velocities without impulses (M⁻¹ f in FCLib). mu : (m,) or one number. offset : added to J
    v⁺, m/s, for example for a surface with prescribed motion: (m, 3), (3 m,), or (m,) for normals alone (w in FCLib).
    rows : constraints beside contacts.
    start : impulses (m, 3) near the solution, or a solution of a problem with as many contacts and rows. tolerance :
    bound on the residual in m/s, relative to the largest speed |J v + offset| or |G v − target|. max_iterations :
    largest number of factorizations.

    If the problem is not solved, `converged` is False, `status` says why, and the best iterate is returned. Without
    `offset` and targets a solution always exists (V. Acary, F. Cadoux, C. Lemaréchal, J. Malick 2011); impulses need
    not be unique.

    Raises ValueError for shapes that do not match, non-finite values, an M that is not symmetric and positive definite,
    negative friction, least > most, and contacts that no velocity moves and whose normal offset is negative.

    >>> import numpy as np, dalembert as dal
    >>> found = dal.solve_contact(2.0 * np.eye(3), np.eye(3), [-1.0, 3.0, 0.0], 0.5)
    >>> found.velocity.round(6).tolist(), found.impulse.round(6).tolist()
    ([0.0, 2.5, 0.0], [[2.0, -1.0, 0.0]])
    """
    check_settings(tolerance, max_iterations)
    masses = as_matrix("M", M)
    check_masses(masses)
    n = masses.shape[0]
    contacts, free = as_matrix("J", J, columns=n), as_vector("v", v, n)
    if contacts.shape[0] % 3:
        raise ValueError(f"J has {contacts.shape[0]} rows; give three for each contact: normal, then two tangents")
    m = contacts.shape[0] // 3
    given = Problem(
        masses, contacts, free, friction_of(mu, m), triples_of("offset", offset, m), rows_of(rows, n)
    )  # fmt: skip
    check_contacts(given)
    layout, tables, status = _solve(given, start, tolerance, max_iterations)
    velocity = np.empty(n)
    velocity[layout.order] = tables.speeds
    u = (contacts @ velocity).reshape(m, 3) + given.offset
    p, multipliers = tables.cones.impulse.copy(), tables.rows.impulse.copy()
    error = given.rows.matrix @ velocity - given.rows.target + given.rows.compliance * multipliers
    left = masses @ (velocity - free) - contacts.T @ p.ravel() - given.rows.matrix.T @ multipliers
    balance = float(np.max(np.abs(left) / masses.diagonal(), initial=0.0))
    return make_solution(given, tables, status, velocity, u, error, balance)


def solve_delassus(
    W: Matrix, q: ArrayLike, mu: ArrayLike, *, start: ArrayLike | ContactSolution | None = None,
    tolerance: float = TOLERANCE, max_iterations: int = ITERATIONS,
) -> ContactSolution:  # fmt: skip
    """Solve contact with Coulomb friction for m contacts given by their Delassus matrix W = J M⁻¹ Jᵀ.

        u = W p + q,    K_μ ∋ p ⊥ u + μ |u_t| e_n ∈ K_μ*

    W : (3 m, 3 m), symmetric and positive semidefinite, dense or sparse. q : (3 m,) or (m, 3), m/s: u without impulses.
    All other arguments are those of `solve_contact`. Use that function if you know M and J: it is faster. Here W = B Bᵀ
    is factored, and each group of contacts that W couples becomes a dense problem, whose cost grows with the cube of
    its size. `velocity` of the solution is empty.

    Raises ValueError for shapes that do not match, non-finite values, and a W that is not symmetric and positive
    semidefinite.
    """
    check_settings(tolerance, max_iterations)
    return _solve_local(W, q, mu, (None, None, None), start, tolerance, max_iterations)


def load_contact_problem(path: str | Path) -> ContactProblem:
    """Read a problem of the FCLib collection, `.hdf5`, with three components for each contact, in its global form (M,
    H, f, …) or its local form (W, q, …). `solve()` solves it.

    Raises FileNotFoundError if the file does not exist, and ValueError if it is not such a problem or links to other
    files.
    """
    from ..io.fclib import read_fclib

    found = read_fclib(path)
    return ContactProblem(found.matrices, found.vectors)


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem:
    """A problem of the FCLib collection. Its fields have the names used in the files."""

    matrices: dict[str, Any]  # csr: M, H and, if there are equations, G; or W, V and R
    vectors: dict[str, np.ndarray]  # mu, and f, w, b; or q, s

    def solve(
        self, *, start: ArrayLike | ContactSolution | None = None, tolerance: float = TOLERANCE,
        max_iterations: int = ITERATIONS,
    ) -> ContactSolution:  # fmt: skip
        """Return the solution: see `solve_contact`. Raises ValueError if the parts of the file do not match."""
        matrices, vectors = self.matrices, self.vectors
        if "W" in matrices:
            check_settings(tolerance, max_iterations)
            more = (matrices.get("V"), matrices.get("R"), vectors.get("s"))
            return _solve_local(matrices["W"], vectors["q"], vectors["mu"], more, start, tolerance, max_iterations)
        from scipy.sparse.linalg import spsolve

        masses = as_matrix("M", matrices["M"])
        check_masses(masses)
        forces = as_vector("f", vectors["f"], masses.shape[0])
        free = np.atleast_1d(spsolve(masses.tocsc(), forces))
        rows = None
        if "G" in matrices:
            rows = ScalarRows(matrices["G"].T, -as_vector("b", vectors.get("b", ()), matrices["G"].shape[1]))
        return solve_contact(
            masses, matrices["H"].T, free, vectors["mu"], offset=vectors["w"], rows=rows, start=start,
            tolerance=tolerance, max_iterations=max_iterations,
        )  # fmt: skip

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {matrix.shape[0]} × {matrix.shape[1]}" for name, matrix in self.matrices.items())
        return f"contact problem of {self.vectors['mu'].size} contacts: {shapes}"


# From matrices to tables and back --------------------------------------------------------------------------------------


def _solve_local(
    W: Matrix,
    q: ArrayLike,
    mu: ArrayLike,
    more: tuple[Any, Any, Any],
    start: Any,
    tolerance: float,
    max_iterations: int,
) -> ContactSolution:
    """The solution of a local problem; `more`: V, R and s of FCLib, or None."""
    from scipy.sparse import csr_array, eye_array

    local, m, k = local_matrix(as_matrix("W", W), *more[:2])
    root = square_root(local, 3 * m)
    rank, none = root.shape[1], np.zeros(k)
    target = none if more[2] is None else -as_vector("s", more[2], k)
    rows = Rows(csr_array(root[3 * m :]), target, none, none - np.inf, none + np.inf)
    masses = csr_array(eye_array(rank, format="csr"))
    given = Problem(masses, csr_array(root[: 3 * m]), np.zeros(rank), friction_of(mu, m), triples_of("q", q, m), rows)
    check_contacts(given)
    _, tables, status = _solve(given, start, tolerance, max_iterations)
    impulses = np.concatenate([tables.cones.impulse.ravel(), tables.rows.impulse])
    rates = local @ impulses
    u = rates[: 3 * m].reshape(m, 3) + given.offset
    return make_solution(given, tables, status, np.empty(0), u, rates[3 * m :] - target, 0.0)


def _solve(problem: Problem, start: Any, tolerance: float, max_iterations: int) -> tuple[Layout, Any, int]:
    """(blocks, tables with the solution, a status of `cone_problem`)."""
    from scipy.sparse import csr_array, vstack

    entries = problem.contacts.tocoo()
    m, n = len(problem.friction), problem.masses.shape[0]
    of_contacts = csr_array((np.ones(entries.nnz), (entries.row // 3, entries.col)), shape=(m, n))
    layout = find_layout(problem.masses, csr_array(vstack([of_contacts, problem.rows.matrix])))
    tables = make_tables(problem.masses, problem.contacts, problem.rows.matrix, layout)
    step, cones, rows = tables.step[0], tables.cones, tables.rows
    step.relative, step.max_iterations = tolerance, max_iterations
    cones.friction[:], cones.offset[:] = problem.friction, problem.offset
    rows.target[:], rows.compliance[:] = problem.rows.target, problem.rows.compliance
    rows.least[:], rows.most[:] = problem.rows.least, problem.rows.most
    tables.speeds[:] = problem.free[layout.order]
    if start is not None:
        step.warm = 1
        if isinstance(start, ContactSolution):
            rows.impulse[:] = as_vector("multipliers of start", start.multipliers, len(rows))
            start = start.impulse
        cones.impulse[:] = triples_of("start", start, len(cones))
    status, tables = solve_tables(tables)
    if status == NOT_FINITE:
        raise ValueError("the problem overflows: choose units in which masses and velocities are closer to 1")
    return layout, tables, status
