"""Touches: the contacts and attachments of one particle, which fix it to a body in some directions.

A contact with the unit normal n requires n·d ≥ −g of the displacement d of its particle relative to the body, g the
separation, and a force f_n ≥ 0, one of the two an equality. Friction keeps the rest s of the displacement zero unless
that takes more than μ f_n; then it is μ f_n against s. Active contacts lock their particle in the normal, and one that
sticks in all directions; the forces are the reactions of the locks. A sliding one gets the force −κ s with κ = μ
f_n/|s| of the last solve, which belongs to the matrix, so that slip is never reversed. Then contacts that pull are
released, those that would be crossed are closed, and friction is updated (`newton.update_active_set`): rounds of linear
solves until little changes.
"""

import ctypes
from typing import Any

import numpy as np

from ..collide.broad_phase import place_colliders
from ..collide.particles import CONTACTS, NEED_CONTACTS, Particles, meet_particles, with_contacts
from ..collide.tables import Collision
from ..core.c_function import C_SIGNATURE, C_TYPE, part_of, view, viewer
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, norm, perpendicular, scale, store3, sub, unit
from ..core.simd import load
from ..core.status import NON_FINITE
from ..core.tables import address_table, table_at
from ..dynamics.kinematics import load9
from ..linalg.block_matrix import add_3, load_3
from .tables import BODY_ROW

# Geometry of a touch --------------------------------------------------------------------------------------------------

CREEP = 1e-5  # m/s: slower sliding is treated as sticking in the next step


@inlined
def axis_of(touch, k):
    """The k-th of the orthonormal axes of a touch."""
    return (touch.axes[3 * k], touch.axes[3 * k + 1], touch.axes[3 * k + 2])


@inlined
def part_along(touch, axes, v):
    """The part of v in the span of the first `axes` axes."""
    out = (0.0, 0.0, 0.0)
    for k in range(axes):
        axis = axis_of(touch, k)
        out = add_scaled(out, dot(axis, v), axis)
    return out


@inlined
def locked_part(touch, v):
    """E Eᵀ v of the locked directions E."""
    return part_along(touch, touch.locked, v)


@inlined
def free_part(touch, v):
    """v − E Eᵀ v."""
    return sub(v, locked_part(touch, v))


@inlined
def normal_part(touch, v):
    """The part of v in the span of the normals."""
    return part_along(touch, touch.normals, v)


@inlined
def tangent_part(touch, v):
    """The part of v at right angles to the normals."""
    return sub(v, normal_part(touch, v))


@inlined
def slides(touch):
    """Whether sliding friction acts on it."""
    if touch.feet > 1:
        return touch.grips[0] != 0.0 or touch.grips[1] != 0.0 or touch.grips[2] != 0.0
    return touch.grip != 0.0 and touch.stick == 0 and touch.normals > 0


# Feet -----------------------------------------------------------------------------------------------------------------
# A touch of contacts at different bodies has a foot at each: the displacement of the particle along n_c is that of the body
# of foot c, and friction is that of each foot along its own surface. e_k = Σ_c lean_kc n_c, so that the bodies give it the
# displacement Σ_k e_k Σ_c lean_kc n_c·d_c, and foot c gets the part n_c Σ_k lean_kc e_k·f of a reaction f: `carried_part`
# and `push_carriers` are transposes of each other. Any other touch has one foot, with all axes.


@inlined
def foot_body(touch, c):
    """The body of a foot."""
    return touch.bodies[c] if touch.feet > 1 else touch.body


@inlined
def foot_arm(touch, c):
    """The arm of a foot at its body."""
    if touch.feet > 1:
        return (touch.arms[3 * c], touch.arms[3 * c + 1], touch.arms[3 * c + 2])
    return load3(touch.arm)


@inlined
def foot_normal(touch, c):
    """The normal of a foot of several."""
    return (touch.bases[3 * c], touch.bases[3 * c + 1], touch.bases[3 * c + 2])


@inlined
def foot_grip(touch, c):
    """κ of a foot; 0 if it does not slide."""
    if touch.feet > 1:
        return touch.grips[c]
    return touch.grip if slides(touch) else 0.0


