"""USD Physics: what is exported is read back, and files of others are read by the rules of the schema."""

import sys

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.checks import rotation_matrix
from dalembert.simulation.articulation import Articulation

from .trees import random_tree

pxr = pytest.importorskip("pxr", reason="usd-core is not installed")
from pxr import Usd, UsdGeom, UsdPhysics  # noqa: E402

FLOAT = 3e-7  # relative: USD keeps most numbers in float32


def back(scene, folder, suffix=".usda"):
    """The model read from the exported file, and the warnings of both ways as texts."""
    warnings = dal.export_usd(scene, folder / f"model{suffix}")
    model = dal.load_usd(folder / f"model{suffix}")
    return model, [str(warning) for warning in [*warnings, *model.warnings]]


def require_same_bodies(one, other):
    assert list(one.bodies) == list(other.bodies)
    for name, body in one.bodies.items():
        found = other.bodies[name]
        for what in ("mass", "inertia", "position", "rotation", "velocity", "angular_velocity"):
            a, b = np.array(getattr(body, what)), np.array(getattr(found, what))
            assert np.abs(a - b).max() <= FLOAT * max(1.0, np.abs(a).max()), what
        assert (body.material, body.color) == (found.material, found.color)


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_bodies_shapes_and_contact_come_back(suffix, tmp_path):
    rng = np.random.default_rng(0)
    scene = dal.Scene("things", gravity=(0.0, 1.5, -9.81))
    hull = dal.ConvexHull(rng.normal(size=(12, 3)))
    parts = [(dal.Box(1, 1, 1), (1, 2, 3), (0.6, 0, 0.8, 0)), (hull, (0, 0, 1)), (dal.Sphere(0.2), (1, 0, 0))]
    shapes = [dal.Box(1, 2, 3), dal.Sphere(0.4), dal.Cylinder(0.2, 0.7), dal.Cone(0.3, 0.8), dal.Capsule(0.1, 0.9)]
    shapes += [hull, dal.Compound(parts)]
    for i, shape in enumerate(shapes):
        scene.add_body(
            f"body {i}", shape, density=500.0, position=rng.normal(size=3), orientation=rng.normal(size=4),
            velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3),
            material=dal.Material(round(0.1 * i, 3), round(0.05 * i, 3)) if i else None,
        )  # fmt: skip
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -5), orientation=(0.8, 0.6, 0, 0))
    scene.add_obstacle("ramp", dal.Box(9, 9, 1), position=(0, 0, -3), material=dal.Material(0.9))
    hills = scene.add_obstacle("hills", dal.HeightField(rng.normal(size=(4, 5)), 0.5), position=(20, 0, 0))
    scene.set_contact("body 1", "body 2", enabled=False)
    scene.set_contact("ramp", "body 3", enabled=False)
    model, warnings = back(scene, tmp_path, suffix)
    assert warnings == ["materials: USD has no rule for combining two different frictions; readers often average"]
    require_same_bodies(scene, model.scene)
    assert np.allclose(model.scene.gravity, scene.gravity, rtol=FLOAT) and model.scene.name == "things"
    for name, body in scene.bodies.items():
        one, other = (
            np.sort((item.shape.triangles()[0] - item.center) @ item.rotation.T + item.position, axis=0)
            for item in (body, model.scene.bodies[name])
        )
        assert one.shape == other.shape and np.abs(one - other).max() < 1e-5
    for name, obstacle in scene.obstacles.items():
        found = model.scene.obstacles[name]
        assert found.material == obstacle.material
        assert np.allclose(found.position, obstacle.position) and np.allclose(found.rotation, obstacle.rotation)
    assert isinstance(model.scene.obstacles["hills"].shape, dal.TriangleMesh)
    assert np.allclose(model.scene.obstacles["hills"].shape.vertices, hills.shape.triangles()[0], atol=1e-6)
    rules = {frozenset((rule.a, rule.b)) for rule in model.scene.contact_rules if not rule.enabled}
    assert rules == {frozenset(("body 1", "body 2")), frozenset(("ramp", "body 3"))}


