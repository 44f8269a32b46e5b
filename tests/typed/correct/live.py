"""A loop of the user's: steps, handles by what the scene returned, forces, branches."""

import numpy as np
from numpy.typing import NDArray

import dalembert as dal
from dalembert.simulation.handles import BodyHandle, JointHandle

scene = dal.Scene("live", material=dal.Material(0.5))
floor = scene.add_obstacle("floor", dal.HalfSpace())
box = scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1))
arm = scene.add_body("arm", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=(2, 0, 1), material=None)
hinge = scene.hinge("hinge", dal.WORLD, arm, at=(2, 0, 1.5), axis=(0, 1, 0))
motor = scene.motor("motor", hinge, stiffness=10.0, damping=1.0)
sim: dal.Simulation = dal.Simulation(scene, dt=1 / 240).step().step(3)

handle: BodyHandle = sim[box]
place: NDArray[np.float64] = handle.position
turn: NDArray[np.float64] = sim.body("box").orientation
speed: NDArray[np.float64] = sim[box].velocity
spin: NDArray[np.float64] = sim[box].angular_velocity
energy: float = sim[box].energy
handle.velocity = (1.0, 0.0, 0.0)
handle.velocity = np.zeros(3)
handle.position = [0, 0, 0.3]
handle.apply_force((1.0, 0.0, 0.0), at=handle.position)
handle.apply_torque(np.zeros(3))
handle.apply_impulse([0, 0, 1])
force: NDArray[np.float64] = sim.contact_force(box, by=floor)
same: NDArray[np.float64] = handle.contact_force("floor")
pairs: dict[tuple[str, str], NDArray[np.float64]] = sim.contact_forces

joint: JointHandle = sim[hinge]
angle: float = joint.position
rate: float = sim.joint("hinge").velocity
effort: float = joint.effort
joint.target = 0.5
sim.set_motor(motor, position=0.2)
sim.release(hinge)
level: NDArray[np.float64] = sim[floor].position

branch: dal.Simulation = sim.copy()
whole: NDArray[np.float64] = sim.state.y
sim.state.y = whole.copy()
again = branch.reset().advance(0.1)
