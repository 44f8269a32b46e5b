"""The one way this package compiles: `njit` for inner functions, `kernel` for entry points called from Python.

Inner functions are compiled together with the kernel that calls them; only kernels are written to disk. Numba's own
cache notices a change in the file of the kernel, but not in the files of the functions it calls. Ours lives in a folder
named by a hash of every source file that the kernels of a package are made of, so that a stale kernel is never loaded.
"""

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, sigutils
from numba.core.ccallback import CFunc

from . import light

# Kernels allocate nothing, so that no array needs its references counted: counting would cost more than the arithmetic.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
# What only compiled code calls needs no entry points for Python and C, which take longer to compile than it does.
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


# The files whose functions end up in the kernels of a package, besides its own: an edit compiles only what it can change.
COMMON = (
    "addresses.py", "arrays.py", "jit.py", "light.py", "pointer.py", "quat.py", "status.py", "ticks.py", "unchecked.py",
    "vec.py",
)  # fmt: skip
USED_BY: dict[str, tuple[str, ...]] = {
    "linalg": (),
    "integrate": (),
    "collide": ("model/tables.py",),
    "mechanics": ("model/tables.py", "linalg/block.py", "linalg/ldl.py", "linalg/ordering.py"),
    "contact": ("model/tables.py", "linalg/*.py", "mechanics/*.py", "collide/*.py"),
    "impact": (
        "model/tables.py",
        "linalg/block.py",
        "linalg/ldl.py",
        "linalg/ordering.py",
        "mechanics/*.py",
        "collide/tables.py",
        "collide/tables_of.py",
    ),
}


def package_of(module: str) -> str:
    """The subpackage that a module belongs to; "contact", which uses most others, for modules of no package of kernels."""
    parts = module.split(".")
    return parts[1] if parts[0] == "dalembert" and len(parts) > 2 and parts[1] in USED_BY else "contact"


@functools.cache
def source_hash(package: str) -> str:
    """Hexadecimal digest (16 digits) of every file that kernels of a package are made of, in path order."""
    digest = hashlib.sha256(package.encode())
    root = Path(__file__).parent
    patterns = (*COMMON, f"{package}/*.py", *USED_BY[package])
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder(package: str) -> Path:
    """Where compiled kernels live: $DALEMBERT_CACHE, else the user's cache folder, keyed by `source_hash`."""
    base = os.environ.get("DALEMBERT_CACHE")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME", "")
        base = os.path.join(home or os.path.expanduser("~/.cache"), "dalembert")
    return Path(base) / f"{package}-{source_hash(package)}"


class _Locator(caching._CacheLocator):
    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno
        self._package = package_of(py_func.__module__)

    def get_cache_path(self) -> str:
        return str(cache_folder(self._package))

    def get_source_stamp(self) -> str:
        return source_hash(self._package)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":
        locator = cls(py_func, py_file)
        locator.ensure_cache_path()
        return locator


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _KernelCache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            announce_compilation()
        return found


DRIVER = "import dalembert; dalembert.solve(lambda t, y: -y, [1.0], 0.0, 1.0, method='euler', dt=1.0)"


def compile_driver_aside() -> Callable[[], Any]:
    """Before anything is on disk, start compiling the driver in a second process, while this one compiles the mechanics:
    the first run then waits less. Returns what to call before the driver is used.
    """
    if numba.config.DISABLE_JIT or any(cache_folder("integrate").glob("*.nbi")):
        return lambda: None
    announce_compilation()
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            env={**os.environ, "PYTHONPATH": path},
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
        )
    except OSError:  # no second process to be had: this one will do it all
        return lambda: None
    return process.wait


@functools.cache
def announce_compilation() -> None:
    """Say once a process, on stderr, that kernels are being compiled."""
    print("compiling kernels (first run only) ...", file=sys.stderr, flush=True)


def njit(function: Callable[..., Any], **more: Any) -> Any:
    """Compile an inner function, called from kernels only."""
    dispatcher = numba.njit(**INNER, **more)(function)
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
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


class CFunction:
    """A C function made from Python, compiled when its address is first asked for, and kept on disk like a kernel."""

    def __init__(self, function: Callable[..., int], signature: Any) -> None:
        self._compiled = CFunc(function, sigutils.normalize_signature(signature), {}, OPTIONS)
        self._compiled._cache = _KernelCache(function)

    @functools.cached_property
    def address(self) -> int:
        self._compiled.compile()
        return int(self._compiled.address)
