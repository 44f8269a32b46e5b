"""Rows of contacts and bounds in joint coordinates: J, M⁻¹ Jᵀ and responses; and an island of trees as a problem in matrices.

J of a row is needed on the path from a body to the root of its tree only, and the factor of M = Lᵀ D L lies on such paths,
too. So M⁻¹ Jᵀ takes O(speeds of the tree × depth).

In order: J, responses, and the problem.
"""

from ..collide.tables import AWAKE, CONTACTS
from ..core.jit import inlined, njit
from ..core.math3 import add, cross, dot, load3, store3, sub
from ..core.simd import load, store
from ..dynamics.joint_space.kinematics import ZERO
from ..model.tables import STOP
from ..model.tree import COMMANDED
from .gauss_seidel import axes_of, put_row
from .island_problem import (
    BOUNDS,
    PROBLEM_CONTACTS,
    add_block,
    add_coupling,
    add_equation,
    covers,
    incidence_row,
    rows_at,
)
from .joint_space_commands import FILL, STILL, call_rides
from .joint_space_solves import answer_loops, answer_three, is_looped, solve_one
from .joints import LOCKED
from .limits import FIRM, set_limits, update_bound, usable_response, warm_start_bound
from .rows import contact_velocity, rate_of, respond_to_freedom
from .tables import BEFORE, FRICTION_STEP, INVERSE_NORMAL, OFF, RESPONSE, ROW, WAITING


@inlined
def pack(source, target, js):
    """Numbers of freedoms in the order of the packed speeds."""
    for p in range(js.freedom_at.shape[0]):
        store(target, p, load(source, js.freedom_at[p]))


@njit
def fill_rows(h, z, reduced, js, tables):
    """J, M⁻¹ Jᵀ, responses and rates before the step, where the tree and the kinematics table are, at the state z. h : s,
    over which efforts act."""
    contacts, bounds = tables.collision.contacts, tables.stepping.bounds
    for i in range(tables.collision.counts[CONTACTS]):
        fill_contact(i, contacts[i], reduced, js)
    for i in range(bounds.shape[0]):
        if bounds[i].freedom >= 0:
            place_bound(bounds[i], h, z, reduced.system)
        else:
            fill_bound(i, bounds[i], h, reduced, js)
    fill_responses(h, reduced, js, tables)


@njit
def fill_contact(i, contact, reduced, js):
    """The rows of J of one contact: normal and two tangents."""
    rows, nodes = js.rows, js.node_of_row
    rigid, at = reduced.system.settings[0].rigid, 6 * rows.longest[0] * i
    axes = axes_of(contact)
    a, b = rows.sides[2 * i], rows.sides[2 * i + 1]
    node_a = nodes[contact.a] if contact.a < rigid else -1
    node_b = nodes[contact.b] if contact.b < rigid else -1
    set_side(a, node_a, js)
    set_side(b, node_b, js)
    arm_a = add(load3(contact.arm_a), arm_in_node(contact.a, node_a, reduced, js))
    arm_b = add(load3(contact.arm_b), arm_in_node(contact.b, node_b, reduced, js))
    fill_contact_side(node_a, axes, arm_a, -1.0, at, rows.jacobian, js.tree)
    fill_contact_side(node_b, axes, arm_b, 1.0, at + 3 * rows.longest[0], rows.jacobian, js.tree)
    if a.first == b.first and a.end == b.end:
        a.end = a.first


@inlined
def arm_in_node(row, node, reduced, js):
    """From the frame of a node to the centre of mass of a body in it, both where they are now."""
    if node < 0:
        return ZERO
    return sub(load3(reduced.system.kinematics[row].x), load3(js.tree.motion[node].x))


@inlined
def set_side(side, node, js):
    """The path of a node, and the speeds of its assembly."""
    side.path, side.length, side.first, side.end = 0, 0, 0, 0
    if node >= 0:
        assembly = js.assemblies[js.assembly_of[node]]
        side.path, side.length = js.paths[2 * node], js.paths[2 * node + 1]
        side.first, side.end = assembly.first, assembly.end


