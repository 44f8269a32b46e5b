"""How members end: one that fails stops no other; what cannot run is refused; what is recorded is labelled."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.gallery import bouncing_ball

from .scenes import START, braced, hanging_particles, pendulum, spring_and_ball, star

STIFF = {"spring.stiffness": [50.0, 1e12, 60.0]}
FIXED = {"method": "rk4", "dt": 0.05, "frame_rate": 20.0}


def test_a_member_that_fails_keeps_what_it_recorded_and_stops_no_other():
    batch = dal.run_batch(spring_and_ball(), 2.0, vary=STIFF, threads=2, **FIXED)
    assert batch.failed.tolist() == [1] and batch.ok.tolist() == [True, False, True]
    kept = batch.frames[1]
    assert 0 < kept < 41 and batch.end_time[1] < 2.0
    assert np.isfinite(batch.state[1, :kept]).all() and np.isnan(batch.state[1, kept:]).all()
    assert np.isnan(batch.kinetic[1, kept:]).all() and np.isnan(batch.joint_error[1, kept:]).all()
    assert np.isfinite(batch.state[[0, 2]]).all()
    alone = dal.run_batch(spring_and_ball(), 2.0, vary={"spring.stiffness": [60.0]}, **FIXED)
    assert np.array_equal(alone.state[0], batch.state[2])
    assert "member 1: the state or its derivative became infinite" in batch.reason(1)
    assert "1 of 3" in str(batch) and "1 failed" in repr(batch)


@pytest.mark.filterwarnings("ignore:method 'rk4'")  # of an unstable step, which ends the run
def test_the_error_of_a_member_is_that_of_its_run():
    batch = dal.run_batch(spring_and_ball(), 2.0, vary=STIFF, **FIXED)
    run = dal.Simulation(spring_and_ball(stiffness=1e12), **FIXED)
    with pytest.raises(dal.SimulationError) as raised:
        run.advance(2.0)
    assert str(batch.error(1)) == str(raised.value)
    assert len(run.recorder) == batch.frames[1]
    assert batch.error(0) is None


def test_a_member_that_is_open_at_the_start_is_told():
    vary = {"lower.position": [(1.5, 0.0, 0.0), (1.6, 0.0, 0.0)]}
    batch = dal.run_batch(pendulum(), 0.1, vary=vary)
    assert batch.ok.tolist() == [True, False] and batch.frames.tolist() == [7, 0]
    assert "open at the start" in batch.reason(1)
    assert "joint 'elbow' is open at the start by 0.1 m" in str(batch.error(1))
    apart = dal.run_batch(pendulum(), 0.1, vary={"lower.velocity": [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]})
    assert "opening velocity" in apart.reason(1) and "'elbow' moves apart" in str(apart.error(1))
    closed = dal.run_batch(pendulum(), 0.1, vary=vary, assemble=True)
    assert closed.ok.all() and closed.joint_error[1, 0] < 1e-10


def test_a_member_that_does_not_fit_its_joints_is_told_in_joint_coordinates():
    settings = {"coordinates": "joint", "method": "rk4", "dt": 1e-3}
    vary = {"lower.position": [(1.5, 0.0, 0.0), (1.6, 0.0, 0.0)]}
    batch = dal.run_batch(pendulum(), 0.1, vary=vary, **settings)
    assert batch.ok.tolist() == [True, False] and batch.frames.tolist() == [7, 0]
    assert "open at the start" in batch.reason(1)
    assert "joint 'elbow' is open at the start by 0.1 m" in str(batch.error(1))
    for name, value in (("lower.velocity", (1.0, 0.0, 0.0)), ("lower.angular_velocity", (1.0, 0.0, 0.0))):
        apart = dal.run_batch(pendulum(), 0.1, vary={name: [(0.0, 0.0, 0.0), value]}, **settings)
        assert apart.ok.tolist() == [True, False]
        assert "opening velocity" in apart.reason(1) and "'elbow' moves apart" in str(apart.error(1))
    closed = dal.run_batch(pendulum(), 0.1, vary=vary, assemble=True, **settings)
    assert closed.ok.all()


def test_members_of_another_structure_are_refused():
    for other, says in (
        (
            spring_and_ball(),
            "member 1 has a different structure from the first: body 'brick' where that has body 'upper'",
        ),
        (_without_gravity(), "member 1 has a different structure from the first: its table system.forces has shape"),
        (_of_ball(), "member 1 .*: joint 'elbow' \\(ball\\) .* where that has joint 'elbow' \\(hinge\\)"),
    ):
        with pytest.raises(ValueError, match=says):
            dal.run_batch([pendulum(), other], 0.1)
    with pytest.raises(ValueError, match=r"member 1 .*: joint 'joint 0' .* where that has body 'arm 4'"):
        dal.run_batch([star(5), star(4)], 0.1)
    with pytest.raises(ValueError, match="group of particles 'chain' of 4"):
        longer = dal.Scene("longer")
        longer.add_particles("chain", np.zeros((4, 3)) + np.arange(4)[:, None], mass=1.0)
        dal.run_batch([hanging_particles(), longer], 0.1, method="rk4", dt=0.01)


def _without_gravity():
    scene = pendulum()
    other = dal.Scene("floating", gravity=(0.0, 0.0, 0.0))
    upper, lower = (other.add_body(b.name, b.shape, mass=b.mass, position=b.position) for b in scene.bodies.values())
    for joint, ends in zip(scene.joints.values(), ((dal.WORLD, upper), (upper, lower)), strict=True):
        other.hinge(joint.name, *ends, at=joint.at, axis=joint.axis)
    return other


def _of_ball():
    scene = dal.Scene("ball instead")
    upper = scene.add_body("upper", dal.Box(1, 0.05, 0.1), mass=1.0, position=(0.5, 0, 0))
    lower = scene.add_body("lower", dal.Box(1, 0.05, 0.1), mass=1.0, position=(1.5, 0, 0))
    scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    scene.ball("elbow", upper, lower, at=(1, 0, 0))
    return scene


def test_what_batches_cannot_run_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"'time_stepping' cannot run in a batch.*one by one with simulate"):
        dal.run_batch([bouncing_ball.build()], 0.1, method="time_stepping", dt=0.01)
    with pytest.raises(ValueError, match="'dormand_prince' cannot run in a batch"):
        dal.run_batch([bouncing_ball.build()], 0.1, method="dormand_prince")
    with pytest.raises(ValueError, match="cannot run in a batch"):
        dal.run_batch([hanging_particles()], 0.1, method="implicit_euler", dt=0.01)
    scene = pendulum()
    scene.event("down", lambda t, y: y[2], stop=True)
    with pytest.raises(ValueError, match="has the event 'down'"):
        dal.run_batch([scene], 0.1)
    with pytest.raises(ValueError, match="constraint_solver='ldl' only"):
        dal.run_batch([pendulum()], 0.1, constraint_solver="minres")
    with pytest.raises(ValueError, match="controller"):
        dal.run_batch([pendulum()], 0.1, controller=lambda run: None, control_rate=10.0)
    with pytest.raises(ValueError, match="there are no scenes"):
        dal.run_batch([], 0.1)
    with pytest.raises(ValueError, match="vary changes numbers of one scene"):
        dal.run_batch([pendulum()], 0.1, vary=START)
    with pytest.raises(ValueError, match="threads is 0"):
        dal.run_batch([pendulum()], 0.1, threads=0)
    with pytest.raises(ValueError, match="duration"):
        dal.run_batch([pendulum()], -1.0)
    with pytest.raises(MemoryError, match="fewer frames per second"):
        dal.run_batch(pendulum(), 1e5, vary={"gravity": np.zeros((100_000, 3))})


def test_ctrl_c_ends_a_batch_cleanly():
    def interrupt(begun, members):
        raise KeyboardInterrupt

    vary = {"shoulder.position": np.linspace(0.0, 1.0, 300)}
    batch = dal.run_batch(pendulum(), 100.0, vary=vary, progress=interrupt, frame_rate=10.0, rtol=1e-10)
    assert batch.interrupted and not batch.ok.all()
    assert "interrupted" in batch.reason(299)
    whole = dal.run_batch(pendulum(), 1.0, vary={"shoulder.position": [0.0]}, frame_rate=10.0, rtol=1e-10)
    frames = min(int(batch.frames[0]), 10)
    assert np.array_equal(batch.state[0, :frames], whole.state[0, :frames])


def test_progress_is_told():
    told = []
    dal.run_batch(pendulum(), 0.1, vary=START, progress=lambda begun, members: told.append((begun, members)))
    assert told[-1] == (4, 4)


def test_arrays_are_labelled():
    batch = dal.run_batch(pendulum(), 0.5, vary=START, coordinates="joint")
    data = batch.dataset
    assert data.position.dims == ("member", "time", "body", "xyz") and data.position.shape == (4, 31, 2, 3)
    assert data.position.units == "m" and data.sel(body="lower").position.shape == (4, 31, 3)
    assert np.array_equal(data.time.values, batch.times) and data.steps.dims == ("member",)
    assert np.array_equal(data.balance.max(axis=1), batch.balance.max(axis=1))
    assert len(batch) == 4 and np.shares_memory(batch.position, batch.state)
    assert (batch.energy_residual < 1e-5).all() and (batch.worst_joint_error == 0.0).all()
    with pytest.raises(IndexError, match="no member 4; there are 4"):
        batch.alone(4)


def test_particles_are_labelled():
    batch = dal.run_batch([hanging_particles()] * 2, 0.2, method="rk4", dt=1e-3)
    assert batch.particle_position.shape == (2, 13, 3, 3)
    assert batch.position.shape == (2, 13, 0, 3) and batch.dataset.particle_position.shape == (2, 13, 3, 3)


def test_members_of_a_mechanism_whose_joints_depend_on_each_other_in_some_only_are_told():
    with pytest.raises(ValueError, match="member 1: its constraints are independent at the start"):
        dal.run_batch([braced(0.0), braced(0.3)], 0.1)
    batch = dal.run_batch([braced(0.3), braced(0.0)], 0.1)
    assert batch.ok.tolist() == [True, False] and "its constraints are redundant" in batch.reason(1)


def test_the_audit_of_a_member_is_that_of_its_run_alone():
    batch = dal.run_batch(spring_and_ball(), 0.5, vary={"spring.damping": [0.1, 0.4]})
    made = batch.alone(1).advance(0.5).recorder.ledger()
    found = batch.ledger(1)
    assert set(found) == set(made) and all(np.array_equal(found[name], made[name]) for name in made)
    assert np.abs(found["work"][-1]).max() > 0.0
