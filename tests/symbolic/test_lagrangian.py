"""Equations of motion from a Lagrangian, against those that SymPy's own methods derive."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)

import dalembert as dal

from . import systems
from .systems import VALUES, arm, g, k, m, time


def numbers(matrix, symbols):
    """A matrix of expressions as a function of the values of symbols."""
    stand_ins = sp.symbols(f"s:{len(symbols)}")
    for symbol, stand_in in zip(symbols, stand_ins, strict=True):
        matrix = matrix.subs(symbol, stand_in)
    function = sp.lambdify((time, stand_ins), matrix.subs(VALUES))
    return lambda t, values: np.array(function(t, values), float)


def rates_first(coordinates):
    """Rates, then coordinates: the order in which they can be replaced."""
    return [q.diff(time) for q in coordinates] + list(coordinates)


CASES = {
    "double_pendulum": systems.double_pendulum(), "cart": systems.cart(), "spherical": systems.spherical_pendulum(),
    "hoop": systems.hoop(3), "top": systems.top(0.2, 0.1, 1.5), "of_everything": systems.of_everything(),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_equations_are_those_of_lagranges_method(name):
    expression, coordinates = CASES[name]
    n = len(coordinates)
    push = -k * coordinates[0].diff(time) + sp.sin(time)
    system = dal.Lagrangian(expression, coordinates, forces={coordinates[0]: push}, parameters=VALUES)
    method = LagrangesMethod(expression, coordinates)
    method.form_lagranges_equations()
    exact_mass, exact_forcing = (numbers(a, rates_first(coordinates)) for a in (method.mass_matrix, method.forcing))
    rng = np.random.default_rng(3)
    for _ in range(5):
        t, u, v = rng.normal(), rng.normal(size=n), rng.normal(size=n)
        mass, forcing = exact_mass(t, [*v, *u]), exact_forcing(t, [*v, *u]).ravel()
        forcing[0] += -VALUES[k] * v[0] + np.sin(t)
        np.testing.assert_allclose(system.mass_matrix(u, v, t), mass, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(system.bias(u, v, t), -forcing, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(system.acceleration(t, u, v), np.linalg.solve(mass, forcing), rtol=1e-10, atol=1e-10)


def test_constrained_accelerations_and_multipliers_are_those_of_lagranges_method():
    expression, (a, b) = systems.double_pendulum()
    closed = sp.sin(a) + sp.sin(b) - sp.Rational(1, 2) - sp.sin(time) / 5
    system = dal.Lagrangian(expression, [a, b], constraints=[closed], parameters=VALUES)
    method = LagrangesMethod(expression, [a, b], hol_coneqs=[closed])
    method.form_lagranges_equations()
    full = [numbers(matrix, rates_first([a, b])) for matrix in (method.mass_matrix_full, method.forcing_full)]
    rng = np.random.default_rng(5)
    for _ in range(5):
        t, u, v = rng.normal(), rng.normal(size=2), rng.normal(size=2)
        mass, forcing = (function(t, [*v, *u]) for function in full)
        exact = np.linalg.solve(mass, forcing).ravel()
        np.testing.assert_allclose(system.acceleration(t, u, v), exact[2:4], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(np.abs(system.multipliers(t, u, v)), np.abs(exact[4:]), rtol=1e-10, atol=1e-10)


def test_equations_are_those_of_kanes_method():
    s, a, w, r = dynamicsymbols("s a w r")
    frame, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(frame, 0)
    base, bob = origin.locatenew("base", s * frame.x), Point("bob")
    bob.set_pos(origin, (s + arm * sp.sin(a)) * frame.x - arm * sp.cos(a) * frame.z)
    base.set_vel(frame, w * frame.x)
    bob.set_vel(frame, (w + arm * sp.cos(a) * r) * frame.x + arm * sp.sin(a) * r * frame.z)
    method = KanesMethod(frame, [s, a], [w, r], kd_eqs=[s.diff(time) - w, a.diff(time) - r])
    loads = [(base, -k * s * frame.x), (bob, -m * g * frame.z)]
    method.kanes_equations([Particle("base", base, 2 * m), Particle("bob", bob, m)], loads)
    exact_mass, exact_forcing = (numbers(matrix, [w, r, s, a]) for matrix in (method.mass_matrix, method.forcing))
    expression, coordinates = systems.cart()
    system = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    rng = np.random.default_rng(7)
    for _ in range(5):
        u, v = rng.normal(size=2), rng.normal(size=2)
        exact = np.linalg.solve(exact_mass(0.0, [*v, *u]), exact_forcing(0.0, [*v, *u]).ravel())
        np.testing.assert_allclose(system.acceleration(0.0, u, v), exact, rtol=1e-11, atol=1e-11)


def test_a_rolling_disc_accelerates_as_by_kanes_method():
    expression, coordinates, rolling = systems.disc()
    system = dal.Lagrangian(expression, coordinates, nonholonomic=rolling, parameters=VALUES)
    exact = _disc_of_kane()
    rng = np.random.default_rng(11)
    for _ in range(5):
        yaw, lean, spin = rng.normal(), 0.7 * rng.uniform(-1.0, 1.0), rng.normal()
        rates = rng.normal(size=3)
        u = np.array([0.3, -0.2, yaw, lean, spin])
        v = np.zeros(5)
        v[2:] = rates
        v[:2] = _rolled(u, rates)
        np.testing.assert_allclose(system.acceleration(0.0, u, v)[2:], exact(u[2:], rates), rtol=1e-10, atol=1e-10)


def _rolled(u, rates):
    """Velocity of the point below the middle of a disc that rolls: see `systems.disc`."""
    radius, (yaw, _, _), spin = VALUES[arm], u[2:], rates[2]
    return -radius * spin * np.array([np.cos(yaw), np.sin(yaw)])


def _disc_of_kane():
    """u̇ of a rolling disc in its three angles, by Kane's method with independent speeds: f(angles, rates)."""
    yaw, lean, spin, a, b, c = dynamicsymbols("yaw lean spin a b c")
    fixed = ReferenceFrame("N")
    heading = fixed.orientnew("A", "Axis", [yaw, fixed.z])
    tilted = heading.orientnew("B", "Axis", [lean, heading.x])
    tilted.set_ang_vel(fixed, a * heading.z + b * heading.x)
    turned = tilted.orientnew("C", "Axis", [spin, tilted.y])
    omega = a * heading.z + b * heading.x + c * tilted.y
    turned.set_ang_vel(fixed, omega)
    ground = Point("ground")
    ground.set_vel(fixed, 0)
    middle = ground.locatenew("middle", arm * tilted.z)
    middle.set_vel(fixed, omega.cross(arm * tilted.z))
    middle.set_acc(fixed, middle.vel(fixed).dt(fixed))
    moments = inertia(tilted, m * arm**2 / 4, m * arm**2 / 2, m * arm**2 / 4)
    disc = RigidBody("disc", middle, turned, m, (moments, middle))
    method = KanesMethod(
        fixed, [yaw, lean, spin], [a, b, c],
        kd_eqs=[yaw.diff(time) - a, lean.diff(time) - b, spin.diff(time) - c],
    )  # fmt: skip
    method.kanes_equations([disc], [(middle, -m * g * fixed.z)])
    mass, forcing = (numbers(matrix, [a, b, c, yaw, lean, spin]) for matrix in (method.mass_matrix, method.forcing))
    return lambda u, v: np.linalg.solve(mass(0.0, [*v, *u]), forcing(0.0, [*v, *u]).ravel())


