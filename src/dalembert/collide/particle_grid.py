"""The broad phase of particles: the colliders whose boxes a particle's way passes.

A few colliders are looked at one by one. Of many, those whose boxes are not much larger than the mean are dealt into the
cells of a uniform grid, so that a particle looks at those in the cells that its way passes; the others are looked at
one by one. A collider in several of these cells is taken in the one where the later of the two boxes begins.
"""

import math

from ..jit import inlined, njit
from .particle_tables import CELLS_X, CELLS_Y, CELLS_Z, CHUNK, LOWER, MOST_CELLS, PER_METRE, UPPER, WIDE
from .tables import HALF_SPACE

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
    """Deal the colliders into cells, in order: first how many each has, then where they go."""
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
    """Fill `candidates` with the colliders whose boxes meet that of the way of the j-th particle of `chunk`, in order;
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
        found = look_in_grid(low, high, found, particles, collision)
    return found


@njit
def look_in_grid(low, high, found, particles, collision):
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
