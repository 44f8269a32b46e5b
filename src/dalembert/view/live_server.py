"""Serving the live page: a port of this machine, and whether there is a browser to open it with."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import webbrowser
from typing import Any

from .live_guard import guarded

__all__ = ["LOOPBACK", "exposure", "has_browser", "serve", "stop"]

USUAL_PORT = 8080
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def exposure(host: str) -> str:
    """What to say of an address beside it: what it lets others do, where it is not only this machine's own."""
    if host in LOOPBACK:
        return ""
    return (
        f"\nwarning: {host} is not only this machine's: who reaches that port sees the scene, and can steer the run, "
        "grab bodies and switch scenes of the gallery. There is no password and no encryption; files are not served. Use it "
        "in a network that you trust, or stay on 127.0.0.1 and tunnel the port."
    )


def serve(host: str, port: int | None, label: str) -> Any:
    """A viser server on exactly this port (0: any free one; None: the usual one, or any free one where it is taken), which
    answers its own page only; see `live_guard`.

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
    with contextlib.redirect_stdout(io.StringIO()), guarded(host):
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
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


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
