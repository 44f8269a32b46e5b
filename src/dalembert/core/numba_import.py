"""Importing Numba without SciPy.

Numba imports `scipy.linalg`, which takes as long as Numba itself, to check whether BLAS is available. This package
depends on SciPy, so it is. Functions that call BLAS import it when they are compiled.
"""

from numba.np import linalg

ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
try:
    import numba.np.arraymath  # noqa: F401
finally:
    linalg.ensure_blas = ensure_blas
