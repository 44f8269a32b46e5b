"""The record of a live page: playback time, and the frames of a run, recorded or in progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from .camera import thinned
from .drawing import Extent, SceneDrawing, motion_extent
from .frames import Frames
from .live_page import Panel, Plots, Share
from .live_scene import LiveScene
from .sensor_drawing import RecordedSamples
from .viewpoint import elevation_of

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory


# Playback: play, pause, step and seek, at the pace of the clock -------------------------------------------------------

FRAME_RATE = 60.0  # drawn frames a second
LEAD = 0.04  # s of the clock that a run in progress is kept ahead of what is shown


class Playback:
    """Which instant is shown. Playing waits where it overtakes a run in progress (`running`)."""

    _frames: Frames
    _panel: Any

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._time = 0.0
        self._playing = self._running = self._started = False
        self._owed = 0  # frames asked for beyond the last
        self.pictures = 0  # drawn so far

    def _seek(self, wanted: float) -> None:
        """Draw the instant `wanted`."""
        raise NotImplementedError

    @property
    def watched(self) -> bool:
        """Whether somebody looks."""
        return True

    @property
    def time(self) -> float:
        """The instant on the screen, s."""
        return self._time

    @property
    def playing(self) -> bool:
        """Whether it plays, or would if the run had come further."""
        return self._playing

    @property
    def at_end(self) -> bool:
        """Whether it shows the last frame there is."""
        return not len(self._frames) or self._time >= self._frames.times[-1] - 1e-12

    @property
    def wants_more(self) -> bool:
        """Whether a run in progress should go on: somebody looks at its end, or stepped beyond it."""
        with self._lock:
            if self._owed > 0:
                return True
            ahead = self._time + self._panel.speed * LEAD
            return self._playing and self.watched and (not len(self._frames) or ahead >= self._frames.times[-1])

    def play(self, on: bool = True) -> None:
        """Play from where it stands (from the start where it is at the end), or pause."""
        with self._lock:
            self._started = True
            if on and self.at_end and len(self._frames) and not self._playing and not self._running:
                self._seek(float(self._frames.times[0]))
            self._set_playing(on)

    def go_to(self, wanted: float) -> None:
        """Pause, and show the instant `wanted` (s), or the first or the last there is."""
        with self._lock:
            if len(self._frames):
                self._set_playing(False)
                self._seek(float(np.clip(wanted, self._frames.times[0], self._frames.times[-1])))

    def step(self, frames: int) -> None:
        """Pause, and go on (or back) by so many frames; a run in progress goes on where there are not that many."""
        with self._lock:
            if not len(self._frames):
                return
            self._set_playing(False)
            index, last = self._frames.index(self._time) + frames, len(self._frames) - 1
            if index > last and self._running:
                self._owed = index - last
            self._seek(float(self._frames.times[int(np.clip(index, 0, last))]))

    def _came(self, count: int) -> None:
        """So many frames came: those that were stepped to are shown."""
        if self._owed > 0:
            self._owed = max(self._owed - count, 0)
            self._seek(float(self._frames.times[-1]))

    def _set_playing(self, on: bool) -> None:
        self._playing, self._owed = on, 0
        self._panel.set_playing(on)

    def _start(self) -> None:
        """A page was opened: the first one starts the show."""
        if not self._started:
            self.play()

    def _scrub(self, wanted: float) -> None:
        if abs(wanted - self._time) > self._panel.timeline.step:
            self.go_to(wanted)

    def _play_loop(self) -> None:
        last = due = monotonic()
        while not self._closed.is_set():
            due = max(due + 1.0 / FRAME_RATE, monotonic() - 1.0 / FRAME_RATE)
            self._closed.wait(max(due - monotonic(), 0.001))
            now = monotonic()
            passed, last = min(now - last, 0.2), now
            with self._lock:
                if not self._playing or not len(self._frames) or not self.watched:
                    continue
                wanted, end = self._time + self._panel.speed * passed, float(self._frames.times[-1])
                if wanted >= end and not self._running:
                    self._set_playing(bool(self._panel.loop.value))
                    wanted = float(self._frames.times[0]) if self._panel.loop.value else end
                if min(wanted, end) != self._time:
                    self._seek(min(wanted, end))


# Record ---------------------------------------------------------------------------------------------------------------

PLOT_RATE = 3.0  # drawn plots a second while a run goes on
EXTENT_FRAMES = 40  # looked at for what is to be seen


class Record(Playback):
    """What there is to play of a run of the scene `drawing`."""

    drawing: SceneDrawing
    _rows: np.ndarray  # the particles that are drawn
    _panel: Panel
    _plots: Plots
    _share: Share
    _scene: LiveScene
    show_warnings: Callable[[Sequence[str]], None]

    def __init__(self) -> None:
        super().__init__()
        self._drawn_at, self._seen, self._words = 0.0, 0, ""

    def _poses_at_rest(self) -> tuple[np.ndarray, np.ndarray]:
        bodies = self.drawing.bodies
        positions = np.array([body.position for body in bodies]).reshape(-1, 3)
        return positions, np.array([body.orientation for body in bodies]).reshape(-1, 4)

    def _no_frames(self) -> Frames:
        return Frames(*self._poses_at_rest(), self._rows)

    def show(self, trajectory: Trajectory) -> None:
        """Show `trajectory`, a run of this viewer's scene, from its start.

        Raises:
            ValueError: its bodies are not this scene's, or it is empty.
        """
        names = [body.name for body in self.drawing.bodies]
        strangers = [name for name in trajectory.bodies if name not in names]
        if strangers or not len(trajectory):
            raise ValueError(
                f"the trajectory has bodies that are not in this scene: {strangers}" if strangers else "no instants"
            )
        with self._lock:
            self._frames = self._no_frames()
            self._frames.add_trajectory(trajectory, np.array([names.index(name) for name in trajectory.bodies], int))
            self._scene.sensors.use(
                {
                    name: RecordedSamples(array["time"].values, array.values)
                    for name, array in trajectory.sensors.items()
                }
            )
            self.name_forces(trajectory.forces)
            self.name_joints(trajectory.joints)
            self._running = False
            self.show_warnings(trajectory.warnings)
            self._look("recorded", aim=True)
            self._seek(float(self._frames.times[0]))

    def name_forces(self, forces: Any) -> None:
        """The frames hold works of these forces, (time, force)."""
        self._plots.set_names(forces, self._plots.masses)
        self._share.forces = list(forces)

    def name_joints(self, joints: Sequence[str]) -> None:
        """The frames hold reactions of these joints, (time, joint, 3)."""
        self._scene.name_joints(joints)

    @property
    def frame_count(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    @property
    def closed(self) -> bool:
        """Whether it serves no more."""
        return self._closed.is_set()

    def push(
        self, frames: Mapping[str, Any], released: Mapping[str, float] | None = None, words: str = "running"
    ) -> None:
        """Add recorded frames of a run in progress.

        Args:
            frames: ``time`` (k,) s, ``position`` (k, n, 3) m and ``orientation`` (k, n, 4) of the scene's first n bodies,
                ``particle_position`` (k, p, 3) m of all particles where it has any, ``kinetic``, ``potential`` and
                ``balance`` (k,) J, and what else of `frames.FURTHER` is known.
            released: when joints and springs were let go, s.
            words: how the run goes.
        """
        with self._lock:
            first, self._running = not len(self._frames), True
            self._frames.add(frames, np.arange(np.shape(frames["position"])[1]))
            if released is not None:
                self._scene.release(released)
            if first:
                self._look(words, aim=True)
                self._seek(float(self._frames.times[0]))
            elif monotonic() - self._drawn_at > 1.0 / PLOT_RATE:
                self._look(words)
            self._came(len(frames["time"]))

    def drop_after(self, time: float) -> None:
        """Forget the frames later than `time` (s): the run goes on from there in another way. Where somebody has stepped on
        meanwhile, as many frames are shown as soon as they come."""
        with self._lock:
            index = self._frames.index(self._time)
            self._frames.drop_after(time)
            self._look("running")
            self._seek(float(self._frames.times[-1]))
            if not self._playing:
                self._owed = max(0, index - (len(self._frames) - 1))

    def clear(self) -> None:
        """Forget all frames: the run begins anew."""
        with self._lock:
            self._frames, self._seen, self._owed = self._no_frames(), 0, 0

    def finish(self, words: str = "done") -> None:
        """The run in progress is over: no more frames will come."""
        with self._lock:
            self._running = False
            self._look(words)

    def _extent(self) -> Extent:
        frames = self._frames
        keep = thinned(len(frames), EXTENT_FRAMES)
        if not len(frames):
            return motion_extent(self.drawing, *(part[None] for part in self._poses_at_rest()))
        return motion_extent(self.drawing, frames.positions[keep], frames.orientations[keep], frames.particles[keep])

    def _elevation(self) -> float:
        """Where to look from, degrees above the ground."""
        frames = self._frames
        some = thinned(len(frames), EXTENT_FRAMES)
        poses = (frames.positions[some], frames.orientations[some]) if len(frames) else (
            part[None] for part in self._poses_at_rest())  # fmt: skip
        return elevation_of(self.drawing, self._scene.extent, *poses)

    def _look(self, words: str, *, aim: bool = False) -> None:
        """Show how far the run has come: the status, the timeline, the plots, and a view of all of it."""
        self._drawn_at, self._words = monotonic(), words
        frames = self._frames
        first, last = float(frames.times[0]), float(frames.times[-1])
        self._panel.status.value = f"{words}, {last:.3f} s"
        self._panel.set_span(first, last)
        self._plots.draw(frames)
        if aim or len(frames) > 1.3 * self._seen:
            self._seen = len(frames)
            extent = self._extent()
            if aim or extent.size > 1.15 * self._scene.extent.size:
                self._scene.aim(extent, self._elevation())
            else:
                self._scene.lower_ground(extent.ground)

    def _set_playing(self, on: bool) -> None:
        super()._set_playing(on)
        if not on and len(self._frames):  # as far as it came
            self._look(self._words)
            self._panel.timeline.value = self._time
