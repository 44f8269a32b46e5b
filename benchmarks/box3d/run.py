"""Large scenes of rigid bodies in Box3D and here, side by side: time a step, overlap, and here the residual.

    python benchmarks/box3d/run.py --source <folder of Box3D's sources> [--write] [scenes …]

Nothing is fetched: --source is a checkout of erincatto/box3d, which is built with CMake into --build (out/box3d), as its own
options say. Both engines step in turns, step by step, on one thread; the median over the window of each scene counts. Box3D
has its defaults: float32 and four substeps, without sleeping. Overlap is measured alike from the poses at the end of the
window, in double precision, by the collision detection here: the deepest.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import dalembert as dal  # noqa: E402
from box3d.scenes import Timed, boxes_poured, convex_pile, large_pyramid, many_pyramids  # noqa: E402
from pour import pour  # noqa: E402
from readme import ROOT, refreshed  # noqa: E402
from scenes import wall  # noqa: E402
from walls import Penetration  # noqa: E402

HEADING = """| scene | bodies | steps | dalembert | Box3D | ratio | overlap | Box3D's | residual |
|---|---|---|---|---|---|---|---|---|"""
TEXT = """## Box3D

Median time of a step, step by step in turns, on one thread, and the median of the ratios; overlap after the last step, from
the poses, in double precision; residual: median and largest of the natural map of Coulomb's law here, with defaults. Box3D
has its defaults, float32 and four substeps, without sleeping. Neither engine records anything."""
SUBSTEPS = 4
RARELY = 1e-3  # Hz: no frame is recorded in a window
FAR = 400.0  # half the side of the box that stands for a half-space, m
SCENES = {
    "large_pyramid": Timed(large_pyramid, 1 / 60, 100, 100),
    "many_pyramids": Timed(many_pyramids, 1 / 60, 50, 50),
    "convex_pile": Timed(convex_pile, 1 / 60, 200, 100),
    "hulls": Timed(lambda: pour(2000), 1 / 60, 90, 60),
    "boxes": Timed(boxes_poured, 1 / 60, 90, 60),
    "wall_20": Timed(lambda: wall(20), 1 / 240, 240, 200),
}


def build(source: Path, folder: Path) -> Path:
    """The runner, compiled with Box3D from its sources."""
    if not (source / "CMakeLists.txt").exists():
        raise SystemExit(f"{source} has no CMakeLists.txt; --source must be a checkout of erincatto/box3d")
    configure = ["cmake", "-S", HERE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", f"-DBOX3D_SOURCE={source.resolve()}"]
    for command in (configure, ["cmake", "--build", folder, "--config", "Release", "--target", "runner", "-j"]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"Box3D was not built:\n{(done.stdout + done.stderr)[-3000:]}")
    return next(path for path in folder.rglob("runner*") if path.stem == "runner" and path.is_file())


def shape_line(shape: object) -> str:
    """Half sides or corners."""
    if isinstance(shape, dal.Box):
        return f"0 {shape.x / 2!r} {shape.y / 2!r} {shape.z / 2!r}"
    if isinstance(shape, dal.HalfSpace):
        return f"0 {FAR} {FAR} {FAR}"
    points = np.asarray(shape.triangles()[0])
    return f"{len(points)} " + " ".join(map(repr, points.ravel().tolist()))


def volume(shape: object) -> float:
    """m³."""
    if isinstance(shape, dal.Box):
        return float(shape.x * shape.y * shape.z)
    return float(ConvexHull(np.asarray(shape.triangles()[0])).volume)


def lines_of(scene: dal.Scene, dt: float, workers: int) -> list[str]:
    """The scene as runner.c reads it; the frame of a body is at its centre of mass."""
    gravity = 9.81
    lines = [f"{dt!r} {SUBSTEPS} {workers} {gravity!r} {len(scene.obstacles) + len(scene.bodies)}"]
    for item in (*scene.obstacles.values(), *scene.bodies.values()):
        moves = item.name in scene.bodies
        position = np.array(item.position, float)
        if isinstance(item.shape, dal.HalfSpace):
            position = position - (0.0, 0.0, FAR)
        density, friction = 1.0 if moves else 0.0, scene.material.friction
        if moves:
            density = item.mass / volume(item.shape)
        numbers = [density, friction, *position.tolist(), *np.asarray(item.orientation, float).tolist()]
        lines.append(" ".join(map(repr, map(float, numbers))) + " " + shape_line(item.shape))
    return lines


class Box3D:
    """A world of the runner, stepped on command."""

    def __init__(self, runner: Path, scene: dal.Scene, dt: float, workers: int = 1) -> None:
        self._process = subprocess.Popen([str(runner)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._bodies = len(scene.bodies)
        self._send("\n".join(lines_of(scene, dt, workers)))

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def _line(self) -> list[float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the runner of Box3D ended")
        return [float(word) for word in line.split()]

    def step(self, count: int) -> list[float]:
        """So many steps; the milliseconds of each."""
        self._send(f"step {count}")
        return self._line()

    def poses(self) -> np.ndarray:
        """(bodies, 7)."""
        self._send("poses")
        return np.array([self._line() for _ in range(self._bodies)])

    def end(self) -> None:
        """Close it."""
        self._send("end")
        self._process.wait()


def centred(scene: dal.Scene, poses: np.ndarray) -> np.ndarray:
    """Poses of the frames of bodies → of their centres of mass, which ours are."""
    centres = np.array([body.center for body in scene.bodies.values()])
    turn = Rotation.from_quat(poses[:, [4, 5, 6, 3]])
    return np.hstack([poses[:, :3] + turn.apply(centres), poses[:, 3:]])


def measure(name: str, runner: Path, settings: dict[str, object]) -> list[str]:
    """The rows of a scene: both engines in turns, step by step."""
    timed = SCENES[name]
    scene = timed.make()
    other = Box3D(runner, scene, timed.dt)
    ours = dal.Simulation(scene, dt=timed.dt, frame_rate=RARELY, **settings)
    ours.step(timed.before)
    other.step(timed.before)
    times: tuple[list[float], list[float]] = ([], [])
    residuals = []
    for _ in range(timed.window):
        start = time.perf_counter()
        ours.step()
        times[0].append(1e3 * (time.perf_counter() - start))
        times[1].extend(other.step(1))
        residuals.append(float(ours._driver.report.residual[0]))
    deepest = Penetration(scene)
    poses = np.hstack([ours.state.position, ours.state.orientation])
    own, theirs = deepest(poses), deepest(centred(scene, other.poses()))
    other.end()
    ratio = float(np.median(np.array(times[0]) / np.array(times[1])))
    own_time, their_time = np.median(times[0]), np.median(times[1])
    print(f"{name}: {own_time:.4g} ms, Box3D {their_time:.4g} ms, ratio {ratio:.3g}", flush=True)
    return [
        f"| {scene.name} | {len(scene.bodies)} | {timed.before} … {timed.before + timed.window} "
        f"| {own_time:.3g} ms | {their_time:.3g} ms | {ratio:.2f} | {1e3 * own:.2g} mm | {1e3 * theirs:.2g} mm "
        f"| {np.median(residuals):.1g} … {max(residuals):.1g} m/s |"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--source", type=Path, required=True, help="a checkout of erincatto/box3d")
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "out" / "box3d", help="where it is built")
    parser.add_argument("--iterations", type=int, help="sweeps of ours, at most")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    parser.add_argument("scenes", nargs="*", help=f"of {', '.join(SCENES)}; all, where none is named")
    given = parser.parse_args()
    unknown = sorted(set(given.scenes) - set(SCENES))
    if unknown:
        parser.error(f"there is no scene {unknown[0]!r}; the scenes are {', '.join(SCENES)}")
    runner = build(given.source, given.build)
    settings: dict[str, object] = {} if given.iterations is None else {"iterations": given.iterations}
    rows = [row for name in given.scenes or SCENES for row in measure(name, runner, settings)]
    table = "\n".join([HEADING, *rows])
    print(table)
    if given.write:
        page = ROOT / "docs" / "benchmarks.md"
        page.write_text(refreshed(page.read_text("utf-8"), "box3d", f"{TEXT}\n\n{table}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
