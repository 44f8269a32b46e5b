"""Checks of user input: positive numbers, arrays, quaternions, colours; and rotations.

Each check raises a ``ValueError`` that names the object and the value, and says what to write.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from ..core.arrays import NumbersLike

# Eigenvectors of small symmetric matrices -----------------------------------------------------------------------------
#
# By arithmetic that gives the same bits on every processor, unlike LAPACK's.

SWEEPS = 30
MOST_NAMES = 8  # in a message
AXES = {
    f"{sign}{axis}": tuple((-1 if sign else 1) * int(axis == each) for each in "xyz")
    for axis in "xyz"
    for sign in ("", "-")
}


def eigenvectors(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,), ascending, and eigenvectors, the columns of an orthogonal (n, n), of a symmetric matrix (n, n).

    Jacobi's method: rotations in one plane after another make each element beside the diagonal zero, until all are small
    against the diagonal. G. Golub, C. Van Loan, Matrix Computations, 4th ed., §8.5.

    >>> eigenvectors(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    n = len(matrix)
    a = [list(map(float, row)) for row in matrix]
    v = [[float(i == j) for j in range(n)] for i in range(n)]
    pairs = [(p, q) for p in range(n) for q in range(p + 1, n)]
    for _ in range(SWEEPS):
        size = max(abs(a[i][i]) for i in range(n))
        left = [(p, q) for p, q in pairs if abs(a[p][q]) > 1e-20 * size]
        if not left:
            break
        for p, q in left:
            _rotate(a, v, p, q)
    order = sorted(range(n), key=lambda i: a[i][i])
    return np.array([a[i][i] for i in order]), np.array([[row[i] for i in order] for row in v])


def _rotate(a: list[list[float]], v: list[list[float]], p: int, q: int) -> None:
    """Make a[p][q] zero."""
    if a[p][q] == 0.0:
        return
    slope = (a[q][q] - a[p][p]) / (2.0 * a[p][q])
    t = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(1.0 + slope * slope))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    moved = t * a[p][q]
    a[p][p] -= moved
    a[q][q] += moved
    a[p][q] = a[q][p] = 0.0
    for k in range(len(a)):
        if k not in (p, q):
            x, y = a[k][p], a[k][q]
            a[k][p] = a[p][k] = c * x - s * y
            a[k][q] = a[q][k] = s * x + c * y
        x, y = v[k][p], v[k][q]
        v[k][p], v[k][q] = c * x - s * y, s * x + c * y


# Checks, and rotations ------------------------------------------------------------------------------------------------


def positive(owner: str, name: str, value: object, unit: str = "") -> float:
    """``value`` as a float; it must be a real number, finite and above zero.

    >>> positive("Sphere", "radius", 2, "m")
    2.0
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number) and number > 0.0:
            return number
    raise ValueError(
        f"{owner}: {name} must be a finite number above zero{f', in {unit}' * bool(unit)}; got {value!r:.80}"
    )


