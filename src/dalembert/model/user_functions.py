"""User functions adapted to the form that kernels call, f(t, numbers) → numbers; see `core.user_function`.

A compiled function stays compiled: its adapter is compiled around it. A plain one is called back through Python, and its
result is checked in each call (`Answer.checked`); the result of a compiled one is checked once, before the run.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.user_function import Adapter, Compile

STEP = 1e-3  # of the fourth-order difference that gives the bias, at unit speed (s)
SLOW = 1e-6  # speed (norm of all v and ω) below which that step grows no longer
COMPLEX_STEP = 1e-60  # so small that its square vanishes: the derivative is exact to rounding


@dataclass(frozen=True)
class Answer:
    """The required result of a user function: in words, and the shapes that it may have."""

    words: str
    shapes: tuple[tuple[int, ...], ...]
    kinds: str = "iuf"  # of NumPy's dtypes

    def checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is called through Python, with a check of its result in each call."""

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            result = function(*arguments)
            self.require(result)
            return result

        return call

    def is_type(self, kind: Any) -> bool:
        """Whether a result of this type of Numba's is what it should be, but for the lengths of arrays."""
        from numba.core import types

        numbers = {"i": types.Integer, "u": types.Integer, "f": types.Float, "c": types.Complex}
        known = tuple({numbers[letter] for letter in self.kinds})
        if isinstance(kind, known):
            return () in self.shapes
        if isinstance(kind, types.BaseTuple):
            members: Any = kind
            return (len(members),) in self.shapes and all(isinstance(item, known) for item in members)
        return (
            isinstance(kind, types.Array)
            and isinstance(kind.dtype, known)
            and any(len(shape) == kind.ndim for shape in self.shapes)
        )

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
FIELD_ANSWER = Answer("a force of shape (3,)", ((3,),))
WIND_ANSWER = Answer("a velocity of shape (3,)", ((3,),))
RADIAL = Answer("two numbers, W and dW/dr", ((2,),))
EVENT = Answer("one number, whose sign change is the event", ((),))
POSE = Answer("a position of shape (3,), or position and quaternion of shape (7,)", ((3,), (7,)), "iufc")
COORDINATE = Answer("one number, the value of the coordinate", ((),), "iufc")


def constraint_answers(rows: int, bodies: int) -> tuple[Answer, Answer, Answer]:
    """Of C, of its Jacobian and of J̇ v."""
    return (
        Answer(f"{rows} numbers, of shape ({rows},)", ((rows,),), "iufc"),
        Answer(f"numbers of shape ({rows}, {6 * bodies})", ((rows, 6 * bodies),)),
        Answer(f"{rows} numbers, of shape ({rows},)", ((rows,),)),
    )


# Adapters. The first argument of each maker compiles functions, or returns them unchanged (`Adapter.make`).


def load_adapter(function: Callable[..., Any]) -> Adapter:
    """(t, x, q, v, ω) → 3 or 6 numbers, as f(t, state of the body) → 6 numbers."""
    return Adapter((function,), _load, size=6, answers=(FORCE_AND_TORQUE,))


def _load(compile: Compile, function: Callable[..., Any]) -> Callable[..., Any]:
    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        result = function(t, s[0:3], s[3:7], s[7:10], s[10:13])
        out = np.full(6, np.nan)  # stays so for another number of values than 3 or 6: the run stops and reports it
        if len(result) == 3 or len(result) == 6:
            out[3:] = 0.0
            for i in range(len(result)):
                out[i] = result[i]
        return out

    return adapter


def motor_adapter(function: Callable[..., Any]) -> Adapter:
    """(t, s, ṡ) → effort, as f(t, (s, ṡ)) → 1 number."""
    return Adapter((function,), _motor, size=1, answers=(EFFORT,))


def _motor(compile: Compile, function: Callable[..., Any]) -> Callable[..., Any]:
    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        out = np.zeros(1)
        out[0] = function(t, s[0], s[1])
        return out

    return adapter


def field_adapter(function: Callable[..., Any]) -> Adapter:
    """(t, x, v) → (3,) force on a particle, as f(t, (x, v)) → 3 numbers."""
    return Adapter((function,), _field, size=3, answers=(FIELD_ANSWER,))


def _field(compile: Compile, function: Callable[..., Any]) -> Callable[..., Any]:
    def adapter(t: float, s: np.ndarray) -> Any:
        return function(t, s[0:3], s[3:6])

    return adapter


def wind_adapter(function: Callable[..., Any]) -> Adapter:
    """(t, x) → (3,) velocity of the wind, as f(t, x) → 3 numbers."""
    return Adapter((function,), size=3, answers=(WIND_ANSWER,))


def event_adapter(function: Callable[..., Any]) -> Adapter:
    """(t, y) → a number."""
    return Adapter((function,), size=1, answers=(EVENT,))


