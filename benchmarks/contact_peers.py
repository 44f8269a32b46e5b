"""Boxes on the ground in other engines, from a scene of ours: each as it comes, but for the time step and for sleeping,
which is off.

Each function takes the scene and the time step (s), and returns an `Engine`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import dalembert as dal
from jolt_peer import Jolt
from mjcf import text
from race import Advance


class Engine(NamedTuple):
    """What goes on by so many steps, and what tells where the bodies are: (n, 7) positions and quaternions (w, x, y, z)."""

    advance: Advance
    poses: Callable[[], np.ndarray]


def boxes_of(scene: dal.Scene) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """(position, half the sides, mass) of each body."""
    return [
        (body.position, 0.5 * np.array([body.shape.x, body.shape.y, body.shape.z]), body.mass)
        for body in scene.bodies.values()
    ]


def friction_of(scene: dal.Scene) -> float:
    return scene.material.friction


def ours(scene: dal.Scene, dt: float, **settings: object) -> Engine:
    """Time steps of ours; only the last frame is recorded."""
    simulation = dal.Simulation(scene, dt=dt, frame_rate=dt, **settings)

    def advance(count: int) -> None:
        simulation.advance(count * dt)

    return Engine(advance, lambda: np.hstack([simulation.state.position, simulation.state.orientation]))


def mujoco(scene: dal.Scene, dt: float) -> Engine:
    """MuJoCo with its defaults: Newton's method on a pyramid of friction, soft contacts."""
    import mujoco as mj

    friction = friction_of(scene)
    bodies = "".join(
        f'<body pos="{text(x)}"><freejoint/><geom type="box" size="{text(half)}" mass="{mass}"/></body>'
        for x, half, mass in boxes_of(scene)
    )
    model = mj.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt!r}"/><size memory="1G"/><default><geom friction="{friction} 0.005 0.0001"/></default>'
        f'<worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>'
    )
    data = mj.MjData(model)
    return Engine(lambda count: mj.mj_step(model, data, count), lambda: data.qpos.reshape(-1, 7).copy())


def pybullet(scene: dal.Scene, dt: float) -> Engine:
    """PyBullet with its defaults: sequential impulses, 50 iterations."""
    import pybullet as p

    here = {"physicsClientId": p.connect(p.DIRECT)}
    friction = friction_of(scene)
    p.setGravity(0, 0, -9.81, **here)
    p.setTimeStep(dt, **here)
    ground = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE, **here), **here)
    p.changeDynamics(ground, -1, lateralFriction=1.0, **here)
    bodies = []
    for x, half, mass in boxes_of(scene):
        shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=half.tolist(), **here)
        bodies.append(p.createMultiBody(mass, shape, basePosition=x.tolist(), **here))
        # It multiplies the coefficients of the two bodies.
        p.changeDynamics(bodies[-1], -1, lateralFriction=friction**0.5, linearDamping=0, angularDamping=0, **here)

    def advance(count: int) -> None:
        for _ in range(count):
            p.stepSimulation(**here)

    def poses() -> np.ndarray:
        found = [p.getBasePositionAndOrientation(body, **here) for body in bodies]
        return np.array([[*x, q[3], *q[:3]] for x, q in found])

    return Engine(advance, poses)


def jolt(scene: dal.Scene, dt: float) -> Engine:
    """Jolt with its defaults, in single precision."""
    boxes = [(x.tolist(), half.tolist(), mass) for x, half, mass in boxes_of(scene)]
    other = Jolt(boxes, friction_of(scene), dt)
    return Engine(other.advance, lambda: np.array(other.poses()))


def rapier(scene: dal.Scene, dt: float) -> Engine:
    """Rapier with its defaults, in single precision, on one thread."""
    import rapier3d as r

    world = r.PhysicsWorld()
    world.set_num_threads(1)
    world.gravity = r.Vec3(0.0, 0.0, -9.81)
    world.integration_parameters.dt = dt
    friction = friction_of(scene)
    ground = r.Collider.halfspace(r.Vec3(0.0, 0.0, 1.0)).friction(friction)
    world.add_collider(ground)
    bodies = []
    for x, half, mass in boxes_of(scene):
        box = r.Collider.cuboid(*half.tolist()).mass(mass).friction(friction)
        bodies.append(world.add_body(r.RigidBody.dynamic().translation(r.Vec3(*x.tolist())).can_sleep(False), [box]))

    def advance(count: int) -> None:
        for _ in range(count):
            world.step()

    def poses() -> np.ndarray:
        found = [world.rigid_bodies[body] for body in bodies]
        return np.array(
            [[b.translation.x, b.translation.y, b.translation.z, b.rotation.w, b.rotation.i, b.rotation.j, b.rotation.k]
             for b in found]
        )  # fmt: skip

    return Engine(advance, poses)
