"""When samples are taken, what noise does, and that sensors change no bit of a run."""

import copy
import pickle

import numpy as np
import pytest
from scipy import special, stats

import dalembert as dal
from dalembert import sensors
from dalembert.sensors.noise import logarithm, quantile

from .scenes import G, largest, pendulum, resting_box


def sampled(rate, steps=None, duration=0.1, **settings):
    scene = resting_box() if steps else pendulum()
    name = next(iter(scene.bodies))
    scene.add_sensor(sensors.Gyroscope("gyro", name, rate=rate))
    run = dal.simulate(scene, duration, **({"dt": steps} if steps else {"rtol": 1e-8}), **settings)
    return run.sensors["gyro"].times


# When -----------------------------------------------------------------------------------------------------------------


def test_adaptive_methods_take_samples_at_their_times():
    assert largest(sampled(70.0, frame_rate=13.0) - np.arange(8) / 70.0) < 1e-15


@pytest.mark.parametrize("rate", [240.0, 100.0, 70.0, 239.9, 60.0, 33.3])
def test_fixed_steps_take_a_sample_at_the_end_of_the_step_in_which_it_is_due(rate):
    """The first step that does not end before k/rate; the rate need not divide the step."""
    dt, times = 1 / 240, sampled(rate, 1 / 240, 0.5)
    due = np.arange(len(times)) / rate
    assert largest(times - np.ceil(due / dt - 1e-9) * dt) < 1e-12
    assert (times - due < dt).all()
    assert (times >= due - 1e-12).all()
    assert len(times) == int(0.5 * rate + 1e-9) + 1 - (
        np.ceil(int(0.5 * rate + 1e-9) / rate / dt - 1e-9) * dt > 0.5 + 1e-9
    )


def test_a_rate_above_that_of_the_steps_gives_one_sample_a_step():
    assert largest(sampled(1000.0, 1 / 200) - np.arange(21) / 200) < 1e-12


@pytest.mark.parametrize("steps", [None, 1 / 240])
def test_samples_depend_neither_on_frames_nor_on_calls(steps):
    """Other frames and other calls of `advance`: of fixed steps the same bits."""

    def run(frames, parts):
        scene = resting_box() if steps else pendulum()
        name = next(iter(scene.bodies))
        scene.add_sensor(sensors.Imu("imu", name, rate=90, noise=0.1, bias_deviation=0.2, seed=3))
        found = dal.Simulation(scene, frame_rate=frames, **({"dt": steps} if steps else {"rtol": 1e-11}))
        for part in parts:
            found.advance(part)
        return found.sensors["imu"]

    one, other = run(60.0, [0.4]), run(17.0, [0.15, 0.01, 0.24])
    assert largest(one.times - other.times) < 1e-12
    if steps:
        assert np.array_equal(one.times, other.times)
        assert np.array_equal(one.values, other.values)
    else:
        assert largest(one.values - other.values) < 1e-9


def test_sensors_change_no_bit_of_a_run_of_fixed_steps():
    def run(add):
        scene = resting_box()
        ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0.3, 0, 0.5), velocity=(-1, 0, 0))
        scene.add_body("far", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.3, 0, 0.8), velocity=(-1, 0, 0))
        scene.ball("hook", ball, "far", at=(0.3, 0, 0.65))
        if add:
            scene.add_sensor(sensors.Imu("imu", "ball", rate=77))
            scene.add_sensor(sensors.ForceTorque("hook", "hook", rate=100))
            scene.add_sensor(sensors.Touch("touch", "box"))
            scene.add_sensor(sensors.Range("range", "box", directions=np.eye(3)))
            scene.add_sensor(sensors.Camera("camera", "far", size=(8, 6), rate=20))
        return dal.simulate(scene, 0.5, dt=1 / 240)

    one, other = run(False), run(True)
    assert one.state.y.tobytes() == other.state.y.tobytes()
    assert one.trajectory.state.values.tobytes() == other.trajectory.state.values.tobytes()
    assert not any("sensor" in str(name) for name in one.trajectory.dataset.variables)


@pytest.mark.parametrize("threads", [1, 2])
def test_samples_have_the_same_bits_for_any_number_of_threads(threads):
    scene = resting_box()
    for k in range(4):
        scene.add_body(f"b{k}", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.26 + 0.11 * k))
    scene.add_sensor(sensors.Imu("imu", "b3", noise=0.1, seed=7))
    scene.add_sensor(sensors.ContactForce("force", "b0", noise=0.1))
    read = dal.simulate(scene, 0.2, dt=1 / 240, threads=threads).sensors
    found = b"".join(reading.values.tobytes() for reading in read.values())
    SEEN.setdefault("threads", found)
    assert SEEN["threads"] == found


SEEN: dict[str, bytes] = {}


# Noise ----------------------------------------------------------------------------------------------------------------


