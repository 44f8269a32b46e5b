"""One island as a problem in matrices, for solvers of second order: M w⁺ = M w + Jᵀ p + Bᵀ λ + Gᵀ ν.

Gauss–Seidel needs products with rows only, and each kind of coordinates has its own; a solver that factors a system needs M,
block by block, and J. `describe_island` fills an `IslandProblem` in coordinates of bodies, where a block is a body, and in
joint coordinates (through `call_coordinates`), where a block is an assembly of trees.

In order: the tables, rows of any coordinates, and islands of bodies.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import congruence, cross, dot, load3, scale
from ..core.simd import load, store
from ..core.tables import column
from ..dynamics.kinematics import load6, load9
from .gauss_seidel import axes_of
from .tables import (
    DESCRIBE_ISLAND,
    DESCRIBE_SURFACES,
    MOTION,
    SPEEDS,
    call_coordinates,
    call_surfaces,
    in_joint_space,
    three,
)

# A block of speeds: `member`, the body (of an assembly its first body), where its speeds are in the packed vector `motion`
# and in the vector of the island, how many; M of the block, speeds × speeds row by row, is masses[mass : mass + speeds²].
BLOCK = np.dtype([("member", "i8"), ("packed", "i8"), ("first", "i8"), ("speeds", "i8"), ("mass", "i8")], align=True)
# Three rows of a contact, or one of a bound, joint or loop: its number in its own table, its blocks (up to four, −1: none),
# and where J begins in `jacobian` for each of them: rows × speeds, row by row.
MOST_BLOCKS = 4
COUPLING = np.dtype([("number", "i8"), ("blocks", "i8", MOST_BLOCKS), ("at", "i8", MOST_BLOCKS)], align=True)
# One more cone of a contact whose surfaces resist rolling (part 0) or spinning (part 1), see `surface_rows`. Its row of
# `contacts` is behind those of the contacts, and has the number of this one. friction has no unit; offset, m/s, is what moves
# by command; impulse, N s.
EXTRA = np.dtype(
    [("contact", "i8"), ("part", "i8"), ("friction", "f8"), ("offset", "f8", 3), ("impulse", "f8", 3)], align=True
)
# Entries of `counts`: what is in use; the blocks that stand for speeds
BLOCKS, PROBLEM_CONTACTS, BOUNDS, EQUATIONS, PROBLEM_SPEEDS, MASSES, JACOBIAN, LAW_CONTACTS, PROBLEM_COUNTS = range(9)
NO_SPEEDS = -1  # `member` and `packed` of a block that stands for a law of a surface, not for speeds
CONES, LAW_BLOCKS, LAW_NUMBERS = (
    3,
    3,
    60,
)  # most cones of a contact, unknowns beside them, and numbers of their J on these


class IslandProblem(NamedTuple):
    """One island, for a solver: M w⁺ = M w + Jᵀ p + Bᵀ λ + Gᵀ ν with the law of contact on (J w⁺, p), that of bounds on
    (B w⁺, λ), and G w⁺ + C ν = `wanted`, C diagonal.

    The speeds w without impulses are in `motion`. Friction, bias and impulse of a contact are in `collision.contacts`; least,
    most, bias, compliance and impulse of a bound in `stepping.bounds`. The solver writes impulses there and w⁺ to `motion`;
    in coordinates of bodies also ν to `stepping.joint_impulses`.
    """

    counts: Any = column("PROBLEM_COUNTS", np.int64, doc="see BLOCKS")
    blocks: Any = column("blocks", BLOCK)
    block_of: Any = column("bodies + 1", np.int64, doc="of each body (of an assembly: its first), its block; −1: none")
    masses: Any = column("masses", unit="kg, kg m, kg m²", doc="M, block by block, with the resistance of soft rows")
    contacts: Any = column("contacts", COUPLING)
    bounds: Any = column("bounds", COUPLING)
    equations: Any = column("rows", COUPLING, doc="rows of joints or loops in G")
    wanted: Any = column("rows", unit="m/s, rad/s", doc="G w⁺ + C ν")
    compliance: Any = column("rows", doc="C")
    jacobian: Any = column("jacobian + 4", doc="J, B and G; four are read at a time")
    given: Any = column(
        "3 * contacts", unit="m/s", doc="in joint coordinates, what bodies that move by command add to J w"
    )
    given_bounds: Any = column("bounds", unit="m/s, rad/s", doc="likewise to B w")
    extra: Any = column("laws", EXTRA, doc="cones of surface laws; none where nothing needs them")


def room_of_problem(
    bodies: int, contacts: int, bounds: int, rows: int, spans: list[int], laws: bool = False
) -> dict[str, int]:
    """The sizes of an `IslandProblem` in which every island fits. rows : of joints or loops; spans : the speeds of each
    assembly, in coordinates of bodies 6 for each body; laws : whether contacts may have laws of surfaces."""
    most, cones = max(spans, default=0), CONES * contacts if laws else contacts
    more = LAW_BLOCKS * contacts if laws else 0
    return {
        "bodies": bodies, "blocks": len(spans) + more, "masses": sum(n * n for n in spans) + more, "contacts": cones,
        "bounds": bounds, "rows": rows, "laws": cones - contacts,
        "jacobian": (6 * cones + 2 * bounds + MOST_BLOCKS * rows) * most + LAW_NUMBERS * more,
    }  # fmt: skip


# Rows of any coordinates ----------------------------------------------------------------------------------------------


@njit
def begin_problem(problem):
    """Empty a problem."""
    for k in range(PROBLEM_COUNTS):
        problem.counts[k] = 0
    for i in range(problem.block_of.shape[0]):
        problem.block_of[i] = -1


@njit
def add_block(member, packed, size, problem):
    """A block without mass yet. Returns where its M begins."""
    counts = problem.counts
    block = problem.blocks[counts[BLOCKS]]
    block.member, block.packed, block.speeds = member, packed, size
    block.first, block.mass = counts[PROBLEM_SPEEDS], counts[MASSES]
    for k in range(block.mass, block.mass + size * size):
        store(problem.masses, k, 0.0)
    problem.block_of[member] = counts[BLOCKS]
    counts[BLOCKS] += 1
    counts[PROBLEM_SPEEDS] += size
    counts[MASSES] += size * size
    return block.mass


# Laws of surfaces come after all contacts, so that the numbers of these stay.


@njit
def add_law_block(mass, problem):
    """A block of one unknown that is no speed. Returns its number."""
    counts = problem.counts
    number = counts[BLOCKS]
    block = problem.blocks[number]
    block.member, block.packed, block.speeds = NO_SPEEDS, NO_SPEEDS, 1
    block.first, block.mass = counts[PROBLEM_SPEEDS], counts[MASSES]
    store(problem.masses, block.mass, mass)
    counts[BLOCKS] += 1
    counts[PROBLEM_SPEEDS] += 1
    counts[MASSES] += 1
    return number


@njit
def add_law_coupling(contact, part, problem):
    """Three rows of one part of the friction of a contact, without blocks yet. Returns them."""
    number = problem.counts[LAW_CONTACTS]
    problem.counts[LAW_CONTACTS] += 1
    problem.extra[number].contact, problem.extra[number].part = contact, part
    coupling = problem.contacts[problem.counts[PROBLEM_CONTACTS] + number]
    coupling.number = number
    for b in range(MOST_BLOCKS):
        coupling.blocks[b], coupling.at[b] = -1, 0
    return coupling


@njit
def add_coupling(kind, number, problem):
    """A row of contacts, bounds or equations (`kind`) without blocks yet. Returns it."""
    k = problem.counts[kind]
    problem.counts[kind] += 1
    if kind == PROBLEM_CONTACTS:
        coupling = problem.contacts[k]
    elif kind == BOUNDS:
        coupling = problem.bounds[k]
    else:
        coupling = problem.equations[k]
    coupling.number = number
    for b in range(MOST_BLOCKS):
        coupling.blocks[b], coupling.at[b] = -1, 0
    return coupling


@njit
def rows_at(coupling, block, rows, problem):
    """Where J of `rows` rows on a block begins, zero where it is new; −1 where they have too many blocks."""
    for b in range(MOST_BLOCKS):
        if coupling.blocks[b] == block:
            return coupling.at[b]
        if coupling.blocks[b] < 0:
            at, size = problem.counts[JACOBIAN], rows * problem.blocks[block].speeds
            coupling.blocks[b], coupling.at[b] = block, at
            problem.counts[JACOBIAN] += size
            for k in range(at, at + size):
                store(problem.jacobian, k, 0.0)
            return at
    return -1


@njit
def describe_island(number, with_laws, problem, tables):
    """Fill a problem with an island; see `IslandProblem`. In joint coordinates it is that of `JointSpace`. `with_laws` of
    surfaces, or without. Returns whether it could: a joint may have too many bodies."""
    begin_problem(problem)
    motion = tables.stepping.motion
    if in_joint_space(tables):
        described = call_coordinates(DESCRIBE_ISLAND, float(number), motion, tables.stepping.values, tables) == 0
    else:
        described = describe_bodies(number, problem, tables)
    if described and with_laws and tables.collision.islands[number].surfaces != 0:
        return call_surfaces(DESCRIBE_SURFACES, float(number), motion, tables) == 0
    return described


# Islands of bodies ----------------------------------------------------------------------------------------------------


@njit
def describe_bodies(number, problem, tables):
    """The same in coordinates of bodies."""
    collision, stepping = tables.collision, tables.stepping
    island, members = collision.islands[number], collision.members
    for m in range(island.first_member, island.end_member):
        fill_body(members[m], problem, tables.system)
    for i in range(island.first, island.end):
        contact = collision.contacts[i]
        coupling = add_coupling(PROBLEM_CONTACTS, i, problem)
        fill_contact_side(coupling, contact.a, -1.0, load3(contact.arm_a), axes_of(contact), problem)
        fill_contact_side(coupling, contact.b, 1.0, load3(contact.arm_b), axes_of(contact), problem)
    for m in range(island.first_member, island.end_member):
        own = stepping.members[members[m]]
        for i in range(own.first_bound, own.end_bound):
            bound, coupling = stepping.bounds[i], add_coupling(BOUNDS, i, problem)
            add_row(coupling, 0, bound.a, load3(bound.linear_a), load3(bound.angular_a), problem)
            add_row(coupling, 0, bound.b, load3(bound.linear_b), load3(bound.angular_b), problem)
    return island.jointed == 0 or describe_joints(problem, tables)


@njit
def fill_body(body, problem, system):
    """The block of a body: v, ω with m 1 and the inertia in world axes."""
    at, m = add_block(body, MOTION * body, SPEEDS, problem), system.bodies[body].mass
    xx, yy, zz, xy, xz, yz = congruence(load9(system.kinematics[body].rotation), load6(system.bodies[body].inertia))
    for k in range(3):
        store(problem.masses, at + 7 * k, m)
    inertia = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    for i in range(3):
        for j in range(3):
            store(problem.masses, at + 6 * (3 + i) + 3 + j, inertia[i][j])


@njit
def fill_contact_side(coupling, body, sign, arm, axes, problem):
    """± (d, r × d) of a body for the axes of a contact; nothing for the world."""
    if problem.block_of[body] < 0:
        return
    at = rows_at(coupling, problem.block_of[body], 3, problem)
    for r in range(3):
        d = scale(sign, axes[r])
        turn = cross(arm, d)
        for k in range(3):
            store(problem.jacobian, at + SPEEDS * r + k, d[k])
            store(problem.jacobian, at + SPEEDS * r + 3 + k, turn[k])


@njit
def add_row(coupling, row, body, linear, angular, problem):
    """Add a row on the velocities of a body; nothing for the world. Returns whether there was room."""
    if problem.block_of[body] < 0:
        return True
    at = rows_at(coupling, problem.block_of[body], 1, problem)
    if at < 0:
        return False
    for k in range(3):
        store(problem.jacobian, at + k, load(problem.jacobian, at + k) + linear[k])
        store(problem.jacobian, at + 3 + k, load(problem.jacobian, at + 3 + k) + angular[k])
    return True


@inlined
def incidence_row(incidence, row, jacobian):
    """(linear, angular) of a row of the Jacobian of an incidence; see `dynamics.constraints.add_rates`."""
    at = incidence.offset
    if incidence.is_point == 0:
        at += 6 * row
        return (
            (load(jacobian, at), load(jacobian, at + 1), load(jacobian, at + 2)),
            (load(jacobian, at + 3), load(jacobian, at + 4), load(jacobian, at + 5)),
        )  # fmt: skip
    sign, arm = load(jacobian, at), (load(jacobian, at + 1), load(jacobian, at + 2), load(jacobian, at + 3))
    d = (sign if row == 0 else 0.0, sign if row == 1 else 0.0, sign if row == 2 else 0.0)
    return d, cross(arm, d)


@njit
def describe_joints(problem, tables):
    """The rows of all joints, with those of soft constraints, but for rows that do not count while joints are open
    (`constraints.choose_rows`). Returns whether none has more than MOST_BLOCKS bodies."""
    system, stepping = tables.system, tables.stepping
    for j in range(system.joints.shape[0]):
        joint = system.joints[j]
        if joint.active == 0:
            continue
        for row in range(joint.row, joint.row + joint.rows):
            if system.settings[0].open != 0 and system.independent[row] == 0:
                continue
            k = add_equation(row, load(stepping.targets, row), problem)
            for i in range(joint.first, joint.last):
                if not add_joint_row(system.incidences[i], row, k, problem, tables):
                    return False
    soft = stepping.soft
    for i in range(soft.shape[0]):
        for k in range(problem.counts[EQUATIONS]):
            if problem.equations[k].number == soft[i].row:
                store(problem.compliance, k, system.joints[soft[i].joint].compliance)
    return True


@inlined
def add_equation(row, wanted, problem):
    """Begin equation g w = wanted, without compliance, for row number `row` of joints or loops. Returns its number."""
    k = problem.counts[EQUATIONS]
    add_coupling(EQUATIONS, row, problem)
    store(problem.wanted, k, wanted)
    store(problem.compliance, k, 0.0)
    return k


@inlined
def covers(incidence, row):
    """Whether an incidence has a row of its joint."""
    return 0 <= row - incidence.row < (3 if incidence.is_point != 0 else incidence.rows)


@njit
def add_joint_row(incidence, row, k, problem, tables):
    """The part of one row of a joint, equation k, on the body of an incidence, if it has one. Returns whether there was
    room."""
    system, body = tables.system, incidence.body
    if not covers(incidence, row):
        return True
    linear, angular = incidence_row(incidence, row - incidence.row, system.jacobian)
    if body < system.bodies.shape[0] and problem.block_of[body] < 0:  # it moves by command
        v, omega = three(tables.stepping.motion, MOTION * body), three(tables.stepping.motion, MOTION * body + 3)
        store(problem.wanted, k, load(problem.wanted, k) - dot(linear, v) - dot(angular, omega))
    return add_row(problem.equations[k], 0, body, linear, angular, problem)
