"""The pressure on contact faces, computed from a few contact points and drawn as coloured triangles.

Two faces touch in a polygon, and a contact manifold has its corners with the force at each. The pressure that is drawn
is

    p(x) = max(0, c₀ + c₁ x + c₂ y)   over the polygon,

with coefficients c such that its resultant and moments are those of the points: a linear pressure, as in a beam, that
is never negative. If the resultant is in the middle of the polygon, the whole polygon has pressure; if it is near an
edge, a part is open. The coefficients are at the minimum of ½ ∫ p² dA − c·b, where b = Σ f (1, x, y), which is convex;
Newton's method finds it, for all manifolds at once. The integrals are sums over small triangles, so that no pressure is
found on less than one of them.

A patch whose force acts so near to an edge that less than a small triangle bears has a pressure that no drawing
resolves (`edge`); it has the last colour, and does not set the scale.

Manifolds with fewer than three points, or with points on a line (edges, corners, balls), have no area and no finite
pressure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SPLITS = ((10, 14), (30, 8), (150, 4))  # (patches, n): of fewer patches, a triangle is drawn as n² smaller ones
COARSE = 2  # of more
NEWTON, NEARLY = 20, 1e-6  # iterations; relative change at which they end
RIDGE = 1e-7  # of the matrix of a patch of constant pressure: keeps the minimum finite where only an edge bears
RESOLVED = 1e-3  # of the force times the size of the patch: the error of moments of a pressure that is resolved
FLAT = 1e-9  # of its squared length: the area of a patch that is a line
# Colours of a band of pressure, low to high: dark violet over red to yellow, on light grey for almost nothing
BANDS = ((222, 222, 228), (190, 188, 220), (140, 130, 200), (110, 70, 170), (140, 40, 140), (185, 45, 110), (220, 70, 75),
         (240, 110, 45), (250, 160, 40), (252, 215, 70))  # fmt: skip
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


class Patches(NamedTuple):
    """corners : (n, 3, 3) m, small triangles. pressure : (n,) Pa, of each. edge : (n,) whether an edge of its patch bears,
    at a pressure that depends on how fine the triangles are."""

    corners: np.ndarray
    pressure: np.ndarray
    edge: np.ndarray

    @property
    def largest(self) -> float:
        """The largest pressure that is resolved, Pa."""
        return float(self.pressure[~self.edge].max(initial=0.0))

    @property
    def bands(self) -> np.ndarray:
        """(n,) the index of each triangle's colour in `BANDS`: the largest pressure that is resolved has the last."""
        most = self.largest or self.pressure.max(initial=0.0)
        share = self.pressure / most if most > 0.0 else self.pressure
        return np.minimum((share * len(BANDS)).astype(int), len(BANDS) - 1)


NO_PATCHES = Patches(np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0, bool))


def patches_of(points: np.ndarray) -> Patches:
    """The patches of all manifolds of a frame. points : (k, 10), place (m), force (N), normal, number of the manifold."""
    points = np.asarray(points, float)
    if points.shape[1] < 10 or len(points) < 3:
        return NO_PATCHES
    points = points[np.argsort(points[:, 9], kind="stable")]
    _, first, count = np.unique(points[:, 9], return_index=True, return_counts=True)
    force = np.maximum(np.einsum("ij,ij->i", points[:, 3:6], points[:, 6:9]), 0.0)  # along the normal
    loaded = np.add.reduceat(force, first) > 0.0
    chosen = np.repeat((count >= 3) & loaded, count)
    if not chosen.any():
        return NO_PATCHES
    points, force, count = points[chosen], force[chosen], count[(count >= 3) & loaded]
    return _patches(points[:, :3], points[:, 6:9], force, count)


