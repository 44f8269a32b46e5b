"""A software renderer: triangles, lines and balls of one instant, drawn by a z-buffer and shaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from .camera import Camera
from .drawing import Extent

# Z-buffer: triangles and discs to samples -----------------------------------------------------------------------------
#
# Points come projected: x and y in samples, and w, which grows towards the eye and is linear on the screen (1/depth in
# perspective, the height along the light in its shadow map). Each sample keeps the nearest w and its owner.

LEAST_AREA = 1e-12  # samples: twice the area of a triangle that is drawn


@kernel
def fill(points: array(3), owners: array(1, np.int64), depth: out(2, np.float32), owner: out(2, np.int32)) -> None:
    """Draw triangles, corners (m, 3, 3), into depth and owner (height, width)."""
    height, width = depth.shape
    for k in range(len(points)):
        ax, ay, bx, by = points[k, 0, 0], points[k, 0, 1], points[k, 1, 0], points[k, 1, 1]
        cx, cy = points[k, 2, 0], points[k, 2, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > LEAST_AREA:
            continue
        left, right = _span(min(ax, bx, cx), max(ax, bx, cx), width)
        top, bottom = _span(min(ay, by, cy), max(ay, by, cy), height)
        wa, wb, wc = points[k, 0, 2], points[k, 1, 2], points[k, 2, 2]
        # Barycentric u and v, and w, are linear: value + slope · x along a row.
        ux, vx = (by - cy) / area, (cy - ay) / area
        wx = ux * wa + vx * wb - (ux + vx) * wc
        for j in range(top, bottom):
            y = j + 0.5
            u = ((cx - bx) * (y - by) + (cy - by) * bx) / area
            v = ((ax - cx) * (y - cy) + (ay - cy) * cx) / area
            first, last = _within(u, ux, left, right)
            first, last = _within(v, vx, first, last)
            first, last = _within(1.0 - u - v, -ux - vx, first, last)
            w = u * wa + v * wb + (1.0 - u - v) * wc
            for i in range(first, last):
                near = w + wx * (i + 0.5)
                if near > depth[j, i]:
                    depth[j, i] = near
                    owner[j, i] = owners[k]


@njit
def _within(value, slope, first, last):
    """The part of the samples i of first … last where value + slope · (i + ½) ≥ 0, in their middles."""
    if slope == 0.0:
        return (first, last) if value >= 0.0 else (first, first)
    at = min(max(-value / slope - 0.5, -1.0), 1e9)
    if slope > 0.0:
        return max(first, int(math.ceil(at))), last
    return first, min(last, int(math.floor(at)) + 1)


@kernel
def fill_discs(
    points: array(2), radii: array(), bulges: array(), first: int, depth: out(2, np.float32), owner: out(2, np.int32)
) -> None:
    """Draw discs around points (n, 3), radii (n,) in samples, into depth and owner. Those of balls bulge towards the eye by
    their radius: `bulges` are radius / depth, 0 for flat ones. Owners count from `first`."""
    height, width = depth.shape
    for k in range(len(points)):
        x, y, r = points[k, 0], points[k, 1], radii[k]
        left, right = _span(x - r, x + r, width)
        top, bottom = _span(y - r, y + r, height)
        for j in range(top, bottom):
            for i in range(left, right):
                s = 1.0 - ((i + 0.5 - x) ** 2 + (j + 0.5 - y) ** 2) / (r * r)
                if s >= 0.0:
                    w = points[k, 2] / (1.0 - bulges[k] * math.sqrt(s))
                    if w > depth[j, i]:
                        depth[j, i] = w
                        owner[j, i] = first + k


@njit
def _span(low, high, size):
    """The range of samples whose middles lie between low and high, within 0 … size: the first, and one past the last."""
    first = math.ceil(min(max(low - 0.5, 0.0), float(size)))
    last = math.floor(min(max(high - 0.5, -1.0), size - 1.0)) + 1
    return int(first), int(last)


def new_buffers(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Empty depth and owner, (height, width)."""
    return np.zeros((height, width), np.float32), np.full((height, width), -1, np.int32)


# Shading: light, shadows, and a ground with a grid --------------------------------------------------------------------

