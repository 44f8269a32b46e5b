"""From the owners of samples to a picture: light, shadows and a ground with a grid. Pictures only, no physics."""

import math

import numpy as np

from dalembert.jit import njit
from dalembert.kernel import array, kernel, out

SOLID, SURFACE, FLAT = 0, 1, 2  # a closed body, a surface with two sides, and what no light falls on
BIAS = 2.0  # texels of the shadow map by which a point is lifted off its own surface


@kernel
def shade(
    view: array(2), fine: int, owner: array(2, np.int32), corners: array(3), normals: array(3), colors: array(2),
    kinds: array(1, np.int64), fades: array(), balls: array(2), ball_radii: array(), ball_colors: array(2),
    ball_kinds: array(1, np.int64), ball_first: int, light: array(), shadow: array(2, np.float32),
    tops: array(2, np.float32), frame: array(2), ground: array(), back: array(3, np.float32), picture: out(3, np.uint8),
) -> None:  # fmt: skip
    """Give every pixel of picture (height, width, 3), uint8, the mean colour of its fine × fine samples.

    view : (5, 3): the axes right, up and back of the camera, the eye (m), and (pixels a unit, x and y of the middle).
    corners, normals : (m, 3, 3) m and 1 of triangles, kinds (m,), fades (m,): 1, less for what
    is pale; with their colors (m + l, 3) come those of l strokes. Owners from ball_first on are balls (n, 3) m, radii m.
    light : (3,) towards it. shadow : its map of heights along it, (s, s); tops : the greatest in each block of 16 × 16.
    frame : (4, 3): its axes across, its axis, and (x, y of its corner, texels a metre).
    ground : its height, the spacing of its grid, and how far off it fades, m. back : see `backdrop`.
    """
    height, width = picture.shape[0], picture.shape[1]
    share = 1.0 / (fine * fine)
    for j in range(height):
        for i in range(width):
            red = green = blue = 0.0
            last = -2
            r = g = b = 0.0
            for s in range(fine * fine):
                jj, ii = j * fine + s // fine, i * fine + s % fine
                own = owner[jj, ii]
                if own != last:
                    last = own
                    x, y = (ii + 0.5) / fine, (jj + 0.5) / fine
                    if own < 0:
                        r, g, b = _ground(view, i + 0.5, j + 0.5, back, light, shadow, tops, frame, ground)
                    elif own >= ball_first:
                        k = own - ball_first
                        r, g, b = _ball(
                            view, x, y, balls, ball_radii, ball_colors, ball_kinds, k, light, shadow, tops, frame
                        )
                    elif own >= len(corners):
                        r, g, b = colors[own, 0], colors[own, 1], colors[own, 2]
                    else:
                        r, g, b = _triangle(
                            view, x, y, corners, normals, colors, kinds, own, light, shadow, tops, frame
                        )
                        pale = 1.0 - fades[own]
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
def _triangle(view, x, y, corners, normals, colors, kinds, k, light, shadow, tops, frame):
    """The colour of triangle k where the ray through (x, y) meets its plane."""
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
    if kinds[k] == SURFACE and facing > 0.0:
        n0, n1, n2, side = -n0, -n1, -n2, 0.75
    lit = _lit(ax + u * px + v * qx, ay + u * py + v * qy, az + u * pz + v * qz, n0, n1, n2, light, shadow, tops, frame)
    bright = side * lit
    return (
        min(bright * colors[k, 0] + 0.03, 1.0), min(bright * colors[k, 1] + 0.03, 1.0),
        min(bright * colors[k, 2] + 0.03, 1.0),
    )  # fmt: skip


@njit
def _ball(view, x, y, balls, radii, colors, kinds, k, light, shadow, tops, frame):
    """The colour of ball k, flat or lit, where the ray through (x, y) meets it (or passes its middle closest)."""
    if kinds[k] == FLAT:
        return colors[k, 0], colors[k, 1], colors[k, 2]
    dx, dy, dz = _ray(view, x, y)
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / size, dy / size, dz / size
    ox, oy, oz = view[3, 0] - balls[k, 0], view[3, 1] - balls[k, 1], view[3, 2] - balls[k, 2]
    middle = -(ox * dx + oy * dy + oz * dz)
    inside = radii[k] ** 2 - (ox * ox + oy * oy + oz * oz - middle * middle)
    t = middle - math.sqrt(max(inside, 0.0))
    nx, ny, nz = ox + t * dx, oy + t * dy, oz + t * dz
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    size = size if size > 0.0 else 1.0
    nx, ny, nz = nx / size, ny / size, nz / size
    px, py, pz = balls[k, 0] + radii[k] * nx, balls[k, 1] + radii[k] * ny, balls[k, 2] + radii[k] * nz
    bright = _lit(px, py, pz, nx, ny, nz, light, shadow, tops, frame)
    return (
        min(bright * colors[k, 0] + 0.03, 1.0), min(bright * colors[k, 1] + 0.03, 1.0),
        min(bright * colors[k, 2] + 0.03, 1.0),
    )  # fmt: skip


