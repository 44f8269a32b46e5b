"""Motions in runs: set between steps, restarted, resumed, replayed, recorded, exported; and what refuses them."""

import numpy as np
import pytest
from numba import njit

import dalembert as dal
from dalembert.scene.motion import Keyframes
from dalembert.simulation.summary import scene_description

STEPS = {"method": "time_stepping", "dt": 1e-3}
JOINT_STEPS = STEPS | {"coordinates": "joint"}
IN_STEPS = pytest.mark.parametrize("settings", [STEPS, JOINT_STEPS], ids=["maximal", "joint"])


def pusher(motion="set", **arguments):
    scene = dal.Scene("pusher", material=dal.Material(friction=0.2))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("pusher", dal.Box(0.1, 0.4, 0.2), motion=motion, position=(0, 0, 0.12), **arguments)
    scene.add_body("puck", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.2, 0, 0.1))
    return scene


@IN_STEPS
def test_what_is_pushed_moves_with_what_is_set(settings):
    scene = pusher()
    scene.set_contact("pusher", "puck", friction=0.0)
    run = dal.Simulation(scene, **settings)
    run.set_motion("pusher", position=(0.3, 0, 0.12), over=0.5)
    run.advance(0.5)
    puck, own = run.state.index("puck"), run.state.index("pusher")
    assert run.state.position[own, 0] == pytest.approx(0.3, abs=1e-12)
    assert run.state.position[puck, 0] == pytest.approx(0.45, abs=1e-4)
    assert run.state.velocity[own] == pytest.approx([0.6, 0.0, 0.0], rel=1e-12)  # until the impulses of the next step
    heat = -run.report.work["contact: friction"] - run.report.work["contact: impacts"]
    kinetic = 0.5 * float(run.state.velocity[puck] @ run.state.velocity[puck])
    assert run.report.work["pusher"] == pytest.approx(heat + kinetic, abs=1e-6)
    assert -run.report.work["contact: friction"] == pytest.approx(0.2 * 9.81 * 0.25, rel=2e-2)
    run.step(1)
    assert run.state.velocity[own].tolist() == [0.0, 0.0, 0.0]
    run.set_motion("pusher", velocity=(-1.0, 0, 0), angular_velocity=(0, 0, 2.0))
    run.advance(0.1)
    assert run.state.position[own, 0] == pytest.approx(0.2, abs=1e-12)
    turned = 2.0 * np.arctan2(run.state.orientation[own, 3], run.state.orientation[own, 0])
    assert turned == pytest.approx(0.2, abs=1e-12)
    assert run.state.velocity[own].tolist() == [-1.0, 0.0, 0.0]
    run.set_motion("pusher", orientation=(1, 0, 0, 0), over=0.1)
    run.advance(0.1)
    assert np.abs(run.state.orientation[own] - (1, 0, 0, 0)).max() < 1e-12
    assert run.report.momentum_residual < 1e-9 and run.report.energy_residual < 1e-9


@IN_STEPS
def test_a_restarted_run_begins_with_the_motion_of_the_scene(settings):
    run = dal.Simulation(pusher(velocity=(0.5, 0, 0)), **settings).advance(0.2)
    first = run.state.y.copy()
    run.set_motion("pusher", velocity=(0, 0, 1.0))
    run.advance(0.1)
    run.restart().advance(0.2)
    assert np.array_equal(run.state.y, first)


@IN_STEPS
def test_a_resumed_run_goes_on_with_the_motion_that_was_set(tmp_path, settings):
    settings = settings | {"iterations": 2000}  # sweeps alone, whose bits do not depend on earlier factorizations

    def begun():
        run = dal.Simulation(pusher(), **settings)
        run.set_motion("pusher", velocity=(0.4, 0, 0), angular_velocity=(0, 0, 0.3))
        return run.advance(0.2)

    whole, half = begun(), begun()
    half.trajectory.save(tmp_path / "half.nc")
    resumed = dal.Simulation(pusher(), **settings).resume(dal.Trajectory.load(tmp_path / "half.nc"))
    for run in (whole, resumed):
        run.advance(0.2)
    assert np.array_equal(whole.state.y, resumed.state.y)


def hanging(motion, **settings):
    scene = dal.Scene("hanging")
    scene.add_body("pivot", motion=motion)
    scene.add_body("bob", dal.Sphere(0.05), mass=1.0, position=(0, 0, -1.0))
    scene.ball("joint", "pivot", "bob", at=(0, 0, 0))
    return dal.Simulation(scene, **settings)


