"""The viewer in the browser, served on this machine by viser: it replays a recorded run, or follows one in progress."""

from __future__ import annotations

import contextlib
import http
import io
import ipaddress
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Self

import numpy as np

from ..core.notebook import served
from .drawing import motion_extent, parse_scene, thinned_scene, thinning_note
from .live_page import ALL, MOVING, NOBODY, NONE, Panel, Plots, Share, brief_facts, facts, legend
from .live_record import Record
from .live_scene import PRESSURE, LiveParticles, LiveScene
from .live_stage import Audience
from .viewpoint import is_scattered

# Guard of the server: only its own page may connect -------------------------------------------------------------------
#
# A page of any site can have a browser send requests to this machine, and open WebSockets, to which the same-origin policy
# does not apply: it could steer a run. The browser says which page asks (Origin) and what name it looked up (Host). So
#
#     Host    must be a loopback name, or the host that the page is served at. A name of an attacker's that resolves to
#             127.0.0.1 (DNS rebinding) is neither. A server on all addresses accepts each, and the machine's name.
#     Origin  must be the same as Host, port included; programs that are no browsers send none.

EVERYWHERE = ("", "0.0.0.0", "::")
HOST = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?$")
ONE_AT_A_TIME = threading.Lock()


def refusal(served_at: str, hosts: list[str], origins: list[str]) -> str:
    """Why a request is refused; empty where it is not.

    served_at : the host of the server. hosts, origins : the headers of that name.
    """
    asked = [_parsed(host) for host in hosts]
    if len(asked) != 1 or asked[0] is None:
        return "the request has no host header, or several"
    name, port = asked[0]
    if not _is_ours(name, served_at):
        return f"the page is not served as {name!r:.100}; use the printed address, or localhost"
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        found = _parsed(rest) if scheme in ("http", "https") else None
        usual = 443 if scheme == "https" else 80
        if found is None or (found[0], found[1] or usual) != (name, port or usual):
            return f"the request comes from another page, {origin!r:.100}"
    return ""


def _parsed(host: str) -> tuple[str, int] | None:
    """(name, port) of a Host; port 0 where there is none."""
    match = HOST.match(host)
    if match is None:
        return None
    return match[1].strip("[]").rstrip(".").lower(), int(match[2] or 0)


