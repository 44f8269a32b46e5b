"""Queries of a simulation, by name and at the state of the moment."""

import numpy as np
import pytest

import dalembert as dal


def two_and_the_ground():
    scene = dal.Scene("queries", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    parts = [(dal.Sphere(0.2), (-0.5, 0, 0), (1, 0, 0, 0)), (dal.Sphere(0.2), (0.5, 0, 0), (1, 0, 0, 0))]
    scene.add_body("dumbbell", dal.Compound(parts), mass=1, position=(0, 0, 2))
    scene.add_body("ball", dal.Sphere(0.3), mass=1, position=(1.4, 0, 2))
    return dal.Simulation(scene, dt=0.01)


def test_a_ray_meets_the_nearest_thing():
    run = two_and_the_ground()
    hit = run.ray_cast((0.5, 0, 5), (0, 0, -2))
    assert hit.name == "dumbbell" and hit.distance == pytest.approx(2.8)
    np.testing.assert_allclose(hit.normal, (0, 0, 1), atol=1e-12)
    assert run.ray_cast((0, 0, 5), (0, 0, -1)).name == "ground"
    assert run.ray_cast((0, 0, 5), (0, 0, -1), reach=4.0) is None
    with pytest.raises(ValueError, match="direction"):
        run.ray_cast((0, 0, 5), (0, 0, 0))


@pytest.mark.parametrize("reach", [-1.0, 0.0, float("nan"), "far", True])
def test_a_ray_of_no_length_is_refused(reach):
    with pytest.raises(ValueError, match=f"ray_cast: reach is {reach!r}; give a length above zero"):
        two_and_the_ground().ray_cast((0, 0, 5), (0, 0, -1), reach=reach)


def test_the_gap_of_a_compound_is_that_of_its_nearest_part():
    run = two_and_the_ground()
    gap = run.gap("dumbbell", "ball")
    assert gap.distance == pytest.approx(0.4)
    np.testing.assert_allclose(gap.point_a, (0.7, 0, 2), atol=1e-12)
    np.testing.assert_allclose(gap.normal, (1, 0, 0), atol=1e-12)
    assert run.gap("ball", "ground").distance == pytest.approx(1.7)
    with pytest.raises(ValueError, match=r"'moon'.*ball"):
        run.gap("ball", "moon")


def test_answers_follow_the_motion():
    run = two_and_the_ground()
    assert run.overlapping() == []
    run.state.position[1] = (0.9, 0, 2)
    assert run.overlapping() == [("dumbbell", "ball")]
    before = run.gap("dumbbell", "ground").distance
    run.advance(0.1)
    assert run.gap("dumbbell", "ground").distance < before - 0.04
