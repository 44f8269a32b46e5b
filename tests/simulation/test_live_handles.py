"""Handles of a running simulation: what they read is what theory, the state and the contacts say; what they write acts."""

import numpy as np
import pytest

import dalembert as dal

from .driven import arm
from .steppers import cloth_and_box, tumbling_boxes
from .test_live_forces import G, box_on_floor, pendulum

Q = (0.5, 0.5, 0.5, 0.5)


def spinning():
    scene = dal.Scene("spinning")
    scene.add_body(
        "top", mass=2.0, inertia=(0.1, 0.2, 0.3), position=(1.0, 2.0, 3.0), orientation=Q, velocity=(1.0, 0.0, -1.0),
        angular_velocity=(0.3, -0.5, 2.0),
    )  # fmt: skip
    return scene


# Names ----------------------------------------------------------------------------------------------------------------


def test_what_the_scene_returned_is_taken_wherever_a_name_is():
    scene = box_on_floor()
    box, floor = scene.bodies["box"], scene.obstacles["floor"]
    arm_body = scene.add_body("arm", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(3, 0, 1), material=None)
    hinge = scene.hinge("hinge", dal.WORLD, arm_body, at=(3, 0, 1.3), axis=(0, 1, 0))
    motor = scene.motor("motor", hinge, effort=0.0)
    sim = dal.Simulation(scene, dt=1 / 240)
    assert sim[box].name == sim["box"].name == sim.body("box").name == sim[sim["box"]].name
    assert sim.gap(box, floor).distance == sim.gap("box", "floor").distance == sim.gap(sim[box], "floor").distance
    assert sim.state.index(box) == sim.state.index("box") == 0
    sim.set_motor(motor, effort=0.5)
    assert sim[hinge].target == 0.5 and sim["hinge"].motors == ["motor"]
    sim.release(hinge)
    assert sim.released == {"hinge": 0.0}
    assert repr(sim[hinge]) == "<joint 'hinge' at t = 0 s>"


def test_unknown_names_and_things_of_other_scenes_are_refused():
    scene, other = box_on_floor(), box_on_floor()
    sim = dal.Simulation(scene, dt=1 / 240)
    with pytest.raises(KeyError, match="nothing in scene 'box' is called 'boks'; did you mean 'box'"):
        sim["boks"]
    with pytest.raises(KeyError, match="is not part of scene 'box'"):
        sim[other.bodies["box"]]
    with pytest.raises(KeyError, match="no joint 'box'; there are none"):
        sim.joint("box")
    with pytest.raises(ValueError, match="is not part of scene 'box'"):
        sim.gap(other.bodies["box"], "floor")
    with pytest.raises(ValueError, match="contact_force: 'bix' is not a body or obstacle"):
        sim.contact_force("bix")
    with pytest.raises(ValueError, match="'box' is given twice"):
        sim.contact_force("box", "box")


def test_a_name_that_a_body_and_a_joint_share_is_asked_for_by_kind():
    scene = pendulum()
    scene.bodies["pivot"] = scene.bodies["bob"]
    sim = dal.Simulation(pendulum(), method="rk4", dt=0.01)
    sim.model.scene.bodies["pivot"] = sim.model.scene.bodies["bob"]
    with pytest.raises(KeyError, match=r"several objects of scene 'pendulum'; use sim.body\('pivot'\) or sim.joint"):
        sim["pivot"]
    assert sim.joint("pivot").position == 0.0


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"method": "rk4", "dt": 0.01}, {"method": "rk4", "dt": 0.01, "coordinates": "joint"}]
)
def test_a_body_reads_what_it_was_given(settings):
    sim = dal.Simulation(spinning(), **settings)
    top = sim["top"]
    np.testing.assert_allclose(top.position, (1.0, 2.0, 3.0), atol=1e-15)
    np.testing.assert_allclose(top.orientation, Q, atol=1e-15)
    np.testing.assert_allclose(top.velocity, (1.0, 0.0, -1.0), atol=1e-15)
    np.testing.assert_allclose(top.angular_velocity, (0.3, -0.5, 2.0), atol=1e-14)
    np.testing.assert_allclose(top.momentum, (2.0, 0.0, -2.0), atol=1e-15)
    # The axes of the body are a cyclic permutation of the world's: its moments about the world's x, y, z are I_z, I_x, I_y.
    inertia = np.array([0.3, 0.1, 0.2])
    np.testing.assert_allclose(top.angular_momentum, inertia * (0.3, -0.5, 2.0), atol=1e-15)
    kinetic = 0.5 * 2.0 * 2.0 + 0.5 * inertia @ np.square([0.3, -0.5, 2.0])
    assert top.kinetic_energy == pytest.approx(kinetic, rel=1e-14)
    assert top.energy == pytest.approx(kinetic + 2.0 * G * 3.0, rel=1e-14)
    energy = top.energy
    sim.step(50)
    assert top.energy == pytest.approx(energy, rel=1e-9)  # it flies
    np.testing.assert_allclose(top.position, (1.5, 2.0, 3.0 - 0.5 - 0.5 * G * 0.25), atol=1e-12)
    np.testing.assert_array_equal(top.velocity, sim.state.velocity[0])
    np.testing.assert_allclose(top.angular_velocity, sim.state.angular_velocity[0], rtol=1e-14)


