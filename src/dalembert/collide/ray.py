"""Where a ray enters a collider, in closed form; what it meets of a shape is told by the shape's own function."""

import math

from ..jit import njit
from ..scene.shapes.dispatch import shape_ray
from ..scene.shapes.geometry import WHOLE_LINE, below
from ..vec import add_scaled, dot, load3, matvec, matvec_t, sub
from .bounds import nine
from .tables import HALF_SPACE, HULL


@njit
def ray_hit(collider, place, faces, origin, direction):
    """(distance, outward unit normal) where a ray from `origin` along the unit vector `direction` (world) meets a collider.

    The distance (m) is inf for a miss. From within it is zero, and the normal is −direction.
    """
    axes = nine(place.rotation)
    o = matvec_t(axes, sub(origin, load3(place.x)))
    d = matvec_t(axes, direction)
    # From the point of the ray nearest to the centre, so that a distant origin costs the roots no digits.
    start = 0.0 if collider.kind == HALF_SPACE else -dot(o, d)
    enter, leave, normal = inside(collider, faces, add_scaled(o, start, d), d)
    if not enter <= leave or leave + start < 0.0:
        return math.inf, (0.0, 0.0, 0.0)
    if enter + start <= 0.0:
        return 0.0, (-direction[0], -direction[1], -direction[2])
    return enter + start, matvec(axes, normal)


@njit
def inside(collider, faces, o, d):
    """The part of the ray inside a collider, in its frame: (enter, leave, outward normal where it enters)."""
    if collider.kind == HULL:
        part = WHOLE_LINE
        for f in range(collider.first_face, collider.first_face + collider.faces):
            part = below(part, o, d, load3(faces[f].normal), faces[f].offset)
        return part
    return shape_ray(collider.kind, load3(collider["size"]), o, d)
