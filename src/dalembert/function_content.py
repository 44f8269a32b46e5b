"""What a compiled function of the user's is made of, so that the same function is compiled once.

Numba takes over the globals and the closed-over values of a function when it compiles it, and does not look at them again. So
two functions give the same machine code if their bytecode, their compiler options, and all values that they read are equal;
so must be those of the functions that they call. `content_of` reads all of that into a digest. Of a value that cannot be
compared safely (a mutable object, a plain function that Numba would look up in its registries, an array whose memory is
read while it runs) there is no digest, and the function is compiled anew.

`Content.frozen` is a copy of the function over copies of these values. It is compiled in place of the user's, whose machine
code may have been made when a global had another value.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import struct
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .jit import is_dispatcher

LIBRARIES = ("builtins", "math", "cmath", "operator", "numpy", "numba")  # whose objects are told by their names
LARGEST = 10**6  # bytes; Numba reads larger arrays where they are, instead of taking them over
PORTABLE = 2 * 10**6  # bytes of values; functions of more are not kept on disk
Recipe = Callable[[], Any]


class Unknown(Exception):
    """A value cannot be compared."""


@dataclass(frozen=True)
class Content:
    """digest : equal for functions of equal machine code, in other processes too. portable : whether it may be kept on disk.
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
    read, asked = set(), set(code.co_names)
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_read, inner_asked = _names(constant)
            read |= set(inner_read)
            asked |= inner_asked
        elif isinstance(constant, str):
            asked.add(constant)
    return tuple(sorted(read)), frozenset(asked)


class _Reader:
    """Puts values into a hash, each with its type and length, and remembers how to copy them."""

    def __init__(self) -> None:
        self.hash, self.size, self.portable, self.digest = hashlib.sha256(), 0, True, ""
        self._seen: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that no id is given twice
        self._built: dict[Any, Any] = {}

    def _feed(self, kind: str, data: bytes | str = b"") -> None:
        data = data.encode() if isinstance(data, str) else data
        self.hash.update(f"{kind}:{len(data)}:".encode() + data)
        self.size += len(data)

    def value(self, value: Any, asked: frozenset[str]) -> Recipe:
        """Read a value; asked : the attributes that may be taken of it, where it is a module. Raises Unknown."""
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
            return self._tuple(value, asked)
        elif kind in (set, frozenset):  # of options
            self._feed(kind.__name__, repr(sorted(map(repr, value))))
            self._require_plain(value)
        elif kind is np.ndarray:
            return self._array(value)
        elif isinstance(value, types.ModuleType):
            return self._module(value, asked)
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

    def _tuple(self, value: tuple[Any, ...], asked: frozenset[str]) -> Recipe:
        kind = type(value)
        fields = getattr(kind, "_fields", None)
        if kind is not tuple and (fields is None or kind.__bases__ != (tuple,)):
            raise Unknown
        self._feed("tuple", f"{len(value)} {'' if fields is None else (kind.__name__, fields)}")
        items = [self.value(item, asked) for item in value]
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

    def _module(self, module: types.ModuleType, asked: frozenset[str]) -> Recipe:
        if self._again(("module", id(module), asked), module):
            return functools.partial(self._built.__getitem__, ("module", id(module), asked))
        library = module.__name__.partition(".")[0] in LIBRARIES
        if not library and "__getattr__" in vars(module):
            raise Unknown
        names = sorted(asked & vars(module).keys())
        self._feed("module", f"{module.__name__ if library else ''} {names}")
        if library:
            if "objmode" in names:  # Python in the middle, which reads its globals when it runs
                raise Unknown
            for name in names:
                self._of_library(getattr(module, name), asked)
            copy = module
            self._built[("module", id(module), asked)] = module
            return lambda: module
        copy = types.ModuleType(module.__name__)
        self._built[("module", id(module), asked)] = copy
        items = {name: self.value(getattr(module, name), asked) for name in names}

        def build() -> types.ModuleType:
            for name, item in items.items():
                setattr(copy, name, item())
            return copy

        return build

    def _of_library(self, value: Any, asked: frozenset[str]) -> None:
        """Raises Unknown for something foreign that was put into a library's module; numbers may have been changed there."""
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in LIBRARIES:
                raise Unknown
            self._module(value, asked)
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
        self._kept.append(value)
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
        read, asked = _names(code)
        defaults = self.value(function.__defaults__, asked)
        named = function.__kwdefaults__ or {}
        keywords = {name: self._named(name, named[name], asked) for name in sorted(named)}
        cells = [self._cell(cell, asked) for cell in function.__closure__ or ()]
        found = {}
        for name in read:
            if name in function.__globals__:
                found[name] = self._named(name, function.__globals__[name], asked)
            elif hasattr(builtins, name):
                self._feed("builtin", name)
            else:
                self._feed("missing", name)
        return functools.partial(self._build, dispatcher, options, declared, defaults, keywords, cells, found)

    def _named(self, name: str, value: Any, asked: frozenset[str]) -> Recipe:
        self._feed("name", name)
        return self.value(value, asked)

    def _cell(self, cell: Any, asked: frozenset[str]) -> Recipe:
        try:
            value = cell.cell_contents
        except ValueError:
            raise Unknown from None
        return self.value(value, asked)

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
