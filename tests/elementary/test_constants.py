"""The constants of the elementary functions, which integer arithmetic makes, against mpmath."""

import mpmath
import pytest

from dalembert.core import elementary as arctangent
from dalembert.core import elementary as circular
from dalembert.core import elementary as exponential
from dalembert.core import elementary as fixed_point
from dalembert.core import elementary as logarithm

PRECISION = 1500  # bits


def off(exact, *parts: float) -> float:
    """|exact − Σ parts|."""
    return float(abs(sum(map(mpmath.mpf, map(float, parts))) - exact))


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workprec(PRECISION):
        yield


def test_pi_and_its_parts():
    assert abs(mpmath.mpf(fixed_point.pi(1300)) / mpmath.mpf(2) ** 1300 - mpmath.pi) < mpmath.mpf(2) ** -1290
    pieces = (circular.P1, circular.P2, circular.P3, circular.P4)
    assert off(mpmath.pi / 2, *pieces) < 2.0**-150
    for piece in pieces[:3]:  # 33 bits, so that n times it is exact
        mantissa = int(mpmath.frexp(piece)[0] * 2**53)
        assert mantissa % 2**20 == 0
    assert off(mpmath.pi / 2, circular.HALF_PI, circular.HALF_PI_REST) < 2.0**-106


def test_digits_of_two_over_pi():
    total = sum(
        mpmath.mpf(int(digit)) * mpmath.mpf(2) ** (-30 * (k - 1)) for k, digit in enumerate(circular.TWO_OVER_PI)
    )
    digits = len(circular.TWO_OVER_PI) - 2
    assert 0 <= 2 / mpmath.pi - total < mpmath.mpf(2) ** (-30 * digits)
    assert digits * 30 >= 971 + 178  # bits that the largest number needs


def test_the_table_of_exponentials():
    for j, (root, rest) in enumerate(zip(exponential.ROOT, exponential.ROOT_REST, strict=True)):
        exact = mpmath.mpf(2) ** (mpmath.mpf(j) / 128)
        assert off(exact, root, float(root) * float(rest)) < 2.0**-105
    assert off(mpmath.log(2) / 128, exponential.STEP_HIGH, exponential.STEP_LOW) < 2.0**-94


def test_the_table_of_logarithms():
    for c, high, low in zip(logarithm.RECIPROCAL, logarithm.LOG_HIGH, logarithm.LOG_LOW, strict=True):
        assert off(-mpmath.log(mpmath.mpf(float(c))), high, low) < 2.0**-95
        assert float(high) * 2**logarithm.LAST == int(float(high) * 2**logarithm.LAST)


def test_the_table_of_angles():
    for i, (angle, rest) in enumerate(zip(arctangent.ANGLE, arctangent.ANGLE_REST, strict=True)):
        assert off(mpmath.atan(mpmath.mpf(i) / 64), angle, rest) < 2.0**-106


def test_the_series_of_tanh():
    exact = mpmath.taylor(mpmath.tanh, 0, 21)[1::2]
    for found, coefficient in zip(exponential.T, exact, strict=True):
        assert abs(found / coefficient - 1) < 1e-14