def radial_adapter(function: Callable[..., Any]) -> Adapter:
    """r → (W, dW/dr), as f(t, (r,)) → 2 numbers."""
    return Adapter((function,), _radial, size=2, answers=(RADIAL,))


def _radial(compile: Compile, function: Callable[..., Any]) -> Callable[..., Any]:
    def adapter(t: float, s: np.ndarray) -> Any:
        return function(s[0])

    return adapter


def supplied_constraint(function: Any, jacobian: Any, bias: Any, rows: int, bodies: int) -> Adapter:
    """C, J and J̇ v by user functions, as f(t, states of four bodies) → 26 rows numbers."""
    return Adapter(
        (function, jacobian, bias), _supplied, (rows, bodies), 26 * rows, answers=constraint_answers(rows, bodies)
    )


def _supplied(
    compile: Compile, function: Any, jacobian: Any, bias: Any, rows: int, bodies: int
) -> Callable[..., np.ndarray]:
    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        x, q = np.empty((bodies, 3)), np.empty((bodies, 4))
        v, w = np.empty((bodies, 3)), np.empty((bodies, 3))
        for k in range(bodies):
            for i in range(3):
                x[k, i], v[k, i], w[k, i] = s[13 * k + i], s[13 * k + 7 + i], s[13 * k + 10 + i]
            for i in range(4):
                q[k, i] = s[13 * k + 3 + i]
        out = np.zeros(26 * rows)
        error, gradient, second = function(x, q), jacobian(x, q), bias(x, q, v, w)
        for r in range(rows):
            out[r] = error[r]
            out[25 * rows + r] = second[r]
            for k in range(bodies):
                for c in range(6):
                    out[rows + 6 * (rows * k + r) + c] = gradient[r, 6 * k + c]
        return out

    return adapter


def automatic_constraint(function: Any, rows: int, bodies: int) -> Adapter:
    """The same with derivatives of C itself.

    Along the path x + s v, exp(½ s ω) q, which holds v and ω constant, d/ds C = J (v, ω) and d²/ds² C = J̇ v. The first
    is a complex step, Im C(s + i h)/h with h so small that it is exact to rounding (Squire & Trapp 1998); the second is
    a fourth-order central difference of the first.
    """
    answers = constraint_answers(rows, bodies)[:1]
    return Adapter((function,), _automatic, (rows, bodies), 26 * rows, answers)


def _automatic(compile: Compile, function: Any, rows: int, bodies: int) -> Callable[..., np.ndarray]:
    def along(state, moved, rates, s, h):  # type: ignore[no-untyped-def]
        """C at s + i h along the path of these rates (v, ω), (bodies, 6)."""
        z = complex(s, h)
        x, q = np.empty((bodies, 3), np.complex128), np.empty((bodies, 4), np.complex128)
        for k in range(bodies):
            b = 13 * k
            q0, q1, q2, q3 = state[b + 3], state[b + 4], state[b + 5], state[b + 6]
            w0, w1, w2 = rates[k, 3], rates[k, 4], rates[k, 5]
            speed = np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
            half = 0.5 * z
            e0 = np.cos(half * speed)
            sine = np.sin(half * speed) / speed if speed > 0.0 else half
            e1, e2, e3 = sine * w0, sine * w1, sine * w2
            for i in range(3):
                x[k, i] = state[b + i] + z * rates[k, i]
            q[k, 0] = e0 * q0 - e1 * q1 - e2 * q2 - e3 * q3
            q[k, 1] = e0 * q1 + e1 * q0 + e2 * q3 - e3 * q2
            q[k, 2] = e0 * q2 - e1 * q3 + e2 * q0 + e3 * q1
            q[k, 3] = e0 * q3 + e1 * q2 - e2 * q1 + e3 * q0
        found = function(x, q)
        for r in range(rows):
            moved[r] = found[r]

    along = compile(along)

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        tiny = COMPLEX_STEP
        out, found, rates = np.zeros(26 * rows), np.empty(rows, np.complex128), np.zeros((bodies, 6))
        along(s, found, rates, 0.0, 0.0)
        for r in range(rows):
            out[r] = found[r].real
        for k in range(bodies):
            for c in range(6):
                rates[k, c] = 1.0
                along(s, found, rates, 0.0, tiny)
                rates[k, c] = 0.0
                for r in range(rows):
                    out[rows + 6 * (rows * k + r) + c] = found[r].imag / tiny
        speed = 0.0
        for k in range(bodies):
            for c in range(6):
                rates[k, c] = s[13 * k + 7 + c]
                speed += rates[k, c] ** 2
        speed = np.sqrt(speed)
        if speed > 0.0:
            step = STEP / max(speed, SLOW)
            for weight, at in ((1.0, -2.0), (-8.0, -1.0), (8.0, 1.0), (-1.0, 2.0)):
                along(s, found, rates, at * step, tiny)
                for r in range(rows):
                    out[25 * rows + r] += weight * (found[r].imag / tiny) / (12.0 * step)
        return out

    return adapter


