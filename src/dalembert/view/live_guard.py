"""Who may talk to the server of the live page: its own page, under a name that is this machine's.

A page of any site can have a browser send requests to this machine, and open WebSockets, which browsers do not hold to the
same-origin policy: it could steer a run. The browser says which page asks (Origin) and what name it looked up (Host). So

    Host    must be a loopback name, or the host that the page is served at. A name of the attacker's that was made to mean
            127.0.0.1 (DNS rebinding) is neither. A server of all addresses is known by each, and by the machine's name.
    Origin  must be the same as Host, port included; what is no browser sends none.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["guarded", "refusal"]

EVERYWHERE = ("", "0.0.0.0", "::")
HOST = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?$")
ONE_AT_A_TIME = threading.Lock()


def refusal(served_at: str, hosts: list[str], origins: list[str]) -> str:
    """Why a request is refused; empty where it is not.

    served_at : the host of the server. hosts, origins : the headers of that name.
    """
    asked = [_parsed(host) for host in hosts]
    if len(asked) != 1 or asked[0] is None:
        return "the request names no host, or more than one"
    name, port = asked[0]
    if not _is_ours(name, served_at):
        return f"the page is not served as {name!r:.100}; use its address as it was printed, or localhost"
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        found = _parsed(rest) if scheme in ("http", "https") else None
        usual = 443 if scheme == "https" else 80
        if found is None or (found[0], found[1] or usual) != (name, port or usual):
            return f"the request comes from another page, {origin!r:.100}"
    return ""


def _parsed(host: str) -> tuple[str, int] | None:
    """(name, port) of a Host; port 0 where there is none."""
    match = HOST.match(host)
    if match is None:
        return None
    return match[1].strip("[]").rstrip(".").lower(), int(match[2] or 0)


def _is_ours(name: str, served_at: str) -> bool:
    if name in ("localhost", served_at.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return served_at in EVERYWHERE and name in (own, f"{own}.local", own.partition(".")[0])
    return address.is_loopback or served_at in EVERYWHERE


@contextlib.contextmanager
def guarded(served_at: str) -> Iterator[None]:
    """A server of viser that is started within answers only to what `refusal` lets through.

    viser has no place for such a check, so that the function by which it starts its server is replaced meanwhile. Raises
    RuntimeError where no server was started by it: a version of viser that does otherwise is not left open.
    """
    from websockets.asyncio import server as sockets

    serve: Any = sockets.serve
    started = []

    def guarded_serve(*arguments: Any, **options: Any) -> Any:
        options["process_request"] = _checked(options.get("process_request"), served_at)
        started.append(True)
        return serve(*arguments, **options)

    with ONE_AT_A_TIME:
        sockets.serve = guarded_serve  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            sockets.serve = serve  # type: ignore[misc]
    if not started:
        raise RuntimeError(
            "this version of viser starts its server in a way that cannot be guarded; install another one"
        )


def _checked(answer: Callable[[Any, Any], Any] | None, served_at: str) -> Callable[[Any, Any], Any]:
    """What answers a request: a refusal, or what would have answered."""

    def process_request(connection: Any, request: Any) -> Any:
        why = refusal(served_at, request.headers.get_all("Host"), request.headers.get_all("Origin"))
        if why:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {why}\n")
        return None if answer is None else answer(connection, request)

    return process_request
