"""`dal.solve_contact` against theory, against Gauss–Seidel to convergence, and against Clarabel's second-order cones."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import dalembert as dal

from .frictional import (
    G,
    Given,
    H,
    assemble,
    box_mass,
    convex_velocity,
    frame_of,
    gauss_seidel,
    point_rows,
    random_given,
    random_pile,
    stack,
)

UP = (0.0, 0.0, 1.0)


def solved(given, **more):
    """The solution, after checking what it says of itself against the matrices."""
    found = given.solve(tolerance=1e-10, **more)
    assert found.converged, found
    check_law(given, found)
    return found


def check_law(given, found, limit=1e-9):
    """Coulomb's law and the balance of momentum, from their definitions."""
    p, u = found.impulse, (given.J @ found.velocity).reshape(-1, 3) + (0.0 if given.offset is None else given.offset)
    np.testing.assert_allclose(found.contact_velocity, u, atol=1e-12)
    left = given.M @ (found.velocity - given.v) - given.J.T @ p.ravel()
    if given.rows is not None:
        left -= np.atleast_2d(given.rows.matrix).T @ found.multipliers
    assert np.abs(left / given.M.diagonal()).max() < limit
    pressed = p[:, 0] * np.linalg.norm(given.J.toarray()[::3], axis=1) ** 2 / given.M.diagonal().max()
    slip, pull = np.hypot(u[:, 1], u[:, 2]), np.hypot(p[:, 1], p[:, 2])
    assert (p[:, 0] >= 0.0).all() and (pull <= given.mu * p[:, 0] * (1.0 + 1e-9) + 1e-15).all()
    assert (u[:, 0] > -limit).all()
    assert np.minimum(u[:, 0], pressed).max(initial=0.0) < limit
    for i in np.flatnonzero(slip > 1e-6):  # friction is opposite to sliding, and all that there is
        np.testing.assert_allclose(p[i, 1:], -given.mu[i] * p[i, 0] * u[i, 1:] / slip[i], atol=1e-3 * p[i, 0] + 1e-12)


# Theory ------------------------------------------------------------------------------------------------------------------


def incline(mu, degrees=30.0):
    angle = math.radians(degrees)
    return stack([2.0], mu, (G * H * math.sin(angle), 0.0, -G * H * math.cos(angle)))


@pytest.mark.parametrize("excess", [-1e-4, -1e-7, 0.0, 1e-7, 1e-4])
def test_a_block_on_an_incline_slides_where_tan_exceeds_mu(excess):
    mu = math.tan(math.radians(30.0)) - excess
    found = solved(incline(mu))
    speed = max(0.0, G * H * (math.sin(math.radians(30.0)) - mu * math.cos(math.radians(30.0))))
    np.testing.assert_allclose(found.velocity[:3], [speed, 0.0, 0.0], atol=2e-11)
    normal = 2.0 * G * H * math.cos(math.radians(30.0))
    assert found.impulse[:, 0].sum() == pytest.approx(normal, rel=1e-9)


def test_four_redundant_corners_carry_the_weight_whatever_their_shares():
    found = solved(stack([3.0]))
    assert found.impulse[:, 0].sum() == pytest.approx(3.0 * G * H, rel=1e-10)
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-11)


def corner_hit(mu):
    """A box that falls on one of its corners."""
    arm = np.array([0.2, 0.3, -0.5])
    return assemble([box_mass(1.5)], [[(0, point_rows(frame_of(UP), arm))]], [0.3, 0.0, -2.0, 0.0, 0.0, 0.0], mu)


def test_a_corner_that_sticks_is_brought_to_rest():
    given = corner_hit(2.0)
    W = given.J.toarray() @ np.linalg.solve(given.M.toarray(), given.J.toarray().T)
    expected = -np.linalg.solve(W, given.J @ given.v)
    assert np.hypot(*expected[1:]) < 2.0 * expected[0]
    np.testing.assert_allclose(solved(given).impulse[0], expected, rtol=1e-9, atol=1e-11)


def test_a_corner_without_friction_gets_what_stops_its_normal():
    given = corner_hit(0.0)
    n = given.J.toarray()[0]
    expected = -(n @ given.v) / (n @ np.linalg.solve(given.M.toarray(), n))
    np.testing.assert_allclose(solved(given).impulse[0], [expected, 0.0, 0.0], rtol=1e-10)


