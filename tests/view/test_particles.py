"""Particles, threads and surfaces in every view: what is refused, what is in the picture, and what is left out."""

import base64

import matplotlib.image
import numpy as np
import pytest
from browser import Page, needs_browser, wait_until
from particle_runs import GREEN, RED, cloth, cloud, run_of, threads

import dalembert as dal
from dalembert.simulation.trajectory import Trajectory
from dalembert.view.drawing import (
    motion_extent,
    parse_scene,
    particle_box,
    thinned_scene,
    thinning_note,
    trajectory_drawing,
)
from dalembert.view.frames import Frames
from dalembert.view.live import LiveViewer
from dalembert.view.report import kept_frames, page_data, write_report
from dalembert.view.still import still

NO_BODIES = np.zeros((0, 3)), np.zeros((0, 4))


def seen(picture, color):
    """How many pixels of a picture (height, width, 3), 0 to 255, have about the hue of #rrggbb."""
    wanted = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], float)
    wanted -= wanted.mean()
    away = picture - picture.mean(axis=2, keepdims=True)
    along = (away @ wanted) / np.linalg.norm(wanted)
    across = np.linalg.norm(away - along[..., None] * wanted / np.linalg.norm(wanted), axis=2)
    return int(((along > 40) & (across < 0.35 * along)).sum())


# ---- the description ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"first": -1}, "particles 'net': 'first' must be a whole number"),
        ({"number": 11}, r"particles 'net': 0 \+ 11 goes beyond the last of 10 particles"),
        ({"number": 2.5}, "particles 'net': 'number' must be a whole number"),
        ({"radius": -1.0}, "particles 'net': radius must not be negative"),
        ({"radius": float("nan")}, "particles 'net': radius must be finite"),
        ({"radius": [1, 2]}, "particles 'net': radius must be numbers"),
        ({"color": "red"}, "particles 'net': colour 'red'"),
        ({"segments": [[0, 10]]}, r"particles 'net': segments contain an index out of range \(there are 10\)"),
        ({"segments": [[0, -1]]}, "particles 'net': segments contain an index out of range"),
        ({"segments": [[0, 0.5]]}, "particles 'net': segments must be whole numbers"),
        ({"segments": [[0, 1e30]]}, "particles 'net': segments"),
        ({"segments": [[3, 3]]}, "particles 'net': segments contain an index twice"),
        ({"segments": [[0, 1, 2]]}, "particles 'net': segments must be numbers of shape"),
        ({"faces": [[0, 1, 10]]}, "particles 'net': faces contain an index out of range"),
        ({"faces": "many"}, "particles 'net': faces must be numbers"),
        ({"colors": ["#000000"]}, "particles 'net': colors must be a list of 10"),
        ({"colors": ["#000000"] * 9 + ["black"]}, "particles 'net': colour 'black'"),
    ],
)
def test_a_group_that_cannot_be_drawn_is_named(group, message):
    whole = {"name": "net", "first": 0, "number": 10}
    assert parse_scene({"particles": [whole]}, [], 10).particles[0].number == 10
    with pytest.raises(ValueError, match=message):
        parse_scene({"particles": [whole | group]}, [], 10)


def test_groups_must_be_a_list_and_ends_of_springs_must_exist():
    with pytest.raises(ValueError, match="'particles' must be a list"):
        parse_scene({"particles": {"name": "net"}})
    groups = [{"name": "net", "first": 0, "number": 3}]
    for particle in (3, -1, True, 0.0, "0"):
        with pytest.raises(ValueError, match="spring 'hook': there is no particle"):
            parse_scene({"particles": groups, "springs": [{"name": "hook", "particle_b": particle}]})
    with pytest.raises(ValueError, match="joint 'pin': there is no particle 3"):
        parse_scene({"particles": groups, "joints": [{"name": "pin", "particle_a": 3}]})


def test_particles_without_a_description_are_one_group():
    (group,) = parse_scene({}, [], 5).particles
    assert (group.number, group.free) == (5, True)


