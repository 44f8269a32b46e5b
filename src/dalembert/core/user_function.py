"""User functions as C function pointers (`c_function`): compiled once, or called back through Python.

A function that Numba compiles is compiled together with its adapter into one C function. Functions with equal content
(`content_of`) are compiled once: within a process, and on disk for later ones. Numba is imported only if there is such
a function.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import dis
import functools
import hashlib
import math
import os
import struct
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import interrupt
from .c_function import C_SIGNATURE, C_TYPE, DERIVATIVE, RAISED, WRONG_LENGTH, view
from .jit import is_dispatcher
from .status import OK

# The content of a compiled function -----------------------------------------------------------------------------------
# What a compiled function of the user's is made of, so that the same function is compiled once.
#
# Numba takes over the globals and the closed-over values of a function when it compiles it, and does not look at them
# again. So two functions give the same machine code if their bytecode, their compiler options, and all values that they
# read are equal; so must be those of the functions that they call. `content_of` reads all of that into a digest. Of a
# value that cannot be compared safely (a mutable object, a plain function that Numba would look up in its registries,
# an array whose memory is read while it runs) there is no digest, and the function is compiled anew.
#
# `Content.frozen` is a copy of the function over copies of these values. It is compiled in place of the user's, whose
# machine code may have been made when a global had another value.

LIBRARIES = ("builtins", "math", "cmath", "operator", "numpy", "numba")  # whose objects are identified by their names
LARGEST = 10**6  # bytes; Numba reads larger arrays where they are, instead of taking them over
PORTABLE = 2 * 10**6  # bytes of values; functions of more are not written to disk
Recipe = Callable[[], Any]


class Unknown(Exception):
    """A value cannot be compared."""


@dataclass(frozen=True)
class Content:
    """digest : equal for functions of equal machine code, in other processes too.
    portable : whether it may be written to disk.
    frozen : makes the copy to compile, called from compiled code only."""

    digest: str
    portable: bool
    frozen: Callable[[], Any]


def content_of(function: Any) -> Content | None:
    """The content of a function compiled by Numba, with what it reads now; None where that cannot be compared."""
    reader = _Reader()
    try:
        recipe = reader.value(function, frozenset())
    except Unknown:
        return None
    digest = reader.hash.hexdigest()

    def frozen() -> Any:
        reader.digest = digest
        return recipe()

    return Content(digest, reader.portable and reader.size <= PORTABLE, frozen)


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[tuple[str, ...], frozenset[str]]:
    """The globals that code reads, and all names of attributes that it may ask for; with the functions defined in it."""
    read, attributes = set(), set(code.co_names)
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_read, inner_attributes = _names(constant)
            read |= set(inner_read)
            attributes |= inner_attributes
        elif isinstance(constant, str):
            attributes.add(constant)
    return tuple(sorted(read)), frozenset(attributes)


class _Reader:
    """Puts values into a hash, each with its type and length, and remembers how to copy them."""

    def __init__(self) -> None:
        self.hash, self.size, self.portable, self.digest = hashlib.sha256(), 0, True, ""
        self._seen: dict[Any, int] = {}
        self._alive: list[Any] = []  # so that no id is reused
        self._built: dict[Any, Any] = {}

    def _feed(self, kind: str, data: bytes | str = b"") -> None:
        data = data.encode() if isinstance(data, str) else data
        self.hash.update(f"{kind}:{len(data)}:".encode() + data)
        self.size += len(data)

    def value(self, value: Any, attributes: frozenset[str]) -> Recipe:
        """Read a value; attributes : those that may be read of it, where it is a module. Raises Unknown."""
        kind = type(value)
        if value is None or value is Ellipsis or kind in (bool, int, str):
            self._feed(kind.__name__, repr(value))
        elif kind is bytes:
            self._feed("bytes", value)
        elif kind is float:
            self._feed("float", struct.pack("d", value))
        elif kind is complex:
            self._feed("complex", struct.pack("dd", value.real, value.imag))
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            self._feed("scalar", value.dtype.str + value.tobytes().hex())
        elif isinstance(value, tuple):
            return self._tuple(value, attributes)
        elif kind in (set, frozenset):  # of options
            self._feed(kind.__name__, repr(sorted(map(repr, value))))
            self._require_plain(value)
        elif kind is np.ndarray:
            return self._array(value)
        elif isinstance(value, types.ModuleType):
            return self._module(value, attributes)
        elif is_dispatcher(value):
            return self._dispatcher(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif _is_number_type(value):
            self._feed("type", repr(value))
        else:
            self._feed("object", _name_in_library(value))
        return lambda: value

    def _require_plain(self, values: Any) -> None:
        if not all(type(item) in (bool, int, str) for item in values):
            raise Unknown

    def _tuple(self, value: tuple[Any, ...], attributes: frozenset[str]) -> Recipe:
        kind = type(value)
        fields = getattr(kind, "_fields", None)
        if kind is not tuple and (fields is None or kind.__bases__ != (tuple,)):
            raise Unknown
        self._feed("tuple", f"{len(value)} {'' if fields is None else (kind.__name__, fields)}")
        items = [self.value(item, attributes) for item in value]
        return lambda: kind(item() for item in items) if fields is None else kind(*(item() for item in items))

    def _array(self, value: np.ndarray) -> Recipe:
        flags = value.flags
        if value.dtype.hasobject or value.nbytes > LARGEST or not (flags.c_contiguous or flags.f_contiguous):
            raise Unknown  # compiled code looks at the array itself
        order: Any = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        self._feed("array", f"{value.dtype!r} {value.shape} {order} {flags.c_contiguous} {flags.aligned}")
        data = value.tobytes(order)
        self._feed("items", data)
        copy: Any = np.ndarray(value.shape, value.dtype, data, order=order)
        return lambda: copy.copy(order)

    def _module(self, module: types.ModuleType, attributes: frozenset[str]) -> Recipe:
        if self._again(("module", id(module), attributes), module):
            return functools.partial(self._built.__getitem__, ("module", id(module), attributes))
        library = module.__name__.partition(".")[0] in LIBRARIES
        if not library and "__getattr__" in vars(module):
            raise Unknown
        names = sorted(attributes & vars(module).keys())
        self._feed("module", f"{module.__name__ if library else ''} {names}")
        if library:
            if "objmode" in names:  # Python in the middle, which reads its globals when it runs
                raise Unknown
            for name in names:
                self._of_library(getattr(module, name), attributes)
            copy = module
            self._built[("module", id(module), attributes)] = module
            return lambda: module
        copy = types.ModuleType(module.__name__)
        self._built[("module", id(module), attributes)] = copy
        items = {name: self.value(getattr(module, name), attributes) for name in names}

        def build() -> types.ModuleType:
            for name, item in items.items():
                setattr(copy, name, item())
            return copy

        return build

    def _of_library(self, value: Any, attributes: frozenset[str]) -> None:
        """Raises Unknown for something foreign that was put into a library's module; numbers may have been changed there."""
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in LIBRARIES:
                raise Unknown
            self._module(value, attributes)
        elif is_dispatcher(value):
            raise Unknown
        elif isinstance(value, bool | int | float | complex | str | bytes | None):
            self.value(value, frozenset())
        else:
            self._feed("object", f"{type(value).__name__} {getattr(value, '__module__', '')}")

    def _again(self, key: Any, value: Any) -> bool:
        """Whether something was read before; feeds which of them it was."""
        if key in self._seen:
            self._feed("again", str(self._seen[key]))
            return True
        self._seen[key] = len(self._seen)
        self._alive.append(value)
        return False

    def _dispatcher(self, dispatcher: Any) -> Recipe:
        if self._again(id(dispatcher), dispatcher):
            return functools.partial(self._built.__getitem__, id(dispatcher))
        options, declared = _options(dispatcher), _declared(dispatcher)
        self._feed("options")
        for name in sorted(options):
            self._feed("option", name)
            option = options[name]
            self.value(tuple(sorted(option.items())) if type(option) is dict else option, frozenset())
        self.portable = self.portable and not options.get("parallel")
        self._feed("declared", repr(declared))
        function = dispatcher.py_func
        code = function.__code__
        if type(function) is not types.FunctionType:
            raise Unknown
        self._code(code)
        read, attributes = _names(code)
        defaults = self.value(function.__defaults__, attributes)
        named = function.__kwdefaults__ or {}
        keywords = {name: self._named(name, named[name], attributes) for name in sorted(named)}
        cells = [self._cell(cell, attributes) for cell in function.__closure__ or ()]
        found = {}
        for name in read:
            if name in function.__globals__:
                found[name] = self._named(name, function.__globals__[name], attributes)
            elif hasattr(builtins, name):
                self._feed("builtin", name)
            else:
                self._feed("missing", name)
        return functools.partial(self._build, dispatcher, options, declared, defaults, keywords, cells, found)

    def _named(self, name: str, value: Any, attributes: frozenset[str]) -> Recipe:
        self._feed("name", name)
        return self.value(value, attributes)

    def _cell(self, cell: Any, attributes: frozenset[str]) -> Recipe:
        try:
            value = cell.cell_contents
        except ValueError:
            raise Unknown from None
        return self.value(value, attributes)

    def _code(self, code: types.CodeType) -> None:
        """Read what code does, but not where it stands, nor what it is called."""
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self._feed("code", repr((numbers, names)))
        self._feed("bytecode", code.co_code + b"|" + getattr(code, "co_exceptiontable", b""))
        for constant in code.co_consts:
            self.value(constant, frozenset())

    def _build(
        self, dispatcher: Any, options: dict[str, Any], declared: list[Any], defaults: Recipe, keywords: dict[str, Recipe],
        cells: list[Recipe], found: dict[str, Recipe],
    ) -> Any:  # fmt: skip
        """The copy of a dispatcher; made once, as functions may call themselves."""
        if id(dispatcher) in self._built:
            return self._built[id(dispatcher)]
        import numba

        old = dispatcher.py_func
        own: dict[str, Any] = {"__name__": __name__, "__builtins__": builtins}
        closure = tuple(types.CellType() for _ in cells) or None
        copy = types.FunctionType(old.__code__, own, old.__name__, defaults(), closure)
        copy.__kwdefaults__ = {name: item() for name, item in keywords.items()} or None
        # the symbol of its machine code: no other function may have it, in whatever process it was made
        copy.__qualname__ = f"{old.__name__}_{self.digest[:24]}_{len(self._built)}"
        copy.__module__ = __name__
        wrappers = {} if declared else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        new = self._built[id(dispatcher)] = numba.njit(**{**options, **wrappers})(copy)
        for cell, item in zip(closure or (), cells, strict=True):
            cell.cell_contents = item()
        own.update({name: item() for name, item in found.items()})
        for signature in declared:
            new.compile(signature)
        if declared:
            new.disable_compile()
        return new


