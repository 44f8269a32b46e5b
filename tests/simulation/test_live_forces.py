"""Applied forces, torques and impulses: how long they act, what they do, and that their work is in the energy balance."""

import numpy as np
import pytest

import dalembert as dal

from .driven import arm
from .steppers import STEPPERS, four_bar

G = 9.81


def box_on_floor(friction=0.5, **more):
    scene = dal.Scene("box", material=dal.Material(friction))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1), **more)
    return scene


def pendulum(length=1.0, armature=0.0):
    scene = dal.Scene("pendulum")
    scene.add_body("bob", dal.Sphere(0.1), mass=2.0, position=(length, 0, 0))
    joint = scene.hinge("pivot", dal.WORLD, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    if armature:
        scene.armature(joint, armature)
    return scene


def ball(**more):
    scene = dal.Scene("ball", gravity=(0, 0, 0))
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0, **more)
    return scene


# How long they act ----------------------------------------------------------------------------------------------------


def test_a_force_acts_until_the_end_of_the_next_call():
    sim = dal.Simulation(ball(), method="rk4", dt=0.01)
    body = sim["ball"]
    body.apply_force((4.0, 0.0, 0.0))
    body.apply_force((2.0, 0.0, 0.0))  # they add up
    sim.step(5)
    assert body.velocity[0] == pytest.approx(6.0 * 0.05 / 2.0, rel=1e-13)
    sim.step(5)
    assert body.velocity[0] == pytest.approx(6.0 * 0.05 / 2.0, rel=1e-13)
    body.apply_force((0.0, 4.0, 0.0))
    sim.advance(0.1)
    assert body.velocity[1] == pytest.approx(4.0 * 0.1 / 2.0, rel=1e-12)


def test_a_force_of_a_controller_acts_until_its_next_call():
    def push(run):
        if run.time < 0.15:
            run["ball"].apply_force((4.0, 0.0, 0.0))

    sim = dal.Simulation(ball(), method="rk4", dt=0.01, controller=push, control_rate=10.0)
    for _ in range(40):
        sim.step()
    assert sim["ball"].velocity[0] == pytest.approx(4.0 * 0.2 / 2.0, rel=1e-12)  # twice for 0.1 s
    assert sim.report.work["applied forces"] == pytest.approx(0.5 * 2.0 * 0.4**2, rel=1e-12)


def test_forces_end_with_a_call_that_fails_too():
    def fail(run):
        if run.time > 0.04:
            raise OSError("no link")

    sim = dal.Simulation(ball(), method="rk4", dt=0.01, controller=fail, control_rate=20.0)
    sim["ball"].apply_force((4.0, 0.0, 0.0))
    with pytest.raises(dal.SimulationError, match="no link"):
        sim.advance(1.0)
    assert not sim._wrenches.held.any()


# Work -----------------------------------------------------------------------------------------------------------------

# How well the entry agrees with F · Δx: to rounding where time steps move free bodies, as they book with the displacement of
# the step; where joints turn, and by integration methods, to the error of the method.
ROUNDING, LEAPFROG, ADAPTIVE = 1e-9, 2e-4, 1e-6
PUSHED = {
    "dormand_prince": ADAPTIVE, "dop853": ADAPTIVE, "rk4": ADAPTIVE, "splitting": LEAPFROG,
    "iterative constraints": ADAPTIVE, "joint coordinates": ADAPTIVE, "joint coordinates, fixed": ADAPTIVE,
    "joint coordinates, loop": ADAPTIVE, "contact": ROUNDING, "contact, converging": ROUNDING, "contact, asleep": ROUNDING,
    "bounds": LEAPFROG, "contact, surface laws": ROUNDING, "contact in joint coordinates": ROUNDING,
    "bounds in joint coordinates": LEAPFROG, "events of contact": ADAPTIVE, "events of contact, fixed": ADAPTIVE,
    "rest by events": ADAPTIVE, "bodies and particles": ROUNDING,
}  # fmt: skip


