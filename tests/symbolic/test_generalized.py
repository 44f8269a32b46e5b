"""Bodies of scenes in generalized coordinates: derivatives by differences, runs against other formulations and theory."""

import numpy as np
import pytest
import sympy as sp

import dalembert as dal
from dalembert.gallery import four_bar
from dalembert.gallery import top as gallery_top
from dalembert.model.tables import CONSTRAINT_WORK, LEDGER

t, a, b, c = sp.symbols("t a b c")
q = sp.symbols("q:6")


def matrix(axis, angle):
    n = sp.Matrix(axis)
    return sp.eye(3) + sp.sin(angle) * n.hat() + (1 - sp.cos(angle)) * n.hat() ** 2


def body_scene(count=1, **fields):
    scene = dal.Scene("bodies")
    for k in range(count):
        scene.add_body(f"body {k}", dal.Box(0.3, 0.2, 0.1), mass=1.5, inertia=(0.01, 0.02, 0.015), **fields)
    return scene


ORIENTATIONS = {
    "matrix": matrix((0, 0, 1), a) * matrix((1, 0, 0), b * c + t) * matrix((0, 0, 1), c),
    "quaternion": (1 + a**2, sp.sin(b), c * a, sp.cos(t) + b),
    "axis and angle": ((1, a, sp.sin(c)), b + t / 2),
    "fixed axis": ((1, 2, -1), a * b - c),
}


@pytest.mark.parametrize("kind", ORIENTATIONS)
def test_jacobians_and_their_rates_are_those_of_differences(kind):
    place = ((a * sp.cos(b) + t**2, sp.exp(c) * a, b / (2 + sp.sin(t * c))), ORIENTATIONS[kind])
    own = dal.GeneralizedCoordinates(body_scene(), [a, b, c], {"body 0": place}, time=t)
    u, v, now, h = np.array([0.3, -0.5, 0.8]), np.array([0.7, 1.1, -0.4]), 0.6, 1e-5

    def velocity(u, now):
        """By fourth-order differences along the path u + s v, now + s."""
        place, turn = np.zeros(3), np.zeros((3, 3))
        for weight, at in ((1, -2), (-8, -1), (8, 1), (-1, 2)):
            step = u + at * h * v, now + at * h
            place += weight * own.position(*step)[0] / (12 * h)
            turn += weight * own.rotation(*step)[0] / (12 * h)
        spin = turn @ own.rotation(u, now)[0].T
        return np.array([*place, spin[2, 1], spin[0, 2], spin[1, 0]])

    def exact(u, now):
        return own.jacobian(u, now)[0] @ v + own.drift(u, now)[0]

    np.testing.assert_allclose(exact(u, now), velocity(u, now), atol=1e-9)
    for k in range(3):
        unit = np.eye(3)[k]
        rate = sum(
            weight * own.position(u + at * h * unit, now)[0] / (12 * h)
            for weight, at in ((1, -2), (-8, -1), (8, 1), (-1, 2))
        )
        np.testing.assert_allclose(own.jacobian(u, now)[0, :3, k], rate, atol=1e-9)
    bias = sum(
        weight * exact(u + at * h * v, now + at * h) / (12 * h) for weight, at in ((1, -2), (-8, -1), (8, 1), (-1, 2))
    )
    np.testing.assert_allclose(own.bias(u, v, now)[0], bias, atol=1e-8)
    mass = own.mass_matrix(u, now)
    r, w = own.rotation(u, now)[0], exact(u, now) - own.drift(u, now)[0]
    inertia = r @ np.diag((0.01, 0.02, 0.015)) @ r.T
    assert v @ mass @ v == pytest.approx(1.5 * w[:3] @ w[:3] + w[3:] @ inertia @ w[3:], rel=1e-12)