# Motions ----------------------------------------------------------------------------------------------------------------
#
# A motion returns its values, their rates and the rates of these. If the function is analytic, f(t + i h) = f + i h f′ gives
# the rates exactly to rounding, and differences of them the second ones. Else both are differences of fourth order. At
# frequencies up to 500 rad/s errors of an analytic function are 1e-10 of the acceleration; of another 5e-6 of rate and
# acceleration, and 1e-6 of the value per s².

CLOSE, FINE, COARSE = 1e-6, 1e-5, 2e-4  # s; the first compares the two ways
ALIKE = 1e-4  # of the size of the rates: by so much the two ways may differ


def motion_adapter(function: Callable[..., Any], size: int) -> Adapter:
    """t → values, their rates and second rates, 3 × 7 or 3 × 1 numbers. size : 7 for a pose, 1 for a coordinate."""
    plain = getattr(function, "py_func", function)
    numbers = size if size == 1 else int(np.size(plain(0.0)))
    make = _analytic_motion if is_analytic(plain, size) else _motion
    return Adapter((function,), make, (size, numbers), 3 * size, (POSE if size == 7 else COORDINATE,))


def is_analytic(function: Callable[..., Any], size: int) -> bool:
    """Whether a function takes complex times, and their derivatives are those that differences give."""
    for t in (0.0, 0.137, 1.73):
        try:
            real = np.asarray(function(t), dtype=float).ravel()
            given = np.asarray(function(complex(t, COMPLEX_STEP))).ravel()
            ahead, behind = np.asarray(function(t + CLOSE), float), np.asarray(function(t - CLOSE), float)
            rates = (ahead - behind).ravel() / (2.0 * CLOSE)
        except Exception:  # of any kind: the function is the user's
            return False
        if given.dtype.kind not in "cf" or given.shape != real.shape or not np.allclose(given.real, real, atol=1e-12):
            return False
        exact = given.imag / COMPLEX_STEP
        if not np.abs(exact - rates).max() <= ALIKE * max(1e-3, float(np.abs(rates).max())) + 1e-9:
            return False
    return True


def _filler(function: Callable[..., Any], size: int, numbers: int) -> Callable[..., None]:
    """fill(t, out): out = f(t). Items are read one by one, as those of a tuple may differ in type."""
    if size == 1:

        def one(t, out):  # type: ignore[no-untyped-def]
            out[0] = function(t)

        return one
    if numbers == 3:

        def position(t, out):  # type: ignore[no-untyped-def]
            found = function(t)
            out[0], out[1], out[2], out[3] = found[0], found[1], found[2], 1.0

        return position

    def pose(t, out):  # type: ignore[no-untyped-def]
        found = function(t)
        out[0], out[1], out[2], out[3] = found[0], found[1], found[2], found[3]
        out[4], out[5], out[6] = found[4], found[5], found[6]

    return pose


def _motion(compile: Compile, function: Callable[..., Any], size: int, numbers: int) -> Callable[..., np.ndarray]:
    fill = compile(_filler(function, size, numbers))

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        h = COARSE
        out, found = np.zeros(3 * size), np.zeros(size)
        fill(t, found)
        for i in range(size):
            out[i] = found[i]
            out[2 * size + i] = -30.0 * found[i] / (12.0 * h * h)
        for first, second, at in ((1.0, -1.0, -2.0), (-8.0, 16.0, -1.0), (8.0, 16.0, 1.0), (-1.0, -1.0, 2.0)):
            fill(t + at * h, found)
            for i in range(size):
                out[size + i] += first * found[i] / (12.0 * h)
                out[2 * size + i] += second * found[i] / (12.0 * h * h)
        return out

    return adapter


def _analytic_motion(
    compile: Compile, function: Callable[..., Any], size: int, numbers: int
) -> Callable[..., np.ndarray]:
    fill = compile(_filler(function, size, numbers))

    def adapter(t: float, s: np.ndarray) -> np.ndarray:
        h, tiny = FINE, COMPLEX_STEP
        out, found = np.zeros(3 * size), np.zeros(size, np.complex128)
        fill(complex(t, tiny), found)
        for i in range(size):
            out[i], out[size + i] = found[i].real, found[i].imag / tiny
        for weight, at in ((1.0, -2.0), (-8.0, -1.0), (8.0, 1.0), (-1.0, 2.0)):
            fill(complex(t + at * h, tiny), found)
            for i in range(size):
                out[2 * size + i] += weight * (found[i].imag / tiny) / (12.0 * h)
        return out

    return adapter
