"""Many balls that hit each other within a step, against an event-driven solution: every impact by itself, in its order."""

import itertools

import numpy as np
import pytest

import dalembert as dal

RADIUS = 0.05


def one_by_one(position, velocity, restitution, until):
    """(velocities after `until` s, impacts) of equal balls without friction, each impact at its own time."""
    x, v, t, impacts = np.array(position), np.array(velocity), 0.0, 0
    a, b = np.array(list(itertools.combinations(range(len(x)), 2))).T
    while True:
        d, w = x[b] - x[a], v[b] - v[a]
        along, square, gap = (d * w).sum(1), (w * w).sum(1), (d * d).sum(1) - 4.0 * RADIUS**2
        root = along**2 - square * gap
        meets = (along < -1e-13) & (root > 0.0)
        times = np.full(len(a), np.inf)
        times[meets] = np.maximum(gap[meets] / (np.sqrt(root[meets]) - along[meets]), 0.0)
        k = times.argmin()
        if t + times[k] > until:
            return v, impacts
        x, t, impacts = x + times[k] * v, t + times[k], impacts + 1
        n = (x[b[k]] - x[a[k]]) / np.linalg.norm(x[b[k]] - x[a[k]])
        change = 0.5 * (1.0 + restitution) * ((v[b[k]] - v[a[k]]) @ n) * n
        v[a[k]] += change
        v[b[k]] -= change


def balls(position, velocity, restitution):
    scene = dal.Scene("balls", gravity=(0.0, 0.0, 0.0), material=dal.Material(0.0, restitution))
    for i, (x, v) in enumerate(zip(position, velocity, strict=True)):
        scene.add_body(f"ball {i}", dal.Sphere(RADIUS), mass=1.0, position=x, velocity=v)
    return scene


def row(number, gap):
    """A ball flies at a row of others."""
    x = np.zeros((number, 3))
    x[1:, 0] = 0.02 + (2.0 * RADIUS + gap) * np.arange(1, number)
    v = np.zeros((number, 3))
    v[0, 0] = 1.0
    return x, v


