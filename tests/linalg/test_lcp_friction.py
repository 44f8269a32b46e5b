"""Friction in Dantzig's algorithm: Coulomb's conditions, Lemke's solution, enumeration, and cases known by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.linalg.lcp import lcp, lcp_with_friction
from dalembert.linalg.lcp_dantzig import INFEASIBLE, OK, STALLED

G = 9.81


def problem(seed, most=6, bodies=3):
    """Contacts of bodies in the plane, normal and tangent in turn: (A, b, owner, μ)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    rows = np.zeros((2 * n, 3 * bodies))
    for i in range(n):
        angle = rng.uniform(0.0, 2.0 * np.pi)
        normal = np.array([np.cos(angle), np.sin(angle)])
        pair = rng.choice(bodies + 1, 2, replace=False)  # the last is the ground
        for body, sign in zip(pair, (1.0, -1.0), strict=True):
            if body < bodies:
                r = rng.uniform(-1.0, 1.0, 2)
                for k, d in enumerate((normal, np.array([-normal[1], normal[0]]))):
                    rows[2 * i + k, 3 * body : 3 * body + 3] = sign * np.array([*d, 2.0 * (r[0] * d[1] - r[1] * d[0])])
    owner = np.where(np.arange(2 * n) % 2 == 0, -1, np.arange(2 * n) - 1)
    return rows @ rows.T, rows @ rng.normal(size=3 * bodies), owner, np.full(2 * n, rng.uniform(0.0, 1.0))


def violation(a, b, owner, friction, f, side=None):
    """How far f is from the conditions: accelerations beside the terms they are the sum of, forces beside the largest."""
    scale = np.abs(a) @ np.abs(f) + np.abs(b) + 1e-300
    w, size = (a @ f + b) / scale, np.abs(f).max() + 1e-300
    worst = 0.0
    for i, j in enumerate(owner):
        if j < 0:
            worst = max(worst, -w[i], -f[i] / size, abs(w[i]) if f[i] > 0.0 else 0.0)
            continue
        most = friction[i] * f[j]
        if side is not None and side[i] != 0.0:
            worst = max(worst, abs(f[i] - side[i] * most) / size)
            continue
        worst = max(worst, (abs(f[i]) - most) / size)
        if most > 0.0:
            worst = max(worst, -w[i] if f[i] < most else 0.0, w[i] if f[i] > -most else 0.0)
    return worst


def solved(a, b, owner, friction, side=None):
    f, status = lcp_with_friction(a, b, owner, friction, side)
    assert status == OK
    assert violation(np.asarray(a), np.asarray(b), owner, friction, f, side) <= 1e-10
    return f


def lemke_solution(a, b, friction):
    """The same in the plane as a linear complementarity problem of (f_n, f_t⁺, f_t⁻, γ), γ the size of a_t."""
    n = len(b) // 2
    d = np.zeros((2 * n, 3 * n))
    for i in range(n):
        d[2 * i, i] = 1.0
        d[2 * i + 1, n + i], d[2 * i + 1, 2 * n + i] = 1.0, -1.0
    m = np.zeros((4 * n, 4 * n))
    m[: 3 * n, : 3 * n] = d.T @ a @ d
    for i in range(n):
        m[n + i, 3 * n + i] = m[2 * n + i, 3 * n + i] = 1.0
        m[3 * n + i, [i, n + i, 2 * n + i]] = friction[2 * i + 1], -1.0, -1.0
    z, status = lcp(m, np.concatenate([d.T @ b, np.zeros(n)]), "lemke")
    return (d @ z[: 3 * n], status)


def all_solutions(a, b, owner, friction):
    """Accelerations of every solution, by trying each contact open, sticking, and sliding either way."""
    n = len(b) // 2
    found = []
    for modes in itertools.product(("open", "stick", -1.0, 1.0), repeat=n):
        basis, rows = [], []
        for i, mode in enumerate(modes):
            if mode == "open":
                continue
            unit = np.zeros(2 * n)
            unit[2 * i] = 1.0
            if mode == "stick":
                basis.append(np.eye(2 * n)[2 * i + 1])
                rows.append(2 * i + 1)
            else:
                unit[2 * i + 1] = mode * friction[2 * i + 1]
            basis.append(unit)
            rows.append(2 * i)
        f = np.zeros(2 * n)
        if basis:
            t = np.array(basis).T
            f = t @ np.linalg.lstsq(a[rows] @ t, -b[rows], rcond=None)[0]
        if violation(a, b, owner, friction, np.where(np.abs(f) < 1e-14, 0.0, f)) <= 1e-9:
            found.append(a @ f + b)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_conditions_hold_and_the_solution_is_one_that_enumeration_finds(seed):
    a, b, owner, friction = problem(seed, 4)
    f = solved(a, b, owner, friction)
    scale = (np.abs(a) @ np.abs(f) + np.abs(b)).max()
    assert min(np.abs(a @ f + b - w).max() for w in all_solutions(a, b, owner, friction)) <= 1e-7 * scale


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_conditions_hold_with_more_contacts(seed):
    solved(*problem(seed, 12, 5))


@pytest.mark.parametrize("seed", range(40))
def test_lemke_finds_the_same_accelerations_where_friction_is_small(seed):
    a, b, owner, friction = problem(seed)
    friction = 0.1 * friction
    expected, status = lemke_solution(a, b, friction)
    f = solved(a, b, owner, friction)
    if status == OK:
        assert np.abs(a @ (f - expected)).max() <= 1e-9 * (np.abs(a) @ np.abs(f) + np.abs(b)).max()


