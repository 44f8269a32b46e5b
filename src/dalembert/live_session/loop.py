"""The thread in which a session goes on: all that people do on the page is done here, between two frames."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import SimulationError
from ..report import stage_times
from ..scene.checks import rotation_matrix
from ..session import Session
from ..view.live import LiveViewer
from .panel import SessionPanel

__all__ = ["LiveSession"]

IDLE = 0.004  # s between two looks at whether more frames are wanted
STAGES_EVERY = 1.0  # s
MOST_MEMORY = 2e9  # bytes of frames, from which on a run does not go on by itself
KEPT = 4  # sessions of other scenes, to come back to
PAST = 5  # frames before the end, from which on what is shown is the past

Load = Callable[[str], tuple[Any, dict[str, Any]]]


class LiveSession:
    """Sessions of scenes that `load` makes from their names, shown in `viewer`, which shows `session` first."""

    def __init__(self, viewer: LiveViewer, session: Session, name: str, names: list[str], load: Load) -> None:
        self.viewer, self.session, self.name, self._load = viewer, session, name, load
        self.trouble = ""  # why the run cannot go on
        self._kept: dict[str, Session] = {name: session}
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

    def serve_forever(self) -> None:
        """Serve until interrupted (Ctrl-C) or closed from another thread, then close."""
        self.viewer.serve_forever()
        self.close()

    def close(self) -> None:
        """End the thread, and close the viewer."""
        self.viewer.close()

    # The thread -------------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self.viewer.closed:
            try:
                act: Callable[[], Any] | None = self._acts.get(timeout=0.0 if self._goes else IDLE)
            except queue.Empty:
                act = self._advance if self._goes else None
            try:
                if act is not None:
                    act()
            except SimulationError as error:
                self._stop(f"{error}. All frames up to then are kept: go back and change something, or restart.")
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
                f"The record has {MOST_MEMORY / 1e9:g} GB; save the run, then restart, or go on from an earlier instant."
            )
        if self.session.run.stopped:
            self._stop("An event of the scene ended the run; go back, or restart.")

    def _push(self) -> None:
        """The frames that the viewer has not, and the hand."""
        shown = self.viewer.frame_count
        self.viewer.show_warnings(self.session.run.warnings)
        if len(self.session.run.recorder) > shown:
            words = f"{self._pace:.3g}× real time possible" if self._pace else "running"
            self.viewer.push(self.session.frames_since(shown), self.session.run.released, words)
        self._show_hand()
        if perf_counter() - self._told_at > STAGES_EVERY:
            self._told_at = perf_counter()
            self.viewer.show_stages(stage_times(self.session.run))

    def _stop(self, why: str) -> None:
        self.trouble = why
        self.viewer.play(False)
        self.viewer.tell(why, trouble=True)

    # What people do ---------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """The session from its start to where it is."""
        session = self.session
        self.trouble, self._pace = "", 0.0
        self.viewer.name_forces(session.run.model.force_names)
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
            if name not in self._kept:
                self.viewer.tell(f"preparing {name} …")
                scene, settings = self._load(name)
                self._kept[name] = Session(scene, **settings)
            self.session.let_go()
            self.viewer.stand(self._kept[name].description())
        except Exception as error:  # whatever a scene's own code raises
            self._kept.pop(name, None)
            self.panel.scene.value = self.name
            raise ValueError(f"{name} cannot be shown: {error}") from error
        self.name, self.session = name, self._kept[name]
        while len(self._kept) > KEPT:
            del self._kept[next(old for old in self._kept if old != name)]
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
            return self.viewer.tell("That stands still: it is an obstacle.")
        if self.viewer.time < session.time - PAST * session.frame_time:
            return self.viewer.tell("This is the past: press “From here” to take hold of it here.")
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
