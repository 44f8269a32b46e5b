"""The one way this package compiles: `njit` for inner functions, `kernel` for entry points called from Python.

Inner functions are compiled together with the kernel that calls them; only kernels are written to disk (`kernel_cache`).
Numba's own cache notices a change in the file of the kernel, but not in the files of the functions it calls. Here kernels are
kept in a folder named by a hash of the file and of all that it imports, so that a stale kernel is never loaded, and an edit
compiles only what it can change.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import sigutils
from numba.core.ccallback import CFunc

from . import light, numba_import  # noqa: F401
from .kernel_cache import KernelCache
from .source_hash import ROOT, folder_of

# Kernels allocate nothing, so that no array needs its references counted: counting would cost more than the arithmetic.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
# What only compiled code calls needs no entry points for Python and C, which take longer to compile than it does.
# Numba hands the options of a caller on to what it calls first, so that what is not to be inlined by force has to say so.
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": False}


def _kept(function: Callable[..., Any]) -> KernelCache:
    """The kernels of a function of a file."""
    return KernelCache(function, folder_of(Path(function.__code__.co_filename)))


def njit(function: Callable[..., Any], **more: Any) -> Any:
    """Compile an inner function, called from kernels only."""
    dispatcher = numba.njit(**{**INNER, **more})(function)
    if not numba.config.DISABLE_JIT:
        light.use(dispatcher)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Compile an inner function that becomes part of each of its callers: for the innermost loops, and for functions of
    many arguments with one caller, as a call hands over seven numbers for every array."""
    return njit(function, forceinline=True)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point, called from Python, and keep its machine code on disk."""
    dispatcher = numba.njit(**OPTIONS)(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._cache = _kept(dispatcher.py_func)
    return dispatcher


class CFunction:
    """A C function made from Python, compiled when its address is first asked for, and kept on disk like a kernel.

    source : of a function that has no file, and uses nothing of this package.
    """

    def __init__(self, function: Callable[..., int], signature: Any, source: str | None = None) -> None:
        self.name = f"{function.__module__.removeprefix('dalembert.')}.{function.__name__}"
        self._compiled = CFunc(function, sigutils.normalize_signature(signature), {}, OPTIONS)
        if source is None:
            self._compiled._cache = _kept(function)
        else:
            digest = hashlib.sha256(source.encode() + (ROOT / "jit.py").read_bytes()).hexdigest()[:16]
            self._compiled._cache = KernelCache(function, f"{function.__module__}-{digest}")

    @property
    def kept(self) -> bool:
        """Whether its machine code is on disk."""
        return bool(self._compiled._cache.kept)

    def compile(self) -> None:
        """Load its machine code, or make it."""
        self._compiled.compile()

    @functools.cached_property
    def address(self) -> int:
        self.compile()
        return int(self._compiled.address)
