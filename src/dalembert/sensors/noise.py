"""Noise of sensors: normally distributed numbers that depend only on a key and a count.

A counter-based generator has no state: number k of a sensor does not depend on whether earlier numbers were generated;
it is the same in a copy of a run, and for any number of threads. Bits come from SplitMix64 (G. Steele, D. Lea, C.
Flood, OOPSLA 2014), normal numbers by the inverse of their distribution (M. Wichura, Algorithm AS 241, Appl. Statistics
37, 1988). All operations are + − × ÷ and √, which IEEE 754 rounds in one way, so that the bits are the same on every
processor.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of SplitMix64
WORD = (1 << 64) - 1
LN_2 = 0.6931471805599453
OFFSET = 1 << 40  # between the starts of blocks
TOGETHER = 512  # numbers of a block

# Coefficients of AS 241, the highest power first: numerator and denominator of the middle, of the tails, and far out.
CENTRAL = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def key_of(seed: int, name: str) -> int:
    """The key of a sensor, 64 bits."""
    return _mixed_number((seed * STEP + zlib.crc32(name.encode())) & WORD)


def normal(key: int, block: int, count: int) -> np.ndarray:
    """(count,) independent standard normal numbers. block : −1 or more; numbers of different blocks are independent."""
    first = _mixed_number((key + (block + 2) * OFFSET) & WORD)
    counts = np.arange(1, count + 1, dtype=np.uint64)
    bits = _mixed(np.uint64(first) + counts * np.uint64(STEP))
    return quantile(((bits >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)


class Noise:
    """The normal numbers of one sensor, of samples of one shape; made for many samples at once."""

    def __init__(self, seed: int, name: str, shape: tuple[int, ...]) -> None:
        self._key, self._shape, self._size = key_of(seed, name), shape, int(np.prod(shape, dtype=int))
        self._each = max(1, TOGETHER // self._size)  # samples of a block
        self._known, self._numbers = -2, np.zeros(0)

    def of_sample(self, number: int) -> np.ndarray:
        """Of sample 0, 1, …; of −1, those of a constant offset."""
        block, place = divmod(number, self._each) if number >= 0 else (-1, 0)
        if block != self._known:
            count = self._size * (self._each if number >= 0 else 1)
            self._known, self._numbers = block, normal(self._key, block, count)
        return self._numbers[self._size * place : self._size * (place + 1)].reshape(self._shape)


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


def _mixed_number(z: int) -> int:
    z = ((z ^ (z >> 30)) * FIRST) & WORD
    z = ((z ^ (z >> 27)) * SECOND) & WORD
    return z ^ (z >> 31)


def quantile(p: np.ndarray) -> np.ndarray:
    """The standard normal quantiles of p (n,), each between 0 and 1; to about 1e-15."""
    q = p - 0.5
    found = np.empty_like(q)
    central = np.abs(q) <= 0.425
    inner, outer = q[central], q[~central]
    found[central] = inner * _ratio(CENTRAL, 0.180625 - inner * inner)
    r = np.sqrt(-logarithm(np.minimum(p[~central], 1.0 - p[~central])))
    size = np.where(r <= 5.0, _ratio(TAIL, r - 1.6), _ratio(FAR, r - 5.0))
    found[~central] = np.where(outer < 0.0, -size, size)
    return found


def _ratio(coefficients: Any, r: np.ndarray) -> np.ndarray:
    """A rational function, by Horner's rule."""
    parts = []
    for powers in coefficients:
        value = np.full_like(r, powers[0])
        for power in powers[1:]:
            value = value * r + power
        parts.append(value)
    return np.asarray(parts[0] / parts[1])


def logarithm(x: np.ndarray) -> np.ndarray:
    """ln x of x > 0, to about 1e-15: x = m 2ᵉ with m near 1, and ln m = 2 artanh((m − 1)/(m + 1)) as a series."""
    m, e = np.frexp(x)
    low = m < 0.7071067811865476
    m, e = np.where(low, 2.0 * m, m), np.where(low, e - 1, e)
    z = (m - 1.0) / (m + 1.0)
    square, total = z * z, np.zeros_like(z)
    for k in range(23, 0, -2):
        total = total * square + 1.0 / k
    return np.asarray(e * LN_2 + 2.0 * z * total)
