"""Prescribed motions: the pose of a kinematic body, or the coordinate of a joint, as a function of time.

A motion is a function of time, `Keyframes`, or "set" if it is set between steps. `motion_of_body` and
`motion_of_coordinate` check the arguments. Keyframes become a table of cubic pieces, which `dynamics.commands`
evaluates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from ..core.arrays import VectorLike
from .checks import finite, real_array, unit_quaternion

SET = "set"
FASTEST = 1e6  # m/s or rad/s: faster motions are refused
JUMP = 300.0  # m/s or rad/s between two keyframes: from here on it is probably a jump
SMOOTH = ("velocity", "acceleration")  # what is continuous in a motion by keyframes
SOON = 1e-6  # s, over which the speed at the start is found
TURN = 0.75 * np.pi  # rad between two keyframes: from here on it may be meant the other way round
HEADER = 4  # numbers at the start of a table of keyframes: pieces, first time, last time, whether it repeats
BODY_PIECE, SCALAR_PIECE = (
    29,
    5,
)  # start; cubics of x (12), quaternion (4), cubics of the rotation vector from there (12)


@dataclass(frozen=True, eq=False)
class Keyframes:
    """Poses, or values of a coordinate, at times, with a smooth motion between them: position, velocity, orientation
    and angular velocity are continuous. Between two equal keyframes the motion rests, and no value overshoots its
    keyframes. Before the first and after the last keyframe the motion is at rest.

    Parameters
    ----------
    times : (n,) s, increasing; n ≥ 2.
    values : (n, 3) positions in m of the frame of a body's shape; or (n,) values of a coordinate, rad or m.
    orientations : (n, 4) quaternions (w, x, y, z). Default: (1, 0, 0, 0). Between keyframes a body turns the shorter
        way.
    repeat : whether the motion repeats after the last time; the last pose must then equal the first.
    smooth : "velocity", or "acceleration": accelerations are continuous too, from rest to rest, and so are the forces
        of a drive. Such a motion can overshoot its keyframes and has no orientations.

    Positions are cubics with the slopes of F. N. Fritsch and J. Butland (SIAM J. Sci. Stat. Comput. 5, 1984);
    orientations are q exp(φ/2) with cubics φ, with a continuous angular velocity. Accelerations jump at keyframes. With
    smooth="acceleration" positions are the cubic spline through the keyframes with zero velocity and acceleration at
    both ends, with two more knots for these conditions; with `repeat` the periodic one (C. de Boor, A Practical Guide
    to Splines, 1978).

    Raises ValueError for times that do not increase, non-finite values, different sizes, and an unknown `smooth`.

    >>> Keyframes([0.0, 1.0], [(0, 0, 0), (0, 0, 2)]).pose(0.5)[0].tolist()
    [0.0, 0.0, 1.0]
    """

    times: Any
    values: Any
    orientations: Any = None
    repeat: bool = False
    smooth: str = "velocity"
    _table: list[np.ndarray] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        owner = "Keyframes"
        times = real_array(owner, "times", self.times, (-1,))
        scalar = np.ndim(self.values) == 1
        values = real_array(owner, "values", self.values, (-1,) if scalar else (-1, 3))
        if len(times) < 2 or len(times) != len(values):
            raise ValueError(
                f"{owner}: {len(times)} times and {len(values)} values; give the same number of both, at least two"
            )
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if len(late):
            i = int(late[0])
            raise ValueError(
                f"{owner}: times[{i + 1}] is {times[i + 1]:g} s, after {times[i]:g} s; times must increase"
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)
        if self.smooth not in SMOOTH:
            raise ValueError(f"{owner}: smooth is {self.smooth!r:.80}; give 'velocity' or 'acceleration'")
        if self.smooth == "acceleration" and self.orientations is not None:
            raise ValueError(
                f"{owner}: orientations are given, and smooth='acceleration' is for positions and coordinates; give a "
                "function of time, or leave out smooth"
            )
        if self.orientations is not None:
            if scalar:
                raise ValueError(
                    f"{owner}: orientations need positions of shape (n, 3); leave them out for a coordinate"
                )
            given = real_array(owner, "orientations", self.orientations, (-1, 4))
            if len(given) != len(times):
                raise ValueError(
                    f"{owner}: {len(times)} times and {len(given)} orientations; give the same number of both"
                )
            q = np.array([unit_quaternion(owner, f"orientations[{i}]", row) for i, row in enumerate(given)])
            object.__setattr__(self, "orientations", q)
        if self.repeat:
            turned = self.orientations is not None and abs(self.orientations[0] @ self.orientations[-1]) < 1.0 - 1e-12
            if turned or np.abs(values[0] - values[-1]).max() > 1e-9 * max(1.0, float(np.abs(values).max())):
                raise ValueError(
                    f"{owner}: repeat is set, but the last pose differs from the first one; make them equal"
                )

    @property
    def scalar(self) -> bool:
        """Whether the values are those of a coordinate."""
        return bool(np.ndim(self.values) == 1)

    def warnings(self, owner: str) -> list[str]:
        """Warnings about jumps, and about turns between keyframes whose direction is ambiguous."""
        values = np.asarray(self.values).reshape(len(self.times), -1)
        speed = np.linalg.norm(np.diff(values, axis=0), axis=1) / np.diff(self.times)
        i = int(np.argmax(speed))
        if speed[i] > JUMP:
            return [
                f"{owner}: from keyframe {i} to {i + 1} it moves at {speed[i]:.3g} m/s or rad/s; if this is a jump, give it "
                "more time; bodies that it touches get this speed"
            ]
        if self.orientations is None:
            return []
        angle = [float(np.linalg.norm(_log(_relative(a, b)))) for a, b in pairwise(self.orientations)]
        i = int(np.argmax(angle))
        if angle[i] < TURN:
            return []
        return [
            f"{owner}: from keyframe {i} to {i + 1} it turns by {np.degrees(angle[i]):.0f}°, the shorter way; add keyframes "
            "in between if another way is meant"
        ]

    def table(self) -> np.ndarray:
        """The keyframes as a flat array, for `dynamics.commands`."""
        if not self._table:
            self._table.append(self._pieces())
        return self._table[0]

    def _pieces(self) -> np.ndarray:
        t, values = np.asarray(self.times), np.asarray(self.values).reshape(len(self.times), -1)
        if self.smooth == "acceleration":
            t, cubics = _spline(t, values, self.repeat)
        else:
            cubics = _cubics(t, values, self.repeat)
        header = np.array([len(t) - 1, t[0], t[-1], float(self.repeat)])
        if self.scalar:
            return np.concatenate([header, np.column_stack([t[:-1], cubics]).ravel()])
        q = np.tile((1.0, 0.0, 0.0, 0.0), (len(t), 1)) if self.orientations is None else self.orientations
        rows = np.column_stack([t[:-1], cubics, q[:-1], _turns(t, q, self.repeat)])
        return np.concatenate([header, rows.ravel()])

    def pose(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) m and quaternion (4,) at a time (s)."""
        piece, s = self._piece(t, BODY_PIECE)
        powers = s ** np.arange(4)
        return piece[1:13].reshape(3, 4) @ powers, _times(piece[13:17], _exp(piece[17:29].reshape(3, 4) @ powers))

    def value(self, t: float) -> float:
        """The value of a coordinate at a time (s)."""
        piece, s = self._piece(t, SCALAR_PIECE)
        return float(piece[1:5] @ s ** np.arange(4))

    def _piece(self, t: float, size: int) -> tuple[np.ndarray, float]:
        """The piece of a time, and the time since its start."""
        rows = self.table()[HEADER:].reshape(-1, size)
        first, last = self.times[0], self.times[-1]
        t = first + (t - first) % (last - first) if self.repeat else min(max(t, first), last)
        row = rows[min(max(int(np.searchsorted(rows[:, 0], t, side="right")) - 1, 0), len(rows) - 1)]
        return row, float(t - row[0])