def test_only_free_particles_are_thinned_and_links_keep_their_ends():
    groups = [
        {"name": "sand", "first": 0, "number": 900},
        {"name": "rope", "first": 900, "number": 50, "segments": [[i, i + 1] for i in range(49)]},
        {"name": "dust", "first": 950, "number": 100, "colors": [f"#0000{i:02x}" for i in range(100)]},
    ]
    springs = [{"name": "hook", "particle_a": 17, "particle_b": 949}]
    whole = parse_scene({"particles": groups, "springs": springs})
    drawn, rows = thinned_scene(whole, 100)
    sand, rope, dust = drawn.particles
    assert 90 <= sand.number <= 91 and rope.number == 50 and dust.number == 10
    assert np.all(np.diff(rows) > 0) and {17, *range(900, 950)} <= set(rows)
    assert [rows[drawn.springs[0].a.particle], rows[drawn.springs[0].b.particle]] == [17, 949]
    np.testing.assert_array_equal(dust.colors[:, 2], rows[dust.span] - 950)
    assert (
        thinning_note(whole.particles, drawn.particles) == f"{sand.number + 10} of 1\u202f000 free particles are drawn"
    )
    same, all_rows = thinned_scene(whole, 1000)
    assert len(all_rows) == 1050 and thinning_note(whole.particles, same.particles) == ""


# ---- extents and frames ------------------------------------------------------------------------------------------


def test_the_few_that_fly_far_do_not_set_the_view_but_threads_count_whole():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 1000, 3))
    x[2, 5] = 500.0
    group = {"name": "net", "first": 0, "number": 1000, "radius": 0.1}
    free = particle_box(parse_scene({"particles": [group]}).particles, x)
    assert np.all(np.abs(free) < 1.2) and np.all(np.abs(free) > 1.05)
    tied = particle_box(parse_scene({"particles": [group | {"segments": [[5, 6]]}]}).particles, x)
    np.testing.assert_allclose(tied[1], 500.1)


def test_a_floor_does_not_set_the_view_of_particles_above_it():
    slab = [[x, y, z] for x in (-50, 50) for y in (-50, 50) for z in (-1, 0)]
    drawing = parse_scene(
        {"bodies": [{"name": "floor", "vertices": slab}], "particles": [{"name": "p", "first": 0, "number": 9}]}
    )
    x = np.random.default_rng(0).uniform(0.0, 1.0, (4, 9, 3))
    poses = np.zeros((4, 1, 3)), np.tile([1.0, 0, 0, 0], (4, 1, 1))
    assert motion_extent(drawing, *poses, x).size < 2.0
    assert motion_extent(drawing, *poses).size > 100.0


def test_no_bodies_and_no_particles_have_an_extent():
    nothing = np.zeros((3, 0, 3)), np.zeros((3, 0, 4)), np.zeros((3, 0, 3))
    assert motion_extent(parse_scene({}), *nothing).size > 0.0


def test_particles_between_frames_are_linear_and_only_those_kept():
    frames = Frames(*NO_BODIES, np.array([1, 3]))
    x = np.arange(24.0).reshape(2, 4, 3)
    pose = {"position": np.zeros((2, 0, 3)), "orientation": np.zeros((2, 0, 4))}
    for start in (0.0, 2.0):
        frames.add({"time": start + np.array([0.0, 1.0]), "particle_position": x, **pose}, np.arange(0))
    np.testing.assert_allclose(frames.particles_at(0.25), 0.75 * x[0, [1, 3]] + 0.25 * x[1, [1, 3]])
    assert frames.particles.shape == (4, 2, 3)
    with pytest.raises(ValueError, match="the frames have 3 particles, the scene at least 4"):
        frames.add({"time": [5.0], "particle_position": x[:1, :3], "position": np.zeros((1, 0, 3)),
                    "orientation": np.zeros((1, 0, 4))}, np.arange(0))  # fmt: skip


# ---- the report page ---------------------------------------------------------------------------------------------


