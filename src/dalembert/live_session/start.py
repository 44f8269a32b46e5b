"""What opens a session, or a recorded run, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import gallery
from ..description import scene_description
from ..scene.scene import Scene
from ..sources import load
from ..trajectory import Trajectory
from ..view.live import LiveViewer

if TYPE_CHECKING:
    from .loop import LiveSession

__all__ = ["open_session"]

FIRST = "double-pendulum"
FRAMES = 60.0  # a second
MANY = 5000  # particles


def open_session(
    what: Any, host: str, port: int | None, open_page: bool, settings: dict[str, Any]
) -> LiveSession | LiveViewer:
    """See `show`."""
    what = FIRST if what is None else what
    if isinstance(what, str | Path) and Path(what).suffix == ".nc":
        what = Trajectory.load(what)
    what = getattr(what, "trajectory", what)  # of a Simulation
    if isinstance(what, Trajectory):
        if settings:
            raise ValueError(f"a recorded run is replayed as it is; it takes no {', '.join(settings)}")
        viewer = LiveViewer(what.scene_description, host, port, open_page=open_page)
        viewer.show(what)
        return viewer
    if isinstance(what, Scene):
        name, scene = what.name, what
    else:
        name = str(what)
        from ..simulation.registry import override

        scene, own = load(name, False)
        settings = override(own, settings)
    # The page comes first: its server works on while the compiler and the kernels of the run are loaded here.
    viewer = LiveViewer(scene_description(scene, {}), host, port, open_page=open_page)
    try:
        viewer.say("loading the simulation")
        from ..session import Session
        from .loop import LiveSession

        session = Session(scene, **smooth(scene, settings))
    except BaseException:
        viewer.close()
        raise
    names = [*([] if name in gallery.names() else [name]), *gallery.names()]
    return LiveSession(viewer, session, name, names, load_smooth)


def load_smooth(name: str) -> tuple[Any, dict[str, Any]]:
    """What `load` finds of a name, with frames for the screen."""
    scene, settings = load(name, False)
    return scene, smooth(scene, settings)


def smooth(scene: Scene, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with as many frames a second as a screen shows, but for scenes whose frames take much memory."""
    large = sum(len(group) for group in scene.particles.values()) > MANY
    frames = float(settings.get("frames", FRAMES))
    return settings | {"frames": frames if large else max(frames, FRAMES)}
