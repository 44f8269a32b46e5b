"""Bodies that stand on something and hit something else do so when they get there, not in the middle of a step: what follows
is right to second order, as event by event solutions of the equations of motion are."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dal

G = 9.81
BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


# A wheel of spokes ---------------------------------------------------------------------------------------------------------

CORNERS, RADIUS, WIDTH = 8, 0.5, 0.4  # a prism, that turns about one edge after another
STEP = np.pi / CORNERS  # rad: half the angle between two spokes
INERTIA = 0.5  # kg m², of 1 kg about its axle


def wheel(slope, rate):
    """The wheel on one of its sides on a slope, with an angular velocity (rad/s) about its front edge."""
    angles = STEP + 2.0 * STEP * np.arange(CORNERS)
    rim = RADIUS * np.stack([np.sin(angles), np.zeros(CORNERS), -np.cos(angles)], axis=1)
    points = np.concatenate([rim + [0.0, side, 0.0] for side in (-0.5 * WIDTH, 0.5 * WIDTH)])
    scene = dal.Scene("wheel", material=dal.Material(2.0), gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    scene.add_obstacle("floor", dal.HalfSpace())
    spoke = RADIUS * np.array([-np.sin(STEP), 0.0, np.cos(STEP)])  # from the front edge to the axle
    scene.add_body(
        "wheel", dal.ConvexHull(points), mass=1.0, inertia=np.diag([0.3, INERTIA, 0.3]), position=spoke,
        velocity=np.cross([0.0, rate, 0.0], spoke), angular_velocity=(0.0, rate, 0.0),
    )  # fmt: skip
    return scene


def wheel_by_events(slope, rate, duration):
    """(angle from the start, angular velocity, number of impacts) of the wheel after some seconds (McGeer 1990)."""
    about_edge = INERTIA + RADIUS**2
    kept = (INERTIA + RADIUS**2 * np.cos(2.0 * STEP)) / about_edge

    def motion(_, y):
        return [y[1], G * RADIUS / about_edge * np.sin(y[0] + slope)]

    def lands(_, y):
        return y[0] - STEP

    lands.terminal, lands.direction = True, 1.0
    t, angle, turned = 0.0, -STEP, 0
    while True:
        found = solve_ivp(motion, (t, duration), [angle, rate], events=lands, rtol=1e-12, atol=1e-12)
        t, angle, rate = found.t[-1], found.y[0, -1], found.y[1, -1]
        if found.status == 0:
            return angle + STEP + 2.0 * STEP * turned, rate, turned
        turned, angle, rate = turned + 1, -STEP, kept * rate


def turn(run):
    """rad, about y, of all turns."""
    q = run.trajectory.orientation.values[:, 0]
    return np.unwrap(2.0 * np.arctan2(q[:, 2], q[:, 0]))


@BOTH
@pytest.mark.parametrize(("slope", "rate", "duration", "impacts"), [(0.0, 3.0, 1.2, 3), (0.1, 2.0, 4.0, 10)])
def test_a_wheel_of_spokes_keeps_the_pace_that_its_impacts_leave_it(coordinates, slope, rate, duration, impacts):
    """Its speed was off by 12 %, 1.7 % and 0.5 % at 240, 960 and 3840 steps a second after six impacts."""
    angle, speed, landed = wheel_by_events(slope, rate, duration)
    assert landed == impacts
    for steps in (60, 240, 960):
        run = dal.Simulation(wheel(slope, rate), dt=1 / steps, coordinates=coordinates).advance(duration)
        assert abs(turn(run)[-1] - angle) < 20.0 / steps**2
        assert abs(run.state.angular_velocity[0, 1] - speed) < 15.0 / steps**2
        assert abs(run.state.velocity[0, 1]) < 1e-5  # both corners of an edge land at once
        assert run.report.contact.unsolved == 0


@BOTH
def test_the_energy_of_steps_in_parts_is_in_the_ledger(coordinates):
    """No overlap is left for position correction, which would lift the wheel."""
    run = dal.Simulation(wheel(0.1, 2.0), dt=1 / 480, coordinates=coordinates).advance(4.0)
    assert run.report.contact.impacts == 10
    assert run.report.energy_residual_relative < 1e-9


@BOTH
def test_the_forces_of_a_step_in_parts_are_the_change_of_momentum(coordinates):
    dt, slope, divided = 1 / 240, 0.1, 0
    run = dal.Simulation(wheel(slope, 2.0), dt=dt, coordinates=coordinates)
    for _ in range(480):
        before, impacts = run.state.momentum[0].copy(), run.report.contact.impacts
        run.step()
        divided += run.report.contact.impacts - impacts
        force = sum(contact.force for contact in run.contacts) * (1.0 if run.contacts[0].b == "wheel" else -1.0)
        change = run.state.momentum[0] - before - dt * run.model.scene.gravity
        np.testing.assert_allclose(dt * force, change, atol=1e-12)
    assert divided == 5


@BOTH
def test_a_run_that_is_resumed_before_a_step_in_parts_has_the_same_bits(coordinates):
    whole = dal.Simulation(wheel(0.1, 2.0), dt=1 / 60, coordinates=coordinates, frame_rate=60.0).advance(2.0)
    for frames in range(20, 100, 13):
        first = dal.Simulation(wheel(0.1, 2.0), dt=1 / 60, coordinates=coordinates, frame_rate=60.0)
        first.step(frames)
        second = dal.Simulation(wheel(0.1, 2.0), dt=1 / 60, coordinates=coordinates).resume(first.trajectory)
        second.step(120 - frames)
        assert np.array_equal(second.state.y, whole.state.y)


# A block that rocks --------------------------------------------------------------------------------------------------------

HALF_WIDTH, HALF_HEIGHT = 0.1, 0.3  # m
SLENDERNESS, ARM = np.arctan2(HALF_WIDTH, HALF_HEIGHT), np.hypot(HALF_WIDTH, HALF_HEIGHT)


def block(tilt):
    """A block that stands on one edge, at rest, tilted by an angle (rad) from its side."""
    scene = dal.Scene("block", material=dal.Material(2.0))
    scene.add_obstacle("floor", dal.HalfSpace())
    lean = SLENDERNESS - tilt
    scene.add_body(
        "block", dal.Box(2.0 * HALF_WIDTH, 0.4, 2.0 * HALF_HEIGHT), mass=1.0,
        position=(-ARM * np.sin(lean), 0.0, ARM * np.cos(lean)),
        orientation=(np.cos(0.5 * tilt), 0.0, np.sin(0.5 * tilt), 0.0),
    )  # fmt: skip
    return scene


def block_by_events(tilt, duration):
    """(tilt, angular velocity, number of impacts) of the block after some seconds (Housner 1963)."""
    kept = 1.0 - 1.5 * np.sin(SLENDERNESS) ** 2
    t, y, side, landed = 0.0, [tilt, 0.0], 1.0, 0

    def motion(_, y):
        return [y[1], -0.75 * G / ARM * side * np.sin(SLENDERNESS - side * y[0])]

    def lands(_, y):
        return y[0]

    lands.terminal = True
    while True:
        lands.direction = -side
        found = solve_ivp(motion, (t, duration), y, events=lands, rtol=1e-12, atol=1e-12)
        t, y = found.t[-1], found.y[:, -1]
        if found.status == 0:
            return y[0], y[1], landed
        landed, side, y = landed + 1, -side, [0.0, kept * y[1]]


@BOTH
@pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])
def test_a_block_rocks_as_housner_found(coordinates, solver):
    """Its angular velocity was off by 4.7 %, 1.0 % and 0.3 % after the first impact at 240, 960 and 3840 steps a second."""
    tilt, speed, landed = block_by_events(0.2, 1.3)
    assert landed == 3
    for steps in (60, 240, 960):
        run = dal.Simulation(block(0.2), dt=1 / steps, coordinates=coordinates, solver=solver).advance(1.3)
        assert abs(turn(run)[-1] - tilt) < 6.0 / steps**2
        assert abs(run.state.angular_velocity[0, 1] - speed) < 100.0 / steps**2
        assert run.report.contact.unsolved == 0


# A pendulum ----------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_rod_on_a_hinge_hits_a_ball_with_the_velocity_that_it_has_below(coordinates, restitution):
    """The velocity of the ball follows from the energy of the rod and its angular momentum about the hinge."""
    length, thick, radius, ball_mass, released = 1.0, 0.04, 0.05, 0.5, 0.8
    inertia = (length**2 + thick**2) / 12.0 + 0.25 * length**2  # about the hinge, of 1 kg
    arm = length + 0.02 - radius
    rate = np.sqrt(G * length * (1.0 - np.cos(released)) / inertia)
    speed = (1.0 + restitution) * arm * rate * inertia / (inertia + ball_mass * arm**2)
    for steps in (60, 240, 960):
        scene = dal.Scene("pendulum", material=dal.Material(0.0, restitution))
        scene.add_obstacle("floor", dal.HalfSpace())
        rod = scene.add_body(
            "rod", dal.Box(thick, 0.04, length), mass=1.0,
            position=(-0.5 * length * np.sin(released), 0.0, length + 0.02 - 0.5 * length * np.cos(released)),
            orientation=(np.cos(0.5 * released), 0.0, np.sin(0.5 * released), 0.0),
        )  # fmt: skip
        scene.hinge("hinge", dal.WORLD, rod, at=(0.0, 0.0, length + 0.02), axis=(0.0, 1.0, 0.0))
        scene.add_body("ball", dal.Sphere(radius), mass=ball_mass, position=(0.5 * thick + radius, 0.0, radius))
        run = dal.Simulation(scene, dt=1 / steps, coordinates=coordinates).advance(0.7)
        assert abs(run.state.velocity[1, 0] - speed) < 4.0 / steps**2 + 5e-6


# A table -------------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("motor", [{"limit": np.inf}, {"gain": 1e5, "limit": 1e4}])
def test_the_effort_of_a_motor_in_a_step_in_parts_has_what_the_impact_takes(coordinates, motor):
    """A motor holds a table on which a ball falls: its effort, and those of contact and weight, change the momentum of the
    table in every step."""
    dt, mass = 1 / 240, 2.0
    scene = dal.Scene("table", material=dal.Material(0.5))
    table = scene.add_body("table", dal.Box(1.0, 1.0, 0.1), mass=mass, position=(0.0, 0.0, 1.0))
    scene.slider("rail", dal.WORLD, table, at=(0.0, 0.0, 1.0), axis=(0.0, 0.0, 1.0))
    scene.motor("motor", "rail", speed=0.0, **motor)
    scene.add_body("ball", dal.Sphere(0.1), mass=0.5, position=(0.0, 0.0, 1.4))
    run = dal.Simulation(scene, dt=dt, coordinates=coordinates)
    largest = 0.0
    for _ in range(96):
        before, impacts = run.state.momentum[0, 2], run.report.contact.impacts
        run.step()
        push = sum(abs(contact.force[2]) for contact in run.contacts)
        effort = run.efforts["motor"]
        assert dt * (effort - push - G * mass) == pytest.approx(run.state.momentum[0, 2] - before, abs=1e-9)
        largest = max(largest, effort if run.report.contact.impacts > impacts else 0.0)
    assert largest > 100.0  # N: the impact took 1 N s or so


# A seesaw ------------------------------------------------------------------------------------------------------------------


def seesaw():
    """A thin plank on a hinge, one end on the floor, a ball near that end, and another that falls on the other end."""
    scene, tilt = dal.Scene("seesaw", material=dal.Material(0.5)), 0.2
    scene.add_obstacle("floor", dal.HalfSpace())
    middle, along = np.array([0.0, 0.0, 0.35]), np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    up = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])
    plank = scene.add_body(
        "plank", dal.Box(3.0, 0.4, 0.05), mass=4.0, position=middle,
        orientation=(np.cos(0.5 * tilt), 0.0, -np.sin(0.5 * tilt), 0.0),
    )  # fmt: skip
    scene.hinge("pivot", dal.WORLD, plank, at=middle, axis=(0.0, 1.0, 0.0))
    scene.add_body("thrown", dal.Sphere(0.1), mass=0.5, position=middle - 1.2 * along + 0.125 * up)
    scene.add_body("falling", dal.Sphere(0.15), mass=3.0, position=middle + 1.2 * along + [0.0, 0.0, 1.0])
    return scene


@BOTH
def test_a_seesaw_throws_a_ball_as_by_events(coordinates):
    exact = dal.Simulation(seesaw(), method="dop853", rtol=1e-9, atol=1e-9).advance(0.5)
    assert exact.state.position[1, 2] > 0.4  # m: on its way
    for steps in (240, 480, 960):
        run = dal.Simulation(seesaw(), dt=1 / steps, coordinates=coordinates).advance(0.5)
        np.testing.assert_allclose(run.state.position[1], exact.state.position[1], atol=2.0 / steps**2)
        np.testing.assert_allclose(run.state.velocity[1], exact.state.velocity[1], atol=10.0 / steps**2)
        run.advance(0.3)  # the other end lands in the meantime
        assert run.report.energy_residual_relative < 0.5 / steps**2


@BOTH
@pytest.mark.parametrize(("limit", "speed"), [(1e3, 4.0 / 3.0), (np.inf, 3.0)])
def test_a_motor_yields_to_an_impact_unless_it_has_no_limit(coordinates, limit, speed):
    """An elastic ball of 0.5 kg hits at 2 m/s a paddle of 1 kg that a motor moves at 0.5 m/s against it."""
    scene = dal.Scene("paddle", material=dal.Material(0.0, 1.0), gravity=(0.0, 0.0, 0.0))
    paddle = scene.add_body("paddle", dal.Box(0.1, 1.0, 1.0), mass=1.0)
    scene.slider("rail", dal.WORLD, paddle, at=(0.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    scene.motor("motor", "rail", speed=0.5, limit=limit)
    scene.add_body("ball", dal.Sphere(0.1), mass=0.5, position=(0.3, 0.0, 0.0), velocity=(-2.0, 0.0, 0.0))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(0.2)
    np.testing.assert_allclose(run.state.velocity[:, 0], (0.5, speed), atol=2e-5)
