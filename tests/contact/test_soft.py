"""Motors with gains, springs and dampers of joints in time steps: stable for any gain, exact where theory is."""

import math

import numpy as np
import pytest

import dalembert as dal
from dalembert.contact import limits as soft
from dalembert.core.kernel import kernel, out

BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


def stepped(scene, dt, coordinates="maximal", **settings):
    return dal.Simulation(scene, method="time_stepping", dt=dt, coordinates=coordinates, **settings)


def hinge(kp=2000.0, kv=200.0, inertia=1e-3, position=0.5, limit=np.inf, arm=0.0):
    """A body of 1 kg on a hinge about y with a motor; `arm` (m) is how far its centre of mass is from the hinge."""
    scene = dal.Scene("hinge", gravity=(0, 0, -9.81 if arm else 0.0))
    own = inertia - arm**2
    body = scene.add_body("body", mass=1.0, inertia=(own, own, own), position=(arm, 0, 0))
    scene.hinge("hinge", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("motor", "hinge", stiffness=kp, damping=kv, position=position, limit=limit)
    return scene


def chain(n, kp, kv, position=0.2, limit=np.inf, material=None):
    """n boxes of 0.5 kg on hinges about y and z in turn, level at 0.3 m, each with a motor."""
    scene, before = dal.Scene("chain"), dal.WORLD
    for i in range(n):
        body = scene.add_body(f"box {i}", dal.Box(0.3, 0.04, 0.04), mass=0.5, position=(0.3 * (i + 0.5), 0, 0.3),
                              material=material)  # fmt: skip
        scene.hinge(f"joint {i}", before, body, at=(0.3 * i, 0, 0.3), axis=(0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        scene.motor(f"motor {i}", f"joint {i}", stiffness=kp, damping=kv, position=position, limit=limit)
        before = body
    return scene


def linkage(where, kp, kv):
    """Four bars, one of which is the ground, with a motor on one of the hinges; the fourth corner is a ball joint."""
    scene = dal.Scene("linkage")
    a = scene.add_body("a", dal.Box(0.05, 0.05, 0.4), mass=1.0, position=(0, 0, 0.2))
    b = scene.add_body("b", dal.Box(0.6, 0.05, 0.05), mass=1.0, position=(0.3, 0, 0.4))
    c = scene.add_body("c", dal.Box(0.05, 0.05, 0.4), mass=1.0, position=(0.6, 0, 0.2))
    scene.hinge("crank", dal.WORLD, a, at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("elbow", a, b, at=(0, 0, 0.4), axis=(0, 1, 0))
    scene.ball("corner", b, c, at=(0.6, 0, 0.4))
    scene.hinge("rocker", dal.WORLD, c, at=(0.6, 0, 0), axis=(0, 1, 0))
    scene.motor("motor", where, stiffness=kp, damping=kv, position=-0.3 if where == "elbow" else 0.3)
    return scene


def values(run):
    return np.array([s for s, _ in run.joint_state().values()])


@kernel
def ask(a: float, b: float, found: out()) -> None:
    found[0], found[1] = soft.fit_decay(a, b)


def follow(a, b):
    found = np.zeros(2)
    ask(a, b, found)
    return found.tolist()


# One freedom ------------------------------------------------------------------------------------------------------------


def roots(a, b):
    """What one freedom is multiplied by in a step; see `contact.limits`."""
    inertia, damping = follow(a, b)
    resist, keep = 1.0 + inertia + a / 4 + damping / 2, 1.0 + inertia + a / 4 - damping / 2
    return np.linalg.eigvals([[1.0 - a / resist, keep / resist], [-a / resist, keep / resist]])


@pytest.mark.parametrize(("slow", "fast"), [(1e-3, 1e-2), (0.02, 0.5), (0.1, 3.0), (0.02, 400.0), (2.0, 2.5)])
def test_what_is_overdamped_moves_as_the_exact_solution_however_stiff(slow, fast):
    found = np.sort(roots(slow * fast, slow + fast).real)
    assert found == pytest.approx([math.exp(-fast), math.exp(-slow)], abs=1e-12)


@pytest.mark.parametrize("a", [0.0, 1e-6, 0.01, 0.3, 1.0, 4.0, 10.0, 1e3, 1e8])
@pytest.mark.parametrize("b", [0.0, 1e-9, 1e-3, 0.1, 1.0, 3.0, 50.0, 1e6])
def test_every_oscillator_decays_by_as_much_as_it_should(a, b):
    inertia, damping = follow(a, b)
    one, two = roots(a, b)
    assert inertia >= 0.0 and damping >= 0.0
    assert abs(one * two) == pytest.approx(math.exp(-b), rel=1e-9, abs=1e-12)
    assert max(abs(one), abs(two)) <= 1.0 + 1e-12
    if b == 0.0:
        assert inertia < 1e-7 and damping == 0.0


def test_inertia_and_damping_differ_from_the_true_ones_by_the_square_of_the_step():
    k, d = 3.0, 0.7
    errors = []
    for h in (0.04, 0.02):
        inertia, damping = follow(h * h * k, h * d)
        errors.append(max(inertia, abs(damping / h - d)))
    assert errors[0] / errors[1] > 3.8


# The hinge of a stiff servo -----------------------------------------------------------------------------------------------


@BOTH
def test_a_stiff_servo_goes_where_it_should_instead_of_exploding(coordinates):
    run = stepped(hinge(), 2e-3, coordinates, frame_rate=500.0)
    run.advance(0.5)
    t = run.trajectory.time.values
    angle = run.trajectory.joint_coordinate.values[:, 0]
    assert np.abs(angle - 0.5 * (1 - np.exp(-10 * t))).max() < 0.5 * 10 * 1.1e-3  # about half a step late
    assert np.abs(run.trajectory.joint_speed.values).max() < 5.01
    assert run.report.energy_residual < 1e-12


@BOTH
@pytest.mark.parametrize("dt", [1e-4, 2e-3, 2e-2])
@pytest.mark.parametrize("gain", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("damped", [0.0, 1e-3, 1.0])
def test_a_servo_is_stable_for_any_gain_and_step(coordinates, dt, gain, damped):
    run = stepped(hinge(2000.0 * gain, 200.0 * gain * damped), dt, coordinates)
    run.advance(200 * dt)
    value, rate = run.joint_state()["hinge"]
    energy = 0.5 * 2000.0 * gain * 0.25
    assert 0.5 * 1e-3 * rate**2 + 0.5 * 2000.0 * gain * (value - 0.5) ** 2 <= energy * (1 + 1e-6)
    assert run.report.energy_residual <= 1e-9 * energy


@BOTH
def test_a_servo_of_any_stiffness_without_a_gain_comes_to_rest_where_the_step_cannot_follow_it(coordinates):
    run = stepped(hinge(1e9, 0.0), 2e-3, coordinates)
    run.advance(0.1)
    value, rate = run.joint_state()["hinge"]
    assert value == pytest.approx(0.5, abs=1e-12) and abs(rate) < 1e-9


@BOTH
def test_a_loaded_servo_rests_at_its_load_over_its_stiffness(coordinates):
    run = stepped(hinge(2e3, 200.0, inertia=0.05, position=0.0, arm=0.2), 2e-3, coordinates)
    run.advance(5.0)
    value = run.joint_state()["hinge"][0]
    assert value == pytest.approx(9.81 * 0.2 * math.cos(value) / 2e3, rel=1e-12)
    assert run.efforts["motor"] == pytest.approx(-9.81 * 0.2 * math.cos(value), rel=1e-12)
    assert run.report.energy_residual < 1e-9


@BOTH
def test_a_spring_without_a_damper_keeps_its_energy_however_stiff(coordinates):
    for k in (0.1, 10.0, 1e6):
        scene = dal.Scene("spring", gravity=(0, 0, 0))
        body = scene.add_body("body", dal.Sphere(0.1), mass=1.0)
        scene.hinge("hinge", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
        scene.torsion_spring("spring", "hinge", stiffness=k, rest=0.3)
        run = stepped(scene, 0.01, coordinates)
        run.advance(3.0)
        energy = 0.5 * k * 0.09
        assert run.report.integration_error <= 1e-10 * energy
        # the step cannot follow the stiffest: it is damped, and that is an error of the energy, which the report shows
        lost = energy if k == 1e6 else 0.0
        assert run.report.energy_residual == pytest.approx(lost, abs=1e-6 * energy)
        assert run.report.work["spring"] == pytest.approx(0.0, abs=1e-10 * k)


@BOTH
def test_a_damped_spring_takes_what_the_damper_takes(coordinates):
    scene = dal.Scene("spring", gravity=(0, 0, 0))
    body = scene.add_body("body", dal.Sphere(0.1), mass=1.0, inertia=(1.0, 1.0, 1.0))
    scene.slider("slider", dal.WORLD, body, at=(0, 0, 0), axis=(1, 0, 0))
    scene.torsion_spring("spring", "slider", stiffness=4.0, damping=0.2, rest=0.3)
    run = stepped(scene, 0.01, coordinates)
    run.advance(3.0)
    root = math.sqrt(4.0 - 0.01)
    exact = 0.3 - 0.3 * math.exp(-0.3) * (math.cos(3 * root) + 0.1 / root * math.sin(3 * root))
    assert run.joint_state()["slider"][0] == pytest.approx(exact, abs=3e-5)
    assert run.report.energy_residual < 1e-13
    assert run.report.work["spring"] < -0.05


# Limits -----------------------------------------------------------------------------------------------------------------


@BOTH
def test_a_servo_at_its_limit_exerts_that_and_no_more(coordinates):
    scene = hinge(2e4, 4e3, inertia=1.0, position=0.5, limit=2.0)
    run = stepped(scene, 1e-3, coordinates, frame_rate=1000.0)
    run.advance(0.3)
    assert np.abs(run.trajectory.effort.values).max() <= 2.0 * (1 + 1e-8)
    assert run.joint_state()["hinge"][1] == pytest.approx(0.6, rel=1e-6)  # a constant torque
    run = stepped(scene, 1e-3, coordinates, frame_rate=10.0)
    run.advance(8.3)
    assert run.joint_state()["hinge"][0] == pytest.approx(0.5, abs=1e-6)
    assert run.report.work["motor"] == pytest.approx(0.0, abs=1e-6)
    assert run.report.energy_residual < 1e-12


@BOTH
@pytest.mark.parametrize("limit", [0.5, 3.0, 8.0])
def test_limits_of_many_servos_hold_in_a_chain(coordinates, limit):
    scene = chain(6, 1e4, 50.0, limit=limit)
    run = stepped(scene, 2e-3, coordinates, frame_rate=500.0)
    run.advance(0.4)
    efforts = run.trajectory.effort.values[1:]
    assert np.abs(efforts).max() <= limit * (1 + 1e-8)
    assert (np.abs(efforts) > 0.999 * limit).any() and (np.abs(efforts) < 0.9 * limit).any()
    fine = stepped(scene, 2.5e-4, coordinates)
    fine.advance(0.4)
    assert np.abs(values(run) - values(fine)).max() < 0.05


# Chains, loops, gears -----------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("dt", [1e-4, 2e-3, 2e-2])
@pytest.mark.parametrize("gain", [1e-3, 1.0, 1e3, 1e6])
def test_a_chain_of_stiff_servos_is_stable(coordinates, gain, dt):
    run = stepped(chain(10, 2000.0 * gain, 200.0 * gain), dt, coordinates)
    run.advance(50 * dt)
    most = 10 * 0.5 * 2000.0 * gain * 0.04 + 100.0
    assert np.isfinite(values(run)).all()
    assert run.report.energy_residual < 0.02 * most
    assert float(np.abs(values(run)).max()) < (0.3 if gain >= 1.0 else 4.0)


@BOTH
def test_a_chain_of_servos_rests_where_statics_says(coordinates):
    scene = chain(10, 2e4, 2e3)
    run = stepped(scene, 2e-3, coordinates)
    run.advance(8.0)
    arm = dal.Articulation(scene)
    weight = arm.inverse_dynamics(values(run), np.zeros(10), np.zeros(10))
    assert np.abs(2e4 * (0.2 - values(run)) - weight).max() < 1e-7
    assert [run.efforts[f"motor {i}"] for i in range(10)] == pytest.approx(weight.tolist(), abs=1e-7)


@BOTH
def test_servos_of_moderate_gain_converge_to_the_motion_with_the_square_of_the_step(coordinates):
    scene = chain(3, 60.0, 3.0)
    exact = values(dal.simulate(scene, 0.4, rtol=1e-11))
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = stepped(scene, dt, coordinates)
        run.advance(0.4)
        errors.append(np.abs(values(run) - exact).max())
    assert errors[-1] < 2e-5
    assert math.log2(errors[0] / errors[2]) / 2 > 1.8


def test_stiff_servos_move_alike_in_both_coordinates():
    for gain in (1.0, 1e3):
        ends = []
        for coordinates in ("maximal", "joint"):
            run = stepped(chain(6, 2000.0 * gain, 200.0 * gain), 1e-3, coordinates)
            run.advance(0.1)
            ends.append(values(run))
        assert ends[0] == pytest.approx(ends[1], abs=3e-5)


def test_internal_motors_keep_momentum_and_angular_momentum():
    for coordinates in ("maximal", "joint"):
        scene = dal.Scene("two", gravity=(0, 0, 0))
        a = scene.add_body("a", dal.Box(0.3, 0.1, 0.1), mass=1.0, position=(0, 0, 0), angular_velocity=(1, 2, 3))
        b = scene.add_body("b", dal.Box(0.3, 0.1, 0.1), mass=1.0, position=(0.3, 0, 0), velocity=(0, 0.9, -0.6),
                           angular_velocity=(1, 2, 3))  # fmt: skip
        scene.hinge("hinge", a, b, at=(0.15, 0, 0), axis=(0, 0, 1))
        scene.motor("motor", "hinge", stiffness=2000.0, damping=20.0, position=0.5)
        run = stepped(scene, 2e-3, coordinates)
        run.advance(0.5)
        spin = run.state.angular_momentum.sum(0) + np.cross(run.state.position, run.state.momentum).sum(0)
        closed = (
            2e-6 if coordinates == "maximal" else 1e-14
        )  # what closing the hinge changes, by the square of the step
        assert spin == pytest.approx([0.01 / 3, 0.64 / 3, 0.32], abs=closed)
        assert run.state.momentum.sum(0) == pytest.approx([0.0, 0.9, -0.6], abs=1e-14)
        assert run.report.momentum_residual < 1e-12 and run.report.angular_momentum_residual < 1e-12


@BOTH
@pytest.mark.parametrize("gain", [1.0, 1e3])
def test_a_servo_of_a_loop_is_the_same_wherever_it_sits(coordinates, gain):
    ends = []
    for where in ("crank", "elbow", "rocker"):
        run = stepped(linkage(where, 2000.0 * gain, 200.0 * gain), 2e-3, coordinates)
        run.advance(0.2)
        ends.append(abs(run.joint_state()["crank"][0]))
        assert run.report.energy_residual_relative < 1e-4
        assert run.report.joint_error < 1e-12
    assert max(ends) - min(ends) < (1e-10 if coordinates == "maximal" else 1.5e-3)


@BOTH
def test_servos_and_springs_act_through_gears(coordinates):
    scene = dal.Scene("gears", gravity=(0, 0, 0))
    for name, x in (("a", 0.0), ("b", 1.0)):
        body = scene.add_body(name, dal.Sphere(0.1), mass=1.0, position=(x, 0, 0), inertia=(0.1, 0.1, 0.1))
        scene.hinge(f"axle {name}", dal.WORLD, body, at=(x, 0, 0), axis=(0, 0, 1))
    scene.gear("gear", "axle a", "axle b", ratio=2.0)
    scene.motor("motor", "axle a", stiffness=1e5, damping=1e3, position=0.4)
    scene.torsion_spring("spring", "axle b", stiffness=1e4)
    run = stepped(scene, 2e-3, coordinates)
    run.advance(1.0)
    state = run.joint_state()
    ratio = state["axle b"][0] / state["axle a"][0]
    # at rest the torques balance: k_a (p − s) = k_b r² s, with r the ratio of the turns
    assert state["axle a"][0] == pytest.approx(1e5 * 0.4 / (1e5 + 1e4 * ratio**2), rel=1e-6)
    assert abs(ratio) == pytest.approx(0.5, rel=1e-9) or abs(ratio) == pytest.approx(2.0, rel=1e-9)


def test_a_targets_change_is_followed_at_every_call_of_the_controller():
    def controller(run):
        run.set_motor("motor", position=0.3 * math.sin(3.0 * run.time))

    for coordinates in ("maximal", "joint"):
        run = stepped(hinge(2e5, 2e3, inertia=0.01), 1e-3, coordinates, controller=controller, control_rate=100.0)
        run.advance(1.0)
        assert run.joint_state()["hinge"][0] == pytest.approx(0.3 * math.sin(3.0 * 0.99), abs=0.02)
        assert run.report.energy_residual < 1e-9 * 2e5


# With contact -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coordinates", "solver", "gain"), [
    ("maximal", "gauss_seidel", 1.0), ("maximal", "interior_point", 1.0), ("joint", "gauss_seidel", 1.0),
    ("maximal", "interior_point", 1e3), ("joint", "gauss_seidel", 1e3),
])  # fmt: skip
def test_a_stiff_arm_presses_on_the_ground_with_what_statics_says(coordinates, solver, gain):
    material = dal.Material(friction=0.0)
    scene = dal.Scene("press")
    body = scene.add_body("arm", dal.Sphere(0.1), mass=1.0, position=(0.5, 0, 0.1), material=material)
    scene.add_obstacle("ground", dal.HalfSpace(), material=material)
    scene.hinge("hinge", dal.WORLD, body, at=(0, 0, 0.1), axis=(0, 1, 0))
    scene.motor("motor", "hinge", stiffness=200.0 * gain, damping=20.0 * gain, position=0.1)
    run = stepped(scene, 2e-3, coordinates, solver=solver)
    run.advance(1.0)
    force = sum(contact.force[2] for contact in run.contacts) * (-1 if run.contacts[0].a == "arm" else 1)
    assert run.efforts["motor"] == pytest.approx(20.0 * gain, rel=2e-3)
    assert force == pytest.approx(9.81 + 20.0 * gain / 0.5, rel=2e-3)
    assert run.report.energy_residual_relative < 1e-9


@BOTH
def test_a_chain_of_servos_falls_on_the_ground_and_rests(coordinates):
    material = dal.Material(friction=0.5)
    for limit in (np.inf, 1.0):
        scene = chain(4, 500.0, 20.0, position=0.1, limit=limit, material=material)
        scene.add_obstacle("ground", dal.HalfSpace(), material=material)
        run = stepped(scene, 2e-3, coordinates)
        run.advance(2.0)
        assert float(np.abs(run.state.velocity).max()) < 0.05
        assert max(abs(effort) for effort in run.efforts.values()) <= limit * (1 + 1e-8)
        assert run.report.integration_error < 2e-5 * run.report.energy_scale
        # overlap that is put right: 3.7e-3 in maximal coordinates with limits, where sweeps miss their tolerance; else 1e-4
        assert run.report.energy_residual_relative < 6e-3


# What is refused and what costs -------------------------------------------------------------------------------------------


def test_iterative_constraint_solvers_are_refused_beside_servos():
    with pytest.raises(ValueError, match=r"'motor'.*ldl"):
        stepped(hinge(), 1e-3, constraint_solver="jacobi")


def test_the_matrix_of_servos_grows_linearly_with_a_chain():
    sizes = []
    for n in (20, 40, 80):
        run = stepped(chain(n, 1e3, 10.0), 1e-3)
        sizes.append(len(run._driver._mechanism.system.values))
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


@BOTH
def test_an_ideal_motor_without_limit_gives_its_joint_the_speed(coordinates):
    scene = dal.Scene("arm")
    upper = scene.add_body("upper", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(0.2, 0, 0))
    lower = scene.add_body("lower", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(0.6, 0, 0))
    scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("elbow", upper, lower, at=(0.4, 0, 0), axis=(0, 1, 0))
    scene.motor("drive", "shoulder", speed=2.0)
    scene.motor("bend", "elbow", speed=-1.0)
    run = dal.simulate(scene, 0.2, dt=2e-3, coordinates=coordinates)
    state = run.joint_state()
    assert state["shoulder"][0] == pytest.approx(2.0 * (0.2 - 1e-3), abs=2e-5)
    assert state["elbow"][0] == pytest.approx(-1.0 * (0.2 - 1e-3), abs=2e-5)
    assert (state["shoulder"][1], state["elbow"][1]) == pytest.approx((2.0, -1.0), abs=1e-4)
    gained = run.report.energy_end - run.report.energy_start
    assert run.report.work["drive"] == pytest.approx(-2.3437, abs=1e-3)
    assert run.report.work["drive"] + run.report.work["bend"] == pytest.approx(gained, abs=1e-4)
