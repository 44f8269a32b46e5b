"""Piles come to rest: nothing jitters, and what lies still is solved in a sweep."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.tables import CONTACT
from dalembert.contact.restitution import bounces_now
from dalembert.contact.tables import MOTION
from dalembert.core.kernel import kernel, out

from .bins import bin_scene

DT = 1 / 120
PILE = Path(__file__).parent / "four_boxes_of_a_pile.npz"


def wedged():
    """Four boxes of a pile of 500 that has settled, and the sixteen around them as obstacles."""
    scene = dal.Scene("wedged", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    box = dal.Box(0.15, 0.15, 0.15)
    with np.load(PILE) as places:
        for i, (x, q) in enumerate(zip(places["fixed_position"], places["fixed_orientation"], strict=True)):
            scene.add_obstacle(f"fixed {i}", box, position=x, orientation=q)
        for i, (x, q) in enumerate(zip(places["moving_position"], places["moving_orientation"], strict=True)):
            scene.add_body(f"box {i}", box, density=1000.0, position=x, orientation=q)
    return scene


def test_boxes_that_touch_in_many_corners_do_not_fall_from_one_onto_another():
    """Two of them touch in a polygon of more than four corners, two of which are near each other and equally deep. If these
    take each other's place in every step, boxes move at 0.2 mm/s for ever."""
    run = dal.Simulation(wedged(), dt=DT)
    run.advance(0.5)
    for _ in range(30):
        run.advance(DT)
        assert np.abs(run.state.velocity).max() < 1e-7
    assert run.report.contact.unsolved == 0


def dropped(boxes, seed, ratio):
    """Boxes, balls and hulls with masses up to 1:`ratio`, dropped into a bin in layers of nine."""
    rng = np.random.default_rng(seed)
    scene = bin_scene("dropped", 1.3, 0.5, 3.0)
    for i in range(boxes):
        layer, place = divmod(i, 9)
        column, row = divmod(place, 3)
        points = rng.normal(size=(12, 3))
        points *= rng.uniform(0.07, 0.1) / np.linalg.norm(points, axis=1)[:, None]
        shape = (dal.Box(0.15, 0.1, 0.12), dal.ConvexHull(points), dal.Capsule(0.05, 0.1))[i % 3]
        scene.add_body(
            f"body {i}", shape, density=1000.0 * ratio ** rng.random(), orientation=rng.normal(size=4),
            position=(0.25 * (column - 1), 0.25 * (row - 1), 0.15 + 0.22 * layer),
        )  # fmt: skip
    return scene


def test_a_pile_of_all_shapes_and_masses_comes_to_rest_and_then_sleeps():
    run = dal.Simulation(dropped(27, 4, 100.0), dt=DT, sleep_after=0.5)
    run.advance(2.0)
    speeds = np.linalg.norm(run.state.velocity, axis=1)
    assert np.median(speeds) < 1e-4
    run.advance(6.0)  # until capsules that roll have met whom they meet
    assert all(rolls_freely(run, i) for i in range(27) if f"body {i}" not in run.asleep)
    assert len(run.asleep) >= 25


def rolls_freely(run, i):
    """Whether body i is a capsule that rolls along the ground at a speed that nothing changes."""
    before = np.array(run.state.velocity[i])
    run.advance(0.5)
    after = run.state.velocity[i]
    turned = np.cross(run.state.angular_velocity[i], [0.0, 0.0, 0.05])
    return i % 3 == 2 and np.abs(after - before).max() < 1e-5 and np.abs(after - turned).max() < 1e-5


def poured(seed):
    """Forty boxes, hulls, cylinders, capsules and cones in a bin, layer by layer."""
    rng = np.random.default_rng(seed)
    scene = bin_scene("poured", 1.8, 0.75, 4.0)
    for i in range(40):
        points = rng.normal(size=(12, 3))
        points *= rng.uniform(0.1, 0.18) / np.linalg.norm(points, axis=1)[:, None]
        shapes = (
            dal.Box(*rng.uniform(0.12, 0.28, 3)), dal.ConvexHull(points), dal.Cone(rng.uniform(0.1, 0.15), 0.2),
            dal.Cylinder(rng.uniform(0.07, 0.14), rng.uniform(0.1, 0.3)), dal.Capsule(rng.uniform(0.05, 0.1), 0.15),
        )  # fmt: skip
        layer, place = divmod(i, 9)
        column, row = divmod(place, 3)
        scene.add_body(
            f"body {i}", shapes[i % 5], density=1000.0, orientation=rng.normal(size=4),
            position=(0.42 * (column - 1), 0.42 * (row - 1), 0.3 + 0.42 * layer),
        )  # fmt: skip
    return scene


def impulses_by_name(run):
    """The impulse (N s) at each point, by the pair, facet and feature that name it; and the pairs of which a body rolls."""
    tables, found, rolling = run._driver.collision, {}, set()
    rolls = [*(np.linalg.norm(run.state.velocity, axis=1) > 1e-3), False]  # the last: the world
    for contact in tables.contacts[: len(run.contacts)]:
        pair, manifold = tables.pairs[contact.pair], tables.manifolds[contact.pair]
        name = int(pair.a), int(pair.b), int(pair.facet), int(manifold.feature[contact.point])
        found[name] = float(np.linalg.norm(contact.impulse))
    for a, b in {name[:2] for name in found}:
        if any(rolls[min(tables.colliders[side].body, len(rolls) - 1)] for side in (a, b)):
            rolling.add((a, b))
    return found, rolling


