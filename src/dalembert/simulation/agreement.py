"""Checks that tables made in different places agree, before compiled code is given their addresses.

Compiled code does not check bounds: an index beyond the end of a table reads or writes foreign memory. The tables
of a mechanism are made in `model`, those of collision detection in `collide`, and each numbers bodies in its own way:

    the mechanism      rigid bodies, then nodes (particles that joints or forces of bodies hold), then links, then the
    world collisions         rigid bodies, then the world

The checks: tables have the lengths that they must share, ranges lie within their tables, and every index is that of a
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..collide.particles import Particles
from ..collide.tables import Collision
from ..core.jit import is_dispatcher
from ..core.user_function import Pointer
from ..model.compile import Model
from ..model.force_kinds import ON_COORDINATE
from ..model.tables import FIELD, LEDGER, LIMITED, STATE_SIZE, WIND, System
from ..model.user_functions import (
    COORDINATE,
    EFFORT,
    EVENT,
    FIELD_ANSWER,
    FORCE_AND_TORQUE,
    POSE,
    RADIAL,
    WIND_ANSWER,
    Answer,
)
from ..scene.body import Body
from ..scene.force import Force
from ..scene.joint import Custom
from ..scene.particles import ParticleForce
from .state import State


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
    on_a_coordinate = np.isin(system.forces.kind, ON_COORDINATE) | (system.forces.kind >= LIMITED)
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
    _within("body_of", collision.body_of, "bodies and the world", rigid + 1)
    _same("body_of", len(collision.body_of), "colliders", count)
    _same("places", len(collision.places), "colliders", count)
    _same("members", len(collision.members), "twice the rigid bodies", 2 * rigid)
    _same("travel", len(collision.travel), "numbers of bodies and the world", 2 * (rigid + 1))
    for name in ("linked", "parents", "island_of", "taken", "islands", "asleep", "parts"):
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


# What users' functions return -----------------------------------------------------------------------------------------

Call = tuple[str, Callable[..., Any], Answer, Iterator[tuple[Any, ...]]]


def require_answers(model: Model) -> None:
    """Raises ValueError, naming the force or the event, where a compiled function of the scene does not return what it
    should at the start.

    It is called through its pointer, which compiles nothing, and anew from Python only where it fails, for the reason.
    """
    start = State(model, model.initial, 0.0)
    for owner, function, answer, arguments in _calls(model, start, {}):
        if not is_dispatcher(function):
            continue
        pointer = next(
            (
                p
                for p in model.pointers
                if p.typed and p.adapter.functions[0] is function and answer in p.adapter.answers
            ),
            None,
        )
        for given in arguments:
            if pointer is not None and np.isfinite(pointer(*_packed(given))).all():
                break
            try:
                answer.require(function(*given))
            except Exception as error:
                raise ValueError(f"{owner}: its function cannot be used: {error}") from error
            break


def not_finite(model: Model, state: State, joints: Mapping[str, tuple[float, float]]) -> str | None:
    """The function whose result is not finite at a state, and what it returned there; None where there is none.

    joints : joint → (s, ṡ), where that is known.
    """
    for owner, function, _, arguments in _calls(model, state, joints):
        for given in arguments:
            try:
                result = np.asarray(function(*given), float)
            except Exception:  # reported when the function is called in the run
                break
            if not np.isfinite(result).all():
                return f"the function of {owner} returned {result.tolist()}"
    return None


def _calls(model: Model, state: State, joints: Mapping[str, tuple[float, float]]) -> Iterator[Call]:
    """Owner, function, what it has to return, and the arguments with which it is called at a state."""
    t, scene = float(state.time), model.scene
    for body in scene.bodies.values():
        if body.motion is not None and callable(body.motion.given):
            yield f"motion of body {body.name!r}", body.motion.given, POSE, iter([(t,)])
    for joint in scene.joints.values():
        if joint.prescribed is not None and callable(joint.prescribed.motion):
            yield f"motion {joint.name!r}", joint.prescribed.motion, COORDINATE, iter([(t,)])
    for force in scene.forces.values():
        function = force.function
        if function is None:
            continue
        owner = f"{force.kind.replace('_', ' ')} {force.name!r}"
        if isinstance(force, Force) and force.joint is None:
            i = state.index(force.a.name)  # type: ignore[union-attr]
            parts = (state.position, state.orientation, np.asarray(state.velocity), np.asarray(state.angular_velocity))
            yield owner, function, FORCE_AND_TORQUE, iter([(t, *(part[i].copy() for part in parts))])
        elif isinstance(force, Force):
            known = joints.get(force.joint.name, (0.0, 0.0))  # type: ignore[union-attr]
            yield owner, function, EFFORT, iter([(t, *known)])
        elif force.kind == "field":
            yield owner, function, FIELD_ANSWER, _at_particles(t, state, force)
        elif force.kind == "wind":
            middles = state.particle_position[force.values["nodes"]].mean(axis=1)
            yield owner, function, WIND_ANSWER, ((t, x.copy()) for x in middles)
        elif force.kind == "radial":
            yield owner, function, RADIAL, iter([(1.0,)])
    for event in scene.events.values():
        yield f"event {event.name!r}", event.function, EVENT, iter([(t, state.y.copy())])


def _packed(arguments: tuple[Any, ...]) -> tuple[float, np.ndarray]:
    """The time and the numbers that an adapter is given, from the arguments of its function; a radial law has no time."""
    t, values = (arguments[0], arguments[1:]) if len(arguments) > 1 else (0.0, arguments)
    return t, np.concatenate([np.ravel(value) for value in values])


def _at_particles(t: float, state: State, force: Any) -> Iterator[tuple[Any, ...]]:
    velocity = np.asarray(state.particle_velocity)
    for group in force.groups:
        for k in range(group.first, group.last):
            yield t, state.particle_position[k].copy(), velocity[k].copy()


# Derivatives that users write -----------------------------------------------------------------------------------------
#
# The derivatives of users' functions are compared with central differences before a run. Those of a radial law W(r) are
# dW/dr at a few distances. Those of a constraint C(x, q) are taken along the path x + s v, exp(½ s ω) q of a body with
# constant v and ω: dC/ds = J (v, ω) and d²C/ds² = J̇ (v, ω). A function that is not analytic (abs, comparisons, .real) has
# a wrong complex step, and a Jacobian that is written by hand may be wrong: the constraint would then be enforced wrongly.

Vector = NDArray[np.float64]

STEP = 1e-4  # m and rad
BESIDE = 1e-2  # the same: so far from the initial pose, where terms may vanish, derivatives are compared
CLOSE = 1e-4  # of the largest entry
SLOPE = 1e-2  # of a radial law, which may have a kink


def require_derivatives(model: Model) -> None:
    """Raises ValueError, naming the constraint or the law, for derivatives that are not those of its function."""
    for force in model.scene.forces.values():
        if force.kind == "radial":
            law = next(
                p for p in model.pointers if p.adapter.functions[0] is force.function and RADIAL in p.adapter.answers
            )
            _require_slope(f"radial {force.name!r}", force, law)
    for name, pointer in zip(model.pointer_names, model.pointers, strict=True):
        joint = model.scene.joints.get(name)
        if joint is not None and joint.custom is not None:
            _require(f"constraint {name!r}", joint.custom, pointer)


def _require(owner: str, custom: Custom, pointer: Pointer) -> None:
    count, rows = len(custom.bodies), custom.rows
    states = np.zeros((4, 13))
    states[:, 3] = 1.0
    for state, body in zip(states, custom.bodies, strict=False):
        if isinstance(body, Body):
            state[:3], state[3:7] = body.position, body.orientation
    rates = 0.5 + np.cos(np.arange(6.0 * count)).reshape(count, 6)  # in no special direction
    for state, rate in zip(states, rates, strict=False):
        state[:3] += BESIDE * rate[:3]
        state[3:7] = _turned(state[3:7], BESIDE * rate[3:])
    states[:count, 7:] = rates
    out = pointer(0.0, states.ravel())
    if not np.isfinite(out[: rows + 6 * rows * count]).all():
        pointer.error = None
        return  # what the run says of it
    given = out[rows : rows + 6 * rows * count].reshape(rows, count, 6)
    for k, body in enumerate(custom.bodies):
        for c in range(6):
            unit = np.zeros((count, 6))
            unit[k, c] = 1.0
            _, found, _ = _differences(pointer, custom, states, unit)
            if np.abs(given[:, k, c] - found).max() > CLOSE * max(1.0, float(np.abs(given).max())):
                what = "velocity" if c < 3 else "angular velocity"
                raise ValueError(
                    f"{owner}: its derivative by the {what} of {body.name!r} along {'xyz'[c % 3]} is "
                    f"{given[:, k, c].tolist()}, and by differences of the function {found.round(6).tolist()}; "
                    f"{_way_out(custom)}"
                )
    if custom.bias is not None:
        _, _, found = _differences(pointer, custom, states, rates)
        bias = out[25 * rows :]
        if np.abs(bias - found).max() > 1e2 * CLOSE * max(1.0, float(np.abs(found).max())):
            raise ValueError(
                f"{owner}: its bias is {bias.tolist()}, and by differences of the function {found.round(4).tolist()}; it is "
                "dJ/dt times the velocities (v, ω, v, ω, …)"
            )


def _require_slope(owner: str, force: ParticleForce, law: Pointer) -> None:
    """Raises ValueError for a dW/dr that is not the derivative of W, half as far, as far and twice as far apart as the first
    two particles are."""
    x = np.concatenate([group.position for group in force.groups])
    apart = float(np.linalg.norm(x[1] - x[0])) if len(x) > 1 else 0.0
    for r in (0.5 * apart, apart, 2.0 * apart):
        h = STEP * r
        if not 0.0 < r + h < force.values["cutoff"]:
            continue
        (low, _), (_, slope), (high, _) = (map(float, law(0.0, np.array([s]))) for s in (r - h, r, r + h))
        if law.error is not None:  # reported when the run calls it
            law.error = None
            return
        found = (high - low) / (2.0 * h)
        rounding = 1e-14 * max(abs(low), abs(high)) / h
        if (
            np.isfinite([slope, found]).all()
            and abs(slope - found) > SLOPE * max(abs(slope), abs(found)) + 10.0 * rounding
        ):
            raise ValueError(
                f"{owner}: its function says dW/dr = {slope:.6g} N at r = {r:.6g} m, and by differences of W it is "
                f"{found:.6g} N; return (W, dW/dr); the force on each particle is −dW/dr along the line from the other"
            )


def _way_out(custom: Custom) -> str:
    if custom.jacobian is not None:
        return "correct the jacobian, of shape (rows, 6 bodies), by (v, ω) of each body in world axes"
    return "a function without a jacobian must be analytic (no abs, comparisons or .real); or give jacobian and bias"


def _differences(pointer: Pointer, custom: Custom, states: Vector, rates: Vector) -> tuple[Vector, Vector, Vector]:
    """C and its first and second derivative along the path of these rates (v, ω) of the bodies, (k, 6)."""
    low, here, high = (_value(pointer, custom, states, rates, s) for s in (-STEP, 0.0, STEP))
    return here, (high - low) / (2.0 * STEP), (high - 2.0 * here + low) / STEP**2


def _value(pointer: Pointer, custom: Custom, states: Vector, rates: Vector, s: float) -> Vector:
    """C at s along the path, of states of four bodies."""
    moved = states.copy()
    for state, rate in zip(moved, rates, strict=False):
        state[:3] += s * rate[:3]
        state[3:7] = _turned(state[3:7], s * rate[3:])
    return pointer(0.0, moved.ravel())[: custom.rows]


def _turned(q: Vector, angle: Vector) -> Vector:
    """exp(½ angle) q."""
    size = float(np.linalg.norm(angle))
    w, v = np.cos(0.5 * size), (0.5 * np.sinc(0.5 * size / np.pi)) * angle
    return np.array([w * q[0] - v @ q[1:], *(w * q[1:] + q[0] * v + np.cross(v, q[1:]))])
