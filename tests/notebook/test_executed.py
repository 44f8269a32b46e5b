"""Notebooks that are executed in a kernel, and looked at in a browser: the tutorial, and one with an object of each kind."""

import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert

nbformat = pytest.importorskip("nbformat", reason="notebooks are executed with the extra 'test'")
nbclient = pytest.importorskip("nbclient", reason="notebooks are executed with the extra 'test'")
pytest.importorskip("ipykernel", reason="notebooks are executed with the extra 'test'")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "view"))
from browser import Page, needs_browser, wait_until  # noqa: E402

SETUP = """
import dalembert as dal

scene = dal.Scene("swing <script>window.harm = 1</script>")
rod = scene.add_body("rod <img src=x onerror=harm()>", dal.Box(1, 0.2, 0.2), mass=1.0, position=(0.5, 0, 0), color="#c02020")
scene.hinge("pivot", dal.WORLD, rod, at=(0, 0, 0), axis=(0, 1, 0))
run = dal.simulate(scene, 1.0)
"""
CELLS = {
    "setup": SETUP,
    "scene": "scene",
    "figure": "import sys\nassert 'matplotlib.pyplot' not in sys.modules\nrun.plot.energy()",
    "figure with pyplot": "import matplotlib.pyplot as plt\nrun.plot.energy()",
    "silent": "fig = run.plot.energy()",
    "table": "run.trajectory.to_pandas().head(2)",
    "viewer": "session = dal.show(scene, port=0)\nsession",
    "end of viewer": "session.close()",
    "run": "run",
    "animation": "run.animate(height=300)",
}