@njit
def _lit(x, y, z, nx, ny, nz, light, shadow, tops, frame):
    """Brightness at a point with a normal: light from the sky, from the ground, and, out of the shadow, from the light."""
    facing = nx * light[0] + ny * light[1] + nz * light[2]
    if facing > 0.0:
        lift = BIAS / frame[3, 2]
        facing *= _open(x + lift * nx, y + lift * ny, z + lift * nz, 1, shadow, tops, frame)
    return 0.60 + 0.14 * nz + 0.40 * max(facing, 0.0)


@njit
def _open(x, y, z, reach, shadow, tops, frame):
    """Share of the light at a point, 0 to 1: the mean over texels that lie up to `reach` from it."""
    size = shadow.shape[0]
    u = (x * frame[0, 0] + y * frame[0, 1] + z * frame[0, 2] - frame[3, 0]) * frame[3, 2]
    v = (x * frame[1, 0] + y * frame[1, 1] + z * frame[1, 2] - frame[3, 1]) * frame[3, 2]
    if not (reach + 1.0 < u < size - reach - 1.0 and reach + 1.0 < v < size - reach - 1.0):
        return 1.0
    high = x * frame[2, 0] + y * frame[2, 1] + z * frame[2, 2]
    i, j = int(u - 0.5), int(v - 0.5)
    fu, fv = u - 0.5 - i, v - 0.5 - j
    bi, bj, ci, cj = (i - reach) // 16, (j - reach) // 16, (i + reach + 1) // 16, (j + reach + 1) // 16
    if max(tops[bj, bi], tops[bj, ci], tops[cj, bi], tops[cj, ci]) <= high:
        return 1.0
    total = 0.0
    for b in range(-reach, reach + 2):  # a box whose edges follow the point: no steps from texel to texel
        wv = (1.0 - fv) if b == -reach else fv if b == reach + 1 else 1.0
        for a in range(-reach, reach + 2):
            wu = (1.0 - fu) if a == -reach else fu if a == reach + 1 else 1.0
            if shadow[j + b, i + a] <= high:
                total += wu * wv
    return total / (2 * reach + 1) ** 2


@kernel
def backdrop(view: array(2), ground: array(), found: out(3, np.float32)) -> None:
    """What stands behind everything, (height, width, 2): how bright, white but for the grid on the ground, and how much of
    a shadow shows there, which falls to 0 in the distance. view and ground as in `shade`."""
    for j in range(found.shape[0]):
        for i in range(found.shape[1]):
            x, y = i + 0.5, j + 0.5
            px, py, far = _meet(view, x, y, ground[0])
            qx, qy, f1 = _meet(view, x + 1.0, y, ground[0])
            rx, ry, f2 = _meet(view, x, y + 1.0, ground[0])
            fade = max(1.0 - (far / (2.0 * ground[2])) ** 2, 0.0) ** 3 if min(far, f1, f2) > 0.0 else 0.0
            across, along = max(abs(qx - px), abs(rx - px)), max(abs(qy - py), abs(ry - py))
            line = max(_line(px, across, ground[1]), _line(py, along, ground[1])) if fade > 0.0 else 0.0
            found[j, i, 0], found[j, i, 1] = 1.0 - (0.035 + 0.085 * line) * fade, fade


@njit
def _ground(view, x, y, back, light, shadow, tops, frame, ground):
    """The colour of what stands behind at pixel (x, y), with the shadows on it."""
    tone, fade = back[int(y), int(x), 0], back[int(y), int(x), 1]
    if fade <= 0.0:
        return 1.0, 1.0, 1.0
    px, py, _ = _meet(view, x, y, ground[0])
    dark = fade * 0.21 * (1.0 - _open(px, py, ground[0], 3, shadow, tops, frame))
    return tone - 1.02 * dark, tone - dark, min(tone + 0.012 * fade - 0.94 * dark, 1.0)


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
