"""The one way this package compiles: `njit` for inner functions, `kernel` for entry points called from Python.

Inner functions are compiled together with the kernel that calls them; only kernels are written to disk. Numba's own
cache notices a change in the file of the kernel, but not in the files of the functions it calls. Ours lives in a folder
named by a hash of the file and of all that it imports, so that a stale kernel is never loaded, and an edit compiles only what
it can change.
"""

import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, sigutils
from numba.core.ccallback import CFunc

from . import light

try:
    import fcntl
except ImportError:  # no such locks on Windows: two processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

# Kernels allocate nothing, so that no array needs its references counted: counting would cost more than the arithmetic.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
# What only compiled code calls needs no entry points for Python and C, which take longer to compile than it does.
# Numba hands the options of a caller on to what it calls first, so that what is not to be inlined by force has to say so.
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": False}


ROOT = Path(__file__).parent
# subpackages with compiled functions
KERNELS = (
    "linalg", "energies", "interact", "integrate", "mechanics", "articulated", "collide", "contact", "impact", "particles",
    "symbolic", "batch",
)  # fmt: skip
TABLES = ("tables", "tree_tables")  # of the model
IMPORT = re.compile(r"^from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@functools.cache
def imported(path: Path) -> frozenset[Path]:
    """The files with compiled functions, or tables of theirs, that a file of this package imports."""
    found = set()
    for dots, name, names in IMPORT.findall(path.read_text("utf-8")):
        folder = path.parents[len(dots) - 1].joinpath(*filter(None, name.split(".")))
        files = [folder.with_suffix(".py"), *(folder / f"{word}.py" for word in re.findall(r"\w+", names))]
        found |= {file for file in files if file.is_file() and _is_compiled(file)}
    return frozenset(found)


def _is_compiled(path: Path) -> bool:
    folder = path.parent
    return folder == ROOT or folder.name in KERNELS or (folder.name == "model" and path.stem in TABLES)


@functools.cache
def sources(path: Path) -> frozenset[Path]:
    """The files that the kernels in a file are made of: itself, and what it imports, directly or not."""
    found, left = {path}, [path]
    while left:
        fresh = imported(left.pop()) - found
        found |= fresh
        left.extend(fresh)
    return frozenset(found | {ROOT / "jit.py", ROOT / "light.py"})


@functools.cache
def source_hash(path: Path) -> str:
    """Hexadecimal digest (16 digits) of every file that the kernels in a file are made of."""
    digest = hashlib.sha256()
    if ROOT in path.parents:
        parts = sources(path)
    elif path.parent == generated_folder():  # it uses nothing of this package
        parts = frozenset([path, ROOT / "jit.py"])
    else:  # of a user, or a test: it may use anything
        parts = frozenset(
            [path, *ROOT.glob("*.py"), *(file for name in KERNELS for file in (ROOT / name).glob("*.py"))]
        )
    for part in sorted(parts):
        digest.update(part.name.encode() + part.read_bytes())
    return digest.hexdigest()[:16]


def cache_base() -> Path:
    """$DALEMBERT_CACHE, else a folder of the user's cache."""
    base = os.environ.get("DALEMBERT_CACHE")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME", "")
        base = os.path.join(home or os.path.expanduser("~/.cache"), "dalembert")
    return Path(base)


def generated_folder() -> Path:
    """Where generated sources live; see `symbolic.generate`."""
    return cache_base() / "generated"


@functools.cache
def cache_folder(path: Path) -> Path:
    """Where the compiled kernels of a file live, in `cache_base`, keyed by `source_hash`."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts) if ROOT in path.parents else path.stem
    return cache_base() / f"{name}-{source_hash(path)}"


class _Locator(caching._CacheLocator):
    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder(Path(self._py_file)))

    def get_source_stamp(self) -> str:
        return source_hash(Path(self._py_file))

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":
        locator = cls(py_func, py_file)
        locator.ensure_cache_path()
        return locator


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class Busy(Exception):
    """Another process is compiling this kernel."""


patient = True  # wait for a kernel that another process is compiling; else `Busy` is raised


class _KernelCache(caching.FunctionCache):
    """What one process compiles, others wait for: a lock on a file beside the machine code, let go when that is written."""

    _impl_class = _CacheImpl
    _lock: Any = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is not None:
            return found
        self._take()
        found = super().load_overload(sig, target_context)
        if found is None:
            announce_compilation()
        else:
            self._let_go()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        super().save_overload(sig, data)
        self._let_go()

    @property
    def kept(self) -> bool:
        """Whether there is machine code on disk."""
        return Path(self._cache_path, f"{self._impl.filename_base}.nbi").exists()

    def _take(self) -> None:
        if fcntl is None:
            return
        self._let_go()
        self._lock = open(Path(self._cache_path, f"{self._impl.filename_base}.lock"), "w")  # noqa: SIM115 - kept open
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except OSError as error:
            self._let_go()
            if not patient:
                raise Busy from error

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


@functools.cache
def announce_compilation() -> None:
    """Say once a process, on stderr, that kernels are being compiled."""
    print("compiling kernels (first run only) ...", file=sys.stderr, flush=True)


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
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


class CFunction:
    """A C function made from Python, compiled when its address is first asked for, and kept on disk like a kernel."""

    def __init__(self, function: Callable[..., int], signature: Any) -> None:
        self.name = f"{function.__module__.removeprefix('dalembert.')}.{function.__name__}"
        self._compiled = CFunc(function, sigutils.normalize_signature(signature), {}, OPTIONS)
        self._compiled._cache = _KernelCache(function)

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