@inlined
def foot_tangent(touch, c, v):
    """The part of v along the surface of a foot."""
    if touch.feet > 1:
        n = foot_normal(touch, c)
        return add_scaled(v, -dot(n, v), n)
    return tangent_part(touch, v)


@inlined
def foot_point(touch, c, motion):
    """The displacement of the body of a foot at the particle; nothing of the world."""
    return point_displacement(motion, BODY_ROW * foot_body(touch, c), foot_arm(touch, c))


@inlined
def push_foot(touch, c, force, values):
    """Add a force at a foot, and its moment, to the six numbers of its body."""
    at = BODY_ROW * foot_body(touch, c)
    add_3(values, at, force)
    add_3(values, at + 3, cross(foot_arm(touch, c), force))


@inlined
def carried_by_foot(touch, c, v):
    """The displacement in the locked directions that a foot gives to the particle where its body has v there."""
    if touch.feet == 1:
        return locked_part(touch, v)
    along, out = dot(foot_normal(touch, c), v), (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        out = add_scaled(out, touch.lean[3 * k + c] * along, axis_of(touch, k))
    return out


@inlined
def share_of_foot(touch, c, force):
    """The part of a reaction that a foot bears: the transpose of `carried_by_foot`."""
    if touch.feet == 1:
        return locked_part(touch, force)
    return scale(normal_share(touch, c, force), foot_normal(touch, c))


@inlined
def normal_share(touch, c, force):
    """The force along the normal of a foot of several, of a reaction."""
    size = 0.0
    for k in range(touch.locked):
        size += touch.lean[3 * k + c] * dot(axis_of(touch, k), force)
    return size


@njit
def carried_part(touch, motion, system):
    """The displacement in the locked directions that the bodies give to the particle by their motion."""
    out = (0.0, 0.0, 0.0)
    for c in range(touch.feet):
        if foot_body(touch, c) < system.settings[0].rigid:
            out = add(out, carried_by_foot(touch, c, foot_point(touch, c, motion)))
    return out


@njit
def push_carriers(touch, reaction, values, system):
    """Add a reaction in the locked directions to the wrenches of the bodies."""
    for c in range(touch.feet):
        if foot_body(touch, c) < system.settings[0].rigid:
            push_foot(touch, c, share_of_foot(touch, c, reaction), values)


@njit
def slip_at(touch, c, u, motion, system):
    """The slip at a foot of a particle with the displacement u, where bodies move as in `motion`."""
    if foot_body(touch, c) < system.settings[0].rigid:
        u = sub(u, foot_point(touch, c, motion))
    return foot_tangent(touch, c, u)


@njit
def is_carried(touch, steps):
    """Whether any body of a touch responds to forces."""
    some = False
    for c in range(touch.feet):
        some = some or steps.driven[foot_body(touch, c)] == 0
    return some


@inlined
def body_displacement(body, point, motion, first, system):
    """The displacement of a point of a body, with the displacements and turns that are in `motion` from `first` on."""
    if body >= system.settings[0].rigid:
        return (0.0, 0.0, 0.0)
    return point_displacement(motion, first + BODY_ROW * body, sub(point, load3(system.kinematics[body].x)))


@inlined
def point_displacement(motion, at, arm):
    """δ + θ × r at the arm r of a body, with δ and θ that are at `at`."""
    return add(load_3(motion, at), cross(load_3(motion, at + 3), arm))


@inlined
def stage_fraction(steps):
    """The displacement of the stage over that of the step."""
    return 1.0 / steps.options[0].stretch


@njit
def missing_displacement(touch, system, steps):
    """The displacement in the locked directions still missing at `iterate`, besides the carrier's own in this solve."""
    i = 3 * touch.particle
    made = sub(load_3(steps.iterate, i), load_3(steps.start, i))
    made = sub(made, carried_part(touch, steps.moved, system))
    out = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        out = add_scaled(out, touch.target[k] - dot(axis, made), axis)
    return out


@njit
def friction_at(touch, share, body_share, system, steps):
    """−κ s of a sliding touch, where the particle and its carriers have made `share` and `body_share` of `change`."""
    out = (0.0, 0.0, 0.0)
    if slides(touch):
        for c in range(touch.feet):
            out = add(out, foot_friction(touch, c, share, body_share, system, steps))
    return out


@njit
def foot_friction(touch, c, share, body_share, system, steps):
    """−κ s of a foot, on the particle; see `friction_at`."""
    grip = foot_grip(touch, c)
    if grip == 0.0:
        return (0.0, 0.0, 0.0)
    return scale(-grip, slip_of(touch, c, share, body_share, system, steps))


@njit
def push_by_friction(touch, sign, values, system, steps):
    """Add `sign` times the friction of a touch, as it is at `iterate`, to the wrenches of its bodies."""
    if slides(touch):
        for c in range(touch.feet):
            if foot_body(touch, c) < system.settings[0].rigid:
                push_foot(touch, c, scale(sign, foot_friction(touch, c, 0.0, 0.0, system, steps)), values)


@njit
def slip_of(touch, c, share, body_share, system, steps):
    """The displacement along the surface of a foot, relative to its body, after `share` and `body_share` of `change`."""
    i = 3 * touch.particle
    slip = add_scaled(sub(load_3(steps.iterate, i), slip_origin(i, steps)), share, load_3(steps.change, i))
    if foot_body(touch, c) < system.settings[0].rigid:
        slip = sub(slip, foot_point(touch, c, steps.moved))
        slip = sub(slip, foot_point(touch, c, steps.surface))
        slip = add_scaled(slip, -body_share, foot_point(touch, c, steps.shift))
    return foot_tangent(touch, c, slip)


@inlined
def slip_origin(i, steps):
    """The position that slip is measured from: the start of the stage, which for the explicit scheme is half a step later."""
    if steps.options[0].explicit != 0:
        return load_3(steps.base, i)
    return load_3(steps.start, i)


# Locked directions ----------------------------------------------------------------------------------------------------

INDEPENDENT = 1e-6  # sine of the angle to the plane of the others: a normal that is closer to it adds no direction


@njit
def lock(touch, contacts, system, steps):
    """Fill the locked directions of a touch, and its target displacement in them relative to the bodies of the contacts that
    they are from. The nearest contacts come first: others with the same normal add nothing."""
    touch.locked, touch.normals = 0, 0
    several = False
    c = next_active(touch, -1, contacts, steps)
    while c >= 0 and touch.locked < 3:
        contact = contacts[c]
        n = load3(contact.normal)
        known, left, k_new = 0.0, n, touch.locked
        lean = (0.0, 0.0, 0.0)
        for k in range(touch.locked):
            axis = axis_of(touch, k)
            share = dot(n, axis)
            known += share * touch.target[k]
            left = add_scaled(left, -share, axis)
            lean = add_scaled(lean, -share, (touch.lean[3 * k], touch.lean[3 * k + 1], touch.lean[3 * k + 2]))
        sine = norm(left)
        if sine > INDEPENDENT:
            target = target_displacement(touch.particle, contact, system, steps)
            add_axis(touch, scale(1.0 / sine, left), (target - known) / sine)
            arm = load3(contact.position)
            if contact.body < system.settings[0].rigid:
                arm = sub(arm, load3(system.kinematics[contact.body].x))
            for k in range(3):
                touch.lean[3 * k_new + k] = (1.0 if k == k_new else lean[k]) / sine
                touch.arms[3 * k_new + k], touch.bases[3 * k_new + k] = arm[k], n[k]
            touch.contacts[k_new], touch.bodies[k_new] = c, contact.body
            several = several or contact.body != touch.bodies[0]
        c = next_active(touch, c, contacts, steps)
    touch.normals = touch.locked
    if touch.normals == 0:
        touch.feet = 1
        return
    touch.body = touch.bodies[0]
    store3(touch.arm, (touch.arms[0], touch.arms[1], touch.arms[2]))
    if several:
        if touch.feet != touch.normals:
            touch.stick, touch.grip = 0, 0.0
            store3(touch.grips, (0.0, 0.0, 0.0))
            store3(touch.slid, (0.0, 0.0, 0.0))
        touch.feet = touch.normals
        return
    touch.feet = 1
    if touch.stick != 0:
        complete_axes(touch, system, steps)


@njit
def next_active(touch, last, contacts, steps):
    """The active contact of a touch that comes after the contact `last` (−1: the first), by their separations; −1: none."""
    best = -1
    for c in range(touch.first, touch.last):
        if steps.active[c] == 0 or c == last:
            continue
        here = contacts[c].separation
        if last >= 0:
            there = contacts[last].separation
            if here < there or (here == there and c < last):
                continue
        if best < 0 or here < contacts[best].separation:
            best = c
    return best


# A closing contact ends with no velocity along its normal, or with a bounce; a remaining gap is closed, and an overlap
# is not opened, as that would take a velocity: `stage.correct_position` does. The explicit scheme has moved for half a
# step before; a scheme whose stage is at θ < 1 ends with v₁ = v₀ + (v − v₀)/θ.
@njit
def target_displacement(particle, contact, system, steps):
    """The displacement of a contact's particle along its normal relative to the body, since contacts were detected."""
    options, n = steps.options[0], load3(contact.normal)
    v, c = velocities_before(particle, contact.body, load3(contact.position), system, steps)
    closing, e = dot(n, sub(v, c)), contact.restitution
    if closing < 0.0 and options.stretch != 1.0:
        theta = options.fraction
        return theta * theta * options.dt * ((1.0 - theta) / theta - e) * closing
    if closing < 0.0 and e > 0.0:
        half = 0.5 if options.explicit != 0 else 1.0
        return displacement_before(v, contact, steps) - e * closing * half * options.dt
    return displacement_to_surface(v, contact, steps)


@inlined
def displacement_before(v, contact, steps):
    """The displacement along a contact's normal before the stage, m, of a particle with the velocity v at the start of the
    step: of the explicit scheme that of half a step."""
    options = steps.options[0]
    return 0.5 * options.dt * dot(load3(contact.normal), v) if options.explicit != 0 else 0.0


@inlined
def displacement_to_surface(v, contact, steps):
    """The displacement along a contact's normal, m, with which such a particle ends on the surface, or overlaps it as much as
    before the stage."""
    before = displacement_before(v, contact, steps)
    return before - stage_fraction(steps) * max(contact.separation + before, 0.0)


@njit
def velocities_before(particle, body, point, system, steps):
    """The velocities of a particle at the start of the step and of a point of a body where contacts were detected."""
    n = system.settings[0].particles
    v = scale(load(system.particle_inverse_mass, particle), load_3(steps.start, 3 * (n + particle)))
    if body >= system.settings[0].rigid:
        return v, (0.0, 0.0, 0.0)
    kin = system.kinematics[body]
    return v, add(load3(kin.v), cross(load3(kin.omega), sub(point, load3(kin.x))))


@inlined
def add_axis(touch, axis, target):
    """Lock one more direction, with its target displacement."""
    for k in range(3):
        touch.axes[3 * touch.locked + k] = axis[k]
    touch.target[touch.locked] = target
    touch.locked += 1


@njit
def complete_axes(touch, system, steps):
    """Lock the tangents too, so that the step ends without slip; see `target_displacement`."""
    options = steps.options[0]
    point = load3(touch.arm)
    if touch.body < system.settings[0].rigid:
        point = add(point, load3(system.kinematics[touch.body].x))
    v, c = velocities_before(touch.particle, touch.body, point, system, steps)
    way = (0.0, 0.0, 0.0)
    if options.explicit != 0:
        way = scale(0.5 * options.dt, v)
    elif options.stretch != 1.0:
        way = scale(options.fraction * (1.0 - options.fraction) * options.dt, sub(v, c))
    if touch.body < system.settings[0].rigid:
        surface = foot_point(touch, 0, steps.surface)
        way = add_scaled(way, 1.0 if options.stretch == 1.0 else options.fraction, surface)
    if touch.locked == 1:
        axis = perpendicular(axis_of(touch, 0))
        add_axis(touch, axis, dot(axis, way))
    if touch.locked == 2:
        axis = cross(axis_of(touch, 0), axis_of(touch, 1))
        add_axis(touch, axis, dot(axis, way))


# The touches of a step ------------------------------------------------------------------------------------------------


@njit
def gather_touches(particles, system, steps):
    """Fill the touches of a step from its contacts, which are in the order of their particles. Contacts that would be crossed
    without them are active and stick."""
    contacts, inverse = particles.contacts, system.particle_inverse_mass
    number = particles.counts[CONTACTS]
    touches, counts, tied = steps.touches, steps.touch_counts, steps.tied
    first = 0
    while first < number:
        particle = contacts[first].particle
        last = first
        while last < number and contacts[last].particle == particle:
            last += 1
        if load(inverse, particle) > 0.0 and (tied.shape[0] == 0 or tied[particle] == 0):
            touch = touches[counts[0]]
            counts[0] += 1
            touch.particle, touch.first, touch.last = particle, first, last
            start_touch(touch, contacts, system, steps)
        first = last


@njit
def gather_attachments(system, steps):
    """Add a touch for each attachment, with a target that corrects drift: locked to its body in all directions, or along its
    rod."""
    attachments, touches, counts = steps.attachments, steps.touches, steps.touch_counts
    kinematics = system.kinematics
    tied = steps.tied
    for k in range(attachments.shape[0]):
        if tied[attachments[k].particle] == 0:
            continue  # released
        attachment, touch = attachments[k], touches[counts[0]]
        counts[0] += 1
        kin = kinematics[attachment.body]
        arm = matvec(load9(kin.rotation), load3(attachment.anchor))
        touch.particle, touch.first, touch.last, touch.body = attachment.particle, 0, 0, attachment.body
        touch.locked, touch.normals, touch.stick, touch.grip, touch.feet = 0, 0, 1, 0.0, 1
        store3(touch.arm, arm)
        store3(touch.force, (0.0, 0.0, 0.0))
        store3(touch.friction, (0.0, 0.0, 0.0))
        if attachment.length > 0.0:
            add_rod(attachment, arm, touch, system, steps)
            continue
        way = attachment_displacement(attachment.particle, attachment.body, arm, system, steps)
        for c in range(3):
            add_axis(touch, unit(c), way[c])


# A carrier's displacement is of first order, and lacks ½ τ² ω × (ω × r). Where a step ends with twice the velocity
# of its stage less the one before, as those of leapfrog and of the midpoint rule do, a particle that is put back at once
# swings about its anchor, by the midpoint rule ever further. It ends with the velocity c of its anchor if it is ahead of
# that by ½ h v in the stage of leapfrog, whose bodies are in the middle, and by ¼ h (v − c) in that of the midpoint rule
# (θ (1 − θ) h (v − c) in a stage at θ); one half of the remaining error is corrected.
@njit
def attachment_displacement(particle, body, arm, system, steps):
    """The target displacement of an attached particle relative to its carrier in a stage."""
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


# The axis is the direction u of the rod in the middle of a step, or at its start for implicit Euler, so that its force is of
# the order of the scheme. A displacement d along u and w across it makes the rod longer by d + w²/2l; so with the velocity w
# across it, −½ τ² |w|²/l is lacking, beside what the anchor lacks, as above. About the middle that is the same before and
# after: the velocity along u changes its sign. One half of the remaining error is corrected there.
@njit
def add_rod(attachment, arm, touch, system, steps):
    """Lock a touch along a rod, unless its ends meet."""
    options, kin = steps.options[0], system.kinematics[attachment.body]
    i, omega, theta = attachment.particle, load3(kin.omega), options.fraction
    explicit, halfway = options.explicit != 0, options.stretch != 1.0
    point = add(load3(kin.x), arm)
    tau = theta * options.dt
    v, c = velocities_before(i, attachment.body, point, system, steps)
    relative, along = sub(v, c), sub(load_3(steps.start, 3 * i), point)
    if explicit:
        along = add_scaled(along, tau, v)
    off = attachment.length - norm(along)
    if halfway:
        along = add_scaled(along, tau, relative)
    length = norm(along)
    if length == 0.0:
        return
    u = scale(1.0 / length, along)
    rate = dot(u, relative)
    across = add_scaled(relative, -rate, u)
    bend = 0.5 * tau * tau * dot(across, across) / attachment.length
    lacking = 0.5 * tau * tau * dot(u, cross(omega, cross(omega, arm)))
    if explicit:
        way = tau * dot(u, v) + 0.5 * (off + lacking - bend - tau * rate)
    elif halfway:
        way = 0.5 * theta * off + lacking / theta
    else:
        way = off + lacking - bend
    add_axis(touch, u, way)


@njit
def start_touch(touch, contacts, system, steps):
    """Make contacts active that the motion without them would cross, apply the warm start, and lock the touch."""
    active, i = steps.active, 3 * touch.particle
    path = sub(load_3(steps.aim, i), load_3(steps.start, i))
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        d = sub(path, body_displacement(contact.body, load3(contact.position), steps.wanted, 0, system))
        active[c] = 1 if dot(load3(contact.normal), d) < -stage_fraction(steps) * contact.separation else 0
    touch.stick, touch.grip, touch.returns, touch.body, touch.feet = 1, 0.0, 0, system.settings[0].rigid, 1
    store3(touch.slid, (0.0, 0.0, 0.0))
    store3(touch.friction, (0.0, 0.0, 0.0))
    store3(touch.force, (0.0, 0.0, 0.0))
    load_warm_start(touch, contacts, steps)
    lock(touch, contacts, system, steps)


@njit
def load_warm_start(touch, contacts, steps):
    """Start from the state of this particle in the step before, if it touched then: its nearest contact is active."""
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
def store_warm_start(steps):
    """Store sticking and sliding for the warm start of the next step."""
    if steps.options[0].contacts == 0:
        return
    memory, touches = steps.memory, steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.locked > 0:
            was = memory[touch.particle]
            was.step, was.stick, was.grip = steps.report[0].steps + 1, touch.stick, touch.grip
            if (
                touch.feet == 1
                and touch.stick == 0
                and norm(load3(touch.friction)) > touch.grip * CREEP * steps.stage[0].tau
            ):
                continue
            was.stick, was.grip = 1, 0.0


# Detection ------------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def find(bodies, h, margin, y, motion, particles, collision):
    """Fill the contacts over h of the particles with positions x and velocities v, both in `motion`, and of bodies as in y.
    Returns a status."""
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NON_FINITE
    n = motion.shape[0] // 4
    return meet_particles(part_of(motion, 0, n), part_of(motion, 2 * n, n), h, margin, particles, collision)


def particle_detect_entry(data, task, h, y, n, motion, m):
    """`find` as a C function. `data`: the addresses of the tables of particles and of the collision, the number of bodies,
    and the address of the margin."""
    at = _addresses(data, 4)
    particles, collision = table_at(Particles, at[0]), table_at(Collision, at[1])
    return find(at[2], h, _floats(at[3], 1)[0], _floats(y, n), _floats(motion, m), particles, collision)


PARTICLE_DETECT_ENTRY = CFunction(particle_detect_entry, C_SIGNATURE)


class ParticleDetector:
    """The tables of contacts of particles, and the C function that fills them: its `address`, and `data` to call it with."""

    def __init__(self, particles: Particles, collision: Collision, bodies: int, margin: float) -> None:
        self.particles, self.collision = particles, collision
        self._bodies, self._margin = bodies, np.array([margin])
        self._fit()

    def _fit(self) -> None:
        """Take the addresses of the tables."""
        self._tables = address_table(self.particles), address_table(self.collision)
        numbers = [*(int(table.ctypes.data) for table in self._tables), self._bodies, int(self._margin.ctypes.data)]
        self._data = np.array(numbers, np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = PARTICLE_DETECT_ENTRY.address

    def _call(self, data: int, task: int, h: float, y: int, n: int, motion: int, m: int) -> int:
        margin = float(self._margin[0])
        return int(find(self._bodies, h, margin, view(y, n), view(motion, m), self.particles, self.collision))

    def find(self, y: np.ndarray, motion: np.ndarray, h: float) -> int:
        """Fill the contacts as the C function does; returns a status."""
        function = C_TYPE(self.address)
        return int(function(self.data, 0, h, y.ctypes.data, y.size, motion.ctypes.data, motion.size))

    @property
    def contacts(self) -> Any:
        """The contacts of the last call."""
        return self.particles.contacts[: int(self.particles.counts[CONTACTS])]

    def make_room(self) -> None:
        """Make room for as many contacts as the last call needed, and half as many more."""
        self.particles = with_contacts(self.particles, int(1.5 * self.particles.counts[NEED_CONTACTS]))
        self._fit()
