"""Forces of resting contact: by each solver, in stacks, and with joints."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.linalg.lcp import lcp
from dalembert.linalg.lcp_dantzig import OK

from .scenes import G, stack


def settled(scene):
    """A run that has found its contacts, with their matrix and free accelerations along the normals."""
    run = dal.Simulation(scene, method="dormand_prince")
    instant = run._driver._impact
    instant.find(run._y)
    instant.respond(run._y)
    matrix, free = instant.matrix()
    return run, matrix[::3, ::3].copy(), free[:, 0].copy()


def quadratic_program(a, b):
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    n = len(b)
    options = clarabel.DefaultSettings()
    options.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(options, name, 1e-12)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(a)),
        b,
        -sparse.eye(n, format="csc"),
        np.zeros(n),
        [clarabel.NonnegativeConeT(n)],
        options,
    )
    return np.array(solver.solve().x)


def column(balls=5):
    scene = dal.Scene("column", gravity=(0, 0, -G), material=dal.Material(0.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(balls):
        scene.add_body(f"ball {i}", dal.Sphere(0.5), mass=1.0 + i, position=(0, 0, 0.5 + i))
    return scene


def test_each_ball_of_a_column_bears_those_above():
    _, a, b = settled(column())
    expected = np.sort(G * np.array([sum(1.0 + j for j in range(i, 5)) for i in range(5)]))
    for method in ("dantzig", "lemke"):
        f, status = lcp(a, b, method)
        assert status == OK
        np.testing.assert_allclose(np.sort(f), expected, rtol=1e-11)
    np.testing.assert_allclose(np.sort(quadratic_program(a, b)), expected, rtol=1e-6)


def test_a_stack_has_the_same_accelerations_and_resultants_by_each_solver():
    run, a, b = settled(stack(friction=0.0))
    touches = run._driver.system.tables.touches
    assert len(touches) == 16
    f = lcp(a, b, "dantzig")[0]
    for other in (lcp(a, b, "lemke")[0], quadratic_program(a, b)):
        np.testing.assert_allclose(a @ other, a @ f, atol=1e-6)
        for lower in range(-1, 3):  # force and moments on each interface
            own = touches.i == lower + 1
            own &= (touches.j == lower) | ((touches.j == 4) & (lower < 0))
            between = own | ((touches.j == lower + 1) & (touches.i == lower))
            assert between.sum() == 4
            weights = np.column_stack([np.ones(16), touches.position[:, :2]])[between]
            np.testing.assert_allclose(weights.T @ other[between], weights.T @ f[between], atol=1e-5)
            assert f[between].sum() == pytest.approx(G * sum(2.0 + j for j in range(lower, 3)), rel=1e-10)


def test_a_stack_stands():
    run = dal.simulate(stack(), 1.0, method="dormand_prince", frame_rate=10)
    np.testing.assert_allclose(run.state.position[:, 2], 0.5 + np.arange(4), atol=1e-11)
    assert np.abs(run.state.velocity).max() < 1e-11
    total = sum(abs(c.force[2]) for c in run.contacts if "floor" in (c.a, c.b))
    assert total == pytest.approx(10.0 * G, rel=1e-9)
    np.testing.assert_allclose(run.trajectory.contact_force[-1, :, 2], G * (1.0 + np.arange(4)), rtol=1e-8)
    assert run.report.energy_residual_relative < 1e-12


def test_a_hinged_plate_rests_on_its_stop():
    """A trapdoor, hinged at one end, on a ball at the other: the ball bears half its weight, the hinge the rest."""
    scene = dal.Scene("trapdoor", gravity=(0, 0, -G), material=dal.Material(0.3))
    scene.add_obstacle("stop", dal.Sphere(0.1), position=(1.0, 0, -0.15))
    plate = scene.add_body("plate", dal.Box(2.0, 0.5, 0.1), mass=4.0, position=(0, 0, 0))
    scene.hinge("hinge", dal.WORLD, plate, at=(-1.0, 0, 0), axis=(0, 1, 0))
    run = dal.simulate(scene, 0.5, method="dormand_prince")
    assert [abs(float(c.force[2])) for c in run.contacts] == [
        pytest.approx(4.0 * G / 2, rel=1e-3)
    ]  # a little friction helps
    assert np.abs(run.state.velocity).max() < 1e-11 and run.report.joint_error < 1e-12


def test_a_pendulum_bounces_off_a_wall_and_its_joint_holds():
    scene = dal.Scene("pendulum and wall", gravity=(0, 0, -G), material=dal.Material(0.0, 0.5))
    scene.add_obstacle("wall", dal.HalfSpace(), position=(0.2, 0, 0), orientation=(np.sqrt(0.5), 0, -np.sqrt(0.5), 0))
    bob = scene.add_body("bob", dal.Sphere(0.2), mass=2, position=(-1, 0, 0))
    scene.ball("pivot", dal.WORLD, bob, at=(0, 0, 0))
    run = dal.simulate(scene, 1.5, method="dop853", rtol=1e-10)
    first = next(event for event in run.contact_events if event.kind == "impact")
    # A compound pendulum from the horizontal: ½ I ω² = m g l at the wall, where it hangs; it keeps e of ω.
    assert run.report.joint_error < 1e-12
    energy = 2.0 * G * 1.0
    steps = run.trajectory.work.sel(force="contact: impacts").values
    after = steps[np.flatnonzero(steps < 0.0)[0]]
    assert after == pytest.approx(-0.75 * energy, rel=1e-8)
    assert first.impulse[0] < 0.0
    assert run.report.energy_residual_relative < 1e-8


def test_bad_input_is_refused_with_the_way_out():
    scene = dal.Scene("disc", material=dal.Material(0.3))
    scene.add_body("disc", dal.Cylinder(0.1, 0.02), mass=1)
    with pytest.raises(ValueError, match="'disc': a Cylinder is not supported by contact events"):
        dal.Simulation(scene, method="dormand_prince")
    scene = column()
    scene.add_body("intruder", dal.Sphere(0.3), mass=1, position=(0.5, 0, 0.5))
    with pytest.raises(ValueError, match=r"overlap at the start by .* m; move them apart"):
        dal.Simulation(scene, method="dormand_prince")
    with pytest.raises(ValueError, match="supports only forces that depend on positions"):
        dal.Simulation(column(), method="symplectic_euler", dt=1e-3)
