"""The stage of the live page: sky, ground, light and shadows, and which pages are visible."""

from __future__ import annotations

import html
import re
import threading
from importlib.resources import files
from typing import Any

import numpy as np

from .drawing import Extent

# Sky and audience: what viser has no place for, a style and a script that the page runs once --------------------------

NOTHING = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
LOOKING = re.compile(r"^/looking\?([a-z0-9]{1,20})=([01])$")
MOST_PAGES = 1000


def page_setup() -> str:
    """HTML that sets the style of the page (its sky, its width on phones) and has it say whether it is looked at."""
    style, script = (_resource(f"live_page.{kind}") for kind in ("css", "js"))
    return f'<img hidden src="{NOTHING}" data-style="{html.escape(style)}" onload="{html.escape(script)}">'


class Audience:
    """Which pages are on a screen: each tells when it is hidden, by a request for the path `LOOKING`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: dict[str, bool] = {}

    def heard(self, path: str) -> bool:
        """Whether a request is such a notice; it is taken down."""
        found = LOOKING.match(path)
        if found is None:
            return False
        with self._lock:
            self._shown[found[1]] = found[2] == "1"
            while len(self._shown) > MOST_PAGES:
                del self._shown[next(iter(self._shown))]
        return True

    def looks(self, pages: int) -> bool:
        """Whether somebody looks, if so many pages are open; a page that has told nothing counts."""
        with self._lock:
            shown = sum(self._shown.values())
            return pages > 0 and (shown > 0 or pages > len(self._shown))


def _resource(name: str) -> str:
    return (files("dalembert.view") / name).read_text(encoding="utf-8")


# Ground and light -----------------------------------------------------------------------------------------------------
#
# With viser's own lights and environment a body of the colour #c9a227 is shown as #e8e2bc.

GROUND, CELL, SECTION = (206, 211, 217), (186, 192, 200), (158, 166, 176)
SUN, SKY, EARTH, FILL = (255, 249, 240), (226, 236, 250), (176, 170, 162), (235, 242, 255)
TOWARDS_SUN = np.array([0.35, -0.5, 1.0])
FAR, FADE = 16.0, 0.4  # of the extent's size: where the ground fades into the sky; and how soon it does


# What the page makes of light: three.js' fit of the ACES film curve (S. Hill), of red, green and blue together.
INTO = np.array([[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]])
OUT_OF = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
EXPOSURE = 1.0 / 0.6
LIGHT = 1.0  # of a white surface that faces up and towards the sun, before the curve


def intensities(rgb: np.ndarray) -> np.ndarray:
    """Intensities (…, 3), 0 to 255, that the page shows as the colours `rgb` in full light: the film curve, solved for what
    goes in. viser takes the colours of a batch for intensities."""
    part = np.asarray(rgb, float) / 255.0
    shown = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    y = np.clip(np.linalg.solve(OUT_OF, shown[..., None])[..., 0], 0.0, 0.95)
    # y = (v (v + p) − q) / (v (r v + s) + t)
    p, q, r, s, t = 0.0245786, 0.000090537, 0.983729, 0.432951, 0.238081
    a, b, c = 1.0 - r * y, p - s * y, -(q + t * y)
    v = (-b + np.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    return 255.0 * np.clip(np.linalg.solve(INTO, v[..., None])[..., 0] / (EXPOSURE * LIGHT), 0.0, 1.0)


def as_sent(rgb: np.ndarray) -> np.ndarray:
    """The same as colours (…, 3), 0 to 255, as viser takes those of a single mesh."""
    linear = intensities(rgb) / 255.0
    part = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
    return np.clip(255.0 * part, 0.0, 255.0)


class Stage:
    """Ground and lights of viser's scene."""

    def __init__(self, server: Any) -> None:
        scene = server.scene
        self._grid = scene.add_grid(
            "/ground", infinite_grid=True, plane_color=GROUND, plane_opacity=1.0, cell_color=CELL, section_color=SECTION,
            shadow_opacity=0.55, fade_strength=FADE,
        )  # fmt: skip
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        self._sun = scene.add_light_directional(
            "/sun", color=SUN, intensity=2.8, cast_shadow=True, position=tuple(100.0 * TOWARDS_SUN)
        )
        scene.add_light_directional("/fill", color=FILL, intensity=1.2, position=(-60.0, -40.0, 25.0))
        scene.add_light_hemisphere("/sky", sky_color=SKY, ground_color=EARTH, intensity=2.4, position=(0.0, 0.0, 1.0))

    def fit(self, extent: Extent) -> None:
        """Put the ground below a motion, with lines at powers of ten of a metre."""
        cell = 10.0 ** np.floor(np.log10(extent.size / 3.0))
        self._grid.position = (0.0, 0.0, extent.ground)
        self._grid.cell_size, self._grid.section_size = cell, 5.0 * cell
        self._grid.fade_distance = FAR * extent.size

    def cast_shadows(self, on: bool) -> None:
        """Whether the sun casts shadows."""
        self._sun.cast_shadow = on
