"""Newton's method of implicit steps: its pace, its tolerance, its line search, and its linear solvers."""

import numpy as np
import pytest

import dalembert as dal

from .motions import IMPLICIT, TIGHT, Oscillator, net, slope

MINIMIZED = ["implicit_euler", "implicit_midpoint", "bdf2"]


def iterates(scene, method, h, most, **settings):
    """(residuals relative to the typical force, energies) of a step's stage after 0, 1, ... steps of Newton's method."""
    run = dal.Simulation(scene, method=method, dt=h, **settings)
    steps, residuals, energies = run._driver._steps, [], []
    for limit in range(most + 1):
        run._y[:] = run.model.initial
        run._driver.restart(0.0)
        steps.options.newton = limit
        run._run(h)
        residuals.append(float(steps.stage.residual[0] / steps.stage.typical[0]))
        energies.append(float(steps.stage.energy[0]))
    return np.array(residuals), np.array(energies)


@pytest.mark.parametrize("method", MINIMIZED)
@pytest.mark.parametrize("settings", [{"linear_solver": "direct"}, {}], ids=["direct", "cg"])
def test_newton_converges_quadratically_where_springs_are_taut(method, settings):
    residuals, _ = iterates(net(squeeze=0.5, damping=0.5), method, 0.03, 12, newton_tolerance=1e-15, **settings)
    last = int(np.argmax(residuals <= 1e-11)) + 1
    seen = residuals[residuals > 1e-13][:last]
    assert len(seen) >= 4 and residuals.min() <= 1e-11
    a, b, c = np.log(seen[-3:])
    assert c / b >= 1.6 and b / a >= 1.6 and c <= 1.6 * b


@pytest.mark.parametrize("method", MINIMIZED)
@pytest.mark.parametrize("squeeze", [0.6, 1.0, 1.2])
def test_newton_reaches_its_tolerance(method, squeeze):
    """Also with springs a little too long for the place that they have."""
    for seed in range(5):
        run = dal.simulate(net(seed=seed, squeeze=squeeze), 0.3, method=method, dt=1.0 / 60.0, newton_tolerance=1e-8)
        report = run._driver.report[0]
        assert report.unsolved == 0 and report.worst <= 1e-8


@pytest.mark.parametrize("method", MINIMIZED)
def test_the_line_search_accepts_no_rise(method):
    """The energy of a stage falls from iterate to iterate, with springs that are compressed to a fraction of their length."""
    halved = 0
    for seed in range(12):
        scene = net(3, seed=seed, squeeze=1.0 + 0.4 * seed)
        residuals, energies = iterates(scene, method, 0.2, 25)
        size = np.abs(energies).max()
        assert (np.diff(energies) <= 1e-13 * size).all()
        assert energies[-1] < energies[0] - 1e-3 * size and residuals[-1] < 0.01 * residuals[0]
        run = dal.simulate(scene, 0.2, method=method, dt=0.2)
        halved += int(run._driver.report.halvings[0])
    assert halved >= 1


@pytest.mark.parametrize("method", IMPLICIT)
def test_linear_solvers_give_the_same_steps(method):
    ends = []
    for solver in ("cg", "direct"):
        scene = net(damping=0.4, squeeze=0.7)
        scene.medium("air", linear=0.01)
        run = dal.simulate(scene, 0.5, method=method, dt=0.01, linear_solver=solver, **TIGHT)
        ends.append(run.state.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)


def eulers(h, duration):
    """The distance of the ends of two runs, of one Newton step a step and of as many as it takes."""
    ends = []
    for method in ("linear_implicit_euler", "implicit_euler"):
        state = dal.simulate(net(damping=0.2), duration, method=method, dt=h, frame_rate=1.0, **TIGHT).state
        ends.append(np.concatenate([state.particle_position, state.particle_velocity]))
    return np.linalg.norm(ends[0] - ends[1])


def test_the_two_implicit_eulers_agree_to_second_order_after_a_step():
    sizes = np.array([8e-3, 4e-3, 2e-3, 1e-3])
    assert slope(sizes, [eulers(h, h) for h in sizes]) >= 2.0


def test_the_two_implicit_eulers_agree_to_first_order_after_a_time():
    sizes = np.array([4e-4, 2e-4, 1e-4])
    assert slope(sizes, [eulers(h, 0.1) for h in sizes]) >= 0.9


