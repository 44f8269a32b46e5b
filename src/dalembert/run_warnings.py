"""Warnings about a run: its settings, overlaps at its start, and solvers that missed their tolerance.

Warnings about the scene alone are in `scene.scene_warnings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .collide.from_scene import collision_of
from .contact.solvers import DEFAULT
from .contact.solvers import SOLVERS as CONTACT_SOLVERS
from .model.compile import Model
from .particles.detect import ParticleDetector
from .queries import Queries
from .scene.scene_warnings import names, warnings_of
from .simulation.methods.contact import TIME_STEPPING
from .simulation.methods.explicit import RungeKutta
from .simulation.methods.particles import particles_that_touch
from .simulation.registry import option_defaults
from .status import OK

OFTEN = 0.01  # of the steps
SEVERAL = 10  # steps
DEEP = 1e-6  # of the size of the smallest thing that touches: deeper than the rounding of places that are given
FEW = 4  # pairs in a sentence
OPEN = 1e-9  # of the size of the model: joints that projection leaves further open than this are not closed to rounding
SOLVERS = ("contact", "particles", "constraints", "joints")  # the subjects of `of_the_steps`
OF_CONTACT = {"solver", "iterations", "tolerance", "sleep_after"}
# Options that are passed to many methods at once, to compare these.
LET_BE = {"dt", "threads", "newton_tolerance", "linear_solver", "linear_tolerance"}
OF_HOLD = {"stiffness": 0.0, "damping": 0.0}


def at_the_start(run: Any) -> Iterator[str]:
    """Sentences about a run that was just made."""
    yield from warnings_of(run.model.scene)
    yield from _unused(run)
    yield from _unseen(run)
    yield from _overlaps(run)


def of_the_steps(run: Any) -> Iterator[tuple[str, str]]:
    """(subject, message) of each solver that missed its tolerance in more than one of a hundred steps, and of open joints."""
    yield from _open_joints(run)
    bodies, particles = run._driver.bodies, run._driver.particles
    if bodies is not None:
        report, own = bodies.report, bodies.settings
        unsolved, steps = int(report.unsolved[0]), int(report.steps[0])
        if _often(unsolved, steps):
            ways = [f"raise iterations (now {own.iterations})", "take a smaller dt"]
            if own.solver == DEFAULT and run.model.tree is None:
                ways.append('pass solver="interior_point"')
            message = (
                f"the contact solver {own.solver!r} missed its tolerance of {own.tolerance:g} {_unit(own.solver)} in "
                f"{_share(unsolved, steps)}, by {float(report.worst_residual[0]):.3g} m/s at worst; {_or(ways)}"
            )
            yield "contact", message
    if particles is not None:
        unsolved, steps = int(particles.report.unsolved[0]), int(particles.report.steps[0])
        if _often(unsolved, steps):
            message = (
                f"the implicit steps of the particles missed their tolerance in {_share(unsolved, steps)}, by "
                f"{float(particles.report.worst[0]):.3g} of the forces at worst; take a smaller dt, or a larger "
                "newton_tolerance or linear_tolerance if that is enough"
            )
            yield "particles", message
    if run._constraint_solver is not None:
        found = run._constraint_solver.report()
        if _often(found.unsolved, found.solutions):
            message = (
                f"the constraint solver {found.solver} missed its tolerance in "
                f"{_share(found.unsolved, found.solutions, 'solutions')}, by {found.residual:.3g} at worst; use "
                "constraint_solver='ldl', or raise its iterations"
            )
            yield "constraints", message


def _open_joints(run: Any) -> Iterator[tuple[str, str]]:
    """Joints that projection could not close to rounding: their constraints nearly depend on each other."""
    errors = run.recorder.frames["joint_error"][-1]
    if run.arguments["hold"] != "projection" or run._constraint_solver is not None or not errors.size:
        return
    worst = int(np.argmax(errors))
    if not errors[worst] > OPEN * run.model.length:
        return
    why = (
        "projection cannot close it further, as its constraints nearly depend on others. The mechanism may be locked by a "
        'small misalignment; correct it, or compare with coordinates="joint"'
    )
    if run._placed is not None:
        why = "the generalized coordinates do not keep it closed; correct their expressions"
    yield "joints", f"joint {run.model.joint_names[worst]!r} is open by {errors[worst]:.3g} m: {why}"


def changed_since(model: Model, before: tuple[int, ...]) -> str | None:
    """What to say of a scene to which something was added after its run was made; before : its `sizes` then."""
    if sizes(model) == before:
        return None
    return f"scene {model.name!r} was changed after this Simulation was made, which has no effect on it; make a new one"


def sizes(model: Model) -> tuple[int, ...]:
    """How many things of each kind are in the scene of a model."""
    own = model.scene
    tables = (
        own.bodies,
        own.links,
        own.joints,
        own.particles,
        own.forces,
        own.events,
        own.obstacles,
        own.contact_rules,
    )
    return tuple(len(table) for table in tables)


def _often(unsolved: int, steps: int) -> bool:
    return unsolved >= SEVERAL and unsolved > OFTEN * steps


def _share(unsolved: int, steps: int, what: str = "steps") -> str:
    return f"{unsolved} of {steps} {what} ({100.0 * unsolved / steps:.3g} %)"


def _unit(solver: str) -> str:
    unit = CONTACT_SOLVERS[solver].unit
    return unit if unit == "m/s" else f"({unit})"


def _or(ways: list[str]) -> str:
    return ", ".join(ways[:-1]) + f" or {ways[-1]}"


# Settings ---------------------------------------------------------------------------------------------------------------


def _unused(run: Any) -> Iterator[str]:
    """Settings that are not the default, and that the run does not use."""
    method, given, model = run._method, run.arguments, run.model
    smooth, fixed = isinstance(method, RungeKutta), given["dt"] is not None
    used = set(method.options) | LET_BE
    if run._driver.bodies is None:
        used -= OF_CONTACT
    if smooth:
        used = used | {"impacts"} if model.scene.touching() else used - {"impacts"}
    if fixed:
        used -= {"rtol", "atol"}
    unused = {name: default for name, default in option_defaults().items() if name not in used}
    unused |= {} if given["hold"] != "projection" else OF_HOLD
    found = [name for name, default in unused.items() if given[name] != default]
    if found:
        how = f"method {method.name!r}" + (" with a fixed dt" if smooth and fixed else "")
        how = f"hold={given['hold']!r}" if set(found) <= set(OF_HOLD) else how
        yield f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} not used by {how} in scene {model.name!r}; leave out"


def _unseen(run: Any) -> Iterator[str]:
    """Particles that would touch things, by a method that does not look."""
    scene = run.model.scene
    if run._driver.particles is not None or not scene.touching():
        return
    found = [group.name for group in scene.particles.values() if group.material is not None]
    if found:
        yield (
            f"particles {names(found)} collide with nothing in method {run.method!r}: particles collide in time steps only; "
            f"use method={TIME_STEPPING!r} or an implicit one"
        )


# Overlaps ---------------------------------------------------------------------------------------------------------------


def _overlaps(run: Any) -> Iterator[str]:
    """What is in something else at the start."""
    bodies, particles, model = run._driver.bodies, run._driver.particles, run.model
    if bodies is not None:
        queries = Queries(model)
        deep = max(bodies.settings.slop, DEEP * queries.size)
        found = sorted(queries.place(run._y).overlaps().items(), key=lambda item: -item[1])
        pairs = [f"{a!r} and {b!r} by {depth:.3g} m" for (a, b), depth in found if depth > deep]
        if pairs:
            more = f" and {len(pairs) - FEW} more pairs" if len(pairs) > FEW else ""
            yield (
                f"overlap at the start: {', '.join(pairs[:FEW])}{more}; the first steps separate them. Move them, or turn "
                "contact between them off with set_contact(a, b, enabled=False)"
            )
    if particles is not None and particles.detects:
        yield from _sunk_particles(run)


def _sunk_particles(run: Any) -> Iterator[str]:
    """Groups of particles some of which are in something."""
    model = run.model
    groups = model.particles.groups
    radii = np.concatenate([np.full(len(group), group.radius) for group in groups])
    detector = ParticleDetector(
        particles_that_touch(model, radii), collision_of(model.scene), len(model.body_names), 0.0
    )
    x = run._y[model.particle_block].reshape(2, -1)[0]
    place = np.concatenate([x, np.zeros(3 * len(x))])  # at rest
    while detector.find(run._y, place, 0.0) != OK:
        detector.make_room()
    depth = np.zeros(len(radii))
    found = detector.contacts
    np.maximum.at(depth, found.particle, -found.separation)
    depth[[int(row[0]) for row in model.attachments]] = 0.0
    deep = DEEP * float(radii.max(initial=1.0))
    for group in groups:
        sunk = (depth[group.first : group.last] > deep) & ~group.pinned
        if sunk.any():
            worst = float(depth[group.first : group.last][sunk].max())
            yield (
                f"{int(sunk.sum())} of the particles {group.name!r} overlap other things at the start, by up to "
                f"{worst:.3g} m; the first steps separate them. Move them"
            )
