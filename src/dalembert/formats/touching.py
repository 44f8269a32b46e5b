"""Which bodies of a model touch, and how: MJCF's masks and rule for friction, and neighbours that pass through each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, combinations_with_replacement

from .built import Built
from .description import Description, Segment, Solid
from .imported import Warnings

Key = tuple[int, int, int, float]  # contype, conaffinity, priority, friction


def set_rules(built: Built, description: Description, warnings: Warnings) -> None:
    """Groups of equal masks and friction, a rule for each pair of them that needs one, and neighbours that never touch."""
    scene = built.scene
    keys = {name: _key(name, items, warnings) for name, items in built.solids.items() if items}
    kinds = sorted(set(keys.values()))
    names = {
        key: f"contact {key[0]}/{key[1]}" + f" μ {key[3]:g}" + f" priority {key[2]}" * bool(key[2]) for key in kinds
    }
    rules = [(a, b, *_rule(a, b)) for a, b in combinations_with_replacement(kinds, 2)]
    rules = [rule for rule in rules if not rule[2] or rule[3] is not None]
    if rules:
        for name, key in keys.items():
            table = scene.bodies if name in scene.bodies else scene.obstacles
            table[name] = replace(table[name], group=names[key])  # type: ignore[type-var, assignment]
    for a, b, enabled, friction in rules:
        scene.set_contact(names[a], names[b], enabled=enabled, friction=friction)
    _part_neighbours(built, list(keys), description, bool(rules))


def _key(name: str, items: list[Solid], warnings: Warnings) -> Key:
    """What decides of a body's contacts; where its solids differ, all masks together, and the largest friction."""
    kinds = {(*item.mask, item.friction) for item in items}
    if len(kinds) > 1:
        warnings.add(
            items[0].element, f"the geometry of {name!r} differs in friction or contact masks; a body has one of each: the "
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


def _part_neighbours(built: Built, names: list[str], description: Description, ruled: bool) -> None:
    """What is welded together does not touch, nor what one joint away is; a scene knows this of two bodies that one joint
    connects, but not through links and welds, nor of obstacles."""
    scene = built.scene
    joined = {frozenset((joint.a.name, joint.b.name)) for joint in scene.joints.values()} if not ruled else set()
    by_group: dict[Segment | None, list[str]] = {}
    for name in names:
        by_group.setdefault(built.members[name], []).append(name)
    for group, inside in by_group.items():
        if group is None:
            continue
        pairs = list(combinations(inside, 2))
        outer = None if group.parent is None else built.groups[group.parent]
        if not group.free and (outer is not None or not description.adjacent_to_world):
            pairs += [(a, b) for a in by_group.get(outer, []) for b in inside]
        for a, b in pairs:
            if frozenset((a, b)) not in joined:
                scene.set_contact(a, b, enabled=False)
