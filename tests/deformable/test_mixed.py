"""Particles and bodies together: joints and springs between them, and threads."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as dal

G = 9.81


def weightless(name):
    return dal.Scene(name, gravity=(0, 0, 0))


def spinning(scene, **fields):
    chosen = {"mass": 2.0, "velocity": (0.1, 0.2, -0.1), "angular_velocity": (0.5, 1.0, -0.7), **fields}
    return scene.add_body("brick", dal.Box(0.2, 0.3, 0.4), **chosen)


def test_a_rod_between_a_particle_and_a_body():
    scene = weightless("rod")
    brick = spinning(scene)
    dot = scene.add_particles("dot", [0.6, 0.1, 0.3], mass=0.5)
    # A velocity of the particle that the rod allows: none along it, beyond that of its other end.
    corner = np.array([0.1, 0.15, 0.2])
    along = (dot.position[0] - corner) / np.linalg.norm(dot.position[0] - corner)
    end = np.array([0.1, 0.2, -0.1]) + np.cross([0.5, 1.0, -0.7], corner)
    scene.particles.clear()
    dot = scene.add_particles("dot", [0.6, 0.1, 0.3], mass=0.5, velocity=(end @ along) * along)
    scene.rod("link", brick, dot[0], corner)
    run = dal.simulate(scene, 2.0, method="rk4", dt=1e-3)
    report = run.report
    assert report.joint_error <= 1e-10 and report.joint_velocity_error <= 1e-10
    assert report.momentum_residual <= 1e-12 and report.energy_residual_relative <= 1e-9
    total = run.trajectory.momentum.values[:, 0] + run.trajectory.particle_momentum.values[:, 0]
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), rtol=0, atol=1e-12)
    spin = np.cross(run.trajectory.position.values[:, 0], run.trajectory.momentum.values[:, 0])
    spin += run.trajectory.angular_momentum.values[:, 0]
    spin += np.cross(run.trajectory.particle_position.values[:, 0], run.trajectory.particle_momentum.values[:, 0])
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.trajectory.kinetic.values, run.trajectory.kinetic.values[0], rtol=1e-9)
    assert np.abs(run.trajectory.reaction_force.values[:, 0]).max() >= 0.1


def test_a_particle_on_a_ball_joint_is_a_mass_more_of_the_body():
    arm, m, mass = np.array([0.3, 0.1, -0.2]), 0.5, 2.0
    spin = np.array([0.5, 1.0, -0.7])
    scene = weightless("joined")
    brick = spinning(scene, velocity=(0, 0, 0))
    dot = scene.add_particles("dot", arm, mass=m, velocity=np.cross(spin, arm))
    scene.ball("joint", brick, dot[0], arm)
    run = dal.simulate(scene, 2.0, method="rk4", dt=1e-3)
    assert run.report.joint_error <= 1e-10 and run.report.energy_residual_relative <= 1e-10

    centre = m / (mass + m) * arm

    def about(mass, r):
        return mass * (r @ r * np.eye(3) - np.outer(r, r))

    whole = weightless("whole")
    inertia = np.diag([0.25, 0.2, 0.13]) * mass / 12.0 + about(mass, -centre) + about(m, arm - centre)
    whole.add_body("both", mass=mass + m, inertia=inertia, position=centre, velocity=np.cross(spin, centre),
                   angular_velocity=spin)  # fmt: skip
    other = dal.simulate(whole, 2.0, method="rk4", dt=1e-3)
    np.testing.assert_allclose(run.state.orientation[0], other.state.orientation[0], rtol=0, atol=1e-9)
    middle = (mass * run.state.position[0] + m * run.state.particle_position[0]) / (mass + m)
    np.testing.assert_allclose(middle, other.state.position[0], rtol=0, atol=1e-10)


def test_a_spring_between_a_particle_and_a_body_beats_with_the_reduced_mass():
    scene = weightless("spring")
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=2.0)
    dot = scene.add_particles("dot", [1.2, 0, 0], mass=0.5)
    scene.spring("spring", ball, dot[0], (0, 0, 0), stiffness=8.0, damping=0.3, rest=1.0)
    run = dal.simulate(scene, 3.0, method="dormand_prince", rtol=1e-11)
    reduced = 2.0 * 0.5 / 2.5
    decay = 0.5 * 0.3 / reduced
    omega = np.sqrt(8.0 / reduced - decay**2)
    expected = 1.0 + 0.2 * np.exp(-decay * 3.0) * (np.cos(3.0 * omega) + decay / omega * np.sin(3.0 * omega))
    assert run.state.particle_position[0, 0] - run.state.position[0, 0] == pytest.approx(expected, abs=1e-9)
    assert run.report.momentum_residual <= 1e-12 and run.report.energy_residual_relative <= 1e-10
    assert run.report.work["spring"] < -0.1


def test_a_bead_on_a_circle_is_a_pendulum():
    scene = dal.Scene("bead")
    angle = 2.0
    at = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    bead = scene.add_particles("bead", at, mass=0.3)
    circle = dal.Curve(lambda s: (np.sin(s), 0.0, -np.cos(s)), 0.0, 2.0 * np.pi, closed=True, pieces=400)
    scene.point_on_curve("wire", dal.WORLD, bead[0], at, circle)
    run = dal.simulate(scene, 2.0, method="dop853", rtol=1e-11)
    swing = solve_ivp(
        lambda t, z: [z[1], -G * np.sin(z[0])], (0, 2), [angle, 0], method="DOP853", rtol=1e-13, atol=1e-14
    )
    expected = [np.sin(swing.y[0, -1]), 0.0, -np.cos(swing.y[0, -1])]
    np.testing.assert_allclose(run.state.particle_position[0], expected, rtol=0, atol=1e-7)
    assert run.report.joint_error <= 1e-10 and run.report.energy_residual_relative <= 1e-9


@pytest.mark.parametrize("plane", [False, True])
def test_a_particle_on_a_line_or_a_plane_falls_along_it(plane):
    scene = dal.Scene("incline")
    dot = scene.add_particles("dot", [0.0, 0.0, 1.0], mass=0.4)
    slope = 0.6
    if plane:
        scene.point_on_plane("way", dal.WORLD, dot[0], (0, 0, 1), (np.sin(slope), 0, np.cos(slope)))
    else:
        scene.point_on_line("way", dal.WORLD, dot[0], (0, 0, 1), (np.cos(slope), 0, -np.sin(slope)))
    run = dal.simulate(scene, 0.7, method="rk4", dt=1e-2)
    path = 0.5 * G * np.sin(slope) * 0.49
    expected = [path * np.cos(slope), 0.0, 1.0 - path * np.sin(slope)]
    np.testing.assert_allclose(run.state.particle_position[0], expected, rtol=0, atol=1e-12)


def test_a_particle_on_a_rod_from_a_pinned_one_is_a_pendulum():
    scene = dal.Scene("pendulum")
    angle = 1.2
    group = scene.add_particles("p", [[0, 0, 0], [2 * np.sin(angle), 0, -2 * np.cos(angle)]], mass=0.7, pinned=[0])
    scene.rod("string", group[0], group[1])
    run = dal.simulate(scene, 3.0, method="dop853", rtol=1e-11)
    swing = solve_ivp(lambda t, z: [z[1], -G / 2 * np.sin(z[0])], (0, 3), [angle, 0], method="DOP853", rtol=1e-13,
                      atol=1e-14)  # fmt: skip
    expected = [2 * np.sin(swing.y[0, -1]), 0.0, -2 * np.cos(swing.y[0, -1])]
    np.testing.assert_allclose(run.state.particle_position[1], expected, rtol=0, atol=1e-8)
    assert run.report.momentum_residual <= 1e-12 and run.report.joint_error <= 1e-10


def test_a_body_hangs_from_a_pinned_particle_as_from_the_world():
    ends = []
    for pinned in (True, False):
        scene = dal.Scene("hanging")
        nail = scene.add_particles("nail", [0, 0, 0], mass=1.0, pinned=True)
        bar = scene.add_body("bar", dal.Box(1.0, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0))
        scene.ball("pin", nail[0] if pinned else dal.WORLD, bar, (0, 0, 0))
        run = dal.simulate(scene, 1.0, method="rk4", dt=1e-3)
        assert run.report.joint_error <= 1e-10 and run.report.momentum_residual <= 1e-11
        ends.append(run.state.y[:13].copy())
    np.testing.assert_array_equal(ends[0], ends[1])


# Threads --------------------------------------------------------------------------------------------------------------


def arc(count, span=1.0, sag=0.3):
    """Points at equal distances on an arc of a circle between two points at one height, as deep as `sag` in the middle."""
    radius = (0.25 * span**2 + sag**2) / (2.0 * sag)
    half = np.arctan2(0.5 * span, radius - sag)
    a = np.linspace(-half, half, count)
    return np.stack([radius * np.sin(a), np.zeros(count), radius - sag - radius * np.cos(a)], axis=1)


def test_a_thread_that_does_not_stretch_swings_with_its_energy_and_its_lengths():
    scene = dal.Scene("thread")
    scene.thread("rope", np.outer(np.linspace(0, 1, 9), [1.0, 0.0, 0.0]), density=0.2, pinned=[0])
    run = dal.simulate(scene, 0.6, method="dop853", rtol=1e-10)
    assert len(scene.joints) == 8
    assert run.report.joint_error <= 1e-10 and run.report.energy_residual_relative <= 1e-9
    scale = np.abs(run.trajectory.particle_momentum.values).sum(axis=(1, 2)).max()
    assert run.report.momentum_residual <= 1e-12 * scale
    assert run.state.particle_position[-1, 2] <= -0.5


def test_a_thread_that_does_not_stretch_comes_to_rest_as_a_catenary():
    """Its links hang like weights on a string: slopes differ by weight over horizontal tension, and tend to a catenary's."""
    scene = dal.Scene("catenary")
    count = 17
    scene.thread("rope", arc(count), density=0.4, pinned=[0, -1])
    scene.medium("oil", linear=0.25)
    run = dal.simulate(scene, 12.0, method="dormand_prince", rtol=1e-8)
    assert run.report.joint_error <= 1e-10
    x = run.state.particle_position
    links = np.diff(x, axis=0)
    slopes = links[:, 2] / links[:, 0]
    np.testing.assert_allclose(np.diff(slopes), np.diff(slopes).mean(), rtol=1e-5)
    length = np.linalg.norm(np.diff(arc(count), axis=0), axis=1).sum()
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 / a) - length, 0.05, 10.0)
    catenary = a * (np.cosh(x[:, 0] / a) - np.cosh(0.5 / a))
    np.testing.assert_allclose(x[:, 2], catenary, rtol=0, atol=2e-3)
    tension = np.abs(run.trajectory.reaction_force.values[-1, :, 0])
    np.testing.assert_allclose(tension, 0.4 * G * a, rtol=0.02)


