"""A robot: model files, motors, a controller, joint coordinates; sweeps and batches over its parameters."""

import numpy as np
import xarray
from numpy.typing import NDArray

import dalembert as dal

model = dal.load_model("arm.urdf", floating=False)
scene = model.scene
scene.motor("drive", "shoulder", stiffness=100.0, damping=10.0, limit=50.0)
scene.limit("stops", "shoulder", lower=-1.0, upper=1.0)
scene.torsion_spring("spring", "shoulder", stiffness=1.0, coordinate="angle")
scene.joint_friction("friction", "shoulder", effort=0.1)


class Integral:
    """A controller with a memory."""

    total: float = 0.0

    def __call__(self, run: dal.Simulation) -> None:
        angle, rate = run.joint_state()["shoulder"]
        self.total += 0.4 - angle - 0.1 * rate
        run.set_motor("drive", position=0.4 + self.total)


run = dal.Simulation(
    scene, method="time_stepping", dt=1e-3, coordinates="joint", controller=Integral(), control_rate=100.0
)
run.restart(lambda run: run.set_joint_state({"shoulder": (0.1, 0.0)}))
run.advance(1.0)
efforts: dict[str, float] = run.efforts
arm = dal.Articulation(scene)
mass: NDArray[np.float64] = arm.mass_matrix(arm.start)
names: tuple[str, ...] = arm.coordinates
series = dal.TimeSeries({"drive": ([0.0, 1.0], [0.0, 0.5])}, of="position")
dal.simulate(scene, 1.0, dt=1e-3, controller=series, control_rate=50.0)


def swing(length: float = 1.0, seed: int = 0) -> dal.Scene:
    made = dal.Scene("swing")
    bob = made.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(length, 0, 0))
    made.hinge("pivot", dal.WORLD, bob, (0, 0, 0), (0, 1, 0))
    return made


def speed(run: dal.Simulation) -> float:
    return float(np.linalg.norm(run.state.velocity[0]))


found: xarray.Dataset = dal.sweep(
    swing, {"length": [0.5, 1.0], "rtol": [1e-6, 1e-9]}, 1.0, keep=["position", speed], how="serial", method="dop853"
)
batch: dal.Batch = dal.run_batch(swing(), 1.0, vary={"pivot.position": [0.1, 0.2]}, threads=2, coordinates="joint")
ends: NDArray[np.float64] = batch.position[:, -1, 0]
failed: int = int(batch.failed.size)
session = dal.show(scene, wait=False, port=0, dt=1e-3, frame_rate=60.0)
