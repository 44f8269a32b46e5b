"""Filling whole arrays of floats inside kernels; NumPy's slices would count references and look for overlaps."""

from .jit import njit


@njit
def clear(a):
    for i in range(a.shape[0]):
        a[i] = 0.0


@njit
def copy(target, source):
    for i in range(target.shape[0]):
        target[i] = source[i]
