"""The generator of mechanisms: it draws what it says, closed at the start, the same again."""

import numpy as np

import dalembert as dal

from .mechanisms import FAMILIES, constraint_jacobian, random_mechanism


def test_every_family_is_drawn_and_starts_closed():
    seen = set()
    for seed in range(3 * len(FAMILIES)):
        scene = random_mechanism(seed)
        seen.add(scene.description)
        bodies = scene.bodies.values()
        speeds = np.concatenate([np.concatenate([b.velocity, b.angular_velocity]) for b in bodies])
        jacobian = constraint_jacobian(scene, {b.name: (b.position, b.rotation) for b in bodies})
        assert np.abs(jacobian @ speeds).max(initial=0.0) < 1e-12, scene.name
        dal.Simulation(scene)  # refuses joints that are open or move apart
    assert seen == {family.__name__ for family in FAMILIES}


def test_a_seed_gives_the_same_scene_again():
    for seed in range(10):
        first, again = random_mechanism(seed), random_mechanism(seed)
        assert [b.velocity.tolist() for b in first.bodies.values()] == [
            b.velocity.tolist() for b in again.bodies.values()
        ]
        assert list(first.forces) == list(again.forces)
