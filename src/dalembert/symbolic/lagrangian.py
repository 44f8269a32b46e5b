"""`Lagrangian`: equations of motion from L(u, v, t), generalized forces and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.c_function import COMPLETE, DERIVATIVE
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import renamed_keywords
from ..core.status import MESSAGES, OK
from ..integrate.driver import Driver
from ..integrate.solve import IntegrationError, Solution
from ..integrate.state import Functions, make_options
from ..integrate.tableaus import method as find_method
from .constrained import SINGULAR_MASS, Equations, Motion, failure, layout, make_equations
from .expressions import Constraints, Generated, Node, Variables, derivatives, dot_nodes, gradient

if TYPE_CHECKING:
    import xarray


# Runs of equations of motion in generalized coordinates: the loop over frames, and what is recorded --------------------


MET = 1e-9  # of 1 + |u|: a start within this of the constraints is projected onto them without `assemble`


class Options(NamedTuple):
    """The options of `Lagrangian.run`."""

    method: str
    dt: float | None
    rtol: float
    atol: float | None
    frame_rate: float
    assemble: bool


def run(
    motion: Motion, names: Sequence[str], u: np.ndarray, v: np.ndarray, start: float, duration: float, options: Options
) -> xarray.Dataset:  # fmt: skip
    """See `Lagrangian.run`."""
    n, dt, rtol, atol, frame_rate = len(u), options.dt, options.rtol, options.atol, options.frame_rate
    for name, value in (("duration", duration), ("frame_rate", frame_rate), ("dt", 1.0 if dt is None else dt)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, not {value!r}")
    y, dydt = np.concatenate([u, v, [0.0]]), np.full(2 * n + 1, np.nan)
    driver = _driver(motion, n, options.method, dt, rtol, rtol if atol is None else atol)
    driver.restart(float(start))
    _initialize(motion, names, float(start), y, dydt, options.assemble)
    record = _Record(motion, names)
    record.add(float(start), y)
    end = start + duration
    count = max(1, round(duration * frame_rate))
    for target in start + duration * np.arange(1, count + 1) / count:
        status = driver.run(y, dydt, target, land=bool(target == end))
        if status != OK:
            record.add(driver.time, y)
            raise _stopped(motion, names, status, driver, record)
        if driver.time > record.times[-1]:
            record.add(driver.time, y)
    return record.dataset({"method": options.method, **driver.counts})


def _driver(motion: Motion, n: int, method: str, dt: float | None, rtol: float, atol: float) -> Driver:
    """The driver of a method on (u, v, work). Raises ValueError for options that do not fit the method."""
    tableau = find_method(method)
    if dt is None and not tableau.error.shape[0]:
        raise ValueError(f"method {method!r} takes fixed steps: give dt")
    if tableau.partitioned == 2:
        raise ValueError(f"method {method!r} needs the free motion of rigid bodies; use another method")
    if not (0.0 < rtol < np.inf and 0.0 <= atol < np.inf):
        raise ValueError(f"rtol must be positive and atol ≥ 0, both finite; got {rtol!r} and {atol!r}")
    options = make_options(
        tableau, 2 * n + 1, adaptive=dt is None, rtol=rtol, atol=atol,
        weights=np.concatenate([np.ones(2 * n), [0.0]]),
        momentum=np.concatenate([-np.ones(n), np.ones(n), [0.0]]) if tableau.partitioned else None,
    )  # fmt: skip
    none = np.zeros(0, np.int64)
    return Driver(Functions(motion.address, motion.data, 1, none, none), options, 0.0 if dt is None else dt)


def _initialize(
    motion: Motion, names: Sequence[str], t: float, y: np.ndarray, dydt: np.ndarray, assemble: bool
) -> None:
    """Project the start y onto the constraints, and write dydt there. Raises ValueError where the start violates them and
    `assemble` is False, or where the derivative is not finite."""
    given, n = y.copy(), len(names)
    motion.tables.largest[:] = 0.0
    status = motion.call(COMPLETE, t, y, dydt)
    if status != OK:
        raise ValueError(f"at the start {failure(motion.tables, names, status)}")
    if not np.all(np.isfinite(dydt)):
        bad = int(np.flatnonzero(~np.isfinite(dydt))[0])
        raise ValueError(f"at the start the derivative of {[*names, *names, 'work'][bad]!r} is {dydt[bad]!r}")
    moved = np.abs(y - given)[: 2 * n] / (1.0 + np.abs(given[: 2 * n]))
    if moved.max() > MET and not assemble:
        worst = int(np.argmax(moved))
        what = "coordinate" if worst < n else "rate of"
        raise ValueError(
            f"the start violates the constraints: {what} {names[worst % n]!r} is {given[worst]:.9g}, and the nearest "
            f"consistent start is {y[worst]:.9g}; correct it, or pass assemble=True"
        )
    y[2 * n] = 0.0


def _stopped(motion: Motion, names: Sequence[str], status: int, driver: Driver, record: _Record) -> IntegrationError:
    """The error of a run that stopped with a status, with all that was recorded."""
    message = f"integration stopped at t = {driver.time!r} s: {failure(motion.tables, names, status)}"
    if status in MESSAGES:
        spread = np.abs(driver.attempt(record.states[-1])[len(names) : 2 * len(names)])
        worst = int(np.argmax(np.where(np.isfinite(spread), spread, np.inf)))
        message += f"; {names[worst]!r} changes fastest, at {spread[worst]:.3g} per second"
    counts = driver.counts
    solution = Solution(
        np.array(record.times), np.array(record.states), status, message, counts["steps"], counts["rejected"],
        counts["evaluations"], (), (),
    )  # fmt: skip
    return IntegrationError(message, solution)


class _Record:
    """What is recorded, frame by frame."""

    def __init__(self, motion: Motion, names: Sequence[str]) -> None:
        self._motion, self._names = motion, list(names)
        self.times: list[float] = []
        self.states: list[np.ndarray] = []
        self._multipliers: list[np.ndarray] = []
        self._energies: list[float] = []

    def add(self, t: float, y: np.ndarray) -> None:
        """Record a state, with its multipliers and energy."""
        tables, plan = self._motion.tables, self._motion.tables.plan[0]
        self._motion.call(DERIVATIVE, t, y, np.empty(y.size))
        self.times.append(t)
        self.states.append(y.copy())
        self._multipliers.append(tables.multipliers.copy())
        at = layout(int(plan.n), int(plan.holonomic), int(plan.rows))[-1]
        self._energies.append(float(tables.values[at]))

    def dataset(self, attrs: dict[str, object]) -> xarray.Dataset:
        """All frames as a Dataset."""
        import xarray

        states, n = np.array(self.states), len(self._names)
        return xarray.Dataset(
            {
                "u": (("time", "coordinate"), states[:, :n], {"long_name": "generalized coordinates"}),
                "v": (("time", "coordinate"), states[:, n : 2 * n], {"long_name": "their rates"}),
                "multiplier": (("time", "constraint"), np.array(self._multipliers)),
                "energy": ("time", np.array(self._energies), {"units": "J", "long_name": "v·∂L/∂v − L"}),
                "work": ("time", states[:, 2 * n], {"units": "J"}),
            },
            coords={
                "time": ("time", np.array(self.times), {"units": "s"}),
                "coordinate": ("coordinate", np.array(self._names, dtype=object)),
            },
            attrs=attrs,
        )


# The public class ------------------------------------------------------------------------------------------------------


class Lagrangian:
    """A system given by its Lagrangian L(u, v, t), in J.

    Parameters
    ----------
    expression : L, a SymPy expression.
    coordinates : the symbols u, or functions of time (``dynamicsymbols``). velocities : the symbols of their rates v;
        for functions of time, their derivatives. time : the symbol of time, if any expression depends on it.
    forces : the generalized force on a coordinate, as an expression in u, v and t (N, or N m).
    constraints : expressions g(u, t) that must be 0. nonholonomic : expressions A(u, t) v + a(u, t) that must be 0.
        Constraints can be redundant.
    parameters : values of all other symbols.

    The equations are d/dt ∂L/∂v − ∂L/∂u = Q + Gᵀ λ, that is M v̇ + bias = Gᵀ λ with M = ∂²L/∂v². They are derived
    without expanding expressions, and compiled once. Systems of the same form with other parameters use the compiled
    code on disk.

    Raises TypeError or ValueError, naming the expression or symbol, if it cannot be compiled.

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
        self.coordinates: tuple[str, ...] = tuple(variables.names)
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
        """(n,): the bias in M v̇ + bias = Gᵀ λ, which includes minus the applied forces."""
        return -self._values(u, v, t)["force"]

    def energy(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> float:
        """Jacobi's energy function v·∂L/∂v − L, J. It is the sum of kinetic and potential energy if the coordinates do
        not depend on time."""
        return float(self._values(u, v, t)["energy"][0])

    def acceleration(self, t: float, u: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
        """(n,): v̇. Raises ValueError, naming the coordinate, if the mass matrix is singular."""
        return self._solved(t, u, v)[0]

    def multipliers(self, t: float, u: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
        """(constraints,): λ, holonomic constraints first: the forces along g, in N if g is in m. Redundant constraints
        share their force."""
        return self._solved(t, u, v)[1]

    def _solved(self, t: float, u: ArrayLike, v: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
        """(v̇, λ)."""
        n = len(self.coordinates)
        y = np.concatenate([self._variables.numbers("u", u), self._variables.numbers("v", v), [0.0]])
        dydt = np.full(2 * n + 1, np.nan)
        self._tables.largest[:] = 0.0
        status = self._motion.call(DERIVATIVE, float(t), y, dydt)
        if status == SINGULAR_MASS:
            raise ValueError(failure(self._tables, self.coordinates, status))
        return dydt[n : 2 * n], self._tables.multipliers.copy()

    @renamed_keywords(**RENAMED)
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
        frame_rate: float = 60.0,
        start: float = 0.0,
        assemble: bool = False,
    ) -> xarray.Dataset:
        """Integrate from the coordinates `initial` with `rates` for `duration` seconds.

        initial, rates : arrays, or mappings from coordinates to numbers; missing ones are 0.
        method : one of `dalembert.METHODS`. dt : fixed step, s. rtol, atol : tolerances on the error of one adaptive
            step (default of atol: rtol).
        frame_rate : recorded frames per second, Hz. start : time at the start, s. assemble : whether to move the start
            onto the constraints, by the smallest change in the mass metric; otherwise a start that violates them is
            rejected.

        Returns a Dataset over ``time`` (s), ``coordinate`` and ``constraint`` of ``u``, ``v``, ``multiplier``,
        ``energy`` (see `energy`) and ``work``: the work of forces, moving constraints and explicit time dependence.
        energy − work is constant.

        Raises ValueError for invalid input, and `IntegrationError`, with all recorded values, if the run fails.
        """
        u, v = self._variables.numbers("initial", initial), self._variables.numbers("rates", rates)
        return run(
            self._motion, self.coordinates, u, v, start, duration, Options(method, dt, rtol, atol, frame_rate, assemble)
        )


def _forces(variables: Variables, forces: Mapping[Any, Any]) -> list[Node]:
    """Q on each coordinate. Raises ValueError for an unknown coordinate."""
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
    energy = dot_nodes(momenta, v) - lagrangian
    return [*mass, *force, *rows.nodes(), energy, dot_nodes(forces, v) - explicit]
