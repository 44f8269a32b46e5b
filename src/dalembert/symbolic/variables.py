"""The variables of a system: coordinates, their rates, time and parameters, as SymPy writes them and as inputs of a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .graph import Graph, Node
from .read import Reader


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
            raise ValueError(f"{double} is given twice, among coordinates, velocities, parameters and time")
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
            raise ValueError(f"{len(given)} velocities for {len(coordinates)} coordinates; give one each")
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
