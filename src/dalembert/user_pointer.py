"""Functions of the user's behind C function pointers (`pointer`): compiled once, or called back through Python.

A function that Numba compiles is compiled together with its adapter into one C function. That is done once for functions of
equal content (`function_content`): within a process, and on disk for the next one. Numba is imported only if there is
such a function.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import math
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import interrupt
from .function_content import Content, content_of
from .jit import is_dispatcher
from .pointer import C_SIGNATURE, C_TYPE, DERIVATIVE, RAISED, WRONG_LENGTH, view
from .status import OK

MOST = 256  # C functions that are kept in a process
ROOT = Path(__file__).parent
SOURCES = (
    "user_pointer.py",
    "function_content.py",
    "kernel_cache.py",
    "pointer.py",
    "status.py",
    "model/user_functions.py",
)
Compile = Callable[[Callable[..., Any]], Any]


def _as_it_is(compile: Compile, function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@dataclass(frozen=True)
class Adapter:
    """Functions of the user's, and how they become one function f(t, numbers) → numbers.

    make : of (compile, *functions, *sizes) that function, in Python that Numba can compile; `compile` is for what it calls.
    size : how many numbers it returns; None where that is not known. answers : what each function has to return.
    """

    functions: tuple[Callable[..., Any], ...]
    make: Callable[..., Callable[..., Any]] = _as_it_is
    sizes: tuple[int, ...] = ()
    size: int | None = None
    answers: tuple[Any, ...] = ()

    @property
    def compiled(self) -> bool:
        return all(map(is_dispatcher, self.functions))

    def plain(self) -> Callable[..., Any]:
        """The function in Python, which checks what the user's functions return in each call."""
        functions = self.functions
        if self.answers:
            functions = tuple(answer.checked(f) for f, answer in zip(functions, self.answers, strict=True))
        return self.make(lambda function: function, *functions, *self.sizes)


class Pointer:
    """A user's function f(t, y) as a C function pointer. Keep it alive while its `address` is in use.

    f is compiled by Numba, or any Python callable, or an `Adapter`; it returns n_out numbers (a single number if `scalar`).
    An exception raised by a Python function is kept in `error`, and the status is then RAISED. A compiled function that
    raises leaves NaN in its output. name : what messages about its compilation call it.
    """

    def __init__(self, function: Callable[..., Any] | Adapter, scalar: bool = False, name: str = "") -> None:
        self.error: BaseException | None = None
        self.adapter = function if isinstance(function, Adapter) else Adapter((function,))
        self.typed = False  # whether the types that a compiled function returns are known to be right
        if self.adapter.compiled:
            self._wrapper: Any = compiled(self.adapter, scalar, name)
            self.address, self.typed = self._wrapper.address, self._wrapper.typed
        else:
            self._wrapper = C_TYPE(functools.partial(self._call, self.adapter.plain(), scalar))
            self.address = int(ctypes.cast(self._wrapper, ctypes.c_void_p).value or 0)

    def _call(
        self, function: Callable[..., Any], scalar: bool, data: int, task: int, t: float, source: int, n: int,
        target: int, m: int,
    ) -> int:  # fmt: skip
        try:
            result = np.asarray(interrupt.call(function, t, view(source, n).copy()), dtype=np.float64)
            if result.shape != (() if scalar else (m,)):
                raise ValueError(f"the function returned an array of shape {result.shape} at t = {t!r}, not ({m},)")
            view(target, m)[:] = result
        except BaseException as error:  # noqa: BLE001 - a C callback cannot let an exception pass
            self.error = error
            return RAISED
        return OK

    def __call__(self, t: float, values: np.ndarray) -> np.ndarray:
        """The numbers that it gives, NaN where it fails: of an adapter whose size is known."""
        given = np.ascontiguousarray(values, dtype=np.float64)
        out = np.full(self.adapter.size or 1, np.nan)
        status = C_TYPE(self.address)(0, DERIVATIVE, t, given.ctypes.data, given.size, out.ctypes.data, out.size)
        return out if status == OK else np.full(out.size, np.nan)


