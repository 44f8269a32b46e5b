"""Motors whose inputs change in a run, controllers at a fixed rate, samples as inputs, and runs that begin again."""

import json

import numpy as np
import pytest

import dalembert as dal

from .motions import pendulum

COORDINATES = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
METHODS = {
    "dormand_prince": {},
    "rk4": {"method": "rk4", "dt": 1e-3},
    "joint": {"coordinates": "joint"},
    "time_stepping": {"method": "time_stepping", "dt": 1e-3},
}


def rotor(**motor):
    """A body that turns freely about a fixed axis, driven by a motor; its moment of inertia is 2 kg m²."""
    scene = dal.Scene("rotor", gravity=(0, 0, 0))
    body = scene.add_body("rotor", mass=1.0, inertia=(2, 2, 2))
    scene.hinge("axle", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("motor", "axle", **motor)
    return scene


def bounded(scene):
    """The same for time steps: a stop that is never met."""
    scene.limit("stop", "axle", upper=100.0)
    return scene


def spin_of(run):
    return float(run.state.angular_momentum[0, 1]) / 2.0


# Motors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_motor_with_stiffness_and_gain_is_a_damped_oscillator(method):
    scene = rotor(stiffness=18.0, position=0.4, gain=12.0, speed=0.0)  # ω = 3 rad/s, critically damped
    scene = bounded(scene) if method == "time_stepping" else scene
    run = dal.simulate(scene, 1.0, **METHODS[method])
    angle, speed = run.joint_state()["axle"]
    tolerance = 1e-5 if method == "time_stepping" else 1e-7
    assert angle == pytest.approx(0.4 * (1.0 - 4.0 * np.exp(-3.0)), abs=tolerance)
    assert speed == pytest.approx(0.4 * 9.0 * np.exp(-3.0), abs=tolerance)
    assert run.efforts["motor"] == pytest.approx(18.0 * (0.4 - angle) - 12.0 * speed, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_effort_is_kept_within_the_limit_and_booked_as_work(method):
    scene = rotor(stiffness=1e3, position=50.0, gain=5.0, speed=1.0, limit=3.0)
    scene = bounded(scene) if method == "time_stepping" else scene
    run = dal.simulate(scene, 1.0, **METHODS[method])
    assert spin_of(run) == pytest.approx(1.5, abs=1e-9)
    assert run.report.work["motor"] == pytest.approx(2.25, abs=1e-6)
    assert run.report.energy_residual < 1e-9
    np.testing.assert_allclose(run.trajectory.effort.sel(force="motor"), 3.0, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_that_change_act_from_then_on(method):
    scene = rotor(effort=4.0)
    run = dal.Simulation(bounded(scene) if method == "time_stepping" else scene, **METHODS[method])
    run.advance(0.5)
    run.set_motor("motor", effort=-2.0)
    run.advance(0.5)
    assert spin_of(run) == pytest.approx(1.0 - 0.5, abs=1e-9)
    assert dal.simulate(run.model, 0.5, **METHODS[method]).efforts["motor"] == 4.0  # of another run of the scene


@pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])
def test_an_ideal_motor_takes_another_speed(solver):
    run = dal.Simulation(rotor(speed=2.0, limit=50.0), dt=1e-3, solver=solver)
    run.advance(0.2)
    assert spin_of(run) == pytest.approx(2.0, abs=1e-8)
    run.set_motor("motor", speed=-1.0)
    run.advance(0.2)
    assert spin_of(run) == pytest.approx(-1.0, abs=1e-8)


def test_a_function_of_the_users_is_told_by_its_effort():
    scene = rotor(function=lambda t, s, w: 3.0 - t)
    run = dal.simulate(scene, 1.0)
    assert run.efforts["motor"] == pytest.approx(2.0)
    np.testing.assert_allclose(run.trajectory.effort[:, 0], 3.0 - run.trajectory.times, atol=1e-12)


@pytest.mark.parametrize(
    "motor, given, pattern",
    [
        (
            {"effort": 1.0},
            {"position": 2.0},
            "'motor' is given position=2.0; it takes effort .and position with a stiff",
        ),
        ({"gain": 1.0}, {}, "'motor' is given nothing; it takes effort or speed"),
        ({"gain": 1.0}, {"speed": np.nan}, "'motor': speed must be a finite number; got nan"),
        (
            {"speed": 1.0, "limit": 2.0},
            {"effort": 1.0},
            "'motor' is given effort=1.0; it takes speed, as it has no gain",
        ),
        ({"function": lambda t, s, w: 0.0}, {"effort": 1.0}, "'motor' is given effort=1.0; it takes nothing"),
    ],
)
def test_inputs_that_a_motor_has_not_are_refused(motor, given, pattern):
    run = dal.Simulation(rotor(**motor), **({"dt": 1e-3} if "limit" in motor else {}))
    with pytest.raises(ValueError, match=pattern):
        run.set_motor("motor", **given)


def test_a_name_that_is_no_motor_s_is_refused():
    run = dal.Simulation(rotor(effort=1.0))
    with pytest.raises(ValueError, match="no motor 'axle'; the motors are motor"):
        run.set_motor("axle", effort=1.0)


# Joints ---------------------------------------------------------------------------------------------------------------


def joints():
    scene = dal.Scene("joints", gravity=(0, 0, 0))
    wheel = scene.add_body("wheel", dal.Cylinder(0.3, 0.1), mass=1.0, angular_velocity=(0, 0, 40.0))
    scene.hinge("hinge", dal.WORLD, wheel, at=(0, 0, 0), axis=(0, 0, 1))
    block = scene.add_body("block", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(2, 0, 0), velocity=(0.5, 0, 0))
    scene.slider("rail", dal.WORLD, block, at=(2, 0, 0), axis=(1, 0, 0))
    screw = scene.add_body("screw", dal.Cylinder(0.1, 1.0), mass=1.0, position=(4, 0, 0), velocity=(0, 0, 0.3),
                           angular_velocity=(0, 0, -0.7))  # fmt: skip
    scene.cylindrical("screw", dal.WORLD, screw, at=(4, 0, 0), axis=(0, 0, 1))
    return scene


@COORDINATES
@pytest.mark.parametrize("counted", [False, True])
def test_values_and_rates_of_joints_with_full_turns(coordinates, counted):
    scene = joints()
    if counted:
        scene.motor("motor", "hinge")
    looks = []
    run = dal.Simulation(scene, coordinates=coordinates, controller=lambda run: looks.append(run.joint_state()),
                         control_rate=1.0 if counted else 20.0, rtol=1e-11)  # fmt: skip
    run.advance(1.0)
    state = run.joint_state()
    expected = {
        "hinge": (40.0, 40.0),
        "rail": (0.5, 0.5),
        "screw.displacement": (0.3, 0.3),
        "screw.angle": (-0.7, -0.7),
    }
    assert set(state) == set(expected)
    for name, pair in expected.items():
        assert state[name] == pytest.approx(pair, abs=1e-8)
    assert len(looks) == (1 if counted else 20)


def test_joint_states_are_set_in_joint_coordinates():
    run = dal.Simulation(joints(), coordinates="joint")
    run.set_joint_state({"hinge": (10.0, 1.0), "rail": (-0.2, 0.0)})
    state = run.joint_state()
    assert state["hinge"] == (10.0, 1.0) and state["rail"] == (-0.2, 0.0)
    assert run.state.position[1, 0] == pytest.approx(1.8)
    assert len(run.coordinates) == len(run.speeds) == 4
    with pytest.raises(ValueError, match=r"no coordinate 'wheel'.*hinge"):
        run.set_joint_state({"wheel": (0.0, 0.0)})
    with pytest.raises(ValueError, match=r"'hinge'.*ṡ.*nan"):
        run.set_joint_state({"hinge": (0.0, np.nan)})
    with pytest.raises(ValueError, match="coordinates='joint'"):
        _ = dal.Simulation(joints()).coordinates


# Controllers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_controller_is_called_at_its_instants_and_frames_stay(method):
    times = []

    def controller(run):
        times.append(run.time)
        run.set_motor("motor", effort=float(len(times)))

    scene = rotor(effort=0.0)
    scene = bounded(scene) if method == "time_stepping" else scene
    settings = {**METHODS[method], "frames": 30.0}
    run = dal.Simulation(scene, controller=controller, control_rate=50.0, **settings).advance(0.5)
    run.advance(0.5)
    np.testing.assert_allclose(times, np.arange(50) / 50.0, rtol=0, atol=1e-15)
    assert spin_of(run) == pytest.approx(sum(range(1, 51)) * 0.5 / 50.0, abs=1e-9)  # held in between
    free = dal.Simulation(rotor(effort=0.0) if method != "time_stepping" else bounded(rotor()), **settings)
    free.advance(0.5).advance(0.5)
    np.testing.assert_allclose(run.trajectory.times, free.trajectory.times, rtol=0, atol=1e-15)
    assert json.loads(run.trajectory.attrs["settings"])["control_rate"] == pytest.approx(50.0)


def test_steps_that_do_not_divide_the_time_between_calls_are_refused():
    with pytest.raises(ValueError, match=r"1000 Hz, so that 0.667 steps of dt = 0.0015|0.6666"):
        dal.Simulation(rotor(), method="rk4", dt=0.0015, controller=print, control_rate=1000.0)
    with pytest.raises(ValueError, match="control_rate is given without a controller"):
        dal.Simulation(rotor(), control_rate=1000.0)
    with pytest.raises(ValueError, match="controller is given without a control_rate"):
        dal.Simulation(rotor(), controller=print)
    with pytest.raises(ValueError, match=r"control_rate is -1\.0"):
        dal.Simulation(rotor(), controller=print, control_rate=-1.0)


def test_an_exception_of_the_controller_ends_the_run_and_keeps_what_was_recorded():
    def steer(run):
        if run.time > 0.45:
            raise KeyError("lost")

    run = dal.Simulation(rotor(effort=1.0), controller=steer, control_rate=10.0)
    with pytest.raises(
        dal.SimulationError, match=r"t = 0.5 s the controller 'steer' failed: KeyError\('lost'\)"
    ) as caught:
        run.advance(1.0)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.time == pytest.approx(0.5)
    assert caught.value.simulation.trajectory.times[-1] == pytest.approx(0.5)


def test_a_controller_cannot_advance_its_own_run():
    run = dal.Simulation(rotor(), controller=lambda run: run.advance(0.1), control_rate=10.0)
    with pytest.raises(dal.SimulationError, match="cannot advance the run that calls it"):
        run.advance(1.0)


def test_events_and_a_controller_in_one_run():
    scene = rotor(effort=2.0)
    scene.event("half", lambda t, y: y[11] - 1.0, action=lambda state: None)
    times = []
    run = dal.Simulation(scene, controller=lambda run: times.append(run.time), control_rate=8.0)
    run.advance(1.0)
    np.testing.assert_allclose(times, np.arange(8) / 8.0, atol=1e-15)
    np.testing.assert_allclose(run.event_times["half"], [0.5], atol=1e-9)


def arm():
    scene, above = dal.Scene("arm"), dal.WORLD
    for i, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        link = scene.add_body(f"link {i}", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=(0.25 + 0.5 * i, 0, 0))
        scene.hinge(f"joint {i}", above, link, at=(0.5 * i, 0, 0), axis=axis)
        scene.motor(f"motor {i}", f"joint {i}", limit=100.0)
        above = link
    return scene


AMPLITUDE, FREQUENCY = np.array([0.5, -0.4, 0.6]), np.array([2.0, 3.0, 2.5])


def wanted(t):
    """Angles of the joints, their rates and accelerations."""
    s, c = np.sin(FREQUENCY * t), np.cos(FREQUENCY * t)
    return AMPLITUDE * s, AMPLITUDE * FREQUENCY * c, -AMPLITUDE * FREQUENCY**2 * s


@COORDINATES
def test_computed_torque_tracks_a_trajectory_the_better_the_higher_its_rate(coordinates):
    scene = arm()
    robot = dal.Articulation(scene)

    def computed_torque(run):
        angles, rates = np.array(list(run.joint_state().values())).T
        q, v, a = wanted(run.time)
        efforts = robot.inverse_dynamics(angles, rates, a + 400.0 * (q - angles) + 40.0 * (v - rates))
        for i, effort in enumerate(efforts):
            run.set_motor(f"motor {i}", effort=effort)

    errors = []
    for rate in (250.0, 500.0, 1000.0):
        run = dal.Simulation(scene, coordinates=coordinates, controller=computed_torque, control_rate=rate)
        worst = []
        for _ in range(20):  # the joints start at rest, and are on their way after the first half
            run.advance(0.1)
            angles = [s for s, _ in run.joint_state().values()]
            worst.append(np.abs(angles - wanted(run.time)[0]).max())
        errors.append(max(worst[10:]))
        assert run.report.energy_residual < 1e-7
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.1)  # the efforts lag by half a period


