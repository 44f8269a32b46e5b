"""Shapes: the surfaces they show, the files and dictionaries they come from, and everything they refuse."""

import io
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.scene import mesh_file
from dalembert.scene.checks import rotation_matrix, unit_quaternion
from dalembert.scene.polyhedron import polyhedron_moments, require_solid
from dalembert.scene.shapes import (
    Box,
    Capsule,
    Compound,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    Mesh,
    Part,
    Sphere,
    bounding_radius,
    shape_from_dict,
    shape_to_dict,
)

TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
TETRAHEDRON_FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
NO_TURN = (1, 0, 0, 0)
SHAPES = [
    Box(1, 2, 3),
    Sphere(0.7),
    Cylinder(0.3, 1.1),
    Capsule(0.25, 0.8),
    Ellipsoid(0.3, 0.5, 0.9),
    ConvexHull(np.random.default_rng(1).normal(size=(40, 3))),
    Mesh(TETRAHEDRON, TETRAHEDRON_FACES),
    Compound([(Box(1, 1, 1), (0.2, 0, 0), NO_TURN), (Sphere(0.4), (0, 2, 0), (0.5, 0.5, 0.5, 0.5), 2.5)]),
]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)


@each_shape
def test_the_display_surface_is_a_solid_inside_the_bounding_sphere(shape):
    vertices, faces = shape.triangles()
    assert vertices.dtype == np.float64 and faces.dtype == np.int64
    assert vertices.shape[1:] == faces.shape[1:] == (3,)
    require_solid("surface", vertices, faces)
    reach = np.linalg.norm(vertices, axis=1).max()
    assert reach <= bounding_radius(shape) * (1 + 1e-15)
    if not isinstance(shape, Compound):
        assert reach == pytest.approx(bounding_radius(shape), rel=1e-12)


@each_shape
def test_the_dictionary_round_trip_keeps_every_bit(shape):
    text = json.dumps(shape_to_dict(shape))
    again = shape_from_dict(json.loads(text))
    assert type(again) is type(shape)
    assert json.dumps(shape_to_dict(again)) == text
    for mine, its in zip(again.triangles(), shape.triangles(), strict=True):
        assert np.array_equal(mine, its)


def test_values_are_frozen_and_comparable():
    assert Box(1, 2, 3) == Box(1.0, 2.0, 3.0) and len({Sphere(1), Sphere(1.0)}) == 1
    assert Compound([(Box(1, 1, 1),)]) == Compound([Part(Box(1, 1, 1))])
    mesh = Mesh(TETRAHEDRON, TETRAHEDRON_FACES)
    for array in (mesh.vertices, mesh.faces, ConvexHull(TETRAHEDRON).vertices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_caller_keeps_an_array_that_can_be_written():
    points = np.array(TETRAHEDRON, dtype=float)
    faces = np.array(TETRAHEDRON_FACES)
    Mesh(points, faces), ConvexHull(points)
    points[0], faces[0] = 1.0, 1


@pytest.mark.parametrize("segments", [3, 5, 24])
@pytest.mark.parametrize("shape", [Sphere(1), Cylinder(1, 2), Capsule(1, 2), Ellipsoid(1, 2, 3)], ids=repr)
def test_any_number_of_segments_closes(shape, segments):
    require_solid("surface", *shape.triangles(segments))


def test_too_few_segments_are_refused():
    with pytest.raises(ValueError, match="at least 3 segments, got 2"):
        Sphere(1).triangles(2)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["cloud", "grid", "cylinder", "turned grid"]))
