"""Mechanisms whose feet slide and stick on plates: contact by events, and time steps in both coordinates, agree."""

import numpy as np
import pytest
from tests.random_scenes.mechanisms_on_feet import mechanism_on_feet

import dalembert as dal
from dalembert.contact.limits import SoftMechanism
from dalembert.core.tables import column_of
from dalembert.model.tables import System

pytestmark = pytest.mark.filterwarnings("ignore:bodies .* have no material")
DURATION = 0.2
# Seed and friction. 1, 10: a foot can slide along one line only, which turns with the mechanism. 343, 400: friction grows
# until a foot slips. 32: a linkage with rows that depend on each other, with a spring on a joint, that bears on its feet.
CASES = [(1, 0.3), (10, 0.3), (32, 0.6), (343, 0.3), (400, 0.3), (24, 0.0), (392, 0.6), (100, 0.3)]
LAWS = {
    "rolling": {"rolling_friction": 0.005, "torsional_friction": 0.003},
    "compliant": {"stiffness": 2e4, "damping": 50.0},
    "static": {"static_friction": 0.5, "stribeck_velocity": 0.05},
}
SIZED = {"rows", "unknowns", "values", "jacobian_size", "joints"}


@pytest.mark.parametrize("seed, friction", CASES)
def test_events_and_time_steps_move_a_mechanism_on_its_feet_alike(seed, friction):
    scene = mechanism_on_feet(seed, friction)
    exact = dal.simulate(scene, DURATION, method="dop853", rtol=1e-9)
    assert np.abs(exact.state.position - [body.position for body in scene.bodies.values()]).max() > 1e-3
    for coordinates in ("maximal", "joint"):
        errors = []
        for dt in (2e-3, 5e-4):
            settings = {"method": "time_stepping", "dt": dt, "coordinates": coordinates}
            run = dal.simulate(mechanism_on_feet(seed, friction), DURATION, **settings)
            errors.append(np.abs(run.state.position - exact.state.position).max())
            assert abs(run.report.constraint_work) < 1e-6 * run.report.energy_scale
        assert errors[0] < 2e-4 and errors[1] < max(0.6 * errors[0], 3e-6), (coordinates, errors)


@pytest.mark.parametrize("seed, friction", [(1, 0.3), (10, 0.3)])
def test_a_foot_that_slides_by_events_rubs_with_no_more_than_friction_allows(seed, friction):
    run = dal.Simulation(mechanism_on_feet(seed, friction), method="dormand_prince")
    for _ in range(20):
        run.advance(0.002)
        for contact in run.contacts:
            normal = contact.force @ contact.normal
            rubs = np.linalg.norm(contact.force - normal * contact.normal)
            assert rubs <= friction * abs(normal) * (1.0 + 1e-6)


@pytest.mark.parametrize("seed", [14, 15, 21, 22])
@pytest.mark.parametrize("law", LAWS)
def test_a_stop_takes_the_same_energy_beside_every_law_of_surfaces_in_both_coordinates(law, seed):
    runs = []
    for coordinates in ("maximal", "joint"):
        scene = mechanism_on_feet(seed, 0.3, stop=True, **LAWS[law])
        runs.append(dal.simulate(scene, 0.1, method="time_stepping", dt=5e-4, coordinates=coordinates))
        assert runs[-1].report.work["stop"] < -1e-2
        assert runs[-1].report.energy_residual_relative < 1e-4
        assert np.isfinite(runs[-1].trajectory.contact_force).all()
    np.testing.assert_allclose(runs[0].state.position, runs[1].state.position, atol=3e-6)


@pytest.mark.parametrize("seed", [2, 10, 16, 18, 24, 32])
def test_rolling_friction_knows_the_answer_of_closed_loops(seed):
    """In joint coordinates feet of linkages turn less under a torque than they would alone."""
    scene = mechanism_on_feet(seed, 0.3, **LAWS["rolling"])
    maximal = dal.simulate(scene, 0.1, method="time_stepping", dt=1e-3)
    run = dal.Simulation(scene, method="time_stepping", dt=1e-3, coordinates="joint").advance(0.1)
    np.testing.assert_allclose(run.state.position, maximal.state.position, atol=2e-5)
    alone = 1.0 / scene.bodies["foot0"].inertia[0, 0]
    for law in run._driver._surfaces.laws[: len(run.contacts)]:
        assert min(law.response[:3]) >= 0.0 and max(law.response[:3]) <= alone * (1.0 + 1e-9)


def test_rolling_friction_does_not_lift_a_foot_that_turns_about_one_axis_only():
    """A foot under a cart that a round rail guides can turn about the rail alone: it slides as Coulomb says, whatever its
    rolling friction, which was not a number in joint coordinates."""
    mass, radius, length, push = 2.0, 0.1, 0.004, 10.0
    angle = np.linspace(0.1, 1.5, 12)[5]  # for which the determinant of the response is zero exactly
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    for coordinates in ("maximal", "joint"):
        scene = dal.Scene("cart", material=dal.Material(0.8, rolling_friction=length))
        scene.add_obstacle("ground", dal.HalfSpace())
        cart = scene.add_body("cart", dal.Box(0.2, 0.2, 0.1), mass=mass, position=(0, 0, 0.3), material=None)
        foot = scene.add_body("foot", dal.Sphere(radius), mass=1.0, position=(0, 0, radius))
        scene.cylindrical("rail", dal.WORLD, cart, at=(0, 0, 0.3), axis=along)
        scene.slider("post", cart, foot, at=(0, 0, radius), axis=(0, 0, 1))
        scene.external_force("push", cart, force=push * along)
        run = dal.simulate(scene, 0.5, method="time_stepping", dt=1e-3, coordinates=coordinates)
        slows = 0.8 * 1.0 * 9.81
        assert run.state.velocity[0] @ along == pytest.approx(0.5 * (push - slows) / (mass + 1.0), rel=1e-6)
        assert np.isfinite(run.trajectory.contact_force).all()


def test_a_mechanism_with_soft_rows_has_tables_of_its_own():
    """It has more rows than the one that it is made from, and shares no table whose length depends on them."""
    run = dal.Simulation(mechanism_on_feet(32, 0.6), method="time_stepping", dt=1e-3)
    run.step(1)
    made = run._driver._mechanism
    assert isinstance(made, SoftMechanism)
    longer = 0
    for name in System._fields:
        shape = column_of(System, name).shape
        if SIZED & set(shape.replace("*", " ").split()):
            own, plain = getattr(made.system, name), getattr(made.plain, name)
            assert not np.shares_memory(own, plain), name
            longer += len(own) > len(plain)
    assert longer >= 10