def number_or_nan(value: Any) -> float:
    """The value as a float; NaN for what is no number, as text and truth values are."""
    if isinstance(value, str | bytes | bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def finite(owner: str, name: str, value: object, least: float = -np.inf) -> float:
    """``value`` as a float; it must be a number, finite, and not below ``least``.

    >>> finite("Material", "friction", "0.5")
    Traceback (most recent call last):
    ValueError: Material: friction must be a finite number; got '0.5'
    """
    number = number_or_nan(value)
    if not (np.isfinite(number) and number >= least):
        what = "a finite number" if least == -np.inf else f"a finite number not below {least:g}"
        raise ValueError(f"{owner}: {name} must be {what}; got {value!r:.80}")
    return number


def real_array(owner: str, name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only float64 copy of ``value``, finite and of the given shape (−1 stands for any length)."""
    if isinstance(value, str):
        axis = AXES.get(value.lower().lstrip("+"))
        way = f"for {value!r} give {axis}" if axis and shape == (3,) else f"give numbers, such as {_example(shape)}"
        raise ValueError(
            f"{owner}: {name} must be numbers of shape {str(shape).replace('-1', 'n')}; got text: {value!r:.80}; {way}"
        )
    array = array_of(value)
    wanted = str(shape).replace("-1", "n")
    fits = array.ndim == len(shape) and all(want in (-1, have) for want, have in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in "iuf" or not fits:
        raise ValueError(
            f"{owner}: {name} must be numbers of shape {wanted}; got {array.dtype} of shape {array.shape}: "
            f"{value!r:.80}"
        )
    array = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{owner}: {name}{list(where)} is {array[where]}; give finite numbers")
    array.flags.writeable = False
    return array


def _example(shape: tuple[int, ...]) -> str:
    """Zeros of a shape, as they are written."""
    return str(np.zeros([max(n, 1) for n in shape], int).tolist()).replace("[", "(").replace("]", ")")


def require_arguments(owner: str, function: Any, names: str) -> None:
    """Raises ValueError for a function of the user's that cannot be called with these arguments ("t, y"), where that is
    known; TypeError for what is no function."""
    if not callable(function):
        raise TypeError(f"{owner}: its function is {function!r:.80}; give a function of ({names})")
    try:
        signature = inspect.signature(getattr(function, "py_func", function))
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names.split(","))
    except TypeError:
        raise ValueError(f"{owner}: its function takes {signature}; it is called with ({names})") from None


def array_of(value: object) -> np.ndarray:
    """``value`` as an array of any kind; an empty one of objects where its rows differ in length."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty(0, dtype=object)


MOST_CHARACTERS = 200  # of a name


def numbered(name: str, *taken: Any) -> str:
    """The name itself, or with a number where something has it already; its end is left out where it is too long."""
    number, found = 2, name[:MOST_CHARACTERS]
    while any(found in names for names in taken):
        suffix = f" ({number})"
        number, found = number + 1, name[: MOST_CHARACTERS - len(suffix)] + suffix
    return found


def part_name(owner: str, part: str) -> str:
    """The name "owner/part" of a part; where it is too long the end of the owner's is left out, or that of both."""
    room = max(MOST_CHARACTERS - 1 - len(part), MOST_CHARACTERS // 2)
    return f"{owner[:room]}/{part}"[:MOST_CHARACTERS]


def unit_quaternion(owner: str, name: str, value: NumbersLike) -> tuple[float, float, float, float]:
    """``value`` (w, x, y, z) divided by its norm; a quaternion that is unit already to rounding keeps its bits.

    >>> unit_quaternion("Body", "orientation", (2, 0, 0, 0))
    (1.0, 0.0, 0.0, 0.0)
    """
    if array_of(value).shape == (3,):
        raise ValueError(
            f"{owner}: {name} is {value!r:.80}, three numbers; give a quaternion (w, x, y, z). For a turn by an angle about "
            "an axis that is (cos(angle/2), *(sin(angle/2) * axis)), angles in radians"
        )
    q = real_array(owner, name, value, (4,))
    norm = float(np.linalg.norm(q))
    if not (1e-150 < norm < 1e150):
        raise ValueError(
            f"{owner}: {name} {q.tolist()} has no direction; give (w, x, y, z), for no rotation (1, 0, 0, 0)"
        )
    w, x, y, z = (q if abs(norm - 1.0) < 1e-15 else q / norm).tolist()
    return (w, x, y, z)


def meant(given: object, known: Iterable[str], kind: str) -> str:
    """The end of a message about an unknown name: the names that are like it, or else the first of all.

    >>> meant("flor", ["floor", "box"], "obstacles")
    "; did you mean 'floor'?"
    >>> meant("x", ["floor", "box"], "obstacles")
    "; the obstacles are 'floor', 'box'"
    """
    names = list(known)
    near = difflib.get_close_matches(given, names, n=3, cutoff=0.6) if isinstance(given, str) else []
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    if not names:
        return f"; there are no {kind} yet"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"; the {kind} are {', '.join(map(repr, names[:MOST_NAMES]))}{more}"


def rotation_matrix(q: NumbersLike) -> np.ndarray:
    """The rotation matrix (3, 3) of a unit quaternion (w, x, y, z): columns are the body axes in the outer frame.

    >>> rotation_matrix((0.0, 0.0, 0.0, 1.0)).tolist()  # half a turn about z
    [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    w, x, y, z = np.asarray(q, dtype=np.float64).tolist()
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def quaternion_of(rotation: NumbersLike) -> tuple[float, float, float, float]:
    """The unit quaternion (w, x, y, z), w ≥ 0, of a rotation matrix (3, 3), without branches: the eigenvector of the
    largest eigenvalue of Bar-Itzhack's symmetric matrix (J. Guidance 23(6), 2000).

    >>> quaternion_of([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    (0.0, 0.0, 0.0, 1.0)
    """
    (a, b, c), (d, e, f), (g, h, i) = np.asarray(rotation, dtype=np.float64).tolist()
    k = np.array(
        [[a + e + i, h - f, c - g, d - b], [h - f, a - e - i, b + d, c + g],
         [c - g, b + d, e - a - i, f + h], [d - b, c + g, f + h, i - a - e]]
    )  # fmt: skip
    w, x, y, z = eigenvectors(k / 3.0)[1][:, -1].tolist()
    largest = max((w, x, y, z), key=abs)
    sign = math.copysign(1.0, w if abs(w) > 1e-12 else largest)
    return (sign * w + 0.0, sign * x + 0.0, sign * y + 0.0, sign * z + 0.0)
