"""What steps a run: an integration method for smooth motion, or time steps of contact. Checks what the user asked for."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .agreement import require_agreement
from .articulated.closed import COMPILED as CLOSED
from .articulated.contact_driver import JointStepping
from .articulated.contact_step import COMPILED as JOINT_STEP
from .articulated.driver import JointDriver, JointMechanism
from .articulated.evaluate import COMPILED as JOINT
from .board import MOST_THREADS
from .collide.detect import COMPILED as DETECT
from .collide.from_scene import collision_of, kinds_of
from .collide.narrow import BY_FAMILY, families
from .collide.particle_detect import make_particles
from .collide.particle_tables import Particles
from .contact.limits import COMPILED as LIMITS
from .contact.make_tables import StepSettings
from .contact.separate import ROUNDING
from .contact.soft_system import implicit_forces, is_implicit
from .contact.solvers import DEFAULT, SOLVERS
from .contact.step import COMPILED as STEP
from .contact.step_events import StepEvents
from .contact.time_stepping import TimeStepping
from .energies.kinds import KINDS
from .impact.cone_sweeps import KERNELS as SWEEPS
from .impact.driver import EventDriver
from .impact.evaluate import COMPILED as EVENTS
from .impact.instant import EventSettings
from .impact.laws import LAWS
from .impact.system import ContactSystem
from .integrate import state as integration
from .integrate.behind import COMPILED as INTEGRATION
from .integrate.driver import Driver
from .integrate.functions import Functions
from .integrate.methods import METHODS
from .jit import CFunction
from .linalg.block_pattern import block_pattern
from .linalg.iterate import COMPILED as ITERATE
from .linalg.lcp import KERNELS as LCP
from .mechanics.evaluate import COMPILED as MECHANICS
from .mechanics.joint_state import read_coordinates
from .mechanics.mechanism import Mechanism, is_special, on_particles
from .mechanics.special import COMPILED as SPECIAL
from .model.compile import Model
from .model.tables import BOUNDED, CONTACT_WORK, LEDGER, STATE_SIZE, System
from .particles.detect import COMPILED as PARTICLE_DETECT
from .particles.detect import ParticleDetector
from .particles.make_steps import ParticleSettings, ledger_at
from .particles.schemes import SCHEMES
from .particles.step import COMPILED as PARTICLE_STEP
from .particles.stepping import ParticleStepping
from .scene.contact import Material
from .scene.force import Force
from .scene.joint import Joint
from .scene.particles import Particle

TIME_STEPPING = "time_stepping"
LINEAR_SOLVERS = ("cg", "direct")
Stepper: TypeAlias = Driver | TimeStepping | EventDriver | ParticleStepping
JOINT_ITERATIONS = 400  # of Gauss–Seidel in joint coordinates
# Share of rtol and atol where balls or free bodies are in joint coordinates. In maximal coordinates the error of a step is
# measured before projection removes most of it, the part that violates the joints. Joint coordinates have no such part:
# their tops would be 2 to 4 times less accurate at the same tolerance. With this share they are alike.
JOINT_TOLERANCE = 0.4
MARGIN = 0.02  # of the size of the smallest thing that touches: pairs nearer than this are looked at
IMPLICIT_MARGIN = (
    0.3  # the same of particles in implicit steps, which may be pulled where they were not on their way to
)


MOST_STEPS_A_FRAME = 1e12  # weeks of computing
SLEEP_SPEED = 0.01  # sizes of the same thing a second: what is slower may fall asleep


def method_names() -> list[str]:
    """The names of all methods."""
    return [*METHODS, *SCHEMES]


def compiled_parts(model: Model, method: str, solver: str, iterates: bool = False) -> list[CFunction]:
    """What a run of the model is compiled of; `iterates`: with an iterative solver of its constraint system."""
    parts: list[CFunction] = [MECHANICS, *([ITERATE] if iterates else [])]
    particles, touching = model.particles, bool(model.scene.touching())
    parts += [SPECIAL] if is_special(model.tables, model.graph.hubs) else []
    parts += filter(None, on_particles(particles.fields, particles.sets, particles.laws))
    if model.tree is not None:
        parts += [JOINT, *([CLOSED] if model.graph.rows else [])]
    elif model.scene.joints:
        parts += [read_coordinates]
    if steps_particles(model, method):
        parts += [PARTICLE_STEP, *([PARTICLE_DETECT] if touching else [])]
        if not model.body_names:
            return parts
    if touching:
        parts += [DETECT, *dict.fromkeys(BY_FAMILY[family][1] for family in families(kinds_of(model.scene)))]
    if method in SCHEMES and model.tree is not None:
        return [*parts, JOINT_STEP]
    if method in SCHEMES:
        forces: Any = model.tables["forces"]
        limited = bool(((forces.kind >= BOUNDED) | is_implicit(forces)).any())
        return [*parts, STEP, *([LIMITS] if limited else []), *filter(None, [SOLVERS[solver].compiled])]
    return [*parts, INTEGRATION, *((EVENTS, *LCP, *SWEEPS) if touching else [])]


def positive(name: str, value: Any, unit: str) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and above zero."""
    number = _number(value)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number above zero ({unit})")
    return number


