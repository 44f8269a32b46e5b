"""`Simulation`: a model, its state, and the loop over frames. `simulate` runs one from start to end."""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from . import checkpoint, interrupt
from .ahead import compile_ahead
from .articulated.driver import JointMechanism
from .checkpoint_fields import CheckpointError
from .clock import AskedTime, next_frame, next_stop, slack
from .constraint_solver import ConstraintSolver, iterative_solver
from .control import Controls, make_clock
from .derivative_check import require_derivatives
from .description import scene_description
from .drivers import (
    TIME_STEPPING,
    check_step,
    compiled_parts,
    make_driver,
    positive,
    require_kinds,
    steps_particles,
    system_of,
)
from .errors import SimulationError, failure, raised
from .events import happen
from .linalg.iterative import IterativeSolver
from .mechanics.mechanism import Mechanism
from .model.compile import Model, compile_scene
from .no_solution import NoSolution
from .particles.stepping import ParticleStepping
from .provenance import provenance
from .questions import Questions
from .recording import Recorder, as_json
from .release import release
from .report import Report, make_report
from .run_warnings import SOLVERS, at_the_start, changed_since, of_the_steps, sizes
from .scene.scene import Scene
from .scene.simplify import simplification_message
from .stability import stability_warning
from .start import HOLD, check_hold, ledger_size, look_at_events, redundant, set_out
from .state import State
from .status import EVENT, NON_FINITE, OK
from .symbolic import GeneralizedCoordinates
from .symbolic.mechanism import PlacedMechanism, require_supported
from .trajectory import Trajectory, TrajectoryError
from .user_results import require_answers
from .warning import warn

if TYPE_CHECKING:
    from .view.plots import Plots

COORDINATES = ("maximal", "joint")
SNAPSHOT_EVERY = 0.02  # s of computing


