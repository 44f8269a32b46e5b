"""Every elementary function behind one kernel, and arguments for each: random, hard, and at the ends of the range.

`python -m tests.elementary.arguments` prints the hash of all results, compiled or not; see test_plain.py.
"""

import hashlib
import math

import numpy as np

from dalembert.core import elementary as f
from dalembert.core.kernel import array, kernel, out

NAMES = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "expm1",
    "log", "atan2", "hypot", "pow",
)  # fmt: skip
OF_TWO = ("atan2", "hypot", "pow")
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2e-308, 1.8e308, 0.5, -0.5, 2.0, 3.0]


@kernel
def compute(which: int, x: array(), y: array(), result: out()) -> None:
    for i in range(x.shape[0]):
        a, b = x[i], y[i]
        if which == 0:
            found = f.sin(a)
        elif which == 1:
            found = f.cos(a)
        elif which == 2:
            found = f.tan(a)
        elif which == 3:
            found = f.asin(a)
        elif which == 4:
            found = f.acos(a)
        elif which == 5:
            found = f.atan(a)
        elif which == 6:
            found = f.sinh(a)
        elif which == 7:
            found = f.cosh(a)
        elif which == 8:
            found = f.tanh(a)
        elif which == 9:
            found = f.asinh(a)
        elif which == 10:
            found = f.acosh(a)
        elif which == 11:
            found = f.atanh(a)
        elif which == 12:
            found = f.exp(a)
        elif which == 13:
            found = f.expm1(a)
        elif which == 14:
            found = f.log(a)
        elif which == 15:
            found = f.atan2(a, b)
        elif which == 16:
            found = f.hypot(a, b)
        else:
            found = f.pow(a, b)
        result[i] = found


def of(name: str, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """A function of arrays."""
    x = np.ascontiguousarray(x, float)
    result = np.full(x.shape, np.nan)
    compute(NAMES.index(name), x, np.zeros_like(x) if y is None else np.ascontiguousarray(y, float), result)
    return result


def _spread(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Numbers of either sign, of sizes from 2^low to 2^high."""
    return np.ldexp(rng.choice([-1.0, 1.0], count) * rng.uniform(1.0, 2.0, count), rng.integers(low, high, count))


def _turns(rng: np.random.Generator, count: int) -> np.ndarray:
    """Floats next to multiples of π/4, at which sines and cosines are as small as they get."""
    import mpmath

    with mpmath.workprec(1200):
        powers = rng.integers(0, 1000, count)
        near = [float(mpmath.pi / 4 * (1 + int(n) % 7) * 2 ** int(n)) for n in powers]
        near += [float(mpmath.pi / 4 * int(n)) for n in rng.integers(1, 1 << 40, count)]
    return np.array(near)


def arguments(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """x and y for one function; y is used by those of two."""
    rng = np.random.default_rng(NAMES.index(name))
    tiny = _spread(rng, -1074, -20, count)
    if name in ("sin", "cos", "tan"):
        hard = [6381956970095103.0 * 2.0**797, 1.9999 * 2.0**1023, 1e22]
        x = [
            rng.uniform(-1, 1, count),
            rng.uniform(-10, 10, count),
            _spread(rng, 0, 1023, count),
            _turns(rng, count),
            hard,
        ]
    elif name in ("asin", "acos", "atanh"):
        x = [rng.uniform(-1, 1, count), 1.0 - np.abs(_spread(rng, -53, -1, count))]
    elif name == "acosh":
        x = [1.0 + np.abs(_spread(rng, -52, 1023, count)), rng.uniform(1, 3, count)]
    elif name == "log":
        near = 1.0 + np.outer([1.0, -1.0], 2.0 ** -np.arange(1.0, 54.0)).ravel()
        x = [np.abs(_spread(rng, -1074, 1023, count)), rng.uniform(0.5, 2.0, count), near]
    elif name in ("exp", "expm1", "sinh", "cosh", "tanh"):
        x = [rng.uniform(-1, 1, count), rng.uniform(-750, 710, count), _spread(rng, -20, 5, count)]
    else:
        x = [rng.uniform(-2, 2, count), _spread(rng, -1074, 1023, count), _spread(rng, -4, 4, count)]
    if name == "pow":
        base = [np.abs(_spread(rng, -1000, 1000, count)), rng.uniform(0.9, 1.1, count), rng.uniform(0.1, 10.0, count)]
        exponent = [_spread(rng, -10, 2, count), rng.uniform(-7000, 7000, count), rng.integers(-20, 20, count)]
        return np.concatenate(base), np.concatenate(exponent).astype(float)
    x = np.concatenate([*x, tiny] if name not in ("acosh", "log") else x)
    y = np.concatenate(
        [rng.uniform(-2, 2, count), _spread(rng, -1074, 1023, count), x[2 * count : 3 * count], tiny[::-1]]
    )
    return x, np.resize(y, x.shape)


def digest(count: int = 400) -> str:
    """Of the results for all arguments, and for pairs of special ones."""
    found = hashlib.sha256()
    special_x, special_y = (values.ravel() for values in np.meshgrid(SPECIAL, SPECIAL))
    for name in NAMES:
        for x, y in (arguments(name, count), (special_x, special_y)):
            result = of(name, x, y)
            found.update(np.where(np.isnan(result), np.nan, result).tobytes())  # NaNs have a sign, which says nothing
    return found.hexdigest()


if __name__ == "__main__":
    print(digest())
