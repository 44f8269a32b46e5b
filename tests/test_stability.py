"""Estimates of the fastest oscillation and of the limits of methods, against theory and against runs; the warning."""

from contextlib import nullcontext

import numpy as np
import pytest

import dalembert as dal
from dalembert.cli import app
from dalembert.integrate.tableaus import METHODS
from dalembert.model.compile import compile_scene
from dalembert.simulation.stability import (
    GROWTH,
    Stiffness,
    advice_on_steps,
    amplification,
    grows,
    largest_step,
    stability_warning,
    stiffnesses,
)

K, M = 350.0, 0.07


def oscillator(stiffness=K, mass=M, damping=0.0):
    """A particle on a spring to a pinned one, pulled out a little."""
    scene = dal.Scene("oscillator", gravity=(0, 0, 0))
    scene.add_particles("p", [[0, 0, 0], [1.01, 0, 0]], mass=mass, pinned=[0])
    scene.springs("spring", "p", [[0, 1]], stiffness=stiffness, damping=damping, rest=1.0)
    return scene


def only(scene):
    (found,) = stiffnesses(compile_scene(scene))
    return found


def test_a_single_spring_is_exact():
    found = only(oscillator(damping=0.3))
    assert found.name == "spring" and found.particles
    assert found.frequency == pytest.approx(np.sqrt(K / M), rel=1e-12)
    assert found.damping == pytest.approx(0.3 / M, rel=1e-12)


def test_a_spring_between_free_particles_counts_both_masses():
    scene = dal.Scene()
    scene.add_particles("p", [[0, 0, 0], [0, 2, 0]], mass=[1.0, 3.0])
    scene.springs("spring", "p", [[0, 1]], stiffness=K)
    assert only(scene).frequency == pytest.approx(np.sqrt(K * (1 + 1 / 3)), rel=1e-12)


@pytest.mark.parametrize("n", [5, 40, 400])
def test_a_chain_has_the_fastest_mode_of_theory(n):
    scene = dal.Scene()
    scene.add_particles("p", [[0, 0, -0.1 * i] for i in range(n + 2)], mass=M, pinned=[0, n + 1])
    scene.springs("springs", "p", [[i, i + 1] for i in range(n + 1)], stiffness=K)
    expected = 2.0 * np.sqrt(K / M) * np.cos(0.5 * np.pi / (n + 1))
    assert only(scene).frequency == pytest.approx(expected, rel=1e-3)


def test_each_force_is_named_with_its_own_frequency():
    scene = dal.Scene()
    scene.add_particles("p", [[0, 0, 0], [1, 0, 0], [1, 1, 0]], mass=M, pinned=[0])
    scene.springs("soft", "p", [[0, 1]], stiffness=1.0)
    scene.springs("hard", "p", [[1, 2]], stiffness=1e6)
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0)
    scene.spring("rope", dal.WORLD, "ball", at_a=(0, 0, 1), at_b=(0, 0, 0), stiffness=50.0)
    found = {mode.name: mode for mode in stiffnesses(compile_scene(scene))}
    assert found["soft"].frequency == pytest.approx(np.sqrt(1.0 / M), rel=1e-9)
    assert found["hard"].frequency == pytest.approx(np.sqrt(2e6 / M), rel=1e-9)
    assert found["rope"].frequency == pytest.approx(5.0, rel=1e-12) and not found["rope"].particles


def test_a_spring_off_the_centre_of_a_body_turns_it():
    scene = dal.Scene()
    scene.add_body("bar", mass=2.0, inertia=(0.5, 0.5, 0.1))
    scene.spring("rope", dal.WORLD, "bar", at_a=(1.0, 0, 3.0), at_b=(1.0, 0, 0), stiffness=K)
    assert only(scene).frequency == pytest.approx(np.sqrt(K * (1 / 2.0 + 1.0**2 / 0.5)), rel=1e-12)


@pytest.mark.parametrize(
    ("method", "limit"),
    [
        ("rk4", 2.0 * np.sqrt(2.0)),
        ("bogacki_shampine", np.sqrt(3.0)),
        ("symplectic_euler", 2.0),
        ("splitting", 2.0),
        ("time_stepping", 2.0),
    ],
)
def test_the_limits_on_undamped_oscillations_are_those_of_the_literature(method, limit):
    assert amplification(method, 0.999 * limit, 1.0) <= 1.0 + 1e-12
    assert amplification(method, 1.001 * limit, 1.0) > 1.0 + 1e-4
    assert largest_step(method, 1e6, Stiffness("", 1.0, 0.0, True)) == pytest.approx(limit, rel=1e-4)


