"""Where the colliders are: the pose of each in the world, and the axis-aligned box about it, grown by a margin."""

import math

from ..jit import inlined, njit
from ..model.tables import STATE_SIZE
from ..quat import to_matrix
from ..scene.shapes.dispatch import shape_extent
from ..unchecked import peek
from ..vec import add, load3, matvec, matvec_t, norm, store3
from .tables import HULL, MESH


@inlined
def nine(array):
    """A field of nine floats as a tuple."""
    return (array[0], array[1], array[2], array[3], array[4], array[5], array[6], array[7], array[8])


@njit
def product(a, b):
    """A B of two 3×3 matrices."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6], a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


@njit
def place_colliders(y, bodies, margin, collision):
    """Fill `places` from the poses in the state vector y of so many bodies, with boxes grown by `margin` (m) or more;
    returns the first collider whose pose is not finite, or −1."""
    colliders = collision.colliders
    places = collision.places
    vertices, travel = collision.vertices, collision.travel
    for i in range(colliders.shape[0]):
        collider = colliders[i]
        place = places[i]
        rotation = nine(collider.rotation)
        x, centre = load3(collider.position), (0.0, 0.0, 0.0)
        if collider.body < bodies:
            at = STATE_SIZE * collider.body
            turn = to_matrix((peek(y, at + 3), peek(y, at + 4), peek(y, at + 5), peek(y, at + 6)))
            centre = (peek(y, at), peek(y, at + 1), peek(y, at + 2))
            x = add(centre, matvec(turn, x))
            rotation = product(turn, rotation)
        store3(place.x, x)
        store3(place.centre, centre)
        for k in range(9):
            place.rotation[k] = rotation[k]
        place.moves = 0.0
        if collider.body < bodies:
            sweep = peek(travel, 2 * collider.body + 1) * (norm(load3(collider.position)) + collider.radius)
            place.moves = peek(travel, 2 * collider.body) + sweep
        place.reach = max(margin, place.moves)
        bound(collider, place, x, rotation, vertices, place.reach)
        if not math.isfinite(place.lower[0] + place.lower[1] + place.lower[2]):
            return i
    return -1


@njit
def bound(collider, place, x, rotation, vertices, margin):
    """Write the box: it reaches from −h(−e) to h(e) along each axis e of the world, with h the support function."""
    for k in range(3):
        row = (rotation[3 * k], rotation[3 * k + 1], rotation[3 * k + 2])
        up, down = extent(collider, row, vertices)
        place.lower[k] = x[k] - (margin + down)
        place.upper[k] = x[k] + (margin + up)


@njit
def extent(collider, row, vertices):
    """How far a collider reaches from its origin along the unit vector `row`, and against it; in its frame."""
    if collider.kind == HULL:
        high, low = hull_reach(collider, row, vertices)
        return high, -low
    size = load3(collider["size"])
    if collider.kind == MESH:
        reach = size[0] * abs(row[0]) + size[1] * abs(row[1]) + size[2] * abs(row[2])
        return reach, reach
    return shape_extent(collider.kind, size, row)


@njit
def hull_reach(collider, row, vertices):
    """The largest and the least of row · corner."""
    high = -1e300
    low = 1e300
    for i in range(collider.first_vertex, collider.first_vertex + collider.vertices):
        s = row[0] * peek(vertices, 3 * i) + row[1] * peek(vertices, 3 * i + 1) + row[2] * peek(vertices, 3 * i + 2)
        high = max(high, s)
        low = min(low, s)
    return high, low


@njit
def plane_reach(collider, place, normal, vertices):
    """The least of normal · x over a bounded collider (world)."""
    local = matvec_t(nine(place.rotation), normal)
    centre = normal[0] * place.x[0] + normal[1] * place.x[1] + normal[2] * place.x[2]
    return centre - extent(collider, local, vertices)[1]
