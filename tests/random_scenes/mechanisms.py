"""Random mechanisms, and what must hold for each whatever it is.

`random_mechanism(seed)` draws a family (trees of every joint, trees closed by rods and balls, planar and spherical linkages
turned in space, rotors on several bearings, shafts with universal joints, gears, rings of balls), a pose of the whole in
space, masses, springs, motors, loads and drag. Its initial velocities fit its joints.

The checks know nothing of the engine's kernels: the rank of the constraints comes from their equations written out here, the
energy from states and the scene's own numbers, momentum from Newton's law.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as dal

UP = np.array([0.0, 0.0, 1.0])
TREE_JOINTS = ("hinge", "slider", "ball", "cylindrical", "universal", "weld")
RANK_TOLERANCE = 1e-9  # of the largest singular value


def unit(v):
    return np.asarray(v) / np.linalg.norm(v)


def wxyz(rotation):
    return np.roll(rotation.as_quat(), 1)


class Builder:
    """A scene whose points and directions are turned and moved as a whole by a random pose."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.turn = Rotation.random(random_state=self.rng)
        self.origin = self.rng.normal(size=3)
        gravity = self.rng.choice([0.0, 9.81]) * unit(self.rng.normal(size=3))
        self.scene = dal.Scene(f"mechanism {seed}", gravity=gravity)

    def at(self, point):
        return self.origin + self.turn.apply(point)

    def along(self, direction):
        return self.turn.apply(unit(direction))

    def body(self, name, at, turn=None, size=None):
        rng = self.rng
        turn = Rotation.random(random_state=rng) if turn is None else turn
        size = rng.uniform(0.1, 0.5, 3) if size is None else size
        return self.scene.add_body(
            name, dal.Box(*size), mass=10 ** rng.uniform(-0.5, 0.7), position=self.at(at),
            orientation=wxyz(self.turn * turn),
        )  # fmt: skip

    def local(self, frame):
        """Where a body or the world is, before the whole was turned."""
        return self.turn.inv().apply(frame.position - self.origin) if hasattr(frame, "position") else np.zeros(3)

    def join(self, name, kind, a, b):
        rng = self.rng
        at = self.at(0.5 * (self.local(a) + self.local(b)) + 0.2 * rng.normal(size=3))
        axis = unit(rng.normal(size=3))
        if kind == "universal":
            return self.scene.universal(name, a, b, at, axis, unit(np.cross(axis, rng.normal(size=3))))
        if kind in ("weld", "ball"):
            return getattr(self.scene, kind)(name, a, b, at)
        return getattr(self.scene, kind)(name, a, b, at, axis)


# Families -----------------------------------------------------------------------------------------------------------------


def tree(build):
    """Bodies joined one to another by joints of every kind, free or on the world."""
    rng, scene = build.rng, build.scene
    bodies = [build.body("base", (0, 0, 0))]
    if rng.random() < 0.5:
        build.join("foot", rng.choice(TREE_JOINTS), dal.WORLD, bodies[0])
    for i in range(rng.integers(1, 7)):
        carrier = bodies[rng.integers(len(bodies))]
        body = build.body(f"body {i}", build.local(carrier) + 0.5 * rng.normal(size=3))
        ends = (carrier, body) if rng.random() < 0.5 else (body, carrier)
        build.join(f"joint {i}", rng.choice(TREE_JOINTS), *ends)
        bodies.append(body)
    assert scene.bodies


def closed_tree(build):
    """A tree of balls and universal joints whose ends are held by rods, balls, lines and planes."""
    rng, scene = build.rng, build.scene
    bodies = [build.body("base", (0, 0, 0))]
    for i in range(rng.integers(3, 6)):
        body = build.body(f"body {i}", build.local(bodies[-1]) + (0.5, 0, 0) + 0.3 * rng.normal(size=3))
        build.join(f"joint {i}", rng.choice(["ball", "ball", "universal", "cylindrical"]), bodies[-1], body)
        bodies.append(body)
    for i in range(rng.integers(1, 3)):
        first, last = rng.choice(len(bodies), 2, replace=False)
        a, b = (dal.WORLD if rng.random() < 0.4 else bodies[first]), bodies[last]
        kind = rng.choice(["rod", "ball", "point_on_plane", "point_on_line"])
        if kind == "rod":
            scene.rod(f"loop {i}", a, b, build.at(build.local(a) + (0, 0, 0.7)), build.at(build.local(b)))
        elif kind == "ball":
            scene.ball(f"loop {i}", a, b, build.at(build.local(b) + 0.2 * rng.normal(size=3)))
        else:
            getattr(scene, kind)(f"loop {i}", a, b, build.at(build.local(b)), build.along(rng.normal(size=3)))


