"""The converging solver in a step of contact: islands as problems of `cone_solver`.

As the solver "interior_point" it solves every island from the impulses of the last step. After sweeps of Gauss–Seidel it
finishes those islands that they leave unsolved (`solve.finish_islands`), from the impulses that they reached.
"""

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import ISLANDS, NEED_ROOM
from ..core.c_function import C_SIGNATURE
from ..core.jit import CFunction, njit
from ..core.math3 import add, dot, load3, store3, sub
from ..core.simd import load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import allocate, column, part, table_at
from ..linalg.supernodal_analysis import grown, supernodal_tables
from .cone_iterate import load_best
from .cone_multipliers import run_multipliers
from .cone_problem import NEED_MORE, NOT_FINITE, STEP, ConeProblem, measure
from .cone_solver import WARM, solve_problem
from .gauss_seidel import axes_of, worst_residual
from .island_problem import (
    BLOCKS,
    BOUNDS,
    CONES,
    EQUATIONS,
    LAW_BLOCKS,
    LAW_CONTACTS,
    MOST_BLOCKS,
    NO_SPEEDS,
    PROBLEM_CONTACTS,
    PROBLEM_SPEEDS,
    IslandProblem,
    describe_island,
    room_of_problem,
)
from .jamming import escapes, hold
from .patches import FACTORIZATIONS, WELL, apply_impulses, find_patch
from .position_correction import overlap_of_aim
from .solvers import SOLVERS, ContactSolver
from .tables import (
    FINISH_PATCH,
    GIVEN_OF_ISLAND,
    MANY,
    MOTION,
    OFF,
    RESPONSE,
    ROW,
    SOLVE_DISPLACEMENTS,
    SOLVE_IMPULSES,
    SPEEDS,
    TAKE_SURFACES,
    ContactTables,
    call_coordinates,
    call_surfaces,
    in_joint_space,
    point_velocity,
    three,
)

ROUNDING = 1e-15  # of the numbers whose difference a residual is
# Most factorizations for an island that sweeps left unsolved: where it is large, as many as do not take much longer.
FINISHING, LEAST_FINISHING, OF_CONTACTS = 250, 20, 1000000
MOST_EDGES = MOST_BLOCKS * (MOST_BLOCKS - 1) // 2  # between the blocks of a row
# Of the aim, where that takes at most so many more: the next step starts from there. A large pile that moves gains nothing.
POLISHED, POLISHING = 1e-3, 4


class Converging(NamedTuple):
    """The workspace: an island in matrices, and its problem, which shares blocks, masses and Jacobians with it."""

    island: Any = part(IslandProblem)
    problem: Any = part(ConeProblem)
    spans: Any = column("blocks", np.int64, doc="most speeds of each block of any island")
    laws: Any = column("1", np.int64, doc="whether contacts may have laws of surfaces")


# From an island to its problem, and back ------------------------------------------------------------------------------


@njit
def load_island(number, velocities, with_laws, tables, work):
    """Fill the problem with an island, its impulses, and the packed speeds without them in `velocities`; `with_laws` of
    surfaces, or without. Returns whether it could."""
    if not describe_island(number, with_laws, work.island, tables):
        return False
    load_described(number, velocities, tables, work)
    return True


