"""Two small scenes in several engines, each a program of its own: `first_step.py ENGINE SCENE [STEPS]`.

`start.py` times whole processes of it. The program makes so many steps of 1 ms (one, if not said) and prints the heights of
all bodies. `start.py` checks these after 1 s, so that every engine is seen to run the scene that it is timed with.

pendulum: a rod of 1 kg and 1 m, hinged at one end to the world, let go when level. boxes: five pairs of cubes of 1 kg and
10 cm, one above the other, which fall 1 cm to a plane and to each other.
"""

import sys

DT = 1e-3  # s
LENGTH, WIDTH, MASS = 1.0, 0.05, 1.0  # of the rod
SIDE, FRICTION = 0.1, 0.5  # of the cubes
PLACES = [(0.3 * (k // 2), 0.0, SIDE * (0.6 + 1.1 * (k % 2))) for k in range(10)]
ROD = (LENGTH, WIDTH, WIDTH)
CUBE = (SIDE, SIDE, SIDE)

PENDULUM = f"""<mujoco><option timestep="{DT}"/><worldbody><body pos="0 0 0">
<joint type="hinge" axis="0 1 0"/>
<geom type="box" size="{LENGTH / 2} {WIDTH / 2} {WIDTH / 2}" pos="{LENGTH / 2} 0 0" mass="{MASS}"/>
</body></worldbody></mujoco>"""
BOXES = (
    f'<mujoco><option timestep="{DT}"/><worldbody><geom type="plane" size="5 5 1" friction="{FRICTION} 0 0"/>'
    + "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}" mass="{MASS}" '
        f'friction="{FRICTION} 0 0"/></body>'
        for x, y, z in PLACES
    )
    + "</worldbody></mujoco>"
)


def dalembert(scene: str, steps: int) -> list[float]:
    import dalembert as dal

    if scene == "pendulum":
        made = dal.Scene("pendulum")
        rod = made.add_body("rod", dal.Box(*ROD), mass=MASS, position=(LENGTH / 2, 0.0, 0.0))
        made.hinge("hinge", dal.WORLD, rod, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        run = dal.simulate(made, steps * DT, method="rk4", dt=DT)
    else:
        made = dal.Scene("boxes", material=dal.Material(FRICTION))
        made.add_obstacle("ground", dal.HalfSpace())
        for k, place in enumerate(PLACES):
            made.add_body(f"box {k}", dal.Box(*CUBE), mass=MASS, position=place)
        run = dal.simulate(made, steps * DT, dt=DT)
    return run.state.position[:, 2].tolist()


def mujoco(scene: str, steps: int) -> list[float]:
    import mujoco as mj

    model = mj.MjModel.from_xml_string(PENDULUM if scene == "pendulum" else BOXES)
    data = mj.MjData(model)
    mj.mj_step(model, data, steps)
    mj.mj_kinematics(model, data)
    return data.xipos[1:, 2].tolist()


def mjx(scene: str, steps: int) -> list[float]:
    import jax
    import mujoco as mj
    from mujoco import mjx as engine

    model = engine.put_model(mj.MjModel.from_xml_string(PENDULUM if scene == "pendulum" else BOXES))
    data = engine.make_data(model)
    step = jax.jit(engine.step)
    for _ in range(steps):
        data = step(model, data)
    jax.block_until_ready(data)
    return engine.kinematics(model, data).xipos[1:, 2].tolist() if steps > 1 else []


def drake(scene: str, steps: int) -> list[float]:
    from pydrake.geometry import Box, HalfSpace
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
    from pydrake.multibody.tree import RevoluteJoint, SpatialInertia, UnitInertia
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, DT)
    size = ROD if scene == "pendulum" else CUBE
    inertia = SpatialInertia(MASS, [0.0, 0.0, 0.0], UnitInertia.SolidBox(*size))
    if scene == "pendulum":
        bodies = [plant.AddRigidBody("rod", inertia)]
        end = RigidTransform([-LENGTH / 2, 0.0, 0.0])
        plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), _offset(plant, bodies[0], end), [0.0, 1.0, 0.0]))
    else:
        friction, none = CoulombFriction(FRICTION, FRICTION), RigidTransform()
        plant.RegisterCollisionGeometry(plant.world_body(), none, HalfSpace(), "ground", friction)
        bodies = [plant.AddRigidBody(f"box {k}", inertia) for k in range(len(PLACES))]
        for body in bodies:
            plant.RegisterCollisionGeometry(body, none, Box(*CUBE), "cube", friction)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    own = plant.GetMyMutableContextFromRoot(context)
    if scene == "boxes":
        for body, place in zip(bodies, PLACES, strict=True):
            plant.SetFreeBodyPose(own, body, RigidTransform(place))
    Simulator(diagram, context).AdvanceTo(steps * DT)
    return [float(plant.EvalBodyPoseInWorld(own, body).translation()[2]) for body in bodies]


