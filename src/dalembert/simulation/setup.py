"""Setup of a run: model, method and coordinates from the arguments of `Simulation`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, get_type_hints

from ..collide.detect import DETECT_ENTRY as DETECT
from ..collide.detect import kinds_of
from ..collide.narrow_phase import BY_FAMILY, families
from ..core.jit import CFunction
from ..dynamics.cables import CABLES_ENTRY as CABLES
from ..dynamics.cables import tables_of_cables
from ..dynamics.commands import COMMANDS_ENTRY as MOTIONS
from ..dynamics.forces import read_coordinates
from ..dynamics.joint_space.loops import LOOPS_ENTRY as CLOSED
from ..dynamics.joint_space.mechanism import TREE_ENTRY as JOINT
from ..dynamics.mechanism import MECHANISM_ENTRY as MECHANICS
from ..dynamics.mechanism import SPECIAL_ENTRY as SPECIAL
from ..dynamics.mechanism import is_special, on_particles
from ..linalg.iterative import IterativeSolver
from ..linalg.krylov import ITERATE_ENTRY as ITERATE
from ..model.compile import Model, compile_scene
from ..scene.scene import Scene, as_it_is, require_scene
from ..symbolic import GeneralizedCoordinates
from ..symbolic.mechanism import require_supported
from .constraint_system import iterative_solver
from .methods import RungeKutta
from .methods.contact import TIME_STEPPING, FixedSteps
from .registry import Method, check_step, method_of, option_defaults, require_kinds
from .settings import CommonSettings, ControlSettings, MethodOptions
from .step_choice import StepChoice, choose_step

COORDINATES = ("maximal", "joint")
Class = TypeVar("Class", bound=type)
MEANT = dict.fromkeys(("step", "timestep", "time_step", "stepsize", "step_size", "h", "delta_t"), "dt (s)")
MEANT |= dict.fromkeys(("fps", "rate", "frame", "sample_rate"), "frame_rate (Hz)")
MEANT |= dict.fromkeys(("tol", "reltol", "rel_tol"), "rtol") | dict.fromkeys(("integrator", "scheme"), "method")
MEANT |= {"abstol": "atol", "workers": "threads", "time": "duration, of simulate()", "gravity": "Scene(gravity=...)"}
"""Keywords that people expect → what they are called here."""


class Setup(NamedTuple):
    """What a run is made of.

    generalized : coordinates of the user's, or None. coordinates : "maximal" or "joint". iterative : the iterative solver of
    constraints, or None. options : every option of all methods, with defaults for those that were not passed.
    choice : the step and why, where none was passed.
    """

    model: Model
    method: Method
    generalized: GeneralizedCoordinates | None
    coordinates: str
    iterative: IterativeSolver | None
    options: dict[str, Any]
    choice: StepChoice | None

    @property
    def kernels(self) -> list[CFunction]:
        """The kernels of the run."""
        own = compiled_parts(self.model, self.method, self.iterative is not None)
        return [*own, *(self.generalized.compiled_parts if self.generalized else ())]


def set_up(
    scene: Scene | Model, method: str | Method | None, options: Mapping[str, Any], coordinates: Any, constraint_solver: Any,
    hold: str, frame_rate: float, control_rate: float | None = None,
) -> Setup:  # fmt: skip
    """Compile the scene, and choose its method and coordinates. Raises ValueError and TypeError, as `Simulation` does."""
    require_scene(scene, Model)
    if callable(coordinates):
        coordinates = coordinates(scene.scene if isinstance(scene, Model) else scene)
    generalized, coordinates = (None, coordinates) if isinstance(coordinates, str) else (coordinates, "maximal")
    if generalized is not None and not isinstance(generalized, GeneralizedCoordinates):
        raise TypeError(f"coordinates is {generalized!r}; give a name or GeneralizedCoordinates")
    if coordinates not in COORDINATES:
        raise ValueError(f"coordinates is {coordinates!r}; give one of {', '.join(COORDINATES)}")
    joint = coordinates == "joint"
    iterative = iterative_solver(constraint_solver, hold, "generalized" if generalized else coordinates)
    model = _compiled(scene, joint, iterative is not None, coordinates)
    check_step(method.options.get("dt") if isinstance(method, Method) else options.get("dt"), frame_rate)
    stepping = method_of(method or default_method(model), options)
    choice = None
    if isinstance(stepping, FixedSteps) and stepping.dt is None:
        choice = choose_step(model, stepping.name, frame_rate, control_rate)
        stepping = replace(stepping, dt=choice.dt)
    if stepping.steps_particles(model):
        model = compile_scene(model.scene, hubs=not (joint or iterative), apart=True, coordinates=coordinates)
    if generalized is not None:
        require_supported(model, generalized, stepping.name, hold)
    all_options = option_defaults() | dict(options) | stepping.options
    model = replace(model, scene=as_it_is(model.scene))  # a run begins anew from what it was made of
    return Setup(model, stepping, generalized, coordinates, iterative, all_options, choice)


def _compiled(scene: Scene | Model, joint: bool, iterative: bool, coordinates: str) -> Model:
    """The model of a scene; a `Model` is used as it is if it has these coordinates, and compiled again if not."""
    if isinstance(scene, Model):
        if (scene.tree is not None) == joint and not (iterative and len(scene.graph.hubs)):
            return scene
        scene = scene.scene
    return compile_scene(scene, hubs=not (joint or iterative), coordinates=coordinates)


def default_method(model: Model) -> str:
    """The name of the method for a scene if the user passes none."""
    return TIME_STEPPING if model.scene.touching() or model.scene.limited_forces() else RungeKutta.name


def compiled_parts(model: Model, method: Method, iterates: bool) -> list[CFunction]:
    """The kernels of a run of the model; `iterates`: with an iterative solver of its constraint system."""
    parts: list[CFunction] = [MECHANICS, *([ITERATE] if iterates else [])]
    particles = model.particles
    parts += [MOTIONS] if len(model.tables["commands"]) else []
    parts += [CABLES] if tables_of_cables(model.tables) else []
    parts += [SPECIAL] if is_special(model.tables, model.graph.hubs) else []
    parts += filter(None, on_particles(particles.fields, particles.sets, particles.laws))
    if model.tree is not None:
        parts += [JOINT, *([CLOSED] if model.graph.rows else [])]
    elif model.scene.joints:
        parts += [read_coordinates]
    bodies_collide = model.scene.touching() and (model.body_names or not method.steps_particles(model))
    if bodies_collide:
        parts += [DETECT, *dict.fromkeys(BY_FAMILY[family][1] for family in families(kinds_of(model.scene)))]
    if model.scene.sensors:
        from ..sensors.kernels import KERNELS as SENSORS

        parts += SENSORS
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
    """Raises TypeError for a keyword that `Simulation` does not have, and ValueError for a name that is not a string."""
    known = option_defaults()
    for name in options:
        if name not in known:
            settings = [*known, *CommonSettings.__annotations__, *ControlSettings.__annotations__]
            near = difflib.get_close_matches(name, settings, n=2, cutoff=0.6)
            meaning = MEANT.get(name) or " or ".join(near)
            rest = f"did you mean {meaning}? The" if meaning else "the"
            raise TypeError(
                f"Simulation() got an unexpected keyword argument {name!r}; {rest} settings are {', '.join(settings)}"
            )
    require_kinds({name: value for name, value in options.items() if isinstance(known[name], str)}, {})
