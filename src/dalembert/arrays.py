"""Filling whole arrays of floats inside kernels, and looking through them; NumPy's slices would count references and look for
overlaps."""

import math

from .jit import njit


@njit
def clear(a):
    for i in range(a.shape[0]):
        a[i] = 0.0


@njit
def copy(target, source):
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit
def is_finite(a):
    for i in range(a.shape[0]):
        if not abs(a[i]) < math.inf:
            return False
    return True
