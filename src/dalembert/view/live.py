"""A viewer in the browser, served on this machine by viser: replays a recorded run, or follows one while it runs."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.view.drawing import parse_scene, thinned_scene
from dalembert.view.extent import Extent, motion_extent
from dalembert.view.frames import Frames
from dalembert.view.geometry import thinned
from dalembert.view.live_facts import facts
from dalembert.view.live_page import ALL, NOBODY, NONE, Panel
from dalembert.view.live_particles import LiveParticles
from dalembert.view.live_playback import Playback
from dalembert.view.live_plots import Plots
from dalembert.view.live_scene import LiveScene
from dalembert.view.live_server import exposure, has_browser, serve, stop
from dalembert.view.particles import thinning_note

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["LiveViewer"]

PLOT_RATE = 3.0  # drawn plots a second while a run goes on
FACT_RATE = 8.0  # the same of the timeline, and of the numbers of the body chosen
TRAIL_FRAMES = 400
EXTENT_FRAMES = 40  # looked at for what is to be seen
MAX_POINTS = 20_000  # free particles drawn


class LiveViewer(Playback):
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
        super().__init__()
        whole = parse_scene(scene)
        self.server = serve(host, port, str(scene.get("name", "dalembert")))
        self.address = f"http://{host}:{self.server.get_port()}"
        self._drawn_at, self._told_at, self._timed_at, self._seen = 0.0, 0.0, 0.0, 0
        self._words = ""  # how the run goes
        self._drags: list[Callable[[int, str, np.ndarray, np.ndarray], None]] = []
        self._panel, self._plots = Panel(self.server.gui), Plots(self.server.gui)
        self._stand(whole)
        panel = self._panel
        panel.on_play(lambda: self.play(not self._playing))
        panel.on_seek(self._scrub)
        panel.on_step(self.step)
        panel.on_restyle(self._restyle)
        panel.on_look(lambda: self._scene.aim(self._extent(), anew=True))
        panel.on_choose(self.choose)
        self._plots.choice.on_update(lambda _: self._plots.draw(self._frames))
        self.server.on_client_connect(self._welcome)
        self._threads: list[threading.Thread] = []  # that end where it is closed
        self.start_thread(self._play_loop, "dalembert viewer")
        print(f"viewer: {self.address}{exposure(host)}", file=sys.stderr, flush=True)
        if open_page and has_browser():
            webbrowser.open(self.address)

    def _stand(self, whole: Any) -> None:
        """Draw a scene at rest, and have no frames of it."""
        self.drawing, self._rows = thinned_scene(whole, MAX_POINTS)
        self._frames, self._time, self._seen, self._owed = self._no_frames(), 0.0, 0, 0
        self._body = -1
        extent = motion_extent(self.drawing, *(part[None] for part in self._poses_at_rest()))
        self._scene = LiveScene(self.server, self.drawing, extent)
        self._panel.set_bodies(
            [body.name for body in self.drawing.bodies], thinning_note(whole.particles, self.drawing.particles)
        )
        self._panel.facts.content = NOBODY
        self._plots.set_names((), np.array([body.mass or 0.0 for body in self.drawing.bodies]))
        self._scene.bodies.on_pick(lambda body: self.choose(self.drawing.bodies[body].name))
        for act in self._drags:
            self._scene.bodies.on_drag(act)
        self._restyle()

    def stand(self, scene: Mapping[str, Any]) -> None:
        """Draw another scene, described like the first, with no frames.

        Raises:
            ValueError: the scene cannot be drawn; the one before stays.
        """
        whole = parse_scene(scene)
        with self._lock:
            self.server.scene.reset()
            self._stand(whole)
            self.server.gui.set_panel_label(str(scene.get("name", "dalembert")))

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
            self.name_forces(trajectory.forces)
            self._running = False
            self._look("recorded", aim=True)
            self._seek(float(self._frames.times[0]))

    def name_forces(self, forces: Any) -> None:
        """The frames hold works of these forces, (time, force)."""
        self._plots.set_names(forces, self._plots.masses)

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
        """Forget the frames later than `time` (s): the run goes on from there in another way."""
        with self._lock:
            self._frames.drop_after(time)
            self._look("running")
            self._seek(float(self._frames.times[-1]))

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
                self._scene.aim(extent)

    def _set_playing(self, on: bool) -> None:
        super()._set_playing(on)
        if not on and len(self._frames):  # as far as it came
            self._look(self._words)

    def tell(self, words: str, *, trouble: bool = False) -> None:
        """A notice on every page that is open."""
        for client in self.server.get_clients().values():
            client.add_notification(
                "dalembert", words, auto_close_seconds=None if trouble else 6.0, color="red" if trouble else None
            )

    def show_hand(self, ends: np.ndarray | None) -> None:
        """Draw a hand from the point that it holds to where it pulls, (2, 3) m; None for an empty one."""
        self._scene.show_hand(ends)

    def show_stages(self, seconds: Mapping[str, float]) -> None:
        """Show where the computing time of the run went, s by stage."""
        self._plots.stages(seconds)

    def show_kind(self, kind: str, on: bool = True) -> None:
        """Draw a kind of quantity, one of `live_overlays.KINDS`, or do not."""
        self._panel.show_kind(kind, on)

    @property
    def placed(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (b, 3) m and orientations (b, 4) of the bodies on the screen."""
        return self._scene.bodies.position, self._scene.bodies.orientation

    @property
    def particle_groups(self) -> list[LiveParticles]:
        """viser's handles of the groups of particles, in the scene's order."""
        return self._scene.particles

    # ---- people ----------------------------------------------------------------------------------------------------

    def follow(self, body: str | None) -> None:
        """Move the cameras along with a body, None for no more."""
        self._panel.follow.value = NONE if body is None else body

    def choose(self, body: str | None) -> None:
        """Read a body: its state, and its share of the audit; None for none."""
        with self._lock:
            names = [item.name for item in self.drawing.bodies]
            self._body = self._plots.body = names.index(body) if body in names else -1
            self._panel.chosen.value = NONE if self._body < 0 else names[self._body]
            self._scene.bodies.choose(self._body)
            self._told_at = 0.0
            self._tell_facts()

    def on_drag(self, act: Callable[[int, str, np.ndarray, np.ndarray], None]) -> None:
        """Call `act` when a body is dragged, with its number, "start", "update" or "end", the point where it was taken, and
        the pointer, (3,) m."""
        self._drags.append(act)
        self._scene.bodies.on_drag(act)

    def _tell_facts(self) -> None:
        if monotonic() - self._told_at > 1.0 / FACT_RATE:
            self._told_at = monotonic()
            if self._body < 0 or not len(self._frames):
                self._panel.facts.content = NOBODY
            else:
                self._panel.facts.content = facts(
                    self.drawing.bodies[self._body], self._body, self._frames, self._frames.index(self._time)
                )

    def _welcome(self, client: Any) -> None:
        self._scene.welcome(client)
        self._start()

    def _restyle(self) -> None:
        with self._lock:
            panel = self._panel
            self._scene.follow(NONE, np.zeros((0, 3)))
            self._scene.style(panel.joints.value, panel.frames.value, panel.shadows.value, panel.kinds)
            if len(self._frames):
                self._seek(self._time)

    def _seek(self, wanted: float) -> None:
        """Draw the instant `wanted`."""
        frames = self._frames
        position, orientation = frames.at(wanted)
        self._time = wanted
        self.pictures += 1
        now = frames.index(wanted)
        self._scene.draw(wanted, position, orientation, frames.particles_at(wanted), frames.found(now))
        self._draw_trails(now, wanted, position)
        self._scene.follow(self._panel.follow.value, position)
        if (
            not self._playing or monotonic() - self._timed_at > 1.0 / FACT_RATE
        ):  # a slider costs a page more than a picture
            self._timed_at = monotonic()
            self._panel.timeline.value = wanted
        self._tell_facts()

    def _draw_trails(self, now: int, wanted: float, position: np.ndarray) -> None:
        trail, since = self._panel.trail.value, max(0, now - TRAIL_FRAMES)
        names = self._scene.names
        rows = list(range(len(names))) if trail == ALL else [names.index(trail)] if trail in names else []
        if not rows:
            self._scene.trails.draw([], np.zeros(0), np.zeros((0, 0, 3)))
            return
        times = np.append(self._frames.times[since : now + 1], wanted)
        self._scene.trails.draw(rows, times, np.concatenate([self._frames.positions[since : now + 1], position[None]]))

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
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join(5.0)
            stop(self.server)

    def start_thread(self, work: Callable[[], None], name: str) -> None:
        """Run `work` in a thread, which ends once `closed`."""
        self._threads.append(threading.Thread(target=work, name=name, daemon=True))
        self._threads[-1].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