def test_what_was_read_does_not_change_when_the_run_goes_on():
    sim = dal.Simulation(spinning(), method="rk4", dt=0.01)
    before = sim["top"].position
    kept = before.copy()
    sim.step(10)
    np.testing.assert_array_equal(before, kept)
    with pytest.raises(ValueError, match=r"this position is that of t = 0 s, and the run is at 0.1 s; assign"):
        before[2] = 7.0
    assert type(before + 1.0) is np.ndarray and isinstance(before @ before, float)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_joint_reads_angle_rate_and_effort(coordinates):
    scene = arm()
    scene.forces["motor 1"].stiffness, scene.forces["motor 1"].damping = 40.0, 3.0
    sim = dal.Simulation(scene, coordinates=coordinates, rtol=1e-9)
    joint = sim["joint 1"]
    assert joint.target == 0.0
    joint.target = 0.4
    sim.advance(0.2)
    position, velocity = sim.joint_state()["joint 1"]
    assert joint.position == position and joint.velocity == velocity
    assert abs(position) > 0.01
    assert joint.effort == pytest.approx(40.0 * (0.4 - position) - 3.0 * velocity, rel=1e-9)
    assert sim["joint 0"].target == 0.0
    sim["joint 0"].target = 0.25  # an effort, as it has no gains
    assert sim["joint 0"].effort == pytest.approx(0.25)


def test_a_pendulum_swings_through_its_handle():
    """θ̈ = m g r cos θ / (I + m r²) from rest, by the first terms of its series."""
    sim = dal.Simulation(pendulum(), rtol=1e-11, coordinates="joint")
    inertia = sim.model.scene.bodies["bob"].inertia[1, 1] + 2.0
    sim.advance(0.05)
    acceleration = 2.0 * G / inertia
    assert sim["pivot"].position == pytest.approx(0.5 * acceleration * 0.05**2, rel=1e-3)
    assert sim["pivot"].velocity == pytest.approx(acceleration * 0.05, rel=1e-3)
    with pytest.raises(ValueError, match="joint 'pivot' has no motor; add one with motor"):
        sim["pivot"].target = 1.0


