"""A scene as an environment for reinforcement learning, with the interface of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from ..core.keywords import with_keywords
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import renamed_keywords
from ..scene.checks import finite, positive
from ..scene.scene import Scene
from .control import OF, Input
from .settings import EnvironmentSettings
from .simulation import Simulation

try:
    import gymnasium
except ImportError as error:
    raise ImportError("dalembert.simulation.environment needs gymnasium; install dalembert[gym]") from error


Vector = NDArray[np.float64]


class Environment(gymnasium.Env[Vector, Vector]):
    """A Gymnasium environment: an agent sets the motors of a scene at a fixed rate.

    Parameters
    ----------
    scene : a Scene, or a function that returns one.
    motors : names of motors. An action has one number for each, in this order.
    of : the quantity of the actions: "effort" (N m or N), "position" (rad or m) or "speed" (rad/s or m/s).
    control_rate : Hz; a step of the environment lasts 1/control_rate s.
    reward : (run, action) → number, evaluated at the end of a step; `run` is the `Simulation`.
    observe : run → (n,) numbers. Default: values and then rates of `joint_state`; in joint coordinates u and w.
    terminated : run → whether the episode is over.
    duration : s, after which an episode is truncated. Default: never.
    randomize : (rng, run): changes the initial state of an episode; rng is a NumPy generator, seeded by `reset`.
    bounds : motor → (least, most) action. Default for efforts: ±limit of the motor.
    render_mode : "rgb_array": `render` returns a picture (900, 1200, 3).
    settings : settings of `Simulation`. Default of `frame_rate`: the control rate.

    `run` is the Simulation of the episode. Actions beyond the bounds are clamped. Raises ValueError for invalid
    arguments and actions, and SimulationError if a run fails.
    """

    @renamed_keywords(**RENAMED)
    @with_keywords(EnvironmentSettings, Simulation)
    def __init__(
        self, scene: Scene | Callable[[], Scene], *, motors: Sequence[str],
        of: Input = "effort", control_rate: float,
        reward: Callable[[Simulation, Vector], float], observe: Callable[[Simulation], Any] | None = None,
        terminated: Callable[[Simulation], bool] | None = None, duration: float | None = None,
        randomize: Callable[[np.random.Generator, Simulation], Any] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None, render_mode: Literal["rgb_array"] | None = None, 
        **settings: Unpack[EnvironmentSettings],
    ) -> None:  # fmt: skip
        if of not in OF:
            raise ValueError(f"environment: of is {of!r}; give one of {', '.join(OF)}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"environment: render_mode is {render_mode!r}; give 'rgb_array' or None")
        if not motors:
            raise ValueError("environment: there are no motors to set; give motors=[...]")
        rate = positive("environment", "control_rate", control_rate, "Hz")
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": rate}
        self.render_mode, self.of, self.motors = render_mode, of, tuple(motors)
        self._reward, self._terminated, self._randomize = reward, terminated, randomize
        self._observe = observe or joint_observation
        self._duration = np.inf if duration is None else positive("environment", "duration", duration, "s")
        self._action = np.zeros(len(self.motors))
        built = scene if isinstance(scene, Scene) else scene()
        least, most = np.transpose([_bounds(built, name, of, bounds or {}) for name in self.motors])
        given: EnvironmentSettings = {"frame_rate": rate, **settings}
        self.run = Simulation(built, controller=self._act, control_rate=rate, **given)
        self._period = 1.0 / rate
        self.action_space = gymnasium.spaces.Box(least, most, dtype=np.float64)
        size = self._observation().shape
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, size, dtype=np.float64)
        self._act(self.run)  # so that inputs that motors do not take are refused here

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Begin an episode; `options` is ignored."""
        super().reset(seed=seed)
        randomize = self._randomize
        self.run.restart(None if randomize is None else lambda run: randomize(self.np_random, run))
        return self._observation(), {}

    def step(self, action: Vector) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Apply an action for 1/control_rate s. Returns (observation, reward, terminated, truncated, info)."""
        asked = np.asarray(action, float)
        if asked.shape != self._action.shape or not np.isfinite(asked).all():
            raise ValueError(f"action is {action!r:.120}; give {len(self.motors)} finite numbers, one per motor")
        space = self.action_space
        assert isinstance(space, gymnasium.spaces.Box)
        self._action = np.clip(asked, space.low, space.high)
        self.run.advance(self._period)
        over = self._terminated is not None and bool(self._terminated(self.run))
        late = bool(self.run.time >= self._duration - 0.5 * self._period)
        reward = finite("environment", "reward", self._reward(self.run, self._action.copy()))
        return self._observation(), reward, over, late, {}

    def render(self) -> Any:
        """A picture (900, 1200, 3), uint8, of the current state, in the render mode "rgb_array"."""
        if self.render_mode is None:
            return None
        from ..view.still import picture

        return picture(self.run.trajectory, trail=False)

    def _act(self, run: Simulation) -> None:
        for name, value in zip(self.motors, self._action, strict=True):
            run.set_motor(name, **{self.of: float(value)})

    def _observation(self) -> Vector:
        return np.array(self._observe(self.run), float).reshape(-1)


def joint_observation(run: Simulation) -> Vector:
    """Values of joints and then their rates; u and w in joint coordinates. Raises ValueError where there are none."""
    if run.model.tree is not None:
        return np.concatenate([run.coordinates, run.speeds])
    state = run.joint_state()
    if not state:
        raise ValueError("environment: no hinge or slider to observe; give observe, a function of the run")
    return np.array(list(state.values())).T.ravel()


def _bounds(scene: Scene, name: str, of: str, bounds: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """The least and the most action of a motor. Raises ValueError where they are not known."""
    owner = f"environment, motor {name!r}"
    force = scene.forces.get(name)
    if force is None or force.kind not in ("motor", "servo"):
        motors = [each.name for each in scene.forces.values() if each.kind in ("motor", "servo")]
        raise ValueError(f"environment: there is no motor {name!r}; the motors are {', '.join(motors) or 'none'}")
    if name in bounds:
        least, most = (finite(owner, "bounds", value) for value in bounds[name])
        if not least < most:
            raise ValueError(f"{owner}: bounds are {bounds[name]!r}; give (least, most)")
        return least, most
    limit = float(force.limit)
    if of != "effort" or not np.isfinite(limit):
        what = "has no limit" if of == "effort" else f"is given a {of}"
        raise ValueError(f"{owner} {what}; give its actions bounds={{{name!r}: (least, most)}}")
    return -limit, limit
