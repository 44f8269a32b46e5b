"""Zeros, infinities, NaN and subnormal numbers: as IEEE 754 and C have them, which `math` follows where it does not raise."""

import math

import numpy as np
import pytest

from .arguments import NAMES, OF_TWO, SPECIAL, of


def expected(name: str, *given: float) -> float:
    try:
        return getattr(math, name)(*given)
    except ValueError:  # of its two meanings, the pole
        pole = {"log": given == (0.0,), "atanh": abs(given[0]) == 1.0, "pow": given[0] == 0.0}
        if not pole.get(name):
            return math.nan
        if name == "log":
            return -math.inf
        odd = name == "atanh" or given[1] % 2.0 == 1.0
        return math.copysign(math.inf, given[0]) if odd else math.inf
    except OverflowError:
        negative = (name == "sinh" and given[0] < 0.0) or (name == "pow" and given[0] < 0.0 and given[1] % 2.0 == 1.0)
        return -math.inf if negative else math.inf


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    pairs = [(a, b) for a in SPECIAL for b in (SPECIAL if name in OF_TWO else [0.0])]
    found = of(name, [a for a, _ in pairs], [b for _, b in pairs])
    for pair, value in zip(pairs, found.tolist(), strict=True):
        given = pair if name in OF_TWO else pair[:1]
        exact = expected(name, *given)
        if math.isnan(exact):
            assert math.isnan(value), (given, value)
        else:
            assert value == exact or abs(value - exact) <= math.ulp(exact), (given, value, exact)
            assert math.copysign(1.0, value) == math.copysign(1.0, exact), (given, value)


def test_exact_results_are_exact():
    n = np.arange(1.0, 50.0)
    assert np.array_equal(of("pow", n, np.full_like(n, 2.0)), n * n)
    assert np.array_equal(of("pow", n * n, np.full_like(n, 0.5)), n)
    assert np.array_equal(
        of("pow", np.full(2100, 2.0), np.arange(-1075.0, 1025.0)),
        [math.ldexp(1.0, n) if n < 1024 else math.inf for n in range(-1075, 1025)],
    )
    assert np.array_equal(of("hypot", 3.0 * n, 4.0 * n), 5.0 * n)
    assert of("exp", [0.0])[0] == of("cos", [0.0])[0] == 1.0


def test_odd_functions_are_odd_and_even_ones_even():
    x = np.random.default_rng(0).uniform(0.0, 40.0, 1000)
    for name in ("sin", "tan", "atan", "sinh", "tanh", "asinh"):
        assert np.array_equal(of(name, -x), -of(name, x)), name
    for name in ("cos", "cosh"):
        assert np.array_equal(of(name, -x), of(name, x)), name