def test_a_linear_problem_takes_one_newton_step():
    run = dal.simulate(Oscillator().scene(), 1.0, method="implicit_euler", dt=0.05, linear_tolerance=1e-12)
    assert run._driver.counts["evaluations"] == run._driver.counts["steps"] == 20


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_system_at_rest_stays_at_rest(method):
    scene = dal.Scene("still", gravity=(0, 0, 0))
    scene.add_particles("p", np.eye(3), mass=1.0)
    scene.springs("s", "p", [[0, 1], [1, 2]], stiffness=100.0)
    run = dal.simulate(scene, 1.0, method=method, dt=0.1)
    np.testing.assert_array_equal(run.state.particle_position, np.eye(3))
    assert run._driver.report.unsolved[0] == 0


# A chain whose springs would bear 10⁹ times its weight ---------------------------------------------------------------

LINKS = 20


def stiff_chain(angle, kick=0.0, drag=0.0):
    """Particles of 1 g on springs of 10⁸ N/m, 1 m in all, at an angle from hanging; the kick (m/s) is that of the last."""
    along = np.linspace(0.0, 1.0, LINKS + 1)
    scene = dal.Scene("stiff chain")
    velocity = np.outer(along, [kick, 0.0, 0.0])
    position = np.outer(along, [np.sin(angle), 0.0, -np.cos(angle)])
    scene.add_particles("chain", position, mass=1e-3, velocity=velocity, pinned=[0])
    scene.springs("springs", "chain", [[i, i + 1] for i in range(LINKS)], stiffness=1e8)
    if drag:
        scene.medium("oil", linear=drag)
    return scene


def energy_of(run):
    return (run.trajectory.kinetic + run.trajectory.potential).values


HANGING = np.outer(np.linspace(0.0, 1.0, LINKS + 1), [0.0, 0.0, -1.0])


ROUNDED = "ignore:the implicit steps of the particles missed"
"""Positions rounded to 1e-16 m at 1e8 N/m are more than 1e-8 of the weights of a stiff chain, as the run says."""


@pytest.mark.filterwarnings(ROUNDED)
def test_a_stiff_chain_swings_down_to_its_static_shape():
    run = dal.simulate(stiff_chain(1.27, drag=8e-3), 5.0, method="implicit_euler", dt=1.0 / 60.0)
    assert (np.diff(energy_of(run)) <= 1e-11).all()
    x = run.state.particle_position
    np.testing.assert_allclose(x, HANGING, rtol=0, atol=1e-4)
    tension = 1e8 * (np.linalg.norm(np.diff(x, axis=0), axis=1) - 1.0 / LINKS)
    np.testing.assert_allclose(tension, 9.81e-3 * np.arange(LINKS, 0, -1), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings(ROUNDED)
@pytest.mark.parametrize("method", IMPLICIT)
def test_a_stiff_chain_that_hangs_is_stable(method):
    """At 4000 times the step at which leapfrog is at its limit, none gains energy that can be seen."""
    run = dal.simulate(stiff_chain(0.0, kick=0.1), 5.0, method=method, dt=1.0 / 60.0)
    energy = energy_of(run)
    assert energy.max() <= energy[0] + 6e-6  # of 3.6e-5 J of motion
    assert np.abs(run.state.particle_position - HANGING).max() <= 0.03
    lengths = np.linalg.norm(np.diff(run.state.particle_position, axis=0), axis=1)
    np.testing.assert_allclose(lengths, 1.0 / LINKS, rtol=0, atol=1e-6)


def test_newton_does_not_go_on_where_rounding_ends_it():
    """Of the forces in a chain this stiff nothing is known to 10⁻⁸ of its weight; two Newton steps a step tell as much."""
    with pytest.warns(dal.SimulationWarning, match="missed their tolerance in 60 of 60 steps"):
        run = dal.simulate(stiff_chain(0.0), 1.0, method="implicit_euler", dt=1.0 / 60.0)
    assert run._driver.counts["evaluations"] <= 3 * run._driver.counts["steps"]
    np.testing.assert_allclose(run.state.particle_position, HANGING, rtol=0, atol=1e-7)