@pytest.mark.parametrize("name", PUSHED)
def test_the_work_of_a_force_is_force_times_displacement(name):
    """A constant force at the centre of mass, by every way to step, in both coordinates: its entry of the ledger is F · Δx,
    summed over the calls, and the balance closes as well as without it."""
    build, settings = STEPPERS[name]
    plain = dal.Simulation(build(), **settings).advance(0.2).report
    sim = dal.Simulation(build(), **settings)
    body, force, work = sim[sim.model.scene.bodies[sim.model.body_names[-1]]], np.array([6.0, 0.0, 2.0]), 0.0
    while sim.time < 0.2:
        before = body.position
        body.apply_force(force)
        sim.step(2)
        work += force @ (body.position - before)
    assert abs(work) > 1e-3
    assert sim.report.work["applied forces"] == pytest.approx(work, rel=PUSHED[name])
    assert sim.report.energy_residual < 10.0 * plain.energy_residual + 1e-6 * abs(work)


def test_the_work_of_a_torque_is_torque_times_angle():
    for settings in (
        {"method": "rk4", "dt": 0.01},
        {"rtol": 1e-10},
        {"method": "rk4", "dt": 0.01, "coordinates": "joint"},
    ):
        sim = dal.Simulation(ball(), **settings)
        inertia = sim.model.scene.bodies["ball"].inertia[2, 2]
        for _ in range(10):
            sim["ball"].apply_torque((0.0, 0.0, 0.02))
            sim.step(2)
        angle = 0.5 * 0.02 / inertia * sim.time**2
        assert sim["ball"].angular_velocity[2] == pytest.approx(0.02 / inertia * sim.time, rel=1e-9)
        assert sim.report.work["applied forces"] == pytest.approx(0.02 * angle, rel=1e-8)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_applied_forces_do_what_a_load_of_the_scene_does(coordinates):
    """Another way to exert the same force: a constant load, in the scene from the start. Contact, friction and a pile."""

    def build(loaded):
        scene = box_on_floor()
        scene.add_body("top", dal.Box(0.15, 0.15, 0.1), mass=1.0, position=(0, 0, 0.25))
        if loaded:
            scene.external_force("push", "top", force=(8.0, 1.0, 0.0), torque=(0.0, 0.0, 0.1))
        return scene

    by_load = dal.Simulation(build(True), dt=1 / 480, coordinates=coordinates)
    by_hand = dal.Simulation(build(False), dt=1 / 480, coordinates=coordinates)
    for _ in range(120):
        by_hand["top"].apply_force((8.0, 1.0, 0.0))
        by_hand["top"].apply_torque((0.0, 0.0, 0.1))
        by_hand.step(2)
    by_load.step(240)
    assert by_hand["top"].position[0] > 0.05
    for name in ("box", "top"):
        np.testing.assert_allclose(by_hand[name].position, by_load[name].position, atol=1e-7)
    assert by_hand.report.work["applied forces"] == pytest.approx(by_load.report.work["push"], rel=1e-6)
    assert by_hand.report.energy_residual == pytest.approx(by_load.report.energy_residual, rel=0.01)
    assert by_hand.report.energy_residual < 5e-5  # J, of putting overlap right


@pytest.mark.parametrize("name", ["bounds", "bounds in joint coordinates", "splitting", "rk4",
                                  "joint coordinates, fixed", "bodies and particles"])  # fmt: skip
def test_the_work_is_booked_as_that_of_a_load_of_the_scene(name):
    """With fixed steps: the same motion, and the same entry of the ledger, to rounding."""
    build, settings = STEPPERS[name]
    loaded, last = build(), list(build().bodies)[-1]
    loaded.load("push", last, force=(6.0, 0.0, 2.0))
    by_load, by_hand = dal.Simulation(loaded, **settings), dal.Simulation(build(), **settings)
    for _ in range(30):
        by_hand[last].apply_force((6.0, 0.0, 2.0))
        by_hand.step(2)
        by_load.step(2)
    np.testing.assert_allclose(by_hand[last].position, by_load[last].position, rtol=1e-9, atol=1e-12)
    assert by_hand.report.work["applied forces"] == pytest.approx(by_load.report.work["push"], rel=1e-9)
    assert by_hand.report.energy_residual == pytest.approx(by_load.report.energy_residual, rel=1e-3, abs=1e-12)


