"""Runs of Lagrangians: analytic solutions, invariants, constraints, order of accuracy, and how runs fail."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dal
from dalembert.gallery import top as gallery_top
from dalembert.integrate.solve import IntegrationError

from . import systems
from .systems import VALUES, arm, g, m, time


def balance(run):
    """Energy less work, from its start."""
    kept = (run.energy - run.work).values
    return kept - kept[0]


def test_runge_kutta_is_of_fourth_order():
    expression, coordinates = systems.double_pendulum()
    system = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    exact = system.run(1.0, [1.0, 2.0], method="dop853", rtol=1e-13).u[-1].values
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    errors = [
        np.abs(system.run(1.0, [1.0, 2.0], method="rk4", dt=dt, frame_rate=10).u[-1].values - exact).max()
        for dt in steps
    ]
    slopes = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert np.all(np.abs(slopes - 4.0) < 0.3), slopes


def test_energy_and_work_balance():
    expression, coordinates = systems.cart()
    drive, drag = 3 * sp.cos(4 * time), -coordinates[1].diff(time) / 5
    system = dal.Lagrangian(
        expression, coordinates, forces=dict(zip(coordinates, (drive, drag), strict=True)), parameters=VALUES
    )
    run = system.run(4.0, {coordinates[1]: 1.0}, method="dop853", rtol=1e-11)
    assert np.ptp(run.energy.values) > 1.0
    assert np.abs(balance(run)).max() < 1e-8
    assert run.coordinate.values.tolist() == ["s", "theta"]
    assert run.u.sel(coordinate="theta")[0] == 1.0


def test_bead_on_a_turning_hoop_keeps_jacobis_integral_and_not_its_energy():
    rate, start, velocity = 5.0, 0.8, 0.3
    expression, coordinates = systems.hoop(sp.Float(rate))
    system = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    run = system.run(3.0, [start], [velocity], rtol=1e-10)
    theta, omega = run.u.values[:, 0], run.v.values[:, 0]
    mass, radius, gravity = VALUES[m], VALUES[arm], VALUES[g]
    effective = 0.5 * mass * radius**2 * (omega**2 - rate**2 * np.sin(theta) ** 2) - mass * gravity * radius * np.cos(
        theta
    )
    np.testing.assert_allclose(run.energy, effective, atol=1e-12)
    assert np.abs(effective - effective[0]).max() < 1e-8
    energy = effective + mass * (radius * rate * np.sin(theta)) ** 2
    assert np.ptp(energy) > 0.5
    rest = float(np.arccos(gravity / (radius * rate**2)))
    assert abs(system.acceleration(0.0, [rest])[0]) < 1e-13


def test_chaplygins_sleigh_moves_as_known():
    lead, moment, speed = 0.4, 0.2, 1.5
    expression, coordinates, edge = systems.sleigh(lead, moment)
    system = dal.Lagrangian(expression, coordinates, nonholonomic=edge, parameters=VALUES)
    mass = VALUES[m]
    about = moment + mass * lead**2
    phase = -2.0
    turn = speed * np.sqrt(mass / about)
    ahead = speed * np.tanh(phase)
    run = system.run(
        4.0, [0.0, 0.0, 0.5], [ahead * np.cos(0.5), ahead * np.sin(0.5), turn / np.cosh(phase)], rtol=1e-11
    )
    s = phase + mass * lead * speed / about * run.time.values
    theta = run.u.sel(coordinate="theta").values
    forward = run.v.values[:, 0] * np.cos(theta) + run.v.values[:, 1] * np.sin(theta)
    np.testing.assert_allclose(forward, speed * np.tanh(s), atol=1e-9)
    np.testing.assert_allclose(run.v.sel(coordinate="theta"), turn / np.cosh(s), atol=1e-9)
    slip = -run.v.values[:, 0] * np.sin(theta) + run.v.values[:, 1] * np.cos(theta)
    assert np.abs(slip).max() < 1e-14
    assert np.abs(balance(run)).max() < 1e-10


def four_bar(copies=1):
    """A parallelogram in the angles of its cranks, hanging; its coupler, a rod without mass, is given so many times."""
    a, b = dynamicsymbols("a b")
    base = sp.Rational(6, 5)
    kinetic = m * arm**2 / 6 * (a.diff(time) ** 2 + 2 * b.diff(time) ** 2)
    potential = -m * g * arm / 2 * (sp.cos(a) + 2 * sp.cos(b))
    span = (base + arm * (sp.sin(b) - sp.sin(a))) ** 2 + arm**2 * (sp.cos(b) - sp.cos(a)) ** 2
    gap = span - base**2
    rows = [gap * (1 + k) for k in range(copies)]
    return dal.Lagrangian(kinetic - potential, [a, b], constraints=rows, parameters=VALUES)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_parallelogram_swings_like_one_crank(copies):
    run = four_bar(copies).run(2.0, [0.9, 0.9], rtol=1e-10)
    a = dynamicsymbols("a")
    alone = dal.Lagrangian(
        m * arm**2 / 2 * a.diff(time) ** 2 + m * g * arm * sp.cos(a) * sp.Rational(3, 2), [a], parameters=VALUES
    )
    exact = alone.run(2.0, [0.9], rtol=1e-12)
    np.testing.assert_allclose(run.u[:, 0], exact.u[:, 0], atol=1e-8)
    np.testing.assert_allclose(run.u[:, 0], run.u[:, 1], atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], run.v[:, 1], atol=1e-11)
    assert np.abs(balance(run)).max() < 1e-8
    assert run.sizes["constraint"] == copies


def test_a_moving_support_does_work():
    x, z = dynamicsymbols("x z")
    held = x**2 + (z - sp.sin(7 * time) / 10) ** 2 - sp.Rational(1, 4)
    expression = m / 2 * (x.diff(time) ** 2 + z.diff(time) ** 2) - m * g * z
    run = dal.Lagrangian(expression, [x, z], constraints=[held], parameters=VALUES).run(
        2.0, [0.3, -0.4], rtol=1e-10, assemble=True
    )
    a = dynamicsymbols("a")
    place = sp.Matrix([sp.sin(a) / 2, sp.sin(7 * time) / 10 - sp.cos(a) / 2])
    v = place.diff(time)
    alone = dal.Lagrangian(m / 2 * v.dot(v) - m * g * place[1], [a], parameters=VALUES)
    start, rates = run.u[0].values, run.v[0].values
    angle = np.arctan2(start[0], -start[1])
    exact = alone.run(2.0, [angle], [2.0 * (rates[0] * np.cos(angle) + (rates[1] - 0.7) * np.sin(angle))], rtol=1e-12)
    np.testing.assert_allclose(run.u[:, 0], 0.5 * np.sin(exact.u[:, 0]), atol=1e-8)
    assert np.ptp(run.energy.values) > 0.1
    assert np.abs(balance(run)).max() < 1e-8


def test_the_top_of_the_gallery_in_eulers_angles():
    scene = gallery_top.build()
    across, along, weight = gallery_top.moments(scene.bodies["top"], scene.gravity)
    expression, coordinates = systems.top(across, along, weight)
    system = dal.Lagrangian(expression, coordinates)
    run = system.run(0.5, [0.0, np.pi / 6, 0.0], [0.0, 0.0, 100.0], method="dop853", rtol=1e-12)
    bodies = dal.simulate(scene, 0.5, method="dop853", rtol=1e-12).trajectory
    w, x, y, z = bodies.orientation.sel(body="top").values.T
    axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    phi, theta = run.u.values[:, 0], run.u.values[:, 1]
    expected = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)
    np.testing.assert_allclose(axis, expected, atol=1e-10)


def test_a_spherical_pendulum_at_its_pole_is_refused_by_name():
    expression, coordinates = systems.spherical_pendulum()
    system = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    with pytest.raises(ValueError, match=r"singular.*'phi'"):
        system.acceleration(0.0, [0.0, 0.0], [1.0, 0.0])
    with pytest.raises(ValueError, match=r"at the start.*singular.*'phi'"):
        system.run(1.0, [0.0, 0.0], [1.0, 0.0])


def test_a_run_into_the_pole_stops_and_keeps_what_was_recorded():
    expression, coordinates = systems.spherical_pendulum()
    expression = expression.subs(g, 0)
    system = dal.Lagrangian(expression, coordinates, parameters=VALUES)
    with pytest.raises(IntegrationError, match=r"singular.*'phi'") as caught:
        system.run(2.0, [1.0, 0.0], [-1.0, 0.0], method="euler", dt=0.125, frame_rate=8)
    solution = caught.value.solution
    np.testing.assert_allclose(solution.y[:8, 0], 1.0 - solution.t[:8], atol=1e-14)
    assert solution.t[-1] <= 1.0


def test_a_start_off_the_constraints_is_refused_or_assembled():
    system = four_bar()
    with pytest.raises(ValueError, match=r"violates the constraints: coordinate '[ab]'.*assemble=True"):
        system.run(1.0, [0.9, 0.8])
    with pytest.raises(ValueError, match=r"rate of '[ab]'"):
        system.run(1.0, [0.9, 0.9], [1.0, 0.5])
    run = system.run(0.1, [0.9, 0.8], assemble=True)
    assert abs(run.u[0, 0] - run.u[0, 1]) < 1e-12


def test_constraints_that_contradict_each_other_are_refused():
    q = dynamicsymbols("q")
    system = dal.Lagrangian(q.diff(time) ** 2 / 2, [q], constraints=[q, q - 1])
    with pytest.raises(ValueError, match="cannot be met"):
        system.run(1.0, [0.5], assemble=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "rk4"}, "fixed steps: give dt"), ({"method": "splitting", "dt": 0.1}, "use another method"),
        ({"dt": 0.0}, "dt must be positive"), ({"rtol": 0.0}, "rtol must be"), ({"method": "none"}, "none"),
        ({"rates": [np.nan, 0.0]}, "rates: give 2 finite numbers"), ({"frame_rate": -1.0}, "frame_rate must be"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(settings, message):
    expression, coordinates = systems.double_pendulum()
    with pytest.raises(ValueError, match=message):
        dal.Lagrangian(expression, coordinates, parameters=VALUES).run(1.0, [0.1, 0.2], **settings)


def test_symplectic_euler_keeps_the_energy_of_an_oscillator():
    q = dynamicsymbols("q")
    system = dal.Lagrangian(q.diff(time) ** 2 / 2 - q**2 / 2, [q])
    run = system.run(100.0, [1.0], method="symplectic_euler", dt=0.05, frame_rate=5)
    assert np.abs(run.energy - 0.5).max() < 0.02
