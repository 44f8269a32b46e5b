"""Motions that cannot be are refused, with object, value and way out; doubtful ones are warned of."""

import numpy as np
import pytest
from tests.scene.refusals import NAN, refused

import dalembert as dal
from dalembert.scene.motion import Keyframes

BOX = dal.Box(0.2, 0.2, 0.2)


def scene():
    return dal.Scene("motions", material=dal.Material(0.5))


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({"motion": lambda t: (0.0, NAN, 0.0)}, "body 'b': its motion is .*nan.* at t = 0"),
        ({"motion": lambda t: (0.0, 0.0)}, r"shape \(2,\).*shape \(7,\)"),
        ({"motion": lambda t: (0, 0, 0, 2.0, 0, 0, 0)}, "of length 2; return a unit quaternion"),
        ({"motion": lambda: 0.0}, "its motion fails at t = 0"),
        ({"motion": "away"}, "'away'.*'set'"),
        ({"motion": "set", "mass": 2.0}, "mass is 2.0.*leave out mass"),
        ({"motion": "set", "density": 2.0}, "leave out density"),
        ({"motion": "set", "velocity": (0, NAN, 0)}, "velocity"),
        ({"motion": lambda t: (0, 0, 0), "position": (0, 0, 1)}, "position is given.*leave out position"),
        ({"motion": lambda t: (0, 0, 0), "velocity": (0, 0, 1)}, "velocity is given"),
        ({"motion": Keyframes([0, 1], [0.0, 1.0])}, "its keyframes are numbers"),
        ({"surface_velocity": (1, 0, 0), "mass": 1.0}, "leave out mass"),
        ({"surface_velocity": (1, NAN, 0)}, "surface_velocity"),
        ({"surface_velocity": (1e12, 0, 0)}, "surface_velocity is .*; give at most 1e.06 m/s"),
        ({"motion": lambda t: ((0, 0, 0), (1, 0, 0, 0))}, "returns .*seven numbers"),
        ({"surface_spin": (1, 0, 0), "material": None}, "needs a shape and a material"),
    ],
)
def test_bodies_refuse_motions_that_cannot_be(arguments, pattern):
    with refused(pattern):
        scene().add_body("b", BOX, **arguments)


@pytest.mark.parametrize("moves", [{"surface_velocity": (1, 0, 0.1)}, {"surface_spin": (0, 1, 0)}])
def test_a_plane_moves_along_itself_only(moves):
    with refused("obstacle 'belt'.*a plane moves along itself"):
        scene().add_obstacle("belt", dal.HalfSpace(), material=dal.Material(0.5), **moves)


def test_a_number_is_no_motion():
    with pytest.raises(TypeError, match=r"motion is 3.*function of time"):
        scene().add_body("b", BOX, motion=3)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (([0.0], [(0, 0, 0)]), "at least two"),
        (([0.0, 0.0], [(0, 0, 0)] * 2), "times must increase"),
        (([0.0, NAN], [(0, 0, 0)] * 2), "times"),
        (([0.0, 1.0], [(0, 0, 0), (0, NAN, 0)]), "values"),
        (([0.0, 1.0], [(0, 0, 0)] * 2, [(1, 0, 0, 0), (0, 0, 0, 0)]), "orientations.*no direction"),
        (([0.0, 1.0], [(0, 0, 0)] * 2, [(1, 0, 0, 0)]), "2 times and 1 orientations"),
        (([0.0, 1.0], [0.0, 1.0], [(1, 0, 0, 0)] * 2), "orientations need positions"),
        (([0.0, 1.0], [(0, 0, 0), (1, 0, 0)], None, True), "make them equal"),
    ],
)
def test_keyframes_refuse_what_cannot_be(arguments, pattern):
    with refused(pattern):
        Keyframes(*arguments)


def test_keyframes_warn_of_turns_that_may_go_the_other_way():
    there = Keyframes([0, 1], [(0, 0, 0)] * 2, [(1, 0, 0, 0), (0.1, 0, 0, np.sqrt(0.99))])
    found = scene()
    found.add_body("b", BOX, motion=there)
    assert "body 'b': from keyframe 0 to 1 it turns by 169°" in found.warnings[-1]


