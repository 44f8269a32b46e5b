"""Contacts of any two bounded convex shapes: the nearest points, and more of them where flat parts lie on each other.

In order: small linear systems; `refine`, Newton's method for the direction; `distance` and its C function; flat parts
of a shape; `convex_pair`, the entry of the narrow phase.
"""

import math

import numpy as np

from ..core.c_function import C_SIGNATURE, C_TYPE, call_pointer
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import (
    add,
    add_scaled,
    congruence,
    cross,
    dot,
    load3,
    matvec,
    matvec_t,
    norm,
    perpendicular,
    scale,
    store3,
    sub,
    symvec,
)
from ..core.simd import load, store
from ..core.tables import address_table, own_address, table_at
from ..scene.shapes.base import CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, MESH
from ..scene.shapes.dispatch import shape_face
from ..scene.shapes.geometry import TILT, put
from .broad_phase import nine
from .features import FLAT_FACE, PART_A, PART_B, POINT, curvature, ends, face_normal, feature_of, flat_normal
from .gjk import (
    FAR,
    FOUND,
    OVERLAPPING,
    SEPARATED,
    Cores,
    combination,
    core_radius,
    core_support,
    epa,
    gjk,
    hull_vertex,
    is_curved,
    load_point,
    pair_size,
    relative_pose,
    witness,
)
from .manifold import Polygon, add_point, clip_faces, start
from .tables import DIRECTION, DISTANCE, NO_FEATURE, POINTS, Collision

# Small linear systems -------------------------------------------------------------------------------------------------
# A few linear equations in scratch, which may depend on each other.

NEGLIGIBLE = 1e-11  # of the largest coefficient: a smaller pivot counts as zero


@njit
def solve_small(a, at, n):
    """Solve n equations by Gauss–Jordan elimination with complete pivoting; unknowns that they leave open are zero.

    a[at :] holds n rows of n coefficients and the right-hand side; the solution is written after them. n is at most 8.
    """
    width = n + 1
    solution = at + n * width
    largest = 0.0
    for i in range(n):
        a[solution + i] = 0.0
        for j in range(n):
            largest = max(largest, abs(a[at + width * i + j]))
    rows = 0  # bit i: row i has had its pivot
    owner = 0  # three bits a column: the row of its pivot
    taken = 0
    for _ in range(n):
        row, column = -1, -1
        pivot = NEGLIGIBLE * largest
        for i in range(n):
            for j in range(n):
                size = abs(a[at + width * i + j])
                if rows >> i & 1 == 0 and taken >> j & 1 == 0 and size > pivot:
                    row, column, pivot = i, j, size
        if row < 0:
            break
        rows |= 1 << row
        taken |= 1 << column
        owner |= row << 3 * column
        for i in range(n):
            if i != row:
                factor = a[at + width * i + column] / a[at + width * row + column]
                for j in range(width):
                    a[at + width * i + j] -= factor * a[at + width * row + j]
    for j in range(n):
        if taken >> j & 1 == 1:
            row = owner >> 3 * j & 7
            a[solution + j] = a[at + width * row + n] / a[at + width * row + j]


# Newton's method for the direction ------------------------------------------------------------------------------------
# From a nearly optimal direction between two cores to one right to rounding, on the features that meet.
#
# GJK and EPA find a distance to rounding long before the direction: an error e of the direction changes the distance by e²
# only, and a curved shape has infinitely many corners. But their simplex shows which features meet: the point of a smooth
# surface or a corner, an edge, or a flat face. Of a unit direction n from A to B, the separation is
#
#     s(n) = n·(p_B − p_A),    p_A = the point of A furthest along n,    p_B = that of B furthest along −n,
#
# and at the optimum w = p_B − p_A is parallel to n. On an edge the furthest point is p + μ e, with μ unknown and e·n = 0.
# With T two tangents of the unit sphere at n, and dp_A/dn = H_A the second derivative of the support function, Newton's step
# is
#
#     [ Tᵀ (H_A + H_B) T + s I   Tᵀ e_A   −Tᵀ e_B ] (δ  )   ( Tᵀ w  )
#     [ −e_Aᵀ T                  0         0      ] (δμ_A) = ( e_A·n )      n ← n + T δ
#     [ −e_Bᵀ T                  0         0      ] (δμ_B)   ( e_B·n )
#
# (the ends of the side line of a cone move with n too, but along directions at right angles to n, which leaves the last rows
# as they are). Where a flat face meets anything, n is its normal. The result is accepted only if the points are furthest
# along n on their whole shape: then they are the optimum.

