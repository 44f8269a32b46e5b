"""The chain of `scenes.chain` in other engines. Each function returns the seconds a step takes."""

import time
from collections.abc import Callable

SIZE = 0.02, 0.02, 0.1  # of a link, m
MASS = 0.1


def best(advance: Callable[[int], None], steps: int, repeats: int = 3) -> float:
    """Shortest time of a step over a few repeats, s."""
    advance(max(steps // 10, 1))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        advance(steps)
        times.append((time.perf_counter() - start) / steps)
    return min(times)


def mujoco_xml(links: int, integrator: str) -> str:
    """MJCF of the chain: ball joints, no contact, no damping."""
    x, y, z = (s / 2 for s in SIZE)
    body = ""
    for i in reversed(range(links)):
        at = "0 0 0" if i == 0 else f"{SIZE[2]} 0 0"
        body = (
            f'<body pos="{at}"><joint type="ball"/>'
            f'<geom type="box" size="{z} {x} {y}" pos="{SIZE[2] / 2} 0 0" mass="{MASS}" contype="0" conaffinity="0"/>'
            f"{body}</body>"
        )
    return (
        f'<mujoco><option timestep="0.001" integrator="{integrator}"><flag contact="disable"/></option>'
        f'<size memory="2000M"/><worldbody>{body}</worldbody></mujoco>'
    )


def mujoco_step(links: int, integrator: str, steps: int) -> float:
    """MuJoCo with its "RK4", "Euler" or "implicitfast"."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_xml(links, integrator))
    data = mujoco.MjData(model)

    def advance(count: int) -> None:
        mujoco.mj_step(model, data, count)

    return best(advance, steps)


def pybullet_step(links: int, steps: int) -> float:
    """PyBullet's multibody with spherical joints."""
    import pybullet as p

    client = p.connect(p.DIRECT)
    try:
        p.setGravity(0, 0, -9.81, physicsClientId=client)
        p.setTimeStep(1e-3, physicsClientId=client)
        length = SIZE[2]
        shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=[length / 2, 0.01, 0.01], physicsClientId=client)
        none = -1
        p.createMultiBody(
            0, none, none, [0, 0, 0], [0, 0, 0, 1], linkMasses=[MASS] * links, linkCollisionShapeIndices=[shape] * links,
            linkVisualShapeIndices=[none] * links,
            linkPositions=[[0, 0, 0] if i == 0 else [length, 0, 0] for i in range(links)],
            linkOrientations=[[0, 0, 0, 1]] * links, linkInertialFramePositions=[[length / 2, 0, 0]] * links,
            linkInertialFrameOrientations=[[0, 0, 0, 1]] * links, linkParentIndices=list(range(links)),
            linkJointTypes=[p.JOINT_SPHERICAL] * links, linkJointAxis=[[0, 0, 1]] * links, physicsClientId=client,
        )  # fmt: skip
        for link in range(links):
            p.setCollisionFilterGroupMask(0, link, 0, 0, physicsClientId=client)

        def advance(count: int) -> None:
            for _ in range(count):
                p.stepSimulation(physicsClientId=client)

        return best(advance, steps)
    finally:
        p.disconnect(client)


def drake_step(links: int, steps: int) -> float:
    """Drake's continuous multibody plant under its third-order Runge–Kutta at fixed steps of 1 ms."""
    from pydrake.all import (
        BallRpyJoint,
        FixedOffsetFrame,
        MultibodyPlant,
        RigidTransform,
        RungeKutta3Integrator,
        Simulator,
        SpatialInertia,
        UnitInertia,
    )

    plant = MultibodyPlant(time_step=0.0)
    parent = plant.world_frame()
    z, x, y = SIZE[2], SIZE[0], SIZE[1]
    for i in range(links):
        inertia = SpatialInertia(
            MASS, [z / 2, 0, 0], UnitInertia.SolidBox(z, x, y).ShiftFromCenterOfMass([z / 2, 0, 0])
        )
        body = plant.AddRigidBody(f"link{i}", inertia)
        plant.AddJoint(BallRpyJoint(f"joint{i}", parent, body.body_frame()))
        parent = plant.AddFrame(FixedOffsetFrame(f"end{i}", body.body_frame(), RigidTransform([z, 0, 0])))
    plant.Finalize()
    simulator = Simulator(plant)
    simulator.reset_integrator(RungeKutta3Integrator(plant))
    integrator = simulator.get_mutable_integrator()
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(1e-3)
    simulator.Initialize()

    def advance(count: int) -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + count * 1e-3)

    return best(advance, steps)
