"""Meshes: their tables (facets, neighbours of each side, tree of bounding boxes), and contact with a facet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.math3 import add, add_scaled, dot, load3, matvec, matvec_t, scale, sub
from ..scene.shapes.surfaces import with_area
from .broad_phase import nine
from .curved import NORMAL, POINT_A, POINT_B, call_distance, flat_patch, keep_nearest, same_depth
from .gjk import FAR, core_radius, load_point, support
from .manifold import MOST_CORNERS, convex_polygons, start
from .polyhedron import BEHIND, is_free, is_over, lean, show
from .tables import FACE, FACET, NODE, SIDE, TREE

LEVEL = 1e-6  # rad: a facet that falls away by less is level with its neighbour
COPLANAR = 1e-9  # rad: triangles that turn by less are in one plane


class MeshTables(NamedTuple):
    """One mesh about the centre of its box; numbers of vertices, faces, sides, rings and nodes count from zero."""

    center: np.ndarray  # (3,) of its box, in the frame of the shape, m
    half: np.ndarray  # (3,) half the sides of the box
    vertices: np.ndarray  # (c, 3) corners of each facet, m
    faces: np.ndarray  # FACE
    facets: np.ndarray  # FACET
    sides: np.ndarray  # SIDE
    rings: np.ndarray  # (k, 3)
    nodes: np.ndarray  # NODE


class JoinedMeshes(NamedTuple):
    """All meshes of a `Collision`, where fields of these names go behind what hulls have there."""

    vertices: np.ndarray
    faces: np.ndarray
    loops: np.ndarray
    facets: np.ndarray
    sides: np.ndarray
    rings: np.ndarray
    nodes: np.ndarray
    trees: np.ndarray


def join_meshes(meshes: dict[int, MeshTables], vertices: int, faces: int, loops: int) -> JoinedMeshes:
    """The tables of meshes, by the number of their collider, behind so many vertices, faces and loops."""
    points, indices = np.zeros((0, 3)), np.zeros(0, np.int64)
    parts = [JoinedMeshes(points, np.zeros(0, FACE), indices, np.zeros(0, FACET), np.zeros(0, SIDE), points,
                          np.zeros(0, NODE), np.zeros(0, TREE))]  # fmt: skip
    facets = sides = rings = nodes = 0
    for collider, mesh in meshes.items():
        mesh.faces["first"] = loops  # the corners of every facet are in order
        mesh.facets["first_vertex"] += vertices
        mesh.facets["face"] += faces
        mesh.facets["first_side"] += sides
        mesh.sides["first_ring"] += rings
        mesh.nodes["skip"] += nodes
        mesh.nodes["facet"][mesh.nodes["facet"] >= 0] += facets
        tree = np.array([(collider, nodes, nodes + len(mesh.nodes))], TREE)
        own = mesh.vertices, mesh.faces, np.arange(MOST_CORNERS if collider == min(meshes) else 0)
        parts.append(JoinedMeshes(*own, mesh.facets, mesh.sides, mesh.rings, mesh.nodes, tree))
        vertices, faces, sides = vertices + len(mesh.vertices), faces + len(mesh.faces), sides + len(mesh.sides)
        facets, rings, nodes = facets + len(mesh.facets), rings + len(mesh.rings), nodes + len(mesh.nodes)
    return JoinedMeshes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def mesh_tables(vertices: np.ndarray, faces: np.ndarray) -> MeshTables:
    """Tables of a surface: vertices (n, 3) in m, triangles (m, 3).

    Vertices at equal coordinates are one, triangles without area are left out, and those in one plane are joined to convex
    polygons.
    """
    points, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    triangles = index.reshape(-1)[faces]
    triangles = triangles[with_area(points, triangles)]
    used = points[np.unique(triangles)]
    center = 0.5 * (used.min(axis=0) + used.max(axis=0))
    points = points - center
    corners = points[triangles]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal = area / np.linalg.norm(area, axis=1)[:, None]
    beside, is_open, twin = _beside(points, triangles, normal)
    side, count = convex_polygons(points, triangles, normal, twin)
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    sharp = np.zeros(len(points), bool)
    sharp[start[is_open]] = sharp[end[is_open]] = True
    rings, first_ring, ring = _rings(points, start, end)

    first = np.cumsum(count) - count
    corner = points[start[side]]
    facets, flats, sides = np.zeros(len(count), FACET), np.zeros(len(count), FACE), np.zeros(len(side), SIDE)
    sides["beside"], sides["first_ring"], sides["ring"] = beside[side], first_ring[start[side]], ring[start[side]]
    facets["first_vertex"] = facets["first_side"] = first
    facets["vertices"] = flats["count"] = count
    facets["face"] = np.arange(len(count))
    facets["sharp"] = np.maximum.reduceat(sharp[start[side]], first)
    flats["normal"] = normal[side[first] // 3]
    flats["offset"] = (
        np.add.reduceat(np.einsum("ij,ij->i", np.repeat(flats["normal"], count, axis=0), corner), first) / count
    )
    nodes = tree(np.minimum.reduceat(corner, first), np.maximum.reduceat(corner, first))
    return MeshTables(center, np.abs(used - center).max(axis=0), corner, flats, facets, sides, rings, nodes)


def _beside(points: np.ndarray, triangles: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each side of each triangle, `SIDE.beside` (3 m, 3), whether the surface falls away there or ends (3 m,), and the
    side beyond where the triangle beyond lies in the same plane, else −1.

    Where several triangles lie beyond a side, it is the one that rises most.
    """
    start, end = triangles, np.roll(triangles, -1, axis=1)
    along = points[end] - points[start]
    along /= np.linalg.norm(along, axis=2)[:, :, None]
    outward = np.cross(along, normal[:, None])
    keys, back = (start * len(points) + end).ravel(), (end * len(points) + start).ravel()
    order = np.argsort(keys, kind="stable")
    first, last = np.searchsorted(keys[order], back, "left"), np.searchsorted(keys[order], back, "right")
    best = np.full(keys.size, -np.inf)
    beside, twin = np.zeros((keys.size, 3)), np.full(keys.size, -1)
    edge, out, up = along.reshape(-1, 3), outward.reshape(-1, 3), np.repeat(normal, 3, axis=0)
    for k in range(int((last - first).max(initial=0))):
        some = np.flatnonzero(first + k < last)
        beyond = order[first[some] + k]
        into = np.cross(edge[some], normal[beyond // 3])
        rise = np.arctan2(np.einsum("ij,ij->i", into, up[some]), np.einsum("ij,ij->i", into, out[some]))
        rise[rise > np.pi - LEVEL] = -np.pi  # folded back on itself: the other face of a thin sheet
        higher = rise > best[some]
        best[some[higher]] = rise[higher]
        beside[some[higher]], twin[some[higher]] = into[higher], beyond[higher]
    level = best >= -LEVEL
    beside[level] = out[level]
    # Joined are sides that have each other only.
    twin[(np.abs(best) > COPLANAR) | (last - first != 1)] = -1
    twin[(twin >= 0) & (twin[twin] != np.arange(len(twin)))] = -1
    return beside, ~level, twin


def _rings(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors along the edges that leave each point, (k, 3), and first and number (n,) of those of a point."""
    pairs = np.unique(np.concatenate([np.stack([start, end], 1), np.stack([end, start], 1)]), axis=0)
    along = points[pairs[:, 1]] - points[pairs[:, 0]]
    count = np.bincount(pairs[:, 0], minlength=len(points))
    return along / np.linalg.norm(along, axis=1)[:, None], np.cumsum(count) - count, count


def tree(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The tree of boxes (n, 3), each set halved along its longest side: 2 n − 1 nodes in depth-first order."""
    count = len(lower)
    nodes = np.zeros(2 * count - 1, NODE)
    order = np.arange(count)
    middle = lower + upper
    at, first, size = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([count])
    while len(at):
        # Every set of this level, in its part of `order`: the box, then sorted along the longest side.
        begin = np.cumsum(size) - size
        where = np.repeat(first - begin, size) + np.arange(size.sum())
        nodes["lower"][at] = np.minimum.reduceat(lower[order[where]], begin)
        nodes["upper"][at] = np.maximum.reduceat(upper[order[where]], begin)
        nodes["skip"][at] = at + 2 * size - 1
        nodes["facet"][at] = np.where(size == 1, order[first], -1)
        spread = np.maximum.reduceat(middle[order[where]], begin) - np.minimum.reduceat(middle[order[where]], begin)
        group = np.repeat(np.arange(len(at)), size)
        key = middle[order[where], spread.argmax(axis=1)[group]]
        order[where] = order[where][np.lexsort((key, group))]
        left = size // 2
        split = size > 1
        at = np.concatenate([(at + 1)[split], (at + 2 * left)[split]])
        first = np.concatenate([first[split], (first + left)[split]])
        size = np.concatenate([left[split], (size - left)[split]])
        by_place = np.argsort(first, kind="stable")
        at, first, size = at[by_place], first[by_place], size[by_place]
    return nodes


# A convex collider against a facet ------------------------------------------------------------------------------------
# Seen along the normal of the facet, the part of the collider over it is pushed out; no further than half the thickness of
# the collider, so that what is behind a surface stays there. Where the nearest points show another direction, it counts if it
# is free at that side or corner (see `polyhedron.is_free`); else the normal does: so internal edges have no effect.

# What the nearest points say: nothing is near; push along the normal; along what they found; along the normal, if not deep.
NOTHING, ALONG_NORMAL, ALONG_FOUND, IF_SHALLOW = range(4)


@njit
def mesh_contact(pair, margin, collision):
    """Fill the manifold of collider a and facet `pair.facet` of the mesh b; returns its number of points.

    margin : m, nearer than this is contact.
    """
    vertices, manifold = collision.vertices, collision.manifold[0]
    collider, mesh = collision.colliders[pair.a], collision.colliders[pair.b]
    place, frame = collision.places[pair.a], collision.places[pair.b]
    facet = collision.facets[pair.facet]
    face = collision.faces[facet.face]
    show(mesh, pair.facet, collision)
    start((0.0, 0.0, 0.0), manifold)
    turn = nine(frame.rotation)
    n = matvec(turn, load3(face.normal))
    down = scale(-1.0, n)
    level = dot(n, load3(frame.x)) + face.offset
    radius, same = core_radius(collider), same_depth(manifold)
    lowest = add_scaled(support(collider, place, vertices, down), -radius, n)
    gap = dot(n, lowest) - level
    if not gap <= margin:
        return 0
    local = matvec_t(turn, sub(lowest, load3(frame.x)))
    under = is_over(local, facet, collision)
    what, separation = ALONG_NORMAL, gap
    if facet.sharp != 0 and not (under and gap > 0.0):
        what, separation = compare_directions(pair, n, gap, facet, margin, collision)
    if what == NOTHING:
        return 0
    if what == ALONG_FOUND:
        return push_along_found(pair, separation, margin, collision)
    flat_patch(pair, down, margin, 0.0, collision)
    if under:
        keep_nearest(add_scaled(lowest, -0.5 * gap, n), gap, same * collider.radius, manifold)
    deepest = 0.5 * (gap + level - dot(n, support(collider, place, vertices, n)) - radius)
    if what == IF_SHALLOW:
        deepest = max(deepest, -max(margin, -2.0 * separation))
    for i in range(manifold.points):
        if manifold.separation[i] < deepest:
            manifold.points = 0
    return manifold.points


@njit
def compare_directions(pair, n, gap, facet, margin, collision):
    """(what to do, separation (m)) by the nearest points of a collider and a facet of outward normal n (world); these stay in
    `scratch`. The distance of a curved shape from a far larger facet is inexact: n, along which the two are `gap` (m) apart,
    counts where it separates them better."""
    status, separation = call_distance(pair, margin, collision)
    found = load_point(collision.scratch, NORMAL)
    if status == FAR or not separation <= margin:
        return NOTHING, separation
    u = scale(-1.0, found)
    if dot(u, n) > 0.0 and (lean(u, n) <= BEHIND or separation <= gap):
        return ALONG_NORMAL, gap
    if dot(u, n) >= -BEHIND and is_free(matvec_t(nine(collision.places[pair.b].rotation), u), facet, collision):
        return ALONG_FOUND, separation
    if separation > 0.0 and dot(u, n) < 0.0:
        return NOTHING, separation
    return IF_SHALLOW, separation


@njit
def push_along_found(pair, separation, margin, collision):
    """The manifold along the direction of the nearest points, as of any two convex shapes."""
    scratch, manifold = collision.scratch, collision.manifold[0]
    middle = scale(0.5, add(load_point(scratch, POINT_A), load_point(scratch, POINT_B)))
    same = same_depth(manifold)
    flat_patch(pair, load3(pair.axis), margin, margin, collision)
    keep_nearest(middle, separation, same * collision.colliders[pair.a].radius, manifold)
    return manifold.points
