"""The results of a run: its report, trajectory and checkpoints; and resuming a saved run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core.checkpoint_fields import CheckpointError
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..sensors.recorded import attach
from ..sensors.sampling import Sensors
from . import checkpoint
from .clock import AskedTime
from .constants import constants_json, difference, first_other
from .provenance import provenance
from .recording import Recorder, as_json
from .report import LONG, Report, make_report
from .summary import scene_description
from .trajectory import Trajectory, TrajectoryError

if TYPE_CHECKING:
    from ..view.player import Animation
    from ..view.plots import Plots
    from .explain import Explanation


class Results:
    """The part of `Simulation` with its results."""

    model: Model
    method: str
    recorder: Recorder
    settings: dict[str, Any]
    sensors: Sensors
    released: dict[str, float]
    advances: list[float]
    resumed: bool
    time: Any  # s, a property of `Simulation`
    warn: Any
    _driver: Stepper
    _mechanism: Mechanism
    _y: np.ndarray
    _seen: np.ndarray | None
    _asked: AskedTime
    _at_frame: checkpoint.Snapshot | None
    _begun_from: checkpoint.Checkpoint | None
    _turn: Any
    _contact_points: bool
    _record: Any
    _warn_after: Any
    _forget_controls: Any
    _recall_turns: Any
    _joint_units: Any
    _record_now: Any
    _take_entries: Any
    _begin: Any
    _compiled: Model
    _wrenches: Any

    @property
    def report(self) -> Report:
        """The table of the run so far."""
        self._record_now()
        self._warn_after()
        return make_report(self)

    def explain(self) -> Explanation:
        """Say what failed in the run so far or was doubtful, where (body, joint, contact, pivot, residual, step), and
        what to try.

        After a `SimulationError`, call it on the attribute `simulation` of the exception. Print the result, or read its
        `findings`.

        >>> import dalembert as dal
        >>> scene = dal.Scene("bob")
        >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0)
        >>> print(dal.simulate(scene, 0.1).explain())
        bob, dormand_prince: the run is at t = 0.1 s
        Nothing failed, and there were no warnings.
        """
        from .explain import explain_run

        self._warn_after()
        return explain_run(self)

    @property
    def trajectory(self) -> Trajectory:
        """Everything recorded so far."""
        from .. import __version__

        self._record_now()
        attrs = {
            "scene": self.model.name,
            "method": self.method,
            "settings": json.dumps(self.settings),
            "version": __version__,
            "scene_json": as_json(scene_description(self.model.scene, self.released)),
            "report_json": as_json(self.report.as_dict()),
            "constants_json": constants_json(self.model.scene),
        }
        found = provenance(self)
        attrs |= {"provenance_json": as_json(found), "final_state_hash": found["final_state_hash"]}
        trajectory = self.recorder.trajectory(attrs, self._joint_units())
        attach(trajectory.dataset, self.sensors)
        at_frame = self._checkpoint()
        if at_frame is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.NOW, at_frame)
        if self._begun_from is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.START, self._begun_from)
        return trajectory

    def _checkpoint(self) -> checkpoint.Checkpoint | None:
        """The checkpoint at the last frame; None for a run that failed at its start, or whose last frame has no snapshot."""
        found, last = self._at_frame, self.recorder.frames["state"][-1].tobytes()
        if found is None:
            return None
        if self._y.tobytes() == last and self.time == self.recorder.frames["time"][-1]:
            found = checkpoint.snapshot(self)
        elif found.fields[0].values.tobytes() != last:
            return None
        return checkpoint.of_snapshot(self, found)

    def animate(self, *, speed: float = 1.0, height: int = 480, autoplay: bool = True) -> Animation:
        """A player of the run so far, for notebooks; see `Trajectory.animate`."""
        return self.trajectory.animate(speed=speed, height=height, autoplay=autoplay)

    def _repr_html_(self) -> str:
        from ..view.notebook import run_html

        return run_html(self.trajectory, self.report.rows(), LONG)

    @property
    def plot(self) -> Plots:
        """Figures of the run so far with matplotlib: ``run.plot.energy()``, ``.phase("bob")`` and others."""
        return self.trajectory.plot

    def resume(self, trajectory: Trajectory) -> Self:
        """Continue from the last state of a saved run of the same scene.

        With the same settings, results are bit-identical to those of a run that was never stopped. The file does not
        contain data of your functions (of a controller). With other settings, or if the file has only the state
        (written by an older version, or cut), results agree to rounding at first and then drift apart; in the latter
        case a warning is issued.

        Names, masses, shapes, initial poses, joints, gravity, the parameters of forces and contacts must be those of
        the scene that the run was made of. Its own are what was set since: motors, motions, and what was released.

        Raises ValueError for a run of another scene, naming the first difference, and TrajectoryError for a file with
        invalid contents.
        """
        self._require_same_scene(trajectory)
        y = np.asarray(trajectory.last_state, float)
        self._fit_entries(y.size)
        if y.shape != self._y.shape:
            raise ValueError(
                f"the saved run has {y.size} numbers in its state and this scene {self._y.size}; resume the same scene"
            )
        with self._turn:
            try:
                found = checkpoint.detach(trajectory.dataset, checkpoint.NOW)
                self._go_on_from(float(trajectory.times[-1]), y, trajectory.last_joint_coordinates, found, trajectory)
            except CheckpointError as error:
                raise TrajectoryError(str(error)) from None
        return self

    def _require_same_scene(self, trajectory: Trajectory) -> None:
        """Raises ValueError for a run of another scene. Where a file of an older version, or of a batch, does not have the
        constants of its scene, the names of its bodies are compared."""
        text = trajectory.attrs.get("constants_json")
        if text is not None:
            other = difference(json.loads(text), self.model.scene)
        elif lost := first_other(trajectory.bodies, self.model.body_names):
            other = f"it has body {lost!r:.60}, and this scene does not"
        else:
            new = first_other(self.model.body_names, trajectory.bodies)
            other = None if new is None else f"it has no body {new!r:.60}"
        if other is not None:
            raise ValueError(
                f"the saved run is of another scene: {other}; resume the same scene, or begin a run of this one from the "
                "positions and velocities that the saved one ends with: Simulation.restart(prepare)"
            )

    def _fit_entries(self, size: int) -> None:
        """Have the entries of applied forces in the ledger, or not, as a state of this size has."""
        if size > self._compiled.size:
            self._take_entries()
        elif self._wrenches is not None:
            self._begin(None)

    def _go_on_from(
        self, time: float, y: np.ndarray, turns: dict[str, float], found: checkpoint.Checkpoint | None,
        before: Trajectory | None = None,
    ) -> None:  # fmt: skip
        """Begin a record at a state and its checkpoint, if there is one; turns: coordinates of joints there. before : the run
        that it goes on from. Raises CheckpointError."""
        self._set_state(time, y, turns)
        self.advances, self.resumed, self._begun_from = [], True, None
        if found is None or not checkpoint.of_state(found, y):
            self.warn(
                "the saved run has its last state alone, without the data that steps take from the step before: the run that "
                "goes on from it is near to one that was never stopped, but not bit-identical"
            )
        elif checkpoint.same_settings(self, found):
            checkpoint.put_back(self, found)
            self._begun_from = found
        self.recorder = Recorder(self.model, self._mechanism, self._contact_points)
        if before is not None:
            self.recorder.go_on_from(before)
            self.sensors.go_on_from(before.sensors)
        self._record()

    def _set_state(self, time: float, y: np.ndarray, turns: dict[str, float] | None) -> None:
        """Let the run go on from this state at a time (s); turns: coordinates of joints there, if known, with full turns."""
        self._y[:] = y
        self._seen = None
        self._driver.restart(time)
        self._asked.begin(time)
        self.sensors.set_time(time)
        self._forget_controls()
        if turns is not None:
            self._recall_turns(turns)
