"""Sweeps over groups of pairs solve what sweeps contact by contact solve."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.islands import LARGE, LAST_COLOUR
from dalembert.collide.tables import CONTACTS, ISLANDS, LANE_COUNTS
from dalembert.contact import time_stepping
from dalembert.contact.parallel import SHARED
from dalembert.contact.tables import MOTION
from dalembert.core import jit
from dalembert.core.simd_wide import WIDTH

DT = 1 / 120
SLOW = pytest.mark.skipif(jit.DISABLED, reason="takes minutes without compilation")


LIGHT = 1e-5  # kg/m³: sweeps over bodies so light are in double precision


def heap(layers=9, across=4, seed=3, restitution=0.0, density=800.0):
    """Boxes, hulls and balls of different sizes in a bin, so that pairs have one to four points."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("heap", material=dal.Material(0.4, restitution))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        scene.add_obstacle(f"side {i}", dal.Box(0.2 if x else 3, 0.2 if y else 3, 4), position=(1.0 * x, 1.0 * y, 2.0))
    for k in range(layers * across**2):
        layer, place = divmod(k, across**2)
        points = rng.normal(size=(10, 3))
        points *= 0.17 / np.linalg.norm(points, axis=1)[:, None]
        shape = (dal.Box(*rng.uniform(0.2, 0.32, 3)), dal.ConvexHull(points), dal.Sphere(0.14))[k % 3]
        q = rng.normal(size=4)
        scene.add_body(
            f"{k}", shape, density=density, orientation=q / np.linalg.norm(q),
            position=(0.42 * (place % across) - 0.63, 0.42 * (place // across) - 0.63, 0.3 + 0.4 * layer),
        )  # fmt: skip
    return scene


def loaded_plate(count=15, density=500.0):
    """A plate under balls, more than there are colours; each ball touches the plate alone, or its neighbours."""
    scene = dal.Scene("plate", material=dal.Material(0.6))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("plate", dal.Box(4, 4, 0.2), density=density, position=(0, 0, 0.1))
    for i in range(count):
        for j in range(count):
            at = (0.2 * (i - 7), 0.2 * (j - 7), 0.3 + 0.001 * ((i + 3 * j) % 5))
            scene.add_body(f"ball {i} {j}", dal.Sphere(0.1), density=density, position=at)
    return scene


def run_of(scene, monkeypatch, wide, **settings):
    monkeypatch.setattr(time_stepping, "MANY", 1 if wide else 10**9)
    return dal.Simulation(scene, dt=DT, **settings)


def large_islands(run):
    collision = run._driver.collision
    return [i for i in collision.islands[: collision.counts[ISLANDS]] if i.end_group > i.first_group]


@SLOW
@pytest.mark.parametrize("make", [heap, loaded_plate])
def test_sweeps_over_groups_are_those_of_contact_by_contact(make, monkeypatch):
    wide, single = (run_of(make(density=LIGHT), monkeypatch, which) for which in (True, False))
    shared = 0
    for _ in range(12):
        for run in (wide, single):
            run.advance(6 * DT)
        shared += len(large_islands(wide))
        assert np.abs(wide.state.position - single.state.position).max() < 1e-7
    assert shared >= 4, "no island was large enough"
    assert wide._driver._tables.wide.size > 0 == single._driver._tables.wide.size
    assert wide._driver.report.iterations[0] == single._driver.report.iterations[0]


@SLOW
@pytest.mark.parametrize("make", [heap, loaded_plate])
def test_displacements_in_groups_are_those_of_contact_by_contact(make, monkeypatch):
    """Also where the sweeps end early: a lane without a point must not be taken for overlap."""
    wide, single = (run_of(make(density=LIGHT), monkeypatch, which) for which in (True, False))
    largest, ended = 0.0, 0
    for _ in range(62):
        for run in (wide, single):
            run.advance(DT)
        first, second = (run._driver._tables.shift.reshape(-1, MOTION)[:, :6] for run in (wide, single))
        assert np.abs(first - second).max() < 1e-10
        assert [i.overlap for i in large_islands(wide)] == pytest.approx(overlaps_of_large(single), rel=1e-6, abs=1e-12)
        if large_islands(wide):
            largest = max(largest, np.abs(first).max())
            ended += wide._driver.report.overlap[0] > 0.0
    assert largest > (1e-3 if make is heap else 1e-7), "nothing was displaced"
    assert ended >= 4


def overlaps_of_large(run):
    """What position correction wrote of the islands that are large enough for groups, without them."""
    collision = run._driver.collision
    return [i.overlap for i in collision.islands[: collision.counts[ISLANDS]] if i.end - i.first >= LARGE]


@SLOW
def test_impacts_in_groups_are_those_of_contact_by_contact(monkeypatch):
    """Up to the first step in which rounding decides who bounces first, which depends on the processor."""
    wide, single = (
        run_of(heap(restitution=0.5, seed=3), monkeypatch, which, iterations=200) for which in (True, False)
    )
    bounced, energies = 0, (0.0, 0.0)
    for _ in range(55):
        for run in (wide, single):
            run.advance(DT)
        if not np.abs(wide.state.position - single.state.position).max() < 1e-12:
            break
        energies = wide.report.energy_residual, single.report.energy_residual
        impacts = wide._driver._tables.impacts
        bounced += sum(np.count_nonzero(impacts[3 * i.first : 3 * i.end : 3]) for i in large_islands(wide))
    assert bounced > 100, "no large island bounced"
    assert energies[0] == pytest.approx(energies[1], rel=1e-6)


@SLOW
def test_pairs_beyond_the_last_colour_are_swept_one_by_one(monkeypatch):
    run = run_of(loaded_plate(), monkeypatch, True)
    run.advance(20 * DT)
    (island,) = large_islands(run)
    assert island.colours == LAST_COLOUR + 1
    assert not np.isnan(run.state.position).any()


@SLOW
@pytest.mark.parametrize("make", [heap, loaded_plate])
def test_the_residual_is_that_of_the_law(make, monkeypatch):
    """De Saxcé's natural map, in NumPy, at the velocities that a step ends with in which no impacts on the way follow. The
    report has the worst of all solutions of a step, over its aim; its islands have that of the last one."""
    run = run_of(make(), monkeypatch, True)
    run.advance(80 * DT)
    impacts, worst = -1, 0.0
    while impacts < (impacts := int(run._driver.report.impacts[0])):
        run.step()
    collision, tables = run._driver.collision, run._driver._tables
    assert large_islands(run)
    motion = tables.motion.reshape(-1, MOTION)
    for row in collision.contacts[: collision.counts[CONTACTS]]:
        frame, arms = row.frame.reshape(3, 3), (row.arm_a, row.arm_b)
        speeds = [motion[b][:3] + np.cross(motion[b][3:6], r) for b, r in zip((row.a, row.b), arms, strict=True)]
        u = frame @ (speeds[1] - speeds[0])
        u[0] += row.bias + row.friction * np.hypot(u[1], u[2])
        k = 0.0
        for b, r in zip((row.a, row.b), arms, strict=True):
            xx, yy, zz, xy, xz, yz = motion[b][7:13]
            moment = np.cross(r, frame[0])
            k += motion[b][6] + moment @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ moment
        x = row.impulse - u / k
        t = np.hypot(x[1], x[2])
        if row.friction * t <= -x[0]:
            nearest = np.zeros(3)
        elif t <= row.friction * x[0]:
            nearest = x
        else:
            n = (x[0] + row.friction * t) / (1.0 + row.friction**2)
            nearest = np.array([n, *(row.friction * n * x[1:] / t)])
        worst = max(worst, k * np.linalg.norm(row.impulse - nearest))
    islands = collision.islands[: collision.counts[ISLANDS]]
    assert islands.residual.max() == pytest.approx(worst, rel=1e-6, abs=1e-12)
    report = run._driver.report[0]
    assert report.residual / report.aim >= (islands.residual / islands.aim).max()


@SLOW
def test_pairs_of_a_group_share_no_body(monkeypatch):
    run = run_of(heap(), monkeypatch, True)
    run.advance(60 * DT)
    collision, world = run._driver.collision, len(run.model.body_names)
    contacts = collision.contacts
    for island in large_islands(run):
        seen = []
        for g in range(island.first_group, island.end_group):
            first, count = collision.lanes[LANE_COUNTS * g : LANE_COUNTS * (g + 1)].reshape(2, WIDTH)
            assert (np.diff(count) <= 0).all(), "the pair of most points is first"
            assert collision.group_points[g + 1] - collision.group_points[g] == count[0] > 0
            bodies = [b for i in first[count > 0] for b in (contacts[i].a, contacts[i].b) if b != world]
            assert len(set(bodies)) == len(bodies)
            for i, n in zip(first, count, strict=True):
                assert len({int(contacts[k].pair) for k in range(i, i + n)}) <= 1
                assert [int(contacts[k].point) for k in range(i, i + n)] == list(range(n))
                seen += range(i, i + n)
        assert sorted(seen) == list(range(island.first, island.end))
        assert island.end - island.first >= LARGE


def test_a_scene_of_few_bodies_has_no_room_for_groups():
    scene = dal.Scene("two", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    run = dal.Simulation(scene, dt=DT)
    run.advance(3 * DT)
    assert run._driver._tables.wide.size == 0


def walls_apart(count=5, n=8):
    """Walls that do not touch, each an island with groups that one thread solves."""
    scene = dal.Scene("walls", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for k in range(count):
        for row in range(n):
            for column in range(n):
                at = (column, 5.0 * k, row + 0.5)
                scene.add_body(f"{k} {row} {column}", dal.Box(1, 1, 1), mass=1.0 + 0.1 * k, position=at)
        ball = (3.0, 5.0 * k - 2.0, 3.0)
        scene.add_body(f"shot {k}", dal.Sphere(0.5), mass=10.0, position=ball, velocity=(0.0, 20.0, 0.0))
    return scene


@SLOW
@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("make", [heap, loaded_plate, walls_apart])
@pytest.mark.sampled(2)
def test_groups_give_the_same_bits_for_any_number_of_threads(make, threads, monkeypatch):
    one, more = (run_of(make(), monkeypatch, True, threads=n) for n in (1, threads))
    sizes = []
    for _ in range(5):
        for run in (one, more):
            run.advance(12 * DT)
        sizes += [int(i.end - i.first) for i in large_islands(one)]
        assert np.array_equal(one.state.position, more.state.position)
        assert np.array_equal(one.state.momentum, more.state.momentum)
    assert sizes
    assert make is not walls_apart or min(sizes) < SHARED
