"""Contact problems of one time step, small and large, as `interior_point_tables.Problem`s."""

from typing import Any, NamedTuple

import numpy as np

from dalembert.collide.tables import CONTACT
from dalembert.contact.interior_point_system import GROUP, STEP, Problem
from dalembert.core.tables import allocate

G, H = 9.81, 0.01


class Body(NamedTuple):
    mass: float
    inertia: np.ndarray  # (3, 3) world axes
    velocity: np.ndarray  # (6,) free


class Row(NamedTuple):
    """One group of joint rows: Jacobians (k, 6) of bodies a and b."""

    a: int
    b: int
    on_a: np.ndarray
    on_b: np.ndarray
    target: np.ndarray


def six(matrix: np.ndarray) -> list[float]:
    return [matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[0, 1], matrix[0, 2], matrix[1, 2]]


def contact(
    a: int, b: int, normal: Any, arm_a: Any, arm_b: Any, friction: float = 0.0, bias: float = 0.0
) -> np.ndarray:
    """A record CONTACT with tangents made up from the normal."""
    n = np.asarray(normal, float)
    n = n / np.linalg.norm(n)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    record = np.zeros(1, CONTACT)
    record["a"], record["b"] = a, b
    record["frame"] = np.concatenate([n, t, np.cross(n, t)])
    record["arm_a"], record["arm_b"] = arm_a, arm_b
    record["friction"], record["bias"] = friction, bias
    record["impulse"] = np.nan
    return record


def problem(
    bodies: list[Body], contacts: list[np.ndarray], joints: list[Row] | None = None, tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> Problem:  # fmt: skip
    joints = joints or []
    n, rows = len(bodies), sum(len(joint.target) for joint in joints)
    step = np.zeros(1, STEP).view(np.recarray)
    record = step[0]
    record.bodies, record.contacts, record.groups = n, len(contacts), len(joints)
    record.max_iterations, record.tolerance = max_iterations, tolerance
    groups = np.zeros(len(joints), GROUP).view(np.recarray)
    jacobian, first = np.zeros(12 * rows), 0
    for i, joint in enumerate(joints):
        k = len(joint.target)
        groups[i] = (first, k, joint.a, joint.b)
        jacobian[12 * first : 12 * (first + k)] = np.hstack([joint.on_a, joint.on_b]).ravel()
        first += k
    mass = np.array([body.mass for body in bodies])
    fixed = ~np.isfinite(mass)
    inverses = [np.zeros((3, 3)) if f else np.linalg.inv(b.inertia) for b, f in zip(bodies, fixed, strict=True)]
    table = np.concatenate(contacts) if contacts else np.zeros(0, CONTACT)
    return allocate(
        Problem,
        {"n": n, "contacts": len(contacts), "groups": len(joints), "rows": rows, "entries": 0},
        step=step,
        mass=np.where(fixed, 0.0, mass),
        inverse_mass=np.where(fixed, 0.0, 1.0 / mass),
        inertia=np.array([six(body.inertia) for body in bodies]).ravel(),
        inverse_inertia=np.array([six(inverse) for inverse in inverses]).ravel(),
        velocity=np.concatenate([body.velocity for body in bodies]).astype(float),
        contacts=table.view(np.recarray),
        groups=groups,
        jacobian=jacobian,
        target=np.concatenate([joint.target for joint in joints]) if joints else np.zeros(0),
        multiplier=np.full(rows, np.nan),
    )


def box(mass: float = 1.0, side: float = 1.0, velocity: Any = (0.0, 0.0, -G * H, 0.0, 0.0, 0.0)) -> Body:
    return Body(mass, np.eye(3) * mass * side**2 / 6.0, np.array(velocity, float))


def box_contacts(below: int, above: int, friction: float, side: float = 1.0, normal: Any = (0.0, 0.0, 1.0)) -> list:
    """Four points between the box `above` and what is below: another box, or the world (whose arm counts for nothing)."""
    half = 0.5 * side
    corners = [(x, y) for x in (-half, half) for y in (-half, half)]
    return [contact(below, above, normal, (x, y, half), (x, y, -half), friction) for x, y in corners]


def stack(
    masses: Any, friction: float = 0.5, velocity: Any = (0.0, 0.0, -G * H, 0.0, 0.0, 0.0), **more: Any
) -> Problem:
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
    **more: Any,
) -> Problem:  # fmt: skip
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
    return problem(bodies, contacts, rows, **more)


def two_bodies(rng: np.random.Generator, n: int, world: float) -> tuple[int, int]:
    a = int(rng.integers(n))
    if n == 1 or rng.random() < world:
        return a, n
    return a, int((a + 1 + rng.integers(n - 1)) % n)


def cross_matrix(r: Any) -> np.ndarray:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def ball_joint(a: int, b: int, arm_a: Any, arm_b: Any) -> Row:
    """The points of bodies a and b at these arms keep together."""
    return Row(
        a, b, np.hstack([-np.eye(3), cross_matrix(arm_a)]), np.hstack([np.eye(3), -cross_matrix(arm_b)]), np.zeros(3)
    )


def dense(p: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(M, J of contacts (3 rows each), G of joints) as dense matrices."""
    n = int(p.step[0].bodies)
    mass = np.zeros((6 * n, 6 * n))
    for i in range(n):
        xx, yy, zz, xy, xz, yz = p.inertia[6 * i : 6 * i + 6]
        mass[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = p.mass[i] * np.eye(3)
        mass[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    j = np.zeros((3 * len(p.contacts), 6 * n + 6))
    for i, c in enumerate(p.contacts):
        frame = np.reshape(c["frame"], (3, 3))
        j[3 * i : 3 * i + 3, 6 * c["b"] : 6 * c["b"] + 6] += frame @ np.hstack([np.eye(3), -cross_matrix(c["arm_b"])])
        j[3 * i : 3 * i + 3, 6 * c["a"] : 6 * c["a"] + 6] -= frame @ np.hstack([np.eye(3), -cross_matrix(c["arm_a"])])
    rows = p.jacobian.reshape(-1, 12)
    g = np.zeros((len(rows), 6 * n + 6))
    for group in p.groups:
        k = slice(group["first"], group["first"] + group["rows"])
        g[k, 6 * group["a"] : 6 * group["a"] + 6] += rows[k, :6]
        g[k, 6 * group["b"] : 6 * group["b"] + 6] += rows[k, 6:]
    return mass, j[:, : 6 * n], g[:, : 6 * n]
