"""The <tendon> section of MJCF: cables, springs and rods of the scene for those that have a counterpart.

A <spatial> tendon runs through sites and around spheres and cylinders. It becomes

- a spring (`Scene.spring`), if it is a straight line between two sites with a stiffness or damping;
- a cable that stretches (`Scene.cable`, `stretch`), if it has a stiffness, and runs elsewhere or only pulls;
- a cable that goes slack (`slack=True`), if it has a range;
- a taut cable or a rod, if an equality keeps its length.

A cable never pushes. MuJoCo's tendon does below its `springlength`, unless that is 0 and a length; and its damping also acts
on a tendon that is slack. A warning says so where a file asks for that. A <fixed> tendon of one joint becomes a spring or a
stop of this joint, and of two joints with an equality a gear. All other tendons are left out, with their name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.body import THE_WORLD
from ..scene.cable import Pulley, length_of, resolve_path
from ..scene.checks import part_name
from ..scene.joint import Link
from ..scene.resolve import Resolver
from ..scene.shapes import Cylinder, Sphere
from .description import Axis, Built, Pose, Segment, free_name, located
from .files import Attributes, Element, Warnings
from .mjcf_bodies import linear, note_unasked

if TYPE_CHECKING:
    from .mjcf import MjcfReader

SAME = 1e-9  # m: two lengths that are one


class NotACable(ValueError):
    """A tendon that no element of a scene is like; the message completes "it is left out: "."""


@dataclass
class Wrap:
    """A sphere or cylinder that a tendon runs around, in the frame of its body; `side` is likewise in that of its own."""

    segment: Segment | None
    pose: Pose
    shape: Any
    name: str
    side: tuple[Segment | None, Pose] | None


@dataclass
class Tendon:
    """A tendon of the file. `path` : sites and wraps of a <spatial>; joints with their factors of a <fixed>. `problem` : why
    nothing is made of it."""

    name: str
    attributes: Attributes
    path: list[Any] = field(default_factory=list)
    joints: list[tuple[Axis, float]] = field(default_factory=list)
    problem: str = ""

    @property
    def is_straight(self) -> bool:
        """Whether it is a line between two sites."""
        return len(self.path) == 2 and not any(isinstance(one, Wrap) for one in self.path)


# Before the scene is built --------------------------------------------------------------------------------------------


def read_tendons(reader: MjcfReader) -> dict[str, Tendon]:
    """The tendons of the file, in its order."""
    found: dict[str, Tendon] = {}
    for element in (item for section in reader.root.all("tendon") for item in section.children):
        if element.tag not in ("spatial", "fixed"):
            reader.warnings.add(element, f"a {element.tag} tendon is not known and left out", f"tendon {element.tag}")
            continue
        attributes = reader.defaults.of(element, None, "tendon")
        name = attributes.name() or f"tendon {len(found)}"
        if name in found:
            raise element.error(f"tendon {name!r:.60} is there twice; rename one")
        tendon = found[name] = Tendon(name, attributes)
        try:
            for child in element.children:
                _read_child(reader, tendon, Attributes(child))
        except NotACable as problem:
            tendon.problem = str(problem)
    return found


def _read_child(reader: MjcfReader, tendon: Tendon, child: Attributes) -> None:
    """One element of a path, or one joint."""
    tag, element = child.element.tag, child.element
    if tag == "site":
        tendon.path.append(_site(reader, element, child.text("site")))
    elif tag == "joint":
        name = child.text("joint")
        if name not in reader.joints:
            raise element.error(f"there is no joint {name!r:.60}; correct the name")
        axis = reader.joints[name]
        if not isinstance(axis, Axis) or axis.kind == "ball":
            raise NotACable(f"joint {name!r:.60} is no hinge or slider")
        tendon.joints.append((axis, child.number("coef")))
    elif tag == "geom":
        tendon.path.append(_wrap(reader, child))
    elif tag == "pulley":
        if child.number("divisor") != 1.0:
            raise NotACable("it has a pulley with a divisor; write the branches with a body for the pulley")
    else:
        raise NotACable(f"a <{tag}> in it is not known")


def _site(reader: MjcfReader, element: Element, name: str) -> tuple[Segment | None, Pose]:
    if name not in reader.sites:
        raise element.error(f"there is no site {name!r:.60}; correct the name")
    return reader.sites[name]


def _wrap(reader: MjcfReader, child: Attributes) -> Wrap:
    """A geom that a tendon runs around."""
    name = child.text("geom")
    if name in reader.left_out:
        raise NotACable(f"geom {name!r:.60} is left out")
    if name not in reader.geom_bodies:
        raise child.element.error(f"there is no geom {name!r:.60}; correct the name")
    segment, solid = reader.geom_bodies[name]
    if not isinstance(solid.shape, Sphere | Cylinder):
        raise NotACable(f"geom {name!r:.60} is neither a sphere nor a cylinder")
    side = _site(reader, child.element, child.text("sidesite")) if "sidesite" in child else None
    return Wrap(segment, solid.pose, solid.shape, name, side)


# The path in the scene ------------------------------------------------------------------------------------------------


def path_of(tendon: Tendon, built: Built) -> list[Any]:
    """The path for `Scene.cable`, at the initial pose. Raises NotACable."""
    if tendon.problem:
        raise NotACable(tendon.problem)
    ends = [None if isinstance(one, Wrap) else _world(built, *one).position for one in tendon.path]
    if len(ends) < 2 or ends[0] is None or ends[-1] is None:
        raise NotACable("it does not run from a site to a site")
    path: list[Any] = []
    for i, one in enumerate(tendon.path):
        if not isinstance(one, Wrap):
            path.append((_item(built, one[0]), ends[i]))
            continue
        before, after = ends[i - 1], ends[i + 1]
        if before is None or after is None:
            raise NotACable(f"geom {one.name!r:.60} is not between two sites")
        path.append(_pulley(one, before, after, built))
    return path


def _item(built: Built, segment: Segment | None) -> Any:
    item = THE_WORLD if segment is None else built.items[segment]
    if isinstance(item, Link):
        raise NotACable(f"{item.name!r:.60} has no mass, and cables run through bodies")
    return item


def _world(built: Built, segment: Segment | None, pose: Pose) -> Pose:
    return pose if segment is None else built.poses[segment] @ pose


def _pulley(wrap: Wrap, before: np.ndarray, after: np.ndarray, built: Built) -> Pulley:
    """The pulley of a wrap between two points (m, world axes)."""
    pose, sphere = _world(built, wrap.segment, wrap.pose), isinstance(wrap.shape, Sphere)
    centre, radius = pose.position, float(wrap.shape.radius)
    given = None if wrap.side is None else _world(built, *wrap.side).position - centre
    p, q = before - centre, after - centre
    axis = pose.rotation[:, 2]
    if sphere:
        axis = np.cross(p, q)
        if np.linalg.norm(axis) < SAME:  # the straight way is through the centre
            axis = np.cross(p, given if given is not None else np.eye(3)[int(np.argmin(np.abs(p)))])
        axis = axis / np.linalg.norm(axis)
    side = _across(_nearest(_across(p, axis), _across(q, axis)) if given is None else given, axis)
    distance = float(np.linalg.norm(side))
    if given is None and not SAME < distance < radius:
        raise NotACable(
            f"it does not touch geom {wrap.name!r:.60} at the initial pose, and that has no sidesite: which way it goes "
            "around depends on the motion; give it a sidesite"
        )
    if given is not None and np.linalg.norm(given if sphere else side) < radius:
        raise NotACable(f"it runs inside geom {wrap.name!r:.60}, where its sidesite is")
    if distance < SAME:
        raise NotACable(f"the sidesite of geom {wrap.name!r:.60} is on neither side of it")
    return Pulley(_item(built, wrap.segment), centre, axis, radius, side / distance, swivels=sphere)


def _across(vector: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.asarray(vector - (vector @ axis) * axis)


def _nearest(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The point of a line from p to q that is nearest to the origin."""
    d = q - p
    square = float(d @ d)
    return p if square == 0.0 else np.asarray(p + np.clip(-(p @ d) / square, 0.0, 1.0) * d)


