"""Which works of forces figures and pages show."""

import numpy as np

import dalembert as dal
from dalembert.view.plots import MOST, drawn_works


def test_of_many_works_the_largest_are_drawn_and_the_others_are_one_line():
    scene = dal.Scene("many", gravity=(0, 0, 0))
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    for i in range(12):
        scene.external_force(f"force {i}", ball, force=((i * 5) % 12 + 0.5, 0, 0))
    trajectory = dal.simulate(scene, 0.2).trajectory
    lines = drawn_works(trajectory)
    assert len(lines) == MOST + 1
    assert lines[-1][0] == "work of 4 others"
    np.testing.assert_allclose(sum(values for _, values in lines), trajectory.work.sum("force").values)
    drawn = max(abs(values[-1]) for _, values in lines[:-1])
    assert drawn == np.abs(trajectory.work.values[-1]).max()
    assert min(abs(values[-1]) for _, values in lines[:-1]) > np.sort(np.abs(trajectory.work.values[-1]))[3]


def test_a_few_works_are_all_drawn():
    scene = dal.Scene("few")
    scene.external_force("push", scene.add_body("ball", dal.Sphere(0.1), mass=1.0), force=(1.0, 0, 0))
    assert [label for label, _ in drawn_works(dal.simulate(scene, 0.1).trajectory)] == ["work: push"]
