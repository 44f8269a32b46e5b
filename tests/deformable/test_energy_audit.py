"""The energy and momentum balance of particles closes as well as the method allows."""

import numpy as np
import pytest

import dalembert as dal

from .motions import EXACT, FIXED, ORDER, STEPPED, TIGHT, Modes, Orbit, Oscillator, TwoBodies, net, slope

COUNTS = {1: (400, 800, 1600), 2: (100, 200, 400), 3: (100, 200, 400), 4: (60, 120, 240), 5: (60, 80, 120),
          8: (12, 15, 20)}  # fmt: skip


def gust(t, x, v):
    return (0.2 * np.sin(3.0 * t), 0.1 * x[0], -0.05 * v[2])


def audited():
    """All that takes energy from particles or gives it to them, and a law between them."""
    scene = net(3, damping=0.3, squeeze=0.8)
    scene.medium("air", linear=0.01, quadratic=0.02, velocity=(0.3, 0, 0))
    scene.field("gust", function=gust)
    scene.field("pull", acceleration=(0.5, 0, 0), force=(0, 0.02, 0))
    scene.electrostatics("charge", charge=1e-6)
    scene.wind("wind", "net", [[0, 1, 4], [4, 5, 8]], velocity=(1.0, 2.0, 0.0), density=0.5)
    return scene


@pytest.mark.parametrize("method", ORDER)
def test_energy_closes_at_the_order_of_the_method(method):
    sizes = 0.4 / np.array(COUNTS[ORDER[method]])
    reports = [dal.simulate(audited(), 0.4, method=method, dt=h, frame_rate=5, **TIGHT).report for h in sizes]
    residuals = [report.energy_residual_relative for report in reports]
    assert slope(sizes, residuals) >= ORDER[method] - 0.25
    assert min(abs(work) for name, work in reports[-1].work.items() if name not in ("pull", "charge")) >= 1e-4


def momentum_lost(method, **settings):
    """The residual of linear momentum of a run, relative to the momentum there is."""
    run = dal.simulate(audited(), 0.4, method=method, frame_rate=20, **settings)
    return run.report.momentum_residual / np.abs(run.trajectory.particle_momentum.values).sum(axis=(1, 2)).max()


# Symplectic Euler books the forces at one end of a step, and uses them otherwise.
@pytest.mark.parametrize("method", [method for method in ORDER if method != "symplectic_euler"])
def test_linear_momentum_closes_with_what_holds_pinned_particles(method):
    linear = {"linear_solver": "direct"} if method == "linear_implicit_euler" else {}
    assert momentum_lost(method, dt=1e-3, **EXACT, **linear) <= 1e-12


def test_linear_momentum_of_one_linear_solve_closes_as_far_as_it_is_solved():
    for tolerance in (1e-3, 1e-5, 1e-7):
        assert momentum_lost("linear_implicit_euler", dt=1e-3, linear_tolerance=tolerance) <= tolerance


def test_linear_momentum_of_symplectic_euler_closes_to_first_order():
    sizes = np.array([4e-4, 2e-4, 1e-4])
    assert slope(sizes, [momentum_lost("symplectic_euler", dt=h) for h in sizes]) >= 0.85


@pytest.mark.parametrize("method", ORDER)
def test_pinned_particles_stay_where_they_are_to_the_bit(method):
    run = dal.simulate(audited(), 0.1, method=method, dt=1e-3, **TIGHT)
    start = run.model.scene.particles["net"].position
    np.testing.assert_array_equal(run.state.particle_position[[0, 2]], start[[0, 2]])
    assert not run.state.particle_velocity[[0, 2]].any()


@pytest.mark.parametrize("method", ["implicit_midpoint", "time_stepping"])
@pytest.mark.parametrize("problem", [Orbit(), TwoBodies()], ids=["orbit", "two bodies"])
def test_midpoint_and_leapfrog_keep_angular_momentum_exactly(problem, method):
    run = dal.simulate(problem.scene(), 20.0, method=method, dt=0.05, frame_rate=10, **TIGHT)
    x, p = run.trajectory.particle_position.values, run.trajectory.particle_momentum.values
    spin = np.cross(x, p).sum(axis=1)
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=1e-11 * np.linalg.norm(spin[0]))
    assert run.report.angular_momentum_residual <= 1e-11 * np.linalg.norm(spin[0])


