"""Random trees of bodies and links."""

import numpy as np

import dalembert as dal

KINDS = ("hinge", "slider", "ball", "weld", "universal", "cylindrical", "free")


def unit(rng, size=3):
    v = rng.normal(size=size)
    return v / np.linalg.norm(v)


def random_inertia(rng):
    """Of a few random points: all that a solid can have."""
    second = np.cov(rng.normal(size=(3, 12)))
    return np.trace(second) * np.eye(3) - second


def connect(rng, scene, kind, a, b, name):
    at, axis = rng.normal(size=3), unit(rng)
    if rng.random() < 0.3:
        a, b = b, a  # what is carried may be named first
    if kind == "universal":
        other = np.cross(axis, unit(rng))
        return scene.universal(name, a, b, at, axis, other)
    if kind in ("hinge", "slider", "cylindrical"):
        return getattr(scene, kind)(name, a, b, at, axis)
    return getattr(scene, kind)(name, a, b, at)


def random_tree(seed, bodies=8, links=True):
    """A scene of bodies of random mass and pose; each is free, or carried by an earlier one or the world through a joint of
    any kind, or through a link without mass between two joints."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene(f"tree {seed}", gravity=rng.normal(size=3))
    known = [dal.WORLD]
    for i in range(bodies):
        place = {"position": rng.normal(size=3), "orientation": unit(rng, 4)}
        body = scene.add_body(f"body {i}", mass=rng.uniform(0.5, 2.0), inertia=random_inertia(rng), **place)
        kind, parent = KINDS[rng.integers(len(KINDS))], known[rng.integers(len(known))]
        if kind != "free" and links and rng.random() < 0.4:
            link = scene.add_link(f"link {i}", position=rng.normal(size=3), orientation=unit(rng, 4))
            connect(rng, scene, ("hinge", "slider", "weld")[rng.integers(3)], parent, link, f"before {i}")
            parent = link
        if kind != "free":
            joint = connect(rng, scene, kind, parent, body, f"joint {i}")
            if kind in ("hinge", "slider") and rng.random() < 0.5:
                scene.armature(joint, rng.uniform(0.1, 1.0))
        known.append(body)
    return scene