def notebook_tools():
    """docs/_ext/notebook.py."""
    spec = importlib.util.spec_from_file_location("page_notebook", ROOT / "docs" / "_ext" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def execute(notebook, folder, monkeypatch):
    """Run all cells in a kernel of this Python, in a folder; raises CellExecutionError where one fails."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(dalembert.__file__).parents[1]), *sys.path]))
    where = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=1800, kernel_name="python3", resources=where).execute()
    return notebook


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Name of a cell → its outputs; and the notebook."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    with pytest.MonkeyPatch.context() as patch:
        execute(made, tmp_path_factory.mktemp("notebook"), patch)
    return dict(zip(CELLS, (cell.outputs for cell in made.cells), strict=True)), made


def shown_by(outputs):
    """The data of what a cell shows."""
    return [output["data"] for output in outputs if output["output_type"] in ("execute_result", "display_data")]


def test_scenes_runs_and_animations_show_html(executed):
    for name in ("scene", "run", "animation", "table", "viewer"):
        (data,) = shown_by(executed[0][name])
        assert "text/html" in data, name
    assert "<iframe" in shown_by(executed[0]["run"])[0]["text/html"]
    assert "rod &lt;img src=x" in shown_by(executed[0]["scene"])[0]["text/html"]


def test_a_figure_is_shown_once_with_and_without_pyplot(executed):
    for name in ("figure", "figure with pyplot"):
        (data,) = shown_by(executed[0][name])
        assert "image/png" in data, name
    assert not shown_by(executed[0]["silent"])


def test_nothing_else_is_shown(executed):
    assert not executed[0]["setup"] and not executed[0]["end of viewer"]


def test_the_viewer_returns_at_once_and_says_where_it_serves(executed):
    outputs = executed[0]["viewer"]
    printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    (data,) = shown_by(outputs)
    address = printed.split("viewer: ")[1].split()[0]
    assert address.startswith("http://127.0.0.1:") and f'href="{address}"' in data["text/html"]


def test_the_tutorial_runs_as_a_notebook(tmp_path, monkeypatch):
    tools = notebook_tools()
    tools.write_notebook(ROOT / "docs" / "tutorial.md", tmp_path / "tutorial.ipynb")
    made = nbformat.read(tmp_path / "tutorial.ipynb", as_version=4)
    nbformat.validate(made)
    execute(made, tmp_path, monkeypatch)
    sources = {cell.source: cell for cell in made.cells}
    player = next(cell for source, cell in sources.items() if "run.animate()" in source)
    assert "<iframe" in shown_by(player.outputs)[0]["text/html"]
    assert (tmp_path / "tower.nc").exists()


def test_all_python_of_a_page_is_in_its_notebook():
    text = "# Title\n\nWords, [a page](other.md) and [a site](https://x.org).\n\n```python\na = 1\n\nb = 2\n```\n\n"
    text += "![picture](one.png)\n\n```console\n$ ls\n```\n\n```python\nb\n```\n"
    cells = notebook_tools().notebook_of(text)["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\nWords, a page and [a site](https://x.org)."),
        ("code", "a = 1\n\nb = 2"),
        ("markdown", "```console\n$ ls\n```"),
        ("code", "b"),
    ]
    assert len({cell["id"] for cell in cells}) == 4


# In a browser ---------------------------------------------------------------------------------------------------------


def as_page(notebook, cells, folder):
    """The outputs of cells as a page, by nbconvert."""
    nbconvert = pytest.importorskip("nbconvert", reason="notebooks are looked at with the extra 'test'")
    chosen = nbformat.v4.new_notebook(cells=[notebook.cells[list(CELLS).index(name)] for name in cells])
    own = {name: "" for name in ("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url")}  # of other hosts
    exporter = nbconvert.HTMLExporter(exclude_input=True, exclude_output_prompt=True, **own)
    path = folder / "page.html"
    path.write_text(exporter.from_notebook_node(chosen)[0], "utf-8")
    return path


def of_dalembert(errors):
    """Those that are not about libraries that nbconvert's own template wants from other hosts."""
    return [error for error in errors if "Failed to load resource" not in error and "mathjax" not in error.lower()]


def red(picture):
    """How many pixels have the colour of the rod."""
    return int(((picture[..., 0] - picture[..., 1] > 60) & (picture[..., 0] - picture[..., 2] > 60)).sum())


@needs_browser
@pytest.mark.parametrize("width", [900, 375])
def test_the_player_plays_after_a_click_and_is_within_the_page(executed, tmp_path, width):
    page = as_page(executed[1], ["run"], tmp_path)
    with Page(page.as_uri(), tmp_path / "browser", width, 700) as opened:
        wait_until(lambda: opened.evaluate("document.readyState") == "complete", "the page did not load")
        box = opened.evaluate("(() => { const b = document.querySelector('iframe').getBoundingClientRect(); "
                              "return [b.left, b.top, b.width, b.height]; })()")  # fmt: skip
        assert box[0] >= 0 and box[0] + box[2] <= width and box[3] >= 300
        x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
        wait_until(lambda: red(opened.picture()) > 300, "there is no still picture")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            opened.mouse(kind, x, y, held=kind != "mouseMoved")
        top, bottom = int(box[1]), int(box[1] + 0.6 * box[3])

        def moves():
            first = opened.picture()[top:bottom]
            time.sleep(0.3)
            second = opened.picture()[top:bottom]
            return red(first) > 100 and np.abs(first - second).max() > 60

        wait_until(moves, "the player does not play")
        assert opened.evaluate("window.harm") is None and not of_dalembert(opened.errors)


@needs_browser
def test_an_animation_begins_by_itself_and_a_scene_is_a_picture(executed, tmp_path):
    page = as_page(executed[1], ["animation", "scene"], tmp_path)
    with Page(page.as_uri(), tmp_path / "browser", 900, 900) as opened:
        wait_until(lambda: opened.evaluate("document.readyState") == "complete", "the page did not load")
        wait_until(lambda: red(opened.picture()) > 600, "there are no two pictures")

        def moves():
            first = opened.picture()
            time.sleep(0.3)
            return np.abs(first - opened.picture())[:300].max() > 60

        wait_until(moves, "the animation does not play")
        assert opened.evaluate("document.querySelectorAll('iframe').length") == 1
        assert opened.evaluate("window.harm") is None and not of_dalembert(opened.errors)
