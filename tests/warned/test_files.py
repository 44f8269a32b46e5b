"""Files: unknown formats and times beyond the run are refused; the report page shows warnings."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.cli import app

from .collect import arm, ground


@pytest.fixture(scope="module")
def run():
    return dal.simulate(arm(), 0.5, method="rk4", dt=0.01)


@pytest.mark.parametrize("suffix", [".xlsx", ".h5", ".nc.txt", ".npz", ""])
@pytest.mark.parametrize(
    ("save", "known"),
    [
        (lambda run, path: run.trajectory.save(path), ".nc, .csv, .parquet"),
        (lambda run, path: run.trajectory.save_report(path), ".html"),
        (lambda run, path: run.trajectory.save_picture(path), ".png"),
        (lambda run, path: run.trajectory.save_movie(path), ".mp4"),
        (lambda run, path: dal.export_gltf(run.trajectory, path), ".glb"),
        (lambda run, path: dal.export_mjcf(run.model.scene, path), ".xml"),
    ],
)
def test_other_formats_are_refused_with_those_there_are(run, save, known, suffix, tmp_path):
    with pytest.raises(
        ValueError, match=f"unsupported format '{suffix.split('.')[-1] and '.' + suffix.split('.')[-1]}'.*{known}"
    ):
        save(run, tmp_path / f"run{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_the_command_line_refuses_them_before_the_run(option, tmp_path, capsys):
    code = app(
        ["run", "pendulum", "--duration", "1e9", option, str(tmp_path / "run.csv")], result_action="return_value"
    )
    assert code == 2 and "unsupported format '.csv'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [{"time": 5.0}, {"time": -0.1}, {"time": np.nan}, {"ghosts": (0.1, 0.6)}, {"ghosts": [-1.0]}]
)
def test_a_picture_at_a_time_beyond_the_run(run, options, tmp_path):
    with pytest.raises(ValueError, match=r"the run goes from 0 to 0\.5 s"):
        run.trajectory.save_picture(tmp_path / "run.png", **options)
    assert not list(tmp_path.iterdir())


def test_a_picture_at_both_ends(run, tmp_path):
    end = float(run.trajectory.times[-1])
    for k, options in enumerate(({"time": 0.0}, {"time": end, "ghosts": (0.0, 0.1 + 0.2)})):
        assert run.trajectory.save_picture(tmp_path / f"{k}.png", size=(32, 32), fine=1, **options).exists()


def test_the_report_page_shows_warnings_as_text(tmp_path):
    scene = ground()
    scene.add_body("<b>lost</b>", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    with pytest.warns(dal.SimulationWarning):
        warned = dal.simulate(scene, 0.02, dt=0.01).trajectory
    page = warned.save_report(tmp_path / "run.html").read_text("utf-8")
    shown = page[page.index('<ul class="warnings"') : page.index("</ul>")]
    assert "body &#x27;&lt;b&gt;lost&lt;/b&gt;&#x27; has no material" in shown and "<b>" not in shown
    again = dal.Trajectory.load(warned.save(tmp_path / "run.nc"))
    assert again.warnings == warned.warnings and len(again.warnings) == 1


def test_a_page_without_warnings_has_no_box(run, tmp_path):
    assert '<ul class="warnings"' not in run.trajectory.save_report(tmp_path / "run.html").read_text("utf-8")


def test_the_viewer_shows_warnings_as_text_and_takes_them_away():
    from dalembert.view.live import LiveViewer

    scene = ground()
    scene.add_body("<b>lost</b>", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    with pytest.warns(dal.SimulationWarning):
        warned = dal.simulate(scene, 0.02, dt=0.01).trajectory
    with LiveViewer(warned.scene_description, port=0, open_page=False) as viewer:
        box = viewer._panel.warnings
        assert not box.visible
        viewer.show(warned)
        assert box.visible and "&lt;b&gt;lost&lt;/b&gt;" in box.content and "<b>" not in box.content
        viewer.show_warnings([])
        assert not box.visible and box.content == ""


def test_the_command_line_says_them_once_and_in_the_table(tmp_path, capsys):
    path = tmp_path / "scene.py"
    path.write_text(
        "import dalembert as dal\n"
        "SETTINGS = {'duration': 0.02, 'dt': 0.01}\n"
        "def build():\n"
        "    scene = dal.Scene('lost')\n"
        "    scene.add_obstacle('ground', dal.HalfSpace())\n"
        "    scene.add_body('ghost', dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))\n"
        "    return scene\n"
    )
    assert app(["run", str(path)], result_action="return_value") == 0
    out, error = capsys.readouterr()
    assert error.count("dalembert: warning: body 'ghost' has no material") == 1
    assert " ".join(out.split()).count("body 'ghost' has no material") == 1 and "\x1b" not in out
