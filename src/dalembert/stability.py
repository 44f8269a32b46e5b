"""Whether an explicit method is stable on the stiffest force of a scene at its step: what `dalembert run` warns of.

A mode of an elastic force obeys q̈ + δ q̇ + ω² q = 0, whose solutions are exp(λ t) with λ = −δ/2 ± √(δ²/4 − ω²). A Runge–Kutta
method multiplies them by R(h λ) = 1 + h λ bᵀ(1 − h λ A)⁻¹ 1 a step (Hairer & Wanner, *Solving Ordinary Differential Equations
II*, IV.2). Symplectic Euler, p⁺ = p + h f(q, p), q⁺ = q + h p⁺, multiplies them by the roots of
z² − (2 − h δ − h² ω²) z + 1 − h δ; leapfrog steps, which are conjugate to it, have the same limit, h ω = 2.

ω² is the largest eigenvalue of M⁻¹ K at the start of the run, one force at a time. What is looked at are elements between
particles (springs, cloth, soft bodies, ...) and springs between points of bodies, these as if nothing else held the bodies.
Gravitation, charges and other laws between all particles are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array
from scipy.sparse.linalg import LinearOperator

from .drivers import TIME_STEPPING, system_of
from .integrate.methods import METHODS
from .mechanics.evaluate import Mechanism
from .model.compile import Model
from .pointer import PARTICLE_MATRIX
from .scene.body import Body
from .scene.force import Force
from .scene.joint import Frame
from .scene.particles import Particle
from .simulate import Simulation

GROWTH = 2.0  # of an oscillation over the run: more is beyond the limit
NEAR = 1.1  # a step so many times as long is beyond it
MOST_STEPS = 1000  # a frame, of an adaptive method that only keeps stable
LANCZOS = 30  # most steps of it
IMPLICIT = "implicit_euler"
LONGEST = 20.0  # h ω, beyond the limits of all methods


@dataclass(frozen=True)
class Stiffness:
    """The fastest mode of a force: `frequency` ω (rad/s), `damping` δ (1/s). `particles`: whether it acts on them alone."""

    name: str
    frequency: float
    damping: float
    particles: bool


def stiffnesses(model: Model) -> list[Stiffness]:
    """The fastest mode of each elastic force of a scene, at its start."""
    springs = [force for force in model.scene.forces.values() if isinstance(force, Force) and force.kind == "spring"]
    return [mode for mode in (*_of_elements(model), *map(_of_spring, springs)) if mode.frequency > 0.0]


def amplification(method: str, dt: float, frequency: float, damping: float = 0.0) -> float:
    """The factor by which a step of `dt` (s) of an explicit method grows a mode of ω (rad/s) and δ (1/s)."""
    if method == TIME_STEPPING or METHODS[method].partitioned:
        half = 1.0 - 0.5 * (dt * damping + (dt * frequency) ** 2)
        roots = half + np.array([1.0, -1.0]) * np.sqrt(complex(half * half - 1.0 + dt * damping))
        return float(np.abs(roots).max())
    tableau = METHODS[method]
    root = np.sqrt(complex(0.25 * damping**2 - frequency**2))
    ones = np.ones(tableau.stages)
    factors = []
    for z in dt * np.array([-0.5 * damping + root, -0.5 * damping - root]):
        factors.append(abs(1.0 + z * (tableau.b @ np.linalg.solve(np.eye(tableau.stages) - z * tableau.a, ones))))
    return float(max(factors))


def grows(method: str, dt: float, duration: float, mode: Stiffness) -> bool:
    """Whether a mode more than doubles over a run of so many seconds."""
    factor = amplification(method, dt, mode.frequency, mode.damping)
    return bool(np.log(max(factor, 1e-300)) * duration / dt > np.log(GROWTH))


def largest_step(method: str, duration: float, mode: Stiffness) -> float:
    """The step (s) up to which a mode does not double over a run of so many seconds."""
    fastest = max(mode.frequency, mode.damping)
    steps = np.geomspace(0.1 / (1.0 + duration * fastest), LONGEST, 400) / fastest
    first = next((i for i, dt in enumerate(steps) if grows(method, dt, duration, mode)), len(steps) - 1)
    low, high = float(steps[max(first - 1, 0)]), float(steps[first])
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(method, middle, duration, mode) else (middle, high)
    return low


def stability_warning(simulation: Simulation, duration: float) -> str | None:
    """What to say where the method is near its limit, or beyond, in a run of so many seconds; None where all is well.

    A method of fixed step is near where an oscillation at least doubles over the run at a step a tenth longer. An adaptive
    one keeps stable by itself: it is told of where that alone asks for more than a thousand steps a frame.
    """
    method, given = simulation.method, simulation.settings["dt"]
    if method != TIME_STEPPING and method not in METHODS:
        return None
    modes = stiffnesses(simulation.model)
    if not modes:
        return None
    stable, mode = min(((largest_step(method, duration, mode), mode) for mode in modes), key=lambda found: found[0])
    of = f"{mode.name!r} (ω = {mode.frequency:.3g} rad/s)"
    implicit = mode.particles and not len(simulation.model.tables["nodes"])
    advice = f"{'use method=' + repr(IMPLICIT) + ', or' if implicit else 'use'} dt below {stable:.2g} s"
    if given is None:
        steps = 1.0 / (simulation.frames * stable)
        if steps <= MOST_STEPS or not implicit:
            return None
        return (
            f"method {method!r} has to take {steps:.0f} steps a frame to keep stable on {of}; "
            f"method={IMPLICIT!r} takes longer ones"
        )
    dt = float(given)
    if not grows(method, NEAR * dt, duration, mode):
        return None
    if amplification(method, 1e-2 / mode.frequency, mode.frequency) > 1.0 + 1e-12:
        return (
            f"method {method!r} makes undamped oscillations grow at any step, and at dt = {dt:g} s those of {of} double "
            f"within the run; {advice}"
        )
    where = "beyond" if grows(method, dt, duration, mode) else "near"
    return f"method {method!r} at dt = {dt:g} s is {where} its stability limit for {of}; {advice}"


# Elements ---------------------------------------------------------------------------------------------------------------


def _of_elements(model: Model) -> list[Stiffness]:
    if not len(model.particles.sets):
        return []
    system = system_of(model, IMPLICIT)
    mechanism, sets = Mechanism(system), system.elements.tables.sets
    system.interactions.tables.laws.active = 0
    system.particle_forces.active = 0
    mass = np.repeat(np.sqrt(system.particle_inverse_mass), 3)
    pattern = model.particles.pattern()
    n = 3 * model.particle_count
    x = model.particles.initial()[:n]
    place = np.concatenate([x, np.zeros(2 * n), x])
    found = []
    for k, entry in enumerate(sets.ledger.tolist()):
        sets.active = np.arange(len(sets)) == k
        parts = []
        for rate in (0.0, 1.0):
            system.settings[0].rate = rate
            values = np.zeros(9 * len(pattern.columns))
            if mechanism(PARTICLE_MATRIX, 0.0, place, values) != 0:
                return []
            parts.append(values.reshape(-1, 3, 3))
        elastic, damped = parts[0], parts[1] - parts[0]
        squares = [
            0.0 if not part.any() else largest_eigenvalue(_scaled(part, pattern.starts, pattern.columns, mass))
            for part in (elastic, damped)
        ]
        found.append(Stiffness(model.force_names[entry], float(np.sqrt(squares[0])), squares[1], True))
    return found


def _scaled(
    blocks: NDArray[np.float64], starts: NDArray, columns: NDArray, root: NDArray[np.float64]
) -> LinearOperator:
    """M^−½ A M^−½ of the symmetric A of which these are the blocks on the diagonal and above."""
    blocks[starts[:-1]] *= 0.5  # on the diagonal, which both halves have
    upper = bsr_array((blocks, columns, starts), shape=(len(root), len(root))).tocsr()
    lower = upper.T.tocsr()

    def product(v: NDArray[np.float64]) -> NDArray[np.float64]:
        u = root * v.ravel()
        return np.asarray(root * (upper @ u + lower @ u))

    return LinearOperator((len(root), len(root)), matvec=product, dtype=np.float64)


def largest_eigenvalue(matrix: LinearOperator) -> float:
    """Of a symmetric positive semidefinite matrix, by Lanczos's method from a random vector, to about 1e-3."""
    v = np.random.default_rng(0).normal(size=matrix.shape[0])
    v, before, beta = v / np.linalg.norm(v), np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    value = 0.0
    for _ in range(LANCZOS):
        w = matrix @ v - beta * before
        alphas.append(float(w @ v))
        w -= alphas[-1] * v
        beta = float(np.linalg.norm(w))
        last, value = value, float(np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1])
        if beta <= 1e-9 * value or (len(alphas) > 5 and value - last <= 1e-7 * value):
            break
        betas.append(beta)
        before, v = v, w / beta
    return value


# Springs of bodies ------------------------------------------------------------------------------------------------------


def _of_spring(force: Force) -> Stiffness:
    """Along the spring, with both ends free to move but for what is pinned."""
    along = force.at_b - force.at_a
    length = np.linalg.norm(along)
    n = along / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    mobility = _mobility(force.a, force.at_a, n) + _mobility(force.b, force.at_b, n)
    return Stiffness(force.name, float(np.sqrt(force.stiffness * mobility)), force.damping * mobility, False)


def _mobility(frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]) -> float:
    """The acceleration (1/kg) of a point along n under a unit force there."""
    if isinstance(frame, Particle):
        return 0.0 if frame.group.pinned[frame.index] else 1.0 / float(frame.group.mass[frame.index])
    if not isinstance(frame, Body):
        return 0.0
    turning = np.cross(at - frame.position, n)
    inertia = frame.rotation @ frame.inertia @ frame.rotation.T
    return 1.0 / frame.mass + float(turning @ np.linalg.solve(inertia, turning))
