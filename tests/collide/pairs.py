"""Two shapes in the world, handed to the narrow phase; and what a manifold must satisfy, by brute force."""

import numpy as np

from dalembert.collide.build import Solid, make_collision
from dalembert.collide.narrow_phase import Narrow, family_of
from dalembert.collide.tables import CONVEX_PAIR, PAIR
from dalembert.core.c_function import C_TYPE
from dalembert.core.tables import address_table
from dalembert.scene.shapes.base import CYLINDER

AXES = np.eye(3)


def rotation(rng, angle=None):
    """A random rotation matrix, by `angle` (rad) about a random axis where given."""
    q = rng.normal(size=4)
    if angle is not None:
        q = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * q[1:] / np.linalg.norm(q[1:])])
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def about_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


class Met:
    """What the narrow phase found."""

    def __init__(self, manifold):
        n = int(manifold.points)
        self.points = n
        self.normal = np.array(manifold.normal)
        self.position = np.array(manifold.position).reshape(4, 3)[:n]
        self.separation = np.array(manifold.separation)[:n]
        self.feature = np.array(manifold.feature)[:n]


def pair_by(family, collision, margin, loaded=()):
    """The manifold of colliders 0 and 1, by the C function of a family; `pairs[0]` remembers it. loaded : the features that
    bore force in the step before."""
    kinds = np.append(collision.colliders.kind, CYLINDER) if family == CONVEX_PAIR else collision.colliders.kind
    narrow = Narrow(kinds, lambda: collision)
    collision.functions[:] = narrow.addresses
    addresses = address_table(collision)
    collision.manifold.view(np.uint8)[:] = 0xFF
    collision.manifold[0].feature[: len(loaded)] = loaded
    collision.scratch[:] = np.nan
    found = C_TYPE(int(narrow.addresses[family]))(addresses.ctypes.data, 0, margin, 0, 0, 0, 0)
    assert found == collision.manifold[0].points
    collision.pairs[0].points = found
    return Met(collision.manifold[0])


class Two:
    """Two shapes, whose kinds are in order."""

    def __init__(self, a, b):
        pairs = np.zeros(1, PAIR).view(np.recarray)
        pairs[0].b = 1
        self.tables = make_collision([Solid(a, 0), Solid(b, 1)])._replace(pairs=pairs)

    def meet(self, pose_a, pose_b, margin=0.0, forget=True, loaded=()):
        """The manifold at two poses (x, rotation matrix); `forget` the witness of the last call. loaded : see `pair_by`."""
        for place, (x, turn) in zip(self.tables.places, (pose_a, pose_b), strict=True):
            place.x = x
            place.rotation = np.asarray(turn).ravel()
        if forget:
            self.tables.pairs[:] = 0
            self.tables.pairs[0].b = 1
        family = getattr(family_of, "py_func", family_of)(*self.tables.colliders.kind)
        return pair_by(family, self.tables, margin, loaded)


class Solid3:
    """A convex polyhedron in the world: corners, outward face normals with offsets, and directions of edges."""

    def __init__(self, corners, normals, edges, pose=((0, 0, 0), AXES)):
        x, turn = np.asarray(pose[0], float), np.asarray(pose[1])
        self.corners = corners @ turn.T + x
        self.normals = normals @ turn.T
        self.offsets = (self.corners @ self.normals.T).max(axis=0)
        self.edges = edges @ turn.T

    def outside(self, point):
        """How far a point is outside, by its worst face (m)."""
        return float((self.normals @ point - self.offsets).max())


def box(sides, pose):
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
    return Solid3(0.5 * signs * sides, np.vstack([AXES, -AXES]), AXES, pose)


def best_gap(a, b):
    """(gap, axis from a to b): the largest over all face normals and all products of edges."""
    crosses = np.cross(a.edges[:, None], b.edges[None]).reshape(-1, 3)
    lengths = np.linalg.norm(crosses, axis=1)
    crosses = crosses[lengths > 1e-6] / lengths[lengths > 1e-6, None]
    axes = np.vstack([a.normals, -b.normals, crosses, -crosses])
    gaps = (b.corners @ axes.T).min(axis=0) - (a.corners @ axes.T).max(axis=0)
    best = int(np.argmax(gaps))
    return float(gaps[best]), axes[best]


def check_points(met, a, b, tolerance):
    """Each point stands midway between a point of a and one of b, that far apart along the normal."""
    assert abs(np.linalg.norm(met.normal) - 1.0) < 1e-12
    for position, separation in zip(met.position, met.separation, strict=True):
        assert a.outside(position - 0.5 * separation * met.normal) < tolerance
        assert b.outside(position + 0.5 * separation * met.normal) < tolerance
    assert len(set(met.feature.tolist())) == met.points


def by_place(met):
    """The points, sorted by where they are."""
    order = np.lexsort(np.round(met.position, 9).T)
    return met.position[order], met.separation[order]
