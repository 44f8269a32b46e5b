"""Machines with cables against their formulas, in maximal and in joint coordinates."""

# ruff: noqa: E501
import numpy as np
import pytest

import dalembert as dal

G = 9.81
LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # a cylinder's axis along −y
COORDINATES = ("maximal", "joint")
SETTINGS = {"method": "dormand_prince", "rtol": 1e-10, "atol": 1e-12, "frame_rate": 30.0}


def weight(scene, name, mass, x, z):
    return scene.add_body(name, dal.Sphere(0.05), mass=mass, position=(x, 0, z))


def wheel(scene, name, radius, mass, x, z, hinged=True):
    body = scene.add_body(name, dal.Cylinder(radius, 0.1), mass=mass, position=(x, 0, z), orientation=LYING)
    if hinged:
        scene.hinge(f"axle of {name}", dal.WORLD, body, (x, 0, z), (0, 1, 0))
    return body


def pulley(body, x, z, radius, side, **more):
    return dal.Pulley(body, (x, 0, z), (0, 1, 0), radius, (0, 0, side), **more)


def run(scene, duration=0.5, **settings):
    found = dal.simulate(scene, duration, **SETTINGS | settings)
    assert found.report.energy_residual_relative < 1e-8
    return found


def lengths_kept(found):
    """The largest error of a cable's length over all frames (m)."""
    return float(np.abs(found.trajectory.joint_error.values).max())


def atwood(inertia, **cable):
    scene = dal.Scene("Atwood's machine")
    left, right = weight(scene, "left", 1.0, -0.2, 0.0), weight(scene, "right", 2.5, 0.2, 0.0)
    over = pulley(dal.WORLD, 0, 1, 0.2, 1)
    if inertia:
        over = pulley(wheel(scene, "wheel", 0.2, 3.0, 0, 1), 0, 1, 0.2, 1, slips=False)
    scene.cable("rope", [(left, (-0.2, 0, 0)), over, (right, (0.2, 0, 0))], **cable)
    return scene


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("inertia", [False, True])
def test_atwoods_machine(inertia, coordinates):
    found = run(atwood(inertia), coordinates=coordinates)
    turning = 0.5 * 3.0 if inertia else 0.0  # I/r² of the wheel
    a = G * 1.5 / (3.5 + turning)
    np.testing.assert_allclose(found.state.position[:2, 2], [0.125 * a, -0.125 * a], rtol=1e-10)
    assert lengths_kept(found) < 1e-9
    if inertia:
        assert found.state.angular_velocity[2, 1] == pytest.approx(0.5 * a / 0.2, rel=1e-9)