def pressed(gravity=9.81, **motor):
    """An arm on a hinge whose ball touches the ground, and a motor that presses it on (negative efforts lift it)."""
    scene = dal.Scene("pressed", gravity=(0, 0, -gravity))
    smooth = dal.Material(0.0)
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -0.1), material=smooth)
    bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0), material=smooth)
    scene.hinge("hinge", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("motor", "hinge", **motor)
    return scene


@pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])
def test_inputs_that_change_leave_what_time_steps_know_of_contacts(solver):
    """The same bits as with an effort that is a function of time, constant in each step."""
    settings = {"dt": 2e-3, "solver": solver}

    def press(run):
        run.set_motor("motor", effort=3.0 + round(run.time / 2e-3) % 5)

    def effort(t, s, w):
        return 3.0 + int(t / 2e-3) % 5

    one = dal.Simulation(pressed(effort=0.0), controller=press, control_rate=500.0, **settings).advance(0.2)
    two = dal.Simulation(pressed(function=effort), **settings).advance(0.2)
    np.testing.assert_array_equal(one.state.y, two.state.y)
    assert one.trajectory.contact_force[-1, 0, 2] > 10.0


@pytest.mark.parametrize("settings", [{"method": "dormand_prince"}, {"method": "time_stepping", "dt": 1e-3}])
def test_a_controller_lifts_what_rests_on_the_ground(settings):
    def lift(run):
        run.set_motor("motor", effort=5.0 if run.time < 0.45 else -4.0)

    run = dal.Simulation(pressed(gravity=0.0), controller=lift, control_rate=10.0, **settings)
    run.advance(0.5)
    assert run.trajectory.contact_force[-1, 0, 2] == pytest.approx(5.0, rel=1e-9)
    run.advance(0.5)
    angle, rate = run.joint_state()["hinge"]
    tolerance = 2e-3 if "dt" in settings else 1e-9
    assert (angle, rate) == pytest.approx((-0.25, -1.0), abs=tolerance)  # the moment of inertia is 2 kg m²
    if (
        settings["method"] == "dormand_prince"
    ):  # time steps book the work of motors at velocities foretold without contact
        assert run.report.energy_residual < 1e-9