STEPS = 10  # of Newton's method; it converges in four or five
LARGEST_STEP = 0.5  # rad
ON_EDGE = 1e-9  # of the length of an edge: a point beyond its end by less is on it
SAME_DISTANCE = 1e-13  # of the size: how nearly the points found must be the furthest ones
ROUNDING = 1e-15  # of the size
NEARLY_FLAT = 0.99  # cosine of the largest angle from a face's normal at which it is tried
# Where the system of equations is in scratch, after the simplex.
SYSTEM = 64


@njit
def refine(cores, n, least, count):
    """Improve the unit direction n from a to b; `scratch` holds the simplex of so many corners that `gjk` or `epa` left.

    least : the separation must not come out below this (m).

    Returns (improved, n, separation, point of a, point of b), all in the frame of a; if not improved, they are
    meaningless.
    """
    collider_a, collider_b, rotation, translation, collision = cores
    scratch = collision.scratch
    feature_a, first_a, second_a = feature_of(collider_a, scratch, count, PART_A)
    feature_b, first_b, second_b = feature_of(collider_b, scratch, count, PART_B)
    if feature_a == FLAT_FACE or feature_b == FLAT_FACE:
        good, m, s, p_a, q_b = on_face(cores, n, least, count, feature_a == FLAT_FACE)
        if good:
            return good, m, s, p_a, q_b
        # Distant points of a rim look like a flat end; of a polytope, rounding has made an edge a face.
        feature_a, feature_b = min(feature_a, 2 - feature_a), min(feature_b, 2 - feature_b)
    size = pair_size(cores.a, cores.b, cores.translation)
    start = n
    mu_a, mu_b = 0.5, 0.5
    before = math.inf
    for step in range(STEPS):
        u = matvec_t(rotation, (-n[0], -n[1], -n[2]))
        low_a, high_a = ends(collider_a, collision, feature_a, first_a, second_a, PART_A, n)
        low_b, high_b = ends(collider_b, collision, feature_b, first_b, second_b, PART_B, u)
        e_a = sub(high_a, low_a)
        e_b = sub(high_b, low_b)
        if step == 0:
            mu_a = along_edge(witness(scratch, count, PART_A), low_a, e_a)
            mu_b = along_edge(witness(scratch, count, PART_B), low_b, e_b)
        p_a = add_scaled(low_a, mu_a, e_a)
        p_b = add_scaled(low_b, mu_b, e_b)
        q_b = add(translation, matvec(rotation, p_b))
        e_b = matvec(rotation, e_b)
        w = sub(q_b, p_a)
        s = dot(w, n)
        across = add_scaled(w, -s, n)
        error = norm(across) + abs(dot(e_a, n)) + abs(dot(e_b, n))
        if not error < 0.5 * before and error <= SAME_DISTANCE * size:
            break
        before = error
        h_a = curvature(collider_a, p_a, n)
        h_b = congruence(rotation, curvature(collider_b, p_b, u))
        change, d_a, d_b = newton_step(n, w, s, scale_six(1.0 / size, h_a, h_b), e_a, e_b, size, scratch)
        if not norm(change) < LARGEST_STEP:
            break
        n = add(n, change)
        n = scale(1.0 / norm(n), n)
        mu_a += d_a
        mu_b += d_b
    inside = min(mu_a, mu_b) >= -ON_EDGE and max(mu_a, mu_b) <= 1.0 + ON_EDGE
    true = separation_along(cores, n)
    good = inside and error <= SAME_DISTANCE * size and abs(true - s) <= SAME_DISTANCE * size and s >= least
    if good:
        return good, n, s, p_a, q_b
    return beside_face(cores, start, least, count)


@njit
def along_edge(p, low, e):
    """μ of the point of the line low + μ e nearest to p; zero where e is."""
    ee = dot(e, e)
    return dot(sub(p, low), e) / ee if ee > 0.0 else 0.0


