"""One small scene for each way to step: (a function that builds it, settings of the run)."""

import numpy as np
import sympy as sp

import dalembert as dal

from .driven import arm
from .motions import double_pendulum, free_body

G = 9.81


def driven_arm():
    """An arm that a motor with a position gain moves; a spring is cut on the way, and an event repeats."""
    scene = dal.Scene("driven arm")
    above = dal.WORLD
    for i, axis in enumerate([(0, 0, 1), (0, 1, 0)]):
        link = scene.add_body(f"link {i}", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=(0.25 + 0.5 * i, 0, 0))
        scene.hinge(f"joint {i}", above, link, at=(0.5 * i, 0, 0), axis=axis)
        above = link
    scene.motor("motor", "joint 0", position=0.5, speed=0.0, stiffness=20.0, damping=2.0)
    scene.spring("string", "world", "link 1", (1.0, 0, 1.0), (1.0, 0, 0), stiffness=30.0)
    scene.event("cut", lambda t, y: t - 0.0513, release="string")
    scene.event("tick", lambda t, y: np.sin(40.0 * t), once=False, action=lambda state: None)
    return scene


def four_bar():
    scene = dal.Scene("four-bar")
    corners = [(0, 0, 0), (0, 0, 1), (1.5, 0, 1.2), (1.5, 0, 0)]
    names = [dal.WORLD, "crank", "coupler", "rocker", dal.WORLD]
    for i, name in enumerate(names[1:4]):
        a, b = np.array(corners[i], float), np.array(corners[i + 1], float)
        scene.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=0.5 * (a + b))
    for i in range(4):
        scene.hinge(f"pin {i}", names[i], names[i + 1], corners[i], (0, 1, 0))
    return scene


def tumbling_boxes(count=4):
    scene = dal.Scene("boxes", material=dal.Material(0.4, restitution=0.3))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_obstacle("step", dal.Box(0.5, 2.0, 0.1), position=(0.3, 0, 0.05))
    for i in range(count):
        scene.add_body(f"box {i}", dal.Box(0.4, 0.3, 0.2), mass=1.0, position=(0.07 * i, 0, 0.3 + 0.25 * i),
                       angular_velocity=(1.0, 2.0 * i, 0.5))  # fmt: skip
    return scene


def boxes_and_balls_with_surface_laws():
    """On a compliant ground, and with friction against rolling and spinning, which drops with speed when they slide."""
    rough = dal.Material(
        0.4, rolling_friction=0.004, torsional_friction=0.002, static_friction=0.6, stribeck_velocity=0.05
    )
    scene = dal.Scene("surfaces", material=rough)
    soft = dal.Material(0.5, rolling_friction=0.01, torsional_friction=0.01, stiffness=2e4, damping=50.0)
    scene.add_obstacle("ground", dal.HalfSpace(), material=soft)
    scene.add_obstacle("step", dal.Box(0.5, 2.0, 0.1), position=(0.3, 0, 0.05))
    for i in range(4):
        shape = dal.Sphere(0.1) if i % 2 else dal.Box(0.4, 0.3, 0.2)
        scene.add_body(f"body {i}", shape, mass=1.0, position=(0.07 * i, 0, 0.25 + 0.22 * i),
                       angular_velocity=(1.0, 2.0 * i, 0.5))  # fmt: skip
    return scene


def mixed_solids():
    """Hulls, capsules and balls on a surface of triangles."""
    scene = dal.Scene("solids", material=dal.Material(0.5))
    x, y = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 6), indexing="ij")
    scene.add_obstacle("hills", dal.HeightField(0.1 * np.sin(3 * x) * np.cos(2 * y), 0.4))
    corners = 0.15 * np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
    shapes = [dal.ConvexHull(corners), dal.Capsule(0.08, 0.2), dal.Sphere(0.1), dal.ConvexHull(corners)]
    for i, shape in enumerate(shapes):
        scene.add_body(
            f"solid {i}", shape, mass=1.0, position=(0.1 * i - 0.2, 0.05 * i, 0.25 + 0.1 * i), velocity=(0, 0, -1)
        )
    return scene


def braked_arm():
    """Stops, dry friction and an ideal motor."""
    scene = arm()
    scene.limit("stop", "joint 1", upper=0.05)
    scene.joint_friction("rub", "joint 2", effort=0.3)
    return scene


def resting_boxes():
    scene = tumbling_boxes(0)
    for i in range(3):
        scene.add_body(f"flat {i}", dal.Box(0.3, 0.3, 0.2), mass=1.0, position=(1.0, 0, 0.1 + 0.2 * i))
    return scene


def bouncing_ball():
    scene = dal.Scene("ball")
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.3, restitution=0.5))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.11), velocity=(1, 0, -1),
                   material=dal.Material(0.3))  # fmt: skip
    return scene


def sliding_box():
    """It slides and comes to rest on a slope, by events."""
    scene = dal.Scene("slope", gravity=(G * np.sin(0.3), 0, -G * np.cos(0.3)), material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.4, 0.3, 0.2), mass=1.0, position=(0, 0, 0.1), velocity=(0.2, 0, 0))
    return scene


