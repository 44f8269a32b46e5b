"""Each method converges at its order on particles, to motions known in closed form."""

import numpy as np
import pytest

import dalembert as dal

from .motions import EXACT, IMPLICIT, ORDER, PROBLEMS, TIGHT, Damped, Orbit, TwoBodies, errors_of, slope

COUNTS = {
    1: (1600, 3200, 6400),
    2: (100, 200, 400),
    3: (80, 160, 320),
    4: (60, 120, 240),
    5: (80, 120, 160),
    8: (14, 18, 24),
}
ENCOUNTER_COUNTS = {**COUNTS, 8: (28, 36, 44)}  # of orbits, whose errors have large terms of higher order  # fmt: skip


@pytest.mark.parametrize("method", ORDER)
@pytest.mark.parametrize("name", PROBLEMS)
def test_order(name, method):
    problem, order = PROBLEMS[name](), ORDER[method]
    sizes = problem.duration / np.array((ENCOUNTER_COUNTS if name in ("orbit", "two bodies") else COUNTS)[order])
    errors = errors_of(problem, method, sizes, **TIGHT)
    assert slope(sizes, errors) == pytest.approx(order, abs=0.08 * max(order, 2))


@pytest.mark.parametrize("method", ["dormand_prince", "dop853"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_adaptive_methods_follow_their_tolerance(name, method):
    problem = PROBLEMS[name]()
    x, v = problem.motion(problem.duration)
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        state = dal.simulate(problem.scene(), problem.duration, method=method, rtol=rtol).state
        error = np.hypot(np.linalg.norm(state.particle_position - x), np.linalg.norm(state.particle_velocity - v))
        assert error <= 30.0 * rtol


@pytest.mark.parametrize("method", IMPLICIT)
def test_order_of_implicit_steps_with_the_settings_that_users_get(method):
    """The default tolerances of Newton's method and of conjugate gradients do not show at these steps."""
    for problem in (Damped(), Orbit()):
        sizes = problem.duration / np.array(COUNTS[ORDER[method]])
        assert slope(sizes, errors_of(problem, method, sizes)) == pytest.approx(ORDER[method], abs=0.2)


@pytest.mark.parametrize("method", [method for method in ORDER if method != "linear_implicit_euler"])
def test_two_bodies_keep_their_momentum_and_their_centre_of_mass(method):
    problem, h = TwoBodies(), TwoBodies.duration / 200
    run = dal.simulate(problem.scene(), problem.duration, method=method, dt=h, frame_rate=20, **EXACT)
    shares = problem.masses / problem.masses.sum()
    centre = np.einsum("i,tij->tj", shares, run.trajectory.particle_position.values)
    momentum = run.trajectory.particle_momentum.values.sum(axis=1)
    np.testing.assert_allclose(centre, np.outer(run.trajectory.times, problem.drift), rtol=0, atol=1e-12)
    np.testing.assert_allclose(momentum, np.tile(3.0 * problem.drift, (len(momentum), 1)), rtol=0, atol=1e-12)
    assert run.report.momentum_residual <= 1e-12


def test_linear_implicit_euler_keeps_the_momentum_of_two_bodies_to_first_order():
    """The matrix that stands for a law between all has no blocks between its particles, so that it holds them back."""
    problem, sizes = TwoBodies(), TwoBodies.duration / np.array(COUNTS[1])
    ends = [dal.simulate(problem.scene(), problem.duration, method="linear_implicit_euler", dt=h, **TIGHT).state
            for h in sizes]  # fmt: skip
    lost = [np.linalg.norm(state.particle_momentum.sum(axis=0) - 3.0 * problem.drift) for state in ends]
    assert slope(sizes, lost) == pytest.approx(1.0, abs=0.15)


def test_linear_implicit_euler_feels_forces_however_short_its_step_is():
    """Conjugate gradients end relative to the forces of the step, not to the momentum that the particles have anyway."""
    scene = dal.Scene("fast", gravity=(0, 0, -10.0))
    scene.add_particles("p", [[0, 0, 0], [1, 0, 0]], mass=1.0, velocity=(100.0, 0, 0))
    scene.springs("s", "p", [[0, 1]], stiffness=10.0)
    run = dal.simulate(scene, 0.01, method="linear_implicit_euler", dt=1e-4)
    np.testing.assert_allclose(run.state.particle_velocity, [[100.0, 0, -0.1]] * 2, rtol=0, atol=1e-5)
