"""A moving surface acts on what touches it alone: joints, springs, bounds and attachments of its body do not feel it."""

import numpy as np
import pytest

import dalembert as dal

SURFACE = (2.0, 0.3, 0.0)  # m/s
RUBBER = dal.Material(0.5)
BOTH = ("maximal", "joint")


def tilted_lift(t):
    """The pose of a body that rises, and turns about x."""
    return 0.0, 0.0, 0.1 * t * t, np.cos(0.2 * t * t), np.sin(0.2 * t * t), 0.0, 0.0


def carried(kind, surface, motion="set"):
    """A body with or without a moving surface, and a rod that it carries by what `kind` says."""
    scene = dal.Scene("belt", material=RUBBER)
    own = {} if surface is None else {"surface_velocity": surface}
    scene.add_body("belt", dal.Box(4, 2, 0.1), motion=motion, **own)
    rod = scene.add_body("rod", dal.Box(0.1, 0.1, 0.4), mass=1.0, position=(0.2, 0, -0.3), material=None)
    start = (0.2, 0, -0.3)
    if kind in ("spring", "damper"):
        law = {"stiffness": 50.0} if kind == "spring" else {"stiffness": 20.0, "damping": 3.0}
        scene.spring("law", "belt", rod, (0, 0, -0.05), start, **law)
        return scene
    joint = scene.hinge if kind in ("hinge", "motor", "friction", "target") else scene.slider
    joint("joint", "belt", rod, at=(0, 0, -0.3), axis=(0, 1, 0) if joint == scene.hinge else (1, 0, 0.5))
    if kind == "motor":
        scene.motor("drive", "joint", position=1.0, stiffness=30.0, damping=2.0)
    elif kind == "target":
        scene.motor("drive", "joint", speed=1.0, limit=1.5)
    elif kind == "friction":
        scene.joint_friction("rub", "joint", effort=0.4)
    elif kind == "stop":
        scene.limit("stop", "joint", lower=-0.05, upper=0.05, restitution=0.5)
    return scene


@pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("kind", ["hinge", "slider", "motor", "target", "friction", "stop", "spring", "damper"])
@pytest.mark.sampled(4)
def test_what_a_belt_carries_by_joints_and_forces_does_not_feel_its_surface(kind, coordinates, solver):
    runs = [
        dal.simulate(carried(kind, surface, tilted_lift), 0.6, method="time_stepping", dt=2e-3, coordinates=coordinates,
                     solver=solver)
        for surface in (None, SURFACE)
    ]  # fmt: skip
    for name in ("position", "velocity", "angular_velocity"):
        with_surface, without = (getattr(run.state, name) for run in runs)
        np.testing.assert_allclose(with_surface, without, rtol=0, atol=1e-11)
    reports = [run.report for run in runs]
    assert reports[1].work["belt"] == pytest.approx(reports[0].work["belt"], abs=1e-10)
    assert reports[1].energy_residual == pytest.approx(reports[0].energy_residual, abs=1e-10)
    assert reports[1].energy_residual < 2e-3 and reports[1].momentum_residual < 1e-10


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_belt_drags_what_lies_on_it_and_holds_what_hangs_on_it(coordinates):
    """A ball reaches two sevenths of the velocity of the belt, and rolls; a pendulum that hangs on the belt swings."""
    alone = dal.simulate(carried("hinge", None), 1.0, method="time_stepping", dt=1e-3, coordinates=coordinates)
    scene = carried("hinge", (1.0, 0, 0))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(-1.0, 0, 0.15))
    run = dal.simulate(scene, 1.0, method="time_stepping", dt=1e-3, coordinates=coordinates)
    assert run["ball"].velocity == pytest.approx((2.0 / 7.0, 0.0, 0.0), abs=1e-6)
    np.testing.assert_allclose(run["rod"].position, alone["rod"].position, rtol=0, atol=1e-11)
    assert run.report.work["belt"] == pytest.approx(2.0 / 7.0, rel=1e-9)
    assert run.report.energy_residual < 1e-4


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("method", ["time_stepping", "linear_implicit_euler", "implicit_midpoint"])
def test_particles_attached_to_a_belt_do_not_feel_its_surface(method, coordinates):
    runs = []
    for surface in ((0, 0, 0), SURFACE):
        scene = dal.Scene("net", material=RUBBER)
        scene.add_body("belt", dal.Box(1, 1, 0.1), motion=tilted_lift, surface_velocity=surface)
        net = scene.add_particles("net", [(0.1 * i, 0, -0.1) for i in range(4)], mass=0.05, material=None)
        scene.springs("springs", net, [(i, i + 1) for i in range(3)], stiffness=100.0)
        scene.attach("hold", net[0], "belt")
        runs.append(dal.simulate(scene, 0.5, method=method, dt=1e-3, coordinates=coordinates))
    np.testing.assert_array_equal(runs[0].state.particle_position, runs[1].state.particle_position)
    assert runs[0].report.work == runs[1].report.work
    assert runs[0].report.energy_residual == runs[1].report.energy_residual


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_fast_belt_is_not_taken_for_a_body_that_moves(coordinates):
    """Impacts on the way are sought where bodies move: a surface of 200 m/s hits nothing beside it."""
    scene = dal.Scene("fast belt", gravity=(0, 0, 0), material=dal.Material(0.0, restitution=1.0))
    scene.add_body("belt", dal.Box(2, 1, 0.1), motion="set", surface_velocity=(200.0, 0, 0))
    scene.add_body("beside", dal.Sphere(0.1), mass=1.0, position=(1.5, 0, 0))
    scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(0, 0, 1), velocity=(0, 0, -50.0))
    run = dal.simulate(scene, 0.1, method="time_stepping", dt=0.01, coordinates=coordinates)
    assert np.abs(run["beside"].velocity).max() == 0.0
    assert run["ball"].velocity == pytest.approx((0.0, 0.0, 50.0), abs=1e-9)