SOLID, SURFACE, FLAT = 0, 1, 2  # a closed body, a surface with two sides, and what no light falls on
BIAS = 2.0  # texels of the shadow map by which a point is moved off its own surface, against shadows of rounding
AMBIENT, SKY, DIFFUSE = (
    0.52,
    0.16,
    0.46,
)  # brightness from all sides, more from above than from below, and from the light
SHINE, GLOSS = 0.16, 30  # brightness of the highlight of solids, and its exponent (Blinn)
SHADE = 0.36  # how much darker the ground is in a shadow
ZENITH, HORIZON, FLOOR = (0.70, 0.82, 0.94), (0.955, 0.967, 0.98), (0.895, 0.905, 0.915)  # colours of the background


class Triangles(NamedTuple):
    """corners, normals : (m, 3, 3) m and 1. kinds : (m,) SOLID, SURFACE or FLAT. fades : (m,), 1, or less if pale.
    colors : (m + l, 3), first of the triangles and then of l strokes."""

    corners: Any
    normals: Any
    colors: Any
    kinds: Any
    fades: Any


class Balls(NamedTuple):
    """centers : (n, 3) m. radii : (n,) m. colors : (n, 3). kinds : (n,) SOLID or FLAT."""

    centers: Any
    radii: Any
    colors: Any
    kinds: Any


class Lighting(NamedTuple):
    """direction : (3,), unit, towards the light. heights : its shadow map (s, s), heights along the light. tops : the largest
    in each block of 16 × 16 and the eight around it. frame : (4, 3), the axes of the map, and (x, y of its corner, texels
    per metre)."""

    direction: Any
    heights: Any
    tops: Any
    frame: Any


class Background(NamedTuple):
    """color : (h, w, 3) of sky and ground, 0 to 1. spot : (h, w, 4), where a pixel's ground is in the frame of the light, and
    the share of a shadow that shows there. See `backdrop`."""

    color: Any
    spot: Any


@kernel
def shade(
    view: array(2), fine: int, owner: array(2, np.int32),
    triangles: Triangles(array(3), array(3), array(2), array(1, np.int64), array()),
    balls: Balls(array(2), array(), array(2), array(1, np.int64)),
    lighting: Lighting(array(), array(2, np.float32), array(2, np.float32), array(2)),
    background: Background(array(3, np.float32), array(3, np.float32)), picture: out(3, np.uint8),
) -> None:  # fmt: skip
    """Give every pixel of picture (height, width, 3), uint8, the mean colour of its fine × fine samples.

    view : (5, 3): the axes right, up and back of the camera, the eye (m), and (pixels a unit, x and y of the middle).
    owner : of each sample, from `fill` and `fill_discs`: −1 for the background, then triangles, strokes, and balls.
    """
    height, width = picture.shape[0], picture.shape[1]
    share = 1.0 / (fine * fine)
    first_ball = len(triangles.colors)
    for j in range(height):
        for i in range(width):
            if _is_plain(i, j, fine, owner, background, lighting):
                for k in range(3):
                    picture[j, i, k] = int(255.0 * background.color[j, i, k] + 0.5)
                continue
            red = green = blue = 0.0
            last = -2
            r = g = b = 0.0
            for jj in range(j * fine, (j + 1) * fine):
                for ii in range(i * fine, (i + 1) * fine):
                    own = owner[jj, ii]
                    if own != last:
                        last = own
                        x, y = (ii + 0.5) / fine, (jj + 0.5) / fine
                        if own < 0:
                            r, g, b = _ground(i, j, background, lighting)
                        elif own >= first_ball:
                            r, g, b = _ball(view, x, y, balls, own - first_ball, lighting)
                        elif own >= len(triangles.corners):
                            r, g, b = triangles.colors[own, 0], triangles.colors[own, 1], triangles.colors[own, 2]
                        else:
                            r, g, b = _triangle(view, x, y, triangles, own, lighting)
                            pale = 1.0 - triangles.fades[own]
                            r, g, b = r + pale * (1.0 - r), g + pale * (1.0 - g), b + pale * (1.0 - b)
                    red, green, blue = red + share * r, green + share * g, blue + share * b
            picture[j, i, 0] = int(255.0 * red + 0.5)
            picture[j, i, 1] = int(255.0 * green + 0.5)
            picture[j, i, 2] = int(255.0 * blue + 0.5)


