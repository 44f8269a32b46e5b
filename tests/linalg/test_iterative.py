"""Iterative solvers of any square matrix: against SciPy, and what they say where they cannot."""

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as scipy_solvers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from dalembert import IterativeSolver, solve_linear
from dalembert.linalg.iterative import EQUILIBRATIONS, PRECONDITIONERS, SOLVERS, STATIONARY, IterativeSystem
from dalembert.linalg.precondition import ANEW, PREPARE

WAYS = [
    (solver, preconditioner, equilibration)
    for solver in SOLVERS
    for preconditioner in (PRECONDITIONERS if solver not in STATIONARY else (None,))
    for equilibration in EQUILIBRATIONS
]


def positive(n, seed, density=0.15):
    """A random sparse symmetric positive definite matrix, badly scaled, and a right-hand side."""
    rng = np.random.default_rng(seed)
    half = sparse.random_array((n, n), density=density, rng=rng)
    scale = sparse.diags_array(10.0 ** rng.uniform(-1.0, 1.0, n))
    return (scale @ (half @ half.T + sparse.eye_array(n)) @ scale).tocsc(), rng.normal(size=n)


def unsymmetric(n, seed):
    rng = np.random.default_rng(seed)
    return (sparse.random_array((n, n), density=0.2, rng=rng) + sparse.diags_array(rng.uniform(1.0, 3.0, n))).tocsc()


@pytest.mark.parametrize(("solver", "preconditioner", "equilibration"), WAYS)
def test_every_way_finds_the_solution_of_a_positive_definite_matrix(solver, preconditioner, equilibration):
    matrix, b = positive(30, 1)
    way = IterativeSolver(solver, preconditioner, equilibration, tolerance=1e-12, iterations=20_000)
    found = solve_linear(matrix, b, way, blocks=3)
    exact = scipy_solvers.spsolve(matrix, b)
    assert found.solved and found.reason == "solved"
    assert found.residual <= 1e-12
    np.testing.assert_allclose(found.x, exact, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("equilibration", EQUILIBRATIONS)
def test_bicgstab_solves_matrices_without_symmetry(preconditioner, equilibration):
    matrix, b = unsymmetric(40, 3), np.random.default_rng(4).normal(size=40)
    found = solve_linear(matrix, b, IterativeSolver("bicgstab", preconditioner, equilibration), blocks=2)
    assert found.solved
    np.testing.assert_allclose(found.x, scipy_solvers.spsolve(matrix, b), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "peer"),
    [("conjugate_gradient", scipy_solvers.cg), ("minres", scipy_solvers.minres), ("bicgstab", scipy_solvers.bicgstab)],
)
def test_the_iterates_are_those_of_the_method(name, peer):
    """After so many iterations x is SciPy's x."""
    matrix, b = positive(40, 7)
    for count in (1, 2, 5, 9):
        way = IterativeSolver(name, "none", tolerance=1e-15, iterations=count)
        found = solve_linear(matrix, b, way)
        assert not found.solved and found.iterations == count
        expected, _ = peer(matrix, b, maxiter=count, rtol=1e-15)
        np.testing.assert_allclose(found.x, expected, atol=1e-9 * np.abs(expected).max())


def test_preconditioned_iterates_are_those_of_the_method():
    matrix, b = positive(40, 9)
    diagonal = sparse.diags_array(1.0 / matrix.diagonal())
    peers = (
        ("conjugate_gradient", scipy_solvers.cg),
        ("minres", scipy_solvers.minres),
        ("bicgstab", scipy_solvers.bicgstab),
    )
    for name, peer in peers:
        found = solve_linear(matrix, b, IterativeSolver(name, "block_jacobi", tolerance=1e-15, iterations=6))
        expected, _ = peer(matrix, b, maxiter=6, rtol=1e-15, M=diagonal)
        np.testing.assert_allclose(found.x, expected, atol=1e-9 * np.abs(expected).max())


