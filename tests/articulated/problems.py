"""Scenes that the tests of joint coordinates share."""

import numpy as np

import dalembert as dal

THIGH, SHANK, FOOT = 0.2, 0.2, 0.02


def ground(scene, material):
    """A plane at z = 0."""
    scene.add_obstacle("ground", dal.HalfSpace(), material=material)


def quadruped(
    *, links=False, flat=False, armature=0.0, height=0.0, stiffness=300.0, damping=5.0, bend=0.6, motors=True
):
    """A trunk on four bent legs of three hinges with spheres for feet, which stand on the ground if `height` is 0 (m).

    links : whether what is between the first two hinges of a leg has no mass. flat : whether its feet are boxes.
    """
    scene = dal.Scene("quadruped")
    material = dal.Material(friction=0.8)
    top = (THIGH + SHANK) * np.cos(bend) + FOOT + height
    trunk = scene.add_body("trunk", dal.Box(0.4, 0.2, 0.1), mass=8.0, position=(0, 0, top), material=material)
    for leg, (x, y) in {"fl": (1, 1), "fr": (1, -1), "hl": (-1, 1), "hr": (-1, -1)}.items():
        hip = np.array([0.2 * x, 0.14 * y, top])
        knee = hip - THIGH * np.array([np.sin(bend), 0, np.cos(bend)])
        foot = knee - SHANK * np.array([-np.sin(bend), 0, np.cos(bend)])
        if links:
            yoke = scene.add_link(f"{leg}_yoke", position=hip)
        else:
            yoke = scene.add_body(f"{leg}_yoke", dal.Sphere(0.03), mass=0.3, position=hip)
        thigh = scene.add_body(f"{leg}_thigh", dal.Capsule(0.02, THIGH - 0.08), mass=0.6, position=(hip + knee) / 2,
                               orientation=turned(bend))  # fmt: skip
        shank = scene.add_body(f"{leg}_shank", dal.Capsule(0.015, SHANK - 0.08), mass=0.2, position=(knee + foot) / 2,
                               orientation=turned(-bend))  # fmt: skip
        sole = dal.Box(0.1, 0.06, 2 * FOOT) if flat else dal.Sphere(FOOT)
        ball = scene.add_body(f"{leg}_foot", sole, mass=0.05, position=foot, material=material)
        scene.hinge(f"{leg}_roll", trunk, yoke, at=hip, axis=(1, 0, 0))
        scene.hinge(f"{leg}_pitch", yoke, thigh, at=hip, axis=(0, 1, 0))
        scene.hinge(f"{leg}_knee", thigh, shank, at=knee, axis=(0, 1, 0))
        scene.weld(f"{leg}_ankle", shank, ball, at=foot)
        for joint in ("roll", "pitch", "knee"):
            if armature:
                scene.armature(f"{leg}_{joint}", armature)
            if motors:
                scene.motor(
                    f"{leg}_{joint}_motor",
                    f"{leg}_{joint}",
                    stiffness=stiffness,
                    position=0.0,
                    damping=damping,
                    speed=0.0,
                )
    ground(scene, material)
    return scene


def turned(angle):
    """The orientation of a leg's part that is bent by an angle about y."""
    return (float(np.cos(angle / 2)), 0.0, float(np.sin(angle / 2)), 0.0)


def arm(*, height=0.5, friction=0.5, restitution=0.0):
    """Three boxes on hinges, level at the start, above the ground."""
    scene, material = dal.Scene("arm"), dal.Material(friction=friction, restitution=restitution)
    upper = scene.add_body("upper", dal.Box(0.4, 0.1, 0.06), mass=1.0, position=(0.2, 0, height), material=material)
    lower = scene.add_body("lower", dal.Box(0.3, 0.06, 0.1), mass=0.7, position=(0.55, 0, height), material=material)
    hand = scene.add_body("hand", dal.Box(0.2, 0.05, 0.08), mass=0.4, position=(0.8, 0, height), material=material)
    scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, height), axis=(0, 1, 0.2))
    scene.hinge("elbow", upper, lower, at=(0.4, 0, height), axis=(0, 1, 0))
    scene.hinge("wrist", lower, hand, at=(0.7, 0, height), axis=(0, 1, -0.3))
    ground(scene, material)
    return scene


def four_bar(*, height=0.24):
    """A parallelogram that hangs between two fixed pivots; its coupler swings to the ground."""
    scene, material = dal.Scene("four-bar"), dal.Material(friction=0.3)
    pins = [np.array(p) for p in ((0, 0, height), (0.2, 0, height - 0.15), (0.6, 0, height - 0.15), (0.4, 0, height))]
    bars = []
    for k, name in enumerate(("crank", "coupler", "rocker")):
        a, b = pins[k], pins[k + 1]
        d = b - a
        bars.append(
            scene.add_body(name, dal.Box(np.linalg.norm(d), 0.03, 0.03), mass=1.0 + k, position=(a + b) / 2,
                           orientation=turned(-np.arctan2(d[2], d[0])), material=material)
        )  # fmt: skip
    scene.hinge("p0", dal.WORLD, bars[0], at=pins[0], axis=(0, 1, 0))
    scene.hinge("p1", bars[0], bars[1], at=pins[1], axis=(0, 1, 0))
    scene.hinge("p2", bars[1], bars[2], at=pins[2], axis=(0, 1, 0))
    scene.hinge("p3", bars[2], dal.WORLD, at=pins[3], axis=(0, 1, 0))
    ground(scene, material)
    return scene
