"""How soon the live viewer shows its first picture, and how many pictures a second it sends of 1000 bodies.

    python benchmarks/viewer.py

Both are seen by the page, in headless Chromium whose WebGL calls are counted and not carried out: the numbers are those of
server, transport and page. Drawing is up to the graphics card. Prints s from the command to the first picture with bodies,
and pictures a second at the server and on the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "view"))
from browser import BLIND, Page, wait_until  # noqa: E402

SCENES = ("double-pendulum", "card-house", "factory")
BODIES, SECONDS = 1000, 5.0
COUNTED = f"""window.drawn = 0;
for (const k of '{BLIND}'.split(' '))
  WebGL2RenderingContext.prototype[k] = () => {{
    const frame = document.timeline.currentTime; // the same for all that one picture draws
    if (k === 'drawElementsInstanced' && frame !== window.last) [window.last, window.drawn] = [frame, window.drawn + 1];
  }};"""


def open_page(folder: str) -> Page:
    """An empty page that counts what it would draw of bodies."""
    return Page("about:blank", Path(folder), 1280, 800)


def first_picture(page: Page, scene: str) -> tuple[float, float]:
    """Seconds from the command to the printed address, and to the first picture on the page."""
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-m", "dalembert.cli", "view", scene, "--port", "0"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        address = next(found[1] for line in process.stderr if (found := re.search(r"viewer: (http://\S+)", line)))
        served = time.perf_counter() - start
        page.call("Page.navigate", url=address)
        wait_until(lambda: page.evaluate("window.drawn > 0"), "no picture came")
        return served, time.perf_counter() - start
    finally:
        process.kill()
        process.wait()


def pictures_a_second(page: Page) -> tuple[float, float]:
    """Pictures a second of many moving boxes, as the server sends them, and as the page gets to draw them."""
    from dalembert.view.live import LiveViewer

    corners = [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [list(t) for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    bodies = [{"name": f"box {i}", "mass": 1.0, "vertices": corners, "faces": faces} for i in range(BODIES)]
    random, times = np.random.default_rng(0), np.arange(0.0, 4.0 * SECONDS, 1.0 / 60.0)
    places = random.uniform(0.0, 5.0, (BODIES, 3))
    position = places + 0.3 * np.sin(2.0 * times[:, None, None] + places)
    angle = np.add.outer(times, places[:, 0])[..., None]
    orientation = np.concatenate([np.cos(angle), np.sin(angle) * [0.6, 0.0, 0.8]], axis=2)
    frames = {"time": times, "position": position, "orientation": orientation}
    with LiveViewer({"name": "many", "bodies": bodies}, port=0, open_page=False) as viewer:
        viewer.push(frames)
        viewer.finish()
        page.call("Page.navigate", url=viewer.address)
        wait_until(lambda: page.evaluate("window.drawn > 0") and viewer.time > 1.0, "no picture came")
        before, drawn, start = viewer.pictures, page.evaluate("window.drawn"), time.perf_counter()
        time.sleep(SECONDS)
        sent, drawn = viewer.pictures - before, page.evaluate("window.drawn") - drawn
        return sent / (time.perf_counter() - start), drawn / (time.perf_counter() - start)


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder, open_page(folder) as page:
        page.call("Page.enable")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=COUNTED)
        for scene in SCENES:
            served, seen = min((first_picture(page, scene) for _ in range(3)), key=lambda pair: pair[1])
            print(f"{scene:20} page served after {served:.2f} s, first picture after {seen:.2f} s", flush=True)
        sent, drawn = pictures_a_second(page)
        print(f"{BODIES} bodies: {sent:.1f} pictures a second sent, {drawn:.1f} on the page")


if __name__ == "__main__":
    main()
