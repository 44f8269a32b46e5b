"""What varies by name makes the run that a scene with these numbers makes; bad names and values are refused."""

import numpy as np
import pytest

import dalembert as dal

from .scenes import START, pendulum, spring_and_ball

SETTINGS = {"method": "rk4", "dt": 1e-2}
HALF = float(np.sqrt(0.5))

CASES = {
    "mass": ("brick.mass", [0.5, 2.0, 7.0], lambda v: spring_and_ball(mass=v)),
    "stiffness": ("spring.stiffness", [10.0, 90.0], lambda v: spring_and_ball(stiffness=v)),
    "velocity": ("brick.velocity", [(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)], lambda v: spring_and_ball(velocity=v)),
    "spin": ("brick.angular_velocity", [(1.0, 2.0, 3.0), (0.0, 0.0, 9.0)], lambda v: spring_and_ball(spin=v)),
    "gravity": ("gravity", [(0.0, 0.0, -1.62), (0.0, 0.0, -3.7)], lambda v: spring_and_ball(gravity=-v[2])),
    "orientation": (
        "brick.orientation", [(1.0, 0.0, 0.0, 0.0), (HALF, HALF, 0.0, 0.0)], lambda v: spring_and_ball(orientation=v)
    ),
}  # fmt: skip


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("case", CASES)
def test_a_name_varies_what_the_scene_has(case, coordinates):
    name, values, build = CASES[case]
    settings = {**SETTINGS, "coordinates": coordinates}
    batch = dal.run_batch(spring_and_ball(), 0.5, vary={name: values}, **settings)
    for member, value in enumerate(values):
        run = dal.simulate(build(value), 0.5, **settings)
        np.testing.assert_allclose(batch.state[member], run.trajectory.state.values, rtol=1e-11, atol=1e-11)
        alone = batch.alone(member).advance(0.5)
        assert np.array_equal(batch.state[member], alone.trajectory.state.values)
        assert np.array_equal(batch.kinetic[member], alone.trajectory.kinetic.values)
    assert not np.allclose(batch.state[0], batch.state[1])


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_mass_and_joints_vary_together(coordinates):
    masses = np.array([0.3, 1.0, 2.0, 4.0])
    settings = {**SETTINGS, "coordinates": coordinates}
    batch = dal.run_batch(pendulum(), 0.3, vary={**START, "lower.mass": masses}, **settings)
    both = dal.run_batch(pendulum(), 0.3, vary={**START, "upper.mass": masses, "lower.mass": masses}, **settings)
    like = [dal.run_batch(pendulum(mass=m), 0.3, vary=START, **settings) for m in masses]
    assert batch.ok.all()
    for member in range(4):
        np.testing.assert_allclose(both.state[member], like[member].state[member], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(batch.momentum[:, 0, 1], masses[:, None] * like[1].momentum[:, 0, 1], atol=1e-12)
    assert not np.allclose(batch.position[0], like[1].position[0])


def test_joints_start_in_the_same_places_in_either_coordinates():
    maximal, joint = (
        dal.run_batch(pendulum(), 1.0, vary=START, coordinates=c, rtol=1e-10) for c in ("maximal", "joint")
    )
    np.testing.assert_allclose(maximal.state[:, 0, :26], joint.state[:, 0, :26], atol=1e-13)
    np.testing.assert_allclose(maximal.position, joint.position, atol=1e-7)
    np.testing.assert_allclose(maximal.energy_residual, 0.0, atol=1e-7)
    np.testing.assert_allclose(joint.energy_residual, 0.0, atol=1e-7)


@pytest.mark.parametrize(
    "vary, says",
    [
        ({"brick.length": [1.0]}, "'brick.length' to vary; give names such as 'gravity', 'brick.mass'"),
        ({"wall.mass": [1.0]}, "'wall.mass'"),
        ({"brick.mass": [1.0, -2.0]}, "'brick' is np.float64\\(-2.0\\) in member 1"),
        ({"brick.mass": [1.0, np.nan]}, "in member 1; give finite"),
        ({"brick.mass": [[1.0]]}, "'brick.mass' has shape \\(1, 1\\); give \\(1,\\)"),
        ({"brick.mass": 1.0}, "array of one row per member"),
        ({"brick.mass": "heavy"}, "array of one row per member"),
        ({"brick.mass": [1.0, 2.0], "spring.rest": [1.0]}, "'spring.rest' has 1 members, and 'brick.mass' has 2"),
        ({"brick.velocity": [1.0, 2.0]}, "give \\(2, 3\\)"),
        ({"brick.orientation": [(1.0, 1.0, 0.0, 0.0)]}, "not a unit quaternion"),
        ({}, "vary is empty"),
    ],
)
def test_bad_names_and_values_are_refused(vary, says):
    with pytest.raises(ValueError, match=says):
        dal.run_batch(spring_and_ball(), 0.1, vary=vary, **SETTINGS)


def test_gravity_cannot_vary_where_there_is_none():
    with pytest.raises(ValueError, match="the scene has no gravity"):
        dal.run_batch(spring_and_ball(gravity=0.0), 0.1, vary={"gravity": [(0.0, 0.0, -1.0)]}, **SETTINGS)
