"""Ready-made scenes, one module each: `build(**parameters)` → Scene, `SETTINGS` for `simulate`, and `check(run)`.

>>> from dalembert import gallery
>>> scene = gallery.load("double-pendulum").build()
"""

from __future__ import annotations

import importlib
from types import ModuleType

SCENES = {
    "bead": "dalembert.gallery.bead",
    "bouncing-ball": "dalembert.gallery.bouncing_ball",
    "cradle": "dalembert.gallery.cradle",
    "double-pendulum": "dalembert.gallery.double_pendulum",
    "force-pair": "dalembert.gallery.force_pair",
    "force-puzzle": "dalembert.gallery.force_puzzle",
    "four-bar": "dalembert.gallery.four_bar",
    "n-four-bar": "dalembert.gallery.n_four_bar",
    "pendulum": "dalembert.gallery.pendulum",
    "rocking-block": "dalembert.gallery.rocking_block",
    "rope": "dalembert.gallery.rope",
    "rotation-drift": "dalembert.gallery.rotation_drift",
    "top": "dalembert.gallery.top",
    "trebuchet": "dalembert.gallery.trebuchet",
    "tumbling": "dalembert.gallery.tumbling",
}


def names() -> tuple[str, ...]:
    """The names of the scenes."""
    return tuple(SCENES)


def load(name: str) -> ModuleType:
    """The module of a scene, imported when first asked for. Raises ValueError listing the names."""
    if name not in SCENES:
        raise ValueError(f"there is no scene {name!r} in the gallery; the scenes are {', '.join(SCENES)}")
    return importlib.import_module(SCENES[name])
