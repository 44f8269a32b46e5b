"""A run that was saved and goes on has the bits of one that was never stopped; files that cannot be are refused."""

import json
import warnings

import numpy as np
import pytest

import dalembert as dal
from dalembert.contact.time_stepping import ContactStepper
from dalembert.core import jit
from dalembert.core.tables import AddressTable, address_of
from dalembert.simulation.trajectory import TrajectoryError

from .driven import arm
from .motions import double_pendulum
from .steppers import STEPPERS, driven_arm, tumbling_boxes

SINCE_FRAME = ("penetration", "contact_residual", "solver_iterations", "solver_residual")  # of the time before a frame
FROM_START = ("balance", "linear_impulse_balance", "angular_impulse_balance")  # counted from the first frame


def in_two_parts(build, settings, first, second, path, **more):
    """(the frames of a run from the end of its first part on, those of one that was saved there and resumed)."""
    whole = dal.Simulation(build(), **settings, **more).advance(first)
    frames = len(whole.recorder)
    whole = whole.advance(second).trajectory.dataset.isel(time=slice(frames - 1, None))
    dal.Simulation(build(), **settings, **more).advance(first).trajectory.save(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the saved run has its last state alone")
        again = dal.Simulation(build(), **settings, **more).resume(dal.Trajectory.load(path)).advance(second)
    return whole, again


def assert_same_bits(whole, again):
    found = again.trajectory.dataset
    assert whole.time.values.tobytes() == found.time.values.tobytes()
    for name in whole.data_vars:
        if name.startswith(("checkpoint", "start_checkpoint", "contact_point_")) or name in FROM_START:
            continue
        since = int(name in SINCE_FRAME)
        np.testing.assert_array_equal(found[name].values[since:], whole[name].values[since:], err_msg=name)
    if "contact_point_count" in whole:
        np.testing.assert_array_equal(dal.Trajectory(whole).recorded_points.rows, again.trajectory.recorded_points.rows)
    assert np.abs(found.state.values[-1] - found.state.values[0]).max() > 1e-9  # it moved


@pytest.mark.parametrize("name", STEPPERS)
def test_a_resumed_run_has_the_bits_of_one_that_was_never_stopped(name, tmp_path):
    build, settings = STEPPERS[name]
    whole, again = in_two_parts(build, settings, 0.1, 0.15, tmp_path / "half.nc")
    assert_same_bits(whole, again)
    lost = {key: value for key, value in settings.items() if callable(value)}
    replayed = dal.replay(again.trajectory, scene=build(), **lost)
    assert replayed.same, str(replayed)


def assert_addresses(addresses, table):
    """An address table is of the arrays that a table has now."""
    for found, value in zip(addresses[::2], table, strict=True):
        if isinstance(value, tuple):
            (nested,) = (part for part in addresses.parts if isinstance(part, AddressTable) and part.address == found)
            assert_addresses(nested, value)
        else:
            assert found == address_of(value)


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    "name", [name for name, (_, settings) in STEPPERS.items() if settings.get("method") == "time_stepping"]
)
def test_compiled_code_has_the_tables_of_a_resumed_run(name, tmp_path):
    build, settings = STEPPERS[name]
    whole = dal.Simulation(build(), **settings).advance(0.1)
    whole.trajectory.save(tmp_path / "half.nc")
    again = dal.Simulation(build(), **settings).resume(dal.Trajectory.load(tmp_path / "half.nc"))
    for run in (whole, again):
        steppers = [
            driver
            for driver in (run._driver, getattr(run._driver, "bodies", None))
            if isinstance(driver, ContactStepper)
        ]
        for driver in steppers:
            tables, addresses, workspace = driver._addresses
            assert_addresses(workspace, driver._workspace)
            assert tables[0].callbacks.workspace[0] == workspace.ctypes.data
            assert tables[0].collision is driver.collision and tables[0].stepping is driver._tables
            for table, address in zip(tables, addresses, strict=True):
                assert_addresses(address, table)