def test_kinematic_bodies_and_obstacles_have_handles():
    scene = box_on_floor()
    scene.add_body("lift", dal.Box(1, 1, 0.1), motion="set", position=(5, 0, 0))
    sim = dal.Simulation(scene, dt=1 / 240)
    lift = sim["lift"]
    sim.set_motion(lift, velocity=(0.0, 0.0, 2.0))
    sim.step(24)
    np.testing.assert_allclose(lift.position, (5.0, 0.0, 0.2), atol=1e-12)
    np.testing.assert_allclose(lift.velocity, (0.0, 0.0, 2.0), atol=1e-12)
    for change in ("position", "velocity", "angular_velocity"):
        with pytest.raises(ValueError, match=r"its .* is prescribed; change it with sim.set_motion"):
            setattr(lift, change, (0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="is prescribed"):
        lift.apply_force((1.0, 0.0, 0.0))
    np.testing.assert_array_equal(sim["floor"].position, np.zeros(3))
    np.testing.assert_array_equal(sim["floor"].orientation, (1.0, 0.0, 0.0, 0.0))


# Contacts by pair -----------------------------------------------------------------------------------------------------


def pile():
    scene = dal.Scene("pile", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("low", dal.Box(0.4, 0.4, 0.2), mass=3.0, position=(0, 0, 0.1))
    scene.add_body("high", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.3))
    scene.add_body("aside", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(2, 0, 0.1))
    return scene


@pytest.mark.parametrize(
    "settings",
    [{"dt": 1 / 240}, {"dt": 1 / 240, "coordinates": "joint"}, {"dt": 1 / 240, "sleep_after": 0.05},
     {"method": "dormand_prince"}],
)  # fmt: skip
def test_contact_forces_by_pair_are_the_weights_above(settings):
    sim = dal.Simulation(pile(), **settings)
    sim.advance(0.3)
    up = np.array([0.0, 0.0, G])
    np.testing.assert_allclose(sim.contact_force("low", "floor"), 4.0 * up, atol=2e-3)
    np.testing.assert_allclose(sim.contact_force("floor", "low"), -4.0 * up, atol=2e-3)
    np.testing.assert_allclose(sim["low"].contact_force("high"), -1.0 * up, atol=2e-3)
    np.testing.assert_allclose(sim["low"].contact_force(), 3.0 * up, atol=2e-3)  # the sum is what balances its weight
    np.testing.assert_allclose(sim["floor"].contact_force(), -6.0 * up, atol=4e-3)
    assert not sim.contact_force("aside", "high").any()
    pairs = sim.contact_forces
    assert set(pairs) == {("low", "high"), ("low", "floor"), ("aside", "floor")}
    np.testing.assert_allclose(pairs["low", "high"], 1.0 * up, atol=2e-3)
    if "sleep_after" in settings:
        assert sim["aside"].asleep
        return
    frame = sim.trajectory.contact_force.values[-1]
    for i, name in enumerate(sim.model.body_names):
        np.testing.assert_allclose(sim[name].contact_force(), frame[i], atol=1e-12)
    assert {c.a for c in sim["high"].contacts} | {c.b for c in sim["high"].contacts} == {"low", "high"}


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"method": "rk4", "dt": 0.01}, {"method": "rk4", "dt": 0.01, "coordinates": "joint"}]
)
def test_what_is_written_is_read_and_its_energy_is_booked(settings):
    sim = dal.Simulation(spinning(), **settings)
    top = sim["top"]
    before = top.energy
    top.position = (0.0, 0.0, 5.0)
    top.velocity = (0.0, 2.0, 0.0)
    top.velocity[0] += 1.0
    top.angular_velocity = (0.0, 0.0, 1.0)
    top.orientation = (1.0, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(top.position, (0, 0, 5), atol=1e-14)
    np.testing.assert_allclose(top.velocity, (1, 2, 0), atol=1e-14)
    np.testing.assert_allclose(top.angular_velocity, (0, 0, 1), atol=1e-14)  # it stays when the body is turned
    np.testing.assert_allclose(top.angular_momentum, (0, 0, 0.3), atol=1e-14)
    after = 0.5 * 2.0 * 5.0 + 0.5 * 0.3 + 2.0 * G * 5.0
    assert top.energy == pytest.approx(after, rel=1e-13)
    sim.advance(0.1)
    report = sim.report
    assert report.work["changes of the state"] == pytest.approx(after - before, rel=1e-12)
    assert (
        report.energy_residual < 1e-9 and report.momentum_residual < 1e-12 and report.angular_momentum_residual < 1e-9
    )


def test_velocities_of_what_has_joints_are_shared_by_the_joints():
    """The nearest velocity in the mass metric: of a pendulum ω = (r × m v + L) / (I + m r²), in both coordinates."""
    for settings in ({"coordinates": "maximal"}, {"coordinates": "joint"}):
        sim = dal.Simulation(pendulum(), rtol=1e-10, **settings)
        sim["bob"].velocity = (4.0, 5.0, -3.0)
        inertia = sim.model.scene.bodies["bob"].inertia[1, 1]
        omega = 2.0 * 3.0 / (inertia + 2.0)
        np.testing.assert_allclose(sim["bob"].velocity, (0.0, 0.0, -omega), atol=1e-8)
        np.testing.assert_allclose(sim["bob"].angular_velocity, (0.0, omega, 0.0), atol=1e-8)
        sim.advance(0.1)
        assert sim.report.work["changes of the state"] == pytest.approx(0.5 * (inertia + 2.0) * omega**2, rel=1e-6)
        assert sim.report.energy_residual < 1e-7 and sim.report.momentum_residual < 1e-7


def test_positions_of_what_has_joints_are_set_by_the_joint():
    sim = dal.Simulation(pendulum(), rtol=1e-9, coordinates="joint")
    with pytest.raises(ValueError, match=r"joint 'pivot' holds it.*set sim.joint\(name\).position"):
        sim["bob"].position = (0.0, 0.0, -1.0)
    sim["pivot"].position = np.pi / 2
    sim["pivot"].velocity = 2.0
    np.testing.assert_allclose(sim["bob"].position, (0.0, 0.0, -1.0), atol=1e-12)
    np.testing.assert_allclose(sim["bob"].velocity, (-2.0, 0.0, 0.0), atol=1e-12)
    assert sim.advance(0.2).report.energy_residual < 1e-7
    inertia = sim.model.scene.bodies["bob"].inertia[1, 1]
    change = 0.5 * (inertia + 2.0) * 4.0 - 2.0 * G
    assert sim.report.work["changes of the state"] == pytest.approx(change, rel=1e-9)
    maximal = dal.Simulation(pendulum(), rtol=1e-9)
    with pytest.raises(ValueError, match=r"joint 'pivot' holds it.*use coordinates='joint'"):
        maximal["bob"].orientation = Q
    with pytest.raises(ValueError, match="runs in maximal coordinates; pass coordinates='joint'"):
        maximal["pivot"].position = 0.5
    assert maximal["bob"].position.tolist() == [1.0, 0.0, 0.0]


def test_a_box_that_is_moved_leaves_its_contacts_behind_and_finds_new_ones():
    sim = dal.Simulation(pile(), dt=1 / 240, sleep_after=0.05)
    sim.step(60)
    assert sim["high"].asleep
    sim["high"].position = (2.0, 0.0, 0.3)  # from one box onto another
    assert not sim["high"].asleep
    sim.step(60)
    assert not sim.contact_force("low", "high").any()
    np.testing.assert_allclose(sim.contact_force("high", "aside"), (0.0, 0.0, G), atol=2e-3)
    np.testing.assert_allclose(sim.contact_force("low", "floor"), (0.0, 0.0, 3.0 * G), atol=4e-3)
    np.testing.assert_allclose(sim["high"].position, (2.0, 0.0, 0.3), atol=1e-6)
    assert sim.report.energy_residual < 1e-9 * sim.report.energy_scale


@pytest.mark.parametrize("method", ["bdf2", "linear_implicit_euler"])
def test_particles_are_read_and_pushed(method):
    sim = dal.Simulation(cloth_and_box(), method=method, dt=1 / 300)
    cloth = sim["cloth"]
    start = cloth.position
    assert start.shape == (36, 3) and not cloth.velocity.any()
    pinned = sim.model.scene.particles["cloth"].pinned
    cloth.apply_impulse((0.0, 0.0, 0.002))
    mass = sim.model.scene.particles["cloth"].mass
    np.testing.assert_allclose(cloth.velocity[~pinned], np.array([0, 0, 0.002]) / mass[~pinned, None], rtol=1e-12)
    assert not cloth.velocity[pinned].any()
    sim.step(3)
    assert sim.report.work["applied forces"] == pytest.approx(0.5 * (0.002**2 / mass[~pinned]).sum(), rel=1e-9)
    cloth.velocity = np.zeros((36, 3))
    cloth.position[:, 2] += 0.05 * ~pinned
    assert cloth.position[~pinned, 2] == pytest.approx(0.05 + (cloth.position[~pinned, 2] - 0.05))
    with pytest.raises(ValueError, match="pinned particles cannot move"):
        cloth.velocity = np.ones((36, 3))
    with pytest.raises(ValueError, match=r"position.*\(36, 3\)"):
        cloth.position = np.ones((3, 3))
    assert sim.report.momentum_residual < (1e-9 if method == "bdf2" else 1e-6)  # to the tolerance of its linear system


# State as one array ---------------------------------------------------------------------------------------------------


def test_the_state_is_one_array_that_is_saved_and_set():
    sim = dal.Simulation(tumbling_boxes(), dt=1 / 240)
    saved = sim.state.y.copy()
    assert saved.shape == (sim.model.size,)
    sim.step(10)
    sim["box 1"].apply_impulse((1.0, 0.0, 0.0))  # the ledger is longer from now on
    sim.step(10)
    later = sim.state.y.copy()
    sim.state.y = saved
    np.testing.assert_array_equal(sim["box 1"].position, saved[13:16])
    np.testing.assert_array_equal(sim.state.y[: 13 * 4], saved[: 13 * 4])
    sim.state.y = later
    np.testing.assert_array_equal(sim.state.y, later)
    sim.step(30)
    assert sim.report.work["applied forces"] != 0.0
    for wrong in (saved[:-1], np.zeros((2, 3)), 5.0, np.full_like(later, np.nan)):
        with pytest.raises(ValueError, match="state: y"):
            sim.state.y = wrong
    assert sim.report.integration_error < 1e-9