def arm_scene():
    """Two bars and a slider with everything that a scene can exert."""
    scene = dal.Scene("arm")
    upper = scene.add_body("upper", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=(0.25, 0, 0))
    lower = scene.add_body("lower", dal.Box(0.1, 0.1, 0.4), mass=0.5, position=(0.5, 0, -0.2))
    shoulder = scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    elbow = scene.slider("elbow", upper, lower, at=(0.5, 0, 0), axis=(0, 0, 1))
    scene.spring("spring", dal.WORLD, lower, at_a=(0.2, 0.3, -1.0), at_b=(0.5, 0, -0.4), stiffness=20.0, damping=0.4)
    scene.torsion_spring("coil", shoulder, stiffness=2.0, damping=0.1, rest=0.3)
    scene.drag("drag", [lower], linear=0.3, quadratic=0.1, angular=0.02)
    scene.external_force("load", upper, force=(0, 0, 2.0), at=(0.5, 0, 0))
    scene.motor("motor", elbow, effort=1.5)
    return scene


def arm_coordinates(scene):
    turn = matrix((0, 1, 0), a)
    return dal.GeneralizedCoordinates(
        scene, [a, b],
        {"upper": (turn * sp.Matrix([sp.Rational(1, 4), 0, 0]), turn),
         "lower": (turn * sp.Matrix([sp.Rational(1, 2), 0, b - sp.Rational(1, 5)]), ((0, 1, 0), a))},
    )  # fmt: skip


def test_forces_and_ledger_are_those_of_the_scene():
    settings = {"method": "dop853", "rtol": 1e-11, "frame_rate": 20.0}
    run = dal.simulate(arm_scene(), 1.0, coordinates=arm_coordinates, **settings)
    bodies = dal.simulate(arm_scene(), 1.0, **settings).trajectory
    own = run.trajectory
    for name, tolerance in {
        "position": 1e-10, "orientation": 1e-10, "momentum": 1e-9, "angular_momentum": 1e-10, "work": 1e-9,
        "kinetic": 1e-9, "potential": 1e-9, "reaction_force": 1e-7, "reaction_torque": 1e-7,
    }.items():  # fmt: skip
        np.testing.assert_allclose(own[name], bodies[name], atol=tolerance, err_msg=name)
    assert np.ptp(own.work.values, axis=0).min() > 1e-3
    assert run.report.energy_residual_relative < 1e-10
    assert np.abs(own.linear_impulse_balance).max() < 1e-8
    assert own.joint_error.max() < 1e-14
    assert json_of(run)["coordinates"] == "generalized"


def json_of(run):
    import json

    return json.loads(run.trajectory.attrs["settings"])


def test_a_bead_in_a_turning_tube_is_worked_on_by_the_tube():
    scene = body_scene(position=(0.4, 0, 0), velocity=(0.0, 0.8, 0.0), angular_velocity=(0, 0, 2.0))
    turn = matrix((0, 0, 1), 2 * t)
    tube = dal.GeneralizedCoordinates(scene, [a], {"body 0": (turn * sp.Matrix([a, 0, 0]), turn)}, time=t, start=[0.1])
    run = dal.simulate(scene, 1.0, coordinates=tube, method="dop853", rtol=1e-12, frame_rate=10)
    place = run.trajectory.position.sel(body="body 0").values
    times = run.trajectory.times
    radius = 0.4 * np.cosh(2.0 * times)
    exact = np.stack([radius * np.cos(2 * times), radius * np.sin(2 * times), 0 * times], axis=1)
    np.testing.assert_allclose(place, exact, atol=1e-10)
    u, v = tube.nearest(run.trajectory.last_state, run.time)
    np.testing.assert_allclose([*u, *v], [0.4 * np.cosh(2.0), 0.8 * np.sinh(2.0)], rtol=1e-9)
    work = run.trajectory.state.values[:, -len(LEDGER) + CONSTRAINT_WORK]
    assert work[-1] == pytest.approx(np.ptp(run.trajectory.kinetic.values), rel=1e-10)
    assert work[-1] > 1.0
    assert run.report.energy_residual_relative < 1e-11


def test_the_top_of_the_gallery_in_eulers_angles_passes_its_check():
    scene = gallery_top.build()
    height = float(np.linalg.norm(scene.bodies["top"].position))
    turn = matrix((0, 0, 1), a) * matrix((0, 1, 0), b) * matrix((0, 0, 1), c)
    own = dal.GeneralizedCoordinates(
        scene, [a, b, c], {"top": (height * turn * sp.Matrix([0, 0, 1]), turn)}, start={b: 0.5}
    )
    gallery_top.check(dal.simulate(scene, coordinates=own, **gallery_top.SETTINGS))