@njit
def _ray(view, x, y):
    """The direction from the eye through pixel (x, y)."""
    a, b = (x - view[4, 1]) / view[4, 0], (view[4, 2] - y) / view[4, 0]
    return (
        a * view[0, 0] + b * view[1, 0] - view[2, 0],
        a * view[0, 1] + b * view[1, 1] - view[2, 1],
        a * view[0, 2] + b * view[1, 2] - view[2, 2],
    )


@njit
def _triangle(view, x, y, triangles, k, lighting):
    """The colour (3 numbers, 0 to 1) of triangle k where the ray through pixel (x, y) meets its plane."""
    corners, normals, colors = triangles.corners, triangles.normals, triangles.colors
    dx, dy, dz = _ray(view, x, y)
    ax, ay, az = corners[k, 0, 0], corners[k, 0, 1], corners[k, 0, 2]
    px, py, pz = corners[k, 1, 0] - ax, corners[k, 1, 1] - ay, corners[k, 1, 2] - az
    qx, qy, qz = corners[k, 2, 0] - ax, corners[k, 2, 1] - ay, corners[k, 2, 2] - az
    ox, oy, oz = view[3, 0] - ax, view[3, 1] - ay, view[3, 2] - az
    hx, hy, hz = dy * qz - dz * qy, dz * qx - dx * qz, dx * qy - dy * qx
    det = px * hx + py * hy + pz * hz
    det = det if det != 0.0 else 1e-300
    u = min(max((ox * hx + oy * hy + oz * hz) / det, 0.0), 1.0)
    cx, cy, cz = oy * pz - oz * py, oz * px - ox * pz, ox * py - oy * px
    v = min(max((dx * cx + dy * cy + dz * cz) / det, 0.0), 1.0 - u)
    n0 = (1.0 - u - v) * normals[k, 0, 0] + u * normals[k, 1, 0] + v * normals[k, 2, 0]
    n1 = (1.0 - u - v) * normals[k, 0, 1] + u * normals[k, 1, 1] + v * normals[k, 2, 1]
    n2 = (1.0 - u - v) * normals[k, 0, 2] + u * normals[k, 1, 2] + v * normals[k, 2, 2]
    side = 1.0
    facing = (py * qz - pz * qy) * dx + (pz * qx - px * qz) * dy + (px * qy - py * qx) * dz
    if triangles.kinds[k] == SURFACE and facing > 0.0:
        n0, n1, n2, side = -n0, -n1, -n2, 0.75
    lit, shine = _lit(
        ax + u * px + v * qx, ay + u * py + v * qy, az + u * pz + v * qz, n0, n1, n2, dx, dy, dz, lighting
    )
    bright, shine = side * lit, (shine if triangles.kinds[k] == SOLID else 0.0) + 0.02
    return (
        min(bright * colors[k, 0] + shine, 1.0), min(bright * colors[k, 1] + shine, 1.0),
        min(bright * colors[k, 2] + shine, 1.0),
    )  # fmt: skip


@njit
def _ball(view, x, y, balls, k, lighting):
    """The colour (3 numbers, 0 to 1) of ball k, flat or lit, where the ray through (x, y) meets it, or else is nearest."""
    centers, radii, colors = balls.centers, balls.radii, balls.colors
    if balls.kinds[k] == FLAT:
        return colors[k, 0], colors[k, 1], colors[k, 2]
    dx, dy, dz = _ray(view, x, y)
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / size, dy / size, dz / size
    ox, oy, oz = view[3, 0] - centers[k, 0], view[3, 1] - centers[k, 1], view[3, 2] - centers[k, 2]
    middle = -(ox * dx + oy * dy + oz * dz)
    inside = radii[k] ** 2 - (ox * ox + oy * oy + oz * oz - middle * middle)
    t = middle - math.sqrt(max(inside, 0.0))
    nx, ny, nz = ox + t * dx, oy + t * dy, oz + t * dz
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    size = size if size > 0.0 else 1.0
    nx, ny, nz = nx / size, ny / size, nz / size
    px, py, pz = centers[k, 0] + radii[k] * nx, centers[k, 1] + radii[k] * ny, centers[k, 2] + radii[k] * nz
    bright, shine = _lit(px, py, pz, nx, ny, nz, dx, dy, dz, lighting)
    shine += 0.02
    return (
        min(bright * colors[k, 0] + shine, 1.0), min(bright * colors[k, 1] + shine, 1.0),
        min(bright * colors[k, 2] + shine, 1.0),
    )  # fmt: skip


