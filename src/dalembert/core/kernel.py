"""Kernels: compiled functions of arrays and numbers, called from Python.

Annotations declare the arguments of a kernel, so that it can be compiled before it is called, as one C function, and
shipped with the package like any other (see `jit.CFunction`):

    int, float              a number
    array(2), array(1, np.int64), array(1, BODY)
                            an array of so many dimensions, contiguous, and its dtype (float64 if none is given)
    out(2)                  the same, which the kernel writes to
    Collision               a table (see `tables`), or its `address_table`
    Matrix(array(), array(1, np.int32))
                            a NamedTuple of these: a tuple of arrays as such
    -> int, float, None     the result

The C function takes numbers by value, and for each array its address and its lengths.
"""

import ctypes
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .c_function import viewer
from .jit import DISABLED, CFunction, njit
from .tables import AddressTable, address_of, address_table, table_at

# What ctypes makes of arguments; a pointer holds an int64 as well, and is made twice as fast.
C_TYPES: dict[str, Any] = {"int64": ctypes.c_void_p, "float64": ctypes.c_double}
RESULTS: dict[str, Any] = {"int64": ctypes.c_int64, "float64": ctypes.c_double}
# Attributes of record arrays are looked up in Python, unless the class is asked.
_dtype_of, _shape_of, _flags_of = (getattr(np.ndarray, name).__get__ for name in ("dtype", "shape", "flags"))


class _Number:
    def __init__(self, c_type: str, convert: Callable[[Any], Any]) -> None:
        self.c_types, self._convert = [c_type], convert

    def source(self, names: list[str], used: dict[str, Any]) -> str:
        """Python source of the argument, from the C arguments of these names; `used` gets the objects that it names."""
        return names[0]

    def put(self, value: Any, numbers: list[Any], owners: list[Any]) -> None:
        """Append the C arguments for a value to `numbers`, and what has to outlive the call to `owners`."""
        try:
            numbers.append(self._convert(value))
        except (TypeError, ValueError):
            raise TypeError(f"must be a number, not {value!r:.80}") from None


class _Array:
    def __init__(self, dimensions: int, dtype: Any, written: bool) -> None:
        self._dimensions, self._dtype, self._written = dimensions, np.dtype(dtype), written
        self._seen = self._dtype  # the dtype of the last array, which is the same: comparing records takes long
        self.c_types = ["int64"] * (1 + dimensions)

    def source(self, names: list[str], used: dict[str, Any]) -> str:
        view = f"_view_{len(used)}"
        used[view] = viewer(self._dtype, self._dimensions)
        lengths = ", ".join(names[1:])
        return f"{view}({names[0]}, {lengths if self._dimensions == 1 else f'({lengths})'})"

    def put(self, value: Any, numbers: list[Any], owners: list[Any]) -> None:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"must be {self}, not {value!r:.80}")
        dtype, shape, flags = _dtype_of(value), _shape_of(value), _flags_of(value)
        if dtype is not self._seen:
            if dtype != self._dtype:
                raise TypeError(f"must be {self}, not of {dtype}")
            self._seen = dtype
        if len(shape) != self._dimensions:
            raise TypeError(f"must be {self}, not of shape {shape}")
        if not flags.c_contiguous:
            raise ValueError("must be contiguous: pass np.ascontiguousarray of it")
        if self._written and not flags.writeable:
            raise ValueError("is read-only, and is written to")
        numbers.append(address_of(value))
        numbers += shape

    def __str__(self) -> str:
        return f"an array of {self._dtype} with {self._dimensions} dimension(s)"


class _Table:
    def __init__(self, fields: type) -> None:
        self._fields, self.c_types = fields, ["int64"]

    def source(self, names: list[str], used: dict[str, Any]) -> str:
        fields = f"_fields_{len(used)}"
        used |= {fields: self._fields, "_table_at": table_at}
        return f"_table_at({fields}, {names[0]})"

    def put(self, value: Any, numbers: list[Any], owners: list[Any]) -> None:
        if isinstance(value, self._fields):
            value = address_table(value)
            owners.append(value)
        elif not isinstance(value, AddressTable):
            raise TypeError(f"must be a {self._fields.__name__} or its address_table, not {value!r:.80}")
        numbers.append(value.address)


