"""Jolt Physics in an interpreter of its own, as its Python binding (culverin) asks for a newer one than the other peers do.

Run as a program it takes orders from its standard input, one a line, and answers each with a line of JSON: first a scene
({"dt", "friction", "boxes": [[position, half the sides, mass], ...]}), then numbers of steps to make or "poses".
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PYTHON = Path(__file__).parent.parent / ".venv-jolt" / "bin" / "python"
AWAKE = 60  # steps from one time that the bodies are told not to sleep to the next; they would after half a second


class Jolt:
    """The other interpreter with one scene. Raises FileNotFoundError where there is none."""

    def __init__(self, boxes: list, friction: float, dt: float) -> None:
        if not PYTHON.exists():
            raise FileNotFoundError(f"no environment for Jolt at {PYTHON}")
        self._process = subprocess.Popen([PYTHON, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._ask({"dt": dt, "friction": friction, "boxes": boxes})

    def _ask(self, order: object) -> object:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def advance(self, count: int) -> None:
        self._ask(count)

    def poses(self) -> list:
        """(n, 7): position and quaternion (w, x, y, z) of each box."""
        return self._ask("poses")  # type: ignore[return-value]


def build(scene: dict) -> tuple[Callable[[int], None], Callable[[], list]]:
    """What makes so many steps, and what tells the poses."""
    import culverin as c

    world = c.PhysicsWorld(settings={
        "gravity": (0.0, 0.0, -9.81), "num_threads": 1, "max_pairs": 1 << 18, "max_contact_constraints": 1 << 18,
        "temp_allocator_size": 1 << 28,
    })  # fmt: skip
    friction = scene["friction"]
    world.create_body(
        pos=(0.0, 0.0, -50.0), size=(500.0, 500.0, 50.0), shape=c.SHAPE_BOX, motion=c.MOTION_STATIC, friction=friction
    )
    boxes = [
        world.create_body(
            pos=tuple(x), size=tuple(half), shape=c.SHAPE_BOX, motion=c.MOTION_DYNAMIC, mass=mass, friction=friction
        )
        for x, half, mass in scene["boxes"]
    ]
    made = 0

    def advance(count: int) -> None:
        nonlocal made
        for _ in range(count):
            if made % AWAKE == 0:
                for box in boxes:
                    world.activate(box)
            world.step(scene["dt"])
            made += 1

    def poses() -> list:
        found = [world.get_body_stats(box) for box in boxes]
        return [[*x, q[3], *q[:3]] for x, q, _ in found]

    return advance, poses


def serve() -> None:
    advance, poses = build(json.loads(sys.stdin.readline()))
    print("0", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if order == "poses":
            print(json.dumps(poses()), flush=True)
        else:
            advance(order)
            print("0", flush=True)


if __name__ == "__main__":
    serve()
