"""A scene as plain data, for drawing it and for the record of its run."""

from __future__ import annotations

from typing import Any

import numpy as np

from .listing import scene_listing
from .scene.articulate import Link
from .scene.body import Body
from .scene.contact import HalfSpace
from .scene.force import Force
from .scene.particles import Particle
from .scene.scene import Scene
from .scene.shape_dict import shape_to_dict

__all__ = ["scene_description"]


def scene_description(scene: Scene, released: dict[str, float]) -> dict[str, Any]:
    """The scene as plain data, for drawing and for the record: bodies and obstacles with their meshes, joints, springs,
    curves, and tables of everything to read.

    released: when joints or springs were let go (s).
    """

    def end(which: str, frame: Any, point: np.ndarray) -> dict[str, Any]:
        if isinstance(frame, Particle):
            return {f"particle_{which}": frame.number}
        anchor = frame.to_body(point) if isinstance(frame, Body) else point
        return {f"body_{which}": frame.name, f"anchor_{which}": anchor.tolist()}

    bodies = []
    for body in scene.bodies.values():
        vertices, faces = (
            body.shape.triangles() if body.shape is not None else (np.zeros((0, 3)), np.zeros((0, 3), int))
        )
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
    joints: list[dict[str, Any]] = []
    for joint in scene.joints.values():
        if isinstance(joint.a, Link) or isinstance(joint.b, Link):
            continue  # what has no mass is not drawn
        first = joint.parts[0] if joint.parts else None
        row = {"name": joint.name, "kind": joint.kind,
               **end("a", joint.a, joint.at if first is None else first.point_a), **end("b", joint.b, joint.at)}  # fmt: skip
        if joint.axis is not None:
            row["axis_a"] = (joint.a.rotation.T @ joint.axis if isinstance(joint.a, Body) else joint.axis).tolist()
        joints.append(row)
    springs: list[dict[str, Any]] = [
        {
            "name": force.name,
            **end("a", force.a, force.at_a),
            **end("b", force.b, force.at_b),
            "stiffness": force.stiffness,
            "rest": force.rest,
        }
        for force in scene.forces.values()
        if isinstance(force, Force) and force.drawn and not isinstance(force.a, Link) | isinstance(force.b, Link)
    ]
    curves = [
        {"name": joint.name, "points": joint.curve.points().tolist()}
        for joint in scene.joints.values()
        if joint.curve is not None
    ]
    for drawn in (*joints, *springs):
        if drawn["name"] in released:
            drawn["until"] = released[drawn["name"]]
    acting = [
        _acting(force, scene)
        for force in scene.forces.values()
        if isinstance(force, Force) and (force.kind != "spring" or force.damping)
    ]
    return {"name": scene.name, "gravity": scene.gravity.tolist(), "description": scene.description, "bodies": bodies,
            "particles": [_group(group) for group in scene.particles.values()], "joints": joints, "springs": springs,
            "curves": curves, "forces": acting, "listing": scene_listing(scene)}  # fmt: skip


def _acting(force: Force, scene: Scene) -> dict[str, Any]:
    """A force with an entry in the ledger: names of the bodies that it acts on, None for what else but the world it does."""
    moved = [end for end in force.acts_on(scene) if isinstance(end, Body | Particle | Link)]
    return {"name": force.name, "bodies": [end.name if isinstance(end, Body) else None for end in moved]}


def _group(group: Any) -> dict[str, Any]:
    """A group of particles as plain data: what is drawn between them."""
    return {"name": group.name, "first": group.first, "number": len(group), "color": group.color, "radius": group.radius,
            "segments": [pair for rows in group.segments for pair in rows.tolist()],
            "faces": [face for rows in group.faces for face in rows.tolist()]}  # fmt: skip
