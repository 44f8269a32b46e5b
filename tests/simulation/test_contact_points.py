"""Recorded contact points: names, forces between pairs, what saved runs hold, and files that cannot be."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.simulation import recording
from dalembert.simulation.contact_points import COLUMNS
from dalembert.simulation.trajectory import TrajectoryError

G = 9.81


def two_floors(stacked=3):
    """Boxes of 1, 2, 3 kg on a table, and a ball of 4 kg on the ground."""
    scene = dal.Scene("two floors", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_obstacle("table", dal.Box(1, 1, 0.2), position=(2, 0, 0.9))
    for i in range(stacked):
        scene.add_body(f"box {i}", dal.Box(0.4, 0.4, 0.4), mass=1.0 + i, position=(2, 0, 1.2 + 0.4 * i))
    scene.add_body("ball", dal.Sphere(0.2), mass=4.0, position=(0, 0, 0.2))
    return scene


def arm(coordinates):
    """A rod on a hinge that lies with its other end on a post, in bodies' or joints' coordinates."""
    scene = dal.Scene("arm", material=dal.Material(0.4))
    scene.add_obstacle("post", dal.Box(0.2, 0.2, 1.0), position=(1.0, 0, 0.5))
    rod = scene.add_body("rod", dal.Box(1.0, 0.1, 0.1), mass=3.0, position=(0.5, 0, 1.05))
    scene.hinge("hinge", dal.WORLD, rod, (0, 0, 1.05), (0, 1, 0))
    return dal.simulate(scene, 0.5, dt=1 / 240, coordinates=coordinates)


@pytest.fixture(scope="module")
def run():
    return dal.simulate(two_floors(), 0.5, dt=1 / 240, iterations=100)


def test_a_contact_names_the_obstacle_that_is_touched(run):
    assert {(c.a, c.b) for c in run.contacts} == {
        ("box 0", "table"), ("box 0", "box 1"), ("box 1", "box 2"), ("ball", "ground")
    }  # fmt: skip


def test_an_event_of_contact_names_the_obstacle_that_is_struck():
    scene = dal.Scene("drop", material=dal.Material(0.5))
    scene.add_obstacle("shelf", dal.Box(1, 1, 0.1), position=(0, 0, -0.05))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2))
    run = dal.simulate(scene, 0.5, method="dormand_prince")
    assert {event.a for event in run.contact_events} | {event.b for event in run.contact_events} == {"ball", "shelf"}
    assert {(c.a, c.b) for c in run.contacts} == {("shelf", "ball")}
    assert float(run.trajectory.contact_force_between("shelf", "ball")[-1, 2]) == pytest.approx(G, rel=1e-9)


def test_the_force_between_two_bears_what_is_above(run):
    trajectory = run.trajectory
    for pair, weight in (
        (("table", "box 0"), 6.0),
        (("box 0", "box 1"), 5.0),
        (("box 1", "box 2"), 3.0),
        (("ground", "ball"), 4.0),
    ):
        force = trajectory.contact_force_between(*pair)
        np.testing.assert_allclose(force[-1], (0, 0, weight * G), atol=1e-4)
        np.testing.assert_array_equal(trajectory.contact_force_between(*pair[::-1]), -force)
    assert not trajectory.contact_force_between("ground", "box 0").any()


def test_forces_between_pairs_add_up_to_those_on_bodies_and_obstacles(run):
    trajectory = run.trajectory
    names = [*trajectory.bodies, *trajectory.obstacles]
    for name in names:
        total = sum(trajectory.contact_force_between(other, name).values for other in names if other != name)
        own = trajectory.body(name) if name in trajectory.bodies else trajectory.obstacle(name)
        key = "contact_force" if name in trajectory.bodies else "obstacle_contact_force"
        np.testing.assert_allclose(total, own[key].values, atol=1e-9)


def test_the_points_of_a_frame_are_the_contacts_of_its_step(run):
    recorded = run.trajectory.contacts_at(run.time)
    assert len(recorded) == len(run.contacts) > 0
    for one, two in zip(recorded, run.contacts, strict=True):
        assert (one.a, one.b) == (two.a, two.b)
        np.testing.assert_array_equal(one.position, two.position)
        np.testing.assert_array_equal(one.force, two.force)
        np.testing.assert_allclose(one.normal, two.normal, atol=1e-7)
        assert one.separation == pytest.approx(two.separation, abs=1e-7)


def test_points_that_only_come_near_are_not_recorded():
    scene = dal.Scene("near", gravity=(0, 0, 0), material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.5), mass=1.0, position=(0, 0, 0.5 + 1e-3))
    run = dal.simulate(scene, 0.1, dt=1 / 240)
    assert len(run.contacts) == 1 and run.trajectory.contact_pairs == {}


def test_saved_contact_points_are_read_bit_by_bit(run, tmp_path):
    trajectory = run.trajectory
    loaded = dal.Trajectory.load(trajectory.save(tmp_path / "run.nc"))
    for name in ("contact_point_count", "contact_point_start", *COLUMNS.values()):
        np.testing.assert_array_equal(loaded[name].values, trajectory[name].values)
        assert loaded[name].dtype == trajectory[name].dtype
    assert loaded.contact_pairs == trajectory.contact_pairs
    assert list(loaded.contact_points.a.values) == list(trajectory.contact_points.a.values)


def test_a_run_may_leave_its_contact_points_out(run):
    bare = dal.simulate(two_floors(), 0.5, dt=1 / 240, iterations=100, contact_points=False)
    np.testing.assert_array_equal(bare.trajectory.state, run.trajectory.state)
    np.testing.assert_array_equal(bare.trajectory.obstacle_contact_force, run.trajectory.obstacle_contact_force)
    with pytest.raises(KeyError, match="no contact points"):
        bare.trajectory.contact_force_between("table", "box 0")
    with pytest.raises(ValueError, match="contact_points is 'few'; give True or False"):
        dal.Simulation(two_floors(), dt=1 / 240, contact_points="few")


def test_a_run_with_too_many_points_keeps_those_of_some_frames_and_says_so(run, monkeypatch):
    monkeypatch.setattr(recording, "MOST_POINTS", 200)
    with pytest.warns(dal.SimulationWarning, match="recorded in one frame of"):
        thin = dal.simulate(two_floors(), 0.5, dt=1 / 240, iterations=100)
    counts, every = thin.trajectory["contact_point_count"].values, thin.recorder.points_every
    assert every > 1 and counts[counts > 0].sum() <= 200
    assert np.flatnonzero(counts >= 0).tolist() == list(range(0, len(counts), every))
    whole, some = (r.trajectory.contact_force_between("table", "box 0").values for r in (run, thin))
    np.testing.assert_array_equal(some[counts >= 0], whole[counts >= 0])
    assert np.isnan(some[counts < 0]).all()
    missing = float(thin.trajectory.times[np.argmin(counts)])
    with pytest.raises(ValueError, match="were not recorded"):
        thin.trajectory.contacts_at(missing)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_robot_records_what_it_leans_on(coordinates):
    run = arm(coordinates)
    assert {(c.a, c.b) for c in run.contacts} == {("rod", "post")}
    force = run.trajectory.contact_force_between("post", "rod")[-1]
    on_rod = [
        (c.position - (0, 0, 1.05), c.force if c.b == "rod" else -c.force) for c in run.trajectory.contacts_at(run.time)
    ]
    moment = sum(np.cross(arm, force)[1] for arm, force in on_rod)  # about the hinge
    assert moment == pytest.approx(-3.0 * G * 0.5, rel=1e-6)
    np.testing.assert_allclose(run.trajectory.obstacle_contact_force[-1, 0], -force, atol=1e-9)


def test_a_compound_on_two_obstacles_names_each_and_tells_its_parts_apart():
    scene = dal.Scene("table", material=dal.Material(0.5))
    scene.add_obstacle("left", dal.Box(0.5, 1, 1), position=(-0.5, 0, -0.5))
    scene.add_obstacle("right", dal.Box(0.5, 1, 1), position=(0.5, 0, -0.5))
    legs = [(dal.Box(0.2, 0.2, 0.4), (x, 0, 0.2), (1, 0, 0, 0)) for x in (-0.5, 0.5)]
    top = (dal.Box(1.2, 0.2, 0.1), (0, 0, 0.45), (1, 0, 0, 0))
    scene.add_body("table", dal.Compound([*legs, top]), mass=10.0, position=(0, 0, 0))
    run = dal.simulate(scene, 0.5, dt=1 / 240, iterations=200)
    trajectory = run.trajectory
    assert set(trajectory.contact_pairs) == {("table", "left"), ("table", "right")}
    both = [float(trajectory.contact_force_between(name, "table")[-1, 2]) for name in ("left", "right")]
    assert sum(both) == pytest.approx(10.0 * G, rel=1e-6)  # how they share it is not determined
    last = trajectory.recorded_points.of_frame(len(trajectory) - 1)
    assert len(np.unique(last.manifold)) == 2 and len(last) == 8
    for number, side in zip(np.unique(last.manifold), (last.position[:, 0] < 0, last.position[:, 0] > 0), strict=True):
        np.testing.assert_array_equal(last.manifold == number, side)


def test_sleeping_bodies_keep_the_forces_with_which_they_fell_asleep():
    run = dal.simulate(two_floors(), 3.0, dt=1 / 240, iterations=100, sleep_after=0.5)
    assert len(run.asleep) == 4
    trajectory = run.trajectory
    assert float(trajectory.contact_force_between("table", "box 0")[-1, 2]) == pytest.approx(6.0 * G, rel=1e-4)
    assert float(trajectory.body("box 2").contact_force[-1, 2]) == pytest.approx(3.0 * G, rel=1e-4)
    assert float(trajectory.obstacle("table").obstacle_contact_force[-1, 2]) == pytest.approx(-6.0 * G, rel=1e-4)


def test_a_resumed_run_names_the_same_obstacles_before_its_first_step(run, tmp_path):
    saved = dal.Trajectory.load(run.trajectory.save(tmp_path / "half.nc"))
    resumed = dal.Simulation(two_floors(), dt=1 / 240, iterations=100).resume(saved)
    assert [(c.a, c.b) for c in resumed.contacts] == [(c.a, c.b) for c in run.contacts]
    np.testing.assert_array_equal(
        resumed.trajectory.contact_force_between("table", "box 0")[0], saved.contact_force_between("table", "box 0")[-1]
    )


def damaged(trajectory, **changes):
    dataset = trajectory.dataset.copy(deep=True)
    for name, change in changes.items():
        change(dataset[name].values)
    return dal.Trajectory(dataset)


@pytest.mark.parametrize(
    "name, index, value, message",
    [
        ("contact_point_count", 3, 10**6, "whole numbers from -1 to"),
        ("contact_point_count", 3, -2, "whole numbers from -1 to"),
        ("contact_point_count", 3, 50, "say that there are more than"),
        ("contact_point_start", 3, -1, "whole numbers from 0 to"),
        ("contact_point_start", -1, 10**6, "whole numbers from 0 to"),
        ("contact_point_a", 0, 99, "whole numbers from 0 to 5"),
        ("contact_point_b", 0, -1, "whole numbers from 0 to 5"),
        ("contact_point_manifold", 0, -1, "whole numbers from 0"),
        ("contact_point_normal", (0, 2), 7.0, "a contact normal has length"),
        ("contact_point_force", (0, 2), np.nan, "'contact_point_force' is not finite"),
        ("contact_point_position", (0, 2), np.inf, "'contact_point_position' is not finite"),
        ("obstacle_contact_force", (0, 0, 2), np.nan, "'obstacle_contact_force' is not finite"),
    ],
)
def test_contact_points_that_cannot_be_are_refused(run, name, index, value, message):
    with pytest.raises(TrajectoryError, match=message):
        damaged(run.trajectory, **{name: lambda values: values.__setitem__(index, value)})


def test_a_part_of_a_run_has_the_points_of_its_frames(run):
    trajectory = run.trajectory
    part = dal.Trajectory(trajectory.dataset.isel(time=slice(10, 20)))
    np.testing.assert_array_equal(
        part.contact_force_between("table", "box 0"), trajectory.contact_force_between("table", "box 0")[10:20]
    )
    assert set(np.unique(part.contact_points.time)) <= set(part.times)


def test_contact_points_without_their_count_are_refused(run):
    with pytest.raises(TrajectoryError, match="contact points without contact_point_count"):
        dal.Trajectory(run.trajectory.dataset.drop_vars("contact_point_count"))


def test_wrong_names_of_a_pair_are_refused(run):
    with pytest.raises(KeyError, match="there is no body or obstacle 'tabel'; there are box 0"):
        run.trajectory.contact_force_between("tabel", "box 0")
    with pytest.raises(ValueError, match="'ball' is given twice"):
        run.trajectory.contact_force_between("ball", "ball")
    with pytest.raises(ValueError, match=r"time is 9\.0 s, and the run goes from 0 to 0.5 s"):
        run.trajectory.contacts_at(9.0)


def test_views_of_a_run_in_progress_and_of_a_saved_one_draw_the_same_points(run):
    from dalembert.view.frames import Frames

    trajectory = run.trajectory
    frames = Frames(np.zeros((4, 3)), np.tile((1.0, 0, 0, 0), (4, 1)), np.zeros(0, int))
    frames.add_trajectory(trajectory, np.arange(4))
    later = run.recorder.since(5)["contact_points"]
    assert len(frames.contacts) == len(trajectory) == len(later) + 5
    for one, two in zip(frames.contacts[5:], later, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (frames.contacts[-1][:, 5] > -1e-6).all()  # on obstacles the force is that on the body: all upwards
