"""Runs in which bodies are fast, that are saved and resumed every few steps: each step has the same bits.

A copy has as much room in its tables as the run. Here most copies are given only what they need at the moment. So they often
make a step again, with more room.
"""

import pickle

import numpy as np
import pytest

import dalembert as dal
from dalembert.contact.time_stepping import ContactStepper

from .shots import add_room
from .test_rows_of_balls import dense_gas

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def shape(kind, rng):
    size = rng.uniform(0.04, 0.1)
    if kind == 0:
        return dal.Box(size, 2.0 * size, 1.5 * size)
    if kind == 1:
        return dal.Sphere(size)
    if kind == 2:
        return dal.Capsule(0.6 * size, 2.0 * size)
    if kind == 3:
        return dal.ConvexHull(0.8 * size * rng.normal(size=(12, 3)))
    arms = dal.Box(0.16, 0.04, 0.04), dal.Box(0.04, 0.16, 0.04)
    return dal.Compound([(arms[0], (0.0, 0.0, 0.0), IDENTITY), (arms[1], (0.05, 0.0, 0.0), IDENTITY)])


def thrown(seed, room="boxes", restitution=0.2, speed=8.0, count=40):
    """Bodies of all shapes in a closed room, in random motion."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("thrown", material=dal.Material(0.5, restitution))
    add_room(scene, room)
    for i in range(count):
        place = 0.5 * np.array([i % 4, i // 4 % 4, i // 16]) - 0.75
        q = rng.normal(size=4)
        scene.add_body(
            f"body {i}", shape(i % 5, rng), density=500.0, position=place, orientation=q / np.linalg.norm(q),
            velocity=speed * rng.normal(size=3), angular_velocity=5.0 * rng.normal(size=3),
        )  # fmt: skip
    return scene


def with_pairs(scene, hinges):
    """The same scene with pairs of bodies that are joined."""
    sides = (0.1, 0.05, 0.05)
    for i in range(5):
        x = 0.3 * i - 0.6
        scene.add_body(f"one {i}", dal.Box(*sides), density=500.0, position=(x, -0.08, 0.88))
        scene.add_body(f"two {i}", dal.Box(*sides), density=500.0, position=(x, 0.08, 0.88))
        ends = f"joint {i}", f"one {i}", f"two {i}", (x, 0.0, 0.88)
        scene.hinge(*ends, (1.0, 0.0, 0.0)) if hinges else scene.ball(*ends)
    return scene


def with_belt(scene):
    """The same scene with a conveyor belt, and a paddle that moves by command."""
    scene.add_obstacle("belt", dal.Box(1.2, 0.4, 0.1), position=(0.0, 0.0, -0.9), surface_velocity=(2.0, 0.0, 0.0))
    scene.add_body("paddle", dal.Box(0.1, 0.3, 0.1), motion="set", position=(-0.5, 0.0, 0.9), velocity=(1.0, 0.0, 0.0))
    return scene


CASES = {
    "walls": (lambda: thrown(1), {}),
    "plastic": (lambda: thrown(2, restitution=0.0), {}),
    "mesh": (lambda: thrown(3, "plates of mesh"), {}),
    "balls": (lambda: with_pairs(thrown(4), False), {}),
    "hinges": (lambda: with_pairs(thrown(5), True), {}),
    "joint coordinates": (lambda: with_pairs(thrown(6), True), {"coordinates": "joint", "dt": 1 / 400}),
    "motions": (lambda: with_belt(thrown(7)), {}),
    "sleep": (lambda: thrown(8, restitution=0.0, speed=4.0, count=25), {"sleep_after": 0.1}),
    "converging": (lambda: thrown(9, count=25), {"solver": "interior_point"}),
    "crowded": (lambda: dense_gas(0.002), {}),
    "crowded joint coordinates": (lambda: dense_gas(0.002), {"coordinates": "joint", "dt": 1 / 240}),
    "two threads": (lambda: thrown(10, restitution=0.0, count=130), {"threads": 2}),
}


@pytest.fixture
def again(monkeypatch):
    """The steppers that made a step again, one entry each time."""
    grow, found = ContactStepper.grow, []

    def grow_and_note(self):
        found.append(self)
        grow(self)

    monkeypatch.setattr(ContactStepper, "grow", grow_and_note)
    make_room = ContactStepper.make_room

    def make_little(self, room):
        make_room(self, {kind: size if kind in ("pairs", "contacts", "torques") else 0 for kind, size in room.items()})

    monkeypatch.setattr(ContactStepper, "make_room", make_little)
    return found


@pytest.mark.filterwarnings("ignore::dalembert.SimulationWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(2)
def test_a_resumed_run_has_the_same_bits(case, again):
    scene, settings = CASES[case]
    settings = {"dt": 1 / 60} | settings
    run, copies, fast = dal.Simulation(scene(), **settings), {}, 0
    for step in range(20):
        if step % 3 == 1:
            copies[step] = pickle.loads(pickle.dumps(run))
        fast += int(run._driver.bodies._tables.options.fast[0])
        for one in (run, *copies.values()):
            one.advance(settings["dt"])
        for begun, copy in copies.items():
            assert np.array_equal(run._y, copy._y), (begun, step, np.abs(run._y - copy._y).max())
    assert fast > 0 and len(again) > 4


@pytest.mark.filterwarnings("ignore::dalembert.SimulationWarning")
@pytest.mark.parametrize("case", ["walls", "joint coordinates"])
def test_a_run_that_begins_again_has_the_same_bits(case):
    """Its tables have room enough from the start, and continuous collision detection is at hand."""
    scene, settings = CASES[case]
    run = dal.Simulation(scene(), **({"dt": 1 / 60} | settings))
    states = []
    for _ in range(2):
        run.advance(12 * run.settings["dt"])
        states.append(run._y.copy())
        run.restart()
    assert np.array_equal(*states)


def mixed_pile(seed):
    """Bodies of all kinds that fall on the ground."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("mixed pile", material=dal.Material(rng.uniform(0.05, 1.0)))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(5):
        a, b, c = rng.uniform(0.1, 0.3, 3)
        arms = dal.Compound([(dal.Box(2 * a, 2 * b, 0.1), (0, 0, 0)), (dal.Sphere(0.5 * c), (a, 0, 0.1))])
        shapes = arms, dal.Capsule(0.5 * a, b), dal.Sphere(a), dal.Ellipsoid(a, b, c), dal.Cylinder(a, b)
        scene.add_body(
            f"body {i}", shapes[i], mass=10 ** rng.uniform(-1.0, 1.3), orientation=rng.normal(size=4),
            position=(0.8 * (i % 2) - 0.4, 0.8 * (i // 2 % 2) - 0.4, 0.6 + i // 4), velocity=rng.normal(size=3),
            angular_velocity=2.0 * rng.normal(size=3),
        )  # fmt: skip
    return scene


@pytest.mark.filterwarnings("ignore::dalembert.SimulationWarning")
@pytest.mark.parametrize("seed", range(6))
def test_a_copy_of_a_pile_has_the_same_bits(seed):
    """Solving an island may ask for more room too."""
    run, copies = dal.Simulation(mixed_pile(seed), dt=1 / 240), []
    for step in range(120):
        if step % 15 == 10:
            copies += [run.copy(), pickle.loads(pickle.dumps(run))]
        for one in (run, *copies):
            one.step()
        assert all(np.array_equal(run._y, copy._y) for copy in copies), step
