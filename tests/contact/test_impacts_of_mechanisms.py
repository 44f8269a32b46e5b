"""Impacts of what has joints, in both coordinates: theory of one impact, and the energy of chains and clouds of them."""

import numpy as np
import pytest

import dalembert as dal

G = 9.81
COORDINATES = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


def run_of(scene, duration, coordinates, dt=1e-3, **settings):
    return dal.simulate(scene, duration, dt=dt, coordinates=coordinates, method="time_stepping", **settings)


def work_of_impacts(run):
    """J, the largest of contacts and stops."""
    return max(abs(value) for name, value in run.report.work.items() if "impacts" in name or name.startswith("stop"))


def arm(restitution, *, links=3, friction=0.0, gravity=0.0, name="arm", scene=None, base=(0.0, 0.0, 0.0), side=1.0):
    """Links of 1 m on hinges about y, along ± x from the base; balls of radius 0.1 m are in their middles."""
    scene = scene or dal.Scene(name, material=dal.Material(friction, restitution), gravity=(0.0, 0.0, -gravity))
    before = dal.WORLD
    for i in range(links):
        rod = scene.add_body(
            f"{name} {i}", dal.Sphere(0.1), mass=1.0 + i, inertia=(0.05, 0.3, 0.3),
            position=np.add(base, (side * (i + 0.5), 0.0, 0.0)),
        )  # fmt: skip
        scene.hinge(f"{name} hinge {i}", before, rod, at=np.add(base, (side * i, 0.0, 0.0)), axis=(0.0, 1.0, 0.0))
        before = rod
    return scene


def mass_and_row(links=3):
    """M of the arm above in its hinge rates, and the row of the velocity along z of the last ball."""
    mass, point = np.zeros((links, links)), np.zeros(links)
    for k in range(links):
        turning = (np.arange(links) <= k).astype(float)
        rising = -turning * (k + 0.5 - np.arange(links))
        mass += (1.0 + k) * np.outer(rising, rising) + 0.3 * np.outer(turning, turning)
        point = rising
    return mass, point


@COORDINATES
@pytest.mark.parametrize("restitution", [0.5, 1.0])
@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_a_ball_that_hits_an_arm_obeys_the_law_of_impact_with_its_effective_mass(restitution, offset, coordinates):
    """u⁺ = −e u⁻ with the impulse (1 + e) u⁻ / (1/m + J M⁻¹ Jᵀ); the ball may meet the last link beside its centre."""
    scene, ball, speed = arm(restitution), 2.0, 3.0
    height = 0.1 + np.sqrt(0.15**2 - offset**2) - 0.1 + 1e-4
    scene.add_body(
        "ball", dal.Sphere(0.05), mass=ball, position=(2.5 + offset, 0.0, height), velocity=(0.0, 0.0, -speed)
    )
    run = run_of(scene, 1e-3, coordinates)
    mass, along_z = mass_and_row()
    inverse, normal = np.linalg.inv(mass), np.array([offset, np.sqrt(0.15**2 - offset**2)]) / 0.15
    row = normal[1] * along_z  # all links lie along x, so that nothing of the arm moves along x
    impulse = (1 + restitution) * speed * normal[1] / (1 / ball + row @ inverse @ row)
    expected = impulse / ball * normal[[0, 0, 1]] * (1, 0, 1) + (0.0, 0.0, -speed)
    np.testing.assert_allclose(run.state.velocity[-1], expected, atol=2e-3 if offset else 1e-9)
    rates = -impulse * inverse @ row
    np.testing.assert_allclose(run.state.angular_velocity[:3, 1], np.cumsum(rates), atol=2e-2 if offset else 2e-3)
    if restitution == 1.0:
        assert work_of_impacts(run) < 1e-12


@COORDINATES
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("gap", [0.0, 1e-4])
def test_a_cradle_of_pendulums_passes_the_swing_on(gap, dt, coordinates):
    """Five balls on hinges: the last one rises to where the first was released, and comes back."""
    scene = dal.Scene("cradle", material=dal.Material(0.0, 1.0))
    for i in range(5):
        angle, top = 0.5 * (i == 0), np.array(((0.2 + gap) * i, 0.0, 1.0))
        ball = scene.add_body(
            f"ball {i}", dal.Sphere(0.1), mass=1.0, position=top - (np.sin(angle), 0.0, np.cos(angle))
        )
        scene.hinge(f"hinge {i}", dal.WORLD, ball, at=top, axis=(0.0, 1.0, 0.0))
    run = run_of(scene, 3.0, coordinates, dt, frame_rate=100)
    heights = run.trajectory.position[:, :, 2]
    top = 1.0 - np.cos(0.5)
    assert float(heights[:, 4].max()) == pytest.approx(top, rel=2e-2 + 3 * gap)
    assert work_of_impacts(run) < 1e-10 * G * top