@IN_STEPS
def test_joints_follow_a_motion_that_is_set(settings):
    run = hanging("set", **settings)
    run.set_motion("pivot", velocity=(1.0, 0, 0))
    run.advance(0.5)
    pivot, bob = run.state.index("pivot"), run.state.index("bob")
    assert run.state.position[pivot, 0] == pytest.approx(0.5, abs=1e-12)
    assert np.linalg.norm(run.state.position[pivot] - run.state.position[bob]) == pytest.approx(1.0, abs=1e-12)
    # seen from the pivot, the bob swings from rest at −1 m/s
    inertia = 1.0 + 0.4 * 0.05**2
    rise = 1.0 + run.state.position[bob, 2]
    relative = run.state.velocity[bob] - (1.0, 0, 0)
    energy = 0.5 * inertia * float(relative @ relative) + 9.81 * rise
    assert energy == pytest.approx(0.5 * inertia, rel=1e-2)


@IN_STEPS
def test_a_joint_that_is_set_goes_there(settings):
    scene = dal.Scene("arm")
    scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0))
    scene.hinge("joint", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_motion("drive", "joint", "set")
    run = dal.Simulation(scene, **settings)
    run.advance(0.1)
    assert run.joint_state()["joint"][0] == pytest.approx(0.0, abs=1e-12)
    assert run.efforts["drive"] == pytest.approx(-9.81 * 0.5, rel=1e-6)  # holds the weight
    run.set_motion("drive", value=-0.5, over=0.25)
    run.advance(0.3)
    assert run.joint_state()["joint"][0] == pytest.approx(-0.5, abs=1e-12)
    run.set_motion("drive", speed=2.0)
    run.advance(0.1)
    assert run.joint_state()["joint"][0] == pytest.approx(-0.3, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "given", "pattern"),
    [
        ("nobody", {"velocity": (0, 0, 0)}, "'nobody' has no prescribed motion.*pusher"),
        ("pusher", {}, "is given nothing.*it takes position"),
        ("pusher", {"speed": 1.0}, "is given speed; it takes position"),
        ("pusher", {"position": (0, 0, 0), "velocity": (0, 0, 0)}, "is given position, velocity; it takes"),
        ("pusher", {"velocity": (0, 0, 0), "over": 1.0}, "and over; it takes"),
        ("pusher", {"position": (0, float("nan"), 0)}, "position"),
        ("pusher", {"position": (0, 0, 1), "over": 0.0}, "over"),
        ("pusher", {"position": (1e9, 0, 1)}, "give it more time"),
    ],
)
def test_motions_that_cannot_be_set_are_refused(name, given, pattern):
    run = dal.Simulation(pusher(), **STEPS)
    with pytest.raises(ValueError, match=pattern):
        run.set_motion(name, **given)


def test_the_velocity_of_what_moves_by_command_cannot_be_written():
    run = dal.Simulation(pusher(), **STEPS)
    with pytest.raises(ValueError, match="velocity of body 'pusher' is prescribed"):
        run.state.velocity[run.state.index("pusher")] = (1, 0, 0)


def test_methods_that_take_no_motions_say_so():
    frames = Keyframes([0, 1], [(0, 0, 0), (1, 0, 0)])
    run = hanging("set", rtol=1e-8)
    with pytest.raises(ValueError, match=r"smooth motions only.*time_stepping"):
        run.set_motion("pivot", velocity=(1, 0, 0))
    with pytest.raises(ValueError, match="is keyframes"):
        hanging(frames, **STEPS).set_motion("pivot", velocity=(1, 0, 0))


def test_a_motion_that_becomes_nan_ends_the_run_by_its_name():
    @njit
    def lost(t):
        return (t * t * np.sqrt(0.1 - t), 0.0, 0.0)

    with pytest.raises(dal.SimulationError, match="pivot"):
        hanging(lost, **STEPS).advance(0.5)


