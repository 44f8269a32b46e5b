"""Schemes are numbers: those that the package does not have work, too, with their order, contact and attachments."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.deformable.tables import SCHEMES, Scheme

from . import test_contact as contact
from .motions import TIGHT, Orbit, errors_of, slope

OWN = {
    "theta": (Scheme("implicit θ", fraction=0.6), 1),
    "linear midpoint": (Scheme("one linear solve at the middle", fraction=0.5, linear=True), 1),
    "two steps": (Scheme("between implicit Euler and BDF2", past=(1, 5)), 1),
    "linear two steps": (Scheme("BDF2 with one linear solve", past=(1, 3), linear=True), 1),
}


@pytest.fixture(autouse=True)
def own_schemes():
    for name, (scheme, _) in OWN.items():
        SCHEMES.add(name, scheme)
    yield
    for name in OWN:
        del SCHEMES._things[name]


@pytest.mark.parametrize("name", OWN)
def test_a_scheme_converges_at_its_order(name):
    problem, order = Orbit(), OWN[name][1]
    sizes = problem.duration / np.array((800, 1600, 3200))
    assert slope(sizes, errors_of(problem, name, sizes, **TIGHT)) > order - 0.1


@pytest.mark.parametrize("name", OWN)
def test_a_scheme_meets_obstacles_and_bodies_as_the_others_do(name):
    contact.test_a_particle_comes_to_rest_on_the_ground_at_its_radius(name)
    contact.test_a_particle_on_an_incline_slides_as_coulomb_says(name)
    contact.test_a_particle_on_an_incline_sticks_below_the_angle_of_friction(name)
    contact.test_momentum_goes_from_particles_to_a_free_body(name)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_scheme_gives_an_impact_its_restitution(name, e):
    scene = dal.Scene("bounce", gravity=(0, 0, 0))
    contact.ground(scene, friction=0.0, restitution=e)
    scene.add_particles("grain", (0, 0, 0.5), mass=0.2, velocity=(0.3, 0, -2.0), radius=0.1, material=dal.Material(0.0))
    speed = contact.run(scene, 0.4, method=name).state.particle_velocity[0]
    np.testing.assert_allclose(speed, (0.3, 0.0, 2.0 * e), atol=1e-12)


@pytest.mark.parametrize("name", OWN)
def test_a_particle_that_is_attached_stays_with_its_body(name):
    scene = dal.Scene("bar", gravity=(0, 0, 0))
    bar = scene.add_body("bar", dal.Box(0.4, 0.1, 0.1), mass=1.0, angular_velocity=(0.3, 1.0, 2.0))
    chain = scene.add_particles("chain", [(0.2, 0, 0), (0.4, 0, 0), (0.6, 0, 0.1)], mass=0.1)
    scene.springs("links", chain, [[0, 1], [1, 2]], stiffness=100.0, damping=0.1)
    scene.attach("hook", chain[0], bar)
    worst = []
    for dt in (2e-3, 1e-3):
        state = contact.run(scene, 0.5, method=name, dt=dt).state
        turn = dal.scene.checks.rotation_matrix(state.orientation[0])
        worst.append(np.linalg.norm(state.position[0] + turn @ (0.2, 0.0, 0.0) - state.particle_position[0]))
    assert worst[1] < 1e-4 and worst[1] < 0.6 * worst[0]


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (Scheme("", fraction=0.0), "fraction is 0.0"),
        (Scheme("", fraction=1.5), "fraction is 1.5"),
        (Scheme("", past=(3, 3)), r"past is \(3, 3\)"),
        (Scheme("", fraction=0.5, past=(1, 3)), r"past is \(1, 3\)"),
    ],
)
def test_numbers_that_make_no_step_are_refused(scheme, words):
    with pytest.raises(ValueError, match=words):
        SCHEMES.add("wrong", scheme)
    assert "wrong" not in SCHEMES


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="two schemes are called 'bdf2'"):
        SCHEMES.add("bdf2", Scheme(""))