def test_sweeps_are_those_of_gauss_seidel_and_jacobi():
    matrix, b = positive(12, 2, density=0.1)
    dense, x = matrix.toarray(), np.zeros(12)
    for _ in range(3):
        x = np.linalg.solve(np.tril(dense), b - np.triu(dense, 1) @ x)
    found = solve_linear(matrix, b, IterativeSolver("gauss_seidel", tolerance=1e-15, iterations=3))
    np.testing.assert_allclose(found.x, x, rtol=1e-12)
    dense = np.diag(4.0 * np.ones(6)) + np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)  # ρ < 2: not relaxed
    x = np.zeros(6)
    for _ in range(3):
        x = x + (b[:6] - dense @ x) / 4.0
    found = solve_linear(dense, b[:6], IterativeSolver("jacobi", tolerance=1e-15, iterations=3))
    np.testing.assert_allclose(found.x, x, rtol=1e-12)


def test_jacobi_is_relaxed_where_it_would_diverge():
    matrix = 0.1 * np.eye(8) + np.ones((8, 8))  # D⁻¹ A has the eigenvalue 7.4
    b = np.arange(8.0)
    found = solve_linear(matrix, b, IterativeSolver("jacobi", iterations=20_000))
    assert found.solved
    np.testing.assert_allclose(found.x, np.linalg.solve(matrix, b), rtol=1e-6)


def test_an_incomplete_factorization_without_fill_is_the_whole_one():
    matrix = sparse.diags_array([[1.0] * 19, [4.0] * 20, [2.0] * 19], offsets=[-1, 0, 1])
    found = solve_linear(matrix, np.arange(20.0), IterativeSolver("bicgstab", "incomplete", tolerance=1e-13))
    assert found.solved and found.iterations == 1


def test_the_incomplete_factors_give_the_matrix_on_its_pattern():
    """L U equals A wherever A has an entry: what defines ILU(0)."""
    matrix = (unsymmetric(15, 11) + 4.0 * sparse.eye_array(15)).tocsr()
    matrix.sort_indices()
    entries = np.arange(matrix.nnz)
    system = IterativeSystem(
        matrix.indptr, matrix.indices, entries, np.arange(16), IterativeSolver("bicgstab", "incomplete")
    )
    assert system.call(PREPARE, 0.0, matrix.data.copy(), np.empty(0)) == 0
    factors = sparse.csr_array((system.tables.incomplete, matrix.indices, matrix.indptr)).toarray()
    product = (np.tril(factors, -1) + np.eye(15)) @ np.triu(factors)
    stored = matrix.toarray() != 0.0
    np.testing.assert_allclose(product[stored], matrix.toarray()[stored], rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 25), st.integers(0, 2**31), st.sampled_from([1, 2, 3, 5]))
def test_block_jacobi_and_incomplete_agree_on_any_matrix(n, seed, width):
    matrix, b = positive(n, seed, density=0.3)
    exact = np.linalg.solve(matrix.toarray(), b)
    for preconditioner in ("block_jacobi", "incomplete"):
        found = solve_linear(matrix, b, IterativeSolver("conjugate_gradient", preconditioner), blocks=width)
        assert found.solved
        assert np.linalg.norm(matrix @ found.x - b) <= 1e-9 * np.linalg.norm(b)
        np.testing.assert_allclose(found.x, exact, atol=1e-4 * np.abs(exact).max())


def test_a_start_near_the_solution_takes_fewer_iterations():
    matrix, b = positive(60, 5)
    exact = scipy_solvers.spsolve(matrix, b)
    far = solve_linear(matrix, b, "conjugate_gradient")
    near = solve_linear(matrix, b, "conjugate_gradient", start=exact * (1.0 + 1e-6))
    assert near.solved and near.iterations < far.iterations
    assert solve_linear(matrix, b, "conjugate_gradient", start=exact).iterations <= 1


def test_consistent_singular_systems_are_solved():
    matrix = sparse.diags_array([[-1.0] * 9, [1.0, *[2.0] * 8, 1.0], [-1.0] * 9], offsets=[-1, 0, 1])  # of a free chain
    b = np.sin(np.arange(10.0))
    b -= b.mean()
    for solver in ("conjugate_gradient", "minres", "bicgstab", "gauss_seidel"):
        found = solve_linear(matrix, b, solver)
        assert found.solved, solver
        np.testing.assert_allclose(matrix @ found.x, b, atol=1e-9)


def test_minres_solves_what_is_indefinite_and_conjugate_gradients_say_so():
    matrix = np.diag([1.0, 2.0, -3.0])
    assert solve_linear(matrix, [1.0, 1.0, 1.0], IterativeSolver("minres", "none")).solved
    found = solve_linear(matrix, [1.0, 1.0, 2.0], IterativeSolver("conjugate_gradient", "none"))
    assert not found.solved and found.reason == "the matrix is not positive definite"