def test_euler_and_midpoint_grow_at_any_step():
    assert amplification("euler", 0.01, 1.0) == pytest.approx(np.sqrt(1.0 + 1e-4), rel=1e-14)
    assert amplification("midpoint", 0.01, 1.0) == pytest.approx(np.sqrt(1.0 + 0.25e-8), rel=1e-14)
    found = largest_step("euler", 100.0, Stiffness("", 3.0, 0.0, True))
    assert found == pytest.approx(2.0 * np.log(2.0) / (100.0 * 3.0**2), rel=1e-2)  # |R|ⁿ = exp(½ h ω² t)


def test_damping_has_the_limit_of_the_real_axis():
    damped = Stiffness("", 1.0, 1e3, True)
    assert largest_step("euler", 1e4, damped) == pytest.approx(2e-3, rel=1e-3)
    assert largest_step("rk4", 1e4, damped) == pytest.approx(2.7852935e-3, rel=1e-3)


@pytest.mark.parametrize("method", [*METHODS, "time_stepping"])
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.sampled(2)
def test_runs_grow_where_they_are_foretold_to(method, damping):
    mode = only(oscillator(damping=damping))
    duration = 200.0 * 2.0 / mode.frequency
    limit = largest_step(method, duration, mode)
    for factor, wild in ((0.8, False), (1.3, True)):
        dt = factor * limit
        assert grows(method, dt, duration, mode) == wild
        each = max(1, int(0.2 / (mode.frequency * dt)))  # steps: thirty frames an oscillation, or each step
        try:
            with (
                pytest.warns(dal.SimulationWarning, match="stability limit|grow at any step") if wild else nullcontext()
            ):
                run = dal.simulate(
                    oscillator(damping=damping), duration, method=method, dt=dt, frame_rate=1.0 / (each * dt)
                )
        except dal.SimulationError:
            assert wild
            continue
        energy = (run.trajectory.kinetic + run.trajectory.potential).values
        tenth = max(len(energy) // 10, 3)
        assert (energy[-tenth:].max() > GROWTH**2 * energy[:tenth].max()) == wild


def test_the_warning_names_the_force_and_the_way_out():
    def words(duration=1.0, **settings):
        return stability_warning(dal.Simulation(oscillator(), **settings), duration)

    limit = 2.0 / np.sqrt(K / M)
    beyond = words(method="symplectic_euler", dt=1.5 * limit)
    assert "beyond its stability limit for 'spring'" in beyond and "implicit_euler" in beyond and "0.028" in beyond
    assert "near its stability limit" in words(method="symplectic_euler", dt=0.97 * limit)
    assert words(method="symplectic_euler", dt=0.8 * limit) is None
    assert words(method="implicit_euler", dt=100 * limit) is None
    assert "grow at any step" in words(method="euler", dt=1e-3, duration=10.0)
    assert words(method="euler", dt=1e-6) is None
    assert words(method="dormand_prince") is None


def test_adaptive_methods_are_warned_of_tiny_steps():
    stiff = dal.Simulation(oscillator(stiffness=1e8, mass=1e-3), method="dormand_prince")
    assert "steps per frame to be stable for 'spring'" in advice_on_steps(stiff, 1.0)


def test_the_command_line_warns_and_runs_on(tmp_path, capsys):
    path = tmp_path / "scene.py"
    path.write_text(
        "import dalembert as dal\n"
        "SETTINGS = {'duration': 0.1, 'method': 'rk4', 'dt': 0.001}\n"
        "def build():\n"
        "    scene = dal.Scene('spring')\n"
        "    scene.add_particles('p', [[0, 0, 0], [0, 0, -1]], mass=0.01, pinned=[0])\n"
        "    scene.springs('cord', 'p', [[0, 1]], stiffness=1000.0)\n"
        "    return scene\n"
    )
    assert app(["run", str(path)], result_action="return_value") == 0
    assert "warning" not in capsys.readouterr().err
    assert app(["run", str(path), "--dt", "0.01"], result_action="return_value") in (0, 1)
    error = capsys.readouterr().err
    assert "warning: method 'rk4' at dt = 0.01 s is beyond its stability limit for 'cord'" in error
    assert "implicit_euler" in error
