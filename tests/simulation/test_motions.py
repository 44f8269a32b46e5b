"""Prescribed motions, against theory: lifts, belts, turntables, paddles, driven mechanisms; in all formulations."""

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

import dalembert as dal

G = 9.81
FORMULATIONS = {
    "multipliers": dict(rtol=1e-9),
    "joint coordinates": dict(rtol=1e-9, coordinates="joint"),
    "time steps": dict(method="time_stepping", dt=5e-4),
    "time steps, joint coordinates": dict(method="time_stepping", dt=5e-4, coordinates="joint"),
}


@njit
def up_and_down(t):
    return (0.0, 0.0, 0.3 * np.sin(2.0 * t))


def lift(**settings):
    scene = dal.Scene("lift", material=dal.Material(0.5))
    scene.add_body("lift", dal.Box(2, 2, 0.2), motion=up_and_down)
    scene.add_body("box", dal.Box(0.4, 0.4, 0.4), mass=2.0, position=(0, 0, 0.3), velocity=(0, 0, 0.6))
    return dal.Simulation(scene, dt=1 / 240, **settings)


BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


@BOTH
@pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
def test_a_lift_carries_without_jitter_and_its_work_is_the_energy(solver, coordinates):
    run = lift(solver=solver, coordinates=coordinates).advance(3.0)
    z = run.trajectory.position.sel(body="box").values[:, 2] - 0.3
    t = run.trajectory.time.values
    assert np.abs(z - 0.3 * np.sin(2.0 * t)).max() < 1e-5  # ½ h² a / 8 of the sampling at the ends of steps
    report = run.report

    exact = 2.0 * (0.5 * (0.36 * np.cos(6.0) ** 2 - 0.36) + G * 0.3 * np.sin(6.0))
    assert report.work["lift"] == pytest.approx(exact, abs=2e-4)
    assert report.energy_residual < 1e-9 and report.momentum_residual < 1e-9


@BOTH
def test_a_box_on_a_belt_accelerates_by_friction_to_its_speed(coordinates):
    mu, speed, mass = 0.3, 1.2, 2.0
    scene = dal.Scene("belt", material=dal.Material(mu))
    scene.add_obstacle("belt", dal.Box(20, 1, 0.2), position=(0, 0, -0.1), surface_velocity=(speed, 0, 0))
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=mass, position=(0, 0, 0.1))
    run = dal.Simulation(scene, dt=1e-3, frame_rate=1000, coordinates=coordinates).advance(1.0)
    v = run.trajectory.momentum.sel(body="box").values[:, 0] / mass
    t = run.trajectory.time.values
    assert np.abs(v - np.minimum(mu * G * t, speed)).max() < 2e-3 * G
    report = run.report
    assert report.work["belt"] == pytest.approx(mass * speed**2, rel=5e-3)  # half becomes heat, half motion
    assert report.work["contact: friction"] == pytest.approx(-0.5 * mass * speed**2, rel=5e-3)
    assert report.energy_residual < 1e-9 and report.momentum_residual < 1e-9
    assert np.array_equal(run.state.position[run.state.index("belt")], (0, 0, -0.1))


@BOTH
def test_a_belt_does_not_push_with_its_ends(coordinates):
    scene = dal.Scene("end of a belt", gravity=(0, 0, 0), material=dal.Material(0.0))
    scene.add_obstacle("belt", dal.Box(1, 1, 1), surface_velocity=(5.0, 0, 0))
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.6, 0, 0))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(0.1)
    assert np.abs(run.state.velocity[run.state.index("box")]).max() < 1e-6


@BOTH
@pytest.mark.parametrize("moves", ["body", "surface"])
def test_a_turntable_throws_off_what_friction_cannot_hold(moves, coordinates):
    omega, mu = 3.0, 0.4
    most = mu * G / omega**2
    scene = dal.Scene("turntable", material=dal.Material(mu))
    if moves == "body":
        table = {"motion": "set", "angular_velocity": (0, 0, omega), "position": (0, 0, -0.05)}
        scene.add_body("table", dal.Cylinder(1.0, 0.1), **table)
    else:
        scene.add_obstacle("table", dal.Cylinder(1.0, 0.1), surface_spin=(0, 0, omega), position=(0, 0, -0.05))
    for name, radius, side in (("stays", 0.97 * most, 1.0), ("leaves", 1.03 * most, -1.0)):
        scene.add_body(
            name,
            dal.Cylinder(0.01, 0.005),
            mass=0.01,
            position=(side * radius, 0, 0.0025),
            velocity=(0, side * omega * radius, 0),
            angular_velocity=(0, 0, omega),
        )
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(1.5)
    r = np.linalg.norm(run.trajectory.position.values[:, :, :2], axis=2)
    index = run.state.index
    creep = (
        0.5 * 1e-3 * omega**2 * most * 1.5
    )  # a step is straight: r grows by r ω² dt/2 a second, of first order in dt
    assert np.ptp(r[:, index("stays")]) < 1.05 * creep
    assert r[-1, index("leaves")] > 1.2 * most
    assert run.report.energy_residual < 1e-6