def _patches(places: np.ndarray, normals: np.ndarray, force: np.ndarray, count: np.ndarray) -> Patches:
    """Of polygons with `count` corners each, which follow each other in the other arrays."""
    owner, first = np.repeat(np.arange(len(count)), count), np.cumsum(count) - count
    middle = np.add.reduceat(places, first) / count[:, None]
    normal = normals[first]
    u = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(normal, u)
    arm = places - middle[owner]
    x, y = np.einsum("ij,ij->i", arm, u[owner]), np.einsum("ij,ij->i", arm, v[owner])
    size = np.sqrt(np.maximum.reduceat(x * x + y * y, first))
    size[size == 0.0] = 1.0
    flat = np.stack([x, y], axis=1) / size[owner, None]
    # anticlockwise about the middle; each side makes a triangle with it
    order = np.lexsort((np.arctan2(flat[:, 1], flat[:, 0]), owner))
    flat, force = flat[order], force[order]
    after = np.arange(len(flat)) + 1
    after[first + count - 1] = first
    triangles = np.stack([np.zeros_like(flat), flat, flat[after]], axis=1)
    split = next((n for most, n in SPLITS if len(count) < most), COARSE)
    small = _split(triangles, split)
    of = np.repeat(owner, split * split)
    sides = small[:, 1:] - small[:, :1]
    area = 0.5 * np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0])
    wide = np.bincount(of, area, len(count)) > FLAT
    at = _basis(small.mean(axis=1))
    target = np.stack([np.bincount(owner, force * column, len(count)) for column in _basis(flat).T], axis=1)
    pressure = _linear_pressure(at, area, of, target)
    moments = np.stack([np.bincount(of, area * pressure * column, len(count)) for column in at.T], axis=1)
    edge = np.abs(moments - target).max(axis=1) > RESOLVED * target[:, 0]
    seen = wide[of]
    of, small, pressure = of[seen], small[seen], pressure[seen]
    lifted = u[of, None] * small[..., :1] + v[of, None] * small[..., 1:]
    return Patches(middle[of, None] + size[of, None, None] * lifted, pressure / size[of] ** 2, edge[of])


def _basis(flat: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(flat)), flat])


def _split(triangles: np.ndarray, split: int) -> np.ndarray:
    """(n split², 3, 2): each triangle (n, 3, 2) as smaller ones."""
    corners = []
    for i in range(split):
        for j in range(split - i):
            corners.append([(i, j), (i + 1, j), (i, j + 1)])
            if i + j < split - 1:
                corners.append([(i + 1, j), (i + 1, j + 1), (i, j + 1)])
    share = np.array(corners, float) / split  # of the second and the third corner
    weights = np.stack([1.0 - share.sum(axis=2), share[..., 0], share[..., 1]], axis=2)
    return np.einsum("scw,nwd->nscd", weights, triangles).reshape(-1, 3, 2)


def _linear_pressure(at: np.ndarray, area: np.ndarray, of: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(n,) the pressure at n places `at` (1, x, y) with an area each, whose resultants on the patches `of` are the target's
    (patches, 3). What only an edge bears is as close to it as the areas allow, and has the same sum."""
    patches = len(target)
    whole = np.bincount(of, area, patches)
    ridge = RIDGE * np.maximum(whole, FLAT)[:, None, None] * np.eye(3)
    products = area[:, None, None] * at[:, :, None] * at[:, None, :]
    c = np.zeros((patches, 3))
    c[:, 0] = target[:, 0] / np.maximum(whole, FLAT)
    for _ in range(NEWTON):
        value = np.einsum("ij,ij->i", at, c[of])
        acting = (value > 0.0).astype(float)
        matrix = ridge + _sums(products * acting[:, None, None], of, patches)
        best = np.linalg.solve(matrix, target[..., None])[..., 0]
        change = best - c
        c = c + np.where(_is_lower(at, area, of, target, best, c), 1.0, 0.5)[:, None] * change
        if np.abs(change).max() <= NEARLY * np.abs(c).max():
            break
    pressure = np.maximum(np.einsum("ij,ij->i", at, c[of]), 0.0)
    borne = np.bincount(of, area * pressure, patches)
    factor = np.where(borne > 0.0, target[:, 0] / np.where(borne > 0.0, borne, 1.0), 0.0)
    return pressure * factor[of]


def _sums(values: np.ndarray, of: np.ndarray, patches: int) -> np.ndarray:
    """Sums of values (n, 3, 3) over patches, whose numbers `of` ascend."""
    return np.add.reduceat(values, np.searchsorted(of, np.arange(patches)))


def _is_lower(
    at: np.ndarray, area: np.ndarray, of: np.ndarray, target: np.ndarray, one: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """(patches,) whether ½ ∫ p² dA − c·b is lower at one c (patches, 3) than at the other."""

    def energy(c: np.ndarray) -> np.ndarray:
        p = np.maximum(np.einsum("ij,ij->i", at, c[of]), 0.0)
        return 0.5 * np.bincount(of, area * p * p, len(target)) - np.einsum("ij,ij->i", c, target)

    return energy(one) <= energy(other)


def with_prefix(value: float, unit: str) -> str:
    """A number with a unit in thousands: "12.3 kPa"."""
    factor, prefix = next(((f, p) for f, p in PREFIXES if abs(value) >= f), (1.0, ""))
    return f"{value / factor:.3g} {prefix}{unit}"


def scale_words(patches: Patches) -> tuple[str, str, str]:
    """What the first colour, the middle and the last one mean."""
    most = patches.largest
    more = " and more" if patches.edge.any() else ""
    return (
        "0",
        with_prefix(0.5 * most, "Pa") if most else "",
        with_prefix(most, "Pa") + more if most else "an edge bears",
    )
