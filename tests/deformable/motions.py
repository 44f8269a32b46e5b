"""Scenes of particles whose motion is known, with that motion: positions and velocities (n, 3) at any time."""

import numpy as np

import dalembert as dal

FIXED = {"euler": 1, "symplectic_euler": 1, "splitting": 2, "midpoint": 2, "bogacki_shampine": 3, "rk4": 4,
         "dormand_prince": 5, "dop853": 8}  # fmt: skip
IMPLICIT = {"linear_implicit_euler": 1, "implicit_euler": 1, "implicit_midpoint": 2, "bdf2": 2}
STEPPED = {"time_stepping": 2, **IMPLICIT}
ORDER = {**FIXED, **STEPPED}
EXACT = {"newton_tolerance": 1e-15, "linear_tolerance": 1e-12}
TIGHT = {"newton_tolerance": 1e-13, "linear_tolerance": 1e-12}


class Oscillator:
    """A particle on a spring without rest length, to a pinned one."""

    duration, omega = 1.3, 2.0
    start, speed = np.array([1.0, 0.0, 0.2]), np.array([0.0, 0.7, -0.5])

    def scene(self):
        scene = dal.Scene("oscillator", gravity=(0, 0, 0))
        scene.add_particles("ends", [np.zeros(3), self.start], mass=2.0, velocity=[np.zeros(3), self.speed], pinned=[0])
        scene.springs("spring", "ends", [[0, 1]], stiffness=2.0 * self.omega**2, rest=0.0)
        return scene

    def motion(self, t):
        c, s = np.cos(self.omega * t), np.sin(self.omega * t)
        x, v = c * self.start + s / self.omega * self.speed, c * self.speed - s * self.omega * self.start
        return np.array([np.zeros(3), x]), np.array([np.zeros(3), v])


class Damped:
    """The same on a line, with a damper beside the spring, and drag; and under its weight."""

    duration, gravity = 1.1, 3.0
    mass, stiffness, damping, drag = 2.0, 9.0, 1.1, 0.6

    def scene(self):
        scene = dal.Scene("damped", gravity=(0, 0, -self.gravity))
        scene.add_particles("ends", [[0, 0, 0], [0, 0, -1.5]], mass=self.mass, pinned=[0])
        scene.springs("spring", "ends", [[0, 1]], stiffness=self.stiffness, damping=self.damping, rest=0.5)
        scene.medium("oil", linear=self.drag)
        return scene

    def motion(self, t):
        rest = -0.5 - self.mass * self.gravity / self.stiffness
        decay = 0.5 * (self.damping + self.drag) / self.mass
        omega = np.sqrt(self.stiffness / self.mass - decay**2)
        z, envelope = -1.5 - rest, np.exp(-decay * t)
        c, s = np.cos(omega * t), np.sin(omega * t)
        x = rest + envelope * z * (c + decay / omega * s)
        v = -envelope * z * (omega + decay**2 / omega) * s
        return np.array([[0, 0, 0], [0, 0, x]]), np.array([[0, 0, 0], [0, 0, v]])


def kepler(t, mu, axis, eccentricity):
    """Place and velocity on an ellipse, from its pericentre at t = 0 in the direction x, by Kepler's equation."""
    rate = np.sqrt(mu / axis**3)
    e, anomaly = eccentricity, rate * t
    for _ in range(50):
        anomaly -= (anomaly - e * np.sin(anomaly) - rate * t) / (1.0 - e * np.cos(anomaly))
    b = np.sqrt(1.0 - e * e)
    place = axis * np.array([np.cos(anomaly) - e, b * np.sin(anomaly), 0.0])
    turn = axis * rate / (1.0 - e * np.cos(anomaly))
    return place, turn * np.array([-np.sin(anomaly), b * np.cos(anomaly), 0.0])


class Orbit:
    """A light particle about a pinned one, by gravitation."""

    duration, mu, axis, eccentricity = 2.5, 1.5, 1.0, 0.3

    def scene(self):
        x, v = kepler(0.0, self.mu, self.axis, self.eccentricity)
        scene = dal.Scene("orbit", gravity=(0, 0, 0))
        scene.add_particles("sun", [0, 0, 0], mass=3.0, pinned=True)
        scene.add_particles("planet", x, mass=1e-3, velocity=v)
        scene.gravitation("pull", constant=self.mu / 3.0)
        return scene

    def motion(self, t):
        x, v = kepler(t, self.mu, self.axis, self.eccentricity)
        return np.array([np.zeros(3), x]), np.array([np.zeros(3), v])