def _slopes(t: np.ndarray, y: np.ndarray, repeat: bool) -> np.ndarray:
    """Rates (n, k) at the keyframes: weighted harmonic means of those of the two pieces beside, zero where these differ in
    sign, and at ends where the motion stands still (Fritsch and Butland 1984)."""
    h, rate = np.diff(t)[:, None], np.diff(y, axis=0) / np.diff(t)[:, None]
    found = np.zeros_like(y)

    def mean(before: np.ndarray, after: np.ndarray, h0: np.ndarray, h1: np.ndarray) -> np.ndarray:
        same = before * after > 0.0
        w0, w1 = 2.0 * h1 + h0, h1 + 2.0 * h0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(same, (w0 + w1) / (w0 / before + w1 / after), 0.0)

    if len(t) > 2:
        found[1:-1] = mean(rate[:-1], rate[1:], h[:-1], h[1:])
    if repeat:
        found[0] = found[-1] = mean(rate[-1], rate[0], h[-1], h[0])
    return found


def _cubics(t: np.ndarray, y: np.ndarray, repeat: bool) -> np.ndarray:
    """(n − 1, 4 k) coefficients, of powers of the time since each keyframe, coordinate after coordinate."""
    slopes = _slopes(t, y, repeat)
    return _hermite(np.diff(t)[:, None], y[:-1], y[1:], slopes[:-1], slopes[1:])


