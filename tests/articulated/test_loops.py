"""Loops in joint coordinates: they move as in coordinates of bodies, whatever their orientation; rows that depend on each
other are found in both; the work is linear in the number of links."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import dalembert as dal
from dalembert.model.compile import compile_scene

from . import linkages
from .linkages import turns

STILL = Rotation.identity()
BOTH = ("maximal", "joint")
PRECISE = {"method": "dop853", "rtol": 1e-10}
MECHANISMS = {  # whether rows depend on each other
    "bricard": True, "double_weld": True, "hooke": True, "ladder": True, "slider_crank": True, "geared": True,
    "big_and_small": True, "stewart": False, "ring": False, "table": False, "particles": False,
}  # fmt: skip


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_rotor_on_two_bearings_keeps_turning(coordinates):
    for axis in [(1.0, 2.0, 3.0), *(turn.apply([0, 0, 1.0]) for turn in turns(8))]:
        run = dal.simulate(linkages.rotor(axis), 0.5, coordinates=coordinates, **PRECISE)
        turned = [Rotation.from_quat(np.roll(q, -1)) for q in run.trajectory.orientation.values[:, 0]]
        unit = np.array(axis) / np.linalg.norm(axis)
        expected = 5.0 * run.trajectory.times[:, None] * unit
        found = [(own * turned[0].inv()).as_rotvec() for own in turned]
        assert np.linalg.norm(expected[-1]) == pytest.approx(2.5)
        assert_allclose(found, expected, atol=1e-10)
        assert run.report.redundant


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_turned_four_bar_moves_as_the_one_in_its_plane(coordinates):
    flat = dal.simulate(linkages.four_bar(STILL), 0.5, **PRECISE).trajectory.position.values
    assert np.ptp(flat, axis=0).max() > 0.2
    for turn in turns(18 if coordinates == "joint" else 4):
        run = dal.simulate(linkages.four_bar(turn), 0.5, coordinates=coordinates, **PRECISE)
        places = run.trajectory.position.values
        assert_allclose(turn.inv().apply(places.reshape(-1, 3)).reshape(places.shape), flat, atol=1e-9)
        assert run.report.joint_error < 1e-13
        assert run.report.energy_residual_relative < 1e-9
        assert run.report.redundant


@pytest.mark.parametrize("link", [False, True])
def test_the_shafts_of_hookes_joint_turn_at_the_ratio_of_the_closed_form(link):
    for turn in turns(4):
        run = dal.simulate(linkages.hooke(turn, link), 1.0, coordinates="joint", **PRECISE)
        first = turn.apply([1.0, 0, 0])
        second = turn.apply([np.cos(linkages.SHAFTS), np.sin(linkages.SHAFTS), 0])
        spins = run.trajectory.angular_momentum.values
        moments = [run.model.scene.bodies[name].inertia[2, 2] for name in ("one", "two")]
        rates = np.stack([spins[:, 0] @ first / moments[0], spins[:, 1] @ second / moments[1]], axis=1)
        turned = [Rotation.from_quat(np.roll(q, -1)) for q in run.trajectory.orientation.values[:, 0]]
        angles = np.unwrap([(own * turned[0].inv()).as_rotvec() @ first for own in turned], period=2.0 * np.pi)
        ratio = np.cos(linkages.SHAFTS) / (1.0 - (np.sin(linkages.SHAFTS) * np.sin(angles)) ** 2)
        assert np.ptp(angles) > 3.0
        assert_allclose(rates[:, 1] / rates[:, 0], ratio, rtol=1e-9)
        energy = 0.5 * (rates**2 @ moments)
        assert_allclose(energy, energy[0], rtol=1e-10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_with_loops_move_alike_in_both_coordinates(name):
    for turn in turns(2, seed=3):
        runs = [
            dal.simulate(getattr(linkages, name)(turn), 0.3, coordinates=coordinates, **PRECISE) for coordinates in BOTH
        ]
        places, others = (run.trajectory.position.values for run in runs)
        assert_allclose(others, places, atol=2e-9)
        momenta, others = (run.trajectory.angular_momentum.values for run in runs)
        assert_allclose(others, momenta, atol=1e-7 * np.abs(momenta).max())
        assert np.ptp(momenta, axis=0).max() > 5e-5
        for run in runs:
            assert run.report.redundant == MECHANISMS[name]
            assert run.report.energy_residual_relative < 1e-8


def test_loops_hold_in_a_mechanism_of_links_without_mass():
    """A Hooke's joint of hinges on a link without mass is that of a universal joint between bodies."""
    for turn in turns(2):
        runs = [
            dal.simulate(linkages.hooke(turn, link), 0.5, coordinates="joint" if link else "maximal", **PRECISE)
            for link in (False, True)
        ]
        spins, others = (run.trajectory.angular_momentum.values for run in runs)
        assert_allclose(others, spins, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("hold", ["projection", "feedback", "penalty"])
def test_independent_constraints_are_not_called_redundant(coordinates, hold):
    chain = linkages.closed_chain(5)
    chain.joints.pop("last")
    for scene in (chain, linkages.closed_chain(5)):
        run = dal.simulate(
            scene, 0.01, coordinates=coordinates, hold=hold, stiffness=1e3, damping=1.0, dt=1e-3, method="rk4"
        )
        assert not run.report.redundant
        assert run.report.condition > 1e-3


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("hold", ["projection", "feedback", "penalty"])
def test_redundant_constraints_are_called_so_however_they_are_held(coordinates, hold):
    scene = linkages.four_bar(turns(1)[0])
    run = dal.simulate(
        scene, 0.01, coordinates=coordinates, hold=hold, stiffness=1e3, damping=1.0, dt=1e-3, method="rk4"
    )
    assert run.report.redundant
    assert "redundant" in str(run.report)


def test_a_linkage_with_one_hinge_askew_is_locked():
    """What locks it is independent by 1e-8 of its size only."""
    for turn in [STILL, *turns(3)]:
        scene = linkages.four_bar(turn, speed=0.0, tilt=1e-4)
        run = dal.simulate(scene, 0.1, coordinates="joint", method="rk4", dt=1e-3)
        places = run.trajectory.position.values
        assert np.abs(places - places[0]).max() < 1e-9


@pytest.mark.parametrize("offset", [1e-4, 1e-6, 1e-8])
def test_a_row_that_hardly_moves_is_not_one_that_does_not(offset):
    """A rod that nearly passes through a bearing holds its lever."""
    for turn in [STILL, *turns(3)]:
        run = dal.simulate(linkages.lever(turn, offset), 0.1, coordinates="joint", method="rk4", dt=1e-3)
        places = run.trajectory.position.values
        assert np.abs(places - places[0]).max() < 1e-7
        assert not run.report.redundant
    free = dal.simulate(linkages.lever(STILL, 0.0), 0.1, coordinates="joint", method="rk4", dt=1e-3)
    assert free.report.redundant


def test_the_rank_of_a_loop_that_a_coarse_step_opens_is_that_of_the_closed_one():
    """Bricard's rows are independent wherever the loop is open, as it is within a step."""
    exact = dal.simulate(linkages.bricard(STILL), 0.4, coordinates="joint", **PRECISE).state.position
    errors = []
    for dt in (0.04, 0.02):
        run = dal.simulate(linkages.bricard(STILL), 0.4, coordinates="joint", method="rk4", dt=dt)
        errors.append(np.abs(run.state.position - exact).max())
        assert run.report.joint_error < 1e-12
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] > 8.0, "it is not of fourth order"


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_mechanism_that_was_open_at_the_start_has_the_rank_of_the_closed_one(coordinates):
    scene = linkages.four_bar(turns(1)[0], speed=0.0, gap=1e-3)
    run = dal.simulate(scene, 0.05, coordinates=coordinates, assemble=True, **PRECISE)
    assert run.report.redundant
    assert run.report.joint_error < 1e-12


