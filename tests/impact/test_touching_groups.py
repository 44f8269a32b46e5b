"""Touching groups that strike others, by events: no run stands still, and energy never grows."""

import warnings

import numpy as np
import pytest
from tests.random_scenes.touching_scenes import touching_groups

import dalembert as dal
from dalembert.impact.contact_law import CONE, DIRECTED, FREE, solve
from dalembert.impact.impact import LAWS, coulomb


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 7, 8, 10, 11, 12, 14, 15])
def test_energy_never_grows_while_touching_groups_strike_each_other(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many events
        run = dal.Simulation(touching_groups(seed), method="dormand_prince")
        energies = [run.report.energy_end]
        for _ in range(10):
            run.advance(0.02)
            energies.append(run.report.energy_end)
    scale = max(energies[0], 1.0)
    assert max(np.diff(energies)) < 1e-8 * scale
    assert run.report.energy_residual < 1e-7 * scale


def test_time_steps_approach_a_run_by_events():
    """Two touching boxes that rub on the ground and strike two others, which stand apart from each other."""
    scene = dal.Scene("groups", material=dal.Material(0.2, 0.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    for k, (x, speed) in enumerate([(0.0, 1.0), (0.2, 1.0), (0.5, 0.0), (0.8, 0.0)]):
        scene.add_body(f"box {k}", dal.Box(0.2, 0.2, 0.2), mass=1.0 + k, position=(x, 0, 0.1), velocity=(speed, 0, 0))
    exact = dal.simulate(scene, 0.6, method="dormand_prince").state.position[:, 0]
    errors = [np.abs(dal.simulate(scene, 0.6, dt=dt).state.position[:, 0] - exact).max() for dt in (1e-2, 1e-3)]
    assert errors[1] < 0.2 * errors[0] and errors[1] < 1e-3


def random_law(seed):
    """A random problem of contacts that depend on each other, some of which slide; the friction of these is moderate."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    root = rng.normal(size=(3 * n, max(3, 3 * n - 5)))
    b = (root @ rng.normal(size=root.shape[1])).reshape(-1, 3)
    kinds = rng.choice([FREE, DIRECTED, CONE], n)
    angle = rng.uniform(0, 2 * np.pi, n)
    return root @ root.T, b, kinds, rng.uniform(0.0, 0.3, n), np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("seed", range(40))
def test_what_the_law_finds_satisfies_it(seed):
    matrix, b, kinds, friction, direction = random_law(seed)
    n = len(b)
    f, error = solve(matrix, b, kinds, friction, direction, np.zeros(n))
    assert error < 1e-9
    a = b + (matrix @ f.ravel()).reshape(-1, 3)
    size = np.abs(b).max()
    assert f[:, 0].min() >= -1e-9 and a[:, 0].min() > -1e-8 * size and np.abs(f[:, 0] * a[:, 0]).max() < 1e-7 * size**2
    rubs = np.hypot(f[:, 1], f[:, 2])
    for k in range(n):
        most = friction[k] * f[k, 0]
        assert rubs[k] <= most + 1e-8 and (kinds[k] != FREE or rubs[k] < 1e-12)
        if kinds[k] == DIRECTED:
            np.testing.assert_allclose(f[k, 1:], -most * direction[k], atol=1e-9)
        if kinds[k] == CONE and np.hypot(*a[k, 1:]) > 1e-6 * size:  # it slips, and friction opposes that
            np.testing.assert_allclose(f[k, 1:], -most * a[k, 1:] / np.hypot(*a[k, 1:]), atol=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_poisson_s_law_has_a_solution_that_adds_no_energy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    root = rng.normal(size=(3 * n, max(2, 3 * n - int(rng.integers(0, 5)))))
    u = (root @ rng.normal(size=root.shape[1])).reshape(-1, 3)
    matrix, e, friction = root @ root.T, rng.uniform(0, 1, n), rng.uniform(0, 1.2, n)
    p = LAWS["poisson"](matrix, u, e, friction)
    after = u + (matrix @ p.ravel()).reshape(-1, 3)
    compression = coulomb(matrix, u, friction)
    assert after[:, 0].min() > -1e-7 * np.abs(u).max()
    assert (p[:, 0] >= (1.0 + e) * compression[:, 0] - 1e-9).all()
    assert np.sum(p * u) + 0.5 * p.ravel() @ matrix @ p.ravel() <= 1e-9 * np.abs(u).max() ** 2


def test_a_box_that_comes_to_rest_while_it_turns_stops_with_few_events():
    """Its corners share the load, and stop at the same instant; each one that slows down changes the load of the others."""
    scene = dal.Scene("turning box", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body(
        "box",
        dal.Box(0.3, 0.2, 0.1),
        mass=1.0,
        position=(0, 0, 0.05),
        velocity=(0.5, 0.1, 0),
        angular_velocity=(0, 0, 3.0),
    )
    run = dal.simulate(scene, 1.0, method="dormand_prince")
    assert len(run.contact_events) < 40 and run.report.steps < 1500
    assert np.abs(run.state.velocity).max() < 1e-9
    assert run.report.work["contact: friction"] == pytest.approx(-run.report.energy_start + 9.81 * 0.05, rel=1e-6)


def test_a_rod_that_jams_is_stopped_by_an_impulse_without_a_collision():
    """Painlevé's rod: a thin rod slides on its tip with much friction, so that no forces satisfy the law. It is stopped by
    the impulse that time steps apply as their length goes to zero."""
    scene = dal.Scene("rod", material=dal.Material(2.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    half = 0.5 * (0.5 * np.pi - 1.0)  # 1 rad from the level, sliding the way it leans
    scene.add_body(
        "rod", dal.Capsule(1e-3, 1.0), mass=1.0, position=(0, 0, 0.5 * np.sin(1.0) + 1e-3),
        orientation=(np.cos(half), 0, np.sin(half), 0), velocity=(-3.0, 0, 0),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = dal.simulate(scene, 0.02, method="dormand_prince")
        steps = dal.simulate(scene, 0.02, dt=1e-5)
    assert run.report.energy_residual_relative < 1e-8
    np.testing.assert_allclose(run.state.velocity[0], steps.state.velocity[0], atol=0.02)
