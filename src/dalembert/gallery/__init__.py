"""Ready-made scenes, one module each: `build(**parameters)` → Scene, `SETTINGS` for `simulate`, and `check(run)`.

>>> from dalembert import gallery
>>> scene = gallery.load("double-pendulum").build()
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..scene.scene import Scene
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

__all__ = ["Example", "load", "names"]

FOLDER = Path(__file__).parent


class Example(Protocol):
    """What the module of a scene has.

    SETTINGS : keywords of `simulate`, `duration` among them. build : makes the scene; its parameters are those of the
    scene. check : compares a finished run with theory; it raises AssertionError.
    """

    @property
    def __doc__(self) -> str | None: ...  # type: ignore[override]

    @property
    def SETTINGS(self) -> RunSettings: ...

    @property
    def build(self) -> Callable[..., Scene]: ...

    @property
    def check(self) -> Callable[[Simulation], None]: ...


def names() -> tuple[str, ...]:
    """The names of the scenes, found by their files. Nothing is imported."""
    return tuple(sorted(file.stem.replace("_", "-") for file in FOLDER.glob("[!_]*.py")))


def nearest(name: str) -> str:
    """The names that are like a given one, as a sentence of a message."""
    import difflib

    near = difflib.get_close_matches(name.lower().replace("_", "-").replace(" ", "-"), names(), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(map(repr, near))}? " if near else ""


def load(name: str) -> Example:
    """Import the module of a scene and return it. Raises ValueError, listing the names, for an unknown one."""
    if name not in names():
        raise ValueError(
            f"there is no scene {name!r} in the gallery. {nearest(name)}The scenes are {', '.join(names())}"
        )
    return cast("Example", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def __dir__() -> list[str]:
    return sorted(__all__)
