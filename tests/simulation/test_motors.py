"""Motors whose inputs change in a run, what they exert, and the coordinates of joints."""

import numpy as np
import pytest

import dalembert as dal

from .driven import COORDINATES, METHODS, bounded, rotor, spin_of

pytestmark = pytest.mark.filterwarnings("ignore:.*more than a turn")  # shafts turn as far as they like


@pytest.mark.parametrize("method", METHODS)
def test_a_motor_with_stiffness_and_gain_is_a_damped_oscillator(method):
    scene = rotor(stiffness=18.0, position=0.4, damping=12.0, speed=0.0)  # ω = 3 rad/s, critically damped
    scene = bounded(scene) if method == "time_stepping" else scene
    run = dal.simulate(scene, 1.0, **METHODS[method])
    angle, speed = run.joint_state()["axle"]
    tolerance = 1e-5 if method == "time_stepping" else 1e-7
    assert angle == pytest.approx(0.4 * (1.0 - 4.0 * np.exp(-3.0)), abs=tolerance)
    assert speed == pytest.approx(0.4 * 9.0 * np.exp(-3.0), abs=tolerance)
    mean = 2e-3 if method == "time_stepping" else 1e-12  # over the last step, half of which is gone
    assert run.efforts["motor"] == pytest.approx(18.0 * (0.4 - angle) - 12.0 * speed, rel=mean)


@pytest.mark.parametrize("method", METHODS)
def test_effort_is_kept_within_the_limit_and_booked_as_work(method):
    scene = rotor(stiffness=1e3, position=50.0, damping=5.0, speed=1.0, limit=3.0)
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
        ({"damping": 1.0}, {}, "'motor' is given nothing; it takes effort or speed"),
        ({"damping": 1.0}, {"speed": np.nan}, "'motor': speed must be a finite number; got nan"),
        (
            {"speed": 1.0, "limit": 2.0},
            {"effort": 1.0},
            "'motor' is given effort=1.0; it takes speed, because it has no damping",
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
