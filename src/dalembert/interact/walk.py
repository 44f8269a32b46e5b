"""The walk through the tree: blocks of particles that are near each other go through it together.

A node acts as one on a block if its side is less than θ times the distance from its centre to the box about the block; a leaf
that does not is taken particle by particle; any other node is opened (J. Barnes & P. Hut, Nature 324, 1986; for blocks, J.
Barnes, J. Comput. Phys. 87, 1990). Pairs within a block are taken once each, as `pairs` does.

What a node does to a particle is not quite what the particle does to what is in the node, so that the total force is not
zero: at θ = 0.5 it is about 1e-5 of the sum of the sizes of the forces, in a Plummer sphere of 1e4 bodies.
"""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import load3
from .laws import inverse_distance
from .pairs import BEND, add_block, projected, run
from .tables import BLOCK, BLOCK_ROWS
from .tree import grow

# Rows of the block: places, then the potential φ of all nodes but the block's own, and its gradient. They are BLOCK numbers
# apart, by which the compiler sees that they do not overlap, and takes several particles at a time.
X, Y, Z, PHI, GX, GY, GZ = (BLOCK * k for k in range(BLOCK_ROWS))


@njit
def over_tree(task, t, law, x, v, tables):
    """The members of a law, by the tree. Returns (energy, status)."""
    count = grow(law, x, tables)
    nodes = tables.nodes
    energy = 0.0
    i = 0
    while i < count:
        node = nodes[i]
        if node.leaf == 0 and node.last - node.first > BLOCK:
            i += 1
            continue
        for k in range(node.first, node.last):
            more, status = run(task, t, law, k, k + 1, node.last, v, tables)
            if status != 0:
                return energy, status
            energy += more
        for first in range(node.first, node.last, BLOCK):
            last = min(first + BLOCK, node.last)
            if task == BEND:
                bend_block(t, law, i, first, last, count, tables)
            else:
                energy += pull_block(law, i, first, last, count, tables)
        i = node.skip
    return energy, 0


@njit
def pull_block(law, own, first, last, count, tables):
    """Add the forces of all nodes but `own` on the particles at first ... last − 1; returns half of their energy."""
    nodes, points, sums, block = tables.nodes, tables.points, tables.sums, tables.block
    n = last - first
    for k in range(n):
        block[X + k], block[Y + k], block[Z + k] = (
            points[4 * (first + k)], points[4 * (first + k) + 1], points[4 * (first + k) + 2]
        )  # fmt: skip
        block[PHI + k] = block[GX + k] = block[GY + k] = block[GZ + k] = 0.0
    low, high = box_of(first, last, points)
    softening2 = law.softening * law.softening
    i = 0
    while i < count:
        node = nodes[i]
        if i == own:
            i = node.skip
        elif acts_as_one(node, first, last, low, high, law.theta):
            far(node, softening2, n, block)
            i = node.skip
        elif node.leaf == 1:
            for k in range(node.first, node.last):
                near(points, k, softening2, n, block)
            i = node.skip
        else:
            i += 1
    energy = 0.0
    for k in range(n):
        scale = law.strength * points[4 * (first + k) + 3]
        energy += 0.5 * scale * block[PHI + k]
        at = 3 * (first + k)
        sums[at] -= scale * block[GX + k]
        sums[at + 1] -= scale * block[GY + k]
        sums[at + 2] -= scale * block[GZ + k]
    return energy


@njit
def box_of(first, last, points):
    """(lower corner, upper corner) of the particles at first ... last − 1."""
    lx, ly, lz = points[4 * first], points[4 * first + 1], points[4 * first + 2]
    hx, hy, hz = lx, ly, lz
    for k in range(first + 1, last):
        x, y, z = points[4 * k], points[4 * k + 1], points[4 * k + 2]
        lx, ly, lz = min(lx, x), min(ly, y), min(lz, z)
        hx, hy, hz = max(hx, x), max(hy, y), max(hz, z)
    return (lx, ly, lz), (hx, hy, hz)


@inlined
def acts_as_one(node, first, last, low, high, theta):
    if node.first <= first and last <= node.last:
        return False
    c = load3(node.centre)
    dx = max(low[0] - c[0], c[0] - high[0], 0.0)
    dy = max(low[1] - c[1], c[1] - high[1], 0.0)
    dz = max(low[2] - c[2], c[2] - high[2], 0.0)
    return node.side * node.side < theta * theta * (dx * dx + dy * dy + dz * dz)


