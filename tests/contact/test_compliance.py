"""Compliant surfaces in time steps: dents, bounces, stacks, the ledger of springs and dampers, and rejected input."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.contact import pair_friction

G = 9.81
WAYS = ({}, {"solver": "converging"}, {"coordinates": "joint"}, {"coordinates": "joint", "solver": "converging"})
ways = pytest.mark.parametrize("how", WAYS, ids=["bodies", "converging", "joint", "joint-converging"])


def ball(stiffness, damping=0.0, gravity=0.0, velocity=0.0, mass=1.0):
    """A rigid ball of radius 0.1 m that touches compliant ground."""
    scene = dal.Scene("ball", gravity=(0, 0, -gravity), material=dal.Material(0.6))
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.6, stiffness=stiffness, damping=damping))
    scene.add_body("ball", dal.Sphere(0.1), mass=mass, position=(0, 0, 0.1), velocity=(0, 0, velocity))
    return scene


def ledger_of(run):
    """The last work of each kind of contact."""
    work = run.trajectory.work[-1]
    return {str(name).removeprefix("contact: "): float(work.sel(force=name)) for name in work.force.values}


@ways
def test_the_dent_of_a_body_at_rest_is_its_weight_over_the_stiffness(how):
    run = dal.simulate(ball(1000.0, 60.0, gravity=G), 3.0, dt=1 / 200, **how)
    dent = 0.1 - run.state.position[0, 2]
    assert dent == pytest.approx(G / 1000.0, rel=1e-9)
    assert -run.contacts[0].separation == pytest.approx(dent, rel=1e-9)
    assert abs(run.contacts[0].force[2]) == pytest.approx(G, rel=1e-9)
    assert ledger_of(run)["springs"] == pytest.approx(-0.5 * 1000.0 * dent**2, rel=1e-9)
    assert run.report.energy_residual_relative < 1e-12 and run.report.contact.penetration == 0.0


@ways
@pytest.mark.sampled(2)
def test_a_bounce_takes_half_a_period_and_loses_energy_in_second_order(how):
    """Of a mass on a spring, π √(m/k) in contact, that begins anywhere in a step; without damping it loses no energy."""
    half = np.pi / np.sqrt(1000.0)
    worst = []
    for steps in (10, 40, 160):
        dt, lost = half / steps, []
        for part in (0.1, 0.35, 0.6, 0.85):
            scene = ball(1000.0, velocity=-1.0)
            object.__setattr__(scene.bodies["ball"], "position", np.array([0.0, 0.0, 0.1 + (2.0 + part) * dt]))
            run = dal.simulate(scene, 1.6 * half + 4.0 * dt, dt=dt, frame_rate=1 / dt, **how)
            bears = np.asarray(run.trajectory.contact_force)[:, 0, 2] > 0.0
            assert abs(bears.sum() - steps) <= 1
            lost.append(0.5 - 0.5 * float(run.state.velocity[0, 2]) ** 2)
            entries = ledger_of(run)
            assert entries["dampers"] == 0.0 and abs(entries["springs"]) < 1e-12
            assert entries["impacts"] == pytest.approx(-lost[-1], rel=1e-9)
            assert run.report.energy_residual_relative < 1e-12
        worst.append(max(map(abs, lost)))
    assert worst[0] < 0.5 * 4.0 / 10.0**2
    assert worst[1] < worst[0] / 10.0 and worst[2] < worst[1] / 10.0


@pytest.mark.filterwarnings("ignore:a bounce of")
@pytest.mark.parametrize("damping", [0.0, 3.0, 20.0, 60.0])
def test_no_bounce_gains_energy_however_long_the_steps(damping):
    """Steps of an eighth of a bounce to fifty bounces, and several phases of the first touch."""
    for steps in (0.02, 0.4, 1.0, 1.6, 2.5, 4.0, 8.0):
        dt = np.pi / np.sqrt(1000.0) / steps
        for part in (0.1, 0.5, 0.9):
            scene = ball(1000.0, damping, velocity=-1.0)
            object.__setattr__(scene.bodies["ball"], "position", np.array([0.0, 0.0, 0.1 + (1.0 + part) * dt]))
            run = dal.Simulation(scene, dt=dt)
            run.step(int(2.5 * steps) + 8)
            assert np.abs(run.state.velocity[0, 2]) <= 1.0 + 1e-3


def test_a_damped_bounce_follows_the_damped_oscillator():
    """With ζ = d/(2 √(k m)), the force k δ + d δ̇ vanishes before the ball leaves; e = v⁺/v⁻ of that time."""
    k, d = 1000.0, 12.0
    run = dal.simulate(ball(k, d, velocity=-1.0), 0.2, dt=1e-5)
    decay, omega = d / 2, np.sqrt(k - (d / 2) ** 2)
    t = np.linspace(1e-4, np.pi / omega, 200001)
    dent = np.exp(-decay * t) * np.sin(omega * t) / omega
    rate = np.exp(-decay * t) * (np.cos(omega * t) - decay / omega * np.sin(omega * t))
    leaves = np.argmax(k * dent + d * rate < 0.0)
    assert run.state.velocity[0, 2] == pytest.approx(-rate[leaves], rel=1e-3)
    entries = ledger_of(run)
    assert entries["dampers"] == pytest.approx(0.5 * rate[leaves] ** 2 - 0.5, rel=2e-3)
    assert abs(entries["impacts"]) < 2e-3


@ways
def test_a_stack_of_compliant_boxes_sinks_at_each_interface_by_the_weight_above_it(how):
    """A point pushes with its own spring: faces that meet at four points are four times as stiff."""
    scene = dal.Scene("stack", material=dal.Material(0.6, stiffness=2e4, damping=500.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(4):
        scene.add_body(f"box {i}", dal.Box(0.4, 0.4, 0.4), mass=1, position=(0, 0, 0.2 + 0.4 * i))
    run = dal.simulate(scene, 4.0, dt=1 / 200, **how)
    sunk = 0.2 + 0.4 * np.arange(4) - run.state.position[:, 2]
    np.testing.assert_allclose(np.diff(sunk, prepend=0.0), [(4 - i) * G / (4 * 1e4) for i in range(4)], rtol=1e-7)
    assert run.report.contact.unsolved == 0 and run.report.energy_residual_relative < 1e-10


def test_stiff_springs_are_stable_and_become_rigid_contact():
    scene = ball(1e12, gravity=G, velocity=-1.0)
    with pytest.warns(
        dal.SimulationWarning, match="a bounce of 'ball' on 'ground' lasts 3.14e-06 s by their stiffness"
    ):
        run = dal.simulate(scene, 1.0, dt=1 / 60)
    assert abs(run.state.position[0, 2] - 0.1) < 1e-8 and np.abs(run.state.velocity).max() < 1e-8


@ways
def test_a_block_on_compliant_ground_slides_as_coulomb_says(how):
    slope = np.radians(30.0)
    scene = dal.Scene("slope", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), material=dal.Material(0.3))
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.3, stiffness=1e5, damping=1e3))
    scene.add_body("block", dal.Box(1.0, 0.6, 0.4), mass=2, position=(0, 0, 0.2))
    run = dal.simulate(scene, 1.0, dt=1 / 200, **how)
    speeds = dal.simulate(scene, 1.5, dt=1 / 200, **how).state.velocity[0, 0] - run.state.velocity[0, 0]
    assert speeds == pytest.approx(0.5 * G * (np.sin(slope) - 0.3 * np.cos(slope)), rel=1e-4)


def test_a_robot_presses_with_the_stiffness_of_the_ground():
    """A slider under a constant load, on a compliant ground, sinks by load over stiffness."""
    scene = dal.Scene("press", gravity=(0, 0, 0), material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.5, stiffness=5e3, damping=200.0))
    scene.add_body("foot", dal.Sphere(0.1), mass=2, position=(0, 0, 0.1))
    scene.slider("guide", dal.WORLD, "foot", at=(0, 0, 0.1), axis=(0, 0, 1))
    scene.external_force("push", "foot", force=(0, 0, -40.0), at=(0, 0, 0.1))
    for coordinates in ("maximal", "joint"):
        run = dal.simulate(scene, 2.0, dt=1 / 200, method="time_stepping", coordinates=coordinates)
        assert 0.1 - run.state.position[0, 2] == pytest.approx(40.0 / 5e3, rel=1e-8)


def test_a_spring_does_not_pull():
    scene = ball(1000.0, 500.0, velocity=-1.0)  # overdamped
    run = dal.simulate(scene, 0.5, dt=1 / 500, frame_rate=500)
    assert np.asarray(run.trajectory.contact_force)[:, 0, 2].min() >= 0.0
    assert run.report.energy_residual_relative < 1e-12


def test_resting_rigid_bodies_beside_a_compliant_one_keep_no_overlap():
    scene = dal.Scene("both", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("rigid", dal.Box(0.4, 0.4, 0.4), mass=1, position=(0, 0, 0.2))
    soft = dal.Material(0.5, stiffness=1e4, damping=250.0)
    scene.add_body("soft", dal.Box(0.4, 0.4, 0.4), mass=1, position=(0, 0, 0.6), material=soft)
    run = dal.simulate(scene, 2.0, dt=1 / 200)
    assert run.state.position[0, 2] == pytest.approx(0.2, abs=1e-5)
    assert run.state.position[0, 2] + 0.4 - run.state.position[1, 2] == pytest.approx(G / 4e4, rel=1e-6)


def test_springs_of_two_surfaces_are_in_series():
    a, b = dal.Material(0.5, stiffness=3000.0, damping=3.0), dal.Material(0.5, stiffness=6000.0, damping=6.0)
    made = pair_friction(a, b)
    assert made.stiffness == pytest.approx(2000.0) and made.damping == pytest.approx(2.0)  # the same ratio d/k
    rigid = pair_friction(a, dal.Material(0.5, restitution=0.8))
    assert (rigid.stiffness, rigid.damping, rigid.restitution) == (3000.0, 3.0, 0.0)
    assert pair_friction(dal.Material(0.5), dal.Material(0.5)).stiffness == 0.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stiffness": -1.0}, "stiffness is -1.0; give a number from 1e-09"),
        ({"stiffness": 0.0}, "stiffness is 0.0; give a number from 1e-09"),
        ({"stiffness": 1e-300}, "stiffness is 1e-300; give a number from 1e-09"),
        ({"stiffness": float("nan")}, "stiffness is nan"),
        ({"stiffness": float("inf")}, "stiffness is inf"),
        ({"stiffness": 1e3, "damping": -1.0}, "damping is -1.0; give a number from 0"),
        ({"damping": 10.0}, "damping is 10 N s/m without a stiffness"),
        ({"stiffness": 1e3, "restitution": 0.5}, "restitution is 0.5 with a stiffness of 1000 N/m"),
    ],
)
def test_a_stiffness_that_cannot_be_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        dal.Material(0.5, **given)


def test_steps_that_resolve_a_bounce_or_a_surface_that_damps_it_are_not_warned_of(recwarn):
    dal.Simulation(ball(1000.0), dt=1 / 500)
    dal.Simulation(ball(1e5, 700.0), dt=1 / 200)
    assert not recwarn.list


def test_methods_that_cannot_do_it_name_the_surface():
    for method in ({}, {"dt": 1e-3, "method": "rk4"}):
        with pytest.raises(
            ValueError, match="supports rigid surfaces only, and that of 'ground' has a stiffness of 1000"
        ):
            dal.Simulation(ball(1000.0), **{"method": "dormand_prince", **method})
    scene = ball(1000.0)
    scene.add_particles("drops", [(0, 0, 1.0)], mass=0.1, radius=0.02, material=dal.Material(0.3))
    with pytest.raises(ValueError, match="contact of particles supports rigid surfaces only, and that of 'ground'"):
        dal.Simulation(scene, dt=1e-3)


@pytest.mark.parametrize("shape", [dal.Ellipsoid(0.1, 0.1, 0.1), dal.Sphere(0.1), dal.Box(0.2, 0.2, 0.2)], ids=repr)
@pytest.mark.parametrize("height", [0.4, 5.0])
def test_nothing_stops_a_body_on_its_way_into_compliant_ground(height, shape):
    """In both coordinates: bodies of any shape, slow and fast, bounce alike and do not fall through."""
    places = []
    for coordinates in ("maximal", "joint"):
        scene = dal.Scene("drop", material=dal.Material(0.4))
        scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.4, stiffness=2e4, damping=20.0))
        scene.add_body("body", shape, mass=2.0, position=(0, 0, height))
        run = dal.simulate(scene, 3.0, dt=1 / 240, coordinates=coordinates)
        places.append(run.state.position[0, 2])
        assert abs(run.report.energy_residual) < 1e-10
    assert places[1] == pytest.approx(places[0], abs=1e-6) and places[0] > 0.0
