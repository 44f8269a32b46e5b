"""Warnings about a scene that can be run but probably contains a mistake: the messages of `SimulationWarning`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.arrays import NumbersLike
from .body import Body
from .checks import array_of
from .force import Force
from .joint import Joint
from .shapes import Compound, ConvexHull, HalfSpace, TriangleMesh
from .shapes.convex_hull import MOST_CORNERS, ROUNDING, Simplified, contact_hull

if TYPE_CHECKING:
    from .contact import Touching
    from .scene import Scene

FEW = 4  # names in a sentence
TURN = 2.0 * math.pi
HALF_TURNS = 1e-3  # of π: what is so near to a multiple of π was written in radians
AXIS, NORM = 1e-6, 0.02  # how near to 1 an axis is; what is not the rounding of a quaternion
DENSITIES = (1e-3, 1e6)  # kg/m³: a thousandth of air's, and 44 times that of osmium
STRONG = 1e3  # m/s²
FAR = 100.0  # radii of a body: joints further away are probably given in other units
WEAK = 10.0  # lengths of a spring, by which a weight stretches it


def warnings_of(scene: Scene) -> list[str]:
    """A message for each thing in the scene that is probably a mistake, with the way out."""
    found = [*scene.warnings]
    for check in (
        _untouched,
        _idle_rules,
        _angles,
        _starts_beyond_stops,
        _gravity,
        _surfaces,
        _no_ground,
        _far_joints,
        _weak_springs,
    ):
        found += check(scene)
    return found


def names(items: Sequence[str]) -> str:
    """The first names, quoted, and how many more there are.

    >>> names(["a", "b"])
    "'a', 'b'"
    """
    more = f" and {len(items) - FEW} more" if len(items) > FEW else ""
    return ", ".join(repr(item) for item in items[:FEW]) + more


# When something is added to a scene -----------------------------------------------------------------------------------


def orientation_warnings(owner: str, value: NumbersLike) -> Iterator[str]:
    """What a quaternion in another order, or an axis with an angle, looks like."""
    q = array_of(value).astype(float)
    order = "a quaternion is (w, x, y, z)"
    if q.tolist() == [0.0, 0.0, 0.0, 1.0]:
        yield (
            f"{owner}: orientation (0, 0, 0, 1) is half a turn about z, as {order}; for no rotation give (1, 0, 0, 0), and "
            "for half a turn (0, 0, 0, -1)"
        )
    found = False
    for angle, axis in ((q[0], q[1:]), (q[3], q[:3])):
        if abs(float(np.linalg.norm(axis)) - 1.0) < AXIS and abs(angle) > NORM and abs(angle) != 1.0:
            found = True
            yield (
                f"{owner}: orientation {tuple(q.tolist())} looks like an axis and an angle, and was divided by its norm: "
                f"{order}; give (cos(angle/2), *(sin(angle/2) * axis))"
            )

    w, x, y, z = q.tolist()
    norm = float(np.linalg.norm(q))
    if w == 0.0 and z != 0.0 and (x == 0.0) != (y == 0.0) and abs(abs(x + y) - abs(z)) > AXIS:
        yield (
            f"{owner}: orientation {(w, x, y, z)} is half a turn, as {order}; if it was (x, y, z, w), give "
            f"{(z, w, x, y)}"
        )
    elif not found and abs(norm - 1.0) > NORM and 0.0 in (w, x, y, z):  # without zeros it was drawn at random
        unit = tuple(round(value, 6) for value in (q / norm).tolist())
        yield f"{owner}: orientation {(w, x, y, z)} has the norm {norm:.4g} and was divided by it; {order}, give {unit}"


def density_warnings(owner: str, mass: float, volume: float) -> Iterator[str]:
    """What lengths in millimetres, or masses in grams, come to."""
    density = mass / volume
    if not DENSITIES[0] <= density <= DENSITIES[1]:
        yield (
            f"{owner}: its mass of {mass:.4g} kg in {volume:.4g} m³ is a density of {density:.3g} kg/m³; masses are in kg "
            "and lengths in m"
        )


# Contact ----------------------------------------------------------------------------------------------------------------


def _untouched(scene: Scene) -> Iterator[str]:
    """Bodies and particles without a material (None was not given either), where other things touch."""
    touching = scene.touching()
    if not touching:
        return
    bodies = [
        body.name
        for body in scene.bodies.values()
        if body.material is None and body.shape is not None and not body.material_given
    ]
    groups = [group.name for group in scene.particles.values() if group.material is None and not group.material_given]
    others = "obstacles" if scene.obstacles else "bodies that touch"
    for kind, found in (("body", bodies), ("particles", groups)):
        if found:
            who = f"{'bodies' if kind == 'body' and len(found) > 1 else kind} {names(found)}"
            has, collides = ("has", "collides") if kind == "body" and len(found) == 1 else ("have", "collide")
            yield (
                f"{who} {has} no material and {collides} with nothing, but the scene has {others}; pass "
                "material=Material(...) there or to Scene(...), or material=None if this is intended"
            )


def _idle_rules(scene: Scene) -> Iterator[str]:
    """Rules of contact for what has no contact."""
    for rule in scene.contact_rules:
        for name in (rule.a, rule.b):
            if rule.enabled and name in scene.bodies and scene.bodies[name].material is None:
                yield f"set_contact({rule.a!r}, {rule.b!r}) has no effect: {name!r} has no material; give it one"


def _surfaces(scene: Scene) -> Iterator[str]:
    """Surfaces without effect: turned upside down, or under particles that have no radius."""
    size = float(np.linalg.norm(scene.gravity))
    for obstacle in scene.obstacles.values():
        shape = obstacle.shape
        if isinstance(shape, TriangleMesh):
            corners = shape.vertices[shape.faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            closed = np.linalg.norm(normals.sum(axis=0)) <= 1e-6 * np.linalg.norm(normals, axis=1).sum()
            inside = float(np.sum((corners[:, 0] - corners.mean(axis=(0, 1))) * normals)) < 0.0  # 6 times the volume
            down = size > 0.0 and float(obstacle.rotation @ normals.sum(axis=0) @ scene.gravity) > 0.0
            if (closed and inside) or (not closed and down):
                where = "inwards" if closed else "down"
                yield (
                    f"obstacle {obstacle.name!r}: the normals of its faces point {where}, and bodies stay on the side "
                    "to which they point; flip the faces, faces[:, ::-1]"
                )
    bare = [g.name for g in scene.particles.values() if g.material is not None and g.radius == 0.0]
    meshes = [o.name for o in scene.obstacles.values() if o.shape.has_surface]
    if bare and meshes:
        yield (
            f"particles {names(bare)} have no radius and fall through the surface of {names(meshes)}; give them a radius"
        )


def simplified_hulls(scene: Scene) -> list[tuple[Touching, Simplified]]:
    """The hulls of a scene that contact simplifies by more than rounding, with the body or obstacle that each belongs to."""
    found = []
    for item in scene.touching():
        shape = item.shape
        for each in [part.shape for part in shape.parts] if isinstance(shape, Compound) else [shape]:
            if isinstance(each, ConvexHull):
                simplified = contact_hull(each)
                if simplified.error > ROUNDING * float(np.ptp(each.vertices, axis=0).max()):
                    found.append((item, simplified))
    return found


def simplification_message(scene: Scene) -> str:
    """The warning about hulls that contact simplifies; "" where there are none."""
    found = simplified_hulls(scene)
    if not found:
        return ""
    worst, (_, error) = max(found, key=lambda each: each[1].error)
    what = "1 convex hull has" if len(found) == 1 else f"{len(found)} convex hulls have"
    return (
        f"{what} more than {MOST_CORNERS} corners; contact uses simplified hulls, with an error of at most "
        f"{1e3 * error:.3g} mm ({worst.name!r}). Use simpler collision meshes if this matters"
    )


# Joints -----------------------------------------------------------------------------------------------------------------


def beyond_a_turn(angle: float) -> bool:
    """Whether an angle (rad) is more than a turn, and not a number of half turns."""
    return abs(angle) > TURN * (1.0 + 1e-9) and abs(angle / math.pi - round(angle / math.pi)) > HALF_TURNS


def in_degrees(owner: str, what: str, values: Iterable[float]) -> str:
    """The warning about angles that are probably degrees."""
    given = [float(value) for value in values if math.isfinite(value)]
    text = " and ".join(f"{value:g}" for value in given)
    meant = " and ".join(f"{math.radians(value):.4g}" for value in given)
    return f"{owner}: {what} {text} rad, more than a turn; angles are in radians (as degrees it would be {meant} rad)"


def _angles(scene: Scene) -> Iterator[str]:
    """Angles that are probably degrees."""
    for force in scene.forces.values():
        if not isinstance(force, Force) or force.joint is None or force.coordinate != "angle":
            continue
        owner = f"{force.kind.replace('_', ' ')} {force.name!r}"
        if force.kind == "limit" and any(beyond_a_turn(stop) for stop in force.stops if math.isfinite(stop)):
            yield in_degrees(owner, "its stops are at", force.stops)
        if force.kind == "motor" and beyond_a_turn(force.position):
            yield in_degrees(owner, "its position is", [force.position])
        if force.kind == "torsion_spring" and beyond_a_turn(force.rest):
            yield in_degrees(owner, "its rest position is", [force.rest])


def _starts_beyond_stops(scene: Scene) -> Iterator[str]:
    """Stops that leave out the initial pose."""
    if scene.imported:
        return
    for force in scene.forces.values():
        if isinstance(force, Force) and force.kind == "limit" and isinstance(force.joint, Joint):
            lower, upper = force.stops
            if lower > 0.0 or upper < 0.0:
                unit = "rad" if force.coordinate == "angle" else "m"
                stop = lower if lower > 0.0 else upper
                yield (
                    f"limit {force.name!r}: joint {force.joint.name!r} is at 0 at the initial pose, beyond the stop at "
                    f"{stop:g} {unit}, and is moved to it in the first steps; the coordinate is zero at the initial pose"
                )


# The scene --------------------------------------------------------------------------------------------------------------


def _gravity(scene: Scene) -> Iterator[str]:
    """Gravity in other units, or out of the ground."""
    size = float(np.linalg.norm(scene.gravity))
    if size > STRONG:
        yield f"gravity is {size:g} m/s², {size / 9.81:.3g} times the earth's; lengths are in m"
    if not scene.obstacles and scene.gravity[2] > 0.0 and not scene.gravity[:2].any():
        yield f"gravity {scene.gravity.tolist()} points upward, along z; give (0, 0, {-size:g})"
    for obstacle in scene.obstacles.values():
        up = obstacle.rotation[:, 2]
        if isinstance(obstacle.shape, HalfSpace) and float(up @ scene.gravity) > 0.5 * size > 0.0:
            yield (
                f"gravity {scene.gravity.tolist()} points away from the ground {obstacle.name!r}; z is up, and gravity is "
                "(0, 0, -9.81)"
            )
        elif (
            isinstance(obstacle.shape, HalfSpace)
            and len(scene.obstacles) == 1
            and size > 0.0
            and abs(up @ scene.gravity) < 1e-9 * size
        ):
            yield (
                f"gravity {scene.gravity.tolist()} points along the ground {obstacle.name!r}; z is up, give "
                f"(0, 0, {-size:g}), or turn the ground by its orientation"
            )


def _held(scene: Scene) -> set[str]:
    """Names of the bodies that a joint or a force may hold up."""
    found = {end.name for joint in scene.joints.values() for end in joint.bodies}
    for force in scene.forces.values():
        if isinstance(force, Force):
            found |= {end.name for end in force.acts_on(scene)}
    return found


def _no_ground(scene: Scene) -> Iterator[str]:
    """Bodies that can touch and fall, and nothing below them."""
    moving = [body for body in scene.bodies.values() if body.motion is None and body.material is not None]
    if (
        not moving
        or scene.obstacles
        or scene.particles
        or len(moving) < len(scene.bodies)
        or not scene.gravity.any()
        or _held(scene)
    ):
        return
    if any(body.velocity.any() for body in moving):
        return  # thrown
    yield (
        f"nothing holds {names([body.name for body in moving])}: the scene has a material but no ground, so they fall "
        'without end; add add_obstacle("ground", HalfSpace()), or set gravity=(0, 0, 0)'
    )


def _far_joints(scene: Scene) -> Iterator[str]:
    """Joints far away from both of their bodies: points in millimetres, or in other axes."""
    if scene.imported:
        return
    for joint in scene.joints.values():
        bodies = [end for end in (joint.a, joint.b) if isinstance(end, Body) and end.shape is not None]
        if joint.kind not in ("hinge", "ball", "universal", "weld") or not bodies:
            continue
        reach = [float(np.linalg.norm(joint.at - body.position)) for body in bodies]
        sizes = [body.shape.bounding_radius() for body in bodies]
        apart = float(np.linalg.norm(bodies[0].position - bodies[-1].position))
        if min(r - FAR * s for r, s in zip(reach, sizes, strict=True)) > apart:
            yield (
                f"{joint.kind} {joint.name!r} is at {joint.at.tolist()}, {min(reach):.3g} m from {bodies[0].name!r}, whose "
                f"radius is {sizes[0]:.3g} m; points are in world coordinates, in m"
            )


def _weak_springs(scene: Scene) -> Iterator[str]:
    """Springs that alone hold up a body, and give way by many times their length: stiffness in N/mm."""
    size = float(np.linalg.norm(scene.gravity))
    springs = [force for force in scene.forces.values() if isinstance(force, Force) and force.kind == "spring"]
    held = {end.name for joint in scene.joints.values() for end in joint.bodies}
    for spring in springs:
        for end in (spring.a, spring.b):
            if not isinstance(end, Body) or end.name in held or end.mass <= 0.0 or end.material is not None:
                continue
            stiffness = sum(other.stiffness for other in springs if end in (other.a, other.b))
            length = max(spring.rest, float(np.linalg.norm(spring.at_b - spring.at_a)))
            stretch = end.mass * size / stiffness if stiffness > 0.0 else 0.0
            if stretch > WEAK * length > 0.0:
                yield (
                    f"spring {spring.name!r}: the weight of {end.name!r} stretches it by {stretch:.3g} m, "
                    f"{stretch / length:.3g} times its length; its stiffness is {spring.stiffness:g} N/m (1 N/mm is 1000 N/m)"
                )
