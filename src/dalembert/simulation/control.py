"""Joint coordinates and motors of a run by name, time series as inputs, and the clock that calls a controller."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core import interrupt
from ..core.arrays import NumbersLike
from ..core.c_function import MEASURE
from ..dynamics.forces import read_coordinates, read_efforts
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..model import tables
from ..model.compile import Model
from ..model.particles import ForceCompiler
from ..model.tables import ANGLE, CUSTOM_MOTOR, MOTOR, SERVO, System
from ..scene.body import WORLD
from ..scene.checks import finite, real_array, require_arguments
from ..scene.scene_warnings import TURN, beyond_a_turn, in_degrees
from .errors import SimulationError
from .registry import positive
from .state import Named, name_of
from .wrenches import BY_CONTROLLER

# Joint coordinates ----------------------------------------------------------------------------------------------------

Vector = NDArray[np.float64]
ROUND = 0.5  # rad: a larger angle than a turn that is a multiple of this is probably one in degrees


class JointStates:
    """The part of `Simulation` about the coordinates of joints."""

    model: Model
    changed: Callable[[], None]
    warn: Callable[..., None]
    _y: np.ndarray
    _mechanism: Mechanism
    _reader: JointReader | None

    @property
    def coordinates(self) -> Vector:
        """(n,) u, a read-only copy, in the order of `Articulation.coordinates`; use `set_joint_state` to set them.
        Raises ValueError in maximal coordinates."""
        own = self._tree()
        return _read_only(own.z[: len(own.layout.start)])

    @property
    def speeds(self) -> Vector:
        """(m,) w, a read-only copy, in the order of `Articulation.speeds`; use `set_joint_state` to set them. Raises
        ValueError in maximal coordinates."""
        own = self._tree()
        first = len(own.layout.start)
        return _read_only(own.z[first : first + len(own.layout.freedoms)])

    def joint_state(self) -> dict[str, tuple[float, float]]:
        """Joint → (s, ṡ): rad and rad/s of hinges, m and m/s of sliders; cylindrical joints have two entries, with
        ".displacement" and ".angle" after the name. Zero at the initial pose.

        In joint coordinates all joints in the tree are listed, universal ones with ".a" and ".b". In maximal
        coordinates the full turns of joints without motors, stops or springs are counted from call to call: call it at
        least twice per turn.
        """
        if self.model.tree is not None:
            own = self._tree()
            found = own.layout.scalars()
            first = len(own.layout.start)
            return {name: (float(own.z[u]), float(own.z[first + w])) for name, (u, w) in found.items()}
        if self._reader is None:
            self._reader = JointReader(self.model)
        return self._reader.read(self._y)

    def set_joint_state(self, state: Mapping[str, tuple[float, float]]) -> None:
        """Set (s, ṡ) of joints, by the names of `joint_state`; others do not change. In joint coordinates only. Angles
        count full
        turns: 3.5 rad is not 3.5 − 2π, for motors, springs, gears and stops too. The angle of a joint that closes a
        loop follows from the others, with the number of turns nearest to its previous value.

        Raises ValueError for an unknown name or a non-finite value, and in maximal coordinates.
        """
        own = self._tree()
        found = own.layout.scalars()
        z = own.z.copy()
        for name, pair in state.items():
            if name not in found:
                raise ValueError(f"there is no coordinate {name!r} to set; there are {', '.join(found)}")
            u, w = found[name]
            if len(pair) != 2:
                raise ValueError(f"joint {name!r}: give its value and its rate, (s, ṡ); got {pair!r:.80}")
            z[u] = finite(f"joint {name!r}", "s", pair[0])
            if beyond_a_turn(z[u]) and z[u] % ROUND == 0.0 and self._joint_units()[name] == "rad":
                self.warn(in_degrees(f"joint {name!r}", "its angle is set to", [z[u]]), f"angle of {name}")
            z[len(own.layout.start) + w] = finite(f"joint {name!r}", "ṡ", pair[1])
        own.z[:] = z
        own.count_turns()
        own.put(self._y)
        self.changed()

    def _joint_frame(self) -> dict[str, Vector]:
        """The recorded quantities of `joint_state`."""
        pairs = np.array(list(self.joint_state().values()))
        return {"joint_coordinate": pairs[:, 0], "joint_speed": pairs[:, 1]} if len(pairs) else {}

    def _joint_units(self) -> dict[str, str]:
        """The names of `joint_state`, each with its unit."""
        joints = self.model.scene.joints
        slides = {name for name, joint in joints.items() if joint.displacement and not joint.angle}
        return {name: "m" if name in slides or name.endswith(".displacement") else "rad" for name in self.joint_state()}

    def _joint_names(self) -> list[str]:
        """The names of `joint_state`, in its order."""
        if self.model.tree is not None:
            return list(self.model.tree.scalars())
        if self._reader is None:
            self._reader = JointReader(self.model)
        return self._reader.names

    def _recall_turns(self, values: Mapping[str, float]) -> None:
        """Count full turns from these values of the joints, after the state was replaced by a recorded one."""
        if self.model.tree is None:
            self._reader = JointReader(self.model)
            self._reader.recall(values)
        elif isinstance(self._mechanism, JointMechanism):
            for name, (u, _) in self.model.tree.scalars().items():
                self._mechanism.z[u] = values.get(name, self._mechanism.z[u])

    def _tree(self) -> JointMechanism:
        """The mechanism in joint coordinates, at the current state. Raises ValueError in maximal coordinates."""
        if self.model.tree is None or not isinstance(self._mechanism, JointMechanism):
            raise ValueError(
                f"scene {self.model.name!r} runs in maximal coordinates; pass coordinates='joint', or call joint_state()"
            )
        self._mechanism.take(self._y)
        return self._mechanism


def _read_only(values: Vector) -> Vector:
    found = values.copy()
    found.flags.writeable = False
    return found


class JointReader:
    """Coordinates of the hinges, sliders and cylindrical joints of a model in maximal coordinates."""

    def __init__(self, model: Model) -> None:
        bodies = list(model.scene.bodies.values())
        index: dict[Any, int] = {body: i for i, body in enumerate(bodies)} | {WORLD: len(bodies)}
        compiler = ForceCompiler(index, 0, lambda function, name: 0)
        self.names: list[str] = []
        for joint in model.scene.joints.values():
            kinds = [kind for kind in ("displacement", "angle") if getattr(joint, kind)]
            if set(joint.bodies) <= set(index):
                self.names += [joint.coordinate_name(kind) for kind in kinds]
                for kind in kinds:
                    compiler.coordinate(joint, kind)
        self._rows = np.array(compiler.coordinates, tables.COORDINATE).view(np.recarray)
        counted = dict(zip(model.coordinate_names, model.tables["coordinates"]["at"].tolist(), strict=True))
        self._counted = [counted.get(name, -1) for name in self.names]  # places in the state, −1 for none
        self._bodies, self._curves = model.tables["bodies"], np.zeros(1)
        self._kinematics = np.zeros(len(bodies) + 1, tables.KINEMATICS).view(np.recarray)
        self._kinematics.rotation[:] = np.eye(3).ravel()
        self._values, self._rates = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def recall(self, values: Mapping[str, float]) -> None:
        """The next angles are those nearest to these."""
        self._values[:] = [values.get(name, value) for name, value in zip(self.names, self._values, strict=True)]

    @property
    def turns(self) -> np.ndarray:
        """The values of the last call of `read`, to which the next ones are nearest: a view."""
        return self._values

    def read(self, y: np.ndarray) -> dict[str, tuple[float, float]]:
        """Name → (s, ṡ) at a state; angles whose turns the state does not count are nearest to those of the last call."""
        if not self.names:
            return {}
        near = np.array([value if at < 0 else y[at] for value, at in zip(self._values, self._counted, strict=True)])
        read_coordinates(y, near, self._bodies, self._kinematics, self._rows, self._curves, self._values, self._rates)
        return dict(zip(self.names, zip(self._values.tolist(), self._rates.tolist(), strict=True), strict=True))


# Motors: rows in the table of forces, their inputs and efforts --------------------------------------------------------

INPUTS = {"effort": "rest", "position": "position", "speed": "target"}  # and their fields in the row of a force


def exerted(model: Model, system: System, driver: Stepper, y: np.ndarray) -> dict[str, float]:
    """Force → N m or N along its coordinate: motors at the state that was measured last, and stops, dry friction and ideal
    motors in the last time step."""
    forces = system.forces
    rows = np.flatnonzero((forces.kind == MOTOR) | (forces.kind == CUSTOM_MOTOR))
    found: dict[str, float] = {}
    if len(rows):
        efforts = np.zeros(len(forces))
        read_efforts(
            float(driver.time), y, forces, system.kinematics, system.coordinates, system.curves, np.zeros(3), efforts
        )
        entries = forces.ledger[rows].tolist()
        found = {model.force_names[i]: effort for i, effort in zip(entries, efforts[rows].tolist(), strict=True)}
    commands, multipliers = system.commands, system.multipliers
    found |= {
        model.force_names[row.entry]: float(multipliers[row.row]) for row in commands[commands.row >= 0]
    }  # of motions of coordinates
    return found | driver.efforts(model)


def motor_row(model: Model, system: System, name: str) -> Any:
    """The row of a motor in the table of forces. Raises ValueError for a name that is no motor's."""
    forces = system.forces
    rows = np.flatnonzero(np.isin(forces.kind, (MOTOR, CUSTOM_MOTOR, SERVO)))
    found = {model.force_names[forces.ledger[row]]: forces[row] for row in rows}
    if name not in found:
        raise ValueError(
            f"there is no motor {name!r}; the motors are {', '.join(found) or 'none: add them with motor()'}"
        )
    return found[name]