def test_hulls_are_closed_and_outward(seed, kind):
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    angle = np.linspace(0, 2 * math.pi, 17)
    points = {
        "cloud": rng.normal(size=(60, 3)) * [1, 10, 0.01],
        "grid": grid,
        "cylinder": np.concatenate([np.c_[np.cos(angle), np.sin(angle), 0 * angle + z] for z in (0.0, 0.4, 1.0)]),
        "turned grid": grid @ rotation_matrix(unit_quaternion("q", "q", rng.normal(size=4))),
    }[kind]
    hull = ConvexHull(rng.permutation(points) + rng.normal(size=3))
    corners = hull.vertices[hull.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    heights = np.einsum("fj,fpj->fp", normals, hull.points[None] - corners[:, :1])
    assert heights.max() <= 1e-12 * np.ptp(hull.points) ** 3
    from scipy.spatial import ConvexHull as Qhull

    assert polyhedron_moments(hull.vertices, hull.faces).volume == pytest.approx(Qhull(hull.points).volume, rel=1e-10)


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "STL"])
def test_a_mesh_file_gives_the_solid_back(tmp_path, suffix):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / f"box.{suffix}"
    trimesh.Trimesh(*Box(1, 2, 3).triangles(), process=False).export(path, file_type=suffix.lower())
    mesh = Mesh.load(path, scale=0.5)
    assert len(mesh.vertices) == 8 and len(mesh.faces) == 12
    assert polyhedron_moments(mesh.vertices, mesh.faces).volume == pytest.approx(6 / 8, rel=1e-14)


def test_text_stl_with_signed_zeros_and_several_solids_is_merged(tmp_path):
    def solid(name, shift):
        rows = [f"solid {name}"]
        for i, face in enumerate(TETRAHEDRON_FACES):
            rows += ["facet normal 0 0 0", "outer loop"]
            for x, y, z in np.array(TETRAHEDRON, dtype=float)[face] + [shift, 0, 0]:
                rows.append(f"vertex {x} {y} {'-' if i % 2 and z == 0 else ''}{z}")
            rows += ["endloop", "endfacet"]
        return "\n".join([*rows, f"endsolid {name}"])

    (tmp_path / "two.stl").write_text(solid("a", 0.0) + "\n" + solid("b", 5.0) + "\n")
    mesh = Mesh.load(tmp_path / "two.stl")
    assert len(mesh.vertices) == 8
    assert polyhedron_moments(mesh.vertices, mesh.faces).volume == pytest.approx(2 / 6)


def test_an_obj_file_opens_nothing_it_refers_to(tmp_path, monkeypatch):
    corners = "\n".join(f"v {x} {y} {z}" for x, y, z in TETRAHEDRON)
    faces = "\n".join("f " + " ".join(str(i + 1) for i in face) for face in TETRAHEDRON_FACES)
    (tmp_path / "m.mtl").write_text("newmtl a\nmap_Kd secret.png\n")
    path = tmp_path / "m.obj"
    path.write_text(f"mtllib m.mtl\n{corners}\nusemtl a\n{faces}\n")
    Mesh.load(path)  # whatever is imported late is imported now
    opened, real_open = [], io.open

    def recording_open(file, *args, **kwargs):
        opened.append(str(file))
        return real_open(file, *args, **kwargs)

    for module in ("io", "builtins"):
        monkeypatch.setattr(f"{module}.open", recording_open)
    Mesh.load(path)
    assert opened == [str(path)]


def test_cavities_and_shells_that_share_an_edge_are_solids():
    outer, faces = Box(2, 2, 2).triangles()
    inner = 0.5 * outer
    hollow = Mesh(np.concatenate([outer, inner]), np.concatenate([faces, faces[:, ::-1] + 8]))
    assert polyhedron_moments(hollow.vertices, hollow.faces).volume == pytest.approx(7.0)
    corners = np.concatenate([outer, outer + [2, 2, 0]])
    merged, index = np.unique(corners, axis=0, return_inverse=True)
    twin = Mesh(merged, index.reshape(-1)[np.concatenate([faces, faces + 8])])
    assert len(merged) == 14 and polyhedron_moments(twin.vertices, twin.faces).volume == pytest.approx(16.0)