def _offset(plant, body, pose):  # type: ignore[no-untyped-def]
    """A frame of a body for Drake."""
    from pydrake.multibody.tree import FixedOffsetFrame

    return plant.AddFrame(FixedOffsetFrame("end", body.body_frame(), pose))


def newton(scene: str, steps: int) -> list[float]:
    import newton as engine
    import warp as wp

    wp.config.quiet = True
    with wp.ScopedDevice("cpu"):
        builder = engine.ModelBuilder(up_axis=engine.Axis.Z)
        if scene == "pendulum":
            link = builder.add_link()
            config = engine.ModelBuilder.ShapeConfig(density=MASS / (LENGTH * WIDTH * WIDTH), has_shape_collision=False)
            builder.add_shape_box(link, hx=LENGTH / 2, hy=WIDTH / 2, hz=WIDTH / 2, cfg=config)
            hinge = builder.add_joint_revolute(
                parent=-1, child=link, axis=wp.vec3(0.0, 1.0, 0.0),
                parent_xform=wp.transform_identity(),
                child_xform=wp.transform(p=wp.vec3(-LENGTH / 2, 0.0, 0.0), q=wp.quat_identity()),
            )  # fmt: skip
            builder.add_articulation([hinge])
        else:
            config = engine.ModelBuilder.ShapeConfig(density=MASS / SIDE**3, mu=FRICTION)
            builder.add_ground_plane(cfg=config)
            for place in PLACES:
                body = builder.add_body(xform=wp.transform(p=wp.vec3(*place), q=wp.quat_identity()))
                builder.add_shape_box(body, hx=SIDE / 2, hy=SIDE / 2, hz=SIDE / 2, cfg=config)
        model = builder.finalize()
        solver = engine.solvers.SolverXPBD(model)
        now, then, control = model.state(), model.state(), model.control()
        engine.eval_fk(model, model.joint_q, model.joint_qd, now)
        pipeline = engine.CollisionPipeline(model) if scene == "boxes" else None
        contacts = None if pipeline is None else pipeline.contacts()
        for _ in range(steps):
            now.clear_forces()
            if pipeline is not None:
                pipeline.collide(now, contacts)
            solver.step(now, then, control, contacts, DT)
            now, then = then, now
        return now.body_q.numpy()[:, 2].tolist()


def genesis(scene: str, steps: int) -> list[float]:
    import tempfile

    import genesis as gs

    gs.init(backend=gs.cpu, precision="64", logging_level="warning")
    made = gs.Scene(sim_options=gs.options.SimOptions(dt=DT), show_viewer=False)
    if scene == "pendulum":
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(PENDULUM)
            file.flush()
            bodies = [made.add_entity(gs.morphs.MJCF(file=file.name, default_armature=0.0))]
            made.build()
    else:
        made.add_entity(gs.morphs.Plane())
        bodies = [made.add_entity(gs.morphs.Box(size=CUBE, pos=place)) for place in PLACES]
        made.build()
    for _ in range(steps):
        made.step()
    if scene == "pendulum":
        return [float(bodies[0].links[-1].get_AABB().mean(0)[2])]
    return [float(body.get_pos()[2]) for body in bodies]


ENGINES = {f.__name__: f for f in (dalembert, mujoco, mjx, drake, newton, genesis)}

if __name__ == "__main__":
    print("HEIGHTS", *ENGINES[sys.argv[1]](sys.argv[2], int((*sys.argv[3:], 1)[0])))