@pytest.mark.parametrize("name", ["dormand_prince", "rk4", "contact", "joint coordinates", "bdf2", "events of contact"])
def test_parts_that_end_between_frames_and_steps(name, tmp_path):
    build, settings = STEPPERS[name]
    assert_same_bits(*in_two_parts(build, settings, 0.0777, 0.1111, tmp_path / "half.nc"))


@pytest.mark.parametrize("name", [name for name in STEPPERS if "dt" in STEPPERS[name][1]])
def test_fixed_steps_have_the_same_bits_however_a_run_is_divided(name):
    build, settings = STEPPERS[name]
    whole = dal.Simulation(build(), **settings).advance(0.2)
    parts = dal.Simulation(build(), **settings)
    for duration in (0.05, 0.0123, 0.1, 0.0377):
        parts.advance(duration)
    assert parts.time == whole.time and parts.state.y.tobytes() == whole.state.y.tobytes()


def test_controllers_motors_and_what_was_let_go_go_on(tmp_path):
    calls = []

    def controller(run):
        calls.append(run.time)
        run.set_motor("motor 0", effort=np.sin(30.0 * run.time))

    settings = {"controller": controller, "control_rate": 75.0}
    for more in ({}, {"method": "rk4", "dt": 1 / 300}, {"coordinates": "joint"}):
        calls.clear()
        whole, again = in_two_parts(arm, more, 0.1, 0.15, tmp_path / "half.nc", **settings)
        assert_same_bits(whole, again)
        np.testing.assert_allclose(calls[-11:], np.arange(8, 19) / 75.0, atol=1e-12)
    run = dal.Simulation(arm()).advance(0.05)
    run.set_motor("motor 1", effort=2.0)
    run.release("motor 2")
    run.trajectory.save(tmp_path / "set.nc")
    again = dal.Simulation(arm()).resume(dal.Trajectory.load(tmp_path / "set.nc"))
    assert again.efforts["motor 1"] == 2.0 and set(again.released) == {"motor 2"}
    assert again.advance(0.05).state.y.tobytes() == run.advance(0.05).state.y.tobytes()


def test_a_run_that_failed_or_was_interrupted_goes_on_from_its_last_frame(tmp_path):
    def watch(run):
        if run.time > 0.1:
            raise KeyboardInterrupt

    run = dal.Simulation(driven_arm())
    with pytest.raises(KeyboardInterrupt):
        run.advance(1.0, progress=watch)
    run.trajectory.save(tmp_path / "part.nc")
    again = dal.Simulation(driven_arm()).resume(dal.Trajectory.load(tmp_path / "part.nc"))
    now = again.time
    again.advance(0.1)
    whole = dal.Simulation(driven_arm()).advance(0.3).trajectory.dataset
    late = whole.isel(time=np.searchsorted(whole.time.values, now - 1e-9))
    assert again.recorder.frames["state"][0].tobytes() == late.state.values.tobytes()
    k = int(np.searchsorted(whole.time.values, again.recorder.frames["time"][-1]))
    assert again.state.y.tobytes() == whole.state.values[k].tobytes()


def test_a_file_without_a_checkpoint_is_resumed_with_a_warning():
    half = dal.Simulation(driven_arm()).advance(0.1).trajectory
    bare = half.dataset.drop_vars(["checkpoint_values", "checkpoint_counts"])
    del bare.attrs["checkpoint_json"]
    with pytest.warns(dal.SimulationWarning, match="last state alone"):
        run = dal.Simulation(driven_arm()).resume(dal.Trajectory(bare))
    assert "last state alone" in run.report.warnings[0]
    earlier = dal.Trajectory(half.dataset.isel(time=slice(0, 3)))
    with pytest.warns(dal.SimulationWarning, match="last state alone"):
        assert dal.Simulation(driven_arm()).resume(earlier).time == earlier.times[-1]


def test_other_settings_go_on_from_the_state_without_a_word():
    half = dal.Simulation(double_pendulum(), method="rk4", dt=1e-3).advance(0.1).trajectory
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = dal.Simulation(double_pendulum(), method="rk4", dt=5e-4).resume(half).advance(0.1)
    assert run.report.steps == 200 and run.time == pytest.approx(0.2)


