"""User functions brought to the one form that kernels call, f(t, numbers) → numbers; see `pointer`.

A compiled function stays compiled: its adapter is compiled around it. A plain one is called back through Python, and what
it returns is checked in each call (`checked`); of a compiled one it is checked once, before the run (`answers`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..jit import is_dispatcher

STATE = 13
STEP = 1e-3  # of the fourth-order difference that gives the bias (s)


@dataclass(frozen=True)
class Answer:
    """What a function of the user's returns: in words, and the shapes that these may have."""

    words: str
    shapes: tuple[tuple[int, ...], ...]
    kinds: str = "iuf"  # of NumPy's dtypes

    def require(self, result: Any) -> None:
        """Raises TypeError or ValueError for a result that is something else."""
        if result is None:
            raise TypeError(f"it returned nothing (None); return {self.words}")
        try:
            array = np.asarray(result)
        except ValueError:
            raise ValueError(f"it returned {result!r:.80}; return {self.words}") from None
        if array.dtype.kind not in self.kinds:
            what = {"c": "complex numbers", "b": "a truth value"}.get(array.dtype.kind, f"{result!r:.80}")
            raise TypeError(f"it returned {what}; return {self.words}")
        if array.shape not in self.shapes:
            raise ValueError(f"it returned numbers of shape {array.shape}; return {self.words}")


FORCE_AND_TORQUE = Answer("a force of shape (3,), or force and torque of shape (6,)", ((3,), (6,)))
EFFORT = Answer("one number, the effort", ((),))
FIELD = Answer("a force of shape (3,)", ((3,),))
WIND = Answer("a velocity of shape (3,)", ((3,),))
RADIAL = Answer("two numbers, W and dW/dr", ((2,),))
EVENT = Answer("one number, which changes sign at the event", ((),))


def checked(function: Callable[..., Any], answer: Answer) -> Callable[..., Any]:
    """A plain function whose result is checked in each call; a compiled one as it is."""
    if is_dispatcher(function):
        return function

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        answer.require(result)
        return result

    return call


def constraint_answers(rows: int, bodies: int) -> tuple[Answer, Answer, Answer]:
    """Of C, of its Jacobian and of J̇ v."""
    return (
        Answer(f"{rows} numbers, of shape ({rows},)", ((rows,),), "iufc"),
        Answer(f"numbers of shape ({rows}, {6 * bodies})", ((rows, 6 * bodies),)),
        Answer(f"{rows} numbers, of shape ({rows},)", ((rows,),)),
    )


def _like(function: Callable[..., Any], adapter: Callable[..., Any]) -> Callable[..., Any]:
    """The adapter, compiled when the function is."""
    if not is_dispatcher(function):
        return adapter
    import numba

    return numba.njit(error_model="numpy")(adapter)


def load_adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """(t, x, q, v, ω) → 3 or 6 numbers, as f(t, state of the body) → 6 numbers."""
    function = checked(function, FORCE_AND_TORQUE)

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        result = function(t, s[0:3], s[3:7], s[7:10], s[10:13])
        out = np.full(6, np.nan)  # what another number of values than 3 or 6 leaves: the run stops and says so
        if len(result) == 3 or len(result) == 6:
            out[3:] = 0.0
            for i in range(len(result)):
                out[i] = result[i]
        return out

    return _like(function, adapter)


def motor_adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """(t, s, ṡ) → effort, as f(t, (s, ṡ)) → 1 number."""
    function = checked(function, EFFORT)

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        out = np.zeros(1)
        out[0] = function(t, s[0], s[1])
        return out

    return _like(function, adapter)


def field_adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """(t, x, v) → (3,) force on a particle, as f(t, (x, v)) → 3 numbers."""
    function = checked(function, FIELD)

    def adapter(t: float, s: np.ndarray) -> Any:
        return function(t, s[0:3], s[3:6])

    return _like(function, adapter)


def wind_adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """(t, x) → (3,) velocity of the wind, as f(t, x) → 3 numbers."""
    function = checked(function, WIND)

    def adapter(t: float, s: np.ndarray) -> Any:
        return function(t, s)

    return _like(function, adapter)