@pytest.mark.parametrize("seed", range(12))
def test_trees_of_all_joints_come_back_with_their_mechanics(seed, tmp_path):
    scene = random_tree(seed, links=False)
    for joint in scene.joints.values():
        joint.armature = 0.0  # which USD has not
    model, warnings = back(scene, tmp_path)
    assert warnings == []
    one, other = Articulation(scene), Articulation(model.scene)
    assert model.joints == list(scene.joints) and one.coordinates == other.coordinates
    rng = np.random.default_rng(seed)
    for _ in range(3):
        u = one.start.copy()
        for i, name in enumerate(one.coordinates):
            if not name.endswith((".qw", ".qx", ".qy", ".qz")):
                u[i] += rng.normal()
        w = rng.normal(size=len(one.speeds))
        first, second = one.mass_matrix(u), other.mass_matrix(u)
        assert np.abs(first - second).max() < 1e-5 * np.abs(first).max()
        first, second = one.bias_force(u, w), other.bias_force(u, w)
        assert np.abs(first - second).max() < 1e-5 * max(1.0, np.abs(first).max())


def test_stops_springs_and_motors_come_back(tmp_path):
    scene = dal.Scene("driven")
    last = dal.WORLD
    joints = []
    for i, kind in enumerate(("hinge", "slider", "cylindrical", "hinge")):
        body = scene.add_body(f"body {i}", dal.Box(1, 1, 1), mass=1.0, position=(i, 0, 0))
        joints.append(getattr(scene, kind)(f"joint {i}", last, body, (i - 0.5, 0, 0), (0.6, 0, 0.8)))
        last = body
    scene.limit("stops", joints[0], lower=-0.5, upper=1.25)
    scene.limit("half", joints[1], lower=-0.5)
    scene.limit("turn", joints[2], upper=0.75, coordinate="angle")
    scene.torsion_spring("coil", joints[0], stiffness=3.0, damping=0.5, rest=0.25)
    scene.torsion_spring("more", joints[0], stiffness=1.0, rest=-0.75)
    scene.motor("servo", joints[1], effort=1.0, stiffness=4.0, damping=2.0, speed=0.5, position=0.25, limit=8.0)
    scene.motor("speed", joints[3], speed=1.5, damping=0.25)
    model, warnings = back(scene, tmp_path)
    assert warnings == []
    found = model.scene.forces
    stops = {name: force.stops for name, force in found.items() if force.kind == "limit"}
    assert np.allclose(stops["joint 0/angle limit"], (-0.5, 1.25), rtol=FLOAT)
    assert np.allclose(stops["joint 1/displacement limit"], (-0.5, np.inf), rtol=FLOAT)
    assert np.allclose(stops["joint 2/angle limit"], (-np.inf, 0.75), rtol=FLOAT)

    def effort(force, s, v):
        return min(
            force.limit, force.rest + force.stiffness * (force.position - s) + force.damping * (force.target - v)
        )

    for s, v in ((0.0, 0.0), (0.4, -0.3)):
        assert np.isclose(effort(found["joint 0/angle drive"], s, v), 3 * (0.25 - s) - 0.5 * v + (-0.75 - s), atol=1e-6)
        assert np.isclose(
            effort(found["joint 1/displacement drive"], s, v), 1 + 4 * (0.25 - s) + 2 * (0.5 - v), atol=1e-6
        )
        assert np.isclose(effort(found["joint 3/angle drive"], s, v), 0.25 * (1.5 - v), atol=1e-6)
    assert found["joint 1/displacement drive"].limit == 8.0 and len(found) == 6


def test_rods_and_points_on_lines_and_planes_come_back(tmp_path):
    scene = dal.Scene("loops")
    a = scene.add_body("a", dal.Sphere(0.1), mass=1.0)
    b = scene.add_body("b", dal.Sphere(0.1), mass=1.0, position=(1, 2, 0))
    scene.rod("rod", a, b, (0, 0, 0), (1, 2, 0))
    scene.rod("longer", a, dal.WORLD, (0, 0, 0), (0, 0, 1), length=1.5)
    scene.point_on_line("line", dal.WORLD, b, (1, 2, 0), (0, 0.6, 0.8))
    scene.point_on_plane("plane", a, b, (1, 2, 0), (0, 0.8, 0.6))
    model, warnings = back(scene, tmp_path)
    assert warnings == []
    found = model.scene.joints
    assert [joint.kind for joint in found.values()] == ["rod", "rod", "point_on_line", "point_on_plane"]
    assert np.isclose(found["rod"].parts[0].value, np.sqrt(5.0)) and np.isclose(found["longer"].parts[0].value, 1.5)
    assert np.allclose(found["line"].axis, (0, 0.6, 0.8)) and np.allclose(found["plane"].parts[0].axis_a, (0, 0.8, 0.6))


