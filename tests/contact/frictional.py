"""Frictional contact problems as matrices, and what checks their solutions: Gauss–Seidel in NumPy, and Clarabel."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import dalembert as dal

G, H = 9.81, 0.01


class Given(NamedTuple):
    M: Any
    J: Any
    v: np.ndarray
    mu: np.ndarray
    offset: np.ndarray | None = None
    rows: Any = None

    def solve(self, **more):
        return dal.solve_contact(*self[:4], offset=self.offset, rows=self.rows, **more)


def cross_matrix(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


# Problems ------------------------------------------------------------------------------------------------------------------


def frame_of(normal):
    """Rows n, t, s."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def point_rows(frame, arm):
    """(3, 6) velocities along a frame of the point of a body at `arm`."""
    return frame @ np.hstack([np.eye(3), -cross_matrix(arm)])


def box_mass(mass, sides=(1.0, 1.0, 1.0)):
    x, y, z = np.square(sides)
    return np.diag([mass] * 3 + [mass * (y + z) / 12, mass * (x + z) / 12, mass * (x + y) / 12])


def corners(half=0.5):
    return [(x, y) for x in (-half, half) for y in (-half, half)]


def assemble(masses, contacts, v, mu, **more):
    """contacts: lists of (block, 3 × size)."""
    first = np.concatenate([[0], np.cumsum([len(m) for m in masses])])
    J = np.zeros((3 * len(contacts), first[-1]))
    for i, sides in enumerate(contacts):
        for block, rows in sides:
            J[3 * i : 3 * i + 3, first[block] : first[block + 1]] += rows
    M = sp.block_diag(masses, format="csr")
    return Given(M, sp.csr_array(J), np.asarray(v, float), np.broadcast_to(mu, len(contacts)).astype(float), **more)


def stack(masses, mu=0.5, gravity=(0.0, 0.0, -G * H)):
    """Boxes of 1 m on one another and on the ground, four contacts each."""
    contacts = []
    up = frame_of((0.0, 0.0, 1.0))
    for k in range(len(masses)):
        for x, y in corners():
            sides = [(k, point_rows(up, (x, y, -0.5)))]
            if k > 0:
                sides.append((k - 1, -point_rows(up, (x, y, 0.5))))
            contacts.append(sides)
    v = np.tile(np.concatenate([gravity, np.zeros(3)]), len(masses))
    return assemble([box_mass(m) for m in masses], contacts, v, mu)


def random_mass(rng, size, decades=0.0):
    """Symmetric, positive definite, condition about 10, over so many decades."""
    q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return 10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades) * q @ np.diag(rng.uniform(0.3, 3.0, size)) @ q.T


def random_rows(rng, frame, size):
    """(3, size): a point of a body, or of a tree of joints."""
    return point_rows(frame, 0.5 * rng.normal(size=3)) if size == 6 else frame @ rng.normal(size=(3, size))


def random_given(seed, sizes=(6,) * 5, count=10, friction=0.8, decades=0.0, world=0.3):
    """Random contacts between random blocks. offset_n ≥ 0, so that the state of rest is admissible and a solution exists
    (Acary et al. 2011)."""
    rng = np.random.default_rng(seed)
    masses = [random_mass(rng, size, decades) for size in sizes]
    contacts = []
    for _ in range(count):
        frame, a = frame_of(rng.normal(size=3)), int(rng.integers(len(sizes)))
        sides = [(a, random_rows(rng, frame, sizes[a]))]
        if len(sizes) > 1 and rng.random() > world:
            b = int((a + 1 + rng.integers(len(sizes) - 1)) % len(sizes))
            sides.append((b, -random_rows(rng, frame, sizes[b])))
        contacts.append(sides)
    offset = np.zeros((count, 3))
    offset[:, 0] = rng.uniform(0.0, 0.3, count)
    v = rng.normal(size=sum(sizes))
    return assemble(masses, contacts, v, rng.uniform(0.0, friction, count), offset=offset)


