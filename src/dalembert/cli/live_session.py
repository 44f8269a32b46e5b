"""A session in the browser: `show`, the panel that steers the run, and the thread that advances it."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from .. import gallery
from ..core.keywords import with_keywords
from ..core.notebook import in_notebook, served
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import renamed_keywords
from ..gallery._loading import load
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ..simulation.registry import override
from ..simulation.settings import Settings
from ..view.live import LiveViewer
from ..view.live_server import PageServer, server_first
from .viewer import scene_at_rest

if TYPE_CHECKING:
    from ..simulation.session import Session
    from ..simulation.simulation import Simulation
    from ..simulation.trajectory import Trajectory


@overload
def show(
    what: Scene | Trajectory | Simulation | str | Path | None = None, *, host: str = "127.0.0.1", port: int | None = None,
    open_page: bool | None = None, wait: Literal[False], **settings: Unpack[Settings],
) -> LiveSession | LiveViewer: ...  # fmt: skip


@overload
def show(
    what: Scene | Trajectory | Simulation | str | Path | None = None, *, host: str = "127.0.0.1", port: int | None = None,
    open_page: bool | None = None, wait: bool | None = None, **settings: Unpack[Settings],
) -> LiveSession | LiveViewer | None: ...  # fmt: skip


@renamed_keywords(**RENAMED)
@with_keywords(Settings)
def show(
    what: Scene | Trajectory | Simulation | str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_page: bool | None = None,
    wait: bool | None = None,
    **settings: Unpack[Settings],
) -> LiveSession | LiveViewer | None:
    """Show a scene in the browser and let users steer its run, or replay a recorded run.

    what : a `Scene`, the name of a gallery scene, a Python file with build(), or a model file, which runs with
        `settings` (those of `Simulation`); or a `Trajectory`, a `Simulation`, or the file of a saved run (.nc), which
        is replayed.
    host : the address of the page. An address that other machines can reach lets others steer the run, and issues a
        warning.
    port : 0 for any free port. Default: 8080, or any free port if 8080 is in use.
    open_page : whether to open a tab. Default: only if there is a browser and the call is not in a notebook.
    wait : True: serve until Ctrl-C. False: return the session at once; its `close` ends it. Default: True, but False in
        a notebook, which shows the address.

    Raises ValueError if `what` is neither a scene nor a run, and OSError if the port is in use or the file cannot be
    read.
    """
    notebook = in_notebook()
    opened = open_session(what, host, port, not notebook if open_page is None else open_page, dict(settings))
    if not (not notebook if wait is None else wait):
        return opened
    opened.serve_forever()
    return None


# Opening a session or a recorded run in the browser -------------------------------------------------------------------

FIRST = "double-pendulum"
FRAMES = 60.0  # a second
MANY = 5000  # particles


def open_session(
    what: Any, host: str, port: int | None, open_page: bool, settings: dict[str, Any], root: Path | None = None,
    page: PageServer | None = None,
) -> LiveSession | LiveViewer:  # fmt: skip
    """See `show`. root : folder that a model file may read from. page : one that is served and announced already."""
    try:
        with server_first():
            return _open(what, host, port, open_page, settings, root, page)
    except BaseException:
        if page is not None:
            page.close()
        raise


def _open(
    what: Any, host: str, port: int | None, open_page: bool, settings: dict[str, Any], root: Path | None,
    page: PageServer | None,
) -> LiveSession | LiveViewer:  # fmt: skip
    what = FIRST if what is None else what
    if isinstance(what, str | Path) and Path(what).suffix == ".nc":
        from ..simulation.trajectory import Trajectory

        what = Trajectory.load(what)
    what = getattr(what, "trajectory", what)  # of a Simulation
    if hasattr(what, "scene_description"):
        if settings:
            raise ValueError(f"a recorded run is replayed unchanged; leave out {', '.join(settings)}")
        viewer = LiveViewer(what.scene_description, host, port, open_page=open_page)
        viewer.show(what)
        return viewer
    if isinstance(what, Scene):
        name, scene = what.name, what
    else:
        name = str(what)
        scene, own = load(name, False, root=root)
        settings = override(own, settings)
    # The page comes first: its server works on while viser, the compiler and the kernels of the run are loaded here.
    if page is None:
        page = PageServer(host, port)
        page.announce(open_page)
    try:
        viewer = LiveViewer(scene_at_rest(scene), page=page)
    except BaseException:
        page.close()
        raise
    try:
        viewer.say("loading the simulation")
        from ..simulation.session import Session

        session = Session(scene, **smooth(scene, settings))
    except BaseException:
        viewer.close()
        raise
    names = [*([] if name in gallery.names() else [name]), *gallery.names()]
    return LiveSession(viewer, session, name, names, load_smooth)


def load_smooth(name: str) -> tuple[Any, dict[str, Any]]:
    """The scene and settings of a name, with frames for the screen."""
    scene, settings = load(name, False)
    return scene, smooth(scene, settings)


def smooth(scene: Scene, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with as many frames a second as a screen shows, but for scenes whose frames take much memory."""
    large = sum(len(group) for group in scene.particles.values()) > MANY
    frames = float(settings.get("frame_rate", FRAMES))
    return settings | {"frame_rate": frames if large else max(frames, FRAMES)}


