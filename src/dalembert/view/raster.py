"""A z-buffer: triangles and discs to samples, each of which keeps what is nearest.

Pictures only, no physics. Points come projected: x and y in samples, and w, which grows towards the eye and is linear on the
screen (1/depth in perspective, the height along the light in its shadow map). Each sample keeps the nearest w and its owner.
"""

import math

import numpy as np

from dalembert.jit import njit
from dalembert.kernel import array, kernel, out


@kernel
def fill(points: array(3), owners: array(1, np.int64), depth: out(2, np.float32), owner: out(2, np.int32)) -> None:
    """Draw triangles, corners (m, 3, 3), into depth and owner (height, width)."""
    height, width = depth.shape
    for k in range(len(points)):
        ax, ay, bx, by = points[k, 0, 0], points[k, 0, 1], points[k, 1, 0], points[k, 1, 1]
        cx, cy = points[k, 2, 0], points[k, 2, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > 1e-12:
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
    """The samples i of first … last, in whose middle value + slope · (i + ½) is not below zero."""
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
    """Draw discs around points (n, 3), radii (n,) in samples; those of balls bulge towards the
    eye by their radius: `bulges` are radius / depth, 0 for flat ones. Owners count from `first`."""
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
    """Samples whose middles lie between low and high, first and one past the last, within 0 … size."""
    first = math.ceil(min(max(low - 0.5, 0.0), float(size)))
    last = math.floor(min(max(high - 0.5, -1.0), size - 1.0)) + 1
    return int(first), int(last)


def new_buffers(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Empty depth and owner, (height, width)."""
    return np.zeros((height, width), np.float32), np.full((height, width), -1, np.int32)