def test_motors_of_bodies_beside_particles_are_controlled():
    scene = bounded(rotor(effort=0.0))
    places, faces = dal.sheet(1.0, 1.0, 4, 4)
    scene.cloth("cloth", places + [5.0, 0.0, 0.0], faces, density=0.2, stretch=200.0, shear=20.0)

    def push(run):
        run.set_motor("motor", effort=run.time)

    run = dal.Simulation(scene, method="implicit_euler", dt=0.01, controller=push, control_rate=50.0).advance(1.0)
    assert spin_of(run) == pytest.approx(0.5 * sum(range(50)) * 0.02 * 0.02, abs=1e-12)
    assert run.efforts["motor"] == pytest.approx(0.98) and "stop" in run.efforts


# Samples --------------------------------------------------------------------------------------------------------------


def test_samples_are_interpolated_and_held_at_both_ends():
    series = dal.TimeSeries({"motor": ([0.2, 0.4], [1.0, 3.0])}, of="effort")
    assert [series.at(t)["motor"] for t in (0.0, 0.2, 0.25, 0.4, 9.0)] == pytest.approx([1.0, 1.0, 1.5, 3.0, 3.0])
    run = dal.Simulation(rotor(), controller=series, control_rate=1000.0).advance(0.5)
    impulse = 0.2 * 1.0 + 0.2 * 2.0 + 0.1 * 3.0 - 0.5 * 1e-3 * 2.0  # held, each step as at its beginning
    assert spin_of(run) == pytest.approx(impulse / 2.0, abs=1e-9)


