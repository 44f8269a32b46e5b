"""The part of the page that steers a run: the scene, what to do with the run, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["SessionPanel"]

RESTART, FROM_HERE, SAVE = "Restart", "From here", "Save"
MOTORS = 12  # that can be steered by hand
UNITS = {"effort": "N m or N", "position": "rad or m", "speed": "rad/s or m/s"}


class SessionPanel:
    """viser's controls, by what they mean; what they do is set by the `on_` methods."""

    def __init__(self, gui: Any, scenes: Sequence[str], scene: str) -> None:
        self._gui = gui
        with gui.add_folder("Session", order=0):
            self.scene = gui.add_dropdown("scene", tuple(scenes), initial_value=scene)
            self.about = gui.add_markdown("")
            self.acts = gui.add_button_group("run", (RESTART, FROM_HERE, SAVE))
        self._folder: Any = None
        self.keys = {
            "restart": gui.add_command("restart", hotkey="R", description="Begin the run anew"),
            "go on from here": gui.add_command("go on from here", hotkey="G", description="Forget what came after"),
        }
        self._steer: Callable[..., None] = lambda *_: None

    def set_parameters(
        self, about: str, gravity: np.ndarray, dt: float | None, motors: dict[str, dict[str, float]], can_grab: bool
    ) -> None:
        """Controls for a run: gravity m/s², the step dt (s) of a fixed-step one, and inputs of motors."""
        held = "Drag a body with the mouse to pull it." if can_grab else "Nothing here can be grabbed."
        self.about.content = f"{about}\n\n{held}"
        if self._folder is not None:
            self._folder.remove()
        gui = self._gui
        self._folder = gui.add_folder("Parameters", order=1.5, expand_by_default=False)
        with self._folder:
            field = gui.add_vector3("gravity, m/s²", tuple(float(g) for g in gravity), step=0.01)
            field.on_update(lambda event: self._steer("gravity", tuple(event.target.value)))
            if can_grab:
                strength = gui.add_slider("strength of the hand", min=-2.0, max=2.0, step=0.1, initial_value=0.0)
                strength.on_update(lambda event: self._steer("strength", 10.0**event.target.value))
            if dt is not None:
                step = gui.add_number("dt, ms (restarts)", 1e3 * dt, min=1e-4, step=1e-4)
                step.on_update(lambda event: self._steer("dt", 1e-3 * event.target.value))
            for name, inputs in list(motors.items())[:MOTORS]:
                for key, value in inputs.items():
                    self._add_input(name, key, value)
            if len(motors) > MOTORS:
                gui.add_markdown(f"and {len(motors) - MOTORS} motors more")

    def _add_input(self, motor: str, key: str, value: float) -> None:
        box = self._gui.add_number(f"{motor[:40]}: {key}, {UNITS[key]}", value, step=0.01)
        box.on_update(lambda event: self._steer("motor", (motor, key, float(event.target.value))))

    def on_steer(self, act: Callable[..., None]) -> None:
        """Call `act` with what was changed ("gravity", "strength", "dt", "motor") and its new value."""
        self._steer = act

    def on_scene(self, act: Callable[[str], None]) -> None:
        """Call `act` with the name of the scene that was picked."""
        self.scene.on_update(lambda event: act(event.target.value) if event.client is not None else None)

    def on_restart(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to begin anew."""
        self._on_act(RESTART, act)
        self.keys["restart"].on_trigger(lambda _: act())

    def on_from_here(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to go on from the instant shown."""
        self._on_act(FROM_HERE, act)
        self.keys["go on from here"].on_trigger(lambda _: act())

    def on_save(self, act: Callable[[Any], None]) -> None:
        """Call `act` with the client that wants the recorded run."""
        self.acts.on_click(lambda event: act(event.client) if event.target.value == SAVE else None)

    def _on_act(self, name: str, act: Callable[[], None]) -> None:
        self.acts.on_click(lambda event: act() if event.target.value == name else None)