def test_bicgstab_says_how_it_broke_down():
    skew = [[0.0, 1.0], [-1.0, 0.0]]
    found = solve_linear(skew, [1.0, 2.0], IterativeSolver("bicgstab", "none", iterations=1))
    assert not found.solved and found.reason == "BiCGSTAB broke down: rho vanished"

    matrix = np.diag([1.0, -1.0, 2.0])

    def stabilizer(x):
        """t·s of the first iteration from b = (1, x, 1)."""
        b = np.array([1.0, x, 1.0])
        v = matrix @ b
        s = b - b @ b / (b @ v) * v
        return s @ matrix @ s

    b = [1.0, brentq(stabilizer, 0.5, 0.65, xtol=1e-16), 1.0]
    assert abs(stabilizer(b[1])) < 1e-13
    found = solve_linear(matrix, b, IterativeSolver("bicgstab", "none", iterations=1))
    assert not found.solved and found.reason == "BiCGSTAB broke down: omega vanished"
    again = solve_linear(matrix, b, IterativeSolver("bicgstab", "none"))  # it starts anew from there, with another r̂
    assert again.solved
    np.testing.assert_allclose(matrix @ again.x, b, atol=1e-9)
    never = solve_linear(skew, [1.0, 2.0], IterativeSolver("bicgstab", "none"))  # ω is zero whatever r̂ is
    assert not never.solved and never.reason == "BiCGSTAB broke down: omega vanished"


def test_divergence_and_too_few_iterations_are_told():
    found = solve_linear([[1.0, 3.0], [3.0, 1.0]], [1.0, 1.5], "gauss_seidel")
    assert not found.solved and found.reason == "the iteration diverges"
    matrix, b = positive(40, 3)
    found = solve_linear(matrix, b, IterativeSolver("conjugate_gradient", iterations=2))
    assert not found.solved and found.reason == "the largest number of iterations was reached"
    assert found.residual == pytest.approx(np.linalg.norm(matrix @ found.x - b) / np.linalg.norm(b))


def test_zero_right_hand_sides_need_no_iteration():
    found = solve_linear([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0])
    assert found.solved and found.iterations == 0 and not found.x.any()


@pytest.mark.parametrize(
    ("matrix", "b", "way", "words"),
    [
        (np.ones((2, 3)), [1.0, 1.0], "bicgstab", "square"),
        ([[1.0, np.nan], [0.0, 1.0]], [1.0, 1.0], "bicgstab", r"entry \(0, 1\) is nan"),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0], "minres", "row 1 has no entry"),
        ([[0.0, 1.0], [1.0, 0.0]], [1.0, 1.0], "jacobi", "block of the diagonal is singular, from row 0"),
        ([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0], "conjugate_gradient", "needs a symmetric matrix"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0], "bicgstab", "b must have the shape"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, np.inf], "bicgstab", r"b\[1\] is inf"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], "gauss", "unknown iterative solver 'gauss'"),
    ],
)
def test_bad_systems_are_refused(matrix, b, way, words):
    with pytest.raises(ValueError, match=words):
        solve_linear(matrix, b, way)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"preconditioner": "ilu"}, "unknown preconditioner 'ilu'"),
        ({"solver": "jacobi", "preconditioner": "incomplete"}, "has no preconditioner"),
        ({"equilibration": "mc"}, "unknown equilibration 'mc'"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"iterations": 0}, "iterations is 0"),
    ],
)
def test_bad_solvers_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        IterativeSolver(**arguments)


def test_numbers_that_are_not_finite_do_not_pass_a_run_unseen():
    system = IterativeSystem(np.array([0, 1, 2]), np.array([0, 1]), np.arange(2), np.arange(3), IterativeSolver())
    assert system.call(PREPARE, 0.0, np.array([1.0, np.inf]), np.empty(0)) != 0
    assert system.reason == "an entry is not a finite number" and system.iteration.row == 1
    assert system.call(PREPARE, 0.0, np.array([1.0, 1.0]), np.empty(0)) == 0
    assert system.call(ANEW, 0.0, np.array([1.0, np.nan]), np.empty(2)) != 0
