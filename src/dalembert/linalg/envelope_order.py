"""Reverse Cuthill–McKee order of a graph of bodies, and the envelope of a matrix in that order.

E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969; A. George, J. Liu, *Computer Solution
of Large Sparse Positive Definite Systems*, 1981, ch. 4. Components of the graph (islands) follow one another, so that the
envelope of each starts afresh and the cost of a factorization is the sum over islands.

The nodes to order are those with `degree[i] >= 0` on entry; edges that touch another node are left out. Edges are pairs
of nodes, twice the same edge allowed.
"""

from ..jit import njit


@njit
def adjacency(nodes, edges, count, head, neighbour, degree):
    """Compressed lists of neighbours: those of i are neighbour[head[i] : head[i + 1]]. `degree` is filled for the rest."""
    for i in range(nodes + 1):
        head[i] = 0
    for e in range(count):
        a, b = edges[2 * e], edges[2 * e + 1]
        if connects(nodes, a, b, degree):
            head[a] += 1
            head[b] += 1
    total = 0
    for i in range(nodes):
        number = head[i]
        head[i] = total
        total += number
        if degree[i] >= 0:
            degree[i] = number
    head[nodes] = total
    for e in range(count):
        a, b = edges[2 * e], edges[2 * e + 1]
        if connects(nodes, a, b, degree):
            neighbour[head[a]] = b
            neighbour[head[b]] = a
            head[a] += 1
            head[b] += 1
    for i in range(nodes, 0, -1):
        head[i] = head[i - 1]
    head[0] = 0


@njit
def connects(nodes, a, b, degree):
    return a != b and a >= 0 and b >= 0 and a < nodes and b < nodes and degree[a] >= 0 and degree[b] >= 0


@njit
def breadth_first(root, at, head, neighbour, degree, queue, level, mark):
    """Visit a component by levels, neighbours by rising degree; queue[at:end] is the visit. Returns (end, depth)."""
    queue[at] = root
    level[root] = mark
    end = at + 1
    reader = at
    while reader < end:
        node = queue[reader]
        reader += 1
        first = end
        for k in range(head[node], head[node + 1]):
            other = neighbour[k]
            if level[other] < mark:
                level[other] = level[node] + 1
                place = end
                while place > first and degree[queue[place - 1]] > degree[other]:
                    queue[place] = queue[place - 1]
                    place -= 1
                queue[place] = other
                end += 1
    return end, level[queue[end - 1]] - mark


@njit
def cuthill_mckee(nodes, head, neighbour, degree, queue, level, position):
    """Fill `position` (place of each node in the order, −1 for those left out); returns how many have one."""
    for i in range(nodes):
        level[i] = -1
        position[i] = -1
    placed = 0
    mark = 0
    for seed in range(nodes):
        if degree[seed] < 0 or position[seed] >= 0:
            continue
        root, depth = seed, -1
        for _ in range(4):  # towards an end of the component: the deepest node of least degree, while that gets deeper
            end, reached = breadth_first(root, placed, head, neighbour, degree, queue, level, mark)
            mark += nodes + 1
            if reached <= depth:
                break
            depth = reached
            last = queue[end - 1]
            for k in range(end - 2, placed - 1, -1):
                if level[queue[k]] < level[queue[end - 1]]:
                    break
                if degree[queue[k]] < degree[last]:
                    last = queue[k]
            root = last
        for k in range(placed, end):
            position[queue[k]] = placed + end - 1 - k
        placed = end
    return placed


@njit
def row_starts(nodes, placed, head, neighbour, position, first, start):
    """First column of each block row, and where its 6 scalar rows start; returns the numbers that one triangle takes."""
    for i in range(nodes):
        row = position[i]
        if row >= 0:
            first[row] = row
            for k in range(head[i], head[i + 1]):
                first[row] = min(first[row], position[neighbour[k]])
    total = 0
    for row in range(placed):
        start[row] = total
        total += 36 * (row - first[row] + 1)
    return total