def random_pile(seed, n, decades=0.0, friction=0.6):
    """Balls and boxes heaped at random: each new body touches the ground or two to four bodies below it, pressed by
    gravity, with some velocity left. Contacts of boxes have up to four redundant points."""
    rng = np.random.default_rng(seed)
    masses = [box_mass(10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades)) for _ in range(n)]
    contacts, mu = [], []
    for k in range(n):
        below = rng.choice(k, size=min(k, int(rng.integers(1, 4))), replace=False) if k > 2 else [-1]
        for other in below:
            tilt = 0.5 * rng.normal(size=2) if k > 2 else np.zeros(2)
            frame = frame_of((*tilt, 1.0))
            points = corners(0.4) if rng.random() < 0.5 else [0.2 * rng.normal(size=2)]
            own = rng.uniform(0.0, friction)
            for x, y in points:
                sides = [(k, point_rows(frame, (x, y, -0.5)))]
                if other >= 0:
                    sides.append((int(other), -point_rows(frame, (x, y, 0.5))))
                contacts.append(sides)
                mu.append(own)
    v = np.tile([0.0, 0.0, -G * H, 0.0, 0.0, 0.0], n) + 0.02 * rng.normal(size=6 * n)
    return assemble(masses, contacts, v, mu)


# Oracles -------------------------------------------------------------------------------------------------------------------


def project(x, mu):
    t = np.hypot(x[1], x[2])
    if mu * t <= -x[0]:
        return np.zeros(3)
    if t <= mu * x[0]:
        return x
    normal = (x[0] + mu * t) / (1.0 + mu * mu)
    return np.array([normal, mu * normal * x[1] / t, mu * normal * x[2] / t])


def gauss_seidel(given, sweeps=20000, tolerance=1e-11, inner=3):
    """(v, p, λ, largest change of a velocity in the last sweep): projections block by block on the Delassus matrix."""
    M, J = given.M.toarray(), given.J.toarray()
    m, rows = len(given.mu), given.rows
    B, k = J, 0
    if rows is not None:
        extra = np.atleast_2d(np.asarray(rows.matrix, float))
        k, B = len(extra), np.vstack([J, extra])
        target, compliance, least, most = (
            np.broadcast_to(x, k).astype(float) for x in (rows.target, rows.compliance, rows.least, rows.most)
        )
    T = np.linalg.solve(M, B.T)
    W = B @ T
    p = np.zeros(3 * m + k)
    u = B @ given.v
    if given.offset is not None:
        u[: 3 * m] += given.offset.ravel()
    steps = [1.0 / np.linalg.eigvalsh(W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3])[-1] for i in range(m)]
    change = np.inf
    for _ in range(sweeps):
        change = 0.0
        for i in range(m):
            own = slice(3 * i, 3 * i + 3)
            before, rate = p[own].copy(), u[own].copy()
            for _ in range(inner):
                slip = np.array([given.mu[i] * np.hypot(rate[1], rate[2]), 0.0, 0.0])
                now = project(p[own] - steps[i] * (rate + slip), given.mu[i])
                rate += W[own, own] @ (now - p[own])
                p[own] = now
            moved = W[:, own] @ (p[own] - before)
            u += moved
            change = max(change, np.abs(moved).max())
        for j in range(k):
            i = 3 * m + j
            error = u[i] - target[j] + compliance[j] * p[i]
            now = np.clip(p[i] - error / (W[i, i] + compliance[j]), least[j], most[j])
            moved = W[:, i] * (now - p[i])
            u += moved
            p[i] = now
            change = max(change, np.abs(moved).max())
        if change < tolerance:
            break
    return given.v + T @ p, p[: 3 * m].reshape(m, 3), p[3 * m :], change


def convex_velocity(given, slip):
    """argmin ½ |v − v_free|²_M subject to u + μ slip e_n in the dual cones and to equations, by Clarabel: where slip is |u_t|
    of the solution, that is Coulomb's law, and v is unique."""
    import clarabel

    n, m = given.M.shape[0], len(given.mu)
    offset = np.zeros((m, 3)) if given.offset is None else given.offset
    blocks, right, cones = [], [], []
    if given.rows is not None:
        extra = np.atleast_2d(np.asarray(given.rows.matrix, float))
        blocks.append(sp.csr_array(extra))
        right.append(np.broadcast_to(given.rows.target, len(extra)).astype(float))
        cones.append(clarabel.ZeroConeT(len(extra)))
    scale = np.ones((m, 3))
    scale[:, 1:] = given.mu[:, None]
    fixed = offset.copy()
    fixed[:, 0] += given.mu * slip
    blocks.append(-sp.diags_array(scale.ravel()) @ given.J)
    right.append((scale * fixed).ravel())
    cones += [clarabel.SecondOrderConeT(3)] * m
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 200
    P = sp.csc_matrix(sp.triu(given.M))
    q = -(given.M @ given.v)
    A = sp.csc_matrix(sp.vstack(blocks))
    found = clarabel.DefaultSolver(P, q, A, np.concatenate(right), cones, settings).solve()
    assert n == len(found.x)
    return np.array(found.x)
