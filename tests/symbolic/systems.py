"""Systems written in SymPy, as a user would, for the tests to run and for SymPy's own methods to check."""

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

time = sp.Symbol("t")
m, arm, g, k = sp.symbols("m l g k", positive=True)
VALUES = {m: 1.3, arm: 0.7, g: 9.81, k: 2.1}


def double_pendulum():
    """(L, [θ₁, θ₂])"""
    a, b = dynamicsymbols("theta_1 theta_2")
    places = [(arm * sp.sin(a), -arm * sp.cos(a))]
    places.append((places[0][0] + arm * sp.sin(b), places[0][1] - arm * sp.cos(b)))
    kinetic = sum(m / 2 * (x.diff(time) ** 2 + z.diff(time) ** 2) for x, z in places)
    return kinetic - sum(m * g * z for _, z in places), [a, b]


def cart():
    """A pendulum on a cart with a spring: (L, [s, θ])"""
    s, a = dynamicsymbols("s theta")
    x, z = s + arm * sp.sin(a), -arm * sp.cos(a)
    kinetic = m * s.diff(time) ** 2 + m / 2 * (x.diff(time) ** 2 + z.diff(time) ** 2)
    return kinetic - m * g * z - k * s**2 / 2, [s, a]


def spherical_pendulum():
    """(L, [θ, φ]), θ from straight down."""
    a, b = dynamicsymbols("theta phi")
    kinetic = m * arm**2 / 2 * (a.diff(time) ** 2 + sp.sin(a) ** 2 * b.diff(time) ** 2)
    return kinetic + m * g * arm * sp.cos(a), [a, b]


def hoop(rate):
    """A bead on a hoop of radius `arm` that turns about its vertical diameter at a rate (rad/s): (L, [θ])"""
    a = dynamicsymbols("theta")
    x = sp.Matrix([arm * sp.sin(a) * sp.cos(rate * time), arm * sp.sin(a) * sp.sin(rate * time), -arm * sp.cos(a)])
    v = x.diff(time)
    return m / 2 * v.dot(v) - m * g * x[2], [a]


def top(across, along, weight):
    """A heavy symmetric top in Euler's angles: (L, [φ, θ, ψ])"""
    phi, theta, psi = dynamicsymbols("phi theta psi")
    d = [q.diff(time) for q in (phi, theta, psi)]
    kinetic = across / 2 * (d[1] ** 2 + d[0] ** 2 * sp.sin(theta) ** 2)
    kinetic += along / 2 * (d[2] + d[0] * sp.cos(theta)) ** 2
    return kinetic - weight * sp.cos(theta), [phi, theta, psi]


def of_everything():
    """Something of everything: functions, quotients, powers, time, three coordinates: (L, [x, y, z])"""
    x, y, z = dynamicsymbols("x y z")
    dx, dy, dz = (q.diff(time) for q in (x, y, z))
    kinetic = (
        m * (1 + x**2) * dx**2 / 2 + sp.exp(y / 5) * dy**2 + (2 + sp.sin(x * z)) * dz**2 + dx * dy * sp.tanh(z) / 4
    )
    potential = (
        k * sp.sqrt(1 + x**2 + y**2) + sp.log(2 + z**2) / (1 + y**2) + sp.atan2(x, 2 + z**2) + x ** sp.Rational(4) / 8
    )
    return kinetic + dx * sp.cos(time) * y - potential - sp.atan(y) * sp.cosh(z / 3) - (2 + z**2) ** k, [x, y, z]


def disc():
    """A thin disc of radius `arm` that rolls on the ground: (L, [x, y, yaw, lean, spin], the two rows of rolling).

    (x, y) is below the middle when it stands upright: the point that touches. The middle is at that point plus `arm` along
    the tilted axis; the disc turns by yaw about z, by lean about its heading, by spin about its axle.
    """
    x, y, yaw, lean, spin = coordinates = dynamicsymbols("x y yaw lean spin")
    forward, side = sp.Matrix([sp.cos(yaw), sp.sin(yaw), 0]), sp.Matrix([-sp.sin(yaw), sp.cos(yaw), 0])
    up = sp.Matrix([0, 0, 1])
    upward, axle = -sp.sin(lean) * side + sp.cos(lean) * up, sp.cos(lean) * side + sp.sin(lean) * up
    middle = sp.Matrix([x, y, 0]) + arm * upward
    omega = yaw.diff(time) * up + lean.diff(time) * forward + spin.diff(time) * axle
    v = middle.diff(time)
    own = [omega.dot(axis) for axis in (forward, axle, upward)]
    kinetic = m / 2 * v.dot(v) + m * arm**2 / 8 * (own[0] ** 2 + 2 * own[1] ** 2 + own[2] ** 2)
    slip = v + omega.cross(-arm * upward)
    return kinetic - m * g * middle[2], list(coordinates), [slip[0], slip[1]]


def sleigh(lead, moment):
    """Chaplygin's sleigh: a knife edge at (x, y) that does not move sideways, the centre of mass `lead` (m) ahead of it:
    (L, [x, y, θ], [row])"""
    x, y, a = coordinates = dynamicsymbols("x y theta")
    v = sp.Matrix([x + lead * sp.cos(a), y + lead * sp.sin(a)]).diff(time)
    kinetic = m / 2 * v.dot(v) + moment / 2 * a.diff(time) ** 2
    return kinetic, list(coordinates), [-x.diff(time) * sp.sin(a) + y.diff(time) * sp.cos(a)]
