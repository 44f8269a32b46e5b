"""What particles touch at the start of a step: from contacts, from what holds them to bodies, from the step before."""

from ..collide.particle_tables import CONTACTS
from ..jit import njit
from ..linalg.block_matrix import load_3
from ..mechanics.kinematics import load9
from ..unchecked import peek
from ..vec import add, add_scaled, cross, dot, load3, matvec, norm, scale, store3, sub, unit
from .lock import add_axis, lock, velocities_before
from .touch import CREEP, carried, part


@njit
def gather_touches(particles, system, steps):
    """The touches of a step from its contacts, which are in the order of their particles: those that would be crossed by
    the motion without them hold, and stick."""
    contacts, inverse = particles.contacts, system.particle_inverse_mass
    number = particles.counts[CONTACTS]
    touches, counts, tied = steps.touches, steps.touch_counts, steps.tied
    first = 0
    while first < number:
        particle = contacts[first].particle
        last = first
        while last < number and contacts[last].particle == particle:
            last += 1
        if peek(inverse, particle) > 0.0 and (tied.shape[0] == 0 or tied[particle] == 0):
            touch = touches[counts[0]]
            counts[0] += 1
            touch.particle, touch.first, touch.last = particle, first, last
            start_touch(touch, contacts, system, steps)
        first = last


@njit
def gather_attachments(system, steps):
    """Particles that are attached to bodies are locked to them, whatever they bear, and brought back where they drifted."""
    attachments, touches, counts = steps.attachments, steps.touches, steps.touch_counts
    kinematics = system.kinematics
    tied = steps.tied
    for k in range(attachments.shape[0]):
        if tied[attachments[k].particle] == 0:
            continue  # it was let go
        attachment, touch = attachments[k], touches[counts[0]]
        counts[0] += 1
        kin = kinematics[attachment.body]
        arm = matvec(load9(kin.rotation), load3(attachment.anchor))
        touch.particle, touch.first, touch.last, touch.body = attachment.particle, 0, 0, attachment.body
        touch.locked, touch.normals, touch.stick, touch.grip = 0, 0, 1, 0.0
        store3(touch.arm, arm)
        store3(touch.force, (0.0, 0.0, 0.0))
        store3(touch.friction, (0.0, 0.0, 0.0))
        way = way_to_carrier(attachment.particle, attachment.body, arm, system, steps)
        for c in range(3):
            add_axis(touch, unit(c), way[c])


# A carrier's displacement is of first order, and lacks ½ τ² ω × (ω × r) of the way. Where a step ends with twice the velocity
# of its stage less the one before, as those of leapfrog and of the midpoint rule do, a particle that were put back at once
# would swing about its place, by the midpoint rule ever further. It ends with the velocity c of its place if it is ahead of
# that by ½ h v in the stage of leapfrog, whose bodies are in the middle, and by ¼ h (v − c) in that of the midpoint rule
# (θ (1 − θ) h (v − c) in a stage at θ); of what it is off after that it makes good one half.
@njit
def way_to_carrier(particle, body, arm, system, steps):
    """How far an attached particle shall go beside its carrier in a stage."""
    options, kin = steps.options[0], system.kinematics[body]
    point, omega = add(load3(kin.x), arm), load3(kin.omega)
    off = sub(point, load_3(steps.start, 3 * particle))
    theta = options.fraction
    tau = theta * options.dt
    lacking = scale(0.5 * tau * tau, cross(omega, cross(omega, arm)))
    v, c = velocities_before(particle, body, point, system, steps)
    if options.explicit != 0:
        return add_scaled(scale(0.5, add_scaled(off, tau, v)), 1.5, lacking)
    if options.stretch != 1.0:
        ahead = add_scaled(scale(0.5 / (1.0 - theta), off), options.dt, sub(v, c))
        return add_scaled(scale(theta * (1.0 - theta), ahead), 1.0 / theta, lacking)
    return add(off, lacking)


@njit
def start_touch(touch, contacts, system, steps):
    active, i = steps.active, 3 * touch.particle
    path = sub(load_3(steps.aim, i), load_3(steps.start, i))
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        d = sub(path, carried(contact.body, load3(contact.position), steps.wanted, 0, system))
        active[c] = 1 if dot(load3(contact.normal), d) < -part(steps) * contact.separation else 0
    touch.stick, touch.grip, touch.returns, touch.body = 1, 0.0, 0, system.settings[0].rigid
    store3(touch.friction, (0.0, 0.0, 0.0))
    store3(touch.force, (0.0, 0.0, 0.0))
    recall(touch, contacts, steps)
    lock(touch, contacts, system, steps)


# What rests or slides now most likely did so in the step before.
@njit
def recall(touch, contacts, steps):
    """Begin with what was found for this particle in the step before, if it touches."""
    was = steps.memory[touch.particle]
    if was.step != steps.report[0].steps:
        return
    nearest = touch.first
    for c in range(touch.first, touch.last):
        if contacts[c].separation < contacts[nearest].separation:
            nearest = c
    steps.active[nearest] = 1
    touch.stick, touch.grip = was.stick, was.grip


@njit
def remember(steps):
    """Keep what was found, for the next step."""
    if steps.options[0].contacts == 0:
        return
    memory, touches = steps.memory, steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.locked > 0:
            was = memory[touch.particle]
            was.step, was.stick, was.grip = steps.report[0].steps + 1, touch.stick, touch.grip
            if touch.stick == 0 and norm(load3(touch.friction)) > touch.grip * CREEP * steps.stage[0].tau:
                continue
            was.stick, was.grip = 1, 0.0
