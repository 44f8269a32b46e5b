"""Compilation in this package: `njit` for inner functions, `CFunction` (and `kernel`) for entry points.

Numba is imported when the first of them is compiled, or loaded from the cache (`compiler`). A process that finds all
its kernels in the library of the package (`shipped`) does not import it.

Inner functions are compiled together with the entry point that calls them; only entry points are written to disk
(`object_cache`). Numba's own cache notices a change in the file of the entry point, but not in the files of the
functions it calls. Here machine code is kept in a folder named by a hash of the file and of all that it imports, so
that a stale kernel is never loaded, and an edit compiles only what it can change.
"""

import functools
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

# Kernels allocate nothing, so that no array needs its references counted: counting would cost more than the arithmetic.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
# What only compiled code calls needs no entry points for Python and C, which would take longer to compile than the function.
# Numba applies the options of a caller to what it calls first, so that what is not to be inlined by force has to say so.
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": False}


def _disabled() -> bool:
    """Whether nothing is compiled: Numba's own setting, NUMBA_DISABLE_JIT."""
    if "numba" in sys.modules:
        return bool(sys.modules["numba"].config.DISABLE_JIT)
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    except ValueError:  # Numba ignores such a value, too
        return False


DISABLED = _disabled()


class _Module:
    """A module of the compiler's, imported when something of it is first used: by an intrinsic that is being compiled."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


ir: Any = _Module("llvmlite.ir")
types: Any = _Module("numba.core.types")
cgutils: Any = _Module("numba.core.cgutils")
extending: Any = _Module("numba.extending")
arrayobj: Any = _Module("numba.np.arrayobj")
numpy_support: Any = _Module("numba.np.numpy_support")


class Inner:
    """A function that compiled code calls. Numba asks for `_numba_type_` of what it does not know, and so gets a dispatcher
    of its own, made when it is first compiled."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        from . import compiler

        return compiler.dispatcher(self.py_func, self.options)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"{self.__module__}.{self.__name__} is compiled as a part of kernels, and cannot be called from Python; "  # type: ignore[attr-defined]
            "its `py_func` can"
        )

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined, no-any-return] # pickled and copied by name, as functions are


class Intrinsic:
    """A function defined by the LLVM code it becomes: `numba.extending.intrinsic`, called when it is first compiled."""

    def __init__(self, define: Callable[..., Any]) -> None:
        functools.update_wrapper(self, define)  # type: ignore[arg-type]
        self._define = define

    @functools.cached_property
    def _intrinsic(self) -> Any:
        return extending.intrinsic(self._define)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from . import compiler

        return compiler.type_of(self._intrinsic)


def njit(function: Callable[..., Any], **more: Any) -> Any:
    """Compile an inner function, called from kernels only."""
    return function if DISABLED else Inner(function, {**INNER, **more})


def inlined(function: Callable[..., Any]) -> Any:
    """Compile an inner function that becomes part of each of its callers: for the innermost loops, and for functions of
    many arguments with one caller, as a call hands over seven numbers for every array."""
    return njit(function, forceinline=True)


def intrinsic(define: Callable[..., Any]) -> Any:
    """Declare an intrinsic: see `numba.extending.intrinsic`."""
    return Intrinsic(define)


def is_dispatcher(function: Any) -> bool:
    """Whether Numba compiles a function of the user's. While nobody has imported Numba, there is none."""
    numba = sys.modules.get("numba.core.dispatcher")
    return numba is not None and isinstance(function, numba.Dispatcher)


class CFunction:
    """A C function made from Python: loaded from the library that comes with the package, or compiled when its address is
    first asked for, and cached on disk.

    function, signature : what is compiled, and for which types, in Numba's words: "int64(int64, float64)".
    symbol : its name in the library. `C_FUNCTIONS` lists those of the package's modules that are imported, by symbol.
    source : of a function that has no file, and uses nothing of this package but its elementary functions.
    Raises ValueError for a symbol that is there already.
    """

    def __init__(self, function: Callable[..., Any], signature: str, source: str | None = None) -> None:
        self._function, self.signature = function, signature
        self.name = f"{function.__module__.removeprefix('dalembert.')}.{function.__name__}"
        self.symbol = f"dalembert_{self.name.replace('.', '_')}"
        self._source = source
        self.is_of_package = source is None and function.__module__.startswith("dalembert.")
        if self.is_of_package:
            if self.symbol in C_FUNCTIONS:
                raise ValueError(f"two C functions are called {self.symbol}; rename one of them")
            C_FUNCTIONS[self.symbol] = self

    @property
    def function(self) -> Callable[..., Any]:
        """What is compiled."""
        return self._function

    @property
    def is_cached(self) -> bool:
        """Whether there is machine code of it, in the library or on disk."""
        return self._shipped is not None or self._on_disk.exists()

    @property
    def path(self) -> Path | None:
        """The file of its machine code; None where there is none, as with what is in the library."""
        return None if self._shipped is not None else self._on_disk.path()  # type: ignore[no-any-return]

    def compile(self) -> None:
        """Load its machine code, or make it."""
        _ = self.address

    @functools.cached_property
    def _shipped(self) -> int | None:
        """Its address in the library that comes with the package."""
        from . import shipped  # here and below, for scenes: they import this module, and what is loaded here takes time

        return shipped.address(self.symbol) if self.is_of_package else None

    @functools.cached_property
    def _on_disk(self) -> Any:
        import hashlib

        from . import object_cache

        code = self.function.__code__
        own = hashlib.sha256(f"{self.symbol} {self.signature} ".encode() + code.co_code).hexdigest()[:8]
        return object_cache.CachedObject(
            self._folder(), f"{code.co_name.strip('<>')}-{code.co_firstlineno}-{own}", self.name
        )

    def _folder(self) -> str:
        """The name of the folder of its machine code."""
        import hashlib

        from .cache_folders import ROOT, folder_of, source_hash

        if self._source is None:
            return folder_of(Path(self.function.__code__.co_filename))
        used = source_hash(ROOT / "core" / "elementary.py")
        digest = hashlib.sha256(self._source.encode() + used.encode()).hexdigest()[:16]
        return f"{self.function.__module__}-{digest}"

    @functools.cached_property
    def address(self) -> int:
        if self._shipped is not None:
            return self._shipped
        from . import object_cache

        return object_cache.load(self.object_file().code, self.symbol)

    def object_file(self) -> Any:
        """Its `object_cache.ObjectFile`, read from the disk or compiled now."""
        from . import object_cache

        def make() -> object_cache.ObjectFile:
            from . import compiler

            return compiler.compile_for_host(self.function, self.signature, self.symbol, INNER)

        return self._on_disk.read_or_make(make)


C_FUNCTIONS: dict[str, CFunction] = {}