def not_negative(name: str, value: Any) -> float:
    """The value as a float. Raises ValueError unless it is a number, finite and not below zero."""
    number = _number(value)
    if not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"{name} is {value!r:.80}; give a finite number not below zero")
    return number


def _number(value: Any) -> float:
    """The value as a float; NaN for what is no number."""
    if isinstance(value, str | bytes | bool):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def require_kinds(names: dict[str, Any], flags: dict[str, Any]) -> None:
    """Raises ValueError for a name that is no text, and for a flag that is neither True nor False."""
    for name, value in names.items():
        if not (value is None or isinstance(value, str)):
            raise ValueError(f"{name} is {value!r:.80}; give a name")
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {value!r:.80}; give True or False")


def check_step(dt: Any, frames: float) -> None:
    """Raises ValueError for a fixed step that no run would ever get on with."""
    if dt is not None and positive("dt", dt, "s") * frames < 1.0 / MOST_STEPS_A_FRAME:
        raise ValueError(
            f"dt is {dt!r} s, and there would be {1.0 / (float(dt) * frames):.3g} steps from one frame to the next; give a "
            f"longer step, or more frames a second than {frames:g}"
        )


def smooth_driver(
    model: Model, mechanism: Mechanism, method: str, dt: float | None, rtol: float, atol: float | None,
    impacts: str,
) -> Driver | EventDriver:  # fmt: skip
    """The driver of an integration method, by events where bodies touch. Raises ValueError."""
    if method in SCHEMES:
        raise ValueError(
            f"method {method!r} is one for particles, and scene {model.name!r} has none; take {TIME_STEPPING!r}"
        )
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; the methods are {', '.join(method_names())}")
    touching = bool(model.scene.touching())
    tableau = METHODS[method]
    step = 0.0 if dt is None else positive("dt", dt, "s")
    adaptive = dt is None
    if adaptive and not tableau.error.shape[0]:
        raise ValueError(f"method {method!r} has no error estimate; give its step, dt, in s")
    bounded = model.scene.bounded()
    if bounded:
        raise ValueError(
            f"method {method!r} cannot run {bounded[0]!r}: stops, dry friction and motors without a gain take time steps; "
            f"use method={TIME_STEPPING!r}"
        )
    rtol, atol = (
        positive("rtol", rtol, "relative"),
        rtol if atol is None else positive("atol", atol, "m, rad, m/s, rad/s"),
    )
    share = JOINT_TOLERANCE if isinstance(mechanism, JointMechanism) and mechanism.carried else 1.0
    if isinstance(mechanism, JointMechanism) and tableau.partitioned:
        raise ValueError(
            f"method {method!r} moves bodies at constant momenta, and joint coordinates have none; use 'rk4'"
        )
    weights = smooth_weights(model, mechanism, method)
    options = integration.make_options(
        tableau,
        weights.size,
        adaptive=adaptive,
        rtol=share * rtol,
        atol=share * atol,
        weights=weights,
        momentum=model.momentum if tableau.partitioned else None,
        direction=[event.direction for event in model.events] + [-1] * touching,
    )
    if isinstance(mechanism, JointMechanism):
        if touching:
            raise ValueError(
                f"scene {model.name!r}: what touches takes coordinates='maximal' with method {method!r}; or take "
                f"method={TIME_STEPPING!r}"
            )
        require_agreement(model.size, mechanism.system)
        return JointDriver(mechanism, options, step)
    if touching:
        return event_driver(model, mechanism, method, options, step, impacts)
    require_agreement(model.size, mechanism.system)
    none = np.zeros(len(model.events), np.int64)
    carried = weights.size - model.size
    return Driver(Functions(mechanism.address, mechanism.data, 1, model.event_addresses, none, carried), options, step)


def smooth_weights(model: Model, mechanism: Mechanism, method: str) -> np.ndarray:
    """Scales of the absolute tolerance of an integration method, of the state and of what a step carries behind it:
    see `mechanics.spin`. Contact by events and methods of momenta carry nothing."""
    if isinstance(mechanism, JointMechanism):
        return mechanism.weights
    if model.scene.touching() or METHODS[method].partitioned:
        return model.weights
    spins = model.tables["spins"].body
    return np.concatenate([model.weights, *(model.weights[STATE_SIZE * i + 10 : STATE_SIZE * i + 13] for i in spins)])


