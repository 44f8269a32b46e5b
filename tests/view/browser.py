"""A page in headless Chromium, driven over its DevTools protocol."""

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request

import numpy as np
import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome to open the page in")
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NO_GL = ("--disable-3d-apis",)
# It looks for updates and accounts at every start otherwise, and waits for answers where there is no network.
ALONE = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
# Everything but the pixels, which without a graphics card take longer than all else.
BLIND = "drawElements drawArrays drawElementsInstanced drawArraysInstanced drawRangeElements clear blitFramebuffer"
# What viser's camera controls make chromium say when a body is dragged; it does no harm.
PASSIVE = "Unable to preventDefault inside passive event listener"
# What chromium answers to an expression whose page is left or reloaded meanwhile.
LEFT_PAGE = (
    "Inspected target navigated or closed",
    "Cannot find default execution context",
    "Execution context was destroyed",
)
PATIENCE = 600.0  # s: drawing without a graphics card is slow


class Page:
    """One page at `address`; leaves nothing running."""

    def __init__(self, address, folder, width=640, height=480, drawing=SOFTWARE_GL, blind=False):
        self.address, self.folder, self.size, self.drawing, self.count = address, folder, (width, height), drawing, 0
        self.blind = blind
        self.errors = []  # what the page wrote to its console as errors, and exceptions that nothing caught

    def __enter__(self):
        from websockets.sync.client import connect

        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"]
        command += [*ALONE, *self.drawing, "--remote-debugging-port=0", f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port_file = self.folder / "DevToolsActivePort"
            wait_until(lambda: port_file.exists() and port_file.read_text().count("\n"), "the browser did not start")
            with urllib.request.urlopen(f"http://127.0.0.1:{port_file.read_text().split()[0]}/json") as answer:
                tab = next(tab for tab in json.load(answer) if tab["type"] == "page")
            self.socket = connect(tab["webSocketDebuggerUrl"], max_size=None, open_timeout=PATIENCE)
            self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1],
                      deviceScaleFactor=1, mobile=False)  # fmt: skip
            self.call("Runtime.enable")
            self.call("Log.enable")
            if self.blind:
                self.call("Page.enable")
                stub = f"for (const k of '{BLIND}'.split(' ')) WebGL2RenderingContext.prototype[k] = () => {{}};"
                self.call("Page.addScriptToEvaluateOnNewDocument", source=stub)
            self.call("Page.navigate", url=self.address)
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def call(self, method, **parameters):
        """The result of a DevTools method; of events in between errors are kept. RuntimeError if it is refused."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv(timeout=PATIENCE))).get("id") != self.count:
            self._look(answer.get("method"), answer.get("params", {}))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _look(self, event, found):
        if event == "Runtime.exceptionThrown":
            self.errors.append(
                found["exceptionDetails"].get("text", "") + str(found["exceptionDetails"].get("exception"))
            )
        elif event == "Runtime.consoleAPICalled" and found["type"] in ("error", "assert"):
            self.errors.append(str([part.get("value", part.get("description")) for part in found["args"]]))
        elif event == "Log.entryAdded" and found["entry"]["level"] == "error" and PASSIVE not in found["entry"]["text"]:
            self.errors.append(f"{found['entry']['text']} {found['entry'].get('url', '')}")

    def evaluate(self, expression):
        """The value of a JavaScript expression; None if the page is left or reloaded before it answers."""
        try:
            return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")
        except RuntimeError as refused:
            if any(words in str(refused) for words in LEFT_PAGE):
                return None
            raise

    def click(self, words):
        """Click the button that says `words`."""
        found = (
            f"[...document.querySelectorAll('button, label')].find((b) => b.innerText.trim() === {json.dumps(words)})"
        )
        wait_until(lambda: self.evaluate(f"Boolean({found})"), f"no button {words!r}")
        self.evaluate(f"{found}.click()")

    def mouse(self, kind, x, y, held=True):
        """Move, press or release the left button at a point of the page, pixels: kind "mouseMoved" and so on."""
        self.call("Input.dispatchMouseEvent", type=kind, x=float(x), y=float(y), button="left" if held else "none",
                  buttons=int(held and kind != "mouseReleased"), clickCount=1)  # fmt: skip

    def key(self, key, code, number):
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number)

    def pick(self, label, option):
        """Choose an option in the list that stands beside a label."""
        field = f"[...document.querySelectorAll('label')].find((l) => l.innerText.trim() === {json.dumps(label)})"
        box = f"{field}.closest('.mantine-Flex-root, div:has(input)').querySelector('input')"
        wait_until(lambda: self.evaluate(f"Boolean({field})"), f"no field {label!r}")
        self.evaluate(f"(() => {{ const b = {box}; b.focus(); b.click(); }})()")
        found = (
            f"[...document.querySelectorAll('[role=option]')].find((o) => o.innerText.trim() === {json.dumps(option)})"
        )
        wait_until(lambda: self.evaluate(f"Boolean({found})"), f"no option {option!r}")
        self.evaluate(f"{found}.click()")

    def picture(self):
        """The page as it looks, (height, width, 3) in 0..255."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), int)


def wait_until(condition, problem, every=0.1):
    """Wait for `condition()`, looked at `every` s; AssertionError with `problem` when it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, problem
        time.sleep(every)
