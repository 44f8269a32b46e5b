"""The page of the player in a browser: it waits, plays, shows the recorded poses, and recovers from a lost picture."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dal

from .shown import HOSTILE, shown

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from browser import NO_GL, Page, needs_browser, wait_until  # noqa: E402


@pytest.fixture(scope="module")
def run():
    scene = dal.Scene("swing")
    rod = scene.add_body(HOSTILE, dal.Box(1, 0.2, 0.2), mass=1.0, position=(0.5, 0, 0))
    scene.hinge("pivot", dal.WORLD, rod, at=(0, 0, 0), axis=(0, 1, 0))
    return dal.simulate(scene, 1.0)


def opened(run, folder, **options):
    """The page of the player of a run, by itself."""
    path = folder / "player.html"
    path.write_text(shown(run.animate(autoplay=False, speed=0.3)).page, "utf-8")
    return Page(path.as_uri(), folder / "browser", 600, 400, **options)


def text(page, name):
    return page.evaluate(f"document.getElementById({name!r}).textContent")


def click(page, name):
    wait_until(lambda: page.evaluate(f"Boolean(document.getElementById({name!r}))"), f"there is no {name}")
    page.evaluate(f"document.getElementById({name!r}).click()")


@needs_browser
def test_it_waits_then_plays_and_shows_the_recorded_poses(run, tmp_path):
    with opened(run, tmp_path) as page:
        wait_until(lambda: page.evaluate("document.readyState") == "complete", "the page did not load")
        assert page.evaluate("document.body.className") == "player waiting"
        assert not page.evaluate("document.body.dataset.renderer")  # WebGL was not asked for
        click(page, "begin")
        wait_until(lambda: float(text(page, "clock").split()[0]) > 0.02, "it does not play")
        assert page.evaluate("document.body.dataset.renderer") == "webgl"
        assert page.evaluate("document.getElementById('speed').value") == "0.3"
        page.evaluate(
            "(() => { const s = document.getElementById('scrub'); s.value = s.max; s.dispatchEvent(new Event('input')); })()"
        )
        numbers = [float(n.replace("−", "-")) for n in re.findall(r"[xyz] (−?[\d.]+)", text(page, "where"))]
        np.testing.assert_allclose(numbers, run.state.position[0], atol=6e-5)  # four digits
        assert text(page, "where").startswith(HOSTILE) and not page.errors


@needs_browser
def test_a_player_whose_picture_the_browser_took_away_can_begin_anew(run, tmp_path):
    with opened(run, tmp_path) as page:
        click(page, "begin")
        wait_until(lambda: page.evaluate("document.body.dataset.renderer") == "webgl", "it does not begin")
        page.evaluate(
            "document.getElementById('stage').getContext('webgl').getExtension('WEBGL_lose_context').loseContext()"
        )
        wait_until(lambda: page.evaluate("document.body.className") == "player waiting", "the loss was not noticed")
        click(page, "begin")
        wait_until(
            lambda: page.evaluate("!document.body.dataset.renderer && document.readyState == 'complete'"), "no reload"
        )
        click(page, "begin")
        wait_until(lambda: page.evaluate("document.body.dataset.renderer") == "webgl", "it does not begin anew")


@needs_browser
def test_without_webgl_it_says_so(run, tmp_path):
    with opened(run, tmp_path, drawing=NO_GL) as page:
        click(page, "begin")
        wait_until(lambda: page.evaluate("document.body.dataset.renderer") == "none", "it does not begin")
        assert page.evaluate("document.getElementById('no-webgl').hidden") is False