def _options(dispatcher: Any) -> dict[str, Any]:
    """The compiler options of a dispatcher. Raises Unknown for one of another kind than `numba.njit` makes."""
    from numba.core import compiler, registry

    made = dispatcher._compiler
    if type(dispatcher) is not registry.CPUDispatcher or made.pipeline_class is not compiler.Compiler or made.locals:
        raise Unknown
    options = dict(dispatcher.targetoptions)
    if not options.pop("nopython", True) or options.get("forceobj"):
        raise Unknown
    return options


def _declared(dispatcher: Any) -> list[Any]:
    """The argument types of a dispatcher that is compiled for declared types only."""
    if dispatcher._can_compile:
        return []
    signatures = [tuple(signature.args) for signature in dispatcher.nopython_signatures]
    if not signatures or not all(_is_plain_type(kind) for args in signatures for kind in args):
        raise Unknown
    return signatures


def _is_number_type(value: Any) -> bool:
    kinds = sys.modules.get("numba.core.types")
    return kinds is not None and isinstance(value, kinds.Number | kinds.Boolean)


def _is_plain_type(kind: Any) -> bool:
    from numba.core import types as kinds

    inner = kind.dtype if isinstance(kind, kinds.Array | kinds.UniTuple) else kind
    return isinstance(inner, kinds.Number | kinds.Boolean)