@pytest.mark.parametrize("seed", [2, 4, 6])
def test_the_points_that_bear_a_pile_stay_the_same(seed):
    """Where two bodies touch in many points, four are kept. If these are others in each step, or have other names, their
    impulses start from zero, and the pile never rests."""
    run = dal.Simulation(poured(seed), dt=1 / 60)
    run.step(300)
    gone, counted, before, moved = 0, 0, {}, set()
    for _ in range(60):
        run.step()
        now, rolling = impulses_by_name(run)
        moved |= rolling
        gone += sum(name not in now and name[:2] not in moved for name in before)
        least = 0.05 * np.median([size for size in now.values() if size > 0.0])
        before = {name for name, size in now.items() if size > least}
        counted += len(before)
    assert gone <= 5 and counted > 60 * 100


@kernel
def bounces(w: float, v: float, contacts: out(1, CONTACT), kick: out()) -> int:
    return int(bounces_now(contacts[0], H, SLOP, w, v, kick))


H, SLOP, RESTITUTION, KICK = 1e-3, 1e-6, 0.1, -1e-3 * 9.81  # s, m, 1, m/s: of the weight in a step


@pytest.mark.parametrize(
    "gap, w, expected",
    [
        (2e-7, -2e-9, 0),  # a support that hangs beside the one that bears, and moves by rounding
        (2e-6, -2e-9, 0),
        (2e-6, -3e-3, 1),  # it gets there within the step without its weight
        (2e-6, -1e-2, 1),  # it is faster than what weight adds in half a step
        (2e-3, -1.0, 0),  # it does not get there
    ],
)
def test_what_rests_beside_a_support_that_it_does_not_touch_does_not_bounce(gap, w, expected):
    """Such a bounce changes no velocity in the end, but the impulses of all supports: they were others in every second step
    of a wall at rest, each a new problem for the converging solver."""
    contacts, kick = np.zeros(1, CONTACT).view(np.recarray), np.zeros(2 * MOTION)
    contacts[0].b, contacts[0].separation, contacts[0].restitution = 1, gap, RESTITUTION
    kick[MOTION + 2] = KICK
    assert bounces(w, w + KICK, contacts, kick) == expected
    contacts[0].restitution = 1.0
    assert bounces(w, w + KICK, contacts, kick) == int(gap < 1e-3)


def tossed(restitution):
    """Five boxes that turn, high over the ground, far from each other."""
    scene = dal.Scene("tossed", material=dal.Material(0.6, restitution))
    scene.add_obstacle("ground", dal.HalfSpace())
    random = np.random.default_rng(2)
    for i in range(5):
        scene.add_body(
            f"box {i}", dal.Box(*random.uniform(0.1, 0.2, 3)), density=1000.0, position=(3.0 * i, 0.0, 0.3),
            orientation=random.normal(size=4), angular_velocity=3.0 * random.normal(size=3),
        )  # fmt: skip
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("dt", [1 / 60, 1 / 240])
@pytest.mark.parametrize("restitution", [0.8, 0.9, 0.95])
@pytest.mark.sampled(3)
def test_boxes_that_rock_and_bounce_come_to_rest(restitution, dt, coordinates):
    """The weight of a box that rocks on an edge loads the other edge, which must not return what the bounce lost; and a box
    that lands flat is stopped at the ground, not raised to it from below."""
    run = dal.Simulation(tossed(restitution), dt=dt, coordinates=coordinates, method="time_stepping")
    run.advance(15.0)
    for _ in range(5):
        run.advance(dt)
        assert np.abs(run.state.velocity).max() < 1e-6


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("shape", [dal.Sphere(0.02), dal.Box(0.04, 0.04, 0.04)], ids=["ball", "box"])
@pytest.mark.parametrize("on_table", [False, True])
def test_what_falls_from_rest_is_stopped_where_it_lands(on_table, shape, coordinates):
    """Its weight alone closes the gap within the step. No step has overlap at its middle, where contacts act."""
    dt, height = 1 / 60, 0.12 if on_table else 0.02
    for gap in np.linspace(1e-4, 6e-3, 12):
        scene = dal.Scene(material=dal.Material(0.6))
        scene.add_obstacle("ground", dal.HalfSpace())
        if on_table:
            scene.add_body("table", dal.Box(0.5, 0.5, 0.1), mass=10.0, position=(0.0, 0.0, 0.05))
        scene.add_body("falls", shape, density=1000.0, position=(0.0, 0.0, height + gap))
        run = dal.Simulation(scene, dt=dt, coordinates=coordinates, method="time_stepping")
        for _ in range(4):
            run.advance(dt)
            assert run.state.position[-1, 2] + 0.5 * dt * run.state.velocity[-1, 2] > height - 1e-6
