"""Time steps of contact in joint coordinates: what touches the ground, alone and as part of a mechanism."""

import numpy as np
import pytest

import dalembert as dal

from .problems import arm, four_bar, ground, quadruped

G = 9.81
RUBBER = dal.Material(friction=0.5)


def run_of(scene, duration, dt=0.002, **settings):
    return dal.simulate(scene, duration, dt=dt, coordinates="joint", method="time_stepping", **settings)


def sliding(body, **state):
    scene = dal.Scene("sliding")
    scene.add_body("it", body, mass=2.0, material=RUBBER, **state)
    ground(scene, RUBBER)
    return scene


def test_a_box_rests_on_a_plane():
    run = run_of(sliding(dal.Box(0.2, 0.2, 0.2), position=(0, 0, 0.1)), 1.0)
    assert np.allclose(run.state.position[0], (0, 0, 0.1), rtol=0, atol=1e-7)
    assert sum(contact.force[2] for contact in run.contacts) == pytest.approx(
        -2.0 * G, rel=1e-6
    )  # on the ground, which is b
    report = run.report
    assert report.contact.unsolved == 0 and report.contact.penetration < 1e-6
    assert report.momentum_residual < 1e-10 and report.energy_residual < 1e-10
    frames = run.trajectory
    assert int(frames.contacts[-1]) == 4
    assert np.allclose(frames.contact_force[-1, 0], (0, 0, 2.0 * G), atol=1e-4)


def test_a_sliding_box_slows_down_by_friction_alone():
    run = run_of(sliding(dal.Box(0.4, 0.4, 0.02), position=(0, 0, 0.01), velocity=(2.0, 0, 0)), 0.3)
    v = 2.0 - 0.5 * G * 0.3
    assert run.state.velocity[0, 0] == pytest.approx(v, abs=1e-6)
    assert run.state.position[0, 0] == pytest.approx(0.3 * (2.0 + v) / 2, abs=1e-5)
    assert run.report.work["contact: friction"] == pytest.approx(v**2 - 4.0, abs=1e-5)
    assert run.report.energy_residual < 1e-10


def test_a_ball_that_slides_begins_to_roll_at_five_sevenths_of_its_speed():
    run = run_of(sliding(dal.Sphere(0.1), position=(0, 0, 0.1), velocity=(0, 1.4, 0)), 0.5)
    v, spin = run.state.velocity[0], run.state.angular_momentum[0] / (0.4 * 2.0 * 0.1**2)
    assert v[1] == pytest.approx(1.0, abs=1e-5)
    assert spin[0] == pytest.approx(-v[1] / 0.1, rel=1e-5)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_bounces_with_its_restitution(e):
    scene, hard = dal.Scene("ball"), dal.Material(friction=0.0, restitution=e)
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0, position=(0, 0, 0.6), material=hard)
    ground(scene, hard)
    run = run_of(scene, 0.4)
    impact = np.sqrt(2.0 * G * 0.5)
    assert run.state.velocity[0, 2] == pytest.approx(e * impact - G * (0.4 - impact / G) if e else 0.0, abs=0.03)
    assert run.report.energy_residual < 1e-10
    assert run.report.work["contact: impacts"] == pytest.approx(-(1 - e**2) * 2.0 * G * 0.5, abs=0.15)


def test_restitution_makes_no_energy_in_a_mechanism():
    scene = arm(restitution=1.0, friction=1.0)
    run = run_of(scene, 1.0, dt=0.001)
    assert run.report.work["contact: impacts"] + run.report.work["contact: friction"] <= 1e-9
    energy = run.trajectory.kinetic + run.trajectory.potential
    assert float((energy - energy[0]).max()) < 1e-3 * run.report.energy_scale


def test_what_is_fast_and_near_does_not_pass_through_at_the_start():
    scene = sliding(dal.Sphere(0.01), position=(0, 0, 0.02), velocity=(0, 0, -100.0))
    run = run_of(scene, 0.02, dt=0.01)
    assert run.state.position[0, 2] > 0.0


def test_an_arm_that_drops_comes_to_the_same_as_in_coordinates_of_bodies():
    """Steps of bodies hold joints by impulses, ours have none; both have the same limit."""

    def place(coordinates, dt):
        run = dal.simulate(arm(), 0.6, dt=dt, coordinates=coordinates, iterations=2000, tolerance=1e-9)
        assert run.report.contact.unsolved == 0
        return run.state.position.copy()

    differences = [float(np.abs(place("joint", dt) - place("maximal", dt)).max()) for dt in (4e-3, 2e-3, 1e-3)]
    assert differences[2] < 0.4 * differences[0] and differences[2] < 2e-3


STANDING = {"bodies": {}, "armature": {"armature": 0.01}, "links": {"links": True},
            "links and armature": {"links": True, "armature": 0.01}}  # fmt: skip


