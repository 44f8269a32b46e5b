"""Whether the derivatives that users write are those of their functions; looked at before a run.

Of a radial law they are dW/dr of W(r), at a few distances. Of a constraint they are those of C(x, q): along the path
x + s v, exp(½ s ω) q of a body, which holds v and ω constant, dC/ds = J (v, ω) and d²C/ds² = J̇ (v, ω). All are compared with
central differences. A function that is not analytic (abs, comparisons, .real) gives a wrong complex step, and a Jacobian that
is written by hand may be wrong: either would hold the bodies where nobody meant them to be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .model.compile import Model
from .model.user_functions import RADIAL
from .scene.body import Body
from .scene.joint import Custom
from .scene.particle_force import ParticleForce
from .user_pointer import Pointer

Vector = NDArray[np.float64]

STEP = 1e-4  # m and rad
BESIDE = 1e-2  # the same: so far from the initial pose, where terms may vanish, derivatives are compared
CLOSE = 1e-4  # of the largest entry
SLOPE = 1e-2  # of a radial law, which may have a kink


def require_derivatives(model: Model) -> None:
    """Raises ValueError, naming the constraint or the law, for derivatives that are not those of its function."""
    for force in model.scene.forces.values():
        if force.kind == "radial":
            law = next(
                p for p in model.pointers if p.adapter.functions[0] is force.function and RADIAL in p.adapter.answers
            )
            _require_slope(f"radial {force.name!r}", force, law)
    for name, pointer in zip(model.pointer_names, model.pointers, strict=True):
        joint = model.scene.joints.get(name)
        if joint is not None and joint.custom is not None:
            _require(f"constraint {name!r}", joint.custom, pointer)


def _require(owner: str, custom: Custom, pointer: Pointer) -> None:
    count, rows = len(custom.bodies), custom.rows
    states = np.zeros((4, 13))
    states[:, 3] = 1.0
    for state, body in zip(states, custom.bodies, strict=False):
        if isinstance(body, Body):
            state[:3], state[3:7] = body.position, body.orientation
    rates = 0.5 + np.cos(np.arange(6.0 * count)).reshape(count, 6)  # in no special direction
    for state, rate in zip(states, rates, strict=False):
        state[:3] += BESIDE * rate[:3]
        state[3:7] = _turned(state[3:7], BESIDE * rate[3:])
    states[:count, 7:] = rates
    out = pointer(0.0, states.ravel())
    if not np.isfinite(out[: rows + 6 * rows * count]).all():
        pointer.error = None
        return  # what the run says of it
    given = out[rows : rows + 6 * rows * count].reshape(rows, count, 6)
    for k, body in enumerate(custom.bodies):
        for c in range(6):
            unit = np.zeros((count, 6))
            unit[k, c] = 1.0
            _, found, _ = _differences(pointer, custom, states, unit)
            if np.abs(given[:, k, c] - found).max() > CLOSE * max(1.0, float(np.abs(given).max())):
                what = "velocity" if c < 3 else "angular velocity"
                raise ValueError(
                    f"{owner}: its derivative by the {what} of {body.name!r} along {'xyz'[c % 3]} is "
                    f"{given[:, k, c].tolist()}, and by differences of the function {found.round(6).tolist()}; "
                    f"{_way_out(custom)}"
                )
    if custom.bias is not None:
        _, _, found = _differences(pointer, custom, states, rates)
        bias = out[25 * rows :]
        if np.abs(bias - found).max() > 1e2 * CLOSE * max(1.0, float(np.abs(found).max())):
            raise ValueError(
                f"{owner}: its bias is {bias.tolist()}, and by differences of the function {found.round(4).tolist()}; it is "
                "dJ/dt times the velocities (v, ω, v, ω, …)"
            )


def _require_slope(owner: str, force: ParticleForce, law: Pointer) -> None:
    """Raises ValueError for a dW/dr that is not the derivative of W, half as far, as far and twice as far apart as the first
    two particles are."""
    x = np.concatenate([group.position for group in force.groups])
    apart = float(np.linalg.norm(x[1] - x[0])) if len(x) > 1 else 0.0
    for r in (0.5 * apart, apart, 2.0 * apart):
        h = STEP * r
        if not 0.0 < r + h < force.values["cutoff"]:
            continue
        (low, _), (_, slope), (high, _) = (map(float, law(0.0, np.array([s]))) for s in (r - h, r, r + h))
        if law.error is not None:  # told of when it is run
            law.error = None
            return
        found = (high - low) / (2.0 * h)
        rounding = 1e-14 * max(abs(low), abs(high)) / h
        if (
            np.isfinite([slope, found]).all()
            and abs(slope - found) > SLOPE * max(abs(slope), abs(found)) + 10.0 * rounding
        ):
            raise ValueError(
                f"{owner}: its function says dW/dr = {slope:.6g} N at r = {r:.6g} m, and by differences of W it is "
                f"{found:.6g} N; return (W, dW/dr), where the force on either is −dW/dr along the line from the other"
            )


def _way_out(custom: Custom) -> str:
    if custom.jacobian is not None:
        return "correct the jacobian, of shape (rows, 6 bodies), by (v, ω) of each body in world axes"
    return "a function without a jacobian must be analytic (no abs, comparisons or .real); or give jacobian and bias"


def _differences(pointer: Pointer, custom: Custom, states: Vector, rates: Vector) -> tuple[Vector, Vector, Vector]:
    """C and its first and second derivative along the path of these rates (v, ω) of the bodies, (k, 6)."""
    low, here, high = (_value(pointer, custom, states, rates, s) for s in (-STEP, 0.0, STEP))
    return here, (high - low) / (2.0 * STEP), (high - 2.0 * here + low) / STEP**2


def _value(pointer: Pointer, custom: Custom, states: Vector, rates: Vector, s: float) -> Vector:
    """C at s along the path, of states of four bodies."""
    moved = states.copy()
    for state, rate in zip(moved, rates, strict=False):
        state[:3] += s * rate[:3]
        state[3:7] = _turned(state[3:7], s * rate[3:])
    return pointer(0.0, moved.ravel())[: custom.rows]


def _turned(q: Vector, angle: Vector) -> Vector:
    """exp(½ angle) q."""
    size = float(np.linalg.norm(angle))
    w, v = np.cos(0.5 * size), (0.5 * np.sinc(0.5 * size / np.pi)) * angle
    return np.array([w * q[0] - v @ q[1:], *(w * q[1:] + q[0] * v + np.cross(v, q[1:]))])