@njit
def fill_contact_side(node, axes, arm, sign, at, jacobian, tree):
    """jacobian[at …] = ± the velocity, along three axes, of the point at `arm` of a link, for each speed on its path."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    n, t, s = axes
    root = node
    while node >= 0:
        root = node
        for k in range(nodes[node].first, nodes[node].last):
            v = add(load3(columns[k].linear), cross(load3(columns[k].angular), arm))
            store(jacobian, at, sign * dot(n, v))
            store(jacobian, at + 1, sign * dot(t, v))
            store(jacobian, at + 2, sign * dot(s, v))
            at += 3
        arm = add(arm, load3(motion[node].r))
        node = nodes[node].parent
    if root >= 0 and nodes[root].kind == COMMANDED:
        fill_contact_given(n, arm, sign, at, jacobian)
        fill_contact_given(t, arm, sign, at + 1, jacobian)
        fill_contact_given(s, arm, sign, at + 2, jacobian)


@njit
def fill_contact_given(axis, arm, sign, at, jacobian):
    """The row of one axis on the velocities of a kinematic body, `arm` from its centre, every third number from `at` on."""
    turn = cross(arm, axis)
    for k in range(3):
        store(jacobian, at + 3 * k, sign * axis[k])
        store(jacobian, at + 9 + 3 * k, sign * turn[k])


@njit
def place_bound(bound, h, z, system):
    """The gap or the limits of a bound on a freedom of a tree, whose row stays; h : s, over which efforts act."""
    force = system.forces[bound.force]
    if force.kind == STOP:
        bound.gap = bound.sign * (load(z, bound.at) - force.rest)
    else:
        set_limits(bound, force, h)


@njit
def fill_bound(i, bound, h, reduced, js):
    """The row of J of one bound, with its gap and limits; h : s, over which efforts act."""
    rows, path = js.rows, js.rows.longest[0]
    update_bound(bound, h, reduced.y, reduced.system)
    a, b = rows.bound_sides[2 * i], rows.bound_sides[2 * i + 1]
    node_a, node_b = js.node_of_row[bound.a], js.node_of_row[bound.b]
    set_side(a, node_a, js)
    set_side(b, node_b, js)
    pass_surface(a, node_a, js.tree)
    pass_surface(b, node_b, js.tree)
    at = 2 * path * i
    f, g = load3(bound.linear_a), load3(bound.angular_a)
    g = add(g, cross(arm_in_node(bound.a, node_a, reduced, js), f))
    fill_bound_side(node_a, f, g, at, rows.bound_jacobian, js.tree)
    at += path
    f, g = load3(bound.linear_b), load3(bound.angular_b)
    g = add(g, cross(arm_in_node(bound.b, node_b, reduced, js), f))
    fill_bound_side(node_b, f, g, at, rows.bound_jacobian, js.tree)
    if a.first == b.first and a.end == b.end:
        a.end = a.first


@inlined
def pass_surface(side, node, tree):
    """Joints feel the velocity of a kinematic body, contacts that of its surface, which comes first."""
    if node >= 0 and tree.nodes[node].kind == COMMANDED:
        side.path += 6


@njit
def fill_bound_side(node, f, g, at, jacobian, tree):
    """jacobian[at …] = (f, g) J: a row on the velocities of a link, for each speed on its path."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    root = node
    while node >= 0:
        root = node
        for k in range(nodes[node].first, nodes[node].last):
            store(jacobian, at, dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), g))
            at += 1
        g = add(g, cross(load3(motion[node].r), f))
        node = nodes[node].parent
    if root >= 0 and nodes[root].kind == COMMANDED:
        for k in range(3):
            store(jacobian, at + k, f[k])
            store(jacobian, at + 3 + k, g[k])