def polygon(build):
    """Planar closed chains of hinges about one direction, one or two side by side: 3 redundant rows each."""
    rng, scene = build.rng, build.scene
    first = rng.integers(3)  # of the chain's bodies, on the world, or none
    for loop in range(rng.integers(1, 3)):
        count = rng.integers(4, 8)
        angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, count)) + 0.3 * np.arange(count) / count
        corners = np.stack([np.cos(angles), np.sin(angles), np.full(count, 0.1 * loop)], axis=1) * rng.uniform(0.5, 2.0)
        bodies = []
        for i in range(count):
            ends = corners[i], corners[(i + 1) % count]
            slope = Rotation.from_rotvec(np.arctan2(*(ends[1] - ends[0])[1::-1]) * UP)
            size = (np.linalg.norm(ends[1] - ends[0]), *rng.uniform(0.05, 0.1, 2))
            bodies.append(build.body(f"bar {loop} {i}", 0.5 * (ends[0] + ends[1]), slope, size))
        if first:
            bodies[0] = _replace_by_world(scene, bodies[0])
        for i in range(count):
            scene.hinge(f"pin {loop} {i}", bodies[i - 1], bodies[i], build.at(corners[i]), build.along(UP))


def _replace_by_world(scene, body):
    del scene.bodies[body.name]
    return dal.WORLD


def spherical(build):
    """A closed chain of hinges whose axes meet in one point: 3 redundant rows."""
    rng, scene = build.rng, build.scene
    count = rng.integers(4, 7)
    tilts = Rotation.from_euler("ZX", [[2.0 * np.pi * i / count, rng.uniform(0.5, 1.0)] for i in range(count)])
    axes = tilts.apply(UP)
    bodies = [build.body(f"arm {i}", 0.5 * (axes[i] + axes[(i + 1) % count])) for i in range(count)]
    if rng.random() < 0.6:
        bodies[0] = _replace_by_world(scene, bodies[0])
    for i in range(count):
        scene.hinge(
            f"pin {i}", bodies[i - 1], bodies[i], build.at(axes[i] * rng.uniform(0.5, 1.0)), build.along(axes[i])
        )


def rotor(build):
    """A body on two or three bearings in line, and what hangs on it."""
    rng, scene = build.rng, build.scene
    body, axis = build.body("rotor", (0, 0, 0)), rng.normal(size=3)
    for i in range(rng.integers(2, 4)):
        at = build.at(unit(axis) * (i - 0.5) * rng.uniform(0.5, 1.0))
        scene.hinge(f"bearing {i}", dal.WORLD, body, at, build.along(axis))
    last = build.body("pendant", (0.5, 0.2, 0.1))
    build.join("hook", rng.choice(["ball", "hinge", "universal", "slider", "weld"]), body, last)


def shafts(build):
    """Two shafts in bearings with a middle piece between two universal joints, one of which may slide."""
    scene = build.scene
    start, middle, end = (build.body(name, at) for name, at in (
        ("driver", (-1, 0, 0)), ("middle", (0, 0.2, 0)), ("driven", (1, 0.4, 0))
    ))  # fmt: skip
    scene.hinge("first bearing", dal.WORLD, start, build.at((-1.2, 0, 0)), build.along((1, 0, 0)))
    scene.cylindrical("last bearing", dal.WORLD, end, build.at((1.2, 0.4, 0)), build.along((1, 0, 0)))
    scene.universal(
        "first cross", start, middle, build.at((-0.6, 0, 0)), build.along((0, 0, 1)), build.along((1, -3, 0))
    )
    across = np.cross((0.6 + 0.6, 0.4, 0.0), (0, 0, 1))
    scene.universal("last cross", middle, end, build.at((0.6, 0.4, 0)), build.along(across), build.along((0, 0, 1)))


def gears(build):
    """Wheels on parallel hinges that mesh in turn, and a rack."""
    rng, scene = build.rng, build.scene
    wheels = []
    for i in range(rng.integers(2, 5)):
        body = build.body(f"wheel {i}", (i, 0.1 * i, 0))
        wheels.append(scene.hinge(f"axle {i}", dal.WORLD, body, build.at((i, 0.1 * i, 0.3)), build.along(UP)))
        if i:
            scene.gear(f"mesh {i}", wheels[i - 1], wheels[i], float(rng.choice([-1, 1]) * rng.uniform(0.4, 2.5)))
    rack = build.body("rack", (0, 1, 0))
    guide = scene.slider("guide", dal.WORLD, rack, build.at((0, 1, 0)), build.along((1, 0.3, 0.2)))
    scene.gear("pinion", wheels[0], guide, rng.uniform(0.1, 0.5))