@COORDINATES
def test_two_arms_that_meet_keep_their_energy(coordinates):
    """Two double pendulums that swing down from both sides."""
    scene = arm(1.0, links=2, gravity=G, name="left", side=-1.0)
    arm(1.0, links=2, name="right", scene=scene, base=(1.2, 0.0, 0.0))
    run = run_of(scene, 6.0, coordinates, 1e-3, frame_rate=1000)
    assert int((run.trajectory.contacts > 0).sum()) > 3
    assert run.report.contact.penetration < 1e-3
    assert work_of_impacts(run) < 1e-10 * run.report.energy_scale


@COORDINATES
@pytest.mark.parametrize("iterations", [None, 1])
def test_an_arm_in_a_cloud_of_elastic_balls_keeps_energy_solved_or_not(iterations, coordinates):
    scene, rng = arm(1.0, links=3), np.random.default_rng(1)
    for i in range(12):
        place = (0.3 + 0.25 * i, 0.0, (-1) ** i * 0.35)
        velocity = rng.normal(size=3) * (1, 0.1, 1) - (0, 0, 4.0 * (-1) ** i)
        scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=0.5, position=place, velocity=velocity)
    run = run_of(scene, 0.5, coordinates, 2e-3, iterations=iterations)
    assert work_of_impacts(run) < 1e-10 * run.report.energy_scale
    assert np.abs(run.state.angular_velocity[:3]).max() > 0.5


@COORDINATES
def test_a_cart_between_elastic_stops_pushes_balls_for_ever(coordinates):
    """A cart on a rail between two stops, and two balls between it and elastic walls: all in one line."""
    scene = dal.Scene("cart", material=dal.Material(0.0, 1.0), gravity=(0.0, 0.0, 0.0))
    cart = scene.add_body("cart", dal.Sphere(0.1), mass=2.0, velocity=(1.0, 0.0, 0.0))
    scene.slider("rail", dal.WORLD, cart, at=(0.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    scene.limit("stop", "rail", lower=-0.05, upper=0.05, restitution=1.0)
    for sign in (-1, 1):
        scene.add_body(f"ball {sign}", dal.Sphere(0.1), mass=0.7, position=(0.3 * sign, 0.0, 0.0))
        scene.add_obstacle(f"wall {sign}", dal.Box(0.2, 1.0, 1.0), position=(0.6 * sign, 0.0, 0.0))
    run = run_of(scene, 4.0, coordinates, 5e-3)
    kinetic = 0.5 * np.array([2.0, 0.7, 0.7]) @ run.state.velocity[:, 0] ** 2
    assert kinetic == pytest.approx(1.0, abs=1e-10)
    assert np.abs(run.state.position[:, 0] - (0.0, -0.3, 0.3)).max() < 0.1 + 0.05


@COORDINATES
@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_no_impact_of_a_rough_arm_brings_energy(restitution, coordinates):
    scene = arm(restitution, links=3, friction=0.6, gravity=G)
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0.0, 0.0, -0.6))
    for i in range(4):
        scene.add_body(f"box {i}", dal.Box(0.2, 0.2, 0.2), mass=0.5, position=(0.6 + 0.5 * i, 0.0, -0.45))
    run = run_of(scene, 1.0, coordinates, 2e-3, frame_rate=500)
    work = run.trajectory.work.sel(force=[name for name in run.report.work if name.startswith("contact")])
    gained = float(work.diff("time").sum("force").max())  # contacts that stay do work of second order in dt
    assert gained < 1e-5 * run.report.energy_scale
    assert -run.report.work["contact: friction"] > 1e-3


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_both_coordinates_agree_on_a_chain_of_impacts(restitution):
    states = []
    for coordinates in ("maximal", "joint"):
        scene = arm(restitution, links=3)
        for i in range(3):
            place, velocity = (0.5 + i, 0.0, 0.21 + 0.003 * i), (0.0, 0.0, -2.0 - i)
            scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=0.5 + i, position=place, velocity=velocity)
        states.append(run_of(scene, 0.01, coordinates, 1e-4).state)
    np.testing.assert_allclose(states[0].velocity, states[1].velocity, atol=2e-4)
    np.testing.assert_allclose(states[0].angular_velocity, states[1].angular_velocity, atol=2e-4)