@njit
def _lit(x, y, z, nx, ny, nz, dx, dy, dz, lighting):
    """Brightness at a point with a normal: (ambient, more of it from the sky, and diffuse out of the shadow (Lambert); and
    the highlight that an eye sees along (dx, dy, dz) (Blinn))."""
    light = lighting.direction
    facing = nx * light[0] + ny * light[1] + nz * light[2]
    if not facing > 0.0:
        return AMBIENT + SKY * nz, 0.0
    offset = BIAS / lighting.frame[3, 2]
    x, y, z = x + offset * nx, y + offset * ny, z + offset * nz
    frame = lighting.frame
    u = (x * frame[0, 0] + y * frame[0, 1] + z * frame[0, 2] - frame[3, 0]) * frame[3, 2]
    v = (x * frame[1, 0] + y * frame[1, 1] + z * frame[1, 2] - frame[3, 1]) * frame[3, 2]
    seen = _open(u, v, x * frame[2, 0] + y * frame[2, 1] + z * frame[2, 2], 1, lighting)
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    hx, hy, hz = light[0] - dx / size, light[1] - dy / size, light[2] - dz / size
    size = math.sqrt(hx * hx + hy * hy + hz * hz)
    along = max((nx * hx + ny * hy + nz * hz) / size, 0.0) if size > 0.0 else 0.0
    return AMBIENT + SKY * nz + DIFFUSE * seen * facing, SHINE * seen * along**GLOSS


@njit
def _top(u, v, lighting):
    """The largest height of the shadow map in the blocks around the texel (u, v); −inf beyond the map."""
    tops = lighting.tops
    size = 16.0 * tops.shape[0]
    return tops[int(v) >> 4, int(u) >> 4] if 0.0 <= u < size and 0.0 <= v < size else -math.inf


@njit
def _open(u, v, high, reach, lighting):
    """Share of the light, 0 to 1, at the texel (u, v) of its map and the height `high` along it: the mean over texels that
    lie up to `reach` from it."""
    shadow = lighting.heights
    size = float(shadow.shape[0] - 4)
    if _top(u, v, lighting) <= high or not (reach < u - 1.0 < size - reach and reach < v - 1.0 < size - reach):
        return 1.0
    i, j = int(u - 0.5), int(v - 0.5)
    fu, fv = u - 0.5 - i, v - 0.5 - j
    total = 0.0
    for b in range(-reach, reach + 2):  # a box whose edges follow the point: no steps from texel to texel
        wv = (1.0 - fv) if b == -reach else fv if b == reach + 1 else 1.0
        for a in range(-reach, reach + 2):
            wu = (1.0 - fu) if a == -reach else fu if a == reach + 1 else 1.0
            if shadow[j + b, i + a] <= high:
                total += wu * wv
    return total / (2 * reach + 1) ** 2


@kernel
def backdrop(
    view: array(2), ground: array(), frame: array(2), color: out(3, np.float32), spot: out(3, np.float32)
) -> None:
    """Sky and ground with its grid, as in `Background`. view as in `shade`; ground : its height, the spacing of its grid, and
    the distance at which it fades into the horizon, m; frame : of the light, as in `Lighting`."""
    for j in range(color.shape[0]):
        for i in range(color.shape[1]):
            x, y = i + 0.5, j + 0.5
            px, py, far = _meet(view, x, y, ground[0])
            qx, qy, f1 = _meet(view, x + 1.0, y, ground[0])
            rx, ry, f2 = _meet(view, x, y + 1.0, ground[0])
            near = min(far, f1, f2) > 0.0
            fade = max(1.0 - (far / (2.0 * ground[2])) ** 2, 0.0) ** 2 if near else 0.0
            across, along = max(abs(qx - px), abs(rx - px)), max(abs(qy - py), abs(ry - py))
            line = max(_line(px, across, ground[1]), _line(py, along, ground[1])) if fade > 0.0 else 0.0
            dx, dy, dz = _ray(view, x, y)
            up = max(dz / math.sqrt(dx * dx + dy * dy + dz * dz), 0.0) if far <= 0.0 else 0.0
            for k in range(3):
                sky = HORIZON[k] + (ZENITH[k] - HORIZON[k]) * min(1.6 * math.sqrt(up), 1.0)
                color[j, i, k] = sky + fade * (FLOOR[k] * (1.0 - 0.10 * line) - sky)
            for k in range(3):
                at = px * frame[k, 0] + py * frame[k, 1] + ground[0] * frame[k, 2]
                spot[j, i, k] = (at - frame[3, k]) * frame[3, 2] if k < 2 else at
            spot[j, i, 3] = fade


