"""Pairs, one particle against a run of others, each pair once; and all pairs.

A run does one of two tasks: PULL adds forces, BEND the blocks of a diagonal (see `diagonal`). Sums go to the places of the
particles, in the order that the method chose, and from there to the particles when all pairs have been seen.
"""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from .laws import ask, bend_of, slope_of
from .tables import COINCIDENT, CUSTOM, LENNARD_JONES, ONE, OTHER, POWER, REPULSION

PULL, BEND = 0, 1
TILE = 1024  # particles of which all others see a run before the next: as many as the nearest cache holds


@njit
def gather(law, x, tables):
    """Copy places and weights in the order of `order`, and clear the sums."""
    members, weights, order, points, sums = (
        tables.members, tables.weights, tables.order, tables.points, tables.sums
    )  # fmt: skip
    for place in range(law.last - law.first):
        member = law.first + order[place]
        at = 3 * members[member]
        for k in range(3):
            points[4 * place + k] = x[at + k]
        points[4 * place + 3] = weights[member]
    for k in range(6 * (law.last - law.first)):
        sums[k] = 0.0


@njit
def over_all(task, t, law, x, v, tables):
    """All pairs of the members of a law. Returns (energy, status)."""
    order = tables.order
    n = law.last - law.first
    for place in range(n):
        order[place] = place
    gather(law, x, tables)
    energy = 0.0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        for i in range(last):
            more, status = run(task, t, law, i, max(i + 1, first), last, v, tables)
            if status != 0:
                return energy, status
            energy += more
    return energy, 0


@inlined
def run(task, t, law, i, first, last, v, tables):
    """Do a task for the particle at place i and each of those at first ... last − 1. Returns (energy, status)."""
    if task == BEND:
        return 0.0, bend_run(t, law, i, first, last, tables)
    return pull_run(t, law, i, first, last, v, tables)


@inlined
def pull_run(t, law, i, first, last, v, tables):
    points, sums = tables.points, tables.sums
    x, y, z, weight = peek(points, 4 * i), peek(points, 4 * i + 1), peek(points, 4 * i + 2), peek(points, 4 * i + 3)
    reach2 = law.cutoff * law.cutoff
    damped = law.damping > 0.0
    fx, fy, fz, energy = 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        dx, dy, dz = peek(points, 4 * j) - x, peek(points, 4 * j + 1) - y, peek(points, 4 * j + 2) - z
        r2 = dx * dx + dy * dy + dz * dz
        if r2 >= reach2:
            continue
        both = weight * peek(points, 4 * j + 3)
        if r2 == 0.0:
            w, status = at_one_place(t, law, i, j, both, tables)
            slope = 0.0
        else:
            w, slope, status = slope_of(t, law, r2, both, tables)
            if damped:
                slope += damper(law, i, j, dx, dy, dz, r2, both, v, tables)
        if status != 0:
            return energy, status
        energy += w
        fx, fy, fz = fx + slope * dx, fy + slope * dy, fz + slope * dz
        poke(sums, 3 * j, peek(sums, 3 * j) - slope * dx)
        poke(sums, 3 * j + 1, peek(sums, 3 * j + 1) - slope * dy)
        poke(sums, 3 * j + 2, peek(sums, 3 * j + 2) - slope * dz)
    poke(sums, 3 * i, peek(sums, 3 * i) + fx)
    poke(sums, 3 * i + 1, peek(sums, 3 * i + 1) + fy)
    poke(sums, 3 * i + 2, peek(sums, 3 * i + 2) + fz)
    return energy, 0


@njit
def at_one_place(t, law, i, j, both, tables):
    """(energy, status) where r = 0: no force, as its direction is not defined, if the law has a limit there."""
    if law.kind == CUSTOM:
        energy, slope, status = ask(t, law, 0.0, tables)
        if status != 0:
            return 0.0, status
        singular = not (math.isfinite(energy) and math.isfinite(slope))
    elif law.kind == REPULSION:
        energy, singular = 0.5 * law.strength * law.diameter * law.diameter, False
    else:
        singular = law.kind == LENNARD_JONES or law.softening == 0.0
        energy = 0.0 if singular else law.strength / law.softening
    if singular:
        tables.trouble[ONE] = tables.members[law.first + tables.order[i]]
        tables.trouble[OTHER] = tables.members[law.first + tables.order[j]]
        return 0.0, COINCIDENT
    return both * energy, 0


# The damper adds −c u (u · v) to the force on j, v its velocity relative to i, as if W'/r were larger by c (d · v)/r². Its
# power is −c (u · v)².
@njit
def damper(law, i, j, dx, dy, dz, r2, both, v, tables):
    a, b = 3 * tables.members[law.first + tables.order[i]], 3 * tables.members[law.first + tables.order[j]]
    closing = dx * (v[b] - v[a]) + dy * (v[b + 1] - v[a + 1]) + dz * (v[b + 2] - v[a + 2])
    slope = law.damping * both * closing / r2
    tables.scratch[POWER] -= slope * closing
    return slope


@njit
def bend_run(t, law, i, first, last, tables):
    points, sums = tables.points, tables.sums
    reach2 = law.cutoff * law.cutoff
    for j in range(first, last):
        dx, dy, dz = (
            points[4 * j] - points[4 * i],
            points[4 * j + 1] - points[4 * i + 1],
            points[4 * j + 2] - points[4 * i + 2],
        )
        r2 = dx * dx + dy * dy + dz * dz
        if r2 >= reach2:
            continue
        both = points[4 * i + 3] * points[4 * j + 3]
        if r2 == 0.0:
            _, status = at_one_place(t, law, i, j, both, tables)
            if status != 0:
                return status
        a, b, status = projected(t, law, r2, both, tables)
        if status != 0:
            return status
        add_block(a, b, dx, dy, dz, r2, i, sums)
        add_block(a, b, dx, dy, dz, r2, j, sums)
    return 0


# W'' u uᵀ + (W'/r)(I − u uᵀ) has the eigenvalues W'' and W'/r (twice); its positive semidefinite part has them without those
# below zero. Where r = 0 u may be any direction, and the larger of the two bounds the block whatever u is.
@njit
def projected(t, law, r2, both, tables):
    """(eigenvalue along u, eigenvalue across, status) of the positive semidefinite part of a pair's block."""
    if r2 == 0.0 and law.kind == CUSTOM:
        return 0.0, 0.0, 0  # W'/r is not to be had there
    slope, bend, status = bend_of(t, law, r2, both, tables)
    along, across = max(bend, 0.0), max(slope, 0.0)
    if r2 == 0.0:
        across = max(along, across)
    return along, across, status


@njit
def add_block(along, across, dx, dy, dz, r2, place, sums):
    """Add across I + (along − across) u uᵀ to the block of a place."""
    outer = (along - across) / r2 if r2 > 0.0 else 0.0
    at = 6 * place
    sums[at] += across + outer * dx * dx
    sums[at + 1] += across + outer * dy * dy
    sums[at + 2] += across + outer * dz * dz
    sums[at + 3] += outer * dx * dy
    sums[at + 4] += outer * dx * dz
    sums[at + 5] += outer * dy * dz
