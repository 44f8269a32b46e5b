"""Pairs of edges of two hulls that define a separating plane.

A hull lies behind the planes through one of its edges whose normals are on the arc between the normals of the two faces
there. A plane along two edges has one hull behind it and the other before it only if the arc of one crosses the arc of the
other, turned about, on the sphere of directions (Gregorius, The separating axis test, GDC 2013). An edge e with face l on
its left and r on its right has l × r along e. For an edge e of one hull, between l and r, and f of the other, between s and
t, the arcs l r and −s −t cross exactly when these have opposite signs: e·s and e·t, f·l and f·r, and e·s and f·r.
"""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, matvec, sub

PARALLEL = 1e-12  # squared sine of the angle of two edges below which the faces beside them tell as much


@inlined
def triple(array, k):
    return (peek(array, k), peek(array, k + 1), peek(array, k + 2))


@inlined
def edge_vector(hull, i, vertices, edges):
    """From tail to head of edge i, in the frame of the hull."""
    row = edges[hull.first_edge + i]
    at = 3 * hull.first_vertex
    return sub(triple(vertices, at + 3 * row.head), triple(vertices, at + 3 * row.tail))


@inlined
def normals_beside(hull, edge, faces):
    """The normals of the faces on the left and on the right of an edge, in the frame of the hull."""
    return load3(faces[hull.first_face + edge.left].normal), load3(faces[hull.first_face + edge.right].normal)


@inlined
def hopeless(left, right, d, floor):
    """Whether no normal on the arc from left to right has a gap above `floor`, given the vector d from the edge to a corner
    of the other hull: the gap is at most n · d, and that, where both ends are negative, at most the larger of them."""
    return max(dot(left, d), dot(right, d)) <= min(floor, 0.0)


@njit
def best_edges(hull_a, hull_b, corner_a, corner_b, r, vertices, faces, edges, floor, scratch):
    """(edge of a, edge of b, gap) of the largest gap above `floor`, or −1 for the edges.

    scratch holds the corners of b in the frame of a; behind them come its face normals there, and the numbers of the edges
    of b that are not `hopeless`.
    """
    normals = 3 * hull_b.vertices
    listed = normals + 3 * hull_b.faces
    for f in range(hull_b.faces):
        n = matvec(r, load3(faces[hull_b.first_face + f].normal))
        for c in range(3):
            poke(scratch, normals + 3 * f + c, n[c])
    at_a = 3 * hull_a.first_vertex
    deep_a, deep_b = triple(vertices, at_a + 3 * corner_a), triple(scratch, 3 * corner_b)
    count = 0
    for j in range(hull_b.edges):
        row = edges[hull_b.first_edge + j]
        d = sub(deep_a, triple(scratch, 3 * row.tail))
        if not hopeless(triple(scratch, normals + 3 * row.left), triple(scratch, normals + 3 * row.right), d, floor):
            poke(scratch, listed + count, j)
            count += 1
    best, partner, gap = -1, -1, floor
    for i in range(hull_a.edges):
        row = edges[hull_a.first_edge + i]
        left, right = normals_beside(hull_a, row, faces)
        tail = triple(vertices, at_a + 3 * row.tail)
        if hopeless(left, right, sub(deep_b, tail), gap):
            continue
        e = sub(triple(vertices, at_a + 3 * row.head), tail)
        j, candidate = best_partner(e, tail, left, right, hull_b, edges, normals, listed, count, gap, scratch)
        if j >= 0:
            best, partner, gap = i, j, candidate
    return best, partner, gap


@inlined
def edge_gap(e, tail, left, right, f, start, s, t):
    """From the plane along edge e of a, through its tail, to that along edge f of b, through its start, given the normals
    beside each; −∞ where their arcs do not cross, or they are parallel."""
    es = dot(e, s)
    if not es * dot(e, t) < 0.0:
        return -math.inf
    fr = dot(f, right)
    if not (es * fr < 0.0 and fr * dot(f, left) < 0.0):
        return -math.inf
    n = cross(e, f)
    square = dot(n, n)
    if not square > PARALLEL * dot(e, e) * dot(f, f):
        return -math.inf
    return math.copysign(1.0, dot(n, add(left, right))) * dot(n, sub(start, tail)) / math.sqrt(square)


@njit
def best_partner(e, tail, left, right, hull_b, edges, normals, listed, count, gap, scratch):
    """(edge of b, gap) of the largest gap above `gap` with one edge of a, or −1."""
    best = -1
    for k in range(count):
        j = int(peek(scratch, listed + k))
        row = edges[hull_b.first_edge + j]
        start = triple(scratch, 3 * row.tail)
        f = sub(triple(scratch, 3 * row.head), start)
        s, t = triple(scratch, normals + 3 * row.left), triple(scratch, normals + 3 * row.right)
        candidate = edge_gap(e, tail, left, right, f, start, s, t)
        if candidate > gap:
            best, gap = j, candidate
    return best, gap
