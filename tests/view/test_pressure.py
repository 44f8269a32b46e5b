"""The pressure on faces that touch: the resultants of the points, the theory of a block without tension, and the pictures."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.view.pressure import BANDS, patches_of, scale_words, with_prefix
from dalembert.view.report import page_data

G = 9.81


def face(forces, corners=((0, 0), (2, 0), (2, 1), (0, 1)), number=0):
    """Points (k, 10) of a face at z = 0.5 that bears these forces, N, at its corners."""
    return np.array([(x, y, 0.5, 0, 0, f, 0, 0, 1, number) for (x, y), f in zip(corners, forces, strict=True)], float)


def areas(patches):
    a, b, c = patches.corners.transpose(1, 0, 2)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def resultant(patches):
    """Area, force, and the point where it acts."""
    area = areas(patches)
    force = area * patches.pressure
    return area.sum(), force.sum(), force @ patches.corners.mean(axis=1) / force.sum()


@pytest.mark.parametrize(
    "forces", [(1, 1, 1, 1), (1, 2, 2, 1), (2, 1, 3, 1), (1, 4, 4, 1), (0, 3, 1, 1), (0.3, 2.0, 5.0, 1.0)]
)
def test_pressure_has_the_force_and_the_moments_of_the_points(forces):
    points = face(forces)
    area, force, at = resultant(patches_of(points))
    assert area == pytest.approx(2.0, rel=1e-12) and force == pytest.approx(sum(forces), rel=1e-12)
    np.testing.assert_allclose(at, points[:, 5] @ points[:, :3] / sum(forces), atol=1e-5)


def test_pressure_is_linear_within_the_core_and_never_negative():
    patches = patches_of(face((2, 3, 3, 2)))  # eccentric by a tenth of the half length: p = 5 ± 3 Pa (of ±1 m)
    x = patches.corners.mean(axis=1)[:, 0] - 1.0
    np.testing.assert_allclose(patches.pressure, 5.0 + 3.0 * x, rtol=0.02)
    assert patches_of(face((0, 5, 5, 0))).pressure.min() == 0.0


def test_a_block_near_its_edge_presses_as_without_tension():
    """Resultant at d from the edge: a triangle of pressure of length 3 d, with 2 F / (3 d b) at the edge."""
    forces = np.array([1.0, 4.0, 4.0, 1.0])  # at x = 1.6 of 2: d = 0.4
    patches = patches_of(face(forces))
    most = 2.0 * 10.0 / (3.0 * 0.4 * 1.0)
    x = patches.corners.mean(axis=1)[:, 0]
    expected = np.maximum(0.0, most * (1.0 - (2.0 - x) / 1.2))
    np.testing.assert_allclose(patches.pressure, expected, atol=0.03 * most)


def test_a_pressure_that_only_an_edge_bears_does_not_set_the_scale():
    """It depends on how fine the triangles are; no number of it is told."""
    edge, whole = face((0, 5, 5, 0), number=1), face((1, 1, 1, 1), number=2) + np.array([5.0, *[0] * 9])
    both = patches_of(np.concatenate([edge, whole]))
    assert both.largest == pytest.approx(2.0) and both.pressure.max() > 20.0
    assert scale_words(both) == ("0", "1 Pa", "2 Pa and more")
    assert both.bands[both.edge & (both.pressure > 2.0)].min() == len(BANDS) - 1
    assert scale_words(patches_of(edge))[2] == "an edge bears" and not patches_of(whole).edge.any()


def test_edges_corners_and_faces_without_load_have_no_patch():
    line = face((1, 1, 1), ((0, 0), (1, 0), (2, 0)))
    for points in (line, face((1, 1), ((0, 0), (1, 0))), face((0, 0, 0, 0)), np.zeros((0, 10)), np.zeros((5, 9))):
        assert len(patches_of(points).pressure) == 0


def test_each_face_has_its_own_patch_whatever_the_order_of_points():
    one, two = face((1, 1, 1, 1), number=3), face((1, 2, 2, 1), number=1) + np.array([5.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    mixed = np.concatenate([one, two])[[4, 0, 5, 1, 6, 2, 7, 3]]
    patches = patches_of(mixed)
    left = patches.corners[:, 0, 0] < 3.0
    assert (areas(patches) * patches.pressure)[left].sum() == pytest.approx(4.0)
    assert (areas(patches) * patches.pressure)[~left].sum() == pytest.approx(6.0)


def test_bands_go_from_nothing_to_the_largest():
    patches = patches_of(face((0, 5, 5, 0)))
    assert patches.bands.min() == 0 and patches.bands.max() == len(BANDS) - 1
    assert with_prefix(5040.0, "Pa") == "5.04 kPa" and with_prefix(0.0, "N") == "0 N"


@pytest.fixture(scope="module")
def offset():
    """A box that overhangs another by a third of its side."""
    scene = dal.Scene("offset", material=dal.Material(0.6))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("lower", dal.Box(0.6, 0.6, 0.3), mass=10.0, position=(0, 0, 0.15))
    scene.add_body("upper", dal.Box(0.6, 0.6, 0.3), mass=10.0, position=(0.2, 0, 0.45))
    return dal.simulate(scene, 0.5, dt=1 / 240, iterations=400).trajectory


def test_the_pressure_of_a_run_is_that_of_statics(offset):
    """The upper box on 0.4 m of overlap, its centre at the edge's third: p = 2 W/(3 d b) with d = 0.1 m."""
    rows = offset.recorded_points.of_frame(len(offset) - 1)
    rows = rows[np.abs(rows.position[:, 2] - 0.3) < 1e-3]
    points = np.column_stack([rows.position, rows.force, rows.normal, rows.manifold])
    area, force, at = resultant(patches_of(points))
    assert area == pytest.approx(0.24, rel=1e-4) and force == pytest.approx(10.0 * G, rel=1e-4)
    assert at[0] == pytest.approx(0.2, abs=1e-3)  # below the centre of the upper box
    most = 2.0 * 10.0 * G / (3.0 * 0.1 * 0.6)
    assert patches_of(points).pressure.max() == pytest.approx(most, rel=0.08)