# Elements of the scene ------------------------------------------------------------------------------------------------


def add_tendons(tendons: dict[str, Tendon], built: Built, warnings: Warnings, limits: bool) -> None:
    """Springs, cables and stops of all tendons. limits : whether ranges are read."""
    for tendon in tendons.values():
        attributes = tendon.attributes
        law = _Law.read(attributes, limits, warnings)
        if law.is_nothing and not tendon.problem:
            note_unasked(attributes, warnings)
            continue  # it is for actuators, sensors or equalities
        try:
            with located(attributes.element):
                if tendon.joints:
                    _on_joint(tendon, law, built)
                else:
                    _on_path(tendon, law, built, warnings)
        except ValueError as problem:
            _leave_out(tendon, problem, warnings)
        note_unasked(attributes, warnings)


def _leave_out(tendon: Tendon, problem: ValueError, warnings: Warnings) -> None:
    """Warn that nothing is made of a tendon."""
    reason = str(problem).rpartition(">: ")[2]
    warnings.add(tendon.attributes.element, f"tendon {tendon.name!r:.60} is left out: {reason}")


@dataclass
class _Law:
    """Stiffness and damping; the lengths below and above which the spring acts, None: both are that of the initial pose; the
    range of the length, or None."""

    stiffness: float
    damping: float
    springlength: tuple[float, float] | None
    range: tuple[float, float] | None

    @classmethod
    def read(cls, attributes: Attributes, limits: bool, warnings: Warnings) -> _Law:
        """The numbers of a tendon."""
        length = attributes.vector("springlength", 1, 2, default=(-1.0,))
        given = None if length[0] < 0.0 else (float(length[0]), float(length[-1]))
        span = attributes.vector("range", 2, default=(0.0, 0.0))
        limited = attributes.choice("limited", ("true", "false", "auto"), "auto")
        bounded = limits and (limited == "true" or (limited == "auto" and "range" in attributes))
        return cls(
            linear(attributes, "stiffness", warnings), linear(attributes, "damping", warnings), given,
            (float(span[0]), float(span[1])) if bounded else None,
        )  # fmt: skip

    @property
    def is_nothing(self) -> bool:
        return not (self.stiffness or self.damping or self.range)


