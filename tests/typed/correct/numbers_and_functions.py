"""What is passed for numbers, names and functions."""

import numpy as np
from numpy.typing import NDArray

import dalembert as dal

Array = NDArray[np.float64]
scene = dal.Scene("numbers", gravity=np.array([0, 0, -9.81]), material=dal.Material(0.5))
wall = scene.add_obstacle("wall", dal.Box(1, 1, 1), position=(0, 0, 5), color="steelblue")
places = np.linspace(0.0, 1.0, 3)
for k, x in enumerate(places):
    scene.add_body(f"ball {k}", dal.Sphere(0.1), mass=1.0, position=(x, 0, k), velocity=[0, x, 0])
first = scene.bodies["ball 0"]
scene.hinge("pin", wall, first, at=first.position, axis=(0, 1, 0))
scene.spring("coil", "wall", first, np.zeros(3), first.position + [0, 0, 0.1], stiffness=10)
scene.limit("stop", "pin", upper=dal.degrees(90), lower=float(dal.degrees(np.float64(-45))))
turns: Array = dal.degrees([0.0, 90.0])
grains = scene.add_particles("grains", [(x, 0.0, 2.0) for x in places], mass=[0.1, 0.1, 0.2], velocity=np.zeros((3, 3)))
vertices, faces = dal.triangle_grid(1.0, 1.0, 3, 3)
cloth = scene.cloth("cloth", vertices + np.array([0, 0, 3]), faces, density=0.2, stretch=1e3, shear=1e2, color="gold")
scene.springs("web", grains, [(0, 1), (1, 2)], stiffness=[1.0, 2.0])


def pull(t: float, x: Array, v: Array) -> Array:
    return -0.1 * x - 0.01 * v


def gust(t: float, x: Array) -> tuple[float, float, float]:
    return 1.0, 0.0, 0.0


def law(r: float) -> tuple[float, float]:
    return 0.5 * r * r, r


def push(t: float, x: Array, q: Array, v: Array, w: Array) -> list[float]:
    return [0.0, 0.0, t]


scene.field("pull", grains, function=pull)
scene.field("own", function=lambda t, x, v: np.cross(x, v))
scene.wind("gust", cloth, function=gust)
scene.radial("law", function=law)
scene.external_force("push", first, function=push)
scene.motor("drive", "pin", function=lambda t, s, rate: -s - rate)
scene.constraint("plane", [first], lambda x, q: [x[0, 2]], rows=1)
run = dal.Simulation(scene, method=dal.ImplicitParticles(), frame_rate=30.0)
found = run.explain()
for finding in found.findings:
    print(finding.what, finding.where.get("joint", ""), *finding.ways)
