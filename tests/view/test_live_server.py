"""The page of the viewer is served before viser is loaded, which then takes over the same port."""

import http.client
import socket
import subprocess
import sys
import threading

import pytest

from dalembert.view.live import LiveViewer
from dalembert.view.live_server import PageServer, page


def get(port, path="/", host=None):
    """Status and content of an answer."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = client.getresponse()
    return answer.status, answer.read()


@pytest.fixture
def served():
    opened = PageServer("127.0.0.1", 0)
    yield opened
    opened.close()


def test_the_page_comes_without_viser_and_numpy():
    code = (
        "import sys, urllib.request\n"
        "from dalembert.view.live_server import PageServer\n"
        "page = PageServer('127.0.0.1', 0)\n"
        "assert b'<div id=\"root\">' in urllib.request.urlopen(page.address).read()\n"
        "loaded = {'viser', 'numpy', 'websockets', 'numba'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "page.close()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_viser_takes_over_the_port_and_answers_those_that_waited(served):
    assert get(served.port) == (200, page())
    later = []
    waiting = threading.Thread(target=lambda: later.append(get(served.port)))
    waiting.start()
    waiting.join(0.3)
    assert not later, "the second request is answered before viser is there, and a WebSocket would be"
    with LiveViewer({"bodies": []}, page=served) as viewer:
        waiting.join(30)
        assert later == [(200, page())]
        assert viewer.address == served.address
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", served.port), timeout=5)


def test_other_names_other_paths_and_sockets_are_refused_from_the_start(served):
    assert get(served.port, host="evil.example")[0] == 403
    assert get(served.port, "/secret")[0] == 404
    assert get(served.port, "/looking?abc=0")[0] == 200
    assert not served.audience.looks(1)
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client:
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(64).split()[1] == b"503"
    for rubbish in (b"\r\n\r\n", b"\x00\xff \r\n\r\n", b"GET\r\n\r\n", b"x" * 70_000):
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client:
            client.sendall(rubbish)
            assert client.recv(64).split()[1] == b"403"
    assert get(served.port)[0] == 200


def test_a_silent_connection_holds_nobody_up(served):
    with socket.create_connection(("127.0.0.1", served.port)):
        assert get(served.port)[0] == 200


def test_the_port_is_free_again_where_the_scene_cannot_be_drawn(served):
    with pytest.raises(ValueError, match="a face has an index beyond"):
        LiveViewer({"bodies": [{"name": "b", "vertices": [], "faces": [[0, 1, 2]]}]}, page=served)
    served.close()
    served.close()
    with socket.socket() as again:
        again.bind(("127.0.0.1", served.port))


def test_a_command_that_is_refused_after_its_page_was_served_frees_the_port(monkeypatch, capsys):
    from dalembert.cli import app

    monkeypatch.setattr("webbrowser.open", lambda _: True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert app(["view", "pendulum", "--port", str(port), "--dt", "-1"], result_action="return_value") == 2
    assert "dt" in capsys.readouterr().err
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_the_page_has_its_sky_and_tells_whether_it_is_looked_at():
    found = page().decode()
    head = found[: found.index("</head>")]
    assert "linear-gradient" in head and "/looking?" in head and "<title>dalembert</title>" in head
