"""Velocities and accelerations of contacts against differences of their separation along the motion."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.core.c_function import DERIVATIVE
from dalembert.impact.driver import EventDriver
from dalembert.impact.features import BALL, EDGES, LINE, PLANE, RESPOND, TOUCH

STEP = 4e-4


def tumbling_pair(seed):
    rng = np.random.default_rng(seed)
    scene = dal.Scene("pair", material=dal.Material(0.5))
    for k in range(2):
        scene.add_body(
            f"body {k}", dal.Box(0.3, 0.5, 0.8), mass=1 + k, position=(3.0 * k, 0, 0), orientation=rng.normal(size=4),
            velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3),
        )  # fmt: skip
    run = dal.Simulation(scene, method="dormand_prince")
    assert isinstance(run._driver, EventDriver)
    return run, run._driver.system, rng


def random_touch(kind, rng):
    touch = np.zeros(1, TOUCH)
    touch["kind"], touch["i"], touch["j"], touch["sign"] = kind, 0, 1, 1.0
    for name in ("point_i", "point_j"):
        touch[name] = 0.4 * rng.normal(size=3)
    for name in ("axis_i", "axis_j"):
        direction = rng.normal(size=3)
        touch[name] = direction / np.linalg.norm(direction)
    touch["radius_i"], touch["radius"], touch["friction"] = 0.2, 0.5, 0.5
    return touch


def follow(system, y, steps):
    """The state after so many steps of length `STEP`, forwards or back, by RK4 with substeps."""
    y, h, k = y.copy(), np.sign(steps) * STEP / 4, np.zeros((4, y.size))
    for _ in range(4 * abs(steps)):
        for stage, part in enumerate((0.0, 0.5, 0.5, 1.0)):
            system.mechanism(DERIVATIVE, 0.0, y + part * h * k[stage - 1] if stage else y.copy(), k[stage])
        y += h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    return y


def measured(system, y):
    system(RESPOND, 0.0, y.copy(), np.zeros(y.size))
    touch = system.tables.touches[0]
    return touch.copy(), system.tables.free[:3].copy()


def slope(values):
    """Derivative by differences of fourth order, from values at −2, −1, 1 and 2 steps."""
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * STEP)


@pytest.mark.parametrize("kind", [PLANE, BALL, LINE, EDGES])
@pytest.mark.parametrize("seed", range(3))
def test_rates_of_the_separation(kind, seed):
    run, system, rng = tumbling_pair(seed)
    touch = random_touch(kind, rng)
    system.set_touches(touch, np.zeros((0, 4)), 0)
    y = run.state.y.copy()
    here, free = measured(system, y)
    around = [measured(system, follow(system, y, s))[0] for s in (-2, -1, 1, 2)]
    assert here["velocity"][0] == pytest.approx(slope([t["gap"] for t in around]), abs=1e-8)
    assert free[0] == pytest.approx(slope([t["velocity"][0] for t in around]), abs=1e-7)


@pytest.mark.parametrize("kind", [PLANE, BALL, LINE, EDGES])
def test_rates_of_the_slip_where_there_is_none(kind):
    """In contact and without relative velocity, as where it sticks or rolls."""
    run, system, rng = tumbling_pair(7)
    touch = random_touch(kind, rng)
    system.set_touches(touch, np.zeros((0, 4)), 0)
    y = run.state.y.copy()
    for _ in range(3):
        here, _ = measured(system, y)
        y[0:3] -= here["gap"] * here["frame"][:3]
        y[7:10] -= here["frame"].reshape(3, 3).T @ here["velocity"]
    here, free = measured(system, y)
    assert abs(here["gap"]) < 1e-12 and np.abs(here["velocity"]).max() < 1e-12
    tangents = here["frame"].reshape(3, 3)[1:]
    along = []
    for s in (-2, -1, 1, 2):
        touch = measured(system, follow(system, y, s))[0]
        along.append(tangents @ touch["frame"].reshape(3, 3).T @ touch["velocity"])
    np.testing.assert_allclose(free[1:], slope(along), atol=1e-6)