@njit
def _is_plain(i, j, fine, owner, background, lighting):
    """Whether pixel (i, j) shows the background alone, and no shadow."""
    for jj in range(j * fine, (j + 1) * fine):
        for ii in range(i * fine, (i + 1) * fine):
            if owner[jj, ii] >= 0:
                return False
    spot = background.spot
    return not spot[j, i, 3] > 0.0 or _top(spot[j, i, 0], spot[j, i, 1], lighting) <= spot[j, i, 2]


@njit
def _ground(i, j, background, lighting):
    """The colour (3 numbers, 0 to 1) of the background at pixel (i, j), with the shadows on it."""
    color, spot = background.color, background.spot
    dark = 0.0
    if spot[j, i, 3] > 0.0:
        dark = SHADE * spot[j, i, 3] * (1.0 - _open(spot[j, i, 0], spot[j, i, 1], spot[j, i, 2], 3, lighting))
    return color[j, i, 0] * (1.0 - dark), color[j, i, 1] * (1.0 - 0.97 * dark), color[j, i, 2] * (1.0 - 0.92 * dark)


@njit
def _meet(view, x, y, ground):
    """Where the ray through a pixel meets the ground, and how far from the eye; not above zero where it does not."""
    dx, dy, dz = _ray(view, x, y)
    if dz >= -1e-9 or view[3, 2] <= ground:
        return 0.0, 0.0, -1.0
    t = (ground - view[3, 2]) / dz
    return view[3, 0] + t * dx, view[3, 1] + t * dy, t


@njit
def _line(at, pixel, spacing):
    """How much of a pixel that is `pixel` wide (m) a line of the grid covers at a coordinate; fades where lines crowd."""
    if pixel <= 0.0:
        return 0.0
    gap = abs(at / spacing - math.floor(at / spacing + 0.5)) * spacing / pixel
    return min(max(1.25 - gap, 0.0), 1.0) * min(max(1.5 - 6.0 * pixel / spacing, 0.0), 1.0)


# Canvas ---------------------------------------------------------------------------------------------------------------

LIGHT = np.array([0.35, -0.5, 1.0]) / np.linalg.norm([0.35, -0.5, 1.0])
SHADOW_MAP, SMALL_MAP, SMALL = 1536, 1024, 800  # texels a side; of pictures no higher than so many pixels
NEAR = 0.01  # of the distance to the middle: what is nearer to the eye is cut away
ABOVE = 1e4  # factor of w of strokes and dots that nothing hides
ON_TOP = 1.0005  # factor of w of strokes, which are drawn over the surface that they lie on

# What one row of each list holds.
MESH = (((3, 3), float), ((3, 3), float), ((3,), float), ((), int), ((), float), ((), bool))
STROKE = (((3, 3), float), ((3,), float))
BALL = (((3,), float), ((), float), ((), float), ((3,), float), ((), int), ((), float))


