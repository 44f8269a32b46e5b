"""Large islands: sweeps with momentum solve them, overlap goes, and threads share the rest of the step."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.tables import CONTACTS, ISLANDS, MOST_PARTS, POINTS, SWEEP_AXIS, TOUCH
from dalembert.contact import large_islands, parallel
from dalembert.contact.tables import MOTION
from dalembert.core import jit

from .bins import bin_scene

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from pour import pour  # noqa: E402

DT = 1 / 60
pytestmark = pytest.mark.skipif(jit.DISABLED, reason="takes minutes without compilation")


def stack(across=6, layers=8, overlap=0.0):
    """Boxes of 1 m side by side in layers, of which each is set off by a half from the one below, pressed into each other."""
    scene = dal.Scene("stack", material=dal.Material(0.6))
    scene.add_obstacle("ground", dal.HalfSpace())
    height, apart = 1.0 - overlap, 1.02
    for layer in range(layers):
        for i in range(across):
            for j in range(across):
                at = (apart * i + 0.4 * (layer % 2), apart * j + 0.3 * (layer % 2), height * (layer + 0.5))
                scene.add_body(f"{layer} {i} {j}", dal.Box(1, 1, 1), density=500.0, position=at)
    return scene


def largest(run):
    islands = run._driver.collision.islands[: run._driver.collision.counts[ISLANDS]].view(np.ndarray)
    return islands[np.argmax(islands["end"] - islands["first"])]


def test_overlap_all_over_a_large_stack_goes_in_three_steps():
    """Ten sweeps without momentum leave millimetres, as the layers lift those above them in turn."""
    run = dal.Simulation(stack(overlap=0.01), dt=DT, frame_rate=1e3)
    run.advance(3 * DT)
    collision = run._driver.collision
    contacts = collision.contacts[: collision.counts[CONTACTS]]
    assert largest(run)["end"] - largest(run)["first"] > 1000
    assert -contacts.separation.min() < 1e-4


def thrown(count=350, seed=2):
    """Boxes that fall into a bin."""
    rng = np.random.default_rng(seed)
    scene = bin_scene("thrown", 2.4, 1.1, 4.0)
    for i in range(count):
        layer, place = divmod(i, 49)
        q = rng.normal(size=4)
        at = (0.27 * (place % 7 - 3), 0.27 * (place // 7 - 3), 0.2 + 0.3 * layer)
        shape = dal.Box(*rng.uniform(0.14, 0.22, 3))
        scene.add_body(f"{i}", shape, density=800.0, orientation=q / np.linalg.norm(q), position=at)
    return scene


def test_a_large_pile_in_motion_is_within_its_aim_in_every_step():
    run = dal.Simulation(thrown(), dt=DT, frame_rate=1e3)
    sizes = []
    for _ in range(60):
        run.advance(DT)
        sizes.append(int(largest(run)["end"] - largest(run)["first"]))
    assert max(sizes) > 1000
    assert run.report.contact.unsolved == 0


def test_a_large_pile_that_comes_to_rest_is_solved_in_every_step():
    """Also where it is so slow that it is solved to the tolerance. Forces that move from contact to contact, over gaps of a
    micrometre, make each step a new problem, and where a body begins to slide, no solution is near."""
    run = dal.Simulation(pour(250, 4), dt=DT, frame_rate=1e-3)
    run.step(199)
    run.advance(DT)
    assert largest(run)["end"] - largest(run)["first"] > 1000
    assert run._driver.report.aim[0] == run._driver.bodies.settings.tolerance
    assert run.report.contact.unsolved == 0
    assert np.abs(run.state.velocity).max() < 1e-4


def test_a_pile_at_rest_in_which_a_body_is_pulled_away_has_the_aim_of_one_in_motion():
    run = dal.Simulation(pour(250, 4), dt=DT, frame_rate=1e-3)
    run.step(199)
    run.step()
    tolerance = run._driver.bodies.settings.tolerance
    assert run._driver.report.aim[0] == tolerance
    top = int(np.argmax(run.state.position[:, 2]))
    run[f"hull {top}"].apply_force((0.0, 0.0, 600.0))
    run.step()
    assert np.linalg.norm(run.state.velocity[top]) > 0.05
    assert run._driver.report.aim[0] > 100.0 * tolerance
    assert run.report.contact.unsolved == 0


def test_the_converging_solver_solves_large_islands_to_a_micrometre_per_second_and_closer_if_asked():
    run = dal.Simulation(thrown(110), dt=DT, frame_rate=1e3, solver="converging")
    large = 0
    for _ in range(60):
        run.advance(DT)
        collision = run._driver.collision
        for island in collision.islands[: collision.counts[ISLANDS]]:
            many = island["end"] - island["first"] > 300
            large += int(many)
            assert island["residual"] <= (1e-6 if many else 1e-8)  # a few small ones stop short of 1e-10 of their speed
    assert large > 10
    assert run.report.contact.unsolved <= 1
    strict = dal.Simulation(thrown(110), dt=DT, frame_rate=1e3, solver="converging", tolerance=1e-9)
    strict.step(8)
    assert largest(strict)["end"] - largest(strict)["first"] > 300
    assert strict._driver.report.aim[0] < 1e-7


def velocities_of_impulses(run):
    """`free_motion` and what the impulses of all contacts add to it, in NumPy, and `motion`; of bodies, (n, 6) each."""
    collision, tables = run._driver.collision, run._driver._tables
    motion, free = (table.reshape(-1, MOTION)[:-1] for table in (tables.motion, tables.free_motion))
    contacts = collision.contacts[: collision.counts[CONTACTS]].view(np.ndarray)
    impulse = np.einsum("ni,nij->nj", contacts["impulse"], contacts["frame"].reshape(-1, 3, 3))
    found = free[:, :6].copy()
    for body, arm, sign in (("a", "arm_a", -1.0), ("b", "arm_b", 1.0)):
        moves = contacts[body] < len(motion)
        which, p = contacts[body][moves], sign * impulse[moves]
        xx, yy, zz, xy, xz, yz = free[which, 7:13].T
        inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
        np.add.at(found[:, :3], which, free[which, 6:7] * p)
        np.add.at(found[:, 3:], which, np.einsum("nij,nj->ni", inverse, np.cross(contacts[arm][moves], p)))
    return found, motion[:, :6]


def test_what_single_precision_leaves_is_a_solution_in_double_precision():
    """Velocities are those of the impulses, which are in their cones, to rounding of float64, where no impacts on the way
    follow."""
    run = dal.Simulation(thrown(), dt=DT, frame_rate=1e3)
    singles = 0
    for _ in range(105):
        run.advance(DT)
        if largest(run)["single"] == 0 or run._driver._tables.options.fast[0] != 0:
            continue
        singles += 1
        found, motion = velocities_of_impulses(run)
        assert np.abs(found - motion).max() < 1e-11
        contacts = run._driver.collision.contacts[: run._driver.collision.counts[CONTACTS]]
        friction = np.hypot(contacts.impulse[:, 1], contacts.impulse[:, 2])
        assert (friction <= contacts.friction * contacts.impulse[:, 0] * (1.0 + 1e-12) + 1e-300).all()
    assert singles > 20
    assert run.report.contact.unsolved == 0


def with_a_heavy_block(mass):
    """A pile in motion, on which a block falls."""
    scene = thrown(200)
    scene.add_body("block", dal.Box(1.2, 1.2, 0.4), mass=mass, position=(0, 0, 1.9), velocity=(0, 0, -1.0))
    return scene


def test_single_precision_is_left_where_its_rounding_is_too_large():
    """Under 100 t, a mass that single precision allows, the impulses of boxes of 5 kg are 1e4 times what changes their
    velocities."""
    assert large_islands.HEAVIEST > 1e5
    run = dal.Simulation(with_a_heavy_block(1e5), dt=DT, frame_rate=1e3)
    left = 0
    for _ in range(40):
        run.advance(DT)
        island = largest(run)
        moves_fast = island["aim"] > run._driver._tables.options.tolerance[0]
        left += bool(moves_fast and island["single"] == 0 and island["end"] - island["first"] > 300)
    assert left > 0


def test_bodies_at_the_ends_of_the_range_of_float32_are_solved_in_double_precision():
    scene = thrown(200)
    scene.add_body("dust", dal.Box(0.05, 0.05, 0.05), mass=1e-8, position=(0, 0, 0.1))
    run = dal.Simulation(scene, dt=DT, frame_rate=1e3)
    moved = 0
    for _ in range(40):
        run.advance(DT)
        island = largest(run)
        collision = run._driver.collision
        members = collision.members[island["first_member"] : island["end_member"]]
        if len(scene.bodies) - 1 in members and island["aim"] > run._driver._tables.options.tolerance[0]:
            moved += 1
            assert island["single"] == 0
    assert moved > 0


@pytest.mark.parametrize("threads", [2, 3])
def test_momenta_and_ledger_have_the_same_bits_for_any_number_of_threads(threads):
    """With a belt, on which impulses are booked apart, and a pair that bounces."""

    def scene():
        made = thrown(200)
        made.set_contact("0", "1", friction=0.2, restitution=0.5)
        made.add_body("belt", dal.Box(1.9, 1.9, 0.05), position=(0, 0, 0.03), surface_velocity=(0.2, 0, 0))
        return made

    one, more = (dal.Simulation(scene(), dt=DT, frame_rate=1e3, threads=n) for n in (1, threads))
    for _ in range(6):
        for run in (one, more):
            run.advance(8 * DT)
        assert one._driver.collision.counts[CONTACTS] > parallel.SHARED or run.time < 0.5
        for name in ("position", "momentum", "orientation", "angular_momentum"):
            assert np.array_equal(getattr(one.state, name), getattr(more.state, name))
        assert one.report.energy_residual == more.report.energy_residual


# Parts by place: what threads share


def settled_pile():
    run = dal.Simulation(thrown(), dt=DT, frame_rate=1e3)
    run.advance(30 * DT)
    assert largest(run)["parts"] > 2
    return run


def test_bodies_and_pairs_are_sorted_by_place_and_parts_have_equal_shares_of_colliders():
    run = settled_pile()
    collision, island = run._driver.collision, largest(run)
    order, bodies = collision.order, len(collision.parts) - 1
    part = np.empty(bodies, int)
    moving = [i for i in order if collision.body_of[i] < bodies]
    place = {int(i): p for p, i in enumerate(order)}
    for i in moving:
        part[collision.body_of[i]] = MOST_PARTS * place[int(i)] // len(order)
    assert np.array_equal(collision.parts[:bodies], part)
    members = collision.members[island["first_member"] : island["end_member"]]
    assert (np.diff(part[members] * island["parts"] // MOST_PARTS) >= 0).all()
    lower = collision.fat_boxes.lower[order, collision.counts[SWEEP_AXIS]]
    assert (np.diff(lower) >= 0.0).all(), "the order is that along the axis of the sweep"


def test_the_parts_of_a_colour_have_each_of_its_groups_once():
    run = settled_pile()
    collision, island = run._driver.collision, largest(run)
    ends = [*collision.colour_groups[island["first_colour"] + 1 :][: island["colours"] - 1], island["end_group"]]
    for colour in range(island["colours"]):
        first = collision.colour_groups[island["first_colour"] + colour]
        base, found = island["first_bucket"] + POINTS * island["parts"] * colour, []
        for k in range(POINTS):
            for part in range(island["parts"]):
                begin, end = collision.bucket_groups[2 * (base + POINTS * part + k) :][:2]
                found += range(begin, end)
        assert found == list(range(first, ends[colour]))


def test_contacts_are_in_the_order_of_island_colour_points_and_part():
    run = settled_pile()
    collision, island = run._driver.collision, largest(run)
    touching = collision.touching[: collision.counts[TOUCH]].view(np.ndarray)
    own = touching[touching["island"] == collision.island_of[collision.members[island["first_member"]]]]
    first = collision.manifolds.first[own["pair"]]
    key = np.stack([own["colour"], -own["points"], own["part"] * island["parts"] // MOST_PARTS, own["pair"]], 1)
    assert np.array_equal(np.lexsort(key.T[::-1]), np.argsort(first))
    assert first.min() == island["first"]
    assert first.max() + own["points"][np.argmax(first)] == island["end"]


def test_a_large_pile_goes_on_from_where_it_was_saved_with_the_same_bits():
    """The order of contacts decides how sums are rounded, and follows from what is saved."""
    run = settled_pile()
    other = pickle.loads(pickle.dumps(run))
    for one in (run, other):
        one.advance(10 * DT)
    for name in ("position", "momentum", "orientation", "angular_momentum"):
        assert np.array_equal(getattr(run.state, name), getattr(other.state, name))
    assert run.report.energy_residual == other.report.energy_residual


@pytest.mark.filterwarnings("ignore::dalembert.SimulationWarning")
def test_hulls_that_fall_onto_each_other_are_solved_almost_to_their_aim():
    """Some contacts oscillate under the momentum of sweeps without end: 1000 of them left 0.27 m/s, of an aim of 0.003."""
    run, many = dal.Simulation(pour(800), dt=DT, frame_rate=1e3), 0
    for _ in range(50):
        run.advance(DT)
        many = max(many, largest(run)["end"] - largest(run)["first"] if run._driver.collision.counts[ISLANDS] else 0)
    assert many > 8000
    assert run.report.contact.residual < 0.01
    assert run.report.contact.unsolved <= 2
