"""Mechanisms whose feet slide and stick on plates: contact by events, and time steps in both coordinates, agree."""

import gc

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


def test_a_mechanism_with_soft_rows_has_tables_of_its_own():
    """It has more rows than the one that it is made from, and shares no table whose length depends on them."""
    run = dal.Simulation(mechanism_on_feet(32, 0.6), method="time_stepping", dt=1e-3)
    run.step(1)
    made = [one for one in gc.get_objects() if isinstance(one, SoftMechanism)][-1]
    longer = 0
    for name in System._fields:
        shape = column_of(System, name).shape
        if SIZED & set(shape.replace("*", " ").split()):
            own, plain = getattr(made.system, name), getattr(made.plain, name)
            assert not np.shares_memory(own, plain), name
            longer += len(own) > len(plain)
    assert longer >= 10
