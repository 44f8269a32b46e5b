"""Steps of fixed length with contact: their options, and the steppers of bodies and of particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...collide.detect import DETECT_ENTRY as DETECT
from ...collide.detect import collision_of
from ...collide.particles import Particles, make_particles
from ...contact.joint_space import JOINT_SPACE_ENTRY as JOINT_SPACE
from ...contact.joint_space import RIDES_ENTRY as RIDES
from ...contact.joint_space_stepping import JointContactStepper
from ...contact.joint_space_surfaces import JOINT_SURFACES_ENTRY as JOINT_SURFACES
from ...contact.limits import LIMITS_ENTRY as LIMITS
from ...contact.limits import implicit_forces, is_implicit
from ...contact.mechanism_impacts import IMPACTS_ENTRY as IMPACTS
from ...contact.position_correction import ROUNDING
from ...contact.solvers import DEFAULT, SOLVERS, StepSettings
from ...contact.step import STEP_ENTRY as STEP
from ...contact.surface_rows import SURFACES_ENTRY as SURFACES
from ...contact.time_stepping import ContactStepper
from ...core.jit import CFunction
from ...core.thread_pool import MOST_THREADS
from ...deformable.carriers import JOINED_ENTRY as JOINED
from ...deformable.contact import PARTICLE_DETECT_ENTRY as PARTICLE_DETECT
from ...deformable.contact import ParticleDetector
from ...deformable.joint_space_carriers import TREES_ENTRY as TREES
from ...deformable.rounds import ROUNDS_ENTRY as ROUNDS
from ...deformable.step import PARTICLE_STEP_ENTRY as PARTICLE_STEP
from ...deformable.stepping import ParticleStepper
from ...deformable.tables import ParticleSettings, ledger_at
from ...dynamics.joint_space.mechanism import JointMechanism
from ...dynamics.mechanism import Mechanism
from ...integrate.stepper import StepEvents
from ...linalg.block_matrix import block_pattern
from ...model.compile import Model
from ...model.tables import CONTACT_WORK, LEDGER, LIMITED, STOP
from ...scene.contact import Material, has_surface_laws
from ...scene.force import Force
from ...scene.joint import Joint
from ...scene.particles import Particle
from ...scene.scene import Scene
from ..agreement import require_agreement
from ..registry import Method, one_of, positive, whole
from ..settings import ContactSolverName

TIME_STEPPING = "time_stepping"
ALIASES = {"converging": "interior_point"}  # of solvers
# Pairs have contacts if they are nearer than MARGIN, in sizes of the smallest body that collides, or nearer than a body falls
# from rest in a step, up to MOST_MARGIN.
MARGIN, MOST_MARGIN = 0.02, 0.25
SLEEP_SPEED = 0.01  # sizes of that body per second: slower bodies may fall asleep


@dataclass(frozen=True, kw_only=True)
class FixedSteps(Method):
    """Options of steps of fixed length: see `TimeStepping`."""

    dt: float | None = None
    solver: ContactSolverName = DEFAULT  # type: ignore[assignment]  # a name of the registry
    iterations: int | None = None
    tolerance: float | None = None
    threads: int = 1
    sleep_after: float | None = None
    newton_tolerance: float = 1e-8
    linear_tolerance: float = 1e-4

    holds = ("projection",)

    def __post_init__(self) -> None:
        if self.dt is not None:
            positive("dt", self.dt, "s")
        asked = one_of("solver", self.solver, (*SOLVERS, *ALIASES), "the solvers of contact")
        object.__setattr__(self, "solver", ALIASES.get(asked, asked))
        if self.iterations is not None:
            object.__setattr__(self, "iterations", whole("iterations", self.iterations))
        if self.tolerance is not None:
            positive("tolerance", self.tolerance, SOLVERS[self.solver].unit)
        whole("threads", self.threads, MOST_THREADS)
        if self.sleep_after is not None:
            positive("sleep_after", self.sleep_after, "s")
        positive("newton_tolerance", self.newton_tolerance, "relative")
        positive("linear_tolerance", self.linear_tolerance, "relative")

    def steps_particles(self, model: Model) -> bool:
        """Whether there are any."""
        return model.particle_count > 0

    def compiled_for_bodies(self, model: Model) -> list[CFunction]:
        """What the steps of bodies call."""
        laws = has_surface_laws(model.scene)
        impacts = [IMPACTS] if mechanism_bounces(model) else []
        if model.tree is not None:
            rides = [RIDES] if len(model.tables["commands"]) else []
            own = [JOINT_SURFACES] if laws else []
            return [STEP, DETECT, JOINT_SPACE, *rides, *own, *impacts, *filter(None, [SOLVERS[self.solver].compiled])]
        forces: Any = model.tables["forces"]
        limited = bool(((forces.kind >= LIMITED) | is_implicit(forces)).any())
        own = [*([LIMITS] if limited else []), *([SURFACES] if laws else [])]
        return [STEP, DETECT, *own, *impacts, *filter(None, [SOLVERS[self.solver].compiled])]

    def contact_stepper(
        self, model: Model, mechanism: Mechanism, stop_unsolved: bool, events: StepEvents
    ) -> ContactStepper:
        """The stepper of the bodies. Raises ValueError."""
        collision = collision_of(model.scene)
        size = float(collision.colliders.radius[collision.order].min(initial=1.0))
        whole_size = mechanism.size if isinstance(mechanism, JointMechanism) else model.size
        idle = CONTACT_WORK[0] not in model.force_names and not len(model.tables["commands"])
        if idle and not len(implicit_forces(mechanism.system)):
            raise ValueError(
                f"scene {model.name!r}: it has no materials, so no contacts, and no joint with a stop, "
                "dry friction, a motor, a motion or a spring; use another method"
            )
        require_agreement(model.size, mechanism.system, collision)
        settings, entry = self._settings(size, model.scene.gravity, stop_unsolved), contact_entry(model, whole_size)
        if isinstance(mechanism, JointMechanism):  # what falls is seen ahead by `joint_space.show_falling`
            return JointContactStepper(mechanism, collision, entry, settings._replace(fall=0.0), events)
        return ContactStepper(model, mechanism, collision, entry, settings, events)

    def _settings(self, size: float, gravity: np.ndarray, stop_unsolved: bool) -> StepSettings:
        """size : of the smallest thing that touches, m. gravity : m/s²."""
        own, falls = SOLVERS[self.solver], float(np.linalg.norm(gravity)) * step_of(self) ** 2
        falls = min(falls, MOST_MARGIN * size)
        return StepSettings(
            step_of(self), self.solver, own.iterations if self.iterations is None else self.iterations,
            own.tolerance if self.tolerance is None else float(self.tolerance),
            own.tolerance_of_many if self.tolerance is None else 0.0,
            max(MARGIN * size, falls), 0.5 * falls, max(own.slop * size, ROUNDING), stop_unsolved, self.threads,
            0.0 if self.sleep_after is None else float(self.sleep_after), SLEEP_SPEED * size,
            self.iterations is None,
        )  # fmt: skip


def step_of(method: Any) -> float:
    """The step of a method of fixed steps, s. `simulation.step_choice` chooses it where the user did not."""
    if method.dt is None:
        raise ValueError(f"method {method.name!r} takes fixed steps; give dt, in s")
    return float(method.dt)


def mechanism_bounces(model: Model) -> bool:
    """Whether something that has joints, or moves in joint coordinates, can bounce: see `contact.mechanism_impacts`."""
    scene, forces = model.scene, model.tables["forces"]
    if model.tree is None and not model.joint_names:
        return False
    surfaces = [item.material.restitution for item in scene.touching() if item.material is not None]
    rules = [rule.restitution or 0.0 for rule in scene.contact_rules]
    stops = forces["restitution"][forces["kind"] == STOP]
    return max((0.0, *surfaces, *rules, *stops)) > 0.0


def contact_entry(model: Model, size: int) -> int:
    """Where the entries of contact begin in a state of that size; 0 where there are none."""
    if CONTACT_WORK[0] not in model.force_names:
        return 0
    return size - len(LEDGER) - len(model.force_names) + model.force_names.index(CONTACT_WORK[0])


def step_events(model: Model) -> StepEvents:
    """The user's events; where bodies step beside particles, they are looked at once for both."""
    return StepEvents(model.event_addresses, [event.direction for event in model.events])


