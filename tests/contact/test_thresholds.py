"""Jamming with default settings: a rod in a slot, a wedge under a load and an arch of stones hold and give way where
statics has the limit, within 0.1 %; what a gripper holds does not creep in a minute."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import dalembert as dal

G = 9.81
DT = 1 / 240
NEAR = 1e-3  # on either side of a threshold
STILL = 1e-6  # m/s and rad/s
QUARTER = math.cos(0.25 * math.pi)  # of a quaternion of a quarter turn


def solved(scene, duration=0.5):
    run = dal.simulate(scene, duration, dt=DT)
    assert run.report.contact.unsolved == 0
    return run


def fastest(run):
    return max(np.abs(run.state.velocity).max(), np.abs(run.state.angular_velocity).max())


# A rod in a slot --------------------------------------------------------------------------------------------------------

LENGTH, RADIUS, TILT = 0.5, 0.05, 0.1  # m, rad
MASS, PULL = 3.0, 40.0  # kg, N
ARM = 0.5 * LENGTH * math.cos(TILT)  # m, of the points that touch, along the slot


def slot(friction, offset):
    """A rod that stands askew between two walls. A force along them pulls at it, `offset` (m) beside its middle."""
    scene = dal.Scene("slot", gravity=(0.0, 0.0, 0.0), material=dal.Material(friction))
    half = 0.5 * LENGTH * math.sin(TILT) + RADIUS
    for name, side in (("left", -1.0), ("right", 1.0)):
        turn = (QUARTER, 0.0, -side * QUARTER, 0.0)  # the normal of a half space is z
        scene.add_obstacle(name, dal.HalfSpace(), position=(side * half, 0.0, 0.0), orientation=turn)
    turn = (math.cos(0.5 * TILT), 0.0, math.sin(0.5 * TILT), 0.0)
    rod = scene.add_body("rod", dal.Capsule(RADIUS, LENGTH), mass=MASS, orientation=turn)
    scene.external_force("pull", rod, force=(0.0, 0.0, -PULL), at=(offset, 0.0, 0.0))
    return scene


@pytest.mark.parametrize("friction", [0.2, 0.5, 1.0])
def test_a_rod_jams_in_its_slot_just_where_the_pull_is_too_far_beside_its_middle(friction):
    """Each wall presses on an end, 2 N a = P x, and resists with μ N: the rod slides where x < a / μ."""
    jams = solved(slot(friction, ARM / friction * (1.0 + NEAR)))
    assert fastest(jams) < STILL
    slides = solved(slot(friction, ARM / friction * (1.0 - NEAR)))
    assert slides.state.velocity[0, 2] == pytest.approx(-0.5 * PULL / MASS * NEAR, rel=1e-3)


# A wedge under a load ---------------------------------------------------------------------------------------------------

LOAD, WEDGE = 5.0, 2.0  # kg


def prism(corners):
    """A hull between y = −0.3 m and 0.3 m with these corners in x and z (m)."""
    return dal.ConvexHull([(x, y, z) for x, z in corners for y in (-0.3, 0.3)])


def wedge(angle, friction, push=0.0):
    """A block with an inclined foot on a wedge, which is driven out to the right; the block leans on a smooth wall, and
    `push` (N) drives the wedge in."""
    scene = dal.Scene("wedge", material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_obstacle("wall", dal.HalfSpace(), orientation=(QUARTER, 0.0, QUARTER, 0.0))
    left, right, end, slope = 0.0, 0.9, 1.4, math.tan(angle)
    foot = prism([(-0.2, 0.0), (end, 0.0), (-0.2, 0.2 - 0.2 * slope), (end, 0.2 + end * slope)])
    block = prism([(left, 0.2), (right, 0.2 + right * slope), (left, 1.6), (right, 1.6)])
    pushed = scene.add_body("wedge", foot, mass=WEDGE)
    scene.add_body("block", block, mass=LOAD)
    scene.set_contact("block", "wall", friction=0.0)
    scene.set_contact("wedge", "wall", enabled=False)
    if push != 0.0:
        scene.external_force("push", pushed, force=(-push, 0.0, 0.0), at=(0.7, 0.0, 0.0))
    return scene


def acceleration(angle, friction, push, side):
    """Of the wedge to the right, where it slides to the right (side = 1) or to the left (−1), m/s²: N between wedge and block
    from m (g − a tan α) = N (cos α ± μ sin α), which is the load on the ground as well."""
    c, s, slope, mu = math.cos(angle), math.sin(angle), math.tan(angle), side * friction
    on_slope = (s - mu * c) / (c + mu * s)
    found = LOAD * G * on_slope - mu * (LOAD + WEDGE) * G - push
    return found / (WEDGE + LOAD * slope * (on_slope - mu))


@pytest.mark.parametrize("friction", [0.1, 0.2, 0.3])
def test_a_wedge_locks_itself_just_below_the_angle_at_which_its_load_drives_it_out(friction):
    """m tan(α − φ) = μ (m + m_wedge) with φ = arctan μ."""
    limit = math.atan(friction) + math.atan(friction * (1.0 + WEDGE / LOAD))
    assert fastest(solved(wedge(limit * (1.0 - NEAR), friction))) < STILL
    angle = limit * (1.0 + NEAR)
    slides = solved(wedge(angle, friction))
    assert slides.state.velocity[0, 0] == pytest.approx(0.5 * acceleration(angle, friction, 0.0, 1.0), rel=1e-3)


@pytest.mark.parametrize("friction", [0.1, 0.3])
def test_a_wedge_lifts_its_load_just_above_the_force_that_friction_resists(friction):
    """F = m g tan(α + φ) + μ (m + m_wedge) g."""
    angle = math.radians(12.0)
    limit = LOAD * G * math.tan(angle + math.atan(friction)) + friction * (LOAD + WEDGE) * G
    assert fastest(solved(wedge(angle, friction, limit * (1.0 - NEAR)))) < STILL
    push = limit * (1.0 + NEAR)
    lifts = solved(wedge(angle, friction, push))
    expected = 0.5 * acceleration(angle, friction, push, -1.0)
    assert lifts.state.velocity[0, 0] == pytest.approx(expected, rel=1e-3)
    assert lifts.state.velocity[1, 2] == pytest.approx(-expected * math.tan(angle), rel=1e-3)


# An arch ------------------------------------------------------------------------------------------------------------------

STONES, FRICTION = 12, 0.8
ANGLES = np.linspace(0.0, math.pi, STONES + 1)


def arch(thickness):
    """A half circle of stones without mortar, of mean radius 1 m."""
    scene = dal.Scene("arch", material=dal.Material(FRICTION))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, (first, last) in enumerate(pairwise(ANGLES)):
        corners = [(r * math.cos(a), y, r * math.sin(a)) for a in (first, last) for r in radii(thickness)
                   for y in (-0.25, 0.25)]  # fmt: skip
        scene.add_body(f"stone {i}", dal.ConvexHull(corners), density=2400.0)
    return scene


def radii(thickness):
    return 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness


def least_pressure(thickness):
    """The largest normal force that all edges of all joints can have at once where stones are in balance, over the weight of
    one of them: below zero the arch cannot stand. A linear program: at each joint the inner and the outer edge have a normal
    and a tangential force; both together are within the friction. The last unknown is that least pressure."""
    unknowns = 4 * (STONES + 1) + 1
    balance, weights, within, least = np.zeros((3 * STONES, unknowns)), np.zeros(3 * STONES), [], []
    inner, outer = radii(thickness)
    half = 0.5 * math.pi / STONES  # a stone is a trapezium; its centre of mass from that of the arch:
    distance = 2.0 / 3.0 * math.cos(half) * (outer**3 - inner**3) / (outer**2 - inner**2)
    for joint, angle in enumerate(ANGLES):
        radial, along = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        for edge, radius in enumerate((inner, outer)):
            for k, direction in enumerate((along, radial)):
                column = 4 * joint + 2 * edge + k
                place = radius * radial
                entry = [*direction, place[0] * direction[1] - place[1] * direction[0]]
                if joint < STONES:
                    balance[3 * joint : 3 * joint + 3, column] = entry
                if joint > 0:
                    balance[3 * joint - 3 : 3 * joint, column] = np.negative(entry)
            row = np.zeros(unknowns)
            row[4 * joint + 2 * edge], row[-1] = -1.0, 1.0
            least.append(row)
        for side in (-1.0, 1.0):
            row = np.zeros(unknowns)
            row[4 * joint : 4 * joint + 4] = -FRICTION, side, -FRICTION, side
            within.append(row)
    for stone in range(STONES):
        middle = 0.5 * (ANGLES[stone] + ANGLES[stone + 1])
        weights[3 * stone + 1], weights[3 * stone + 2] = 1.0, distance * math.cos(middle)
    rows = np.array([*within, *least])
    aim = np.zeros(unknowns)
    aim[-1] = -1.0
    found = linprog(aim, rows, np.zeros(len(rows)), balance, weights, bounds=[(None, None)] * unknowns)
    assert found.status == 0
    return found.x[-1]


def test_an_arch_stands_just_above_the_thickness_at_which_no_line_of_thrust_fits_into_it():
    limit = brentq(least_pressure, 0.08, 0.14, xtol=1e-9)
    assert fastest(solved(arch(limit * (1.0 + NEAR)))) < STILL
    assert fastest(solved(arch(limit * (1.0 - NEAR)))) > 1e-3


# What grips ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [dal.Box(0.1, 0.2, 0.3), dal.Capsule(0.05, 0.3), dal.Cylinder(0.05, 0.3)])
def test_what_a_gripper_holds_by_friction_does_not_creep_in_a_minute(shape):
    """Two fingers, each pressed on by a force, carry it 10 % below the limit of friction. Nothing but friction resists along
    their rails, or across."""
    scene = dal.Scene("gripper", material=dal.Material(0.5))
    scene.add_body("held", shape, mass=1.0)
    squeeze = 1.1 * G / (2.0 * 0.5)
    for name, side in (("left", -1.0), ("right", 1.0)):
        finger = scene.add_body(name, dal.Box(0.1, 0.4, 0.4), mass=0.5, position=(0.1 * side, 0.0, 0.0))
        scene.slider(f"rail {name}", dal.WORLD, finger, at=(0.1 * side, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
        scene.external_force(f"squeeze {name}", finger, force=(-side * squeeze, 0.0, 0.0))
    run = dal.Simulation(scene, dt=DT)
    run.advance(1.0)
    start = run.state.position.copy()
    assert np.abs(start[0]).max() < 1e-8
    run.advance(59.0)
    assert np.abs(run.state.position - start)[0].max() < 1e-11
    assert run.report.contact.unsolved == 0
