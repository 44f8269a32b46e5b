"""How long it takes from the start of a process to the first step of a simulation, here and in other engines.

Every time is that of a whole process, which imports an engine, builds a scene, makes a step of 1 ms and ends (see
`first_step.py`). Cold: all caches of the user are empty (HOME is an empty folder), one process. Warm: the same once more,
the shortest and the median of several. Everything runs on two cores, where the system can be told so. All scenes are run for
1 s first, or after that, and the heights of their bodies checked.

Engines are looked for in `.venv-start` (MuJoCo, MJX, Drake, Newton) and `.venv-genesis` (Genesis), which `make bench` fills.

    python benchmarks/start.py [--demo] [--ours] [--quick]

--demo: also `make demo` in a clone, packages downloaded, from the command to the first frame that a page is sent.
--ours: no other engines. --quick: warm starts only, and nothing is written.
"""

import math
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import first_step
from readme import write

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "benchmarks" / "first_step.py"
CORES = (0, 1)
TIMES = 7  # warm processes
LONGEST = 1200  # s
SCENES = ("pendulum", "boxes")
PEERS = {  # engine: environment, name, package
    "mujoco": (".venv-start", "MuJoCo", "mujoco"),
    "mjx": (".venv-start", "MuJoCo MJX (JAX, CPU)", "mujoco-mjx"),
    "drake": (".venv-start", "Drake", "drake"),
    "newton": (".venv-start", "Newton, XPBD (Warp, CPU)", "newton"),
    "genesis": (".venv-genesis", "Genesis (CPU)", "genesis-world"),
}
NEAR = 0.02  # m: how far heights after 1 s may be from ours
SHOWN = "`dalembert run double-pendulum --duration 1`"
COMMAND = ("-m", "dalembert.cli", "run", "double-pendulum", "--duration", "1")


