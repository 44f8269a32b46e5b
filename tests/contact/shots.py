"""Random shots in a closed room with thin walls and a thin plate in the middle, for `test_continuous` and the soak.

`python -m tests.contact.shots [first] [end]` makes 10 000 of them, or those of so many seeds.
"""

import sys
import warnings

import numpy as np

import dalembert as dal

HALF = 1.0  # half the sides of the room, m
THIN = 0.02  # of walls and plates, m
ROOMS = ("boxes", "mesh", "plates of mesh")


def box_mesh(half, center=(0.0, 0.0, 0.0), parts=1, inward=False):
    """(vertices, faces) of the surface of a box; each side of parts² squares."""
    vertices, faces = [], []
    grid = np.linspace(-1.0, 1.0, parts + 1)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            first = len(vertices)
            for u in grid:
                for v in grid:
                    point = np.zeros(3)
                    point[axis], point[(axis + 1) % 3], point[(axis + 2) % 3] = sign, u, v
                    vertices.append(point)
            for i in range(parts):
                for j in range(parts):
                    a = first + i * (parts + 1) + j
                    b, c, d = a + parts + 1, a + parts + 2, a + 1
                    quad = [(a, b, c), (a, c, d)]
                    faces += quad if (sign > 0) != inward else [t[::-1] for t in quad]
    points, index = np.unique(np.array(vertices).round(12), axis=0, return_inverse=True)
    return points * np.asarray(half) + np.asarray(center), index.reshape(-1)[np.array(faces)]


def add_room(scene, kind):
    """Six walls, 2 cm thick."""
    middle = HALF + 0.5 * THIN
    if kind == "mesh":
        outer, cavity = box_mesh((HALF + THIN,) * 3), box_mesh((HALF,) * 3, parts=3, inward=True)
        vertices = np.concatenate([outer[0], cavity[0]])
        scene.add_obstacle("room", dal.Mesh(vertices, np.concatenate([outer[1], cavity[1] + len(outer[0])])))
        return
    for axis in range(3):
        for sign in (-1.0, 1.0):
            sides, place = np.full(3, 2.0 * HALF + 2.0 * THIN), np.zeros(3)
            sides[axis], place[axis] = THIN, sign * middle
            shape = dal.Box(*sides) if kind == "boxes" else dal.Mesh(*box_mesh(0.5 * sides, parts=2))
            scene.add_obstacle(f"wall {axis} {sign:+.0f}", shape, position=place)


def random_shape(rng):
    """(shape, radius of a ball that holds it) of a ball, box, rod or hull."""
    kind = rng.integers(5)
    if kind == 0:
        radius = rng.uniform(0.03, 0.2)
        return dal.Sphere(radius), radius
    if kind == 1:
        sides = rng.uniform(0.03, 0.25, 3)
        return dal.Box(*sides), 0.5 * np.linalg.norm(sides)
    if kind == 2:
        radius, length = rng.uniform(0.015, 0.05), rng.uniform(0.1, 0.6)
        return dal.Capsule(radius, length), radius + 0.5 * length
    if kind == 3:
        sides = np.append(rng.uniform(0.02, 0.04), rng.uniform(0.1, 0.4, 2))
        return dal.Box(*sides), 0.5 * np.linalg.norm(sides)
    points = rng.normal(size=(12, 3))
    points *= rng.uniform(0.08, 0.2) / np.linalg.norm(points, axis=1)[:, None]
    return dal.ConvexHull(points), 0.25


def shot(seed):
    """(scene, dt) of a random shot: bodies on both sides of a plate, that is fixed or slides on a rail; some fast, others at
    rest."""
    rng = np.random.default_rng(seed)
    room = ROOMS[rng.integers(len(ROOMS))]
    scene = dal.Scene(
        "shot", material=dal.Material(rng.choice([0.0, 0.5]), rng.choice([0.0, 0.5, 1.0])),
        gravity=(0.0, 0.0, -9.81 * rng.integers(2)),
    )  # fmt: skip
    add_room(scene, room)
    plate = dal.Box(THIN, 1.99 * HALF, 1.99 * HALF)
    if rng.integers(2):
        scene.add_obstacle("plate", plate)
    else:
        scene.add_body("plate", plate, mass=5.0)
        scene.slider("rail", "world", "plate", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    taken = []
    while len(taken) < rng.integers(2, 6):
        shape, radius = random_shape(rng)
        place = rng.uniform(-1.0, 1.0, 3) * (HALF - radius - 1e-3)
        if abs(place[0]) < radius + THIN or any(np.linalg.norm(place - x) < radius + r for x, r in taken):
            continue
        fast = not taken or rng.integers(2)
        velocity, turn = rng.normal(size=3), rng.normal(size=3)
        speed = np.exp(rng.uniform(np.log(5.0), np.log(500.0))) * fast
        spin = rng.uniform(0.0, 100.0) * rng.integers(2) * fast
        q = rng.normal(size=4)
        scene.add_body(
            f"body {len(taken)}", shape, mass=np.exp(rng.uniform(-2.0, 2.0)), position=place,
            orientation=q / np.linalg.norm(q), velocity=speed * velocity / np.linalg.norm(velocity),
            angular_velocity=spin * turn / np.linalg.norm(turn),
        )  # fmt: skip
        taken.append((place, radius))
    return scene, float(rng.choice([1 / 60, 1 / 120, 1 / 240]))


def sides_of(simulation):
    """(bodies,) the side of the plate on which each body is; zero out of the room."""
    names, position = simulation.model.body_names, np.asarray(simulation.state.position)
    plate = position[names.index("plate"), 0] if "plate" in names else 0.0
    shots = position[[i for i, name in enumerate(names) if name != "plate"]]
    return np.sign(shots[:, 0] - plate) * (np.abs(shots) < HALF).all(axis=1)


def passed_through(seed, steps=24):
    """(whether a body of a shot left the room or went through the plate, the simulation)."""
    scene, dt = shot(seed)
    simulation = dal.Simulation(scene, dt=dt)
    before = sides_of(simulation)
    simulation.advance(steps * dt)
    return bool((sides_of(simulation) != before).any()), simulation


def main(first, end):
    """Make the shots first … end; returns whether something passed through."""
    warnings.simplefilter("ignore")
    through, impacts, held = [], 0, 0
    for seed in range(first, end):
        passed, simulation = passed_through(seed)
        through += [seed] if passed else []
        impacts += simulation.report.contact.impacts
        held += simulation.report.contact.held
        if seed % 500 == 499 or seed == end - 1:
            print(
                f"{seed + 1 - first} shots: {impacts} impacts on the way, {held} held; through: {through}", flush=True
            )
    return bool(through)


if __name__ == "__main__":
    sys.exit(main(*(int(number) for number in sys.argv[1:3])) if len(sys.argv) > 2 else main(0, 10_000))
