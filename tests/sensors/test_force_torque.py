"""Wrenches of joints and efforts against statics, a pendulum, and each other in both coordinates."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors

from .scenes import FORMULATIONS, SMOOTH, STEPS, G, largest, named, pendulum


@pytest.mark.parametrize("settings", FORMULATIONS, ids=named)
def test_the_pivot_of_a_pendulum_carries_its_tension(settings):
    """Along the bar m g sin φ + m L ω², across it m g cos φ − m L α; no torque at the pivot."""
    scene = pendulum(friction=1e-30 if "dt" in settings else 0.0)
    scene.add_sensor(sensors.ForceTorque("pivot", "pivot"))
    scene.add_sensor(sensors.JointState("angle", "pivot"))
    scene.add_sensor(sensors.JointState("rate", "pivot", "velocity"))
    read = dal.simulate(scene, 0.6, **settings).sensors
    angle, rate = read["angle"].values[:, 0], read["rate"].values[:, 0]
    turning = 2.0 * G * np.cos(angle) / (2.0 / 12.0 * (0.1**2 + 0.3**2) + 2.0)
    tension, across = 2.0 * G * np.sin(angle) + 2.0 * rate**2, 2.0 * (G * np.cos(angle) - turning)
    assert tension.max() > 50.0
    expected = np.stack([-tension, 0 * rate, across, 0 * rate, 0 * rate, 0 * rate], 1)
    assert largest(read["pivot"].values - expected) < 1e-11


def arm(drive):
    """Two links: a bar on a hinge that `drive` holds level, and a load welded to its end."""
    scene = dal.Scene("arm")
    bar = scene.add_body("bar", dal.Box(1.0, 0.05, 0.05), mass=2.0, position=(0.5, 0, 0))
    load = scene.add_body("load", dal.Sphere(0.1), mass=3.0, position=(1.2, 0, 0))
    scene.hinge("shoulder", dal.WORLD, bar, at=(0, 0, 0), axis=(0, -1, 0))
    scene.weld("grip", bar, load, at=(1.0, 0, 0))
    if drive == "motor":
        scene.motor("drive", "shoulder", effort=2.0 * G * 0.5 + 3.0 * G * 1.2)
    elif drive == "ideal motor":
        scene.motor("drive", "shoulder", speed=0.0)
    elif drive == "stop":
        scene.limit("drive", "shoulder", lower=0.0)
    elif drive == "servo":
        scene.motor("drive", "shoulder", stiffness=1e5, damping=1e3)
    elif drive == "spring":
        scene.torsion_spring("drive", "shoulder", stiffness=1e5, damping=2e3)
    elif drive == "motion":
        scene.add_motion("drive", "shoulder", speed=0.0)
    scene.add_sensor(sensors.ForceTorque("shoulder", "shoulder"))
    scene.add_sensor(sensors.ForceTorque("grip", "grip"))
    scene.add_sensor(sensors.ForceTorque("grip at load", "grip", position=(0, 0, 0), quantity="torque"))
    scene.add_sensor(sensors.JointState("effort", "shoulder", "effort"))
    if drive != "spring":
        scene.add_sensor(sensors.Effort("drive", "drive"))
    return scene


HELD = [("motor", SMOOTH), ("motion", SMOOTH), ("servo", STEPS), ("ideal motor", STEPS), ("stop", STEPS),
        ("spring", STEPS), ("motion", STEPS)]  # fmt: skip


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize(("drive", "settings"), HELD, ids=[f"{drive}, {s['method']}" for drive, s in HELD])
def test_a_level_arm_carries_its_weight_whatever_holds_it(drive, settings, coordinates):
    """The shoulder carries both weights and, through its drive, their moment; the grip the load."""
    read = dal.simulate(arm(drive), 0.5, **settings, coordinates=coordinates).sensors
    moment = G * (2.0 * 0.5 + 3.0 * 1.2)  # 45.1 N m, about −y
    close = 1e-2 if drive in ("servo", "spring") else 1e-5  # these sag, by 0.5 mrad
    assert largest(read["shoulder"].value - [0, 0, 5.0 * G, 0, -moment, 0]) < close * 50
    assert largest(read["grip"].value - [0, 0, 3.0 * G, 0, -3.0 * G * 0.2, 0]) < close * 50
    assert largest(read["grip at load"].value) < close * 50
    assert abs(read["effort"].value[0] - moment) < close
    if "drive" in read:
        assert abs(read["drive"].value[0] - moment) < close


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_joint_carries_what_a_contact_does_beyond_it(coordinates):
    """A bar on a hinge whose far end rests on the ground: both carry half of its weight, from the first sample on."""
    scene = dal.Scene("ramp", material=dal.Material(friction=0.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    bar = scene.add_body("bar", dal.Box(1.0, 0.05, 0.05), mass=4.0, position=(0.5, 0, 0.1), material=None)
    foot = scene.add_body("foot", dal.Sphere(0.1), mass=0.5, position=(1.0, 0, 0.1))
    scene.weld("ankle", bar, foot, at=(1.0, 0, 0.1))
    scene.hinge("hip", dal.WORLD, bar, at=(0, 0, 0.1), axis=(0, 1, 0))
    scene.add_sensor(sensors.ForceTorque("hip", "hip", rate=20))
    scene.add_sensor(sensors.ForceTorque("ankle", "ankle", rate=20))
    scene.add_sensor(sensors.Touch("touch", "foot", rate=20))
    read = dal.simulate(scene, 0.5, dt=1 / 240, coordinates=coordinates).sensors
    for k in (0, -1):
        assert largest(read["hip"].values[k] - [0, 0, 2.0 * G, 0, 0, 0]) < 1e-3
        assert largest(read["ankle"].values[k] - [0, 0, -2.0 * G, 0, 0, 0]) < 1e-3
        assert abs(read["touch"].values[k, 0] - 2.5 * G) < 1e-3


@pytest.mark.parametrize("settings", [SMOOTH, STEPS], ids=["smooth", "steps"])
def test_joints_of_a_loop_carry_the_same_in_both_coordinates(settings):
    """A four-bar linkage; in joint coordinates one of its hinges closes the loop."""

    def run(coordinates):
        scene = dal.Scene("four-bar")
        crank = scene.add_body("crank", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, 0.5))
        coupler = scene.add_body("coupler", dal.Box(2.0, 0.1, 0.1), mass=2.0, position=(1.0, 0, 1.0))
        rocker = scene.add_body("rocker", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(2.0, 0, 0.5))
        scene.hinge("one", dal.WORLD, crank, at=(0, 0, 0), axis=(0, 1, 0))
        scene.hinge("two", crank, coupler, at=(0, 0, 1), axis=(0, 1, 0))
        scene.hinge("three", dal.WORLD, rocker, at=(2, 0, 0), axis=(0, 1, 0))
        scene.ball("four", coupler, rocker, at=(2, 0, 1))
        scene.close_loop("four")
        scene.motor("drive", "one", effort=3.0)
        scene.joint_friction("friction", "two", effort=0.1) if "dt" in settings else None
        for name in ("one", "two", "three", "four"):
            scene.add_sensor(sensors.ForceTorque(name, name, body=dal.WORLD, position=(0, 0, 0), rate=20))
        return dal.simulate(scene, 0.3, **settings, coordinates=coordinates).sensors

    maximal, joint = run("maximal"), run("joint")
    tolerance = 1e-6 if "dt" not in settings else 0.05  # of 20 N: two schemes of second order
    for name in maximal:
        assert largest(maximal[name].values) > 5.0
        assert largest(maximal[name].values - joint[name].values) < tolerance, name


KINDS = {
    "hinge": lambda scene, *ends: scene.hinge("joint", *ends, at=(0.4, 0, 0), axis=(0, 1, 0.2)),
    "slider": lambda scene, *ends: scene.slider("joint", *ends, at=(0.4, 0, 0), axis=(0, 1, 0.2)),
    "cylindrical": lambda scene, *ends: scene.cylindrical("joint", *ends, at=(0.4, 0, 0), axis=(0, 1, 0.2)),
    "universal": lambda scene, *ends: scene.universal("joint", *ends, (0.4, 0, 0), (0, 1, 0), (0, 0, 1)),
    "ball": lambda scene, *ends: scene.ball("joint", *ends, at=(0.4, 0, 0)),
    "weld": lambda scene, *ends: scene.weld("joint", *ends, at=(0.4, 0, 0)),
}


@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_joints_carry_the_same_in_both_coordinates(kind, ends):
    """A swinging chain with a joint of each kind in the middle, whichever end is the outer one."""

    def run(coordinates):
        scene = dal.Scene(kind)
        scene.add_body("a", dal.Box(0.3, 0.1, 0.1), mass=1.0, position=(0.2, 0, 0))
        scene.add_body("b", dal.Box(0.3, 0.1, 0.2), mass=2.0, position=(0.6, 0.05, 0))
        scene.ball("root", dal.WORLD, "a", at=(0, 0, 0))
        joint = KINDS[kind](scene, *ends)
        if joint.displacement:
            scene.torsion_spring("spring", joint, stiffness=50.0, damping=3.0, coordinate="displacement")
        for name in ("root", "joint"):
            scene.add_sensor(sensors.ForceTorque(name, name, rate=20))
        for name in ("a", "b"):
            scene.add_sensor(sensors.Imu(f"imu {name}", name, position=(0.1, 0.02, 0.03), rate=20))
        return dal.simulate(scene, 0.4, rtol=1e-10, coordinates=coordinates).sensors

    maximal, joint = run("maximal"), run("joint")
    for name in maximal:
        assert largest(maximal[name].values) > 5.0
        assert largest(maximal[name].values - joint[name].values) < 2e-8, name


def test_both_sides_of_a_joint_carry_the_opposite():
    """Bodies in the other order: the wrench on what is the second body then."""
    found = []
    for ends in (("a", "b"), ("b", "a")):
        scene = dal.Scene("pair")
        for name, x in (("a", 0.0), ("b", 1.0)):
            scene.add_body(name, dal.Box(1.0, 0.1, 0.1), mass=1.0, position=(x, 0, 0))
        scene.ball("top", dal.WORLD, "a", at=(-0.5, 0, 0))
        scene.weld("weld", *ends, at=(0.5, 0, 0))
        scene.add_sensor(sensors.ForceTorque("weld", "weld", body="a", position=(0.5, 0, 0)))
        found.append(dal.simulate(scene, 0.3, rtol=1e-10).sensors["weld"].values)
    assert largest(found[0]) > 1.0
    assert largest(found[0] + found[1]) < 1e-7