@njit
def separation_along(cores, n):
    """The gap between the cores along the unit vector n (m), negative where they overlap."""
    vertices = cores.collision.vertices
    u = matvec_t(cores.rotation, (-n[0], -n[1], -n[2]))
    b = add(cores.translation, matvec(cores.rotation, core_support(cores.b, vertices, u)))
    return dot(n, sub(b, core_support(cores.a, vertices, n)))


@njit
def newton_step(n, w, s, h, e_a, e_b, size, scratch):
    """(change of n, of μ_A, of μ_B): the system above, its lengths in units of `size`; h = (H_A + H_B)/size."""
    x = perpendicular(n)
    y = cross(n, x)
    unit = 1.0 / size
    hx, hy = symvec(h, x), symvec(h, y)
    a_x, a_y = unit * dot(e_a, x), unit * dot(e_a, y)
    b_x, b_y = unit * dot(e_b, x), unit * dot(e_b, y)
    rows = (
        (dot(x, hx) + unit * s, dot(x, hy), a_x, -b_x, unit * dot(x, w)),
        (dot(y, hx), dot(y, hy) + unit * s, a_y, -b_y, unit * dot(y, w)),
        (-a_x, -a_y, 0.0, 0.0, unit * dot(e_a, n)),
        (-b_x, -b_y, 0.0, 0.0, unit * dot(e_b, n)),
    )
    for i in range(4):
        for j in range(5):
            scratch[SYSTEM + 5 * i + j] = rows[i][j]
    solve_small(scratch, SYSTEM, 4)
    solution = SYSTEM + 20
    return (
        combination(scratch[solution], x, scratch[solution + 1], y, 0.0, n),
        scratch[solution + 2],
        scratch[solution + 3],
    )


@njit
def scale_six(s, a, b):
    """s (A + B) of two symmetric matrices."""
    return (
        s * (a[0] + b[0]), s * (a[1] + b[1]), s * (a[2] + b[2]), s * (a[3] + b[3]), s * (a[4] + b[4]),
        s * (a[5] + b[5]),
    )  # fmt: skip


@njit
def on_face(cores, n, least, count, of_a):
    """As `refine`, where one of the features is a flat face: n is its normal."""
    collider_a, collider_b, rotation, translation, collision = cores
    scratch = collision.scratch
    if of_a:
        m = face_normal(collider_a, scratch, PART_A, collision.faces)
    else:
        m = matvec(rotation, face_normal(collider_b, scratch, PART_B, collision.faces))
    m = scale(1.0 if dot(m, n) >= 0.0 else -1.0, m)
    s = separation_along(cores, m) if dot(m, m) > 0.0 else -math.inf
    if of_a:
        q_b = lone_point(collider_b, collision, matvec_t(rotation, (-m[0], -m[1], -m[2])), count, PART_B)
        q_b = add(translation, matvec(rotation, q_b))
        return s >= least, m, s, add_scaled(q_b, -s, m), q_b
    p_a = lone_point(collider_a, collision, m, count, PART_A)
    return s >= least, m, s, p_a, add_scaled(p_a, s, m)


@njit
def beside_face(cores, n, least, count):
    """As `refine`, where a face meets something curved and the simplex has too few of its corners to show it.

    The normal of a face of either that n is close to is taken if it separates better than n does.
    """
    collider_a, collider_b, rotation, translation, collision = cores
    least = max(least, separation_along(cores, n) - ROUNDING * pair_size(cores.a, cores.b, cores.translation))
    m = flat_normal(collider_a, collision, n)
    if dot(m, n) > NEARLY_FLAT:
        s = separation_along(cores, m)
        if s >= least:
            q_b = lone_point(collider_b, collision, matvec_t(rotation, (-m[0], -m[1], -m[2])), count, PART_B)
            q_b = add(translation, matvec(rotation, q_b))
            return True, m, s, add_scaled(q_b, -s, m), q_b
    m = flat_normal(collider_b, collision, matvec_t(rotation, (-n[0], -n[1], -n[2])))
    m = matvec(rotation, (-m[0], -m[1], -m[2]))
    s = separation_along(cores, m)
    p_a = lone_point(collider_a, collision, m, count, PART_A)
    return dot(m, n) > NEARLY_FLAT and s >= least, m, s, p_a, add_scaled(p_a, s, m)