@pytest.mark.parametrize(
    "samples, of, pattern",
    [
        ({"motor": ([0.0, 0.0], [1.0, 2.0])}, "effort", r"'motor': times\[1\] is 0 s, after 0 s; times must rise"),
        ({"motor": ([0.0, np.nan], [1.0, 2.0])}, "effort", "times.*nan"),
        ({"motor": ([0.0, 1.0], [1.0, np.inf])}, "effort", "values.*inf"),
        ({"motor": ([0.0, 1.0], [1.0])}, "effort", "2 times and 1 values"),
        ({"motor": ([], [])}, "effort", "at least one"),
        ({}, "effort", "no samples"),
        ({"motor": ([0.0], [1.0])}, "torque", "of is 'torque'"),
    ],
)
def test_samples_that_cannot_be_played_are_refused(samples, of, pattern):
    with pytest.raises(ValueError, match=pattern):
        dal.TimeSeries(samples, of=of)


def test_samples_for_what_is_not_there_are_refused_before_the_run():
    series = dal.TimeSeries({"engine": ([0.0], [1.0])}, of="effort")
    with pytest.raises(ValueError, match="no motor 'engine'"):
        dal.Simulation(rotor(), controller=series, control_rate=10.0)


def test_samples_from_a_file(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text("time, motor, brake\n0.0, 1.0, 0\n0.5, 2e0, 1\n\n1.0, 3, 2\n")
    series = dal.TimeSeries.from_csv(path, of="effort")
    assert series.at(0.75) == {"motor": 2.5, "brake": 1.5}


@pytest.mark.parametrize(
    "text, pattern",
    [
        ("", "line 1: give names"),
        ("t,motor\n0,1\n", "line 1: give names.*'t,motor'"),
        ("time,a,a\n0,1,1\n", "line 1: column 'a' is there twice"),
        ("time,a,\n0,1,1\n", "line 1: a column has no name"),
        ("time,a\n", "no line of numbers"),
        ("time,a\n0,1\n1,fast\n", "line 3, 'a': 'fast' is no finite number"),
        ("time,a\n0,1\n1,inf\n", "line 3, 'a': 'inf' is no finite number"),
        ("time,a\n0,1\n1\n", "line 3: 1 values, and 2 columns"),
        ("time,a\n0,1\n0,2\n", r"times\[1\] is 0 s"),
        ("time,a\n0,\x001\n", "line 2"),
    ],
)
def test_files_of_samples_that_are_damaged_are_refused_with_the_line(tmp_path, text, pattern):
    path = tmp_path / "drive.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=pattern):
        dal.TimeSeries.from_csv(path)


# Beginning again ------------------------------------------------------------------------------------------------------


def falling_boxes():
    scene = dal.Scene("boxes")
    steel = dal.Material(0.4, restitution=0.3)
    scene.add_obstacle("ground", dal.HalfSpace(), material=steel)
    for i in range(3):
        scene.add_body(f"box {i}", dal.Box(0.4, 0.3, 0.2), mass=1.0, position=(0.07 * i, 0, 0.3 + 0.3 * i), material=steel,
                       angular_velocity=(1.0, 2.0 * i, 0.5))  # fmt: skip
    return scene


def hanging_cloth():
    scene = dal.Scene("cloth")
    scene.add_obstacle("ball", dal.Sphere(0.3), position=(0.3, 0.2, -0.4), material=dal.Material(0.3))
    places, faces = dal.sheet(1.0, 1.0, 8, 8)
    scene.cloth(
        "cloth",
        places,
        faces,
        density=0.2,
        radius=0.01,
        stretch=200.0,
        shear=20.0,
        pinned=[0, 7],
        material=dal.Material(0.3),
    )
    return scene


def double():
    scene = arm()
    scene.event("let go", lambda t, y: t - 0.1, action=lambda state: None)
    return scene


BEGUN = {
    "integrator": (double, {}),
    "fixed steps": (double, {"method": "rk4", "dt": 1e-3}),
    "joint coordinates": (double, {"coordinates": "joint"}),
    "contact": (falling_boxes, {"dt": 2e-3}),
    "contact by events": (lambda: falling_balls(), {"method": "dormand_prince"}),
    "particles": (hanging_cloth, {"method": "implicit_euler", "dt": 5e-3}),
}


def falling_balls():
    scene = dal.Scene("balls")
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.3, restitution=0.5))
    scene.add_body(
        "ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2), velocity=(1, 0, 0), material=dal.Material(0.3)
    )
    return scene


