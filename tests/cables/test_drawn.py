"""Cables in files of a motion: curves along their path at each instant, in the report page, glTF and USD."""

import base64
import json
import struct

import numpy as np
import pytest

import dalembert as dal
from dalembert.export.formats import export_usd
from dalembert.export.gltf import export_gltf
from dalembert.view.drawing import recorded_particles, trajectory_drawing
from dalembert.view.report import page_data


@pytest.fixture(scope="module")
def run():
    """A ball on a rope that leaves a post on its way up, and is let go."""
    scene = dal.Scene("sling")
    ball = scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(1.0, 0, 0.0), velocity=(0.0, 0.0, 5.0))
    post = dal.Pulley(dal.WORLD, (0, 0, 0), (0, 1, 0), 0.2, (0, 0, 1))
    scene.cable("rope", [(dal.WORLD, (-1, 0, 0.0)), post, (ball, (1.0, 0, 0.0))], stretch=100.0)
    return dal.simulate(scene, 0.4, rtol=1e-8, frame_rate=20.0)


def track_of(run):
    trajectory = run.trajectory
    (cable,) = trajectory_drawing(trajectory)[0].cables
    poses = trajectory.position.values, trajectory.orientation.values
    return cable, cable.track(trajectory.times, *poses, recorded_particles(trajectory))


def test_a_track_has_as_many_points_at_each_instant_and_is_as_long_as_the_cable(run):
    cable, track = track_of(run)
    assert track.shape == (len(run.trajectory), cable.count, 3)
    balls = run.trajectory.position.values[:, 0]
    assert np.abs(track[:, -1] - balls).max() < 1e-12
    lengths = np.linalg.norm(np.diff(track, axis=1), axis=2).sum(axis=1)
    free = np.flatnonzero(balls[:, 2] > 0.45)  # the straight way is above the post
    assert len(free)
    assert np.abs(lengths[free] - np.linalg.norm(balls[free] - [-1.0, 0.0, 0.0], axis=1)).max() < 1e-12
    tangent = np.sqrt(1.0 - 0.2**2)
    turned = np.pi - 2.0 * np.arccos(0.2)  # of the cable at the start
    assert lengths[0] == pytest.approx(2.0 * tangent + 0.2 * turned, rel=1e-4)  # a polygon is shorter than its arc


def test_a_cable_that_was_let_go_is_a_point(run):
    cable, _ = track_of(run)
    gone = type(cable)(cable.name, cable.elements, until=0.1)
    trajectory = run.trajectory
    poses = trajectory.position.values, trajectory.orientation.values
    track = gone.track(trajectory.times, *poses, recorded_particles(trajectory))
    after = trajectory.times > 0.1
    assert np.ptp(track[after], axis=1).max() == 0.0
    assert np.ptp(track[~after], axis=1).max() > 1.0


def test_the_report_has_the_points_of_all_frames(run):
    (cable,) = page_data(run.trajectory)["cables"]
    points = np.frombuffer(base64.b64decode(cable["points"]), "<f4").reshape(-1, cable["count"], 3)
    assert np.abs(points - track_of(run)[1]).max() < 1e-6


def test_gltf_has_a_line_that_changes_its_shape(run, tmp_path):
    assert not export_gltf(run.trajectory, tmp_path / "sling.glb")
    data = (tmp_path / "sling.glb").read_bytes()
    size = struct.unpack("<I", data[12:16])[0]
    content, blob = json.loads(data[20 : 20 + size]), data[28 + size :]
    (number,) = [i for i, node in enumerate(content["nodes"]) if node["name"] == "rope"]
    primitive = content["meshes"][content["nodes"][number]["mesh"]]["primitives"][0]
    track = track_of(run)[1]

    def values(accessor):
        view = content["bufferViews"][content["accessors"][accessor]["bufferView"]]
        first = view.get("byteOffset", 0) + content["accessors"][accessor].get("byteOffset", 0)
        return np.frombuffer(blob[first : first + 12 * track.shape[1]], "<f4").reshape(-1, 3)

    start = values(primitive["attributes"]["POSITION"])
    assert np.abs(start - track[0]).max() < 1e-6
    assert len(primitive["targets"]) == len(track) - 1
    for k, target in enumerate(primitive["targets"], start=1):
        assert np.abs(start + values(target["POSITION"]) - track[k]).max() < 1e-6
    (channel,) = [one for one in content["animations"][0]["channels"] if one["target"]["node"] == number]
    assert channel["target"]["path"] == "weights"


def test_usd_has_samples_of_a_curve(run, tmp_path):
    usd = pytest.importorskip("pxr.Usd")
    export_usd(run.trajectory, tmp_path / "sling.usda")
    stage = usd.Stage.Open(str(tmp_path / "sling.usda"))
    (prim,) = [one for one in stage.Traverse() if one.GetName() == "rope"]
    points, track = prim.GetAttribute("points"), track_of(run)[1]
    assert points.GetNumTimeSamples() == len(track)
    for k, time in enumerate(points.GetTimeSamples()):
        assert np.abs(np.array(points.Get(time)) - track[k]).max() < 1e-6
