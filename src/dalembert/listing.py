"""A scene as tables to read: what of it is in a run, with every parameter and its unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .scene.body import Body
from .scene.force import Force
from .scene.scene import Scene

MOST_ROWS = 400  # of one table


def scene_listing(scene: Scene) -> list[dict[str, Any]]:
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
    moments = np.linalg.eigvalsh(np.asarray(body.inertia))
    return [body.name, f"{body.mass:.6g} kg", _vector(moments, "kg m²"), _vector(body.position, "m"),
            _vector(body.velocity, "m/s"), _vector(body.angular_velocity, "rad/s"), _surface(body.material)]  # fmt: skip


def _joint(joint: Any) -> list[str]:
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