def test_rk4_keeps_angular_momentum_to_its_order():
    for problem in (Orbit(), TwoBodies()):
        sizes, lost = 2.5 / np.array([60, 120, 240]), []
        for h in sizes:
            run = dal.simulate(problem.scene(), 2.5, method="rk4", dt=h, frame_rate=4)
            spin = np.cross(run.trajectory.particle_position.values, run.trajectory.particle_momentum.values).sum(
                axis=1
            )
            lost.append(np.linalg.norm(spin - spin[0], axis=1).max())
        assert slope(sizes, lost) >= 3.8


# On x'' = −ω² x each method multiplies the state by a matrix, whose determinant is known.


def energies(method, h, steps=40):
    run = dal.simulate(Oscillator().scene(), steps * h, method=method, dt=h, frame_rate=1.0 / h, **TIGHT)
    return (run.trajectory.kinetic + run.trajectory.potential).values


@pytest.mark.parametrize(
    "method, growth",
    [("euler", lambda z: 1.0 + z), ("implicit_euler", lambda z: 1.0 / (1.0 + z)), ("implicit_midpoint", lambda z: 1.0)],
)
@pytest.mark.parametrize("h", [0.05, 2.0])
def test_energy_of_an_oscillator_by_the_step(method, growth, h):
    """Times 1 + (h ω)² a step by explicit Euler, divided by as much by implicit Euler; constant by the midpoint rule."""
    found = energies(method, h)
    expected = found[0] * growth((Oscillator.omega * h) ** 2) ** np.arange(len(found))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_symplectic_euler_keeps_a_neighbouring_energy_to_rounding():
    """v² + ω² x² − h ω² x·v where velocities move first, v² + ω² x² + h ω² x·v where places do."""
    h, omega = 0.2, Oscillator.omega
    run = dal.simulate(Oscillator().scene(), 200.0, method="symplectic_euler", dt=h, frame_rate=1.0 / h)
    x, v = run.trajectory.particle_position.values[:, 1], run.trajectory.particle_momentum.values[:, 1] / 2.0
    squares, product = (v * v).sum(axis=1) + omega**2 * (x * x).sum(axis=1), h * omega**2 * (x * v).sum(axis=1)
    assert np.ptp(squares) >= 0.1 * squares[0]
    assert min(np.ptp(squares - product), np.ptp(squares + product)) <= 1e-12 * squares[0]


# What explicit methods do wrong, and right


def test_explicit_euler_drifts_outwards_on_an_orbit_and_symplectic_euler_does_not():
    problem, radius = Orbit(), {}
    problem.eccentricity = 0.0
    energy = {}
    for method in ("euler", "symplectic_euler"):
        run = dal.simulate(problem.scene(), 60.0, method=method, dt=0.01, frame_rate=10)
        radius[method] = np.linalg.norm(run.trajectory.particle_position.values[:, 1], axis=1)
        energy[method] = (run.trajectory.kinetic + run.trajectory.potential).values
    assert (np.diff(energy["euler"]) > 0.0).all() and radius["euler"][-1] >= 1.5
    assert np.abs(radius["symplectic_euler"] - 1.0).max() <= 0.01
    spread = np.abs(energy["symplectic_euler"] / energy["symplectic_euler"][0] - 1.0)
    half = len(spread) // 2
    assert spread[half:].max() <= 1.01 * spread[:half].max() <= 1e-3


def test_explicit_methods_blow_up_on_a_stiff_spring_and_implicit_ones_do_not():
    """Leapfrog is stable up to h ω = 2, rk4 up to 2.83; here h ω is 4."""
    h = 4.0 / Oscillator.omega
    for method in ("euler", "midpoint", "rk4", "time_stepping"):
        assert energies(method, h)[-1] >= 1e10 * energies(method, h)[0]
    for method in ("linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"):
        assert energies(method, h)[-1] <= (1.0 + 1e-9) * energies(method, h)[0]


@pytest.mark.parametrize("method", [*FIXED, *STEPPED])
def test_a_chain_in_free_fall_falls_as_one(method):
    """A uniform field moves the centre of mass as it would one particle, by the method's own rule."""
    x, v = Modes().motion(0.3)
    scene = dal.Scene("falling")
    scene.add_particles("chain", x, mass=0.5, velocity=v)
    scene.springs("springs", "chain", [[i, i + 1] for i in range(7)], stiffness=4.0, rest=0.0)
    scene.add_particles("one", x.mean(axis=0), mass=3.0, velocity=v.mean(axis=0))
    run = dal.simulate(scene, 0.5, method=method, dt=0.01, **EXACT)
    chain, one = run.state.particle_position[:8], run.state.particle_position[8]
    np.testing.assert_allclose(chain.mean(axis=0), one, rtol=0, atol=1e-12)