# Compiled functions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    """A C function. typed : whether Numba found that the user's functions return what they should; only the lengths of
    arrays are not known then."""

    address: int
    typed: bool
    kept: tuple[Any, ...]  # what owns the machine code


_made: OrderedDict[str, Compiled] = OrderedDict()
_lock = threading.RLock()


def compiled(adapter: Adapter, scalar: bool, name: str = "") -> Compiled:
    """The C function of an adapter of compiled functions: the one that is there, if their content is the same."""
    name = name or f"function {adapter.functions[0].__name__!r}"
    contents = [content_of(function) for function in adapter.functions]
    known = [content for content in contents if content is not None]
    if len(known) < len(contents):
        return _compile(adapter, scalar, list(adapter.functions), name)
    make = adapter.make
    described = (make.__module__, make.__qualname__, adapter.sizes, scalar, [content.digest for content in known])
    digest = hashlib.sha256(repr(described).encode()).hexdigest()
    with _lock:
        found = _made.get(digest)
        if found is None:
            found = _made[digest] = _compile_known(adapter, scalar, known, digest, name)
        _made.move_to_end(digest)
        if len(_made) > MOST:
            _made.popitem(last=False)
    return found


def _compile_known(adapter: Adapter, scalar: bool, contents: list[Content], digest: str, name: str) -> Compiled:
    frozen = [content.frozen() for content in contents]
    portable = all(content.portable for content in contents)
    return _compile(adapter, scalar, frozen, name, digest, portable)


def _compile(
    adapter: Adapter, scalar: bool, functions: list[Any], name: str, digest: str = "", portable: bool = False
) -> Compiled:
    """Compile the user's functions with their adapter, or load them from disk."""
    import numba
    from numba.core import sigutils
    from numba.core.ccallback import CFunc

    options: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    def compile(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{digest[:24]}"  # a part of its symbol
        return numba.njit(**options)(function)

    made = adapter.make(compile, *functions, *adapter.sizes)
    entry = _entry(made if is_dispatcher(made) else compile(made), scalar)
    entry.__qualname__ += f"_{digest[:24]}"
    wrapper: Any = CFunc(entry, sigutils.normalize_signature(C_SIGNATURE), {}, {})

    def typed() -> bool:
        found = [[made.signature.return_type for made in function.overloads.values()] for function in functions]
        return bool(digest) and all(
            kinds and all(map(answer.is_type, kinds)) for kinds, answer in zip(found, adapter.answers, strict=False)
        )

    if portable:
        from . import objects
        from .kernel_cache import KernelCache

        folder = f"user_functions-{_made_by()}"
        wrapper._cache = cache = KernelCache(folder, digest, name, typed)
        with contextlib.nullcontext() if cache.there() else objects.alone(folder, digest[:32], name, wait=True):
            wrapper.compile()
    else:
        wrapper.compile()
    return Compiled(int(wrapper.address), bool(wrapper.cache_hits) or typed(), (wrapper, made, functions))


def _entry(function: Any, scalar: bool) -> Callable[..., int]:
    from numba import carray

    if scalar:

        def call(data, task, t, source, n, target, m):  # type: ignore[no-untyped-def]
            out = carray(target, m)
            out[0] = math.nan
            out[0] = function(t, carray(source, n))
            return OK

    else:

        def call(data, task, t, source, n, target, m):  # type: ignore[no-untyped-def]
            out = carray(target, m)
            out[:] = math.nan
            result = function(t, carray(source, n))
            if len(result) != m:
                return WRONG_LENGTH
            for i in range(m):
                out[i] = result[i]
            return OK

    return call


@functools.cache
def _made_by() -> str:
    """What machine code of a user's function depends on beside its content and the processor: the libraries, the options of
    the compiler, and the files of this package that it is made with. 16 digits."""
    import llvmlite
    import numba

    versions = (sys.version_info[:2], numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr(versions).encode())
    digest.update(repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode())
    for name in SOURCES:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:16]
