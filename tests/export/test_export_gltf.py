"""Exported glTF: read back by its own rules, everything is where the run has it."""

import json
import struct

import numpy as np
import pytest
import trimesh

import dalembert as dal
from dalembert import gallery
from dalembert.export.shown import continuous
from dalembert.scene.checks import rotation_matrix

TO_Y_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])


class Parsed:
    """A GLB file taken apart."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.json = json.loads(data[20 : 20 + size])
        self.binary = data[28 + size :]
        assert len(self.binary) == self.json["buffers"][0]["byteLength"]
        self.nodes = {node["name"]: i for i, node in enumerate(self.json["nodes"])}
        assert len(self.nodes) == len(self.json["nodes"])

    def array(self, number):
        accessor = self.json["accessors"][number]
        view = self.json["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        values = np.frombuffer(self.binary, kind, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
        assert np.allclose(values.min(axis=0), accessor["min"]) and np.allclose(values.max(axis=0), accessor["max"])
        assert values.nbytes == view["byteLength"]
        return values

    def mesh(self, name):
        return self.json["meshes"][self.json["nodes"][self.nodes[name]]["mesh"]]

    def points(self, name):
        return self.array(self.mesh(name)["primitives"][0]["attributes"]["POSITION"]).astype(float)

    def channel(self, name, path):
        """Times and values of an animation; None where it has none."""
        for animation in self.json.get("animations", []):
            for channel in animation["channels"]:
                if channel["target"] == {"node": self.nodes[name], "path": path}:
                    sampler = animation["samplers"][channel["sampler"]]
                    return self.array(sampler["input"])[:, 0], self.array(sampler["output"]).astype(float)
        return None

    def world(self, name, k):
        """(3, 3) and (3,): from the node at its key k to glTF's world."""
        node, root = self.json["nodes"][self.nodes[name]], self.json["nodes"][self.json["scenes"][0]["nodes"][0]]
        assert self.nodes[name] in root["children"]
        value = {}
        for path, rest in (("translation", [0, 0, 0]), ("rotation", [0, 0, 0, 1]), ("scale", [1, 1, 1])):
            found = self.channel(name, path)
            value[path] = np.array(node.get(path, rest)) if found is None else found[1][k]
        turn = rotation_matrix(np.array(root["rotation"])[[3, 0, 1, 2]])
        own = rotation_matrix(value["rotation"][[3, 0, 1, 2]]) * value["scale"]
        return turn @ own, turn @ value["translation"]


@pytest.fixture(scope="module")
def pendulum():
    scene = gallery.load("double-pendulum").build()
    scene.add_obstacle("floor", dal.HalfSpace(), position=(0, 0, -3), material=dal.Material())
    return dal.simulate(scene, 1.0, method="rk4", dt=1e-3)


def test_every_key_of_a_run_puts_every_vertex_where_it_was(pendulum, tmp_path):
    assert dal.export_gltf(pendulum, tmp_path / "run.glb") == []
    parsed, run = Parsed(tmp_path / "run.glb"), pendulum.trajectory
    for name in run.bodies:
        body = pendulum.model.scene.bodies[name]
        vertices, faces = body.shape.triangles()
        primitive = parsed.mesh(name)["primitives"][0]
        assert np.array_equal(parsed.array(primitive["indices"]).reshape(-1, 3), faces)
        times, _ = parsed.channel(name, "translation")
        assert np.allclose(times, run.times, atol=1e-6)
        for k in range(len(run)):
            q = run.body(name).orientation.values[k]
            expected = (vertices - body.center) @ rotation_matrix(q).T + run.body(name).position.values[k]
            turn, move = parsed.world(name, k)
            assert np.allclose(parsed.points(name) @ turn.T + move, expected @ TO_Y_UP.T, atol=1e-5)
    turn, move = parsed.world("floor", 0)
    corners = parsed.points("floor") @ turn.T + move
    assert np.allclose(corners[:, 1], -3.0, atol=1e-6) and np.ptp(corners[:, 0]) > 4.0
    color = parsed.json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"]
    assert np.allclose(color[:3], [0.07227, 0.18782, 0.39157], atol=1e-4)  # "#4c78a8" in linear light


def test_other_software_reads_the_file(pendulum, tmp_path):
    dal.export_gltf(pendulum.trajectory, tmp_path / "run.glb")
    found = trimesh.load(tmp_path / "run.glb")
    start = pendulum.trajectory.position.values[0] @ TO_Y_UP.T
    for name, place in zip(pendulum.trajectory.bodies, start, strict=True):
        transform, _ = found.graph[name]
        assert np.allclose(transform[:3, 3], place, atol=1e-6)


