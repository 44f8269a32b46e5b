"""A session in the browser: the viewer, the run behind it, and the thread in which that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..scene.scene import Scene
    from ..trajectory import Trajectory
    from ..view.live import LiveViewer
    from .loop import LiveSession

__all__ = ["show"]


def show(
    what: Scene | Trajectory | Any | str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_page: bool = True,
    wait: bool = True,
    **settings: Any,
) -> LiveSession | LiveViewer | None:
    """Show a scene in the browser and let a person take part in its run; or replay a recorded run.

    what : a `Scene`, whose run has `settings` (those of `Simulation`); the name of a scene of the gallery, a Python file
        with build(), a model file; or a `Trajectory`, a `Simulation`, or the file of a saved run (.nc), which is replayed.
    host : where the page is served. Anything but this machine's own address lets others steer the run; see the warning.
    port : 0 for any free one; None for 8080, or any free one where that is taken.
    wait : serve until Ctrl-C; without it the session (its `close` ends it) is returned at once.

    Raises ValueError for what cannot be shown, and OSError for a port in use or a file that cannot be read.
    """
    from .start import open_session

    opened = open_session(what, host, port, open_page, settings)
    if not wait:
        return opened
    opened.serve_forever()
    return None
