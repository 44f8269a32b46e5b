"""What objects show in a notebook: their names and numbers, as text whatever the names are, within a bound of size."""

import base64
import io
import json
import sys

import numpy as np
import pytest
from PIL import Image

import dalembert as dal
from dalembert.core import notebook
from dalembert.simulation.trajectory import Trajectory
from dalembert.view import player

from .shown import HOSTILE, Shown, shown, unpack

ALLOWED = {"style", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "img", "iframe"}


def build(name="swing", other="rod"):
    scene = dal.Scene(name, material=dal.Material(0.5))
    scene.add_obstacle(f"{other} ground", dal.HalfSpace(), position=(0, 0, -2))
    rod = scene.add_body(other, dal.Box(1, 0.05, 0.05), mass=1.25, position=(0.5, 0, 0))
    scene.hinge(f"{other} pivot", dal.WORLD, rod, at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_body(f"{other} ball", dal.Sphere(0.1), mass=2.0, position=(0, 0, -1.5))
    scene.drag(f"{other} air", linear=0.1)
    return scene


@pytest.fixture(scope="module")
def run():
    return dal.simulate(build(), 0.5, dt=1 / 240)


@pytest.fixture(scope="module")
def hostile():
    return dal.simulate(build(HOSTILE, HOSTILE), 0.5, dt=1 / 240)


def objects(run):
    """One of each kind."""
    scene = run.model.scene
    yield from (scene, run, run.trajectory, run.report, run.state, dal.Articulation(free_of_contact(scene)))
    yield dal.run_batch([free_of_contact(scene)] * 3, 0.05, method="rk4", dt=1e-3)


def free_of_contact(scene):
    made = dal.Scene(scene.name)
    rod = made.add_body(next(iter(scene.bodies)), dal.Box(1, 0.05, 0.05), mass=1.25, position=(0.5, 0, 0))
    made.hinge("pivot", dal.WORLD, rod, at=(0, 0, 0), axis=(0, 1, 0))
    return made


def test_names_are_text_and_never_elements(hostile):
    for thing in objects(hostile):
        found = shown(thing)
        kind = type(thing).__name__
        assert {name for name, _ in found.elements} <= ALLOWED, kind
        assert not any(key.startswith("on") for _, attributes in found.elements for key in attributes), kind
        assert "<script>alert(" in found.text, kind
        if found.page:
            inside = Shown(found.page)
            assert len(inside.all("script")) == 2 and not inside.all("img"), kind
            assert found.run["bodies"][0]["name"] == HOSTILE


def test_the_player_is_shut_off_from_the_notebook_and_from_networks(run):
    (frame,) = shown(run).all("iframe")
    assert frame["sandbox"] == "allow-scripts"  # not allow-same-origin
    assert "default-src 'none'" in frame["srcdoc"] and "http://" not in frame["srcdoc"].replace("http://www.w3.org", "")
    assert shown(run).all("img")[0]["src"].startswith("data:image/jpeg;base64,")


def test_a_scene_shows_a_picture_and_its_parts(run):
    found = shown(run.model.scene)
    assert not found.page and len(found.all("img")) == 1
    for words in (
        "Scene 'swing'",
        "2 bodies",
        "Bodies (2)",
        "Joints (1)",
        "Forces (1)",
        "1.25 kg",
        "rod pivot",
        "hinge",
    ):
        assert words in found.text
    assert "empty" in shown(dal.Scene("nothing")).text and not shown(dal.Scene("nothing")).all("img")


def test_the_picture_of_a_scene_is_that_of_the_start_of_its_run(run):
    """Drawn from the scene, and from the first frame of a run of it."""

    def pixels(thing):
        data = shown(thing).all("img")[0]["src"].partition(",")[2]
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"), int)

    first = Trajectory(run.trajectory.dataset.isel(time=slice(0, 1)))
    drawn, again = pixels(run.model.scene), pixels(first)
    assert np.abs(drawn - again).max() == 0
    assert (np.abs(drawn - 250).max(axis=-1) > 60).mean() > 0.005  # there is something in it


def test_a_run_shows_the_lines_of_its_report(run):
    found = shown(run)
    for name, value in run.report.rows()[:6]:
        assert name.strip() in found.text and value in found.text
    assert shown(run.report).text.count("µs each") == 1
    saved = shown(run.trajectory).text
    assert "angular_velocity" in saved and "rad/s" in saved and "energy residual" in saved


def test_warnings_stand_out():
    scene = dal.Scene("thrown")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    run = dal.Simulation(scene)
    with pytest.warns(dal.SimulationWarning):
        run.warn("<b>watch out</b>")
    found = shown(run.report)
    assert [row for row in found.all("tr") if row.get("class") == "warning"] and "<b>watch out</b>" in found.text


def test_the_player_has_the_poses_of_the_run(run):
    found, trajectory = shown(run), run.trajectory
    page, count = found.run, len(trajectory)
    assert len(unpack(page["times"], -1, "<f8")) == count
    np.testing.assert_array_equal(
        unpack(page["position"], (count, 2, 3)), trajectory.position.values.astype(np.float32)
    )
    np.testing.assert_array_equal(
        unpack(page["orientation"], (count, 2, 4)), trajectory.orientation.values.astype(np.float32)
    )
    assert page["player"] is True and page["autoplay"] is False and run.animate(speed=0.3).speed == 0.3


def test_a_state_and_a_solution_show_their_numbers(run):
    assert "State of 'swing'" in shown(run.state).text and "angular velocity" in shown(run.state).text
    matrix = np.eye(3)
    found = dal.solve_delassus(matrix, np.array([-1.0, 0.2, 0.0]), [0.5])
    text = shown(found).text
    assert "natural map" in text and "sticking" in text and "Contact solution" in text
    for line in repr(found).splitlines():
        assert line[18:] in text


def test_a_batch_tells_who_failed():
    found = dal.run_batch([free_of_contact(build())] * 3, 0.05, method="rk4", dt=1e-3)
    assert "3, of which 3 reached the end" in shown(found).text and "failed" not in shown(found).text
    found.status[1] = 5
    assert "3, of which 2 reached the end" in shown(found).text and "failed" in shown(found).text


# Bounds ---------------------------------------------------------------------------------------------------------------


def synthetic(bodies=1, frames=3, particles=0, vertices=None, faces=None, name="body"):
    rng = np.random.default_rng(0)
    q = rng.normal(size=(frames, bodies, 4))
    names = [f"{name} {i}" for i in range(bodies)]
    items = [{"name": each, "mass": 1.0, "shape": {"kind": "box"}, "vertices": vertices or [], "faces": faces or []}
             for each in names]  # fmt: skip
    variables = {
        "time": np.arange(float(frames)), "position": rng.normal(size=(frames, bodies, 3)), "kinetic": np.zeros(frames),
        "orientation": q / np.linalg.norm(q, axis=-1, keepdims=True), "potential": np.zeros(frames),
    }  # fmt: skip
    scene = {"bodies": items}
    if particles:
        variables["particle_position"] = rng.normal(size=(frames, particles, 3))
        scene["particles"] = [{"name": "sand", "first": 0, "number": particles}]
    return Trajectory.from_arrays(variables, bodies=names, attrs={"scene": "large", "scene_json": json.dumps(scene)})


def ball(rings, sectors):
    polar, around = np.linspace(0, np.pi, rings + 1)[:, None], np.linspace(0, 2 * np.pi, sectors, endpoint=False)
    points = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar) + 0 * around], -1)
    at = lambda i, j: i * sectors + j % sectors  # noqa: E731
    faces = [f for i in range(rings) for j in range(sectors)
             for f in ([at(i, j), at(i + 1, j), at(i, j + 1)], [at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)])]  # fmt: skip
    return points.reshape(-1, 3).round(6).tolist(), faces