def require_rigid(scene: Scene, who: str) -> None:
    """Raises ValueError for a scene with a compliant surface, naming its owner."""
    for item in scene.touching():
        if item.material is not None and item.material.stiffness is not None:
            raise ValueError(
                f"{who} supports rigid surfaces only, and that of {item.name!r} has a stiffness of "
                f"{item.material.stiffness:g} N/m; use method={TIME_STEPPING!r} without particles, or leave the stiffness out"
            )


NO_EVENTS = np.zeros(0, np.int64)


# Stepper of particles with time steps of their own, and of the bodies beside them -------------------------------------

# As MARGIN, of particles in implicit steps, which may be pulled where they were not on their way to.
IMPLICIT_MARGIN = 0.3


def compiled_for_particles(method: FixedSteps, model: Model) -> list[CFunction]:
    """What steps of particles call, and those of the bodies beside them."""
    own: list[CFunction] = [PARTICLE_STEP, *([PARTICLE_DETECT] if model.scene.touching() else [])]
    if model.body_names:
        own += [ROUNDS, *([TREES] if model.tree is not None else [JOINED] if model.graph.rows else [])]
        own += method.compiled_for_bodies(model)
    return own


def particle_stepper(
    method: FixedSteps, linear_solver: str, model: Model, mechanism: Mechanism, stop_unsolved: bool
) -> ParticleStepper:
    """The stepper of particles, and of bodies beside them. Raises ValueError."""
    found = particle_in_joint(model)
    if found:
        raise ValueError(
            f"method {method.name!r} moves particles separately from joints, but {found[0]!r} holds {found[1]}; use an "
            "integration method, such as 'rk4', or attach(). For a spring, attach() a light particle to the body, and "
            "connect the two by springs()"
        )
    require_one_attachment(model)
    explicit = method.name == TIME_STEPPING
    require_agreement(model.size, mechanism.system)
    pattern = block_pattern(model.particle_count, []) if explicit else model.particles.pattern()
    entry = ledger_at(model) + (model.force_names.index(CONTACT_WORK[0]) if CONTACT_WORK[0] in model.force_names else 0)
    touching = [group for group in model.particles.groups if group.material is not None]
    radii = np.concatenate([np.full(len(group), group.radius) for group in model.particles.groups])
    balls = radii[radii > 0.0]
    margin = (IMPLICIT_MARGIN if len(balls) and not explicit else MARGIN) * float(balls.min(initial=1.0))
    detector = None
    if touching and model.scene.touching():
        require_rigid(model.scene, "contact of particles")
        for group in touching:
            if group.material.stiffness is not None:
                raise ValueError(
                    f"particles {group.name!r}: material has a stiffness of {group.material.stiffness:g} N/m, but contact of "
                    "particles supports rigid surfaces only; leave it out"
                )
        particles, collision = particles_that_touch(model, radii), collision_of(model.scene)
        require_agreement(model.size, mechanism.system, collision, particles)
        detector = ParticleDetector(particles, collision, len(model.body_names), margin)
    own = ParticleSettings(
        method.name, step_of(method), float(method.newton_tolerance), linear_solver, float(method.linear_tolerance), margin,
        entry, stop_unsolved,
    )  # fmt: skip
    bodies = None
    if model.body_names:
        bodies = method.contact_stepper(model, mechanism, stop_unsolved, StepEvents(NO_EVENTS, []))
    return ParticleStepper(model, mechanism, pattern, own, detector, bodies, step_events(model))


def particle_in_joint(model: Model) -> tuple[str, str] | None:
    """Names of a joint, or a force of bodies, and of a particle that it holds and that is not pinned, if there is one."""
    joints = (model.scene.joints[name] for name in model.joint_names)
    for item in (*joints, *model.scene.forces.values()):
        frames = item.bodies if isinstance(item, Joint) else (item.a, item.b) if isinstance(item, Force) else ()
        for frame in frames:
            if isinstance(frame, Particle) and not frame.group.pinned[frame.index]:
                return item.name, frame.name
    return None


def require_one_attachment(model: Model) -> None:
    """Raises ValueError for a particle that two joints hold."""
    known: dict[int, str] = {}
    for row, name in zip(model.attachments, model.attachment_names, strict=True):
        if row[0] in known:
            raise ValueError(
                f"{known[row[0]]!r} and {name!r} hold the same particle, but time steps of particles support one joint on "
                "each; use an integration method, such as 'rk4', or leave one out"
            )
        known[row[0]] = name


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
