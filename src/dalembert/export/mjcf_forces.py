"""Forces and loops of a scene in MJCF: attributes of joints, actuators, tendons, equality constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..scene.body import Body
from ..scene.force import Force
from ..scene.joint import Joint
from .mjcf_document import Document, number, numbers
from .shared import holds_particle

ON_JOINTS = ("torsion_spring", "friction", "limit", "motor", "servo")  # what joints and actuators of MJCF do
FAR = 1e10  # rad or m: a stop that is not there


def write_forces(out: Document, loops: Iterable[Joint]) -> None:
    """All forces, and the joints that the tree does not hold."""
    for joint in loops:
        if not holds_particle(joint) and not _write_loop(out, joint):
            out.warn(f"{joint.kind} {joint.name!r}", "MJCF has no such constraint between these; it is left out")
    on_joints: dict[str, list[Force]] = {}
    for force in out.scene.forces.values():
        kind = force.kind.replace("_", " ")
        if not isinstance(force, Force) or holds_particle(force):
            continue  # said with the particles
        if force.joint is not None and force.kind not in ON_JOINTS:
            out.warn(f"{kind} {force.name!r}", "MJCF has no such force; it is left out")
        elif force.joint is not None:
            found = out.coordinate(force.joint, force.coordinate)
            if found is None:
                out.warn(
                    f"{kind} {force.name!r}", f"{force.joint.name!r} closes a loop and is no joint in MJCF; left out"
                )
            else:
                on_joints.setdefault(found.name, []).append(force)
        elif (tendon := force.tendon()) is None:
            out.warn(f"{kind} {force.name!r}", "MJCF has no such force; it is left out")
        elif not _write_tendon(
            out, force.name, force, force.at_a, force.at_b, **{key: number(value) for key, value in tendon.items()}
        ):
            out.warn(f"{kind} {force.name!r}", "one of its ends is on what MJCF does not have; it is left out")
    for carried in out.joints.values():
        _write_attributes(out, carried.element, on_joints.get(carried.name, []))
    for name, forces in on_joints.items():
        for force in forces:
            if force.kind in ("motor", "servo"):
                _write_motor(out, name, force)
    for event in out.scene.events.values():
        out.warn(f"event {event.name!r}", "MJCF has no events; it is left out")
    if out.scene.particles:
        out.warn(
            f"particles {', '.join(out.scene.particles)}", "particles, and the forces and joints on them, are left out"
        )


def _write_attributes(out: Document, element: Any, forces: list[Force]) -> None:
    """Springs, dampers, stops and dry friction of one joint; those of one kind act as their sum, stops as the nearest."""
    springs = [force for force in forces if force.kind == "torsion_spring"]
    stiffness, damping = sum(force.stiffness for force in springs), sum(force.damping for force in springs)
    if stiffness > 0.0:
        element.set("stiffness", number(stiffness))
        element.set("springref", number(sum(force.stiffness * force.rest for force in springs) / stiffness))
    if damping > 0.0:
        element.set("damping", number(damping))
    friction = sum(force.limit for force in forces if force.kind == "friction")
    if friction > 0.0:
        element.set("frictionloss", number(friction))
    limits = [force for force in forces if force.kind == "limit"]
    if limits:
        lower, upper = max(force.stops[0] for force in limits), min(force.stops[1] for force in limits)
        element.set("range", numbers([max(lower, -FAR), min(upper, FAR)]))
    for force in limits:
        if force.restitution > 0.0:
            out.warn(f"limit {force.name!r}", "MuJoCo's stops do not bounce; its restitution is left out")


def _write_motor(out: Document, joint: str, force: Force) -> None:
    """effort + stiffness (position − s) + gain (speed − ṡ) + control, within ± limit."""
    item = f"motor {force.name!r}"
    if force.kind == "servo":
        out.warn(item, "MuJoCo has no ideal motor; give it a gain; it is left out")
        return
    if force.function is not None:
        out.warn(item, "its function is no part of MJCF; it is left out")
        return
    bias = force.rest + force.stiffness * force.position + force.damping * force.target
    element = ElementTree.SubElement(
        out.section("actuator"), "general", name=out.name("actuator", force.name), joint=joint, gaintype="fixed",
        gainprm="1", biastype="affine", biasprm=numbers([bias, -force.stiffness, -force.damping]),
    )  # fmt: skip
    if np.isfinite(force.limit):
        element.set("forcerange", numbers([-force.limit, force.limit]))


def _write_tendon(
    out: Document, name: str, ends: Any, at_a: np.ndarray, at_b: np.ndarray, **attributes: str
) -> str | None:
    """The name of a new tendon between points of ends.a and ends.b; None where one of these is not in the file."""
    sites = _sites(out, name, ends, at_a, at_b)
    if sites is None:
        return None
    unique = out.name("tendon", name)
    tendon = ElementTree.SubElement(out.section("tendon"), "spatial", {"name": unique, **attributes})
    for site in sites:
        ElementTree.SubElement(tendon, "site", site=site)
    return unique


def _sites(
    out: Document, name: str, ends: Any, at_a: np.ndarray, at_b: np.ndarray, turn: np.ndarray | None = None
) -> tuple[str, str] | None:
    """Names of sites on ends.a and ends.b; None where one of these is not in the file."""
    first = out.site(ends.a, at_a, f"{name}.a", turn)
    second = out.site(ends.b, at_b, f"{name}.b", turn)
    return None if first is None or second is None else (first, second)


def _write_loop(out: Document, joint: Joint) -> bool:
    """A joint as equality constraints; False where MJCF has none for it."""
    if joint.kind == "gear":
        return _write_gear(out, joint)
    if joint.kind not in ("ball", "hinge", "weld", "rod"):
        return False
    part = joint.parts[0]
    if joint.kind == "rod":
        # The length of a tendon keeps its value at the start plus the first coefficient.
        more = part.value - float(np.linalg.norm(part.point_b - part.point_a))
        tendon = _write_tendon(out, joint.name, joint, part.point_a, part.point_b)
        if tendon is not None:
            _equality(out, "tendon", joint.name, tendon1=tendon, polycoef=numbers([more, 0.0, 0.0, 0.0, 0.0]))
        return tendon is not None
    turn = np.eye(3) if joint.kind == "weld" else None
    sites = _sites(out, joint.name, joint, part.point_a, part.point_b, turn)
    if sites is None:
        return False
    _equality(out, "weld" if joint.kind == "weld" else "connect", joint.name, site1=sites[0], site2=sites[1])
    if joint.kind == "hinge":  # a second point on the axis, about as far away as the bodies are large
        assert joint.axis is not None
        arms = [np.linalg.norm(end.position - joint.at) for end in (joint.a, joint.b) if isinstance(end, Body)]
        far = float(max(arms)) or 1.0
        second = _sites(
            out,
            f"{joint.name}.axis",
            joint,
            part.point_a + far * joint.axis,
            part.point_b + far * joint.parts[1].axis_b,
        )
        assert second is not None
        _equality(out, "connect", f"{joint.name}.axis", site1=second[0], site2=second[1])
    return True


def _write_gear(out: Document, joint: Joint) -> bool:
    assert joint.coupling is not None
    first, second = (out.coordinate(item) for item in joint.coupling.joints)
    if first is None or second is None:
        return False
    ratio = numbers([0.0, joint.coupling.ratio, 0.0, 0.0, 0.0])
    _equality(out, "joint", joint.name, joint1=second.name, joint2=first.name, polycoef=ratio)
    return True


def _equality(out: Document, kind: str, name: str, **attributes: str) -> None:
    ElementTree.SubElement(out.section("equality"), kind, {"name": out.name("equality", name), **attributes})