def _on_path(tendon: Tendon, law: _Law, built: Built, warnings: Warnings) -> None:
    """The spring or the cables of a <spatial>."""
    scene, path = built.scene, path_of(tendon, built)
    name = free_name(tendon.name, scene.forces)
    at_start = _length(tendon, path, built)
    if law.stiffness and law.springlength is None and any(axis.rest for axis in built.axes.values()):
        raise NotACable(
            "its springlength is that at the springref of the joints, which is not the initial pose; give it one"
        )
    low, high = law.springlength or (at_start, at_start)
    if tendon.is_straight and low == high and (law.stiffness or law.damping):
        (a, at_a), (b, at_b) = path
        scene.spring(name, a, b, at_a, at_b, stiffness=law.stiffness, damping=law.damping, rest=high)
    elif law.stiffness:
        element = tendon.attributes.element
        if high <= 0.0:
            raise NotACable("its springlength is 0, and a cable has a length")
        if low > 0.0:
            warnings.add(
                element, f"tendon {tendon.name!r:.60} pulls above its springlength, {high:g} m, and does not push below it",
                "tendon pushes",
            )  # fmt: skip
        if law.damping:
            warnings.add(
                element, f"the damping of tendon {tendon.name!r:.60} acts while it is taut only", "tendon damping"
            )
        scene.cable(name, path, stretch=law.stiffness * high, length=high, damping=law.damping)
    elif law.damping:
        raise NotACable("it has damping without stiffness, and is no straight line between two sites")
    if law.range is not None:
        if law.range[0] > 0.0:
            warnings.add(
                tendon.attributes.element,
                f"tendon {tendon.name!r:.60} may be shorter than its range says: a cable goes slack", "tendon range",
            )  # fmt: skip
        name = free_name(
            tendon.name if law.stiffness == law.damping == 0.0 else part_name(tendon.name, "range"), scene.forces
        )
        scene.cable(name, path, length=law.range[1], slack=True)


