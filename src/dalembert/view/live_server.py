"""The server of the live page: who may connect, the port, and the page itself, which is served before viser is loaded.

A browser takes about a second to load the page. So `PageServer` serves it from the first moment, with little more than a
socket, while numpy, viser and the scene are loaded in the same process. viser then takes over the socket; connections that
came in between wait in its queue.
"""

from __future__ import annotations

import contextlib
import http
import importlib.util
import io
import ipaddress
import logging
import os
import re
import selectors
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

# Guard of the server: only its own page may connect -------------------------------------------------------------------
#
# A page of any site can have a browser send requests to this machine, and open WebSockets, to which the same-origin policy
# does not apply: it could steer a run. The browser says which page asks (Origin) and what name it looked up (Host). So
#
#     Host    must be a loopback name, or the host that the page is served at. A name of an attacker's that resolves to
#             127.0.0.1 (DNS rebinding) is neither. A server on all addresses accepts each, and the machine's name.
#     Origin  must be the same as Host, port included; programs that are no browsers send none.

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


# The page: that of viser, with a style and a script of ours -----------------------------------------------------------

NO_STORE = "no-store"  # another version of viser may serve another page at the same address


def page() -> bytes:
    """The page as HTML: viser's, to which its sky, its width on phones, and a script that tells whether it is looked at are
    added. viser is not imported for it.

    Raises:
        ImportError: viser is not installed, or has another page than this adds to.
    """
    found = importlib.util.find_spec("viser")
    if found is None or found.origin is None:
        raise ImportError("the viewer needs viser; install it with pip install viser")
    source = (Path(found.origin).parent / "client" / "build" / "index.html").read_text(encoding="utf-8")
    style, script = (
        (files("dalembert.view") / f"live_page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    head, end, body = source.partition("</head>")
    if not end:
        raise ImportError("the page of this version of viser has no head; install another version")
    head = head.replace("<title>Viser</title>", "<title>dalembert</title>", 1)
    return f"{head}<style>{style}</style><script>{script}</script>{end}{body}".encode()


LOOKING = re.compile(r"^/looking\?([a-z0-9]{1,20})=([01])$")
MOST_PAGES = 1000


class Audience:
    """Which pages are on a screen: each tells when it is hidden, by a request for the path `LOOKING`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: dict[str, bool] = {}

    def heard(self, path: str) -> bool:
        """Whether a request is such a notice; it is taken down."""
        found = LOOKING.match(path)
        if found is None:
            return False
        with self._lock:
            self._shown[found[1]] = found[2] == "1"
            while len(self._shown) > MOST_PAGES:
                del self._shown[next(iter(self._shown))]
        return True

    def looks(self, pages: int) -> bool:
        """Whether somebody looks, if so many pages are open; a page that has told nothing counts."""
        with self._lock:
            shown = sum(self._shown.values())
            return pages > 0 and (shown > 0 or pages > len(self._shown))


# The server -----------------------------------------------------------------------------------------------------------

USUAL_PORT = 8080
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WAITING = 64  # connections that may wait for viser
PATIENCE = 5.0  # s, for a request
LONGEST = 65_536  # bytes of a request


class PageServer:
    """The page at a port of a host: served from now on, by this until viser takes over.

    host : name or address. port : 0 for any free one; None for 8080, or any free one where that is taken.

    Raises OSError for a port in use.
    """

    def __init__(self, host: str = "127.0.0.1", port: int | None = None) -> None:
        self.host, self.audience = host, Audience()
        self._page = page()
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._over, self._wake = socket.socketpair()
        self._served, self._is_taken = threading.Event(), False
        self._thread = threading.Thread(target=self._serve, name="dalembert page", daemon=True)
        self._thread.start()

    def announce(self, open_page: bool) -> None:
        """Print the address on the standard error, and open it in a browser if so asked and there is one."""
        print(f"viewer: {self.address}{exposure(self.host)}", file=sys.stderr, flush=True)
        if open_page:  # finding the browser takes some time of other programs
            threading.Thread(target=self._open, name="dalembert browser", daemon=True).start()

    def _open(self) -> None:
        if has_browser():
            webbrowser.open(self.address)

    def _serve(self) -> None:
        """Accept connections until one got the page, or viser takes over. Those that come later wait for viser, which alone
        answers WebSockets."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            ready.register(self._over, selectors.EVENT_READ)
            while not self._served.is_set():
                some = {key.fileobj for key, _ in ready.select()}
                if self._over in some:
                    return
                with contextlib.suppress(OSError):
                    connection, _ = self._socket.accept()
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """Answer the one request of a connection, and close it."""
        with contextlib.suppress(OSError), connection:
            connection.settimeout(PATIENCE)
            request = b""
            while b"\r\n\r\n" not in request and len(request) < LONGEST:
                some = connection.recv(4096)
                if not some:
                    return
                request += some
            status, kind, body = self._reply(request.decode("latin-1"))
            head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: {kind}; charset=utf-8\r\n"
            head += f"Content-Length: {len(body)}\r\nCache-Control: {NO_STORE}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode() + body)
            if body is self._page:
                self._served.set()
                self._wake.send(b".")

    def _reply(self, request: str) -> tuple[http.HTTPStatus, str, bytes]:
        """Status, type and content that answer a request."""
        first, *lines = request.partition("\r\n\r\n")[0].split("\r\n")
        method, path, *_ = [*first.split(" "), "", ""]
        headers = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        hosts, origins = ([value for name, value in headers if name == wanted] for wanted in ("host", "origin"))
        why = refusal(self.host, hosts, origins)
        if why:
            return http.HTTPStatus.FORBIDDEN, "text/plain", f"refused: {why}\n".encode()
        if "upgrade" in dict(headers):
            return http.HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"the viewer is starting\n"
        if method == "GET" and is_page(path):
            return http.HTTPStatus.OK, "text/html", self._page
        if self.audience.heard(path):
            return http.HTTPStatus.OK, "text/plain", b""
        return http.HTTPStatus.NOT_FOUND, "text/plain", b"there is nothing here\n"

    def _take_over(self) -> socket.socket:
        """The listening socket, from which this accepts no more connections."""
        self._is_taken = True
        self._served.set()
        self._wake.send(b".")
        self._thread.join()
        self._over.close()
        self._wake.close()
        return self._socket

    def start_viser(self, label: str) -> Any:
        """Have viser serve from now on: its server, which answers only its own page; see `guarded`."""
        import viser

        # viser prints a panel with the address; the viewer prints its own
        with silence(), guarded(self):
            server = viser.ViserServer(host=self.host, port=self.port, label=label, verbose=False)
        server.gui.configure_theme(show_share_button=False, show_logo=False)
        if hasattr(server.gui, "main_panel"):  # viser 1.1 and later
            server.gui.main_panel.dock_right()
        return server

    def close(self) -> None:
        """Free the port, where viser has not taken it over."""
        if not self._is_taken:
            self._take_over().close()


SWITCH = 0.0005  # s, a tenth of Python's own


@contextlib.contextmanager
def server_first() -> Iterator[None]:
    """Python switches threads ten times as often as usual: the server need not wait for what is loaded in this thread."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def is_page(path: str) -> bool:
    """Whether a path is that of the page."""
    return path.partition("?")[0] in ("/", "/index.html")


@contextlib.contextmanager
def guarded(served: PageServer) -> Iterator[None]:
    """A server of viser that is started within listens at the socket of `served`, answers only to what `refusal` lets
    through, and gives the page as `served` does.

    viser has no place for such a check, so that the function by which it starts its server is replaced meanwhile. Raises
    RuntimeError where no server was started by it: a version of viser that does otherwise is not left open.
    """
    from websockets.asyncio import server as sockets

    serve: Any = sockets.serve
    started = []

    def guarded_serve(handler: Any, host: Any, port: Any, **options: Any) -> Any:
        options |= {"process_request": _checked(options.get("process_request"), served), "logger": _logger()}
        started.append(True)
        return serve(handler, sock=served._take_over(), **options)

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


def _logger() -> logging.Logger:
    """What websockets tells, without the connections that a browser opens ahead and closes unused."""
    logger = logging.getLogger("dalembert.viewer")
    if not logger.filters:
        logger.addFilter(lambda record: record.msg != "opening handshake failed")
    return logger


def _checked(answer: Callable[[Any, Any], Any] | None, served: PageServer) -> Callable[[Any, Any], Any]:
    """What answers a request: a refusal, the page, or what would have answered."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    kind = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": NO_STORE}

    def process_request(connection: Any, request: Any) -> Any:
        why = refusal(served.host, request.headers.get_all("Host"), request.headers.get_all("Origin"))
        if why:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {why}\n")
        if served.audience.heard(request.path):
            return connection.respond(http.HTTPStatus.OK, "")
        if is_page(request.path) and request.headers.get("Upgrade") is None:
            headers = Headers(**kind, **{"Content-Length": str(len(served._page))})
            return Response(http.HTTPStatus.OK, "OK", headers, served._page)
        return None if answer is None else answer(connection, request)

    return process_request


def exposure(host: str) -> str:
    """What to say of an address beside it: what it lets others do, where it is not only this machine's own."""
    if host in LOOPBACK:
        return ""
    return (
        f"\nwarning: {host} is not only this machine's: who reaches that port sees the scene, and can steer the run, "
        "grab bodies and switch scenes of the gallery. There is no password and no encryption; files are not served. Use it "
        "in a network that you trust, or stay on 127.0.0.1 and tunnel the port."
    )


def stop(server: Any) -> None:
    """Stop a server and free its port, quietly."""
    with silence():
        server.stop()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Without what viser prints with rich, which in a notebook does not go to the standard output."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = before


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


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens at a port: see `PageServer`."""
    if port is None:
        with contextlib.suppress(OSError):
            return _bound(host, USUAL_PORT)
        return _bound(host, 0)
    try:
        return _bound(host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise OSError(f"there is no host {host!r} here: {error.strerror}") from None
        raise OSError(
            f"port {port} on {host} is in use: close the other viewer, or choose another port (0: any free one)"
        ) from error


def _bound(host: str, port: int) -> socket.socket:
    places = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, place = min(places, key=lambda found: found[0] != socket.AF_INET)
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(WAITING)
    except BaseException:
        bound.close()
        raise
    return bound
