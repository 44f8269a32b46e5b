"""From a scene to tables."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.model.compile import compile_scene


def scene():
    made = dal.Scene("pair")
    one = made.add_body("one", dal.Box(1, 2, 3), mass=2.0, position=(1, 0, 0), velocity=(0, 1, 0))
    two = made.add_body("two", dal.Sphere(0.5), mass=1.0, orientation=(0, 1, 0, 0), angular_velocity=(0, 0, 2))
    made.hinge("pin", one, two, (0.5, 0, 0), (0, 0, 1))
    made.torsion_spring("coil", "pin", stiffness=1.0, rest=0.5)
    made.drag("air", linear=0.1)
    return made


def test_state_holds_position_orientation_and_momenta():
    model = compile_scene(scene())
    one, two = model.initial[model.body_slice("one")], model.initial[model.body_slice("two")]
    np.testing.assert_array_equal(one, [1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0])
    np.testing.assert_allclose(two[3:], [0, 1, 0, 0, 0, 0, 0, 0, 0, 2 * 0.4 * 0.25], atol=1e-16)
    assert model.size == 26 + 1 + 2 + 14
    np.testing.assert_array_equal(model.initial[26:], 0.0)


def test_names_are_in_the_order_they_were_given():
    model = compile_scene(scene())
    assert model.body_names == ("one", "two")
    assert model.joint_names == ("pin",)
    assert model.force_names == ("coil", "air")


def test_only_the_motion_counts_in_the_error():
    model = compile_scene(scene())
    assert (model.weights[:26] > 0.0).all() and not model.weights[26:].any()


def test_principal_axes_of_an_oblique_body():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    inertia = turn @ np.diag([1.0, 2.0, 2.5]) @ turn.T
    made = dal.Scene()
    made.add_body("oblique", mass=1.0, inertia=inertia)
    row = compile_scene(made).tables["bodies"][0]
    w, x, y, z = row.principal
    axes = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
    np.testing.assert_allclose(row.moments, [1.0, 2.0, 2.5], rtol=1e-14)
    np.testing.assert_allclose(axes @ np.diag(row.moments) @ axes.T, inertia, atol=5e-15)


def test_workspaces_are_separate():
    model = compile_scene(scene())
    one, two = model.system(), model.system()
    one.joints.active[:] = 0
    one.forces.active[:] = 0
    one.jacobian[:] = 7.0
    assert two.joints.active.all() and two.forces.active.all() and not two.jacobian.any()
    assert model.system().joints.active.all() and model.system().forces.active.all()


def test_workspace_that_must_be_written_is_poisoned():
    system = compile_scene(scene()).system()
    for name in ("values", "lower", "rhs", "scale", "residual", "scratch", "power", "energies", "rates", "wrenches"):
        assert np.isnan(getattr(system, name)).all(), name


def test_size_of_the_model_is_its_longest_arm():
    assert compile_scene(scene()).length == pytest.approx(0.5)
    free = dal.Scene()
    free.add_body("one", dal.Sphere(0.1), mass=1.0)
    assert compile_scene(free).length == 1.0


def test_a_scene_without_bodies_is_refused():
    with pytest.raises(ValueError, match="nothing that moves"):
        compile_scene(dal.Scene("empty"))
