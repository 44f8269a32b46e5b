"""Controllers at a fixed rate, by every method, and beside events, contacts and particles."""

import json

import numpy as np
import pytest

import dalembert as dal

from .driven import COORDINATES, METHODS, arm, bounded, rotor, spin_of


@pytest.mark.parametrize("method", METHODS)
def test_a_controller_is_called_at_its_instants_and_frames_stay(method):
    times = []

    def controller(run):
        times.append(run.time)
        run.set_motor("motor", effort=float(len(times)))

    scene = rotor(effort=0.0)
    scene = bounded(scene) if method == "time_stepping" else scene
    settings = {**METHODS[method], "frame_rate": 30.0}
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
    places, faces = dal.triangle_grid(1.0, 1.0, 4, 4)
    scene.cloth("cloth", places + [5.0, 0.0, 0.0], faces, density=0.2, stretch=200.0, shear=20.0)

    def push(run):
        run.set_motor("motor", effort=run.time)

    run = dal.Simulation(scene, method="implicit_euler", dt=0.01, controller=push, control_rate=50.0).advance(1.0)
    assert spin_of(run) == pytest.approx(0.5 * sum(range(50)) * 0.02 * 0.02, abs=1e-12)
    assert run.efforts["motor"] == pytest.approx(0.98) and "stop" in run.efforts
