"""Each method converges at its order, on a free body and on a double pendulum."""

import numpy as np
import pytest

import dalembert as dal

from .motions import FIXED, double_pendulum, double_pendulum_angles, free_body, free_body_reference, slope

COUNTS = {1: (800, 1600, 3200), 2: (200, 400, 800), 3: (100, 200, 400), 4: (60, 120, 240), 5: (80, 120, 180),
          8: (56, 62, 68)}  # fmt: skip
DURATIONS = {5: 5.0, 8: 8.0}  # s; else 2: errors of high orders take longer to rise above rounding
PENDULUM_COUNTS = {1: (800, 1600, 3200), 2: (200, 400, 800), 3: (100, 200, 400), 4: (240, 360, 480),
                   5: (180, 270, 400), 8: (24, 28, 32)}  # fmt: skip


def end(scene, method, count, duration):
    return dal.simulate(scene, duration, method=method, dt=duration / count, frame_rate=1.0 / duration).state


@pytest.mark.parametrize("method", FIXED)
def test_order_on_a_free_body(method):
    counts, duration = COUNTS[FIXED[method]], DURATIONS.get(FIXED[method], 2.0)
    expected = free_body_reference(duration)
    ends = [end(free_body(), method, n, duration).orientation[0] for n in counts]
    errors = [min(np.linalg.norm(q - expected), np.linalg.norm(q + expected)) for q in ends]
    order = 4 if method == "splitting" else FIXED[method]  # free rotation is, whatever forces are
    assert slope(1.0 / np.array(counts), errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("method", FIXED)
def test_order_on_a_double_pendulum(method):
    counts = PENDULUM_COUNTS[FIXED[method]]
    angle, duration = (0.5, 1.6) if FIXED[method] == 8 else (np.pi / 2, 0.8)
    expected = double_pendulum_angles(duration, angle)
    errors = [np.linalg.norm(end(double_pendulum(angle), method, n, duration).position - expected) for n in counts]
    assert slope(1.0 / np.array(counts), errors) == pytest.approx(FIXED[method], abs=0.1)


def test_splitting_is_of_second_order_with_drag():
    scene = dal.Scene("drag", gravity=(0, 0, 0))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1.0, 0, 0))
    scene.drag("air", linear=1.0)
    sizes = np.array([0.04, 0.02, 0.01])
    runs = [dal.simulate(scene, 1.0, method="splitting", dt=h) for h in sizes]
    assert slope(sizes, [abs(run.state.velocity[0, 0] - np.exp(-1.0)) for run in runs]) == pytest.approx(2.0, abs=0.1)
    assert slope(sizes, [run.report.energy_residual for run in runs]) >= 1.9
