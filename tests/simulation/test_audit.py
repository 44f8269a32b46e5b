"""The balance of energy and momentum closes, as well as the method can."""

import numpy as np
import pytest

import dalembert as dal

from .motions import FIXED, chain, free_body, slope


@pytest.mark.parametrize("method", ["midpoint", "rk4", "dormand_prince", "splitting"])
def test_energy_and_momentum_close_at_the_order_of_the_method(method):
    scene = chain(3, sideways=True)
    scene.drag("air", linear=0.2, angular=0.001)
    scene.spring("band", dal.WORLD, "link2", (0.6, 0.3, 0.5), (0.6, 0, 0), stiffness=20.0, damping=0.5)
    sizes = np.array([4e-3, 2e-3, 1e-3])
    reports = [dal.simulate(scene, 0.5, method=method, dt=h, frame_rate=4).report for h in sizes]
    energies = [report.energy_residual for report in reports]
    assert slope(sizes, energies) >= FIXED[method] - 0.35
    assert reports[-1].momentum_residual <= 1e-13
    limits = {"midpoint": 3e-5, "rk4": 2e-10, "dormand_prince": 5e-12, "splitting": 1.5e-4}
    assert energies[-1] <= limits[method]


def test_splitting_keeps_the_spin_of_a_free_body():
    run = dal.simulate(free_body(), 10.0, method="splitting", dt=1e-2)
    spin = run.trajectory.angular_momentum.values[:, 0]
    np.testing.assert_array_equal(spin, np.broadcast_to(spin[0], spin.shape))


def test_splitting_keeps_the_energy_of_a_free_body_bounded_and_its_angular_momentum_exact():
    """Over 100 s at 20 ms its mean moves by a small part of what it oscillates by; midpoint, of the same order, drifts."""
    drift = {}
    for method in ("splitting", "midpoint"):
        scene = dal.Scene("free", gravity=(0, 0, 0))
        scene.add_body("body", dal.Box(0.1, 0.2, 0.3), mass=1.0, angular_velocity=(0.5, 3.0, 0.4))
        run = dal.simulate(scene, 100.0, method=method, dt=0.02, frame_rate=50)
        energy = run.trajectory.kinetic.values
        third = len(energy) // 3
        drift[method] = abs(energy[-third:].mean() - energy[:third].mean()) / np.ptp(energy[:third])
        spin = run.trajectory.angular_momentum.values[:, 0]
        np.testing.assert_array_equal(spin, np.broadcast_to(spin[0], spin.shape))
    assert drift["splitting"] <= 0.05
    assert drift["midpoint"] >= 0.5


def test_energy_of_a_conservative_chain_at_high_accuracy():
    report = dal.simulate(chain(4, sideways=True), 1.0, method="dop853", rtol=1e-11).report
    assert report.energy_residual_relative <= 2e-13
    assert abs(report.energy_end - report.energy_start) <= 1e-11
    assert abs(report.constraint_work) <= 1e-11