def _spline(t: np.ndarray, y: np.ndarray, repeat: bool) -> tuple[np.ndarray, np.ndarray]:
    """(knots, (knots − 1, 4 k) coefficients) of the cubic spline through the keyframes with continuous second derivatives:
    periodic, or with first and second derivatives of zero at both ends, for which the first and the last piece have one more
    knot each (both are in the same piece if there is only one)."""
    knots = t
    if not repeat and len(t) == 2:
        knots = np.linspace(t[0], t[1], 4)
    elif not repeat:
        knots = np.concatenate([t[:1], [0.5 * (t[0] + t[1])], t[1:-1], [0.5 * (t[-2] + t[-1])], t[-1:]])
    n, h = len(knots), np.diff(knots)
    start, end = (
        np.zeros((n - 1, 2 * n)),
        np.zeros((n - 1, 2 * n)),
    )  # second derivatives of pieces, of values and slopes
    for i in range(n - 1):
        start[i, [i, i + 1]], start[i, [n + i, n + i + 1]] = (
            (-6.0 / h[i] ** 2, 6.0 / h[i] ** 2),
            (-4.0 / h[i], -2.0 / h[i]),
        )
        end[i, [i, i + 1]], end[i, [n + i, n + i + 1]] = (6.0 / h[i] ** 2, -6.0 / h[i] ** 2), (2.0 / h[i], 4.0 / h[i])
    given, one = np.flatnonzero(np.isin(knots, t)), np.eye(2 * n)
    ends = [one[n] - one[-1], start[0] - end[-1]] if repeat else [one[n], one[-1], start[0], end[-1]]
    conditions = np.vstack([one[given], end[:-1] - start[1:], *ends])
    right = np.zeros((2 * n, y.shape[1]))
    right[: len(given)] = y
    found = np.linalg.solve(conditions, right)
    values, slopes = found[:n], found[n:]
    return knots, _hermite(h[:, None], values[:-1], values[1:], slopes[:-1], slopes[1:])


