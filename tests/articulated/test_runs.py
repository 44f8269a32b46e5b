"""Runs in joint coordinates agree with runs in maximal ones, to the order of the method; the energy balance closes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dal
from dalembert import gallery

from .trees import random_tree


def arm_of(links, moving=True):
    """A chain of hinges about different axes, in motion."""
    scene = dal.Scene("arm")
    carrier = dal.WORLD
    for i in range(links):
        turning = np.array([0.0, 2.0, 0.0]) if moving else np.zeros(3)
        body = scene.add_body(
            f"link {i}", dal.Box(0.1, 0.12, 0.5), mass=1.0 + 0.3 * i, position=(0, 0, -0.25 - 0.5 * i),
            velocity=np.cross(turning, [0, 0, -0.25 - 0.5 * i]), angular_velocity=turning,
        )  # fmt: skip
        scene.hinge(f"joint {i}", carrier, body, at=(0, 0, -0.5 * i), axis=((0, 1, 0), (1, 0, 0))[min(i, 1)])
        carrier = body
    return scene


def both(scene, duration=1.0, **settings):
    return [dal.simulate(scene, duration, coordinates=c, **{"rtol": 1e-11} | settings) for c in ("maximal", "joint")]


def assert_same_motion(runs, tolerance):
    bodies, joints = (run.trajectory for run in runs)
    assert_allclose(joints.position.values, bodies.position.values, atol=tolerance)
    size = np.abs(bodies.momentum.values).max()
    assert_allclose(joints.momentum.values, bodies.momentum.values, atol=tolerance * max(1.0, size))


@pytest.mark.parametrize("seed", range(4))
def test_a_free_tree_moves_as_its_bodies_under_constraints(seed):
    scene = random_tree(seed, free=True)
    scene.external_force("push", "b3", force=(30.0, 10.0, 60.0))
    scene.external_force("twist", "b5", torque=(1.0, -2.0, 0.5), frame="body")
    scene.drag("air", linear=0.2, angular=0.01)
    runs = both(scene, 0.5)
    assert_same_motion(runs, 1e-7)
    forces, others = (run.trajectory.reaction_force for run in runs)
    for name in forces.joint.values:
        size = np.abs(forces.sel(joint=name).values).max()
        assert_allclose(others.sel(joint=name).values, forces.sel(joint=name).values, atol=1e-6 * max(1.0, size))


def test_springs_motors_and_dampers_act_on_coordinates():
    scene = arm_of(3)
    scene.torsion_spring("spring", "joint 1", stiffness=5.0, damping=0.2, rest=0.3)
    scene.motor("motor", "joint 2", effort=1.0, stiffness=8.0, position=0.5, damping=0.4, speed=0.0)
    runs = both(scene)
    assert_same_motion(runs, 1e-8)
    for run in runs:
        assert run.report.energy_residual < 1e-8


def test_the_energy_of_rotors_is_in_the_audit():
    scene = arm_of(2)
    scene.armature("joint 0", 0.5)
    run = dal.simulate(scene, 1.0, coordinates="joint", rtol=1e-11)
    assert run.report.energy_residual < 1e-9
    assert abs(run.trajectory.constraint_work.values).max() < 1e-9
    free = dal.simulate(arm_of(2), 1.0, coordinates="joint", rtol=1e-11)
    assert np.abs(free.state.position - run.state.position).max() > 1e-2


@pytest.mark.parametrize("name", ["double-pendulum", "four-bar", "trebuchet", "rope", "bead"])
def test_scenes_of_the_gallery_in_joint_coordinates(name):
    module = gallery.load(name)
    settings = dict(module.SETTINGS)
    duration = min(settings.pop("duration"), 1.0)
    scene = module.build()
    scene.events.clear()  # joints of a tree cannot be let go
    assert_same_motion(both(scene, duration, rtol=1e-10), 1e-6)


def test_loops_are_closed_to_rounding_and_may_depend_on_each_other():
    scene = gallery.load("n-four-bar").build(loops=3)
    run = dal.simulate(scene, 2.0, coordinates="joint", method="rk4", dt=1e-3)
    assert run.trajectory.joint_error.values.max() < 1e-12
    assert run.report.energy_residual < 1e-6
    assert_allclose(run.state.position, dal.simulate(scene, 2.0, method="rk4", dt=1e-3).state.position, atol=1e-6)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("rk4", 4)])
def test_methods_have_their_orders(method, order):
    scene = arm_of(3)
    exact = dal.simulate(scene, 0.5, coordinates="joint", method="dop853", rtol=1e-13).state.position
    steps = np.array([4e-3, 2e-3, 1e-3]) if order > 1 else np.array([4e-4, 2e-4, 1e-4])
    errors = [
        np.abs(dal.simulate(scene, 0.5, coordinates="joint", method=method, dt=h).state.position - exact).max()
        for h in steps
    ]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2)


def test_joints_stay_closed_to_rounding_whatever_the_step():
    run = dal.simulate(arm_of(4), 1.0, coordinates="joint", method="euler", dt=0.01)
    maximal = run.trajectory
    ends = maximal.position.values
    tip, top = ends[:, 1], ends[:, 0]
    assert np.isfinite(tip).all()
    gaps = []
    for frame in range(len(maximal.times)):
        rotation = [quaternion_matrix(q) for q in maximal.orientation.values[frame]]
        gaps.append(top[frame] + rotation[0] @ [0, 0, -0.25] - tip[frame] - rotation[1] @ [0, 0, 0.25])
    assert np.abs(gaps).max() < 1e-14


def quaternion_matrix(q):
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def test_an_event_acts_on_the_bodies_and_the_run_goes_on_from_there():
    runs = []
    for coordinates in ("maximal", "joint"):
        scene = arm_of(2)

        def kick(state):
            state.momentum[1] += (0.0, 0.3, 0.0)

        scene.event("kick", lambda t, y: t - 0.3, action=kick)
        runs.append(dal.simulate(scene, 0.6, coordinates=coordinates, rtol=1e-11))
    assert [run.event_times["kick"] for run in runs] == [pytest.approx([0.3])] * 2
    assert_allclose(runs[1].state.position, runs[0].state.position, atol=1e-8)


def test_a_run_goes_on_from_a_pose_that_was_set():
    run = dal.Simulation(arm_of(1, moving=False), coordinates="joint", rtol=1e-10)
    half = 0.5 * 0.8
    run.state.position[0] = (-0.25 * np.sin(0.8), 0.0, -0.25 * np.cos(0.8))
    run.state.orientation[0] = (np.cos(half), 0.0, np.sin(half), 0.0)
    run.changed()
    run.advance(1.0)
    again = dal.Simulation(arm_of(1, moving=False), rtol=1e-10)
    again.state.position[0] = (-0.25 * np.sin(0.8), 0.0, -0.25 * np.cos(0.8))
    again.state.orientation[0] = (np.cos(half), 0.0, np.sin(half), 0.0)
    again.changed()
    again.advance(1.0)
    assert_allclose(run.state.position, again.state.position, atol=1e-8)


def test_particles_on_springs_and_in_loops_go_with_the_tree():
    def scene():
        made = arm_of(2)
        made.add_particles("bobs", [(0.4, 0.0, -1.0), (0.0, 0.4, -1.4)], mass=0.2)
        made.spring("line", "link 1", made.particles["bobs"][0], at_a=(0, 0, -1.0), stiffness=40.0)
        made.rod("thread", "link 0", made.particles["bobs"][1], at_a=(0, 0, -0.5))
        return made

    runs = both(scene())
    assert_same_motion(runs, 1e-8)
    places = [run.state.particle_position for run in runs]
    assert_allclose(places[1], places[0], atol=1e-8)
    assert runs[1].report.energy_residual < 1e-8 and runs[1].report.momentum_residual < 1e-8


# States at the start that do not fit the joints --------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


def bob_on(kind, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), base=None):
    """A bob half a metre below its joint to the world, or to a kinematic body `base` that moves along x at 1 m/s."""
    scene = dal.Scene("bob")
    other = dal.WORLD
    if base == "set":
        other = scene.add_body("base", dal.Sphere(0.1), motion="set", velocity=(1, 0, 0))
    elif base == "function":
        other = scene.add_body("base", dal.Sphere(0.1), motion=lambda t: (1.0 * t, 0.0, 0.0))
    bob = scene.add_body(
        "bob", dal.Sphere(0.1), mass=0.5, position=(0, 0, -0.5), velocity=velocity, angular_velocity=spin
    )
    if kind == "ball":
        scene.ball("joint", other, bob, at=(0, 0, 0))
    else:
        getattr(scene, kind)("joint", other, bob, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


@BOTH
@pytest.mark.parametrize(
    ("kind", "velocity", "spin", "speed"),
    [
        ("ball", (0, 1, 0), (0, 0, 0), "1 m/s"),
        ("ball", (0, 0, 0), (2, 0, 0), "1 m/s"),
        ("hinge", (0, 3, 0), (0, 0, 0), "3 m/s"),
        ("hinge", (0, 1, 0), (2, 0, 0), "2 rad/s"),
        ("slider", (0, 3, 0.5), (0, 0, 0), "0.5 m/s"),
        ("slider", (0, 3, 0), (0, 4, 0), "4 rad/s"),
    ],
)
def test_velocities_that_do_not_fit_a_joint_are_refused(coordinates, kind, velocity, spin, speed):
    scene = bob_on(kind, velocity, spin)
    with pytest.raises(ValueError, match=f"joint 'joint' moves apart at the start by {speed}; .*assemble=True"):
        dal.Simulation(scene, coordinates=coordinates)
    run = dal.Simulation(scene, coordinates=coordinates, assemble=True)
    again = bob_on(kind, run.state.velocity[0], run.state.angular_velocity[0])
    np.testing.assert_allclose(
        dal.Simulation(again, coordinates=coordinates).state.velocity, run.state.velocity, atol=1e-12
    )


@BOTH
@pytest.mark.parametrize("base", ["set", "function"])
def test_velocities_are_those_beside_a_base_that_moves(coordinates, base):
    dal.Simulation(bob_on("hinge", (1.5, 0, 0), (0, -1, 0), base), coordinates=coordinates)
    with pytest.raises(ValueError, match="joint 'joint' moves apart at the start by 1 m/s"):
        dal.Simulation(bob_on("hinge", (0.5, 0, 0), (0, -1, 0), base), coordinates=coordinates)


@BOTH
def test_velocities_that_do_not_fit_a_motion_are_refused(coordinates):
    for speed, fits in ((2.0, True), (1.0, False)):
        scene = bob_on("hinge", (-1.0, 0, 0), (0, 2, 0))
        scene.add_motion("drive", "joint", speed=speed)
        if fits:
            dal.Simulation(scene, coordinates=coordinates)
            continue
        with pytest.raises(ValueError, match="joint 'drive' moves apart at the start by 1 rad/s"):
            dal.Simulation(scene, coordinates=coordinates)


@BOTH
def test_a_start_that_was_changed_must_fit_the_joints(coordinates):
    run = dal.Simulation(bob_on("ball"), coordinates=coordinates, method="rk4", dt=1e-3)
    with pytest.raises(ValueError, match=r"joint 'joint' is open at the start by 0\.3 m; .*assemble=True"):
        run.restart(lambda run: run.state.position.__setitem__(0, (0.3, 0, -0.6)))
    with pytest.raises(ValueError, match="joint 'joint' moves apart at the start by 1 m/s"):
        run.restart(lambda run: run.state.velocity.__setitem__((0, 1), 1.0))

    def swing(run):
        run.state.velocity[0], run.state.angular_velocity[0] = (0, 1, 0), (2, 0, 0)

    run.restart(swing).advance(0.1)
    copy = run.copy()
    copy.advance(0.1)
    resumed = dal.Simulation(bob_on("ball"), coordinates=coordinates, method="rk4", dt=1e-3).resume(run.trajectory)
    resumed.advance(0.1)
    np.testing.assert_array_equal(resumed.state.y, copy.state.y)


@pytest.mark.parametrize("disabled", [False, True])
def test_bodies_that_pass_through_all_others_run_by_integration(disabled):
    """Those that a joint connects do not collide, nor those whose contact is turned off, though they have a material."""
    scene = dal.Scene("two arms", material=dal.Material(0.5))
    for i, name in enumerate(("upper", "lower")):
        scene.add_body(name, dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.5 + 0.5 * i, 0.0, 0.0))
    scene.hinge("shoulder", dal.WORLD, "upper", at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("elbow", "upper", "lower", at=(0.75, 0, 0), axis=(0, 1, 0))
    if disabled:
        scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -0.5))
        for name in ("upper", "lower"):
            scene.set_contact(name, "ground", enabled=False)
    joint = dal.simulate(scene, 0.4, coordinates="joint", method="dop853", rtol=1e-10)
    bodies = dal.simulate(scene, 0.4, method="dop853", rtol=1e-10)
    np.testing.assert_allclose(joint.state.position, bodies.state.position, atol=1e-7)
    scene.set_contact("upper", "lower")
    with pytest.raises(ValueError, match="bodies that collide need coordinates='maximal'"):
        dal.simulate(scene, 0.4, coordinates="joint", method="dop853")
