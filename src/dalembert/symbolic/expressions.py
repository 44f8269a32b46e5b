"""Expressions as a graph, in which every subexpression occurs once, so that derivatives of long chains stay short; then
derivatives, the conversion of SymPy expressions, the variables of a system, generated code, and constraints.

A node is the result of one statement of the generated code. Equal nodes are the same object, so equal subexpressions
are computed once. Constants are folded. The only other simplifications are those of 0, 1 and −1, frequent in
derivatives, and cos² + sin², frequent in rotation matrices.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import linecache
import math
import numbers
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ..core.c_function import C_SIGNATURE, C_TYPE, view
from ..core.jit import DISABLED, CFunction

Number = Union["Node", float, int]


class Node:
    """A subexpression. op : "number", the name of an input, an operation, or the name of a function."""

    __slots__ = ("arguments", "graph", "index", "op", "value")

    def __init__(self, graph: Graph, index: int, op: str, arguments: tuple[Node, ...], value: float) -> None:
        self.graph, self.index, self.op, self.arguments, self.value = graph, index, op, arguments, value

    def __add__(self, other: Number) -> Node:
        return self.graph.add(self, self.graph.node(other))

    def __sub__(self, other: Number) -> Node:
        return self.graph.subtract(self, self.graph.node(other))

    def __mul__(self, other: Number) -> Node:
        return self.graph.multiply(self, self.graph.node(other))

    def __truediv__(self, other: Number) -> Node:
        return self.graph.divide(self, self.graph.node(other))

    def __radd__(self, other: float) -> Node:
        return self.graph.node(other) + self

    def __rsub__(self, other: float) -> Node:
        return self.graph.node(other) - self

    def __rmul__(self, other: float) -> Node:
        return self.graph.node(other) * self

    def __rtruediv__(self, other: float) -> Node:
        return self.graph.node(other) / self

    def __neg__(self) -> Node:
        return self.graph.negate(self)

    def is_number(self, value: float | None = None) -> bool:
        """Whether this is a constant; this one, if a value is given."""
        return self.op == "number" and (value is None or self.value == value)


class Graph:
    """All nodes, in an order in which they can be computed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Node] = {}

    def node(self, value: Number) -> Node:
        """The constant, or the node itself."""
        return value if isinstance(value, Node) else self._make("number", (), float(value))

    def input(self, name: str) -> Node:
        """A variable of the generated function: its name there."""
        return self._known.get(("input", name)) or self._new(("input", name), name, (), math.nan)

    def _make(self, op: str, arguments: tuple[Node, ...], value: float = math.nan) -> Node:
        """The node of an operation, which exists once."""
        # −0.0 equals 0.0, and takes its place
        key = (op, value) if op == "number" else (op, *(node.index for node in arguments))
        return self._known.get(key) or self._new(key, op, arguments, value)

    def _new(self, key: tuple[object, ...], op: str, arguments: tuple[Node, ...], value: float) -> Node:
        """Add a node."""
        node = Node(self, len(self.nodes), op, arguments, value)
        self.nodes.append(node)
        self._known[key] = node
        return node

    def _folded(self, function: Callable[..., float], *arguments: Node) -> Node | None:
        """The constant that a function of constants is, unless it is not finite."""
        if not all(node.op == "number" for node in arguments):
            return None
        try:
            value = function(*(node.value for node in arguments))
        except (ArithmeticError, ValueError):
            return None
        return self.node(value) if math.isfinite(value) else None

    def add(self, a: Node, b: Node) -> Node:
        """a + b."""
        if a.index > b.index:
            a, b = b, a
        if a.is_number(0.0):
            return b
        if b.is_number(0.0):
            return a
        if b.op == "negate":
            return self.subtract(a, b.arguments[0])
        if a.op == "negate":
            return self.subtract(b, a.arguments[0])
        if a is b:
            return self.multiply(self.node(2.0), a)
        if _squares_of_circle(a, b):
            return self.node(1.0)
        return self._folded(lambda x, y: x + y, a, b) or self._make("add", (a, b))

    def subtract(self, a: Node, b: Node) -> Node:
        """a − b."""
        if b.is_number(0.0):
            return a
        if a.is_number(0.0):
            return self.negate(b)
        if b.op == "negate":
            return self.add(a, b.arguments[0])
        if a is b:
            return self.node(0.0)
        return self._folded(lambda x, y: x - y, a, b) or self._make("subtract", (a, b))

    def multiply(self, a: Node, b: Node) -> Node:
        """a b."""
        if a.index > b.index:
            a, b = b, a
        for one, other in ((a, b), (b, a)):
            if one.is_number(0.0):
                return self.node(0.0)
            if one.is_number(1.0):
                return other
            if one.is_number(-1.0):
                return self.negate(other)
            if one.op == "negate":
                return self.negate(self.multiply(one.arguments[0], other))
        return self._folded(lambda x, y: x * y, a, b) or self._make("multiply", (a, b))

    def divide(self, a: Node, b: Node) -> Node:
        """a / b."""
        if a.is_number(0.0):
            return a
        if b.is_number(1.0):
            return a
        if a.op == "negate":
            return self.negate(self.divide(a.arguments[0], b))
        return self._folded(lambda x, y: x / y, a, b) or self._make("divide", (a, b))

    def negate(self, a: Node) -> Node:
        """−a."""
        if a.op == "negate":
            return a.arguments[0]
        if a.op == "subtract":
            return self.subtract(a.arguments[1], a.arguments[0])
        return self._folded(lambda x: -x, a) or self._make("negate", (a,))

    def call(self, name: str, *arguments: Node) -> Node:
        """A function of `elementary`, or sqrt."""
        return self._folded(functools.partial(_rounded, name), *arguments) or self._make(name, arguments)

    def power(self, a: Node, exponent: int) -> Node:
        """aⁿ by squaring, n ≥ 1."""
        if exponent == 1:
            return a
        half = self.power(a, exponent // 2)
        return half * half * a if exponent % 2 else half * half

    def select(self, a: Node, b: Node, strict: bool, yes: Node, no: Node) -> Node:
        """`yes` where a < b (a ≤ b unless `strict`), else `no`."""
        if a.op == b.op == "number":
            return yes if a.value < b.value or (a.value == b.value and not strict) else no
        if yes is no:
            return yes
        return self._make("less" if strict else "at most", (a, b, yes, no))


def _rounded(name: str, *values: float) -> float:
    """A function of numbers, correctly rounded: on every machine the same, which the functions of `math` are not."""
    import mpmath

    if name == "sqrt":
        return math.sqrt(values[0])
    with mpmath.workprec(200):
        result = getattr(mpmath, "power" if name == "pow" else name)(*map(mpmath.mpf, values))
    if not isinstance(result, mpmath.mpf):
        raise ValueError(f"{name} of {values} is not a real number")
    return float(result)


def _squares_of_circle(a: Node, b: Node) -> bool:
    """Whether these are cos² and sin² of one thing."""
    if a.op != "multiply" or b.op != "multiply":
        return False
    (x, x_), (y, y_) = a.arguments, b.arguments
    return x is x_ and y is y_ and {x.op, y.op} == {"sin", "cos"} and x.arguments == y.arguments


def needed(outputs: Iterable[Node]) -> list[Node]:
    """All nodes that the outputs are made of, in the order of computation."""
    found: set[Node] = set()
    left = list(outputs)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(node.arguments)
    return sorted(found, key=lambda node: node.index)


def dot_nodes(a: Sequence[Node], b: Sequence[Node]) -> Node:
    """Σ a b."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


# Derivatives of graphs of expressions, forward and in reverse, with one table of rules ---------------------------------
#
# Forward: the derivative of each node follows from those of its arguments, d = Σ ∂node/∂argument · d(argument), so that the
# derivatives of all outputs in one direction cost a few statements for each node, however deep the expressions are nested.
# In reverse, the gradient of one output with respect to everything costs as much. A. Griewank, A. Walther, Evaluating
# Derivatives, 2008, ch. 3.


def _call(name: str, *arguments: Node) -> Node:
    return arguments[0].graph.call(name, *arguments)


def _selected(node: Node) -> tuple[Node, ...]:
    """Partial derivatives of `Graph.select`."""
    a, b, _, _ = node.arguments
    graph, strict = node.graph, node.op == "less"
    one, zero = graph.node(1.0), graph.node(0.0)
    return zero, zero, graph.select(a, b, strict, one, zero), graph.select(a, b, strict, zero, one)


def _angle(node: Node) -> tuple[Node, Node]:
    """Partial derivatives of atan2(y, x)."""
    y, x = node.arguments
    square = x * x + y * y
    return x / square, -y / square


def _power(node: Node) -> tuple[Node, Node]:
    """Partial derivatives of pow."""
    base, exponent = node.arguments
    return exponent * _call("pow", base, exponent - 1.0), _call("log", base) * node


_OF_ONE: dict[str, Callable[[Node, Node], Node]] = {  # f′ from f(x) and x
    "negate": lambda f, x: x.graph.node(-1.0),
    "sqrt": lambda f, x: 0.5 / f,
    "exp": lambda f, x: f,
    "log": lambda f, x: 1.0 / x,
    "sin": lambda f, x: _call("cos", x),
    "cos": lambda f, x: -_call("sin", x),
    "tan": lambda f, x: 1.0 + f * f,
    "asin": lambda f, x: 1.0 / _call("sqrt", 1.0 - x * x),
    "acos": lambda f, x: -1.0 / _call("sqrt", 1.0 - x * x),
    "atan": lambda f, x: 1.0 / (1.0 + x * x),
    "sinh": lambda f, x: _call("cosh", x),
    "cosh": lambda f, x: _call("sinh", x),
    "tanh": lambda f, x: 1.0 - f * f,
    "asinh": lambda f, x: 1.0 / _call("sqrt", x * x + 1.0),
    "acosh": lambda f, x: 1.0 / (_call("sqrt", x - 1.0) * _call("sqrt", x + 1.0)),
    "atanh": lambda f, x: 1.0 / (1.0 - x * x),
}
_OF_MORE: dict[str, Callable[[Node], tuple[Node, ...]]] = {
    "add": lambda f: (f.graph.node(1.0), f.graph.node(1.0)),
    "subtract": lambda f: (f.graph.node(1.0), f.graph.node(-1.0)),
    "multiply": lambda f: (f.arguments[1], f.arguments[0]),
    "divide": lambda f: (1.0 / f.arguments[1], -f / f.arguments[1]),
    "pow": _power,
    "atan2": _angle,
    "less": _selected,
    "at most": _selected,
}
FUNCTIONS = frozenset(_OF_ONE) - {"negate"}  # of one argument, with a derivative


def partials(node: Node) -> tuple[Node, ...]:
    """∂node/∂argument, for each argument."""
    if len(node.arguments) == 1:
        return (_OF_ONE[node.op](node, node.arguments[0]),)
    return _OF_MORE[node.op](node)


def derivatives(outputs: Sequence[Node], direction: Mapping[Node, Node]) -> list[Node]:
    """The derivatives of the outputs where the inputs change at the rates `direction`."""
    rate = dict(direction)
    for node in needed(outputs):
        if node in direction or not any(argument in rate for argument in node.arguments):
            continue
        total = None
        for argument, partial in zip(node.arguments, partials(node), strict=True):
            if argument in rate:
                term = partial * rate[argument]
                total = term if total is None else total + term
        if total is not None and not total.is_number(0.0):
            rate[node] = total
    zero = outputs[0].graph.node(0.0) if outputs else None
    return [rate.get(output, zero) for output in outputs]  # type: ignore[misc]


def gradient(output: Node, inputs: Sequence[Node]) -> list[Node]:
    """∂output/∂input for each of the inputs."""
    nodes = needed([output])
    depends = set(inputs)
    for node in nodes:
        if any(argument in depends for argument in node.arguments):
            depends.add(node)
    share = {output: output.graph.node(1.0)}
    for node in reversed(nodes):
        if node not in share or node not in depends or not node.arguments:
            continue
        for argument, partial in zip(node.arguments, partials(node), strict=True):
            if argument in depends:
                term = partial * share[node]
                share[argument] = share[argument] + term if argument in share else term
    zero = output.graph.node(0.0)
    return [share.get(node, zero) for node in inputs]


# From SymPy expressions to graphs. Expressions only: a string is never turned into one ---------------------------------


_RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan"}
LARGEST_POWER = 64  # that is written out as products


def as_expression(what: str, value: Any) -> Any:
    """A SymPy expression, from one or from a number. Raises TypeError for anything else, strings included."""
    import sympy

    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return sympy.Integer(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return sympy.Float(float(value))
    raise TypeError(f"{what} is {value!r}; give a SymPy expression or a number")


class Reader:
    """Turns expressions into nodes of one graph.

    known : the node of each symbol (coordinates, their rates, time, parameters).
    """

    def __init__(self, graph: Graph, known: Mapping[Any, Node]) -> None:
        self.graph = graph
        self._nodes = dict(known)

    def __call__(self, what: str, value: Any) -> Node:
        """The node of an expression. Raises TypeError or ValueError that begin with `what`."""
        try:
            return self._read(as_expression(what, value))
        except _NotReadable as error:
            raise ValueError(f"{what}: {error}") from None

    def _read(self, expression: Any) -> Node:
        """The node of an expression, which is converted once."""
        found = self._nodes.get(expression)
        if found is None:
            found = self._make(expression)
            self._nodes[expression] = found
        return found

    def _make(self, e: Any) -> Node:
        """Convert an expression by its kind."""
        import sympy

        if e.is_number:
            return self._number(e)
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        if isinstance(e, sympy.Piecewise):
            return self._piecewise(e.args)
        if isinstance(e, (sympy.core.function.AppliedUndef, sympy.Derivative)):
            raise _NotReadable(
                f"{e} is neither a coordinate, nor the rate of one, nor a parameter; accelerations are not allowed"
            )
        if e.is_Function:
            return self._function(type(e).__name__, [self._read(argument) for argument in e.args], e)
        if e.is_Symbol:
            raise _NotReadable(f"the symbol {e} is unknown; give its value in `parameters`")
        raise _NotReadable(f"{type(e).__name__} cannot be compiled: {e}")

    def _number(self, e: Any) -> Node:
        try:
            value = float(e)
        except TypeError:
            raise _NotReadable(f"{e} is not a real number") from None
        if not math.isfinite(value):
            raise _NotReadable(f"{e} is not a finite number")
        return self.graph.node(value)

    def _sum(self, e: Any) -> Node:
        total = self.graph.node(0.0)
        for argument in e.args:
            total = total + self._read(argument)
        return total

    def _product(self, e: Any) -> Node:
        """One division, by the product of all that has a negative exponent."""
        above, below = self.graph.node(1.0), self.graph.node(1.0)
        for argument in e.args:
            if argument.is_Pow and argument.exp.is_number and argument.exp.is_negative:
                below = below * self._power(argument.base, -argument.exp)
            elif argument.is_Rational and not argument.is_Integer:
                above, below = above * float(argument.p), below * float(argument.q)
            else:
                above = above * self._read(argument)
        return above / below

    def _power(self, base: Any, exponent: Any) -> Node:
        if exponent.is_number and exponent.is_negative:
            return 1.0 / self._power(base, -exponent)
        node = self._read(base)
        if exponent.is_Integer and exponent <= LARGEST_POWER:
            return self.graph.power(node, int(exponent))
        if exponent.is_Rational and exponent.q == 2 and exponent.p <= LARGEST_POWER:
            return self.graph.power(self.graph.call("sqrt", node), int(exponent.p))
        return self.graph.call("pow", node, self._read(exponent))

    def _function(self, name: str, arguments: list[Node], e: Any) -> Node:
        call, zero = self.graph.call, self.graph.node(0.0)
        if name in FUNCTIONS and len(arguments) == 1:
            return call(name, *arguments)
        if name == "atan2":
            return call(name, *arguments)
        if name in _RECIPROCALS:
            return 1.0 / call(_RECIPROCALS[name], *arguments)
        a = arguments[0]
        if name == "Abs":
            return self.graph.select(a, zero, True, -a, a)
        if name in ("sign", "Heaviside"):
            below, at = (-1.0, 0.0) if name == "sign" else (0.0, 0.5 if len(e.args) == 1 else arguments[1])
            above = self.graph.select(zero, a, True, self.graph.node(1.0), self.graph.node(at))
            return self.graph.select(a, zero, True, self.graph.node(below), above)
        if name in ("Min", "Max"):
            best = a
            for other in arguments[1:]:
                low, high = (best, other) if name == "Min" else (other, best)
                best = self.graph.select(low, high, True, best, other)
            return best
        raise _NotReadable(
            f"the function {name} cannot be compiled; supported functions are {', '.join(sorted(FUNCTIONS))}"
        )

    def _piecewise(self, cases: Any) -> Node:
        expression, condition = cases[0].args
        value = self._read(expression)
        if condition == True:  # noqa: E712 - SymPy's own
            return value
        if len(cases) == 1:
            raise _NotReadable("a Piecewise needs a last case with the condition True")
        return self._choose(condition, value, self._piecewise(cases[1:]))

    def _choose(self, condition: Any, yes: Node, no: Node) -> Node:
        import sympy

        if isinstance(condition, sympy.And):
            for part in condition.args:
                yes = self._choose(part, yes, no)
            return yes
        if isinstance(condition, sympy.Or):
            for part in condition.args:
                no = self._choose(part, yes, no)
            return no
        strict = isinstance(condition, (sympy.StrictLessThan, sympy.StrictGreaterThan))
        if not strict and not isinstance(condition, (sympy.LessThan, sympy.GreaterThan)):
            raise _NotReadable(f"the condition {condition} cannot be compiled; compare with <, <=, > or >=")
        return self.graph.select(self._read(condition.lts), self._read(condition.gts), strict, yes, no)


class _NotReadable(Exception):
    """What cannot be compiled, and why."""


# The variables of a system ---------------------------------------------------------------------------------------------
#
# Coordinates, their rates, time and parameters, as SymPy writes them and as inputs of a
# graph.


class Variables:
    """Coordinates u, rates v, time t and parameters of one system.

    coordinates : SymPy symbols, or functions of time (``Function("q")(t)``, ``dynamicsymbols("q")``).
    velocities : symbols of the rates; of functions of time they are the derivatives, if not given.
    parameters : their values. They are inputs of the generated code, so that other values compile nothing anew.

    Raises TypeError or ValueError, naming what is wrong.
    """

    def __init__(
        self, coordinates: Sequence[Any], time: Any, velocities: Sequence[Any] | None, parameters: Mapping[Any, float] | None
    ) -> None:  # fmt: skip
        self.coordinates = list(coordinates)
        if not self.coordinates:
            raise ValueError("coordinates: give at least one")
        self.names = [_name(symbol) for symbol in self.coordinates]
        self.time = _time(self.coordinates, time)
        self.velocities = _velocities(self.coordinates, self.time, velocities)
        self.parameters = {symbol: _value(symbol, value) for symbol, value in (parameters or {}).items()}
        symbols = [*self.coordinates, *self.velocities, *self.parameters, *filter(None, [self.time])]
        double = next((symbol for k, symbol in enumerate(symbols) if symbol in symbols[:k]), None)
        if double is not None:
            raise ValueError(f"{double} is given twice, in coordinates, velocities, parameters and time")
        n = len(self.coordinates)
        self.inputs = [f"{letter}{k}" for letter in "uv" for k in range(n)]
        self.inputs += [f"p{k}" for k in range(len(self.parameters))]
        self.graph = Graph()
        nodes = [self.graph.input(name) for name in [*self.inputs, "t"]]
        self.u, self.v, self.t = nodes[:n], nodes[n : 2 * n], nodes[-1]
        self._known = dict(
            zip(symbols, nodes, strict=False)
        )  # without a symbol of time its node is the last, and not read
        self.read = Reader(self.graph, self._known)

    def reader_at_rest(self) -> Reader:
        """What reads expressions with all rates 0."""
        return Reader(self.graph, {**self._known, **dict.fromkeys(self.velocities, self.graph.node(0.0))})

    @property
    def motion(self) -> dict[Node, Node]:
        """How u and t change: the direction of total derivatives by time at constant rates."""
        return {**dict(zip(self.u, self.v, strict=True)), self.t: self.graph.node(1.0)}

    def numbers(self, what: str, values: Any) -> np.ndarray:
        """(n,) numbers: an array, a mapping from coordinates (those left out are 0), or None for zeros. Raises ValueError."""
        n = len(self.coordinates)
        if values is None:
            return np.zeros(n)
        if isinstance(values, Mapping):
            unknown = next((symbol for symbol in values if symbol not in self.coordinates), None)
            if unknown is not None:
                raise ValueError(f"{what}: {unknown} is not a coordinate; those are {', '.join(self.names)}")
            values = [values.get(symbol, 0.0) for symbol in self.coordinates]
        array = np.array(values, dtype=np.float64)
        if array.shape != (n,) or not np.all(np.isfinite(array)):
            raise ValueError(f"{what}: give {n} finite numbers, of {', '.join(self.names)}, not {values!r}")
        return array


def _name(symbol: Any) -> str:
    import sympy
    from sympy.core.function import AppliedUndef

    if isinstance(symbol, sympy.Symbol):
        return str(symbol.name)
    if isinstance(symbol, AppliedUndef):
        return str(symbol.func.__name__)
    raise TypeError(f"coordinate {symbol!r}: give a SymPy symbol, or a function of time")


def _time(coordinates: list[Any], time: Any) -> Any:
    """The symbol of time: as given, or what the coordinates are functions of."""
    import sympy

    arguments = {argument for symbol in coordinates for argument in symbol.args}
    if time is None and len(arguments) == 1:
        time = arguments.pop()
    if time is not None and not isinstance(time, sympy.Symbol):
        raise TypeError(f"time is {time!r}; give the SymPy symbol of time")
    wrong = next((symbol for symbol in coordinates if symbol.args and symbol.args != (time,)), None)
    if wrong is not None:
        raise ValueError(f"coordinate {wrong} is not a function of time, {time}")
    return time


def _velocities(coordinates: list[Any], time: Any, velocities: Sequence[Any] | None) -> list[Any]:
    import sympy

    if velocities is not None:
        given = list(velocities)
        if len(given) != len(coordinates):
            raise ValueError(f"{len(given)} velocities for {len(coordinates)} coordinates; give one for each")
        wrong = next((v for v in given if not isinstance(v, (sympy.Symbol, sympy.Derivative, sympy.Function))), None)
        if wrong is not None:
            raise TypeError(f"velocity {wrong!r}: give a SymPy symbol")
        return given
    return [q.diff(time) if q.args else sympy.Dummy(f"rate of {q}") for q in coordinates]


def _value(symbol: Any, value: Any) -> float:
    import sympy

    if not isinstance(symbol, sympy.Symbol):
        raise TypeError(f"parameter {symbol!r}: give a SymPy symbol")
    try:
        number = float(value)
    except TypeError:
        number = math.nan
    if isinstance(value, str) or not math.isfinite(number):
        raise ValueError(f"parameter {symbol} is {value!r}; give a finite number")
    return number


# Generated code --------------------------------------------------------------------------------------------------------
#
# A graph as Python source of scalar statements, compiled by Numba and cached on disk.
#
# The source contains no names of the user's, only numbers and generated names. Machine code is cached under a hash of it,
# like that of every kernel (see `jit`).


_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARED = {"less": "<", "at most": "<="}
NAME = "statements"


def source_of(outputs: Sequence[Node], inputs: Sequence[str]) -> str:
    """Python source of a function as in `pointer`: `inputs` are the names of the numbers that it is given, in order.

    Outputs that are 0 are left out: the caller's array must hold 0 there.
    """
    nodes = needed(outputs)
    used = {node.op for node in nodes if not node.arguments}
    lines = ["import math", "", "from dalembert.core import elementary as functions", "", ""]
    lines += [f"def {NAME}(data, task, t, values, n, out, m):"]
    lines += [f"    {name} = values[{k}]" for k, name in enumerate(inputs) if name in used]
    lines += [f"    {statement}" for statement in _statements(nodes)]
    lines += [f"    out[{k}] = {_name_of(node)}" for k, node in enumerate(outputs) if not node.is_number(0.0)]
    return "\n".join([*lines, "    return 0", ""])


def _name_of(node: Node) -> str:
    if node.op == "number":
        return repr(node.value) if node.value >= 0.0 else f"({node.value!r})"
    return f"w{node.index}" if node.arguments else node.op


def _statements(nodes: Sequence[Node]) -> Iterator[str]:
    """One for each node that is computed; the sine and the cosine of an angle are computed together."""
    circular: dict[tuple[Node, ...], list[Node]] = {}
    for node in nodes:
        if node.op in ("sin", "cos"):
            circular.setdefault(node.arguments, []).append(node)
    for node in nodes:
        both = circular.get(node.arguments, [])
        if len(both) < 2 or node not in both:
            if node.arguments:
                yield f"{_name_of(node)} = {_value_of(node)}"
        elif node is both[0]:
            sine, cosine = sorted(both, key=lambda node: node.op, reverse=True)
            yield f"{_name_of(sine)}, {_name_of(cosine)} = functions.sin_cos({_name_of(node.arguments[0])})"


def _value_of(node: Node) -> str:
    names = [_name_of(argument) for argument in node.arguments]
    if node.op in _INFIX:
        return f"{names[0]} {_INFIX[node.op]} {names[1]}"
    if node.op == "negate":
        return f"-{names[0]}"
    if node.op in _COMPARED:
        return f"{names[2]} if {names[0]} {_COMPARED[node.op]} {names[1]} else {names[3]}"
    module = "math" if node.op == "sqrt" else "functions"
    return f"{module}.{node.op}({', '.join(names)})"


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
            self.address = _compiled(self.source).address

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


@functools.cache
def _compiled(source: str) -> CFunction:
    """The C function of generated source, which is compiled, or loaded, once."""
    return CFunction(_load(source), C_SIGNATURE, source)


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


# Constraints among coordinates -----------------------------------------------------------------------------------------
#
# g(u, t) = 0, and A(u, t) v + a(u, t) = 0, with what the equations of motion need of
# them.
#
# Every constraint gives a row G v + a = 0 and, differentiated once more, G v̇ + γ = 0: for holonomic ones G = ∂g/∂u and a =
# ∂g/∂t.


class Constraints:
    """Nodes of the gaps g, the rows G, the drifts a and the biases γ = Ġ v + ȧ. Raises ValueError or TypeError."""

    def __init__(self, variables: Variables, holonomic: Sequence[Any], nonholonomic: Sequence[Any]) -> None:
        self.holonomic, self.rows = len(holonomic), len(holonomic) + len(nonholonomic)
        read, graph = variables.read, variables.graph
        one = graph.node(1.0)
        self.gaps = [read(f"constraint {k}", value) for k, value in enumerate(holonomic)]
        moving = [read(f"nonholonomic constraint {k}", value) for k, value in enumerate(nonholonomic)]
        for k, gap in enumerate(self.gaps):
            if set(variables.v) & set(needed([gap])):
                raise ValueError(f"constraint {k} contains rates: give it as a nonholonomic constraint")
        columns = [
            derivatives(self.gaps, {u: one}) + derivatives(moving, {v: one})
            for u, v in zip(variables.u, variables.v, strict=True)
        ]
        self.gradients = [[column[r] for column in columns] for r in range(self.rows)]
        for k, row in enumerate(self.gradients[self.holonomic :]):
            if set(variables.v) & set(needed(row)):
                raise ValueError(f"nonholonomic constraint {k} is not linear in the rates")
        at_rest = variables.reader_at_rest()
        self.drifts = derivatives(self.gaps, {variables.t: one})
        self.drifts += [at_rest(f"nonholonomic constraint {k}", value) for k, value in enumerate(nonholonomic)]
        rates = [
            sum((g * v for g, v in zip(row, variables.v, strict=True)), start=drift)
            for row, drift in zip(self.gradients, self.drifts, strict=True)
        ]
        self.biases = derivatives(rates, variables.motion)

    def nodes(self) -> list[Node]:
        """In the order of `constrained.layout`."""
        return [*self.gaps, *(node for row in self.gradients for node in row), *self.drifts, *self.biases]
