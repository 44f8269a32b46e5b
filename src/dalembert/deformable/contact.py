"""What particles touch at the start of a step: from contacts, from what holds them to bodies, from the step before."""

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

# ----------------------------------------------------------------------------------------------------------------------
# Contacts of particles within a step: which hold, and in which directions a particle is locked to what it touches.
#
# A contact with the unit normal n asks n·d ≥ −g of the displacement d of its particle beside that of the body, g its
# separation, and f_n ≥ 0 of its force, one of the two an equality; friction keeps the rest s of the displacement zero
# unless that takes more than μ f_n, and is as much as that, against s, if so. Contacts that hold lock their particle in
# the normal, and one that sticks in all directions; forces come out as what the locks bear. One that slides is pulled
# back by −κ s with κ = μ f_n/|s| as found before, which belongs to the matrix, so that no slip is turned round. Then
# contacts that pull are let go, those that would be crossed are closed, and friction is looked at anew: rounds of
# linear solves until little changes.


CREEP = 1e-5  # m/s: what slides more slowly may as well stick


@inlined
def axis_of(touch, k):
    return (touch.axes[3 * k], touch.axes[3 * k + 1], touch.axes[3 * k + 2])


@inlined
def part_along(touch, axes, v):
    """The part of v in the span of so many axes."""
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
    return sub(v, locked_part(touch, v))


@inlined
def normal_part(touch, v):
    """The part of v in the span of the normals."""
    return part_along(touch, touch.normals, v)


@inlined
def tangent_part(touch, v):
    return sub(v, normal_part(touch, v))


@inlined
def slides(touch):
    """Whether friction pulls at it."""
    return touch.grip != 0.0 and touch.stick == 0 and touch.normals > 0


@inlined
def carried(body, point, motion, first, system):
    """The displacement of a point of a body, with the displacements and turns that are in `motion` from `first` on."""
    if body >= system.settings[0].rigid:
        return (0.0, 0.0, 0.0)
    return shifted(motion, first + BODY_ROW * body, sub(point, load3(system.kinematics[body].x)))


@inlined
def shifted(motion, at, arm):
    """δ + θ × r at the arm r of a body, with δ and θ that are at `at`."""
    return add(load_3(motion, at), cross(load_3(motion, at + 3), arm))


@inlined
def body_point(touch, motion, at):
    """δ + θ × r of the carrier at the particle, with `motion` from `at` on: displacement, turn."""
    return shifted(motion, at, load3(touch.arm))


@inlined
def push_carrier(touch, force, values, at):
    """Add a force on the carrier at the particle, and its moment, to the six numbers at `at`."""
    add_3(values, at, force)
    add_3(values, at + 3, cross(load3(touch.arm), force))


@inlined
def part(steps):
    """How much of the way of a step is behind it at the time of the stage."""
    return 1.0 / steps.options[0].stretch


@njit
def missing(touch, system, steps):
    """The displacement in the locked directions that is still to be made, beside the carrier's own in this solve."""
    i = 3 * touch.particle
    made = sub(load_3(steps.place, i), load_3(steps.start, i))
    if touch.body < system.settings[0].rigid:
        made = sub(made, body_point(touch, steps.moved, BODY_ROW * touch.body))
    out = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        out = add_scaled(out, touch.target[k] - dot(axis, made), axis)
    return out


@njit
def friction_at(touch, share, body_share, system, steps):
    """−κ s of what slides, at `place` and so much of `change` further on, for the particle and for its carrier."""
    if not slides(touch):
        return (0.0, 0.0, 0.0)
    return scale(-touch.grip, slip_of(touch, share, body_share, system, steps))


@njit
def slip_of(touch, share, body_share, system, steps):
    """How far a touch has moved along what it touches, at `place` and so much of `change` further on."""
    i, n = 3 * touch.particle, 3 * system.settings[0].particles
    slip = add_scaled(sub(load_3(steps.place, i), slid_from(i, steps)), share, load_3(steps.change, i))
    if touch.body < system.settings[0].rigid:
        slip = sub(slip, body_point(touch, steps.moved, BODY_ROW * touch.body))
        slip = add_scaled(slip, -body_share, body_point(touch, steps.change, n + BODY_ROW * touch.body))
    return tangent_part(touch, slip)


@inlined
def slid_from(i, steps):
    """Where slip is counted from: the start of what a stage moves, of which the explicit scheme has half a step behind it."""
    if steps.options[0].explicit != 0:
        return load_3(steps.base, i)
    return load_3(steps.start, i)


# ----------------------------------------------------------------------------------------------------------------------
# The directions in which a particle is locked to what it touches, and how far it shall go in them; see `touch`.


INDEPENDENT = 1e-6  # sine of the angle to the plane of the others: a normal that is closer to it adds no direction


@njit
def lock(touch, contacts, system, steps):
    """The directions in which a touch is locked, and how far it shall go in them beside its carrier: the body of the
    contact with the least separation among those that hold."""
    active = steps.active
    touch.locked, touch.normals, least = 0, 0, 1e300
    for c in range(touch.first, touch.last):
        if active[c] == 0:
            continue
        contact = contacts[c]
        if contact.separation < least:
            least = contact.separation
            touch.body = contact.body
            store3(touch.arm, load3(contact.position))
        n = load3(contact.normal)
        known, left = 0.0, n
        for k in range(touch.locked):
            axis = axis_of(touch, k)
            share = dot(n, axis)
            known += share * touch.target[k]
            left = add_scaled(left, -share, axis)
        sine = norm(left)
        if touch.locked < 3 and sine > INDEPENDENT:
            add_axis(touch, scale(1.0 / sine, left), (landing(touch.particle, contact, system, steps) - known) / sine)
    touch.normals = touch.locked
    if touch.normals > 0 and touch.body < system.settings[0].rigid:
        store3(touch.arm, sub(load3(touch.arm), load3(system.kinematics[touch.body].x)))
    if touch.normals > 0 and touch.stick != 0:
        complete_axes(touch, system, steps)