def test_what_usd_cannot_say_is_listed(tmp_path):
    scene = dal.Scene("much")
    a = scene.add_body("a", dal.Ellipsoid(1, 2, 3), mass=1.0)
    b = scene.add_body("b", dal.Box(1, 1, 1), mass=1.0, position=(1, 0, 0))
    h, g = scene.hinge("h", dal.WORLD, a, (0, 0, 0), (0, 0, 1)), scene.hinge("g", a, b, (0, 0, 0), (0, 0, 1))
    scene.gear("gear", h, g, 2.0)
    scene.armature(h, 0.5)
    link = scene.add_link("link")
    scene.ball("on link", link, b, (1, 0, 0))
    scene.spring("spring", dal.WORLD, b, (0, 0, 0), (1, 0, 0), stiffness=1.0)
    scene.drag("air", linear=1.0)
    scene.joint_friction("dry", h, effort=1.0)
    scene.motor("ideal", h, speed=1.0)
    scene.motor("push", g, effort=1.0)
    scene.motor("own", h, function=lambda t, s, v: 1.0)
    scene.limit("bouncy", h, upper=1.0, restitution=0.5)
    scene.event("stop", lambda t, y: t - 1.0, stop=True)
    scene.add_particles("dust", [[0.0, 0.0, 5.0]], mass=1.0)
    warnings = [str(warning) for warning in dal.export_usd(scene, tmp_path / "much.usda")]
    starts = ("body 'a'", "gear 'gear'", "hinge 'h'", "ball 'on link'", "spring 'spring'", "drag 'air'", "friction 'dry'",
              "servo 'ideal'", "motor 'push'", "motor 'own'", "limit 'bouncy'", "event 'stop'", "particles")  # fmt: skip
    for start in starts:
        assert sum(line.startswith(start) for line in warnings) == 1, start
    assert len(warnings) == len(starts)


def test_a_run_has_a_sample_at_each_instant(tmp_path):
    rng = np.random.default_rng(0)
    q = rng.normal(size=(20, 1, 4))
    q /= np.linalg.norm(q, axis=2, keepdims=True)
    variables = {"time": 0.05 * np.arange(20), "position": rng.normal(size=(20, 1, 3)), "orientation": q}
    variables |= {"kinetic": np.zeros(20), "potential": np.zeros(20), "particle_position": rng.normal(size=(20, 6, 3))}
    run = dal.Trajectory.from_arrays(variables, bodies=["1 body"])
    warnings = dal.export_usd(run, tmp_path / "run.usdc")
    assert ["saved run has no physics" in str(warning) for warning in warnings] == [True]
    stage = Usd.Stage.Open(str(tmp_path / "run.usdc"))
    assert stage.GetTimeCodesPerSecond() == 20.0 and stage.GetEndTimeCode() == 19.0
    prim = next(prim for prim in stage.Traverse() if prim.GetDisplayName() == "1 body")
    points = UsdGeom.Points(stage.GetPrimAtPath("/World/particles"))
    for k in range(20):
        matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(k))
        assert np.allclose(matrix[3, :3], variables["position"][k, 0], atol=1e-15)
        assert np.allclose(matrix[:3, :3].T, rotation_matrix(q[k, 0]), atol=1e-12)
        assert np.allclose(points.GetPointsAttr().Get(k), variables["particle_position"][k], atol=1e-6)


def test_cloth_and_threads_are_meshes_and_curves(tmp_path):
    vertices, faces = dal.triangle_grid(1.0, 1.0, 3, 3)
    scene = dal.Scene("soft")
    scene.cloth("cloth", vertices, faces, density=0.2, stretch=100, shear=50, bend=1e-4)
    scene.thread("thread", vertices[:4] + [0, 0, 1], density=0.1)
    dal.export_usd(scene, tmp_path / "soft.usda")
    stage = Usd.Stage.Open(str(tmp_path / "soft.usda"))
    assert len(UsdGeom.Mesh(stage.GetPrimAtPath("/World/cloth")).GetFaceVertexCountsAttr().Get()) == len(faces)
    curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/World/thread"))
    assert list(curves.GetCurveVertexCountsAttr().Get()) == [2, 2, 2]


def test_without_usd_core_the_way_out_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(ImportError, match=r"pip install 'dalembert\[usd\]'"):
        dal.export_usd(dal.Scene("none"), tmp_path / "none.usda")
    with pytest.raises(ImportError, match="usd-core"):
        dal.load_usd(tmp_path / "none.usda")


def test_the_schema_finds_its_own(tmp_path):
    """The parser of USD itself reads bodies, colliders and joints from the file."""
    scene = random_tree(1, links=False)
    dal.export_usd(scene, tmp_path / "tree.usda")
    stage = Usd.Stage.Open(str(tmp_path / "tree.usda"))
    rigid = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    assert len(rigid) == len(scene.bodies) and len(joints) == len(scene.joints)