def test_noise_has_the_moments_that_were_asked_for():
    """5000 samples a component: mean, deviation and shape of the distribution; no correlation of samples or components."""
    scene = dal.Scene("still", gravity=(0, 0, 0))
    scene.add_body("body", dal.Sphere(0.1), mass=1.0)
    deviation = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 0.0])
    scene.add_sensor(sensors.Imu("imu", "body", rate=1000, noise=deviation, bias=(1, 0, 0, 0, -1, 5), seed=11))
    values = dal.simulate(scene, 5.0, method="rk4", dt=1e-3).sensors["imu"].values
    assert len(values) == 5001
    normal = (values - [1, 0, 0, 0, -1, 5])[:, :5] / deviation[:5]
    assert largest(values[:, 5] - 5.0) == 0.0
    assert largest(normal.mean(axis=0)) < 4 / np.sqrt(5001)
    assert largest(normal.std(axis=0) - 1.0) < 4 / np.sqrt(2 * 5001)
    assert stats.kstest(normal.ravel(), "norm").pvalue > 1e-3
    together = np.corrcoef(np.concatenate([normal[1:], normal[:-1]], axis=1).T) - np.eye(10)
    assert largest(together) < 4.5 / np.sqrt(5000)


def test_noise_follows_from_seed_and_name_alone():
    def values(seed=0, name="gyro", **more):
        scene = pendulum()
        scene.add_sensor(sensors.Gyroscope(name, "bar", noise=1.0, bias_deviation=1.0, seed=seed))
        for other in more:
            scene.add_sensor(sensors.Gyroscope(other, "bar", noise=1.0))
        return dal.simulate(scene, 0.1, method="rk4", dt=1e-3).sensors[name].values

    assert np.array_equal(values(), values(another=True))
    assert largest(values() - values(seed=1)) > 1.0
    assert largest(values() - values(name="other")) > 1.0


def test_a_random_bias_is_constant_in_a_run_and_has_its_deviation():
    scene = dal.Scene("still", gravity=(0, 0, 0))
    scene.add_body("body", dal.Sphere(0.1), mass=1.0)
    for seed in range(300):
        scene.add_sensor(sensors.Gyroscope(f"g{seed}", "body", bias_deviation=0.5, seed=seed))
    read = dal.simulate(scene, 0.02, method="rk4", dt=1e-2).sensors
    offsets = np.array([reading.values for reading in read.values()])
    assert largest(offsets - offsets[:, :1]) == 0.0
    assert abs(offsets[:, 0].std() / 0.5 - 1.0) < 0.1
    assert abs(offsets[:, 0].mean()) < 0.1


def test_quantiles_and_logarithms_are_right_to_rounding():
    p = np.concatenate([np.linspace(1e-6, 1.0 - 1e-6, 10001), 10.0 ** -np.arange(1.0, 16.0)])
    assert largest(quantile(p) - special.ndtri(p)) < 1e-14
    assert largest(logarithm(p) / np.log(p) - 1.0) < 1e-13


# What sees samples ----------------------------------------------------------------------------------------------------


def test_controllers_read_the_sample_of_their_instant():
    """A gyroscope damps a pendulum; what the controller read is what was recorded."""
    scene = pendulum()
    scene.motor("drive", "pivot", effort=0.0)
    scene.add_sensor(sensors.Gyroscope("gyro", "bar", rate=200))
    seen = []

    def controller(run):
        reading = run.sensors["gyro"]
        seen.append((run.time, reading.time, reading.value[1]))
        run.set_motor("drive", effort=-20.0 * reading.value[1])

    run = dal.simulate(scene, 3.0, rtol=1e-7, controller=controller, control_rate=100.0)
    times, recorded = run.sensors["gyro"].times, run.sensors["gyro"].values[:, 1]
    assert len(seen) == 300
    for now, at, value in seen:
        assert abs(now - at) < 1e-12
        assert value == recorded[np.argmin(np.abs(times - at))]
    assert largest(run.state.angular_velocity) < 0.35  # without the controller it swings at 4 rad/s


def test_a_changed_state_is_sampled_again():
    scene = pendulum()
    scene.add_sensor(sensors.FrameState("x", "bar"))
    scene.add_sensor(sensors.Gyroscope("gyro", "bar", noise=0.1))
    run = dal.Simulation(scene)
    assert run.sensors["x"].value.tolist() == [1.0, 0.0, 0.0]
    noise = run.sensors["gyro"].value
    run.state.angular_velocity[0] = (0.0, 2.0, 0.0)
    run.state.velocity[0] = (0.0, 0.0, -2.0)
    run.changed()
    assert largest(run.sensors["gyro"].value - noise - [0, 2, 0]) < 1e-14
    run.advance(0.1)
    assert len(run.sensors["gyro"]) == 11
    assert largest(run.sensors["gyro"].values[0] - noise - [0, 2, 0]) < 1e-14