def test_importing_the_shapes_loads_no_heavy_library():
    code = (
        "import sys, dalembert.scene.mass, dalembert.scene.shapes;"
        "print([m for m in ('trimesh', 'xarray', 'viser', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


OPEN = TETRAHEDRON_FACES[:3] + [[3, 2, 1]]
REFUSED = {
    "negative": (lambda: Box(1, -2, 3), r"Box: y must be a finite number above zero, in m; got -2"),
    "zero": (lambda: Sphere(0), r"Sphere: radius .* got 0"),
    "nan": (lambda: Cylinder(math.nan, 1), r"Cylinder: radius .* got nan"),
    "infinite": (lambda: Capsule(1, math.inf), r"Capsule: length .* got inf"),
    "huge": (lambda: Sphere(10**400), r"Sphere: radius .* got 1000"),
    "text": (lambda: Ellipsoid(1, "2", 3), r"Ellipsoid: b .* got '2'"),
    "boolean": (lambda: Box(True, 1, 1), r"Box: x .* got True"),
    "few points": (lambda: ConvexHull(TETRAHEDRON[:3]), r"ConvexHull: .* at least 4 points, got 3"),
    "flat points": (lambda: ConvexHull([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]), r"ConvexHull: the 4 points lie"),
    "one point": (lambda: ConvexHull(np.ones((5, 3))), r"ConvexHull: the 5 points lie .* thickness"),
    "nan point": (lambda: ConvexHull([*TETRAHEDRON, [0, math.nan, 0]]), r"ConvexHull: points\[4, 1\] is nan"),
    "pairs": (lambda: ConvexHull([[0, 0], [1, 0]]), r"ConvexHull: points .* shape \(n, 3\); got .*\(2, 2\)"),
    "ragged": (lambda: ConvexHull([[0, 0, 0], [1, 0]]), r"ConvexHull: points must be numbers"),
    "open": (lambda: Mesh(TETRAHEDRON, TETRAHEDRON_FACES[:3]), r"Mesh: 3 faces cannot close"),
    "open box": (
        lambda: Mesh(Box(1, 1, 1).triangles()[0], Box(1, 1, 1).triangles()[1][1:]),
        r"Mesh: .*3 edges have no",
    ),
    "one face turned": (lambda: Mesh(TETRAHEDRON, OPEN), r"Mesh: .*not closed and consistently oriented.*ConvexHull"),
    "inverted": (lambda: Mesh(TETRAHEDRON, np.flip(TETRAHEDRON_FACES, 1)), r"volume is -0.166667 m³.*faces\[:, ::-1\]"),
    "flat mesh": (lambda: Mesh(np.multiply(TETRAHEDRON, [1, 1, 0]), TETRAHEDRON_FACES), r"Mesh: the volume is .* flat"),
    "far index": (lambda: Mesh(TETRAHEDRON, [*TETRAHEDRON_FACES[:3], [1, 2, 4]]), r"face 3 \[1, 2, 4\] .* 0..3"),
    "negative index": (lambda: Mesh(TETRAHEDRON, [*TETRAHEDRON_FACES[:3], [1, 2, -1]]), r"face 3 \[1, 2, -1\]"),
    "real index": (lambda: Mesh(TETRAHEDRON, np.array(TETRAHEDRON_FACES) + 0.5), r"Mesh: faces must be integers"),
    "collapsed face": (lambda: Mesh(TETRAHEDRON, [*TETRAHEDRON_FACES, [1, 1, 2]]), r"face 4 \[1, 1, 2\] .* twice"),
    "face repeated": (lambda: Mesh(TETRAHEDRON, TETRAHEDRON_FACES * 2), r"Mesh: face 4 \[0, 2, 1\] occurs twice"),
    "no vertices": (lambda: Mesh([], []), r"Mesh: vertices must be numbers of shape \(n, 3\)"),
    "empty compound": (lambda: Compound([]), r"Compound: \[\] has no part"),
    "bare shape": (lambda: Compound([Box(1, 1, 1)]), r"Compound: part 0 is Box.*give \(shape, position"),
    "not a shape": (lambda: Compound([("box", (0, 0, 0), NO_TURN)]), r"Compound: part 0: Part: 'box' cannot"),
    "nested": (lambda: Compound([(Compound([(Sphere(1),)]),)]), r"part 0: .*list its parts directly"),
    "zero quaternion": (
        lambda: Compound([(Sphere(1), (0, 0, 0), (0, 0, 0, 0))]),
        r"part 0: .*orientation .*\(1, 0, 0, 0\)",
    ),
    "bad place": (lambda: Compound([(Sphere(1), (0, math.inf, 0))]), r"part 0: Part: position\[1\] is inf"),
    "bad ratio": (lambda: Compound([(Sphere(1), (0, 0, 0), NO_TURN, -1)]), r"part 0: Part: density_ratio .* got -1"),
    "radius of nothing": (lambda: bounding_radius("ball"), r"'ball' is not a shape"),
    "dict of nothing": (lambda: shape_to_dict("ball"), r"'ball' is not a shape"),
    "no dict": (lambda: shape_from_dict([1]), r"\[1\] has no known type.*Box"),
    "type unknown": (lambda: shape_from_dict({"type": "Torus"}), r"Torus.* has no known type"),
    "key missing": (lambda: shape_from_dict({"type": "Box", "x": 1}), r"Box: its keys must be x, y, z; got x"),
    "key unknown": (
        lambda: shape_from_dict({"type": "Sphere", "radius": 1, "r": 1}),
        r"Sphere: its keys must be radius",
    ),
    "text points": (
        lambda: shape_from_dict({"type": "ConvexHull", "points": [["0"] * 3] * 4}),
        r"points must be numbers",
    ),
    "points not listed": (lambda: shape_from_dict({"type": "ConvexHull", "points": "a"}), r"'points' must be a list"),
    "part not a dict": (lambda: shape_from_dict({"type": "Compound", "parts": [3]}), r"part 0 is 3"),
    "nested dict": (
        lambda: shape_from_dict(
            {
                "type": "Compound",
                "parts": [{"shape": {"type": "Compound"}, "position": 0, "orientation": 0, "density_ratio": 0}],
            }
        ),
        r"part 0: a compound cannot be a part",
    ),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


FILES = {
    "mesh.dae": (b"", r"suffix '.dae' is unknown; convert it to one of .stl, .obj, .ply"),
    "empty.stl": (b"", r"not a readable STL file|no valid triangles"),
    "noise.stl": (bytes(range(256)) * 4, r"not a readable STL file|no valid triangles"),
    "noise.ply": (
        b"ply\nformat ascii 1.0\nelement vertex 99999999999\nend_header\n",
        r"not a readable PLY|no valid tri",
    ),
    "cloud.ply": (
        b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        b"property float z\nend_header\n0 0 0\n",
        r"not a readable PLY|no valid triangles",
    ),
    "noise.obj": (b"f 1 2 3\n", r"not a readable OBJ file|no valid triangles"),
    "open.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", r"open.obj'\): Mesh: 1 faces cannot close"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_refused_by_name(tmp_path, name):
    data, message = FILES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        Mesh.load(tmp_path / name)
    assert name in str(error.value)


def test_missing_and_too_large_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"nowhere.stl': there is no such file"):
        Mesh.load(tmp_path / "nowhere.stl")
    with pytest.raises(ValueError, match="there is no such file"):
        (tmp_path / "folder.stl").mkdir()
        Mesh.load(tmp_path / "folder.stl")
    monkeypatch.setattr(mesh_file, "MAX_BYTES", 10)
    (tmp_path / "big.stl").write_bytes(bytes(11))
    with pytest.raises(ValueError, match=r"big.stl': larger than"):
        Mesh.load(tmp_path / "big.stl")