class Canvas:
    """Collects meshes, strokes and balls, and renders them."""

    def __init__(self, camera: Camera, extent: Extent, back: Background) -> None:
        """back: the `backdrop_of` this camera."""
        self.camera, self.extent, self._back = camera, extent, back
        self._meshes: list[tuple[np.ndarray, ...]] = []
        self._strokes: list[tuple[np.ndarray, np.ndarray]] = []
        self._balls: list[tuple[np.ndarray, ...]] = []

    def add_mesh(
        self, corners: np.ndarray, normals: np.ndarray, colors: np.ndarray, kind: int, fade: float = 1.0,
        casts: np.ndarray | bool = True,
    ) -> None:  # fmt: skip
        """Triangles (m, 3, 3) m with normals at their corners, colours (m, 3); casts: whether they throw a shadow."""
        m = len(corners)
        self._meshes.append((corners, normals, colors, np.full(m, kind), np.full(m, fade), np.broadcast_to(casts, m)))

    def add_strokes(self, segments: np.ndarray, colors: np.ndarray, width: float, over: bool = False) -> None:
        """Lines (n, 2, 3) m of a width in pixels, with colours (n, 3) or one; over: nothing hides them."""
        ends = self.camera.project(segments)
        ahead = (ends[..., 2] > 0.0).all(axis=1)
        ends, shades = ends[ahead], np.broadcast_to(colors, (len(segments), 3))[ahead]
        along = ends[:, 1, :2] - ends[:, 0, :2]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        along = np.divide(along, length, out=np.tile([1.0, 0.0], (len(along), 1)), where=length > 0.0) * 0.5 * width
        side = np.stack([-along[:, 1], along[:, 0]], axis=1)
        nearer = ABOVE if over else ON_TOP
        quads = np.repeat(ends, 2, axis=1)  # both corners at one end, both at the other
        quads[:, :, :2] += np.stack([-along - side, -along + side, along - side, along + side], axis=1)
        quads[:, :, 2] *= nearer
        self._strokes.append((quads[:, [[0, 1, 2], [1, 3, 2]]].reshape(-1, 3, 3), np.repeat(shades, 2, axis=0)))

    def add_flat(self, corners: np.ndarray, colors: np.ndarray) -> None:
        """Triangles (m, 3, 3) m of colours (m, 3) that no light falls on."""
        seen = self.camera.project(corners)
        ahead = (seen[..., 2] > 0.0).all(axis=1)
        self._strokes.append((seen[ahead], colors[ahead]))

    def add_balls(self, points: np.ndarray, radius: np.ndarray | float, colors: np.ndarray, least: float = 0.9) -> None:
        """Balls (n, 3) m of radii in m, with colours (n, 3) or one; at least so many pixels in radius."""
        self._add_discs(points, radius, least, colors, SOLID, 1.0)

    def add_dots(self, points: np.ndarray, pixels: float, color: np.ndarray, over: float = 1.0) -> None:
        """Flat dots of a radius in pixels that nothing hides, but dots with a greater `over`."""
        self._add_discs(points, 0.0, pixels, color, FLAT, over * 10.0 * ABOVE)

    def _add_discs(
        self, points: np.ndarray, radius: np.ndarray | float, least: float, colors: np.ndarray, kind: int, over: float
    ) -> None:
        n = len(points)
        self._balls.append((points, np.broadcast_to(radius, n), np.broadcast_to(least, n),
                            np.broadcast_to(colors, (n, 3)), np.full(n, kind), np.full(n, over)))  # fmt: skip

    def render(self, fine: int = 2) -> np.ndarray:
        """The picture, (height, width, 3) uint8, of fine × fine samples a pixel."""
        width, height = self.camera.size
        corners, normals, colors, kinds, fades, casts = _joined(self._meshes, MESH)
        strokes, stroke_colors = _joined(self._strokes, STROKE)
        balls, radii, least, ball_colors, ball_kinds, over = _joined(self._balls, BALL)
        depth, owner = new_buffers(fine * height, fine * width)
        seen, owners = self._in_front(corners)
        samples = np.array([fine, fine, 1.0])
        fill(self.camera.project(seen) * samples, owners, depth, owner)
        fill(strokes * samples, np.arange(len(strokes)) + len(corners), depth, owner)
        discs = self.camera.project(balls)
        behind = ~(discs[:, 2] > 0.0)
        discs[behind] = 0.0
        pixels = np.where(behind, 0.0, np.maximum(self.camera.scale * radii * discs[:, 2], least))
        bulges = np.minimum(radii * discs[:, 2], 0.9)
        discs[:, 2] *= over
        first = len(corners) + len(strokes)
        fill_discs(discs * samples, np.maximum(fine * pixels, 1e-9), bulges, first, depth, owner)
        lighting = self._lighting(corners[casts], balls[ball_kinds == SOLID], radii[ball_kinds == SOLID])
        picture = np.empty((height, width, 3), np.uint8)
        colors = np.concatenate([colors, stroke_colors])
        shade(self.camera.view, fine, owner, Triangles(corners, normals, colors, kinds, fades),
              Balls(balls, radii, ball_colors, ball_kinds), lighting, self._back, picture)  # fmt: skip
        return picture

    def _in_front(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles cut off where they come too near to the eye, and the index of the one each is a part of."""
        depth = (self.camera.eye - corners) @ self.camera.axes[2]
        near = NEAR * float(np.linalg.norm(self.camera.eye - self.extent.center))
        ahead = depth > near
        whole, cut = np.flatnonzero(ahead.all(axis=1)), np.flatnonzero(ahead.any(axis=1) & ~ahead.all(axis=1))
        parts, owners = [corners[whole]], [whole]
        for k in cut:
            polygon = []
            for a, b, za, zb in zip(
                corners[k], np.roll(corners[k], -1, 0), depth[k], np.roll(depth[k], -1), strict=True
            ):
                polygon += [a] if za > near else []
                polygon += [a + (near - za) / (zb - za) * (b - a)] if (za > near) != (zb > near) else []
            parts.append(np.array([[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]))
            owners.append(np.full(len(parts[-1]), k))
        return np.concatenate(parts), np.concatenate(owners)

    def _lighting(self, corners: np.ndarray, balls: np.ndarray, radii: np.ndarray) -> Lighting:
        """The light, and its shadow map over the extent, with the triangles and balls that cast a shadow."""
        frame, size = light_frame(self.extent, self.camera), map_size(self.camera)
        depth, owner = new_buffers(size, size)
        depth[:] = -np.inf

        def cast(points: np.ndarray) -> np.ndarray:
            return (points @ frame[:3].T - [*frame[3, :2], 0.0]) * [frame[3, 2], frame[3, 2], 1.0]

        fill(cast(corners), np.zeros(len(corners), np.int64), depth, owner)
        fill_discs(cast(balls), np.maximum(radii * frame[3, 2], 0.5), np.zeros(len(balls)), 0, depth, owner)
        rows = depth.reshape(size // 16, 16, size).max(axis=1)
        tops = np.pad(rows.reshape(size // 16, size // 16, 16).max(axis=2), 1, constant_values=-np.inf)
        tops = np.maximum(np.maximum(tops[:-2], tops[1:-1]), tops[2:])
        tops = np.maximum(np.maximum(tops[:, :-2], tops[:, 1:-1]), tops[:, 2:])
        return Lighting(LIGHT, depth, tops, frame)


def map_size(camera: Camera) -> int:
    """Texels a side of the shadow map for a camera's pictures."""
    return SHADOW_MAP if camera.size[1] > SMALL else SMALL_MAP


def light_frame(extent: Extent, camera: Camera) -> np.ndarray:
    """Axes of the shadow map over an extent, and its corner and texels per metre: (4, 3), as in `Lighting`."""
    across = np.cross(LIGHT, [0.0, 1.0, 0.0])
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(LIGHT, across), LIGHT])
    low, high = extent.low, extent.high
    box = np.array([[low[i] if k & 1 << i else high[i] for i in range(3)] for k in range(8)]) @ axes[:2].T
    middle, side = 0.5 * (box.min(axis=0) + box.max(axis=0)), 1.1 * float(np.ptp(box, axis=0).max())
    return np.concatenate([axes, [[*(middle - 0.5 * side), map_size(camera) / side]]])