def test_tension_of_atwoods_machine_is_the_reaction_of_the_cable():
    found = run(atwood(False))
    force = found.trajectory.reaction_force.sel(joint="rope").values
    np.testing.assert_allclose(np.linalg.norm(force, axis=1), 2 * G * 2.5 / 3.5, rtol=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("strands", [2, 4])
def test_block_and_tackle(strands, coordinates):
    """A load on a block that hangs on n strands, against a weight at the end of the rope."""
    scene = dal.Scene("block and tackle")
    load = scene.add_body("load", dal.Box(0.5, 0.1, 0.2), mass=8.0, position=(0.5, 0, 0))
    hand = weight(scene, "hand", 1.0, 2.5, 0.0)
    scene.slider("guide", dal.WORLD, load, (0.5, 0, 0), (0, 0, 1))
    blocks = strands // 2
    path, x = [(dal.WORLD, (0, 0, 2))], 0.0
    for i in range(blocks):
        r = 0.1
        path.append(pulley(load, x + r, 0, r, -1))
        last = i == blocks - 1
        width = 0.5 * (2.5 - (x + 2 * r)) if last else 0.1
        path.append(pulley(dal.WORLD, x + 2 * r + width, 2, width, 1))
        x += 2 * r + 2 * width
    scene.cable("rope", [*path, (hand, (2.5, 0, 0))])
    found = run(scene, 0.3, coordinates=coordinates)
    n, m, w = strands, 8.0, 1.0
    a = (n * w - m) * G / (m + n * n * w)  # of the load, upward
    assert found.state.position[0, 2] == pytest.approx(0.045 * a, rel=1e-9)
    assert found.state.position[1, 2] == pytest.approx(-n * 0.045 * a, rel=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_differential_pulley(coordinates):
    """Two drums on one axle take in and pay out one cable: a turn lifts the load by (R − r)/2 a radian."""
    scene = dal.Scene("differential pulley")
    axle = wheel(scene, "axle", 0.3, 2.0, 0, 2)
    block = scene.add_body("block", dal.Sphere(0.1), mass=10.0, position=(0.05, 0, 0))
    R, r = 0.3, 0.2
    scene.cable("chain", [
        dal.Drum(axle, (0, 0, 2), (0, 1, 0), R, (1, 0, 0)),
        pulley(block, 0.05, 0, 0.25, -1, swivels=True),
        dal.Drum(axle, (0, 0, 2), (0, 1, 0), r, (-1, 0, 0)),
    ])  # fmt: skip
    found = run(scene, 0.5, coordinates=coordinates)
    lever = 0.5 * (R - r)
    a = 10.0 * G * lever**2 / (0.5 * 2.0 * 0.09 + 10.0 * lever**2)
    assert found.state.position[1, 2] == pytest.approx(-0.125 * a, rel=1e-9)
    assert abs(found.state.angular_velocity[0, 1]) == pytest.approx(0.5 * a / lever, rel=1e-9)
    assert lengths_kept(found) < 1e-9


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_yo_yo_unwinds(coordinates):
    """A reel on a cable falls with g/(1 + I/m r²), over many turns."""
    scene = dal.Scene("yo-yo")
    reel = wheel(scene, "reel", 0.2, 1.0, 0, 0, hinged=False)
    scene.cable("string", [(dal.WORLD, (0.05, 0, 1)), dal.Drum(reel, (0, 0, 0), (0, 1, 0), 0.05, (1, 0, 0), turns=30)])
    found = run(scene, 1.5, coordinates=coordinates)
    a = G / (1 + 0.5 * 0.04 / 0.0025)
    assert found.state.position[0, 2] == pytest.approx(-0.5 * a * 2.25, rel=1e-9)
    assert 0.5 * a * 2.25 / 0.05 / (2 * np.pi) > 3.0  # turns
    assert lengths_kept(found) < 1e-9


def test_winch_lifts_by_the_motion_of_its_drum():
    scene = dal.Scene("winch")
    drum = wheel(scene, "drum", 0.1, 1.0, 0, 0)
    load = weight(scene, "load", 5.0, 1.0, 0.5)
    scene.add_motion("turn", "axle of drum", lambda t: 2.0 * t * t)
    scene.cable("rope", [
        dal.Drum(drum, (0, 0, 0), (0, 1, 0), 0.1, (0, 0, 1), turns=2), pulley(dal.WORLD, 0.9, 2, 0.1, 1), (load, (1, 0, 0.5))
    ])  # fmt: skip
    found = run(scene, 2.0)
    assert abs(found.state.position[1, 2] - 0.5) == pytest.approx(0.1 * 8.0, rel=1e-9)


def wrapping_pendulum(speed):
    """A bob on a cable that is fixed to a thin post and winds around it."""
    scene = dal.Scene("wrapping pendulum", gravity=(0, 0, 0))
    bob = scene.add_body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), position=(1.0, 0.1, 0), velocity=(0, speed, 0))
    scene.cable("string", [dal.Drum(dal.WORLD, (0, 0, 0), (0, 0, 1), 0.1, (0, 1, 0), turns=1), (bob, (1.0, 0.1, 0))])
    return scene


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("speed", [-2.0, 2.0])
def test_bob_winds_around_a_post_on_an_involute(speed, coordinates):
    """Without gravity the speed v is constant, and the free length l has l l̇ = r v: l² = l₀² + 2 r v t."""
    found = run(wrapping_pendulum(speed), 1.5, coordinates=coordinates)
    state = found.state
    free = np.sqrt(np.linalg.norm(state.position[0]) ** 2 - 0.01)
    assert np.linalg.norm(state.velocity[0]) == pytest.approx(2.0, rel=1e-9)
    assert free == pytest.approx(np.sqrt(1.0 + 2 * 0.1 * speed * 1.5), rel=1e-8)
    assert lengths_kept(found) < 1e-9


