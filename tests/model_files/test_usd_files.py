"""USD files of others: units, places, masses; and files that reach for what is not theirs."""

import os
import re
import time

import numpy as np
import pytest

import dalembert as dal
from dalembert.io.usd import require_shallow

Sdf = pytest.importorskip("pxr.Sdf", reason="usd-core is not installed")

HEAD = """#usda 1.0
(
    metersPerUnit = {unit}
    kilogramsPerUnit = {mass}
    upAxis = "{up}"
    {more}
)
"""


def load(folder, text, unit=1, mass=1, up="Z", more="", name="model.usda"):
    text = text.replace(";", "\n").replace("{", "{\n").replace("}", "\n}\n")  # USD ends statements by lines
    (folder / name).write_text(HEAD.format(unit=unit, mass=mass, up=up, more=more) + text)
    model = dal.load_usd(folder / name)
    return model, [str(warning).split(": ", 1)[1] for warning in model.warnings]


MACHINE = """
def PhysicsScene "physics" { vector3f physics:gravityDirection = (0, -1, 0); float physics:gravityMagnitude = 981 }
def Xform "room" {
    double3 xformOp:translate = (100, 0, 0)
    double3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 2000
        vector3f physics:velocity = (0, 50, 0)
        vector3f physics:angularVelocity = (0, 0, 90)
        double3 xformOp:translate = (0, 50, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Cube "block" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
            double size = 1
            double3 xformOp:scale = (10, 50, 20)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }
    }
}
def PhysicsRevoluteJoint "pivot" {
    rel physics:body1 = </room/arm>
    uniform token physics:axis = "Z"
    point3f physics:localPos0 = (100, 150, 0)
    point3f physics:localPos1 = (0, 25, 0)
    quatf physics:localRot0 = (0.8660254, 0, 0, -0.5)
    float physics:lowerLimit = 20
    float physics:upperLimit = 90
}
"""


