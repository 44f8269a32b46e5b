"""Warnings about a run: its settings, overlaps at its start, solvers that missed their tolerance, and steps near the
stability limit. Warnings about the scene alone are in `scene.scene_warnings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..collide.detect import collision_of
from ..contact.solvers import DEFAULT
from ..contact.solvers import SOLVERS as CONTACT_SOLVERS
from ..core.c_function import DERIVATIVE, PARTICLE_MATRIX
from ..core.status import OK
from ..deformable.contact import ParticleDetector
from ..deformable.rounds import MOST_ROUNDS
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.tableaus import METHODS
from ..model.compile import Model
from ..model.tables import FIELD, SPRING, STATE_SIZE, TORSION
from ..scene.body import Body
from ..scene.contact import is_compliant, springs_in_series
from ..scene.force import Force
from ..scene.joint import Frame, Link
from ..scene.particles import Particle
from ..scene.scene_warnings import names, warnings_of
from .control import JointReader
from .inspection import Queries
from .methods.contact import TIME_STEPPING, particles_that_touch
from .methods.explicit import RungeKutta
from .methods.implicit_particles import implicit_system
from .registry import option_defaults

OFTEN = 0.01  # of the steps
SEVERAL = 10  # steps
DEEP = 1e-6  # of the size of the smallest thing that touches: deeper than the rounding of places that are given
FEW = 4  # pairs in a sentence
TAKEN = 0.5  # π ω h of a bounce on compliant surfaces, about the share of its energy that steps take
OPEN = 1e-9  # of the size of the model: joints that projection leaves further open than this are not closed to rounding
SOLVERS = ("contact", "particles", "rounds", "constraints", "joints")  # the subjects of `of_the_steps`
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
            f"{run.method!r}: bodies roll and spin without resistance; method {TIME_STEPPING!r} has them"
        )
    falling = [item.name for item in scene.touching() if item.material.static_friction is not None]
    if falling:
        yield (
            f"static_friction of {names(falling)} is not used by method {run.method!r}: friction at every speed is that of "
            f"sliding; method {TIME_STEPPING!r} has it"
        )


def _short_bounces(run: Any) -> Iterator[str]:
    """Compliant surfaces on which steps take much of the energy of a bounce, which nothing else takes."""
    scene, worst, found = run.model.scene, TAKEN, None
    if run._driver.bodies is None or not is_compliant(scene):
        return
    dt, touching = run._driver.bodies.settings.dt, scene.touching()
    movable = [item for item in touching if isinstance(item, Body) and item.motion is None]
    for body in movable:
        for other in {item.material: item for item in touching if item is not body}.values():
            stiffness, damping = springs_in_series(body.material, other.material)
            omega = np.sqrt(stiffness / body.mass)
            if np.pi * omega * dt > worst and damping < 2.0 * np.sqrt(stiffness * body.mass):
                worst, found = np.pi * omega * dt, (body, other, omega)
    if found:
        body, other, omega = found
        taken = 100.0 * (1.0 - (1.0 + (omega * dt) ** 2) ** (-np.pi / (omega * dt)))
        yield (
            f"a bounce of {body.name!r} on {other.name!r} lasts {np.pi / omega:.3g} s by their stiffness, "
            f"{np.pi / (omega * dt):.2g} steps of {dt:g} s, of which the integrator takes some {taken:.0f} % of the energy; "
            f"take dt of {0.1 / (np.pi * omega):.1g} s or less for 10 %, a damping, or rigid surfaces with a restitution"
        )


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
            found = bodies.contact_report().where
            where = f" (at frames, {found})" if found else ""
            message = (
                f"the contact solver {own.solver!r} missed its tolerance of {own.tolerance:g} {_unit(own.solver)} in "
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
                f"bodies moved otherwise than the particles on them assumed in {_share(found.unsettled, steps)}, by "
                f"{found.mismatch:.3g} m/s at worst, after {MOST_ROUNDS} rounds of both; take a smaller dt, or lighter "
                "particles"
            )
            yield "rounds", message
    every = run.recorder.points_every
    if every > 1:
        message = (
            f"contact points are kept of one frame in {every}, as there are more than two million; record fewer frames a "
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
    if run._generalized is not None:
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
            f"{gained:.3g} m/s, so that contacts need not bear any weight; give {solver.tolerance:g}, or at most "
            f"{0.01 * gained:.1g}"
        )
    if solver.unit == "m/s" and own.tolerance < FINEST:
        yield (
            f"tolerance={own.tolerance:g} m/s is below the rounding of speeds, and most steps will miss it; give {FINEST:g} "
            f"or more (the default is {solver.tolerance:g})"
        )
    touching = [body for body in model.scene.bodies.values() if body.material is not None]
    size, way = Queries(model).size if touching else np.inf, 0.5 * gained * own.dt
    if way > MANY_SIZES * size:
        yield (
            f"in a step of dt={own.dt:g} s things at rest fall {way:.3g} m, {way / size:.3g} times the radius of the "
            f"smallest that touches; give a smaller dt, such as {np.sqrt(0.02 * size / gravity):.1g}"
        )
    masses = {body.name: float(body.mass) for body in touching if np.isfinite(body.mass) and body.mass > 0.0}
    if masses and max(masses.values()) > FAR_APART * min(masses.values()):
        heavy, light = max(masses, key=masses.__getitem__), min(masses, key=masses.__getitem__)
        yield (
            f"the masses of bodies that touch go from {masses[light]:.3g} kg ({light!r}) to {masses[heavy]:.3g} kg "
            f"({heavy!r}), 1:{masses[heavy] / masses[light]:.3g}; contact between such bodies cannot be solved to a useful "
            "tolerance. Bring the masses nearer to each other, or make the heavy one an obstacle"
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
                f"{int(sunk.sum())} of the particles {group.name!r} overlap other things at the start, by up to "
                f"{worst:.3g} m; the first steps separate them. Move them"
            )


# Stability of explicit methods on the stiffest forces -----------------------------------------------------------------
#
# A mode of an elastic force obeys q̈ + δ q̇ + ω² q = 0, whose solutions are exp(λ t) with λ = −δ/2 ± √(δ²/4 − ω²). A
# Runge–Kutta method multiplies them by R(h λ) = 1 + h λ bᵀ(1 − h λ A)⁻¹ 1 a step (Hairer & Wanner, *Solving Ordinary
# Differential Equations II*, IV.2). Symplectic Euler, p⁺ = p + h f(q, p), q⁺ = q + h p⁺, multiplies them by the roots of
# z² − (2 − h δ − h² ω²) z + 1 − h δ; leapfrog steps, which are conjugate to it, have the same limit, h ω = 2.
#
# ω² is the largest eigenvalue of M⁻¹ K at the start of the run, for one force at a time: elements between particles
# (springs, cloth, soft bodies, ...), springs between points of bodies, torsion springs, and motors with gains. For the
# last three ω² = k μ and δ = c μ with the mobility μ, the acceleration of the coordinate under a unit effort. The mobility
# of free bodies is an upper bound, as joints can only lessen it, and finds the forces that are well below the limit; for
# the others μ is computed with all joints (`response`). Gravitation, charges and other laws between all particles are not
# considered.

GROWTH = 2.0  # of an oscillation over the run: more is beyond the limit
NEAR = 1.1  # a step so many times as long is beyond it
MOST_STEPS = 1000  # a frame, of an adaptive method that only keeps stable
LANCZOS = 30  # most steps of it
IMPLICIT = "implicit_euler"
Product: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
LONGEST = 20.0  # h ω, beyond the limits of all methods
SHORTEST_RUN = 100  # steps: growth is judged over at least so many, also for shorter runs


@dataclass(frozen=True)
class Stiffness:
    """The fastest mode of a force: `frequency` ω (rad/s), `damping` δ (1/s). `particles`: whether it acts on them alone."""

    name: str
    frequency: float
    damping: float
    particles: bool


def stiffnesses(model: Model, method: str = "rk4") -> list[Stiffness]:
    """The fastest mode of each elastic force of a scene, at its start; of forces on bodies, that of free bodies."""
    found = (*_of_elements(model), *(_of_force(force) for force in forces_with_gains(model, method)))
    return [mode for mode in found if mode.frequency > 0.0 or mode.damping > 0.0]


def forces_with_gains(model: Model, method: str) -> list[Force]:
    """Springs, and what acts on the coordinate of a joint, which time steps take implicitly."""
    return [
        force
        for force in model.scene.forces.values()
        if isinstance(force, Force) and any(force.gains()) and (force.joint is None or method != TIME_STEPPING)
    ]


def amplification(method: str, dt: float, frequency: float, damping: float = 0.0) -> float:
    """The factor by which a step of `dt` (s) of an explicit method grows a mode of ω (rad/s) and δ (1/s)."""
    if method == TIME_STEPPING or METHODS[method].partitioned:
        half = 1.0 - 0.5 * (dt * damping + (dt * frequency) ** 2)
        roots = half + np.array([1.0, -1.0]) * np.sqrt(complex(half * half - 1.0 + dt * damping))
        return float(np.abs(roots).max())
    tableau = METHODS[method]
    root = np.sqrt(complex(0.25 * damping**2 - frequency**2))
    ones = np.ones(tableau.stages)
    factors = []
    for z in dt * np.array([-0.5 * damping + root, -0.5 * damping - root]):
        factors.append(abs(1.0 + z * (tableau.b @ np.linalg.solve(np.eye(tableau.stages) - z * tableau.a, ones))))
    return float(max(factors))


def grows(method: str, dt: float, duration: float, mode: Stiffness) -> bool:
    """Whether a mode more than doubles over a run of so many seconds."""
    if not np.isfinite([mode.frequency, mode.damping]).all():
        return True  # of a link, which has no mass of its own
    factor = amplification(method, dt, mode.frequency, mode.damping)
    return bool(np.log(max(factor, 1e-300)) * duration / dt > np.log(GROWTH))


def largest_step(method: str, duration: float, mode: Stiffness) -> float:
    """The step (s) up to which a mode does not double over a run of so many seconds."""
    fastest = max(mode.frequency, mode.damping)
    steps = np.geomspace(0.1 / (1.0 + duration * fastest), LONGEST, 400) / fastest
    first = next((i for i, dt in enumerate(steps) if grows(method, dt, duration, mode)), len(steps) - 1)
    low, high = float(steps[max(first - 1, 0)]), float(steps[first])
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(method, middle, duration, mode) else (middle, high)
    return low


def stability_warning(simulation: Any, duration: float) -> str | None:
    """What to say where steps of `dt` are near the stability limit, or beyond, in a run of so many seconds; else None.

    A step is near the limit where an oscillation at least doubles over the run at a step a tenth longer.
    """
    method, given = simulation.method, simulation.settings["dt"]
    if given is None or not _explicit(method):
        return None
    dt, model = float(given), simulation.model
    duration = max(duration, SHORTEST_RUN * dt)
    found = [mode for mode in stiffnesses(model, method) if grows(method, NEAR * dt, duration, mode)]
    if any(not mode.particles for mode in found):
        found = [_in_place(simulation, mode) for mode in found]
        found = [mode for mode in found if grows(method, NEAR * dt, duration, mode)]
    if not found:
        return None
    stable, mode = min(((largest_step(method, duration, mode), mode) for mode in found), key=lambda item: item[0])
    advice = (
        f"{'use method=' + repr(IMPLICIT) + ', or' if _may_be_implicit(model, mode) else 'use'} dt below {stable:.2g} s"
    )
    size = f"ω = {mode.frequency:.3g} rad/s" if mode.frequency > 0.0 else f"damping rate {mode.damping:.3g} 1/s"
    of = f"{mode.name!r} ({size})"
    if mode.frequency > 0.0 and amplification(method, 1e-2 / mode.frequency, mode.frequency) > 1.0 + 1e-12:
        return (
            f"method {method!r} makes undamped oscillations grow at any step, and at dt = {dt:g} s those of {of} double "
            f"within the run; {advice}"
        )
    where = "beyond" if grows(method, dt, duration, mode) else "near"
    return f"method {method!r} at dt = {dt:g} s is {where} its stability limit for {of}; {advice}"


def advice_on_steps(simulation: Any, duration: float) -> str | None:
    """What to say of an adaptive method that needs more than a thousand steps a frame to keep stable; else None."""
    method = simulation.method
    if simulation.settings["dt"] is not None or not _explicit(method):
        return None
    modes = [mode for mode in stiffnesses(simulation.model, method) if _may_be_implicit(simulation.model, mode)]
    found = [(largest_step(method, duration, mode), mode) for mode in modes]
    if not found:
        return None
    stable, mode = min(found, key=lambda item: item[0])
    steps = 1.0 / (simulation.frames * stable)
    if steps <= MOST_STEPS:
        return None
    return (
        f"method {method!r} has to take {steps:.0f} steps a frame to keep stable on {mode.name!r} (ω = {mode.frequency:.3g} "
        f"rad/s); method={IMPLICIT!r} takes longer ones"
    )


def _explicit(method: str) -> bool:
    return method == TIME_STEPPING or method in METHODS


def _may_be_implicit(model: Model, mode: Stiffness) -> bool:
    """Whether implicit steps of particles can run the scene and take this force."""
    return mode.particles and not len(model.tables["nodes"])


# Elements ---------------------------------------------------------------------------------------------------------------


def _of_elements(model: Model) -> list[Stiffness]:
    if not len(model.particles.sets):
        return []
    system = implicit_system(model)
    mechanism, sets = Mechanism(system), system.elements.sets
    system.interactions.laws.active = 0
    system.particle_forces.active = 0
    mass = np.repeat(np.sqrt(system.particle_inverse_mass), 3)
    pattern = model.particles.pattern()
    n = 3 * model.particle_count
    x = model.particles.initial()[:n]
    place = np.concatenate([x, np.zeros(2 * n), x])
    found = []
    for k, entry in enumerate(sets.ledger.tolist()):
        sets.active = np.arange(len(sets)) == k
        parts = []
        for rate in (0.0, 1.0):
            system.settings[0].rate = rate
            values = np.zeros(9 * len(pattern.columns))
            if mechanism(PARTICLE_MATRIX, 0.0, place, values) != 0:
                return []
            parts.append(values.reshape(-1, 3, 3))
        elastic, damped = parts[0], parts[1] - parts[0]
        squares = [
            0.0
            if not part.any()
            else largest_eigenvalue(_scaled(part, pattern.starts, pattern.columns, mass), len(mass))
            for part in (elastic, damped)
        ]
        found.append(Stiffness(model.force_names[entry], float(np.sqrt(squares[0])), squares[1], True))
    return found


def _scaled(blocks: NDArray[np.float64], starts: NDArray, columns: NDArray, root: NDArray[np.float64]) -> Product:
    """v → M^−½ A M^−½ v of the symmetric A of which these are the blocks on the diagonal and above, row by row."""
    blocks[starts[:-1]] *= 0.5  # on the diagonal, which both halves have
    n = len(starts) - 1
    rows = np.repeat(np.arange(n), np.diff(starts))

    def product(v: NDArray[np.float64]) -> NDArray[np.float64]:
        u = (root * v).reshape(n, 3)
        upper = np.add.reduceat(np.einsum("kij,kj->ki", blocks, u[columns]), starts[:-1])
        lower = np.einsum("kij,ki->kj", blocks, u[rows])
        lower = np.stack([np.bincount(columns, lower[:, c], n) for c in range(3)], axis=1)
        return np.asarray(root * (upper + lower).ravel())

    return product


def largest_eigenvalue(product: Product, size: int) -> float:
    """Of a symmetric positive semidefinite matrix, by its products: Lanczos's method from a random vector, to about 1e-3.

    Products are summed by NumPy rather than by BLAS, whose threads take far longer where other processes are busy.
    """
    v = np.random.default_rng(0).normal(size=size)
    v, before, beta = v / np.sqrt(np.sum(v * v)), np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    value = 0.0
    for _ in range(LANCZOS):
        w = product(v) - beta * before
        alphas.append(float(np.sum(w * v)))
        w -= alphas[-1] * v
        beta = float(np.sqrt(np.sum(w * w)))
        last, value = value, float(np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1])
        if beta <= 1e-9 * value or (len(alphas) > 5 and value - last <= 1e-7 * value):
            break
        betas.append(beta)
        before, v = v, w / beta
    return value


# Forces on bodies -------------------------------------------------------------------------------------------------------


def _of_force(force: Force) -> Stiffness:
    """The mode of a force on bodies that are free but for what is pinned."""
    if force.joint is None:
        n = _along(force)
        mobility = _mobility(force.a, force.at_a, n) + _mobility(force.b, force.at_b, n)
    else:
        axis = np.array([0.0, 0.0, 1.0]) if force.joint.axis is None else force.joint.axis
        own = _turning if force.coordinate == "angle" else _mobility
        mobility = sum(own(end, force.joint.at, axis) for end in (force.joint.a, force.joint.b))
    return _mode(force, mobility)


def _mode(force: Force, mobility: float) -> Stiffness:
    stiffness, damping = force.gains()
    return Stiffness(force.name, float(np.sqrt(stiffness * mobility)), damping * mobility, False)


def _along(force: Force) -> NDArray[np.float64]:
    """The unit vector from one end of a spring to the other."""
    along = force.at_b - force.at_a
    length = float(np.linalg.norm(along))
    return along / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _mobility(frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]) -> float:
    """The acceleration (1/kg) of a point along n under a unit force there."""
    if isinstance(frame, Particle):
        return 0.0 if frame.group.pinned[frame.index] else 1.0 / float(frame.group.mass[frame.index])
    if isinstance(frame, Link):
        return np.inf
    if not isinstance(frame, Body) or frame.motion is not None:
        return 0.0
    return 1.0 / frame.mass + _turning(frame, at, np.cross(at - frame.position, n))


def _turning(frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]) -> float:
    """The angular acceleration (1/(kg m²)) about n under a torque n."""
    if isinstance(frame, Link):
        return np.inf
    return (
        0.0
        if not isinstance(frame, Body) or frame.motion is not None
        else float(n @ np.linalg.solve(frame.rotation @ frame.inertia @ frame.rotation.T, n))
    )


def _in_place(simulation: Any, mode: Stiffness) -> Stiffness:
    """The mode of a force on bodies with all joints in place; one of particles as it is."""
    if mode.particles:
        return mode
    force = simulation.model.scene.forces[mode.name]
    found = response(simulation.model, force)
    return mode if found is None else _mode(force, found)


def response(model: Model, force: Force) -> float | None:
    """The acceleration of the coordinate of a force (along a spring, or of a joint) at the start under a unit effort of it,
    with all joints; None if the equations of motion cannot be evaluated.

    It is the difference of two evaluations of the equations of motion with a spring of stiffness 1 in the place of the force:
    the second has a rest position further by 1, and so a unit effort more.
    """
    mechanism = Mechanism(model.system())
    own = JointMechanism(model, mechanism) if model.tree is not None else mechanism
    rows = mechanism.system.forces
    of_force = (rows.kind != FIELD) & (rows.ledger == model.force_names.index(force.name))
    row = rows[np.flatnonzero(of_force)[0]]
    row.kind, row.stiffness = SPRING if force.joint is None else TORSION, 1.0
    y = model.initial.copy()
    slopes = []
    for more in (0.0, 1.0):
        row.rest += more
        found = _slopes(own, y)
        if found is None:
            return None
        slopes.append(found)
    _set_velocities(own, model, y, slopes[1] - slopes[0])
    if force.joint is None:
        n = _along(force)
        return abs(_speed(model, y, force.b, force.at_b, n) - _speed(model, y, force.a, force.at_a, n))
    if not isinstance(own, JointMechanism):
        return abs(JointReader(model).read(y)[_coordinate_name(force)][1])
    freedom = own.layout.scalars().get(_coordinate_name(force))
    return None if freedom is None else abs(float(own.z[len(own.layout.start) + freedom[1]]))


def _slopes(own: Mechanism, y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The derivative of the state, of z in joint coordinates; None where there is none."""
    if isinstance(own, JointMechanism):
        status = own.take(y) or own.call(DERIVATIVE, 0.0, own.z, own.dzdt)
        return None if status else own.dzdt.copy()
    slopes = np.zeros_like(y)
    return None if own(DERIVATIVE, 0.0, y.copy(), slopes) else slopes