CASES = {
    "long": {"bodies": 3, "frames": 5000},
    "many bodies": {"bodies": 1500, "frames": 200},
    "too many bodies": {"bodies": 2100, "frames": 3},
    "particles": {"particles": 20_000, "frames": 200},
    "long names": {"bodies": 40, "frames": 3, "name": "n" * 100_000},
}


@pytest.mark.parametrize("case", CASES)
def test_the_size_is_bounded_whatever_the_run(case):
    found = synthetic(**CASES[case])._repr_html_()
    assert len(found) < player.MOST_BYTES
    parsed = Shown(found)
    assert parsed.all("img")  # there is always a picture
    if case in ("long", "particles", "many bodies"):
        assert len(unpack(parsed.run["times"], -1, "<f8")) <= player.MOST_FRAMES
        assert f"of {CASES[case]['frames']} frames" in parsed.text
    else:
        assert "too large to play here; use save_movie, save_report or dalembert.show" in parsed.text


def test_large_meshes_are_drawn_coarser_and_keep_their_shape():
    vertices, faces = ball(150, 300)  # 90 000 triangles
    found = synthetic(vertices=vertices, faces=faces)
    page = shown(found).run
    triangles = sum(len(unpack(mesh["faces"], (-1, 3), "<u4")) for mesh in page["meshes"])
    assert 1000 < triangles <= player.MOST_TRIANGLES
    assert "1 mesh is drawn coarser" in shown(found).text
    corners = unpack(page["meshes"][0]["vertices"], (-1, 3))[unpack(page["meshes"][0]["faces"], (-1, 3), "<u4")]
    volume = np.einsum("ni,ni->", corners[:, 0].astype(float), np.cross(corners[:, 1], corners[:, 2])) / 6
    assert volume == pytest.approx(4 / 3 * np.pi, rel=0.03)
    radius = np.linalg.norm(corners.reshape(-1, 3), axis=1)
    assert radius.min() > 1 - 2 * np.sqrt(3) / 24 and radius.max() <= 1 + 1e-6  # within two cells


