"""Importing Numba without SciPy.

Numba imports `scipy.linalg`, which takes as long as Numba itself, to see whether there is a BLAS that functions could call.
This package depends on SciPy, so there is. Functions that do call BLAS import it when they are compiled.
"""

from numba.np import linalg

ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
try:
    import numba.np.arraymath  # noqa: F401
finally:
    linalg.ensure_blas = ensure_blas
