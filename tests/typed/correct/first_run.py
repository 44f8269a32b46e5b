"""A pendulum: a scene, a run, its results, its pictures. Types of results are those that the names below have."""

from pathlib import Path

import numpy as np
import xarray
from numpy.typing import NDArray

import dalembert as dal

scene = dal.Scene("pendulum", gravity=(0.0, 0.0, -9.81))
bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, -1), velocity=np.array([1.0, 0.0, 0.0]))
pivot = scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=[0, 1, 0])

above = dal.WORLD
for k in range(2):
    link = scene.add_body(f"link {k}", density=1000.0, shape=dal.Box(0.1, 0.1, 0.5), position=(1.0, 0.0, -0.5 * k))
    scene.hinge(f"joint {k}", above, link, at=(1.0, 0.0, -0.5 * k), axis=(0, 1, 0))
    above = link


def push(
    t: float, x: NDArray[np.float64], q: NDArray[np.float64], v: NDArray[np.float64], w: NDArray[np.float64]
) -> NDArray[np.float64]:
    return -0.1 * v


def lowest(t: float, y: NDArray[np.float64]) -> float:
    return float(y[9])


scene.external_force("push", bob, function=push)
scene.event("lowest", lowest, direction=1, action=lambda state: print(state.time))
scene.event("late", lambda t, y: t - 0.5, stop=True)

run: dal.Simulation = dal.simulate(scene, 1.0, method="dop853", rtol=1e-9, hold="projection", frame_rate=100)
place: NDArray[np.float64] = run.state.position
speed: float = float(np.linalg.norm(run.state.velocity[0]))
row: int = run.state.index("bob")
error: float = run.report.energy_residual_relative
trajectory: dal.Trajectory = run.trajectory
path: xarray.DataArray = trajectory.position.sel(body="bob")
kinetic: xarray.DataArray = trajectory.kinetic
ledger: dict[str, float] = run.report.work
file: Path = trajectory.save("run.nc")
picture: Path = trajectory.save_picture("run.png", time=0.5, ghosts=(0.1, 0.2), size=(800, 600))
film: Path = trajectory.save_movie("run.mp4", speed=0.5, clock=False, contacts=["forces"])
run.plot.energy().savefig("energy.pdf")
run.plot.path("bob", plane="xz")
again = (
    dal.Simulation(scene, method=dal.RungeKutta("rk4", dt=1e-3))
    .resume(trajectory)
    .advance(1.0, progress=lambda run: print(run.time))
)
same: bool = dal.replay(run.trajectory, scene).same

settings: dal.Settings = {"method": "rk4", "dt": 1e-3, "frame_rate": 50.0}
runs = [
    dal.simulate(scene, 1.0, **settings),
    dal.simulate(scene, 1.0, **settings | {"hold": "feedback", "stiffness": 1e4}),
]
orders: dict[dal.MethodName, int] = {"midpoint": 2, "rk4": 4}
for method, order in orders.items():
    print(order, dal.simulate(scene, 1.0, method=method, dt=1e-3).report.energy_residual)
example = dal.gallery.load("double-pendulum")
example.check(dal.simulate(example.build(), **example.SETTINGS | {"duration": 0.1}))