def test_a_prescribed_joint_that_does_not_start_at_zero_is_refused():
    scene = dal.Scene("jump")
    scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0))
    scene.hinge("joint", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_motion("drive", "joint", njit(lambda t: 0.3 + t))
    with pytest.raises(ValueError, match=r"joint .drive. is open at the start by 0\.3.*assemble=True"):
        dal.Simulation(scene)
    run = dal.Simulation(scene, assemble=True).advance(0.5)
    assert run.joint_state()["joint"][0] == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"coordinates": "joint"}, STEPS, JOINT_STEPS], ids=["multipliers", "joint", "steps", "joint steps"]
)
def test_a_released_motion_leaves_what_it_moved_to_itself(settings):
    scene = dal.Scene("released", gravity=(0, 0, 0))
    turning = {"velocity": (0, 0, -1.5), "angular_velocity": (0, 3, 0)}
    scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0), **turning)
    scene.hinge("joint", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    scene.torsion_spring("brake", "joint", stiffness=0.0, damping=0.01)
    scene.add_motion("drive", "joint", speed=3.0)
    run = dal.Simulation(scene, **settings).advance(0.2)
    assert run.joint_state()["joint"] == pytest.approx((0.6, 3.0), abs=1e-9)
    run.release("drive")
    run.advance(0.5)
    inertia = float(scene.bodies["arm"].inertia[1, 1]) + 0.25
    assert run.joint_state()["joint"][1] == pytest.approx(3.0 * np.exp(-0.01 / inertia * 0.5), abs=1e-6)
    assert run.report.energy_residual < 1e-6
    assert run.report.work["drive"] == pytest.approx(0.01 * 9.0 * 0.2, abs=1e-6)  # against the brake


METHODS = [
    {"method": "rk4", "dt": 1e-3}, {"method": "dop853", "rtol": 1e-10}, {"method": "symplectic_euler", "dt": 1e-4}, STEPS,
    JOINT_STEPS,
    {"method": "dormand_prince", "rtol": 1e-9, "coordinates": "joint"},
    {"hold": "feedback", "stiffness": 100.0, "damping": 20.0},
    {"hold": "penalty", "stiffness": 1e5, "damping": 10.0, "method": "rk4", "dt": 1e-4},
    {"constraint_solver": "conjugate_gradient"},
]  # fmt: skip


@pytest.mark.parametrize("settings", METHODS, ids=lambda s: " ".join(map(str, s.values())))
def test_methods_agree_on_a_pendulum_that_is_shaken_and_turned(settings):
    half = np.sqrt(0.5)
    frames = Keyframes(
        [0.0, 0.4, 0.7, 1.2], [(0, 0, 0), (0.2, 0.1, 0.1), (0.1, 0, 0.2), (0, 0, 0)],
        [(1, 0, 0, 0), (half, 0, 0, half), (half, 0, half, 0), (1, 0, 0, 0)], repeat=True,
    )  # fmt: skip
    scene = dal.Scene("shaken")
    scene.add_body("support", motion=frames)
    scene.add_body("bob", dal.Box(0.1, 0.2, 0.3), mass=1.0, position=(0.1, 0, -0.5))
    scene.hinge("joint", "support", "bob", at=(0.1, 0, 0), axis=(1, 0, 0))
    reference = dal.Simulation(scene, method="dop853", rtol=1e-11).advance(1.0)
    run = dal.Simulation(scene, **settings).advance(1.0)
    apart = np.abs(run.state.position - reference.state.position).max()
    close = (
        2e-3
        if "symplectic" in str(settings) or "penalty" in str(settings)
        else 2e-5
        if "time_stepping" in str(settings)
        else 1e-6
    )
    assert apart < close
    if "rtol" in settings:  # accelerations jump at keyframes, which only adaptive steps resolve
        assert run.report.energy_residual < 1e-6
    assert np.abs(run.state.velocity[1] - reference.state.velocity[1]).max() < 1e-9


def test_kernels_evaluate_keyframes_as_python_does():
    half = np.sqrt(0.5)
    frames = Keyframes([0, 1, 3], [(0, 0, 0), (1, 2, 0), (0, 0, 1)], [(1, 0, 0, 0), (half, half, 0, 0), (0, 0, 1, 0)])
    scene = dal.Scene("keyframes")
    scene.add_body("tray", dal.Box(1, 1, 1), motion=frames)
    scene.add_body("other", dal.Box(1, 1, 1), mass=1.0)
    run = dal.Simulation(scene)
    for time in (0.2, 0.9, 1.7, 2.99, 3.5):
        run.advance(time - run.time)
        x, q = frames.pose(run.time)
        own = run.state.index("tray")
        assert (
            np.abs(run.state.position[own] - x).max() < 1e-12 and abs(abs(run.state.orientation[own] @ q) - 1.0) < 1e-12
        )
        h = 1e-5
        rate = (frames.pose(run.time + h)[0] - frames.pose(run.time - h)[0]) / (2.0 * h)
        assert np.abs(run.state.velocity[own] - rate).max() < 1e-8
        after, before = frames.pose(run.time + h)[1], frames.pose(run.time - h)[1]
        w = 2.0 * (-after[0] * before[1:] + before[0] * after[1:] - np.cross(after[1:], before[1:])) / (2.0 * h)
        assert np.abs(np.asarray(run.state.angular_velocity[own]) - w).max() < 1e-7


def test_runs_are_saved_drawn_and_exported(tmp_path):
    run = dal.Simulation(pusher(velocity=(0.3, 0, 0)), **STEPS).advance(0.1)
    run.trajectory.save(tmp_path / "run.nc")
    loaded = dal.Trajectory.load(tmp_path / "run.nc")
    assert loaded.position.sel(body="pusher").values[-1, 0] == pytest.approx(0.03, abs=1e-9)
    assert "prescribed motion: set" in str(scene_description(run.model.scene, {})["listing"])
    warnings = dal.export_mjcf(run.model.scene, tmp_path / "scene.xml")
    assert any("mocap" in str(warning) for warning in warnings)
    again = dal.load_model(tmp_path / "scene.xml").scene
    assert again.bodies["pusher"].motion is not None and again.bodies["puck"].motion is None
    other = dal.Simulation(again, **STEPS)
    other.set_motion("pusher", velocity=(0.3, 0, 0))
    other.advance(0.1)
    assert other.state.position[other.state.index("pusher"), 0] == pytest.approx(0.03, abs=1e-9)


def test_a_motor_on_a_turning_table_feels_the_speed_between_them():
    ends = []
    for settings in ({"rtol": 1e-10}, {"rtol": 1e-10, "coordinates": "joint"}, STEPS, JOINT_STEPS):
        scene = dal.Scene("table", gravity=(0, 0, 0))
        scene.add_body("table", motion=njit(lambda t: (0.0, 0.0, 0.0, np.cos(t * t), 0.0, 0.0, np.sin(t * t))))
        scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0))
        scene.hinge("joint", "table", "arm", at=(0, 0, 0), axis=(0, 0, 1))
        scene.motor("motor", "joint", stiffness=2.0, damping=0.5)
        run = dal.Simulation(scene, **settings).advance(1.0)
        ends.append(run.state.position[run.state.index("arm")].copy())
        assert run.report.energy_residual < 1e-5
    assert np.abs(ends[1] - ends[0]).max() < 1e-7 and np.abs(np.array(ends[2:]) - ends[0]).max() < 1e-5


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_what_a_lift_carries_sleeps_when_it_stands_and_wakes_when_it_moves(coordinates):
    scene = dal.Scene("sleeper", material=dal.Material(0.5))
    scene.add_body("lift", dal.Box(1, 1, 0.1), motion=Keyframes([1.0, 2.0], [(0, 0, 0), (0, 0, 0.5)]))
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.15))
    run = dal.Simulation(scene, sleep_after=0.2, dt=1 / 240, coordinates=coordinates).advance(0.9)
    assert run.asleep == ["box"]
    run.advance(0.6)
    assert "box" not in run.asleep
    run.advance(1.5)
    assert run.asleep == ["box"]
    assert run.state.position[run.state.index("box"), 2] == pytest.approx(0.65, abs=1e-4)
    assert run.report.work["lift"] == pytest.approx(9.81 * 0.5, rel=1e-3)


def test_threads_and_solvers_agree_on_a_belt():
    states = {}
    for settings in ({"threads": 1}, {"threads": 3}, {"solver": "converging"}, {"coordinates": "joint"}):
        scene = dal.Scene("belt", material=dal.Material(friction=0.4))
        scene.add_obstacle("belt", dal.Box(6, 2, 0.1), surface_velocity=(0.5, 0, 0), position=(0, 0, -0.05))
        for i in range(6):
            scene.add_body(
                f"box {i}", dal.Box(0.2, 0.2, 0.2), mass=1.0 + i, position=(0.0, 0.3 * (i // 2), 0.1 + 0.2 * (i % 2))
            )
        run = dal.Simulation(scene, dt=1 / 480, **settings).advance(1.0)
        states[str(settings)] = run.state.position.copy()
        # Gauss–Seidel leaves overlap in some steps, and what its correction does is an error, with and without a belt
        assert run.report.energy_residual < (1e-9 if "solver" in settings else 1e-3)
    assert run.report.work["belt"] == pytest.approx(21.0 * 0.5**2, abs=1e-6)
    one, three, converging, joint = states.values()
    assert np.array_equal(one, three) and np.abs(one - converging).max() < 1e-3
    assert np.abs(one - joint).max() < 1e-3
