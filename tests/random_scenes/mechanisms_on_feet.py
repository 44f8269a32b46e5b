"""Random mechanisms at rest whose feet, balls, are pressed on plates, so that they slide and stick as the whole moves."""

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as dal

from .mechanisms import Builder, add_forces, closed_tree, gears, polygon, shafts, spherical, tree, unit, wxyz

FAMILIES = (tree, tree, closed_tree, polygon, spherical, gears, shafts)
RADIUS, PUSH = 0.1, 80.0  # m, N


def mechanism_on_feet(seed, friction, stop=False, **laws):
    """One or two feet, each held by a body and pushed on a plate of its own; with a stop on the first joint that has a
    coordinate, if asked. laws : of the material. The same seed gives the same scene.
    """
    build, rng = Builder(seed), np.random.default_rng(5000 + seed)
    family = FAMILIES[seed % len(FAMILIES)]
    family(build)
    add_forces(build)
    scene, material = build.scene, dal.Material(friction, **laws)
    if stop:
        joint = next(joint for joint in scene.joints.values() if joint.angle or joint.displacement)
        scene.limit("stop", joint, lower=-0.02, upper=0.02)
    scene.description = family.__name__
    bodies = list(scene.bodies.values())
    for k in range(rng.integers(1, 3)):
        host = bodies[rng.integers(len(bodies))]
        at, normal = host.position + 0.4 * rng.normal(size=3), unit(rng.normal(size=3))
        foot = scene.add_body(f"foot{k}", dal.Sphere(RADIUS), mass=0.5, position=at, material=material)
        kind = rng.choice(["weld", "ball", "hinge"])
        axis = [unit(rng.normal(size=3))] if kind == "hinge" else []
        getattr(scene, kind)(f"leg{k}", host, foot, at, *axis)
        x = unit(np.cross(normal, rng.normal(size=3)))
        turn = Rotation.from_matrix(np.stack([x, np.cross(normal, x), normal], 1))
        scene.add_obstacle(
            f"plate{k}", dal.HalfSpace(), position=at - RADIUS * normal, orientation=wxyz(turn), material=material
        )
        scene.external_force(f"push{k}", foot, force=-PUSH * normal, frame="world")
    for k in range(len(scene.obstacles)):
        for other in range(len(scene.obstacles)):
            if k != other:
                scene.set_contact(f"foot{k}", f"plate{other}", enabled=False)
    return scene
