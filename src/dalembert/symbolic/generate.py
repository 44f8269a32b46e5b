"""Generated code: a graph as Python source of scalar statements, compiled by Numba and kept on disk between processes.

The source holds no names of the user's, only numbers and names made here. Machine code is kept under a hash of it, like that
of every kernel (see `jit`).
"""

from __future__ import annotations

import ctypes
import hashlib
import linecache
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..jit import DISABLED, CFunction
from ..pointer import C_SIGNATURE, C_TYPE, view
from .graph import Node, needed

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARED = {"less": "<", "at most": "<="}
NAME = "statements"


def source_of(outputs: Sequence[Node], inputs: Sequence[str]) -> str:
    """Python source of a function as in `pointer`: `inputs` are the names of the numbers that it is given, in order.

    Outputs that are 0 are left out: the caller's array must hold 0 there.
    """
    nodes = needed(outputs)
    used = {node.op for node in nodes if not node.arguments}
    lines = ["import math", "", "", f"def {NAME}(data, task, t, values, n, out, m):"]
    lines += [f"    {name} = values[{k}]" for k, name in enumerate(inputs) if name in used]
    lines += [f"    w{node.index} = {_statement(node)}" for node in nodes if node.arguments]
    lines += [f"    out[{k}] = {_name(node)}" for k, node in enumerate(outputs) if not node.is_number(0.0)]
    return "\n".join([*lines, "    return 0", ""])


def _name(node: Node) -> str:
    if node.op == "number":
        return repr(node.value) if node.value >= 0.0 else f"({node.value!r})"
    return f"w{node.index}" if node.arguments else node.op


def _statement(node: Node) -> str:
    names = [_name(argument) for argument in node.arguments]
    if node.op in _INFIX:
        return f"{names[0]} {_INFIX[node.op]} {names[1]}"
    if node.op == "negate":
        return f"-{names[0]}"
    if node.op in _COMPARED:
        return f"{names[2]} if {names[0]} {_COMPARED[node.op]} {names[1]} else {names[3]}"
    return f"math.{node.op}({', '.join(names)})"


class Generated:
    """A generated function behind a C pointer: `address`. Keep it alive while that is in use.

    outputs, inputs : see `source_of`. size : how many numbers it writes; statements : how many it computes.
    """

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[str]) -> None:
        self.source = source_of(outputs, inputs)
        self.size, self.statements = len(outputs), self.source.count("\n    w")
        self._function = _load(self.source)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self._compiled = CFunction(self._function, C_SIGNATURE, self.source)
            self.address = self._compiled.address

    def _call(self, data: int, task: int, t: float, values: int, n: int, out: int, m: int) -> int:
        target = view(out, m)
        try:
            return int(self._function(data, task, t, view(values, n), n, target, m))
        except (ArithmeticError, ValueError):  # compiled code gives infinity or NaN there
            target[:] = np.nan
            return 0

    def __call__(self, t: float, values: np.ndarray) -> np.ndarray:
        """What it computes of a contiguous array of its inputs."""
        out = np.zeros(self.size)
        C_TYPE(self.address)(0, 0, t, values.ctypes.data, values.size, out.ctypes.data, out.size)
        return out


def _load(source: str) -> Callable[..., int]:
    """The function of generated source."""
    name = f"generated_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    module = sys.modules.get(name)
    if module is None:
        module = types.ModuleType(name)
        file = f"<{name}>"
        exec(compile(source, file, "exec"), module.__dict__)
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # for tracebacks
        sys.modules[name] = module
    function: Any = getattr(module, NAME)
    return function  # type: ignore[no-any-return]
