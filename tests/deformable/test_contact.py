"""Particles against the shapes of obstacles and bodies: impacts, rest, friction, what bodies are given in return."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.mesh_file import triangle_grid

IMPLICIT = ("linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2")
STEPPING = ("time_stepping", *IMPLICIT)
G = 9.81


def ground(scene, friction=0.5, restitution=0.0, **fields):
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(friction, restitution), **fields)


def run(scene, duration, **settings):
    return dal.Simulation(scene, **{"dt": 1e-3, "frame_rate": 1000.0, "linear_tolerance": 1e-10} | settings).advance(
        duration
    )


def tilted(angle):
    return (np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0)


@pytest.mark.parametrize("method", STEPPING)
def test_a_particle_comes_to_rest_on_the_ground_at_its_radius(method):
    scene = dal.Scene("drop")
    ground(scene)
    scene.add_particles("grain", (0.1, 0.2, 0.3), mass=0.2, radius=0.05, material=dal.Material(0.5))
    result = run(scene, 1.0, method=method)
    np.testing.assert_allclose(result.state.particle_position[0], (0.1, 0.2, 0.05), atol=1e-12)
    np.testing.assert_allclose(result.state.particle_velocity[0], 0.0, atol=1e-12)
    assert result.report.momentum_residual < 1e-11


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_the_speed_after_an_impact_is_that_before_times_the_restitution(e):
    scene = dal.Scene("bounce", gravity=(0, 0, 0))
    ground(scene, friction=0.0, restitution=e)
    scene.add_particles("grain", (0, 0, 0.5), mass=0.2, velocity=(0.3, 0, -2.0), radius=0.1, material=dal.Material(0.0))
    result = run(scene, 0.4, method="time_stepping")
    np.testing.assert_allclose(result.state.particle_velocity[0], (0.3, 0.0, 2.0 * e), atol=1e-12)
    lost = result.report.work["contact: impacts"]
    assert lost == pytest.approx(-0.5 * 0.2 * 4.0 * (1 - e * e), abs=1e-12)
    assert result.report.energy_residual < 1e-12


@pytest.mark.parametrize("method", STEPPING)
@pytest.mark.parametrize("e", [0.3, 1.0])
def test_a_bounce_ends_with_its_velocity_in_steps_that_leave_the_ground_behind(method, e):
    """The step after an impact touches nothing, and must not continue the motion from before it."""
    scene = dal.Scene("bounce", gravity=(0, 0, 0))
    ground(scene, friction=0.2, restitution=e)
    scene.add_particles("grain", (0, 0, 0.5), mass=0.2, velocity=(3, 0, -4), radius=0.1, material=dal.Material(0.2))
    result = run(scene, 0.4, method=method, dt=0.02, frame_rate=50.0)
    expected = (3.0 - 0.2 * 4.0 * (1.0 + e), 0.0, 4.0 * e)
    np.testing.assert_allclose(result.state.particle_velocity[0], expected, atol=1e-9)
    assert result.report.momentum_residual < 1e-9


@pytest.mark.parametrize("method", STEPPING)
def test_two_that_bounce_off_each_other_share_their_momentum_in_long_steps(method):
    scene = dal.Scene("meeting", gravity=(0, 0, 0))
    material = dal.Material(friction=0.0, restitution=0.5)
    scene.add_body("block", dal.Box(0.4, 0.4, 0.4), mass=1.0, material=material)
    scene.add_particles("grain", (0, 0, 0.75), mass=0.25, velocity=(0, 0, -4.0), radius=0.05, material=material)
    state = run(scene, 0.4, method=method, dt=0.02, frame_rate=50.0).state
    assert state.velocity[0, 2] == pytest.approx(-4.0 * 0.25 * 1.5 / 1.25, abs=1e-9)
    assert state.particle_velocity[0, 2] == pytest.approx(state.velocity[0, 2] + 0.5 * 4.0, abs=1e-9)


CHANGES = {
    "set": lambda sim: setattr(sim["grain"], "velocity", [(0.0, 1.0, 0.0)]),
    "pushed": lambda sim: sim["grain"].apply_impulse((0.0, 0.2, 0.0)),
    "released": lambda sim: sim.release("hook"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("method", STEPPING)
def test_a_motion_that_is_interrupted_goes_on_from_there(method, change):
    """Nothing acts on the grain afterwards, so it keeps the velocity that it has then."""
    scene = dal.Scene("grain", gravity=(0, 0, 0))
    grain = scene.add_particles("grain", (0.5, 0, 0), mass=0.2, velocity=(0, 0, 1.0))
    if change == "released":
        bar = scene.add_body("bar", dal.Box(1.0, 0.1, 0.1), mass=1.0, angular_velocity=(0, -2.0, 0))
        scene.attach("hook", grain[0], bar)
    sim = dal.Simulation(scene, method=method, dt=0.01)
    sim.step(7)
    CHANGES[change](sim)
    before = np.array(sim["grain"].velocity)
    sim.step(5)
    np.testing.assert_allclose(sim["grain"].velocity, before, atol=1e-12)


@pytest.mark.parametrize("method", STEPPING)
def test_a_particle_on_an_incline_slides_as_coulomb_says(method):
    angle, mu = 0.5, 0.3
    scene = dal.Scene("incline")
    ground(scene, friction=mu, orientation=tilted(angle))
    n = np.array([np.sin(angle), 0.0, np.cos(angle)])
    scene.add_particles("grain", 0.02 * n, mass=0.1, radius=0.02, material=dal.Material(mu))
    result = run(scene, 0.5, method=method, dt=1e-3)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    speed = G * (np.sin(angle) - mu * np.cos(angle)) * 0.5
    np.testing.assert_allclose(result.state.particle_velocity[0], speed * down, atol=5e-3 * speed)
    assert abs((result.state.particle_position[0] @ n) - 0.02) < 1e-12
    assert result.report.work["contact: friction"] < 0.0


@pytest.mark.parametrize("method", STEPPING)
def test_a_particle_on_an_incline_sticks_below_the_angle_of_friction(method):
    angle, mu = 0.5, 0.6
    scene = dal.Scene("incline")
    ground(scene, friction=mu, orientation=tilted(angle))
    n = np.array([np.sin(angle), 0.0, np.cos(angle)])
    scene.add_particles("grain", 0.02 * n, mass=0.1, radius=0.02, material=dal.Material(mu))
    result = run(scene, 0.5, method=method, dt=1e-2)
    np.testing.assert_allclose(result.state.particle_position[0], 0.02 * n, atol=1e-13)
    assert abs(result.report.work["contact: friction"]) < 1e-14


def test_a_particle_rests_in_the_corner_of_three_walls():
    scene = dal.Scene("corner", gravity=(-3.0, -2.0, -9.0))
    quarter = np.sqrt(0.5)
    for name, q in (("floor", (1, 0, 0, 0)), ("left", (quarter, 0, quarter, 0)), ("back", (quarter, -quarter, 0, 0))):
        scene.add_obstacle(name, dal.HalfSpace(), orientation=q, material=dal.Material(0.2))
    scene.add_particles("grain", (0.4, 0.3, 0.2), mass=0.1, radius=0.05, material=dal.Material(0.2))
    result = run(scene, 1.5, method="implicit_euler", dt=5e-3)
    np.testing.assert_allclose(result.state.particle_position[0], 0.05, atol=1e-12)


@pytest.mark.parametrize("method", STEPPING)
def test_what_is_tiny_moves_as_what_is_large(method):
    ends = []
    for size in (1.0, 2.0**-30):
        scene = dal.Scene("small", gravity=(size, 0, -G * size))
        ground(scene, friction=0.0, restitution=0.5)
        x = size * np.array([(0, 0, 0.3), (0.1, 0, 0.35), (0.2, 0, 0.4)])
        grains = scene.add_particles("grains", x, mass=0.2, radius=0.05 * size, material=dal.Material(0.0))
        scene.springs("links", grains, [[0, 1], [1, 2]], stiffness=30.0, damping=0.1)
        ends.append(run(scene, 1.0, method=method, dt=5e-3).state.particle_position / size)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["time_stepping", "implicit_midpoint"])
def test_angular_momentum_closes_on_a_ball_that_is_slid_over_and_left(method):
    """Contact forces act where the particle is when the others do, and what puts it out of the ball turns its momentum."""
    scene = dal.Scene("ball")
    scene.add_obstacle("ball", dal.Sphere(0.5), position=(0.1, 0.2, 0.0), material=dal.Material(0.1))
    scene.add_particles("grain", (0.12, 0.19, 0.55), mass=0.3, velocity=(0.4, -0.3, -0.5), radius=0.02,
                        material=dal.Material(0.1))  # fmt: skip
    result = run(scene, 0.8, method=method, dt=5e-3, newton_tolerance=1e-13)
    x, p = result.trajectory.particle_position.values[:, 0], result.trajectory.particle_momentum.values[:, 0]
    away = np.linalg.norm(x - (0.1, 0.2, 0.0), axis=1) - 0.52
    assert (away < 1e-3).sum() >= 50 and away[-1] > 0.1 and abs(result.report.projection_loss) > 1e-5
    spin = np.linalg.norm(np.cross(x, p), axis=1)
    assert result.report.angular_momentum_residual <= 1e-12 * spin.max()
    assert result.report.momentum_residual <= 1e-12 * np.linalg.norm(p, axis=1).max()


@pytest.mark.parametrize("speed", [50.0, 500.0])
def test_fast_particles_do_not_pass_through_a_thin_wall(speed):
    scene = dal.Scene("bullets", gravity=(0, 0, 0))
    scene.add_obstacle("wall", dal.Box(0.01, 2.0, 2.0), material=dal.Material(0.3))
    x = np.stack([np.full(20, -0.7), np.linspace(-0.5, 0.5, 20), np.linspace(-0.4, 0.4, 20)], axis=1)
    scene.add_particles("bullets", x, mass=0.01, velocity=(speed, 0, 0), radius=0.004, material=dal.Material(0.3))
    result = run(scene, 0.5, method="time_stepping", dt=1 / 60)
    assert result.state.particle_position[:, 0].max() < -0.008


@pytest.mark.parametrize("method", STEPPING)
def test_momentum_goes_from_particles_to_a_free_body(method):
    scene = dal.Scene("hit", gravity=(0, 0, 0))
    scene.add_body("block", dal.Box(0.4, 0.4, 0.4), mass=1.0, material=dal.Material(0.3))
    rng = np.random.default_rng(1)
    x = np.stack([np.full(30, -0.6), *rng.uniform(-0.15, 0.15, (2, 30))], axis=1)
    scene.add_particles("shot", x, mass=0.02, velocity=(3.0, 0.4, 0.0), radius=0.01, material=dal.Material(0.3))
    result = run(scene, 0.4, method=method, dt=2e-3)
    state = result.state
    total = state.momentum.sum(axis=0) + state.particle_momentum.sum(axis=0)
    np.testing.assert_allclose(total, 30 * 0.02 * np.array([3.0, 0.4, 0.0]), atol=1e-9)
    assert state.velocity[0, 0] > 0.5
    assert result.report.momentum_residual < 1e-9


def test_what_hits_a_body_together_is_solved_together():
    """n particles of mass m that hit a free body of mass M without bouncing end with it at n m v / (n m + M)."""
    scene = dal.Scene("hit", gravity=(0, 0, 0))
    scene.add_body("block", dal.Box(0.4, 0.4, 0.4), mass=0.5, material=dal.Material(0.0))
    y, z = (grid.ravel() for grid in np.meshgrid([-0.1, 0.0, 0.1], [-0.1, 0.0, 0.1]))
    x = np.stack([np.full(9, -0.3), y, z], axis=1)
    scene.add_particles("shot", x, mass=1.0, velocity=(2.0, 0, 0), radius=0.01, material=dal.Material(0.0))
    result = run(scene, 0.2, method="time_stepping", dt=1e-3)
    np.testing.assert_allclose(result.state.velocity[0], (9 * 2.0 / 9.5, 0, 0), atol=1e-9)
    np.testing.assert_allclose(result.state.particle_velocity[:, 0], 9 * 2.0 / 9.5, atol=1e-9)


def net(side=9):
    scene = dal.Scene("net")
    vertices, faces = triangle_grid(1.0, 1.0, side, side)
    material = dal.Material(friction=0.4)
    rim = np.nonzero(np.abs(vertices[:, :2]).max(axis=1) > 0.499)[0]
    group = scene.add_particles("net", vertices, mass=0.002, pinned=rim, material=material, radius=0.01)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    scene.springs("threads", group, np.unique(np.sort(edges, axis=1), axis=0), stiffness=2000.0, damping=1.0)
    scene.add_body("box", dal.Box(0.3, 0.2, 0.2), mass=2.0, position=(0.05, 0, 0.2), material=material)
    return scene


@pytest.mark.parametrize("method", ["linear_implicit_euler", "implicit_euler"])
def test_both_linear_solvers_catch_a_box_with_a_net_alike(method):
    ends = []
    for solver in ("cg", "direct"):
        result = run(net(), 0.35, method=method, dt=1 / 120, linear_solver=solver, linear_tolerance=1e-12)
        ends.append(np.concatenate([result.state.position.ravel(), result.state.particle_position.ravel()]))
    np.testing.assert_allclose(*ends, atol=1e-7)


def test_a_net_of_light_threads_holds_a_heavy_box():
    result = run(net(), 3.0, method="implicit_euler", dt=1 / 120)
    height = result.trajectory.position.values[:, 0, 2]
    assert height.min() > -0.2 and height[-60:].max() < 0.3  # it bounces, lower and lower
    impulse = 2.0 * G * 3.0
    assert result.report.momentum_residual < 1e-12 * impulse


@pytest.mark.parametrize("method", ["linear_implicit_euler", "implicit_euler"])
def test_a_cloth_on_a_sphere_stays_out_of_it(method):
    scene = dal.Scene("drape")
    scene.add_obstacle("ball", dal.Sphere(0.3), position=(0, 0, -0.35), material=dal.Material(0.3))
    vertices, faces = triangle_grid(1.0, 1.0, 15, 15)
    scene.cloth(
        "cloth", vertices, faces, density=0.2, stretch=100.0, shear=50.0, bend=1e-4, damping=0.01, radius=0.005,
        material=dal.Material(0.3),
    )  # fmt: skip
    result = run(scene, 1.0, method=method, dt=1 / 60, frame_rate=60.0, linear_tolerance=1e-6)
    places = result.trajectory.particle_position.values
    distance = np.linalg.norm(places - (0, 0, -0.35), axis=2) - 0.305
    speed = np.linalg.norm(np.diff(places, axis=0), axis=2).max() * 60.0
    assert distance.min() > -((speed / 60.0) ** 2) / (
        2 * 0.305
    )  # a step along the tangent leaves the sphere by so much
    assert result.state.particle_position[:, 2].max() < -0.04
    assert result.report.work["contact: friction"] <= 0.0


def test_attached_particles_stay_with_their_body_and_pull_it():
    """A box on a spring: by joints in an integration method, by locks in implicit steps, to first order the same."""

    def build():
        scene = dal.Scene("hang")
        box = scene.add_body("box", dal.Box(0.3, 0.2, 0.2), mass=2.0, position=(0, 0, -1))
        points = [[0.1, 0, 0], [0.1, 0, -0.3], [0.1, 0, -0.6], [0.1, 0, -0.9]]
        rope = scene.add_particles("rope", points, mass=0.1, pinned=[0])
        scene.springs("k", rope, [[0, 1], [1, 2], [2, 3]], stiffness=1000.0, damping=1.0)
        scene.attach("hook", rope[3], box)
        return scene

    exact = run(build(), 0.5, method="dop853", dt=None, rtol=1e-10).state.position[0]
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        result = run(build(), 0.5, method="implicit_euler", dt=dt)
        errors.append(np.linalg.norm(result.state.position[0] - exact))
        turn = dal.scene.checks.rotation_matrix(result.state.orientation[0])
        hook = result.state.position[0] + turn @ (0.1, 0.0, 0.1)
        assert np.linalg.norm(hook - result.state.particle_position[3]) < 10 * dt**2
        assert result.report.momentum_residual < 1e-6
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 0.8).all()


@pytest.mark.parametrize("method", ["time_stepping", "implicit_midpoint"])
def test_a_chain_on_a_spinning_bar_keeps_its_energy(method):
    """Without damping, by methods that keep energy: also where the attached particle starts as if it were not."""
    spin, points = np.array([0.3, 1.0, 2.0]), np.array([[0.2, 0, 0], [0.4, 0, 0], [0.6, 0, 0.1], [0.8, 0.1, 0]])
    for start in (np.cross(spin, points), np.zeros((4, 3))):
        scene = dal.Scene("bar", gravity=(0, 0, 0))
        bar = scene.add_body("bar", dal.Box(0.4, 0.1, 0.1), mass=1.0, angular_velocity=spin)
        chain = scene.add_particles("chain", points, mass=0.1, velocity=start)
        scene.springs("links", chain, [[0, 1], [1, 2], [2, 3]], stiffness=100.0)
        scene.attach("hook", chain[0], bar)
        trajectory = run(scene, 0.5, method=method, dt=5e-4).trajectory
        energy = (trajectory.kinetic + trajectory.potential).values[100:]
        assert np.abs(energy / energy[0] - 1.0).max() <= 1e-3


def test_particles_of_no_material_pass_through_everything():
    scene = dal.Scene("ghosts")
    ground(scene)
    scene.add_particles("ghost", (0, 0, 0.1), mass=1.0, radius=0.01)
    scene.add_particles("grain", (1, 0, 0.1), mass=1.0, radius=0.01, material=dal.Material(0.2))
    with pytest.warns(dal.SimulationWarning, match="'ghost' have no material"):
        result = run(scene, 0.5, method="time_stepping")
    assert result.state.particle_position[0, 2] == pytest.approx(0.1 - 0.5 * G * 0.25, abs=1e-10)
    assert result.state.particle_position[1, 2] == pytest.approx(0.01, abs=1e-12)


def test_soft_spheres_hold_each_other_up():
    """Three particles in a column, each pushed by the one above: the overlaps are those of the weights above."""
    scene = dal.Scene("column")
    ground(scene)
    k, m, d = 2000.0, 0.1, 0.1
    x = [(0, 0, 0.05), (0, 0, 0.15), (0, 0, 0.25)]
    scene.add_particles("grains", x, mass=m, radius=0.05, material=dal.Material(0.5))
    scene.repulsion("push", stiffness=k, diameter=d, damping=20.0)
    result = run(scene, 2.0, method="time_stepping", dt=1e-3)
    z = result.state.particle_position[:, 2]
    np.testing.assert_allclose(np.diff(z), [d - 2 * m * G / k, d - m * G / k], atol=1e-6)