def damaged(change):
    dataset = dal.Simulation(tumbling_boxes(), dt=1 / 300).advance(0.2).trajectory.dataset.copy(deep=True)
    text = json.loads(dataset.attrs["checkpoint_json"])
    whole = {}
    at = 0
    for name, length in text["counts"].items():
        whole[name] = slice(at, at + length)
        at += length
    change(dataset, text, whole)
    dataset.attrs["checkpoint_json"] = json.dumps(text)
    return dal.Trajectory(dataset)


def put(name, value):
    def change(dataset, text, whole):
        assert whole[name].stop > whole[name].start
        counts = dataset["checkpoint_counts"].values.copy()
        counts[whole[name]] = value
        dataset["checkpoint_counts"] = (("checkpoint_counts",), counts)

    return change


def rewrite(key, value):
    def change(dataset, text, whole):
        text[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("stepper.collision.order", 0),
        put("stepper.collision.order", 10**6),
        put("stepper.collision.axes", 1),
        put("stepper.collision.pairs.a", -1),
        put("stepper.collision.pairs.b", 10**9),
        put("stepper.collision.pairs.points", 5),
        put("stepper.collision.pairs.feature_a", 10**12),
        put("stepper.collision.contacts.a", 77),
        put("stepper.report.steps", -1),
        put("stepper.passes", -(2**62)),
        rewrite("room", {"pairs": 10**8, "contacts": 0}),
        rewrite("room", {}),
        rewrite("counts", {}),
        rewrite("facts", None),
        rewrite("facts", {"settings": {}}),
        lambda dataset, text, whole: text["facts"].update(asked=[float("nan"), 0.0]),
        lambda dataset, text, whole: text["facts"].update(released={"nothing": 1.0}),
        lambda dataset, text, whole: text["facts"].update(spent=3),
    ],
)
def test_checkpoints_that_cannot_be_are_refused(change):
    trajectory = damaged(change)
    with pytest.raises(TrajectoryError):
        dal.Simulation(tumbling_boxes(), dt=1 / 300).resume(trajectory)


def hinged(**changed):
    """A body on a hinge, with a motor, a load and ground; `changed` are its constants that differ."""
    own = {"mass": 0.5, "radius": 0.1, "at": (0.0, 0.0, 0.0), "gravity": -9.81, "name": "bob", "effort": 0.1, "load": 0.2,
           "friction": 0.5, "ground": -2.0, "rule": 0.3, "speed": 0.0, "color": "red", "event": 9.0} | changed  # fmt: skip
    scene = dal.Scene("hinged", gravity=(0.0, 0.0, own["gravity"]))
    body = scene.add_body(
        own["name"], dal.Sphere(own["radius"]), mass=own["mass"], position=(0.5, 0.0, 0.0), inertia=0.01 * np.eye(3),
        velocity=(0.0, 0.0, -0.5 * own["speed"]), angular_velocity=(0.0, own["speed"], 0.0), color=own["color"],
        material=dal.Material(own["friction"]),
    )  # fmt: skip
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0.0, 0.0, own["ground"]))
    scene.set_contact(body, "ground", restitution=own["rule"])
    scene.hinge("pin", dal.WORLD, body, at=own["at"], axis=(0.0, 1.0, 0.0))
    scene.motor("motor", "pin", effort=own["effort"])
    scene.external_force("load", body, force=(0.0, 0.0, own["load"]))
    if own["event"]:
        scene.event("late", lambda t, y: t - own["event"], stop=True)
    return scene


