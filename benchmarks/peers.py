"""The chain of `scenes.chain` in other engines. Each function returns what takes it on by so many steps of 1 ms."""

import mjcf
from race import Advance
from scenes import LINK, chain

PYBULLET_LINKS = 30  # its interface cannot turn off the motors of more spherical joints than these


def mujoco_chain(links: int, integrator: str) -> Advance:
    """MuJoCo with its "RK4", "Euler" or "implicitfast"."""
    import mujoco

    model, data = mjcf.mujoco_scene(chain(links), integrator, 1e-3)

    def advance(count: int) -> None:
        mujoco.mj_resetData(model, data)  # its Euler steps go unstable after some seconds of whipping
        mujoco.mj_step(model, data, count)

    return advance


def pybullet_chain(links: int) -> Advance:
    """PyBullet's multibody with spherical joints, which it drives with a motor unless told otherwise."""
    import pybullet as p

    if links > PYBULLET_LINKS:
        raise ValueError(f"joints of more than {PYBULLET_LINKS} links cannot be freed of their motors")
    client = p.connect(p.DIRECT)
    here = {"physicsClientId": client}
    p.setGravity(0, 0, -9.81, **here)
    p.setTimeStep(1e-3, **here)
    x, y, z = LINK.size
    moments = [LINK.mass / 12 * v for v in (x * x + y * y, x * x + z * z, y * y + z * z)]
    none = -1
    body = p.createMultiBody(
        0, none, none, [0, 0, 0], [0, 0, 0, 1], linkMasses=[LINK.mass] * links,
        linkCollisionShapeIndices=[none] * links, linkVisualShapeIndices=[none] * links,
        linkPositions=[[0, 0, 0] if i == 0 else [z, 0, 0] for i in range(links)],
        linkOrientations=[[0, 0, 0, 1]] * links, linkInertialFramePositions=[[z / 2, 0, 0]] * links,
        linkInertialFrameOrientations=[[0, 0, 0, 1]] * links, linkParentIndices=list(range(links)),
        linkJointTypes=[p.JOINT_SPHERICAL] * links, linkJointAxis=[[0, 0, 1]] * links, **here,
    )  # fmt: skip
    for link in range(links):
        p.setJointMotorControlMultiDof(
            body, link, p.POSITION_CONTROL, targetPosition=[0, 0, 0, 1], positionGain=0, velocityGain=0,
            force=[0, 0, 0], **here,
        )  # fmt: skip
        p.changeDynamics(
            body, link, linearDamping=0, angularDamping=0, jointDamping=0, localInertiaDiagonal=moments, **here
        )

    def advance(count: int) -> None:
        for _ in range(count):
            p.stepSimulation(**here)

    return advance


def drake_chain(links: int) -> Advance:
    """Drake's continuous multibody plant under its third-order Runge–Kutta at fixed steps."""
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BallRpyJoint, FixedOffsetFrame, SpatialInertia, UnitInertia
    from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

    plant = MultibodyPlant(time_step=0.0)
    # Its joints have angles, singular at a pitch of 90°: the chain swings about z here, which is their yaw.
    plant.mutable_gravity_field().set_gravity_vector([0, -9.81, 0])
    parent = plant.world_frame()
    x, y, z = LINK.size
    unit = UnitInertia.SolidBox(z, x, y).ShiftFromCenterOfMass([z / 2, 0, 0])
    for i in range(links):
        body = plant.AddRigidBody(f"link {i}", SpatialInertia(LINK.mass, [z / 2, 0, 0], unit))
        plant.AddJoint(BallRpyJoint(f"joint {i}", parent, body.body_frame()))
        parent = plant.AddFrame(FixedOffsetFrame(f"end {i}", body.body_frame(), RigidTransform([z, 0, 0])))
    plant.Finalize()
    simulator = Simulator(plant)
    integrator = ResetIntegratorFromFlags(simulator, "runge_kutta3", 1e-3)
    integrator.set_fixed_step_mode(True)
    simulator.Initialize()

    def advance(count: int) -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + count * 1e-3)

    return advance