@pytest.mark.parametrize("dt", [1 / 60, 1 / 1000])
@pytest.mark.parametrize("gap", [0.0, 1e-4, 1e-3])
@pytest.mark.parametrize("restitution", [0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("number", [5, 12])
def test_an_impact_runs_through_a_row_of_any_length(number, restitution, gap, dt):
    position, velocity = row(number, gap)
    until = round(0.2 / dt) * dt
    expected, impacts = one_by_one(position, velocity, restitution, until)
    run = dal.Simulation(balls(position, velocity, restitution), dt=dt).advance(until)
    assert impacts >= number - 1
    assert run.state.velocity[-1, 0] == pytest.approx(expected[-1, 0], rel=2e-3)
    energy = np.sum(run.state.velocity**2)
    assert energy == pytest.approx(np.sum(expected**2), rel=2e-3)
    assert run.report.energy_residual_relative < 1e-12


def rack(gap):
    """Fifteen balls in a triangle, and one that flies at it, not quite at its tip."""
    across = 2.0 * RADIUS + gap
    x = [(across * i * np.sqrt(0.75), across * (j - 0.5 * i), 0.0) for i in range(5) for j in range(i + 1)]
    velocity = np.zeros((16, 3))
    velocity[-1, 0] = 8.0
    return np.array([*x, (-0.3, 0.1 * RADIUS, 0.0)]), velocity


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("gap", [1e-3, 5e-3])
@pytest.mark.parametrize("dt", [1 / 60, 1 / 240, 1 / 1000])
def test_a_break_of_a_rack_of_balls_loses_the_energy_of_its_impacts(dt, gap, coordinates):
    position, velocity = rack(gap)
    expected, impacts = one_by_one(position, velocity, 0.95, 0.1)
    run = dal.Simulation(balls(position, velocity, 0.95), dt=dt, coordinates=coordinates).advance(0.1)
    assert impacts >= 20
    assert np.sum(run.state.velocity**2) == pytest.approx(np.sum(expected**2), rel=1e-3)
    assert np.linalg.norm(run.state.velocity, axis=1).max() == pytest.approx(
        np.linalg.norm(expected, axis=1).max(), rel=0.02
    )


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_an_impact_runs_through_a_row_of_pendulums(coordinates):
    """Eight balls on rods: after the first one has come down, the last one has ((1 + e)/2)⁷ of its velocity."""
    restitution, length, angle = 0.95, 1.0, 0.1
    scene = dal.Scene("cradle", material=dal.Material(0.0, restitution))
    for i in range(8):
        swing = angle if i == 0 else 0.0
        pivot = np.array([2.0 * RADIUS * i, 0.0, 0.0])
        place = pivot + length * np.array([-np.sin(swing), 0.0, -np.cos(swing)])
        ball = scene.add_body(f"ball {i}", dal.Sphere(RADIUS), mass=1.0, inertia=(1e-6,) * 3, position=place)
        scene.hinge(f"hinge {i}", dal.WORLD, ball, at=pivot, axis=(0.0, 1.0, 0.0))
    run = dal.Simulation(scene, dt=1 / 1000, coordinates=coordinates)
    speed = np.sqrt(2.0 * 9.81 * length * (1.0 - np.cos(angle)))
    fastest = 0.0
    for _ in range(600):
        run.step()
        fastest = max(fastest, run.body("ball 7").velocity[0])
    assert fastest == pytest.approx((0.5 * (1.0 + restitution)) ** 7 * speed, rel=0.01)


def dense_gas(gap):
    """27 elastic balls in a closed box, with gaps between them that they cross in a fraction of a step of 1/60 s."""
    rng = np.random.default_rng(4)
    half, across = 1.5 * (2.0 * RADIUS + gap), 2.0 * RADIUS + gap
    position = across * np.array([(i - 1, j - 1, k - 1) for i in range(3) for j in range(3) for k in range(3)])
    scene = balls(position, rng.normal(size=(27, 3)), 1.0)
    for axis in range(3):
        for sign in (-1, 1):
            sides, place = np.full(3, 2.0 * half + 0.4), np.zeros(3)
            sides[axis], place[axis] = 0.2, sign * (half + 0.1)
            scene.add_obstacle(f"wall {axis} {sign}", dal.Box(*sides), position=place)
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("gap", [0.002, 0.02])
@pytest.mark.parametrize("dt", [1 / 60, 1 / 240, 1 / 4000])
def test_a_gas_of_elastic_balls_keeps_its_energy(dt, gap, coordinates):
    """Also where balls hit several others in a step: one after the other."""
    scene = dense_gas(gap)
    run = dal.Simulation(scene, dt=dt, coordinates=coordinates)
    assert np.allclose(run.state.velocity, [body.velocity for body in scene.bodies.values()], rtol=0.0, atol=1e-12)
    run.advance(0.1)
    assert run.report.contact.caught == 0 and run.report.not_solved == ""
    assert abs(run.report.work["contact: impacts"]) < 1e-12 * run.report.energy_scale
    assert run.report.contact.penetration < 0.05 * RADIUS


@pytest.mark.parametrize("dt", [1 / 60, 1 / 240])
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_a_cloud_of_elastic_balls_that_fly_together_bounces_as_one_by_one(seed, dt):
    """All within a step or two. Impacts of few balls happen in the middle of a step, so that a few velocities differ."""
    rng, across = np.random.default_rng(seed), 2.0 * RADIUS + 0.002
    position = across * np.array([(i - 1.0, j - 1.0, k - 1.0) for i in range(3) for j in range(3) for k in range(3)])
    velocity = rng.normal(size=(27, 3)) - 10.0 * position
    expected, impacts = one_by_one(position, velocity, 1.0, 0.1)
    run = dal.Simulation(balls(position, velocity, 1.0), dt=dt).advance(0.1)
    assert impacts > 60
    off = np.abs(run.state.velocity - expected)
    assert np.median(off) < 2e-3 and np.sqrt(np.mean(off**2)) < 0.05
    assert abs(run.report.work["contact: impacts"]) < 1e-12 * run.report.energy_scale


def between_walls(gap):
    """An elastic ball that flies from wall to wall, and along them."""
    scene = dal.Scene("cell", gravity=(0.0, 0.0, 0.0), material=dal.Material(0.0, 1.0))
    for sign in (-1, 1):
        scene.add_obstacle(f"wall {sign}", dal.Box(0.2, 1, 1), position=(sign * (RADIUS + 0.5 * gap + 0.1), 0.0, 0.0))
    scene.add_body("ball", dal.Sphere(RADIUS), mass=1.0, velocity=(0.7, 0.2, 0.0))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_an_elastic_ball_in_a_narrow_gap_bounces_as_often_as_it_must(coordinates):
    run = dal.Simulation(between_walls(1e-4), dt=1 / 60, coordinates=coordinates).advance(0.2)
    assert np.abs(run.state.velocity[0]) == pytest.approx([0.7, 0.2, 0.0], abs=1e-12)
    assert run.report.contact.impacts == 1400 and run.report.contact.caught == 0


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_an_elastic_ball_that_touches_both_walls_is_reported(coordinates):
    run = dal.Simulation(between_walls(0.0), dt=1 / 60, coordinates=coordinates).advance(0.2)
    assert run.report.contact.caught > 0
    assert "elastic bodies were caught between others" in run.report.not_solved
