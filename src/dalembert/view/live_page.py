"""The panel of the live page: playback, what to show, what is known of one body, and keys."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

from dalembert.view.live_overlays import KINDS

__all__ = ["ALL", "NONE", "Panel"]

SPEEDS = {"0.02×": 0.02, "0.05×": 0.05, "0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}
NONE, ALL = "none", "all"
MANY = 9  # bodies, from which on trails are drawn only when asked for
SHADOWS = 200  # bodies, from which on shadows are drawn only when asked for
MOST_WARNINGS, MOST_TEXT = 20, 600  # shown, and characters of one
BOX = (
    "margin:6px 8px;padding:6px 8px;border:1px solid #e6c65c;border-radius:6px;background:#fdf6dd;color:#5c4a00;"
    "font-size:12px;line-height:1.4;max-height:11em;overflow:auto;overflow-wrap:anywhere"
)
NOBODY = "Click a body to read it here."


class Panel:
    """viser's controls, by what they mean."""

    def __init__(self, gui: Any) -> None:
        self.warnings = gui.add_html("", order=0.5, visible=False)
        self.play_folder = gui.add_folder("Playback", order=1)
        with self.play_folder:
            self.status = gui.add_text("run", "", disabled=True)
            self.play = gui.add_button("Play")
            self.timeline = gui.add_slider("time, s", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True)
            self.step = gui.add_button_group("step", ("−10", "−1", "+1", "+10"))
            self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
            self.loop = gui.add_checkbox("loop", False)
        with gui.add_folder("View", order=3):
            self.look = gui.add_button("Look at all")
            self.follow = gui.add_dropdown("follow", (NONE,), initial_value=NONE)
            self.trail = gui.add_dropdown("trail", (NONE, ALL), initial_value=NONE)
            self.joints = gui.add_checkbox("joints", True)
            self.frames = gui.add_checkbox("body axes", False)
            self.shadows = gui.add_checkbox("shadows", True)
            self._kinds = {kind: gui.add_checkbox(kind, False) for kind in KINDS}
            self.note = gui.add_markdown("")
        with gui.add_folder("Body", order=4):
            self.chosen = gui.add_dropdown("body", (NONE,), initial_value=NONE)
            self.facts = gui.add_markdown(NOBODY)
        self._add_keys(gui)

    def _add_keys(self, gui: Any) -> None:
        """Keys, which viser also lists in a palette (Ctrl-K)."""
        self.keys = {
            what: gui.add_command(what, hotkey=key, description=words)
            for what, key, words in (
                ("play or pause", "P", "Run, or stand still"), ("one frame on", "N", "Step forward"),
                ("one frame back", "B", "Step back"), ("to the start", "home", "Show the first frame"),
                ("slower", "J", "The next lower speed"), ("faster", "L", "The next higher speed"),
                ("look at all", "C", "Bring the camera back"),
            )
        }  # fmt: skip
        self.keys["slower"].on_trigger(lambda _: self._shift_speed(-1))
        self.keys["faster"].on_trigger(lambda _: self._shift_speed(1))

    def set_bodies(self, names: Sequence[str], note: str) -> None:
        """The page is of a scene with these bodies; `note` says what of it is not drawn."""
        names = [name[:60] for name in names]
        self.follow.options = (NONE, *names)
        self.trail.options = (NONE, ALL, *names)
        self.chosen.options = (NONE, *names)
        self.follow.value = self.chosen.value = NONE
        self.trail.value = ALL if len(names) < MANY else NONE
        self.shadows.value = len(names) < SHADOWS
        self.note.content = note

    @property
    def speed(self) -> float:
        """Simulated seconds a second."""
        return SPEEDS[self._speed.value]

    @speed.setter
    def speed(self, wanted: float) -> None:
        self._speed.value = min(SPEEDS, key=lambda words: abs(SPEEDS[words] - wanted))

    def _shift_speed(self, by: int) -> None:
        words = list(SPEEDS)
        self._speed.value = words[min(max(words.index(self._speed.value) + by, 0), len(words) - 1)]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of quantities to draw."""
        return frozenset(kind for kind, box in self._kinds.items() if box.value)

    def show_kind(self, kind: str, on: bool = True) -> None:
        """Draw a kind of quantity, or do not. Raises KeyError for a name that is none of `KINDS`."""
        self._kinds[kind].value = on

    def on_play(self, act: Callable[[], None]) -> None:
        """Call `act` when the run is to start or to stand still."""
        self.play.on_click(lambda _: act())
        self.keys["play or pause"].on_trigger(lambda _: act())

    def on_seek(self, act: Callable[[float], None]) -> None:
        """Call `act` with the time (s) that a person moved the timeline to."""
        self.timeline.on_update(lambda event: act(event.target.value) if event.client is not None else None)
        self.keys["to the start"].on_trigger(lambda _: act(float(self.timeline.min)))

    def on_step(self, act: Callable[[int], None]) -> None:
        """Call `act` with the number of frames to go on or back."""
        self.step.on_click(lambda event: act(int(event.target.value.replace("−", "-"))))
        self.keys["one frame on"].on_trigger(lambda _: act(1))
        self.keys["one frame back"].on_trigger(lambda _: act(-1))

    def on_restyle(self, act: Callable[[], None]) -> None:
        """Call `act` when what to show was changed."""
        for handle in (self.follow, self.trail, self.joints, self.frames, self.shadows, *self._kinds.values()):
            handle.on_update(lambda _: act())

    def on_look(self, act: Callable[[], None]) -> None:
        """Call `act` when the cameras are to see everything."""
        self.look.on_click(lambda _: act())
        self.keys["look at all"].on_trigger(lambda _: act())

    def on_choose(self, act: Callable[[str], None]) -> None:
        """Call `act` with the name of the body to read."""
        self.chosen.on_update(lambda event: act(event.target.value))

    def set_warnings(self, messages: Sequence[str]) -> None:
        """Show what is doubtful of the run, above the controls."""
        items = "".join(f"<div>⚠ {html.escape(message[:MOST_TEXT])}</div>" for message in messages[:MOST_WARNINGS])
        self.warnings.content = f"<div style='{BOX}'>{items}</div>" if items else ""
        self.warnings.visible = bool(items)

    def set_playing(self, playing: bool) -> None:
        """Say on the button what it will do."""
        self.play.label = "Pause" if playing else "Play"

    def set_span(self, first: float, last: float) -> None:
        """The timeline goes from `first` to `last`, s."""
        self.timeline.max = max(last, first + 1e-9)
        self.timeline.min = first
        self.timeline.step = max((last - first) / 2000, 1e-9)
        self.timeline.disabled = False