def polygon_contacts(x, height, mass, inertia):
    """Rows (normal, tangent) of points below a body's centre, in units of the roots of its masses."""
    scale = 1.0 / np.sqrt([mass, mass, inertia])
    return [np.array(r) * scale for at in x for r in ([0.0, 1.0, at], [1.0, 0.0, height])]


@pytest.mark.parametrize("friction", [0.1, 0.4, 0.6, 1.5])
def test_a_box_on_an_incline_sticks_or_slides_as_coulomb_says(friction):
    angle, mass = 0.5, 3.0
    rows = np.array(polygon_contacts([-1.0, 1.0], 0.3, mass, 2.0))
    gravity = G * np.array([np.sin(angle), -np.cos(angle), 0.0]) * np.sqrt([mass, mass, 2.0])
    a, b = rows @ rows.T, rows @ gravity
    f = solved(a, b, [-1, 0, -1, 2], np.full(4, friction))
    assert f[0] + f[2] == pytest.approx(mass * G * np.cos(angle), rel=1e-12)
    expected = max(np.sin(angle) - friction * np.cos(angle), 0.0) * G
    assert (a @ f + b)[1] == pytest.approx(expected, abs=1e-12)


def test_a_stack_on_a_tilted_plate_is_carried():
    """Boxes with two contacts at each face: more than their bodies can tell apart."""
    count, angle = 6, 0.3
    rows = np.zeros((4 * count, 3 * count))
    for i in range(count):
        rows[4 * i : 4 * i + 4, 3 * i : 3 * i + 3] = polygon_contacts([-0.5, 0.5], 0.5, 1.0, 1.0 / 6.0)
        if i > 0:
            rows[4 * i : 4 * i + 4, 3 * i - 3 : 3 * i] = [
                -r for r in polygon_contacts([-0.5, 0.5], -0.5, 1.0, 1.0 / 6.0)
            ]
    owner = np.where(np.arange(4 * count) % 2 == 0, -1, np.arange(4 * count) - 1)
    gravity = np.tile([G * np.sin(angle), -G * np.cos(angle), 0.0], count)
    gravity[2::3] = 0.0
    a, b = rows @ rows.T, rows @ gravity
    f = solved(a, b, owner, np.full(4 * count, 0.5))
    normal = (f[0::4] + f[2::4]) / (G * np.cos(angle))
    if np.abs(a @ f + b).max() < 1e-9:  # it stands
        np.testing.assert_allclose(normal, np.arange(count, 0, -1), rtol=1e-9)
    slides = solved(a, b, owner, np.full(4 * count, 0.1))
    assert (a @ slides + b)[1] == pytest.approx(G * (np.sin(angle) - 0.1 * np.cos(angle)), rel=1e-9)


def test_a_pyramid_in_space_bounds_each_axis_by_itself():
    f = solved(np.eye(3), [-1.0, 2.0, 0.3], [-1, 0, 0], [0.0, 0.5, 0.5])
    np.testing.assert_allclose(f, [1.0, -0.5, -0.3], rtol=1e-15)


def rod(friction, height=1.0, reach=0.5, inertia=0.05, lift=0.0):
    """Painlevé's rod of 1 kg, its end on the ground sliding towards −x: ã_nn = 1 + (reach² − μ reach height)/inertia."""
    rows = np.array(polygon_contacts([reach], height, 1.0, inertia))
    rows[1] *= -1.0
    return rows @ rows.T, rows @ np.array([0.0, -G + lift, 0.0])


def test_a_rod_that_slides_as_painleve_has_it_is_inconsistent_and_said_to_be():
    a, b = rod(2.0)
    assert a[0, 0] + 2.0 * a[0, 1] < 0.0 and b[0] < 0.0
    _, status = lcp_with_friction(a, b, [-1, 0], [0.0, 2.0], [0.0, 1.0])
    assert status in (INFEASIBLE, STALLED)
    assert solved(a, b, [-1, 0], [0.0, 0.1], [0.0, 1.0])[0] > 0.0
    assert (solved(*rod(2.0, lift=2 * G), [-1, 0], [0.0, 2.0], [0.0, 1.0]) == 0.0).all()
    assert solved(a, b, [-1, 0], [0.0, 2.0])[0] > 0.0  # at rest it jams instead


@pytest.mark.parametrize("seed", range(20))
def test_sliding_contacts_agree_with_lemke(seed):
    a, b, owner, friction = problem(seed)
    friction = 0.1 * friction
    side = np.where(owner < 0, 0.0, np.where(np.arange(len(b)) % 4 == 1, 1.0, -1.0))
    reduced = a[::2, ::2] + a[::2, 1::2] * (side * friction)[1::2]
    expected, status = lcp(reduced, b[::2], "lemke")
    f = solved(a, b, owner, friction, side)
    if status == OK:
        scale = (np.abs(a) @ np.abs(f) + np.abs(b)).max()
        assert np.abs(reduced @ (f[::2] - expected)).max() <= 1e-9 * scale


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"owner\[1\] is 1"):
        lcp_with_friction(np.eye(2), [0.0, 0.0], [-1, 1], [0.0, 0.5])
    with pytest.raises(ValueError, match=r"friction\[1\] is -0.5"):
        lcp_with_friction(np.eye(2), [0.0, 0.0], [-1, 0], [0.0, -0.5])
    with pytest.raises(ValueError, match=r"side\[1\] is 2.0"):
        lcp_with_friction(np.eye(2), [0.0, 0.0], [-1, 0], [0.0, 0.5], [0.0, 2.0])
    with pytest.raises(ValueError, match=r"owner must have shape"):
        lcp_with_friction(np.eye(2), [0.0, 0.0], [-1], [0.0, 0.5])