# A contact that closes ends with no velocity along its normal, or with a bounce; what is left of a gap is closed, and an
# overlap is not opened, as that would take a velocity: `books` puts it right. The explicit scheme has moved for half a step
# before; a scheme whose stage is at θ < 1 ends with v₁ = v₀ + (v − v₀)/θ.
@njit
def landing(particle, contact, system, steps):
    """How far a contact's particle shall go along its normal, since contacts were looked for, beside the body."""
    options, n = steps.options[0], load3(contact.normal)
    v, c = velocities_before(particle, contact.body, load3(contact.position), system, steps)
    closing, e = dot(n, sub(v, c)), contact.restitution
    first = 0.5 * options.dt * dot(n, v) if options.explicit != 0 else 0.0
    gap = contact.separation + first
    if options.stretch != 1.0:
        theta = options.fraction
        impact = theta * theta * options.dt * ((1.0 - theta) / theta - e) * closing
        return impact if closing < 0.0 else -theta * max(gap, 0.0)
    if e > 0.0 and closing < 0.0:
        return first - e * closing * (0.5 * options.dt if options.explicit != 0 else options.dt)
    return first - max(gap, 0.0)


@njit
def velocities_before(particle, body, point, system, steps):
    """Of a particle at the start of the step, and of a point of a body, in world axes, where contacts were looked for."""
    n = system.settings[0].particles
    v = scale(load(system.particle_inverse_mass, particle), load_3(steps.start, 3 * (n + particle)))
    if body >= system.settings[0].rigid:
        return v, (0.0, 0.0, 0.0)
    kin = system.kinematics[body]
    return v, add(load3(kin.v), cross(load3(kin.omega), sub(point, load3(kin.x))))


@inlined
def add_axis(touch, axis, target):
    for k in range(3):
        touch.axes[3 * touch.locked + k] = axis[k]
    touch.target[touch.locked] = target
    touch.locked += 1


@njit
def complete_axes(touch, system, steps):
    """Lock what is left too, so that the step ends without slip; see `landing`."""
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
    if touch.locked == 1:
        axis = perpendicular(axis_of(touch, 0))
        add_axis(touch, axis, dot(axis, way))
    if touch.locked == 2:
        axis = cross(axis_of(touch, 0), axis_of(touch, 1))
        add_axis(touch, axis, dot(axis, way))


# ----------------------------------------------------------------------------------------------------------------------


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
        if load(inverse, particle) > 0.0 and (tied.shape[0] == 0 or tied[particle] == 0):
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


# ----------------------------------------------------------------------------------------------------------------------
# What particles touch, behind a C pointer, so that the step is compiled once for all shapes.


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def find(bodies, h, margin, y, place, particles, collision):
    """Contacts of the particles at x with the velocities v, both in `place`, over h, bodies being as in y. A status."""
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NON_FINITE
    n = place.shape[0] // 4
    return meet_particles(part_of(place, 0, n), part_of(place, 2 * n, n), h, margin, particles, collision)


# `data`: the addresses of the tables of particles and of the collision, the number of bodies, and the address of the margin.
def particle_detect_entry(data, task, h, y, n, place, m):
    at = _addresses(data, 4)
    return find(
        at[2],
        h,
        _floats(at[3], 1)[0],
        _floats(y, n),
        _floats(place, m),
        table_at(Particles, at[0]),
        table_at(Collision, at[1]),
    )


PARTICLE_DETECT_ENTRY = CFunction(particle_detect_entry, C_SIGNATURE)


class ParticleDetector:
    """The tables of particles that touch, and the C function that fills them: `address` and `data` to hand it."""

    def __init__(self, particles: Particles, collision: Collision, bodies: int, margin: float) -> None:
        self.particles, self.collision = particles, collision
        self._bodies, self._margin = bodies, np.array([margin])
        self._fit()

    def _fit(self) -> None:
        self._tables = address_table(self.particles), address_table(self.collision)
        numbers = [*(int(table.ctypes.data) for table in self._tables), self._bodies, int(self._margin.ctypes.data)]
        self._data = np.array(numbers, np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = PARTICLE_DETECT_ENTRY.address

    def _call(self, data: int, task: int, h: float, y: int, n: int, place: int, m: int) -> int:
        return int(
            find(self._bodies, h, float(self._margin[0]), view(y, n), view(place, m), self.particles, self.collision)
        )

    def find(self, y: np.ndarray, place: np.ndarray, h: float) -> int:
        """Fill the contacts as the C function does; returns a status."""
        function = C_TYPE(self.address)
        return int(function(self.data, 0, h, y.ctypes.data, y.size, place.ctypes.data, place.size))

    @property
    def contacts(self) -> Any:
        """The contacts that were found last."""
        return self.particles.contacts[: int(self.particles.counts[CONTACTS])]

    def make_room(self) -> None:
        """As many contacts as the last call asked for, and half as many more."""
        self.particles = with_contacts(self.particles, int(1.5 * self.particles.counts[NEED_CONTACTS]))
        self._fit()
