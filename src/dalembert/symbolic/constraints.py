"""Constraints among coordinates: g(u, t) = 0, and A(u, t) v + a(u, t) = 0, with what the equations of motion need of them.

Every constraint gives a row G v + a = 0 and, differentiated once more, G v̇ + γ = 0: for holonomic ones G = ∂g/∂u and
a = ∂g/∂t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .differentiate import derivatives
from .graph import Node, needed
from .variables import Variables


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
                raise ValueError(f"constraint {k} has rates in it: give it among the nonholonomic ones")
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