def test_a_force_at_a_point_turns_the_body():
    sim = dal.Simulation(ball(), method="rk4", dt=0.001)
    sim["ball"].apply_force((0.0, 3.0, 0.0), at=(0.1, 0.0, 0.0))
    sim.step()
    inertia = sim.model.scene.bodies["ball"].inertia[2, 2]
    assert sim["ball"].angular_momentum[2] == pytest.approx(0.1 * 3.0 * 0.001, rel=1e-12)
    assert sim["ball"].angular_velocity[2] == pytest.approx(0.1 * 3.0 * 0.001 / inertia, rel=1e-12)
    assert sim.report.momentum_residual < 1e-15 and sim.report.angular_momentum_residual < 1e-15


# Impulses -------------------------------------------------------------------------------------------------------------


def test_an_impulse_changes_momenta_at_once_and_its_work_is_booked():
    sim = dal.Simulation(ball(velocity=(1.0, 0.0, 0.0)), method="rk4", dt=0.01)
    body = sim["ball"]
    body.apply_impulse((0.0, 0.5, 0.0), at=(0.1, 0.0, 0.0))
    assert body.momentum == pytest.approx([2.0, 0.5, 0.0]) and body.angular_momentum == pytest.approx([0.0, 0.0, 0.05])
    inertia = sim.model.scene.bodies["ball"].inertia[2, 2]
    work = 0.5 * 0.5**2 / 2.0 + 0.5 * 0.05**2 / inertia
    sim.advance(0.1)
    assert sim.report.work["applied forces"] == pytest.approx(work, rel=1e-12)
    assert sim.report.energy_residual < 1e-12
    assert sim.report.momentum_residual < 1e-13 and sim.report.angular_momentum_residual < 1e-13


@pytest.mark.parametrize("armature", [0.0, 0.7])
def test_an_impulse_on_a_pendulum_turns_it_about_its_pivot(armature):
    """ω = r J / (I + m r² + I_rotor), by hand; the pivot bears the rest."""
    sim = dal.Simulation(pendulum(armature=armature), rtol=1e-10, coordinates="joint")
    sim["bob"].apply_impulse((5.0, 0.0, -3.0))
    about_pivot = sim.model.scene.bodies["bob"].inertia[1, 1] + 2.0 * 1.0**2
    omega = 3.0 * 1.0 / (about_pivot + armature)
    assert sim["pivot"].velocity == pytest.approx(omega, rel=1e-9)
    assert sim["bob"].velocity == pytest.approx([0.0, 0.0, -omega], abs=1e-9)
    work = sim.advance(0.2).report.work["applied forces"]
    assert work == pytest.approx(0.5 * (about_pivot + armature) * omega**2, rel=1e-9)
    assert sim.report.energy_residual < 1e-7


@pytest.mark.parametrize("build", [arm, four_bar])
def test_an_impulse_on_a_mechanism_is_the_same_in_both_coordinates(build):
    runs = [dal.Simulation(build(), coordinates=coordinates, rtol=1e-10) for coordinates in ("maximal", "joint")]
    for sim in runs:
        name = sim.model.body_names[1]
        sim.advance(0.1)
        sim[name].apply_impulse((0.3, 0.2, -0.5), at=sim[name].position + [0.05, 0.0, 0.1])
    maximal, joint = runs
    for name in maximal.model.body_names:
        np.testing.assert_allclose(joint[name].velocity, maximal[name].velocity, atol=1e-7)
        np.testing.assert_allclose(joint[name].angular_velocity, maximal[name].angular_velocity, atol=1e-7)
    works = [sim.advance(0.1).report.work["applied forces"] for sim in runs]
    assert abs(works[0]) > 1e-3 and works[1] == pytest.approx(works[0], rel=1e-6)
    for sim in runs:
        assert sim.report.energy_residual < 1e-6 and sim.report.joint_error < 1e-9
        assert sim.report.momentum_residual < 1e-6


def test_an_impulse_into_the_floor_is_answered_before_the_next_step():
    """As any change of the state, so that nothing overlaps: contact forces stay those of the weight, and all is booked."""
    sim = dal.Simulation(box_on_floor(), dt=1 / 240)
    sim.step(10)
    sim["box"].apply_impulse((0.0, 0.0, -4.0))
    assert sim["box"].velocity[2] == pytest.approx(-2.0, abs=1e-6)
    sim.step()
    assert sim.contact_force("box", "floor")[2] == pytest.approx(2.0 * G, rel=1e-4)
    sim.step(20)
    assert abs(sim["box"].velocity[2]) < 1e-6
    assert sim.report.work["applied forces"] == pytest.approx(0.5 * 2.0 * 2.0**2, rel=1e-6)
    assert sim.report.work["contact: impacts"] == pytest.approx(-0.5 * 2.0 * 2.0**2, rel=1e-6)
    assert sim.report.energy_residual < 1e-10 and sim.report.momentum_residual < 1e-11