class _Parts:
    def __init__(self, parts: Any) -> None:
        self._type, self._parts = type(parts), [_kind(part) for part in parts]
        self.c_types = [c_type for part in self._parts for c_type in part.c_types]

    def source(self, names: list[str], used: dict[str, Any]) -> str:
        made, parts, left = f"_tuple_{len(used)}", [], iter(names)
        used[made] = self._type
        for part in self._parts:
            parts.append(part.source([next(left) for _ in part.c_types], used))
        return f"{made}({', '.join(parts)})"

    def put(self, value: Any, numbers: list[Any], owners: list[Any]) -> None:
        if not isinstance(value, self._type):
            raise TypeError(f"must be a {self._type.__name__}, not {value!r:.80}")
        for part, own, name in zip(self._parts, value, self._type._fields, strict=True):  # type: ignore[attr-defined]
            try:
                part.put(own, numbers, owners)
            except (TypeError, ValueError) as error:
                raise type(error)(f".{name} {error}") from None


def _kind(annotation: Any) -> Any:
    """How the argument of an annotation is passed."""
    if annotation is int:
        return _Number("int64", operator.index)
    if annotation is float:
        return _Number("float64", float)
    if isinstance(annotation, _Array):
        return annotation
    if isinstance(annotation, tuple):
        return _Parts(annotation)
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        return _Table(annotation)
    raise TypeError(f"a kernel takes int, float, array(...), out(...) or a NamedTuple, not {annotation!r}")


def array(dimensions: int = 1, dtype: Any = np.float64) -> Any:
    """A contiguous array that a kernel reads."""
    return _Array(dimensions, dtype, False)


def out(dimensions: int = 1, dtype: Any = np.float64) -> Any:
    """A contiguous array that a kernel writes to."""
    return _Array(dimensions, dtype, True)


class Kernel(CFunction):
    """A compiled function, to be called with arrays and numbers. Raises TypeError and ValueError for others than it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        hints, code = inspect.get_annotations(function, eval_str=True), function.__code__
        names = code.co_varnames[: code.co_argcount]
        if not {*names, "return"} <= set(hints):
            raise TypeError(f"kernel {function.__qualname__}: annotate every argument, and the result")
        self._arguments = {name: _kind(hints[name]) for name in names}
        self._names = [
            (f"{name}_{k}", c_type) for name, kind in self._arguments.items() for k, c_type in enumerate(kind.c_types)
        ]
        self._result = "float64" if hints["return"] is float else "int64"
        self._returns = hints["return"] is not None
        super().__init__(function, f"{self._result}({', '.join(c_type for _, c_type in self._names)})")

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """The C function in Python: it makes arrays of addresses and lengths, and calls the kernel with them."""
        body: Any = self._function
        used: dict[str, Any] = {"_body": njit(body)}
        left, sources = iter(self._names), []
        for kind in self._arguments.values():
            sources.append(kind.source([next(left)[0] for _ in kind.c_types], used))
        call = f"_body({', '.join(sources)})"
        lines = [f"return {call}"] if self._returns else [call, "return 0"]
        source = "\n    ".join([f"def {body.__name__}({', '.join(name for name, _ in self._names)}):", *lines])
        exec(source, used)
        made: Any = used[body.__name__]
        code = body.__code__
        made.__code__ = made.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
        made.__module__, made.__qualname__ = body.__module__, body.__qualname__
        return made  # type: ignore[no-any-return]

    @functools.cached_property
    def _call(self) -> Any:
        prototype = ctypes.CFUNCTYPE(RESULTS[self._result], *(C_TYPES[c_type] for _, c_type in self._names))
        return prototype(self.address)

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self._arguments):
            raise TypeError(f"{self.name} takes {len(self._arguments)} arguments, not {len(values)}")
        numbers: list[Any] = []
        owners: list[Any] = []
        try:
            for (name, kind), value in zip(self._arguments.items(), values, strict=True):  # noqa: B007 - in the message
                kind.put(value, numbers, owners)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name}: {name} {error}") from None
        result = self._call(*numbers)
        return result if self._returns else None


def kernel(function: Callable[..., Any]) -> Any:
    """Make a kernel of a function; without compilation it stays as it is."""
    return function if DISABLED else Kernel(function)