def wedge(mu, half_angle=20.0):
    """A ball without rotation, pressed down between two walls that lean outwards by `half_angle`."""
    a = math.radians(half_angle)
    walls = [(math.cos(a), 0.0, math.sin(a)), (-math.cos(a), 0.0, math.sin(a))]
    return assemble([np.eye(3)], [[(0, frame_of(n))] for n in walls], [0.0, 0.0, -1.0], mu)


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0, 10.0])
def test_a_wedge_may_jam_with_impulses_that_nothing_bounds(mu):
    """Above μ = tan 70° the two walls can press against each other with any force."""
    found = solved(wedge(mu))
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-9)
    assert np.isfinite(found.impulse).all() and np.abs(found.impulse).max() < 1e6


def test_each_box_carries_those_above_with_masses_1_to_1000():
    for masses in (np.geomspace(1.0, 1e3, 6), np.geomspace(1e3, 1.0, 6)):
        found = solved(stack(masses))
        expected = G * H * np.cumsum(masses[::-1])[::-1]
        np.testing.assert_allclose(found.impulse[:, 0].reshape(-1, 4).sum(1), expected, rtol=1e-7)


def test_a_light_box_under_one_a_million_times_heavier_carries_it():
    found = solved(stack([1e-3, 1e3]))
    assert found.impulse[:4, 0].sum() == pytest.approx(G * H * 1000.001, rel=1e-9)


def test_a_surface_that_moves_drags_a_block_along():
    """A conveyor of 2 m/s under a block at rest gives it μ g h, and holds it where that is more than 2 m/s."""
    for mu, expected in ((0.3, 0.3 * G * H), (50.0, 2.0)):
        belt = np.tile((frame_of(UP) @ [-2.0, 0.0, 0.0]), (4, 1))
        given = assemble([np.diag([1.0] * 3)], [[(0, frame_of(UP))]] * 4, [0.0, 0.0, -G * H], mu, offset=belt)
        assert solved(given).velocity[0] == pytest.approx(expected, rel=1e-8)


# Rows --------------------------------------------------------------------------------------------------------------------