@njit
def load_described(number, velocities, tables, work):
    """The same from what the problem describes, all or a part of an island."""
    counts, step = work.island.counts, work.problem.step[0]
    step.blocks, step.contacts, step.speeds = counts[BLOCKS], counts[PROBLEM_CONTACTS], counts[PROBLEM_SPEEDS]
    step.rows, step.warm = counts[BOUNDS] + counts[EQUATIONS], 1
    step.max_iterations, step.tolerance = tables.stepping.options[0].iterations, tables.stepping.options[0].tolerance
    step.relative = 0.0
    copy_speeds(velocities, True, work)
    contacts = tables.collision.contacts
    if tables.system.commands.shape[0] > 0 and in_joint_space(tables):
        call_coordinates(GIVEN_OF_ISLAND, float(number), velocities, tables.stepping.values, tables)
    for i in range(counts[PROBLEM_CONTACTS]):
        coupling, cone = work.island.contacts[i], work.problem.cones[i]
        contact = contacts[coupling.number]
        copy_blocks(coupling, cone)
        cone.friction, cone.bias = contact.friction, contact.bias
        bend = (0.0, contact.bend[1], contact.bend[2])  # its normal part is in the bias
        store3(cone.offset, add(bend, given_velocity(i, contact, velocities, work.island, tables)))
        store3(cone.impulse, load3(contact.impulse))
    load_laws(work)
    for i in range(counts[BOUNDS]):
        load_bound(work.island.bounds[i], work.problem.rows[i], tables.stepping)
        if tables.system.commands.shape[0] > 0:
            bound = tables.stepping.bounds[work.island.bounds[i].number]
            work.problem.rows[i].target -= given_rate(i, bound, velocities, work.island, tables)
    for i in range(counts[EQUATIONS]):
        coupling, row = work.island.equations[i], work.problem.rows[counts[BOUNDS] + i]
        copy_blocks(coupling, row)
        row.target, row.compliance = work.island.wanted[i], work.island.compliance[i]
        row.least, row.most = -np.inf, np.inf
        row.impulse = 0.0 if in_joint_space(tables) else load(tables.stepping.joint_impulses, coupling.number)


@njit
def load_laws(work):
    """The cones of surface laws, behind those of the contacts."""
    counts, step = work.island.counts, work.problem.step[0]
    for i in range(counts[LAW_CONTACTS]):
        cone, extra = work.problem.cones[step.contacts], work.island.extra[i]
        copy_blocks(work.island.contacts[step.contacts], cone)
        cone.friction, cone.bias = extra.friction, 0.0
        store3(cone.offset, load3(extra.offset))
        store3(cone.impulse, load3(extra.impulse))
        step.contacts += 1


@njit
def given_velocity(k, contact, velocities, island, tables):
    """The part of u of contact k of an island that comes from bodies that move by command."""
    if tables.system.commands.shape[0] == 0:
        return (0.0, 0.0, 0.0)
    if in_joint_space(tables):
        return three(island.given, 3 * k)
    u, (n, t, s) = (0.0, 0.0, 0.0), axes_of(contact)
    if is_commanded(contact.a, island, tables):
        u = sub(u, point_velocity(velocities, contact.a, load3(contact.arm_a)))
    if is_commanded(contact.b, island, tables):
        u = add(u, point_velocity(velocities, contact.b, load3(contact.arm_b)))
    return (dot(n, u), dot(t, u), dot(s, u))


@njit
def is_commanded(body, island, tables):
    """Whether a body is in no block of an island, but moves."""
    return body < tables.system.bodies.shape[0] and island.block_of[body] < 0


@njit
def given_rate(k, bound, velocities, island, tables):
    """The same of the rate of bound k."""
    if in_joint_space(tables):
        return load(island.given_bounds, k)
    value = 0.0
    if is_commanded(bound.a, island, tables):
        at = MOTION * bound.a
        value += dot(load3(bound.linear_a), three(velocities, at)) + dot(
            load3(bound.angular_a), three(velocities, at + 3)
        )
    if is_commanded(bound.b, island, tables):
        at = MOTION * bound.b
        value += dot(load3(bound.linear_b), three(velocities, at)) + dot(
            load3(bound.angular_b), three(velocities, at + 3)
        )
    return value - bound.slide


@njit
def copy_blocks(coupling, target):
    """The blocks of a contact or row."""
    target.number = coupling.number
    for b in range(MOST_BLOCKS):
        target.blocks[b], target.at[b] = coupling.blocks[b], coupling.at[b]


@njit
def load_bound(coupling, row, stepping):
    """A row with bounds; one that is off keeps the impulse zero."""
    bound = stepping.bounds[coupling.number]
    copy_blocks(coupling, row)
    row.target, row.compliance = -bound.bias, bound.compliance
    row.least, row.most, row.impulse = bound.least, bound.most, bound.impulse
    if bound.response == OFF:
        row.least = row.most = 0.0


