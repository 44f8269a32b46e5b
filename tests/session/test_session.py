"""A session: without a pull the run keeps its bits; pulls and changes are in the ledger, and a session can be rewound."""

import numpy as np
import pytest
from stones import stones

import dalembert as dal
from dalembert.cli.live_session import load_smooth
from dalembert.simulation.session import Session
from dalembert.view.drawing import parse_scene, thinned_scene
from dalembert.view.frames import Frames


def pendulum():
    """Two links on ball joints."""
    scene = dal.Scene("chain")
    upper = scene.add_body("upper", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5), angular_velocity=(0, 1, 0),
                           velocity=(-0.5, 0, 0))  # fmt: skip
    lower = scene.add_body("lower", dal.Sphere(0.1), mass=2.0, position=(0, 0, -1.0), velocity=(-1.0, 0, 0))
    scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    scene.ball("elbow", upper, lower, at=(0, 0, -1.0))
    return scene


CASES = {
    "integration": (pendulum, {"method": "dop853", "rtol": 1e-10}),
    "fixed steps": (pendulum, {"method": "rk4", "dt": 1e-3}),
    "joint coordinates": (pendulum, {"method": "dop853", "rtol": 1e-10, "coordinates": "joint"}),
    "time steps": (stones, {"dt": 1 / 240}),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def advanced(session, frames):
    for _ in range(frames):
        session.advance()
    return session


def works(session):
    run = session.run
    return dict(zip(run.model.force_names, run.recorder.ledger()["work"][-1].tolist(), strict=True))


def test_an_empty_hand_leaves_the_run_alone_to_the_last_bit(case):
    make, settings = case
    session = advanced(Session(make(), **settings), 20)
    plain = dal.Simulation(make(), **settings)
    for _ in range(20):
        plain.advance_frame()
    assert session.time == plain.time
    np.testing.assert_array_equal(session.run.state.position, plain.state.position)
    np.testing.assert_array_equal(session.run.state.momentum, plain.state.momentum)


def test_the_work_of_the_hand_is_in_the_audit(case):
    make, settings = case
    session = Session(make(), **settings)
    body = session.run.model.body_names[-1]
    start = session.run.state.position[-1].copy()
    session.grab(body, start + (0.02, 0.03, 0.0))
    for i in range(40):
        session.move_hand(start + (0.02 * i, 0.0, 0.015 * i))
        session.advance()
    assert session.run.state.position[-1][2] > start[2] + 0.1  # it was lifted
    work = works(session)["grab"]
    assert work > 0.5
    balance = np.abs(session.run.recorder.ledger()["balance"]).max()
    steps = (
        settings.get("method") is None
    )  # of contact: their books of forces that follow velocities are of second order
    assert balance < (1e-3 if steps else 2e-6) * work
    session.let_go()
    advanced(session, 20)
    assert works(session)["grab"] == work  # nothing more is booked once it has let go
    assert np.abs(session.run.recorder.ledger()["balance"]).max() < (1e-3 if steps else 2e-6) * work


@pytest.mark.parametrize("dt", [1 / 240, 1 / 960])
def test_in_time_steps_the_work_on_what_is_held_is_balanced_to_rounding(dt):
    session = Session(stones(), dt=dt)
    start = session.run.state.position[1].copy()
    session.grab("stone 1", start)
    for i in range(30):
        session.move_hand(start + (0.02 * i, 0.0, 0.015 * i))
        session.advance()
    assert np.abs(session.run.recorder.ledger()["balance"]).max() < 1e-12


def test_a_hand_holds_up_what_it_holds():
    session = Session(stones(), dt=1 / 240)
    session.grab("stone 1", session.run.state.position[1])
    target = np.array([0.3, -0.2, 0.8])
    session.move_hand(target)
    advanced(session, 180)
    sag = 9.81 / 12.0**2  # of a mass on a spring of 12 rad/s
    np.testing.assert_allclose(session.run.state.position[1], target - (0, 0, sag), atol=1e-3)
    np.testing.assert_allclose(session.run.state.velocity[1], 0.0, atol=1e-2)


def test_what_a_change_of_gravity_adds_is_booked(case):
    make, settings = case
    session = advanced(Session(make(), **settings), 5)
    session.set_gravity((1.0, 0.0, -1.62))
    advanced(session, 10)
    assert abs(works(session)["changed parameters"]) > 0.1
    ledger = session.run.recorder.ledger()
    assert np.abs(ledger["balance"] + ledger["projection_loss"]).max() < 1e-6


def test_it_goes_on_from_an_instant_in_the_past_as_it_did_from_there(case):
    make, settings = case
    session = advanced(Session(make(), **settings), 12)
    frames = session.run.recorder.frames
    times, states = list(frames["time"]), [y.copy() for y in frames["state"]]
    session.advance()
    assert session.rewind(times[6] + 1e-9) == times[6]
    assert len(session.run.recorder) == 7
    np.testing.assert_array_equal(session.run.state.y, states[6])
    advanced(session, 4)
    assert session.time == pytest.approx(times[10])
    close = 5e-3 if settings.get("method") is None else 1e-5  # the impulses that steps start from are not in the state
    np.testing.assert_allclose(session.run.state.y, states[10], atol=close)
    frames = session.frames_since(0)
    assert len(frames["time"]) == len(frames["contact_points"]) == 11


def test_what_was_let_go_later_is_held_again():
    session = advanced(Session(pendulum(), method="dop853"), 4)
    session.run.release("elbow")
    advanced(session, 4)
    session.rewind(0.0)
    assert session.run.released == {}
    advanced(session, 8)
    assert session.run.recorder.frames["joint_error"][-1].max() < 1e-9


def test_a_restart_keeps_what_was_changed_and_refuses_what_cannot_be():
    session = advanced(Session(stones(), dt=1 / 240), 3)
    session.set_gravity((0, 0, -1.0))
    session.restart(dt=1 / 480)
    assert session.time == 0.0 and session.run.settings["dt"] == 1 / 480
    advanced(session, 1)
    assert session.run.state.velocity[1][2] == pytest.approx(-session.time, rel=1e-6)
    run = session.run
    with pytest.raises(ValueError, match="dt is"):
        session.restart(dt=-1.0)
    assert session.run is run and session.settings["dt"] == 1 / 480


def test_bad_input_is_refused():
    session = Session(stones(), dt=1 / 240)
    with pytest.raises(ValueError, match="no body 'moon'"):
        session.grab("moon", (0, 0, 0))
    with pytest.raises(ValueError, match="gravity"):
        session.set_gravity((0, 0, np.nan))
    with pytest.raises(ValueError, match="starts at 0 s"):
        session.rewind(-1.0)


KINDS = {
    "joints in a loop": "four-bar", "contact": "card-house", "rolling": "rolling", "thread": "rope", "cloth": "cloth",
    "soft body": "soft-body", "an event that lets go": "trebuchet", "two events": "sling",
    "coordinates of one's own": "generalized", "terrain": "terrain", "joint coordinates": "double-pendulum",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_of_the_gallery_plays_a_second_and_every_frame_can_be_shown(kind):
    scene, settings = load_smooth(KINDS[kind])
    if kind == "joint coordinates":
        settings["coordinates"] = "joint"
    session = Session(scene, **settings)
    while session.time < 1.0 - 1e-9:
        session.advance()
    frames = session.frames_since(0)
    assert all(len(values) == len(frames["time"]) >= 50 for values in frames.values())
    assert np.isfinite(frames["position"]).all() and np.isfinite(frames["angular_velocity"]).all()
    drawing, rows = thinned_scene(parse_scene(session.description()), 20_000)
    bodies = len(drawing.bodies)
    shown = Frames(np.zeros((bodies, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (bodies, 1)), rows)
    shown.add(frames, np.arange(frames["position"].shape[1]))
    assert len(shown) == len(shown.contacts) == len(frames["time"])


def test_frames_that_events_leave_have_the_spins_that_follow_from_their_state():
    scene, settings = load_smooth("trebuchet")
    session = Session(scene, **settings)
    while session.time < 1.0 - 1e-9:
        session.advance()
    assert len(session.run.recorder) > 61  # an event has a frame of its own
    spin = session.frames_since(0)["angular_velocity"][-1]
    np.testing.assert_allclose(spin, session.run._system.kinematics.omega[: len(spin)], atol=1e-12)
