"""`Simulation`: a model, its state and what steps it. `simulate` runs one from start to end."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack, get_type_hints

import numpy as np

from ..collide.detect import DETECT_ENTRY as DETECT
from ..collide.detect import kinds_of
from ..collide.narrow_phase import BY_FAMILY, families
from ..core.jit import CFunction
from ..core.status import OK
from ..dynamics.forces import read_coordinates
from ..dynamics.joint_space.loops import LOOPS_ENTRY as CLOSED
from ..dynamics.joint_space.mechanism import TREE_ENTRY as JOINT
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import MECHANISM_ENTRY as MECHANICS
from ..dynamics.mechanism import SPECIAL_ENTRY as SPECIAL
from ..dynamics.mechanism import Mechanism, is_special, on_particles
from ..integrate.stepper import Stepper
from ..linalg.iterative import IterativeSolver
from ..linalg.krylov import ITERATE_ENTRY as ITERATE
from ..model.compile import Model, compile_scene
from ..scene.scene import Scene
from ..scene.scene_warnings import simplification_message
from ..symbolic import GeneralizedCoordinates
from ..symbolic.mechanism import PlacedMechanism, require_supported
from . import checkpoint
from .agreement import require_answers, require_derivatives
from .checkpoint import AskedTime
from .constraint_system import ConstraintSolver, iterative_solver
from .control import Controls, make_clock
from .errors import SimulationError, failure
from .initial_conditions import HOLD, check_hold, ledger_size, look_at_events, redundant, release, set_out
from .inspection import Inspection
from .methods import RungeKutta
from .methods.contact import TIME_STEPPING
from .precompile import precompile
from .recording import Recorder
from .registry import Method, check_step, method_of, option_defaults, positive, require_kinds
from .run import Advancing, Results
from .run_warnings import SOLVERS, at_the_start, sizes
from .state import State

# ----------------------------------------------------------------------------------------------------------------------
# What a run is made of: its model, method and coordinates, from what the user asked for.


COORDINATES = ("maximal", "joint")
Class = TypeVar("Class", bound=type)


class MethodOptions(TypedDict, total=False):
    """Options of methods as keywords of `Simulation`, for type checkers; see `RungeKutta`, `Events`, `TimeStepping` and
    `ImplicitParticles`."""

    dt: float | None
    rtol: float
    atol: float | None
    impacts: str
    solver: str
    iterations: int | None
    tolerance: float | None
    threads: int
    sleep_after: float | None
    newton_tolerance: float
    linear_tolerance: float
    linear_solver: str


class Setup(NamedTuple):
    """What a run is made of.

    placed : coordinates of the user's. iterative : an iterative solver of constraints. chosen : every option of a method,
    with its default where it was not given.
    """

    model: Model
    method: Method
    placed: GeneralizedCoordinates | None
    coordinates: str
    iterative: IterativeSolver | None
    chosen: dict[str, Any]

    @property
    def kernels(self) -> list[CFunction]:
        """What the run is compiled of."""
        own = compiled_parts(self.model, self.method, self.iterative is not None)
        return [*own, *(self.placed.compiled_parts if self.placed else ())]


def set_up(
    scene: Scene | Model, method: str | Method | None, options: Mapping[str, Any], coordinates: Any, constraint_solver: Any,
    hold: str, frames: float,
) -> Setup:  # fmt: skip
    """Compile the scene, and find its method and coordinates. Raises ValueError and TypeError, as `Simulation` does."""
    if callable(coordinates):
        coordinates = coordinates(scene.scene if isinstance(scene, Model) else scene)
    placed, coordinates = (None, coordinates) if isinstance(coordinates, str) else (coordinates, "maximal")
    if placed is not None and not isinstance(placed, GeneralizedCoordinates):
        raise TypeError(f"coordinates is {placed!r}; give a name or GeneralizedCoordinates")
    if coordinates not in COORDINATES:
        raise ValueError(f"coordinates is {coordinates!r}; give one of {', '.join(COORDINATES)}")
    joint = coordinates == "joint"
    iterative = iterative_solver(constraint_solver, hold, "generalized" if placed else coordinates)
    model = _compiled(scene, joint, iterative is not None, coordinates)
    check_step(method.options.get("dt") if isinstance(method, Method) else options.get("dt"), frames)
    stepping = method_of(method or default_method(model), options)
    if stepping.steps_particles(model):
        if joint:
            raise ValueError(
                f"method {stepping.name!r} moves particles beside bodies in coordinates='maximal' only; use that, or an "
                "integration method, such as 'rk4'"
            )
        model = compile_scene(model.scene, hubs=not iterative, apart=True)
    if placed is not None:
        require_supported(model, placed, stepping.name, hold)
    return Setup(model, stepping, placed, coordinates, iterative, option_defaults() | dict(options) | stepping.options)


def _compiled(scene: Scene | Model, joint: bool, iterative: bool, coordinates: str) -> Model:
    """The model of a scene, or the one given where it has these coordinates."""
    if isinstance(scene, Model):
        if (scene.tree is not None) == joint and not (iterative and len(scene.graph.hubs)):
            return scene
        scene = scene.scene
    return compile_scene(scene, hubs=not (joint or iterative), coordinates=coordinates)


def default_method(model: Model) -> str:
    """The method of a scene for which none is given."""
    return TIME_STEPPING if model.scene.touching() or model.scene.bounded() else RungeKutta.name


def compiled_parts(model: Model, method: Method, iterates: bool) -> list[CFunction]:
    """What a run of the model is compiled of; `iterates`: with an iterative solver of its constraint system."""
    parts: list[CFunction] = [MECHANICS, *([ITERATE] if iterates else [])]
    particles = model.particles
    parts += [SPECIAL] if is_special(model.tables, model.graph.hubs) else []
    parts += filter(None, on_particles(particles.fields, particles.sets, particles.laws))
    if model.tree is not None:
        parts += [JOINT, *([CLOSED] if model.graph.rows else [])]
    elif model.scene.joints:
        parts += [read_coordinates]
    bodies_collide = model.scene.touching() and (model.body_names or not method.steps_particles(model))
    if bodies_collide:
        parts += [DETECT, *dict.fromkeys(BY_FAMILY[family][1] for family in families(kinds_of(model.scene)))]
    return [*parts, *method.compiled(model)]


def with_method_options(owner: Class) -> Class:
    """Give a class whose `__init__` takes `**options` the signature that names them, for `help` and `inspect`."""
    own = list(inspect.signature(owner).parameters.values())
    hints, defaults = get_type_hints(MethodOptions), option_defaults()
    first = next(i for i, each in enumerate(own) if each.name == "method") + 1
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints.get(name, Any))
        for name, default in defaults.items()
    ]
    rest = [each for each in own[first:] if each.kind != inspect.Parameter.VAR_KEYWORD]
    owner.__signature__ = inspect.Signature([*own[:first], *options, *rest])  # type: ignore[attr-defined]
    return owner


def require_known(options: Mapping[str, Any]) -> None:
    """Raises TypeError for a keyword that `Simulation` does not have, and ValueError for a name that is no text."""
    known = option_defaults()
    for name in options:
        if name not in known:
            raise TypeError(
                f"Simulation() got an unexpected keyword argument {name!r}; options of methods are {', '.join(known)}"
            )
    require_kinds({name: value for name, value in options.items() if isinstance(known[name], str)}, {})


# ----------------------------------------------------------------------------------------------------------------------


@with_method_options
class Simulation(Advancing, Results, Controls, Inspection):
    """A run in progress.

    Parameters
    ----------
    scene : Scene, or a compiled Model.
    method : how the run is stepped: a `RungeKutta`, `Events`, `TimeStepping` or `ImplicitParticles` with its options, or the
        name of a method, whose options are then keywords here. If not given: "time_stepping" for scenes whose bodies collide
        or whose joints have stops, dry friction or ideal motors, else "dormand_prince".
    dt, rtol, atol, impacts, solver, iterations, tolerance, threads, sleep_after : options of a method given by name, and of
        particles newton_tolerance, linear_tolerance and linear_solver: see these classes. An option that the method does not
        have is not used, and a warning says so (but of threads and of those of particles).
    hold : "projection" (Lagrange multipliers, and the state put back on the constraints after each step), "feedback"
        (multipliers with −k_s C − k_d Ċ; `stiffness` in 1/s², `damping` in 1/s) or "penalty" (springs; N/m, N s/m).
    frames : recorded frames a second of simulated time.
    stop_unsolved : whether a step whose solver, of contact, of implicit steps of particles or of constraints, misses its
        tolerance ends the run, with a SimulationError; the report counts such steps in any case.
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
        method: str | Method | None = None,
        hold: str = "projection",
        stiffness: float = 0.0,
        damping: float = 0.0,
        frames: float = 60.0,
        stop_unsolved: bool = False,
        coordinates: str | GeneralizedCoordinates | Callable[[Scene], GeneralizedCoordinates] = "maximal",
        constraint_solver: str | IterativeSolver = "ldl",
        assemble: bool = False,
        controller: Callable[[Simulation], Any] | None = None,
        control_rate: float | None = None,
        **options: Unpack[MethodOptions],
    ) -> None:
        require_known(options)
        named = {"method": None if isinstance(method, Method) else method, "hold": hold}
        require_kinds(named, {"assemble": assemble, "stop_unsolved": stop_unsolved})
        self.frames = positive("frames", frames, "frames a second")
        found = set_up(scene, method, options, coordinates, constraint_solver, hold, self.frames)
        self.model, self._method, self.method = found.model, found.method, found.method.name
        self._placed, self._iterative = found.placed, found.iterative
        check_hold(hold, stiffness, damping, self._method)
        precompile(found.kernels)
        if self.model.tree is None and len(self.model.graph.hubs) and redundant(self.model):
            self.model = compile_scene(self.model.scene, hubs=False, apart=bool(self.model.attachments))
        self._warnings: dict[str, str] = {}
        self._warned: set[str] = set()
        self._sizes = sizes(self.model)
        dt, rtol = found.chosen["dt"], found.chosen["rtol"]
        self.settings = {
            "method": self.method, "dt": dt, "rtol": rtol if dt is None else None, "hold": hold,
            "coordinates": "generalized" if self._placed else found.coordinates,
            "constraint_solver": str(self._iterative or "ldl"),
        }  # fmt: skip
        self.arguments = {
            **found.chosen, "stop_unsolved": stop_unsolved, "method": self.method, "hold": hold, "stiffness": stiffness,
            "damping": damping, "frames": self.frames, "coordinates": self._placed or found.coordinates,
            "constraint_solver": constraint_solver, "assemble": assemble, "controller": controller,
            "control_rate": control_rate,
        }  # fmt: skip
        self._stability_known, self._stop_unsolved = False, bool(stop_unsolved)
        self._hold, self._assemble = (HOLD[hold], stiffness, damping), assemble
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
        mechanism = Mechanism(self._method.system(self.model))
        self._mechanism: Mechanism = mechanism
        if self.model.tree is not None:
            self._mechanism = JointMechanism(self.model, mechanism)
        elif self._placed is not None:
            self._mechanism = PlacedMechanism(self.model, mechanism, self._placed, self._assemble)
        self._system = mechanism.system
        self._driver: Stepper = self._method.make_stepper(self.model, self._mechanism, self._stop_unsolved)
        self._constraint_solver = ConstraintSolver.of(self._iterative, self.model, self._system, self._stop_unsolved)
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

    def release(self, name: str) -> None:
        """Let a joint or a force go, from now on."""
        if isinstance(self._mechanism, PlacedMechanism):
            self._mechanism.require_force(name)
        self.released[name] = self.time
        self._changed_by_hand(f"{name!r} let go")
        attachments = self.model.attachment_names
        if name not in attachments or not self._driver.let_go(attachments.index(name)):
            release(self.model, self._system, name)
        self.changed()


def setting_names() -> list[str]:
    """The keywords of `Simulation`, with the options of all methods."""
    return [name for name in inspect.signature(Simulation).parameters if name != "scene"]


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