def test_order_of_accuracy_is_kept():
    """Errors of classical Runge–Kutta fall as h⁴ on a pendulum whose cable runs over a pulley to a counterweight."""

    def end(dt):
        scene = dal.Scene("swinging Atwood's machine")
        bob = weight(scene, "bob", 1.0, 0.9, 0.0)
        counter = weight(scene, "counter", 1.6, -0.2, 0.0)
        scene.slider("guide", dal.WORLD, counter, (-0.2, 0, 0), (0, 0, 1))
        scene.cable("rope", [(counter, (-0.2, 0, 0)), pulley(dal.WORLD, 0, 1, 0.2, 1), (bob, (0.9, 0, 0))])
        return dal.simulate(scene, 0.8, method="rk4", dt=dt).state.position[:2].ravel()

    exact = end(0.8 / 1024)
    errors = [np.linalg.norm(end(0.8 / n) - exact) for n in (16, 32, 64)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders.min() > 3.7


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_slack_cable_falls_freely_and_catches(coordinates):
    scene = dal.Scene("bungee without stretch")
    ball = weight(scene, "ball", 2.0, 0.1, 1.8)
    scene.cable(
        "rope",
        [(dal.WORLD, (-0.1, 0, 1)), pulley(dal.WORLD, 0, 2, 0.1, 1), (ball, (0.1, 0, 1.8))],
        length=2.5,
        slack=True,
    )
    room = 2.5 - (1.0 + 0.1 * np.pi + 0.2)
    fall = np.sqrt(2 * room / G)
    settings = {"method": "time_stepping", "dt": 1e-3, "coordinates": coordinates}
    before = dal.simulate(scene, 0.8 * fall, **settings)
    assert before.state.velocity[0, 2] == pytest.approx(-G * before.time, rel=1e-9)
    after = dal.simulate(scene, 2.0, **settings)
    assert after.state.position[0, 2] == pytest.approx(1.8 - room, abs=2e-6)
    assert abs(after.state.velocity[0, 2]) < 1e-9
    assert after.report.energy_residual_relative < 1e-8


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_slack_cable_between_two_bodies_stays_taut_under_load(coordinates):
    """Atwood's machine with a cable that may go slack has the acceleration of the taut one."""
    found = dal.simulate(atwood(False, slack=True), 0.5, method="time_stepping", dt=1e-3, coordinates=coordinates)
    a = G * 1.5 / 3.5
    np.testing.assert_allclose(found.state.velocity[:2, 2], [0.5 * a, -0.5 * a], rtol=1e-6)
    assert found.report.energy_residual_relative < 1e-8


@pytest.mark.parametrize("method", ["dormand_prince", "time_stepping"])
def test_cable_that_stretches_oscillates_and_never_pushes(method):
    """A ball that is dropped on an elastic cable is thrown up to where it came from."""
    scene = dal.Scene("bungee", material=dal.Material())
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -9))
    ball = weight(scene, "ball", 2.0, 0.1, 1.8)
    cable = scene.cable(
        "rope",
        [(dal.WORLD, (-0.1, 0, 1)), pulley(dal.WORLD, 0, 2, 0.1, 1), (ball, (0.1, 0, 1.8))],
        length=2.0,
        stretch=2000.0,
    )
    room, k = 2.0 - (1.0 + 0.1 * np.pi + 0.2), 1000.0
    deepest = room + 2 * G / k + np.sqrt((2 * G / k) ** 2 + 2 * 2 * G * room / k)
    more = {"dt": 2e-4} if method == "time_stepping" else {"rtol": 1e-9}
    found = dal.simulate(scene, 1.0, method=method, frame_rate=2000.0, **more)  # one bounce
    z = found.trajectory.position.values[:, 0, 2]
    assert z.min() == pytest.approx(1.8 - deepest, abs=2e-5)
    assert z[z.argmin() :].max() == pytest.approx(1.8, abs=2e-3 if method == "time_stepping" else 1e-5)
    assert found.report.energy_residual_relative < (1e-5 if method == "time_stepping" else 1e-8)
    assert cable.length == pytest.approx(2.0)


@pytest.mark.parametrize("turns", [0, 2])
def test_capstan_holds_up_to_euler_and_slides_beyond(turns):
    """A rope over a fixed post slides when the ratio of the weights exceeds e^{μθ}, and then with that ratio of tensions."""
    mu, light = 0.2, 1.0
    ratio = np.exp(mu * (np.pi + 2 * np.pi * turns))

    def end(heavy, duration=0.4):
        scene = dal.Scene("capstan")
        left, right = weight(scene, "left", light, -0.2, 0.0), weight(scene, "right", heavy, 0.2, 0.0)
        post = pulley(dal.WORLD, 0, 1, 0.2, 1, turns=turns, friction=mu)
        scene.cable("rope", [(left, (-0.2, 0, 0)), post, (right, (0.2, 0, 0))], stretch=1e5, damping=200.0, creep=1e-3)
        return dal.simulate(scene, duration, method="dormand_prince", rtol=1e-8)

    held = end(0.9 * light * ratio)
    assert abs(held.state.velocity[1, 2]) < 3e-3  # it creeps
    slides = end(1.5 * light * ratio)
    a = G * (1.5 - 1.0) / (1.5 + 1.0)  # T_heavy = ratio T_light: ratio cancels in m (g − a) = e^{μθ} m' (g + a)
    assert -slides.state.velocity[1, 2] == pytest.approx(a * 0.4, rel=0.02)
    assert slides.report.energy_residual_relative < 1e-6