def ring(build):
    """A closed chain of ball joints, free or hung up."""
    rng, scene = build.rng, build.scene
    count = rng.integers(3, 9)
    corners = np.array([
        [np.cos(a), np.sin(a), 0.2 * rng.normal()] for a in 2.0 * np.pi * np.arange(count) / count
    ])  # fmt: skip
    bodies = [build.body(f"link {i}", 0.5 * (corners[i] + corners[(i + 1) % count])) for i in range(count)]
    if rng.random() < 0.5:
        bodies[0] = _replace_by_world(scene, bodies[0])
    for i in range(count):
        scene.ball(f"ball {i}", bodies[i - 1], bodies[i], build.at(corners[i]))


def platform(build):
    """A plate on six legs, each a universal joint, a cylindrical one and a ball."""
    rng, scene = build.rng, build.scene
    plate = build.body("plate", (0, 0, 1.5), size=(1.0, 1.0, 0.1))
    for i in range(6):
        low = np.array([np.cos(i * np.pi / 3.0 + 0.2 * (i % 2)), np.sin(i * np.pi / 3.0 + 0.2 * (i % 2)), 0.0])
        high = np.array([0.6 * np.cos(i * np.pi / 3.0), 0.6 * np.sin(i * np.pi / 3.0), 1.5]) + 0.05 * rng.normal(size=3)
        along = unit(high - low)
        lower, upper = build.body(f"low {i}", low + 0.4 * along), build.body(f"high {i}", high - 0.4 * along)
        side = unit(np.cross(along, (0.3, 0.5, 0.1)))
        scene.universal(
            f"foot {i}", dal.WORLD, lower, build.at(low), build.along(side), build.along(np.cross(along, side))
        )
        scene.cylindrical(f"leg {i}", lower, upper, build.at(0.5 * (low + high)), build.along(along))
        scene.ball(f"top {i}", upper, plate, build.at(high))


FAMILIES = (tree, tree, closed_tree, polygon, spherical, rotor, shafts, gears, ring, platform)
HEAVY = (platform,)  # many rows: one in ten is enough


def add_forces(build):
    rng, scene = build.rng, build.scene
    bodies = list(scene.bodies.values())
    turning = [joint for joint in scene.joints.values() if joint.angle or joint.displacement]
    for i in range(rng.integers(0, 3)):
        ends = rng.choice(bodies), rng.choice([*bodies, dal.WORLD])
        if ends[0] is ends[1]:
            continue
        points = [build.at(build.local(end) + 0.3 * rng.normal(size=3)) for end in ends]
        damping = rng.choice([0.0, rng.uniform(0.1, 2.0)])
        scene.spring(f"spring {i}", *ends, *points, stiffness=10 ** rng.uniform(0, 2.5), damping=damping)
    if turning and rng.random() < 0.5:
        scene.torsion_spring("torsion", rng.choice(turning), stiffness=rng.uniform(1, 30), rest=rng.normal())
    if turning and rng.random() < 0.4:
        scene.motor(
            "motor", rng.choice(turning), effort=rng.normal(), stiffness=rng.uniform(0, 20), position=rng.normal(),
            damping=rng.uniform(0, 2), speed=rng.normal(),
        )  # fmt: skip
    if rng.random() < 0.4:
        scene.external_force(
            "load", rng.choice(bodies), force=3.0 * rng.normal(size=3), torque=0.3 * rng.normal(size=3),
            frame=rng.choice(["world", "body"]),
        )  # fmt: skip
    if rng.random() < 0.3:
        scene.drag("drag", linear=rng.uniform(0, 0.5), angular=rng.uniform(0, 0.05), quadratic=rng.uniform(0, 0.2))