def recorded(q=None, **more):
    """A hand-made trajectory of one body, or of what `more` says."""
    n = len(next(iter(more.values()))) if more else len(q)
    bodies = [] if q is None else ["body"]
    still = {"kinetic": np.zeros(n), "potential": np.zeros(n)}
    variables = {**still, "time": 0.1 * np.arange(n), "position": np.zeros((n, len(bodies), 3)),
                 "orientation": np.zeros((n, 0, 4)) if q is None else np.asarray(q)[:, None], **more}  # fmt: skip
    return dal.Trajectory.from_arrays(variables, bodies=bodies)


def test_keys_of_rotation_are_on_one_side(tmp_path):
    half = np.linspace(0.0, 3.0, 30)
    q = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)
    flipped = q * np.where(np.arange(30) % 3 == 1, -1.0, 1.0)[:, None]
    assert np.array_equal(continuous(flipped), q)
    warnings = dal.export_gltf(recorded(flipped), tmp_path / "run.glb")
    assert [str(warning) for warning in warnings] == ["body 'body': it has no shape; its node moves, but has no mesh"]
    _, values = Parsed(tmp_path / "run.glb").channel("body", "rotation")
    assert np.all(np.sum(values[1:] * values[:-1], axis=1) > 0.9)
    assert np.allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6)


def test_particles_go_through_their_shapes(tmp_path):
    rng = np.random.default_rng(0)
    tracks = rng.normal(size=(30, 7, 3))
    assert dal.export_gltf(recorded(particle_position=tracks), tmp_path / "run.glb") == []
    parsed = Parsed(tmp_path / "run.glb")
    times, weights = parsed.channel("particles", "weights")
    weights = weights.reshape(30, 29)
    assert np.allclose(times, 0.1 * np.arange(30)) and np.allclose(parsed.mesh("particles")["weights"], 0.0)
    targets = [parsed.array(t["POSITION"]) for t in parsed.mesh("particles")["primitives"][0]["targets"]]
    shapes = parsed.points("particles") + np.einsum("kt,tij->kij", weights, targets)
    assert np.allclose(shapes, tracks, atol=1e-5)
    many = recorded(particle_position=rng.normal(size=(250, 2, 3)))
    assert "100 of 250" in str(dal.export_gltf(many, tmp_path / "run.glb")[0])
    assert len(Parsed(tmp_path / "run.glb").mesh("particles")["primitives"][0]["targets"]) == 99


def test_rods_and_springs_reach_from_end_to_end(tmp_path):
    scene = dal.Scene("ends")
    x = scene.add_body("x", dal.Sphere(0.1), mass=1.0, position=(-2, 0, 0))
    scene.rod("level", dal.WORLD, x, (0, 0, 0), (-2, 0, 0))  # along −x: half a turn
    scene.spring("steep", dal.WORLD, x, (1, 2, 3), (-2, 0, 0.05), stiffness=1.0)
    scene.spring("none", dal.WORLD, x, (-2, 0, 0), (-2, 0, 0), stiffness=1.0)
    dal.export_gltf(scene, tmp_path / "scene.glb")
    parsed = Parsed(tmp_path / "scene.glb")
    assert "animations" not in parsed.json
    for name, ends in (
        ("level", [[0, 0, 0], [-2, 0, 0]]),
        ("steep", [[1, 2, 3], [-2, 0, 0.05]]),
        ("none", [[-2, 0, 0]] * 2),
    ):
        turn, move = parsed.world(name, 0)
        assert np.allclose(parsed.points(name) @ turn.T + move, np.array(ends) @ TO_Y_UP.T, atol=1e-6)


def test_cloth_and_wires_are_surfaces_and_lines(tmp_path):
    vertices, faces = dal.triangle_grid(1.0, 1.0, 3, 3)
    scene = dal.Scene("cloth")
    scene.cloth("cloth", vertices, faces, density=0.2, stretch=100, shear=50, bend=1e-4)
    bead = scene.add_body("bead", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    wire = dal.Curve(lambda s: (np.cos(s), np.sin(s), 0.0), 0.0, 2 * np.pi, closed=True)
    scene.point_on_curve("wire", dal.WORLD, bead, (1, 0, 0), wire)
    dal.export_gltf(scene, tmp_path / "scene.glb")
    parsed = Parsed(tmp_path / "scene.glb")
    assert parsed.mesh("cloth")["primitives"][0]["mode"] == 4
    assert len(parsed.array(parsed.mesh("cloth")["primitives"][0]["indices"])) == 3 * len(faces)
    assert parsed.mesh("wire")["primitives"][0]["mode"] == 3
    assert np.allclose(np.linalg.norm(parsed.points("wire"), axis=1), 1.0, atol=1e-6)


def test_what_cannot_be_exported_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no frames"):
        dal.export_gltf(recorded(np.zeros((0, 4))), tmp_path / "run.glb")
    with pytest.raises(ValueError, match=r"unsupported format '\.obj'"):
        dal.export_gltf(dal.Scene("none"), tmp_path / "run.obj")
    with pytest.raises(ValueError, match="cannot be exported"):
        dal.export_gltf("scene", tmp_path / "run.glb")