def _name_in_library(value: Any) -> str:
    """The name under which a library has an object. Raises Unknown where none has it."""
    if type(value) is types.MethodType:
        raise Unknown
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    for place in (getattr(value, "__module__", None), "numpy", "math", "builtins"):
        module = sys.modules.get(place) if isinstance(place, str) and place.partition(".")[0] in LIBRARIES else None
        if module is not None and isinstance(name, str) and vars(module).get(name) is value:
            return f"{place}.{name}"
    raise Unknown


# Functions behind pointers --------------------------------------------------------------------------------------------

MOST = 256  # C functions that a process keeps
ROOT = Path(__file__).parents[1]
SOURCES = (  # files of this package that make machine code of a user's function
    "core/user_function.py", "core/user_cache.py", "core/c_function.py", "core/status.py", "model/user_functions.py",
)  # fmt: skip
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
    An exception raised by a Python function is stored in `error`, and the status is then RAISED. A compiled function that
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
            self._wrapper = C_TYPE(self._callback(self.adapter.plain(), scalar))
            self.address = int(ctypes.cast(self._wrapper, ctypes.c_void_p).value or 0)

    def _callback(self, function: Callable[..., Any], scalar: bool) -> Callable[..., int]:
        """A Python function as the C function of `c_function`; what it raises is left in `error`."""

        def call(data: int, task: int, t: float, source: int, n: int, target: int, m: int) -> int:
            try:
                result = np.asarray(interrupt.call(function, t, view(source, n).copy()), dtype=np.float64)
                if result.shape != (() if scalar else (m,)):
                    raise ValueError(f"the function returned an array of shape {result.shape} at t = {t!r}, not ({m},)")
                view(target, m)[:] = result
            except BaseException as error:  # noqa: BLE001 - a C callback cannot let an exception pass
                self.error = error
                return RAISED
            return OK

        return call

    def __call__(self, t: float, values: np.ndarray) -> np.ndarray:
        """The numbers that it returns, NaN where it fails: of an adapter whose size is known."""
        arguments = np.ascontiguousarray(values, dtype=np.float64)
        out = np.full(self.adapter.size or 1, np.nan)
        status = C_TYPE(self.address)(
            0, DERIVATIVE, t, arguments.ctypes.data, arguments.size, out.ctypes.data, out.size
        )
        return out if status == OK else np.full(out.size, np.nan)


# Compiled functions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    """A C function. typed : whether Numba found that the user's functions return what they should; only the lengths of
    arrays are not known then."""

    address: int
    typed: bool
    owners: tuple[Any, ...]  # of the machine code


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
        from . import object_cache
        from .user_cache import KernelCache

        folder = f"user_functions-{_made_by()}"
        wrapper._cache = cache = KernelCache(folder, digest, name, typed)
        with contextlib.nullcontext() if cache.exists() else object_cache.alone(folder, digest[:32], name, wait=True):
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