class Simulation(Controls, Questions):
    """A run in progress.

    Parameters
    ----------
    scene : Scene, or a compiled Model.
    method : name of an integration method, see `dalembert.METHODS`, or "time_stepping", the method of scenes whose bodies
        touch or whose joints have stops, dry friction or ideal motors. If not given: "time_stepping" for these, else
        "dormand_prince".
    dt : step in s, for methods of fixed step; an adaptive method given `dt` takes fixed steps.
    rtol, atol : tolerances of adaptive methods on the local error, which one step adds: relative, and absolute in m, rad,
        m/s and rad/s (atol is rtol if not given). The error of the run is the sum over its steps, and grows with time and
        with the conditioning of the motion.
    hold : "projection" (Lagrange multipliers, and the state put back on the constraints after each step), "feedback"
        (multipliers with −k_s C − k_d Ċ; `stiffness` in 1/s², `damping` in 1/s) or "penalty" (springs; N/m, N s/m).
    frames : recorded frames a second of simulated time.
    solver : of contact: "gauss_seidel" (real time; stops where the residual of the law of contact is within `tolerance`,
        m/s) or "interior_point" (converges to a residual of `tolerance` times the typical speed of the step).
    iterations : most iterations of the solver in a step; 20 and 1000 if not given, and 400 in joint coordinates.
    tolerance : 1e-6 and 1e-10 if not given.
    stop_unsolved : whether a step whose solver, of contact or of implicit steps of particles, misses its tolerance ends the
        run, with a SimulationError; the report counts such steps in any case.
    threads : how many share the work of time steps with contact; the results are the same, to the last bit. Worth it
        from some thousands of contacts on.
    sleep_after : s; with it bodies that touch, and have all been slower than a hundredth of the size of the smallest a
        second for so long, are stopped and left alone until something else touches them, or the state is changed. Not those
        with joints, springs or forces of their own. Their contacts are not reported. In time steps only.
    impacts : law of impacts where an integration method runs a scene whose bodies touch, by events: "simultaneous",
        "sequential" or "poisson"; see `impact.laws`.
    newton_tolerance, linear_solver, linear_tolerance : of implicit steps of particles: the gradient at which Newton's method
        ends, relative to the forces of the step; "cg" or "direct" (SciPy's sparse LU); the relative residual of the first.
    coordinates : "maximal", the places of the bodies, with joints as constraints, or "joint": what hinges, sliders,
        cylindrical, universal and ball joints leave free, with only loops as constraints; see `Articulation`. Time steps in
        joint coordinates are for robots: all contacts of an island are solved for together, by "gauss_seidel" only, at a
        cost of the square of their number; piles take "maximal". `sleep_after` is not for them. Or
        `GeneralizedCoordinates` of your own, or a function of the scene that makes them.
    constraint_solver : of J W Jᵀ λ = b: "ldl", direct and in linear time, or an iterative one, for comparison and for meshes
        of many loops: "bicgstab", "conjugate_gradient", "minres", "gauss_seidel" or "jacobi", or an `IterativeSolver` with
        its preconditioner, equilibration and tolerance. Not for joint coordinates, nor for hold="penalty", which solve none.
    assemble : close open joints and make velocities consistent first, by the smallest change in the mass metric;
        without it a scene that does not fit is refused.
    controller, control_rate : a function of the run, called at the start and every 1/control_rate s (Hz) from then on,
        which may read the state and set motors; between these instants they are held. A `TimeSeries` is one. Fixed steps
        must divide that time. An exception that it raises ends the run as a SimulationError.

    Methods of fixed steps, time steps among them, end on multiples of `dt`: `time` is then that of the first step that does
    not end before the time asked for, and calls of `advance` add up without drift. Adaptive methods end on that time exactly.

    Raises ValueError for bad arguments and scenes that cannot be run, SimulationError for a run that fails at its start.
    """

    def __init__(
        self,
        scene: Scene | Model,
        *,
        method: str | None = None,
        dt: float | None = None,
        rtol: float = 1e-8,
        atol: float | None = None,
        hold: str = "projection",
        stiffness: float = 0.0,
        damping: float = 0.0,
        frames: float = 60.0,
        solver: str = "gauss_seidel",
        iterations: int | None = None,
        tolerance: float | None = None,
        stop_unsolved: bool = False,
        threads: int = 1,
        sleep_after: float | None = None,
        impacts: str = "simultaneous",
        newton_tolerance: float = 1e-8,
        linear_solver: str = "cg",
        linear_tolerance: float = 1e-4,
        coordinates: str | GeneralizedCoordinates | Callable[[Scene], GeneralizedCoordinates] = "maximal",
        constraint_solver: str | IterativeSolver = "ldl",
        assemble: bool = False,
        controller: Callable[[Simulation], Any] | None = None,
        control_rate: float | None = None,
    ) -> None:
        named = {"method": method, "hold": hold, "solver": solver, "impacts": impacts, "linear_solver": linear_solver}
        require_kinds(named, {"assemble": assemble, "stop_unsolved": stop_unsolved})
        if callable(coordinates):
            coordinates = coordinates(scene.scene if isinstance(scene, Model) else scene)
        placed, coordinates = (None, coordinates) if isinstance(coordinates, str) else (coordinates, "maximal")
        if placed is not None and not isinstance(placed, GeneralizedCoordinates):
            raise TypeError(f"coordinates is {placed!r}; give a name or GeneralizedCoordinates")
        if coordinates not in COORDINATES:
            raise ValueError(f"coordinates is {coordinates!r}; give one of {', '.join(COORDINATES)}")
        joint = coordinates == "joint"
        iterative = iterative_solver(constraint_solver, hold, "generalized" if placed else coordinates)
        if isinstance(scene, Model) and (scene.tree is not None) == joint and not (iterative and len(scene.graph.hubs)):
            self.model = scene
        else:
            scene = scene.scene if isinstance(scene, Model) else scene
            self.model = compile_scene(scene, hubs=not (joint or iterative), coordinates=coordinates)
        self.method = method or (
            TIME_STEPPING if self.model.scene.touching() or self.model.scene.bounded() else "dormand_prince"
        )
        self.frames = positive("frames", frames, "frames a second")
        check_step(dt, self.frames)
        chosen = {
            "dt": dt, "rtol": rtol, "atol": atol, "solver": solver, "iterations": iterations, "tolerance": tolerance,
            "stop_unsolved": stop_unsolved, "threads": threads, "sleep_after": sleep_after, "impacts": impacts,
            "newton_tolerance": newton_tolerance, "linear_solver": linear_solver, "linear_tolerance": linear_tolerance,
        }  # fmt: skip
        if steps_particles(self.model, self.method):
            if joint:
                raise ValueError(
                    f"method {self.method!r} moves particles beside bodies in coordinates='maximal' only; take that, or an "
                    "integration method, such as 'rk4'"
                )
            self.model = compile_scene(self.model.scene, hubs=not iterative, apart=True)
        if placed is not None:
            require_supported(self.model, placed, self.method, hold)
        parts = compiled_parts(self.model, self.method, solver, iterative is not None)
        compile_ahead([*parts, *(placed.compiled_parts if placed else ())])
        if self.model.tree is None and len(self.model.graph.hubs) and redundant(self.model):
            self.model = compile_scene(self.model.scene, hubs=False, apart=bool(self.model.attachments))
        check_hold(hold, stiffness, damping, self.method)
        self._warnings: dict[str, str] = {}
        self._warned: set[str] = set()
        self._sizes = sizes(self.model)
        self.settings = {
            "method": self.method, "dt": dt, "rtol": rtol if dt is None else None, "hold": hold,
            "coordinates": "generalized" if placed else coordinates, "constraint_solver": str(iterative or "ldl"),
        }  # fmt: skip
        self.arguments = {
            **chosen, "method": self.method, "hold": hold, "stiffness": stiffness, "damping": damping, "frames": self.frames,
            "coordinates": placed or coordinates, "constraint_solver": constraint_solver, "assemble": assemble,
            "controller": controller, "control_rate": control_rate,
        }  # fmt: skip
        self._placed, self._iterative, self._stability_known = placed, iterative, False
        self._chosen, self._hold, self._assemble = chosen, (HOLD[hold], stiffness, damping), assemble
        require_answers(self.model)
        require_derivatives(self.model)
        self._y, self._dydt = np.empty(self.model.size), np.empty(self.model.size)
        self._asked, self._lock, self._holder = AskedTime(), threading.Lock(), 0
        self._clock = make_clock(controller, control_rate, dt)
        if self._clock is not None:
            self.settings |= {"controller": self._clock.name, "control_rate": self._clock.rate}
        self.restart()
        if simplified := simplification_message(self.model.scene):
            self.warn(simplified)
        for message in at_the_start(self):
            self.warn(message)

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Go back to the start: the initial state, time 0, an empty record, motors as the scene has them, joints and forces
        that were let go held again. The run that follows is that of a new `Simulation`, to the last bit; nothing is compiled.

        prepare : is given the run first, to change the state it starts from.

        Raises ValueError and SimulationError, as a new one does.
        """
        with self._alone():
            self._begin(prepare)
        return self

    def _begin(self, prepare: Callable[[Simulation], Any] | None) -> None:
        """See `restart`."""
        mechanism = Mechanism(system_of(self.model, self.method))
        self._mechanism: Mechanism = mechanism
        if self.model.tree is not None:
            self._mechanism = JointMechanism(self.model, mechanism)
        elif self._placed is not None:
            self._mechanism = PlacedMechanism(self.model, mechanism, self._placed, self._assemble)
        self._system = mechanism.system
        self._driver = make_driver(self.model, self._mechanism, self.method, self._chosen)
        self._constraint_solver = ConstraintSolver.of(
            self._iterative, self.model, self._system, bool(self._chosen["stop_unsolved"])
        )
        own = self._system.settings[0]
        own.hold, own.stiffness, own.damping = self._hold
        self._y[:] = self.model.initial
        self._dydt[:] = np.nan
        for solver in SOLVERS:
            self._warnings.pop(solver, None)
        for pointer in self.model.pointers:
            pointer.error = None
        self._asked.begin(0.0)
        self.advances: list[float] = []  # durations, s
        self.resumed = False
        self.by_hand: list[str] = []  # what was changed between calls of `advance`
        self._advancing = True  # what a controller does now is not by hand
        self._forget_controls()
        self._advancing = False
        self._spent: set[str] = set()
        self.released: dict[str, float] = {}  # when each joint or force was let go, s
        self.event_times: dict[str, list[float]] = {name: [] for name in self.model.scene.events}  # s
        self._seen: np.ndarray | None = None  # the state when it was lent out
        self._lent = False
        self.kernel_time = 0.0
        self.wall_time = 0.0
        self.interrupted = False
        self.stopped = False
        if prepare is not None:
            prepare(self)
            self._changed_by_hand("the start")
        self._seen = None
        self.recorder = Recorder(self.model, self._mechanism)
        self._begun_from: checkpoint.Checkpoint | None = None  # what a resumed run began from
        self._at_frame: checkpoint.Snapshot | None = None  # of a frame, the last one where frames take long
        self._snapshot_due = 0.0  # s
        try:
            status = set_out(self.model, self._mechanism, self._y, self._dydt, self._assemble)
            if status == OK:
                status = look_at_events(self.model, self._y)
            if status == OK:
                status = self._run(0.0)  # loads the driver, so that the time of the first step is a step's
            if status != OK:
                raise failure(self, status)
            self.kernel_time = 0.0
            self._record()
        except SimulationError:
            self.recorder.record_unknown(self.time, self._y)
            raise

    # Running ----------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._driver.time

    @property
    def state(self) -> State:
        """Named arrays of the current state; what is written to them changes the run."""
        self._lent = True
        if self._seen is None:
            self._seen = self._y[: -ledger_size(self.model)].copy()
        return State(self.model, self._y, self.time)

    def changed(self) -> None:
        """The state was changed from outside (an impulse): forget what was derived from it. A run does so by itself when it
        goes on after `state` was written to. Raises ValueError for a state that is not finite."""
        State(self.model, self._y, self.time).check()
        self._seen = None
        self._driver.changed()
        self._changed_by_hand("the state")

    def _notice_changes(self) -> None:
        """Do what `changed` does if the state was written to."""
        if self._seen is not None:
            if not np.array_equal(self._seen, self._y[: -ledger_size(self.model)]):
                self.changed()
            self._seen = None

    def _changed_by_hand(self, what: str) -> None:
        """Remember that something was changed which a run of the same scene and settings would not change."""
        if not self._advancing and len(self.by_hand) < 20:
            self.by_hand.append(f"{what} at t = {self.time:.9g} s")

    def advance(self, duration: float, *, progress: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Run on for `duration` seconds, recording frames; `progress` is called after each.

        Durations add up exactly: what a fixed step goes beyond the time asked for is taken from the next call, which may then
        have no step to make. Frames are recorded at multiples of their interval, and at the end of each call.

        Raises SimulationError where the run fails, and KeyboardInterrupt on Ctrl-C; the attribute `simulation` of either is
        this run. All that was recorded is kept, and after Ctrl-C the run can go on. Raises ValueError for a duration that is
        not a finite number above zero, and RuntimeError where the run is being advanced already: by another thread, or
        because one of its own functions asks for it.
        """
        seconds = positive("duration", duration, "s")
        with self._alone():
            self.advances.append(seconds)
            self._go_on(self._asked.add(seconds), progress)
        return self

    def advance_frame(self) -> Simulation:
        """Run on to the next frame and record it. Raises as `advance` does."""
        with self._alone():
            end = next_frame(self.time, self.frames)
            self._asked.begin(end)
            self._go_on(end, None)
        return self

    def _go_on(self, end: float, progress: Callable[[Simulation], Any] | None) -> None:
        """Run until `end` (s), frame by frame."""
        start, done = time.perf_counter(), self.time
        self._notice_changes()
        self._warn_before(end - done)
        self._advancing = True
        try:
            with interrupt.deferred():
                while done < end - slack(end) and not self.stopped:
                    target = next_stop(done, self.frames, end)
                    self._to(target)
                    done = max(target, self.time)
                    if progress is not None:
                        interrupt.call(progress, self)
                    interrupt.poll()
        except BaseException as error:
            self._asked.begin(self.time)
            if isinstance(error, KeyboardInterrupt):
                self.interrupted = True
                error.simulation = self  # type: ignore[attr-defined]
            raise
        finally:
            self._advancing = False
            self.wall_time += time.perf_counter() - start
        if self._lent:
            self._seen = self._y[: -ledger_size(self.model)].copy()
        self._warn_after()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a second call while the tables of the run are in use."""
        if not self._lock.acquire(blocking=False):
            if self._holder == threading.get_ident():
                raise RuntimeError(
                    "a controller, or another function of a run, cannot advance the run that calls it; return, and it goes on"
                )
            raise RuntimeError(
                "this Simulation is being advanced by another thread; give each thread a Simulation of its own, or use "
                "run_batch or sweep"
            )
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._lock.release()

    @property
    def warnings(self) -> list[str]:
        """What is doubtful of this run so far; each was issued as a `SimulationWarning`, too."""
        return list(self._warnings.values())

    def warn(self, message: str, about: str | None = None) -> None:
        """Issue a `SimulationWarning` about this run and list it in the report; once, or once for what it is `about`, of
        which the report has the last message."""
        self._warnings[about or message] = message
        if (about or message) not in self._warned:
            self._warned.add(about or message)
            warn(message)

    def _warn_before(self, duration: float) -> None:
        """Look at what can be told before a stretch of `duration` seconds."""
        changed = changed_since(self.model, self._sizes)
        if changed is not None:
            self.warn(changed)
        if not self._stability_known and self.settings["dt"] is not None:
            self._stability_known = True
            found = stability_warning(self, duration)
            if found is not None:
                self.warn(found)

    def _warn_after(self) -> None:
        """Look at what the steps so far tell."""
        for about, message in of_the_steps(self):
            self.warn(message, about)

    def _to(self, target: float) -> None:
        """Integrate to one frame and record it, stopping at events and where the controller is called on the way."""
        while True:
            self._notice_changes()
            stop = self._held_until(target)
            self._notice_changes()
            status = self._run(stop)
            if status == EVENT:
                happen(self, self.model.events[self._driver.event])
                if self.stopped:
                    break
            elif status != OK:
                raise failure(self, status)
            elif stop >= target:
                break
            if self.time >= target:
                break
        if self.time > self.recorder.frames["time"][-1]:
            self._record()

    def _run(self, target: float) -> int:
        start = time.perf_counter()
        try:
            status = self._driver.run(self._y, self._dydt, target)
        except NoSolution as error:
            raise failure(self, str(error)) from error
        finally:
            self.kernel_time += time.perf_counter() - start
        return status

    def _record(self) -> None:
        """Record a frame. Raises SimulationError where there is nothing to record."""
        recorded = self.recorder.record(self.time, self._y, self._driver.frame())
        if raised(self.model) is not None or not recorded:
            raise failure(self, NON_FINITE)
        self.recorder.keep({**self._effort_frame(), **self._joint_frame()})
        if self._constraint_solver is not None:
            self.recorder.keep(self._constraint_solver.frame())
        if time.perf_counter() > self._snapshot_due:  # where frames are quick, a run is interrupted between two
            self._at_frame = checkpoint.snapshot(self)
            self._snapshot_due = time.perf_counter() + SNAPSHOT_EVERY

    def release(self, name: str) -> None:
        """Let a joint or a force go, from now on."""
        if isinstance(self._mechanism, PlacedMechanism):
            self._mechanism.require_force(name)
        self.released[name] = self.time
        self._changed_by_hand(f"{name!r} let go")
        if name in self.model.attachment_names and isinstance(self._driver, ParticleStepping):
            self._driver.let_go(self.model.attachment_names.index(name))
        else:
            release(self.model, self._system, name)
        self.changed()

    # Results ----------------------------------------------------------------------------------------------------------

    @property
    def report(self) -> Report:
        """The table of the run so far."""
        self._warn_after()
        return make_report(self)

    @property
    def trajectory(self) -> Trajectory:
        """Everything recorded so far."""
        from . import __version__

        attrs = {
            "scene": self.model.name,
            "method": self.method,
            "settings": json.dumps(self.settings),
            "version": __version__,
            "scene_json": as_json(scene_description(self.model.scene, self.released)),
            "report_json": as_json(self.report.as_dict()),
        }
        found = provenance(self)
        attrs |= {"provenance_json": as_json(found), "final_state_hash": found["final_state_hash"]}
        trajectory = self.recorder.trajectory(attrs, self._joint_units())
        at_frame = self._checkpoint()
        if at_frame is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.NOW, at_frame)
        if self._begun_from is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.START, self._begun_from)
        return trajectory

    def _checkpoint(self) -> checkpoint.Checkpoint | None:
        """What a run needs to go on from the last frame."""
        found, last = self._at_frame, self.recorder.frames["state"][-1].tobytes()
        if found is None:
            return None  # it failed at its start
        if self._y.tobytes() == last and self.time == self.recorder.frames["time"][-1]:
            found = checkpoint.snapshot(self)
        elif found.fields[0].values.tobytes() != last:
            return None
        return checkpoint.of_snapshot(self, found)

    @property
    def plot(self) -> Plots:
        """Figures of the run so far with matplotlib: ``run.plot.energy()``, ``.phase("bob")`` and others."""
        return self.trajectory.plot

    def resume(self, trajectory: Trajectory) -> Simulation:
        """Go on from the last state of a saved run of the same scene.

        With the same settings the run that follows has the bits of one that was never stopped. What functions of the user's
        keep for themselves (a controller's memory) is not in the file. With other settings, or where the file has the state
        alone (an older version wrote it, or it was cut), it goes on near to that; the latter is warned of.

        Raises ValueError for a run of another scene, and TrajectoryError for a file whose contents cannot be.
        """
        y = np.asarray(trajectory.last_state, float)
        if y.shape != self._y.shape:
            raise ValueError(
                f"the saved run has {y.size} numbers in its state and this scene {self._y.size}; resume the same scene"
            )
        with self._alone():
            try:
                found = checkpoint.detach(trajectory.dataset, checkpoint.NOW)
                self._go_on_from(float(trajectory.times[-1]), y, trajectory.last_joint_coordinates, found)
            except CheckpointError as error:
                raise TrajectoryError(str(error)) from None
        return self

    def _go_on_from(
        self, time: float, y: np.ndarray, turns: dict[str, float], found: checkpoint.Checkpoint | None
    ) -> None:
        """Begin a record at a state, with what else is known of it; turns: coordinates of joints there. Raises
        CheckpointError."""
        self._y[:] = y
        self._seen = None
        self._driver.restart(time)
        self._asked.begin(time)
        self._forget_controls()
        self._recall_turns(turns)
        self.advances, self.resumed, self._begun_from = [], True, None
        if found is None or not checkpoint.of_state(found, y):
            self.warn(
                "the saved run has its last state alone, without what a run remembers from step to step: what goes on from "
                "it is near to a run that was never stopped, but has other bits"
            )
        elif checkpoint.same_settings(self, found):
            checkpoint.put_back(self, found)
            self._begun_from = found
        self.recorder = Recorder(self.model, self._mechanism)
        self._record()


SETTINGS = tuple(name for name in inspect.signature(Simulation).parameters if name != "scene")


def simulate(scene: Scene | Model, duration: float, **settings: Any) -> Simulation:
    """Run a scene for `duration` seconds and return the finished `Simulation`; see it for the settings.

    Raises ValueError, SimulationError and KeyboardInterrupt, as `Simulation.advance` does; the attribute `simulation` of the
    last two is the run as far as it came.

    >>> import dalembert as dal
    >>> scene = dal.Scene("falling")
    >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    >>> run = dal.simulate(scene, 1.0, method="rk4", dt=0.01)
    >>> round(float(run.state.position[0, 2]), 9)
    -4.905
    """
    return Simulation(scene, **settings).advance(duration)