@pytest.mark.parametrize(
    ("motion", "options", "pattern"),
    [
        (lambda t: (0.0, 1.0), {}, "shape"),
        (lambda t: NAN, {}, "motion at t = 0"),
        ("off", {}, "'off'.*'set'"),
        (Keyframes([0, 1], [(0, 0, 0)] * 2), {}, "its keyframes are positions"),
        (lambda t: t, {"coordinate": "displacement"}, "has no displacement"),
        (lambda t: t, {"speed": 1.0}, "motion and speed"),
        (None, {}, "neither a motion nor a speed"),
        (None, {"speed": NAN}, "speed"),
    ],
)
def test_joints_refuse_motions_that_cannot_be(motion, options, pattern):
    found = scene()
    found.add_body("b", BOX, mass=1.0)
    found.hinge("h", dal.WORLD, "b", at=(0, 0, 0), axis=(0, 0, 1))
    with refused(pattern):
        found.add_motion("m", "h", motion, **options)


def test_a_joint_has_one_motion():
    found = scene()
    found.add_body("b", BOX, mass=1.0)
    found.hinge("h", dal.WORLD, "b", at=(0, 0, 0), axis=(0, 0, 1))
    found.add_motion("one", "h", speed=1.0)
    with refused("motion 'two': 'one' prescribes the angle of 'h' already"):
        found.add_motion("two", "h", speed=1.0)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("other", ["world", "second"])
def test_joints_between_what_moves_by_command_are_refused(other, coordinates):
    found = scene()
    found.add_body("first", motion="set")
    found.add_body("second", motion="set")
    found.add_body("free", BOX, mass=1.0)
    found.ball("j", other, "first", at=(0, 0, 0))
    with refused(f"joint 'j' connects '{other}' and 'first', which have prescribed motions"):
        dal.Simulation(found, coordinates=coordinates)


def test_keyframes_rest_where_two_are_equal_and_overshoot_nowhere():
    frames = Keyframes([0.0, 1.0, 2.0, 3.0], [(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 3)])
    z = np.array([frames.pose(t)[0][2] for t in np.linspace(-1.0, 4.0, 501)])
    assert np.all(np.diff(z) >= 0.0) and z[0] == 0.0 and z[-1] == 3.0
    assert np.ptp(z[200:301]) == 0.0


def test_keyframes_are_smooth_in_position_and_orientation():
    rng = np.random.default_rng(3)
    q = rng.normal(size=(6, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    q[-1] = q[0]
    x = rng.normal(size=(6, 3))
    x[-1] = x[0]
    times = np.array([0.0, 0.4, 1.1, 1.5, 2.5, 3.0])
    frames = Keyframes(times, x, q, repeat=True)
    h = 1e-5
    for t in (*times[:-1], 3.0):
        before = (np.concatenate(frames.pose(t - h)) - np.concatenate(frames.pose(t - 2 * h))) / h
        after = (np.concatenate(frames.pose(t + 2 * h)) - np.concatenate(frames.pose(t + h))) / h
        if before[3:] @ after[3:] < 0.0:  # q and −q are one orientation
            after[3:] *= -1.0
        assert np.abs(before - after).max() < 2e-3
    for t, place, turn in zip(times, x, q, strict=True):
        found = frames.pose(t)
        assert np.abs(found[0] - place).max() < 1e-12 and abs(abs(found[1] @ turn) - 1.0) < 1e-12


KNOTS = [
    Keyframes([0.0, 1.0, 1.5, 3.0], [0.0, 2.0, 1.0, 1.0], smooth="acceleration"),
    Keyframes([0.0, 1.0], [0.0, 2.0], smooth="acceleration"),
    Keyframes([0.0, 1.0, 2.0, 3.5], [0.0, 2.0, 1.0, 0.0], repeat=True, smooth="acceleration"),
]


@pytest.mark.parametrize("frames", KNOTS, ids=["four", "two", "repeated"])
def test_smooth_keyframes_have_continuous_accelerations(frames):
    np.testing.assert_allclose([frames.value(t) for t in frames.times], frames.values, atol=1e-14)
    times = np.linspace(frames.times[0] - 0.1, frames.times[-1] + 0.1, 4001)
    values = np.array([frames.value(t) for t in times])
    acceleration = np.diff(values, 2) / (times[1] - times[0]) ** 2
    assert np.abs(np.diff(acceleration)).max() < 5e-3 * np.abs(acceleration).max()


def test_keyframes_that_cannot_be_smooth_are_refused():
    with pytest.raises(ValueError, match="smooth is 'jerk'; give 'velocity' or 'acceleration'"):
        Keyframes([0.0, 1.0], [0.0, 1.0], smooth="jerk")
    with pytest.raises(ValueError, match=r"orientations are given.*give a function of time"):
        Keyframes([0.0, 1.0], [(0, 0, 0), (0, 0, 1)], orientations=[(1, 0, 0, 0)] * 2, smooth="acceleration")