@BOTH
def test_a_paddle_gives_its_speed(coordinates):
    scene = dal.Scene("paddle", gravity=(0, 0, 0), material=dal.Material(0.0, restitution=0.8))
    scene.add_body("paddle", dal.Box(0.1, 1, 1), motion=njit(lambda t: (2.0 * t, 0.0, 0.0)))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0.5, 0, 0), velocity=(-1.0, 0, 0))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(0.3)
    assert run.state.velocity[run.state.index("ball"), 0] == pytest.approx(2.0 + 0.8 * 3.0, abs=1e-6)
    assert run.report.energy_residual < 1e-9


# Kapitza's pendulum --------------------------------------------------------------------------------------------------


def kapitza(stroke, frequency, **settings):
    """A mass on a rod of 1 m, upside down, whose pivot moves by stroke · cos(frequency t)."""

    @njit
    def pivot(t):
        return (0.0, 0.0, stroke * (np.cos(frequency * t) - 1.0))

    scene = dal.Scene("Kapitza")
    scene.add_body("pivot", motion=pivot)
    angle = 0.02
    scene.add_body("bob", dal.Sphere(0.01), mass=1.0, position=(np.sin(angle), 0, np.cos(angle)))
    scene.hinge("joint", "pivot", "bob", at=(0, 0, 0), axis=(0, 1, 0))
    return dal.Simulation(scene, **settings)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_kapitza_stands_above_the_threshold_and_falls_below(name):
    settings = FORMULATIONS[name]
    frequency = 60.0 * np.sqrt(G)
    threshold = np.sqrt(2.0 * G) / frequency  # a ω = √(2 g l)
    for share, stands in ((1.06, True), (0.94, False)):
        run = kapitza(share * threshold, frequency, **settings).advance(3.0)
        away = run.trajectory.position.sel(body="bob").values[:, 0]
        assert (np.abs(away).max() < 0.06) == stands, (share, np.abs(away).max())
        assert run.report.joint_error < 1e-9


# A driven slider-crank, and a pendulum of given length --------------------------------------------------------------

R, L, OMEGA = 0.2, 0.7, 5.0
MASSES = (0.5, 0.8, 1.5)


