"""Random scenes of touching groups that strike others: spheres, boxes and rods in rows, stacks and side by side."""

import numpy as np

import dalembert as dal

KINDS, LAYOUTS = ["sphere", "box", "rod"], ["row", "stack", "pair", "square"]


def touching_groups(seed):
    """A group of up to three bodies moves towards another of up to four, on the ground or without gravity."""
    rng = np.random.default_rng(seed)
    friction, restitution = float(rng.choice([0.0, 0.3, 0.8])), float(rng.choice([0.0, 0.5, 1.0]))
    ground = rng.random() < 0.7
    layout, kind = str(rng.choice(LAYOUTS)), str(rng.choice([*KINDS, "mixed"]))
    jointed = rng.random() < 0.25
    gravity = (0, 0, -9.81 if ground else 0.0)
    scene = dal.Scene(f"touching {seed}", gravity=gravity, material=dal.Material(friction, restitution))
    if ground and rng.random() < 0.5:
        scene.add_obstacle("ground", dal.HalfSpace())
    elif ground:
        scene.add_obstacle("ground", dal.Box(8, 8, 1), position=(0, 0, -0.5))
    speed = float(rng.uniform(0.3, 3.0))
    few, many = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    end = _add_group(scene, rng, layout, kind, few, 0.0, speed)
    _add_group(scene, rng, str(rng.choice(LAYOUTS)), kind, many, end + rng.uniform(0.02, 0.2), 0.0)
    names = list(scene.bodies)
    if jointed and len(names) >= 2:
        middle = 0.5 * (np.asarray(scene.bodies[names[-2]].position) + np.asarray(scene.bodies[names[-1]].position))
        scene.ball("joint", names[-2], names[-1], at=tuple(middle))
    return scene


def _random_shape(rng, kind):
    """(kind, shape, half extents (3,) m as it is placed)."""
    kind = str(rng.choice(KINDS)) if kind == "mixed" else kind
    if kind == "sphere":
        r = float(rng.uniform(0.06, 0.14))
        return kind, dal.Sphere(r), (r, r, r)
    if kind == "box":
        size = rng.uniform(0.1, 0.3, 3)
        return kind, dal.Box(*size), tuple(0.5 * size)
    r, length = float(rng.uniform(0.02, 0.06)), float(rng.uniform(0.2, 0.4))
    return kind, dal.Capsule(r, length), (r, 0.5 * length + r, r)


def _add_group(scene, rng, layout, kind, count, x, speed):
    """Add a group that begins at x (m) and moves at `speed` along x. Returns where it ends."""
    shapes = [_random_shape(rng, kind) for _ in range(2 if layout == "pair" else count)]
    across, up, y = max(half[0] for _, _, half in shapes), 0.0, 0.0
    for shape_kind, shape, half in shapes:
        if layout == "stack":
            place, up = (x + across, 0.0, up + half[2]), up + 2.0 * half[2]
        elif layout == "square":
            place, y = (x + across, y + half[1], half[2]), y + 2.0 * half[1]
        else:
            place, x = (x + half[0], 0.0, half[2]), x + 2.0 * half[0]
        turn = (np.sqrt(0.5), np.sqrt(0.5), 0, 0) if shape_kind == "rod" else (1, 0, 0, 0)
        scene.add_body(
            f"{shape_kind} {len(scene.bodies)}", shape, mass=float(rng.choice([0.5, 1.0, 1.0, 2.0, 5.0])), position=place,
            orientation=turn, velocity=(speed, 0, 0),
        )  # fmt: skip
    return x + 2.0 * across if layout in ("stack", "square") else x