def test_the_four_bar_of_the_gallery_with_its_loop_as_a_constraint():
    scene = four_bar.build()

    def arrow(angle, length):
        return sp.Matrix([sp.cos(angle), 0, sp.sin(angle)]) * length

    lengths = [sp.Float(x) for x in (four_bar.CRANK, four_bar.COUPLER, four_bar.ROCKER)]
    crank, coupler, rocker = (arrow(*pair) for pair in zip((a, b, c), lengths, strict=True))
    ground = sp.Matrix([four_bar.GROUND, 0, 0])
    gap = crank + coupler - rocker - ground
    tilt = sp.pi / 2
    own = dal.GeneralizedCoordinates(
        scene, [a, b, c],
        {"crank": (crank / 2, ((0, 1, 0), tilt - a)), "coupler": (crank + coupler / 2, ((0, 1, 0), tilt - b)),
         "rocker": (ground + rocker / 2, ((0, 1, 0), tilt - c + sp.pi))},
        constraints=[gap[0], gap[2], gap[0] + gap[2]], start=[1.0, 0.5, 1.5],
    )  # fmt: skip
    run = dal.simulate(scene, coordinates=own, **four_bar.SETTINGS)
    reference = dal.simulate(scene, **four_bar.SETTINGS).trajectory
    np.testing.assert_allclose(run.trajectory.position, reference.position, atol=5e-9)
    assert run.trajectory.joint_error.max() < 1e-13
    assert run.trajectory.joint_velocity_error.max() < 1e-11
    assert run.report.energy_residual_relative < 1e-10


def test_a_ball_rolls_down_a_slope():
    slope, radius = 0.3, 0.1
    scene = dal.Scene("slope", gravity=(9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)))
    scene.add_body(
        "ball",
        dal.Sphere(radius),
        mass=2.0,
        position=(0, 0, radius),
        velocity=(0, 0.5, 0),
        angular_velocity=(-5.0, 0, 0),
    )
    x, y, e, f, g = sp.symbols("x y e f g")
    vx, vy, ve, vf, vg = rates = sp.symbols("vx vy ve vf vg")
    turn = matrix((0, 0, 1), e) * matrix((0, 1, 0), f) * matrix((1, 0, 0), g)
    spin = [turn.diff(s) * turn.T for s in (e, f, g)]
    omega = sum(
        (sp.Matrix([w[2, 1], w[0, 2], w[1, 0]]) * v for w, v in zip(spin, (ve, vf, vg), strict=True)), sp.zeros(3, 1)
    )
    own = dal.GeneralizedCoordinates(
        scene, [x, y, e, f, g], {"ball": ((x, y, radius), turn)}, velocities=rates,
        nonholonomic=[vx - radius * omega[1], vy + radius * omega[0]],
    )  # fmt: skip
    run = dal.simulate(scene, 0.5, coordinates=own, rtol=1e-10, frame_rate=20)
    times, place = run.trajectory.times, run.trajectory.position.sel(body="ball").values
    down = 5.0 / 14.0 * 9.81 * np.sin(slope) * times**2
    np.testing.assert_allclose(place, np.stack([down, 0.5 * times, 0 * times + radius], axis=1), atol=1e-8)
    assert run.report.energy_residual_relative < 1e-9


def test_events_see_bodies_and_may_push_them():
    scene = body_scene(position=(0, 0, 0))
    scene.event("low", lambda t, y: y[2] + 0.5, action=lambda state: state.momentum.__setitem__((0, 2), 6.0), once=True)
    own = dal.GeneralizedCoordinates(scene, [a], {"body 0": (0, 0, a)})
    run = dal.simulate(scene, 0.5, coordinates=own, rtol=1e-10, frame_rate=20)
    (fallen,) = run.event_times["low"]
    assert fallen == pytest.approx(np.sqrt(1.0 / 9.81), abs=1e-9)
    later = 0.5 - fallen
    assert run.state.position[0, 2] == pytest.approx(-0.5 + 4.0 * later - 0.5 * 9.81 * later**2, abs=1e-8)
    assert run.report.energy_residual_relative < 1e-9