def _hermite(h: np.ndarray, y0: np.ndarray, y1: np.ndarray, s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    rate = (y1 - y0) / h
    c = np.stack([y0, s0, (3.0 * rate - 2.0 * s0 - s1) / h, (s0 + s1 - 2.0 * rate) / h**2], axis=2)
    return c.reshape(len(y0), -1)


def _turns(t: np.ndarray, q: np.ndarray, repeat: bool) -> np.ndarray:
    """(n − 1, 12) cubics of the rotation vector φ of each piece, in the axes of its first keyframe: φ = 0 and φ̇ = ω there, at
    its end φ = log(q⁻¹ q′) and φ̇ = J(φ)⁻¹ ω′, J the right Jacobian of rotations."""
    h = np.diff(t)[:, None]
    turn = np.array([_log(_relative(a, b)) for a, b in pairwise(q)])
    omega = np.zeros((len(t), 3))  # in the axes of the keyframe
    rate = turn / h  # along its own axis a turn is the same in the axes of both ends

    def mean(before: np.ndarray, after: np.ndarray, h0: float, h1: float) -> np.ndarray:
        a, b = float(np.linalg.norm(before)), float(np.linalg.norm(after))
        if a == 0.0 or b == 0.0 or before @ after <= 0.0:
            return np.zeros(3)
        w0, w1 = 2.0 * h1 + h0, h1 + 2.0 * h0
        return (w0 + w1) / (w0 / a + w1 / b) * _unit(w1 * before / a + w0 * after / b)

    for i in range(1, len(t) - 1):
        omega[i] = mean(rate[i - 1], rate[i], h[i - 1, 0], h[i, 0])
    if repeat:
        omega[0] = omega[-1] = mean(rate[-1], rate[0], h[-1, 0], h[0, 0])
    ends = np.array([np.linalg.solve(_right_jacobian(phi), w) for phi, w in zip(turn, omega[1:], strict=True)])
    return _hermite(h, np.zeros_like(turn), turn, omega[:-1], ends)


def _unit(v: np.ndarray) -> np.ndarray:
    return np.asarray(v / np.linalg.norm(v))


def _relative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a⁻¹ b, with w ≥ 0."""
    w, u, s, v = a[0], -a[1:], b[0], b[1:]
    q = np.concatenate([[w * s - u @ v], w * v + s * u + np.cross(u, v)])
    return np.asarray(q if q[0] >= 0.0 else -q)


def _times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The product p q of quaternions."""
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def _exp(phi: np.ndarray) -> np.ndarray:
    """The unit quaternion of a rotation vector."""
    half = 0.5 * float(np.linalg.norm(phi))
    return np.concatenate([[np.cos(half)], 0.5 * np.sinc(half / np.pi) * phi])


def _log(q: np.ndarray) -> np.ndarray:
    """The rotation vector of a unit quaternion with w ≥ 0."""
    sine = float(np.linalg.norm(q[1:]))
    return np.asarray(2.0 * q[1:] if sine < 1e-12 else 2.0 * np.arctan2(sine, q[0]) / sine * q[1:])


def _right_jacobian(phi: np.ndarray) -> np.ndarray:
    """J of ω = J(φ) φ̇, in the axes that turn: 1 − (1 − cos θ)/θ² [φ] + (θ − sin θ)/θ³ [φ]²."""
    size = float(np.linalg.norm(phi))
    cross = np.array([[0.0, -phi[2], phi[1]], [phi[2], 0.0, -phi[0]], [-phi[1], phi[0], 0.0]])
    if size < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * cross)
    return np.asarray(
        np.eye(3) - (1.0 - np.cos(size)) / size**2 * cross + (size - np.sin(size)) / size**3 * cross @ cross
    )


Motion: TypeAlias = Callable[[float], Any] | Keyframes | Literal["set"]

# Checks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Commanded:
    """A motion that was checked. given : a function of time, `Keyframes`, or "set"."""

    given: Any
    position: np.ndarray  # (3,) m at time 0
    orientation: tuple[float, float, float, float]
    velocity: np.ndarray  # (3,) m/s and rad/s, of what is set between steps
    angular_velocity: np.ndarray

    @property
    def is_set(self) -> bool:
        """Whether it is set between steps."""
        return isinstance(self.given, str)


def moves_by_command(item: Any) -> bool:
    """Whether a body, or a joint, has a prescribed motion."""
    return getattr(item, "motion", None) is not None or getattr(item, "prescribed", None) is not None