@njit
def lone_point(collider, collision, u, count, part):
    """The point of a core that meets a face across u: of a rim or smooth surface the furthest, else as in the simplex."""
    scratch = collision.scratch
    feature, _, _ = feature_of(collider, scratch, count, part)
    if is_curved(collider) and feature == POINT:
        return core_support(collider, collision.vertices, u)
    return witness(scratch, count, part)


# Signed distance ------------------------------------------------------------------------------------------------------
# The distance of two convex shapes, with its direction and points: GJK, EPA where the cores overlap, Newton.
#
# It is a C function of its own, as its code is long: the narrow phase and the queries call it.

# What `distance` leaves in scratch: the separation (m), the unit normal, the points on a and on b (world axes).
SEPARATION, NORMAL, POINT_A, POINT_B = 0, 1, 4, 7

# Tolerances, as fractions of the size of the pair.
DISTANCE_SLACK = 1e-6  # how much less a refined distance may be: there is one optimum only
UNRELIABLE = 1e-3  # of the smaller radius: how much less the gap along a reliable direction may be than the distance
DEPTH_SLACK = 1e-12  # how much more a refined depth may be: there are many
POLYTOPE_DEPTH = 1e-13  # a polytope of finitely many corners is found exactly
CURVED_DEPTH = 1e-7  # near enough for Newton's method


@njit
def distance(number, bound, collision):
    """Distance (m) of two bounded colliders a and b of number = a · colliders + b, negative where they overlap: the least
    translation that separates them. Returns the status: SEPARATED, OVERLAPPING (the *cores* do), or FAR.

    scratch[0:3] holds the direction from a to b (world axes) that is tried first; zero: none. Written to scratch are the
    separation, the unit normal from a to b, and the points on a and on b, in world axes (SEPARATION, NORMAL, POINT_A,
    POINT_B). Of FAR only the normal has a meaning: along it they are further apart than the bound.
    bound : stop when the distance is proven to be larger (m).
    """
    a, b = number // collision.colliders.shape[0], number % collision.colliders.shape[0]
    scratch, place_a = collision.scratch, collision.places[a]
    collider_a, collider_b = collision.colliders[a], collision.colliders[b]
    rotation, translation = relative_pose(place_a, collision.places[b])
    cores = Cores(collider_a, collider_b, rotation, translation, collision)
    axes = nine(place_a.rotation)
    grown_a, grown_b = core_radius(collider_a), core_radius(collider_b)
    first = matvec_t(axes, load_point(scratch, 0))
    known, n, s, p, q = of_ellipsoids(cores, first)
    status = SEPARATED if s > 0.0 else OVERLAPPING
    if not known:
        status, n, s, p, q = search(cores, first, bound + grown_a + grown_b)
    x = load3(place_a.x)
    p = add(x, matvec(axes, add_scaled(p, grown_a, n)))
    q = add(x, matvec(axes, add_scaled(q, -grown_b, n)))
    scratch[SEPARATION] = s - grown_a - grown_b
    n = matvec(axes, n)
    for k in range(3):
        scratch[NORMAL + k], scratch[POINT_A + k], scratch[POINT_B + k] = n[k], p[k], q[k]
    return status


@njit
def search(cores, first, bound):
    """(status, normal, separation, point of a, point of b) of cores, in the frame of a. first : the direction from a to b
    that is tried first, or zero; bound : see `distance`."""
    scratch, rotation, translation = cores.collision.scratch, cores.rotation, cores.translation
    status, count, v = gjk(cores, first, bound)
    n, s = v, norm(v)
    if status == OVERLAPPING:
        count, n, s = overlap_of_cores(cores, count)
    else:
        n = scale(1.0 / s, v)
    p = witness(scratch, count, PART_A)
    q = add(translation, matvec(rotation, witness(scratch, count, PART_B)))
    if status != FAR:
        slack = DEPTH_SLACK if status == OVERLAPPING else DISTANCE_SLACK
        least = s - slack * pair_size(cores.a, cores.b, translation)
        better, n_new, s_new, p_new, q_new = refine(cores, n, least, count)
        if better:
            return status, n_new, s_new, p_new, q_new
        if status != OVERLAPPING:
            n, s = reliable_direction(cores, first, n, s)
        middle = scale(0.5, add(p, q))
        p, q = add_scaled(middle, -0.5 * s, n), add_scaled(middle, 0.5 * s, n)
    return status, n, s, p, q