# Responses ------------------------------------------------------------------------------------------------------------


@njit
def fill_responses(h, reduced, js, tables):
    """M⁻¹ Jᵀ, responses and rates before the step, where J is; and where bounds begin."""
    collision, stepping, rows = tables.collision, tables.stepping, js.rows
    contacts, bounds, system = collision.contacts, stepping.bounds, reduced.system
    path, span = rows.longest[0], rows.longest[1]
    pack(js.before, js.packed, js)
    driven = js.given.shape[0] > 0
    if driven:
        call_rides(FILL, 0.0, js.packed, js.packed, tables, reduced, js)
    for i in range(collision.counts[CONTACTS]):
        for side in range(2):
            respond(i, side, reduced, js)
        put_contact(contacts[i], contact_response(i, path, span, rows), ROW * i, stepping.rows, system)
        u = contact_velocity(i, js.packed, rows)
        for k in range(3):
            store(stepping.rows, ROW * i + BEFORE + k, u[k])
    for i in range(bounds.shape[0]):
        bounds[i].before = rate_of(i, bounds[i], js.packed, js)
        bounds[i].start = bounds[i].before
    if h > 0.0 and bounds.shape[0] > 0:
        pack(js.slopes, js.packed, js)
        if driven:
            call_rides(FILL, STILL, js.packed, js.packed, tables, reduced, js)
        for i in range(bounds.shape[0]):
            aim_bound(bounds[i], h, 0.5 * h * rate_of(i, bounds[i], js.packed, js), system, stepping)
    for i in range(bounds.shape[0]):
        find_bound_response(i, bounds[i], reduced, js, tables)
        if is_asleep(bounds[i].a, collision) or is_asleep(bounds[i].b, collision):
            bounds[i].response = OFF
        warm_start_bound(bounds[i], system)


@njit
def find_bound_response(i, bound, reduced, js, tables):
    """M⁻¹ Jᵀ and the response of a bound; a stop on a freedom of a tree that does not act waits for it, unless threads might
    answer the loops of several trees at once, or it may bounce."""
    if bound.freedom >= 0:
        waits = js.alone[0] != 0 or not is_looped(js.packed_at[bound.freedom], reduced, js)
        waits = waits and tables.callbacks[0].impacts == 0
        if waits and bound.impulse == 0.0 and reduced.system.forces[bound.force].kind == STOP:
            bound.response = WAITING
        else:
            respond_to_freedom(i, bound, reduced, js)
        return
    alone = respond_to_bound(i, 0, reduced, js) + respond_to_bound(i, 1, reduced, js)
    found = bound_response(i, js.rows.longest[0], js.rows.longest[1], js.rows)
    bound.response = usable_response(found, alone, bound)


@inlined
def is_asleep(body, collision):
    """Whether it is a body that sleeps."""
    return body < collision.asleep.shape[0] and collision.asleep[body] > AWAKE


@njit
def respond(i, side, reduced, js):
    """M⁻¹ Jᵀ of contact i on one side, where the speeds that it moves are."""
    rows = js.rows
    sides, indices, jacobian, response = rows.sides, rows.indices, rows.jacobian, rows.response
    own, path, span = sides[2 * i + side], rows.longest[0], rows.longest[1]
    first, end, at = own.first, own.end, 3 * span * (2 * i + side)
    if end == first:
        return
    for k in range(at, at + 3 * (end - first)):
        store(response, k, 0.0)
    merged = sides[2 * i].end == sides[2 * i].first
    for other in range(2 * i if merged else 2 * i + side, 2 * i + 2 if merged else 2 * i + side + 1):
        source, start = 3 * path * other, sides[other].path
        for j in range(sides[other].length):
            if indices[start + j] >= end:
                break  # given speeds
            to, k = at + 3 * (indices[start + j] - first), source + 3 * j
            store(response, to, load(response, to) + load(jacobian, k))
            store(response, to + 1, load(response, to + 1) + load(jacobian, k + 1))
            store(response, to + 2, load(response, to + 2) + load(jacobian, k + 2))
    answer_three(response, at, first, end, reduced, js)