class TwoBodies:
    """Two free particles about each other, whose centre of mass moves on."""

    duration, masses, drift = 2.5, np.array([2.0, 1.0]), np.array([0.1, -0.2, 0.3])
    constant, axis, eccentricity = 0.5, 1.0, 0.2

    def motion(self, t):
        total = self.masses.sum()
        x, v = kepler(t, self.constant * total, self.axis, self.eccentricity)
        shares = np.array([-self.masses[1], self.masses[0]])[:, None] / total
        return self.drift * t + shares * x, self.drift + shares * v

    def scene(self):
        x, v = self.motion(0.0)
        scene = dal.Scene("two bodies", gravity=(0, 0, 0))
        scene.add_particles("stars", x, mass=self.masses, velocity=v)
        scene.gravitation("pull", constant=self.constant)
        return scene


class Modes:
    """A chain of particles between pinned ends, on springs without rest length: its normal modes.

    Of n particles of mass m on springs k, mode j is sin(π i j/(n + 1)) with ω = 2 √(k/m) sin(½ π j/(n + 1)).
    """

    duration, count, mass, stiffness = 1.2, 6, 0.5, 4.0

    def __init__(self):
        i = np.arange(self.count + 2)
        self.rest = np.outer(i, [0.3, 0.1, -0.2])
        self.modes = [
            (1, np.array([0.0, 0.2, 0.1])),
            (3, np.array([0.1, 0.0, -0.1])),
            (6, np.array([0.05, -0.1, 0.05])),
        ]

    def motion(self, t):
        i = np.arange(self.count + 2)
        x, v = self.rest.copy(), np.zeros_like(self.rest)
        for j, amplitude in self.modes:
            half = 0.5 * np.pi * j / (self.count + 1)
            omega = 2.0 * np.sqrt(self.stiffness / self.mass) * np.sin(half)
            shape = np.outer(np.sin(2.0 * half * i), amplitude)
            x += np.cos(omega * t + j) * shape
            v -= omega * np.sin(omega * t + j) * shape
        v[[0, -1]] = 0.0
        x[[0, -1]] = self.rest[[0, -1]]
        return x, v

    def scene(self):
        x, v = self.motion(0.0)
        scene = dal.Scene("modes", gravity=(0, 0, 0))
        scene.add_particles("chain", x, mass=self.mass, velocity=v, pinned=[0, -1])
        pairs = [[i, i + 1] for i in range(self.count + 1)]
        scene.springs("springs", "chain", pairs, stiffness=self.stiffness, rest=0.0)
        return scene


PROBLEMS = {"oscillator": Oscillator, "damped": Damped, "orbit": Orbit, "two bodies": TwoBodies, "modes": Modes}


def net(side=4, seed=0, squeeze=1.0, damping=0.0):
    """A net of springs pinned at two corners, pushed out of shape; its springs want `squeeze` times their length."""
    random = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), [0.0], indexing="ij"), -1).reshape(-1, 3)
    x = 0.25 * grid + 0.05 * random.normal(size=grid.shape)
    number = np.arange(side * side).reshape(side, side)
    pairs = [[number[:-1], number[1:]], [number[:, :-1], number[:, 1:]], [number[:-1, :-1], number[1:, 1:]]]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    lengths = np.linalg.norm(x[pairs[:, 1]] - x[pairs[:, 0]], axis=1)
    velocity = 0.5 * random.normal(size=x.shape)
    velocity[[0, side - 1]] = 0.0
    scene = dal.Scene("net")
    scene.add_particles("net", x, mass=0.05, velocity=velocity, pinned=[0, side - 1])
    scene.springs("springs", "net", pairs, stiffness=200.0, damping=damping, rest=squeeze * lengths)
    return scene


def errors_of(problem, method, sizes, **settings):
    """The norm of the errors of place and velocity at the end, for each step size."""
    x, v = problem.motion(problem.duration)
    found = []
    for h in sizes:
        state = dal.simulate(problem.scene(), problem.duration, method=method, dt=h, frame_rate=1.0, **settings).state
        found.append(np.hypot(np.linalg.norm(state.particle_position - x), np.linalg.norm(state.particle_velocity - v)))
    return np.array(found)


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]
