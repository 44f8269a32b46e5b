"""The HTML report, opened in a real browser: it draws, it moves, it says nothing on the console, it fetches nothing."""

import base64
import json
import re

import numpy as np
import pytest
from browser import NO_GL, Page, needs_browser, wait_until
from synthetic_run import HOSTILE, synthetic

import dalembert as dal
from dalembert.simulation.trajectory import Trajectory
from dalembert.view.report import kept_frames, page_data, write_report

WATCH = """<script>window.problems = [];
addEventListener("error", (e) => problems.push(e.message));
addEventListener("securitypolicyviolation", (e) => problems.push("blocked " + e.blockedURI));
console.error = console.warn = (...words) => problems.push(words.join(" "));</script>"""
DRIVE = """<script>
const read = () => document.getElementById("where").textContent;
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
(async () => {
  const seen = [];
  const scrub = document.getElementById("scrub");
  for (const value of [0, 2500, 10000]) {
    scrub.value = value;
    scrub.dispatchEvent(new Event("input"));
    await frame();
    seen.push(read());
  }
  dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  await frame();
  seen.push(document.getElementById("clock").textContent);
  for (const select of document.querySelectorAll("select")) {
    select.selectedIndex = select.options.length - 1;
    select.dispatchEvent(new Event("change"));
    await frame();
  }
  document.body.dataset.seen = seen.join("|");
})()
  .catch((error) => problems.push(error.message))
  .finally(() => (document.body.dataset.problems = problems.join("|")));
</script>"""


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    """The report of the synthetic run."""
    return write_report(run, tmp_path_factory.mktemp("report") / "report.html")


@needs_browser
def test_the_page_draws_moves_and_reports_no_error(page, tmp_path):
    driven = tmp_path / "driven.html"
    text = page.read_text(encoding="utf-8")
    driven.write_text(text.replace("<head>", "<head>" + WATCH).replace("</body>", DRIVE + "</body>"), encoding="utf-8")
    with Page(driven.as_uri(), tmp_path, 1280, 900) as opened:
        wait_until(lambda: opened.evaluate("'problems' in document.body.dataset"), "the page was not driven to its end")
        dom, picture = opened.evaluate("document.documentElement.outerHTML"), opened.picture()
    assert 'data-renderer="webgl"' in dom
    assert re.search(r'data-problems="([^"]*)"', dom)[1] == ""
    start, quarter, end, clock = re.search(r'data-seen="([^"]*)"', dom)[1].split("|")
    assert start == "bob: x 0.7833, y 0.0000, z −0.6216 m"  # sin and −cos of 0.9 rad
    assert len({start, quarter, end}) == 3
    assert clock == f"{6.0 * 398 / 399:.3f} s"
    stage = picture[80:620, 30:690]
    orange = (stage[..., 0] - stage[..., 2] > 80).sum()
    blue = (stage[..., 2] - stage[..., 0] > 80).sum()
    assert orange > 500 and blue > 200, "the box and the bob are in the picture"
    assert "<script>alert(1)" not in dom.replace("&lt;", "<").split("<script")[0]


@needs_browser
def test_without_webgl_the_page_says_so(page, tmp_path):
    with Page(page.as_uri() + "#t=1.5", tmp_path, 1280, 900, drawing=NO_GL) as opened:
        wait_until(lambda: opened.evaluate("Boolean(document.body.dataset.renderer)"), "the page did not start")
        dom = opened.evaluate("document.documentElement.outerHTML")
    assert 'data-renderer="none"' in dom
    assert re.search(r'<div id="no-webgl">', dom), "the message is shown"
    assert '<span id="clock">1.500 s</span>' in dom