# For two ellipsoids Newton's method needs no search before it. A result with s > 0 is always the optimum. So is one with
# s < 0 whose depth |s| is at most r, the sum of the least radii of curvature of both. The radius of curvature of the
# surface of the difference B ⊖ A is r or more everywhere, so a ball of radius r that touches this surface from within is
# inside it, wherever it rolls (W. Blaschke, Kreis und Kugel, 1916, §24). The origin is |s| below the surface, and the ball
# of radius |s| about it is inside the rolling ball that touches at the same point. So no other point is nearer.


@njit
def of_ellipsoids(cores, first):
    """(known, normal, separation, point of a, point of b) of two ellipsoids, in the frame of a; else, or where this does not
    find them, not known. first : the direction from a to b where the search begins; zero: that of the centres."""
    n = first if dot(first, first) > 0.0 else cores.translation
    length = norm(n)
    if cores.a.kind != ELLIPSOID or cores.b.kind != ELLIPSOID or not length > 0.0:
        return False, n, 0.0, n, n
    deepest = least_curvature(load3(cores.a["size"])) + least_curvature(load3(cores.b["size"]))
    return refine(cores, scale(1.0 / length, n), -deepest, 0)


@inlined
def least_curvature(size):
    """The least radius of curvature (m) of an ellipsoid with these semi-axes."""
    return min(size[0], size[1], size[2]) ** 2 / max(size[0], size[1], size[2])


# Where cores almost touch, and one is far larger than the other, the vector between them is as small as the rounding errors
# of their points. Then its direction is arbitrary.


@njit
def reliable_direction(cores, first, n, s):
    """(direction, separation along it) of cores at a distance s, where no refined direction n is known: n if planes across it
    are as far apart, to UNRELIABLE of the radius of the smaller core. Else that one of n, the direction tried `first` (zero:
    none), and the normals of flat faces nearest to these along which the cores are farthest apart."""
    along = separation_along(cores, n)
    if along >= s - UNRELIABLE * min(cores.a.radius, cores.b.radius):
        return n, s
    if dot(first, first) > 0.0:
        n, along = farther_apart(cores, scale(1.0 / norm(first), first), n, along)
    for _ in range(2):
        n, along = farther_apart(cores, flat_normal(cores.a, cores.collision, n), n, along)
        back = flat_normal(cores.b, cores.collision, matvec_t(cores.rotation, scale(-1.0, n)))
        n, along = farther_apart(cores, scale(-1.0, matvec(cores.rotation, back)), n, along)
    return n, along


@inlined
def farther_apart(cores, m, n, along):
    """The direction m and the separation along it, if this is more than `along`; else n and that, also where m is zero."""
    separation = separation_along(cores, m)
    return (m, separation) if separation > along and dot(m, m) > 0.0 else (n, along)


@njit
def overlap_of_cores(cores, count):
    """(number of corners of the simplex, normal, separation) of cores that overlap or touch."""
    curved = is_curved(cores.a) or is_curved(cores.b)
    tolerance = (CURVED_DEPTH if curved else POLYTOPE_DEPTH) * pair_size(cores.a, cores.b, cores.translation)
    found, corners, n, depth = epa(cores, tolerance)
    if found == FOUND:
        return corners, n, -depth
    # Without volume (two segments that cross, say), either side is as good.
    return count, scale(1.0 if dot(n, cores.translation) >= 0.0 else -1.0, n), 0.0


def distance_entry(data, number, bound, y, n, more, m):
    return distance(number, bound, table_at(Collision, data))


DISTANCE_ENTRY = CFunction(distance_entry, C_SIGNATURE)


def measure(collision: Collision, a: int, b: int, bound: float) -> np.ndarray:
    """Call `distance` from Python: its ten numbers in scratch."""
    number = a * len(collision.colliders) + b
    collision.scratch[:3] = 0.0
    if DISABLED:
        distance(number, bound, collision)
    else:
        table = address_table(collision)
        C_TYPE(DISTANCE_ENTRY.address)(table.ctypes.data, number, bound, 0, 0, 0, 0)
    return collision.scratch[:10]


# Flat parts, and contacts of convex pairs -----------------------------------------------------------------------------