def test_bending_energy_of_a_thread_on_a_circle():
    """½ E I L/R², to second order in the length of a link; and that of each turning angle to rounding."""
    stiffness, errors = 0.3, []
    for count in (11, 21, 41):
        x = arc(count)
        scene = weightless("elastica")
        scene.thread("wire", x, density=1.0, stretch=1e4, bend=stiffness)
        energy = float(dal.Simulation(scene, dt=1e-3, method="rk4").trajectory.potential.values[0])
        link = np.diff(x, axis=0)
        size = np.linalg.norm(link, axis=1)
        turn = np.arccos(np.einsum("ij,ij->i", link[1:], link[:-1]) / (size[1:] * size[:-1]))
        assert energy == pytest.approx(
            float((0.5 * stiffness / size[0] * (2.0 * np.tan(0.5 * turn)) ** 2).sum()), rel=1e-11
        )
        radius = (0.25 + 0.09) / 0.6
        # The ends have no turning angle of their own: each inner point stands for a link's length.
        errors.append(abs(energy / (count - 2) * (count - 1) / (0.5 * stiffness * size.sum() / radius**2) - 1.0))
    assert errors[2] <= 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05) and errors[1] / errors[2] == pytest.approx(
        4.0, rel=0.05
    )


@pytest.mark.filterwarnings("ignore:the implicit steps of the particles missed")  # at rest forces are but rounding
def test_a_thread_that_is_clamped_bends_like_a_beam():
    """Under its small weight its end sinks by ρ g L⁴/(8 E I), to first order in the length of a link."""
    stiffness, density, g, errors = 0.5, 0.1, 0.04, []
    for count in (11, 21, 41):
        scene = dal.Scene("beam", gravity=(0, 0, -g))
        x = np.outer(np.linspace(0.0, 1.0, count), [1.0, 0, 0])
        scene.thread("beam", x, density=density, stretch=1e3, bend=stiffness, pinned=[0, 1])
        run = dal.simulate(scene, 20.0, method="implicit_euler", dt=0.1, frame_rate=1.0, linear_solver="direct")
        assert np.abs(run.state.particle_velocity).max() <= 1e-8
        errors.append(run.state.particle_position[-1, 2] / (-density * g / (8.0 * stiffness)) - 1.0)
    assert abs(errors[2]) <= 0.1
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1) and errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(
    "method", ["time_stepping", "implicit_euler", "implicit_midpoint", "linear_implicit_euler", "bdf2"]
)
def test_time_steps_of_particles_beside_a_body(method):
    """Both fall, each by its own steps; the energy balance includes both."""
    scene = dal.Scene("beside")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1.0, 0, 0))
    scene.add_particles("dots", [[0, 1, 0], [0, 1, 1]], mass=0.2)
    scene.springs("spring", "dots", [[0, 1]], stiffness=50.0)
    run = dal.simulate(scene, 0.5, method=method, dt=1e-2)
    np.testing.assert_allclose(run.state.position[0], [0.5, 0.0, -0.5 * G * 0.25], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.state.particle_velocity, [[0, 0, -0.5 * G]] * 2, rtol=0, atol=1e-7)
    assert run.report.momentum_residual <= 1e-7


