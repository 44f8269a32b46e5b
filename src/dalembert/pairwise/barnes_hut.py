"""The tree of Barnes and Hut: an octree over the particles of a law, with the moments of each cell.

Particles are sorted by the path from the root to their cell on the last level, three bits a level (G. Morton 1966). The
particles of a cell are then contiguous, and the keys alone define the tree. A cell with one child is left out, so that
each node has two children at least, and n particles have fewer than 2 n nodes wherever they are. Particles that the
last level does not separate form one leaf.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import load3
from ..core.simd import load, store
from .cells import BLOCKS, add_block, add_pairs_of_run, bounds_of, gather, project_block
from .laws import BLOCK, BLOCK_ROWS, LEAF, inverse_distance

LEVELS = 21
CELLS = 2.0**LEVELS  # of the last level, along an axis
DIGIT_BITS, DIGITS = 8, 8  # of the sort
DIGIT = 1 << DIGIT_BITS


@njit
def build_tree(law, x, tables):
    """Fill `order`, `points` and `nodes`; returns the number of nodes."""
    n = law.last - law.first
    if n == 0:
        return 0
    find_keys(law, x, tables)
    sort_keys(n, tables)
    gather(law, x, tables)
    count = split(n, tables)
    nodes, points = tables.nodes, tables.points
    for i in range(count - 1, -1, -1):
        node = nodes[i]
        after = i + 1
        while after < count and nodes[after].first < node.last:
            after = nodes[after].skip
        node.skip = after
        find_moments(node, points)
    return count


# Keys are in keys[0 : n], their members in keys[n : 2 n]; the other half is workspace of the sort.
@njit
def find_keys(law, x, tables):
    """Fill `keys` with the Morton key of each member of the law, in the cube about all of them."""
    members, keys = tables.members, tables.keys
    n = law.last - law.first
    x_low, x_high = bounds_of(law, 0, x, tables)
    y_low, y_high = bounds_of(law, 1, x, tables)
    z_low, z_high = bounds_of(law, 2, x, tables)
    size = max(x_high - x_low, y_high - y_low, z_high - z_low)
    for k in range(n):
        at = 3 * members[law.first + k]
        a, b, c = cell_of(x[at] - x_low, size), cell_of(x[at + 1] - y_low, size), cell_of(x[at + 2] - z_low, size)
        keys[k] = spread(a) | spread(b) << 1 | spread(c) << 2
        keys[n + k] = k


@njit
def cell_of(distance, size):
    """The cell on the last level of what is so far from the lower end of the cube."""
    share = distance / size if size > 0.0 else 0.0
    return int(share * CELLS) if share < 1.0 else int(CELLS) - 1


@njit
def spread(cell):
    """The bits of a 21-bit number with two zeros between each two of them."""
    cell = (cell | cell << 32) & 0x1F00000000FFFF
    cell = (cell | cell << 16) & 0x1F0000FF0000FF
    cell = (cell | cell << 8) & 0x100F00F00F00F00F
    cell = (cell | cell << 4) & 0x10C30C30C30C30C3
    return (cell | cell << 2) & 0x1249249249249249


@njit
def sort_keys(n, tables):
    """Sort keys with their members digit by digit, the lowest first, into `order`; equal keys keep their order."""
    keys, order, counts = tables.keys, tables.order, tables.ints
    source, target = 0, 2 * n
    for digit in range(DIGITS):
        shift = digit * DIGIT_BITS
        for d in range(DIGIT):
            counts[d] = 0
        for k in range(source, source + n):
            counts[(keys[k] >> shift) & (DIGIT - 1)] += 1
        start = 0
        for d in range(DIGIT):
            number = counts[d]
            counts[d] = start
            start += number
        for k in range(source, source + n):
            d = (keys[k] >> shift) & (DIGIT - 1)
            to = target + counts[d]
            counts[d] += 1
            keys[to] = keys[k]
            keys[to + n] = keys[k + n]
        source, target = target, source
    for k in range(n):
        order[k] = keys[n + k]


@njit
def split(n, tables):
    """Make the nodes over sorted keys, each before its children; returns their number."""
    keys, nodes, pending = tables.keys, tables.nodes, tables.ints
    pending[0], pending[1] = 0, n
    left, count = 1, 0
    while left > 0:
        left -= 1
        first, last = pending[2 * left], pending[2 * left + 1]
        node = nodes[count]
        count += 1
        node.first, node.last = first, last
        differ = keys[first] ^ keys[last - 1]
        node.leaf = 1 if last - first <= LEAF or differ == 0 else 0
        if node.leaf == 1:
            continue
        shift = 0
        while differ >> (shift + 3) != 0:
            shift += 3
        while last > first:  # the last child first, so that the first child is the next node
            begin = child_start(keys, first, last, shift)
            pending[2 * left], pending[2 * left + 1] = begin, last
            left += 1
            last = begin
    return count


@njit
def child_start(keys, first, last, shift):
    """The first of the particles before `last` whose key is that of last − 1 but for its lowest `shift` bits, by halving."""
    wanted = keys[last - 1] >> shift
    last -= 1
    while first < last:
        middle = (first + last) >> 1
        if keys[middle] >> shift == wanted:
            last = middle
        else:
            first = middle + 1
    return first


# The centre is that of the sizes of the weights, which for weights of one sign makes the dipole vanish. Quadrupole: Σ w y yᵀ
# with y from the centre, as it is: with a softening the potential is not harmonic, and its trace matters.
@njit
def find_moments(node, points):
    """Fill the moments of a node from its particles: box, weights, centre, dipole and quadrupole about that."""
    positive, negative = 0.0, 0.0
    sx, sy, sz = 0.0, 0.0, 0.0
    x_low, y_low, z_low = points[4 * node.first], points[4 * node.first + 1], points[4 * node.first + 2]
    x_high, y_high, z_high = x_low, y_low, z_low
    for k in range(node.first, node.last):
        x, y, z, weight = points[4 * k], points[4 * k + 1], points[4 * k + 2], points[4 * k + 3]
        x_low, y_low, z_low = min(x_low, x), min(y_low, y), min(z_low, z)
        x_high, y_high, z_high = max(x_high, x), max(y_high, y), max(z_high, z)
        positive, negative = positive + max(weight, 0.0), negative + min(weight, 0.0)
        w = abs(weight)
        sx, sy, sz = sx + w * x, sy + w * y, sz + w * z
    total = positive - negative
    if total > 0.0:
        sx, sy, sz = sx / total, sy / total, sz / total
    else:
        sx, sy, sz = x_low, y_low, z_low
    node.positive, node.negative = positive, negative
    node.side = max(x_high - x_low, y_high - y_low, z_high - z_low)
    node.centre[0], node.centre[1], node.centre[2] = sx, sy, sz
    dx, dy, dz = 0.0, 0.0, 0.0
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(node.first, node.last):
        x, y, z, w = points[4 * k] - sx, points[4 * k + 1] - sy, points[4 * k + 2] - sz, points[4 * k + 3]
        dx, dy, dz = dx + w * x, dy + w * y, dz + w * z
        xx, yy, zz = xx + w * x * x, yy + w * y * y, zz + w * z * z
        xy, xz, yz = xy + w * x * y, xz + w * x * z, yz + w * y * z
    node.dipole[0], node.dipole[1], node.dipole[2] = dx, dy, dz
    quadrupole = node.quadrupole
    quadrupole[0], quadrupole[1], quadrupole[2] = xx, yy, zz
    quadrupole[3], quadrupole[4], quadrupole[5] = xy, xz, yz


# The walk through the tree --------------------------------------------------------------------------------------------
# Blocks of particles that are near each other walk through the tree together.
#
# A node acts as one on a block if its side is less than θ times the distance from its centre to the box about the
# block; a leaf that does not is taken particle by particle; any other node is opened (J. Barnes & P. Hut, Nature 324,
# 1986; for blocks, J. Barnes, J. Comput. Phys. 87, 1990). Pairs within a block are taken once each, as by
# `cells.add_pairs_of_run`.
#
# What a node does to a particle is not quite what the particle does to what is in the node, so that the total force is
# not zero: at θ = 0.5 it is about 1e-5 of the sum of the sizes of the forces, in a Plummer sphere of 1e4 bodies.

# Rows of the block: positions, then the potential φ of all nodes but the block's own, and its gradient. They are BLOCK
# numbers apart, so that the compiler knows they do not overlap, and vectorizes.
X, Y, Z, PHI, GX, GY, GZ = (BLOCK * k for k in range(BLOCK_ROWS))


@njit
def sum_by_tree(task, t, law, x, v, tables):
    """The members of a law, by the tree. Returns (energy, status)."""
    count = build_tree(law, x, tables)
    nodes = tables.nodes
    energy = 0.0
    i = 0
    while i < count:
        node = nodes[i]
        if node.leaf == 0 and node.last - node.first > BLOCK:
            i += 1
            continue
        for k in range(node.first, node.last):
            more, status = add_pairs_of_run(task, t, law, k, k + 1, node.last, v, tables)
            if status != 0:
                return energy, status
            energy += more
        for first in range(node.first, node.last, BLOCK):
            last = min(first + BLOCK, node.last)
            if task == BLOCKS:
                add_blocks_of_tree(t, law, i, first, last, count, tables)
            else:
                energy += add_forces_of_tree(law, i, first, last, count, tables)
        i = node.skip
    return energy, 0


@njit
def add_forces_of_tree(law, own, first, last, count, tables):
    """Add the forces of all nodes but `own` on the particles at first ... last − 1; returns half of their energy."""
    nodes, points, sums, block = tables.nodes, tables.points, tables.sums, tables.block
    n = last - first
    for k in range(n):
        at = 4 * (first + k)
        block[X + k], block[Y + k], block[Z + k] = points[at], points[at + 1], points[at + 2]
        block[PHI + k] = block[GX + k] = block[GY + k] = block[GZ + k] = 0.0
    low, high = box_of(first, last, points)
    softening2 = law.softening * law.softening
    i = 0
    while i < count:
        node = nodes[i]
        if i == own:
            i = node.skip
        elif is_far_node(node, first, last, low, high, law.theta):
            add_node_field(node, softening2, n, block)
            i = node.skip
        elif node.leaf == 1:
            for k in range(node.first, node.last):
                add_particle_field(points, k, softening2, n, block)
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
def is_far_node(node, first, last, low, high, theta):
    """Whether a node acts as one on the particles first ... last − 1 in the box from `low` to `high`."""
    if node.first <= first and last <= node.last:
        return False
    c = load3(node.centre)
    dx = max(low[0] - c[0], c[0] - high[0], 0.0)
    dy = max(low[1] - c[1], c[1] - high[1], 0.0)
    dz = max(low[2] - c[2], c[2] - high[2], 0.0)
    return node.side * node.side < theta * theta * (dx * dx + dy * dy + dz * dz)


@inlined
def add_particle_field(points, source, softening2, n, block):
    """Add φ and ∇φ of one particle to each of the block."""
    x, y, z, weight = (
        load(points, 4 * source), load(points, 4 * source + 1), load(points, 4 * source + 2), load(points, 4 * source + 3)
    )  # fmt: skip
    for k in range(n):
        dx, dy, dz = load(block, X + k) - x, load(block, Y + k) - y, load(block, Z + k) - z
        energy, slope, _ = inverse_distance(softening2, dx * dx + dy * dy + dz * dz, weight)
        store(block, PHI + k, load(block, PHI + k) + energy)
        store(block, GX + k, load(block, GX + k) + slope * dx)
        store(block, GY + k, load(block, GY + k) + slope * dy)
        store(block, GZ + k, load(block, GZ + k) + slope * dz)


# With d from the centre, ρ² = d² + ε², and M, D, Q the sums of w, w y and w y yᵀ, the expansion of Σ w/|d − y| in y is
#   φ = M/ρ + D·d/ρ³ + ½ (3 d·Q d/ρ⁵ − tr Q/ρ³),
#   ∇φ = (−M/ρ³ − 3 D·d/ρ⁵ − 15/2 d·Q d/ρ⁷ + 3/2 tr Q/ρ⁵) d + D/ρ³ + 3 Q d/ρ⁵.
@inlined
def add_node_field(node, softening2, n, block):
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
        dx, dy, dz = load(block, X + k) - cx, load(block, Y + k) - cy, load(block, Z + k) - cz
        i2 = 1.0 / (dx * dx + dy * dy + dz * dz + softening2)
        i1 = math.sqrt(i2)
        i3 = i1 * i2
        qx, qy, qz = xx * dx + xy * dy + xz * dz, xy * dx + yy * dy + yz * dz, xz * dx + yz * dy + zz * dz
        dipole = (ax * dx + ay * dy + az * dz) * i2
        quadrupole = 1.5 * (qx * dx + qy * dy + qz * dz) * i2 * i2
        trace = half_trace * i2
        three = 3.0 * i2
        store(block, PHI + k, load(block, PHI + k) + i1 * (mass + dipole + quadrupole - trace))
        radial = -(mass + 3.0 * dipole + 5.0 * quadrupole - 3.0 * trace)
        store(block, GX + k, load(block, GX + k) + i3 * (radial * dx + ax + three * qx))
        store(block, GY + k, load(block, GY + k) + i3 * (radial * dy + ay + three * qy))
        store(block, GZ + k, load(block, GZ + k) + i3 * (radial * dz + az + three * qz))


@njit
def add_blocks_of_tree(t, law, own, first, last, count, tables):
    """Add the positive semidefinite parts of the blocks of all nodes but `own`; a far node acts as two particles at its
    centre, of the weights above and below zero.
    """
    nodes, points = tables.nodes, tables.points
    low, high = box_of(first, last, points)
    i = 0
    while i < count:
        node = nodes[i]
        if i == own:
            i = node.skip
        elif is_far_node(node, first, last, low, high, law.theta):
            add_blocks_of_source(t, law, load3(node.centre), node.positive, first, last, tables)
            add_blocks_of_source(t, law, load3(node.centre), node.negative, first, last, tables)
            i = node.skip
        elif node.leaf == 1:
            for k in range(node.first, node.last):
                x = (points[4 * k], points[4 * k + 1], points[4 * k + 2])
                add_blocks_of_source(t, law, x, points[4 * k + 3], first, last, tables)
            i = node.skip
        else:
            i += 1


@njit
def add_blocks_of_source(t, law, x, weight, first, last, tables):
    """Add the positive semidefinite blocks of one source at x to `sums` of the particles first ... last − 1."""
    points, sums = tables.points, tables.sums
    for k in range(first, last):
        dx, dy, dz = points[4 * k] - x[0], points[4 * k + 1] - x[1], points[4 * k + 2] - x[2]
        r2 = dx * dx + dy * dy + dz * dz
        along, across, _ = project_block(t, law, r2, weight * points[4 * k + 3], tables)
        add_block(along, across, (dx, dy, dz), r2, k, sums)