@pytest.mark.parametrize("made", STANDING.values(), ids=STANDING)
def test_a_quadruped_stands(made):
    run = dal.Simulation(quadruped(**made), dt=0.002, coordinates="joint")
    run.advance(2.0)
    feet = [run.model.body_names.index(f"{leg}_foot") for leg in ("fl", "fr", "hl", "hr")]
    before = run.state.position.copy()
    run.advance(1.0)
    after = run.state.position
    assert np.abs(after[feet] - before[feet]).max() < 1e-6  # no foot slides
    assert np.abs(after[feet, 2] - 0.02).max() < 1e-6  # or sinks
    assert np.abs(after[0] - before[0]).max() < 1e-5 and np.abs(run.state.velocity).max() < 1e-5
    weight = G * sum(body.mass for body in run.model.scene.bodies.values())
    assert sum(contact.force[2] for contact in run.contacts) == pytest.approx(-weight, rel=1e-5)
    report = run.report
    assert report.contact.unsolved == 0 and report.contact.residual < 1e-6
    assert report.momentum_residual < 1e-10 and report.angular_momentum_residual < 1e-10
    assert report.energy_residual_relative < 1e-4 and report.joint_error == 0.0


def test_a_four_bar_linkage_touches_the_ground():
    run = run_of(four_bar(), 1.0)
    report = run.report
    assert report.joint_error < 1e-10 and report.joint_velocity_error < 1e-10
    assert report.contact.penetration < 1e-4 and report.contact.residual < 1e-5
    assert report.momentum_residual < 1e-10
    assert sum(abs(contact.force[2]) for contact in run.contacts) > 1.0  # it lies there
    assert np.abs(run.state.velocity).max() < 1e-5


def test_a_motor_pushes_a_free_box():
    scene = dal.Scene("pusher")
    smooth = dal.Material(friction=0.0)
    bar = scene.add_body("bar", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.06), material=smooth)
    scene.add_body("box", dal.Box(0.2, 0.2, 0.1), mass=2.0, position=(0.2, 0, 0.05), material=RUBBER)
    scene.slider("rail", dal.WORLD, bar, at=(0, 0, 0.06), axis=(1, 0, 0))
    scene.motor("drive", "rail", speed=0.5, limit=100.0)
    ground(scene, RUBBER)
    run = run_of(scene, 1.0)
    names = run.model.body_names
    assert run.state.velocity[names.index("box"), 0] == pytest.approx(0.5, abs=1e-6)
    assert run.efforts["drive"] == pytest.approx(0.5 * 2.0 * G, rel=1e-3)  # the friction of the box
    assert run.state.position[names.index("box"), 0] == pytest.approx(0.2 + 0.5 * 0.9, abs=5e-3)  # it is met at 0.1 s
    assert run.report.momentum_residual < 1e-10 and run.report.angular_momentum_residual < 1e-10


def test_what_cannot_move_may_touch():
    scene = dal.Scene("fixed")
    post = scene.add_body("post", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.05), material=RUBBER)
    scene.weld("foot", dal.WORLD, post, at=(0, 0, 0))
    scene.add_body("box", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.15), material=RUBBER)
    ground(scene, RUBBER)
    run = run_of(scene, 0.2)
    assert np.allclose(run.state.position[:, 2], (0.05, 0.15), atol=1e-7) and run.report.contact.unsolved == 0


def test_what_a_link_without_mass_connects_does_not_touch():
    scene = dal.Scene("hip")
    trunk = scene.add_body("trunk", dal.Box(0.4, 0.2, 0.1), mass=8.0, position=(0, 0, 1), material=RUBBER)
    one, two = scene.add_link("one", position=(0, 0, 1)), scene.add_link("two", position=(0, 0, 1))
    leg = scene.add_body("leg", dal.Capsule(0.03, 0.3), mass=1.0, position=(0, 0, 0.85), material=RUBBER)
    scene.hinge("yaw", trunk, one, at=(0, 0, 1), axis=(0, 0, 1))
    scene.hinge("roll", one, two, at=(0, 0, 1), axis=(1, 0, 0))
    scene.hinge("pitch", two, leg, at=(0, 0, 1), axis=(0, 1, 0))
    ground(scene, RUBBER)
    run = run_of(scene, 0.1)
    assert run.contacts == [] and run.report.contact.penetration == 0.0


def test_a_quadruped_lands_on_flat_feet():
    """Four points a foot bear more than they need to: passes alone take some hundred, Newton's method ends them."""
    run = dal.Simulation(quadruped(flat=True, links=True, armature=0.01, height=0.05), dt=0.002, coordinates="joint")
    passes = []
    while run.time < 1.0:
        run.advance(0.002)
        passes.append(int(run._driver.report[0].iterations))
    report = run.report
    assert report.contact.unsolved <= 5 and report.contact.residual < 1e-4 and np.mean(passes) < 10
    assert len(run.contacts) == 16
    weight = G * sum(body.mass for body in run.model.scene.bodies.values())
    assert sum(contact.force[2] for contact in run.contacts) == pytest.approx(-weight, rel=1e-3)
    assert report.momentum_residual < 1e-10 and report.angular_momentum_residual < 1e-10