MOST_CORNERS = 64
AT_A, AT_B = 0, 3 * MOST_CORNERS
STRAIGHT = 1e-6  # rad: edges of a face that turn by less are one
WITNESS_FEATURE = 1 << 40  # of the nearest points themselves
# Of the smaller radius: a manifold that is as deep as the nearest points needs no other. Bodies at rest overlap by up to 1e-5
# of their size, and of a flat end the point on the rim that is lowest then is another one in each step.
SAME, SAME_AT_REST = 1e-9, 1e-5


@njit
def supporting_face(collider, place, direction, at, collision):
    """Corners of the flat face or straight edge whose outward side is within `TILT` of a unit direction (world).

    Written from scratch[at] as xyz (world, m), in order around; returns their number: 0 if nothing flat faces the direction,
    2 for an edge (of a box or hull, the side of a cylinder or cone, the axis of a capsule moved out to its surface), or a
    polygon of up to `MOST_CORNERS`. A round end is the octagon of points on its rim that is fixed in the collider.
    """
    x = load3(place.x)
    axes = nine(place.rotation)
    u = matvec_t(axes, direction)
    if collider.kind == HULL or collider.kind == MESH:
        return hull_face(collider, u, x, axes, at, collision)
    return shape_face(collider.kind, load3(collider["size"]), u, x, axes, collision.scratch, at)