@njit
def respond_to_bound(i, side, reduced, js):
    """The same of bound i. Returns J M⁻¹ Jᵀ of the trees without loops."""
    rows = js.rows
    sides, indices, jacobian, response = rows.bound_sides, rows.indices, rows.bound_jacobian, rows.bound_response
    own, path, span = sides[2 * i + side], rows.longest[0], rows.longest[1]
    first, end, at = own.first, own.end, span * (2 * i + side)
    if end == first:
        return 0.0
    for k in range(at, at + end - first):
        store(response, k, 0.0)
    merged = sides[2 * i].end == sides[2 * i].first
    for other in range(2 * i if merged else 2 * i + side, 2 * i + 2 if merged else 2 * i + side + 1):
        for j in range(sides[other].length):
            if indices[sides[other].path + j] >= end:
                break
            to = at + indices[sides[other].path + j] - first
            store(response, to, load(response, to) + load(jacobian, path * other + j))
    if is_looped(first, reduced, js):
        return answer_loops(response, at, 1, first, end, reduced, js)
    return solve_one(response, at, first, end, js.factor_values, js.factor_inverse, js)


@njit
def contact_response(i, path, span, rows):
    """K = Σ J (M⁻¹ Jᵀ) of contact i, as (nn, nt, ns, tt, ts, ss)."""
    sides, indices, jacobian, response = rows.sides, rows.indices, rows.jacobian, rows.response
    merged = sides[2 * i].end == sides[2 * i].first
    nn, nt, ns, tt, ts, ss = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2 * i, 2 * i + 2):
        other, start, k = 2 * i + 1 if merged else side, sides[side].path, 3 * path * side
        at = 3 * (span * other - sides[other].first)
        for j in range(sides[side].length):
            if indices[start + j] >= sides[other].end:
                break  # given speeds
            r = at + 3 * indices[start + j]
            a, b, c = load(jacobian, k), load(jacobian, k + 1), load(jacobian, k + 2)
            x, y, z = load(response, r), load(response, r + 1), load(response, r + 2)
            nn, nt, ns = nn + a * x, nt + a * y, ns + a * z
            tt, ts, ss = tt + b * y, ts + b * z, ss + c * z
            k += 3
    return (nn, nt, ns, tt, ts, ss)


@njit
def bound_response(i, path, span, rows):
    """The same of bound i."""
    sides, indices, jacobian, response = rows.bound_sides, rows.indices, rows.bound_jacobian, rows.bound_response
    merged = sides[2 * i].end == sides[2 * i].first
    total = 0.0
    for side in range(2 * i, 2 * i + 2):
        other, start = 2 * i + 1 if merged else side, sides[side].path
        at = span * other - sides[other].first
        for j in range(sides[side].length):
            if indices[start + j] >= sides[other].end:
                break
            total += load(jacobian, path * side + j) * load(response, at + indices[start + j])
    return total


# Joints, or a prescribed motion, may leave a contact no freedom. Along the normal its force is then undetermined, and no
# impulse is looked for, unless the contact is compliant. Along the surface friction is what it is where the contact slides:
# it needs a response, which is made small (see `limits.usable_response`).


@njit
def put_contact(contact, k, at, responses, system):
    """The responses of a contact, OFF where joints leave its normal no freedom."""
    alone = response_alone(contact, system)
    if k[0] > LOCKED * alone and k[3] + k[5] > LOCKED * alone:
        put_row(k, responses, at)
        return
    for i in range(6):
        store(responses, at + RESPONSE + i, k[i])
    if k[0] > LOCKED * alone:
        put_firm(k[0], k[3] + k[5], alone, at, responses)
        return
    store(responses, at + FRICTION_STEP, 0.0)
    store(responses, at + RESPONSE, OFF)
    store(responses, at + INVERSE_NORMAL, 0.0)
    store3(contact.impulse, ZERO)