@pytest.mark.parametrize("way", [{"method": "rk4", "dt": 1e-2}, {"coordinates": "joint", "dt": 1e-2}])
@pytest.mark.parametrize(
    "changed, said",
    [
        ({"mass": 5.0}, "mass of body 'bob' is 0.5 there, and 5 here"),
        ({"radius": 0.2}, "shape of body 'bob' is"),
        ({"friction": 0.6}, "material of body 'bob' is"),
        ({"at": (0.3, 0.0, 0.0)}, r"at of joint 'pin' is \(0, 0, 0\) there, and \(0.3, 0, 0\) here"),
        ({"gravity": -1.6}, r"gravity is \(0, 0, -9.81\) there, and \(0, 0, -1.6\) here"),
        ({"gravity": 0.0}, "gravity is"),
        ({"name": "other"}, "it has body 'bob', and this scene does not"),
        ({"effort": 0.5}, "rest of force 'motor' is 0.1 there, and 0.5 here"),
        ({"load": 0.0}, "vector of force 'load' is"),
        ({"event": None}, "events is True there, and False here"),
        ({"ground": -3.0}, "position of obstacle 'ground' is"),
        ({"rule": 0.7}, "restitution of contact rule 'bob – ground' is 0.3 there, and 0.7 here"),
    ],
)
def test_a_run_of_another_scene_is_refused(changed, said, way, tmp_path):
    """By what differs first: it would go on with the gravity and loads of the old scene and the masses of the new one."""
    dal.Simulation(hinged(), **way).advance(0.05).trajectory.save(tmp_path / "run.nc")
    saved = dal.Trajectory.load(tmp_path / "run.nc")
    with pytest.raises(ValueError, match=f"the saved run is of another scene: {said}.*resume the same scene, or begin"):
        dal.Simulation(hinged(**changed), **way).resume(saved)


def test_what_a_run_may_change_is_no_other_scene(tmp_path):
    """Its motors, what it has released, its state; colours, velocities at the start, times of events, sensors."""
    run = dal.Simulation(hinged(), method="rk4", dt=1e-2).advance(0.05)
    run.set_motor("motor", effort=2.0)
    run.release("load")
    run.advance(0.05)
    run.trajectory.save(tmp_path / "run.nc")
    scene = hinged(speed=1.0, color="blue", event=8.0)
    scene.add_sensor(dal.sensors.Imu("imu", "bob"))
    again = dal.Simulation(scene, method="rk4", dt=1e-2).resume(dal.Trajectory.load(tmp_path / "run.nc"))
    assert again.efforts["motor"] == 2.0 and set(again.released) == {"load"}
    assert again.advance(0.1).state.y.tobytes() == run.advance(0.1).state.y.tobytes()


def test_a_scene_that_differs_by_rounding_is_the_same():
    """As another processor may build it."""
    run = dal.Simulation(hinged(), method="rk4", dt=1e-2).advance(0.05)
    again = dal.Simulation(hinged(mass=0.5 * (1.0 + 1e-15), at=(0.0, 0.0, 1e-17)), method="rk4", dt=1e-2)
    assert again.resume(run.trajectory).time == run.time


@pytest.mark.parametrize("changed, said", [({}, None), ({"name": "other"}, "it has body 'bob'")])
def test_a_file_of_an_older_version_tells_its_scene_by_the_names_of_bodies(changed, said):
    old = dal.Simulation(hinged(), method="rk4", dt=1e-2).advance(0.05).trajectory
    del old.dataset.attrs["constants_json"]
    run = dal.Simulation(hinged(**changed), method="rk4", dt=1e-2)
    if said is None:
        assert run.resume(old).time == pytest.approx(0.05)
    else:
        with pytest.raises(ValueError, match=said):
            run.resume(old)


@pytest.mark.parametrize(
    "text", ["{}", '{"scene": 3}', '{"scene": {"": {"gravity": [1e400, NaN]}}}', '{"body": {"bob": 1}}']
)
def test_constants_that_cannot_be_are_another_scene(text):
    run = dal.Simulation(hinged(), method="rk4", dt=1e-2).advance(0.05)
    saved = run.trajectory
    saved.dataset.attrs["constants_json"] = text
    with pytest.raises(ValueError, match="another scene"):
        dal.Simulation(hinged(), method="rk4", dt=1e-2).resume(saved)