class Place:
    """An empty home for processes, whose caches are all in there."""

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory()
        home = self._folder.name
        dropped = ("DALEMBERT_CACHE", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV")
        self.environment = {name: value for name, value in os.environ.items() if name not in dropped}
        self.environment |= {
            "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache", "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "JAX_COMPILATION_CACHE_DIR": f"{home}/jax", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }  # fmt: skip

    def run(self, python: Path | str, *words: object) -> tuple[float, float, str]:
        """(wall s, CPU s, output) of a process. Raises RuntimeError with the last line of a process that fails."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        try:
            done = subprocess.run(
                [str(python), *map(str, words)], env=self.environment, capture_output=True, text=True, timeout=LONGEST
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(str(error)) from error
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

    def warm(self, python: Path | str, *words: object) -> list[float]:
        """Wall s of several processes, after one that fills the caches."""
        self.run(python, *words)
        return [self.run(python, *words)[0] for _ in range(TIMES)]


class Start(NamedTuple):
    """Seconds of whole processes."""

    cold: float
    warm: list[float]

    def __str__(self) -> str:
        return f"{seconds(self.cold)} | {shortest(self.warm)}"


def seconds(value: float) -> str:
    return "—" if math.isnan(value) else f"{value:.2f} s" if value < 9.95 else f"{value:.0f} s"


def shortest(values: Sequence[float]) -> str:
    return f"{seconds(min(values))} ({seconds(statistics.median(values))})"


def told(name: str, found: object) -> None:
    print(f"{name}: {found}", flush=True)


def source() -> list[Path]:
    """What a source checkout is imported from; its bytecode is there."""
    folder = ROOT / "src"
    subprocess.run([sys.executable, "-m", "compileall", "-q", folder], check=True)
    return [folder]


def start_of(engine: str, scene: str, python: Path | str, paths: Sequence[Path] = (), cold: bool = True) -> Start:
    """Cold and warm starts of an engine with a scene. Raises RuntimeError where it fails, or does not run that scene."""
    place = Place(paths)
    first = place.run(python, PROGRAM, engine, scene)[0] if cold else math.nan
    warm = place.warm(python, PROGRAM, engine, scene)
    printed = place.run(python, PROGRAM, engine, scene, 1000)[2].rpartition("HEIGHTS")[2]
    heights = [float(word) for word in printed.split()]
    expected = expected_heights(scene)
    if len(heights) != len(expected) or any(abs(a - b) > NEAR for a, b in zip(heights, expected, strict=True)):
        raise RuntimeError(f"heights after 1 s are {heights}, and should be {expected}")
    return Start(first, warm)


def expected_heights(scene: str) -> list[float]:
    """m, after 1 s: of the rod's centre by its equation of motion; of cubes at rest."""
    if scene == "boxes":
        return [first_step.SIDE * (0.5 + k % 2) for k in range(len(first_step.PLACES))]
    length, width = first_step.LENGTH, first_step.WIDTH
    rate = 9.81 * 0.5 * length / ((length**2 + width**2) / 12 + 0.25 * length**2)
    angle, speed, step = 0.0, 0.0, 1e-5  # below level, rad; rad/s; s
    for _ in range(round(1.0 / step)):
        speed += step * rate * math.cos(angle)
        angle += step * speed
    return [-0.5 * length * math.sin(angle)]


# Ours -------------------------------------------------------------------------------------------------------------------


def ours(quick: bool, demo: bool) -> tuple[list[tuple[str, str]], dict[str, Start]]:
    """Rows (what, time), and the starts of both scenes from source."""
    rows, paths = [], source()
    starts = {scene: start_of("dalembert", scene, sys.executable, paths, not quick) for scene in SCENES}
    for scene, start in starts.items():
        told(f"dalembert from source, {scene}", start)
        rows.append((f"first step of {LABELS[scene]}, source, empty cache", seconds(start.cold)))
        rows.append(("the same, warm", shortest(start.warm)))
    place = Place(paths)
    if not quick:
        wall, processor, _ = place.run(sys.executable, "-m", "dalembert.cli", "compile")
        rows.append(("all kernels, `dalembert compile`", f"{seconds(wall)}; {processor:.0f} s of CPU time"))
        told(*rows[-1])
    rows.append((f"{SHOWN}, source, warm", shortest(place.warm(sys.executable, *COMMAND))))
    told(*rows[-1])
    rows += wheel(quick)
    if demo:
        rows.append(("`make demo` from a clone to motion, packages downloaded", seconds(demonstration())))
        told(*rows[-1])
    return rows, starts


LABELS = {"pendulum": "a pendulum", "boxes": "boxes in contact"}


def wheel(quick: bool) -> list[tuple[str, str]]:
    """Rows of an installed wheel; none where `make wheel` makes none."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        try:
            if not quick or not list(ROOT.glob("dist/*.whl")):
                subprocess.run(["make", "-C", ROOT, "wheel"], check=True, capture_output=True, text=True)
            newest = max(ROOT.glob("dist/*.whl"), key=lambda path: path.stat().st_mtime)
            subprocess.run(
                [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--no-deps", "--compile-bytecode",
                 "--python", sys.executable, "--target", site, newest],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            told("wheel: not measured", lines[-1])
            return []
        rows = []
        for scene in SCENES:
            start = start_of("dalembert", scene, sys.executable, [site])
            rows.append((f"first step of {LABELS[scene]}, installed wheel, empty cache", seconds(start.cold)))
            rows.append(("the same, warm", shortest(start.warm)))
        place = Place([site])
        rows.append((f"{SHOWN}, installed wheel, warm", shortest(place.warm(sys.executable, *COMMAND))))
        for row in rows:
            told(*row)
        return rows


def demonstration() -> float:
    """s from `make demo` in a clone, with an empty home, to the first frame that a page is sent."""
    place = Place()
    environment = {**place.environment, "DISPLAY": ":0", "BROWSER": "true", "PYTHONPATH": ""}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        start = time.perf_counter()
        process = subprocess.Popen(
            ["make", "demo", f"PYTHON={sys.executable}"], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            for line in process.stderr:
                print(f"  {time.perf_counter() - start:6.1f} s  {line.rstrip()}", flush=True)
                address = re.search(r"viewer: http://(\S+)", line)
                if address:
                    wait_for_motion(address[1])
                    return time.perf_counter() - start
            return math.nan
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            shutil.rmtree(Path(folder, ".venv"), ignore_errors=True)


def wait_for_motion(address: str) -> None:
    """Be a page of the viewer until the scene first moves: until nodes are updated after all that there is was sent."""
    import struct

    import viser
    import zstandard
    from websockets.sync.client import connect

    drawn = False
    with connect(f"ws://{address}", subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as page:  # type: ignore[list-item]
        while True:
            data = page.recv(timeout=LONGEST)
            assert isinstance(data, bytes)
            whole, packed = struct.unpack("<QQ", data[:16])
            text = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], max_output_size=whole)
            if drawn and b"SceneNodeUpdateMessage" in text:
                return
            drawn = drawn or b"ReplayDoneMessage" in text


# Others -----------------------------------------------------------------------------------------------------------------


def peers(quick: bool) -> dict[str, dict[str, Start | None]]:
    """Starts of other engines by name and scene; None where one fails, and why is printed."""
    found: dict[str, dict[str, Start | None]] = {}
    for engine, (environment, label, package) in PEERS.items():
        python = ROOT / environment / "bin" / "python"
        try:
            program = f"from importlib.metadata import version; print(version({package!r}))"
            version = Place().run(python, "-c", program)[2]
        except RuntimeError as error:
            told(f"{label}: not installed", error)
            continue
        name = f"{label}, {version.strip()}"
        found[name] = {}
        for scene in SCENES:
            try:
                found[name][scene] = start_of(engine, scene, python, cold=not quick)
            except RuntimeError as error:
                found[name][scene] = None
                told(f"{name}, {scene}: failed", error)
            told(f"{name}, {scene}", found[name][scene])
    return found


def main(words: Sequence[str]) -> None:
    quick = "--quick" in words
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(CORES) & os.sched_getaffinity(0) or os.sched_getaffinity(0))
    rows, starts = ours(quick, "--demo" in words)
    table = ["| what | time |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)]
    engines: dict[str, dict[str, Start | None]] = {"dalembert, from source": {**starts}}
    engines |= {} if "--ours" in words else peers(quick)
    lines = [
        "| engine | pendulum, cold | warm | boxes, cold | warm |", "|---|---|---|---|---|",
        *(f"| {name} | {' | '.join(str(start or '— | —') for start in both.values())} |" for name, both in engines.items()),
    ]  # fmt: skip
    cores = f"{len(os.sched_getaffinity(0))} cores" if hasattr(os, "sched_getaffinity") else f"{os.cpu_count()} cores"
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    block = f"""Time of a whole process that imports an engine, builds a scene and makes its first step ({cores}, {machine}).
Cold: no kernel is compiled and no cache is there. Warm: the shortest of {TIMES}, in brackets their median.

{chr(10).join(table)}

A rod on a hinge, and ten boxes that fall on a plane and on each other, beside other engines:

{chr(10).join(lines)}
"""
    print(block)
    if not quick:
        write("start", "Start-up", block)


if __name__ == "__main__":
    main(sys.argv[1:])