@njit
def copy_speeds(velocities, into, work):
    """Copy the speeds of an island from packed ones, or back."""
    speeds = work.problem.speeds
    for i in range(work.island.counts[BLOCKS]):
        block = work.island.blocks[i]
        if block.packed == NO_SPEEDS:
            if into:
                store(speeds, block.first, 0.0)
            continue
        for k in range(block.speeds):
            if into:
                store(speeds, block.first + k, load(velocities, block.packed + k))
            else:
                store(velocities, block.packed + k, load(speeds, block.first + k))


@njit
def unload_island(velocities, tables, work):
    """Write speeds and impulses of a solved island."""
    counts, stepping = work.island.counts, tables.stepping
    copy_speeds(velocities, False, work)
    for i in range(counts[PROBLEM_CONTACTS]):
        cone = work.problem.cones[i]
        store3(tables.collision.contacts[cone.number].impulse, load3(cone.impulse))
    for i in range(counts[LAW_CONTACTS]):
        store3(work.island.extra[i].impulse, load3(work.problem.cones[counts[PROBLEM_CONTACTS] + i].impulse))
    if counts[LAW_CONTACTS] > 0:
        call_surfaces(TAKE_SURFACES, 0.0, velocities, tables)
    for i in range(counts[BOUNDS]):
        row = work.problem.rows[i]
        if stepping.bounds[row.number].response != OFF:
            stepping.bounds[row.number].impulse = row.impulse
    if not in_joint_space(tables):
        for i in range(counts[EQUATIONS]):
            row = work.problem.rows[counts[BOUNDS] + i]
            store(stepping.joint_impulses, row.number, row.impulse)


@njit
def solve_loaded(work):
    """Solve the problem; it holds the best iterate. Returns a status."""
    status = solve_problem(work.problem)
    if status == NEED_MORE:
        return NEED_ROOM
    if status != NOT_FINITE and escapes(work.problem):
        hold(work.problem)
    return NON_FINITE if status == NOT_FINITE else OK


# Tasks of a step --------------------------------------------------------------------------------------------------------


@njit
def solve_impulses(tables, work):
    """The impulses of all islands, to the tolerance, relative to their speeds: writes `motion`, impulses and the report.
    Returns a status."""
    collision, stepping = tables.collision, tables.stepping
    report, step = stepping.report[0], work.problem.step[0]
    report.iterations, worst = 0, -1.0
    for number in range(collision.counts[ISLANDS]):
        island = collision.islands[number]
        if not load_island(number, stepping.motion, True, tables, work):
            return NON_FINITE
        if step.contacts + step.rows == 0:
            continue
        step.tolerance = ROUNDING * max(static_speed(island, tables), largest_rate(work))
        if island.end - island.first > MANY:
            step.tolerance = max(step.tolerance, stepping.options[0].tolerance_of_many)
        step.relative = stepping.options[0].tolerance
        status = solve_loaded(work)
        if status != OK:
            return status
        aim = step.tolerance
        if step.residual <= aim and (step.iterations <= WARM or step.rows > 0 or step.contacts <= MANY):
            polish(work.problem)
        unload_island(stepping.motion, tables, work)
        report.iterations += step.iterations
        island.residual = step.residual
        if step.residual - aim > worst:
            worst, report.residual, report.aim = step.residual - aim, step.residual, aim
    return OK


@njit
def static_speed(island, tables):
    """The largest K p of a contact (m/s), of which the residual is a difference."""
    contacts, rows, largest = tables.collision.contacts, tables.stepping.rows, 0.0
    for i in range(island.first, island.end):
        largest = max(largest, contacts[i].impulse[0] * rows[ROW * i + RESPONSE])
    return largest