def event_driver(
    model: Model, mechanism: Mechanism, method: str, options: integration.Options, step: float, impacts: str
) -> EventDriver:
    """The driver of an integration method for a scene whose bodies touch. Raises ValueError."""
    if impacts not in LAWS:
        raise ValueError(f"unknown law of impacts {impacts!r}; the laws are {', '.join(LAWS)}")
    if METHODS[method].partitioned:
        raise ValueError(
            f"method {method!r} takes forces of position only, and contact forces are not; use 'dormand_prince', or "
            f"{TIME_STEPPING!r}"
        )
    collision = collision_of(model.scene)
    for solid in model.scene.touching():
        parts = getattr(solid.shape, "parts", None)
        shapes = [solid.shape] if parts is None else [part.shape for part in parts]
        for shape in shapes:
            if not shape.by_events:
                raise ValueError(
                    f"{solid.name!r}: a {type(shape).__name__} cannot be run by events (method {method!r}); use "
                    f"method={TIME_STEPPING!r}, or a ConvexHull"
                )
    sizes = collision.colliders.radius[collision.order]
    size = float(sizes.min(initial=1.0))
    require_agreement(model.size, mechanism.system, collision)
    entry = model.size - len(LEDGER) - len(model.force_names) + model.force_names.index(CONTACT_WORK[0])
    system = ContactSystem(mechanism, collision, model.size, entry, MARGIN * size)
    return EventDriver(system, model, options, model.event_addresses, EventSettings(impacts, step, size))


def time_stepping(
    model: Model,
    mechanism: Mechanism,
    dt: float | None,
    solver: str,
    iterations: int | None,
    tolerance: float | None,
    stop_unsolved: bool,
    threads: int,
    sleep_after: float | None,
    events: StepEvents,
) -> TimeStepping:
    """The driver of time steps with contact. Raises ValueError."""
    joint = isinstance(mechanism, JointMechanism)
    if dt is None:
        raise ValueError(f"method {TIME_STEPPING!r} takes fixed steps; give dt, in s")
    own = SOLVERS[solver]
    if joint and (solver != DEFAULT or sleep_after is not None):
        what = f"solver={solver!r}" if sleep_after is None else "sleep_after"
        raise ValueError(f"{what} takes coordinates='maximal'; time steps in joint coordinates do without it")
    if iterations is None:
        iterations = JOINT_ITERATIONS if joint else own.iterations
    if not (isinstance(iterations, int) and iterations >= 1):
        raise ValueError(f"iterations is {iterations!r}; give a whole number of at least 1")
    if not (isinstance(threads, int) and 1 <= threads <= MOST_THREADS):
        raise ValueError(f"threads is {threads!r}; give a whole number from 1 to {MOST_THREADS}")
    collision = collision_of(model.scene)
    size = float(collision.colliders.radius[collision.order].min(initial=1.0))
    settings = StepSettings(
        positive("dt", dt, "s"), solver, iterations,
        own.tolerance if tolerance is None else positive("tolerance", tolerance, "m/s, or relative"),
        MARGIN * size, max(own.slop * size, ROUNDING), stop_unsolved, threads,
        0.0 if sleep_after is None else positive("sleep_after", sleep_after, "s"), SLEEP_SPEED * size,
    )  # fmt: skip
    size, entry = mechanism.size if isinstance(mechanism, JointMechanism) else model.size, 0
    if CONTACT_WORK[0] in model.force_names:
        entry = size - len(LEDGER) - len(model.force_names) + model.force_names.index(CONTACT_WORK[0])
    elif not len(implicit_forces(mechanism.system)):
        raise ValueError(
            f"scene {model.name!r}: nothing in it has a material, so that nothing can touch, and no joint has a stop, dry "
            "friction, a motor or a spring; another method runs it better"
        )
    require_agreement(model.size, mechanism.system, collision)
    if isinstance(mechanism, JointMechanism):
        return JointStepping(mechanism, collision, entry, settings, events)
    return TimeStepping(model, mechanism, collision, entry, settings, events)


def steps_particles(model: Model, method: str) -> bool:
    """Whether particles have time steps of their own."""
    return model.particle_count > 0 and method in SCHEMES


def system_of(model: Model, method: str) -> System:
    """The tables of a run of the model by `method`."""
    if not steps_particles(model, method) or method == TIME_STEPPING:
        return model.system()
    pattern = model.particles.pattern()
    slots = dict(zip(KINDS, (slots.ravel() for slots in pattern.slots), strict=True))
    return model.system(slots, pattern.starts[:-1])


