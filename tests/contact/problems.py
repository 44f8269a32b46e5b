"""Contact problems of one time step, small and large, as `cone_problem.ConeProblem`s: of rigid bodies, and of any blocks."""

from typing import Any, NamedTuple

import numpy as np

from dalembert.contact.cone_problem import BLOCKS, STEP, ConeProblem
from dalembert.core.tables import allocate
from dalembert.linalg.supernodal_analysis import supernodal_tables

G, H = 9.81, 0.01


class Contact(NamedTuple):
    """Three rows (n, t, s) on the speeds of blocks."""

    jacobians: dict[int, np.ndarray]  # block → (3, its speeds)
    friction: float = 0.0
    bias: float = 0.0
    offset: Any = (0.0, 0.0, 0.0)


class Row(NamedTuple):
    """One row on the speeds of blocks: an equation, or with bounds on its impulse."""

    jacobians: dict[int, np.ndarray]  # block → (its speeds,)
    target: float = 0.0
    compliance: float = 0.0
    least: float = -np.inf
    most: float = np.inf


def make(
    masses: list[np.ndarray], free: list[Any], contacts: list[Contact] = (), rows: list[Row] = (), *,
    tolerance: float = 1e-13, max_iterations: int = 100,
) -> ConeProblem:  # fmt: skip
    """A problem of blocks with these dense mass matrices and free speeds."""
    sizes = [len(m) for m in masses]
    couplings = [*contacts, *rows]
    edges = sum(len(c.jacobians) * (len(c.jacobians) - 1) // 2 for c in couplings)
    step = np.zeros(1, STEP).view(np.recarray)
    record = step[0]
    record.blocks, record.contacts, record.rows, record.speeds = len(sizes), len(contacts), len(rows), sum(sizes)
    record.max_iterations, record.tolerance = max_iterations, tolerance
    p = allocate(
        ConeProblem,
        {"blocks": len(sizes), "contacts": len(contacts), "rows": len(rows), "masses": sum(n * n for n in sizes),
         "jacobian": sum(j.size for c in couplings for j in c.jacobians.values()), "speeds": sum(sizes), "edges": edges,
         "largest": max(sizes, default=0)},
        step=step, matrix=supernodal_tables(len(sizes), edges, sum(sizes)),
    )  # fmt: skip
    first = mass = 0
    for i, (matrix, n) in enumerate(zip(masses, sizes, strict=True)):
        p.blocks[i] = (i, first, first, n, mass)
        p.masses[mass : mass + n * n] = matrix.ravel()
        p.speeds[first : first + n] = free[i]
        first, mass = first + n, mass + n * n
    at = fill(p, p.cones, contacts, 0)
    fill(p, p.rows, rows, at)
    for record, contact in zip(p.cones, contacts, strict=True):
        record.friction, record.bias, record.offset = contact.friction, contact.bias, contact.offset
        record.impulse = np.nan
    for record, row in zip(p.rows, rows, strict=True):
        record.target, record.compliance, record.least, record.most = row.target, row.compliance, row.least, row.most
    return p


def fill(p: ConeProblem, table: Any, couplings: Any, at: int) -> int:
    """Write blocks and Jacobians from `at` on; returns where they end."""
    for i, coupling in enumerate(couplings):
        table[i].number, table[i].blocks = i, [*coupling.jacobians, *[-1] * (BLOCKS - len(coupling.jacobians))]
        for side, jacobian in enumerate(coupling.jacobians.values()):
            table[i].at[side] = at
            p.jacobian[at : at + jacobian.size] = np.ravel(jacobian)
            at += jacobian.size
    return at


def dense(p: ConeProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(M, J of contacts (3 rows each), g of rows) as dense matrices."""
    n = p.step[0].speeds
    mass = np.zeros((n, n))
    for block in p.blocks:
        k = slice(block.first, block.first + block.speeds)
        mass[k, k] = p.masses[block.mass : block.mass + block.speeds**2].reshape(block.speeds, -1)
    return mass, dense_rows(p, p.cones, 3), dense_rows(p, p.rows, 1)


def dense_rows(p: ConeProblem, table: Any, height: int) -> np.ndarray:
    found = np.zeros((height * len(table), p.step[0].speeds))
    for i, record in enumerate(table):
        for number, at in zip(record.blocks, record.at, strict=True):
            if number >= 0:
                block = p.blocks[number]
                entries = p.jacobian[at : at + height * block.speeds].reshape(height, -1)
                found[height * i : height * (i + 1), block.first : block.first + block.speeds] += entries
    return found


# Rigid bodies -------------------------------------------------------------------------------------------------------------


class Body(NamedTuple):
    mass: float
    inertia: np.ndarray  # (3, 3) world axes
    velocity: np.ndarray  # (6,) free


class Touch(NamedTuple):
    """A contact of bodies a and b at these arms, with axes (n, t, s) as rows of `frame`."""

    a: int
    b: int
    frame: np.ndarray
    arm_a: Any
    arm_b: Any
    friction: float
    bias: float


class Joint(NamedTuple):
    """Joint rows: Jacobians (k, 6) of bodies a and b."""

    a: int
    b: int
    on_a: np.ndarray
    on_b: np.ndarray
    target: np.ndarray


def contact(
    a: int, b: int, normal: Any, arm_a: Any, arm_b: Any, friction: float = 0.0, bias: float = 0.0
) -> Touch:  # fmt: skip
    """A contact with tangents made up from the normal."""
    n = np.asarray(normal, float)
    n = n / np.linalg.norm(n)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return Touch(a, b, np.array([n, t, np.cross(n, t)]), arm_a, arm_b, friction, bias)


def cross_matrix(r: Any) -> np.ndarray:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def problem(
    bodies: list[Body], contacts: list[Touch], joints: list[Joint] | None = None, tolerance: float = 1e-13,
    max_iterations: int = 100,
) -> ConeProblem:  # fmt: skip
    """A problem of rigid bodies. One of infinite mass is no block: its velocity is the offset of its contacts."""
    block_of, masses, free = {}, [], []
    for i, body in enumerate(bodies):
        if np.isfinite(body.mass):
            block_of[i] = len(masses)
            masses.append(np.block([[body.mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), body.inertia]]))
            free.append(body.velocity)
    couplings = []
    for c in contacts:
        own, offset = {}, np.zeros(3)
        for i, arm, sign in ((c.a, c.arm_a, -1.0), (c.b, c.arm_b, 1.0)):
            jacobian = sign * c.frame @ np.hstack([np.eye(3), -cross_matrix(arm)])
            if i in block_of:
                own[block_of[i]] = jacobian
            elif i < len(bodies):
                offset += jacobian @ bodies[i].velocity
        couplings.append(Contact(own, c.friction, c.bias, offset))
    rows = []
    for joint in joints or []:
        for on_a, on_b, target in zip(joint.on_a, joint.on_b, joint.target, strict=True):
            sides = ((joint.a, on_a), (joint.b, on_b))
            rows.append(Row({block_of[i]: row for i, row in sides if i in block_of}, target))
    return make(masses, free, couplings, rows, tolerance=tolerance, max_iterations=max_iterations)


def box(mass: float = 1.0, side: float = 1.0, velocity: Any = (0.0, 0.0, -G * H, 0.0, 0.0, 0.0)) -> Body:
    return Body(mass, np.eye(3) * mass * side**2 / 6.0, np.array(velocity, float))


def box_contacts(below: int, above: int, friction: float, side: float = 1.0, normal: Any = (0.0, 0.0, 1.0)) -> list:
    """Four points between the box `above` and what is below: another box, or the world (whose arm counts for nothing)."""
    half = 0.5 * side
    corners = [(x, y) for x in (-half, half) for y in (-half, half)]
    return [contact(below, above, normal, (x, y, half), (x, y, -half), friction) for x, y in corners]


def stack(
    masses: Any, friction: float = 0.5, velocity: Any = (0.0, 0.0, -G * H, 0.0, 0.0, 0.0), **more: Any
) -> ConeProblem:  # fmt: skip
    """Boxes of 1 m on one another and on the ground, four contacts each."""
    n = len(masses)
    bodies = [box(mass, velocity=velocity) for mass in masses]
    contacts = [c for i in range(n) for c in box_contacts(n if i == 0 else i - 1, i, friction)]
    return problem(bodies, contacts, **more)


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return mass * q @ np.diag(rng.uniform(0.2, 0.4, 3)) @ q.T


def random_problem(
    seed: int, n: int, count: int, friction: float = 1.5, decades: float = 0.0, world: float = 0.2, joints: int = 0,
    tolerance: float = 1e-10, **more: Any,
) -> ConeProblem:  # fmt: skip
    """Contacts at random places between random bodies, masses over so many decades, friction up to `friction`, and ball
    joints. With bias ≥ 0 and no targets the state of rest is admissible, so that a solution exists (Acary et al. 2011)."""
    rng = np.random.default_rng(seed)
    masses = 10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades, n)
    bodies = [Body(m, random_inertia(rng, m), rng.normal(size=6)) for m in masses]
    contacts = []
    for _ in range(count):
        a, b = two_bodies(rng, n, world)
        arm_a, arm_b = 0.5 * rng.normal(size=(2, 3))
        contacts.append(
            contact(a, b, rng.normal(size=3), arm_a, arm_b, rng.uniform(0.0, friction), rng.uniform(0.0, 0.5))
        )
    rows = [ball_joint(*two_bodies(rng, n, world), *(0.5 * rng.normal(size=(2, 3)))) for _ in range(joints)]
    return problem(bodies, contacts, rows, tolerance=tolerance, **more)


def two_bodies(rng: np.random.Generator, n: int, world: float) -> tuple[int, int]:
    a = int(rng.integers(n))
    if n == 1 or rng.random() < world:
        return a, n
    return a, int((a + 1 + rng.integers(n - 1)) % n)


def ball_joint(a: int, b: int, arm_a: Any, arm_b: Any) -> Joint:
    """The points of bodies a and b at these arms keep together."""
    return Joint(
        a, b, np.hstack([-np.eye(3), cross_matrix(arm_a)]), np.hstack([np.eye(3), -cross_matrix(arm_b)]), np.zeros(3)
    )