@njit
def largest_rate(work):
    """The largest sum of |J w| over a block (m/s or rad/s), of which the velocity of a row is a difference: of normals, and
    with friction of tangents. The rate of a scalar row may be one speed, with the rounding of the largest in its block."""
    problem, largest = work.problem, 0.0
    for i in range(problem.step[0].contacts):
        cone = problem.cones[i]
        for side in range(MOST_BLOCKS):
            if cone.blocks[side] < 0:
                break
            block = problem.blocks[cone.blocks[side]]
            for r in range(3 if cone.friction > 0.0 else 1):
                at, rate = cone.at[side] + r * block.speeds, 0.0
                for k in range(block.speeds):
                    rate += abs(load(problem.jacobian, at + k) * load(problem.speeds, block.first + k))
                largest = max(largest, rate)
    for i in range(problem.step[0].rows):
        row = problem.rows[i]
        for side in range(MOST_BLOCKS):
            if row.blocks[side] < 0:
                break
            block, reach, fastest = problem.blocks[row.blocks[side]], 0.0, 0.0
            for k in range(block.speeds):
                reach += abs(load(problem.jacobian, row.at[side] + k))
                fastest = max(fastest, abs(load(problem.speeds, block.first + k)))
            largest = max(largest, reach * fastest)
    return largest


@njit
def solve_displacements(tables, work):
    """`shift` of the islands that overlap becomes the least displacement without overlap, with joints closed. Returns a
    status."""
    collision, stepping, step = tables.collision, tables.stepping, work.problem.step[0]
    for number in range(collision.counts[ISLANDS]):
        island = collision.islands[number]
        if not island.overlap > 0.0:
            continue
        if not load_island(number, stepping.shift, False, tables, work):
            return NON_FINITE
        for k in range(step.speeds):
            store(work.problem.speeds, k, 0.0)
        bounds = work.island.counts[BOUNDS]
        for i in range(step.rows):
            row = work.problem.rows[i]
            row.impulse, row.target = 0.0, 0.0
            if i < bounds or row.compliance > 0.0:
                row.least = row.most = 0.0
        step.tolerance, step.relative = overlap_of_aim(island, stepping.options[0]), stepping.options[0].tolerance
        status = solve_loaded(work)
        if status != OK:
            return status
        copy_speeds(stepping.shift, False, work)
    return OK


@njit
def polish(problem):
    """A few more steps from a solution, which converge fast: joints hold to rounding, large impulses are as right as
    velocities, and an island at rest is solved in the next steps as well."""
    step = problem.step[0]
    step.tolerance, step.max_iterations = POLISHED * step.tolerance, step.iterations + POLISHING
    load_best(problem)
    run_multipliers(problem, POLISHING)
    measure(problem)


