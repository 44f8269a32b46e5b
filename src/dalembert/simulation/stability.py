"""Stability of explicit methods with stiff forces: the limit of the step, and warnings about it.

A mode of an elastic force obeys q̈ + δ q̇ + ω² q = 0, whose solutions are exp(λ t) with λ = −δ/2 ± √(δ²/4 − ω²). A
Runge–Kutta method multiplies them by R(h λ) = 1 + h λ bᵀ(1 − h λ A)⁻¹ 1 a step (Hairer & Wanner, *Solving Ordinary
Differential Equations II*, IV.2). Symplectic Euler, p⁺ = p + h f(q, p), q⁺ = q + h p⁺, multiplies them by the roots of
z² − (2 − h δ − h² ω²) z + 1 − h δ; leapfrog steps, which are conjugate to it, have the same limit, h ω = 2.

ω² is the largest eigenvalue of M⁻¹ K at the start of the run, for one force at a time: elements between particles
(springs, cloth, soft bodies, ...), springs between points of bodies, torsion springs, and motors with gains. For the
last three ω² = k μ and δ = c μ with the mobility μ, the acceleration of the coordinate under a unit effort. The
mobility of free bodies is an upper bound, as joints can only lessen it, and finds the forces that are well below the
limit; for the others μ is computed with all joints (`response`). Gravitation, charges and other laws between all
particles are not considered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.c_function import DERIVATIVE, PARTICLE_MATRIX
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.tableaus import METHODS
from ..model.compile import Model
from ..model.tables import FIELD, SPRING, STATE_SIZE, TORSION
from ..scene.body import Body
from ..scene.force import Force
from ..scene.joint import Frame, Link
from ..scene.particles import Particle
from .control import JointReader
from .methods.contact import TIME_STEPPING
from .methods.implicit_particles import implicit_system

GROWTH = 2.0  # of an oscillation over the run: more is beyond the limit
NEAR = 1.1  # a step so many times as long is beyond it
MOST_STEPS = 1000  # a frame, of an adaptive method that only keeps stable
LANCZOS = 30  # most steps of it
IMPLICIT = "implicit_euler"
Product: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
LONGEST = 20.0  # h ω, beyond the limits of all methods
SHORTEST_RUN = 100  # steps: growth is judged over at least so many, also for shorter runs


@dataclass(frozen=True)
class Stiffness:
    """The fastest mode of a force: `frequency` ω (rad/s), `damping` δ (1/s). `particles`: whether it acts on them alone."""

    name: str
    frequency: float
    damping: float
    particles: bool


def stiffnesses(model: Model, method: str = "rk4") -> list[Stiffness]:
    """The fastest mode of each elastic force of a scene, at its start; of forces on bodies, that of free bodies."""
    found = (*_of_elements(model), *(_of_force(force) for force in forces_with_gains(model, method)))
    return [mode for mode in found if mode.frequency > 0.0 or mode.damping > 0.0]


def forces_with_gains(model: Model, method: str) -> list[Force]:
    """Springs, and what acts on the coordinate of a joint, which time steps take implicitly."""
    return [
        force
        for force in model.scene.forces.values()
        if isinstance(force, Force) and any(force.gains()) and (force.joint is None or method != TIME_STEPPING)
    ]


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
    if not np.isfinite([mode.frequency, mode.damping]).all():
        return True  # of a link, which has no mass of its own
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


def stability_warning(simulation: Any, duration: float) -> str | None:
    """What to say where steps of `dt` are near the stability limit, or beyond, in a run of so many seconds; else None.

    A step is near the limit where an oscillation at least doubles over the run at a step a tenth longer.
    """
    method, given = simulation.method, simulation.settings["dt"]
    if given is None or not _explicit(method):
        return None
    dt, model = float(given), simulation.model
    duration = max(duration, SHORTEST_RUN * dt)
    found = [mode for mode in stiffnesses(model, method) if grows(method, NEAR * dt, duration, mode)]
    if any(not mode.particles for mode in found):
        found = [in_place(simulation.model, mode) for mode in found]
        found = [mode for mode in found if grows(method, NEAR * dt, duration, mode)]
    if not found:
        return None
    stable, mode = min(((largest_step(method, duration, mode), mode) for mode in found), key=lambda item: item[0])
    advice = (
        f"{'use method=' + repr(IMPLICIT) + ', or' if _may_be_implicit(model, mode) else 'use'} dt below {stable:.2g} s"
    )
    size = f"ω = {mode.frequency:.3g} rad/s" if mode.frequency > 0.0 else f"damping rate {mode.damping:.3g} 1/s"
    of = f"{mode.name!r} ({size})"
    if mode.frequency > 0.0 and amplification(method, 1e-2 / mode.frequency, mode.frequency) > 1.0 + 1e-12:
        return (
            f"method {method!r} makes undamped oscillations grow at any step, and at dt = {dt:g} s those of {of} double "
            f"within the run; {advice}"
        )
    where = "beyond" if grows(method, dt, duration, mode) else "near"
    return f"method {method!r} at dt = {dt:g} s is {where} its stability limit for {of}; {advice}"


def advice_on_steps(simulation: Any, duration: float) -> str | None:
    """What to say of an adaptive method that needs more than a thousand steps a frame to keep stable; else None."""
    method = simulation.method
    if simulation.settings["dt"] is not None or not _explicit(method):
        return None
    modes = [mode for mode in stiffnesses(simulation.model, method) if _may_be_implicit(simulation.model, mode)]
    found = [(largest_step(method, duration, mode), mode) for mode in modes]
    if not found:
        return None
    stable, mode = min(found, key=lambda item: item[0])
    steps = 1.0 / (simulation.frame_rate * stable)
    if steps <= MOST_STEPS:
        return None
    return (
        f"method {method!r} has to take {steps:.0f} steps per frame to be stable for {mode.name!r} (ω = {mode.frequency:.3g} "
        f"rad/s); method={IMPLICIT!r} can take longer steps"
    )


def _explicit(method: str) -> bool:
    return method == TIME_STEPPING or method in METHODS


def _may_be_implicit(model: Model, mode: Stiffness) -> bool:
    """Whether implicit steps of particles can run the scene and take this force."""
    return mode.particles and not len(model.tables["nodes"])


# Elements ---------------------------------------------------------------------------------------------------------------


def _of_elements(model: Model) -> list[Stiffness]:
    if not len(model.particles.sets):
        return []
    system = implicit_system(model)
    mechanism, sets = Mechanism(system), system.elements.sets
    system.interactions.laws.active = 0
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
            0.0
            if not part.any()
            else largest_eigenvalue(_scaled(part, pattern.starts, pattern.columns, mass), len(mass))
            for part in (elastic, damped)
        ]
        found.append(Stiffness(model.force_names[entry], float(np.sqrt(squares[0])), squares[1], True))
    return found


def _scaled(blocks: NDArray[np.float64], starts: NDArray, columns: NDArray, root: NDArray[np.float64]) -> Product:
    """v → M^−½ A M^−½ v of the symmetric A of which these are the blocks on the diagonal and above, row by row."""
    blocks[starts[:-1]] *= 0.5  # on the diagonal, which both halves have
    n = len(starts) - 1
    rows = np.repeat(np.arange(n), np.diff(starts))

    def product(v: NDArray[np.float64]) -> NDArray[np.float64]:
        u = (root * v).reshape(n, 3)
        upper = np.add.reduceat(np.einsum("kij,kj->ki", blocks, u[columns]), starts[:-1])
        lower = np.einsum("kij,ki->kj", blocks, u[rows])
        lower = np.stack([np.bincount(columns, lower[:, c], n) for c in range(3)], axis=1)
        return np.asarray(root * (upper + lower).ravel())

    return product


def largest_eigenvalue(product: Product, size: int) -> float:
    """Of a symmetric positive semidefinite matrix, by its products: Lanczos's method from a random vector, to about 1e-3.

    Products are summed by NumPy rather than by BLAS, whose threads take far longer where other processes are busy.
    """
    v = np.random.default_rng(0).normal(size=size)
    v, before, beta = v / np.sqrt(np.sum(v * v)), np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    value = 0.0
    for _ in range(LANCZOS):
        w = product(v) - beta * before
        alphas.append(float(np.sum(w * v)))
        w -= alphas[-1] * v
        beta = float(np.sqrt(np.sum(w * w)))
        last, value = value, float(np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1])
        if beta <= 1e-9 * value or (len(alphas) > 5 and value - last <= 1e-7 * value):
            break
        betas.append(beta)
        before, v = v, w / beta
    return value


# Forces on bodies -------------------------------------------------------------------------------------------------------


def _of_force(force: Force) -> Stiffness:
    """The mode of a force on bodies that are free but for what is pinned."""
    if force.joint is None:
        n = _along(force)
        mobility = _mobility(force.a, force.at_a, n) + _mobility(force.b, force.at_b, n)
    else:
        axis = np.array([0.0, 0.0, 1.0]) if force.joint.axis is None else force.joint.axis
        own = _turning if force.coordinate == "angle" else _mobility
        mobility = sum(own(end, force.joint.at, axis) for end in (force.joint.a, force.joint.b))
    return _mode(force, mobility)


def _mode(force: Force, mobility: float) -> Stiffness:
    stiffness, damping = force.gains()
    return Stiffness(force.name, float(np.sqrt(stiffness * mobility)), damping * mobility, False)


def _along(force: Force) -> NDArray[np.float64]:
    """The unit vector from one end of a spring to the other."""
    along = force.at_b - force.at_a
    length = float(np.linalg.norm(along))
    return along / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _mobility(frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]) -> float:
    """The acceleration (1/kg) of a point along n under a unit force there."""
    if isinstance(frame, Particle):
        return 0.0 if frame.group.pinned[frame.index] else 1.0 / float(frame.group.mass[frame.index])
    if isinstance(frame, Link):
        return np.inf
    if not isinstance(frame, Body) or frame.motion is not None:
        return 0.0
    return 1.0 / frame.mass + _turning(frame, at, np.cross(at - frame.position, n))


def _turning(frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]) -> float:
    """The angular acceleration (1/(kg m²)) about n under a torque n."""
    if isinstance(frame, Link):
        return np.inf
    return (
        0.0
        if not isinstance(frame, Body) or frame.motion is not None
        else float(n @ np.linalg.solve(frame.rotation @ frame.inertia @ frame.rotation.T, n))
    )


def in_place(model: Model, mode: Stiffness) -> Stiffness:
    """The mode of a force on bodies with all joints in place; one of particles as it is."""
    if mode.particles:
        return mode
    force = model.scene.forces[mode.name]
    found = response(model, force)
    return mode if found is None else _mode(force, found)


def response(model: Model, force: Force) -> float | None:
    """The acceleration of the coordinate of a force (along a spring, or of a joint) at the start under a unit effort of it,
    with all joints; None if the equations of motion cannot be evaluated.

    It is the difference of two evaluations of the equations of motion with a spring of stiffness 1 in the place of the force:
    the second has a rest position further by 1, and so a unit effort more.
    """
    mechanism = Mechanism(model.system())
    own = JointMechanism(model, mechanism) if model.tree is not None else mechanism
    rows = mechanism.system.forces
    of_force = (rows.kind != FIELD) & (rows.ledger == model.force_names.index(force.name))
    row = rows[np.flatnonzero(of_force)[0]]
    row.kind, row.stiffness = SPRING if force.joint is None else TORSION, 1.0
    y = model.initial.copy()
    slopes = []
    for more in (0.0, 1.0):
        row.rest += more
        found = _slopes(own, y)
        if found is None:
            return None
        slopes.append(found)
    _set_velocities(own, model, y, slopes[1] - slopes[0])
    if force.joint is None:
        n = _along(force)
        return abs(_speed(model, y, force.b, force.at_b, n) - _speed(model, y, force.a, force.at_a, n))
    if not isinstance(own, JointMechanism):
        return abs(JointReader(model).read(y)[_coordinate_name(force)][1])
    freedom = own.layout.scalars().get(_coordinate_name(force))
    return None if freedom is None else abs(float(own.z[len(own.layout.start) + freedom[1]]))


def _slopes(own: Mechanism, y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The derivative of the state, of z in joint coordinates; None where there is none."""
    if isinstance(own, JointMechanism):
        status = own.take(y) or own.call(DERIVATIVE, 0.0, own.z, own.dzdt)
        return None if status else own.dzdt.copy()
    slopes = np.zeros_like(y)
    return None if own(DERIVATIVE, 0.0, y.copy(), slopes) else slopes


