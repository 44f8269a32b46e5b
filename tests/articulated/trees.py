"""Random trees of joints, and states of them."""

import numpy as np

import dalembert as dal

KINDS = ("hinge", "slider", "ball", "cylindrical", "universal", "weld")


def unit(v):
    return v / np.linalg.norm(v)


def random_tree(seed, count=8, free=True, kinds=KINDS, moving=False):
    """Boxes, each joined to one before it by a joint of every kind in turn, as its a or as its b."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene(f"tree {seed}")
    speeds = {"velocity": rng.normal(size=3), "angular_velocity": rng.normal(size=3)} if moving and free else {}
    bodies = [scene.add_body("base", dal.Box(0.3, 0.2, 0.1), mass=2.0, orientation=unit(rng.normal(size=4)), **speeds)]
    if not free:
        scene.weld("foot", dal.WORLD, bodies[0], at=(0, 0, 0))
    for i in range(count):
        carrier = bodies[rng.integers(len(bodies))]
        body = scene.add_body(
            f"b{i}", dal.Box(*rng.uniform(0.1, 0.4, 3)), mass=rng.uniform(0.5, 2.0),
            position=carrier.position + 0.4 * rng.normal(size=3), orientation=unit(rng.normal(size=4)),
            velocity=rigid_velocity(bodies[0], carrier.position + 0.0) if moving else (0, 0, 0),
        )  # fmt: skip
        join(scene, f"j{i}", kinds[i % len(kinds)], *((carrier, body) if i % 2 else (body, carrier)), rng)
        bodies.append(body)
    return scene


def rigid_velocity(body, at):
    return body.velocity + np.cross(body.angular_velocity, at - body.position)


def join(scene, name, kind, a, b, rng):
    at, axis = 0.5 * (a.position + b.position) + 0.2 * rng.normal(size=3), unit(rng.normal(size=3))
    if kind == "universal":
        scene.universal(name, a, b, at, axis, unit(np.cross(axis, rng.normal(size=3))))
    elif kind in ("weld", "ball"):
        getattr(scene, kind)(name, a, b, at)
    else:
        getattr(scene, kind)(name, a, b, at, axis)


def random_state(arm, seed):
    """Coordinates far from the start, and speeds."""
    rng = np.random.default_rng(seed)
    u = arm.start.copy()
    for _ in range(4):
        u = normalized(arm, u + 0.5 * arm.coordinate_rates(u, rng.normal(size=len(arm.speeds))))
    return u, rng.normal(size=len(arm.speeds))


def normalized(arm, u):
    u = u.copy()
    for k, name in enumerate(arm.coordinates):
        if name.endswith(".qw"):
            u[k : k + 4] = unit(u[k : k + 4])
    return u