def test_the_page_stays_within_its_budget():
    run = cloud(20_000, 200)
    data = page_data(run)["particles"]
    frames = kept_frames(run, data["count"])
    assert data["count"] == 6000 and data["note"] == "6\u202f000 of 20\u202f000 free particles are drawn"
    assert len(frames) == 66 and frames[-1] == 199
    steps = np.frombuffer(base64.b64decode(data["position"]), "<u2").reshape(len(frames), 6000, 3)
    low, span = (np.frombuffer(base64.b64decode(data[key]), "<f4").reshape(6000, 3) for key in ("low", "span"))
    kept = low + steps * span
    _, rows = thinned_scene(trajectory_drawing(run)[0], 6000)
    np.testing.assert_allclose(kept[7], run.particle_position.values[frames[7]][rows], atol=2e-3)  # of up to 150 m
    woven = page_data(cloth(100, 3))["particles"]
    assert woven["count"] == 10_000 and woven["note"] == ""


def test_the_page_names_groups_and_ends():
    data = page_data(cloth(5, 3))
    (group,) = data["particles"]["groups"]
    assert (group["name"], group["number"], group["kind"]) == ("cloth", 25, "surface, 32 faces")
    assert data["springs"][0]["between"] == "world – cloth 12" and data["springs"][0]["b"]["particle"] == 12


@pytest.mark.parametrize(
    ("run", "colors"),
    [
        pytest.param(cloth(20, 30), [RED, GREEN], id="cloth"),
        pytest.param(threads(radius=0.02), [RED, GREEN], id="beads"),
        pytest.param(threads(), [RED, GREEN], id="threads"),
        pytest.param(cloud(3000, 20), ["#3584dc"], id="cloud"),
    ],
)
@needs_browser
def test_the_page_draws_particles(run, colors, tmp_path):
    written = write_report(run, tmp_path / "report.html")
    watched = written.read_text(encoding="utf-8").replace(
        "<head>",
        "<head><script>window.problems = []; addEventListener('error', (e) => problems.push(e.message));</script>",
    )
    written.write_text(watched, encoding="utf-8")
    with Page(written.as_uri() + "#t=1.0", tmp_path, 1280, 900) as page:
        wait_until(lambda: page.evaluate("Boolean(document.body.dataset.renderer)"), "the page did not start")
        assert page.evaluate("document.body.dataset.renderer") == "webgl"
        wait_until(lambda: all(seen(page.picture()[80:560, 30:690], c) > 300 for c in colors), "not in the picture")
        assert page.evaluate("problems.join()") == ""
        titles = page.evaluate("[...document.querySelectorAll('summary')].map((s) => s.innerText).join()")
        assert "Particles (1)" in titles and ("Bodies" in titles) == bool(run.bodies)


# ---- the live viewer ---------------------------------------------------------------------------------------------


def test_the_live_scene_follows_particles():
    run = cloth(10, 30)
    with LiveViewer(run.scene_description, port=0, open_page=False) as viewer:
        front = viewer.particle_groups[0].surface[0]
        assert not front.visible, "nothing is drawn before there is a frame"
        viewer.show(run)
        np.testing.assert_allclose(front.vertices, run.particle_position.values[0], atol=1e-6)
        assert front.visible
        viewer.play()
        wait_until(lambda: viewer.time > 0.3, "it does not play")
        viewer.play(False)
        moved = run.dataset.particle_position.interp(time=viewer.time)
        np.testing.assert_allclose(front.vertices, moved, atol=1e-5)


def test_a_run_of_particles_alone_is_pushed_and_thinned():
    run = cloud(30_000, 4)
    with LiveViewer(run.scene_description, port=0, open_page=False) as viewer:
        names = ("position", "orientation", "particle_position", "kinetic", "potential")
        viewer.push({"time": run.times[:2], **{name: run[name].values[:2] for name in names}})
        cloud_handle = viewer.particle_groups[0].cloud
        assert cloud_handle.points.shape == (20_000, 3) and cloud_handle.visible
        with pytest.raises(ValueError, match="the frames have 0 particles"):
            viewer.push({"time": run.times[2:3], "position": np.zeros((1, 0, 3)), "orientation": np.zeros((1, 0, 4))})


