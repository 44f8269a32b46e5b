"""Where particles meet colliders: one pass over all particles, in order.

A particle meets what is nearer than the margin, and what its ball comes to touch on its way of this step, so that it
passes through nothing, however fast. The contact is with the plane that touches the collider where the two meet: a
particle that stays on its own side of it, and on no more than that, is kept out of a convex collider.
"""

from ..jit import njit
from ..kernel import array, kernel
from ..vec import add, add_scaled, dot, load3, matvec, matvec_t, norm, scale, store3, sub
from .bounds import nine
from .particle_chunk import GAP, measure_chunk
from .particle_grid import find_candidates, list_colliders
from .particle_tables import CHUNK, CONTACTS, NEED_CONTACTS, Particles
from .point import approach
from .point_mesh import NOTHING, approach_facet, first_node, is_passed
from .tables import MESH, NEED_ROOM, Collision

SAME = 1e-9  # of a mesh's size: planes that differ by less are one


@njit
def meet_particles(x, v, h, margin, particles, collision):
    """Fill `contacts` of particles at x (3 n) m, with velocities v (3 n) m/s, for a step of h seconds.

    A contact is written where a particle's surface is nearer to a collider than half the margin (m) and the collider's
    own reach, or will be within the collider's motion in this step; one for each collider, and one for each facet of a mesh
    that is near, or else for the first on its way. `places` must have been filled, with half the margin.

    Returns 0, or NEED_ROOM where there are more contacts than room: `counts` says how many.
    """
    counts, number = particles.counts, particles.radius.shape[0]
    list_colliders(particles, collision)
    found = 0
    for first in range(0, number, CHUNK):
        count = min(CHUNK, number - first)
        measure_chunk(first, count, x, v, h, 0.5 * margin, particles, collision)
        for j in range(count):
            if particles.chunk[GAP + j] <= 0.0:
                found = meet_all(first + j, j, x, v, h, margin, found, particles, collision)
    counts[CONTACTS] = min(found, particles.contacts.shape[0])
    counts[NEED_CONTACTS] = found
    return 0 if counts[CONTACTS] == found else NEED_ROOM


@kernel
def meet(x: array(), v: array(), h: float, margin: float, particles: Particles, collision: Collision) -> int:
    """`meet_particles`, for Python."""
    return meet_particles(x, v, h, margin, particles, collision)


@njit
def meet_all(i, j, x, v, h, margin, found, particles, collision):
    """Add the contacts of particle i, the j-th of `chunk`; returns how many contacts there are, with or without room."""
    colliders, places, rules = collision.colliders, collision.places, particles.rules
    candidates = find_candidates(j, particles, collision)
    first_rule = particles.material[i] * colliders.shape[0]
    k = 3 * i
    p, path = (x[k], x[k + 1], x[k + 2]), (h * v[k], h * v[k + 1], h * v[k + 2])
    near = particles.radius[i] + 0.5 * margin
    length = norm(path)
    for k in range(candidates):
        number = particles.candidates[k]
        if rules[first_rule + number].touches == 0:
            continue
        collider, place = colliders[number], places[number]
        axes = nine(place.rotation)
        here, way = matvec_t(axes, sub(p, load3(place.x))), matvec_t(axes, path)
        within, grown = near + place.reach, particles.radius[i] + place.moves
        # The way ends where the ball, grown by what it is short of `within`, would.
        last = 1.0 + (within - grown) / length if length > 0.0 else 0.0
        if collider.kind == MESH:
            found = meet_mesh(i, number, here, way, within, grown, last, found, particles, collision)
        else:
            contact = approach(here, way, within, grown, last, collider, collision)
            if contact[0] <= last:
                found = add_contact(i, number, 0, here, way, contact, found, particles, collision)
    return found


@njit
def meet_mesh(i, number, p, path, near, grown, last, found, particles, collision):
    """Add the facets that a particle is near, and the first that it meets on its way; all in the frame of the mesh."""
    nodes, size = collision.nodes, collision.colliders[number].radius
    first, hit, hit_facet = found, NOTHING, 0
    k, end = first_node(number, collision)
    while k < end:
        node = nodes[k]
        if not is_passed(node, p, path, near, last):
            k = node.skip
            continue
        k += 1
        if node.facet < 0:
            continue
        facet = collision.facets[node.facet]
        contact = approach_facet(p, path, near, grown, min(last, hit[0]), facet, size, collision)
        if contact[0] == 0.0:
            found = add_plane(i, number, node.facet, p, path, contact, first, found, particles, collision)
        elif contact[0] < hit[0]:
            hit, hit_facet = contact, node.facet
    if hit[0] <= last:
        found = add_plane(i, number, hit_facet, p, path, hit, first, found, particles, collision)
    return found


@njit
def add_plane(i, number, facet, p, path, contact, first, found, particles, collision):
    """Add a contact with a mesh unless one of the same plane is among those from `first` on."""
    contacts, size = particles.contacts, collision.colliders[number].radius
    n = matvec(nine(collision.places[number].rotation), contact[2])
    separation = contact[1] - particles.radius[i]
    for c in range(first, min(found, contacts.shape[0])):
        if (
            abs(contacts[c].separation - separation) <= SAME * size
            and norm(sub(load3(contacts[c].normal), n)) <= SAME
        ):  # fmt: skip
            return found
    return add_contact(i, number, facet, p, path, contact, found, particles, collision)


@njit
def add_contact(i, number, facet, p, path, contact, found, particles, collision):
    """Write what `approach` found, in the frame of the collider, as the next contact, if there is room."""
    if found >= particles.contacts.shape[0]:
        return found + 1
    share, distance, n = contact
    collider, place = collision.colliders[number], collision.places[number]
    rule = particles.rules[particles.material[i] * collision.colliders.shape[0] + number]
    axes = nine(place.rotation)
    foot = add_scaled(add_scaled(p, share, path), -(distance + share * dot(n, path)), n)
    row = particles.contacts[found]
    row.particle, row.collider, row.body, row.facet = i, number, collider.body, facet
    store3(row.normal, matvec(axes, n))
    store3(row.position, add(load3(place.x), matvec(axes, foot)))
    row.separation = distance - particles.radius[i]
    row.friction, row.restitution = rule.friction, rule.restitution
    store3(row.impulse, scale(0.0, n))
    return found + 1