def cloth_on_ball():
    scene = dal.Scene("cloth")
    scene.add_obstacle("ball", dal.Sphere(0.3), position=(0.3, 0.2, -0.33), material=dal.Material(0.3))
    places, faces = dal.triangle_grid(1.0, 1.0, 6, 6)
    scene.cloth("cloth", places, faces, density=0.2, radius=0.01, stretch=200.0, shear=20.0, pinned=[0, 5],
                material=dal.Material(0.3))  # fmt: skip
    return scene


def cloth_and_box():
    scene = cloth_on_ball()
    scene.add_body("box", dal.Box(0.1, 0.1, 0.1), mass=0.1, position=(0.5, 0.5, 0.08), material=dal.Material(0.3))
    return scene


def swarm():
    scene = dal.Scene("swarm", gravity=(0, 0, 0))
    generator = np.random.default_rng(3)
    scene.add_particles(
        "stars", generator.normal(size=(60, 3)), mass=1.0, velocity=0.1 * generator.normal(size=(60, 3))
    )
    scene.gravitation("pull", "stars", constant=0.01, softening=0.1, theta=0.5)
    return scene


def blown_drops():
    scene = dal.Scene("drops")
    scene.add_particles("drops", np.arange(12.0).reshape(4, 3), mass=0.5)
    scene.field("wind", "drops", function=lambda t, x, v: np.array([np.sin(9.0 * t), 0.0, 0.0]))
    return scene


def turning_tube():
    scene = dal.Scene("tube", gravity=(0, 0, -G))
    scene.add_body("bead", dal.Sphere(0.05), mass=1.0, position=(0.5, 0, 0), velocity=(0.1, 0, 0))
    return scene


def along_the_tube(scene):
    a, b = sp.symbols("a b")
    place = (a * sp.cos(b), a * sp.sin(b), a**2 - sp.Rational(1, 4))
    return dal.GeneralizedCoordinates(scene, [a, b], {"bead": place}, start=[0.5, 0.0])


STEPS = {"method": "time_stepping", "dt": 1 / 300}
STEPPERS = {
    "dormand_prince": (driven_arm, {}),
    "dop853": (double_pendulum, {"method": "dop853", "rtol": 1e-10}),
    "bogacki_shampine, feedback": (double_pendulum, {"method": "bogacki_shampine", "hold": "feedback", "stiffness": 100.0,
                                                     "damping": 20.0}),
    "rk4": (driven_arm, {"method": "rk4", "dt": 1 / 700}),
    "splitting": (free_body, {"method": "splitting", "dt": 1 / 300}),
    "symplectic_euler": (double_pendulum, {"method": "symplectic_euler", "dt": 1 / 300}),
    "iterative constraints": (four_bar, {"constraint_solver": "bicgstab"}),
    "joint coordinates": (driven_arm, {"coordinates": "joint"}),
    "joint coordinates, fixed": (driven_arm, {"coordinates": "joint", "method": "rk4", "dt": 1 / 300}),
    "joint coordinates, loop": (four_bar, {"coordinates": "joint"}),
    "generalized coordinates": (turning_tube, {"coordinates": along_the_tube, "assemble": True}),
    "contact": (tumbling_boxes, STEPS),
    "contact, converging": (tumbling_boxes, {**STEPS, "solver": "interior_point"}),
    "contact, surface laws": (boxes_and_balls_with_surface_laws, STEPS),
    "contact, surface laws, in joint coordinates": (
        boxes_and_balls_with_surface_laws, {**STEPS, "coordinates": "joint"}
    ),
    "contact of hulls and a surface": (mixed_solids, STEPS),
    "contact, asleep": (resting_boxes, {**STEPS, "sleep_after": 0.05}),
    "bounds": (braked_arm, STEPS),
    "contact in joint coordinates": (tumbling_boxes, {**STEPS, "coordinates": "joint"}),
    "bounds in joint coordinates": (braked_arm, {**STEPS, "coordinates": "joint"}),
    "events of contact": (bouncing_ball, {"method": "dormand_prince"}),
    "events of contact, fixed": (bouncing_ball, {"method": "rk4", "dt": 1 / 300}),
    "rest by events": (sliding_box, {"method": "dop853"}),
    "particles, explicit": (blown_drops, STEPS),
    "particles, rk4": (swarm, {"method": "rk4", "dt": 1 / 300}),
    "particles, adaptive": (swarm, {"method": "dormand_prince"}),
    "implicit_euler": (cloth_on_ball, {"method": "implicit_euler", "dt": 1 / 300}),
    "linear_implicit_euler": (cloth_on_ball, {"method": "linear_implicit_euler", "dt": 1 / 300}),
    "implicit_midpoint": (cloth_on_ball, {"method": "implicit_midpoint", "dt": 1 / 300}),
    "bdf2": (cloth_on_ball, {"method": "bdf2", "dt": 1 / 300}),
    "bodies and particles": (cloth_and_box, {"method": "bdf2", "dt": 1 / 300}),
}  # fmt: skip