def backdrop_of(camera: Camera, extent: Extent) -> Background:
    """The background that a camera sees; see `backdrop`."""
    width, height = camera.size
    back = Background(np.empty((height, width, 3), np.float32), np.empty((height, width, 4), np.float32))
    backdrop(camera.view, _ground_parameters(camera, extent), light_frame(extent, camera), back.color, back.spot)
    return back


def _ground_parameters(camera: Camera, extent: Extent) -> np.ndarray:
    """Height of the ground, spacing of its grid, and how far off it fades, m."""
    return np.array([extent.ground, grid_spacing(extent), 3.0 * float(np.linalg.norm(camera.eye - extent.center))])


def grid_spacing(extent: Extent) -> float:
    """Between the lines of the ground's grid, m: a power of ten, or half of one."""
    half = 0.5 * float(np.max(extent.high - extent.low)) or 1.0
    step = 10.0 ** np.floor(np.log10(half))
    return float(step / 2 if half / step < 2.5 else step)


def _joined(
    parts: Sequence[tuple[np.ndarray, ...]], columns: tuple[tuple[tuple[int, ...], type], ...]
) -> list[np.ndarray]:
    """Each column of the parts as one array; the shape of a row and the type of each column are given."""
    return [
        np.concatenate([np.zeros((0, *shape), kind), *(part[k] for part in parts)], dtype=kind)
        for k, (shape, kind) in enumerate(columns)
    ]