def _set_velocities(own: Mechanism, model: Model, y: NDArray[np.float64], rates: NDArray[np.float64]) -> None:
    """Give the state y, and z in joint coordinates, rates of momenta or speeds for velocities."""
    if isinstance(own, JointMechanism):
        first, last = len(own.layout.start), len(own.layout.start) + len(own.layout.freedoms)
        own.z[first:last] = rates[first:last]
        own.put(y)
    else:
        moving = model.momentum > 0.0
        y[moving] = rates[moving]


def _coordinate_name(force: Force) -> str:
    joint = force.joint
    assert joint is not None
    return f"{joint.name}.{force.coordinate}" if joint.angle and joint.displacement else joint.name


def _speed(
    model: Model, y: NDArray[np.float64], frame: Frame | None, at: NDArray[np.float64], n: NDArray[np.float64]
) -> float:
    """The velocity along n of a point of a body or particle, at a state."""
    if isinstance(frame, Particle):
        momenta = y[model.particle_block].reshape(2, -1, 3)[1]
        return float(model.tables["particle_inverse_mass"][frame.number] * (momenta[frame.number] @ n))
    if not isinstance(frame, Body) or frame.motion is not None:
        return 0.0
    start = STATE_SIZE * model.body_names.index(frame.name)
    spin = np.linalg.solve(frame.rotation @ frame.inertia @ frame.rotation.T, y[start + 10 : start + 13])
    return float((y[start + 7 : start + 10] / frame.mass + np.cross(spin, at - frame.position)) @ n)