@pytest.mark.parametrize("name", BEGUN)
def test_a_run_that_begins_again_has_the_same_bits_as_a_new_one(name):
    build, settings = BEGUN[name]
    scene = build()
    run = dal.Simulation(scene, **settings).advance(0.3)
    first = run.trajectory
    for _ in range(2):
        if "motor 0" in scene.forces:
            run.set_motor("motor 0", effort=3.0)
            run.advance(0.1)
        run.restart()
        assert run.time == 0.0 and len(run.recorder) == 1 and not any(run.event_times.values())
        run.advance(0.3)
        again = run.trajectory
        for key in first.dataset.data_vars:
            np.testing.assert_array_equal(again[key].values, first[key].values, err_msg=key)
    fresh = dal.Simulation(build(), **settings).advance(0.3).trajectory
    np.testing.assert_array_equal(fresh.state.values, first.state.values)


def test_what_was_let_go_is_held_again():
    run = dal.Simulation(pendulum()).advance(0.2)
    run.release("pin")
    run.advance(0.3)
    run.restart().advance(1.0)
    assert run.released == {} and run.report.joint_error < 1e-9
    assert np.linalg.norm(run.state.position[0]) == pytest.approx(0.5)


@COORDINATES
def test_a_run_can_begin_from_another_state_and_its_books_close(coordinates):
    run = dal.Simulation(pendulum(), coordinates=coordinates)

    def prepare(run):
        if coordinates == "joint":
            run.set_joint_state({"pin": (0.3, 1.0)})
        else:
            run.state.momentum[0], run.state.angular_momentum[0] = 0.0, (0.0, 0.0, 0.0)
            run.state.orientation[0] = (1.0, 0.0, 0.0, 0.0)
            run.state.position[0] = (0.0, 0.0, -0.5)

    run.restart(prepare)
    expected = 0.3 if coordinates == "joint" else -np.pi / 2  # from the initial pose, which is level
    assert run.joint_state()["pin"][0] == pytest.approx(expected, abs=1e-12)
    run.advance(0.5)
    assert run.report.energy_residual < 1e-7
    assert run.trajectory.balance[0] == 0.0


def test_a_state_to_begin_from_that_opens_joints_is_refused():
    run = dal.Simulation(pendulum())

    def prepare(run):
        run.state.position[0, 0] += 0.1

    with pytest.raises(ValueError, match="'pin' is open at the start"):
        run.restart(prepare)