def test_samples_are_saved_with_the_trajectory(tmp_path):
    scene = resting_box()
    scene.add_sensor(sensors.Imu("imu / left", "box", rate=50, noise=0.1))
    scene.add_sensor(sensors.Range("range", dal.WORLD, position=(0, 0, 1), directions=[(0, 0, -1), (0, 0, 1)], rate=20))
    for image in ("rgb", "depth", "segmentation"):
        scene.add_sensor(sensors.Camera(image, dal.WORLD, image, position=(0, 0, 1), size=(6, 4), rate=10))
    run = dal.simulate(scene, 0.2, dt=1 / 200)
    run.trajectory.save(tmp_path / "run.nc")
    found = dal.Trajectory.load(tmp_path / "run.nc").sensors
    assert list(found) == list(run.sensors)
    for name, array in found.items():
        reading = run.sensors[name]
        assert array.values.tobytes() == reading.values.tobytes()
        assert array.values.dtype == reading.values.dtype
        assert np.array_equal(array["time"].values, reading.times)
    imu = found["imu / left"]
    assert imu.attrs["units"] == "m/s^2, rad/s"
    assert imu.attrs["rate"] == 50.0
    assert imu.sel(component="rate z").shape == (11,)
    assert found["rgb"].dims == ("time", "row", "column", "color")
    assert np.isinf(found["range"].values[0, 1])


def test_a_resumed_run_takes_the_samples_of_one_that_was_never_stopped(tmp_path):
    def scene():
        found = resting_box()
        found.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(0, 0, 0.5))
        found.add_sensor(sensors.Imu("imu", "ball", rate=70, noise=0.1, bias_deviation=0.1))
        found.add_sensor(sensors.Touch("touch", "box", rate=100))
        return found

    whole = dal.simulate(scene(), 0.4, dt=1 / 240)
    dal.simulate(scene(), 0.2, dt=1 / 240).trajectory.save(tmp_path / "half.nc")
    before = dal.Trajectory.load(tmp_path / "half.nc")
    resumed = dal.Simulation(scene(), dt=1 / 240).resume(before)
    for name, reading in resumed.sensors.items():
        assert reading.value.tobytes() == before.sensors[name].values[-1].tobytes()
    resumed.advance(0.2)
    for name, reading in whole.sensors.items():
        first = len(before.sensors[name]) - 1
        assert np.array_equal(resumed.sensors[name].times, reading.times[first:])
        assert np.array_equal(resumed.sensors[name].values, reading.values[first:])


def test_a_restarted_run_begins_its_samples_anew():
    scene = pendulum()
    scene.add_sensor(sensors.Imu("imu", "bar", noise=0.1))
    run = dal.Simulation(scene).advance(0.1)
    first = run.sensors["imu"].values
    run.restart().advance(0.1)
    assert np.array_equal(run.sensors["imu"].values, first)


def test_scenes_with_sensors_are_copied_and_pickled():
    scene = dal.Scene("thrown")
    scene.add_body("body", dal.Box(0.1, 0.2, 0.3), mass=1.0, angular_velocity=(1, 2, 3))
    scene.add_sensor(sensors.Imu("imu", "body", position=(0.1, 0, 0), noise=0.1))
    for other in (copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        one, two = (dal.simulate(each, 0.1, rtol=1e-8).sensors["imu"].values for each in (scene, other))
        assert np.array_equal(one, two)


def test_samples_are_read_only():
    scene = pendulum()
    scene.add_sensor(sensors.Imu("imu", "bar"))
    value = dal.simulate(scene, 0.1, rtol=1e-8).sensors["imu"].value
    with pytest.raises(ValueError, match="read-only"):
        value[0] = G


# Other ways to run ----------------------------------------------------------------------------------------------------


def test_a_sweep_reads_sensors_of_each_member():
    def build(spin=1.0):
        scene = dal.Scene("spinning", gravity=(0, 0, 0))
        scene.add_body("ball", dal.Sphere(0.1), mass=1.0, angular_velocity=(0, 0, spin))
        scene.add_sensor(sensors.Gyroscope("gyro", "ball"))
        return scene

    def last(run):
        return run.sensors["gyro"].value[2]

    found = dal.sweep(build, {"spin": [1.0, 2.0]}, 0.1, how="serial", keep=last, rtol=1e-8)
    assert np.abs(found["last"].values - [1.0, 2.0]).max() < 1e-14


def test_a_rewound_session_keeps_the_samples_until_then():
    from dalembert.simulation.session import Session

    scene = resting_box()
    scene.add_sensor(sensors.Imu("imu", "box", rate=100, noise=0.1))
    session = Session(scene, dt=1 / 200, frame_rate=50.0)
    for _ in range(20):
        session.advance()
    whole = session.run.sensors["imu"].values
    session.rewind(0.2)
    assert len(session.run.sensors["imu"]) == 21
    assert np.array_equal(session.run.sensors["imu"].values, whole[:21])
    session.advance()
    assert len(session.run.sensors["imu"]) == 23
    assert largest(session.run.sensors["imu"].values - whole[:23]) < 1e-3  # the same noise; contacts start anew
