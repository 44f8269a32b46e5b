"""Rolling, torsional and Stribeck friction in time steps: theory, all solvers and coordinates, the ledger, checkpoints."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dal

G, R, MASS = 9.81, 0.1, 1.0
BALL = 0.4 * MASS * R * R  # kg m²
WAYS = ({}, {"solver": "converging"}, {"coordinates": "joint"}, {"coordinates": "joint", "solver": "converging"})
ways = pytest.mark.parametrize("how", WAYS, ids=["bodies", "converging", "joint", "joint-converging"])


def ball_on_ground(material, velocity=(0, 0, 0), spin=(0, 0, 0), slope=0.0):
    """A ball of radius R on the ground; gravity is turned by the slope (rad) toward +x."""
    scene = dal.Scene("ball", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), material=material)
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(R), mass=MASS, position=(0, 0, R), velocity=velocity, angular_velocity=spin)
    return scene


@ways
def test_a_rolling_ball_is_slowed_as_its_length_says(how):
    scene = ball_on_ground(dal.Material(0.6, rolling_friction=0.004), velocity=(1, 0, 0), spin=(0, 1 / R, 0))
    run = dal.simulate(scene, 0.5, dt=1 / 200, **how)
    slowed = 0.004 * G / (R * (1.0 + BALL / (MASS * R * R)))
    assert run.state.velocity[0, 0] == pytest.approx(1.0 - 0.5 * slowed, rel=1e-10)
    assert run.state.angular_velocity[0, 1] * R == pytest.approx(run.state.velocity[0, 0], rel=1e-10)  # it still rolls
    taken = -float(run.trajectory.work.sel(force="contact: rolling and spinning")[-1])
    assert taken == pytest.approx(0.5 * 1.4 * (1.0 - (1.0 - 0.5 * slowed) ** 2), rel=1e-9)
    assert run.report.energy_residual_relative < 1e-12
    torque = run.contacts[0].torque
    assert np.linalg.norm(torque) == pytest.approx(0.004 * MASS * G, rel=1e-9)


@ways
def test_a_ball_that_rolls_askew_and_spins_loses_both_by_their_own_laws(how):
    material = dal.Material(0.6, rolling_friction=0.004, torsional_friction=0.001)
    scene = ball_on_ground(material, velocity=(0.6, 0.8, 0), spin=(-8, 6, 3))
    state = dal.simulate(scene, 0.5, dt=1 / 200, **how).state
    speed = 1.0 - 0.5 * 0.004 * G / (R * 1.4)
    np.testing.assert_allclose(state.velocity[0], (0.6 * speed, 0.8 * speed, 0), atol=1e-8)
    assert state.angular_velocity[0, 2] == pytest.approx(3.0 - 0.5 * 0.001 * G / BALL, rel=1e-8)


def test_mujoco_slows_a_rolling_ball_alike():
    mujoco = pytest.importorskip("mujoco")
    ball = "type='sphere' size='0.1' mass='1' condim='6' friction='0.6 0 0.004' solref='0.005 1'"
    text = (
        "<mujoco><option timestep='0.0005' cone='elliptic' impratio='100'/><worldbody>"
        f"<geom type='plane' size='5 5 .1' condim='6' friction='0.6 0 0.004'/><body pos='0 0 0.1'><freejoint/><geom {ball}/>"
        "</body></worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = (1, 0, 0, 0, 10, 0)
    while data.time < 0.5 - 1e-9:
        mujoco.mj_step(model, data)
    scene = ball_on_ground(dal.Material(0.6, rolling_friction=0.004), velocity=(1, 0, 0), spin=(0, 10, 0))
    lost = 1.0 - dal.simulate(scene, 0.5, dt=1 / 200).state.velocity[0, 0]
    assert 1.0 - data.qvel[0] == pytest.approx(lost, rel=0.02)  # its contact is soft, and its cone one ellipsoid


def test_a_cylinder_that_touches_at_two_points_is_slowed_by_both():
    scene = dal.Scene("cylinder", material=dal.Material(0.5, rolling_friction=0.002))
    scene.add_obstacle("ground", dal.HalfSpace())
    lying = (np.sqrt(0.5), np.sqrt(0.5), 0, 0)
    scene.add_body(
        "roll", dal.Cylinder(R, 0.3), mass=1, position=(0, 0, R), orientation=lying, velocity=(1, 0, 0),
        angular_velocity=(0, 1 / R, 0),
    )  # fmt: skip
    run = dal.simulate(scene, 0.5, dt=1 / 400)
    assert run.state.velocity[0, 0] == pytest.approx(1.0 - 0.5 * 0.002 * G / (R * 1.5), rel=1e-8)


@ways
def test_a_spinning_ball_stops_after_the_time_of_theory_and_stays(how):
    scene = ball_on_ground(dal.Material(0.5, torsional_friction=0.01), spin=(0, 0, 5))
    until = BALL * 5.0 / (0.01 * MASS * G)
    run = dal.simulate(scene, 1.5 * until, dt=1 / 2000, frame_rate=2000, **how)
    spin = np.asarray(run.trajectory.angular_momentum)[:, 0, 2] / BALL
    time = np.asarray(run.trajectory.time)
    np.testing.assert_allclose(spin, np.maximum(0.0, 5.0 * (1.0 - time / until)), atol=5.0 / until / 2000)
    assert abs(spin[-1]) < 1e-9


def test_a_disc_without_coulomb_friction_is_stopped_by_torsion_alone():
    scene = dal.Scene("disc", material=dal.Material(0.0, torsional_friction=0.003))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("disc", dal.Cylinder(R, 0.04), mass=1, position=(0, 0, 0.02), angular_velocity=(0, 0, 5))
    run = dal.simulate(scene, 0.2, dt=1 / 200)
    assert run.state.angular_velocity[0, 2] == pytest.approx(5.0 - 0.2 * 0.003 * G / (0.5 * R * R), rel=1e-9)


@ways
@pytest.mark.parametrize("share", [0.999, 1.001])
def test_a_ball_rolls_down_a_slope_only_if_it_is_steeper_than_its_length_over_the_radius(how, share):
    slope = share * np.arctan(0.004 / R)
    run = dal.simulate(ball_on_ground(dal.Material(0.5, rolling_friction=0.004), slope=slope), 3.0, dt=1 / 200, **how)
    down = 4.5 * G * (np.sin(slope) - 0.004 / R * np.cos(slope)) / 1.4
    assert run.state.position[0, 0] == pytest.approx(max(0.0, down), abs=1e-8)
    assert run.report.contact.unsolved == 0


@pytest.mark.parametrize("how", WAYS[:3], ids=["bodies", "converging", "joint"])
def test_a_block_that_is_pulled_slips_at_static_friction_and_then_follows_stribecks_law(how):
    scene = dal.Scene("block", material=dal.Material(0.3, static_friction=0.5, stribeck_velocity=0.01))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("block", dal.Box(1.0, 0.6, 0.4), mass=2, position=(0, 0, 0.2))
    scene.external_force("pull", "block", function=lambda t, x, q, v, w: (10.0 * t, 0.0, 0.0), at=(0, 0, 0))
    run = dal.simulate(scene, 1.2, dt=1 / 1000, frame_rate=1000, **how)
    speed = np.asarray(run.trajectory.momentum)[:, 0, 0] / 2.0
    assert speed[979] < 1e-5 and speed[986] > 5e-5  # it slips at 0.981 s

    def law(t, v):
        return (10.0 * t - (0.3 + 0.2 * np.exp(-((v / 0.01) ** 2))) * 2 * G) / 2.0

    theory = solve_ivp(law, (0.981 + 1e-6, 1.2), [1e-6], rtol=1e-9, atol=1e-12, max_step=1e-3)
    assert speed[-1] == pytest.approx(theory.y[0, -1], rel=0.01)


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_a_block_holds_up_to_its_static_friction(share):
    scene = dal.Scene("block", material=dal.Material(0.3, static_friction=0.5, stribeck_velocity=0.01))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("block", dal.Box(1.0, 0.6, 0.4), mass=2, position=(0, 0, 0.2))
    scene.external_force("pull", "block", force=(share * 0.5 * 2 * G, 0, 0), at=(0, 0, 0))
    moved = dal.simulate(scene, 2.0, dt=1 / 200).state.position[0, 0]
    assert moved < 1e-5 if share < 1.0 else moved > 0.5


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_cart_on_four_wheels_loses_what_its_wheels_take(coordinates):
    scene = dal.Scene("cart", material=dal.Material(0.8, rolling_friction=0.003))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("frame", dal.Box(0.8, 0.2, 0.1), mass=5, position=(0, 0, R), velocity=(1, 0, 0))
    for i, (x, y) in enumerate([(-0.3, -0.25), (-0.3, 0.25), (0.3, -0.25), (0.3, 0.25)]):
        wheel = scene.add_body(
            f"wheel {i}", dal.Sphere(R), mass=1, position=(x, y, R), velocity=(1, 0, 0), angular_velocity=(0, 1 / R, 0)
        )
        scene.hinge(f"axle {i}", "frame", wheel, at=(x, y, R), axis=(0, 1, 0))
    run = dal.simulate(scene, 0.5, dt=1 / 200, coordinates=coordinates)
    slowed = 0.003 * G * 9.0 / (R * (9.0 + 4 * BALL / R**2))
    assert run.state.velocity[0, 0] == pytest.approx(1.0 - 0.5 * slowed, rel=1e-6)
    assert run.report.energy_residual_relative < 1e-9


def test_a_turntable_takes_a_ball_along_by_torsion_and_does_the_work():
    scene = dal.Scene("table", material=dal.Material(0.0, torsional_friction=0.01))
    scene.add_obstacle("table", dal.Box(1, 1, 0.2), position=(0, 0, -0.1), surface_spin=(0, 0, 3))
    scene.add_body("ball", dal.Sphere(R), mass=MASS, position=(0, 0, R))
    for how in WAYS[:3]:
        run = dal.simulate(scene, 0.05, dt=1 / 500, **how)
        assert run.state.angular_velocity[0, 2] == pytest.approx(0.05 * 0.01 * G / BALL, rel=1e-8)
        run = dal.simulate(scene, 0.5, dt=1 / 500, **how)
        assert run.state.angular_velocity[0, 2] == pytest.approx(3.0, rel=1e-8)
        work = run.report.work  # of which half is lost
        assert work["table"] == pytest.approx(BALL * MASS * 9.0, rel=1e-8)
        assert work["contact: rolling and spinning"] == pytest.approx(-0.5 * BALL * MASS * 9.0, rel=1e-8)
        assert run.report.energy_residual < 1e-12


SPINS = {
    "torsion": dal.Material(0.0, torsional_friction=0.01),
    "rolling": dal.Material(0.4, rolling_friction=0.02),
    "both": dal.Material(0.4, rolling_friction=0.02, torsional_friction=0.01),
}


@pytest.mark.parametrize("how", WAYS[:3], ids=["bodies", "converging", "joint"])
@pytest.mark.parametrize("kind", SPINS)
def test_the_drive_of_a_turning_surface_does_the_work_of_its_torques_as_that_of_a_body_that_turns(kind, how):
    works = []
    for moves in ({"surface_spin": (0.3, -0.2, 3.0)}, {"angular_velocity": (0.3, -0.2, 3.0)}):
        scene = dal.Scene("two balls", material=SPINS[kind])
        scene.add_body("driven", dal.Sphere(1.0), motion="set", position=(0, 0, -1.0), **moves)
        scene.add_body("ball", dal.Sphere(R), mass=MASS, position=(0.02, 0, R + 0.000181))
        report = dal.simulate(scene, 0.2, dt=1 / 500, **how).report
        assert report.energy_residual < 1e-3 * report.work["driven"]
        works.append(report.work)
    assert works[0]["contact: rolling and spinning"] < 0.0 < works[0]["driven"]
    assert works[0] == pytest.approx(works[1], rel=1e-6, abs=1e-12)


def heap(material, count=12):
    rng = np.random.default_rng(4)
    scene = dal.Scene("heap", material=material)
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(count):
        shape = dal.Sphere(R) if i % 2 else dal.Box(0.2, 0.2, 0.2)
        scene.add_body(f"b{i}", shape, mass=1, position=(*rng.uniform(-0.08, 0.08, 2), 0.12 + 0.25 * i))
    return scene


ROUGH = dal.Material(0.6, rolling_friction=0.01, torsional_friction=0.005)


@pytest.mark.parametrize("how", WAYS[:3], ids=["bodies", "converging", "joint"])
def test_a_heap_is_solved_in_every_step_within_its_cones_and_comes_to_rest(how):
    run = dal.simulate(heap(ROUGH), 4.5, dt=1 / 200, **how)
    assert run.report.contact.unsolved == 0
    assert np.abs(run.state.velocity).max() < 1e-6
    assert run.contacts
    for contact in run.contacts:
        bears = contact.force @ contact.normal
        spin = contact.torque @ contact.normal
        roll = np.linalg.norm(contact.torque - spin * contact.normal)
        assert abs(spin) <= 0.005 * bears + 1e-12 and roll <= 0.01 * bears + 1e-12


def test_what_sleeps_wakes_and_rolls_on():
    scene = ball_on_ground(dal.Material(0.5, rolling_friction=0.004), velocity=(0.2, 0, 0), spin=(0, 0.2 / R, 0))
    run = dal.simulate(scene, 3.0, dt=1 / 200, sleep_after=0.3)
    slowed = 0.004 * G / (R * 1.4)
    assert run.state.position[0, 0] == pytest.approx(0.5 * 0.2**2 / slowed, rel=1e-2)
    assert np.abs(run.state.velocity).max() == 0.0


def test_the_result_does_not_depend_on_the_number_of_threads():
    scene = heap(ROUGH, 40)
    one, two = (dal.simulate(scene, 0.3, dt=1 / 200, threads=threads).state for threads in (1, 2))
    assert one.position.tobytes() == two.position.tobytes()


def test_a_scene_of_plain_surfaces_has_no_such_tables():
    plain = dal.Simulation(heap(dal.Material(0.6), 2), dt=0.01)
    rough = dal.Simulation(heap(ROUGH, 2), dt=0.01)
    assert plain._driver.bodies._surfaces is None and rough._driver.bodies._surfaces is not None
    assert len(rough.model.force_names) == len(plain.model.force_names) + 1


@ways
def test_torques_in_a_moving_heap_of_balls_dissipate_the_most_that_their_discs_allow(how):
    """|τ| ≤ μ N, and τ·ω = −μ N |ω|, for rolling and for spinning: the law of each contact, whatever the solver is."""
    rng = np.random.default_rng(7)
    scene = dal.Scene("balls", material=dal.Material(0.5, rolling_friction=0.01, torsional_friction=0.006))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(15):
        scene.add_body(f"b{i}", dal.Sphere(R), mass=1 + i % 3, position=(*rng.uniform(-0.1, 0.1, 2), 0.12 + 0.21 * i))
    run = dal.Simulation(scene, dt=1 / 200, tolerance=1e-9, **how)
    met, turning = 0, 0
    for _ in range(12):
        run.advance(0.045)
        impacts = run.report.contact.impacts
        run.advance(0.005)
        if run.report.contact.impacts > impacts:
            continue  # which change the velocities after that
        omega = dict(zip(scene.bodies, np.asarray(run.state.angular_velocity), strict=True)) | {"ground": np.zeros(3)}
        for contact in run.contacts:
            bears, n = contact.force @ contact.normal, contact.normal
            relative = omega[contact.b] - omega[contact.a]
            spin, torque = relative @ n, contact.torque @ n
            roll, resists = relative - spin * n, contact.torque - torque * n
            assert abs(torque) <= 0.006 * bears + 1e-7 * (1 + bears)
            assert np.linalg.norm(resists) <= 0.01 * bears + 1e-7 * (1 + bears)
            scale = 1e-6 * (1.0 + bears)
            assert abs(torque * spin + 0.006 * bears * abs(spin)) < scale
            assert abs(resists @ roll + 0.01 * bears * np.linalg.norm(roll)) < scale
            met += bears > 1e-3
            turning += bears > 1e-3 and abs(spin) > 0.01 and np.linalg.norm(roll) > 0.01
    assert met > 30 and turning > 10


@ways
def test_contacts_keep_their_wrench_in_a_step_in_which_others_meet(how):
    """A box rests on its corners and a ball spins at its place, while others fall into a heap beside them."""
    rng = np.random.default_rng(7)
    scene = dal.Scene("aside", material=dal.Material(0.5, 0.8, torsional_friction=0.002, rolling_friction=0.002))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.4, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1))
    scene.add_body("ball", dal.Sphere(R), mass=1.0, position=(1, 0, R), angular_velocity=(0, 0, 50))
    for i in range(15):
        x, y = rng.uniform(-0.1, 0.1, 2) + (6, 0)
        scene.add_body(f"beside {i}", dal.Sphere(R), mass=1.0 + i % 3, position=(x, y, 0.12 + 0.21 * i))
    run = dal.Simulation(scene, dt=1 / 200, **how)
    met = 0
    for _ in range(200):
        impacts = run.report.contact.impacts
        run.step()
        met += run.report.contact.impacts > impacts
        force, moment, brake = np.zeros(3), np.zeros(3), 0.0
        for contact in run.contacts:
            sign = -1.0 if contact.a == "box" else 1.0
            if "box" in (contact.a, contact.b):
                force += sign * contact.force
                moment += sign * (contact.torque + np.cross(contact.position - run["box"].position, contact.force))
            elif "ball" in (contact.a, contact.b):
                brake += abs(contact.torque[2])
        assert brake == pytest.approx(0.002 * G, rel=1e-3)
        np.testing.assert_allclose(force, (0, 0, 2.0 * G), atol=1e-3)
        np.testing.assert_allclose(moment, 0.0, atol=1e-3)
    assert met >= 2


def test_a_rule_of_a_pair_counts():
    scene = ball_on_ground(dal.Material(0.6), velocity=(1, 0, 0), spin=(0, 1 / R, 0))
    scene.set_contact("ball", "ground", rolling_friction=0.004)
    run = dal.simulate(scene, 0.5, dt=1 / 200)
    assert run.state.velocity[0, 0] == pytest.approx(1.0 - 0.5 * 0.004 * G / (R * 1.4), rel=1e-10)
