"""The viewer that follows a run of the command line."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..scene.scene import Scene
    from ..simulation.simulation import Simulation


class RunViewer:
    """Shows a scene in the browser, and its run while it goes on: hands each frame that was recorded to the viewer."""

    def __init__(self, scene: Scene) -> None:
        from ..view.live import LiveViewer

        self.viewer = LiveViewer(scene_at_rest(scene))
        self.viewer.say("loading the simulation")
        self._sent, self._at = 0, 0.0

    def follow(self, simulation: Simulation) -> None:
        """Show this run of the scene from now on."""
        self.simulation = simulation
        self.viewer.name_forces(simulation.model.force_names)
        self.viewer.name_joints(simulation.model.joint_names)
        self.viewer.use_samples(simulation.sensors)
        self._send()

    def update(self, _: Simulation) -> None:
        """Send frames to the viewer, at most 30 times a second. Called after each recorded frame."""
        if monotonic() - self._at > 1.0 / 30.0:
            self._send()

    def stay(self, words: str) -> None:
        """Serve the finished run until Ctrl-C."""
        self._send()
        self.viewer.finish(words)
        print("the viewer stays open; Ctrl-C ends it", file=sys.stderr, flush=True)
        self.viewer.serve_forever()

    def _send(self) -> None:
        self.viewer.show_warnings(self.simulation.warnings)
        recorder = self.simulation.recorder
        if len(recorder) > self._sent:
            self.viewer.push(recorder.since(self._sent), self.simulation.released)
        self._sent, self._at = len(recorder), monotonic()


def scene_at_rest(scene: Scene) -> dict[str, Any]:
    """The description of a scene as plain data, with its bodies where they are at the start."""
    from ..simulation.summary import scene_description

    description = scene_description(scene, {})
    for item in description["bodies"]:
        body = scene.bodies.get(item["name"])
        if body is not None:
            item |= {"position": body.position.tolist(), "orientation": list(body.orientation)}
    return description


def open_run_viewer(built: Any) -> RunViewer | None:
    """The viewer of a scene, or of what holds one, open at once; None where no browser could show it."""
    from ..view.live_server import has_browser

    return RunViewer(getattr(built, "scene", built)) if has_browser() else None
