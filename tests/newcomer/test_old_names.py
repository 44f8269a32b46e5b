"""Old names work for one release, with a warning that names the new one and points at the line of the user."""

import warnings

import numpy as np
import pytest
import sympy as sp

import dalembert as dal
from dalembert.core.renamed import current_names
from dalembert.simulation.registry import override


def ball():
    scene = dal.Scene("ball")
    body = scene.add_body("ball", dal.Sphere(0.1), mass=2.0)
    scene.hinge("axle", dal.WORLD, body, at=(0, 0, 0), axis=(0, 0, 1))
    return scene


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def with_warning(call, new):
    with pytest.warns(DeprecationWarning, match=new) as caught:
        found = call()
    assert all(each.filename == __file__ for each in caught if each.category is DeprecationWarning)
    return found


def test_external_forces_were_loads():
    scene = ball()
    old = with_warning(lambda: scene.load("push", "ball", force=(1, 0, 0)), r"Scene\.external_force")
    new = quietly(lambda: scene.external_force("pull", "ball", force=(1, 0, 0)))
    assert type(old) is type(new) and np.array_equal(old.vector, new.vector)


def test_the_damping_of_a_motor_was_its_gain():
    scene = ball()
    old = with_warning(lambda: scene.motor("old", "axle", speed=1.0, gain=3.0), "damping")
    assert old.damping == quietly(lambda: scene.motor("new", "axle", speed=1.0, damping=3.0)).damping == 3.0
    with pytest.raises(TypeError, match="gain and damping are both given"):
        scene.motor("both", "axle", gain=1.0, damping=1.0)


def test_electrostatics_was_coulomb():
    scene = dal.Scene()
    scene.add_particles("ions", [(0, 0, 0), (1, 0, 0)], mass=1.0)
    assert with_warning(lambda: scene.coulomb("charges", charge=1e-6), "electrostatics").kind == "electrostatics"


def test_forces_within_limits_were_bounded():
    scene = ball()
    scene.limit("stop", "axle", upper=1.0)
    assert with_warning(scene.bounded, "limited_forces") == quietly(scene.limited_forces) == ["stop"]


def test_the_kinematics_of_generalized_coordinates_were_evaluate():
    scene = ball()
    angle = sp.Symbol("angle")
    own = dal.GeneralizedCoordinates(scene, [angle], {"ball": ((0, 0, 0), ((0, 0, 1), angle))})
    old, new = with_warning(lambda: own.evaluate([0.3]), "kinematics"), quietly(lambda: own.kinematics([0.3]))
    assert old.shape == (1, 30) and np.array_equal(old, new)


@pytest.mark.parametrize(
    ("old", "new", "arguments"),
    [("sheet", "triangle_grid", (1.0, 1.0, 2, 2)), ("block", "tetrahedron_grid", ((1, 1, 1), (1, 1, 1)))],
)
def test_meshes_of_particles(old, new, arguments):
    found = with_warning(lambda: getattr(dal, old), new)(*arguments)
    for a, b in zip(found, quietly(lambda: getattr(dal, new)(*arguments)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert old not in dir(dal)


@pytest.mark.parametrize("make", [
    lambda **rate: dal.Simulation(ball(), method="rk4", dt=0.1, **rate),
    lambda **rate: dal.simulate(ball(), 0.1, method="rk4", dt=0.1, **rate),
], ids=["Simulation", "simulate"])  # fmt: skip
def test_the_rate_of_frames_was_called_frames(make):
    old = with_warning(lambda: make(frames=20.0), "frame_rate")
    assert old.frame_rate == make(frame_rate=20.0).frame_rate == 20.0
    assert with_warning(lambda: old.frames, "frame_rate") == 20.0
    with pytest.raises(TypeError, match="frames and frame_rate are both given"):
        make(frames=20.0, frame_rate=20.0)


def test_settings_of_files_and_batches_may_have_old_names():
    with pytest.warns(DeprecationWarning, match="frame_rate"):
        assert override({"frames": 30.0}, {"frame_rate": 60.0}) == {"frame_rate": 60.0}
    with pytest.warns(DeprecationWarning, match="frame_rate"):
        batch = dal.run_batch(ball(), 0.2, vary={"axle.speed": [1.0]}, coordinates="joint", frames=10.0)
    assert len(batch.times) == 3
    with pytest.warns(DeprecationWarning, match="frame_rate"):
        found = dal.sweep(ball, {"frames": [5.0]}, 0.2, how="serial", method="rk4", dt=0.1)
    assert found.time.size == 2
    assert quietly(lambda: current_names({"frames": 5.0}, quiet=True)) == {"frame_rate": 5.0}


def test_signatures_and_completion_have_new_names_only():
    import inspect

    assert "frame_rate" in inspect.signature(dal.Simulation).parameters
    assert "frames" not in inspect.signature(dal.simulate).parameters
    assert "gain" not in inspect.signature(dal.Scene.motor).parameters