@COORDINATES
def test_a_motor_without_limit_is_a_wall_to_a_ball(coordinates):
    """A ball that hits a paddle held by an ideal motor returns with its own speed."""
    scene = dal.Scene("paddle", material=dal.Material(0.0, 1.0), gravity=(0.0, 0.0, 0.0))
    paddle = scene.add_body("paddle", dal.Box(0.1, 1.0, 1.0), mass=1.0)
    scene.slider("rail", dal.WORLD, paddle, at=(0.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    scene.motor("motor", "rail", speed=0.5, limit=np.inf)
    scene.add_body("ball", dal.Sphere(0.1), mass=0.5, position=(0.3, 0.0, 0.0), velocity=(-2.0, 0.0, 0.0))
    run = run_of(scene, 0.2, coordinates, 1e-3)
    np.testing.assert_allclose(run.state.velocity[:, 0], (0.5, 3.0), atol=1e-6)


@COORDINATES
def test_an_arm_rests_on_an_elastic_stop_and_elastic_ground(coordinates):
    for stop in (True, False):
        scene = arm(0.7, links=1, gravity=G)
        if stop:
            scene.limit("stop", "arm hinge 0", upper=0.0, restitution=0.7)
        else:
            scene.add_obstacle("ground", dal.HalfSpace(), position=(0.0, 0.0, -0.1))
        run = run_of(scene, 0.5, coordinates, 2e-3)
        assert np.abs(run.state.velocity).max() < 1e-5
        assert abs(run.state.position[0, 2]) < 1e-5


@COORDINATES
@pytest.mark.parametrize("restitution", [0.5, 0.9])
def test_a_robot_on_bouncing_feet_comes_to_rest(restitution, coordinates):
    """Dropped on four legs with motors: the force on each foot ends constant, in sum the weight."""
    scene, dt = dal.Scene(), 2e-3
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(1.0))
    scene.add_body("trunk", dal.Box(0.4, 0.2, 0.1), mass=2.0, position=(0.0, 0.0, 0.33), material=None)
    for n, (x, y) in enumerate([(-0.2, -0.1), (-0.2, 0.1), (0.2, -0.1), (0.2, 0.1)]):
        foot = scene.add_body(
            f"foot {n}", dal.Sphere(0.02), mass=0.2, inertia=(0.02, 0.02, 0.02), position=(x, y, 0.0202),
            material=dal.Material(1.0, restitution),
        )  # fmt: skip
        scene.hinge(f"hip {n}", "trunk", foot, at=(x, y, 0.33), axis=(0.0, 1.0, 0.0))
        scene.motor(f"motor {n}", f"hip {n}", stiffness=40.0, damping=1.6, speed=0.0, position=0.0)
    run = dal.Simulation(scene, method="time_stepping", dt=dt, coordinates=coordinates)
    run.advance(3.0)
    forces = []
    for _ in range(20):
        run.advance(dt)
        forces.append([sum(abs(c.force[2]) for c in run.contacts if f"foot {n}" in (c.a, c.b)) for n in range(4)])
    assert np.ptp(forces, axis=0) == pytest.approx(np.zeros(4), abs=0.01)
    assert np.sum(forces, axis=1) == pytest.approx(2.8 * G, rel=1e-3)


@COORDINATES
@pytest.mark.parametrize("friction", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("depth", [0.2, 0.5, 0.8, 0.95])
def test_a_bar_on_a_hinge_that_hits_rough_ground_returns_by_its_restitution_or_jams(depth, friction, coordinates):
    """With one freedom, friction cannot change the law of Newton; where μ times the depth of the contact under the hinge is
    more than its distance along the ground, no impulse lets the bar return, and it stops. Sweeps over the components of the
    impulse converge by that ratio."""
    scene = dal.Scene("bar", material=dal.Material(friction, restitution=0.5), gravity=(0, 0, 0))
    angle = np.arcsin(depth) - 0.1
    x, z = np.cos(angle), -np.sin(angle)
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(x, 0, z), velocity=(2 * z, 0, -2 * x),
                   angular_velocity=(0, 2, 0))  # fmt: skip
    scene.hinge("hinge", dal.WORLD, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -depth - 0.1))
    rate = float(run_of(scene, 0.1, coordinates).joint_state()["hinge"][1])
    jams = friction * (depth + 0.1) > np.sqrt(1.0 - depth**2)
    assert rate == pytest.approx(0.0 if jams else -1.0, abs=1e-6)
