"""Derivatives of graphs of expressions, forward and in reverse, with one table of rules.

Forward: the derivative of each node follows from those of its arguments, d = Σ ∂node/∂argument · d(argument), so that the
derivatives of all outputs in one direction cost a few statements for each node, however deep the expressions are nested.
In reverse, the gradient of one output with respect to everything costs as much. A. Griewank, A. Walther, Evaluating
Derivatives, 2008, ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .graph import Node, needed


def _call(name: str, *arguments: Node) -> Node:
    return arguments[0].graph.call(name, *arguments)


def _selected(node: Node) -> tuple[Node, ...]:
    a, b, _, _ = node.arguments
    graph, strict = node.graph, node.op == "less"
    one, zero = graph.node(1.0), graph.node(0.0)
    return zero, zero, graph.select(a, b, strict, one, zero), graph.select(a, b, strict, zero, one)


def _angle(node: Node) -> tuple[Node, Node]:
    y, x = node.arguments
    square = x * x + y * y
    return x / square, -y / square


def _power(node: Node) -> tuple[Node, Node]:
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
