"""Contact between particles and colliders, from Python: the tables, and one pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..scene.contact import Material
from ..tables import allocate, grow, handed
from .detect import combine
from .particle_tables import (
    NEED_CONTACTS,
    RULE,
    Particles,
)
from .particles import meet
from .tables import NEED_ROOM, Collision


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
    """Fill `contacts` as `particles.meet_particles` does; returns the tables, with more room where it was needed.

    x, v : (3 n,) m and m/s. The colliders' `places` must have been filled.
    """
    tables = handed(collision)
    while True:
        if meet(x, v, h, margin, particles, tables) != NEED_ROOM:
            return particles
        particles = with_contacts(particles, int(1.5 * particles.counts[NEED_CONTACTS]))
