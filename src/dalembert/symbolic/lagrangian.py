"""`Lagrangian`: equations of motion from L(u, v, t), generalized forces and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..pointer import DERIVATIVE
from .constrained import SINGULAR_MASS, Equations, layout, make_equations
from .constraints import Constraints
from .differentiate import derivatives, gradient
from .evaluate import Motion, failure
from .generate import Generated
from .graph import Node, dot
from .run import run
from .variables import Variables

if TYPE_CHECKING:
    import xarray


class Lagrangian:
    """A system given by its Lagrangian L(u, v, t), in J.

    Parameters
    ----------
    expression : L, a SymPy expression.
    coordinates : the symbols u, or functions of time (``dynamicsymbols``). velocities : the symbols of their rates v, which
        for functions of time are their derivatives. time : the symbol of time, where anything depends on it.
    forces : the generalized force on a coordinate, as an expression in u, v and t (N, or N m).
    constraints : expressions g(u, t) that are 0. nonholonomic : expressions A(u, t) v + a(u, t) that are 0. They may
        depend on each other.
    parameters : values of all other symbols.

    The equations are d/dt ∂L/∂v − ∂L/∂u = Q + Gᵀ λ, that is M v̇ + bias = Gᵀ λ with M = ∂²L/∂v². They are derived without
    expanding anything, and compiled once: a system of the same form is found on disk, whatever its parameters are.

    Raises TypeError or ValueError, naming the expression or symbol, for what cannot be compiled.

    >>> import sympy as sp
    >>> q, v, k = sp.symbols("q v k")
    >>> spring = Lagrangian(v**2 / 2 - k * q**2 / 2, [q], velocities=[v], parameters={k: 4.0})
    >>> spring.acceleration(0.0, [0.5], [0.0])
    array([-2.])
    """

    def __init__(
        self,
        expression: Any,
        coordinates: Sequence[Any],
        *,
        velocities: Sequence[Any] | None = None,
        time: Any = None,
        forces: Mapping[Any, Any] | None = None,
        constraints: Sequence[Any] = (),
        nonholonomic: Sequence[Any] = (),
        parameters: Mapping[Any, float] | None = None,
    ) -> None:
        self._variables = variables = Variables(coordinates, time, velocities, parameters)
        self.coordinates = tuple(variables.names)
        lagrangian = variables.read("the Lagrangian", expression)
        rows = Constraints(variables, constraints, nonholonomic)
        nodes = [*_equations(lagrangian, _forces(variables, forces or {}), variables, rows)]
        self._generated = Generated(nodes, variables.inputs)
        values = np.array(list(variables.parameters.values()))
        self._motion = Motion(
            make_equations(self._generated.address, len(self.coordinates), rows.holonomic, rows.rows, values)
        )

    @property
    def source(self) -> str:
        """The generated Python source."""
        return self._generated.source

    @property
    def _tables(self) -> Equations:
        return self._motion.tables

    def _values(self, u: ArrayLike, v: ArrayLike | None, t: float) -> dict[str, np.ndarray]:
        """What the generated function gives, by name."""
        plan = self._tables.plan[0]
        n, rows = int(plan.n), int(plan.rows)
        inputs = self._tables.inputs.copy()
        inputs[: 2 * n] = np.concatenate([self._variables.numbers("u", u), self._variables.numbers("v", v)])
        parts = np.split(self._generated(float(t), inputs), [*layout(n, int(plan.holonomic), rows)])
        names = ("mass", "force", "gap", "gradient", "drift", "bias", "energy")
        return dict(zip(names, parts, strict=True))

    def mass_matrix(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """(n, n): M = ∂²L/∂v²."""
        lower = np.tril(self._values(u, v, t)["mass"].reshape(len(self.coordinates), -1))
        return np.asarray(lower + np.tril(lower, -1).T)

    def bias(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """(n,): what M v̇ lacks of the constraints' forces, M v̇ + bias = Gᵀ λ; the forces given count with a minus."""
        return -self._values(u, v, t)["force"]

    def energy(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> float:
        """Jacobi's energy function v·∂L/∂v − L, J: kinetic and potential energy, where L does not come from coordinates that
        depend on time."""
        return float(self._values(u, v, t)["energy"][0])

    def acceleration(self, t: float, u: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
        """(n,): v̇. Raises ValueError, naming the coordinate, where the mass matrix is singular."""
        return self._solved(t, u, v)[0]

    def multipliers(self, t: float, u: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
        """(constraints,): λ, of the holonomic ones first: the forces in the gaps g, in N where g is in m. Of constraints that
        depend on each other, these share what they do together."""
        return self._solved(t, u, v)[1]

    def _solved(self, t: float, u: ArrayLike, v: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
        n = len(self.coordinates)
        y = np.concatenate([self._variables.numbers("u", u), self._variables.numbers("v", v), [0.0]])
        dydt = np.full(2 * n + 1, np.nan)
        self._tables.largest[:] = 0.0
        status = self._motion.perform(DERIVATIVE, float(t), y, dydt)
        if status == SINGULAR_MASS:
            raise ValueError(failure(self._tables, self.coordinates, status))
        return dydt[n : 2 * n], self._tables.multipliers.copy()

    def run(
        self,
        duration: float,
        initial: Any,
        rates: Any = None,
        *,
        method: str = "dormand_prince",
        dt: float | None = None,
        rtol: float = 1e-8,
        atol: float | None = None,
        frames: float = 60.0,
        start: float = 0.0,
        assemble: bool = False,
    ) -> xarray.Dataset:
        """Integrate from the coordinates `initial` with `rates` for so many seconds.

        initial, rates : arrays, or mappings from coordinates to numbers, of which those left out are 0.
        method : one of `dalembert.METHODS`. dt : fixed step, s. rtol, atol : tolerances on the error of
            one step otherwise (atol: rtol).
        frames : recorded a second. start : time at the start, s. assemble : move the start onto the constraints, by the least
            change in the metric of the masses; else a start that is off them is refused.

        Returns a Dataset over ``time`` (s), ``coordinate`` and ``constraint`` of ``u``, ``v``, ``multiplier``, ``energy``
        (see `energy`) and ``work``: what forces, moving constraints and explicit time dependence have done. energy − work
        is constant.

        Raises ValueError for bad input, and `IntegrationError`, with all that was recorded, for a run that fails.
        """
        u, v = self._variables.numbers("initial", initial), self._variables.numbers("rates", rates)
        return run(
            self._motion, self.coordinates, u, v, start, duration, method=method, dt=dt, rtol=rtol, atol=atol,
            frames=frames, assemble=assemble,
        )  # fmt: skip


def _forces(variables: Variables, forces: Mapping[Any, Any]) -> list[Node]:
    unknown = next((symbol for symbol in forces if symbol not in variables.coordinates), None)
    if unknown is not None:
        raise ValueError(f"forces: {unknown} is not a coordinate; those are {', '.join(variables.names)}")
    return [variables.read(f"force on {symbol}", forces.get(symbol, 0)) for symbol in variables.coordinates]


def _equations(lagrangian: Node, forces: list[Node], variables: Variables, rows: Constraints) -> list[Node]:
    """All outputs, in the order of `constrained.layout`.

    With p = ∂L/∂v, ṗ = M v̇ + (∂p/∂u v + ∂p/∂t), so that f = Q + ∂L/∂u − (∂p/∂u v + ∂p/∂t). The energy function h = p·v − L
    changes at the rate Q·v − ∂L/∂t, besides what constraints do.
    """
    u, v, zero, one = variables.u, variables.v, variables.graph.node(0.0), variables.graph.node(1.0)
    slopes = gradient(lagrangian, [*v, *u, variables.t])
    momenta, pulls, explicit = slopes[: len(v)], slopes[len(v) : -1], slopes[-1]
    mass = []
    for i, rate in enumerate(v):
        row = derivatives(momenta, {rate: one})
        mass += [row[j] if j <= i else zero for j in range(len(v))]
    turning = derivatives(momenta, variables.motion)
    force = [q + pull - rest for q, pull, rest in zip(forces, pulls, turning, strict=True)]
    energy = dot(momenta, v) - lagrangian
    return [*mass, *force, *rows.nodes(), energy, dot(forces, v) - explicit]
