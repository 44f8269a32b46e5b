"""The shape of docs/extending.md is one file: in a copy of the package that has it, all that takes shapes takes it."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dalembert.core.jit import DISABLED
from dalembert.scene.shapes.base import SHAPES, Kernels, Shape, register

from .conftest import PACKAGE, add_file, section

R = 0.2  # m
USE = """
import json, math, sys
import numpy as np
import dalembert as dal
from dalembert.scene.shapes import shape_from_dict, shape_to_dict
from dalembert.scene.shapes import HalfBall
from dalembert.view.still import picture

folder, found = sys.argv[1], {"package": dal.__file__}
half = HalfBall(0.2)
solid = dal.mass_properties(half, mass=2.0)
found["center"], found["inertia"] = solid.center.tolist(), solid.inertia.tolist()
fine = dal.mass_properties(dal.Mesh(*half.triangles(256)), mass=2.0)
found["fine"] = fine.center.tolist(), fine.inertia.tolist()
found["again"] = shape_from_dict(json.loads(json.dumps(shape_to_dict(half)))) == half

tilted = (math.cos(0.01), 0.0, math.sin(0.01), 0.0)
scene = dal.Scene("halves", material=dal.Material(0.5))
scene.add_obstacle("ground", dal.HalfSpace())
scene.add_obstacle("table", dal.Box(0.6, 0.6, 0.1), position=(2.0, 0.0, 0.05))
scene.add_body("on ground", half, mass=2.0, position=(0.0, 0.0, 0.006), orientation=tilted)
scene.add_body("on table", half, mass=2.0, position=(2.0, 0.0, 0.106), orientation=tilted, color="#ff0000")
scene.add_body("upside down", half, mass=2.0, position=(4.0, 0.0, 0.201), orientation=(0.0, 1.0, 0.0, 0.0))
run = dal.Simulation(scene, dt=1 / 240, frame_rate=30.0)
for x in (0.05, 4.05):
    hit = run.ray_cast((x, 0.0, 5.0), (0.0, 0.0, -1.0))
    found[f"ray at {x}"] = hit.name, hit.distance, hit.normal.tolist()
found["gap"] = run.gap("on ground", "upside down").distance
run.advance(0.25)
found["position"], found["velocity"] = run.state.position.tolist(), run.state.velocity.tolist()

run.trajectory.save(folder + "/run.nc")
saved = dal.Trajectory.load(folder + "/run.nc")
body = next(body for body in saved.scene_description["bodies"] if body["name"] == "on table")
found["saved"] = shape_from_dict(body["shape"]) == half
found["drawn"] = len(body["faces"])
image = picture(saved, time=0.25, size=(120, 90), fine=1, trail=False)
dal.export_gltf(run, folder + "/run.glb")
found["warnings"] = [str(warning) for warning in dal.export_mjcf(scene, folder + "/scene.xml")]
found["red"] = int((image[..., 0] > 2.0 * image[..., 1]).sum())
print("FOUND" + json.dumps(found))
"""


def extended_package(folder, change=("", "")):
    """A copy of the package in `folder`, with the file of the page, in which something may be changed, and its line; returns
    the page's script."""
    package = folder / "dalembert"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    file, line, script = section("A shape", folder)
    assert (file.language, line.language) == ("python scene/shapes/half_ball.py", "python scene/shapes/__init__.py")
    for block in (file, line):
        add_file(package, block.language.removeprefix("python "), block.text.replace(*change))
    return script.text