@pytest.mark.parametrize("name", ["rotor", "four_bar", "hooke", "bricard", "ladder", "stewart", "ring"])
def test_loops_hold_in_time_steps(name):
    """Second order, as without loops; no step is lost to rank."""
    turn = turns(1, seed=7)[0]

    def make():
        scene = linkages.rotor((1, 2, 3)) if name == "rotor" else getattr(linkages, name)(turn)
        joint = next(joint for joint in scene.joints.values() if joint.kind in ("hinge", "slider"))
        scene.limit("far away", joint, lower=-50.0, upper=50.0)
        return scene

    plain = make()
    plain.forces.pop("far away")
    exact = dal.simulate(plain, 0.2, **PRECISE).trajectory
    errors = []
    for dt in (2e-3, 1e-3):
        run = dal.simulate(make(), 0.2, coordinates="joint", dt=dt)
        assert run.method == "time_stepping"
        errors.append(np.abs(run.trajectory.angular_momentum.values[-1] - exact.angular_momentum.values[-1]).max())
        assert run.report.joint_error < 1e-12
        assert run.report.energy_residual_relative < 1e-4
    size = np.abs(exact.angular_momentum.values).max()
    assert errors[1] < 1e-4 * size
    assert errors[1] < 0.35 * errors[0] or errors[1] < 1e-10 * size


