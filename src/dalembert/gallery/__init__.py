"""Ready-made scenes, one module each: `build(**parameters)` → Scene, `SETTINGS` for `simulate`, and `check(run)`.

>>> from dalembert import gallery
>>> scene = gallery.load("double-pendulum").build()
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The names of the scenes: those of the files here, which are not imported for that."""
    return tuple(sorted(file.stem.replace("_", "-") for file in FOLDER.glob("[!_]*.py")))


def load(name: str) -> ModuleType:
    """The module of a scene, imported when first asked for. Raises ValueError listing the names."""
    if name not in names():
        raise ValueError(f"there is no scene {name!r} in the gallery; the scenes are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
