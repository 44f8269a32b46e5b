"""The one way this package compiles: `njit` for inner functions, `kernel` for entry points called from Python.

Inner functions are compiled together with the kernel that calls them; only kernels are written to disk (`kernel_cache`).
Numba's own cache notices a change in the file of the kernel, but not in the files of the functions it calls. Here kernels are
kept in a folder named by a hash of the file and of all that it imports, so that a stale kernel is never loaded, and an edit
compiles only what it can change.
"""

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import sigutils
from numba.core.ccallback import CFunc

from . import light
from .kernel_cache import KernelCache

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
    if path.stem in (
        "kernel_cache",
        "cache_folders",
        "compile_progress",
    ):  # where kernels are kept changes none of them
        return False
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
    else:  # of a user, or a test: it may use anything
        parts = frozenset(
            [path, *ROOT.glob("*.py"), *(file for name in KERNELS for file in (ROOT / name).glob("*.py"))]
        )
    for part in sorted(parts):
        digest.update(part.name.encode() + part.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def folder_of(path: Path) -> str:
    """The name of the folder of the compiled kernels of a file, keyed by `source_hash`."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts) if ROOT in path.parents else path.stem
    return f"{name}-{source_hash(path)}"


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

    @property
    def place(self) -> Path | None:
        """The file that its machine code is kept in; None where there is none."""
        return self._compiled._cache.place  # type: ignore[no-any-return]

    def compile(self) -> None:
        """Load its machine code, or make it."""
        self._compiled.compile()

    @functools.cached_property
    def address(self) -> int:
        self.compile()
        return int(self._compiled.address)
