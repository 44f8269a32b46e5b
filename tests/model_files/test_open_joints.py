"""Joints of every type that a file knows, closed and open, between bodies and to the world: each loads and runs."""

import itertools

import numpy as np
import pytest

import dalembert as dal

FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
LOCKED = {  # what a plain joint of USD becomes, by what it leaves free
    "weld": (), "hinge": ("rotY",), "universal": ("rotX", "rotY"), "ball": ("rotX", "rotY", "rotZ"), "slider": ("transZ",),
    "cylindrical": ("transX", "rotX"), "point_on_line": ("transY", "rotX", "rotY", "rotZ"),
    "point_on_plane": ("transX", "transZ", "rotX", "rotY", "rotZ"),
}  # fmt: skip
TYPED = {"Fixed": "weld", "Revolute": "hinge", "Spherical": "ball", "Prismatic": "slider", "Distance": "rod"}


def plain(kind):
    free = LOCKED[kind]
    held = [name for name in FREEDOMS if name not in free]
    apis = ", ".join(f'"PhysicsLimitAPI:{name}"' for name in held)
    limits = "\n".join(f"float limit:{name}:physics:low = 1\nfloat limit:{name}:physics:high = -1" for name in held)
    return f'def PhysicsJoint "j" (prepend apiSchemas = [{apis}])', limits


def typed(name):
    more = "float physics:minDistance = 0.9\nfloat physics:maxDistance = 0.9" if name == "Distance" else ""
    return f'def Physics{name}Joint "j"', more


JOINTS = {f"plain {kind}": (*plain(kind), kind) for kind in LOCKED} | {
    name: (*typed(name), kind) for name, kind in TYPED.items()
}
BODY = """def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {{
    double size = 0.2
    double3 xformOp:translate = ({x}, 0, 1)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}}
"""


@pytest.mark.parametrize("ends", ["both", "first", "second"])
@pytest.mark.parametrize("gap", [0.0, 0.01])
@pytest.mark.parametrize("name", JOINTS)
def test_joints_of_usd(name, gap, ends, tmp_path):
    pytest.importorskip("pxr", reason="usd-core is not installed")
    head, more, kind = JOINTS[name]
    apart = 0.9 if name == "Distance" else 0.0
    places = {"a": (0.5, 0.0, 0.0), "b": (-0.5 + apart + gap, 0.3 * gap, 0.0)}
    if ends != "both":  # the world instead of one body
        other = "b" if ends == "first" else "a"
        x = 1.0 if other == "b" else 0.0
        places[other] = (places[other][0] + x, places[other][1], 1.0)
    rels = "".join(
        f"rel physics:body{i} = </{body}>\n"
        for i, body in enumerate("ab")
        if ends == "both" or (ends == "first") == (body == "a")
    )
    anchors = "".join(f"point3f physics:localPos{i} = {places[body]}\n" for i, body in enumerate("ab"))
    file = tmp_path / "model.usda"
    file.write_text(
        '#usda 1.0\n(metersPerUnit = 1\nupAxis = "Z")\n' + BODY.format(name="a", x=0) + BODY.format(name="b", x=1)
        + f"{head} {{\n{rels}{anchors}{more}\n}}\n"
    )  # fmt: skip
    model = dal.load_usd(file)
    joint = model.scene.joints["j"]
    assert joint.kind == kind
    told = [str(warning) for warning in model.warnings]
    along = {"slider": gap > 0.0, "cylindrical": False, "point_on_line": False, "point_on_plane": False, "rod": False}
    assert any("open" in line for line in told) == along.get(kind, gap > 0.0)
    free = dal.load_usd(file, contacts=False).scene
    run = dal.Simulation(free, method="rk4", dt=1e-3, assemble=True).advance(0.01)
    assert np.abs(run.trajectory["joint_error"].values[-1]).max() < 1e-9


URDF = """<robot name="r"><link name="base"/>
<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/><origin xyz="0 0 1" rpy="0.3 0 0"/>
<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="0.1" friction="0.01"/></joint>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="k" type="continuous"><parent link="arm"/><child link="tip"/><mimic joint="j" multiplier="2"/></joint>
<link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


@pytest.mark.parametrize("kind", KINDS)
def test_joints_of_urdf(kind, tmp_path):
    file = tmp_path / "model.urdf"
    file.write_text(URDF.format(kind=kind))
    model = dal.load_model(file)
    run = dal.Simulation(model.scene, dt=1e-3, coordinates="joint").advance(0.01)
    assert np.isfinite(run.state.position).all()


MJCF = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="j" type="{joint}"/><geom name="g" size="0.1"/>
<site name="s" pos="0.5 0 0"/></body><body name="b" pos="1 0 1"><joint name="k" type="{joint}"/><geom name="h" size="0.1"/>
<site name="t" pos="{at} 0 0"/></body></worldbody><equality>{equality}</equality></mujoco>"""
EQUALITIES = {
    "connect": '<connect body1="a" body2="b" anchor="0.5 0 0"/>',
    "connect to the world": '<connect body1="a" anchor="0.5 0 0"/>',
    "connect sites": '<connect site1="s" site2="t"/>',
    "weld": '<weld body1="a" body2="b"/>',
    "weld to the world": '<weld body1="a"/>',
    "weld at a pose": '<weld body1="a" body2="b" relpose="1.1 0 0 1 0 0 0"/>',
    "weld sites": '<weld site1="s" site2="t"/>',
    "joints": '<joint joint1="j" joint2="k"/>',
    "one joint": '<joint joint1="j"/>',
}


@pytest.mark.parametrize("at", [-0.5, -0.4])
@pytest.mark.parametrize(("joint", "equality"), list(itertools.product(("hinge", "slide", "ball", "free"), EQUALITIES)))
def test_equalities_of_mjcf(joint, equality, at, tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(MJCF.format(joint=joint, at=at, equality=EQUALITIES[equality]))
    model = dal.load_model(file, contacts=False)
    run = dal.Simulation(model.scene, method="rk4", dt=1e-3).advance(0.01)
    assert np.isfinite(run.state.position).all()
    if at == -0.4 and "sites" in equality:
        assert any("differ at the start" in str(warning) for warning in model.warnings)
