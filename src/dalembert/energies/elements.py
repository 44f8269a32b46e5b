"""Energy, forces and matrix of all elements of a model."""

import numpy as np

from ..addresses import reader
from ..jit import njit
from ..unchecked import peek
from . import angle, area, cloth, curvature, hinge, spring, tetrahedron, volume
from .loops import make_loops
from .tables import (
    ANGLE,
    ANGLE_ELEMENT,
    AREA,
    AREA_ELEMENT,
    CLOTH,
    CLOTH_ELEMENT,
    CURVATURE,
    CURVATURE_ELEMENT,
    ELEMENT_SET,
    HINGE,
    HINGE_ELEMENT,
    SPRING,
    SPRING_ELEMENT,
    TETRAHEDRON_ELEMENT,
    VOLUME,
    VOLUME_ELEMENT,
    Elements,
)

springs_of = reader(Elements, "springs", SPRING_ELEMENT)
angles_of = reader(Elements, "angles", ANGLE_ELEMENT)
curvatures_of = reader(Elements, "curvatures", CURVATURE_ELEMENT)
hinges_of = reader(Elements, "hinges", HINGE_ELEMENT)
cloths_of = reader(Elements, "cloths", CLOTH_ELEMENT)
areas_of = reader(Elements, "areas", AREA_ELEMENT)
volumes_of = reader(Elements, "volumes", VOLUME_ELEMENT)
tetrahedra_of = reader(Elements, "tetrahedra", TETRAHEDRON_ELEMENT)
sets_of = reader(Elements, "sets", ELEMENT_SET)
spring_slots_of = reader(Elements, "spring_slots", np.int64)
angle_slots_of = reader(Elements, "angle_slots", np.int64)
curvature_slots_of = reader(Elements, "curvature_slots", np.int64)
hinge_slots_of = reader(Elements, "hinge_slots", np.int64)
cloth_slots_of = reader(Elements, "cloth_slots", np.int64)
area_slots_of = reader(Elements, "area_slots", np.int64)
volume_slots_of = reader(Elements, "volume_slots", np.int64)
tetrahedron_slots_of = reader(Elements, "tetrahedron_slots", np.int64)
scratch_of = reader(Elements, "scratch")

spring_energy, _, spring_matrix = make_loops(spring.evaluate, spring.damping_rows, 2)
angle_energy, angle_forces, angle_matrix = make_loops(angle.evaluate, angle.damping_rows, 3)
curvature_energy, curvature_forces, curvature_matrix = make_loops(curvature.evaluate, curvature.damping_rows, 3)
hinge_energy, _, _ = make_loops(hinge.evaluate, hinge.damping_rows, 4)
cloth_energy, _, _ = make_loops(cloth.evaluate, cloth.damping_rows, 3)
area_energy, area_forces, area_matrix = make_loops(area.evaluate, area.damping_rows, 3)
volume_energy, volume_forces, volume_matrix = make_loops(volume.evaluate, volume.damping_rows, 4)
tetrahedron_energy, tetrahedron_forces, tetrahedron_matrix = make_loops(
    tetrahedron.evaluate, tetrahedron.damping_rows, 4
)


@njit
def total_energy(x, elements):
    """W of all active sets (J) at the positions x."""
    sets = sets_of(elements)
    scratch = scratch_of(elements)
    total = 0.0
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active != 0:
            total += set_energy(s.kind, s.first, s.last, x, elements, scratch)
    return total


@njit
def set_energy(kind, first, last, x, elements, scratch):
    if kind == SPRING:
        return spring_energy(springs_of(elements), first, last, x, scratch)
    if kind == ANGLE:
        return angle_energy(angles_of(elements), first, last, x, scratch)
    if kind == CURVATURE:
        return curvature_energy(curvatures_of(elements), first, last, x, scratch)
    if kind == HINGE:
        return hinge_energy(hinges_of(elements), first, last, x, scratch)
    if kind == CLOTH:
        return cloth_energy(cloths_of(elements), first, last, x, scratch)
    if kind == AREA:
        return area_energy(areas_of(elements), first, last, x, scratch)
    if kind == VOLUME:
        return volume_energy(volumes_of(elements), first, last, x, scratch)
    return tetrahedron_energy(tetrahedra_of(elements), first, last, x, scratch)


