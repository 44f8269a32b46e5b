"""Builds a scene at its zero pose from the description of a model: `build`, and its helpers."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from typing import Any, TypeAlias

import numpy as np

from ..scene.body import THE_WORLD, Body
from ..scene.checks import part_name
from ..scene.contact import Material, Touching, rule_for, rule_table
from ..scene.joint import Joint
from ..scene.scene import Scene
from ..scene.shapes import Compound, ConvexHull, HalfSpace, Part
from ..scene.shapes.convex_hull import contact_hull
from .description import Axis, Built, Description, Pose, Segment, Solid, free_name, located, nearest_inertia
from .files import Element, Warnings

# Shapes of bodies, and obstacles --------------------------------------------------------------------------------------


def carried_solids(description: Description, built: Built, warnings: Warnings) -> dict[Segment, list[Solid]]:
    """The solids of each body: its own, and those of segments without mass that are fixed to it."""
    first: dict[Segment, Segment] = {}
    for segment in description.segments:
        group = built.groups[segment]
        if group is not None and segment.mass > 0.0:
            first.setdefault(group, segment)
    carried: dict[Segment, list[Solid]] = {segment: [] for segment in description.segments}
    for segment in description.segments:
        group, carrier = built.groups[segment], segment
        if group is None or not segment.solids:
            continue
        while carrier.mass == 0.0 and not carrier.mocap and carrier is not group and carrier.parent is not None:
            carrier = carrier.parent
        if carrier.mass == 0.0 and not carrier.mocap:
            if group not in first:
                warnings.add(segment.element, f"{segment.name!r} has no mass; its geometry is left out")
                continue
            carrier = first[group]
        turn = built.poses[carrier].rotation.T
        place = Pose(
            turn @ (built.poses[segment].position - built.poses[carrier].position), turn @ built.poses[segment].rotation
        )
        for solid in segment.solids:
            if isinstance(solid.shape, HalfSpace):
                warnings.add(solid.element, "moving planes are not supported; it is left out; use a box")
                continue
            solid.pose = place @ solid.pose if carrier is not segment else solid.pose
            carried[carrier].append(solid)
    return carried


def shape_of(solids: list[Solid], center: np.ndarray) -> Any:
    """One shape whose frame is at the centre of mass, with the segment's axes."""
    if not solids:
        return None
    only = solids[0]
    if (
        len(solids) == 1
        and np.array_equal(only.pose.position, center)
        and np.array_equal(only.pose.rotation, np.eye(3))
    ):
        return only.shape
    return Compound([Part(solid.shape, solid.pose.position - center, solid.pose.quaternion) for solid in solids])  # type: ignore[arg-type]


def material_of(touching: list[Solid]) -> Material:
    """A body has one material: the roughest and bounciest of its solids."""
    sliding, rolling, torsional = acting(*surface_of(touching))
    return Material(sliding, max(solid.restitution for solid in touching), rolling, torsional)


def fixed_solids(description: Description, built: Built) -> list[tuple[Solid, Pose]]:
    """Solids that touch and do not move, each with the pose of its frame; none where no body touches."""
    fixed = [(solid, Pose()) for solid in description.solids]
    for segment in description.segments:
        if built.groups[segment] is None:
            fixed += [(solid, built.poses[segment]) for solid in segment.solids]
    return [(solid, outer) for solid, outer in fixed if solid.touches]


def add_obstacle(solid: Solid, outer: Pose, group: str, built: Built) -> None:
    """An obstacle for a solid that does not move."""
    scene, pose = built.scene, outer @ solid.pose
    with located(solid.element):
        name = free_name(solid.name, scene.bodies, scene.links, scene.obstacles)
        scene.add_obstacle(
            name, solid.shape, position=pose.position, orientation=pose.quaternion, material=material_of([solid]),
            group=group, **({"color": solid.color} if solid.color else {}),  # type: ignore[arg-type]
        )  # fmt: skip
    built.solids[name], built.members[name] = [solid], None


# Which bodies touch, and how: masks and friction of MJCF, neighbours that pass through each other ---------------------

