"""A viewer in the browser, served on this machine by viser: replays a recorded run, or follows one while it runs."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import threading
import webbrowser
from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.view.drawing import Extent, LinkDrawing, coil_points, motion_extent, parse_scene, rotate

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["LiveViewer"]

FRAME_RATE = 30.0  # drawn frames a second
TRAIL_POINTS = 400
PLOT_POINTS = 600
SPEEDS = {"0.05×": 0.05, "0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}
NONE = "none"


class LiveViewer:
    """A viser server that draws one scene.

    The page has play, step, speed and a timeline, a camera that follows a body, trails, joints and body axes, and plots
    of the energies and of the ledger's residual. Nothing leaves the machine unless `host` is changed.
    """

    def __init__(
        self, scene: Mapping[str, Any], host: str = "127.0.0.1", port: int = 8080, *, open_page: bool = True
    ) -> None:
        """Serve the scene described by `scene` (the trajectory's ``scene_json``) at `host`:`port` (0: any free port).

        Opens the page when there is a display, and prints its address in any case.

        Raises:
            OSError: the port is in use.
            ValueError: the scene cannot be drawn.
        """
        self.drawing = parse_scene(scene)
        self.server = _serve(host, port, str(scene.get("name", "dalembert")))
        self.address = f"http://{host}:{self.server.get_port()}"
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._trajectory: Trajectory | None = None
        self._time = 0.0
        self._followed: np.ndarray | None = None
        self._position = np.array([body.position for body in self.drawing.bodies]).reshape(-1, 3)
        self._orientation = np.array([body.orientation for body in self.drawing.bodies]).reshape(-1, 4)
        self._pushed: deque[np.ndarray] = deque(maxlen=TRAIL_POINTS)
        self._history: list[tuple[float, float, float, float]] = []
        self._pushed_at = 0.0
        extent = motion_extent(self.drawing, self._position[None])
        self._add_controls()
        self._add_scene(extent)
        self._draw()
        threading.Thread(target=self._play_loop, name="dalembert viewer", daemon=True).start()
        print(f"viewer: {self.address}", flush=True)
        if open_page and _has_display():
            webbrowser.open(self.address)

    def show(self, trajectory: Trajectory) -> None:
        """Replay `trajectory`, a run of this viewer's scene, from its start.

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
            self._rows = np.array([names.index(name) for name in trajectory.bodies], int)
            self._trajectory = trajectory
            times = trajectory.times
            self._timeline.max = float(max(times[-1], times[0] + 1e-9))
            self._timeline.min = float(times[0])
            self._timeline.step = float(max((times[-1] - times[0]) / 2000, 1e-9))
            self._timeline.disabled = False
            keep = np.unique(np.linspace(0, len(times) - 1, PLOT_POINTS).round().astype(int))
            columns = [
                trajectory[n].values if n in trajectory else 0 * times for n in ("kinetic", "potential", "balance")
            ]
            self._plot(np.stack([times, *columns], axis=1)[keep])
            self._aim(
                motion_extent(parse_scene(trajectory.scene_description, trajectory.bodies), trajectory.position.values)
            )
            self._seek(float(times[0]))
        self._play.value = True

    def push(self, frame: Mapping[str, Any]) -> None:
        """Draw one instant of a run in progress; frames that come faster than the screen are merged.

        Args:
            frame: ``time`` s, ``position`` (n, 3) m and ``orientation`` (n, 4) of the scene's first n bodies, and
                ``kinetic``, ``potential`` and ``balance`` J.
        """
        with self._lock:
            self._trajectory = None
            position = np.asarray(frame["position"], float)
            self._position[: len(position)] = position
            self._orientation[: len(position)] = np.asarray(frame["orientation"], float)
            self._time = float(frame["time"])
            values = (self._time, float(frame["kinetic"]), float(frame["potential"]), float(frame["balance"]))
            self._history.append(values)
            if len(self._history) > 2 * PLOT_POINTS:
                self._history = self._history[::2]
            now = monotonic()
            if now - self._pushed_at < 1.0 / FRAME_RATE:
                return
            self._pushed_at = now
            self._pushed.append(self._position.copy())
            self._timeline.disabled = True
            self._draw()
            if len(self._pushed) % 10 == 1 or len(self._pushed) == TRAIL_POINTS:
                self._plot(np.array(self._history))

    @property
    def time(self) -> float:
        """The instant on the screen, s."""
        return self._time

    @property
    def body_frames(self) -> list[Any]:
        """viser's frame handles of the bodies, in the scene's order."""
        return self._frames

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
            with contextlib.redirect_stdout(io.StringIO()):
                self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the page --------------------------------------------------------------------------------------------------

    def _add_controls(self) -> None:
        from viser import uplot

        gui = self.server.gui
        names = [body.name for body in self.drawing.bodies]
        with gui.add_folder("Playback"):
            self._play = gui.add_checkbox("playing", False)
            self._timeline = gui.add_slider("time, s", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True)
            self._step = gui.add_button_group("step", ("−10", "−1", "+1", "+10"))
            self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
            self._loop = gui.add_checkbox("loop", False)
        with gui.add_folder("View"):
            self._follow = gui.add_dropdown("follow", (NONE, *names), initial_value=NONE)
            self._trail = gui.add_dropdown(
                "trail", (NONE, "all", *names), initial_value="all" if len(names) < 9 else NONE
            )
            self._show_joints = gui.add_checkbox("joints", True)
            self._show_frames = gui.add_checkbox("body axes", False)
        with gui.add_folder("Energy"):
            self._numbers = gui.add_text("now", "", disabled=True)
            empty = np.zeros(2)
            line = [
                uplot.Series(label=n, stroke=c, width=2) for n, c in (("kinetic", "#3566b0"), ("potential", "#d1772a"))
            ]
            total = uplot.Series(label="total", stroke="#232a35", width=1, dash=(5, 4))
            scales = {"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)}
            self._energy_plot = gui.add_uplot(
                (empty, empty, empty, empty),
                (uplot.Series(label="t, s"), *line, total),
                title="energy, J",
                scales=scales,
                aspect=1.5,
            )
            residual = (uplot.Series(label="t, s"), uplot.Series(label="residual", stroke="#b4434d", width=2))
            self._balance_plot = gui.add_uplot(
                (empty, empty), residual, title="ledger residual, J", scales=scales, aspect=1.8
            )

        self._timeline.on_update(lambda event: self._scrub(event.target.value) if event.client is not None else None)
        self._step.on_click(lambda event: self._step_by(int(event.target.value.replace("−", "-"))))
        for handle in (self._follow, self._trail, self._show_joints, self._show_frames):
            handle.on_update(lambda _: self._restyle())

    def _add_scene(self, extent: Extent) -> None:
        scene, size = self.server.scene, extent.size
        self._size = size
        self._grid = scene.add_grid("/ground", infinite_grid=True, fade_distance=12 * size, cell_color=(215, 219, 226),
                                    section_color=(180, 187, 198))  # fmt: skip
        self._frames = []
        for i, body in enumerate(self.drawing.bodies):
            path = f"/bodies/{i}"
            self._frames.append(
                scene.add_frame(path, axes_length=0.15 * size, axes_radius=0.004 * size, show_axes=False)
            )
            if len(body.faces):
                vertices = (body.vertices - body.center).astype(np.float32)
                faces = body.faces.astype(np.uint32)
                flat = len(faces) < 60
                scene.add_mesh_simple(f"{path}/mesh", vertices, faces, color=body.rgb, flat_shading=flat, side="double")
            else:
                scene.add_icosphere(f"{path}/mesh", radius=body.radius or 0.012 * size, color=body.rgb)
        self._dots = []
        for i, joint in enumerate(self.drawing.joints):
            for index, anchor in ((joint.body_a, joint.anchor_a), (joint.body_b, joint.anchor_b)):
                path = f"/bodies/{index}/joint_{i}" if index >= 0 else f"/world/joint_{i}"
                self._dots.append(scene.add_icosphere(path, 0.01 * size, (35, 42, 53), subdivisions=2, position=anchor))
        for i, curve in enumerate(self.drawing.curves):
            self._add_lines(f"/curves/{i}", _segments(curve.points), (90, 97, 115))
        self._line_handles = [
            self._add_lines(f"/lines/{i}", _segments(self._line_points(link)), (64, 74, 92))
            for i, link in enumerate(self.drawing.lines)
        ]
        self._trails = [
            self._add_lines(f"/trails/{i}", np.zeros((1, 2, 3)), body.rgb) for i, body in enumerate(self.drawing.bodies)
        ]
        self._aim(extent)

    def _add_lines(self, path: str, segments: np.ndarray, color: tuple[int, int, int]) -> Any:
        return self.server.scene.add_line_segments(
            path, segments.astype(np.float32), color, thickness=2.0, thickness_units="screen"
        )

    def _aim(self, extent: Extent) -> None:
        self._grid.position = (0.0, 0.0, extent.ground)
        away = 1.6 * extent.size * np.array([np.cos(extent.yaw), np.sin(extent.yaw), 0.35])
        camera = self.server.initial_camera
        camera.look_at, camera.position = extent.center, extent.center + away
        for client in self.server.get_clients().values():
            client.camera.position, client.camera.look_at = extent.center + away, extent.center

    # ---- time ------------------------------------------------------------------------------------------------------

    def _play_loop(self) -> None:
        while not self._closed.wait(1.0 / FRAME_RATE):
            with self._lock:
                run = self._trajectory
                if run is None or not self._play.value:
                    continue
                wanted = self._time + SPEEDS[self._speed.value] / FRAME_RATE
                if wanted >= run.times[-1]:
                    self._play.value = bool(self._loop.value)
                    wanted = float(run.times[0] if self._loop.value else run.times[-1])
                self._seek(wanted)

    def _scrub(self, wanted: float) -> None:
        with self._lock:
            if self._trajectory is not None and abs(wanted - self._time) > self._timeline.step:
                self._play.value = False
                self._seek(wanted)

    def _step_by(self, frames: int) -> None:
        with self._lock:
            if self._trajectory is not None:
                self._play.value = False
                times = self._trajectory.times
                index = int(np.clip(np.searchsorted(times, self._time) + frames, 0, len(times) - 1))
                self._seek(float(times[index]))

    def _seek(self, wanted: float) -> None:
        run = self._trajectory
        assert run is not None
        i = int(np.clip(np.searchsorted(run.times, wanted, side="right") - 1, 0, len(run) - 1))
        self._time = wanted
        self._position[self._rows] = run.position.values[i]
        self._orientation[self._rows] = run.orientation.values[i]
        self._timeline.value = wanted
        self._draw(i)

    # ---- drawing ---------------------------------------------------------------------------------------------------

    def _draw(self, index: int | None = None) -> None:
        with self.server.atomic():
            for frame, position, orientation in zip(self._frames, self._position, self._orientation, strict=True):
                frame.position, frame.wxyz = position, orientation
            for handle, link in zip(self._line_handles, self.drawing.lines, strict=True):
                handle.points = _segments(self._line_points(link)).astype(np.float32)
                handle.visible = self._time <= link.until
            self._draw_trails(index)
        self._follow_body()
        self._numbers.value = f"t = {self._time:.3f} s"

    def _draw_trails(self, index: int | None) -> None:
        run = self._trajectory
        if run is not None and index is not None:
            first = max(0, index - TRAIL_POINTS)
            past = np.broadcast_to(self._position, (index + 1 - first, *self._position.shape)).copy()
            past[:, self._rows] = run.position.values[first : index + 1]
        else:
            past = np.array(self._pushed) if self._pushed else self._position[None]
        for body, handle in zip(range(len(self._trails)), self._trails, strict=True):
            handle.visible = self._trail.value in ("all", self.drawing.bodies[body].name) and len(past) > 1
            if handle.visible:
                handle.points = _segments(past[:, body]).astype(np.float32)

    def _restyle(self) -> None:
        with self._lock:
            self._followed = None
            for dot in self._dots:
                dot.visible = self._show_joints.value
            for frame in self._frames:
                frame.show_axes = self._show_frames.value
            if self._trajectory is not None:
                self._seek(self._time)
            else:
                self._draw()

    def _follow_body(self) -> None:
        names = [body.name for body in self.drawing.bodies]
        if self._follow.value not in names:
            return
        here = self._position[names.index(self._follow.value)].copy()
        for client in self.server.get_clients().values():
            camera = client.camera
            shift = here - (camera.look_at if self._followed is None else self._followed)
            camera.position = camera.position + shift  # the point looked at moves along
        self._followed = here

    def _line_points(self, link: LinkDrawing) -> np.ndarray:
        ends = [
            anchor if body < 0 else self._position[body] + rotate(self._orientation[body], anchor)
            for body, anchor in ((link.body_a, link.anchor_a), (link.body_b, link.anchor_b))
        ]
        return coil_points(ends[0], ends[1], link.coils, 0.016 * self._size)

    def _plot(self, rows: np.ndarray) -> None:
        t, kinetic, potential, balance = (np.ascontiguousarray(column) for column in rows.T)
        if len(t) > 1:
            self._energy_plot.data = (t, kinetic, potential, kinetic + potential)
            self._balance_plot.data = (t, balance)


def _segments(points: np.ndarray) -> np.ndarray:
    """Polyline (n, 3) as segments (n − 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1)


def _serve(host: str, port: int, label: str) -> Any:
    """A viser server on exactly this port: viser itself would move on to the next free one."""
    import viser

    def taken() -> OSError:
        return OSError(
            f"port {port} on {host} is in use: close the other viewer, or choose another port (0: any free one)"
        )

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise taken() from error
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a panel with the address; the viewer prints its own
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    if port not in (0, server.get_port()):
        server.stop()
        raise taken()
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    return server


def _has_display() -> bool:
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