@inlined
def near(points, source, softening2, n, block):
    """Add φ and ∇φ of one particle to each of the block."""
    x, y, z, weight = (
        peek(points, 4 * source), peek(points, 4 * source + 1), peek(points, 4 * source + 2), peek(points, 4 * source + 3)
    )  # fmt: skip
    for k in range(n):
        dx, dy, dz = peek(block, X + k) - x, peek(block, Y + k) - y, peek(block, Z + k) - z
        energy, slope, _ = inverse_distance(softening2, dx * dx + dy * dy + dz * dz, weight)
        poke(block, PHI + k, peek(block, PHI + k) + energy)
        poke(block, GX + k, peek(block, GX + k) + slope * dx)
        poke(block, GY + k, peek(block, GY + k) + slope * dy)
        poke(block, GZ + k, peek(block, GZ + k) + slope * dz)


# With d from the centre, ρ² = d² + ε², and M, D, Q the sums of w, w y and w y yᵀ, the expansion of Σ w/|d − y| in y is
#   φ = M/ρ + D·d/ρ³ + ½ (3 d·Q d/ρ⁵ − tr Q/ρ³),
#   ∇φ = (−M/ρ³ − 3 D·d/ρ⁵ − 15/2 d·Q d/ρ⁷ + 3/2 tr Q/ρ⁵) d + D/ρ³ + 3 Q d/ρ⁵.
@inlined
def far(node, softening2, n, block):
    """Add φ and ∇φ of what is in a node to each of the block."""
    cx, cy, cz = load3(node.centre)
    mass = node.positive + node.negative
    ax, ay, az = load3(node.dipole)
    xx, yy, zz, xy, xz, yz = (
        node.quadrupole[0], node.quadrupole[1], node.quadrupole[2], node.quadrupole[3], node.quadrupole[4],
        node.quadrupole[5],
    )  # fmt: skip
    half_trace = 0.5 * (xx + yy + zz)
    for k in range(n):
        dx, dy, dz = peek(block, X + k) - cx, peek(block, Y + k) - cy, peek(block, Z + k) - cz
        i2 = 1.0 / (dx * dx + dy * dy + dz * dz + softening2)
        i1 = math.sqrt(i2)
        i3 = i1 * i2
        qx, qy, qz = xx * dx + xy * dy + xz * dz, xy * dx + yy * dy + yz * dz, xz * dx + yz * dy + zz * dz
        dipole = (ax * dx + ay * dy + az * dz) * i2
        quadrupole = 1.5 * (qx * dx + qy * dy + qz * dz) * i2 * i2
        trace = half_trace * i2
        three = 3.0 * i2
        poke(block, PHI + k, peek(block, PHI + k) + i1 * (mass + dipole + quadrupole - trace))
        radial = -(mass + 3.0 * dipole + 5.0 * quadrupole - 3.0 * trace)
        poke(block, GX + k, peek(block, GX + k) + i3 * (radial * dx + ax + three * qx))
        poke(block, GY + k, peek(block, GY + k) + i3 * (radial * dy + ay + three * qy))
        poke(block, GZ + k, peek(block, GZ + k) + i3 * (radial * dz + az + three * qz))


@njit
def bend_block(t, law, own, first, last, count, tables):
    """Add the positive semidefinite parts of the blocks of all nodes but `own`; a node far off acts as two particles at its
    centre, of the weights above and below zero.
    """
    nodes, points = tables.nodes, tables.points
    low, high = box_of(first, last, points)
    i = 0
    while i < count:
        node = nodes[i]
        if i == own:
            i = node.skip
        elif acts_as_one(node, first, last, low, high, law.theta):
            bend(t, law, load3(node.centre), node.positive, first, last, tables)
            bend(t, law, load3(node.centre), node.negative, first, last, tables)
            i = node.skip
        elif node.leaf == 1:
            for k in range(node.first, node.last):
                x = (points[4 * k], points[4 * k + 1], points[4 * k + 2])
                bend(t, law, x, points[4 * k + 3], first, last, tables)
            i = node.skip
        else:
            i += 1


@njit
def bend(t, law, x, weight, first, last, tables):
    points, sums = tables.points, tables.sums
    for k in range(first, last):
        dx, dy, dz = points[4 * k] - x[0], points[4 * k + 1] - x[1], points[4 * k + 2] - x[2]
        r2 = dx * dx + dy * dy + dz * dz
        along, across, _ = projected(t, law, r2, weight * points[4 * k + 3], tables)
        add_block(along, across, dx, dy, dz, r2, k, sums)
