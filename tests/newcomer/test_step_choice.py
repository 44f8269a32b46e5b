"""Runs of fixed steps without dt: the step follows the stated rule, and answers are within 3 % of the motion of those of
refined steps."""

import warnings

import numpy as np
import pytest

import dalembert as dal
from dalembert.simulation import step_choice

G = 9.81
TOLERANCE = 0.03  # of the extent of the motion
ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.15"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin rpy="0 -1.2 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1.0" effort="10" velocity="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/>
    <axis xyz="0 1 0"/><limit lower="-0.5" upper="2.0" effort="10" velocity="10"/></joint>
</robot>
"""


def ground(name, **surface):
    scene = dal.Scene(name, material=dal.Material(**surface))
    scene.add_obstacle("floor", dal.HalfSpace())
    return scene


def ball(radius):
    """A ball that falls ten radii and bounces."""
    scene = ground("ball", friction=0.3, restitution=0.7)
    scene.add_body("ball", dal.Sphere(radius), density=1000.0, position=(0, 0, 11.0 * radius))
    return scene


def stack(side=0.2):
    """Boxes on each other, pushed at the top: one slides off its neighbour."""
    scene = ground("stack", friction=0.3)
    for i in range(4):
        scene.add_body(f"box {i}", dal.Box(side, side, side), density=500.0, position=(0, 0, side * (i + 0.5)))
    scene.bodies["box 3"].velocity.setflags(write=True)
    scene.bodies["box 3"].velocity[:] = (0.5, 0, 0)
    return scene


def spring():
    scene = dal.Scene("spring", gravity=(0, 0, 0))
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, -1.1))
    scene.spring("coil", dal.WORLD, "bob", (0, 0, 0), (0, 0, -1.1), stiffness=1e5, rest=1.0)
    scene.add_body("rod", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(5, 0, -0.5))
    scene.hinge("pin", dal.WORLD, "rod", (5, 0, 0), (0, 1, 0))
    scene.limit("stop", "pin", upper=1.0)
    return scene


def robot(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return dal.load_model(file).scene


def chosen(scene, duration=0.1, **settings):
    return dal.simulate(scene, duration, **settings)


@pytest.mark.parametrize(
    ("make", "duration", "settings"),
    [
        (lambda folder: ball(0.0005), 0.06, {"frame_rate": 1000.0}),
        (lambda folder: ball(0.05), 0.6, {}),
        (lambda folder: ball(5.0), 6.0, {}),
        (lambda folder: stack(), 0.5, {}),
        (lambda folder: spring(), 0.2, {"frame_rate": 500.0}),
        (robot, 1.0, {}),
        (robot, 1.0, {"coordinates": "joint"}),
    ],
    ids=["ball of 1 mm", "ball of 10 cm", "ball of 10 m", "stack", "spring", "robot", "robot in joint coordinates"],
)
def test_answers_are_near_those_of_refined_steps(tmp_path, make, duration, settings):
    run = chosen(make(tmp_path), duration, **settings)
    fine = chosen(make(tmp_path), duration, **settings, dt=run.settings["dt"] / 16)
    found, exact = run.trajectory.position.values, fine.trajectory.position.values
    extent = float(np.ptp(exact, axis=0).max())
    assert extent > 0.0 and np.abs(found - exact).max() < TOLERANCE * extent
    assert run.report.step_choice and not fine.report.step_choice


def test_a_stack_at_rest_stays():
    scene = ground("stack", friction=0.5)
    for i in range(5):
        scene.add_body(f"box {i}", dal.Box(0.2, 0.2, 0.2), density=500.0, position=(0, 0, 0.2 * (i + 0.5)))
    run = chosen(scene, 1.0)
    assert np.abs(run.trajectory.position.values[-1] - run.trajectory.position.values[0]).max() < 1e-9
    radius = 0.1 * np.sqrt(3.0)
    limit = 0.03 * np.sqrt(radius / G)
    assert limit / 1.25 < run.settings["dt"] <= limit  # frames divide it
    for words in ("time step", "smallest body, 'box 0'", "0.173 m", "0.03 √(r/g)"):
        assert words in str(run.report)
    assert run.report.as_dict()["step_choice"] == run.settings["dt_chosen"]


@pytest.mark.parametrize(("given", "limit", "why"), [
    ({"velocity": (40.0, 0, 0)}, 0.5 * 0.1 / 40.0, "40 m/s"),
    ({"angular_velocity": (0, 0, 100.0)}, 0.1 / 100.0, "100 rad/s"),
    ({}, 0.03 * np.sqrt(0.1 / G), "√"),
], ids=["speed", "spin", "size"])  # fmt: skip
def test_the_rule_of_sizes_and_speeds(given, limit, why):
    scene = ground("rule")
    scene.add_body("puck", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), **given)
    run = dal.Simulation(scene, frame_rate=1.0)
    assert limit * 0.99 < run.settings["dt"] <= limit * (1 + 1e-12) and why in run.settings["dt_chosen"]


def test_the_rule_of_stiffness():
    run = dal.Simulation(spring(), frame_rate=1.0)
    assert run.settings["dt"] == pytest.approx(0.1 / np.sqrt(1e5), rel=1e-3) and "'coil'" in run.settings["dt_chosen"]
    soft = dal.Scene("soft")
    soft.add_obstacle("floor", dal.HalfSpace(), material=dal.Material(stiffness=1e6))
    soft.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1), material=dal.Material())
    run = dal.Simulation(soft, frame_rate=1.0)
    assert (
        run.settings["dt"] == pytest.approx(0.2 / 1e3, rel=1e-3) and "surface of 'floor'" in run.settings["dt_chosen"]
    )


def test_joints_count_with_what_they_move():
    """A spring far from the pin of a heavy door is slower than on a free body: the exact frequency counts."""
    scene = dal.Scene("door", gravity=(0, 0, 0))
    scene.add_body("door", dal.Box(1.0, 0.1, 0.1), mass=3.0, position=(0.5, 0, 0))
    scene.hinge("pin", dal.WORLD, "door", (0, 0, 0), (0, 0, 1))
    scene.limit("stop", "pin", upper=1.0)
    scene.spring("coil", dal.WORLD, "door", (1, -1, 0), (1, 0, 0), stiffness=1e5)
    inertia = 3.0 / 12.0 * (1.0 + 0.01) + 3.0 * 0.25
    run = dal.Simulation(scene, frame_rate=1.0)
    assert run.settings["dt"] == pytest.approx(0.1 / np.sqrt(1e5 / inertia), rel=2e-3)


def test_steps_divide_frames_and_calls_of_the_controller():
    for rate in (24.0, 50.0, 60.0, 250.0):
        steps = 1.0 / (rate * dal.Simulation(stack(), frame_rate=rate).settings["dt"])
        assert steps == pytest.approx(round(steps), abs=1e-9)
    run = dal.Simulation(stack(), controller=lambda run: None, control_rate=33.0)
    assert 1.0 / (33.0 * run.settings["dt"]) == pytest.approx(round(1.0 / (33.0 * run.settings["dt"])), abs=1e-9)
    run.advance(0.1)


def test_a_step_that_is_given_is_taken():
    for settings in ({"dt": 0.004}, {"method": dal.TimeStepping(dt=0.004)}):
        run = dal.Simulation(stack(), **settings)
        assert run.settings["dt"] == 0.004 and "dt_chosen" not in run.settings and "time step" not in str(run.report)
    run = dal.Simulation(stack(), method=dal.TimeStepping(solver="converging"))
    assert run.settings["dt"] == dal.Simulation(stack()).settings["dt"]


def test_the_choice_of_a_larger_scene_is_longer_as_its_motion_is_slower():
    steps = [dal.Simulation(stack(side), frame_rate=1.0).settings["dt"] for side in (0.002, 0.02)]
    assert steps[1] / steps[0] == pytest.approx(10.0**0.5, rel=0.5)  # the push of 0.5 m/s counts for the small one
    largest = dal.Simulation(stack(200.0), frame_rate=1.0).settings["dt"]
    assert largest == pytest.approx(step_choice.LONGEST)


def test_what_gives_no_scale_is_refused():
    scene = dal.Scene("stars", gravity=(0, 0, 0))
    scene.add_particles("stars", [(0, 0, 0), (1, 0, 0)], mass=1.0)
    scene.gravitation("pull", constant=1.0)
    with pytest.raises(ValueError, match=r"'pull'.*give dt, in s"):
        dal.Simulation(scene, method="time_stepping")


def test_cloth_runs_without_a_step():
    scene = dal.Scene("cloth")
    scene.cloth("flag", *dal.triangle_grid(1.0, 1.0, 6, 6), density=0.1, stretch=100.0, shear=10.0, pinned=[0, 5])
    run = dal.simulate(scene, 0.1, method="implicit_euler")
    assert run.settings["dt"] == pytest.approx(step_choice.OF_PARTICLES)


def test_a_fast_thing_has_a_shortest_step():
    scene = ground("gun")
    scene.add_body("bullet", dal.Sphere(0.002), mass=0.001, position=(0, 0, 1), velocity=(900, 0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = dal.Simulation(scene, frame_rate=1.0)
    assert (
        run.settings["dt"] == pytest.approx(step_choice.SHORTEST)
        and "would take 1.1e-06 s" in run.settings["dt_chosen"]
    )