def test_tables_say_how_many_rows_they_leave_out():
    scene = dal.Scene("many")
    for i in range(60):
        scene.add_body(f"body {i}", dal.Sphere(0.01), mass=1.0, position=(0.1 * i, 0, 0))
    found = shown(scene)
    assert "body 24" in found.text and "body 25" not in found.text and "and 35 more" in found.text
    assert len(scene._repr_html_()) < 300_000


def test_bad_arguments_and_descriptions_are_told(run):
    with pytest.raises(ValueError, match=r"speed is 0; give a number above zero"):
        run.animate(speed=0)
    with pytest.raises(ValueError, match=r"height is 10; give the height in pixels"):
        run.animate(height=10)
    empty = Trajectory(run.trajectory.dataset.isel(time=slice(0, 0)))
    assert "no frames" in shown(empty).text
    with pytest.raises(ValueError, match="has no frames: there is nothing to show; run it first"):
        empty.animate()
    odd = synthetic()
    odd.attrs["scene_json"] = '{"bodies": [{"name": "body 0", "vertices": [[0, 0, 0]], "faces": [[0, 1, 7]]}]}'
    assert "there is no picture: body 'body 0': a face has an index beyond" in shown(odd).text


# Figures, and the live viewer -----------------------------------------------------------------------------------------


def test_a_figure_shows_itself_at_the_size_of_a_page(run):
    data, size = run.plot.energy()._repr_png_()
    picture = Image.open(io.BytesIO(data))
    assert size["width"] == 672 and abs(picture.width - 672 * 150 / 96) <= 1


class Kernel:
    """What is asked of IPython."""

    @staticmethod
    def get_ipython():
        return Kernel

    kernel = object()


def test_a_notebook_is_told_from_a_terminal(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not notebook.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    assert notebook.in_notebook()
    monkeypatch.setattr(Kernel, "kernel", None)  # IPython in a terminal
    assert not notebook.in_notebook()


def test_the_viewer_does_not_block_a_notebook_and_says_where_it_is(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("a tab was opened"))
    session = dal.show(free_of_contact(build()), port=0)
    try:
        address = session.viewer.address
        assert address in session._repr_html_() and address in capsys.readouterr().err
    finally:
        session.close()