def test_symbols_serve_as_coordinates():
    q, v, c = sp.symbols("q v c")
    system = dal.Lagrangian(v**2 / 2 - c * q**2 / 2, [q], velocities=[v], parameters={c: 4.0})
    assert system.acceleration(0.0, [0.5], [0.0]).tolist() == [-2.0]
    assert system.energy([0.5], [3.0]) == 5.0
    assert system.energy({q: 0.5}) == 0.5


def test_conditions_select_what_holds():
    q, v = sp.symbols("q v")
    wall = sp.Piecewise((sp.Rational(1, 2) * q**2, (q > 0) & (q < 1)), (q - sp.Rational(1, 2), q >= 1), (0, True))
    system = dal.Lagrangian(v**2 / 2 - wall - sp.Abs(q) - sp.Max(q, 2) - sp.Min(q, -3), [q], velocities=[v])
    pulls = [system.acceleration(0.0, [at])[0] for at in (-4.0, -1.0, 0.5, 1.5, 3.0)]
    assert pulls == [0.0, 1.0, -1.5, -2.0, -3.0]


def test_other_parameters_use_the_same_code():
    expression, coordinates = systems.cart()
    first = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    second = dal.Lagrangian(expression, coordinates, parameters={**VALUES, arm: 2.0})
    assert first.source == second.source
    assert first.acceleration(0.0, [0.1, 0.2])[1] != second.acceleration(0.0, [0.1, 0.2])[1]
