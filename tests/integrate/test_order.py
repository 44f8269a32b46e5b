import numpy as np
import pytest

from dalembert.integrate import METHODS, method_names, solve

from .problems import logistic_forced, logistic_solution, oscillator, slope

STEPS = {
    1: [200, 400, 800],
    2: [100, 200, 400],
    3: [60, 90, 120, 160],
    4: [40, 60, 80, 100],
    5: [50, 64, 80, 100],
    8: [12, 14, 16, 18, 20],
}
EXPLICIT = [name for name in method_names if not METHODS[name].partitioned]


@pytest.mark.parametrize("name", EXPLICIT)
def test_order_of_accuracy(name):
    order = METHODS[name].order
    counts = np.array(STEPS[order])
    errors = []
    for count in counts:
        end = solve(logistic_forced, [1.0, 1.0], 0.0, 2.0, name, dt=2.0 / count).y[-1]
        errors.append(np.abs(end - logistic_solution(2.0))[0])
    assert slope(2.0 / counts, errors) == pytest.approx(order, abs=0.1)


def test_symplectic_euler_is_of_first_order():
    counts = np.array([400, 800, 1600])
    errors = [
        np.linalg.norm(solve(oscillator, [1.0, 0.0], 0.0, 2.0, "symplectic_euler", dt=2.0 / count).y[-1] - exact)
        for exact in [np.array([np.cos(2.0), -np.sin(2.0)])]
        for count in counts
    ]
    assert slope(2.0 / counts, errors) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", EXPLICIT)
def test_order_of_dense_output(name):
    """A step's own interpolant from exact data errs by h^(q+1) inside the step, where q is its order."""
    order = METHODS[name].dense_order
    sizes = np.array([0.4, 0.3, 0.2, 0.15]) if order < 7 else np.array([0.8, 0.7, 0.6, 0.5])
    theta = np.linspace(0.0, 1.0, 21)
    errors = []
    for h in sizes:
        solution = solve(oscillator, [1.0, 0.3], 0.0, h, name, dt=h, dense=True)
        at = theta * h
        exact = np.stack([np.cos(at) + 0.3 * np.sin(at), 0.3 * np.cos(at) - np.sin(at)], axis=-1)
        errors.append(np.abs(solution(at) - exact).max())
    assert slope(sizes, errors) == pytest.approx(order + 1, abs=0.25)


@pytest.mark.parametrize("name", [name for name in method_names if name != "splitting"])
def test_dense_output_meets_the_steps(name):
    solution = solve(oscillator, [1.0, 0.3], 0.0, 1.0, name, dt=0.25, dense=True)
    np.testing.assert_allclose(solution(solution.t), solution.y, atol=2e-15)
    assert solution(0.3).shape == (2,)
    with pytest.raises(ValueError, match="outside the run"):
        solution(1.5)