def random_mechanism(seed, forces=True):
    """A scene at rest, or in motion that fits its joints. The same seed gives the same scene."""
    build = Builder(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    if family in HEAVY and seed // len(FAMILIES) % 5:
        family = FAMILIES[build.rng.integers(len(FAMILIES) - len(HEAVY))]
    family(build)
    if forces:
        add_forces(build)
    build.scene.description = family.__name__
    set_in_motion(build.scene, build.rng)
    return build.scene


def set_in_motion(scene, rng):
    """Give the bodies the velocities nearest to random ones that the joints allow, in the metric of the masses."""
    bodies = list(scene.bodies.values())
    wanted = rng.normal(size=6 * len(bodies))
    jacobian = constraint_jacobian(scene, {b.name: (b.position, b.rotation) for b in bodies})
    # in the metric of the masses: M^½ v is projected on the null space of J M^-½
    root = np.zeros((len(wanted), len(wanted)))
    for i, body in enumerate(bodies):
        root[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.eye(3) / np.sqrt(body.mass)
        values, axes = np.linalg.eigh(body.rotation @ body.inertia @ body.rotation.T)
        root[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = axes @ np.diag(values**-0.5) @ axes.T
    scaled = jacobian @ root
    free = np.linalg.solve(root, wanted)
    if len(scaled):
        _, values, rows = np.linalg.svd(scaled)
        rows = rows[: int((values > RANK_TOLERANCE * values[0]).sum())]
        free = free - rows.T @ (rows @ free)
    speeds = (root @ free).reshape(-1, 6)
    for body, speed in zip(bodies, speeds, strict=True):
        moving = replace(body, velocity=speed[:3], angular_velocity=speed[3:])
        for field in ("velocity", "angular_velocity"):
            object.__setattr__(body, field, getattr(moving, field))


# What the equations of joints say, written out ------------------------------------------------------------------------------


def constraint_jacobian(scene, poses):
    """(rows, 6 bodies) of the joints at poses (name → position, rotation matrix), from the parts of the joints and their
    velocities alone: a second implementation, dense and slow."""
    bodies = list(scene.bodies)
    rows = []
    for joint in scene.joints.values():
        if joint.coupling is not None:
            rows.append(_gear_row(joint, poses, bodies))
            continue
        for part in joint.parts:
            rows.extend(_part_rows(joint, part, poses, bodies))
    return np.array(rows).reshape(len(rows), 6 * len(bodies))


def _pose(frame, poses):
    """(position, rotation) now, and a function that takes a world point of the start to the body's frame."""
    if not hasattr(frame, "inertia"):
        return np.zeros(3), np.eye(3), lambda p: p
    position, rotation = poses[frame.name]
    return position, rotation, lambda p: frame.rotation.T @ (p - frame.position)


def _part_rows(joint, part, poses, bodies):
    (xa, ra, to_a), (xb, rb, to_b) = _pose(joint.a, poses), _pose(joint.b, poses)
    pa, pb = xa + ra @ to_a(part.point_a), xb + rb @ to_b(part.point_b)
    turn_a = ra @ (joint.a.rotation.T if hasattr(joint.a, "inertia") else np.eye(3))
    turn_b = rb @ (joint.b.rotation.T if hasattr(joint.b, "inertia") else np.eye(3))
    na, nb = turn_a @ part.axis_a, turn_b @ part.axis_b
    gap = pb - pa
    if part.kind == "point":
        # ẋ_b + ω_b × r_b − ẋ_a − ω_a × r_a, each direction e: e·v + (r × e)·ω
        return [_row(bodies, joint, (-e, -np.cross(pa - xa, e)), (e, np.cross(pb - xb, e))) for e in np.eye(3)]
    if part.kind == "dot":  # d/dt (n_a · n_b) = (n_a × n_b) · (ω_a − ω_b)
        across = np.cross(na, nb)
        return [_row(bodies, joint, (np.zeros(3), across), (np.zeros(3), -across))]
    if part.kind == "plane":  # d/dt n_a·(p_b − p_a), n_a turning with a
        return [_row(bodies, joint, (-na, -np.cross(pa - xa, na) - np.cross(gap, na)), (na, np.cross(pb - xb, na)))]
    if part.kind == "distance":
        e = gap / np.linalg.norm(gap)
        return [_row(bodies, joint, (-e, -np.cross(pa - xa, e)), (e, np.cross(pb - xb, e)))]
    raise NotImplementedError(part.kind)


def _row(bodies, joint, of_a, of_b):
    row = np.zeros(6 * len(bodies))
    for frame, (f, g) in ((joint.a, of_a), (joint.b, of_b)):
        if hasattr(frame, "inertia"):
            at = 6 * bodies.index(frame.name)
            row[at : at + 3] += f
            row[at + 3 : at + 6] += g
    return row


def _gear_row(joint, poses, bodies):
    first, second = joint.coupling.joints
    row = np.zeros(6 * len(bodies))
    for one, factor in ((first, joint.coupling.ratio), (second, -1.0)):
        (xa, ra, _), (xb, rb, to_b) = _pose(one.a, poses), _pose(one.b, poses)
        axis = ra @ (one.a.rotation.T if hasattr(one.a, "inertia") else np.eye(3)) @ one.axis
        if one.angle:
            row += factor * _row(bodies, one, (np.zeros(3), -axis), (np.zeros(3), axis))
        else:
            pb = xb + rb @ to_b(one.at)
            row += factor * _row(bodies, one, (-axis, -np.cross(pb - xa, axis)), (axis, np.cross(pb - xb, axis)))
    return row


def constraint_rank(scene, poses):
    """(rank, rows) of the constraints, by singular values; None where they leave the rank in doubt."""
    jacobian = constraint_jacobian(scene, poses)
    if not len(jacobian):
        return 0, 0
    values = np.linalg.svd(jacobian, compute_uv=False)
    relative = values / values[0]
    if ((relative > 1e-12) & (relative < 1e-5)).any():
        return None, len(jacobian)
    return int((relative > RANK_TOLERANCE).sum()), len(jacobian)
