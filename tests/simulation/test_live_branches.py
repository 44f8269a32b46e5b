"""Branches of a run go on with the same bits: copies, pickles, `reset`, and runs whose ledger got more entries on the way."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as dal

from .driven import arm
from .steppers import STEPPERS, tumbling_boxes

LAMBDAS = {"driven arm", "events"}


def frames(run, since=0.0):
    """States at times later than `since`, without the further entries of the ledger."""
    found = run.trajectory
    size = run.model.size - (2 if run._wrenches is not None else 0)
    states = found.state.values[found.time.values > since + 1e-9]
    return np.delete(states, [states.shape[1] - 16, states.shape[1] - 15], axis=1) if states.shape[1] > size else states


@pytest.mark.parametrize("name", STEPPERS)
def test_a_copy_goes_on_with_the_same_bits_and_leaves_the_original_alone(name):
    build, settings = STEPPERS[name]
    run = dal.Simulation(build(), **settings).advance(0.0777)
    twin = run.copy()
    assert twin.time == run.time and twin.state.y.tobytes() == run.state.y.tobytes()
    assert len(twin.recorder) == len(run.recorder)
    twin.advance(0.1111)
    before = run.state.y.copy()
    alone = dal.Simulation(build(), **settings).advance(0.0777).advance(0.1111)
    assert np.abs(twin.state.y - before).max() > 1e-9
    assert run.state.y.tobytes() == before.tobytes()
    np.testing.assert_array_equal(frames(twin), frames(alone))
    run.advance(0.1111)
    np.testing.assert_array_equal(frames(run), frames(alone))
    assert run.report.steps == twin.report.steps == alone.report.steps
    assert twin.report.energy_residual == alone.report.energy_residual


def idle(run):
    """A force of zero: further entries of the ledger, and nothing else."""
    name = run.model.body_names[0]
    run[run.model.scene.bodies[name]].apply_force((0.0, 0.0, 0.0))
    return run


def takes_forces(name):
    build, settings = STEPPERS[name]
    return bool(build().bodies) and not callable(settings.get("coordinates"))


@pytest.mark.parametrize("name", [name for name in STEPPERS if takes_forces(name)])
def test_further_entries_of_the_ledger_in_the_middle_of_a_run_keep_its_bits(name):
    build, settings = STEPPERS[name]
    plain = dal.Simulation(build(), **settings).advance(0.0777).advance(0.1111)
    longer = idle(dal.Simulation(build(), **settings).advance(0.0777)).advance(0.1111)
    assert (
        longer.model.size == plain.model.size + 2
        and longer.trajectory.work.shape[1] == len(plain.model.force_names) + 2
    )
    np.testing.assert_array_equal(frames(longer), frames(plain))
    assert longer.report.steps == plain.report.steps
    assert set(longer.report.work) - set(plain.report.work) == {"applied forces", "changes of the state"}


def test_coordinates_of_the_users_refuse_forces_on_bodies_by_name():
    name = next(name for name in STEPPERS if callable(STEPPERS[name][1].get("coordinates")))
    build, settings = STEPPERS[name]
    run = dal.Simulation(build(), **settings)
    with pytest.raises(ValueError, match=r"generalized coordinates.*use coordinates='maximal' or 'joint'"):
        run[next(iter(run.model.scene.bodies.values()))].apply_force((1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        (tumbling_boxes, {"dt": 1 / 240}),
        (arm, {"method": "rk4", "dt": 0.01}),
        (arm, {"coordinates": "joint", "rtol": 1e-8}),
    ],
)
def test_a_pickle_goes_on_with_the_same_bits(build, settings):
    run = dal.Simulation(build(), **settings).step(25)
    first = run.model.scene.bodies[run.model.body_names[0]]
    run[first].apply_force((0.0, 3.0, 0.0))
    run.step(2)
    again = pickle.loads(pickle.dumps(run))
    assert again.time == run.time and again.recorder.frames["time"] == run.recorder.frames["time"]
    for each in (run, again):
        each[first.name].apply_force((0.0, 3.0, 0.0))
        each.step(20)
    assert again.state.y.tobytes() == run.state.y.tobytes()
    assert again.report.work == run.report.work and again.report.steps == run.report.steps
    assert copy.deepcopy(run).state.y.tobytes() == run.state.y.tobytes()


def test_a_copy_of_a_copy_with_forces_that_act_goes_on_with_the_same_bits():
    """A force that was applied and has not acted yet acts in the branch too."""
    run = dal.Simulation(tumbling_boxes(), dt=1 / 240).step(10)
    run.body("box 1").apply_force((3.0, 1.0, 0.0), at=(0.1, 0.2, 0.5))
    twin = copy.copy(run.copy())
    run.step(7)
    twin.step(7)
    assert twin.state.y.tobytes() == run.state.y.tobytes()
    assert run.report.work["applied forces"] != 0.0
    twin["box 1"].velocity = (9.0, 0.0, 0.0)
    assert np.abs(run["box 1"].velocity).max() < 8.0  # nothing is shared


def test_a_restart_may_prepare_the_state_by_handles():
    run = dal.Simulation(tumbling_boxes(), dt=1 / 240).step(10)

    def throw(run):
        run["box 0"].velocity = (1.0, 0.0, 2.0)
        run["box 1"].position = (0.0, 3.0, 1.0)

    run.restart(throw)
    first = run.trajectory
    np.testing.assert_allclose(first.position.values[0, 1], (0.0, 3.0, 1.0))
    np.testing.assert_allclose(run["box 0"].velocity, (1.0, 0.0, 2.0), atol=1e-12)
    before = run.step(50).state.y.copy()
    assert run.report.integration_error < 1e-9
    run.restart(throw)
    assert len(run.recorder) == 1 and run.step(50).state.y.tobytes() == before.tobytes()
    assert run.reset().model.size == dal.Simulation(tumbling_boxes(), dt=1 / 240).model.size


@pytest.mark.parametrize("name", ["contact", "dormand_prince", "rk4", "joint coordinates"])
def test_reset_returns_to_the_bits_of_a_new_simulation(name):
    build, settings = STEPPERS[name]
    new = dal.Simulation(build(), **settings)
    run = dal.Simulation(build(), **settings).step(9)
    idle(run)
    handle = run[next(iter(run.model.scene.bodies.values()))]
    handle.apply_impulse((1.0, 0.0, 0.0))
    run.step(5).reset()
    assert run.time == 0.0 and run.state.y.tobytes() == new.state.y.tobytes() and len(run.recorder) == 1
    assert not run.report.work.get("applied forces")
    np.testing.assert_array_equal(frames(run.advance(0.1)), frames(new.advance(0.1)))


def test_a_run_with_forces_is_saved_and_resumed_with_the_same_bits(tmp_path):
    """The forces come from a controller, which is part of the run: its work is in the file, and a replay repeats it."""

    def push(run):
        run["box 0"].apply_force((2.0 if run.time < 0.1 else -1.0, 0.0, 0.5), at=(0.0, 0.1, 0.3))

    settings = {"dt": 1 / 240, "controller": push, "control_rate": 30.0}
    whole = dal.Simulation(tumbling_boxes(), **settings).advance(0.15).advance(0.1)
    dal.Simulation(tumbling_boxes(), **settings).advance(0.15).trajectory.save(tmp_path / "half.nc")
    again = dal.Simulation(tumbling_boxes(), **settings).resume(dal.Trajectory.load(tmp_path / "half.nc")).advance(0.1)
    assert again.state.y.tobytes() == whole.state.y.tobytes()
    assert whole.report.work["applied forces"] != 0.0
    assert dal.replay(whole.trajectory, scene=tumbling_boxes(), controller=push).same
    plain = dal.Simulation(tumbling_boxes(), dt=1 / 240)
    plain.resume(dal.Simulation(tumbling_boxes(), dt=1 / 240).advance(0.1).trajectory)  # without the entries
    assert plain.time == pytest.approx(0.1, abs=0.005)
