"""The stepper of particles that have time steps of their own, with the bodies beside them."""

from __future__ import annotations

import numpy as np

from ...agreement import require_agreement
from ...collide.from_scene import collision_of
from ...collide.particle_detect import make_particles
from ...collide.particle_tables import Particles
from ...jit import CFunction
from ...linalg.block_pattern import block_pattern
from ...mechanics.mechanism import Mechanism
from ...model.compile import Model
from ...model.tables import CONTACT_WORK
from ...particles.detect import COMPILED as PARTICLE_DETECT
from ...particles.detect import ParticleDetector
from ...particles.make_steps import ParticleSettings, ledger_at
from ...particles.step import COMPILED as PARTICLE_STEP
from ...particles.stepping import ParticleStepper
from ...scene.contact import Material
from ...scene.force import Force
from ...scene.joint import Joint
from ...scene.particles import Particle
from ..stepper import StepEvents
from .contact import MARGIN, NO_EVENTS, TIME_STEPPING, FixedSteps, step_events

# As MARGIN, of particles in implicit steps, which may be pulled where they were not on their way to.
IMPLICIT_MARGIN = 0.3


def compiled_for_particles(method: FixedSteps, model: Model) -> list[CFunction]:
    """What steps of particles call, and those of the bodies beside them."""
    own: list[CFunction] = [PARTICLE_STEP, *([PARTICLE_DETECT] if model.scene.touching() else [])]
    return [*own, *(method.compiled_for_bodies(model) if model.body_names else [])]


def particle_stepper(
    method: FixedSteps, linear_solver: str, model: Model, mechanism: Mechanism, stop_unsolved: bool
) -> ParticleStepper:
    """The stepper of particles, and of bodies beside them. Raises ValueError."""
    found = particle_in_joint(model)
    if found:
        raise ValueError(
            f"method {method.name!r} moves particles apart from joints, and {found[0]!r} holds {found[1]}; use an "
            "integration method, such as 'rk4', or attach()"
        )
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
        particles, collision = particles_that_touch(model, radii), collision_of(model.scene)
        require_agreement(model.size, mechanism.system, collision, particles)
        detector = ParticleDetector(particles, collision, len(model.body_names), margin)
    own = ParticleSettings(
        method.name, float(method.dt), float(method.newton_tolerance), linear_solver, float(method.linear_tolerance), margin,
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