def test_a_joint_row_takes_what_the_contact_does_not():
    """A point mass on a rail along (1, 0, 1) pushed on the floor from above: v = 0 with μ large; without friction it keeps
    its speed along the rail away from the floor."""
    rail = dal.ScalarRows([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    for v, expected in (([0.0, 0.0, -1.0], 0.0), ([0.0, 0.0, 1.0], 0.5)):
        given = assemble([np.eye(3)], [[(0, frame_of(UP))]], v, 0.0, rows=rail)
        np.testing.assert_allclose(solved(given).velocity, [expected, 0.0, expected], atol=1e-10)


@pytest.mark.parametrize("most", [0.2, 10.0])
def test_a_motor_reaches_its_speed_unless_its_impulse_is_too_small(most):
    motor = dal.ScalarRows([[1.0, 0.0, 0.0]], target=3.0, least=-most, most=most)
    given = assemble([2.0 * np.eye(3)], [[(0, frame_of(UP))]], [0.0, 0.0, -1.0], 0.0, rows=motor)
    found = solved(given)
    assert found.multipliers[0] == pytest.approx(min(most, 6.0), rel=1e-9)
    assert found.velocity[0] == pytest.approx(min(most, 6.0) / 2.0, rel=1e-9)


def test_compliance_gives_way_in_proportion():
    """(G M⁻¹ Gᵀ + C) λ = target − G v."""
    found = dal.solve_contact(
        2.0 * np.eye(2), np.zeros((0, 2)), [1.0, 0.0], 0.5, rows=dal.ScalarRows([[1.0, 0.0]], compliance=0.25)
    )
    assert found.multipliers[0] == pytest.approx(-1.0 / 0.75, rel=1e-7)


def mixed(seed, decades=0.0):
    """Bodies and trees with contacts, three equations, a motor, dry friction and a stop."""
    rng = np.random.default_rng(seed)
    given = random_given(seed, (6, 9, 3, 1, 6), 6, 0.6, decades)
    rows = np.zeros((6, given.M.shape[0]))
    rows[:3, :6], rows[:3, 6:15] = rng.normal(size=(3, 6)), rng.normal(size=(3, 9))
    rows[3, 6:15], rows[4, 15:18], rows[5, 18] = rng.normal(size=9), rng.normal(size=3), 1.0
    inf = np.inf
    limits = {"least": [-inf] * 3 + [-0.2, -0.1, 0.0], "most": [inf] * 3 + [0.2, 0.1, inf]}
    return given._replace(
        rows=dal.ScalarRows(rows, target=[0.0] * 3 + [1.0, 0.0, 0.0], compliance=[0.0] * 5 + [0.1], **limits)
    )


# Oracles -----------------------------------------------------------------------------------------------------------------


def agree_with_gauss_seidel(given):
    found = solved(given)
    velocity, _, multipliers, change = gauss_seidel(given)
    assert change < 1e-10
    np.testing.assert_allclose(found.velocity, velocity, atol=2e-7 * max(1.0, np.abs(given.v).max()))
    return found, multipliers


@pytest.mark.parametrize("seed", range(8))
def test_random_bodies_move_as_by_gauss_seidel(seed):
    agree_with_gauss_seidel(random_given(seed, (6,) * 4, 6, 0.6))


@pytest.mark.parametrize("seed", range(6))
def test_bodies_trees_joints_and_motors_move_as_by_gauss_seidel(seed):
    found, multipliers = agree_with_gauss_seidel(mixed(seed))
    np.testing.assert_allclose(found.multipliers[3:], multipliers[3:], atol=1e-6)


def agree_with_clarabel(given):
    """With the slip of the solution, Coulomb's law is a convex problem: the solution is admissible (`check_law`), and its
    ½ |v − v_free|²_M is the least. As that is strictly convex, |v − v'|²_M is at most twice the difference."""
    pytest.importorskip("clarabel")
    found = solved(given)
    other = convex_velocity(given, np.hypot(*found.contact_velocity[:, 1:].T))

    def energy(v):
        return 0.5 * (v - given.v) @ (given.M @ (v - given.v))

    assert energy(found.velocity) == pytest.approx(energy(other), rel=1e-8)
    np.testing.assert_allclose(other, found.velocity, atol=1e-4 * np.abs(given.v).max())
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_bodies_solve_clarabels_problem_for_their_slip(seed):
    found = agree_with_clarabel(random_given(seed, (6,) * 8, 24, 1.2))
    assert {"open", "sliding"} <= set(found.states)


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_joints_solve_clarabels_problem_for_their_slip(seed):
    rng = np.random.default_rng(seed)
    given = random_given(seed, (6, 12, 3, 1, 6), 14, 1.0)
    agree_with_clarabel(given._replace(rows=dal.ScalarRows(rng.normal(size=(2, 28)), target=[0.0, 0.1])))


@pytest.mark.parametrize("decades", [0.0, 3.0])
def test_a_pile_of_sixty_solves_clarabels_problem_for_its_slip(decades):
    found = agree_with_clarabel(random_pile(1, 60, decades))
    assert {"open", "sliding", "sticking"} == set(found.states)


@pytest.mark.parametrize("decades", [0.0, 3.0])
def test_random_piles_are_solved(decades):
    for seed in range(20):
        solved(random_pile(seed, 10, decades))


@pytest.mark.parametrize("seed", range(3))
def test_without_friction_it_is_a_quadratic_program(seed):
    found = agree_with_clarabel(random_given(seed, (6,) * 6, 20, 0.0))
    np.testing.assert_array_equal(found.impulse[:, 1:], 0.0)


# Forms -------------------------------------------------------------------------------------------------------------------


def delassus(given):
    W = given.J.toarray() @ np.linalg.solve(given.M.toarray(), given.J.toarray().T)
    return 0.5 * (W + W.T), given.J @ given.v + (0.0 if given.offset is None else given.offset.ravel())


@pytest.mark.parametrize(
    "given", [random_given(0), stack([1.0, 2.0]), random_pile(2, 8)], ids=["random", "stack", "pile"]
)
def test_the_delassus_matrix_gives_a_motion_under_coulombs_law_though_it_may_be_singular(given):
    W, q = delassus(given)
    found = dal.solve_delassus(sp.csr_array(W), q, given.mu, tolerance=1e-10)
    assert found.converged, found
    np.testing.assert_allclose(found.contact_velocity.ravel(), W @ found.impulse.ravel() + q, atol=1e-12)
    velocity = given.v + np.linalg.solve(given.M.toarray(), given.J.T @ found.impulse.ravel())
    np.testing.assert_allclose(
        (given.J @ velocity).ravel() + q - given.J @ given.v, W @ found.impulse.ravel() + q, atol=1e-10
    )
    check_law(given, replace(found, velocity=velocity, contact_velocity=found.contact_velocity), 1e-8)


def test_the_delassus_matrix_gives_the_same_motion_where_it_is_unique():
    given = random_given(0)
    found = dal.solve_delassus(*delassus(given), given.mu, tolerance=1e-10)
    np.testing.assert_allclose(found.contact_velocity, solved(given).contact_velocity, atol=1e-8)


def test_dense_and_sparse_matrices_and_permuted_speeds_are_the_same_problem():
    given = random_given(3)
    found = solved(given)
    dense = dal.solve_contact(
        given.M.toarray(), given.J.toarray(), given.v, given.mu, offset=given.offset, tolerance=1e-10
    )
    np.testing.assert_array_equal(dense.velocity, found.velocity)
    order = np.random.default_rng(0).permutation(len(given.v))
    M, J = given.M.tocsr()[order][:, order], given.J.tocsr()[:, order]
    mixed_up = solved(Given(M, J, given.v[order], given.mu, given.offset))
    np.testing.assert_allclose(mixed_up.velocity, found.velocity[order], atol=1e-8)


def test_a_contact_of_more_than_four_parts_joins_them():
    """One contact that touches eight point masses: W is the sum of what each gives."""
    J = np.tile(np.eye(3), 8)
    found = dal.solve_contact(np.eye(24), J, np.tile([0.0, 0.0, -1.0], 8), 0.5)
    assert found.converged
    found = dal.solve_contact(np.eye(24), J, np.tile([-1.0, 0.0, 0.0], 8), 0.5, tolerance=1e-12)
    np.testing.assert_allclose(found.impulse, [[1.0, 0.0, 0.0]], atol=1e-10)


def test_a_start_at_the_solution_takes_few_steps():
    given = random_pile(3, 30)
    cold = given.solve(tolerance=1e-8)
    warm = given.solve(tolerance=1e-8, start=cold)
    assert cold.converged and warm.converged and warm.iterations <= 3 < cold.iterations
    assert given.solve(start=cold.impulse).iterations <= 3


def test_without_contacts_nothing_changes():
    found = dal.solve_contact(np.eye(3), np.zeros((0, 3)), [1.0, 2.0, 3.0], 0.5)
    assert found.converged and found.impulse.shape == (0, 3)
    np.testing.assert_array_equal(found.velocity, [1.0, 2.0, 3.0])


def test_the_residual_of_the_literature_is_that_of_its_definition():
    given = random_given(1)
    found = given.solve(tolerance=1e-3)
    worst = 0.0
    for p, u, mu in zip(found.impulse, found.contact_velocity, given.mu, strict=True):
        x = p - u - np.array([mu * np.hypot(u[1], u[2]), 0.0, 0.0])
        t = np.hypot(x[1], x[2])
        if t <= mu * x[0]:
            nearest = x
        elif mu * t <= -x[0]:
            nearest = np.zeros(3)
        else:
            nearest = (x[0] + mu * t) / (1 + mu**2) * np.array([1.0, mu * x[1] / t, mu * x[2] / t])
        worst += ((p - nearest) ** 2).sum()
    q = (given.J @ given.v).reshape(-1, 3) + given.offset
    assert found.residuals.relative == pytest.approx(math.sqrt(worst) / np.linalg.norm(q), rel=1e-9)
    assert worst > 0.0


def test_the_table_names_every_residual_and_the_outcome():
    text = repr(random_given(1).solve())
    for word in (
        "solved",
        "sliding",
        "open",
        "natural map",
        "complementarity",
        "balance",
        "relative",
        "factorizations",
    ):
        assert word in text


# Bad input ---------------------------------------------------------------------------------------------------------------

ONE = {"M": np.eye(3), "J": np.eye(3), "v": [-1.0, 0.0, 0.0], "mu": 0.5}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"M": np.eye(2)}, "J has the shape .* 2 columns"),
        ({"M": np.ones((2, 3))}, r"M has the shape \(2, 3\)"),
        ({"M": np.diag([1.0, 0.0, 1.0])}, r"M\[1, 1\] is 0.0: masses must be positive"),
        ({"M": np.diag([1.0, np.nan, 1.0])}, r"M\[1, 1\] is nan"),
        ({"M": np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])}, "M is not positive definite: .* 0 … 1"),
        ({"M": np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])}, r"M is not symmetric: \[0, 1\] is 0.1"),
        ({"J": np.ones((2, 3))}, "J has 2 rows; give three"),
        ({"J": np.full((3, 3), np.inf)}, r"J\[0, 0\] is inf"),
        ({"v": [1.0, 2.0]}, "v must have 3 numbers, not 2"),
        ({"v": [1.0, np.nan, 2.0]}, r"v\[1\] is nan"),
        ({"mu": -0.1}, r"mu\[0\] is -0.1: friction must not be below 0"),
        ({"mu": 1e8}, r"mu\[0\] is 100000000.0: at most 100"),
        ({"M": 1j * np.eye(3)}, "M must be a matrix of real numbers: it is complex"),
        ({"M": None}, "M must be a matrix"),
        ({"M": [[1.0], [1.0, 2.0]]}, "M must be a matrix of real numbers"),
        ({"v": "fast"}, "v must be real numbers"),
        ({"rows": [[1.0, 0.0, 0.0]]}, "rows must be ScalarRows, not a list"),
        ({"tolerance": "small"}, "tolerance is 'small'"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5"),
        ({"mu": [0.1, 0.2]}, "mu must have 1 numbers, not 2"),
        ({"mu": np.nan}, r"mu\[0\] is nan"),
        ({"offset": [1.0, 2.0]}, "offset has the shape"),
        ({"offset": [np.nan]}, "offset of contact 0 is"),
        ({"start": np.zeros((2, 3))}, "start has the shape"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        (
            {"J": np.zeros((3, 3)), "offset": [-1.0]},
            "contact 0: .* no velocity can move it, but it approaches at 1.0 m/s",
        ),
        ({"J": np.diag([0.0, 1.0, 1.0])}, "contact 0: its normal row 0 of J is zero"),
        ({"rows": dal.ScalarRows(np.eye(2))}, "rows.matrix has the shape"),
        ({"rows": dal.ScalarRows(np.eye(3), least=1.0, most=-1.0)}, r"least\[0\] is 1.0 and most\[0\] is -1.0"),
        ({"rows": dal.ScalarRows(np.eye(3), compliance=-1.0)}, r"rows.compliance\[0\] is -1.0"),
        ({"rows": dal.ScalarRows(np.zeros((1, 3)), target=1.0)}, "row 0 of rows.matrix is zero, but its target is 1.0"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        dal.solve_contact(**(ONE | change))


@pytest.mark.parametrize(
    "W, message",
    [
        (np.eye(4), "three rows for each contact"),
        (np.diag([1.0, -1.0, 1.0]), "W is not positive semidefinite"),
        (np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "W is not positive semidefinite"),
        (np.triu(np.ones((3, 3))), "W is not symmetric"),
    ],
)
def test_a_bad_delassus_matrix_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        dal.solve_delassus(W, np.zeros(len(W)), 0.5)


def test_a_problem_without_solution_says_so_and_names_the_contacts():
    """Two plates that close on a block from both sides, by 1 m/s and 0.5 m/s: each is violated by 0.75 m/s at best."""
    J = np.vstack([np.eye(3), np.diag([-1.0, 1.0, 1.0])])
    found = dal.solve_contact(np.eye(3), J, np.zeros(3), 0.5, offset=[-1.0, -0.5])
    assert not found.converged
    assert "no solution" in found.status and "contact 0, contact 1" in found.status and "0.75 m/s" in found.status


def test_a_budget_that_is_used_up_says_so():
    found = random_pile(3, 30).solve(max_iterations=2)
    assert not found.converged and found.iterations <= 2 and "All 2 factorizations were used" in found.status


def test_a_box_that_slides_and_turns_on_four_corners_has_more_than_one_motion():
    """Which diagonal bears it is open, and friction at the corners has other directions: solutions from other starts all
    satisfy Coulomb's law to rounding, and differ in their velocities."""
    pulled = 9.81 / 240
    masses, jacobian = np.diag([1.0, 1.0, 1.0, 1 / 6, 1 / 6, 1 / 6]), []
    for x, y in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)):
        arm = np.array([[0, 0.1, y], [-0.1, 0, -x], [-y, x, 0]])  # of a corner 0.1 m below the centre
        jacobian.append(np.hstack([np.eye(3), -arm])[[2, 0, 1]])
    jacobian, before = np.vstack(jacobian), np.array([1.0, 0, -pulled, 0, 0, 2.0])
    slip = (jacobian @ before).reshape(4, 3)[:, 1:]
    found = []
    for share in (0.24, -0.24):
        start = np.zeros((4, 3))
        start[:, 0] = pulled * (0.25 + share * np.array([1, -1, 1, -1]))
        start[:, 1:] = -0.5 * start[:, :1] * slip / np.linalg.norm(slip, axis=1)[:, None]
        solution = dal.solve_contact(masses, jacobian, before, 0.5, start=start, tolerance=1e-12)
        assert solution.converged and solution.residuals.natural_map < 1e-12
        found.append(solution.velocity)
    assert np.abs(found[0] - found[1]).max() > 0.01  # m/s, a quarter of what gravity adds in the step