def output_of(program, folder, plain="1"):
    """What a program prints in a process that imports the copy in `folder`, in plain Python unless told."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(folder)], capture_output=True, text=True, timeout=1800,
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": plain},
    )  # fmt: skip


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """What a program finds that uses the shape, and the folder of what it wrote."""
    folder = tmp_path_factory.mktemp("half_ball")
    extended_package(folder)
    done = output_of(USE, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.rpartition("FOUND")[2])
    assert Path(found["package"]).is_relative_to(folder)
    return found, folder


def test_its_mass_is_that_of_its_surface(added):
    found, _ = added
    assert np.allclose(found["center"], [0.0, 0.0, 3 / 8 * R], atol=1e-15)
    across, along = 83 / 320 * 2.0 * R * R, 2 / 5 * 2.0 * R * R
    assert np.allclose(found["inertia"], np.diag([across, across, along]), atol=1e-15)
    center, inertia = found["fine"]
    assert np.allclose(center, found["center"], rtol=0.0, atol=1e-3 * R)
    assert np.allclose(inertia, found["inertia"], rtol=1e-3, atol=1e-9)


def test_it_comes_to_rest_on_plane_and_box_by_its_flat_side_and_on_its_back(added):
    found, _ = added
    heights = [row[2] for row in found["position"]]
    assert np.allclose(heights, [3 / 8 * R, 0.1 + 3 / 8 * R, 5 / 8 * R], rtol=0.0, atol=1e-4)
    assert np.abs(found["velocity"]).max() < 1e-3


def test_rays_and_distances_are_those_of_its_surface(added):
    found, _ = added
    name, distance, normal = found["ray at 0.05"]
    height = math.sqrt(R * R - 0.05**2)
    assert name == "on ground" and distance == pytest.approx(5.0 - 0.006 - height, abs=1e-14)
    assert np.allclose(normal, [0.05 / R, 0.0, height / R], atol=1e-14)
    name, distance, normal = found["ray at 4.05"]
    assert name == "upside down" and distance == pytest.approx(5.0 - 0.201, abs=1e-14)
    assert np.allclose(normal, [0.0, 0.0, 1.0], atol=1e-14)
    assert found["gap"] == pytest.approx(math.hypot(4.0, 0.195) - 2 * R, abs=1e-14)


def test_it_is_drawn_saved_and_exported(added):
    found, folder = added
    assert found["again"] and found["saved"]
    assert found["drawn"] == 288
    assert found["red"] > 20
    raw = (folder / "run.glb").read_bytes()
    gltf = json.loads(raw[20 : 20 + int.from_bytes(raw[12:16], "little")])
    node = next(node for node in gltf["nodes"] if node.get("name") == "on table")
    triangles = gltf["meshes"][node["mesh"]]["primitives"][0]
    assert gltf["accessors"][triangles["indices"]]["count"] == 3 * found["drawn"]
    assert any("MuJoCo has no halfball" in warning for warning in found["warnings"])
    assert (folder / "scene.xml").read_text("utf-8").count('type="mesh"') == 3


@pytest.mark.slow
@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_compiled_it_moves_as_in_plain_python(added):
    found, folder = added
    done = output_of(USE, folder, plain="0")
    assert done.returncode == 0, done.stderr[-3000:]
    compiled = json.loads(done.stdout.rpartition("FOUND")[2])
    for what in ("position", "velocity", "gap", "ray at 0.05", "ray at 4.05"):
        assert str(compiled[what]) == str(found[what])


def test_the_example_of_the_page_runs(tmp_path):
    done = output_of(extended_package(tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    x, y, z = map(float, done.stdout.strip(" []\n").split())
    assert abs(x) < 1e-6 and abs(y) < 1e-6 and 0.075 - 1e-4 < z < 0.125


def test_what_lacks_a_function_is_refused_by_name(tmp_path):
    extended_package(tmp_path, ("None, ray, distance", "None, ray, None"))
    done = output_of("import dalembert.scene.shapes", tmp_path)
    assert "HalfBall: its kernels lack distance" in done.stderr


def test_compiled_functions_of_other_folders_are_refused():
    class Elsewhere(Shape):
        kernels = Kernels(support=max, ray=max, distance=max)

    with pytest.raises(ValueError, match=r"Elsewhere: .* put its file in that folder"):
        register(Elsewhere)
    assert "Elsewhere" not in SHAPES
