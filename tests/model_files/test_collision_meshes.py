"""Collision meshes of files: too many corners, flat, without area, or only seen; each loads and runs, and is told by name."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.io.meshes import hull_or_plate
from dalembert.scene.shapes.convex_hull import contact_hull

URDF = """<robot name="r"><link name="base"/>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
{}</link></robot>"""
MJCF = """<mujoco><asset><mesh name="m" file="{file}"/></asset><worldbody><geom type="plane" size="1 1 1" pos="0 0 -3"/>
<body name="arm"><freejoint/>{inertial}<geom name="skin" type="mesh" mesh="m"{more}/>
</body></worldbody></mujoco>"""
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
HIDDEN = ' contype="0" conaffinity="0"'


def write_mesh(path, vertices, faces):
    rows = ["v {:.17g} {:.17g} {:.17g}".format(*corner) for corner in vertices]
    path.write_text("\n".join(rows + ["f {} {} {}".format(*(i + 1 for i in face)) for face in faces]) + "\n")


@pytest.fixture
def folder(tmp_path):
    surface = dal.Ellipsoid(0.1, 0.06, 0.04).triangles(40)
    write_mesh(tmp_path / "egg.obj", *surface)
    sheet = np.array([[0, 0, 0], [0.4, 0, 0], [0.4, 0.3, 0], [0, 0.3, 0]]) @ dal_rotation()
    write_mesh(tmp_path / "sheet.obj", sheet, [(0, 1, 2), (0, 2, 3)])
    write_mesh(tmp_path / "wire.obj", [[0, 0, 0], [1, 1, 1], [2, 2, 2]], [(0, 1, 2)])
    return tmp_path


def dal_rotation():
    x, y = np.array([2.0, 1.0, 2.0]) / 3.0, np.array([-2.0, 2.0, 1.0]) / 3.0
    return np.stack([x, y, np.cross(x, y)])


def urdf(folder, mesh, *tags):
    file = folder / "model.urdf"
    body = "".join(f'<{tag}><geometry><mesh filename="{mesh}"/></geometry></{tag}>' for tag in tags)
    file.write_text(URDF.format(body))
    return file


def mjcf(folder, mesh, more="", inertial=INERTIAL):
    file = folder / "model.xml"
    file.write_text(MJCF.format(file=mesh, more=more, inertial=inertial))
    return file


def messages(model):
    return [str(warning) for warning in model.warnings]


@pytest.mark.parametrize(
    "make", [lambda folder: urdf(folder, "egg.obj", "collision"), lambda folder: mjcf(folder, "egg.obj")]
)
def test_a_hull_of_many_corners_is_simplified_and_told_once_a_file(make, folder):
    file = make(folder)
    model = dal.load_model(file)
    (line,) = messages(model)
    assert str(file) in line and "1 convex hull has more than 200 corners" in line and "'arm'" in line
    with pytest.warns(dal.SimulationWarning, match="more than 200 corners"):
        run = dal.Simulation(model.scene, dt=1e-3).advance(0.01)
    assert len(run.report.warnings) == 1


@pytest.mark.parametrize(
    "make", [lambda folder: urdf(folder, "sheet.obj", "collision"), lambda folder: mjcf(folder, "sheet.obj")]
)
def test_a_flat_mesh_touches_as_a_plate(make, folder):
    model = dal.load_model(make(folder))
    assert any(
        "is flat; it collides as a plate of 1 mm" in line and ("arm" in line or "skin" in line)
        for line in messages(model)
    )
    body = model.scene.bodies["arm"]
    corners = body.shape.triangles()[0]
    assert body.material is not None and len(corners) == 8
    assert np.ptp(corners @ dal_rotation()[2]) == pytest.approx(1e-3)
    dal.Simulation(model.scene, dt=1e-3, method="time_stepping").advance(0.01)


def test_a_sheet_that_float32_has_rounded_is_flat():
    """As in STL files: the rounding makes it as thick as 1e-8 of its size, which is no thickness."""
    rng = np.random.default_rng(0)
    points = (np.c_[rng.uniform(size=(300, 2)), np.zeros(300)] @ dal_rotation() + 2.0).astype(np.float32).astype(float)
    hull, thickness = hull_or_plate(points)
    assert thickness == 1e-3 and np.ptp(hull.vertices @ dal_rotation()[2]) == pytest.approx(1e-3, rel=1e-3)
    solid, none = hull_or_plate(points + 1e-4 * rng.normal(size=points.shape))
    assert none == 0.0 and len(solid.vertices) > 8


@pytest.mark.parametrize("mesh", ["sheet.obj", "wire.obj", "egg.obj"])
@pytest.mark.parametrize("inertial", [INERTIAL, '<geom size="0.1" pos="0 0 1"/>'])
def test_a_mesh_that_is_only_seen_refuses_nothing(mesh, inertial, folder):
    model = dal.load_model(mjcf(folder, mesh, HIDDEN, inertial))
    assert "arm" in model.scene.bodies and not any("corners" in line for line in messages(model))
    assert "arm" in dal.load_model(urdf(folder, mesh, "visual")).scene.bodies


def test_a_flat_mesh_without_a_mass_of_its_own_says_that_it_adds_none(folder):
    model = dal.load_model(mjcf(folder, "sheet.obj", HIDDEN, '<geom size="0.1"/>'))
    assert any("adds no mass" in line and "<mesh>" in line for line in messages(model))
    assert model.scene.bodies["arm"].mass == pytest.approx(1000.0 * 4.0 / 3.0 * np.pi * 1e-3)


def test_a_mesh_without_area_is_left_out_by_name(folder):
    model = dal.load_model(mjcf(folder, "wire.obj", "", INERTIAL + '<geom size="0.1"/>'))
    assert any("'skin' is left out" in line and "line or in a point" in line for line in messages(model))
    assert isinstance(model.scene.bodies["arm"].shape, dal.Sphere)


def test_a_pair_with_a_geom_that_is_left_out_is_left_out(folder):
    file = mjcf(folder, "wire.obj", "", INERTIAL + '<geom name="ball" size="0.1"/>')
    file.write_text(
        file.read_text().replace("</mujoco>", '<contact><pair geom1="skin" geom2="ball"/></contact></mujoco>')
    )
    assert any("<pair>: it is left out, as geom 'skin' is" in line for line in messages(dal.load_model(file)))


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_without_contacts_nothing_touches_and_what_is_seen_stays(kind, folder):
    file = urdf(folder, "egg.obj", "visual", "collision") if kind == "urdf" else mjcf(folder, "egg.obj")
    scene = dal.load_model(file, contacts=False).scene
    assert scene.touching() == [] and not scene.obstacles and scene.bodies["arm"].shape is not None
    assert dal.load_model(file).scene.touching() != []
    run = dal.Simulation(scene)
    assert run.method == "dormand_prince" and not run.report.warnings


def test_maxhullvert_is_kept(folder):
    file = mjcf(folder, "egg.obj")
    file.write_text(file.read_text().replace('<mesh name="m"', '<mesh name="m" maxhullvert="24"'))
    hull = dal.load_model(file).scene.bodies["arm"].shape
    assert len(hull.triangles()[0]) == 24


def test_usd_meshes_follow_the_same_rules(folder):
    pytest.importorskip("pxr", reason="usd-core is not installed")
    file = folder / "model.usda"

    def model(vertices, api="PhysicsCollisionAPI", **options):
        points = ", ".join(f"({x}, {y}, {z})" for x, y, z in vertices)
        faces = ", ".join(f"0, {i}, {i + 1}" for i in range(1, len(vertices) - 1))
        file.write_text(
            '#usda 1.0\n(metersPerUnit = 1\nupAxis = "Z")\ndef Xform "arm" (prepend apiSchemas = '
            '["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {\nfloat physics:mass = 1\n'
            "float3 physics:diagonalInertia = (1, 1, 1)\n"
            f'def Mesh "skin" (prepend apiSchemas = ["{api}"]) {{\npoint3f[] points = [{points}]\nint[] faceVertexCounts = '
            f"[{', '.join(['3'] * (len(vertices) - 2))}]\nint[] faceVertexIndices = [{faces}]\n}}\n}}\n"
        )
        return dal.load_usd(file, **options)

    egg = model(dal.Ellipsoid(0.1, 0.06, 0.04).triangles(40)[0])
    assert sum("more than 200 corners" in line and str(file) in line for line in messages(egg)) == 1
    assert contact_hull(egg.scene.bodies["arm"].shape).error > 0.0
    flat = model([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    assert any("plate of 1 mm" in line and "skin" in line for line in messages(flat))
    seen = model([(0, 0, 0), (1, 1, 0), (2, 2, 0)], api="MaterialBindingAPI")
    assert any("left out" in line for line in messages(seen)) and seen.scene.bodies["arm"].shape is None
    assert model(dal.Ellipsoid(0.1, 0.06, 0.04).triangles(40)[0], contacts=False).scene.touching() == []
