"""Constants to any number of bits, by integer arithmetic: numbers are integers in units of 2⁻ᴮ, B = `BITS`.

They are computed where modules are imported, in about a millisecond; tests compare them with mpmath.
"""

from __future__ import annotations

import functools
import math
import struct

BITS = 1300  # 2/π is needed beyond the largest exponent, 1024
SHORT = 192


def arctangent(p: int, q: int, bits: int, sign: int = -1) -> int:
    """atan(p/q) for |p/q| well below 1, by its series; with sign = 1 atanh(p/q)."""
    if p < 0:
        return -arctangent(-p, q, bits, sign)
    power = (p << bits) // q
    total, k = power, 1
    while power:
        power = power * p * p // (q * q)
        k += 2
        total += sign ** (k // 2) * (power // k)
    return total


@functools.cache
def pi(bits: int) -> int:
    """π by Machin's formula, 16 atan 1/5 − 4 atan 1/239."""
    more = bits + 32
    return (16 * arctangent(1, 5, more) - 4 * arctangent(1, 239, more)) >> 32


@functools.cache
def logarithm(p: int, q: int) -> int:
    """ln(p/q) in `SHORT` bits, for p/q between 1/2 and 2."""
    return 2 * arctangent(p - q, p + q, SHORT, 1)


def roots_of_two(count: int) -> list[int]:
    """2^(j/count), j = 0 … count − 1, in `SHORT` bits; count is a power of 2."""
    one = 1 << SHORT
    found, step = [one], 2 * one
    while len(found) < count:
        step = math.isqrt(step * one)  # 2^(1/count) of twice as many
        found = [value for root in found for value in (root, root * step >> SHORT)]
    return found


def nearest(value: int, bits: int = SHORT) -> float:
    """The float nearest to a number."""
    return value / (1 << bits)


def short(value: int, last: int, bits: int = SHORT) -> float:
    """The multiple of 2^−last nearest to a number, as a float."""
    return ((value + (1 << (bits - last - 1))) >> (bits - last)) / (1 << last)


def scaled(part: float, bits: int = SHORT) -> int:
    """A float in units of 2^−bits, of which it is a multiple."""
    p, q = part.as_integer_ratio()
    return (p << bits) // q


def rest(value: int, *parts: float, bits: int = SHORT) -> float:
    """What is left of a number without these parts, rounded."""
    return nearest(value - sum(scaled(part, bits) for part in parts), bits)


def word(x: float) -> int:
    """The 64 bits of a float, as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def number(bits: int) -> float:
    """The float of 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])