def test_particles_move_beside_bodies_and_pull_them_by_springs():
    def scene():
        own = dal.Scene("pendulum and dust")
        bob = own.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, -1.0))
        own.hinge("pin", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
        dust = own.add_particles("dust", [[1.0, 0, 0], [2.0, 0, 0]], mass=0.1, velocity=(0, 0, 1.0))
        own.spring("thread", bob, dust[0], at_a=(0, 0, -1.0), stiffness=20.0, rest=1.0)
        return own

    def angle(own):
        return dal.GeneralizedCoordinates(own, [a], {"bob": ((sp.sin(a), 0, -sp.cos(a)), ((0, -1, 0), a))})

    run = dal.simulate(scene(), 1.0, coordinates=angle, rtol=1e-10)
    bodies = dal.simulate(scene(), 1.0, rtol=1e-10)
    np.testing.assert_allclose(run.state.position, bodies.state.position, atol=1e-8)
    np.testing.assert_allclose(run.state.particle_position, bodies.state.particle_position, atol=1e-8)
    assert np.ptp(run.trajectory.position.values[:, 0, 0]) > 0.03  # the particle does pull
    assert run.report.energy_residual_relative < 1e-9
    held = scene()
    held.rod("rod", held.bodies["bob"], held.particles["dust"][1], at_a=(0, 0, -1.0))
    with pytest.raises(ValueError, match="joint 'rod' is on a particle"):
        dal.simulate(held, 1.0, coordinates=angle)


def test_what_a_driven_joint_bears_is_left_open():
    scene = dal.Scene("crank")
    bar = scene.add_body(
        "bar",
        dal.Box(1.0, 0.1, 0.1),
        mass=1.0,
        position=(0.5, 0, 0),
        velocity=(0, 1.0, 0),
        angular_velocity=(0, 0, 2.0),
    )
    scene.hinge("pin", dal.WORLD, bar, at=(0, 0, 0), axis=(0, 0, 1))
    turn = 2 * t + t**2
    own = dal.GeneralizedCoordinates(
        scene, [a], {"bar": ((a * sp.cos(turn) / 2, a * sp.sin(turn) / 2, 0), ((0, 0, 1), turn))}, time=t,
        constraints=[a - 1], start=[1.0],
    )  # fmt: skip
    run = dal.simulate(scene, 0.5, coordinates=own)
    assert np.isnan(run.trajectory.reaction_torque.values).all()
    assert run.trajectory.joint_error.max() < 1e-14
    spun = run.trajectory.angular_momentum.sel(body="bar").values[:, 2]
    moment = scene.bodies["bar"].inertia[2, 2]
    np.testing.assert_allclose(spun, moment * (2.0 + 2.0 * run.trajectory.times), rtol=1e-12)
    assert run.report.energy_residual_relative < 1e-8


def test_a_saved_run_goes_on():
    scene = body_scene(position=(0.4, 0, 0), velocity=(0.0, 0.8, 0.0), angular_velocity=(0, 0, 2.0))
    turn = matrix((0, 0, 1), 2 * t)

    def tube(scene):
        return dal.GeneralizedCoordinates(scene, [a], {"body 0": (turn * sp.Matrix([a, 0, 0]), turn)}, time=t)

    half = dal.simulate(scene, 0.5, coordinates=tube, rtol=1e-11).trajectory
    run = dal.Simulation(scene, coordinates=tube, rtol=1e-11).resume(half).advance(0.5)
    assert np.linalg.norm(run.state.position[0]) == pytest.approx(0.4 * np.cosh(2.0), rel=1e-9)


def chain(count, spatial):
    """Bars on one another, in angles of each relative to the one before if `spatial`, else in absolute ones."""
    scene = dal.Scene("chain")
    place, turn, x, held, end = {}, sp.eye(3), sp.zeros(3, 1), dal.WORLD, np.zeros(3)
    for k in range(count):
        axis = (k % 2, 1 - k % 2, 0) if spatial else (0, 1, 0)
        turn = turn * matrix(axis, q[k]) if spatial else matrix(axis, q[k])
        link = scene.add_body(f"link {k}", dal.Box(0.1, 0.2, 1.0), mass=1.0, position=end - (0, 0, 0.5))
        scene.hinge(f"hinge {k}", held, link, at=end, axis=axis)
        place[link.name] = (x + turn * sp.Matrix([0, 0, -1]) / 2, turn)
        x, held, end = x + turn * sp.Matrix([0, 0, -1]), link, end - (0, 0, 1.0)
    scene.external_force("push", held, force=(3.0, 2.0, 0.0))
    return scene, dal.GeneralizedCoordinates(scene, q[:count], place)


def test_a_chain_of_six_links_moves_as_in_joint_coordinates():
    scene, own = chain(6, True)
    settings = {"method": "dop853", "rtol": 1e-10, "frame_rate": 10.0}
    run = dal.simulate(scene, 0.5, coordinates=own, **settings)
    joints = dal.simulate(scene, 0.5, coordinates="joint", **settings)
    np.testing.assert_allclose(run.trajectory.position, joints.trajectory.position, atol=1e-9)
    assert np.ptp(run.trajectory.position.values, axis=0).max() > 0.05


def test_code_grows_no_faster_than_its_jacobian():
    three, six = (chain(count, False)[1].generated.statements for count in (3, 6))
    assert six < 4.0 * three


def place(value, count=1, **settings):
    """Coordinates of a scene of one body, or of two."""
    return dal.GeneralizedCoordinates(body_scene(count), [a, b], {"body 0": value}, **settings)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: place((a, b, 0), count=2), ValueError, "body 'body 1' is missing"),
        (lambda: dal.GeneralizedCoordinates(body_scene(), [a], {"bob": (a, 0, 0)}), ValueError, "no body 'bob'"),
        (lambda: place(((a, b, 0), 2 * sp.eye(3))), ValueError, "orientation of body 'body 0' is not a rotation"),
        (lambda: place(((a, b, 0), sp.diag(1, 1, -1))), ValueError, "is not a rotation"),
        (lambda: place(((a, b, 0), (1, 2, 3))), ValueError, "give a 3 × 3 matrix, a quaternion"),
        (lambda: place(((a, b, 0), "x")), TypeError, "give a matrix, a quaternion"),
        (lambda: place("abc"), TypeError, r"give \(x, y, z\)"),
        (lambda: place(("a", b, 0)), TypeError, "place of body 'body 0', x is 'a'"),
        (lambda: place((c, b, 0)), ValueError, "the symbol c is unknown"),
        (lambda: place((c, b, 0), velocities=[c, t]), ValueError, "contains rates"),
    ],
)  # fmt: skip
def test_places_that_cannot_be_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_runs_that_cannot_be_are_refused_by_name():
    scene = body_scene(position=(0.1, 0.2, 0.3))
    own = dal.GeneralizedCoordinates(scene, [a], {"body 0": (a, 0, 0)})
    with pytest.raises(
        ValueError, match="cannot represent the place of body 'body 0' at the start: nearest is a = 0\\.1"
    ):
        dal.Simulation(scene, coordinates=own)
    assert dal.Simulation(scene, coordinates=own, assemble=True).state.position[0] == pytest.approx([0.1, 0, 0])
    with pytest.raises(ValueError, match="not of 'bodies'"):
        other = dal.Scene("other")
        other.add_body("body 0", dal.Sphere(0.1), mass=1.0)
        dal.Simulation(body_scene(), coordinates=dal.GeneralizedCoordinates(other, [a], {"body 0": (a, 0, 0)}))
    with pytest.raises(TypeError, match="coordinates is 3; give a name"):
        dal.Simulation(scene, coordinates=3)
    arm = arm_scene()
    with pytest.raises(ValueError, match="need an integration method"):
        dal.Simulation(arm, coordinates=arm_coordinates, method="time_stepping", dt=0.01)
    with pytest.raises(ValueError, match="need an integration method and hold='projection'"):
        dal.Simulation(arm, coordinates=arm_coordinates, hold="penalty", stiffness=1.0)
    with pytest.raises(ValueError, match="joint 'shoulder' is enforced by the coordinates"):
        dal.Simulation(arm, coordinates=arm_coordinates).release("shoulder")


def test_coordinates_that_move_nothing_stop_the_run_by_name():
    scene = body_scene()
    own = dal.GeneralizedCoordinates(scene, [a, b], {"body 0": (a + 0 * b, 0, 0)})
    with pytest.raises(dal.SimulationError, match=r"singular.*'b'"):
        dal.Simulation(scene, coordinates=own)
