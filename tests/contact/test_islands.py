"""Islands: what does not touch is solved for apart, in an order that any number of threads can share."""

import numba
import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.tables import CONTACTS, ISLANDS
from dalembert.gallery import pile, terrain

DT = 1 / 240


def tower(scene, name, x, boxes):
    for i in range(boxes):
        scene.add_body(f"{name} {i}", dal.Box(1, 1, 1), mass=1.0, position=(x, 0.0, i + 0.5))


def ground():
    scene = dal.Scene("towers", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    return scene


def islands_of(run):
    """(sets of names, the records) of the islands of the last step."""
    collision = run._driver.collision
    rows = collision.islands[: int(collision.counts[ISLANDS])]
    names = run.model.body_names
    return [{names[b] for b in collision.members[row.first_member : row.end_member]} for row in rows], rows


def joined(run):
    """The islands as a search over the contacts and joints finds them."""
    names = run.model.body_names
    beside = {name: set() for name in names}
    pairs = [(c.a, c.b) for c in run.contacts]
    for a, b in [*pairs, *([j.name for j in joint.bodies] for joint in run.model.scene.joints.values())]:
        if a in beside and b in beside:
            beside[a].add(b)
            beside[b].add(a)
    left = {name for pair in pairs for name in pair} & set(names)
    found = []
    while left:
        group, stack = set(), [min(left)]
        while stack:
            name = stack.pop()
            if name not in group:
                group.add(name)
                stack.extend(beside[name])
        found.append(group)
        left -= group
    return sorted(found, key=min)


def pair_colours(run):
    """(island, colour, bodies) of each contact, as the tables have them."""
    collision = run._driver.collision
    contacts = collision.contacts[: int(collision.counts[CONTACTS])]
    world = len(run.model.body_names)
    for number, island in enumerate(collision.islands[: int(collision.counts[ISLANDS])]):
        starts = collision.colours[island.first_colour : island.first_colour + island.colours]
        for colour, (begin, end) in enumerate(zip(starts, [*starts[1:], island.end], strict=True)):
            for contact in contacts[begin:end]:
                yield number, colour, contact.pair, {int(contact.a), int(contact.b)} - {world}


def test_what_does_not_touch_is_apart():
    scene = ground()
    tower(scene, "left", 0.0, 3)
    tower(scene, "right", 5.0, 2)
    scene.add_body("ball", dal.Sphere(0.3), density=1000.0, position=(9.0, 0.0, 3.0))
    run = dal.simulate(scene, DT, dt=DT)
    groups, rows = islands_of(run)
    assert groups == [{"left 0", "left 1", "left 2"}, {"right 0", "right 1"}]
    assert [int(row.end - row.first) for row in rows] == [12, 8]


def test_all_that_joints_hold_is_one_island():
    scene = ground()
    tower(scene, "left", 0.0, 2)
    for i, x in enumerate((5.0, 8.0)):
        bob = scene.add_body(f"bob {i}", dal.Sphere(0.3), density=1000.0, position=(x, 0.0, 0.3))
        scene.ball(f"hook {i}", dal.WORLD, bob, at=(x, 0.0, 2.0))
    run = dal.simulate(scene, DT, dt=DT)
    groups, rows = islands_of(run)
    assert groups == [{"left 0", "left 1"}, {"bob 0", "bob 1"}]
    assert [int(row.jointed) for row in rows] == [0, 1]


@pytest.mark.slow
def test_islands_and_colours_of_a_pile_are_what_a_search_finds():
    run = dal.Simulation(pile.build(24), dt=DT)
    for _ in range(8):
        run.advance(20 * DT)
        groups, _ = islands_of(run)
        assert sorted(groups, key=min) == joined(run)
        seen = {}
        for island, colour, pair, bodies in pair_colours(run):
            for body in bodies:
                assert seen.setdefault((island, colour, body), pair) == pair, "two pairs of a colour share a body"
        assert len(list(pair_colours(run))) == int(run._driver.collision.counts[CONTACTS])


def test_an_island_does_not_feel_what_happens_in_another():
    alone, beside = ground(), ground()
    for scene in (alone, beside):
        tower(scene, "tower", 0.0, 4)
    beside.add_body("ball", dal.Sphere(0.3), density=1000.0, position=(9.0, 0.0, 0.3), velocity=(8.0, 0.0, -1.0))
    one, two = (dal.simulate(scene, 0.2, dt=DT) for scene in (alone, beside))
    assert np.abs(one.state.position - two.state.position[:4]).max() < 1e-13
    _, rows = islands_of(two)
    assert rows[0].iterations == 1, "the tower is at rest, whatever the ball does"


def bouncing(**rods):
    """Slanted rods and plates that fall spinning, rough and bouncy: Newton's law would give some of them energy."""
    scene = dal.Scene("rods", material=dal.Material(1.0, 0.9))
    scene.add_obstacle("ground", dal.HalfSpace())
    for name, shape in rods.items():
        scene.add_body(
            name, shape, density=1000.0, position=(4.0 * (name == "plate"), 0.0, 1.0), orientation=(0.921, 0.234, 0.312, 0.0),
            velocity=(2.0, 1.0, -3.0) if name == "plate" else (1.0, 0.0, -3.0),
            angular_velocity=(-4.0, 1.0, -1.0) if name == "plate" else (1.0, 2.0, 3.0),
        )  # fmt: skip
    return scene


def test_restitution_is_limited_island_by_island():
    rod, plate = dal.Capsule(0.05, 1.0), dal.Box(0.05, 0.3, 1.0)
    alone, limited, both = (
        dal.simulate(bouncing(**rods), 0.5, dt=1 / 120, iterations=20)
        for rods in ({"rod": rod}, {"plate": plate}, {"rod": rod, "plate": plate})
    )
    impacts, friction = (limited.report.work[f"contact: {part}"] for part in ("impacts", "friction"))
    assert abs(impacts + friction) < 1e-6 * abs(impacts), "the bounce of the plate was not limited: choose another"
    assert abs(sum(alone.report.work.values())) > 1.0, "the bounce of the rod was limited: choose another"
    assert np.abs(both.state.position[0] - alone.state.position[0]).max() < 1e-12
    assert np.abs(both.state.momentum[0] - alone.state.momentum[0]).max() < 1e-12


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is one thread without compilation")
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("case", ["wall", "pile", "terrain", "converging"])
@pytest.mark.sampled(2)
def test_threads_give_the_same_bits(case, threads):
    scenes = {"pile": pile.build, "terrain": terrain.build}
    scene = scenes[case]() if case in scenes else ground()
    if case in ("wall", "converging"):
        for column in range(14 if case == "wall" else 6):
            tower(scene, f"column {column}", 1.0 * column, 12 if case == "wall" else 4)
        scene.add_body("shot", dal.Sphere(0.5), mass=20.0, position=(3.0, -2.0, 3.0), velocity=(0.0, 30.0, 0.0))
    settings = {"dt": DT, "solver": "interior_point" if case == "converging" else "gauss_seidel"}
    one, more = (dal.Simulation(scene, threads=n, **settings) for n in (1, threads))
    for _ in range(4):
        for run in (one, more):
            run.advance(15 * DT)
        assert np.array_equal(one.state.position, more.state.position)
        assert np.array_equal(one.state.momentum, more.state.momentum)
    if case == "wall":
        assert islands_of(one)[1][0].end >= 512, "the wall is too small for threads to share it"


@pytest.mark.parametrize("threads", [0, -1, 2.0, "two", 1000])
def test_an_absurd_number_of_threads_is_refused(threads):
    with pytest.raises(ValueError, match="threads"):
        dal.Simulation(pile.build(2), dt=DT, threads=threads)
