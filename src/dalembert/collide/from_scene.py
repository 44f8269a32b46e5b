"""The tables of collision detection of a scene."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from ..scene.body import Body
from ..scene.contact import Touching, rule_for, rule_table
from ..scene.scene import Scene
from .build import Solid, kinds_in, make_collision
from .detect import combine
from .tables import Collision


def collision_of(scene: Scene) -> Collision:
    """Colliders of all that has a material; which pairs pass through each other, and whose coefficients are special."""
    number = {name: i for i, name in enumerate(scene.bodies)}
    touching = scene.touching()
    solids = [_solid(item, number) for item in touching]
    joined = joined_pairs(scene)
    excluded, rules, table = [], [], rule_table(scene.contact_rules)
    for i, j in _special_pairs(scene, touching, joined):
        a, b = touching[i], touching[j]
        rule = rule_for(table, a, b)
        if not rule.enabled if rule is not None else {a.name, b.name} in joined:
            excluded.append((i, j))
        elif rule is not None and (rule.friction is not None or rule.restitution is not None):
            friction, restitution = combine(a.material, b.material)
            rules.append(
                (i, j, friction if rule.friction is None else rule.friction,
                 restitution if rule.restitution is None else rule.restitution)
            )  # fmt: skip
    return make_collision(solids, excluded, rules, len(number))


def joined_pairs(scene: Scene) -> set[frozenset[str]]:
    """Names of what a joint connects, or a chain of joints with nothing but links without mass between."""
    found = {frozenset(body.name for body in joint.bodies) for joint in scene.joints.values()}
    for link in scene.links:
        beside = [name for pair in found if link in pair for name in pair if name != link]
        found |= {frozenset(pair) for pair in combinations(beside, 2)}
    return found


def _special_pairs(scene: Scene, touching: list[Touching], joined: set[frozenset[str]]) -> Iterable[tuple[int, int]]:
    """The pairs that may not be as others are: all, where there are rules; else those that joints connect."""
    if scene.contact_rules:
        return combinations(range(len(touching)), 2)
    place = {item.name: i for i, item in enumerate(touching)}
    found = (sorted(place[name] for name in names if name in place) for names in joined)
    return [(pair[0], pair[1]) for pair in found if len(pair) == 2]


def kinds_of(scene: Scene) -> np.ndarray:
    """The kinds of colliders that `collision_of` makes, once each."""
    return np.array(sorted({kind for item in scene.touching() for kind in kinds_in(item.shape)}), np.int64)


def _solid(item: Touching, number: dict[str, int]) -> Solid:
    """A body's frame is at its centre of mass; an obstacle's body is the world."""
    if isinstance(item, Body):
        return Solid(item.shape, number[item.name], -item.center, material=item.material)
    return Solid(item.shape, len(number), item.position, item.orientation, item.material)
