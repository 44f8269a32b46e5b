"""Systems with known solutions, as plain Python functions of (t, y)."""

import math

import numpy as np


def logistic_forced(t, y):
    """A nonlinear, non-autonomous system: y₀' = y₀ cos t, y₁' = -2 t y₁²; see `logistic_solution`."""
    return np.array([y[0] * math.cos(t), -2.0 * t * y[1] ** 2])


def logistic_solution(t):
    """From (1, 1) at t = 0: y₀ = exp(sin t), y₁ = 1/(1 + t²)."""
    t = np.asarray(t)
    return np.stack([np.exp(np.sin(t)), 1.0 / (1.0 + t**2)], axis=-1)


def oscillator(t, y):
    return np.array([y[1], -y[0]])


def kepler(t, y):
    cubed = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.array([y[2], y[3], -y[0] / cubed, -y[1] / cubed])


def kepler_start(eccentricity):
    """At perihelion of an orbit with semi-major axis 1 and period 2π."""
    e = eccentricity
    return np.array([1.0 - e, 0.0, 0.0, math.sqrt((1.0 + e) / (1.0 - e))])


def kepler_energy(y):
    return 0.5 * (y[..., 2] ** 2 + y[..., 3] ** 2) - 1.0 / np.hypot(y[..., 0], y[..., 1])


def falling(t, y):
    """A ball in free fall: height (m), velocity (m/s)."""
    return np.array([y[1], -9.81])


def slope(sizes, errors):
    """The order of accuracy: the slope of log(error) against log(h)."""
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]