@njit
def finish_island(number, tables, work):
    """Solve an island to its aim from the impulses that sweeps reached, if that brings it nearer; writes
    `residual` of its row. Returns a status."""
    island, step = tables.collision.islands[number], work.problem.step[0]
    if not load_island(number, tables.stepping.free_motion, True, tables, work):
        return OK
    step.max_iterations = min(FINISHING, max(LEAST_FINISHING, OF_CONTACTS // max(1, step.contacts)))
    step.tolerance = island.aim
    status = solve_loaded(work)
    if status == NEED_ROOM:
        return status
    if status == OK and step.residual <= island.aim and island.slow != 0:
        polish(work.problem)
    if status == OK and step.residual < island.residual:
        unload_island(tables.stepping.motion, tables, work)
        island.residual = step.residual
    return OK


@njit
def finish_patch(number, tables, work):
    """Solve the contacts of an island that miss its aim, and those around them; writes `residual` of its row. Returns a
    status."""
    island, step, motion = tables.collision.islands[number], work.problem.step[0], tables.stepping.motion
    if not find_patch(island, work.island, tables):
        return OK
    apply_impulses(-1.0, work.island, tables)
    load_described(number, motion, tables, work)
    step.max_iterations, step.tolerance = FACTORIZATIONS, WELL * island.aim
    status = solve_loaded(work)
    if status == OK and step.residual <= island.aim:
        unload_island(motion, tables, work)
        contacts, rows = tables.collision.contacts, tables.stepping.rows
        island.residual = worst_residual(island.first, island.end, contacts, motion, rows)
    else:
        apply_impulses(1.0, work.island, tables)
    return status if status == NEED_ROOM else OK


# The C function, and its use from Python --------------------------------------------------------------------------------


@njit
def converging_task(task, number, tables, work):
    """SOLVE_IMPULSES, SOLVE_DISPLACEMENTS, or FINISH_ISLAND and FINISH_PATCH for one of them; returns a status."""
    if task == SOLVE_IMPULSES:
        return solve_impulses(tables, work)
    if task == SOLVE_DISPLACEMENTS:
        return solve_displacements(tables, work)
    if task == FINISH_PATCH:
        return finish_patch(int(number), tables, work)
    return finish_island(int(number), tables, work)


def converging_entry(data, task, number, nothing, n, more, m):
    tables = table_at(ContactTables, data)
    return converging_task(task, number, tables, table_at(Converging, tables.callbacks[0].workspace))


CONVERGING_ENTRY = CFunction(converging_entry, C_SIGNATURE)


def make_workspace(mechanism: Any, settings: Any, bounds: Any, spans: Any = None, laws: bool = False) -> Converging:
    """The workspace of a run's steps, with no room for contacts yet. spans : speeds of each block; of bodies, 6 each. laws :
    whether contacts may have laws of surfaces."""
    bodies, rows = len(mechanism.system.bodies), len(mechanism.system.error)
    spans = [SPEEDS] * bodies if spans is None else list(spans)
    return fitted((bodies, 0, len(bounds), rows), spans, laws, None)


def fitted(room: tuple[int, int, int, int], spans: list[int], laws: bool, matrix: Any) -> Converging:
    """A workspace with room for so many bodies, contacts, bounds and rows."""
    _, contacts, bounds, rows = room
    island = allocate(IslandProblem, room_of_problem(*room, spans, laws))
    step: Any = np.zeros(1, STEP).view(np.recarray)
    more, cones = (LAW_BLOCKS * contacts, len(island.contacts)) if laws else (0, contacts)
    edges = (MOST_EDGES * cones if laws else cones) + bounds + rows * MOST_EDGES
    sizes = {
        "blocks": len(spans) + more, "contacts": cones, "rows": bounds + rows, "masses": len(island.masses),
        "jacobian": 0, "speeds": sum(spans) + more, "edges": edges, "largest": max(spans, default=0),
    }  # fmt: skip
    matrix = supernodal_tables(len(spans) + more, edges, sum(spans) + more) if matrix is None else matrix
    problem = allocate(
        ConeProblem,
        sizes,
        step=step,
        blocks=island.blocks,
        masses=island.masses,
        jacobian=island.jacobian,
        matrix=matrix,
    )
    return Converging(island, problem, np.array(spans, np.int64), np.array([laws], np.int64))


def fit_workspace(work: Converging, contacts: Any) -> Converging:
    """The workspace with room for these contacts, and for the factorization that the last step asked for."""
    plan = work.problem.matrix.plan[0]
    matrix = grown(work.problem.matrix) if plan.nodes < 0 and plan.nodes_needed > 0 else work.problem.matrix
    laws = bool(work.laws[0])
    if len(work.island.contacts) < (CONES if laws else 1) * len(contacts):
        island = work.island
        room = len(island.block_of) - 1, len(contacts), len(island.bounds), len(island.equations)
        return fitted(room, work.spans.tolist(), laws, matrix)
    return work._replace(problem=work.problem._replace(matrix=matrix))


SOLVERS.add(
    "interior_point",
    ContactSolver(
        "solves all contacts and joints together, by Newton's method", 1000, 1e-10, "relative", 0.0, CONVERGING_ENTRY,
        converging_task,
        separates=True, tolerance_of_many=1e-6, make_workspace=make_workspace, fit_workspace=fit_workspace,
    ),
)  # fmt: skip