@pytest.mark.parametrize("connect", ["line", "rods", "spring"])
@pytest.mark.parametrize("method", ["time_stepping", "implicit_euler", "bdf2"])
def test_time_steps_refuse_what_holds_a_particle_and_name_it(connect, method):
    scene = dal.Scene("held")
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    dots = scene.add_particles("dots", [[1, 0, 0], [2, 0, 0]], mass=1.0)
    if connect == "rods":
        scene.rod("link", ball, dots[1], (0, 0, 0))
        scene.rod("other", dal.WORLD, dots[1], (0, 0, 0))
    elif connect == "line":
        scene.point_on_line("link", ball, dots[1], (2, 0, 0), (1, 0, 0))
    else:
        scene.spring("link", ball, dots[1], (0, 0, 0), stiffness=1.0)
    message = r"'link' and 'other' hold the same particle.*rk4" if connect == "rods" else r"'link' holds dots\[1\].*rk4"
    with pytest.raises(ValueError, match=message):
        dal.Simulation(scene, method=method, dt=0.01)


ORDERS = {"time_stepping": 2, "implicit_midpoint": 2, "implicit_euler": 1, "linear_implicit_euler": 1}


@pytest.mark.parametrize("method", ORDERS)
def test_a_particle_on_a_rod_from_the_world_is_a_pendulum_in_time_steps(method):
    angle, errors = 1.2, []
    swing = solve_ivp(lambda t, z: [z[1], -G / 2 * np.sin(z[0])], (0, 3), [angle, 0], method="DOP853", rtol=1e-13,
                      atol=1e-14)  # fmt: skip
    expected = [2 * np.sin(swing.y[0, -1]), 0.0, -2 * np.cos(swing.y[0, -1])]
    for dt in (1 / 200, 1 / 400):
        scene = dal.Scene("pendulum")
        bob = scene.add_particles("bob", [2 * np.sin(angle), 0, -2 * np.cos(angle)], mass=0.7)
        scene.rod("string", dal.WORLD, bob[0], (0, 0, 0))
        run = dal.simulate(scene, 3.0, method=method, dt=dt, linear_tolerance=1e-11)
        errors.append(np.linalg.norm(run.state.particle_position[0] - expected))
        lengths = np.linalg.norm(run.trajectory.particle_position.values[:, 0], axis=1)
        assert np.abs(lengths - 2.0).max() < 3 * dt**2 * G
        assert run.report.momentum_residual < 1e-11
    order = ORDERS[method]
    assert errors[0] < (1e-3 if order == 2 else 0.1) and errors[1] < 1.2 * errors[0] / 2**order