@njit
def hull_face(collider, u, x, axes, at, collision):
    """Write the polygon that faces u best, or the highest edge at right angles to u; see `supporting_face`. u is in the frame
    of the hull, whose pose is (x, axes). Returns the number of corners."""
    vertices, faces, loops, scratch = collision.vertices, collision.faces, collision.loops, collision.scratch
    best, facing = -1, -2.0
    for f in range(collider.first_face, collider.first_face + collider.faces):
        along = dot(u, load3(faces[f].normal))
        if along > facing:
            best, facing = f, along
    if facing >= math.sqrt(1.0 - TILT * TILT):
        face = faces[best]
        count = min(face.count, MOST_CORNERS)
        for i in range(count):
            # Of more corners, so many spread over the loop.
            p = hull_vertex(collider, loops[face.first + i * face.count // count], vertices)
            at = put(p, x, axes, scratch, at)
        return count
    height, side, end = -math.inf, -1, 0
    for f in range(collider.first_face, collider.first_face + collider.faces):
        face = faces[f]
        p = hull_vertex(collider, loops[face.first + face.count - 1], vertices)
        for i in range(face.count):
            q = hull_vertex(collider, loops[face.first + i], vertices)
            e = sub(q, p)
            middle = 0.5 * (dot(u, p) + dot(u, q))
            if abs(dot(e, u)) <= TILT * math.sqrt(dot(e, e)) and middle > height:
                height, side, end = middle, f, i
            p = q
    if side < 0:
        return 0
    top = -math.inf
    for i in range(collider.vertices):
        top = max(top, dot(u, hull_vertex(collider, i, vertices)))
    tail, head = whole_side(collider, faces[side], end, collision)
    if not top - height <= TILT * norm(sub(head, tail)):
        return 0
    at = put(tail, x, axes, scratch, at)
    put(head, x, axes, scratch, at)
    return 2


@njit
def whole_side(hull, face, end, collision):
    """(tail, head) of the straight side of a face that holds the edge which ends in its corner `end`. Where triangles meet
    the side of a facet, it has corners on the way, and is one edge all the same."""
    vertices, loops = collision.vertices, collision.loops
    first, count = face.first, face["count"]
    tail, head = (end + count - 1) % count, end
    p, q = hull_vertex(hull, loops[first + tail], vertices), hull_vertex(hull, loops[first + head], vertices)
    along = sub(q, p)
    for _ in range(count):
        following = (head + 1) % count
        r = hull_vertex(hull, loops[first + following], vertices)
        if not goes_straight_on(along, sub(r, q)):
            break
        head, q = following, r
    for _ in range(count):
        following = (tail + count - 1) % count
        r = hull_vertex(hull, loops[first + following], vertices)
        if not goes_straight_on(along, sub(p, r)):
            break
        tail, p = following, r
    return p, q


@inlined
def goes_straight_on(e, f):
    """Whether two edges, one after the other, have one direction."""
    turn = cross(e, f)
    return dot(e, f) > 0.0 and dot(turn, turn) <= STRAIGHT * STRAIGHT * dot(e, e) * dot(f, f)


@njit
def convex_pair(pair, margin, collision):
    """Fill the manifold of any two bounded convex colliders; returns the number of its points, 0 beyond `margin` (m).

    The search starts from `pair.axis`, where it leaves the direction found. Where both have something flat there, it is the
    patch that the two flat parts share; the nearest points are always among them, so that the least separation is exact.
    """
    scratch, manifold = collision.scratch, collision.manifold[0]
    start((0.0, 0.0, 0.0), manifold)
    same = same_depth(manifold)
    status, separation = call_distance(pair, margin, collision)
    middle = scale(0.5, add(load_point(scratch, POINT_A), load_point(scratch, POINT_B)))
    if status == FAR or not separation <= margin:
        return 0
    flat_patch(pair, load3(pair.axis), margin, margin, collision)
    radius = min(collision.colliders[pair.a].radius, collision.colliders[pair.b].radius)
    keep_nearest(middle, separation, same * radius, manifold)
    return manifold.points


@njit
def same_depth(manifold):
    """SAME_AT_REST where two corners of a patch bore force in the step before, by the features that `recall_loaded` wrote;
    else SAME."""
    corners = 0
    for k in range(POINTS):
        corners += manifold.feature[k] != NO_FEATURE and manifold.feature[k] != WITNESS_FEATURE
    return SAME_AT_REST if corners > 1 else SAME


@njit
def call_distance(pair, margin, collision):
    """(status, separation (m)) of `distance`, called through its pointer; normal and points stay in `scratch`.

    The search starts from `pair.axis`, where it leaves the direction found.
    """
    scratch = collision.scratch
    for k in range(3):
        store(scratch, k, pair.axis[k])
    number = pair.a * collision.colliders.shape[0] + pair.b
    measure = collision.functions[DISTANCE]
    status = call_pointer(measure, own_address(collision), number, margin, scratch, scratch)
    store3(pair.axis, load_point(scratch, NORMAL))
    pair.witness = DIRECTION
    return status, load(scratch, SEPARATION)


@njit
def flat_patch(pair, n, margin, widen, collision):
    """Begin a manifold of normal n with the patch that flat parts of both colliders share along it, if they have any; see
    `clip_faces`."""
    scratch, manifold = collision.scratch, collision.manifold[0]
    start(n, manifold)
    count_a = supporting_face(collision.colliders[pair.a], collision.places[pair.a], n, AT_A, collision)
    if count_a > 0:
        back = (-n[0], -n[1], -n[2])
        count_b = supporting_face(collision.colliders[pair.b], collision.places[pair.b], back, AT_B, collision)
        if count_b > 0:
            radius = side_radius(collision.colliders[pair.a]) + side_radius(collision.colliders[pair.b])
            clip_faces(Polygon(count_a, AT_A), Polygon(count_b, AT_B), n, margin, widen, radius, 0, scratch, manifold)


@inlined
def side_radius(collider):
    """The radius of curvature (m) across the side of a capsule, cylinder or cone (there half of the largest); else 0."""
    kind = collider.kind
    if kind == CONE:
        return 0.5 * collider["size"][0]
    return collider["size"][0] if kind == CAPSULE or kind == CYLINDER else 0.0  # noqa: SIM109 - compiled


@njit
def keep_nearest(position, separation, tolerance, manifold):
    """Make sure that the nearest points are in the manifold: in place of the point beside them, where there are four."""
    nearest, least, square = 0, math.inf, math.inf
    for i in range(manifold.points):
        least = min(least, manifold.separation[i])
        k = 3 * i
        d = (
            manifold.position[k] - position[0], manifold.position[k + 1] - position[1],
            manifold.position[k + 2] - position[2],
        )  # fmt: skip
        if dot(d, d) < square:
            nearest, square = i, dot(d, d)
    if least <= separation + tolerance:
        return
    if manifold.points < POINTS:
        add_point(position, separation, WITNESS_FEATURE, manifold)
        return
    for k in range(3):
        manifold.position[3 * nearest + k] = position[k]
    manifold.separation[nearest] = separation
    manifold.feature[nearest] = WITNESS_FEATURE