@njit
def put_compliant(contact, at, responses, system):
    """The same of a compliant contact, after that: its force is that of its law."""
    if load(responses, at + RESPONSE) == OFF:
        alone = response_alone(contact, system)
        sliding = load(responses, at + RESPONSE + 3) + load(responses, at + RESPONSE + 5)
        put_firm(FIRM * alone, sliding, alone, at, responses)


@inlined
def put_firm(normal, sliding, alone, at, responses):
    """The steps of a contact with this response along the normal, and this sum of those along the surface."""
    store(responses, at + RESPONSE, normal)
    store(responses, at + INVERSE_NORMAL, 1.0 / normal)
    store(responses, at + FRICTION_STEP, 1.0 / (sliding if sliding > LOCKED * alone else FIRM * alone))


@inlined
def response_alone(contact, system):
    """1/m of the bodies of a contact: how they respond without joints, but for rotation."""
    rigid, alone = system.settings[0].rigid, 0.0
    if contact.a < rigid:
        alone += system.bodies[contact.a].inverse_mass
    if contact.b < rigid:
        alone += system.bodies[contact.b].inverse_mass
    return alone


@njit
def aim_bound(bound, h, drift, system, stepping):
    """The rate of a bound at the start of the step, which changes by `drift` in half a drift; the bias of one that is no
    stop, and the compliance of a soft row."""
    force = system.forces[bound.force]
    bound.start = bound.before - drift
    if bound.soft < 0:
        if force.kind != STOP:
            bound.bias = drift - force.target
        return
    row = stepping.soft[bound.soft]
    row.before, row.drift = bound.before - drift, drift
    k = force.stiffness if force.active != 0 else 0.0
    bound.compliance = 1.0 / row.resist
    bound.bias = -(row.push - h * k * row.value + row.keep * row.before) / row.resist + drift


# An island as a problem ---------------------------------------------------------------------------------------------------


@njit
def describe_trees(number, problem, reduced, js, tables):
    """Fill an `IslandProblem`, whose blocks are assemblies. Returns whether it could."""
    collision, stepping, rows = tables.collision, tables.stepping, js.rows
    island, members, path = collision.islands[number], collision.members, js.rows.longest[0]
    for m in range(island.first_member, island.end_member):
        own = stepping.members[members[m]]
        if own.end_speed > own.first_speed:
            at = add_block(members[m], own.first_speed, own.end_speed - own.first_speed, problem)
            fill_mass(own.first_speed, own.end_speed, at, problem.masses, js)
    for i in range(island.first, island.end):
        coupling = add_coupling(PROBLEM_CONTACTS, i, problem)
        for side in range(2 * i, 2 * i + 2):
            if not add_side(coupling, rows.sides[side], 3, 3 * path * side, rows.jacobian, problem, reduced, js):
                return False
    for m in range(island.first_member, island.end_member):
        own = stepping.members[members[m]]
        for i in range(own.first_bound, own.end_bound):
            coupling = add_coupling(BOUNDS, i, problem)
            for side in range(2 * i, 2 * i + 2):
                own_side, at = rows.bound_sides[side], path * side
                if not add_side(coupling, own_side, 1, at, rows.bound_jacobian, problem, reduced, js):
                    return False
    return describe_loops(problem, reduced, js)


