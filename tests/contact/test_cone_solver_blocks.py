"""The converging solver over blocks of any size: dense masses, bounds, equations, compliance, wedges, redundant contacts,
warm starts. Expected values are analysis, quadratic programs solved by NNLS, or the same mechanism in other coordinates."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from dalembert.contact.cone_problem import SOLVED
from dalembert.contact.cone_solver import solve

from .problems import (
    Body,
    Contact,
    G,
    H,
    Joint,
    Row,
    ball_joint,
    box,
    box_contacts,
    contact,
    dense,
    make,
    problem,
    stack,
)


def solved(p):
    status, p = solve(p)
    assert status == SOLVED
    assert p.step[0].residual <= p.step[0].tolerance
    return p


def natural_map(p):
    """The worst |p − proj_K(p − û/c)| c over contacts, with NumPy."""
    mass, jacobian, _ = dense(p)
    worst = 0.0
    for i, c in enumerate(p.cones):
        j = jacobian[3 * i : 3 * i + 3]
        u = j @ p.speeds + c.offset
        compliance = j[0] @ np.linalg.solve(mass, j[0])
        x = c.impulse - (u + [c.bias + c.friction * math.hypot(u[1], u[2]), 0.0, 0.0]) / compliance
        t = math.hypot(x[1], x[2])
        if c.friction * t <= -x[0]:
            x = np.zeros(3)
        elif t > c.friction * x[0]:
            normal = (x[0] + c.friction * t) / (1.0 + c.friction**2)
            x = normal * np.array([1.0, c.friction * x[1] / t, c.friction * x[2] / t])
        worst = max(worst, compliance * np.linalg.norm(c.impulse - x))
    return worst


def imbalance(p, free):
    """|M (w − w_free) − Jᵀ p − gᵀ λ| over the diagonal of M."""
    mass, jacobian, rows = dense(p)
    r = mass @ (p.speeds - free) - jacobian.T @ p.cones.impulse.ravel() - rows.T @ p.rows.impulse
    return np.abs(r / np.diag(mass)).max()


def random_blocks(seed, sizes, contacts, friction, equations=0, **more):
    """Blocks with dense M; contacts that approach on one to four of them; rest is admissible."""
    rng = np.random.default_rng(seed)
    masses = []
    for n in sizes:
        q = rng.normal(size=(n, n))
        masses.append(q @ q.T + 0.3 * np.eye(n))

    def couple(height):
        chosen = rng.permutation(len(sizes))[: rng.integers(1, min(len(sizes), 4) + 1)]
        return {int(i): rng.normal(size=(height, sizes[i])) for i in chosen}

    touching = [Contact(couple(3), rng.uniform(0.0, friction), rng.uniform(0.0, 0.2)) for _ in range(contacts)]
    rows = [Row({i: g[0] for i, g in couple(1).items()}) for _ in range(equations)]
    return make(masses, [rng.normal(size=n) for n in sizes], touching, rows, **more)


@pytest.mark.parametrize("sizes", [[1], [2, 9], [3, 1, 14, 6], [40]])
@pytest.mark.parametrize("friction", [0.0, 0.8])
def test_blocks_of_any_size_with_dense_masses_obey_the_law(sizes, friction):
    for seed in range(4):
        p = random_blocks(seed, sizes, 6, friction, equations=min(2, sum(sizes) // 4), tolerance=1e-11)
        free = p.speeds.copy()
        p = solved(p)
        assert natural_map(p) <= 1.1e-11
        assert imbalance(p, free) <= 1.1e-11
        assert np.abs(dense(p)[2] @ p.speeds).max(initial=0.0) <= 1e-11


def test_without_friction_it_is_the_quadratic_program():
    """The matrix is symmetric, and p ≥ 0 minimizes ½ pᵀ J M⁻¹ Jᵀ p + pᵀ (J w_free + b), a problem of least squares."""
    for seed in range(6):
        p = random_blocks(seed, [4, 7, 3], 8, 0.0)
        free = p.speeds.copy()
        p = solved(p)
        assert p.step[0].symmetric == 1
        mass, jacobian, _ = dense(p)
        j = jacobian[::3]
        root = np.linalg.solve(np.linalg.cholesky(mass), j.T)  # RᵀR = J M⁻¹ Jᵀ
        # The least-squares form also needs u in the range of Rᵀ: one more row of large weight does it.
        approach = j @ free + p.cones.bias
        target = -np.linalg.lstsq(root.T, approach, rcond=None)[0]
        np.testing.assert_allclose(root.T @ target, -approach, atol=1e-10)
        impulses, _ = nnls(root, target)
        np.testing.assert_allclose(p.speeds, free + np.linalg.solve(mass, j.T @ impulses), atol=1e-9)


# Rows with bounds -----------------------------------------------------------------------------------------------------------


def carriage(row, speed=0.0, mass=2.0):
    """A mass on a line under one row."""
    return solved(make([np.array([[mass]])], [[speed]], [], [row]))


@pytest.mark.parametrize(("most", "impulse"), [(10.0, 0.6), (0.1, 0.1)])
def test_a_motor_reaches_its_speed_or_its_limit(most, impulse):
    p = carriage(Row({0: np.array([1.0])}, target=0.3, least=-most, most=most))
    assert p.rows.impulse[0] == pytest.approx(impulse, rel=1e-11)
    assert p.speeds[0] == pytest.approx(0.5 * impulse, rel=1e-11)


@pytest.mark.parametrize(("speed", "expected"), [(0.04, 0.0), (1.0, 0.95), (-1.0, -0.95)])
def test_dry_friction_holds_or_brakes_with_all_it_has(speed, expected):
    p = carriage(Row({0: np.array([1.0])}, least=-0.1, most=0.1), speed)
    assert p.speeds[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-5.0, 5.0), (-np.inf, 0.0)])
def test_compliance_gives_way_by_what_it_carries(bounds):
    """g w + C λ = target: λ = (target − w_free) / (1/m + C)."""
    p = carriage(Row({0: np.array([1.0])}, 0.1, 0.7, *bounds), speed=0.9)
    assert p.rows.impulse[0] == pytest.approx(-0.8 / 1.2, rel=1e-10)
    assert p.speeds[0] == pytest.approx(0.9 - 0.5 * 0.8 / 1.2, rel=1e-10)


def test_a_stop_is_a_contact_without_friction():
    j = np.array([[0.3, -1.0, 0.4], [0.0, 0.1, 0.2], [0.1, 0.0, 0.3]])
    mass, free = np.diag([1.0, 2.0, 3.0]) + 0.2, [0.1, 0.8, -0.3]
    touching = solved(make([mass], [free], [Contact({0: j}, 0.0, 0.05)]))
    stopped = solved(make([mass], [free], [], [Row({0: j[0]}, -0.05, 0.0, 0.0, np.inf)]))
    np.testing.assert_allclose(touching.speeds, stopped.speeds, atol=1e-12)
    assert stopped.rows.impulse[0] == pytest.approx(touching.cones.impulse[0, 0], rel=1e-10)
    assert stopped.rows.impulse[0] > 0.1


def test_a_row_whose_bounds_are_equal_keeps_that_impulse():
    p = carriage(Row({0: np.array([1.0])}, target=3.0, least=0.2, most=0.2))
    assert p.rows.impulse[0] == 0.2
    assert p.speeds[0] == pytest.approx(0.1, rel=1e-12)


def test_a_motor_pulls_a_box_that_friction_holds_back():
    """A force of 2 μ m g moves it with (2 − 1) μ g."""
    mu, mass = 0.4, 3.0
    pull = 2.0 * mu * mass * G * H
    body = box(mass)
    below = [
        Contact({0: c.frame @ np.hstack([np.eye(3), -cross(c.arm_b)])}, mu) for c in box_contacts(1, 0, mu)
    ]  # fmt: skip
    motor = Row({0: np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])}, 9.0, 0.0, -pull, pull)
    masses = np.diag([mass] * 3 + [body.inertia[0, 0]] * 3)
    p = solved(make([masses], [body.velocity], below, [motor]))
    assert p.speeds[0] == pytest.approx(mu * G * H, rel=1e-10)
    assert p.rows.impulse[0] == pytest.approx(pull, rel=1e-12)


def cross(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


# Coordinates ----------------------------------------------------------------------------------------------------------------


def test_a_double_pendulum_strikes_alike_in_joint_and_body_coordinates():
    """Two rods about y; the tip touches a wall in its path. Contact impulse and speeds agree, though one problem has two
    speeds and the other twelve with joints."""
    length, masses, angles, rates, mu = 1.0, (1.5, 0.7), (0.3, -0.5), np.array([1.1, -0.4]), 0.3
    along = [np.array([math.sin(a), 0.0, -math.cos(a)]) for a in angles]
    across = [np.array([math.cos(a), 0.0, math.sin(a)]) for a in angles]
    zero = np.zeros((3, 1))
    # Columns are the rates of the absolute angles; a rod turns about −y as its angle grows.
    tip = length * np.column_stack([across[0], across[1]])
    centres = [np.column_stack([0.5 * length * across[0], zero[:, 0]]),
               np.column_stack([length * across[0], 0.5 * length * across[1]])]  # fmt: skip
    turns = [np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, -1.0], [0.0, 0.0]])]
    inertia = [m * length**2 / 12.0 * np.eye(3) for m in masses]
    mass = sum(m * c.T @ c + t.T @ i @ t for m, c, t, i in zip(masses, centres, turns, inertia, strict=True))
    wall = contact(1, 2, (-1.0, 0.0, 0.2), np.zeros(3), np.zeros(3), mu)._replace(
        a=2, b=1, arm_b=0.5 * length * along[1]
    )
    joint = solved(make([mass], [rates], [Contact({0: wall.frame @ tip}, mu)]))

    bodies = [
        Body(m, i, np.concatenate([c @ rates, t @ rates]))
        for m, i, c, t in zip(masses, inertia, centres, turns, strict=True)
    ]
    hinges = [
        ball_joint(2, 0, (0.0, 0.0, 0.0), -0.5 * length * along[0]),
        ball_joint(0, 1, 0.5 * length * along[0], -0.5 * length * along[1]),
    ]
    hinges = [Joint(h.a, h.b, h.on_a, h.on_b, np.zeros(3)) for h in hinges]
    body = solved(problem(bodies, [wall], hinges))
    assert body.cones.impulse[0, 0] > 0.1
    np.testing.assert_allclose(joint.cones.impulse, body.cones.impulse, atol=1e-10)
    for k in range(2):
        expected = np.concatenate([centres[k] @ joint.speeds, turns[k] @ joint.speeds])
        np.testing.assert_allclose(body.speeds[6 * k : 6 * k + 6], expected, atol=1e-10)


# Degenerate ------------------------------------------------------------------------------------------------------------


def test_a_ball_wedged_between_steep_walls_stays():
    """Half-angle 5°, friction angle 26.6°: the walls may press as hard as they like, and the sum carries the weight."""
    tilt, radius = math.radians(5.0), 0.1
    ball = Body(0.5, np.eye(3) * 0.4 * 0.5 * radius**2, np.array([0.0, 0.0, -G * H, 0.0, 0.0, 0.0]))
    normals = [np.array([s * math.cos(tilt), 0.0, math.sin(tilt)]) for s in (-1.0, 1.0)]
    walls = [contact(1, 0, n, np.zeros(3), -radius * n, 0.5) for n in normals]
    p = solved(problem([ball], walls))
    assert natural_map(p) <= 1e-12
    np.testing.assert_allclose(p.speeds, 0.0, atol=1e-11)
    np.testing.assert_allclose((dense(p)[1].T @ p.cones.impulse.ravel())[:3], [0.0, 0.0, 0.5 * G * H], atol=1e-12)


@pytest.mark.parametrize("misfit", [1e-3, 1e-6, 1e-9])
def test_contacts_that_cannot_all_stick_press_until_one_slides(misfit):
    """Of two feet one may sink by 1 mm/s, so that the body turns, and the feet, of which one is higher by `misfit`, move
    apart by that share of it. Sticking at both is impossible, however small this is: the weaker has to reach its cone."""
    feet = [contact(1, 0, (0.0, 0.0, 1.0), np.zeros(3), (x, 0.0, z), 0.5, b)
            for x, z, b in ((-0.5, -0.5, 0.0), (0.5, -0.5 + misfit, 1e-3))]  # fmt: skip
    keel = Row({0: np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])}), Row({0: np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])})
    made = problem([box()], feet)
    contacts = [
        Contact({0: j}, c.friction, c.bias) for j, c in zip(np.split(dense(made)[1], 2), made.cones, strict=True)
    ]
    p = solved(make([dense(made)[0]], [made.speeds], contacts, list(keel)))
    assert natural_map(p) <= 1e-12
    used = np.hypot(*p.cones.impulse[:, 1:].T) / (0.5 * p.cones.impulse[:, 0])
    assert used.max() == pytest.approx(1.0, abs=1e-9)
    speeds = (dense(p)[1] @ p.speeds).reshape(2, 3)[:, 1:]
    assert np.abs(speeds).max() == pytest.approx(1e-3 * misfit, rel=0.01)


def test_a_hundred_copies_of_a_contact_carry_what_one_carries():
    contacts = box_contacts(1, 0, 0.5) * 100
    p = solved(problem([box(2.0, velocity=(0.3, 0.0, -G * H, 0.0, 0.0, 0.0))], contacts))
    momentum = dense(p)[1].T @ p.cones.impulse.ravel()
    np.testing.assert_allclose(momentum[:3], [-0.5 * 2.0 * G * H, 0.0, 2.0 * G * H], atol=1e-11)


def test_a_kilogram_slides_below_a_tonne():
    """Both are slowed by μ g: between them friction is just what sticking needs."""
    p = solved(stack([1.0, 1e3], friction=0.3, velocity=(1.0, 0.0, -G * H, 0.0, 0.0, 0.0), tolerance=1e-10))
    np.testing.assert_allclose(p.speeds[[0, 6]], 1.0 - 0.3 * G * H, rtol=1e-9)
    assert p.cones.impulse[:4, 0].sum() == pytest.approx(1001.0 * G * H, rel=1e-8)  # 1e-10 m/s of a tonne


# Starts, and the same again --------------------------------------------------------------------------------------------


def again(p, free, change=0.0):
    """The same problem from the impulses that it has, with free speeds that differ by a part of them."""
    p.speeds[:] = (1.0 + change) * free
    p.step[0].warm, p.step[0].iterations = 1, 0
    p.step[0].tolerance = 1e-10
    return solved(p)


@pytest.mark.parametrize(("change", "most"), [(0.0, 1), (1e-6, 4), (1e-2, 12)])
def test_a_warm_start_needs_few_factorizations(change, most):
    p = stack(np.ones(8), velocity=(0.2, 0.1, -G * H, 0.0, 0.0, 0.0), tolerance=1e-10)
    free = p.speeds.copy()
    p = solved(p)
    cold = p.step[0].iterations
    p = again(p, free, change)
    assert p.step[0].iterations <= most < cold
    assert natural_map(p) <= 1e-9 and imbalance(p, (1.0 + change) * free) <= 1e-9


def test_a_warm_start_from_nonsense_still_ends_at_the_solution():
    p = stack(np.ones(4), tolerance=1e-10)
    free = p.speeds.copy()
    p = solved(p)
    p.cones.impulse[:] = np.random.default_rng(0).normal(size=(16, 3)) * 100.0
    p = again(p, free)
    np.testing.assert_allclose(p.cones.impulse[:, 0].reshape(4, 4).sum(1), G * H * np.arange(4, 0, -1), rtol=1e-8)


def test_what_is_left_in_the_tables_does_not_change_a_bit():
    """The plan of the factorization and all workspace are used again, with fresh impulses."""
    fresh = random_blocks(3, [6, 6, 4], 7, 0.7)
    free = fresh.speeds.copy()
    first = solved(fresh)
    speeds, impulses = first.speeds.copy(), first.cones.impulse.copy()
    first.speeds[:] = -2.0 * free
    first = solve(first)[1]
    assert not np.array_equal(first.speeds, speeds)
    first.speeds[:] = free
    first.step[0].tolerance = 1e-13
    second = solved(first)
    assert np.array_equal(second.speeds, speeds)
    assert np.array_equal(second.cones.impulse, impulses)


@pytest.mark.parametrize("spoil", ["jacobian", "masses", "bias", "target", "offset"])
def test_each_number_that_is_not_finite_is_refused(spoil):
    p = random_blocks(0, [3, 4], 2, 0.5, equations=1)
    place = {"jacobian": p.jacobian, "masses": p.masses, "bias": p.cones.bias, "target": p.rows.target,
             "offset": p.cones.offset[0]}[spoil]  # fmt: skip
    place[0] = math.nan
    with pytest.raises(ValueError, match="not finite"):
        solve(p)


def test_masses_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="positive"):
        solve(make([np.array([[1.0, 2.0], [2.0, 1.0]])], [[0.0, 1.0]]))
