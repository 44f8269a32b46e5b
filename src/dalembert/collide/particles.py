"""Contact between particles and colliders: tables, broad phase, and continuous detection.

A particle is a ball: its centre, its radius, and one of a few materials. The rules of contact are those of bodies, looked
up by material and collider. In order: tables; a test of many particles at once; the colliders near one particle;
`meet_particles`, the entry; the functions for Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import inlined, njit
from ..core.kernel import array, kernel
from ..core.math3 import add, add_scaled, dot, load3, matvec, matvec_t, norm, scale, store3, sub
from ..core.simd import load, store
from ..core.tables import allocate, column, grow, handed
from ..scene.contact import Material
from ..scene.shapes.base import HALF_SPACE, MESH
from .broad_phase import nine
from .detect import combine
from .point import NOTHING, approach, approach_facet, first_node, is_passed
from .tables import NEED_ROOM, Collision

# A particle near a collider. `separation` (m): of its ball from the plane that touches the collider at `position` (world)
# with the unit normal `normal`, from the body out to the particle; negative where they overlap. `facet`: of a mesh; else
# zero. `impulse`: N s on the particle, world axes, zero at first.
PARTICLE_CONTACT = np.dtype(
    [("particle", "i8"), ("collider", "i8"), ("body", "i8"), ("facet", "i8"), ("normal", "f8", 3), ("position", "f8", 3),
     ("separation", "f8"), ("friction", "f8"), ("restitution", "f8"), ("impulse", "f8", 3)],
    align=True,
)  # fmt: skip
# What happens where a material meets a collider; `touches` is zero where they pass through each other.
RULE = np.dtype([("touches", "i8"), ("friction", "f8"), ("restitution", "f8")], align=True)

# Entries of `counts`: contacts; how many there should be room for, where there was not enough; colliders that are tested
# one by one; cells of the grid along each axis.
CONTACTS, NEED_CONTACTS, WIDE, CELLS_X, CELLS_Y, CELLS_Z, COUNTS = range(7)
# Entries of `grid`, m: its lower and upper corner; cells in a metre along each axis.
LOWER, UPPER, PER_METRE, GRID = 0, 3, 6, 9
CHUNK = 128  # particles
CHUNK_ROWS = 7
MOST_CELLS = 4  # of the grid, for each collider
MOST_ENTRIES = 27  # cells that a collider of the grid may cover


class Particles(NamedTuple):
    """The tables of contact between particles and colliders."""

    radius: Any = column("n", unit="m", writer="make_particles")
    material: Any = column("n", np.int64, writer="make_particles")
    rules: Any = column(
        "materials * colliders", RULE, unit="friction 1, restitution 1", writer="make_particles",
        doc="row by row of a material: one for each collider",
    )  # fmt: skip
    contacts: Any = column(
        "contacts", PARTICLE_CONTACT, used="counts[CONTACTS]", writer="collide.particles", doc="by particle, then collider",
        unit="normal 1, position m, separation m, friction 1, restitution 1, impulse N s",
    )  # fmt: skip
    counts: Any = column("COUNTS", np.int64, writer="collide.particles", doc="see CONTACTS and those that follow")
    chunk: Any = column("CHUNK_ROWS * CHUNK", unit="m", writer="measure_chunk", doc="see HIGH and GAP")
    wide: Any = column("colliders", np.int64, writer="list_colliders", doc="those that are tested one by one")
    grid: Any = column("GRID", unit="m, 1/m", writer="list_colliders")
    cells: Any = column(
        "2 * (MOST_CELLS * colliders + 1)",
        np.int64,
        writer="list_colliders",
        doc="first entry of each cell, and then one more; behind them, where the next entry goes",
    )
    entries: Any = column(
        "MOST_ENTRIES * colliders", np.int64, writer="list_colliders", doc="the colliders of each cell"
    )
    candidates: Any = column("colliders", np.int64, writer="find_candidates", doc="near one particle")


# Many particles at once -----------------------------------------------------------------------------------------------
# Which particles are near any collider at all: a chunk at a time, without branches, so that the compiler vectorizes the
# loops. Most particles are far from everything.
#
# `chunk` holds the lower and upper corners of the boxes about the paths of these particles, coordinate by coordinate, and
# last the gap of each box to the nearest box of a collider, by the axis on which they are furthest apart.

HIGH = 3 * CHUNK
GAP = 6 * CHUNK


class Motion(NamedTuple):
    """The motion of all particles in one step."""

    x: Any  # (3 n,) m
    v: Any  # (3 n,) m/s
    h: Any  # s


@njit
def measure_chunk(first, count, motion, half_margin, particles, collision):
    """Fill `chunk` for `count` particles from `first` on; `list_colliders` must have been called."""
    grid, chunk, wide = particles.grid, particles.chunk, particles.wide
    colliders, places = collision.colliders, collision.places
    store_boxes(first, count, motion.x, motion.v, motion.h, half_margin, particles.radius, chunk)
    for w in range(particles.counts[WIDE]):
        place = places[wide[w]]
        if colliders[wide[w]].kind == HALF_SPACE:
            n = (place.rotation[2], place.rotation[5], place.rotation[8])
            level = n[0] * place.x[0] + n[1] * place.x[1] + n[2] * place.x[2] + place.reach
            gap_to_plane(count, n[0], n[1], n[2], level, chunk)
        else:
            gap_to_box(count, place.lower[0], place.lower[1], place.lower[2],
                       place.upper[0], place.upper[1], place.upper[2], chunk)  # fmt: skip
    if particles.counts[CELLS_X] > 0:
        gap_to_box(count, grid[LOWER], grid[LOWER + 1], grid[LOWER + 2],
                   grid[UPPER], grid[UPPER + 1], grid[UPPER + 2], chunk)  # fmt: skip


@njit
def store_boxes(first, count, x, v, h, half_margin, radius, chunk):
    """Write the boxes about the paths of the particles, grown by radius and half the margin, and infinite gaps."""
    for j in range(count):
        near = load(radius, first + j) + half_margin
        for k in range(3):
            at = 3 * (first + j) + k
            p, path = load(x, at), h * load(v, at)
            store(chunk, k * CHUNK + j, p + min(path, 0.0) - near)
            store(chunk, HIGH + k * CHUNK + j, p + max(path, 0.0) + near)
        store(chunk, GAP + j, math.inf)


@njit
def gap_to_box(count, lower_x, lower_y, lower_z, upper_x, upper_y, upper_z, chunk):
    """Reduce the gaps to those of a box."""
    for j in range(count):
        gap_x = max(load(chunk, j) - upper_x, lower_x - load(chunk, HIGH + j))
        gap_y = max(load(chunk, CHUNK + j) - upper_y, lower_y - load(chunk, HIGH + CHUNK + j))
        gap_z = max(load(chunk, 2 * CHUNK + j) - upper_z, lower_z - load(chunk, HIGH + 2 * CHUNK + j))
        store(chunk, GAP + j, min(load(chunk, GAP + j), max(max(gap_x, gap_y), gap_z)))


@njit
def gap_to_plane(count, x, y, z, level, chunk):
    """Reduce the gaps to those of the half-space of normal (x, y, z), by the corner of each box that is lowest along it."""
    at_x, at_y, at_z = 0 if x > 0.0 else HIGH, CHUNK + (0 if y > 0.0 else HIGH), 2 * CHUNK + (0 if z > 0.0 else HIGH)
    for j in range(count):
        height = x * load(chunk, at_x + j) + y * load(chunk, at_y + j) + z * load(chunk, at_z + j)
        store(chunk, GAP + j, min(load(chunk, GAP + j), height - level))


# The colliders near one particle --------------------------------------------------------------------------------------
# The broad phase of particles: the colliders whose boxes overlap that of a particle's path.
#
# A few colliders are tested one by one. Of many, those whose boxes are not much larger than the mean are entered into the
# cells of a uniform grid, so that a particle is tested against those in the cells that its path crosses; the others are
# tested one by one. A collider in several of these cells is reported in the one where the later of the two boxes begins.

FEW = 48  # colliders that need no grid
CELL = 1.5  # width of a cell, in mean sizes of the colliders
LARGE = 2.0  # widths of a cell that a collider in the grid may be large: it covers three cells along each axis
WIDER = 1.26  # doubles the volume of a cell


@njit
def side(place):
    """The largest side of a box."""
    return max(place.upper[0] - place.lower[0], place.upper[1] - place.lower[1], place.upper[2] - place.lower[2])


@njit
def touches_any(number, particles, collision):
    """Whether particles of some material meet a collider."""
    rules, count = particles.rules, collision.colliders.shape[0]
    for k in range(rules.shape[0] // max(count, 1)):
        if rules[k * count + number].touches != 0:
            return True
    return False


@njit
def list_colliders(particles, collision):
    """Fill `wide`, and the grid with the others; to be called once the colliders have been placed."""
    counts, colliders, places = particles.counts, collision.colliders, collision.places
    wide = particles.wide
    touching, bounded, total = 0, 0, 0.0
    for i in range(colliders.shape[0]):
        if touches_any(i, particles, collision):
            touching += 1
            if colliders[i].kind != HALF_SPACE:
                bounded += 1
                total += side(places[i])
    most = LARGE * CELL * total / bounded if touching > FEW and bounded > 0 else -1.0
    counts[WIDE] = 0
    for i in range(colliders.shape[0]):
        if touches_any(i, particles, collision) and not side(places[i]) <= most:
            wide[counts[WIDE]] = i
            counts[WIDE] += 1
    counts[CELLS_X], counts[CELLS_Y], counts[CELLS_Z] = 0, 0, 0
    if most >= 0.0:
        lay_grid(most, particles, collision)
        fill_grid(most, particles, collision)


@njit
def lay_grid(most, particles, collision):
    """Choose cells over the boxes of no side longer than `most` (m)."""
    counts, grid, places = particles.counts, particles.grid, collision.places
    for k in range(3):
        grid[LOWER + k], grid[UPPER + k] = 1e300, -1e300
    for i in range(places.shape[0]):
        if side(places[i]) <= most and touches_any(i, particles, collision):
            for k in range(3):
                grid[LOWER + k] = min(grid[LOWER + k], places[i].lower[k])
                grid[UPPER + k] = max(grid[UPPER + k], places[i].upper[k])
    width = max(most / LARGE, 1e-300)
    while True:
        cells = 1.0
        for k in range(3):
            cells *= 1.0 + math.floor((grid[UPPER + k] - grid[LOWER + k]) / width)
        if cells <= MOST_CELLS * places.shape[0]:
            break
        width *= WIDER
    for k in range(3):
        counts[CELLS_X + k] = 1 + int((grid[UPPER + k] - grid[LOWER + k]) / width)
        grid[PER_METRE + k] = 1.0 / width


@inlined
def cell_of(k, at, counts, grid):
    """Number of the cell along axis k in which a coordinate lies; of the first or last for what lies outside."""
    cell = (at - grid[LOWER + k]) * grid[PER_METRE + k]
    return int(min(max(cell, 0.0), counts[CELLS_X + k] - 1.0))


@njit
def fill_grid(most, particles, collision):
    """Enter the colliders into cells, in order: count first, then store (a counting sort)."""
    counts, grid, places = particles.counts, particles.grid, collision.places
    cells, entries = particles.cells, particles.entries
    number = counts[CELLS_X] * counts[CELLS_Y] * counts[CELLS_Z]
    cursor = number + 1
    for c in range(number + 1):
        cells[c] = 0
    for counting in range(2):
        for i in range(places.shape[0]):
            place = places[i]
            if not (side(place) <= most and touches_any(i, particles, collision)):
                continue
            for a in range(cell_of(0, place.lower[0], counts, grid), cell_of(0, place.upper[0], counts, grid) + 1):
                for b in range(cell_of(1, place.lower[1], counts, grid), cell_of(1, place.upper[1], counts, grid) + 1):
                    for c in range(
                        cell_of(2, place.lower[2], counts, grid), cell_of(2, place.upper[2], counts, grid) + 1
                    ):
                        cell = (a * counts[CELLS_Y] + b) * counts[CELLS_Z] + c
                        if counting == 0:
                            cells[cell + 1] += 1
                        else:
                            entries[cells[cursor + cell]] = i
                            cells[cursor + cell] += 1
        if counting == 0:
            for c in range(number):
                cells[c + 1] += cells[c]
                cells[cursor + c] = cells[c]


@inlined
def boxes_meet(place, low, high):
    """Whether the box of a place overlaps that from low to high."""
    return (
        low[0] <= place.upper[0] and high[0] >= place.lower[0]
        and low[1] <= place.upper[1] and high[1] >= place.lower[1]
        and low[2] <= place.upper[2] and high[2] >= place.lower[2]
    )  # fmt: skip


@inlined
def is_below(place, low, high):
    """Whether a box reaches below the surface of a half-space, or nearly."""
    n = (place.rotation[2], place.rotation[5], place.rotation[8])
    lowest = n[0] * ((low[0] if n[0] > 0.0 else high[0]) - place.x[0])
    lowest += n[1] * ((low[1] if n[1] > 0.0 else high[1]) - place.x[1])
    lowest += n[2] * ((low[2] if n[2] > 0.0 else high[2]) - place.x[2])
    return lowest <= place.reach


@inlined
def find_candidates(j, particles, collision):
    """Fill `candidates` with the colliders whose boxes meet that of the path of the j-th particle of `chunk`, in order;
    returns their number."""
    chunk = particles.chunk
    low = (chunk[j], chunk[CHUNK + j], chunk[2 * CHUNK + j])
    high = (chunk[3 * CHUNK + j], chunk[4 * CHUNK + j], chunk[5 * CHUNK + j])
    colliders, places = collision.colliders, collision.places
    wide, candidates = particles.wide, particles.candidates
    found = 0
    for w in range(particles.counts[WIDE]):
        i = wide[w]
        if colliders[i].kind == HALF_SPACE:
            near = is_below(places[i], low, high)
        else:
            near = boxes_meet(places[i], low, high)
        if near:
            candidates[found] = i
            found += 1
    if particles.counts[CELLS_X] > 0:
        found = search_grid(low, high, found, particles, collision)
    return found


@njit
def search_grid(low, high, found, particles, collision):
    """Add the colliders of the grid to so many candidates, and sort them; returns their number."""
    counts, grid, places = particles.counts, particles.grid, collision.places
    cells, entries, candidates = particles.cells, particles.entries, particles.candidates
    for k in range(3):
        if not (low[k] <= grid[UPPER + k] and high[k] >= grid[LOWER + k]):
            return found
    for a in range(cell_of(0, low[0], counts, grid), cell_of(0, high[0], counts, grid) + 1):
        for b in range(cell_of(1, low[1], counts, grid), cell_of(1, high[1], counts, grid) + 1):
            for c in range(cell_of(2, low[2], counts, grid), cell_of(2, high[2], counts, grid) + 1):
                cell = (a * counts[CELLS_Y] + b) * counts[CELLS_Z] + c
                for e in range(cells[cell], cells[cell + 1]):
                    place = places[entries[e]]
                    if (
                        boxes_meet(place, low, high)
                        and cell_of(0, max(low[0], place.lower[0]), counts, grid) == a
                        and cell_of(1, max(low[1], place.lower[1]), counts, grid) == b
                        and cell_of(2, max(low[2], place.lower[2]), counts, grid) == c
                    ):
                        found = insert(entries[e], found, candidates)
    return found


@njit
def insert(item, count, sorted_items):
    """Put an item among so many in order; returns their number."""
    at = count
    while at > 0 and sorted_items[at - 1] > item:
        sorted_items[at] = sorted_items[at - 1]
        at -= 1
    sorted_items[at] = item
    return count + 1


# Contacts -------------------------------------------------------------------------------------------------------------
# One pass over all particles, in order.
#
# A particle meets what is nearer than the margin, and what its ball touches on its path of this step, so that it passes
# through nothing, however fast (continuous collision detection). The contact is with the tangent plane of the collider where
# the two meet: a particle on the outer side of that plane is outside of a convex collider.

SAME = 1e-9  # of a mesh's size: planes that differ by less are one


class Path(NamedTuple):
    """The path of a particle in one step, in the frame of a collider."""

    p: Any  # its start, m
    path: Any  # how far it goes, m
    near: Any  # m, the collider is met at once within this
    grown: Any  # m, the radius of the ball on its path
    last: Any  # share of the path at which the search ends


class Touch(NamedTuple):
    """A particle and a collider, with the facet of a mesh, else zero; by number."""

    particle: Any
    collider: Any
    facet: Any


@njit
def meet_particles(x, v, h, margin, particles, collision):
    """Fill `contacts` of particles at x (3 n) m, with velocities v (3 n) m/s, for a step of h seconds.

    A contact is written where a particle's surface is nearer to a collider than half the margin (m) and the collider's
    own reach, or will be within the collider's motion in this step; one for each collider, and one for each facet of a mesh
    that is near, or else for the first on its path. `places` must have been filled, with half the margin.

    Returns 0, or NEED_ROOM where there are more contacts than room: `counts` says how many.
    """
    counts, number = particles.counts, particles.radius.shape[0]
    list_colliders(particles, collision)
    motion, found = Motion(x, v, h), 0
    for first in range(0, number, CHUNK):
        count = min(CHUNK, number - first)
        measure_chunk(first, count, motion, 0.5 * margin, particles, collision)
        for j in range(count):
            if particles.chunk[GAP + j] <= 0.0:
                found = meet_all(first + j, j, motion, margin, found, particles, collision)
    counts[CONTACTS] = min(found, particles.contacts.shape[0])
    counts[NEED_CONTACTS] = found
    return 0 if counts[CONTACTS] == found else NEED_ROOM


@kernel
def meet(x: array(), v: array(), h: float, margin: float, particles: Particles, collision: Collision) -> int:
    """`meet_particles`, for Python."""
    return meet_particles(x, v, h, margin, particles, collision)


@njit
def meet_all(i, j, motion, margin, found, particles, collision):
    """Add the contacts of particle i, the j-th of `chunk`; returns how many contacts there are, with or without room."""
    x, v, h = motion
    colliders, places, rules = collision.colliders, collision.places, particles.rules
    candidates = find_candidates(j, particles, collision)
    first_rule = particles.material[i] * colliders.shape[0]
    k = 3 * i
    p, path = (x[k], x[k + 1], x[k + 2]), (h * v[k], h * v[k + 1], h * v[k + 2])
    near = particles.radius[i] + 0.5 * margin
    length = norm(path)
    for k in range(candidates):
        number = particles.candidates[k]
        if rules[first_rule + number].touches == 0:
            continue
        collider, place = colliders[number], places[number]
        axes = nine(place.rotation)
        here, way = matvec_t(axes, sub(p, load3(place.x))), matvec_t(axes, path)
        within, grown = near + place.reach, particles.radius[i] + place.moves
        # The path ends where the ball, grown by what it is short of `within`, would.
        last = 1.0 + (within - grown) / length if length > 0.0 else 0.0
        if collider.kind == MESH:
            found = meet_mesh(i, number, Path(here, way, within, grown, last), found, particles, collision)
        else:
            contact = approach(here, way, within, grown, last, collider, collision)
            if contact[0] <= last:
                found = add_contact(Touch(i, number, 0), here, way, contact, found, particles, collision)
    return found


@njit
def meet_mesh(i, number, way, found, particles, collision):
    """Add the facets that particle i is near, and the first on its path (`Path` in the frame of the mesh); returns the number
    of contacts."""
    p, path, near, grown, last = way
    nodes, size = collision.nodes, collision.colliders[number].radius
    first, hit, hit_facet = found, NOTHING, 0
    k, end = first_node(number, collision)
    while k < end:
        node = nodes[k]
        if not is_passed(node, p, path, near, last):
            k = node.skip
            continue
        k += 1
        if node.facet < 0:
            continue
        facet = collision.facets[node.facet]
        contact = approach_facet(p, path, near, grown, min(last, hit[0]), facet, size, collision)
        if contact[0] == 0.0:
            touch = Touch(i, number, node.facet)
            found = add_plane(touch, p, path, contact, first, found, particles, collision)
        elif contact[0] < hit[0]:
            hit, hit_facet = contact, node.facet
    if hit[0] <= last:
        found = add_plane(Touch(i, number, hit_facet), p, path, hit, first, found, particles, collision)
    return found


@njit
def add_plane(touch, p, path, contact, first, found, particles, collision):
    """Add a contact with a mesh unless one of the same plane is among those from `first` on."""
    contacts, size = particles.contacts, collision.colliders[touch.collider].radius
    n = matvec(nine(collision.places[touch.collider].rotation), contact[2])
    separation = contact[1] - particles.radius[touch.particle]
    for c in range(first, min(found, contacts.shape[0])):
        if (
            abs(contacts[c].separation - separation) <= SAME * size
            and norm(sub(load3(contacts[c].normal), n)) <= SAME
        ):  # fmt: skip
            return found
    return add_contact(touch, p, path, contact, found, particles, collision)


@njit
def add_contact(touch, p, path, contact, found, particles, collision):
    """Write what `approach` returned, in the frame of the collider, as the next contact, if there is room."""
    if found >= particles.contacts.shape[0]:
        return found + 1
    i, number, facet = touch
    share, distance, n = contact
    collider, place = collision.colliders[number], collision.places[number]
    rule = particles.rules[particles.material[i] * collision.colliders.shape[0] + number]
    axes = nine(place.rotation)
    foot = add_scaled(add_scaled(p, share, path), -(distance + share * dot(n, path)), n)
    row = particles.contacts[found]
    row.particle, row.collider, row.body, row.facet = i, number, collider.body, facet
    store3(row.normal, matvec(axes, n))
    store3(row.position, add(load3(place.x), matvec(axes, foot)))
    row.separation = distance - particles.radius[i]
    row.friction, row.restitution = rule.friction, rule.restitution
    store3(row.impulse, scale(0.0, n))
    return found + 1


# For Python -----------------------------------------------------------------------------------------------------------


def make_particles(
    collision: Collision,
    radius: ArrayLike,
    materials: Sequence[Material],
    material: ArrayLike = 0,
    excluded: Iterable[tuple[int, int]] = (),
    rules: Iterable[tuple[int, int, float, float]] = (),
) -> Particles:
    """The tables of particles that meet the colliders of a `Collision`.

    radius : (n,) m, ≥ 0. A particle needs one to rest on a mesh, which does not bear what is behind its surface.
    materials : those of the particles; material : (n,) or one, the number of each particle's.
    excluded : (material, collider) that pass through each other.
    rules : (material, collider, friction, restitution), where these are not what the materials make.
    """
    radii = np.array(radius, np.float64).reshape(-1)
    colliders = len(collision.colliders)
    table = np.zeros((len(materials), colliders), RULE)
    for row, one in zip(table, materials, strict=True):
        for rule, collider in zip(row, collision.colliders, strict=True):
            rule["touches"], (rule["friction"], rule["restitution"]) = 1, combine(one, collider)
    for k, i, friction, restitution in rules:
        table[k, i]["friction"], table[k, i]["restitution"] = friction, restitution
    for k, i in excluded:
        table[k, i]["touches"] = 0
    return allocate(
        Particles, {"colliders": colliders, "contacts": 64 + len(radii)}, radius=radii,
        material=np.full(len(radii), material, np.int64), rules=table.reshape(-1).view(np.recarray),
    )  # fmt: skip


def with_contacts(particles: Particles, room: int) -> Particles:
    """The same with room for so many contacts."""
    return grow(particles, contacts=room)


def detect_particles(
    particles: Particles, collision: Collision, x: np.ndarray, v: np.ndarray, h: float, margin: float
) -> Particles:
    """Fill `contacts` as `meet_particles` does; returns the tables, with more room where it was needed.

    x, v : (3 n,) m and m/s. The colliders' `places` must have been filled.
    """
    tables = handed(collision)
    while True:
        if meet(x, v, h, margin, particles, tables) != NEED_ROOM:
            return particles
        particles = with_contacts(particles, int(1.5 * particles.counts[NEED_CONTACTS]))