@njit
def fill_mass(first, end, at, masses, js):
    """masses[at …] = M of packed speeds first … end, from its factors: M = Lᵀ D L."""
    starts, columns, values, inverse = js.factor_starts, js.factor_columns, js.factor_values, js.factor_inverse
    size = end - first
    for p in range(first, end):
        pivot = 1.0 / load(inverse, p)
        for e in range(starts[p] - 1, starts[p + 1]):  # the first is p itself
            i, left = (p, pivot) if e < starts[p] else (columns[e], pivot * load(values, e))
            for f in range(starts[p] - 1, starts[p + 1]):
                j, right = (p, 1.0) if f < starts[p] else (columns[f], load(values, f))
                to = at + size * (i - first) + j - first
                store(masses, to, load(masses, to) + left * right)


@njit
def add_side(coupling, side, width, at, jacobian, problem, reduced, js):
    """Add the J of one side of a contact or bound; nothing for the world. Returns whether there was a block for it."""
    known = js.freedom_at.shape[0]
    if side.length == 0 or js.rows.indices[side.path] >= known:
        return True
    indices, block = js.rows.indices, block_at(js.rows.indices[side.path], problem, reduced, js)
    to = rows_at(coupling, block, width, problem) if block >= 0 else -1
    if to < 0:
        return False
    packed, size = problem.blocks[block].packed, problem.blocks[block].speeds
    for j in range(side.length):
        if indices[side.path + j] >= known:
            break
        for r in range(width):
            k = to + size * r + indices[side.path + j] - packed
            store(problem.jacobian, k, load(problem.jacobian, k) + load(jacobian, at + width * j + r))
    return True


@inlined
def block_at(packed, problem, reduced, js):
    """The block of a packed speed, or −1."""
    body = js.assemblies[js.assembly_of[js.tree.freedoms[js.freedom_at[packed]].node]].body
    return problem.block_of[body] if body >= 0 else -1


@njit
def describe_loops(problem, reduced, js):
    """The rows of the loops of the blocks that a problem has: G w⁺ = −G w⁻. Returns whether all had room."""
    system = reduced.system
    for j in range(system.joints.shape[0]):
        joint = system.joints[j]
        if joint.active == 0 or not is_described(joint, problem, reduced, js):
            continue
        for row in range(joint.row, joint.row + joint.rows):
            if reduced.independent[row] == 0:
                continue
            coupling = problem.equations[add_equation(row, load(js.loop_targets, row), problem)]
            for i in range(joint.first, joint.last):
                incidence = system.incidences[i]
                node, r = reduced.node_of_row[incidence.body], row - incidence.row
                if (
                    covers(incidence, row)
                    and is_moved(node, reduced)
                    and not add_loop_row(coupling, node, incidence, r, problem, reduced, js)
                ):
                    return False
    return True


@inlined
def is_moved(node, reduced):
    """Whether a node is a link with speeds, or hangs on one, and neither the world nor a kinematic body."""
    return node >= 0 and reduced.tree.nodes[node].kind != COMMANDED


@njit
def is_described(joint, problem, reduced, js):
    """Whether the bodies of a loop are in the blocks of a problem."""
    for i in range(joint.first, joint.last):
        node = reduced.node_of_row[reduced.system.incidences[i].body]
        if is_moved(node, reduced):
            body = js.assemblies[js.assembly_of[node]].body
            return body >= 0 and problem.block_of[body] >= 0
    return False


@njit
def add_loop_row(coupling, node, incidence, row, problem, reduced, js):
    """Add a row of a loop on the velocities of a link. Returns whether there was room."""
    tree, path = reduced.tree, js.paths[2 * node]
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    block = problem.block_of[js.assemblies[js.assembly_of[node]].body]
    at = rows_at(coupling, block, 1, problem)
    if at < 0:
        return False
    f, g = incidence_row(incidence, row, reduced.system.jacobian)
    while node >= 0:
        for k in range(nodes[node].first, nodes[node].last):
            to = at + js.rows.indices[path] - problem.blocks[block].packed
            value = dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), g)
            store(problem.jacobian, to, load(problem.jacobian, to) + value)
            path += 1
        g = add(g, cross(load3(motion[node].r), f))
        node = nodes[node].parent
    return True
