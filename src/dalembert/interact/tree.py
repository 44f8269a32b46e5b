"""The tree of Barnes and Hut: an octree over the particles of a law, with the moments of what is in each cell.

Particles are sorted by the path from the root to their cell on the last level, three bits a level (G. Morton 1966). What is
in one cell then is one run, and the tree is found from the keys alone. A cell with one child is left out, so that each node
has two children at least, and n particles have fewer than 2 n nodes wherever they are. What the last level does not
tell apart is one leaf.
"""

from ..jit import njit
from .cells import bounds_of
from .pairs import gather
from .tables import LEAF

LEVELS = 21
CELLS = 2.0**LEVELS  # of the last level, along an axis
DIGIT_BITS, DIGITS = 8, 8  # of the sort
DIGIT = 1 << DIGIT_BITS


@njit
def grow(law, x, tables):
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


# The keys are in keys[0 : n], their members in keys[n : 2 n]; the other half is room for sorting.
@njit
def find_keys(law, x, tables):
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
        place = 0
        for d in range(DIGIT):
            held = counts[d]
            counts[d] = place
            place += held
        for k in range(source, source + n):
            d = (keys[k] >> shift) & (DIGIT - 1)
            place = target + counts[d]
            counts[d] += 1
            keys[place] = keys[k]
            keys[place + n] = keys[k + n]
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
    """The first of the places before `last` whose key is that of last − 1 but for its lowest `shift` bits, by halving."""
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
