"""Free bodies that take the frame of their inertia: `align` of a free joint, `alignfree` of the compiler."""

import numpy as np
import pytest

import dalembert as dal

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

MESH = '<asset><mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .1 .05 .1 .2"/></asset>'
TURNED = 'pos="{} -.1 .2" euler="20 {} 50"'
BODIES = {
    "one box": f'<geom type="box" size=".1 .2 .3" {TURNED.format(0.1, 30)}/>',
    "several": f'<geom type="box" size=".1 .2 .3" {TURNED.format(0.1, 30)}/><geom type="box" size=".2 .1 .1" '
    f'{TURNED.format(-0.3, 70)}/><geom size=".15" pos=".2 .2 .2"/>',
    "a mesh": f'<geom type="mesh" mesh="m" {TURNED.format(-0.1, 80)}/>',
    "a mesh and a ball": '<geom type="mesh" mesh="m"/><geom size=".1" pos=".1 .2 .3"/>',
    "diaginertia": f'<inertial mass="2" diaginertia="1 1.3 .8" {TURNED.format(0.1, 30)}/><geom size=".1"/>',
    "fullinertia": '<inertial mass="2" pos=".1 0 0" fullinertia="2 2.5 1.7 .3 -.2 .1"/><geom size=".1"/>',
}
CHILD = '<body pos="0 0 1"><joint/><geom size=".1"/></body>'


def text(inner, joint="<freejoint/>", compiler=""):
    return (
        f'<mujoco><compiler {compiler}/>{MESH}<worldbody><body name="b" pos="1 2 3" euler="40 -20 70">{joint}{inner}'
        '<site name="s" pos=".3 .2 .1"/></body></worldbody></mujoco>'
    )


def rotation(q):
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(q, float))
    return out.reshape(3, 3)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    ("joint", "compiler", "aligned"),
    [
        ('<freejoint align="true"/>', "", True),
        ("<freejoint/>", 'alignfree="true"', True),
        ('<joint type="free"/>', 'alignfree="true"', True),
        ('<freejoint align="false"/>', 'alignfree="true"', False),
        ("<freejoint/>", "", False),
    ],
)
def test_the_frame_of_a_free_body_is_mujocos(name, joint, compiler, aligned, tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(text(BODIES[name], joint, compiler))
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ours = dal.load_model(file)
    body, frame = ours.scene.bodies["b"], ours.frames["b"]
    assert np.allclose(body.position + body.rotation @ frame.position, model.qpos0[:3], atol=1e-9)
    assert np.allclose(body.rotation, rotation(model.qpos0[3:7]), atol=1e-6)
    site = ours.sites["s"]
    assert np.allclose(body.position + body.rotation @ site.position, data.site_xpos[0], atol=1e-9)
    assert np.allclose(body.rotation @ body.inertia @ body.rotation.T, world_inertia(model, data), atol=1e-9)
    assert (np.abs(frame.position).max() < 1e-12) == aligned
    assert not any("align" in str(warning) for warning in ours.warnings)


def world_inertia(model, data):
    axes = data.ximat[1].reshape(3, 3)
    return axes @ np.diag(model.body_inertia[1]) @ axes.T


def test_a_body_with_children_keeps_its_frame(tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(text(BODIES["one box"] + CHILD, '<freejoint align="true"/>'))
    model = mujoco.MjModel.from_xml_path(str(file))
    ours = dal.load_model(file)
    assert np.allclose(ours.scene.bodies["b"].rotation, rotation(model.qpos0[3:7]))
    assert np.abs(ours.frames["b"].position).max() > 0.1
