"""Links of a URDF that overlap at its zero pose do not collide with each other.

The convex hulls of links that are not convex often overlap where the links themselves do not, and a URDF cannot say which
pairs collide. Contact would push such links apart by centimetres in the first step. So they pass through each other, with a
warning. MoveIt's setup assistant has the same rule (reason "Default").

The overlap of two convex parts n·x ≤ d is measured by the radius of the largest ball inside both: the largest r with
n·x + r ≤ d for the faces of both, a linear program in (x, r).
"""

from __future__ import annotations

import numpy as np

from ..scene.body import Body
from ..scene.contact import Touching, rule_for, rule_table
from ..scene.scene import Scene
from ..scene.shapes import Compound, ConvexHull
from ..scene.simplify import contact_hull
from .imported import Warnings
from .xml import Element

SEGMENTS = 16  # of round shapes
TOUCHING = 1e-4  # m: balls smaller than this are no overlap
SHOWN = 5
MOST_LINKS = 500  # that are searched
Part = tuple[np.ndarray, np.ndarray]  # corners (n, 3), and planes (m, 4): normal · x + offset ≤ 0; both in the world


def part_overlapping_links(scene: Scene, element: Element, warnings: Warnings) -> None:
    """Switch off contact between links, and between links and the fixed base, that overlap as they stand."""
    items = [item for item in scene.touching() if item.shape is not None and not item.shape.surface]
    if len(items) > MOST_LINKS:
        warnings.add(
            element, f"more than {MOST_LINKS} links collide; they are not searched for overlaps at the zero pose"
        )
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


def _near(parts: list[list[Part]]) -> list[tuple[int, int]]:
    """Pairs of links whose boxes along the axes overlap."""
    numbers = [i for i, own in enumerate(parts) if own]
    corners = [np.concatenate([world for world, _ in parts[i]]) for i in numbers]
    low, high = (np.array([getattr(each, side)(axis=0) for each in corners]).reshape(-1, 3) for side in ("min", "max"))
    apart = (low[:, None] > high[None]).any(axis=2)
    near = np.argwhere(np.triu(~(apart | apart.T), 1))
    return [(numbers[i], numbers[k]) for i, k in near.tolist()]


def _parts(item: Touching) -> list[Part]:
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


def _overlap(one: Part, other: Part) -> bool:
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