def brick_with_a_bob(connect):
    """A brick that turns, and a bob that a rod or a spring holds at its corner; by a spring as time steps take it, or not."""
    scene = weightless("bob")
    brick = spinning(scene)
    corner, place = np.array([0.1, 0.15, 0.2]), np.array([0.6, 0.1, 0.3])
    along = (place - corner) / np.linalg.norm(place - corner)
    end = np.array([0.1, 0.2, -0.1]) + np.cross([0.5, 1.0, -0.7], corner)
    velocity = (end @ along) * along + 0.4 * np.cross(along, [0, 0, 1])
    if connect == "attached":
        bob = scene.add_particles("bob", [place, corner], mass=[0.5, 1e-9], velocity=[velocity, end])
        scene.attach("end", bob[1], brick)
        scene.springs("link", bob, [(0, 1)], stiffness=20.0, damping=0.1)
        return scene
    bob = scene.add_particles("bob", place, mass=0.5, velocity=velocity)
    if connect == "rod":
        scene.rod("link", brick, bob[0], corner)
    else:
        scene.spring("link", brick, bob[0], corner, stiffness=20.0, damping=0.1)
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("method", ["time_stepping", "implicit_midpoint"])
@pytest.mark.parametrize("connect", ["rod", "spring"])
def test_a_rod_or_a_spring_from_a_turning_brick_in_time_steps(connect, method, coordinates):
    """An integration method, in which rods and springs take both, is the oracle. A spring in time steps ends at a particle of
    10⁻⁹ kg that is attached to the brick."""
    exact = dal.simulate(brick_with_a_bob(connect), 1.0, method="rk4", dt=1e-3)
    errors, residuals, works = [], [], []
    for dt in (4e-3, 2e-3):
        scene = brick_with_a_bob("rod" if connect == "rod" else "attached")
        run = dal.simulate(scene, 1.0, method=method, dt=dt, coordinates=coordinates)
        errors.append(np.abs(run.state.particle_position[0] - exact.state.particle_position[0]).max())
        errors[-1] = max(errors[-1], np.abs(run.state.position - exact.state.position).max())
        residuals.append(run.report.energy_residual)
        if connect == "spring":
            works.append(abs(run.report.work["link"] - exact.report.work["link"]))
        assert run.report.momentum_residual < 1e-10
    assert errors[0] < 1e-3 and errors[1] < errors[0] / 1.8
    if connect == "rod" and coordinates == "maximal":
        assert max(residuals) < 1e-11  # the impulses along it do no work
    elif connect == "rod":
        assert residuals[0] < 1e-6 and residuals[1] < residuals[0] / 3.5  # of the brick, which turns
    else:
        assert residuals[0] < 1e-3 and residuals[1] < residuals[0] / 1.8
        assert works[0] < 1e-4 and works[1] < works[0] / 1.8