@njit
def add_forces(x, about, v, f, g, power, elements):
    """Add elastic forces (N) to f, those of damping to g, which may be f, and the power of damping to `power`; returns W.

    about : the places at which damping is looked at; x, or near it."""
    sets = sets_of(elements)
    scratch = scratch_of(elements)
    total, same = 0.0, equal(x, about)
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active == 0:
            continue
        energy, lost = set_forces(s.kind, s.first, s.last, x, about, same, v, f, g, elements, scratch)
        total += energy
        if s.ledger >= 0:
            power[s.ledger] += lost
    return total


@njit
def set_forces(kind, first, last, x, about, same, v, f, g, elements, scratch):
    if kind == SPRING:
        return spring.forces(springs_of(elements), first, last, x, about, v, f, g, scratch)
    if kind == ANGLE:
        return angle_forces(angles_of(elements), first, last, x, about, v, f, g, scratch)
    if kind == CURVATURE:
        return curvature_forces(curvatures_of(elements), first, last, x, about, v, f, g, scratch)
    if kind == HINGE:
        return hinge.forces(hinges_of(elements), first, last, x, about, same, v, f, g)
    if kind == CLOTH:
        return cloth.forces(cloths_of(elements), first, last, x, about, same, v, f, g)
    if kind == AREA:
        return area_forces(areas_of(elements), first, last, x, about, v, f, g, scratch)
    if kind == VOLUME:
        return volume_forces(volumes_of(elements), first, last, x, about, v, f, g, scratch)
    return tetrahedron_forces(tetrahedra_of(elements), first, last, x, about, v, f, g, scratch)


@njit
def add_matrix(x, about, stiffness_weight, damping_weight, values, elements):
    """Add the weighted sum of positive Hessians and of damping matrices to the 3×3 blocks `values`; see `loops`."""
    sets, same = sets_of(elements), equal(x, about)
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active != 0:
            set_matrix(s.kind, s.first, s.last, x, about, same, stiffness_weight, damping_weight, values, elements)


@njit
def set_matrix(kind, first, last, x, about, same, p, q, values, elements):
    scratch = scratch_of(elements)
    if kind == SPRING:
        spring_matrix(springs_of(elements), spring_slots_of(elements), first, last, x, about, p, q, values, scratch)
    elif kind == ANGLE:
        angle_matrix(angles_of(elements), angle_slots_of(elements), first, last, x, about, p, q, values, scratch)
    elif kind == CURVATURE:
        slots = curvature_slots_of(elements)
        curvature_matrix(curvatures_of(elements), slots, first, last, x, about, p, q, values, scratch)
    elif kind == HINGE:
        hinge.matrix(hinges_of(elements), hinge_slots_of(elements), first, last, x, about, same, p, q, values)
    elif kind == CLOTH:
        cloth.matrix(cloths_of(elements), cloth_slots_of(elements), first, last, x, about, same, p, q, values)
    elif kind == AREA:
        area_matrix(areas_of(elements), area_slots_of(elements), first, last, x, about, p, q, values, scratch)
    elif kind == VOLUME:
        volume_matrix(volumes_of(elements), volume_slots_of(elements), first, last, x, about, p, q, values, scratch)
    else:
        slots = tetrahedron_slots_of(elements)
        tetrahedron_matrix(tetrahedra_of(elements), slots, first, last, x, about, p, q, values, scratch)


# As explicit and linear steps have it: what was found at x is not found again.
@njit
def equal(x, about):
    """Whether these are the same places."""
    for k in range(x.shape[0]):
        if peek(x, k) != peek(about, k):
            return False
    return True
