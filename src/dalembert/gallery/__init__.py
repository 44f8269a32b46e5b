"""Ready-made scenes, one module each: `build(**parameters)` → Scene, `SETTINGS` for `simulate`, and `check(run)`.

>>> from dalembert import gallery
>>> scene = gallery.load("double-pendulum").build()
"""

from __future__ import annotations

import importlib
from types import ModuleType

SCENES = {
    "arch": "dalembert.gallery.arch",
    "bead": "dalembert.gallery.bead",
    "billiards": "dalembert.gallery.billiards",
    "bouncing-ball": "dalembert.gallery.bouncing_ball",
    "card-house": "dalembert.gallery.card_house",
    "cloth": "dalembert.gallery.cloth",
    "cloth-on-sphere": "dalembert.gallery.cloth_on_sphere",
    "cradle": "dalembert.gallery.cradle",
    "dominoes": "dalembert.gallery.dominoes",
    "double-pendulum": "dalembert.gallery.double_pendulum",
    "euler-disk": "dalembert.gallery.euler_disk",
    "flag": "dalembert.gallery.flag",
    "force-pair": "dalembert.gallery.force_pair",
    "force-puzzle": "dalembert.gallery.force_puzzle",
    "formulations": "dalembert.gallery.formulations",
    "fountain": "dalembert.gallery.fountain",
    "four-bar": "dalembert.gallery.four_bar",
    "galaxy": "dalembert.gallery.galaxy",
    "generalized": "dalembert.gallery.generalized",
    "hair": "dalembert.gallery.hair",
    "heavy-on-light": "dalembert.gallery.heavy_on_light",
    "incline": "dalembert.gallery.incline",
    "n-four-bar": "dalembert.gallery.n_four_bar",
    "net": "dalembert.gallery.net",
    "orbit": "dalembert.gallery.orbit",
    "pendulum": "dalembert.gallery.pendulum",
    "pile": "dalembert.gallery.pile",
    "pyramid": "dalembert.gallery.pyramid",
    "rocking-block": "dalembert.gallery.rocking_block",
    "rolling": "dalembert.gallery.rolling",
    "rope": "dalembert.gallery.rope",
    "rotation-drift": "dalembert.gallery.rotation_drift",
    "siege": "dalembert.gallery.siege",
    "sling": "dalembert.gallery.sling",
    "soft-body": "dalembert.gallery.soft_body",
    "spring-chain": "dalembert.gallery.spring_chain",
    "stack": "dalembert.gallery.stack",
    "stiffness": "dalembert.gallery.stiffness",
    "terrain": "dalembert.gallery.terrain",
    "tippe-top": "dalembert.gallery.tippe_top",
    "top": "dalembert.gallery.top",
    "trebuchet": "dalembert.gallery.trebuchet",
    "tumbling": "dalembert.gallery.tumbling",
    "wall": "dalembert.gallery.wall",
}


def names() -> tuple[str, ...]:
    """The names of the scenes."""
    return tuple(SCENES)


def load(name: str) -> ModuleType:
    """The module of a scene, imported when first asked for. Raises ValueError listing the names."""
    if name not in SCENES:
        raise ValueError(f"there is no scene {name!r} in the gallery; the scenes are {', '.join(SCENES)}")
    return importlib.import_module(SCENES[name])