def test_belt_turns_a_second_wheel_by_the_ratio_of_radii():
    scene = dal.Scene("belt")
    first, second = wheel(scene, "first", 0.1, 1.0, 0, 0), wheel(scene, "second", 0.25, 2.0, 1, 0)
    for side in (1, -1):
        scene.cable(f"belt {side}", [
            dal.Drum(first, (0, 0, 0), (0, 1, 0), 0.1, (0, 0, side), turns=40),
            dal.Drum(second, (1, 0, 0), (0, 1, 0), 0.25, (0, 0, side), turns=40),
        ])  # fmt: skip
    scene.motor("drive", "axle of first", effort=0.5)
    found = run(scene, 1.0)
    spin = found.state.angular_velocity[:, 1]
    inertia = 0.5 * 1.0 * 0.01 + 0.5 * 2.0 * 0.0625 * (0.1 / 0.25) ** 2
    assert spin[0] == pytest.approx(0.5 / inertia, rel=1e-9)
    assert spin[1] == pytest.approx(0.4 * spin[0], rel=1e-9)


BAD = {
    "fewer than two ends": (lambda a: [(a, (0, 0, 0))], {}, "at least two elements"),
    "point inside a pulley": (lambda a: [(a, (0, 0, 0)), pulley(dal.WORLD, 0.1, 0, 0.2, 1), (dal.WORLD, (1, 0, 0))], {}, "inside its radius"),
    "no radius": (lambda a: [(a, (0, 0, 0)), pulley(dal.WORLD, 1, 0, 0.0, 1), (dal.WORLD, (2, 0, 0))], {}, "radius"),
    "side along the axis": (
        lambda a: [(a, (0, 0, 0)), dal.Pulley(dal.WORLD, (1, 0, 0), (0, 1, 0), 0.1, (0, 1, 0)), (dal.WORLD, (2, 0, 0))],
        {}, "along the axis",
    ),
    "side undecided": (lambda a: [(a, (0, 0, 0)), dal.Pulley(dal.WORLD, (1, 0, 0), (0, 1, 0), 0.1, (1, 0, 0)), (dal.WORLD, (2, 0, 0))], {}, "does not determine the side"),
    "too short": (lambda a: [(a, (0, 0, 0)), (dal.WORLD, (2, 0, 0))], {"length": 1.5}, "less than that of its path"),
    "too long": (lambda a: [(a, (0, 0, 0)), (dal.WORLD, (2, 0, 0))], {"length": 2.5}, "slack=True"),
    "ends on a pulley": (lambda a: [(a, (0, 0, 0)), pulley(dal.WORLD, 1, 0, 0.1, 1)], {}, "end at an Eye"),
    "drum in the middle": (
        lambda a: [(a, (0, 0, 0)), dal.Drum(dal.WORLD, (1, 0, 0), (0, 1, 0), 0.1, (0, 0, 1)), (dal.WORLD, (2, 0, 0))], {}, "use a Pulley",
    ),
    "friction without stretch": (
        lambda a: [(a, (0, 0, 0)), dal.Eye(dal.WORLD, (1, 0, 1), friction=0.2), (dal.WORLD, (2, 0, 0))], {}, "stretch=E A",
    ),
    "no body": (lambda a: [("nobody", (0, 0, 0)), (dal.WORLD, (2, 0, 0))], {}, "nobody"),
    "a number": (lambda a: [(a, (0, 0, 0)), 3.0], {}, "give \\(body, point\\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_cables_are_rejected(case):
    path, settings, words = BAD[case]
    scene = dal.Scene("bad")
    a = weight(scene, "a", 1.0, 0, 0)
    with pytest.raises(ValueError, match=words) as caught:
        scene.cable("rope", path(a), **settings)
    assert "rope" in str(caught.value)
    assert not scene.joints and not scene.forces


def test_slack_cable_on_three_bodies_is_rejected():
    scene = dal.Scene("bad")
    ends = [weight(scene, name, 1.0, x, 0) for name, x in (("a", 0), ("b", 1), ("c", 2))]
    with pytest.raises(ValueError, match="at most two"):
        scene.cable("rope", [(ends[0], (0, 0, 0)), (ends[1], (1, 0, 0.2)), (ends[2], (2, 0, 0))], slack=True)
