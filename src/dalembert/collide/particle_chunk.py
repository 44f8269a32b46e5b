"""Which particles are near any collider at all: so many at a time, without branches, so that the compiler takes several
of them in one step. Most particles are far from everything, and cost no more than their numbers take to be read.

In `chunk` stand the lower and upper corners of the boxes about the ways of these particles, coordinate by coordinate, and
last how far each box is from the nearest box of a collider, by the axis on which they are furthest apart.
"""

import math

from ..jit import njit
from ..unchecked import peek, poke
from .particle_tables import CELLS_X, CHUNK, LOWER, UPPER, WIDE
from .tables import HALF_SPACE

HIGH = 3 * CHUNK
GAP = 6 * CHUNK


@njit
def measure_chunk(first, count, x, v, h, half_margin, particles, collision):
    """Fill `chunk` for `count` particles from `first` on; `list_colliders` must have been called."""
    grid, chunk, wide = particles.grid, particles.chunk, particles.wide
    colliders, places = collision.colliders, collision.places
    put_boxes(first, count, x, v, h, half_margin, particles.radius, chunk)
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
def put_boxes(first, count, x, v, h, half_margin, radius, chunk):
    for j in range(count):
        near = peek(radius, first + j) + half_margin
        for k in range(3):
            at = 3 * (first + j) + k
            p, path = peek(x, at), h * peek(v, at)
            poke(chunk, k * CHUNK + j, p + min(path, 0.0) - near)
            poke(chunk, HIGH + k * CHUNK + j, p + max(path, 0.0) + near)
        poke(chunk, GAP + j, math.inf)


@njit
def gap_to_box(count, lower_x, lower_y, lower_z, upper_x, upper_y, upper_z, chunk):
    for j in range(count):
        gap_x = max(peek(chunk, j) - upper_x, lower_x - peek(chunk, HIGH + j))
        gap_y = max(peek(chunk, CHUNK + j) - upper_y, lower_y - peek(chunk, HIGH + CHUNK + j))
        gap_z = max(peek(chunk, 2 * CHUNK + j) - upper_z, lower_z - peek(chunk, HIGH + 2 * CHUNK + j))
        poke(chunk, GAP + j, min(peek(chunk, GAP + j), max(max(gap_x, gap_y), gap_z)))


@njit
def gap_to_plane(count, x, y, z, level, chunk):
    """The half-space of normal (x, y, z), from the corner of each box that is lowest along it."""
    at_x, at_y, at_z = 0 if x > 0.0 else HIGH, CHUNK + (0 if y > 0.0 else HIGH), 2 * CHUNK + (0 if z > 0.0 else HIGH)
    for j in range(count):
        height = x * peek(chunk, at_x + j) + y * peek(chunk, at_y + j) + z * peek(chunk, at_z + j)
        poke(chunk, GAP + j, min(peek(chunk, GAP + j), height - level))