def inputs_of(row: Any) -> tuple[str, ...]:
    """The names of the inputs of a motor."""
    if row.kind == SERVO:
        return ("speed",)
    if row.kind == CUSTOM_MOTOR:
        return ()
    return ("effort", *(("position",) if row.stiffness > 0.0 else ()), *(("speed",) if row.damping > 0.0 else ()))


def what_it_takes(row: Any, taken: tuple[str, ...]) -> str:
    """The inputs of a motor, in words."""
    if row.kind == CUSTOM_MOTOR:
        return "nothing, because a function computes its effort"
    if row.kind == SERVO:
        return "speed, because it has no damping"
    missing = [f"{key} with a {what} above zero" for key, what in (("position", "stiffness"), ("speed", "damping"))
               if key not in taken]  # fmt: skip
    return f"{' or '.join(taken)}" + (f" (and {', '.join(missing)} in scene.motor)" if missing else "")


# Time series as controllers -------------------------------------------------------------------------------------------

Input: TypeAlias = Literal["effort", "position", "speed"]
OF: tuple[Input, ...] = ("effort", "position", "speed")
MAX_BYTES = 256_000_000
MAX_MOTORS = 1000


class TimeSeries:
    """A controller that plays back samples with linear interpolation. Before the first and after the last sample values
    are constant.

    Parameters
    ----------
    samples : motor → (times (n,) s, values (n,)), with increasing times.
    of : the quantity of the values: "effort" (N m or N), "position" (rad or m) or "speed" (rad/s or m/s).

    Raises ValueError for times that do not increase, non-finite values, and different sizes.

    >>> import dalembert as dal
    >>> series = dal.TimeSeries({"motor": ([0.0, 1.0], [0.0, 2.0])}, of="position")
    >>> series.at(0.25)
    {'motor': 0.5}
    """

    def __init__(self, samples: Mapping[str, tuple[NumbersLike, NumbersLike]], of: Input = "position") -> None:
        if of not in OF:
            raise ValueError(f"time series: of is {of!r}; give one of {', '.join(OF)}")
        if not samples:
            raise ValueError("time series: there are no samples; give motor → (times, values)")
        self.of = of
        self.samples: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for name, (times, values) in samples.items():
            owner = f"time series of {name!r}"
            t = real_array(owner, "times", times, (-1,))
            v = real_array(owner, "values", values, (-1,))
            if len(t) != len(v) or not len(t):
                raise ValueError(
                    f"{owner}: {len(t)} times and {len(v)} values; give the same number of both, at least one"
                )
            late = np.flatnonzero(np.diff(t) <= 0.0)
            if len(late):
                raise ValueError(
                    f"{owner}: times[{late[0] + 1}] is {t[late[0] + 1]:g} s, after {t[late[0]]:g} s; times must increase"
                )
            self.samples[name] = (t, v)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], of: Input = "position") -> TimeSeries:
        """Read a file of comma-separated values. The first line names the columns, "time" (s) and then motors; every
        other line is an instant.

        Raises ValueError, with the line number, for other contents, and for files of more than 256 MB.
        """
        source = Path(path)
        if source.stat().st_size > MAX_BYTES:
            raise ValueError(f"{str(source)!r} is larger than {MAX_BYTES} bytes; play it in parts")
        with open(source, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            try:
                header = [name.strip() for name in next(reader, [])]
                _check_header(str(source), header)
                rows = [_numbers(str(source), reader.line_num, header, row) for row in reader if row]
            except (csv.Error, UnicodeDecodeError) as error:
                raise ValueError(
                    f"{str(source)!r}, line {reader.line_num + 1}: not comma-separated text: {error}"
                ) from None
        if not rows:
            raise ValueError(f"{str(source)!r} has no line of numbers after the first line")
        columns = np.array(rows).T
        try:
            return cls({name: (columns[0], column) for name, column in zip(header[1:], columns[1:], strict=True)}, of)
        except ValueError as error:
            raise ValueError(f"{str(source)!r}: {error}") from None

    def at(self, time: float) -> dict[str, float]:
        """Motor → value at a time (s)."""
        return {name: float(np.interp(time, t, v)) for name, (t, v) in self.samples.items()}

    def __call__(self, run: Any) -> None:
        for name, value in self.at(float(run.time)).items():
            run.set_motor(name, **{self.of: value})


def _check_header(source: str, header: list[str]) -> None:
    if len(header) < 2 or header[0] != "time":
        raise ValueError(
            f"{source!r}, line 1: give names of columns, 'time' and then motors; got {','.join(header)!r:.80}"
        )
    if len(header) > MAX_MOTORS:
        raise ValueError(f"{source!r}, line 1: {len(header)} columns, at most {MAX_MOTORS}")
    twice = next((name for name in header if header.count(name) > 1 or not name), None)
    if twice is not None:
        raise ValueError(
            f"{source!r}, line 1: {f'column {twice!r} appears twice' if twice else 'a column has no name'}"
        )


def _numbers(source: str, line: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise ValueError(f"{source!r}, line {line}: {len(row)} values, but {len(header)} columns")
    values = []
    for name, text in zip(header, row, strict=True):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{source!r}, line {line}, {name!r}: {text!r:.40} is not a finite number")
        values.append(value)
    return values


# Controllers ----------------------------------------------------------------------------------------------------------

SAME_TIME = 1e-9  # of the time between two calls of a controller


class Clock:
    """The times of calls of a controller: `start`, and every 1/rate s from then on."""

    def __init__(self, function: Callable[[Any], Any], rate: float) -> None:
        self.function, self.rate = function, rate
        self.name = getattr(function, "__name__", type(function).__name__)
        self.begin(0.0)

    def begin(self, time: float) -> None:
        """Call the controller at `time` (s) next, and count calls from there."""
        self.start, self.calls = time, 0

    @property
    def next(self) -> float:
        """The time of the next call, s."""
        return self.start + self.calls / self.rate

    def same(self, one: float, other: float) -> bool:
        """Whether one time is not before another, but for rounding."""
        return one >= other - SAME_TIME / self.rate


def make_clock(function: Callable[[Any], Any] | None, rate: float | None, dt: float | None) -> Clock | None:
    """The clock of a controller, if there is one, on the grid of fixed steps of dt (s). Raises ValueError."""
    if function is None or rate is None:
        if function is None and rate is None:
            return None
        given, missing = ("control_rate", "controller") if function is None else ("controller", "control_rate")
        raise ValueError(f"{given} is given without a {missing}; give both, the rate in Hz")
    if not callable(function):
        raise ValueError(f"controller is {function!r:.80}; give a function of the run")
    require_arguments("controller", function, "run")
    hertz = positive("control_rate", rate, "Hz")
    if dt is not None:
        steps = round(1.0 / (hertz * dt))
        if steps < 1 or abs(steps * dt * hertz - 1.0) > SAME_TIME:
            raise ValueError(
                f"control_rate is {hertz:g} Hz, so that {1.0 / (hertz * dt):.9g} steps of dt = {dt:g} s lie between calls; "
                f"give a dt that divides the interval, such as {1.0 / (hertz * max(1, steps)):.9g} s"
            )
        hertz = 1.0 / (steps * dt)
    return Clock(function, hertz)


class Controls(JointStates):
    """The part of `Simulation` about motors and controllers."""

    _system: System
    _driver: Stepper
    _clock: Clock | None
    _changed_by_hand: Callable[[str], None]
    _end_of_forces: Callable[[int], None]
    _in_controller: bool
    warn: Callable[..., None]
    _motors: dict[str, Any]  # their rows of the table of forces, those that were asked for

    def set_motor(
        self, name: str | Named, effort: float | None = None, position: float | None = None, speed: float | None = None
    ) -> None:
        """Change the inputs of a motor from now on, in this run: its effort (N m or N), the target position of its
        stiffness (rad or m), the target speed of its damping (rad/s or m/s). An ideal motor has only a speed.

        Raises ValueError for an unknown motor, a non-finite value, and an input that the motor does not have.
        """
        name = name if isinstance(name, str) else name_of(name, self.model.scene)
        row = self._motors.get(name)
        if row is None:
            row = self._motors[name] = motor_row(self.model, self._system, name)
        given = {"effort": effort, "position": position, "speed": speed}
        taken, owner = inputs_of(row), f"motor {name!r}"
        asked = {key: value for key, value in given.items() if value is not None}
        if not asked or not set(asked) <= set(taken):
            what = ", ".join(f"{key}={value!r:.40}" for key, value in asked.items()) or "nothing"
            raise ValueError(f"{owner} is given {what}; it takes {what_it_takes(row, taken)}")
        new = {key: finite(owner, key, value) for key, value in asked.items()}
        if all(row[INPUTS[key]] == value for key, value in new.items()):
            return
        if abs(new.get("position", row.position) - row.position) > TURN:
            self._warn_of_angle(name, row, new["position"])
        for key, value in new.items():
            row[INPUTS[key]] = value
        self._changed_by_hand(owner)
        self._driver.inputs_changed()

    def _warn_of_angle(self, name: str, row: Any, position: float) -> None:
        """Warn of a position, more than a turn from the one before, that is probably in degrees."""
        if self._system.coordinates.kind[row.coordinate] == ANGLE and beyond_a_turn(position):
            self.warn(in_degrees(f"motor {name!r}", "its position is set to", [position]), f"position of {name}")

    @property
    def efforts(self) -> dict[str, float]:
        """The effort of each motor, and the mean effort of each stop, dry friction and ideal motor over the last step;
        N m or N along its coordinate."""
        self._mechanism(MEASURE, float(self._driver.time), self._y, np.empty_like(self._y))
        return exerted(self.model, self._system, self._driver, self._y)

    def _effort_frame(self) -> dict[str, np.ndarray]:
        """The recorded efforts of a state that was just measured: one number per entry of the ledger."""
        found = exerted(self.model, self._system, self._driver, self._y)
        return {"effort": np.array([found.get(name, np.nan) for name in self.model.force_names])} if found else {}

    def _forget_controls(self) -> None:
        """Look up motors anew, and call the controller at once: the run starts, or goes on from another state."""
        self._motors, self._reader = {}, None
        if self._clock is not None:
            self._clock.begin(self._driver.time)
            if isinstance(self._clock.function, TimeSeries):
                self._clock.function(self)  # raises ValueError for unknown motors before the run

    def _held_until(self, target: float) -> float:
        """Call the controller if it is due. Returns the time of its next call (s), or `target` if that is earlier."""
        clock = self._clock
        if clock is None:
            return target
        now = float(self._driver.time)
        if clock.same(now, clock.next):
            while clock.same(now, clock.next):
                clock.calls += 1
            self._end_of_forces(BY_CONTROLLER)
            self._in_controller = True
            try:
                returned = interrupt.call(clock.function, self)
            except Exception as error:
                failure = SimulationError(f"at t = {now:.9g} s the controller {clock.name!r} failed: {error!r}", now)
                failure.simulation = self
                raise failure from error
            finally:
                self._in_controller = False
            if returned is not None:
                self.warn(
                    f"the controller {clock.name!r} returned {type(returned).__name__} {returned!r:.60}, which is ignored; "
                    "call run.set_motor(name, ...) in it",
                    "controller",
                )
        return target if clock.same(clock.next, target) else clock.next