def test_the_action_of_an_event_may_push_and_its_work_is_booked_once():
    scene = ball()
    scene.event("half", lambda t, y: t - 0.5, action=lambda state: sim["ball"].apply_impulse((2.0, 0.0, 0.0)))
    scene.event("later", lambda t, y: t - 0.7, action=lambda state: sim["ball"].apply_force((0.0, 4.0, 0.0)))
    sim = dal.Simulation(scene, method="rk4", dt=0.01)
    sim.advance(1.0)
    np.testing.assert_allclose(sim["ball"].velocity, (1.0, 2.0 * 0.3, 0.0), atol=1e-12)  # until the end of the call
    assert sim.report.work["applied forces"] == pytest.approx(0.5 * 2.0 * (1.0 + 0.6**2), rel=1e-12)
    assert sim.report.work["events"] == pytest.approx(0.0, abs=1e-14) and sim.report.energy_residual < 1e-12


# Sleep and robots -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_forces_and_impulses_wake_what_sleeps_and_bodies_fall_asleep_again(coordinates):
    scene = box_on_floor()
    scene.add_body("far", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(3, 0, 0.1))
    sim = dal.Simulation(scene, dt=1 / 240, sleep_after=0.1, coordinates=coordinates)
    sim.step(60)
    assert sim["box"].asleep and sim["far"].asleep
    for _ in range(24):
        sim["box"].apply_force((20.0, 0.0, 0.0))
        sim.step()
    assert not sim["box"].asleep and sim["far"].asleep  # only that island
    assert sim["box"].velocity[0] == pytest.approx((20.0 - 0.5 * 2.0 * G) / 2.0 * 0.1, rel=1e-4)
    sim.step(240)
    assert sim["box"].asleep and not sim["box"].velocity.any()
    sim["far"].apply_impulse((0.0, 2.0, 0.0))
    sim.step(5)
    assert sim["far"].velocity[1] > 0.5


def test_a_robot_from_a_file_is_pushed_and_reads_its_joints(tmp_path):
    """An arm of a URDF, held by nothing: pushed at its hand as by a load, in both coordinates."""
    (tmp_path / "arm.urdf").write_text(URDF)
    found = []
    for coordinates in ("joint", "maximal"):
        scene = dal.load_model(tmp_path / "arm.urdf").scene
        sim = dal.Simulation(scene, coordinates=coordinates, method="rk4", dt=1 / 960)
        names = sim.model.body_names
        for _ in range(48):
            sim[names[-1]].apply_force((0.0, 0.0, 12.0))
            sim.step(4)
        found.append((sim["elbow"].position, sim["elbow"].velocity, sim.report.work["applied forces"]))
        assert sim.report.energy_residual < 1e-6
        assert sim.joint("elbow").position == pytest.approx(sim.joint_state()["elbow"][0])
    assert abs(found[0][0]) > 0.01
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0"/>
    <axis xyz="0 1 0"/></joint>
</robot>"""


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda box: box.apply_force((1.0, 2.0)), r"body 'box': force"),
        (lambda box: box.apply_force((np.nan, 0.0, 0.0)), r"body 'box': force"),
        (lambda box: box.apply_force((1.0, 0.0, 0.0), at=(0.0, 0.0)), r"body 'box': at"),
        (lambda box: box.apply_torque(3.0), r"body 'box': torque"),
        (lambda box: box.apply_impulse((np.inf, 0.0, 0.0)), r"body 'box': impulse"),
    ],
)
def test_bad_forces_are_refused_and_change_nothing(call, message):
    sim = dal.Simulation(box_on_floor(), dt=1 / 240)
    before = sim.state.y.copy()
    with pytest.raises(ValueError, match=message):
        call(sim["box"])
    assert sim.state.y.tobytes() == before.tobytes()