@pytest.mark.parametrize("method", ["time_stepping", "linear_implicit_euler", "implicit_euler"])
def test_an_attached_particle_is_let_go(method):
    """A particle at the rim of a wheel flies off along the tangent when its joint is released."""
    scene = dal.Scene("wheel", gravity=(0, 0, 0))
    wheel = scene.add_body("wheel", dal.Cylinder(0.5, 0.1), mass=50.0, angular_velocity=(0, 0, 4.0))
    scene.add_particles("drop", (0.5, 0, 0), mass=1e-3, velocity=(0, 2.0, 0))
    scene.attach("hold", scene.particles["drop"][0], wheel)
    scene.event("let go", lambda t, y: t - 0.1, release="hold")
    run = dal.Simulation(scene, method=method, dt=1e-3, frame_rate=1000.0).advance(0.3)
    places = run.trajectory.particle_position.values[:, 0]
    assert run.released["hold"] == pytest.approx(0.1, abs=1e-3)
    radius = np.linalg.norm(places, axis=1)
    np.testing.assert_allclose(radius[:95], 0.5, atol=2e-3)
    np.testing.assert_allclose(
        np.diff(places[105:], axis=0), np.diff(places[105:], axis=0)[:1].repeat(len(places) - 106, 0), atol=1e-9
    )
    assert radius[-1] > 0.6
