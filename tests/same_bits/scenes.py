"""Short runs, one of each kind of kernel, and their hashes.

Every number of a scene is written down, or follows from written numbers by + − × ÷ and √: what NumPy or the C library make of
sines differs between processors. `python -m tests.same_bits.scenes` prints the hashes as JSON, `--write` keeps them.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dal
from dalembert.gallery import bouncing_ball, dominoes, wall
from dalembert.scene.mesh_file import tetrahedron_grid, triangle_grid

KEPT = Path(__file__).with_name("hashes.json")
Parts = tuple[list[np.ndarray], list[np.ndarray]]  # what the set-up made, what the run recorded


def of_run(run: dal.Simulation, duration: float) -> Parts:
    tables = run.model.tables
    made = [run.model.initial, *(np.array(tables[name]) for name in sorted(tables))]
    run.advance(duration)
    return made, [run.trajectory.state.values]


def chain(links: int, **settings: Any) -> Parts:
    """Rods on ball joints that begin as steps of a staircase, of slopes 3 : 4."""
    scene = dal.Scene("chain")
    above, at = dal.WORLD, np.zeros(3)
    for i in range(links):
        step = 0.25 * np.array([0.6, 0.0, -0.8] if i % 2 else [0.8, 0.0, -0.6])
        rod = scene.add_body(
            f"rod {i}", dal.Box(0.25, 0.0625, 0.125), mass=0.5 + 0.25 * i, position=at + 0.5 * step,
        )  # fmt: skip
        scene.ball(f"joint {i}", above, rod, at=at)
        above, at = rod, at + step
    return of_run(dal.Simulation(scene, frame_rate=50.0, **settings), 0.5)


def double_pendulum(**settings: Any) -> Parts:
    scene = dal.Scene("double pendulum")
    above, at = dal.WORLD, np.zeros(3)
    for name in ("upper", "lower"):
        arm = scene.add_body(name, dal.Sphere(0.125), mass=1.0, position=at + [0.6, 0.0, -0.8])
        scene.hinge(f"{name} hinge", above, arm, at=at, axis=(0.0, 1.0, 0.0))
        above, at = arm, at + [0.6, 0.0, -0.8]
    return of_run(dal.Simulation(scene, frame_rate=50.0, **settings), 1.0)


def tumbling() -> Parts:
    """A free body whose inertia is a full matrix."""
    scene = dal.Scene("tumbling")
    inertia = [[2.0, 0.25, -0.125], [0.25, 3.0, 0.375], [-0.125, 0.375, 4.0]]
    scene.add_body(
        "body", mass=1.0, inertia=inertia, orientation=(0.5, -0.5, 0.5, 0.5), angular_velocity=(0.25, 4.0, 0.5)
    )
    return of_run(dal.Simulation(scene, method="splitting", dt=1 / 64, frame_rate=32.0), 2.0)


def driven_arm() -> Parts:
    """Two links with a torsion spring between them, which needs the angle of a joint."""
    scene = dal.Scene("driven arm")
    arm = scene.add_body("arm", dal.Box(0.5, 0.125, 0.25), mass=2.0, position=(0.25, 0.0, 0.0))
    hand = scene.add_body("hand", dal.Box(0.25, 0.125, 0.125), mass=0.5, position=(0.625, 0.0, 0.0))
    scene.hinge("shoulder", dal.WORLD, arm, at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    scene.hinge("elbow", arm, hand, at=(0.5, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    scene.torsion_spring("spring", "elbow", stiffness=2.0, damping=0.125)
    return of_run(dal.Simulation(scene, method="dormand_prince", rtol=1e-8, frame_rate=50.0), 1.0)


def bricks() -> Parts:
    return of_run(dal.Simulation(wall.build(rows=4, columns=4), dt=1 / 240, frame_rate=60.0), 0.25)


def falling_dominoes() -> Parts:
    return of_run(
        dal.Simulation(dominoes.build(dominoes=8), dt=1 / 960, iterations=60, threads=2, frame_rate=60.0), 0.25
    )


def stones() -> Parts:
    """Shapes of every family on the ground, by the converging solver."""
    scene = dal.Scene("stones", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, shape in enumerate(
        (dal.Sphere(0.25), dal.Box(0.5, 0.5, 0.5), dal.Cylinder(0.25, 0.5), dal.Capsule(0.25, 0.5))
    ):
        scene.add_body(
            f"stone {i}", shape, mass=1.0, position=(float(i), 0.0, 0.75), orientation=(0.5, 0.5, 0.5, 0.5),
            angular_velocity=(1.0, 0.5, 0.25),
        )  # fmt: skip
    return of_run(dal.Simulation(scene, dt=1 / 240, solver="interior_point", frame_rate=60.0), 0.5)


def bounces() -> Parts:
    return of_run(dal.Simulation(bouncing_ball.build(), method="dormand_prince", frame_rate=60.0), 1.5)


def cloth() -> Parts:
    """A sheet held at two corners falls; it is bent a little, and damped."""
    vertices, faces = triangle_grid(1.0, 1.0, 8, 8)
    scene = dal.Scene("cloth")
    x = vertices[:, 0]
    bent = np.stack([x, vertices[:, 1], 0.25 * x * (1.0 - x)], axis=1)
    scene.cloth(
        "cloth", bent, faces, density=0.25, stretch=500.0, shear=50.0, bend=1e-5, damping=0.005,
        coordinates=vertices[:, :2], pinned=[56, 63],
    )  # fmt: skip
    return of_run(dal.Simulation(scene, method="linear_implicit_euler", dt=1 / 60, frame_rate=60.0), 0.5)


def hair() -> Parts:
    """Particles on springs, with angles between them."""
    scene = dal.Scene("hair")
    at = [[0.125 * i, 0.0, 0.0625 * (i % 2)] for i in range(6)]
    group = scene.add_particles("hair", at, mass=0.01, pinned=[0, 1])
    scene.springs("lengths", group, [[i, i + 1] for i in range(5)], stiffness=100.0, damping=0.01)
    scene.angular_springs("angles", group, [[i, i + 1, i + 2] for i in range(4)], stiffness=0.01, rest=2.5)
    return of_run(dal.Simulation(scene, method="implicit_euler", dt=1 / 100, frame_rate=50.0), 0.5)


def robot() -> Parts:
    """A trunk on legs of hinges, with motors and springs, that lands: joint coordinates with contact."""
    scene = dal.Scene("robot", material=dal.Material(0.75))
    scene.add_obstacle("ground", dal.HalfSpace())
    trunk = scene.add_body("trunk", dal.Box(0.5, 0.25, 0.125), mass=4.0, position=(0.0, 0.0, 0.5625))
    for i, side in enumerate((-0.25, 0.25)):
        leg = scene.add_body(f"leg {i}", dal.Capsule(0.0625, 0.25), mass=0.5, position=(side, 0.0, 0.375))
        scene.hinge(f"hip {i}", trunk, leg, at=(side, 0.0, 0.5), axis=(0.0, 1.0, 0.0))
        scene.torsion_spring(f"spring {i}", f"hip {i}", stiffness=20.0, damping=0.5)
    return of_run(dal.Simulation(scene, coordinates="joint", dt=1 / 240, frame_rate=60.0), 0.5)


def lagrangian() -> Parts:
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    a, b = dynamicsymbols("a b")
    time = sp.Symbol("t")
    places = [(sp.sin(a), -sp.cos(a)), (sp.sin(a) + sp.sin(b), -sp.cos(a) - sp.cos(b))]
    kinetic = sum((x.diff(time) ** 2 + z.diff(time) ** 2) / 2 for x, z in places)
    extra = (
        sp.exp(sp.sin(a) / 4) + sp.log(2 + sp.cos(b)) + sp.tanh(a - b) / 8 + sp.atan(b) / 16 + (2 + sp.cos(a)) ** 1.3
    )
    expression = kinetic - sum(9.81 * z for _, z in places) - extra
    system = dal.Lagrangian(expression, [a, b])
    run = system.run(1.0, [1.0, 2.0], method="dop853", rtol=1e-9)
    source = "\n".join(line for line in system.source.splitlines() if "import" not in line)
    return [np.frombuffer(source.encode(), np.uint8)], [run.u.values, run.v.values]


def batch() -> Parts:
    """Members of one pendulum, of different masses."""
    scenes = []
    for mass in (0.5, 1.0, 2.0):
        scene = dal.Scene("pendulum")
        bob = scene.add_body("bob", dal.Sphere(0.125), mass=mass, position=(0.6, 0.0, -0.8))
        scene.hinge("hinge", dal.WORLD, bob, at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
        scenes.append(scene)
    found = dal.run_batch(scenes, 0.5, threads=2, coordinates="joint", rtol=1e-8)
    return [found.state[:, 0]], [found.state]


def stones_on_a_hill() -> Parts:
    """Boxes, hulls and balls on a height field, in contact by Gauss–Seidel; they sleep when they rest."""
    scene = dal.Scene("hill", material=dal.Material(0.5, restitution=0.25))
    grid = (np.arange(9) - 4) / 4
    scene.add_obstacle("hill", dal.HeightField(0.25 * (grid[:, None] ** 2 + grid**2), 0.25))
    corners = [[x, y, z] for x in (-0.125, 0.125) for y in (-0.125, 0.125) for z in (-0.0625, 0.125)]
    shapes = (
        dal.Box(0.25, 0.125, 0.125),
        dal.ConvexHull(corners),
        dal.Sphere(0.125),
        dal.Ellipsoid(0.125, 0.125, 0.0625),
    )
    for i, shape in enumerate(shapes):
        at = (0.5 * (i % 2) - 0.25, 0.5 * (i // 2) - 0.25, 0.375)
        scene.add_body(f"stone {i}", shape, mass=0.5, position=at, velocity=(0.25, 0.0, -1.0))
    return of_run(dal.Simulation(scene, dt=1 / 240, iterations=60, sleep_after=0.25, frame_rate=60.0), 0.75)


def four_bar(**settings: Any) -> Parts:
    """A plane parallelogram on four hinges: three redundant constraints in maximal coordinates, one loop in joint ones."""
    scene = dal.Scene("four-bar")
    rods = {}
    for name, at, size in (("crank", (0.3, 0.4), 1.0), ("coupler", (1.6, 0.8), 2.0), ("rocker", (2.3, 0.4), 1.0)):
        rods[name] = scene.add_body(name, mass=size, inertia=[size / 8, size / 8, 0.125], position=(at[0], 0.0, at[1]))
    pairs = [(dal.WORLD, "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", dal.WORLD)]
    for i, ((a, b), (x, z)) in enumerate(zip(pairs, [(0.0, 0.0), (0.6, 0.8), (2.6, 0.8), (2.0, 0.0)], strict=True)):
        scene.hinge(f"hinge {i}", rods.get(a, dal.WORLD), rods.get(b, dal.WORLD), at=(x, 0.0, z), axis=(0.0, 1.0, 0.0))
    return of_run(dal.Simulation(scene, frame_rate=50.0, **settings), 1.0)


def gravitating(particles: int = 200) -> Parts:
    """A cloud of particles under their own gravity, by the tree of Barnes and Hut, in leapfrog steps."""
    scene = dal.Scene("cloud", gravity=(0.0, 0.0, 0.0))
    number = np.arange(particles)
    at = np.stack([(number * k) % 97 / 97.0 - 0.5 for k in (7, 31, 53)], axis=1)
    scene.add_particles("cloud", at, velocity=at[:, [1, 2, 0]], mass=1.0 / particles)
    scene.gravitation("gravitation", constant=1.0, softening=0.125, theta=0.5)
    return of_run(dal.Simulation(scene, method="time_stepping", dt=1 / 64, frame_rate=16.0), 1.0)


def jelly() -> Parts:
    """A soft block of tetrahedra, with balls as particles, falls on a plane beside a box: implicit steps with contact."""
    scene = dal.Scene("jelly", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.25, 0.25, 0.25), mass=0.5, position=(0.625, 0.0, 0.1875), velocity=(-0.5, 0.0, 0.0))
    vertices, cells = tetrahedron_grid((0.5, 0.5, 0.25), (2, 2, 1))
    scene.soft_body(
        "jelly", vertices + np.array([0.0, 0.0, 0.1875]), cells, density=500.0, young=1e4, poisson=0.25, viscosity=8.0,
        radius=0.03125,
    )  # fmt: skip
    return of_run(dal.Simulation(scene, method="implicit_euler", dt=1 / 120, frame_rate=60.0), 0.5)


def wheels() -> Parts:
    """Two geared wheels, a spring that pulls at one, drag and a motor; the constraint system by BiCGSTAB."""
    scene = dal.Scene("wheels")
    wheels = []
    for i, (x, radius) in enumerate(((0.0, 0.5), (0.75, 0.25))):
        wheel = scene.add_body(f"wheel {i}", dal.Cylinder(radius, 0.125), mass=2.0, position=(x, 0.0, 0.0))
        scene.hinge(f"axle {i}", dal.WORLD, wheel, at=(x, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
        wheels.append(wheel)
    scene.gear("gear", "axle 0", "axle 1", ratio=-2.0)
    scene.spring(
        "spring", wheels[0], dal.WORLD, at_a=(0.5, 0.0, 0.0), at_b=(1.5, 1.0, 0.0), stiffness=40.0, damping=0.5
    )
    scene.drag("drag", [wheels[1]], angular=0.125)
    scene.motor("motor", "axle 1", speed=4.0, damping=0.5)
    return of_run(dal.Simulation(scene, method="rk4", dt=1 / 128, constraint_solver="bicgstab", frame_rate=64.0), 1.0)


RUNS: dict[str, Callable[[], Parts]] = {
    "double pendulum, rk4": lambda: double_pendulum(method="rk4", dt=1 / 256),
    "double pendulum, dop853": lambda: double_pendulum(method="dop853", rtol=1e-9),
    "rope, dormand_prince": lambda: chain(8, method="dormand_prince", rtol=1e-8),
    "rope, joint coordinates": lambda: chain(8, coordinates="joint", method="rk4", dt=1 / 256),
    "driven arm": driven_arm,
    "tumbling": tumbling,
    "wall": bricks,
    "dominoes, two threads": falling_dominoes,
    "stones, interior point": stones,
    "bouncing ball, events": bounces,
    "cloth": cloth,
    "hair": hair,
    "robot with contact": robot,
    "lagrangian": lagrangian,
    "batch": batch,
    "stones on a hill": stones_on_a_hill,
    "four-bar": lambda: four_bar(method="rk4", dt=1 / 256),
    "four-bar, joint coordinates": lambda: four_bar(coordinates="joint", method="rk4", dt=1 / 256),
    "gravity by a tree": gravitating,
    "jelly in contact": jelly,
    "wheels, bicgstab": wheels,
}


def digest(arrays: list[np.ndarray]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:32]


def hashes() -> dict[str, dict[str, str]]:
    """Of each run the hash of what its set-up made, and of what it recorded."""
    return {name: dict(zip(("model", "states"), map(digest, run()), strict=True)) for name, run in RUNS.items()}


if __name__ == "__main__":
    text = json.dumps(hashes(), indent=1)
    if "--write" in sys.argv:
        KEPT.write_text(text + "\n", "utf-8")
    print(text)