def test_the_stop_of_a_turned_mechanism_with_a_loop_bounces_as_in_coordinates_of_bodies():
    turn = turns(1, seed=2)[0]
    runs = []
    for coordinates in BOTH:
        scene = linkages.slider_crank(turn)
        scene.limit("stop", "guide", lower=-0.05, upper=0.02, restitution=0.5)
        scene.motor("motor", "main", effort=4.0)
        runs.append(dal.simulate(scene, 0.6, coordinates=coordinates, dt=2.5e-4))
    along = turn.apply([1.0, 0, 0])
    slides = [(run.trajectory.position.values[:, 2] - run.trajectory.position.values[0, 2]) @ along for run in runs]
    assert max(slides[0].max(), -slides[0].min()) > 0.019, "it never reaches a stop"
    assert_allclose(slides[1], slides[0], atol=1e-4)


def work_of(scene):
    """What a factorization of the loops goes through."""
    tables = dal.Simulation(scene, coordinates="joint", method="rk4", dt=1e-3)._mechanism.tables
    return np.array([len(getattr(tables, name)) for name in ("fronts", "carries", "products", "updates", "values")])


@pytest.mark.parametrize("make", [linkages.closed_chain, lambda count: linkages.ladder(STILL, count)])
def test_the_work_of_loops_is_linear_in_the_number_of_links(make):
    sizes = [work_of(make(count)) for count in (8, 16, 32)]
    assert (sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])).all()


def test_the_matrix_of_a_tree_is_not_touched():
    """Its size is the square of the number of freedoms."""
    runs = []
    for poisoned in (False, True):
        run = dal.Simulation(linkages.closed_chain(4), coordinates="joint", method="rk4", dt=1e-3)
        matrix = run._mechanism.tables.tree.matrix
        matrix[:] = np.nan if poisoned else 0.0
        run.advance(0.01)
        assert np.isnan(matrix).all() if poisoned else not matrix.any()
        runs.append(run.state.position.copy())
    assert np.array_equal(*runs)


def test_a_loop_that_is_let_go_is_one_no_more():
    turn = turns(1, seed=4)[0]
    runs = []
    for coordinates in BOTH:
        run = dal.Simulation(linkages.four_bar(turn), coordinates=coordinates, **PRECISE)
        run.advance(0.1)
        run.release("hinge 2")
        run.advance(0.2)
        runs.append(run.state.position.copy())
        assert run.report.energy_residual_relative < 1e-9
    assert_allclose(runs[1], runs[0], atol=1e-8)


def test_a_model_with_loops_on_one_body_stays_in_joint_coordinates():
    """Its body of many joints has rows that depend on each other, which in coordinates of bodies takes other tables."""
    scene = dal.Scene("door")
    door = scene.add_body("door", dal.Box(0.9, 0.04, 2.0), mass=20.0, position=(0.45, 0, 1.0), velocity=(0, 0.45, 0),
                          angular_velocity=(0, 0, 1.0))  # fmt: skip
    for k in range(6):
        scene.hinge(f"hinge {k}", dal.WORLD, door, at=(0, 0, 0.2 + 0.3 * k), axis=(0, 0, 1))
    run = dal.Simulation(compile_scene(scene, coordinates="joint"), coordinates="joint", **PRECISE)
    run.advance(0.5)
    assert run.model.tree is not None
    assert_allclose(run.state.position[0], 0.45 * np.array([np.cos(0.5), np.sin(0.5), 1.0 / 0.45]), atol=1e-9)


def test_modes_along_a_turned_loop_are_those_of_the_flat_one():
    found = []
    for turn in (STILL, turns(1)[0]):
        scene = linkages.four_bar(turn, speed=0.0)
        scene.torsion_spring("spring", "hinge 0", stiffness=400.0)
        arm = dal.Articulation(scene)
        found.append(arm.normal_modes(arm.equilibrium(arm.start)).squares)
    assert len(found[0]) == 1
    assert_allclose(found[1], found[0], rtol=1e-6)