MOST_RULES = 200_000
FRICTIONS = ("friction", "rolling_friction", "torsional_friction")
Frictions: TypeAlias = tuple[float, float, float]  # of sliding, rolling and spinning
Key = tuple[int, int, int, int, Frictions]  # contype, conaffinity, priority, condim, and the frictions


def surface_of(solids: list[Solid]) -> tuple[int, Frictions]:
    """(condim, frictions) of several solids: the largest of each."""
    sliding, rolling, torsional = (max(getattr(solid, name) for solid in solids) for name in FRICTIONS)
    return max(solid.condim for solid in solids), (sliding, rolling, torsional)


def acting(condim: int, frictions: Frictions) -> Frictions:
    """The frictions that a contact of this condim has."""
    sliding, rolling, torsional = frictions
    return sliding if condim >= 3 else 0.0, rolling if condim == 6 else 0.0, torsional if condim >= 4 else 0.0


class Surfaces:
    """Groups of bodies and obstacles whose contacts follow the same masks and friction.

    solids : of each body or obstacle; those that touch count. `mixed`: whether pairs of groups need rules of their own.
    """

    def __init__(self, solids: list[list[Solid]], warnings: Warnings) -> None:
        touching = [items for each in solids if (items := [item for item in each if item.touches])]
        # what no contact has makes no kinds
        self._condim = max((item.condim for items in touching for item in items), default=1)
        kinds = sorted({self._key(items, warnings) for items in touching})
        _require_few(len(kinds) * (len(kinds) + 1) // 2)
        rules = [(a, b, *_rule(a, b)) for a, b in combinations_with_replacement(kinds, 2)]
        self._rules = [rule for rule in rules if not rule[2] or rule[3] is not None]
        self.mixed = bool(self._rules)

    def group(self, solids: list[Solid]) -> str:
        """The name of the group of a body or obstacle; "" where none is needed."""
        touching = [item for item in solids if item.touches]
        return _name(self._key(touching, None)) if touching and self.mixed else ""

    def set_rules(self, scene: Scene) -> None:
        """Says of each pair of groups whether it touches, and its friction."""
        for a, b, enabled, given in self._rules:
            own = {} if given is None else dict(zip(FRICTIONS, given, strict=True))
            scene.set_contact(_name(a), _name(b), enabled=enabled, **own)

    def _key(self, items: list[Solid], warnings: Warnings | None) -> Key:
        """What decides of a body's contacts; where its solids differ, all masks together, and the largest friction."""
        kinds = {(*item.mask, item.condim, acting(self._condim, surface_of([item])[1])) for item in items}
        if len(kinds) > 1 and warnings is not None:
            warnings.add(
                items[0].element, "geoms of this body differ in friction or contact masks; the body gets "
                "the largest friction and the union of the masks", "mixed surfaces",
            )  # fmt: skip
        contype, conaffinity, priority = 0, 0, max(item.mask[2] for item in items)
        for item in items:
            contype, conaffinity = contype | item.mask[0], conaffinity | item.mask[1]
        condim, frictions = surface_of(items)
        return contype, conaffinity, priority, condim, acting(self._condim, frictions)


def _name(key: Key) -> str:
    contype, conaffinity, priority, condim, (sliding, rolling, torsional) = key
    turning = f" rolling {rolling:.9g} spinning {torsional:.9g}" * (rolling > 0.0 or torsional > 0.0)
    special = f" priority {priority}" * bool(priority) + f" condim {condim}" * (condim != 3)
    return f"contact {contype}/{conaffinity} μ {sliding:.9g}" + special + turning


def _rule(a: Key, b: Key) -> tuple[bool, Frictions | None]:
    """Whether two kinds touch, and their frictions where they are not those of both: of the larger condim the larger
    ones, or all of higher priority."""
    enabled = bool(a[0] & b[1] or b[0] & a[1])
    if a[2] != b[2]:
        higher = a if a[2] > b[2] else b
        made = acting(*higher[3:])
    else:
        sliding, rolling, torsional = map(max, a[4], b[4])
        made = acting(max(a[3], b[3]), (sliding, rolling, torsional))
    alike = made == acting(*a[3:]) == acting(*b[3:])
    return enabled, None if alike or not enabled else made


def part_neighbours(built: Built, description: Description, ruled: bool) -> None:
    """What is welded together does not touch, nor what one joint away is; a scene knows this of two bodies that one joint
    connects, but not through links and welds, nor of obstacles, nor where groups have rules (`ruled`)."""
    scene = built.scene
    joined = {frozenset((joint.a.name, joint.b.name)) for joint in scene.joints.values()} if not ruled else set()
    by_group: dict[Segment | None, list[str]] = {}
    for name, group in built.members.items():
        if built.solids[name]:
            by_group.setdefault(group, []).append(name)
    for group, inside in by_group.items():
        if group is None:
            continue  # what is fixed to the world
        outer = None if group.parent is None else built.groups[group.parent]
        beside = by_group.get(outer, [])
        if group.free or (outer is None and description.adjacent_to_world):
            beside = []
        _require_few(len(scene.contact_rules) + len(inside) * (len(inside) + len(beside)))
        pairs = [*combinations(inside, 2), *product(beside, inside)]
        for a, b in pairs:
            if frozenset((a, b)) not in joined:
                scene.set_contact(a, b, enabled=False)


def _require_few(rules: int) -> None:
    if rules > MOST_RULES:
        raise ValueError(
            f"the model needs {rules} rules for contact, more than {MOST_RULES}; join bodies that are fixed to each other, "
            "and give fewer different masks and frictions"
        )


# The scene ------------------------------------------------------------------------------------------------------------


def build(description: Description, warnings: Warnings, limits: bool, friction: bool) -> Built:
    """The scene. Raises ValueError with file and line for what the scene rejects."""
    built = Built(Scene(description.name, gravity=description.gravity))
    built.scene.imported = True
    _hold_what_has_no_mass(description, warnings)
    for segment in description.segments:
        parent = segment.parent
        built.poses[segment] = segment.pose if parent is None else built.poses[parent] @ segment.pose
        moves = bool(segment.axes) or segment.free or segment.mocap
        built.groups[segment] = segment if moves else None if parent is None else built.groups[parent]
    carried, fixed = carried_solids(description, built, warnings), fixed_solids(description, built)
    if not any(solid.touches for solids in carried.values() for solid in solids):
        fixed = []
    with located(description.element):
        surfaces = Surfaces([*carried.values(), *([solid] for solid, _ in fixed)], warnings)
    for segment in description.segments:
        with located(segment.element):
            _add_item(segment, carried[segment], surfaces.group(carried[segment]), built, warnings)
    for segment in description.segments:
        _connect(segment, built, limits, friction)
    for solid, outer in fixed:
        add_obstacle(solid, outer, surfaces.group([solid]), built)
    surfaces.set_rules(built.scene)
    with located(description.element):
        part_neighbours(built, description, surfaces.mixed)
    return built


def _hold_what_has_no_mass(description: Description, warnings: Warnings) -> None:
    """A joint with neither mass nor armature on one of its sides has no equation of motion: it is fixed instead. The
    side that carries it counts in a free tree only."""
    below = {segment: segment.mass for segment in description.segments}
    for segment in reversed(description.segments):
        if segment.parent is not None and not segment.free:
            below[segment.parent] += below[segment]
    beside: dict[Segment, float] = {}  # what the free tree has in all, or more than anything
    for segment in description.segments:
        above = np.inf if segment.parent is None else beside[segment.parent]
        beside[segment] = below[segment] if segment.free else above
        if segment.mocap or not (segment.free or segment.axes) or any(axis.armature for axis in segment.axes):
            continue
        if below[segment] == 0.0 or (segment.axes and below[segment] == beside[segment]):
            names = ", ".join(repr(axis.name) for axis in segment.axes) or "the free joint"
            what = f"{names} of {segment.name!r} moves a part without mass, and is fixed; give the part a mass"
            warnings.add(segment.axes[0].element if segment.axes else segment.element, what)
            segment.weld_name = segment.axes[0].name if segment.axes else ""
            segment.axes, segment.free = [], False


def _add_item(segment: Segment, solids: list[Solid], group: str, built: Built, warnings: Warnings) -> None:
    """The body, link, or part of the world that a segment is."""
    scene, pose = built.scene, built.poses[segment]
    if built.groups[segment] is None:
        built.items[segment] = THE_WORLD
        return
    name = free_name(segment.name if segment.name != THE_WORLD.name else "world (moving)", scene.bodies, scene.links)
    if segment.mocap:
        touching = [solid for solid in solids if solid.touches]
        built.items[segment] = scene.add_body(
            name, shape_of(touching or solids, np.zeros(3)), position=pose.position, orientation=pose.quaternion,
            color=next((solid.color for solid in solids if solid.color), None), motion="set", group=group,
            material=material_of(touching) if touching else None,
        )  # fmt: skip
        built.solids[name], built.members[name] = touching, built.groups[segment]
        return
    if segment.mass == 0.0:
        built.items[segment] = scene.add_link(name, position=pose.position, orientation=pose.quaternion)
        return
    inertia, repair = nearest_inertia(segment.mass, segment.inertia)
    if repair is not None:
        warnings.add(segment.element, f"the inertia of {segment.name!r} is impossible: {repair}")
    touching = [solid for solid in solids if solid.touches]
    shown = touching or solids
    body = scene.add_body(
        name, shape_of(shown, segment.center), mass=segment.mass, inertia=inertia, position=pose.point(segment.center),
        orientation=pose.quaternion, color=next((solid.color for solid in shown if solid.color), None),
        material=material_of(touching) if touching else None, group=group,
    )  # fmt: skip
    built.items[segment] = body
    built.solids[name], built.members[name] = touching, built.groups[segment]


def _connect(segment: Segment, built: Built, limits: bool, friction: bool) -> None:
    """The joints between a segment and what carries it, through links where they are several, and their forces."""
    scene, item, pose = built.scene, built.items[segment], built.poses[segment]
    if item is THE_WORLD or segment.free or segment.mocap:
        return
    carrier = THE_WORLD if segment.parent is None else built.items[segment.parent]
    if not segment.axes:
        with located(segment.element):
            weld = scene.weld(
                free_name(segment.weld_name or part_name(segment.name, "fixed"), scene.joints),
                carrier,
                item,
                pose.position,
            )
        built.joints[weld.name] = weld
        return
    for index, axis in enumerate(segment.axes):
        with located(axis.element):
            last = index == len(segment.axes) - 1
            name = free_name(axis.name, scene.joints)
            moved = item if last else scene.add_link(
                free_name(part_name(segment.name, name), scene.bodies, scene.links),
                position=pose.position, orientation=pose.quaternion,
            )  # fmt: skip
            at, direction = pose.point(axis.anchor), pose.rotation @ axis.direction
            if axis.kind == "ball":
                joint = scene.ball(name, carrier, moved, at)
            else:
                joint = (scene.hinge if axis.kind == "hinge" else scene.slider)(name, carrier, moved, at, direction)
                _resist(scene, axis, joint, limits, friction)
            built.joints[name], built.axes[name] = joint, axis
            axis.name, carrier = name, moved


def _resist(scene: Scene, axis: Axis, joint: Joint, limits: bool, friction: bool) -> None:
    """What a joint does by itself: spring, damper, rotor, stops and dry friction."""
    if axis.stiffness or axis.damping:
        scene.torsion_spring(
            part_name(joint.name, "spring"), joint, stiffness=axis.stiffness, damping=axis.damping, rest=axis.rest
        )
    if axis.armature:
        scene.armature(joint, axis.armature)
    if limits and np.isfinite([axis.lower, axis.upper]).any():
        lower, upper = (value if np.isfinite(value) else None for value in (axis.lower, axis.upper))
        scene.limit(part_name(joint.name, "limit"), joint, lower=lower, upper=upper)
    if friction and axis.friction:
        scene.joint_friction(part_name(joint.name, "friction"), joint, effort=axis.friction)


# Links of a URDF that overlap at its zero pose ------------------------------------------------------------------------
#
# The convex hulls of links that are not convex often overlap where the links themselves do not, and a URDF cannot say
# which pairs collide. Contact would push such links apart by centimetres in the first step. So they pass through each
# other, with a warning. MoveIt's setup assistant has the same rule (reason "Default").
#
# The overlap of two convex parts n·x ≤ d is measured by the radius of the largest ball inside both: the largest r with
# n·x + r ≤ d for the faces of both, a linear program in (x, r).

SEGMENTS = 16  # of round shapes
TOUCHING = 1e-4  # m: balls smaller than this are no overlap
SHOWN = 5
MOST_LINKS = 500  # that are searched
ColliderPart = tuple[
    np.ndarray, np.ndarray
]  # corners (n, 3), and planes (m, 4): normal · x + offset ≤ 0; both in the world


def part_overlapping_links(scene: Scene, element: Element, warnings: Warnings) -> None:
    """Switch off contact between links, and between links and the fixed base, that overlap at the initial pose."""
    items = [item for item in scene.touching() if item.shape is not None and not item.shape.surface]
    if len(items) > MOST_LINKS:
        warnings.add(element, f"more than {MOST_LINKS} links collide; overlaps at the zero pose are not checked")
        return
    table, joined = rule_table(scene.contact_rules), {frozenset((j.a.name, j.b.name)) for j in scene.joints.values()}
    parts = [_parts(item) for item in items]
    found = []
    for i, k in _near(parts):
        a, b = items[i], items[k]
        rule = rule_for(table, a, b)
        passing = not rule.enabled if rule is not None else frozenset((a.name, b.name)) in joined
        moving = isinstance(a, Body) or isinstance(b, Body)
        if moving and not passing and any(_overlap(p, q) for p in parts[i] for q in parts[k]):
            found.append((a.name, b.name))
    for one, other in found:
        scene.set_contact(one, other, enabled=False)
    if found:
        names = "; ".join(f"{one!r} and {other!r}" for one, other in found[:SHOWN]) + "; …" * (len(found) > SHOWN)
        pairs = "pair of links overlaps and does" if len(found) == 1 else "pairs of links overlap and do"
        warnings.add(
            element, f"{len(found)} {pairs} not collide, as their collision geometry overlaps at the zero pose: {names}. "
            "scene.set_contact(a, b) lets a pair collide",
        )  # fmt: skip


def _near(parts: list[list[ColliderPart]]) -> list[tuple[int, int]]:
    """Pairs of links whose boxes along the axes overlap."""
    numbers = [i for i, own in enumerate(parts) if own]
    corners = [np.concatenate([world for world, _ in parts[i]]) for i in numbers]
    low, high = (np.array([getattr(each, side)(axis=0) for each in corners]).reshape(-1, 3) for side in ("min", "max"))
    apart = (low[:, None] > high[None]).any(axis=2)
    near = np.argwhere(np.triu(~(apart | apart.T), 1))
    return [(numbers[i], numbers[k]) for i, k in near.tolist()]


def _parts(item: Touching) -> list[ColliderPart]:
    """The convex parts of a body or obstacle; planes without end are none."""
    from scipy.spatial import ConvexHull as Qhull

    center = item.center if isinstance(item, Body) else np.zeros(3)
    shape, found = item.shape, []
    for part in shape.parts if isinstance(shape, Compound) else [None]:
        solid = shape if part is None else part.shape
        if isinstance(solid, ConvexHull):
            solid = contact_hull(solid).hull
        if not hasattr(solid, "triangles"):
            continue
        corners = solid.triangles(SEGMENTS)[0]
        corners = corners if part is None else part.to_compound(corners)
        world = (corners - center) @ item.rotation.T + item.position
        found.append((world, Qhull(world).equations))
    return found


def _overlap(one: ColliderPart, other: ColliderPart) -> bool:
    from scipy.optimize import linprog

    low = np.maximum(one[0].min(axis=0), other[0].min(axis=0))
    if (low > np.minimum(one[0].max(axis=0), other[0].max(axis=0))).any():
        return False
    planes = np.concatenate([one[1], other[1]])
    matrix = np.c_[planes[:, :3], np.ones(len(planes))]
    best = linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=matrix,
        b_ub=-planes[:, 3],
        bounds=[(None, None)] * 3 + [(0.0, None)],
        method="highs",
    )
    return best.status == 0 and best.x[3] > TOUCHING
