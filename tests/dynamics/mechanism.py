"""A scene at any state, measured by the engine and turned into dense matrices for comparison with NumPy."""

import numpy as np

from dalembert.core.c_function import DERIVATIVE, MEASURE
from dalembert.dynamics.mechanism import Mechanism
from dalembert.model.compile import compile_scene
from dalembert.scene.checks import rotation_matrix

SIZE = 13


def hamilton(p, q):
    w, v, u, r = p[0], p[1:], q[0], q[1:]
    return np.concatenate([[w * u - v @ r], w * r + u * v + np.cross(v, r)])


def turned(q, rotation):
    """exp(½ rotation) q."""
    angle = np.linalg.norm(rotation)
    if angle == 0.0:
        return np.array(q)
    return hamilton(np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * rotation / angle]), q)


class Measured:
    """A compiled scene, its state y, and what the engine says of it."""

    def __init__(self, scene):
        self.model = compile_scene(scene)
        self.mechanism = Mechanism(self.model.system())
        self.system = self.mechanism.system
        self.bodies = list(scene.bodies.values())
        self.count = len(self.bodies)
        self.y = self.model.initial.copy()
        self.dydt = np.full(self.y.size, np.nan)

    def moved(self, y, shift, turn):
        """y after the displacements (n, 3) and rotation vectors (n, 3)."""
        y = y.copy()
        for k in range(self.count):
            at = SIZE * k
            y[at : at + 3] += shift[k]
            y[at + 3 : at + 7] = turned(y[at + 3 : at + 7], turn[k])
        return y

    def with_velocity(self, y, v, w):
        """y with the momenta of the velocities (n, 3) and angular velocities (n, 3)."""
        y = y.copy()
        for k, body in enumerate(self.bodies):
            at = SIZE * k
            rotation = rotation_matrix(y[at + 3 : at + 7])
            y[at + 7 : at + 10] = body.mass * v[k]
            y[at + 10 : at + 13] = rotation @ body.inertia @ rotation.T @ w[k]
        return y

    def velocity(self, y):
        """(6 n,) v and ω of the bodies, one after the other."""
        out = []
        for k, body in enumerate(self.bodies):
            at = SIZE * k
            rotation = rotation_matrix(y[at + 3 : at + 7])
            spin = rotation @ np.linalg.solve(body.inertia, rotation.T @ y[at + 10 : at + 13])
            out += [y[at + 7 : at + 10] / body.mass, spin]
        return np.concatenate(out)

    def measure(self, y, t=0.0):
        assert self.mechanism(MEASURE, t, y, self.dydt) == 0
        return self.system

    def derivative(self, y, t=0.0):
        assert self.mechanism(DERIVATIVE, t, y, self.dydt) == 0
        return self.dydt.copy()

    def error(self, y):
        return self.measure(y).error.copy()

    def rates(self, y):
        return self.measure(y).rates.copy()

    def jacobian(self, y):
        """Dense J (rows, 6 n)."""
        self.measure(y)
        out = np.zeros((self.model.graph.rows, 6 * self.count))
        for incidence in self.system.incidences:
            stored = self.system.jacobian[incidence.offset :]
            if incidence.is_point:
                sign, (x, y_, z) = stored[0], stored[1:4]
                block = sign * np.hstack([np.eye(3), -np.array([[0, -z, y_], [z, 0, -x], [-y_, x, 0]])])
            else:
                block = stored[: 6 * incidence.rows].reshape(-1, 6)
            rows = slice(incidence.row, incidence.row + incidence.rows)
            out[rows, 6 * incidence.body : 6 * incidence.body + 6] = block
        return out

    def inverse_mass(self, y):
        """Dense W (6 n, 6 n)."""
        out = np.zeros((6 * self.count, 6 * self.count))
        for k, body in enumerate(self.bodies):
            rotation = rotation_matrix(y[SIZE * k + 3 : SIZE * k + 7])
            at = 6 * k
            out[at : at + 3, at : at + 3] = np.eye(3) / body.mass
            out[at + 3 : at + 6, at + 3 : at + 6] = rotation @ np.linalg.inv(body.inertia) @ rotation.T
        return out

    def consistent(self, y, v, w):
        """y with the velocities nearest to v and w, in the mass metric, that the joints allow."""
        raw = np.hstack([v, w]).ravel()
        j, inverse = self.jacobian(y), self.inverse_mass(y)
        fixed = raw - inverse @ j.T @ np.linalg.lstsq(j @ inverse @ j.T, j @ raw, rcond=1e-10)[0]
        pairs = fixed.reshape(-1, 6)
        return self.with_velocity(y, pairs[:, :3], pairs[:, 3:])

    def acceleration(self, y):
        """(6 n,) v̇ and ω̇ from the engine's derivative."""
        dydt = self.derivative(y)
        velocity = self.velocity(y)
        inverse = self.inverse_mass(y)
        out = []
        for k in range(self.count):
            at = SIZE * k
            spin = velocity[6 * k + 3 : 6 * k + 6]
            out += [dydt[at + 7 : at + 10], dydt[at + 10 : at + 13] - np.cross(spin, y[at + 10 : at + 13])]
        return inverse @ np.concatenate(out)

    def applied(self, y):
        """(6 n,) force and torque of everything but the joints."""
        self.measure(y)
        kin = self.system.kinematics[: self.count]
        return np.hstack([kin.force, kin.torque]).ravel()


def derivative_of(function, h=1e-3):
    """d/ds of a vector function at s = 0, by a central difference of sixth order."""
    weights = {3: 1 / 60, 2: -3 / 20, 1: 3 / 4}
    return sum(c * (function(k * h) - function(-k * h)) for k, c in weights.items()) / h


def gradient(measured, y, value, h=1e-3):
    """Derivatives of value(y) by the displacements and rotations of the bodies: (..., 6 n)."""
    columns = []
    zero = np.zeros((measured.count, 3))
    for k in range(measured.count):
        for c in range(6):
            unit = zero.copy()
            unit[k, c % 3] = 1.0

            def along(s, unit=unit, c=c):
                shift, turn = (s * unit, zero) if c < 3 else (zero, s * unit)
                return value(measured.moved(y, shift, turn))

            columns.append(derivative_of(along, h))
    return np.stack(columns, axis=-1)
