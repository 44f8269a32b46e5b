"""Random scenes of contact: solids of every shape dropped on obstacles of every kind, some of them joined.

`random_contact_scene(seed)` draws shapes, sizes, masses, friction, restitution, poses, speeds, obstacles and a few joints.
The same seed gives the same scene.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as dal

DT = 1.0 / 240.0


def wxyz(rotation):
    return np.roll(rotation.as_quat(), 1)


def random_shape(rng):
    a, b, c = rng.uniform(0.1, 0.4, 3)
    kind = rng.integers(8)
    if kind == 0:
        return dal.Sphere(a)
    if kind == 1:
        return dal.Capsule(a, 2.0 * b)
    if kind == 2:
        return dal.Cylinder(a, 2.0 * b)
    if kind == 3:
        return dal.Cone(a, 2.0 * b)
    if kind == 4:
        return dal.Ellipsoid(a, b, c)
    if kind == 5:
        return dal.ConvexHull(rng.normal(size=(rng.integers(6, 20), 3)) * (a, b, c))
    if kind == 6:
        parts = [(dal.Box(2 * a, 2 * b, 0.1), (0, 0, 0)), (dal.Sphere(0.5 * c), (a, 0, 0.1))]
        return dal.Compound(parts)
    return dal.Box(2 * a, 2 * b, 2 * c)


def add_ground(scene, rng):
    kind = rng.integers(4)
    if kind == 0:
        scene.add_obstacle("ground", dal.HalfSpace())
    elif kind == 1:
        tilt = Rotation.from_rotvec(rng.normal(scale=0.15, size=3))
        scene.add_obstacle("ground", dal.HalfSpace(), orientation=wxyz(tilt))
        scene.add_obstacle("post", dal.Cylinder(0.2, 2.0), position=(0.3, 0.2, 0.0))
    elif kind == 2:
        heights = rng.uniform(-0.2, 0.2, (12, 12))
        scene.add_obstacle("ground", dal.HeightField(heights, 1.0))
        scene.add_obstacle("below", dal.HalfSpace(), position=(0, 0, -1.0))
    else:
        scene.add_obstacle("ground", dal.Box(12.0, 12.0, 1.0), position=(0, 0, -0.5))
        scene.add_obstacle("wall", dal.Box(0.3, 12.0, 2.0), position=(1.5, 0, 1.0))


def random_contact_scene(seed, bounce=None, joints=True):
    """bounce: whether contacts have restitution; drawn if not given."""
    rng = np.random.default_rng([seed, 7])
    restitution = rng.choice([0.0, rng.uniform(0.0, 1.0)]) if bounce is None else bounce * rng.uniform(0.1, 1.0)
    friction = rng.choice([0.0, rng.uniform(0.05, 1.2)])
    scene = dal.Scene(f"contact {seed}", material=dal.Material(friction=friction, restitution=restitution))
    add_ground(scene, rng)
    spread = 0.5 + 0.25 * rng.random()
    bodies = []
    for i in range(rng.integers(1, 9)):
        at = (spread * (i % 2) - 0.3, spread * (i // 2 % 2) - 0.3, 0.7 + 0.75 * (i // 4) + 0.1 * rng.random())
        bodies.append(
            scene.add_body(
                f"body {i}",
                random_shape(rng),
                mass=10 ** rng.uniform(-1, 1.3),
                position=np.array(at) * (1, 1, 1.3),
                orientation=wxyz(Rotation.random(random_state=rng)),
                velocity=rng.normal(size=3) * (1, 1, 0.5),
                angular_velocity=2.0 * rng.normal(size=3),
            )
        )
    if joints and len(bodies) > 2 and rng.random() < 0.4:
        a, b = bodies[0], bodies[1]
        at = 0.5 * (a.position + b.position)
        kind = rng.choice(["ball", "hinge", "rod"])
        if kind == "ball":
            scene.ball("joint", a, b, at)
        elif kind == "rod":
            scene.rod("joint", a, b, a.position, b.position)
        else:
            scene.hinge("joint", a, b, at, rng.normal(size=3))
            scene.limit("stop", "joint", lower=-1.0, upper=1.0)
        for body in (a, b):  # velocities that any of these joints allows
            object.__setattr__(body, "velocity", np.array([0.3, -0.2, 0.1]))
            object.__setattr__(body, "angular_velocity", np.zeros(3))
    return scene
