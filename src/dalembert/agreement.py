"""Checks that tables made in different places agree, before compiled code is given their addresses.

Compiled code does not check bounds: a number that names a row which is not there reads or writes foreign memory. The tables
of a mechanism are made in `model`, those of collision detection in `collide`, and each numbers bodies in its own way:

    the mechanism      rigid bodies, then nodes (particles that joints or forces of bodies hold), then links, then the world
    collisions         rigid bodies, then the world

What is checked is that tables of one length have it, that ranges lie within their tables, and that every number names a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .collide.particle_tables import Particles
from .collide.tables import Collision
from .model.force_kinds import ON_COORDINATE
from .model.tables import BOUNDED, FIELD, LEDGER, STATE_SIZE, WIND, System


class Disagreement(RuntimeError):
    """Tables do not fit each other: a defect of this package, reported before it can do harm."""


def require_agreement(
    size: int, system: System, collision: Collision | None = None, particles: Particles | None = None
) -> None:
    """Raises Disagreement, naming the tables, unless they fit each other.

    size : numbers in the state vector. collision : the colliders of the bodies. particles : those that touch `collision`.
    """
    _check_mechanism(size, system)
    _check_particles_of(system)
    if collision is not None:
        _check_collision(int(system.settings.rigid[0]), collision)
    if particles is not None and collision is not None:
        _same("particles that touch", len(particles.radius), "particles", len(system.particle_mass))
        _check_contact_of_particles(particles, len(collision.colliders))


def _same(what: str, count: int, other: str, wanted: int) -> None:
    if count != wanted:
        raise Disagreement(f"{what}: {count}, but {other}: {wanted}; this is a bug of dalembert, please report it")


def _within(what: str, numbers: ArrayLike, table: str, count: int, least: int = 0) -> None:
    """Numbers from `least` up to `count`, which is excluded."""
    found = np.asarray(numbers)
    if found.size and not (found.min() >= least and found.max() < count):
        wrong = int(found.max()) if found.max() >= count else int(found.min())
        raise Disagreement(
            f"{what} is {wrong}, and there are {count} {table}; this is a bug of dalembert, please report it"
        )


def _ranges(what: str, first: ArrayLike, last: ArrayLike, table: str, count: int) -> None:
    """Ranges first ≤ i < last of rows of a table."""
    _within(f"{what}, first", first, table, count + 1)
    _within(f"{what}, end", last, table, count + 1)


def _check_mechanism(size: int, system: System) -> None:
    settings: Any = system.settings[0]
    bodies, rigid, particles = len(system.bodies), int(settings.rigid), int(settings.particles)
    rows, unknowns, joints = len(system.error), len(system.multipliers), len(system.joints)
    _same("rows of kinematics", len(system.kinematics), "bodies and the world", bodies + 1)
    _within("rigid bodies and nodes", [rigid + len(system.nodes)], "bodies", bodies + 1)
    _within("nodes.particle", system.nodes.particle, "particles", particles)
    _same("the state", size, "bodies, particles, coordinates and the ledger",
          STATE_SIZE * rigid + 6 * particles + len(system.coordinates) + len(system.power))  # fmt: skip
    _same("the ledger", len(system.power), "entries", int(settings.ledger) + len(LEDGER))
    for name in ("bias", "rates"):
        _same(name, len(getattr(system, name)), "rows of joints", rows)
    for name in ("scale", "rhs", "residual"):
        _same(name, len(getattr(system, name)), "unknowns", unknowns)
    _ranges("rows of joints", [rows], [unknowns], "unknowns", unknowns)
    _same("pushes", len(system.pushes), "numbers of rigid bodies", 6 * rigid)
    _ranges("joints.row", system.joints.row, system.joints.row + system.joints.rows, "rows", rows)
    _ranges("joints.first", system.joints["first"], system.joints["last"], "incidences", len(system.incidences))
    for name in ("parts", "incidences"):
        _within(f"{name}.joint", getattr(system, name).joint, "joints", joints)
    _ranges("incidences.row", system.incidences.row, system.incidences.row + system.incidences.rows, "rows", rows)
    for name, fields in (("parts", "ab"), ("coordinates", "ab"), ("forces", "ab")):
        for field in fields:
            _within(f"{name}.{field}", getattr(system, name)[field], "rows of kinematics", bodies + 1)
    for name in ("incidences", "pairs", "hubs", "reactions"):
        _within(f"{name}.body", getattr(system, name).body, "rows of kinematics", bodies + 1)
    _within("coordinates.at", system.coordinates["at"], "numbers in the state", size)
    _within("forces.ledger", system.forces.ledger[system.forces.kind != FIELD], "entries", int(settings.ledger))
    on_a_coordinate = np.isin(system.forces.kind, ON_COORDINATE) | (system.forces.kind >= BOUNDED)
    _within("forces.coordinate", system.forces.coordinate[on_a_coordinate], "coordinates", len(system.coordinates))


def _check_particles_of(system: System) -> None:
    count, entries = int(system.settings.particles[0]), int(system.settings.ledger[0])
    for name in ("particle_mass", "particle_inverse_mass"):
        _same(name, len(getattr(system, name)), "particles", count)
    if len(system.diagonal_slots):
        _same("diagonal_slots", len(system.diagonal_slots), "particles", count)
    fields = system.particle_forces
    wind = fields.kind == WIND
    _ranges("particle_forces", fields["first"][~wind], fields["last"][~wind], "particles", count)
    _ranges("wind", fields["first"][wind], fields["last"][wind], "panels", len(system.panels))
    _within("particle_forces.ledger", fields.ledger, "entries", entries, -1)
    _within("panels.nodes", system.panels.nodes, "particles", count)
    elements = system.elements
    for name, table in zip(elements._fields, elements, strict=True):
        if table.dtype.names and "nodes" in table.dtype.names:
            _within(f"{name}.nodes", table["nodes"], "particles", count)
    for one in elements.sets:
        _ranges("sets", one["first"], one["last"], "elements", len(elements[int(one["kind"])]))
    _within("sets.ledger", elements.sets["ledger"], "entries", entries, -1)
    laws = system.interactions
    _within("members", laws.members, "particles", count)
    _same("weights", len(laws.weights), "members", len(laws.members))
    _ranges("laws", laws.laws["first"], laws.laws["last"], "members", len(laws.members))
    _within("laws.ledger", laws.laws["ledger"], "entries", entries, -1)


def _check_collision(rigid: int, collision: Collision) -> None:
    """The colliders of so many rigid bodies and the world."""
    colliders, count = collision.colliders, len(collision.colliders)
    _within("colliders.body", colliders.body, "bodies and the world", rigid + 1)
    _same("places", len(collision.places), "colliders", count)
    _same("members", len(collision.members), "rigid bodies", rigid)
    _same("travel", len(collision.travel), "numbers of bodies and the world", 2 * (rigid + 1))
    for name in ("linked", "parents", "island_of", "taken", "islands", "asleep"):
        _same(name, len(getattr(collision, name)), "bodies and the world", rigid + 1)
    corners = len(collision.vertices) // 3
    for first, number, table, total in (
        ("first_vertex", "vertices", "corners", corners), ("first_face", "faces", "faces", len(collision.faces)),
        ("first_edge", "edges", "edges", len(collision.edges)),
    ):  # fmt: skip
        _ranges(f"colliders.{first}", colliders[first], colliders[first] + colliders[number], table, total)
    faces, facets = collision.faces, collision.facets
    _ranges("faces.first", faces["first"], faces["first"] + faces["count"], "loops", len(collision.loops))
    _ranges("facets.first_vertex", facets.first_vertex, facets.first_vertex + facets.vertices, "corners", corners)
    _within("facets.face", facets.face, "faces", len(faces))
    _ranges("facets.first_side", facets.first_side, facets.first_side + facets.vertices, "sides", len(collision.sides))
    _within("nodes.facet", collision.nodes.facet, "facets", len(facets), -1)
    _within("trees.collider", collision.trees.collider, "colliders", count)
    _ranges("trees", collision.trees.first_node, collision.trees.end_node, "nodes", len(collision.nodes))
    for name in ("order", "unbounded"):
        _within(name, getattr(collision, name), "colliders", count)
    for name in ("excluded", "rule_keys"):
        _within(name, getattr(collision, name), "pairs", count**2)
    _same("rule_values", len(collision.rule_values), "numbers of pairs with a rule", 2 * len(collision.rule_keys))


def _check_contact_of_particles(particles: Particles, colliders: int) -> None:
    _same("material", len(particles.material), "particles", len(particles.radius))
    _within("material", particles.material, "rows of rules", len(particles.rules) // max(1, colliders))
    for name in ("wide", "candidates"):
        _same(name, len(getattr(particles, name)), "colliders", colliders)
