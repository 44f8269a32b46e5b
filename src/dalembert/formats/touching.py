"""Which bodies of a model touch, and how: MJCF's masks and rule for friction, and neighbours that pass through each other."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product

from ..scene.scene import Scene
from .built import Built
from .description import Description, Segment, Solid
from .imported import Warnings

MOST_RULES = 200_000
Key = tuple[int, int, int, float]  # contype, conaffinity, priority, friction


class Surfaces:
    """Groups of bodies and obstacles whose contacts follow the same masks and friction.

    solids : of each body or obstacle; those that touch count. `mixed` tells whether pairs of groups need rules of their own.
    """

    def __init__(self, solids: list[list[Solid]], warnings: Warnings) -> None:
        kinds = sorted({_key(items, warnings) for each in solids if (items := [item for item in each if item.touches])})
        _require_few(len(kinds) * (len(kinds) + 1) // 2)
        rules = [(a, b, *_rule(a, b)) for a, b in combinations_with_replacement(kinds, 2)]
        self._rules = [rule for rule in rules if not rule[2] or rule[3] is not None]
        self.mixed = bool(self._rules)

    def group(self, solids: list[Solid]) -> str:
        """The name of the group of a body or obstacle; "" where none is needed."""
        touching = [item for item in solids if item.touches]
        return _name(_key(touching, None)) if touching and self.mixed else ""

    def set_rules(self, scene: Scene) -> None:
        """Says of each pair of groups whether it touches, and its friction."""
        for a, b, enabled, friction in self._rules:
            scene.set_contact(_name(a), _name(b), enabled=enabled, friction=friction)


def _name(key: Key) -> str:
    return f"contact {key[0]}/{key[1]} μ {key[3]:.9g}" + f" priority {key[2]}" * bool(key[2])


def _key(items: list[Solid], warnings: Warnings | None) -> Key:
    """What decides of a body's contacts; where its solids differ, all masks together, and the largest friction."""
    kinds = {(*item.mask, item.friction) for item in items}
    if len(kinds) > 1 and warnings is not None:
        warnings.add(
            items[0].element, "geoms of this body differ in friction or contact masks; a body has one of each: the "
            "largest friction, and all masks together", "mixed surfaces",
        )  # fmt: skip
    contype, conaffinity, priority = 0, 0, max(item.mask[2] for item in items)
    for item in items:
        contype, conaffinity = contype | item.mask[0], conaffinity | item.mask[1]
    return contype, conaffinity, priority, max(item.friction for item in items)


def _rule(a: Key, b: Key) -> tuple[bool, float | None]:
    """Whether two kinds touch, and their friction where it is not that of either: the larger, or that of higher priority."""
    enabled = bool(a[0] & b[1] or b[0] & a[1])
    if a[3] == b[3] or not enabled:
        return enabled, None
    return True, max(a[3], b[3]) if a[2] == b[2] else a[3] if a[2] > b[2] else b[3]


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