# Panel: the scene, commands and parameters ----------------------------------------------------------------------------

RESTART, FROM_HERE, SAVE = "Restart", "From here", "Save"
MOTORS = 12  # that can be steered by hand
UNITS = {"effort": "N m or N", "position": "rad or m", "speed": "rad/s or m/s"}


class SessionPanel:
    """viser's controls, by what they mean; what they do is set by the `on_` methods."""

    def __init__(self, gui: Any, scenes: Sequence[str], scene: str) -> None:
        self._gui = gui
        # what is listed → the name of the scene
        self._names = {Path(name).name if Path(name).suffix else name: name for name in reversed(scenes)}
        listed = {name: short for short, name in self._names.items()}
        with gui.add_folder("Session", order=0):
            self.scene = gui.add_dropdown("scene", tuple(listed.get(n, n) for n in scenes), initial_value=listed[scene])
            self.about = gui.add_markdown("")
            self.acts = gui.add_button_group("run", (RESTART, FROM_HERE, SAVE))
        self._folder: Any = None
        self.keys = {
            "restart": gui.add_command("restart", hotkey="R", description="Restart the run"),
            "continue from here": gui.add_command(
                "continue from here", hotkey="G", description="Discard all later frames"
            ),
        }
        self._steer: Callable[..., None] = lambda *_: None

    def set_parameters(
        self, about: str, gravity: np.ndarray, dt: float | None, motors: dict[str, dict[str, float]], can_grab: bool
    ) -> None:
        """Controls for a run: gravity m/s², the step dt (s) of a fixed-step one, and inputs of motors."""
        held = "Drag a body with the mouse to pull it." if can_grab else "Bodies of this run cannot be pulled."
        self.about.content = f"{about}\n\n{held}"
        if self._folder is not None:
            self._folder.remove()
        gui = self._gui
        self._folder = gui.add_folder("Parameters", order=1.5, expand_by_default=False)
        with self._folder:
            field = gui.add_vector3("gravity, m/s²", tuple(float(g) for g in gravity), step=0.01)
            field.on_update(lambda event: self._steer("gravity", tuple(event.target.value)))
            if can_grab:
                strength = gui.add_slider(
                    "pull strength (power of ten)", min=-2.0, max=2.0, step=0.1, initial_value=0.0
                )
                strength.on_update(lambda event: self._steer("strength", 10.0**event.target.value))
            if dt is not None:
                step = gui.add_number("dt, ms (restarts)", 1e3 * dt, min=1e-4, step=1e-4)
                step.on_update(lambda event: self._steer("dt", 1e-3 * event.target.value))
            for name, inputs in list(motors.items())[:MOTORS]:
                for key, value in inputs.items():
                    self._add_input(name, key, value)
            if len(motors) > MOTORS:
                gui.add_markdown(f"and {len(motors) - MOTORS} more motors")

    def _add_input(self, motor: str, key: str, value: float) -> None:
        box = self._gui.add_number(f"{motor[:40]}: {key}, {UNITS[key]}", value, step=0.01)
        box.on_update(lambda event: self._steer("motor", (motor, key, float(event.target.value))))

    def on_steer(self, act: Callable[..., None]) -> None:
        """Call `act` with what was changed ("gravity", "strength", "dt", "motor") and its new value."""
        self._steer = act

    def on_scene(self, act: Callable[[str], None]) -> None:
        """Call `act` with the name of the scene that was picked."""
        self.scene.on_update(lambda event: act(self.picked) if event.client is not None else None)

    @property
    def picked(self) -> str:
        """The name of the scene that is picked: files are listed without their folders."""
        return self._names.get(self.scene.value, self.scene.value)

    def pick(self, name: str) -> None:
        """Show this name as the one that is picked."""
        self.scene.value = next((short for short, whole in self._names.items() if whole == name), name)

    def on_restart(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to begin anew."""
        self._on_act(RESTART, act)
        self.keys["restart"].on_trigger(lambda _: act())

    def on_from_here(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to go on from the instant shown."""
        self._on_act(FROM_HERE, act)
        self.keys["continue from here"].on_trigger(lambda _: act())

    def on_save(self, act: Callable[[Any], None]) -> None:
        """Call `act` with the client that wants the recorded run."""
        self.acts.on_click(lambda event: act(event.client) if event.target.value == SAVE else None)

    def _on_act(self, name: str, act: Callable[[], None]) -> None:
        self.acts.on_click(lambda event: act() if event.target.value == name else None)


# Thread of the session: all actions of users run here, between two frames ---------------------------------------------

IDLE = 0.004  # s between two looks at whether more frames are wanted
STAGES_EVERY = 1.0  # s
MOST_MEMORY = 2e9  # bytes of frames, from which on a run does not go on by itself
MOST_SESSIONS = 4  # of scenes that were shown before
PAST = 5  # frames before the end, from which on what is shown is the past

Load = Callable[[str], tuple[Any, dict[str, Any]]]


class LiveSession:
    """Sessions of scenes that `load` makes from their names, shown in `viewer`, which shows `session` first."""

    viewer: LiveViewer
    session: Session
    name: str
    trouble: str
    panel: SessionPanel

    def __init__(self, viewer: LiveViewer, session: Session, name: str, names: list[str], load: Load) -> None:
        self.viewer, self.session, self.name, self._load = viewer, session, name, load
        self.trouble = ""  # why the run cannot go on
        self._sessions: dict[str, Session] = {name: session}
        self._acts: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._pointer: np.ndarray | None = None
        self._pace, self._told_at = 0.0, 0.0
        panel = self.panel = SessionPanel(viewer.server.gui, names, name)
        panel.on_scene(lambda wanted: self.do(partial(self._switch, wanted)))
        panel.on_restart(lambda: self.do(self._restart))
        panel.on_from_here(lambda: self.do(self._from_here))
        panel.on_save(lambda client: self.do(partial(self._save, client)))
        panel.on_steer(lambda what, value: self.do(partial(self._steer, what, value)))
        viewer.on_drag(self._drag)
        self._show()
        viewer.start_thread(self._loop, "dalembert session")

    def do(self, act: Callable[[], Any]) -> None:
        """Do something between two frames, from any thread."""
        self._acts.put(act)

    def _repr_html_(self) -> str:
        return served(self.name, self.viewer.address)

    def serve_forever(self) -> None:
        """Serve until interrupted (Ctrl-C) or closed from another thread, then close."""
        self.viewer.serve_forever()
        self.close()

    def close(self) -> None:
        """End the thread, and close the viewer."""
        self.viewer.close()

    # The thread -------------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        from ..simulation.errors import SimulationError

        while not self.viewer.closed:
            try:
                act: Callable[[], Any] | None = self._acts.get(timeout=0.0 if self._goes else IDLE)
            except queue.Empty:
                act = self._advance if self._goes else None
            try:
                if act is not None:
                    act()
            except SimulationError as error:
                self._stop(f"{error}. All frames until then are kept: go back and change something, or restart.")
            except (ValueError, TypeError, OSError) as error:
                self.viewer.tell(str(error), trouble=True)
            except Exception as error:  # a scene's own code, or viser on the way out: the session stays
                if not self.viewer.closed:
                    self._stop(f"{type(error).__name__}: {error}")

    @property
    def _goes(self) -> bool:
        return not self.trouble and self.viewer.wants_more

    def _advance(self) -> None:
        """One frame more."""
        start, before = perf_counter(), self.session.time
        if self._pointer is not None and self.session.hand.body is not None:
            self.session.move_hand(self._pointer)
            self._pointer = None
        try:
            self.session.advance()
        finally:
            took = max(perf_counter() - start, 1e-9)
            self._pace = 0.9 * self._pace + 0.1 * (self.session.time - before) / took
            self._push()
        if self.session.memory > MOST_MEMORY:
            self._stop(
                f"The recorded frames take {MOST_MEMORY / 1e9:g} GB; save the run, then restart, or continue from an "
                "earlier time."
            )
        if self.session.run.stopped:
            self._stop("The run has ended. Go back, or restart.", trouble=False)

    def _push(self) -> None:
        """The frames that the viewer has not, and the hand."""
        shown = self.viewer.frame_count
        self.viewer.show_warnings(self.session.run.warnings)
        if len(self.session.run.recorder) > shown:
            words = f"{self._pace:.3g}× real time possible" if self._pace else "running"
            self.viewer.push(self.session.frames_since(shown), self.session.run.released, words)
        self._show_hand()
        if perf_counter() - self._told_at > STAGES_EVERY:
            from ..simulation.report import stage_times

            self._told_at = perf_counter()
            self.viewer.show_stages(stage_times(self.session.run))

    def _stop(self, why: str, *, trouble: bool = True) -> None:
        """Do not go on; say why, in red for trouble."""
        self.viewer.play(False)
        self.viewer.tell(why, trouble=trouble)
        self.viewer.say(f"{'stopped' if trouble else 'ended'}, {self.session.time:.3f} s")
        self.trouble = why

    # What people do ---------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """The session from its start to where it is."""
        session = self.session
        self.trouble, self._pace = "", 0.0
        self.viewer.name_forces(session.run.model.force_names)
        self.viewer.name_joints(session.run.model.joint_names)
        self.viewer.use_samples(session.run.sensors)
        self.viewer.push(session.frames_since(0), session.run.released)
        self.viewer.show_warnings(session.run.warnings)
        self.viewer.go_to(session.time)
        self._show_parameters()

    def _show_parameters(self) -> None:
        session = self.session
        dt: Any = session.run.settings["dt"]
        self.panel.set_parameters(session.scene.description, session.gravity, dt, session.motors(), session.can_grab)

    def _switch(self, name: str) -> None:
        """Show the session of another scene, where it was; a new one where there is none."""
        if name == self.name:
            return
        playing = self.viewer.playing
        self.viewer.play(False)
        try:
            if name not in self._sessions:
                self.viewer.tell(f"preparing {name} …")
                scene, settings = self._load(name)
                self._sessions[name] = type(self.session)(scene, **settings)
            self.session.let_go()
            self.viewer.stand(self._sessions[name].description())
        except Exception as error:  # whatever a scene's own code raises
            self._sessions.pop(name, None)
            self.panel.pick(self.name)
            raise ValueError(f"{name} cannot be shown: {error}") from error
        self.name, self.session = name, self._sessions[name]
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(old for old in self._sessions if old != name)]
        self._show()
        self.viewer.play(playing)

    def _restart(self, **settings: Any) -> None:
        playing = self.viewer.playing
        self.session.restart(**settings)
        self.viewer.clear()
        self._show()
        self.viewer.play(playing)

    def _from_here(self) -> None:
        """Take the run back to the instant shown."""
        self.session.let_go()
        if not self.viewer.at_end or self.trouble:
            now = self.session.rewind(self.viewer.time)
            self.viewer.use_samples(self.session.run.sensors)
            self.viewer.drop_after(now)
            self.trouble = ""
        self._show_hand()

    def _save(self, client: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            data = self.session.run.trajectory.save(Path(folder) / "run.nc").read_bytes()
        client.send_file_download(f"{self.name.replace('/', '-')}.nc", data)

    def _steer(self, what: str, value: Any) -> None:
        if what == "gravity":
            self.session.set_gravity(value)
        elif what == "strength":
            self.session.set_strength(value)
        elif what == "dt":
            self._restart(dt=value)
        else:
            self.session.set_motor(value[0], **{value[1]: value[2]})

    # The hand ---------------------------------------------------------------------------------------------------------

    def _drag(self, body: int, phase: str, point: np.ndarray, pointer: np.ndarray) -> None:
        """A body is dragged on the page: called by the server, which must not wait."""
        if phase == "start":
            positions, orientations = self.viewer.placed
            local = rotation_matrix(orientations[body]).T @ (point - positions[body])
            self.do(partial(self._grab, body, local, pointer))
        elif phase == "update":
            self._pointer = pointer  # the last one counts
        else:
            self.do(self._let_go)

    def _grab(self, body: int, local: np.ndarray, pointer: np.ndarray) -> None:
        session = self.session
        if body >= len(session.run.model.body_names):
            return self.viewer.tell("This is an obstacle; it cannot be pulled.")
        if self.viewer.time < session.time - PAST * session.frame_time:
            return self.viewer.tell("This is a recorded time: press “From here” to continue the run from here.")
        state = session.run.state
        point = state.position[body] + rotation_matrix(state.orientation[body]) @ local
        session.grab(session.run.model.body_names[body], point)
        session.move_hand(pointer)
        return self._show_hand()

    def _let_go(self) -> None:
        self.session.let_go()
        self._pointer = None
        self._show_hand()

    def _show_hand(self) -> None:
        point = self.session.hand.point(self.session.run)
        self.viewer.show_hand(None if point is None else np.stack([point, self.session.hand.target]))