def radial_adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """r → (W, dW/dr), as f(t, (r,)) → 2 numbers."""
    function = checked(function, RADIAL)

    def adapter(t: float, s: np.ndarray) -> Any:
        return function(s[0])

    return _like(function, adapter)


def supplied_constraint(function: Any, jacobian: Any, bias: Any, rows: int, bodies: int) -> Callable[..., Any]:
    """C, J and J̇ v by the user's own functions, as f(t, states of four bodies) → 26 rows numbers."""
    answers = constraint_answers(rows, bodies)
    function, jacobian, bias = map(checked, (function, jacobian, bias), answers)

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        states = s.reshape(4, 13)[:bodies]
        x, q, v, w = states[:, 0:3].copy(), states[:, 3:7].copy(), states[:, 7:10].copy(), states[:, 10:13].copy()
        out = np.zeros(26 * rows)
        error, gradient, second = function(x, q), jacobian(x, q), bias(x, q, v, w)
        for r in range(rows):
            out[r] = error[r]
            out[25 * rows + r] = second[r]
            for k in range(bodies):
                for c in range(6):
                    out[rows + 6 * (rows * k + r) + c] = gradient[r, 6 * k + c]
        return out

    return _like(function, adapter)


def automatic_constraint(function: Any, rows: int, bodies: int) -> Callable[..., Any]:
    """The same with derivatives taken of C itself.

    Along the path x + s v, exp(½ s ω) q, which holds v and ω constant, d/ds C = J (v, ω) and d²/ds² C = J̇ v. The first
    is a complex step, Im C(s + i h)/h with h so small that it is exact to rounding (Squire & Trapp 1998); the second is
    a fourth-order central difference of the first.
    """
    function = checked(function, constraint_answers(rows, bodies)[0])

    def along(x, q, v, w, s, h):  # type: ignore[no-untyped-def]
        z = complex(s, h)
        moved = x + z * v
        turned = np.empty_like(q)
        for k in range(x.shape[0]):
            speed = np.sqrt(w[k, 0].real ** 2 + w[k, 1].real ** 2 + w[k, 2].real ** 2)
            half = 0.5 * z
            cosine = np.cos(half * speed)
            sine = np.sin(half * speed) / speed if speed > 0.0 else half
            e0, e1, e2, e3 = cosine, sine * w[k, 0], sine * w[k, 1], sine * w[k, 2]
            q0, q1, q2, q3 = q[k, 0], q[k, 1], q[k, 2], q[k, 3]
            turned[k, 0] = e0 * q0 - e1 * q1 - e2 * q2 - e3 * q3
            turned[k, 1] = e0 * q1 + e1 * q0 + e2 * q3 - e3 * q2
            turned[k, 2] = e0 * q2 - e1 * q3 + e2 * q0 + e3 * q1
            turned[k, 3] = e0 * q3 + e1 * q2 - e2 * q1 + e3 * q0
        return function(moved, turned)

    along = _like(function, along)

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        tiny = 1e-60
        states = s.reshape(4, 13)[:bodies].astype(np.complex128)
        x, q, v, w = states[:, 0:3].copy(), states[:, 3:7].copy(), states[:, 7:10].copy(), states[:, 10:13].copy()
        still = np.zeros((bodies, 3), dtype=np.complex128)
        out = np.zeros(26 * rows)
        error = function(x, q)
        for r in range(rows):
            out[r] = error[r].real
        for k in range(bodies):
            for c in range(6):
                unit = np.zeros((bodies, 3), dtype=np.complex128)
                unit[k, c % 3] = 1.0
                if c < 3:
                    column = along(x, q, unit, still, 0.0, tiny)
                else:
                    column = along(x, q, still, unit, 0.0, tiny)
                for r in range(rows):
                    out[rows + 6 * (rows * k + r) + c] = column[r].imag / tiny
        speed = np.sqrt((v.real**2).sum() + (w.real**2).sum())
        if speed > 0.0:
            step = STEP / max(speed, 1e-6)
            for weight, at in ((1.0, -2.0), (-8.0, -1.0), (8.0, 1.0), (-1.0, 2.0)):
                rate = along(x, q, v, w, at * step, tiny)
                for r in range(rows):
                    out[25 * rows + r] += weight * (rate[r].imag / tiny) / (12.0 * step)
        return out

    return _like(function, adapter)
