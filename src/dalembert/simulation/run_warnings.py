"""Warnings about a run: its settings, overlaps at its start, solvers that missed their tolerance. Warnings about
unstable steps are in `stability`, those about the scene alone in `scene.scene_warnings`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..collide.detect import collision_of
from ..contact.solvers import DEFAULT
from ..contact.solvers import SOLVERS as CONTACT_SOLVERS
from ..contact.tables import MANY
from ..core.status import OK
from ..deformable.contact import ParticleDetector
from ..deformable.rounds import MOST_ROUNDS
from ..model.compile import Model
from ..scene.body import Body
from ..scene.contact import is_compliant, springs_in_series
from ..scene.scene import Scene
from ..scene.scene_warnings import names, warnings_of
from .inspection import Queries
from .methods.contact import TIME_STEPPING, particles_that_touch
from .methods.explicit import RungeKutta
from .registry import option_defaults

OFTEN = 0.01  # of the steps
SEVERAL = 10  # steps
DEEP = 1e-6  # of the size of the smallest thing that touches: deeper than the rounding of places that are given
FEW = 4  # pairs in a sentence
SHORT = 6.0  # steps: shorter bounces on compliant surfaces are warned of
MUCH = 0.1  # of the energies of a run: an error of the energy that is warned of
STANDING = 1e-6  # m/s: energies of slower bodies are rounding
DAMPING = ("implicit_euler", "linear_implicit_euler", "bdf2")  # methods that damp what moves
OPEN = 1e-9  # of the size of the model: joints that projection leaves further open than this are not closed to rounding
SUBJECTS = ("contact", "particles", "rounds", "constraints", "joints", "energy")  # of `of_the_steps`
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
    yield from _hard_to_solve(run)
    yield from _unused_frictions(run)
    yield from _short_bounces(run)


def _unused_frictions(run: Any) -> Iterator[str]:
    """Laws of friction that are described and that the method does not have."""
    scene = run.model.scene
    if run._driver.bodies is not None:
        return
    rough = [item.name for item in scene.touching() if item.material.resists_turning]
    if rough or any(rule.rolling_friction or rule.torsional_friction for rule in scene.contact_rules):
        yield (
            f"rolling and torsional friction{f' of {names(rough)}' if rough else ''} are not used by method "
            f"{run.method!r}: bodies roll and spin without resistance; use method {TIME_STEPPING!r} has them"
        )
    falling = [item.name for item in scene.touching() if item.material.static_friction is not None]
    if falling:
        yield (
            f"static_friction of {names(falling)} is not used by method {run.method!r}: friction at every speed is that of "
            f"sliding; method {TIME_STEPPING!r} has it"
        )


def _short_bounces(run: Any) -> Iterator[str]:
    """Bounces on compliant surfaces that are too short for the steps to follow, where no damping ends them."""
    scene, fewest, found = run.model.scene, SHORT, None
    if run._driver.bodies is None or not is_compliant(scene):
        return
    dt, touching = run._driver.bodies.settings.dt, scene.touching()
    movable = [item for item in touching if isinstance(item, Body) and item.motion is None]
    for body in movable:
        for other in {item.material: item for item in touching if item is not body}.values():
            stiffness, damping = springs_in_series(body.material, other.material)
            omega = np.sqrt(stiffness / body.mass)
            if omega > 0.0 and np.pi / (omega * dt) < fewest and damping < 2.0 * np.sqrt(stiffness * body.mass):
                fewest, found = np.pi / (omega * dt), (body, other, omega)
    if found:
        body, other, omega = found
        yield (
            f"a bounce of {body.name!r} on {other.name!r} lasts {np.pi / omega:.3g} s by their stiffness, {fewest:.2g} steps "
            f"of {dt:g} s, which cannot follow it, so that it loses energy; take dt of {np.pi / (20.0 * omega):.1g} s or "
            "less for 1 %, a damping, or rigid surfaces with a restitution"
        )


def of_the_steps(run: Any) -> Iterator[tuple[str, str]]:
    """(subject, message) of each solver that missed its tolerance in more than one of a hundred steps, of open joints, and of
    energy that the integration made or lost."""
    yield from _open_joints(run)
    yield from _energy(run)
    bodies, particles = run._driver.bodies, run._driver.particles
    if bodies is not None:
        report, own = bodies.report, bodies.settings
        unsolved, steps = int(report.unsolved[0]), int(report.steps[0])
        if _often(unsolved, steps):
            ways = [f"raise iterations (now {own.iterations})", "take a smaller dt"]
            if own.solver == DEFAULT and run.model.tree is None:
                ways.append('pass solver="interior_point"')
            found = bodies.contact_report().where
            where = f" (at frames, {found})" if found else ""
            message = (
                f"the contact solver {own.solver!r} missed its tolerance of {_tolerance(own)} in "
                f"{_share(unsolved, steps)}, by {float(report.worst_residual[0]):.3g} m/s at worst{where}; {_or(ways)}"
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
        found = particles.particle_report()
        if _often(found.unsettled, steps):
            message = (
                "bodies moved differently from the prediction of the particles on them in "
                f"{_share(found.unsettled, steps)}, by {found.mismatch:.3g} m/s at worst, after {MOST_ROUNDS} rounds "
                "of both; take a smaller dt, or lighter particles"
            )
            yield "rounds", message
    every = run.recorder.points_every
    if every > 1:
        message = (
            f"contact points are recorded in one frame of {every}, because there are more than two million; record "
            "fewer frames per "
            "second, or pass contact_points=False"
        )
        yield "contact points", message
    if run._constraint_solver is not None:
        found = run._constraint_solver.report()
        if _often(found.unsolved, found.solutions):
            message = (
                f"the constraint solver {found.solver} missed its tolerance in "
                f"{_share(found.unsolved, found.solutions, 'solutions')}, by {found.residual:.3g} at worst; use "
                "constraint_solver='ldl', or raise its iterations"
            )
            yield "constraints", message


def _energy(run: Any) -> Iterator[tuple[str, str]]:
    """An error of the energy by the integration that is no longer small beside the energies of the run, where nothing else
    says so. What methods damp by design is left out, and runs whose state was changed by hand."""
    if len(run.recorder) < 2 or not run._audited or any("stability limit" in text for text in run.warnings):
        return
    error, scale = run.recorder.integration_error()
    masses = np.concatenate([run._system.bodies["mass"], run._system.particle_mass])
    scale = max(scale, STANDING**2 * float(masses[np.isfinite(masses)].sum()))
    if not abs(error) > MUCH * scale or (error < 0.0 and run.method in DAMPING):
        return
    dt = run.settings["dt"]
    way = f"a smaller rtol than {run.settings['rtol']:g}" if dt is None else f"a smaller dt than {float(dt):.3g} s"
    done = "added" if error > 0.0 else "lost"
    message = (
        f"the integration has {done} {abs(error):.3g} J of energy, {100.0 * abs(error) / scale:.0f} % of the largest in this "
        f"run, because its steps are long for what moves; take {way}"
    )
    yield "energy", message


def _open_joints(run: Any) -> Iterator[tuple[str, str]]:
    """Joints that projection could not close to rounding: their constraints nearly depend on each other."""
    errors = run.recorder.frames["joint_error"][-1]
    if run.arguments["hold"] != "projection" or run._constraint_solver is not None or not errors.size:
        return
    worst = int(np.argmax(errors))
    if not errors[worst] > OPEN * run.model.length:
        return
    why = (
        "projection cannot close it further, because its constraints are nearly redundant. The mechanism may be locked by a "
        'small misalignment; correct it, or compare with coordinates="joint"'
    )
    if run._generalized is not None:
        why = "the generalized coordinates do not close it; correct their expressions"
    yield "joints", f"joint {run.model.joint_names[worst]!r} is open by {errors[worst]:.3g} m: {why}"


def changed_since(model: Model) -> str | None:
    """What to say of a scene that was changed after its run was made, which has a copy of it."""
    own, source = model.scene, model.scene._source
    if source is None:
        return None
    turned = own.gravity is not source.gravity and not np.array_equal(own.gravity, source.gravity)
    if not turned and sizes(own) == sizes(source):
        return None
    return (
        f"scene {model.name!r} was changed after this Simulation was made, which has no effect; make a new Simulation"
    )


def sizes(own: Scene) -> tuple[int, ...]:
    """How many things of each kind are in a scene."""
    tables = (
        own.bodies, own.links, own.joints, own.particles, own.forces, own.events, own.sensors, own.obstacles,
        own.contact_rules,
    )  # fmt: skip
    return tuple(len(table) for table in tables)


def _often(unsolved: int, steps: int) -> bool:
    return unsolved >= SEVERAL and unsolved > OFTEN * steps


def _share(unsolved: int, steps: int, what: str = "steps") -> str:
    return f"{unsolved} of {steps} {what} ({100.0 * unsolved / steps:.3g} %)"


def _unit(solver: str) -> str:
    unit = CONTACT_SOLVERS[solver].unit
    return unit if unit == "m/s" else f"({unit})"


def _tolerance(own: Any) -> str:
    """The tolerance of a step, from its settings."""
    text = f"{own.tolerance:g} {_unit(own.solver)}"
    if own.tolerance_of_many == 0.0:
        return text
    return f"{text}, or {own.tolerance_of_many:g} m/s in islands of more than {MANY} contacts,"


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
        verb, them = ("is", "it") if len(found) == 1 else ("are", "them")
        yield f"{', '.join(found)} {verb} not used by {how} in scene {model.name!r}; leave {them} out"


def _unseen(run: Any) -> Iterator[str]:
    """Particles that would touch things, by a method that does not look."""
    scene = run.model.scene
    if run._driver.particles is not None or not scene.touching():
        return
    found = [group.name for group in scene.particles.values() if group.material is not None]
    if found:
        yield (
            f"particles {names(found)} have no contacts in method {run.method!r}: particles collide in time steps only; "
            f"use method={TIME_STEPPING!r} or an implicit one"
        )


# Contact that no solver solves, or that needs none ------------------------------------------------------------------------

FAR_APART = 1e8  # ratio of masses: speeds of a heavy body, to rounding, are then 1e-8 of those of a light one
FINEST = 1e-13  # m/s: rounding of the speeds of contacts
MANY_SIZES = 10.0  # of the smallest thing that touches: a longer way in a step, from rest


def _hard_to_solve(run: Any) -> Iterator[str]:
    """Steps, tolerances and masses with which contact is not what Coulomb's law says."""
    bodies, model = run._driver.bodies, run.model
    if bodies is None:
        return
    own, gravity = bodies.settings, float(np.linalg.norm(model.scene.gravity))
    solver = CONTACT_SOLVERS[own.solver]
    gained = gravity * own.dt
    if solver.unit == "m/s" and own.tolerance > gained > 0.0:
        yield (
            f"tolerance={own.tolerance:g} m/s is more than the speed that gravity gives in a step of {own.dt:g} s, "
            f"{gained:.3g} m/s, so contacts can leave all weight unsolved; give {solver.tolerance:g}, or at most "
            f"{0.01 * gained:.1g}"
        )
    if solver.unit == "m/s" and own.tolerance < FINEST:
        yield (
            f"tolerance={own.tolerance:g} m/s is below the rounding error of speeds, so most steps will miss it; give "
            f"{FINEST:g} or more (the default is {solver.tolerance:g})"
        )
    touching = [body for body in model.scene.bodies.values() if body.material is not None]
    size, way = Queries(model).size if touching else np.inf, 0.5 * gained * own.dt
    if way > MANY_SIZES * size:
        yield (
            f"in a step of dt={own.dt:g} s bodies at rest fall {way:.3g} m, {way / size:.3g} times the radius of the "
            f"smallest colliding body; give a smaller dt, such as {np.sqrt(0.02 * size / gravity):.1g}"
        )
    masses = {body.name: float(body.mass) for body in touching if np.isfinite(body.mass) and body.mass > 0.0}
    if masses and max(masses.values()) > FAR_APART * min(masses.values()):
        heavy, light = max(masses, key=masses.__getitem__), min(masses, key=masses.__getitem__)
        yield (
            f"the masses of colliding bodies range from {masses[light]:.3g} kg ({light!r}) to {masses[heavy]:.3g} kg "
            f"({heavy!r}), 1:{masses[heavy] / masses[light]:.3g}; contact between such bodies cannot be solved to a useful "
            "tolerance. Reduce the ratio, or make the heavy body an obstacle"
        )


# Overlaps ---------------------------------------------------------------------------------------------------------------


def _overlaps(run: Any) -> Iterator[str]:
    """What is in something else at the start."""
    bodies, particles, model = run._driver.bodies, run._driver.particles, run.model
    if bodies is not None:
        queries = Queries(model)
        deep = max(bodies.settings.slop, DEEP * queries.size)
        found = sorted(queries.update(run._y).overlaps().items(), key=lambda item: -item[1])
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
                f"{int(sunk.sum())} of the particles {group.name!r} overlap other objects at the start, by up to "
                f"{worst:.3g} m; the first steps separate them. Move them"
            )