def particle_in_joint(model: Model) -> tuple[str, str] | None:
    """Names of a joint, or a force of bodies, and of a particle that it holds and that is not pinned, if there is one."""
    joints = (model.scene.joints[name] for name in model.joint_names)
    for item in (*joints, *model.scene.forces.values()):
        frames = item.bodies if isinstance(item, Joint) else (item.a, item.b) if isinstance(item, Force) else ()
        for frame in frames:
            if isinstance(frame, Particle) and not frame.group.pinned[frame.index]:
                return item.name, frame.name
    return None


def particle_stepping(model: Model, mechanism: Mechanism, method: str, settings: dict[str, Any]) -> ParticleStepping:
    """The driver of time steps of particles, and of bodies beside them. Raises ValueError."""
    if settings["dt"] is None:
        raise ValueError(f"method {method!r} takes fixed steps; give dt, in s")
    found = particle_in_joint(model)
    if found:
        raise ValueError(
            f"method {method!r} moves particles apart from joints, and {found[0]!r} holds {found[1]}; take an integration "
            "method, such as 'rk4', or attach()"
        )
    if settings["linear_solver"] not in LINEAR_SOLVERS:
        raise ValueError(f"unknown linear solver {settings['linear_solver']!r}; there are {', '.join(LINEAR_SOLVERS)}")
    explicit = method == TIME_STEPPING
    require_agreement(model.size, mechanism.system)
    pattern = block_pattern(model.particle_count, []) if explicit else model.particles.pattern()
    entry = ledger_at(model) + (model.force_names.index(CONTACT_WORK[0]) if CONTACT_WORK[0] in model.force_names else 0)
    touching = [group for group in model.particles.groups if group.material is not None]
    radii = np.concatenate([np.full(len(group), group.radius) for group in model.particles.groups])
    balls = radii[radii > 0.0]
    margin = (IMPLICIT_MARGIN if len(balls) and not explicit else MARGIN) * float(balls.min(initial=1.0))
    detector = None
    if touching and model.scene.touching():
        particles, collision = particles_that_touch(model, radii), collision_of(model.scene)
        require_agreement(model.size, mechanism.system, collision, particles)
        detector = ParticleDetector(particles, collision, len(model.body_names), margin)
    own = ParticleSettings(
        method, positive("dt", settings["dt"], "s"), positive("newton_tolerance", settings["newton_tolerance"], "relative"),
        settings["linear_solver"], positive("linear_tolerance", settings["linear_tolerance"], "relative"), margin, entry,
        settings["stop_unsolved"],
    )  # fmt: skip
    bodies = None
    if model.body_names:
        bodies = time_stepping(
            model, mechanism, settings["dt"], settings["solver"], settings["iterations"], settings["tolerance"],
            settings["stop_unsolved"], settings["threads"], settings["sleep_after"], StepEvents(np.zeros(0, np.int64), []),
        )  # fmt: skip
    return ParticleStepping(model, mechanism, pattern, own, detector, bodies, step_events(model))


def step_events(model: Model) -> StepEvents:
    """What is looked at after each step; where bodies step beside particles, once for both."""
    return StepEvents(model.event_addresses, [event.direction for event in model.events])


def particles_that_touch(model: Model, radii: np.ndarray) -> Particles:
    """The tables of contact of all particles; those of groups without a material pass through everything."""
    collision = collision_of(model.scene)
    groups = model.particles.groups
    materials = [group.material or Material() for group in groups]
    excluded = [
        (k, i) for k, group in enumerate(groups) if group.material is None for i in range(len(collision.colliders))
    ]
    number = np.concatenate([np.full(len(group), k) for k, group in enumerate(groups)])
    return make_particles(collision, radii, materials, number, excluded)


def make_driver(model: Model, mechanism: Mechanism, method: str, settings: dict[str, Any]) -> Stepper:
    """What steps the model by `method`; settings: dt, rtol, atol, solver, iterations,
    tolerance, stop_unsolved, threads, sleep_after, impacts. Raises ValueError."""
    if steps_particles(model, method):
        return particle_stepping(model, mechanism, method, settings)
    if method == TIME_STEPPING:
        return time_stepping(
            model, mechanism, settings["dt"], settings["solver"], settings["iterations"], settings["tolerance"],
            settings["stop_unsolved"], settings["threads"], settings["sleep_after"], step_events(model),
        )  # fmt: skip
    return smooth_driver(
        model, mechanism, method, settings["dt"], settings["rtol"], settings["atol"], settings["impacts"]
    )
