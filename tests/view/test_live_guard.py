"""The live page is for itself, under a name of this machine: a page of another site can neither read it nor steer a run."""

import base64
import http.client
import socket

import pytest
import viser

from dalembert.view.live import LiveViewer
from dalembert.view.live_server import refusal


@pytest.fixture(scope="module")
def port():
    with LiveViewer({"bodies": []}, port=0, open_page=False) as opened:
        yield int(opened.address.rsplit(":", 1)[1])


def handshake(port, host, origin=None):
    """The status of the answer to a WebSocket handshake with these headers."""
    lines = ["GET / HTTP/1.1", *([] if host is None else [f"Host: {host}"]), "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}", "Sec-WebSocket-Version: 13",
             f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
             *([] if origin is None else [f"Origin: {origin}"])]  # fmt: skip
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(client.recv(4096).split()[1])


SWITCHES, REFUSED = 101, 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "localhost."])
def test_the_page_itself_may_connect(port, name):
    host = f"{name}:{port}"
    assert handshake(port, host, f"http://{host}") == SWITCHES


def test_a_page_behind_a_tunnel_may_connect(port):
    assert handshake(port, "localhost:9999", "http://localhost:9999") == SWITCHES


def test_what_is_no_browser_may_connect(port):
    assert handshake(port, f"127.0.0.1:{port}") == SWITCHES


@pytest.mark.parametrize("origin", ["http://evil.example", "https://evil.example", "http://localhost:1", "http://127.0.0.1",
                                    "null", "file://", "http://localhost:{port}", "http://127.0.0.1:{port}@evil.example",
                                    "http://127.0.0.1:{port}.evil.example", "http://xn--", "", "http://["])  # fmt: skip
def test_another_page_may_not_connect(port, origin):
    assert handshake(port, f"127.0.0.1:{port}", origin.format(port=port)) == REFUSED


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost.evil",
                                  "10.1.2.3:{port}", "", None, "127.0.0.1:{port}, evil", "a@127.0.0.1:{port}"])  # fmt: skip
def test_a_name_that_is_not_this_machines_is_refused_also_from_its_own_page(port, host):
    asked = None if host is None else host.format(port=port)
    assert handshake(port, asked, f"http://{asked}") == REFUSED
    assert handshake(port, asked) == REFUSED


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("evil.example", 403)]
)
def test_files_of_the_page_are_given_under_its_own_names_only(port, host, status):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.request("GET", "/", headers={"Host": host.format(port=port)})
    assert client.getresponse().status == status
    client.close()


def test_two_hosts_are_refused():
    assert "more than one" in refusal("127.0.0.1", ["localhost:1", "localhost:1"], [])


def test_a_server_of_all_addresses_is_known_by_them_and_by_the_name_of_the_machine():
    own = socket.gethostname()
    for host in ("192.168.1.5:8080", "[fe80::1]:8080", f"{own}:8080", f"{own}.local", "localhost:8080"):
        assert refusal("0.0.0.0", [host], [f"http://{host}"]) == ""
    assert "not served as" in refusal("0.0.0.0", ["evil.example"], ["http://evil.example"])


def test_a_server_of_one_address_is_known_by_that():
    assert refusal("sim.lab", ["sim.lab:8080"], ["http://sim.lab:8080"]) == ""
    assert "another page" in refusal("sim.lab", ["sim.lab:8080"], ["http://other.lab:8080"])
    assert refusal("127.0.0.1", ["127.0.0.1"], ["https://127.0.0.1"]) == ""
