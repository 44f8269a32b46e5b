"""The browser that a run of the command line is shown in."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .simulate import Simulation


class Screen:
    """Shows a run in the browser while it goes on: hands each frame that was recorded to the viewer."""

    def __init__(self, simulation: Simulation) -> None:
        from .description import scene_description
        from .view.live import LiveViewer

        self.viewer = LiveViewer(scene_description(simulation.model.scene, simulation.released))
        self.viewer.name_forces(simulation.model.force_names)
        self.simulation = simulation
        self._sent, self._at = 0, 0.0
        self._send()

    def update(self, _: Simulation) -> None:
        """Called after each recorded frame; frames that come faster than the screen go together."""
        if monotonic() - self._at > 1.0 / 30.0:
            self._send()

    def stay(self, words: str) -> None:
        """The run is over: leave it to be looked at until Ctrl-C."""
        self._send()
        self.viewer.finish(words)
        print("the viewer stays open; Ctrl-C ends it", file=sys.stderr, flush=True)
        self.viewer.serve_forever()

    def _send(self) -> None:
        recorder = self.simulation.recorder
        if len(recorder) > self._sent:
            self.viewer.push(recorder.since(self._sent), self.simulation.released)
        self._sent, self._at = len(recorder), monotonic()


def open_screen(simulation: Simulation) -> Screen | None:
    """The viewer, open at once; None where no browser could show it."""
    from .view.live_server import has_browser

    return Screen(simulation) if has_browser() else None