def pose_of(owner: str, motion: Callable[[float], Any], t: float) -> tuple[np.ndarray, tuple[float, ...]]:
    """Position and unit quaternion that a function of the user's returns at a time. Raises ValueError."""
    try:
        given = motion(t)
    except Exception as error:
        raise ValueError(f"{owner}: its motion fails at t = {t:g} s: {error!r}; give a function of the time") from None
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner}: its motion returns {given!r:.80} at t = {t:g} s; return a position of three numbers, or position and "
            "quaternion as seven numbers (x, y, z, w, x, y, z)"
        ) from None
    if found.shape not in ((3,), (7,)):
        raise ValueError(
            f"{owner}: its motion returns numbers of shape {found.shape} at t = {t:g} s; return a position of shape (3,), or "
            "position and quaternion of shape (7,)"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{owner}: its motion is {found.tolist()} at t = {t:g} s; return finite numbers")
    if len(found) == 7 and abs(float(np.linalg.norm(found[3:])) - 1.0) > 1e-6:
        raise ValueError(
            f"{owner}: its motion has the quaternion {found[3:].tolist()} at t = {t:g} s, of length "
            f"{np.linalg.norm(found[3:]):.6g}; return a unit quaternion (w, x, y, z)"
        )
    q = (1.0, 0.0, 0.0, 0.0) if len(found) == 3 else tuple((found[3:] / np.linalg.norm(found[3:])).tolist())
    return found[:3], q


def motion_of_body(
    owner: str, motion: Any, position: VectorLike | None, orientation: VectorLike | None, velocity: VectorLike | None,
    angular_velocity: VectorLike | None,
) -> Commanded:  # fmt: skip
    """The motion of a kinematic body. Raises ValueError and TypeError naming the body and the value."""
    given = {
        "position": position,
        "orientation": orientation,
        "velocity": velocity,
        "angular_velocity": angular_velocity,
    }
    zero = np.zeros(3)
    if isinstance(motion, str):
        if motion != SET:
            raise ValueError(f"{owner}: motion is {motion!r:.80}; give a function of time, Keyframes, or 'set'")
        return Commanded(
            motion, real_array(owner, "position", zero if position is None else position, (3,)),
            unit_quaternion(owner, "orientation", (1, 0, 0, 0) if orientation is None else orientation),
            real_array(owner, "velocity", zero if velocity is None else velocity, (3,)),
            real_array(owner, "angular_velocity", zero if angular_velocity is None else angular_velocity, (3,)),
        )  # fmt: skip
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise ValueError(f"{owner}: {twice[0]} is given, but its motion already defines it; leave out {twice[0]}")
    if isinstance(motion, Keyframes):
        if motion.scalar:
            raise ValueError(f"{owner}: its keyframes are numbers; give positions of shape (n, 3)")
        x, q = motion.pose(0.0)
        return Commanded(motion, x, tuple(q.tolist()), zero, zero)
    if not callable(motion):
        raise TypeError(f"{owner}: motion is {motion!r:.80}; give a function of time, Keyframes, or 'set'")
    x, start = pose_of(owner, motion, 0.0)
    soon, _ = pose_of(owner, motion, SOON)
    _slow_enough(owner, float(np.linalg.norm(soon - x)) / SOON, "m/s")
    return Commanded(motion, x, start, zero, zero)  # type: ignore[arg-type]


def motion_of_coordinate(owner: str, motion: Any, speed: Any) -> tuple[Any, float]:
    """The motion of a coordinate, and the speed of one that is set. Raises ValueError and TypeError naming its owner and the
    value."""
    if speed is not None:
        if motion is not None:
            raise ValueError(f"{owner}: both motion and speed are given; give one of them")
        return SET, _slow_enough(owner, finite(owner, "speed", speed), "rad/s or m/s")
    if motion is None:
        raise ValueError(f"{owner}: neither a motion nor a speed is given; give one of them")
    if isinstance(motion, str):
        if motion != SET:
            raise ValueError(f"{owner}: motion is {motion!r:.80}; give a function of time, Keyframes, or 'set'")
        return motion, 0.0
    if isinstance(motion, Keyframes):
        if not motion.scalar:
            raise ValueError(f"{owner}: its keyframes are positions; give one value per time, of shape (n,)")
        return motion, 0.0
    if not callable(motion):
        raise TypeError(f"{owner}: motion is {motion!r:.80}; give a function of time, Keyframes, or 'set'")
    try:
        values = [motion(0.0), motion(SOON)]
    except Exception as error:
        raise ValueError(f"{owner}: its motion fails at t = 0: {error!r}; give a function of the time") from None
    if np.shape(values[0]) != ():
        raise ValueError(f"{owner}: its motion returns numbers of shape {np.shape(values[0])}; return one number")
    first, second = (finite(owner, "motion at t = 0", value) for value in values)
    _slow_enough(owner, (second - first) / SOON, "rad/s or m/s")
    return motion, 0.0


def _slow_enough(owner: str, speed: float, unit: str) -> float:
    """The speed. Raises ValueError for one that no mechanism has."""
    if not abs(speed) <= FASTEST:
        raise ValueError(f"{owner}: it moves at {speed:.3g} {unit}; give a motion slower than {FASTEST:g}")
    return speed
