"""`dalembert list`."""

from __future__ import annotations

from . import command


@command("list")
def list_scenes() -> int:
    """List the scenes of the gallery."""
    from .. import gallery

    for name in gallery.names():
        lines = (gallery.load(name).__doc__ or "").strip().splitlines()
        print(f"{name:16} {lines[0] if lines else ''}")
    return 0