def test_units_axes_scales_and_offsets_are_taken_into_account(tmp_path):
    """Centimetres, grams, y up, a scaled parent; the joint stands at 60° when the file begins."""
    model, warnings = load(tmp_path, MACHINE, unit=0.01, mass=0.001, up="Y")
    assert warnings == []
    body, joint = model.scene.bodies["arm"], model.scene.joints["pivot"]
    assert np.allclose(model.scene.gravity, (0, 0, -9.81))
    assert np.isclose(body.mass, 2.0)
    assert np.allclose(body.position, (1.0, 0.0, 1.0))  # y 2·50 cm becomes z
    assert np.allclose(body.velocity, (0, 0, 0.5)) and np.allclose(body.angular_velocity, (0, -np.pi / 2, 0))
    x, y, z = body.shape.x, body.shape.y, body.shape.z
    assert np.allclose((x, y, z), (0.2, 1.0, 0.4), rtol=1e-6)
    assert np.allclose(body.rotation, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    assert np.allclose(body.inertia, 2.0 / 12 * np.diag([y**2 + z**2, x**2 + z**2, x**2 + y**2]))
    assert joint.a is dal.WORLD and joint.b is body
    assert np.allclose(joint.at, (1.0, 0.0, 1.5), atol=1e-6) and np.allclose(joint.axis, (0, -1, 0), atol=1e-6)
    (stops,) = (force.stops for force in model.scene.forces.values())
    assert np.allclose(np.degrees(stops), (-40, 30), atol=1e-4)
    assert model.joints == ["pivot"] and np.allclose(model.frames["/room/arm"].position, 0.0)


def test_masses_come_from_density_material_and_shape(tmp_path):
    text = """
def Material "ice" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
    float physics:density = 900; float physics:dynamicFriction = 0.05; float physics:staticFriction = 0.1
}
def Sphere "plain" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) { double radius = 0.5 }
def Sphere "icy" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "MaterialBindingAPI"]) {
    double radius = 0.5
    rel material:binding = </ice>
}
def Xform "two" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
    float physics:density = 50
    def Cube "light" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }
    def Cube "heavy" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]) {
        double size = 1
        float physics:mass = 150
        double3 xformOp:translate = (4, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
def Cube "told" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
    float physics:mass = 3; point3f physics:centerOfMass = (0.5, 0, 0)
    float3 physics:diagonalInertia = (1, 2, 2.5); quatf physics:principalAxes = (0.70710677, 0, 0, 0.70710677)
}
"""
    model, warnings = load(tmp_path, text)
    bodies, ball = model.scene.bodies, np.pi / 6
    assert np.isclose(bodies["plain"].mass, 1000 * ball) and np.isclose(bodies["icy"].mass, 900 * ball)
    assert bodies["plain"].material == dal.Material() and bodies["icy"].material == dal.Material(0.05)
    assert warnings == ["</ice>: static and dynamic friction differ; the dynamic one is used"]
    assert np.isclose(bodies["two"].mass, 200.0) and np.allclose(bodies["two"].position, (3, 0, 0))
    assert np.allclose(np.diag(bodies["two"].inertia), [200 / 6, 200 / 6 + 600, 200 / 6 + 600])
    told = bodies["told"]
    assert (
        told.mass == 3.0 and np.allclose(told.position, (0.5, 0, 0)) and np.allclose(told.inertia, np.diag([2, 1, 2.5]))
    )
    assert told.material is None and np.allclose(model.frames["/told"].position, (-0.5, 0, 0))


def test_meshes_and_squeezed_shapes(tmp_path):
    collider = 'prepend apiSchemas = ["PhysicsCollisionAPI"'
    square = """
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
"""
    text = f"""
def Mesh "floor" ({collider}]) {{ {square} }}
def Mesh "ceiling" ({collider}]) {{ {square} uniform token orientation = "leftHanded" }}
def Mesh "mirrored" ({collider}]) {{ {square}
    double3 xformOp:scale = (-1, 1, 1); uniform token[] xformOpOrder = ["xformOp:scale"] }}
def Plane "wall" ({collider}]) {{ uniform token axis = "X" }}
def Sphere "egg" ({collider}, "PhysicsRigidBodyAPI"]) {{ double radius = 1
    double3 xformOp:scale = (1, 2, 3); uniform token[] xformOpOrder = ["xformOp:scale"] }}
def Cylinder "squeezed" ({collider}, "PhysicsRigidBodyAPI"]) {{ double radius = 1; double height = 2
    double3 xformOp:scale = (1, 2, 1); uniform token[] xformOpOrder = ["xformOp:scale"] }}
def Cone "along x" ({collider}, "PhysicsRigidBodyAPI"]) {{ double radius = 1; double height = 2; uniform token axis = "X" }}
""".replace('"along x"', '"along_x"')
    model, warnings = load(tmp_path, text)
    obstacles, bodies = model.scene.obstacles, model.scene.bodies

    def normal(name):
        a, b, c = obstacles[name].shape.vertices[obstacles[name].shape.faces[0]]
        return obstacles[name].rotation @ np.cross(b - a, c - a)

    assert np.allclose(normal("floor"), (0, 0, 1)) and np.allclose(normal("ceiling"), (0, 0, -1))
    assert np.allclose(normal("mirrored"), (0, 0, 1)) and len(obstacles["floor"].shape.faces) == 2
    assert isinstance(obstacles["wall"].shape, dal.HalfSpace)
    assert np.allclose(obstacles["wall"].rotation @ (0, 0, 1), (1, 0, 0))
    assert bodies["egg"].shape == dal.Ellipsoid(1, 2, 3)
    assert isinstance(bodies["squeezed"].shape, dal.ConvexHull)
    assert np.allclose(np.abs(bodies["squeezed"].shape.vertices + bodies["squeezed"].center).max(axis=0), (1, 2, 1))
    assert warnings == ["</squeezed>: a Cylinder with this scale becomes the hull of its surface"]
    cone = bodies["along_x"]
    corners = (cone.shape.triangles()[0] - cone.center) @ cone.rotation.T + cone.position
    tip = corners[np.argmax(corners[:, 0])]
    assert np.allclose(tip, (1, 0, 0)) and np.allclose(cone.position, (-0.5, 0, 0))


def test_what_is_not_read_is_listed(tmp_path):
    ball = '(prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"{}]) {{ double radius = 1; {} }}'
    text = f"""
def Sphere "a" {ball.format(', "PhysxRigidBodyAPI"', "")}
def Sphere "b" {ball.format("", "bool physics:kinematicEnabled = true")}
def PhysicsSphericalJoint "cone" {{ rel physics:body1 = </a>; float physics:coneAngle0Limit = 20 }}
def PhysicsDistanceJoint "loose" {{ rel physics:body1 = </a>; float physics:minDistance = 1; float physics:maxDistance = 2 }}
def PhysicsFixedJoint "off" {{ rel physics:body1 = </a>; bool physics:jointEnabled = false }}
def PhysicsFixedJoint "still" {{ rel physics:body1 = </b> }}
def PhysicsJoint "odd" (prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:rotX"]) {{
    rel physics:body1 = </a>
    float limit:transX:physics:low = 1; float limit:transX:physics:high = -1
    float limit:rotX:physics:low = 1; float limit:rotX:physics:high = -1
}}
def PhysicsCollisionGroup "group" {{ }}
"""
    model, warnings = load(tmp_path, text)
    places = ["</b>", "</cone>", "</loose>", "</off>", "</still>", "</odd>", "</group>", "<PhysxRigidBodyAPI>"]
    assert sorted(line.split(": ")[0] for line in warnings) == sorted(places)
    assert list(model.scene.obstacles) == ["b"] and list(model.scene.joints) == ["cone"]


BALL = '#usda 1.0\n(\n    defaultPrim = "ball"\n    {}\n)\ndef Sphere "ball" (prepend apiSchemas = [{}]) {{ }}\n'
BALL = BALL.format("{}", '"PhysicsRigidBodyAPI", "PhysicsCollisionAPI"').replace("{ }", "{{ }}")


@pytest.fixture
def folders(tmp_path):
    """(folder of the model, a ball that lies beside it)."""
    inner = tmp_path / "model"
    (inner / "parts").mkdir(parents=True)
    (tmp_path / "secret.usda").write_text(BALL.format(""))
    (inner / "parts" / "ball.usda").write_text(BALL.format(""))
    return inner, tmp_path / "secret.usda"


def test_layers_in_the_folder_are_read(folders):
    inner, _ = folders
    text = 'def "one" (references = @./parts/ball.usda@) {}\ndef "two" (payload = @parts/ball.usda@) {}\n'
    model, _ = load(inner, text, more="subLayers = [@./parts/ball.usda@]")
    assert sorted(model.scene.bodies) == ["ball", "one", "two"]


OUTSIDE = "lies outside of"


@pytest.mark.parametrize(
    ("text", "more", "reason"),
    [
        ('def "x" (references = @../secret.usda@) {}', "", OUTSIDE),
        ('def "x" (payload = @SECRET@) {}', "", OUTSIDE),
        ('def "x" (references = @./link.usda@) {}', "", OUTSIDE),
        ("", "subLayers = [@../secret.usda@]", OUTSIDE),
        ("", "subLayers = [@./parts/far.usda@]", OUTSIDE),
        ('def "x" (variantSets = "v") { variantSet "v" = { "a" (references = @../secret.usda@) {} } }', "", OUTSIDE),
        ('def "x" (references = @https://example.org/ball.usda@) {}', "", "not a local file"),
        ('def "x" (references = @`"../secret.usda"`@) {}', "", "an expression"),
        ('def "x" (references = @./parts.usdz[ball.usda]@) {}', "", "not a local file"),
        ('def "x" (references = @./missing.usda@) {}', "", "does not exist"),
        ('def "x" (references = @./model.txt@) {}', "", "not a .usda, .usdc, .usd file"),
        ('def "x" (CLIPS) {}', "", "value clips"),
    ],
)
def test_what_lies_elsewhere_is_not_read(folders, text, more, reason):
    inner, secret = folders
    os.symlink(secret, inner / "link.usda")
    (inner / "model.txt").write_text(BALL.format(""))
    (inner / "parts" / "far.usda").write_text(BALL.format("subLayers = [@../../secret.usda@]"))
    clips = "clips = { dictionary default = { asset[] assetPaths = [@../secret.usda@] } }"
    with pytest.raises(ValueError, match=re.escape(reason)):
        load(inner, text.replace("SECRET", str(secret)).replace("CLIPS", clips), more=more)


@pytest.mark.parametrize("data", [b"", b"#usda 1.0\n(", b"PXR-USDC" + bytes(80), b"<xml/>", bytes(range(256)) * 8])
@pytest.mark.parametrize("name", ["model.usda", "model.usdc", "model.usd"])
def test_damaged_files_are_refused(data, name, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match="readable"):
        dal.load_usd(tmp_path / name)


def test_what_cannot_be_made_names_the_prim(tmp_path):
    for text, words in (
        ('def Xform "x" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}', "</x>: it has no shape"),
        ('def PhysicsFixedJoint "j" { rel physics:body1 = </gone> }', "</j>: it holds /gone"),
        ('def Mesh "m" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { int[] faceVertexCounts = [3] }', "</m>: faceVertex"),
        ('def Cube "c" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) { double size = -1 }', "</c>"),
        ('def Cube "f" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) '
         '{ double3 xformOp:scale = (1, 0, 1); uniform token[] xformOpOrder = ["xformOp:scale"] }', "</f>"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="usda: ") as error:
            load(tmp_path, text)
        assert words in str(error.value)
    with pytest.raises(ValueError, match="does not exist"):
        dal.load_usd(tmp_path / "nothing.usda")
    with pytest.raises(ValueError, match=r"not a \.usda, \.usdc, \.usd file"):
        load(tmp_path, "", name="model.txt")


NESTED = {
    "prims": ('def "a"\n{{\n', "}}\n"), "dictionaries": ("(customLayerData = {{ dictionary a = {{", "}}}})"),
    "tuples": ("def \"a\"\n{{\n double3 x = (", ")}}"), "lists": ('def "a"\n{{\n double[] x = [', "]}}"),
}  # fmt: skip


@pytest.mark.parametrize("depth", [300, 20_000])
@pytest.mark.parametrize("what", NESTED)
@pytest.mark.parametrize("suffix", [".usda", ".usd"])
def test_a_text_that_is_nested_deep_is_refused_before_usd_reads_it(tmp_path, what, depth, suffix):
    head, tail = (part.format() for part in NESTED[what])
    path = tmp_path / f"deep{suffix}"
    path.write_text("#usda 1.0\n" + head * depth + tail * depth)
    with pytest.raises(ValueError, match=r"deep\.usda?: it is nested more than 256 deep"):
        dal.load_usd(path)


def test_a_layer_that_is_referred_to_is_not_nested_deep_either(tmp_path):
    (tmp_path / "inner.usda").write_text("#usda 1.0\n" + 'def "a"\n{\n' * 20_000 + "}\n" * 20_000)
    (tmp_path / "outer.usda").write_text("#usda 1.0\n(subLayers = [@inner.usda@])\n")
    with pytest.raises(ValueError, match=r"inner\.usda: it is nested more than 256 deep"):
        dal.load_usd(tmp_path / "outer.usda")


def test_a_binary_layer_that_is_nested_deep_is_refused(tmp_path):
    path = tmp_path / "deep.usdc"
    layer = Sdf.Layer.CreateNew(str(path))
    with Sdf.ChangeBlock():
        Sdf.CreatePrimInLayer(layer, "/" + "/".join("a" * 400))
    layer.Save()
    with pytest.raises(ValueError, match=r"deep\.usdc: it is nested more than 256 deep"):
        dal.load_usd(path)


def test_brackets_in_strings_paths_and_comments_nest_nothing(tmp_path):
    many = "([{" * 500
    path = tmp_path / "words.usda"
    path.write_text(
        f'#usda 1.0\n# {many}"\n// {many}\'\n/* {many}\n"""\n */\n(\n    doc = """{many}\n " \\""" it\'s {many}"""\n)\n'
        f'def "a"\n{{\n    string s = "{many}\\""\n    string t = \'{many} @\'\n    custom asset u = @{many}@\n}}\n'
    )
    require_shallow(path)
    deep = path.read_text() + 'def "a"\n{\n' * 300 + "}\n" * 300
    path.write_text(deep)
    with pytest.raises(ValueError, match="nested"):
        require_shallow(path)


@pytest.mark.parametrize("begun", ['"abc\n', '"""abc', "'abc\n", "@abc\n", "/* abc", '"abc\\', "# a\r{"])
def test_a_string_or_comment_without_an_end_is_refused_with_its_line(tmp_path, begun):
    path = tmp_path / "open.usda"
    path.write_bytes(b"#usda 1.0\n" + begun.encode() + b"\n{{{{")
    with pytest.raises(ValueError, match=r"open\.usda:2: .* without an end"):
        require_shallow(path)


def test_a_text_of_many_beginnings_is_refused_soon(tmp_path):
    path = tmp_path / "many.usda"
    for text in ("/*" * 500_000, '"""' * 500_001, "@@@" * 500_001, "'" * 1_000_001, "'''\\" * 300_000):
        path.write_text("#usda 1.0\n" + text)
        start = time.thread_time()
        with pytest.raises(ValueError, match="without an end"):
            require_shallow(path)
        assert time.thread_time() - start < 10.0
