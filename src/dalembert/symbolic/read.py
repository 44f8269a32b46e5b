"""From SymPy expressions to graphs. Expressions only: a string is never turned into one."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from .differentiate import FUNCTIONS
from .graph import Graph, Node

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
        found = self._nodes.get(expression)
        if found is None:
            found = self._make(expression)
            self._nodes[expression] = found
        return found

    def _make(self, e: Any) -> Node:
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
                f"{e} is neither a coordinate, nor the rate of one, nor a parameter; accelerations may not appear"
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
        raise _NotReadable(f"the function {name} cannot be compiled; those that can are {', '.join(sorted(FUNCTIONS))}")

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