def _is_ours(name: str, served_at: str) -> bool:
    if name in ("localhost", served_at.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return served_at in EVERYWHERE and name in (own, f"{own}.local", own.partition(".")[0])
    return address.is_loopback or served_at in EVERYWHERE


@contextlib.contextmanager
def guarded(served_at: str, audience: Audience | None = None) -> Iterator[None]:
    """A server of viser that is started within answers only to what `refusal` lets through; `audience` hears its pages.

    viser has no place for such a check, so that the function by which it starts its server is replaced meanwhile. Raises
    RuntimeError where no server was started by it: a version of viser that does otherwise is not left open.
    """
    from websockets.asyncio import server as sockets

    serve: Any = sockets.serve
    started = []

    def guarded_serve(*arguments: Any, **options: Any) -> Any:
        options["process_request"] = _checked(options.get("process_request"), served_at, audience)
        started.append(True)
        return serve(*arguments, **options)

    with ONE_AT_A_TIME:
        sockets.serve = guarded_serve  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            sockets.serve = serve  # type: ignore[misc]
    if not started:
        raise RuntimeError("the server of this version of viser cannot be secured; install another version")


def _checked(
    answer: Callable[[Any, Any], Any] | None, served_at: str, audience: Audience | None
) -> Callable[[Any, Any], Any]:
    """What answers a request: a refusal, or what would have answered."""

    def process_request(connection: Any, request: Any) -> Any:
        why = refusal(served_at, request.headers.get_all("Host"), request.headers.get_all("Origin"))
        if why:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {why}\n")
        if audience is not None and audience.heard(request.path):
            return connection.respond(http.HTTPStatus.OK, "")
        return None if answer is None else answer(connection, request)

    return process_request


# Port and browser -----------------------------------------------------------------------------------------------------

USUAL_PORT = 8080
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def exposure(host: str) -> str:
    """What to say of an address beside it: what it lets others do, where it is not only this machine's own."""
    if host in LOOPBACK:
        return ""
    return (
        f"\nwarning: {host} can be reached from other machines: anyone who connects to the port sees the scene, and "
        "can steer "
        "the run, pull bodies and switch gallery scenes. There is no password and no encryption; files are not "
        "served. Use it "
        "only in a trusted network, or use 127.0.0.1 and tunnel the port."
    )


def serve(host: str, port: int | None, label: str, audience: Audience | None = None) -> Any:
    """A viser server on exactly this port (0: any free one; None: the usual one, or any free one where it is taken), which
    answers its own page only; see `guarded`.

    viser itself would move on from a taken port without a word.

    Raises:
        OSError: the port is in use.
    """
    import viser

    if port is None:
        port = USUAL_PORT if _is_free(host, USUAL_PORT) else 0
    if not _is_free(host, port):
        raise _taken(host, port)
    # viser prints a panel with the address; the viewer prints its own
    with silence(), guarded(host, audience):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    if port not in (0, server.get_port()):
        stop(server)
        raise _taken(host, port)
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    if hasattr(server.gui, "main_panel"):  # viser 1.1 and later
        server.gui.main_panel.dock_right()
    return server


def stop(server: Any) -> None:
    """Stop a server and free its port, quietly."""
    with silence():
        server.stop()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Without what viser prints with rich, which in a notebook does not go to the standard output."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = before


def has_browser() -> bool:
    """Whether a page opened on this machine would be seen: it has a display, and a browser."""
    shown = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not shown:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _taken(host: str, port: int) -> OSError:
    return OSError(f"port {port} on {host} is in use: close the other viewer, or choose another port (0: any free one)")


# LiveViewer -----------------------------------------------------------------------------------------------------------

FACT_RATE = 8.0  # updates a second of the timeline, and of the numbers of the body chosen
TRAIL_FRAMES = 400
MAX_POINTS = 20_000  # free particles drawn


class LiveViewer(Record):
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
        self._audience = Audience()
        self.server: Any = serve(host, port, str(scene.get("name", "dalembert")), self._audience)
        self.address: str = f"http://{host}:{self.server.get_port()}"
        self._told_at = self._timed_at = self._moved_at = 0.0
        self._visitors = 0  # pages that were opened since `play` was called without any
        self._warned: list[str] = []
        self._drags: list[Callable[[int, str, np.ndarray, np.ndarray], None]] = []
        self._panel, self._plots = Panel(self.server.gui), Plots(self.server.gui)
        self._stand(scene, whole)
        panel = self._panel
        panel.on_play(lambda: self.play(not self._playing))
        panel.on_seek(self._scrub)
        panel.on_step(self.step)
        panel.on_restyle(self._restyle)
        panel.on_look(lambda: self._scene.aim(self._extent(), self._elevation(), anew=True))
        panel.on_choose(self.choose)
        self._plots.choice.on_update(lambda _: self._plots.draw(self._frames))
        self.server.on_client_connect(self._welcome)
        self._threads: list[threading.Thread] = []  # that end where it is closed
        self.start_thread(self._play_loop, "dalembert viewer")
        print(f"viewer: {self.address}{exposure(host)}", file=sys.stderr, flush=True)
        if open_page and has_browser():
            webbrowser.open(self.address)

    def _stand(self, scene: Mapping[str, Any], whole: Any) -> None:
        """Draw a scene at rest, and have no frames of it."""
        self.drawing, self._rows = thinned_scene(whole, MAX_POINTS)
        self._frames, self._time, self._seen, self._owed = self._no_frames(), 0.0, 0, 0
        self._body, self._label, self._share = -1, "", Share(scene, self.drawing)
        extent = motion_extent(self.drawing, *(part[None] for part in self._poses_at_rest()))
        self._scene = LiveScene(self.server, self.drawing, extent)
        self._scene.aim(extent, self._elevation())
        self._panel.set_bodies(
            [body.name for body in self.drawing.bodies], thinning_note(whole.particles, self.drawing.particles)
        )
        self._panel.facts.content = NOBODY
        self._plots.set_names((), np.array([body.mass or 0.0 for body in self.drawing.bodies]))
        self._plots.energy = float(self._plots.masses.sum() * np.linalg.norm(self._share.gravity)) * extent.size
        if is_scattered(self.drawing, extent, self._scene.bodies.position):
            self._panel.follow.value, self._panel.trail.value = MOVING, ALL
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
            self._stand(scene, whole)
            self.server.gui.set_panel_label(str(scene.get("name", "dalembert")))

    @property
    def watched(self) -> bool:
        """Whether a page is open and on a screen, or none was opened since a program began to play."""
        return self._visitors == 0 or self._audience.looks(len(self.server.get_clients()))

    def tell(self, words: str, *, trouble: bool = False) -> None:
        """A notice on every page that is open; red, until it is closed, for trouble."""
        for client in self.server.get_clients().values():
            client.add_notification(
                "dalembert", words, auto_close_seconds=None if trouble else 6.0, color="red" if trouble else None
            )

    def show_warnings(self, messages: Sequence[str]) -> None:
        """Show what is doubtful of the run, above the controls; what is shown already is left."""
        if list(messages) != self._warned:
            self._warned = list(messages)
            self._panel.set_warnings(self._warned)

    def say(self, words: str) -> None:
        """How things stand, in the field of the panel that tells how far the run has come."""
        self._panel.status.value = words

    def show_hand(self, ends: np.ndarray | None) -> None:
        """Draw a hand from the point that it holds to where it pulls, (2, 3) m; None for an empty one."""
        self._scene.show_hand(ends)

    def show_stages(self, seconds: Mapping[str, float]) -> None:
        """Show where the computing time of the run went, s by stage."""
        self._plots.stages(seconds)

    def show_kind(self, kind: str, on: bool = True) -> None:
        """Draw a kind of quantity, one of `live_scene.KINDS`, or do not."""
        self._panel.show_kind(kind, on)

    @property
    def placed(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (b, 3) m and orientations (b, 4) of the bodies on the screen."""
        return self._scene.bodies.position, self._scene.bodies.orientation

    @property
    def particle_groups(self) -> list[LiveParticles]:
        """viser's handles of the groups of particles, in the scene's order."""
        return self._scene.particles

    def play(self, on: bool = True) -> None:
        """Play from where it stands, or pause. Without a page that is open it plays unseen."""
        if on and not self.server.get_clients():
            self._visitors = 0
        super().play(on)

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
            self._scene.label(self._body, self._label, self._scene.bodies.position)

    def on_drag(self, act: Callable[[int, str, np.ndarray, np.ndarray], None]) -> None:
        """Call `act` when a body is dragged, with its number, "start", "update" or "end", the point where it was taken, and
        the pointer, (3,) m."""
        self._drags.append(act)
        self._scene.bodies.on_drag(act)

    def _tell_facts(self) -> None:
        if monotonic() - self._told_at > 1.0 / FACT_RATE:
            self._told_at = monotonic()
            if self._body < 0 or not len(self._frames):
                self._panel.facts.content, self._label = NOBODY, ""
            else:
                index = self._frames.index(self._time)
                self._label = brief_facts(self.drawing.bodies[self._body], self._body, self._frames, index)
                self._share.released = self._scene.links.released
                self._panel.facts.content = facts(
                    self.drawing.bodies[self._body], self._body, self._frames, index, self._share
                )

    def _welcome(self, client: Any) -> None:
        self._visitors += 1
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
        overlays = self._scene.overlays
        self._draw_trails(now, wanted, position)
        pressure = overlays.pressure_scale if PRESSURE in overlays.shown else None
        self._panel.set_legend(legend(overlays.scales(), pressure, self._scene.trails.fastest))
        self._follow(now, position)
        if (
            not self._playing or monotonic() - self._timed_at > 1.0 / FACT_RATE
        ):  # a slider costs a page more than a picture
            self._timed_at = monotonic()
            self._panel.timeline.value = wanted
        self._tell_facts()
        self._scene.label(self._body, self._label, position)

    def _follow(self, now: int, position: np.ndarray) -> None:
        """Move the cameras along with what is followed."""
        wanted = self._panel.follow.value
        self._scene.follow(wanted, position)
        passed, self._moved_at = monotonic() - self._moved_at, monotonic()
        before, times = max(0, now - 1), self._frames.times
        if wanted == MOVING and times[now] > times[before]:
            velocity = (self._frames.positions[now] - self._frames.positions[before]) / (times[now] - times[before])
            self._scene.follow_motion(position, velocity, min(passed, 0.1))

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

    def _repr_html_(self) -> str:
        return served("recorded run", self.address)

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