def test_pictures_show_forces_and_pressure(offset, tmp_path):
    from PIL import Image

    size = {"size": (240, 160), "trail": False, "fine": 2}
    plain, forces, both = (
        np.asarray(Image.open(offset.save_picture(tmp_path / f"{i}.png", contacts=kinds, **size)), int)
        for i, kinds in enumerate(((), "forces", ("forces", "pressure")))
    )
    red = (forces[..., 0] > 150) & (forces[..., 1] < 80)
    assert (red & (np.abs(forces - plain).sum(axis=2) > 30)).sum() > 50
    assert (np.abs(both - forces).sum(axis=2) > 30).sum() > 500
    with pytest.raises(ValueError, match="there is no kind 'forcs'; the kinds are forces, pressure"):
        offset.save_picture(tmp_path / "x.png", contacts="forcs")


def test_pictures_of_a_run_without_points_refuse_to_show_any(tmp_path):
    scene = dal.Scene("free")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    run = dal.simulate(scene, 0.1, method="rk4", dt=0.01)
    with pytest.raises(ValueError, match="has no contact points to draw"):
        run.trajectory.save_picture(tmp_path / "x.png", contacts="forces")


def test_the_page_has_the_forces_on_bodies_and_between_pairs(offset):
    data = page_data(offset)["contacts"]
    import base64

    force = np.frombuffer(base64.b64decode(data["force"]), "<f4").reshape(-1, 3)
    starts = np.frombuffer(base64.b64decode(data["starts"]), "<u4")
    last = force[starts[-2] : starts[-1]]
    assert last[:, 2].sum() == pytest.approx(
        30.0 * G, rel=1e-4
    )  # the ground bears two boxes, the lower one; all upwards
    assert (last[:, 2] > -1e-6).all()
    assert [pair["name"] for pair in data["pairs"]] == ["lower on ground", "lower on upper"]
    assert data["note"] == ""


def test_the_command_line_writes_pictures_with_contacts(offset, tmp_path):
    from dalembert.cli import app

    offset.save(tmp_path / "run.nc")
    arguments = ["convert", str(tmp_path / "run.nc"), str(tmp_path / "run.png"), "--size", "160", "100", "--contacts"]
    assert app([*arguments, "forces", "--contacts", "pressure"], result_action="return_value") == 0
    assert (tmp_path / "run.png").stat().st_size > 1000
    assert app([*arguments, "heat"], result_action="return_value") != 0
