"""A viewer in the browser, served on this machine by viser: replays a recorded run, or follows one while it runs."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.view.drawing import parse_scene, thinned_scene
from dalembert.view.extent import motion_extent
from dalembert.view.frames import Frames
from dalembert.view.live_page import NONE, Panel
from dalembert.view.live_particles import LiveParticles
from dalembert.view.live_scene import LiveScene
from dalembert.view.live_server import has_browser, serve, stop
from dalembert.view.particles import thinning_note

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["LiveViewer"]

FRAME_RATE = 30.0  # drawn frames a second
PLOT_RATE = 4.0  # drawn plots a second while a run goes on
TRAIL_POINTS = 400
MAX_POINTS = 20_000  # free particles drawn


class LiveViewer:
    """A viser server that draws one scene and plays what was recorded of its run, also while more is being recorded.

    Playing starts with the first page that is opened and waits where it overtakes the run. Nothing leaves the machine
    unless `host` is changed.
    """

    def __init__(
        self, scene: Mapping[str, Any], host: str = "127.0.0.1", port: int | None = None, *, open_page: bool = True
    ) -> None:
        """Serve the scene described by `scene` (the trajectory's ``scene_json``) at `host`:`port`.

        port: 0 for any free one; None for 8080, or any free one where that is taken. Opens the page when there is a
        display, and prints its address in any case, to the standard error.

        Raises:
            OSError: the port is in use.
            ValueError: the scene cannot be drawn.
        """
        whole = parse_scene(scene)
        self.drawing, self._rows = thinned_scene(whole, MAX_POINTS)
        self.server = serve(host, port, str(scene.get("name", "dalembert")))
        self.address = f"http://{host}:{self.server.get_port()}"
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._time, self._drawn_at = 0.0, 0.0
        self._playing = self._running = self._started = False
        self._frames = self._no_frames()
        extent = motion_extent(self.drawing, *(part[None] for part in self._poses_at_rest()))
        note = thinning_note(whole.particles, self.drawing.particles)
        self._panel = Panel(self.server.gui, [body.name for body in self.drawing.bodies], note)
        self._scene = LiveScene(self.server, self.drawing, extent)
        self._panel.play.on_click(lambda _: self.play(not self._playing))
        self._panel.on_seek(self._scrub)
        self._panel.on_step(self._step_by)
        self._panel.on_restyle(self._restyle)
        self.server.on_client_connect(lambda _: self._start())
        threading.Thread(target=self._play_loop, name="dalembert viewer", daemon=True).start()
        print(f"viewer: {self.address}", file=sys.stderr, flush=True)
        if open_page and has_browser():
            webbrowser.open(self.address)

    def _poses_at_rest(self) -> tuple[np.ndarray, np.ndarray]:
        bodies = self.drawing.bodies
        positions = np.array([body.position for body in bodies]).reshape(-1, 3)
        return positions, np.array([body.orientation for body in bodies]).reshape(-1, 4)

    def _no_frames(self) -> Frames:
        return Frames(*self._poses_at_rest(), self._rows)

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def show(self, trajectory: Trajectory) -> None:
        """Show `trajectory`, a run of this viewer's scene, from its start.

        Raises:
            ValueError: its bodies are not this scene's, or it is empty.
        """
        names = [body.name for body in self.drawing.bodies]
        strangers = [name for name in trajectory.bodies if name not in names]
        if strangers or not len(trajectory):
            raise ValueError(
                f"the trajectory has bodies this scene has not: {strangers}" if strangers else "no instants"
            )
        with self._lock:
            self._frames = self._no_frames()
            self._frames.add_trajectory(trajectory, np.array([names.index(name) for name in trajectory.bodies], int))
            self._running = False
            self._look("recorded", aim=True)
            self._seek(float(self._frames.times[0]))

    def push(self, frames: Mapping[str, Any], released: Mapping[str, float] | None = None) -> None:
        """Add recorded frames of a run in progress.

        Args:
            frames: ``time`` (k,) s, ``position`` (k, n, 3) m and ``orientation`` (k, n, 4) of the scene's first n bodies,
                ``particle_position`` (k, p, 3) m of all particles where it has any, and ``kinetic``, ``potential`` and
                ``balance`` (k,) J.
            released: when joints and springs were let go, s.
        """
        with self._lock:
            first, self._running = not len(self._frames), True
            self._frames.add(frames, np.arange(np.shape(frames["position"])[1]))
            if released:
                self._scene.release(released)
            if first:
                self._look("running", aim=True)
                self._seek(float(self._frames.times[0]))
            elif monotonic() - self._drawn_at > 1.0 / PLOT_RATE:
                self._look("running")

    def finish(self, words: str = "done") -> None:
        """The run in progress is over: no more frames will come."""
        with self._lock:
            self._running = False
            self._look(words)

    def _look(self, words: str, *, aim: bool = False) -> None:
        """Show how far the run has come: the status, the timeline, the plots, and a view of all of it."""
        self._drawn_at = monotonic()
        frames = self._frames
        first, last = float(frames.times[0]), float(frames.times[-1])
        self._panel.status.value = f"{words}, {last:.3f} s"
        self._panel.set_span(first, last)
        self._panel.plot(frames.times, frames.energies)
        extent = motion_extent(self.drawing, frames.positions, frames.orientations, frames.particles)
        if aim or extent.size > 1.15 * self._scene.extent.size:
            self._scene.aim(extent)

    @property
    def time(self) -> float:
        """The instant on the screen, s."""
        return self._time

    @property
    def playing(self) -> bool:
        """Whether it plays, or would if the run had come further."""
        return self._playing

    @property
    def body_frames(self) -> list[Any]:
        """viser's frame handles of the bodies, in the scene's order."""
        return self._scene.frames

    @property
    def particle_groups(self) -> list[LiveParticles]:
        """viser's handles of the groups of particles, in the scene's order."""
        return self._scene.particles

    # ---- time ------------------------------------------------------------------------------------------------------

    def play(self, on: bool = True) -> None:
        """Play from where it stands (from the start where it is at the end), or pause."""
        with self._lock:
            self._started = True
            at_end = len(self._frames) > 0 and self._time >= self._frames.times[-1]
            if on and at_end and not self._playing and not self._running:
                self._seek(float(self._frames.times[0]))
            self._set_playing(on)

    def follow(self, body: str | None) -> None:
        """Move the cameras along with a body, None for no more."""
        self._panel.follow.value = NONE if body is None else body

    def _set_playing(self, on: bool) -> None:
        self._playing = on
        self._panel.set_playing(on)

    def _start(self) -> None:
        """A page was opened: the first one starts the show."""
        if not self._started:
            self.play()

    def _play_loop(self) -> None:
        last = monotonic()
        while not self._closed.wait(1.0 / FRAME_RATE):
            now = monotonic()
            passed, last = min(now - last, 0.2), now
            with self._lock:
                if not self._playing or not len(self._frames):
                    continue
                wanted, end = self._time + self._panel.speed * passed, float(self._frames.times[-1])
                if wanted >= end and not self._running:
                    self._set_playing(bool(self._panel.loop.value))
                    wanted = float(self._frames.times[0]) if self._panel.loop.value else end
                self._seek(min(wanted, end))

    def _scrub(self, wanted: float) -> None:
        with self._lock:
            if len(self._frames) and abs(wanted - self._time) > self._panel.timeline.step:
                self._set_playing(False)
                self._seek(wanted)

    def _step_by(self, frames: int) -> None:
        with self._lock:
            if len(self._frames):
                self._set_playing(False)
                index = int(np.clip(self._frames.index(self._time) + frames, 0, len(self._frames) - 1))
                self._seek(float(self._frames.times[index]))

    def _restyle(self) -> None:
        with self._lock:
            self._scene.follow(NONE, np.zeros((0, 3)))
            self._scene.style(self._panel.joints.value, self._panel.frames.value)
            if len(self._frames):
                self._seek(self._time)

    def _seek(self, wanted: float) -> None:
        """Draw the instant `wanted`."""
        frames = self._frames
        position, orientation = frames.at(wanted)
        self._time = wanted
        now = frames.index(wanted)
        past = np.concatenate([frames.positions[max(0, now - TRAIL_POINTS) : now + 1], position[None]])
        self._panel.timeline.value = wanted
        particles = frames.particles_at(wanted)
        self._scene.draw(wanted, position, orientation, particles, past, self._panel.trail.value)
        self._scene.follow(self._panel.follow.value, position)

    # ---- the end ---------------------------------------------------------------------------------------------------

    def serve_forever(self) -> None:
        """Serve until interrupted (Ctrl-C) or closed from another thread, then close."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server and free its port; closing twice does nothing."""
        if not self._closed.is_set():
            self._closed.set()
            stop(self.server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
