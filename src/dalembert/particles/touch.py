"""Contacts of particles within a step: which hold, and in which directions a particle is locked to what it touches.

A contact with the unit normal n asks n·d ≥ −g of the displacement d of its particle beside that of the body, g its
separation, and f_n ≥ 0 of its force, one of the two an equality; friction keeps the rest s of the displacement zero unless
that takes more than μ f_n, and is as much as that, against s, if so. Contacts that hold lock their particle in the normal,
and one that sticks in all directions; forces come out as what the locks bear. One that slides is pulled back by −κ s with
κ = μ f_n/|s| as found before, which belongs to the matrix, so that no slip is turned round. Then contacts that pull are let
go, those that would be crossed are closed, and friction is looked at anew: rounds of linear solves until little changes.
"""

from ..jit import inlined, njit
from ..linalg.block_matrix import add_3, load_3
from ..vec import add, add_scaled, cross, dot, load3, scale, sub
from .tables import BODY_ROW

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
