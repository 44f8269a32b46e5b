"""`Simulation`: a scene, its state and the method that advances it. `simulate` runs one from start to end.

`setup` chooses model, method and coordinates from the arguments; `run` has the loop over frames, `results` the
report, trajectory and checkpoints, `control` motors and controllers, and `inspection` contacts, rays and tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Unpack

import numpy as np

from ..core.calls import ExplainsNames, explain_calls
from ..core.keywords import with_keywords
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import renamed_keywords
from ..core.status import OK
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..linalg.iterative import IterativeSolver
from ..model.compile import Model, compile_scene
from ..scene.scene import Scene
from ..scene.scene_warnings import simplification_message
from ..sensors.sampling import Sensors
from ..symbolic import GeneralizedCoordinates
from ..symbolic.mechanism import PlacedMechanism
from . import checkpoint
from .agreement import require_answers, require_derivatives
from .clock import AskedTime
from .constraint_system import ConstraintSolver
from .control import Controls, make_clock
from .errors import SimulationError, failure
from .initial_conditions import HOLD, check_hold, ledger_size, look_at_events, redundant, release, set_out
from .inspection import Inspection
from .live import Live
from .motions import Motions, require_no_motions
from .precompile import precompile
from .recording import Recorder
from .registry import Method, positive, require_kinds
from .results import Results
from .run import Advancing, Course, Turn
from .run_warnings import SUBJECTS, at_the_start
from .settings import ConstraintSolverName, Coordinates, Hold, MethodName, MethodOptions, Settings
from .setup import require_known, set_up, with_method_options
from .state import LIVE_ENTRIES, Named, State, name_of

HINTS = {
    ("step", "dt"): "dt is a setting of Simulation; step(n) makes n steps",
    ("step", "duration"): "use advance(duration), in s",
    ("advance", "steps"): "use step(n)",
    ("advance", "time"): "give duration=, in s",
}
"""(method, keyword that people expect there) → what to write instead."""


@explain_calls(HINTS, ("step", "advance", "release", "set_motor", "set_motion", "contact_force", "restart", "reset"))
@with_method_options
class Simulation(Advancing, Results, Controls, Motions, Inspection, Live, ExplainsNames):
    """A run of a scene, which you can step, read and change.

    Parameters
    ----------
    scene : Scene, or a compiled Model. The run is of the scene as it is now; changes of it later have no effect.
    method : a `RungeKutta`, `Events`, `TimeStepping` or `ImplicitParticles` with its options, or the name of a method,
        with its options as keywords here. Default: "time_stepping" if bodies collide or joints have stops, dry friction
        or ideal motors, else "dormand_prince".
    dt, rtol, atol, impacts, solver, iterations, tolerance, threads, sleep_after : options of a method that is passed by
        name, and newton_tolerance, linear_tolerance and linear_solver for particles: see these classes. An option that
        the method does not have is ignored with a warning (threads and the options of particles are ignored without
        one). If you omit dt, "time_stepping" and the implicit methods choose it from sizes, speeds and stiffness at the
        start; the report states the choice and the reason.
    hold : how joints are enforced: "projection" (Lagrange multipliers, and projection of the state onto the constraints
        after each step), "feedback" (multipliers with −k_s C − k_d Ċ; `stiffness` in 1/s², `damping` in 1/s) or
        "penalty" (springs; N/m, N s/m).
    frame_rate : recorded frames per second of simulated time, Hz.
    stop_unsolved : whether a step whose solver (for contact, implicit particles or constraints) misses its tolerance
        ends the run with a SimulationError. The report always counts such steps.
    coordinates : "maximal", the poses of all bodies, with joints as constraints; or "joint", the coordinates of hinges,
        sliders, cylindrical, universal and ball joints, with only loops as constraints (see `Articulation`); or your
        own `GeneralizedCoordinates`, or a function of the scene that returns them. Time stepping in joint coordinates
        is for robots and the objects that they touch. Use "maximal" for piles.
    constraint_solver : solver for J W Jᵀ λ = b: "ldl", direct and in linear time, or an iterative solver, for
        comparison and for meshes of many loops: "bicgstab", "conjugate_gradient", "minres", "gauss_seidel" or "jacobi",
        or an `IterativeSolver` with its preconditioner, equilibration and tolerance. Joint coordinates and
        hold="penalty" take "ldl" only.
    assemble : close open joints and make velocities consistent first, by the smallest change in the mass metric.
        Without it a scene with open joints is rejected.
    contact_points : whether frames record the contact points, 76 bytes each (see `Trajectory.contact_points`). Above
        two million points they are recorded in every second frame only, then every fourth and so on, with a warning.
    controller, control_rate : a function of the run that can read the state and set motors, and its rate, Hz. It is
        called at the start and every 1/control_rate s; inputs of motors are constant in between. A `TimeSeries` is a
        controller. Fixed steps must divide this interval. If it raises an exception, the run ends with a
        SimulationError.

    Methods with fixed steps end on multiples of `dt`: `time` is the end of the first step that reaches the requested
    time, and calls of `advance` add up without drift. Adaptive methods end exactly at the requested time.

    Raises ValueError for invalid arguments and scenes that cannot be run, and SimulationError if the run fails at its
    start.
    """

    _hints: ClassVar[dict[str, str]] = {
        "run": "use advance(duration), in s",
        "simulate": "use advance(duration), in s",
        "save": "use trajectory.save(path)",
        "load": "use dal.Trajectory.load(path), and resume(trajectory)",
        "position": 'use sim["name"].position now, or trajectory.position for all frames',
        "velocity": 'use sim["name"].velocity now, or trajectory.velocity for all frames',
        "apply_force": 'use sim["name"].apply_force(...)',
        "apply_torque": 'use sim["name"].apply_torque(...)',
        "apply_impulse": 'use sim["name"].apply_impulse(...)',
        "bodies": "use model.body_names for the names, and sim[name] for a body",
        "energy": "use report, trajectory.kinetic or trajectory.potential",
        "times": "use trajectory.times",
        "save_picture": "use trajectory.save_picture(path)",
        "save_movie": "use trajectory.save_movie(path)",
        "save_report": "use trajectory.save_report(path)",
        "show": "use dal.show(run)",
    }

    model: Model
    method: str
    frame_rate: float
    settings: dict[str, Any]
    arguments: dict[str, Any]
    recorder: Recorder
    sensors: Sensors  # name → `Reading`, with all samples
    kernel_time: float
    wall_time: float

    @renamed_keywords(**RENAMED)
    def __init__(
        self,
        scene: Scene | Model,
        *,
        method: MethodName | Method | None = None,
        hold: Hold = "projection",
        stiffness: float = 0.0,
        damping: float = 0.0,
        frame_rate: float = 60.0,
        stop_unsolved: bool = False,
        coordinates: Coordinates | GeneralizedCoordinates | Callable[[Scene], GeneralizedCoordinates] = "maximal",
        constraint_solver: ConstraintSolverName | IterativeSolver = "ldl",
        assemble: bool = False,
        contact_points: bool = True,
        controller: Callable[[Simulation], Any] | None = None,
        control_rate: float | None = None,
        **options: Unpack[MethodOptions],
    ) -> None:
        require_known(options)
        named = {"method": None if isinstance(method, Method) else method, "hold": hold}
        require_kinds(named, {"assemble": assemble, "stop_unsolved": stop_unsolved, "contact_points": contact_points})
        self.frame_rate = positive("frame_rate", frame_rate, "Hz")
        setup = set_up(scene, method, options, coordinates, constraint_solver, hold, self.frame_rate, control_rate)
        self.model, self._method, self.method = setup.model, setup.method, setup.method.name
        self._generalized, self._iterative = setup.generalized, setup.iterative
        check_hold(hold, stiffness, damping, self._method)
        if self._generalized:
            require_no_motions(self.model)
        precompile(setup.kernels)
        if self.model.tree is None and len(self.model.graph.hubs) and redundant(self.model):
            self.model = compile_scene(self.model.scene, hubs=False, apart=bool(self.model.attachments))
        self._warnings: dict[str, str] = {}
        self._warned: set[str] = set()
        dt, rtol = setup.options["dt"], setup.options["rtol"]
        self.settings = {
            "method": self.method, "dt": dt, "rtol": rtol if dt is None else None, "hold": hold,
            "coordinates": "generalized" if self._generalized else setup.coordinates,
            "constraint_solver": str(self._iterative or "ldl"),
        }  # fmt: skip
        self.arguments = {
            **setup.options, "stop_unsolved": stop_unsolved, "method": self.method, "hold": hold, "stiffness": stiffness,
            "damping": damping, "frame_rate": self.frame_rate, "coordinates": self._generalized or setup.coordinates,
            "constraint_solver": constraint_solver, "assemble": assemble, "contact_points": bool(contact_points),
            "controller": controller, "control_rate": control_rate,
        }  # fmt: skip
        if setup.choice is not None:
            self.settings["dt_chosen"] = str(setup.choice)
        self._contact_points = bool(contact_points)
        self._stability_known, self._stop_unsolved = False, bool(stop_unsolved)
        self._hold, self._assemble = (HOLD[hold], stiffness, damping), assemble
        require_answers(self.model)
        require_derivatives(self.model)
        self._compiled = self.model
        self._room = (np.zeros(self.model.size + len(LIVE_ENTRIES)), np.zeros(self.model.size + len(LIVE_ENTRIES)))
        self._handles: dict[Any, Any] = {}
        self._asked, self._turn, self._course = AskedTime(), Turn(), Course(self)
        self._clock = make_clock(controller, control_rate, dt)
        if self._clock is not None:
            self.settings |= {"controller": self._clock.name, "control_rate": self._clock.rate}
        self.restart()
        if simplified := simplification_message(self.model.scene):
            self.warn(simplified)
        for message in at_the_start(self):
            self.warn(message)

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Go back to the initial state, at time 0, with an empty record. Motors are reset, and released joints and
        forces are active again. The run that follows has the same bits as a new `Simulation`, and nothing is
        recompiled.

        prepare : a function of the run that can change its initial state.

        Raises the same errors as `Simulation`.
        """
        with self._turn:
            self._begin(prepare)
        return self

    def _begin(self, prepare: Callable[[Simulation], Any] | None) -> None:
        """Make tables and stepper anew, and record the first frame; see `restart`."""
        self.model, self._wrenches = self._compiled, None
        self._size_state()
        self._make_tables()
        self._begin_record(prepare)

    def _size_state(self) -> None:
        """Let y and dydt be as long as the state of the model. What they have at the front stays, where `state` sees it."""
        self._y, self._dydt = (room[: self.model.size] for room in self._room)

    def _make_tables(self) -> None:
        """Make the tables of the model, and its stepper."""
        mechanism = Mechanism(self._method.system(self.model))
        self._mechanism: Mechanism = mechanism
        if self.model.tree is not None:
            self._mechanism = JointMechanism(self.model, mechanism)
        elif self._generalized is not None:
            self._mechanism = PlacedMechanism(self.model, mechanism, self._generalized, self._assemble)
        self._system = mechanism.system
        self._driver: Stepper = self._method.make_stepper(self.model, self._mechanism, self._stop_unsolved)
        self._constraint_solver = ConstraintSolver.of(self._iterative, self.model, self._system, self._stop_unsolved)
        own = self._system.settings[0]
        own.hold, own.stiffness, own.damping = self._hold
        self.sensors = self._make_sensors()

    def _begin_record(self, prepare: Callable[[Simulation], Any] | None) -> None:
        """Set the initial state, forget all that happened, and record the first frame."""
        self._y[:] = self.model.initial
        self._dydt[:] = np.nan
        for subject in SUBJECTS:
            self._warnings.pop(subject, None)
        for pointer in self.model.pointers:
            pointer.error = None
        self._asked.begin(0.0)
        self.advances: list[float] = []  # durations, s
        self.resumed = False
        self.by_hand: list[str] = []  # changes between calls of `advance`, which a replay cannot repeat
        self._stepped_from, self._unrecorded, self._in_controller = None, False, False
        self._advancing = True  # what a controller does now is part of the run
        self._forget_controls()
        self._advancing = False
        self._spent: set[str] = set()
        self.released: dict[str, float] = {}  # joint or force → when it was released, s
        self.event_times: dict[str, list[float]] = {name: [] for name in self.model.scene.events}  # s
        self._seen: np.ndarray | None = None  # the state when the user last got access to it
        self._audited = True  # whether the ledger has all that changed the energy
        self._lent = False
        self.kernel_time = 0.0
        self.wall_time = 0.0
        self.interrupted = False
        self.stopped = False
        self._failure: tuple[int | None, str] | None = None  # status and message of the error that ended the run
        if prepare is not None:
            prepare(self)
            self._changed_by_hand("the start")
        self._seen, self._audited = None, True
        self.recorder = Recorder(self.model, self._mechanism, self._contact_points)
        self._begun_from: checkpoint.Checkpoint | None = None  # that a resumed run began from
        self._at_frame: checkpoint.Snapshot | None = None  # of a frame, the last one where frames take long
        self._snapshot_due = 0.0  # s
        try:
            status = set_out(self.model, self._mechanism, self._y, self._dydt, self._assemble)
            if status == OK:
                status = look_at_events(self.model, self._y)
            if status == OK:
                status = self._run(0.0)  # loads the kernel, so that the first step is not timed with it
            if status != OK:
                raise failure(self, status)
            self.kernel_time = 0.0
            self._record()
        except SimulationError:
            self.recorder.record_unknown(self.time, self._y)
            raise

    def _make_sensors(self) -> Sensors:
        """The sensors of the scene, without samples."""
        return Sensors(
            self.model, self._mechanism, lambda: self._method.system(self.model),
            lambda mechanism: self._method.make_stepper(self.model, mechanism, False),
            lambda: (self.time, self._y, self._driver), self.joint_state,
        )  # fmt: skip

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._driver.time

    @property
    def state(self) -> State:
        """Named arrays of the current state; writing to them changes the run."""
        self._lent = True
        if self._seen is None:
            self._seen = self._y[: -ledger_size(self.model)].copy()
        return State(self.model, self._y, self.time, self._system.commands)

    def changed(self) -> None:
        """Discard all values that were computed from the state. Call it after changing the state in other ways than by
        `state`, which calls it automatically. Raises ValueError for a state that is not finite."""
        self._audited = False
        self._take_change()

    def _take_change(self) -> None:
        """The same for a change whose energy is in the ledger."""
        State(self.model, self._y, self.time).check()
        self._seen = None
        self._driver.changed()
        self.sensors.changed()
        self._changed_by_hand("the state")

    def _notice_changes(self) -> None:
        """Call `changed` if the state was written to."""
        if self._seen is not None:
            if not np.array_equal(self._seen, self._y[: -ledger_size(self.model)]):
                self.changed()
            self._seen = None

    def _changed_by_hand(self, what: str) -> None:
        """Note a change that a run of the same scene with the same settings would not make."""
        if not self._advancing and len(self.by_hand) < 20:
            self.by_hand.append(f"{what} at t = {self.time:.9g} s")

    def release(self, name: str | Named) -> None:
        """Release a joint or a force: from now on it does not act. Raises ValueError for an unknown name."""
        name = name_of(name, self.model.scene)
        if isinstance(self._mechanism, PlacedMechanism):
            self._mechanism.require_force(name)
        attachments = self.model.attachment_names
        if name not in attachments or not self._driver.let_go(attachments.index(name)):
            release(self.model, self._system, name)
        self.released[name] = self.time
        self._changed_by_hand(f"{name!r} let go")
        self.changed()


def setting_names() -> list[str]:
    """The keywords of `Simulation`, with the options of all methods."""
    return [name for name in inspect.signature(Simulation).parameters if name != "scene"]


@renamed_keywords(**RENAMED)
@with_keywords(Settings, Simulation)
def simulate(scene: Scene | Model, duration: float, **settings: Unpack[Settings]) -> Simulation:
    """Run a scene for `duration` seconds and return the finished `Simulation`. Its docstring explains the settings.

    Raises ValueError, SimulationError and KeyboardInterrupt, like `Simulation.advance`. The attribute `simulation` of
    the last two is the run, with all frames until then.

    >>> import dalembert as dal
    >>> scene = dal.Scene("falling")
    >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    >>> run = dal.simulate(scene, 1.0, method="rk4", dt=0.01)
    >>> round(float(run.state.position[0, 2]), 9)
    -4.905
    """
    return Simulation(scene, **settings).advance(duration)