def slider_crank():
    scene = dal.Scene("slider-crank")
    beta = 0.0
    scene.add_body(
        "crank",
        dal.Box(R, 0.02, 0.02),
        mass=MASSES[0],
        position=(R / 2, 0, 0),
        velocity=(0, 0, -OMEGA * R / 2),
        angular_velocity=(0, OMEGA, 0),
    )
    rod_spin = -OMEGA * R / L
    scene.add_body(
        "rod",
        dal.Box(L, 0.02, 0.02),
        mass=MASSES[1],
        position=(R + L / 2, 0, beta),
        velocity=(0, 0, -OMEGA * R / 2),
        angular_velocity=(0, rod_spin, 0),
    )
    scene.add_body("slider", dal.Box(0.1, 0.1, 0.1), mass=MASSES[2], position=(R + L, 0, 0))
    scene.hinge("main", dal.WORLD, "crank", at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("pin", "crank", "rod", at=(R, 0, 0), axis=(0, 1, 0))
    scene.hinge("wrist", "rod", "slider", at=(R + L, 0, 0), axis=(0, 1, 0))
    scene.slider("guide", dal.WORLD, "slider", at=(R + L, 0, 0), axis=(1, 0, 0))
    scene.add_motion("drive", "main", njit(lambda t: OMEGA * t))
    return scene


def slider_crank_energy(theta):
    """Kinetic and potential energy at the constant speed, as a function of the crank's angle."""

    def places(angle):
        beta = np.arcsin(R * np.sin(angle) / L)
        pin = np.array([R * np.cos(angle), -R * np.sin(angle)])
        slider = np.array([R * np.cos(angle) + L * np.cos(beta), 0.0])
        return 0.5 * pin, 0.5 * (pin + slider), slider, angle, -beta

    h = 1e-5
    ahead, behind = places(theta + h), places(theta - h)
    rates = [(a - b) / (2.0 * h) * OMEGA for a, b in zip(ahead, behind, strict=True)]
    here = places(theta)
    inertia = [MASSES[0] * (R**2 + 0.02**2) / 12.0, MASSES[1] * (L**2 + 0.02**2) / 12.0]
    kinetic = 0.5 * sum(m * v @ v for m, v in zip(MASSES, rates[:3], strict=True))
    kinetic += 0.5 * (inertia[0] * rates[3] ** 2 + inertia[1] * rates[4] ** 2)
    return kinetic + G * sum(m * x[1] for m, x in zip(MASSES, here[:3], strict=True))


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_slider_crank_driven_at_constant_speed(name):
    run = dal.Simulation(slider_crank(), **FORMULATIONS[name])
    tolerance = 1e-7 if "rtol" in FORMULATIONS[name] else 2e-4
    for _ in range(5):
        run.advance(0.137)
        theta = OMEGA * run.time
        beta = np.arcsin(R * np.sin(theta) / L)
        x = R * np.cos(theta) + L * np.cos(beta)
        assert run.state.position[run.state.index("slider"), 0] == pytest.approx(x, abs=1e-9)
        h = 1e-4  # the power of the drive is the rate of the energy
        power = OMEGA * (slider_crank_energy(theta + h) - slider_crank_energy(theta - h)) / (2.0 * h)
        if "rtol" in FORMULATIONS[name]:
            assert run.efforts["drive"] * OMEGA == pytest.approx(power, abs=1e-4 * abs(power) + 1e-4)
    gained = slider_crank_energy(theta) - slider_crank_energy(0.0)
    assert run.report.work["drive"] == pytest.approx(gained, abs=tolerance * 10)
    assert run.report.energy_residual < tolerance


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_pendulum_whose_length_is_prescribed(name):
    @njit
    def longer(t):
        return 0.3 * (1.0 - np.cos(3.0 * t))

    scene = dal.Scene("winch")
    angle, mass = 0.5, 1.0
    down = np.array([np.sin(angle), 0, -np.cos(angle)])
    arm = scene.add_body("arm", dal.Box(0.1, 0.1, 0.1), mass=0.2)
    bob = scene.add_body("bob", dal.Sphere(0.05), mass=mass, position=down)
    scene.hinge("hinge", dal.WORLD, arm, at=(0, 0, 0), axis=(0, 1, 0))
    scene.slider("rail", arm, bob, at=down, axis=down)
    scene.add_motion("winch", "rail", longer)
    inertia = float(arm.inertia[1, 1] + bob.inertia[1, 1])

    def rates(t, y):
        length, pull = 1.0 + longer(t), 0.9 * np.sin(3.0 * t)
        return y[1], -(2.0 * mass * length * pull * y[1] + mass * G * length * np.sin(y[0])) / (
            inertia + mass * length**2
        )

    run = dal.Simulation(scene, **FORMULATIONS[name]).advance(2.0)
    theta = solve_ivp(rates, (0.0, 2.0), (angle, 0.0), rtol=1e-11, atol=1e-12).y[0, -1]
    length = 1.0 + longer(2.0)
    exact = length * np.array([np.sin(theta), 0.0, -np.cos(theta)])
    close = 1e-6 if "rtol" in FORMULATIONS[name] else 1e-5
    assert np.abs(run.state.position[run.state.index("bob")] - exact).max() < close
    assert run.report.energy_residual < (1e-7 if "rtol" in FORMULATIONS[name] else 1e-4)


@pytest.mark.parametrize("name", ["multipliers", "joint coordinates"])
def test_a_spring_on_a_moving_support_drives_an_oscillator(name):
    stiffness, mass, stroke, frequency = 40.0, 2.0, 0.1, 3.0

    @njit
    def support(t):
        return (stroke * np.sin(frequency * t), 0.0, 0.0)

    scene = dal.Scene("driven oscillator", gravity=(0, 0, 0))
    scene.add_body("support", motion=support)
    scene.add_body("mass", dal.Sphere(0.1), mass=mass, position=(1, 0, 0))
    scene.spring("spring", "support", "mass", (0, 0, 0), (1, 0, 0), stiffness=stiffness, rest=1.0)
    run = dal.Simulation(scene, **FORMULATIONS[name]).advance(2.0)
    own = np.sqrt(stiffness / mass)
    share = own**2 / (own**2 - frequency**2)
    exact = 1.0 + stroke * share * (np.sin(frequency * 2.0) - frequency / own * np.sin(own * 2.0))
    assert run.state.position[run.state.index("mass"), 0] == pytest.approx(exact, abs=1e-6)
    assert run.report.energy_residual < 1e-7 and run.report.work["support"] != 0.0
