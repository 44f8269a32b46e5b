"""The audit agrees with energies and works that are found from the recorded states alone."""

import numpy as np
import pytest

import dalembert as dal

from .energy import advance_watching, audit, disagreement

TOUCHING = dal.Material(0.4, 0.3)


def gust(t, x, q, v, w):
    return np.sin(3.0 * t), 0.1 * v[2], 0.0, 0.0, 0.1 * w[0], 0.0


def spring_back(t, s, rate):
    return -3.0 * s - 0.2 * rate + np.sin(t)


def magnet(t, x, v):
    """A charge in a field along z and a swaying push: the first does no work."""
    return 0.6 * v[1] + 0.1 * np.sin(5.0 * t), -0.6 * v[0], 0.2


def random_direction(rng):
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def random_tree(seed, links=4):
    """Links on hinges, sliders, cylindrical and ball joints, turned at random, with every force that acts on bodies."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene(f"tree {seed}", gravity=tuple(3.0 * rng.normal(size=3)))
    made, at = [dal.WORLD], [np.zeros(3)]
    for i in range(links):
        carrier = int(rng.integers(len(made)))
        joint_at = at[carrier] + 0.3 * random_direction(rng)
        place = joint_at + 0.4 * random_direction(rng)
        body = scene.add_body(
            f"link {i}", dal.Box(*rng.uniform(0.1, 0.5, 3)), mass=rng.uniform(0.5, 2.0), position=place,
            orientation=rng.normal(size=4),
        )  # fmt: skip
        kind = ("hinge", "slider", "cylindrical", "hinge", "ball")[(seed + i) % 5]
        axis = () if kind == "ball" else (random_direction(rng),)
        joint = getattr(scene, kind)(f"joint {i}", made[carrier], body, joint_at, *axis)
        if kind != "ball":
            act_on(joint, kind, scene, rng)
        made.append(body)
        at.append(place)
    ends = made[-1], made[1]
    scene.drag("air", linear=0.2, quadratic=0.1, angular=0.01, angular_quadratic=0.002)
    scene.spring("band", dal.WORLD, ends[0], at[-1] + (0.4, 0.3, 0), at[-1], stiffness=rng.uniform(5, 30), damping=0.5)
    scene.external_force(
        "pull", ends[0], force=rng.normal(size=3), torque=0.1 * rng.normal(size=3), at=at[-1] + 0.1, frame="body"
    )
    scene.external_force("gust", ends[1], function=gust)
    return scene


def act_on(joint, kind, scene, rng):
    which = "displacement" if kind == "slider" else "angle"
    name = joint.name
    scene.torsion_spring(f"{name} spring", joint, stiffness=rng.uniform(2, 8), damping=0.1, coordinate=which)
    scene.motor(f"{name} motor", joint, effort=0.3, speed=1.0, damping=0.2, limit=0.8, coordinate=which)
    scene.motor(f"{name} own", joint, function=spring_back, coordinate=which)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(3)
def test_audit_of_a_random_tree_is_that_of_its_states(method, coordinates, seed):
    settings = {"rtol": 1e-10} if method == "dop853" else {"dt": 5e-4}
    run = dal.simulate(random_tree(seed), 0.5, method=method, coordinates=coordinates, frame_rate=2000.0, **settings)
    account = audit(run)
    assert len(account.work) >= 6 and max(np.ptp(work) for work in account.work.values()) > 0.01 * account.scale
    assert disagreement(run, account) < 1e-7  # Simpson's rule, where a motor reaches its limit
    assert np.abs(account.error - run.trajectory.balance.values).max() < 1e-7 * account.scale


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(2)
def test_time_steps_agree_with_the_oracle_to_second_order_where_nothing_touches(coordinates, seed):
    found, errors = [], []
    for dt in (2e-3, 1e-3):
        scene = random_tree(seed)
        scene.limit("far", "joint 0", lower=-50.0, upper=50.0)  # what lets time steps of contact run it
        run = dal.simulate(scene, 0.4, method="time_stepping", dt=dt, frame_rate=1 / dt, coordinates=coordinates)
        account = audit(run)
        found.append(disagreement(run, account))
        errors.append(np.abs(account.error).max() / account.scale)
    assert found[0] < 1e-4 and found[1] < 0.35 * found[0]
    assert errors[1] < 0.35 * errors[0] < 1e-3


SHAPES = dal.Box(0.3, 0.4, 0.2), dal.Sphere(0.2), dal.Capsule(0.1, 0.3)


def heap(seed, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    scene = dal.Scene(f"heap {seed}", material=TOUCHING)
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_obstacle("wall", dal.Box(1, 4, 4), position=(1.2, 0, 0))
    for i in range(4):
        scene.add_body(
            f"body {i}", shapes[i % len(shapes)], mass=rng.uniform(0.5, 3),
            position=(*rng.uniform(-0.2, 0.2, 2), 0.4 + 0.55 * i), orientation=rng.normal(size=4),
            velocity=rng.normal(size=3), angular_velocity=3 * rng.normal(size=3),
        )  # fmt: skip
    scene.external_force("push", "body 1", force=(6, 0, -15))
    return scene


@pytest.mark.parametrize("seed", range(3))
def test_the_work_of_a_load_is_its_force_times_the_way_whatever_is_hit(seed):
    """To rounding, as it does not depend on the state."""
    run = dal.simulate(heap(seed), 1.0, dt=1 / 500, frame_rate=500.0)
    assert -run.report.work["contact: impacts"] > 0.5
    way = run.trajectory.position.values[:, 1] - run.trajectory.position.values[0, 1]
    np.testing.assert_allclose(run.trajectory.work.sel(force="push"), way @ (6.0, 0.0, -15.0), atol=1e-11)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 7, 8])
@pytest.mark.sampled(3)
def test_contacts_with_friction_and_restitution_do_the_work_of_their_forces(seed):
    """In the middles of steps: one with an impact on the way, as that of a ball that bounces, has another displacement than
    that of the mean of two velocities. Few do, and what they leave, up to 3e-5, depends on when they come."""
    found = []
    for dt in (2e-3, 5e-4):
        scene = heap(seed, SHAPES[::2])
        scene.drag("air", linear=0.3, angular=0.02)
        scene.spring("band", "body 0", "body 2", *(scene.bodies[f"body {i}"].position for i in (0, 2)), stiffness=30.0,
                     damping=1.0)  # fmt: skip
        run = dal.Simulation(scene, dt=dt, frame_rate=1 / dt)
        account = audit(run, advance_watching(run, 0.8))
        found.append(disagreement(run, account))
        assert run.report.contact.impacts < 0.1 * run.report.contact.steps
        assert np.ptp(account.work["contact"]) > 0.1 * account.scale
        # what is left beside projection is the spring's, which is no straight line along a step
        assert run.report.integration_error < 1e-5 * run.report.energy_scale
    assert found[0] < 1e-3 and found[1] < max(0.5 * found[0], 3e-5)


def arm(**fields):
    """Two links that swing onto stops, with dry friction and an ideal motor."""
    scene = dal.Scene("arm", **fields)
    above = dal.WORLD
    for i in range(2):
        link = scene.add_body(f"link {i}", dal.Box(0.3, 0.05, 0.05), mass=1.0, position=(0.15 + 0.3 * i, 0, 0))
        joint = scene.hinge(f"hinge {i}", above, link, at=(0.3 * i, 0, 0), axis=(0, 1, 0))
        scene.limit(f"stop {i}", joint, lower=-0.2, upper=0.3, restitution=0.4 * i)
        scene.joint_friction(f"friction {i}", joint, effort=0.3)
        above = link
    scene.motor("lift", "hinge 1", speed=-1.0, limit=0.6)
    scene.motor("press", "hinge 0", effort=2.0, speed=0.0, damping=0.1)
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_stops_friction_and_motors_do_the_work_of_their_efforts(coordinates):
    found = []
    for dt in (2e-3, 1e-3):
        run = dal.simulate(arm(), 0.8, dt=dt, frame_rate=1 / dt, coordinates=coordinates, iterations=200)
        account = audit(run)
        assert {"stop 0", "friction 0", "lift", "press"} <= set(account.work)
        assert np.ptp(account.work["stop 0"]) > 0.02 * account.scale
        found.append(disagreement(run, account))
    assert found[0] < 0.02 and found[1] < 0.7 * found[0]


def particles(material=None):
    rng, n = np.random.default_rng(1), 12
    scene = dal.Scene("particles", material=material)
    x = rng.uniform(-0.5, 0.5, (n, 3)) + (0, 0, 0.8)
    scene.add_particles("drops", x, mass=0.1, velocity=rng.normal(size=(n, 3)), material=material)
    scene.springs("web", "drops", [[i, i + 1] for i in range(n - 1)], stiffness=20.0, damping=0.2)
    scene.medium("air", linear=0.05, quadratic=0.02, velocity=(0.5, 0, 0))
    scene.field("magnet", function=magnet)
    scene.field("pull", acceleration=(0.5, 0, 0), force=(0, 0.02, 0))
    scene.wind("wind", "drops", [[0, 1, 4], [4, 5, 8]], velocity=(1.0, 2.0, 0.0), density=0.5)
    if material is not None:
        scene.add_obstacle("ground", dal.HalfSpace())
    return scene


FIRST, SECOND = ("linear_implicit_euler", "implicit_euler"), ("time_stepping", "implicit_midpoint", "bdf2")


def of_particles(method, dt, duration=0.5, material=None):
    newton = {"newton_tolerance": 1e-10} if method in ("implicit_euler", "implicit_midpoint", "bdf2") else {}
    scene = particles(material)
    if method == "linear_implicit_euler" and material is not None:
        del scene.forces[
            "wind"
        ]  # its one linear solve has wind on the diagonal only: 4e-3 that impacts leave at any step
    return dal.simulate(scene, duration, method=method, dt=dt, frame_rate=1 / dt, **newton)


@pytest.mark.parametrize("method", [*FIRST, *SECOND])
def test_steps_of_particles_agree_with_the_oracle_at_their_order(method):
    found = [disagreement(of_particles(method, dt)) for dt in (2e-3, 1e-3)]
    assert found[0] < (1e-2 if method in FIRST else 1e-4)
    assert found[1] < (0.6 if method in FIRST else 0.35) * found[0]


@pytest.mark.parametrize("method", [*FIRST, *SECOND])
def test_impacts_of_particles_are_no_error_of_their_method(method):
    """What inelastic impacts take is booked as theirs by every rule: the error falls with the step."""
    errors = []
    for dt in (2e-3, 5e-4):
        run = of_particles(method, dt, 0.8, dal.Material(0.4))
        errors.append(run.report.energy_residual_relative)
        assert -run.report.work["contact: impacts"] > 0.2 * run.report.energy_scale
    assert errors[0] < 0.02 and errors[1] < 0.4 * errors[0]


def test_particles_by_an_integration_method_agree_with_the_oracle():
    run = dal.simulate(particles(), 0.5, method="dop853", rtol=1e-10, frame_rate=1000.0)
    assert disagreement(run) < 1e-8


def test_what_the_oracle_does_not_know_it_refuses():
    scene = particles()
    scene.bending("stiff", "drops", [[0, 1, 2]], stiffness=1.0)
    with pytest.raises(NotImplementedError, match="stiff"):
        audit(dal.simulate(scene, 0.01, method="rk4", dt=1e-3))