def test_the_page_fetches_nothing_and_names_are_only_text(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//cdn|@import|url\(", text)
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["data:,"]
    assert HOSTILE not in text
    assert text.count("<script") == 2 and text.count("</script>") == 2
    assert "<title>pendulum &amp; tumbling box</title>" in text
    assert "default-src 'none'" in text
    assert page.stat().st_size < 1_000_000


def test_the_page_says_how_to_run_again_and_what_the_scene_holds(tmp_path):
    scene = dal.Scene("braked")
    bob = scene.add_body("bob", dal.Box(1.0, 0.1, 0.1), mass=2.0, position=(0.5, 0, 0))
    scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    scene.torsion_spring("coil", "pivot", stiffness=3.0, rest=0.5)
    first = dal.simulate(scene, 0.5, method="dop853", rtol=1e-9, frame_rate=20)
    data = page_data(first.trajectory)
    tables = {table["title"]: table["rows"] for table in data["listing"]}
    assert tables["Bodies"][0][:2] == ["bob", "2 kg"]
    assert tables["Joints"] == [["pivot", "hinge", "world – bob", "(0, 0, 0) m", "(0, 1, 0)"]]
    assert tables["Forces"] == [["coil", "torsion spring", "pivot", "stiffness 3 N m/rad, rest 0.5 rad"]]
    code = data["rerun"].replace("scene = ...", "").replace("print(run.report)", "")
    namespace = {"scene": scene}
    exec(code, namespace)
    np.testing.assert_array_equal(namespace["run"].trajectory.state, first.trajectory.state)
    assert sum(seconds for _, seconds in data["stages"]) == pytest.approx(sum(first.report.stages.values()))
    assert dict(data["provenance"])["rtol"] == "1e-09"


def test_versions_seed_and_hash_are_shown_where_they_were_recorded(run):
    known = {
        "versions": {"numpy": "9.9", "python": HOSTILE}, "seed": 7, "final_state_hash": "abc",
        "origin": {"kind": "gallery", "name": "rope", "parameters": {"segments": 7, "1; import os": 2}},
        "settings": {"method": "rk4", "dt": 0.01, "rtol": None, "hold": "projection"},
    }  # fmt: skip
    data = page_data(Trajectory(run.dataset.assign_attrs(provenance_json=json.dumps(known))))
    shown = dict(data["provenance"])
    assert shown["numpy"] == "9.9" and shown["seed"] == "7" and shown["hash of the last state"] == "abc"
    assert shown["parameter segments"] == "7" and shown["dt"] == "0.01" and "hold" not in shown
    assert "gallery.load('rope').build(segments=7)" in data["rerun"] and "import os" not in data["rerun"]
    for damaged in ("[1, 2]", "{", "3"):
        with pytest.raises(ValueError, match="provenance_json"):
            Trajectory(run.dataset.assign_attrs(provenance_json=damaged))
    odd = '{"settings": 3, "versions": [1], "origin": "x"}'
    found = page_data(Trajectory(run.dataset.assign_attrs(provenance_json=odd)))
    assert dict(found["provenance"])["dalembert"] == "0.1.0"


def test_the_stacked_energies_add_up_to_what_there_was_at_the_start(run):
    parts = [np.frombuffer(base64.b64decode(part["values"]), "<f4") for part in page_data(run)["ledger"]]
    total = np.sum(parts, axis=0)
    np.testing.assert_allclose(total, total[0], rtol=1e-5)
    assert len(parts) == 3


def test_long_runs_are_thinned_and_keep_the_largest_error():
    run = synthetic(count=6001)
    spike = run.dataset["joint_error"].values
    spike[3001, 0] = 1e-3
    frames = kept_frames(run)
    assert len(frames) <= 1500 and frames[0] == 0 and frames[-1] == 6000
    assert page_data(run)["jointError"] is not None
    kept = np.frombuffer(base64.b64decode(page_data(run)["jointError"]), "<f4").reshape(-1, 2)
    assert kept.max() == np.float32(1e-3)


def test_equal_meshes_are_sent_once(run):
    description = run.scene_description
    description["bodies"][2] |= {
        "vertices": description["bodies"][1]["vertices"],
        "faces": description["bodies"][1]["faces"],
    }
    twin = Trajectory(run.dataset.assign_attrs(scene_json=json.dumps(description)))
    data = page_data(twin)
    assert len(data["meshes"]) == 2 and [body["mesh"] for body in data["bodies"]] == [0, 1, 1]


def test_a_run_with_least_content_and_an_empty_one(tmp_path):
    variables = {"time": [0.0], "position": np.zeros((1, 1, 3)), "orientation": [[[1.0, 0, 0, 0]]], "kinetic": [0.0]}
    bare = Trajectory.from_arrays({**variables, "potential": [0.0]}, bodies=["lone"])
    assert write_report(bare, tmp_path / "bare.html").stat().st_size > 10_000
    empty = {name: np.asarray(values)[:0] for name, values in variables.items()}
    with pytest.raises(ValueError, match="no frames"):
        write_report(Trajectory.from_arrays({**empty, "potential": []}, bodies=["lone"]), tmp_path / "empty.html")
