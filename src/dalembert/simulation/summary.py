"""A scene as plain data: tables to read, and the description that viewers draw and trajectories store."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..scene.body import Body
from ..scene.force import Force
from ..scene.joint import Link
from ..scene.motion import Keyframes
from ..scene.particles import Particle
from ..scene.scene import Scene
from ..scene.sensor import Camera, ContactForce, ForceTorque, Mounted, Range, Sensor, Touch
from ..scene.shapes import HalfSpace, shape_to_dict

# Tables to read -------------------------------------------------------------------------------------------------------

MOST_ROWS = 400  # of one table


def scene_summary(scene: Scene) -> list[dict[str, Any]]:
    """Tables {"title", "columns", "rows", "left_out"}, all texts but the last, of the bodies, obstacles, particles, joints,
    forces, events and rules of contact of a scene. Of each at most 400 rows; `left_out` says how many more there are."""
    tables = [
        _table("Bodies", "name, mass, moments of inertia, starts at, with velocity, and spin, surface",
               map(_body, _first(scene.bodies)), len(scene.bodies)),
        _table("Obstacles", "name, shape, at, surface",
               ([o.name, type(o.shape).__name__, _vector(o.position, "m"), _surface(o.material)]
                for o in _first(scene.obstacles)), len(scene.obstacles)),
        _table("Particles", "name, number, mass in all, pinned, radius, surface",
               ([g.name, str(len(g)), f"{np.sum(g.mass):.6g} kg", str(int(np.sum(g.pinned))),
                 f"{g.radius:g} m", _surface(g.material)] for g in _first(scene.particles)), len(scene.particles)),
        _table("Joints", "name, kind, between, at, axis", map(_joint, _first(scene.joints)), len(scene.joints)),
        _table("Forces", "name, kind, on, parameters",
               ([f.name, f.kind.replace("_", " "), *(_force(f) if isinstance(f, Force) else _particle_force(f))]
                for f in _first(scene.forces)), len(scene.forces)),
        _table("Events", "name, when, what happens", map(_event, _first(scene.events)), len(scene.events)),
    ]  # fmt: skip
    return [table for table in tables if table["rows"]]


def _first(table: dict[str, Any]) -> list[Any]:
    return list(table.values())[:MOST_ROWS]


def _table(title: str, columns: str, rows: Any, number: int) -> dict[str, Any]:
    return {"title": title, "columns": columns.split(", "), "rows": list(rows), "left_out": max(0, number - MOST_ROWS)}


def _body(body: Body) -> list[str]:
    if body.motion is not None:
        given = body.motion.given
        how = "set" if isinstance(given, str) else "keyframes" if isinstance(given, Keyframes) else "function of time"
        moves = [_vector(body.surface_velocity, "m/s"), _vector(body.surface_spin, "rad/s")]
        return [
            body.name,
            f"prescribed motion: {how}",
            "",
            _vector(body.position, "m"),
            *moves,
            _surface(body.material),
        ]
    moments = np.linalg.eigvalsh(np.asarray(body.inertia))
    return [body.name, f"{body.mass:.6g} kg", _vector(moments, "kg m²"), _vector(body.position, "m"),
            _vector(body.velocity, "m/s"), _vector(body.angular_velocity, "rad/s"), _surface(body.material)]  # fmt: skip


def _joint(joint: Any) -> list[str]:
    if joint.prescribed is not None:
        return [joint.name, f"{joint.kind} of its {joint.prescribed.coordinate}", joint.prescribed.joint.name, "", ""]
    if joint.coupling is not None:
        pair = " – ".join(each.name for each in joint.coupling.joints)
        return [joint.name, f"{joint.kind}, ratio {joint.coupling.ratio:g}", pair, "", ""]
    names = " – ".join(dict.fromkeys(frame.name for frame in joint.bodies))
    more = [f"armature {joint.armature:g}"] if joint.armature else []
    axis = "" if joint.axis is None else _vector(joint.axis, "")
    return [joint.name, ", ".join([joint.kind.replace("_", " "), *more]), names, _vector(joint.at, "m"), axis]


def _force(force: Force) -> tuple[str, str]:
    """What a force acts on, and its parameters."""
    found = [f"{name} {_text(value)} {unit}".strip() for name, value, unit in force.parameters()
             if isinstance(value, str) or (np.any(value) and np.all(np.isfinite(value)))]  # fmt: skip
    found += [f"function {_name(force.function)}"] if force.function is not None else []
    return force.on(), ", ".join(found)


def _particle_force(force: Any) -> tuple[str, str]:
    found = []
    for name, value in force.values.items():
        array = np.asarray(value)
        if name == "nodes":
            found.append(f"{len(array)} elements")
        elif name == "inverse":  # of the shape at rest: follows from the vertices
            continue
        elif array.dtype.kind in "fiu" and array.size and np.isfinite(array).all():
            low, high = array.min(), array.max()
            same = f"{low:.4g}" == f"{high:.4g}"
            numbers = (
                f"{low:.4g}" if same else _vector(array, "") if array.shape == (3,) else f"{low:.4g} to {high:.4g}"
            )
            found.append(f"{name.replace('_', ' ')} {numbers}")
    found += [f"function {_name(force.function)}"] if force.function is not None else []
    return ", ".join(group.name for group in force.groups[:8]), ", ".join(found)


def _event(event: Any) -> list[str]:
    way = {1: "rises through 0", -1: "falls through 0", 0: "changes sign"}[event.direction]
    does = [f"lets {name} go" for name in event.release] + (["ends the run"] if event.stop else [])
    does += [f"calls {_name(event.action)}"] if event.action is not None else []
    return [event.name, f"{_name(event.function)} {way}{', once' if event.once else ''}", ", ".join(does)]


def _surface(material: Any) -> str:
    if material is None:
        return "touches nothing"
    return f"friction {material.friction:g}, restitution {material.restitution:g}"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__)).replace(".<locals>", "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _vector(value, "") if np.ndim(value) else f"{value:.6g}"


def _vector(values: Any, unit: str) -> str:
    numbers = ", ".join(f"{value + 0.0:.6g}" for value in np.round(np.asarray(values, float), 12))
    return f"({numbers}) {unit}".strip()


# Description for viewers and files ------------------------------------------------------------------------------------


def scene_description(scene: Scene, released: dict[str, float]) -> dict[str, Any]:
    """The scene as plain data, for drawing and for the record: bodies and obstacles with their meshes, joints, springs,
    curves, and tables of everything to read.

    released: when joints or springs were let go (s).
    """
    joints, springs, cables = _joints(scene), _springs(scene), _cables(scene)
    curves = [
        {"name": joint.name, "points": joint.curve.points().tolist()}
        for joint in scene.joints.values()
        if joint.curve is not None
    ]
    for drawn in (*joints, *springs, *cables):
        if drawn["name"] in released:
            drawn["until"] = released[drawn["name"]]
    acting = [
        _acting(force, scene)
        for force in scene.forces.values()
        if isinstance(force, Force) and (force.kind != "spring" or force.damping)
    ]
    return {"name": scene.name, "gravity": scene.gravity.tolist(), "description": scene.description, "bodies": _bodies(scene),
            "particles": [_group(group) for group in scene.particles.values()], "joints": joints, "springs": springs,
            "curves": curves, "cables": cables, "forces": acting, "listing": scene_summary(scene),
            "sensors": [_sensor(sensor, scene) for sensor in scene.sensors.values()]}  # fmt: skip


def _bodies(scene: Scene) -> list[dict[str, Any]]:
    """Bodies and obstacles with their meshes; half-spaces are not drawn."""
    bodies = []
    for body in scene.bodies.values():
        drawn = body.shape is not None and not isinstance(body.shape, HalfSpace)
        vertices, faces = body.shape.triangles() if drawn else (np.zeros((0, 3)), np.zeros((0, 3), int))
        bodies.append(
            {"name": body.name, "mass": body.mass, "color": body.color, "center": body.center.tolist(),
             "shape": None if body.shape is None else shape_to_dict(body.shape),
             "vertices": np.round(vertices, 9).tolist(), "faces": faces.tolist()}
        )  # fmt: skip
    for obstacle in scene.obstacles.values():
        if isinstance(obstacle.shape, HalfSpace):
            continue
        vertices, faces = obstacle.shape.triangles()
        bodies.append(
            {"name": obstacle.name, "color": obstacle.color, "shape": shape_to_dict(obstacle.shape),
             "vertices": np.round(vertices, 9).tolist(), "faces": faces.tolist(),
             "position": obstacle.position.tolist(), "orientation": list(obstacle.orientation)}
        )  # fmt: skip
    return bodies


def _end(which: str, frame: Any, point: np.ndarray) -> dict[str, Any]:
    """One end of a joint or spring, "a" or "b": a particle, or a body and a point in its frame."""
    if isinstance(frame, Particle):
        return {f"particle_{which}": frame.number}
    anchor = frame.to_body(point) if isinstance(frame, Body) else point
    return {f"body_{which}": frame.name, f"anchor_{which}": anchor.tolist()}


def _joints(scene: Scene) -> list[dict[str, Any]]:
    """Joints between bodies, with their ends and axes."""
    joints: list[dict[str, Any]] = []
    for joint in scene.joints.values():
        if isinstance(joint.a, Link) or isinstance(joint.b, Link):
            continue  # what has no mass is not drawn
        if joint.cable is not None:
            continue  # see `_cables`
        at_a = joint.parts[0].point_a if joint.parts else joint.at
        row = {"name": joint.name, "kind": joint.kind, **_end("a", joint.a, at_a), **_end("b", joint.b, joint.at)}
        if joint.axis is not None:
            row["axis_a"] = (joint.a.rotation.T @ joint.axis if isinstance(joint.a, Body) else joint.axis).tolist()
        joints.append(row)
    return joints


def _springs(scene: Scene) -> list[dict[str, Any]]:
    """Springs that are drawn, with their ends."""
    return [
        {
            "name": force.name,
            **_end("a", force.a, force.at_a),
            **_end("b", force.b, force.at_b),
            "stiffness": force.stiffness,
            "rest": force.rest,
        }
        for force in scene.forces.values()
        if isinstance(force, Force) and force.drawn and not isinstance(force.a, Link) | isinstance(force.b, Link)
    ]


def _cables(scene: Scene) -> list[dict[str, Any]]:
    """Pieces of cables, with their elements in the axes of the bodies."""
    pieces = [*scene.joints.values(), *scene.forces.values()]
    return [
        {"name": piece.name, "elements": [_cable_element(element) for element in piece.cable.elements]}
        for piece in pieces
        if getattr(piece, "cable", None) is not None and not any(isinstance(end, Link) for end in piece.cable.bodies)
    ]


def _cable_element(element: Any) -> dict[str, Any]:
    """One element of a cable."""
    frame, turn, at = element.frame, np.eye(3), element.point
    if isinstance(frame, Body):
        turn, at = frame.rotation, frame.to_body(element.point)
    return {"kind": element.kind, "body": frame.name, "particle": frame.number if isinstance(frame, Particle) else -1,
            "at": at.tolist(), "axis": (turn.T @ element.axis).tolist(), "side": (turn.T @ element.side).tolist(),
            "radius": element.radius, "sense": element.sense, "turns": element.turns, "endless": element.endless,
            "wrap": element.wrap}  # fmt: skip


def _acting(force: Force, scene: Scene) -> dict[str, Any]:
    """A force with an entry in the ledger: names of the bodies that it acts on, None for what else but the world it does."""
    moved = [end for end in force.acts_on(scene) if isinstance(end, Body | Particle | Link)]
    return {"name": force.name, "bodies": [end.name if isinstance(end, Body) else None for end in moved]}


def _sensor(sensor: Sensor, scene: Scene) -> dict[str, Any]:
    """A sensor as plain data: what it measures, where it is, and what is drawn of it."""
    found: dict[str, Any] = {"name": sensor.name, "kind": sensor.kind, "units": list(sensor.units)}
    found["quantity"] = getattr(sensor, "quantity", getattr(sensor, "image", ""))
    body: Any = getattr(sensor, "body", None)
    if isinstance(sensor, Mounted | ForceTorque):
        position, orientation = np.asarray(sensor.position, float), np.asarray(sensor.orientation, float)
        found |= {"body": body.name, "position": position.tolist(), "orientation": orientation.tolist()}
    elif isinstance(sensor, ContactForce) and body.name in scene.bodies:
        found |= {"body": body.name, "position": [0.0, 0.0, 0.0]}
    if isinstance(sensor, Range):
        found["units"] = ["m"]
        found["directions"] = np.asarray(sensor.directions).tolist()
        found["reach"] = sensor.reach if np.isfinite(sensor.reach) else None
    if isinstance(sensor, Touch) and sensor.region is not None:
        vertices, faces = sensor.region.triangles()
        found["region"] = {"vertices": np.round(vertices, 9).tolist(), "faces": faces.tolist()}
    if isinstance(sensor, Camera):
        found["view"] = [float(np.tan(0.5 * sensor.field_of_view)), sensor.size[0] / sensor.size[1]]
    return found


def _group(group: Any) -> dict[str, Any]:
    """A group of particles as plain data: what is drawn between them."""
    return {"name": group.name, "first": group.first, "number": len(group), "color": group.color, "radius": group.radius,
            "segments": [pair for rows in group.segments for pair in rows.tolist()],
            "faces": [face for rows in group.faces for face in rows.tolist()]}  # fmt: skip
