"""Expressions as a graph: every subexpression once, so that derivatives of long chains stay short.

A node is what one statement of the generated code computes. Equal nodes are the same object: what is written down twice is
computed once. Constants are folded, and nothing else is simplified, but for what derivatives are full of (0, 1, −1) and
cos² + sin², which rotation matrices are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Union

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
        # −0.0 equals 0.0, and takes its place
        key = (op, value) if op == "number" else (op, *(node.index for node in arguments))
        return self._known.get(key) or self._new(key, op, arguments, value)

    def _new(self, key: tuple[object, ...], op: str, arguments: tuple[Node, ...], value: float) -> Node:
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
        if a.is_number(0.0):
            return a
        if b.is_number(1.0):
            return a
        if a.op == "negate":
            return self.negate(self.divide(a.arguments[0], b))
        return self._folded(lambda x, y: x / y, a, b) or self._make("divide", (a, b))

    def negate(self, a: Node) -> Node:
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


def dot(a: Sequence[Node], b: Sequence[Node]) -> Node:
    """Σ a b."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