def _set_velocities(own: Mechanism, model: Model, y: NDArray[np.float64], rates: NDArray[np.float64]) -> None:
    """Give the state y, and z in joint coordinates, rates of momenta or speeds for velocities."""
    if isinstance(own, JointMechanism):
        first, last = len(own.layout.start), len(own.layout.start) + len(own.layout.freedoms)
        own.z[first:last] = rates[first:last]
        own.put(y)
    else:
        moving = model.momentum > 0.0
        y[moving] = rates[moving]


def _coordinate_name(force: Force) -> str:
    joint = force.joint
    assert joint is not None
    return f"{joint.name}.{force.coordinate}" if joint.angle and joint.displacement else joint.name


def _speed(
    model: Model, y: NDArray[np.float64], frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]
) -> float:
    """The velocity along n of a point of a body or particle, at a state."""
    if isinstance(frame, Particle):
        momenta = y[model.particle_block].reshape(2, -1, 3)[1]
        return float(model.tables["particle_inverse_mass"][frame.number] * (momenta[frame.number] @ n))
    if not isinstance(frame, Body) or frame.motion is not None:
        return 0.0
    start = STATE_SIZE * model.body_names.index(frame.name)
    spin = np.linalg.solve(frame.rotation @ frame.inertia @ frame.rotation.T, y[start + 10 : start + 13])
    return float((y[start + 7 : start + 10] / frame.mass + np.cross(spin, at - frame.position)) @ n)
