"""The directions in which a particle is locked to what it touches, and how far it shall go in them; see `touch`."""

from ..jit import inlined, njit
from ..linalg.block_matrix import load_3
from ..unchecked import peek
from ..vec import add, add_scaled, cross, dot, load3, norm, perpendicular, scale, store3, sub
from .touch import axis_of

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
    v = scale(peek(system.particle_inverse_mass, particle), load_3(steps.start, 3 * (n + particle)))
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
