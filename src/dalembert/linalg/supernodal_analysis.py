"""The plan of a sparse factorization over the nodes of a graph: order, supernodes, where blocks are stored.

A node is a group of scalar unknowns: the six velocities of a body, or all joint speeds of a tree. An edge joins two nodes
whose block of the matrix is not zero. `analyse` orders the nodes by minimum degree, joins columns of like structure into
*supernodes* and lays out the dense *front* of each, of p pivots and u further rows:

    ⎡ A₁₁ A₁₂ ⎤   upper: p rows of [A₁₁ A₁₂], at `upper`       p' = p rounded up to a multiple of 4, u' likewise
    ⎣ A₂₁  C  ⎦   lower: p rows of [A₁₁ᵀ A₂₁ᵀ], at `lower`     columns 0 … p − 1 are pivots, p' … p' + u − 1 the rest

Rows are p' + u' apart. Of each row, `upper` holds the columns from its own node on, and `lower` those of later nodes: what
is left of them is never read. C, the part of the elimination that goes to the parent, is stored alike: u rows of C, u' apart,
then as many of Cᵀ, in workspace that supernodes share. It begins where that of the parent ends. I. Duff, J. Reid, "The
multifrontal solution of unsymmetric sets of linear equations", SIAM J. Sci. Stat. Comput. 5 (1984); C. Ashcraft, R. Grimes,
"The influence of relaxed supernode partitions on the multifrontal method", ACM TOMS 15 (1989).

`supernodal` has the numbers. All tables are flat; `analyse` says what lengths it needs, and allocates nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.tables import allocate, column, part
from .minimum_degree import Elimination, bit, clear_rows, eliminate, lowest_bit, set_neighbour

# Statuses of `analyse`: the plan is new; it is that of the last call, which is still valid; tables are too short.
ANALYSED, SAME, NEED_MORE = range(3)

# What was analysed (nodes: −1: nothing), the lengths of tables that it needs, and the inertia of the last factorization.
PLAN = np.dtype(
    [("nodes", "i8"), ("edges", "i8"), ("scalars", "i8"), ("supernodes", "i8"), ("sets", "i8"), ("nodes_needed", "i8"),
     ("edges_needed", "i8"), ("scalars_needed", "i8"), ("rows_needed", "i8"), ("values_needed", "i8"),
     ("work_needed", "i8"), ("negative", "i8")],
    align=True,
)  # fmt: skip
# Set, p, u, p', distance of rows, first pivot among all scalars in order, offsets in `values` and `work`, the parent (−1:
# none), whether this is the first child that is eliminated, and whether it has none; the nodes below the pivots, and the runs
# of their scalars in the vector; its own nodes in the final order.
SUPERNODE = np.dtype(
    [("set", "i8"), ("pivots", "i8"), ("rest", "i8"), ("shift", "i8"), ("stride", "i8"), ("x", "i8"), ("upper", "i8"),
     ("lower", "i8"), ("trail", "i8"), ("parent", "i8"), ("is_first", "i8"), ("is_leaf", "i8"), ("first_row", "i8"),
     ("last_row", "i8"), ("first_run", "i8"), ("last_run", "i8"), ("first_node", "i8"), ("last_node", "i8")],
    align=True,
)  # fmt: skip
# `count` consecutive scalars: index in the rest of a front, and in the vector.
RUN = np.dtype([("at", "i8"), ("to", "i8"), ("count", "i8")], align=True)
# A node in the rest of a front: its scalars, their index there and in the parent's front; how many scalars from there on are
# consecutive in the parent's front as well, and the row that follows them.
ROW = np.dtype(
    [("node", "i8"), ("count", "i8"), ("at", "i8"), ("to", "i8"), ("reach", "i8"), ("next", "i8")], align=True
)
# Where entry (r, c) of a block is in `values`: at + r row + c column. at < 0: nowhere, as a node is not in the graph.
SLOT = np.dtype([("at", "i8"), ("row", "i8"), ("column", "i8")], align=True)
# A set of the elimination that becomes a supernode or a part of one: scalars, tree, list of nodes, index as a supernode.
SET = np.dtype(
    [("pivots", "i8"), ("rest", "i8"), ("count", "i8"), ("leader", "i8"), ("parent", "i8"), ("child", "i8"),
     ("sibling", "i8"), ("head", "i8"), ("tail", "i8"), ("edge", "i8"), ("number", "i8")],
    align=True,
)  # fmt: skip
MERGED = -2  # as a parent: the set is a part of another


class Supernodal(NamedTuple):
    """A sparse matrix, its factors and its plan. `supernodal_tables` makes one of any lengths, `grown` a longer one."""

    plan: Any = column("1", PLAN)
    sizes: Any = column("nodes", np.int64, doc="scalars of each node, as analysed")
    ends: Any = column("2 * edges", np.int64, doc="the two nodes of each edge, as analysed")
    elimination: Any = part(Elimination)
    sets: Any = column("nodes", SET)
    owner: Any = column("nodes", np.int64, doc="set of each node")
    rank: Any = column("nodes", np.int64, doc="place of each node: in the elimination, then in the final order")
    in_order: Any = column("nodes", np.int64, doc="nodes in the final order")
    following: Any = column("nodes", np.int64, doc="the next node of the same supernode; −1: none")
    start: Any = column("nodes", np.int64, doc="first scalar of each node in the final order")
    offset: Any = column("nodes", np.int64, doc="first scalar of each node in the caller's vectors")
    where: Any = column("nodes", np.int64, doc="first column of a node in the front at hand")
    next_edge: Any = column("edges", np.int64, doc="the next edge of the same supernode; −1: none")
    scratch: Any = column("nodes // 64 + 1", np.int64, doc="bits of nodes in the final order, all zero between uses")
    supernodes: Any = column("nodes", SUPERNODE, used="plan[0].supernodes", doc="children before parents")
    rows: Any = column("rows", ROW, doc="nodes below the pivots of each supernode, in the final order")
    runs: Any = column("rows", RUN, doc="from the rest of a front to the vector")
    diagonal: Any = column("nodes", SLOT, doc="where the block of each node with itself is")
    slots: Any = column("2 * edges", SLOT, doc="2 e: where block (a, b) of edge e is, 2 e + 1: block (b, a)")
    values: Any = column("values", doc="upper and lower panels of all supernodes: the matrix, then its factors")
    work: Any = column("work", doc="C and Cᵀ of the supernodes on one path to the root")
    inverse: Any = column("scalars", doc="1 / pivot, in the final order")
    scale: Any = column("scalars", doc="size of the diagonal of the matrix, in the final order")
    vector: Any = column("scalars + 8", doc="a right-hand side in the final order")
    gathered: Any = column("scalars + 64", doc="the part of a vector in the rest of a front; or the factors of a block")


def supernodal_tables(
    nodes: int, edges: int = 0, scalars: int = 0, rows: int = 0, values: int = 0, work: int = 0
) -> Supernodal:
    """Tables of these lengths (see `Supernodal`), without a plan: `grown` makes them longer."""
    lengths = {"nodes": nodes, "edges": edges, "scalars": scalars, "rows": rows, "values": values, "work": work}
    made = allocate(Supernodal, lengths, elimination=allocate(Elimination, lengths))
    made.plan[0].nodes = -1
    return made


def grown(s: Supernodal) -> Supernodal:
    """Tables that are as long as the last `analyse` asked for, and a half more where they were too short."""
    plan = s.plan[0]
    had = (s.sizes, s.next_edge, s.scale, s.rows, s.values, s.work)
    needed = (
        plan.nodes_needed, plan.edges_needed, plan.scalars_needed, plan.rows_needed, plan.values_needed, plan.work_needed,
    )  # fmt: skip
    return supernodal_tables(*(len(a) if n <= len(a) else int(n) * 3 // 2 for a, n in zip(had, needed, strict=True)))


# Analysis ---------------------------------------------------------------------------------------------------------------


@njit
def analyse(s, nodes, sizes, edges, ends):
    """Plan the factorization of a matrix with `nodes` nodes of these sizes, and `edges` edges between ends[2 e] and
    ends[2 e + 1]. The same edge may occur twice; one to a node below 0, or from `nodes` on, is left out.

    Returns SAME where nodes, sizes and edges are those of the last plan; NEED_MORE where tables are too short: grow them to
    what `plan` says is needed, and call again; else ANALYSED.
    """
    plan = s.plan[0]
    if is_same(s, nodes, sizes, edges, ends):
        return SAME
    plan.nodes = -1
    plan.nodes_needed, plan.edges_needed = nodes, edges
    if nodes > s.sizes.shape[0] or edges > s.next_edge.shape[0]:
        return NEED_MORE
    scalars = 0
    for i in range(nodes):
        s.sizes[i] = sizes[i]
        s.offset[i] = scalars
        scalars += sizes[i]
    for k in range(2 * edges):
        s.ends[k] = ends[k]
    plan.edges, plan.scalars = edges, scalars
    order_nodes(s, nodes, edges, scalars)
    set_out(s, nodes)
    plan.scalars_needed = scalars
    if (
        scalars > s.scale.shape[0]
        or plan.rows_needed > s.rows.shape[0]
        or plan.values_needed > s.values.shape[0]
        or plan.work_needed > s.work.shape[0]
    ):
        return NEED_MORE
    list_edges(s, nodes, edges)
    list_rows(s, nodes)
    for k in range(plan.supernodes):
        locate(s, k)
    plan.nodes = nodes
    return ANALYSED


@njit
def is_same(s, nodes, sizes, edges, ends):
    """Whether the plan is of this graph."""
    if nodes != s.plan[0].nodes or edges != s.plan[0].edges:
        return False
    for i in range(nodes):
        if sizes[i] != s.sizes[i]:
            return False
    for k in range(2 * edges):  # noqa: SIM110 - compiled
        if ends[k] != s.ends[k]:
            return False
    return True


@njit
def joins(a, b, nodes):
    """Whether an edge joins two different nodes of the graph."""
    return a != b and a >= 0 and b >= 0 and a < nodes and b < nodes


DENSE = 36  # scalars of a matrix that is one supernode, without a search for an order


@njit
def order_nodes(s, nodes, edges, scalars):
    """Eliminate the nodes, then measure the sets and join them."""
    e = s.elimination
    if scalars <= DENSE:
        e.first[0], e.first[1] = 0, nodes
        for i in range(nodes):
            e.order[i] = i
            e.low[i] = e.high[i] = 0
        s.plan[0].sets = min(nodes, 1)
    else:
        words = (nodes + 63) // 64
        clear_rows(e, nodes)
        for k in range(edges):
            a, b = s.ends[2 * k], s.ends[2 * k + 1]
            if joins(a, b, nodes):
                set_neighbour(e, words, a, b)
                set_neighbour(e, words, b, a)
        s.plan[0].sets = eliminate(e, nodes)
    measure(s, nodes)
    join_sets(s)


@njit
def measure(s, nodes):
    """Fill `sets` with what each has, and its parent: the set of the first of its rows to be eliminated."""
    e, words = s.elimination, (nodes + 63) // 64
    for k in range(s.plan[0].sets):
        own = s.sets[k]
        own.leader = e.order[e.first[k]]
        own.child = own.edge = own.head = own.tail = -1
        own.pivots = 0
        for at in range(e.first[k], e.first[k + 1]):
            node = e.order[at]
            s.owner[node] = k
            s.rank[node] = at
            s.following[node] = own.head
            own.head = node
            if own.tail < 0:
                own.tail = node
            own.pivots += s.sizes[node]
    for k in range(s.plan[0].sets):
        own = s.sets[k]
        rest, count, earliest = 0, 0, nodes
        for w in range(e.low[own.leader], e.high[own.leader]):
            left = e.bits[own.leader * words + w]
            while left != 0:
                i = lowest_bit(left)
                left ^= bit(i)
                rest += s.sizes[64 * w + i]
                count += 1
                earliest = min(earliest, s.rank[64 * w + i])
        own.rest, own.count = rest, count
        own.parent = s.owner[e.order[earliest]] if earliest < nodes else -1


# Time of a front with p pivots and u rows below them, in the time of a multiplication and addition of a large product:
#   TIME_OF_FRONT + TIME_OF_PIVOT p + TIME_OF_ENTRY (p + u)² + p³/3 + p² u + p u²
TIME_OF_FRONT, TIME_OF_PIVOT, TIME_OF_ENTRY = 2000.0, 60.0, 3.0


@njit
def time_of_front(p, u):
    """The time to assemble and eliminate a front; see above."""
    entries = TIME_OF_ENTRY * (p + u) * (p + u)
    return TIME_OF_FRONT + TIME_OF_PIVOT * p + entries + p * (p * p / 3.0 + p * u + u * u)


@njit
def join_sets(s):
    """Join each set with those of its children with which it takes less time than without; fills the tree of the rest."""
    for k in range(s.plan[0].sets):
        own = s.sets[k]
        c = own.child
        own.child = -1
        while c >= 0:
            child = s.sets[c]
            sibling = child.sibling
            alone = time_of_front(float(child.pivots), float(child.rest)) + time_of_front(
                float(own.pivots), float(own.rest)
            )
            if time_of_front(float(child.pivots + own.pivots), float(own.rest)) <= alone:
                own.pivots += child.pivots
                s.following[child.tail] = own.head
                own.head = child.head
                child.parent = MERGED
                g = child.child
                while g >= 0:
                    grandchild = s.sets[g]
                    after = grandchild.sibling
                    grandchild.parent, grandchild.sibling = k, own.child
                    own.child = g
                    g = after
            else:
                child.sibling = own.child
                own.child = c
            c = sibling
        own.sibling = -1
        if own.parent >= 0:
            parent = s.sets[own.parent]
            own.sibling = parent.child
            parent.child = k


# Layout -----------------------------------------------------------------------------------------------------------------


@njit
def set_out(s, nodes):
    """Number the supernodes, each after its children, and with them the nodes; find the lengths that are needed."""
    number, placed, x = 0, 0, 0
    for root in range(s.plan[0].sets):
        if s.sets[root].parent != -1:
            continue
        k = deepest(s, root)
        while True:
            own, front = s.sets[k], s.supernodes[number]
            own.number = number
            front.first_node = placed
            front.pivots, front.rest, front.x = own.pivots, own.rest, x
            front.set = k
            number += 1
            node = own.head
            while node >= 0:
                s.owner[node] = k
                s.in_order[placed] = node
                s.rank[node] = placed
                s.start[node] = x
                placed += 1
                x += s.sizes[node]
                node = s.following[node]
            front.last_node = placed
            if k == root:
                break
            k = deepest(s, own.sibling) if own.sibling >= 0 else own.parent
    s.plan[0].supernodes = number
    measure_fronts(s)


@njit
def deepest(s, k):
    """The first leaf below a set."""
    while s.sets[k].child >= 0:
        k = s.sets[k].child
    return k


@njit
def measure_fronts(s):
    """Where each front is: panels one after another, C after that of the parent."""
    plan = s.plan[0]
    values, rows = 0, 0
    for k in range(plan.supernodes):
        front = s.supernodes[k]
        own = s.sets[front.set]
        front.shift = (front.pivots + 3) // 4 * 4
        front.stride = front.shift + (front.rest + 3) // 4 * 4
        front.upper = values
        front.lower = values + front.pivots * front.stride
        values += 2 * front.pivots * front.stride
        front.parent = s.sets[own.parent].number if own.parent >= 0 else -1
        front.is_first, front.is_leaf = 0, own.child < 0
        front.first_row, front.last_row = rows, rows + own.count
        rows += own.count
    work = 0
    for k in range(plan.supernodes - 1, -1, -1):
        front = s.supernodes[k]
        if front.parent >= 0:
            parent = s.supernodes[front.parent]
            front.trail = parent.trail + 2 * parent.rest * (parent.stride - parent.shift)
        else:
            front.trail = 0
        work = max(work, front.trail + 2 * front.rest * (front.stride - front.shift))
    for k in range(plan.supernodes - 1, -1, -1):  # the first child in order is the last to be seen
        front = s.supernodes[k]
        own = s.sets[front.set]
        if own.child >= 0:
            s.supernodes[first_of_children(s, own.child)].is_first = 1
    plan.rows_needed, plan.values_needed, plan.work_needed = rows, values + 8, work + 8


@njit
def first_of_children(s, c):
    """The supernode that is eliminated first of a set and its siblings."""
    first = s.sets[c].number
    while c >= 0:
        first = min(first, s.sets[c].number)
        c = s.sets[c].sibling
    return first


# Where blocks are -------------------------------------------------------------------------------------------------------


@njit
def list_edges(s, nodes, edges):
    """List the edges of each set: those whose first node in order is in it."""
    for e in range(edges):
        a, b = s.ends[2 * e], s.ends[2 * e + 1]
        if joins(a, b, nodes):
            own = s.sets[s.owner[a if s.rank[a] < s.rank[b] else b]]
            s.next_edge[e] = own.edge
            own.edge = e
        else:
            s.slots[2 * e].at = s.slots[2 * e + 1].at = -1


@njit
def list_rows(s, nodes):
    """Fill `rows` with the nodes below the pivots of each supernode, and `runs`."""
    e, words = s.elimination, (nodes + 63) // 64
    run = 0
    for number in range(s.plan[0].supernodes):
        front = s.supernodes[number]
        own = s.sets[front.set]
        front.first_run = run
        low, high = words, 0
        for w in range(e.low[own.leader], e.high[own.leader]):
            left = e.bits[own.leader * words + w]
            while left != 0:
                i = lowest_bit(left)
                left ^= bit(i)
                rank = s.rank[64 * w + i]
                v = rank >> 6
                s.scratch[v] |= bit(rank & 63)
                low, high = min(low, v), max(high, v + 1)
        row, at, after = front.first_row, 0, -1
        for v in range(low, high):
            left = s.scratch[v]
            s.scratch[v] = 0
            while left != 0:
                i = lowest_bit(left)
                left ^= bit(i)
                node = s.in_order[64 * v + i]
                own_row = s.rows[row]
                own_row.node, own_row.count, own_row.at = node, s.sizes[node], at
                row += 1
                if s.start[node] == after:
                    s.runs[run - 1].count += s.sizes[node]
                else:
                    s.runs[run].at, s.runs[run].to, s.runs[run].count = at, s.start[node], s.sizes[node]
                    run += 1
                at += s.sizes[node]
                after = s.start[node] + s.sizes[node]
        front.last_run = run


@njit
def locate(s, number):
    """Find the columns of a front: for the edges of its pivots, and for the rows of its children."""
    front = s.supernodes[number]
    own = s.sets[front.set]
    node, at = own.head, 0
    while node >= 0:
        s.where[node] = at
        slot = s.diagonal[node]
        slot.at, slot.row, slot.column = front.upper + at * front.stride + at, front.stride, 1
        at += s.sizes[node]
        node = s.following[node]
    at = front.shift
    for row in range(front.first_row, front.last_row):
        s.where[s.rows[row].node] = at
        at += s.rows[row].count
    c = own.child
    while c >= 0:
        list_moves(s, s.supernodes[s.sets[c].number], front.shift)
        c = s.sets[c].sibling
    e = own.edge
    while e >= 0:
        a, b = s.ends[2 * e], s.ends[2 * e + 1]
        place_block(s, front, s.slots[2 * e], a, b)
        place_block(s, front, s.slots[2 * e + 1], b, a)
        e = s.next_edge[e]


@njit
def place_block(s, front, slot, row, column):
    """Where block (row, column) is in a front that has one of the two among its pivots."""
    r, c = s.where[row], s.where[column]
    if r < c:
        slot.at, slot.row, slot.column = front.upper + r * front.stride + c, front.stride, 1
    else:
        slot.at, slot.row, slot.column = front.lower + c * front.stride + r, 1, front.stride


@njit
def list_moves(s, child, shift):
    """Where the rows of a supernode are in its parent's front, whose columns are in `where`; from `shift` on they are not
    pivots, and in other arrays."""
    after, following = -1, child.last_row
    reach = 0
    for k in range(child.last_row - 1, child.first_row - 1, -1):
        row = s.rows[k]
        row.to = s.where[row.node]
        if row.to + row.count == after and after != shift:
            reach += row.count
        else:
            reach, following = row.count, k + 1
        row.reach, row.next = reach, following
        after = row.to