@needs_browser
@pytest.mark.slow
def test_in_a_browser_particles_are_seen(tmp_path):
    run = cloth(20, 30)
    with LiveViewer(run.scene_description, port=0, open_page=False) as viewer:
        viewer.show(run)
        viewer._panel.shadows.value = False  # they take the longest to draw without a graphics card
        with Page(viewer.address, tmp_path) as page:
            wait_until(lambda: viewer.time > 0.1, "opening the page does not start the show")
            viewer.play(False)
            wait_until(lambda: seen(page.picture()[:, :320], RED) > 300, "the cloth is not in the picture")


# ---- still pictures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "colors"),
    [
        pytest.param(cloth(20, 4), [RED, GREEN], id="cloth"),
        pytest.param(threads(count=4), [RED, GREEN], id="threads"),
        pytest.param(cloud(2000, 4, radius=0.02), ["#3584dc"], id="cloud"),
    ],
)
def test_the_still_picture_shows_particles(run, colors, tmp_path):
    still(run, tmp_path / "still.png")
    picture = 255.0 * matplotlib.image.imread(tmp_path / "still.png")[..., :3]
    for color in colors:
        assert seen(picture, color) > 2000


def test_what_is_in_front_hides_what_is_behind(tmp_path):
    """Two sheets of one size that face the eye, one behind the other: the colour seen is the front one's."""
    square = np.array([[0, -1, 0], [0, 1, 0], [0, 1, 2], [0, -1, 2]], float)
    for near, color in ((0, RED), (1, GREEN)):
        x = np.concatenate([square + [0.3 if near == 0 else -0.3, 0, 0], square + [0.3 if near else -0.3, 0, 0]])
        groups = [
            {"name": name, "first": 4 * i, "number": 4, "color": c, "faces": [[0, 1, 2], [0, 2, 3]]}
            for i, (name, c) in enumerate((("a", RED), ("b", GREEN)))
        ]
        still(run_of(np.zeros(1), x[None], groups), tmp_path / "two.png", azimuth=0.0, elevation=0.0)
        picture = 255.0 * matplotlib.image.imread(tmp_path / "two.png")[..., :3]
        assert seen(picture[400:500, 550:650], color) == 100 * 100


def test_a_thread_of_rods_has_a_dot_only_where_it_hangs(tmp_path):
    scene = dal.Scene("thread")
    beam = scene.add_body("beam", dal.Box(0.1, 0.1, 0.1), mass=1.0)
    scene.thread("cord", [[0, 0, -0.1 * i] for i in range(6)], density=1.0, color=RED)
    dots = []
    for name in ("one", "two"):
        still(dal.simulate(scene, 0.01).trajectory, tmp_path / f"{name}.png")
        picture = 255.0 * matplotlib.image.imread(tmp_path / f"{name}.png")[..., :3]
        dots.append(int((np.abs(picture - [35, 42, 53]).max(axis=2) < 2).sum()))  # pixels of INK
        if name == "one":
            scene.attach("knot", scene.particles["cord"][0], beam)
    assert dots[0] == 0 < 20 < dots[1] < 200


def test_a_surface_is_darker_from_behind(tmp_path):
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], float)
    brightness = []
    for faces in ([[0, 1, 2], [0, 2, 3]], [[0, 2, 1], [0, 3, 2]]):
        group = {"name": "sheet", "first": 0, "number": 4, "color": RED, "faces": faces}
        still(run_of(np.zeros(1), square[None], [group]), tmp_path / "sheet.png", elevation=60.0)
        brightness.append(matplotlib.image.imread(tmp_path / "sheet.png")[400:500, 550:650, 0].mean())
    assert brightness[1] < 0.85 * brightness[0]


def test_a_run_of_nothing_is_drawn(tmp_path):
    nothing = {
        "position": np.zeros((2, 0, 3)),
        "orientation": np.zeros((2, 0, 4)),
        "kinetic": [0, 0],
        "potential": [0, 0],
    }
    run = Trajectory.from_arrays({"time": [0.0, 1.0], **nothing}, bodies=[])
    still(run, tmp_path / "nothing.png")
    assert write_report(run, tmp_path / "nothing.html").stat().st_size > 10_000
    with LiveViewer(run.scene_description, port=0, open_page=False) as viewer:
        viewer.show(run)
        assert viewer.time == 0.0
