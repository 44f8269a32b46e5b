"""200 random mechanisms: every formulation gives the same motion, and the report is true. `make soak` runs thousands."""

import pytest

import dalembert as dal

from .mechanism_checks import DURATION, FRAMES, RTOL, coordinates_problems, difference, mechanism_problems, simulate
from .mechanisms import random_mechanism
from .symbolic_chains import KINDS, random_chain


@pytest.mark.parametrize("block", range(20))
@pytest.mark.sampled(3)
def test_maximal_and_joint_coordinates_agree_and_the_report_is_true(block):
    problems = {}
    for seed in range(10 * block, 10 * block + 10):
        scene = random_mechanism(seed)
        if found := mechanism_problems(scene):
            problems[f"{scene.description} {seed}"] = found
    assert not problems, problems


@pytest.mark.parametrize("seed", range(4 * len(KINDS)))
def test_expressions_in_sympy_give_the_motion_that_both_coordinates_give(seed):
    scene, coordinates = random_chain(seed)
    run = simulate(scene)
    written = simulate(scene, coordinates=coordinates)
    assert difference(run, written) < 2e-8
    assert not coordinates_problems(scene, run, 2e-8)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_a_run_again_is_the_same_to_the_last_bit(seed, coordinates):
    scene = random_mechanism(seed)
    run = dal.simulate(scene, DURATION, rtol=RTOL, frame_rate=FRAMES, coordinates=coordinates)
    again = dal.replay(run.trajectory, random_mechanism(seed))
    assert again.same, again
