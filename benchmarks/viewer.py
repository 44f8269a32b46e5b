"""How soon the live viewer shows its first picture, stage by stage, and how many pictures a second of 1000 bodies a page
receives and applies.

    python benchmarks/viewer.py

Both are seen by the page, in headless Chromium that runs already. Its WebGL calls that draw are counted and not carried out:
without a graphics card they take longer than all else. What is left are server, transport and page; shaders are compiled.

Each stage has the time since the command (s of the clock), and the processor time until then (s): of the process of the
viewer, or of the main thread of the page and of all processes of the browser. On a machine that others use, compare the
latter: the first picture can come no earlier than after the processor times of the longest chain, viewer until "page served"
and page until "picture", or viewer until "scene sent" and page from "connected" to "picture".
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "view"))
from browser import BLIND, Page, wait_until  # noqa: E402

COMMAND = str(Path(__file__).with_name("viewer_command.py"))
SCENES = ("double-pendulum", "card-house", "factory")
BODIES, SECONDS, TIMES = 1000, 5.0, 3
# The worker of viser's client receives and decodes. It hands messages to the page, which applies them to the scene graph in
# its next frame. Poses of a batch of bodies go to the graphics card by texSubImage2D.
COUNTED = """(() => {
  const seen = window.seen = { marks: {}, received: 0, applied: 0, fresh: false };
  const mark = (name) => { seen.marks[name] ??= performance.timeOrigin + performance.now(); };
  mark("page asked for, and begun");
  const Native = window.Worker;
  window.Worker = class extends Native {
    constructor(...all) {
      super(...all);
      mark("script begun");
      this.addEventListener("message", ({ data }) => {
        if (data.type === "connected") mark("connected");
        for (const m of data.messages ?? []) {
          if (m.type === "BatchedMeshesMessage") mark("bodies decoded");
          if (m.type === "SceneNodeUpdateMessage" && m.updates?.batched_positions && !seen.now) {
            seen.now = seen.fresh = true;
            seen.received += 1;
          }
        }
        seen.now = false;
      });
    }
  };
  const gl = WebGL2RenderingContext.prototype, upload = gl.texSubImage2D;
  for (const name of "BLIND".split(" "))
    gl[name] = () => { if (name === "drawElementsInstanced" && "bodies decoded" in seen.marks) mark("picture"); };
  gl.texSubImage2D = function (...all) {
    seen.applied += Number(seen.fresh);
    seen.fresh = false;
    return upload.apply(this, all);
  };
})()""".replace("BLIND", BLIND)


# The first picture ----------------------------------------------------------------------------------------------------


def first_picture(page: Page, scene: str) -> list[tuple[float, str, str]]:
    """The stages until the page shows a scene: s since the command, name, and processor time."""
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    stages, address = [], []

    def listen(lines: Any) -> None:
        for line in lines:
            if line.startswith("stage "):
                name, at, used = json.loads(line[6:])
                stages.append((at - start, name, f"{used:.2f} viewer"))
            elif found := re.search(r"viewer: (http://\S+)", line):
                address.append(found[1])

    before = used_by(page.process.pid)
    start = time.time()
    process = subprocess.Popen([sys.executable, COMMAND, scene], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        threading.Thread(target=listen, args=(process.stderr,), daemon=True).start()
        wait_until(lambda: address, "no page is served", every=0.002)
        page.call("Page.navigate", url=address[0])
        wait_until(lambda: page.evaluate("'picture' in (window.seen?.marks ?? {})"), "no picture came", every=0.02)
        main, browser = metrics(page)["ThreadTime"], used_by(page.process.pid) - before
        words = f"{main:.2f} main thread of the page, {browser:.2f} whole browser"
        marks = page.evaluate("window.seen.marks").items()
        stages += [(at / 1e3 - start, name, words if name == "picture" else "") for name, at in marks]
        wait_until(lambda: any(name == "first frame computed" for _, name, _ in stages), "the run does not start")
        return sorted(stages)
    finally:
        process.kill()
        process.wait()
        page.call("Page.navigate", url="about:blank")


def used_by(process: int) -> float:
    """Processor time of a process and all its children, s; 0 where there is no /proc."""
    parents, used = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = file.read_text().split(" ", 1)
        except OSError:  # it has ended
            continue
        fields = rest.rpartition(")")[2].split()
        parents[int(number)] = int(fields[1])
        used[int(number)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {process}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used.get(number, 0.0) for number in family)


def metrics(page: Page) -> dict[str, float]:
    """Chromium's own measures of the page: ThreadTime is the processor time of its main thread, s."""
    return {item["name"]: item["value"] for item in page.call("Performance.getMetrics")["metrics"]}


# Pictures a second ----------------------------------------------------------------------------------------------------


def pictures_a_second(page: Page) -> None:
    """Print how many pictures of many moving boxes the server sends, and the page receives and applies, a second."""
    import numpy as np

    from dalembert.view.live import LiveViewer

    corners = [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [list(t) for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    bodies = [{"name": f"box {i}", "mass": 1.0, "vertices": corners, "faces": faces} for i in range(BODIES)]
    random, times = np.random.default_rng(0), np.arange(0.0, 4.0 * (TIMES + 1) * SECONDS, 1.0 / 60.0)
    places = random.uniform(0.0, 5.0, (BODIES, 3))
    position = places + 0.3 * np.sin(2.0 * times[:, None, None] + places)
    angle = np.add.outer(times, places[:, 0])[..., None]
    orientation = np.concatenate([np.cos(angle), np.sin(angle) * [0.6, 0.0, 0.8]], axis=2)
    frames = {"time": times, "position": position, "orientation": orientation}
    with LiveViewer({"name": "many", "bodies": bodies}, port=0, open_page=False) as viewer:
        viewer.push(frames)
        viewer.finish()
        page.call("Page.navigate", url=viewer.address)
        wait_until(lambda: page.evaluate("window.seen?.applied > 0") and viewer.time > 1.0, "no picture came")
        for _ in range(TIMES):
            before = measured(page, viewer)
            time.sleep(SECONDS)
            after = measured(page, viewer)
            passed, sent, received, applied, server, thread = (b - a for a, b in zip(before, after, strict=True))
            print(
                f"{BODIES} bodies, pictures a second: {sent / passed:.1f} sent, {received / passed:.1f} received and "
                f"decoded, {applied / passed:.1f} applied by the page; processor time of one: {1e3 * server / sent:.2f} ms "
                f"server, {1e3 * thread / applied:.2f} ms main thread of the page",
                flush=True,
            )


def measured(page: Page, viewer: Any) -> tuple[float, ...]:
    """The clock, pictures sent, received and applied, and the processor time of this process and of the page."""
    received, applied = page.evaluate("[window.seen.received, window.seen.applied]")
    return time.perf_counter(), viewer.pictures, received, applied, time.process_time(), metrics(page)["ThreadTime"]


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder, Page("about:blank", Path(folder), 1280, 800) as page:
        page.call("Page.enable")
        page.call("Performance.enable", timeDomain="threadTicks")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=COUNTED)
        for scene in SCENES:
            stages = min((first_picture(page, scene) for _ in range(TIMES)), key=lambda found: seen_at(found))
            print(f"{scene}: first picture {seen_at(stages):.2f} s after the command")
            for at, name, used in stages:
                print(f"  {at:6.2f} s  {name:26} {used}")
        pictures_a_second(page)


def seen_at(stages: list[tuple[float, str, str]]) -> float:
    """When the picture came, s."""
    return next(at for at, name, _ in stages if name == "picture")


if __name__ == "__main__":
    main()