def _length(tendon: Tendon, path: list[Any], built: Built) -> float:
    """The length at the initial pose (m)."""
    return length_of(resolve_path(path, Resolver(built.scene, f"tendon {tendon.name!r:.60}")))


def _on_joint(tendon: Tendon, law: _Law, built: Built) -> None:
    """Spring and stop of one joint: the length is c q, with q = ref + s."""
    if tendon.problem:
        raise NotACable(tendon.problem)
    if len(tendon.joints) > 1:
        raise NotACable("it couples several joints by a spring, a damper or a range, and a scene has no such element")
    axis, c = tendon.joints[0]
    if c == 0.0 or axis.name not in built.axes:
        raise NotACable(f"joint {axis.name!r:.60} does not move with it")
    joint, scene = built.joints[axis.name], built.scene
    if law.stiffness or law.damping:
        low, high = law.springlength or (c * (axis.zero + axis.rest),) * 2
        if low != high:
            raise NotACable("its spring has a range of lengths in which it does nothing")
        scene.torsion_spring(
            free_name(tendon.name, scene.forces), joint, stiffness=c * c * law.stiffness, damping=c * c * law.damping,
            rest=high / c - axis.zero,
        )  # fmt: skip
    if law.range is not None:
        lower, upper = sorted(bound / c - axis.zero for bound in law.range)
        scene.limit(free_name(part_name(tendon.name, "range"), scene.forces), joint, lower=lower, upper=upper)


# Equalities -----------------------------------------------------------------------------------------------------------


def keep_length(
    tendons: dict[str, Tendon], built: Built, attributes: Attributes, name: str, warnings: Warnings
) -> None:
    """A rod, a taut cable or a gear, of an equality that keeps the length of a tendon."""
    wanted = attributes.text("tendon1")
    if wanted not in tendons:
        raise attributes.element.error(f"there is no tendon {wanted!r:.60}; correct the name")
    tendon, terms = tendons[wanted], attributes.vector("polycoef", 1, 5, default=(0.0, 1.0))
    try:
        if "tendon2" in attributes:
            attributes.text("tendon2")
            raise NotACable("the length of one tendon follows that of another")
        _keep(tendon, float(terms[0]), built, name)
    except ValueError as problem:
        reason = str(problem).rpartition(">: ")[2]
        warnings.add(attributes.element, f"the equality of tendon {wanted!r:.60} is left out: {reason}")


def _keep(tendon: Tendon, more: float, built: Built, name: str) -> None:
    """Keep the length at the initial pose, and so much more (m)."""
    scene = built.scene
    if tendon.joints and not tendon.problem:
        moving = [(axis, c) for axis, c in tendon.joints if c != 0.0 and axis.name in built.axes]
        if len(moving) != 2 or more != 0.0:
            raise NotACable("a scene couples two joints, at the values that they have at the start")
        (first, c), (second, d) = moving
        scene.gear(name, built.joints[second.name], built.joints[first.name], -d / c)
        return
    path = path_of(tendon, built)
    if tendon.is_straight:
        (a, at_a), (b, at_b) = path
        scene.rod(name, a, b, at_a, at_b, length=float(np.linalg.norm(at_b - at_a)) + more)
    elif abs(more) <= SAME:
        scene.cable(name, path)
    else:
        raise NotACable(f"it is {more:g} m from its length at the start")
