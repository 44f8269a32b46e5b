"""Links that are welded together are one node of the tree in steps of contact, and that changes nothing but rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dal
from dalembert.collide.tables import LAZY
from dalembert.contact import joint_space_stepping as stepping
from dalembert.core.tables import handed
from dalembert.dynamics.joint_space.welded import merge_welds
from dalembert.model.tree import WELD

from .problems import four_bar, ground, quadruped
from .trees import join, random_state, random_tree

KINDS = ("weld", "hinge", "weld", "slider", "weld", "ball", "weld", "weld", "universal", "cylindrical")


def both_trees(seed, free):
    """(scene, articulation of the whole tree, that of the merged one, what `merge_welds` found)."""
    scene = random_tree(seed, count=16, free=free, kinds=KINDS)
    rng = np.random.default_rng(100 + seed)
    carrier = scene.bodies[f"b{seed}"]
    camera = scene.add_link("camera", position=carrier.position + 0.1)
    scene.weld("frame", camera, carrier, at=carrier.position)
    probe = scene.add_body("probe", dal.Sphere(0.05), mass=0.3, position=camera.position + 0.2)
    join(scene, "swivel", "hinge", carrier, probe, rng)
    whole, merged = dal.Articulation(scene), dal.Articulation(scene)
    items = [*scene.bodies.values(), *scene.links.values()]
    found = merge_welds(whole._tree, np.array([whole._layout.nodes[item] for item in items]))
    merged._tree, merged._handed = found.tree, handed(found.tree)
    return scene, whole, merged, found


@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
@pytest.mark.parametrize("seed", range(5))
def test_a_merged_tree_has_the_kinematics_and_dynamics_of_the_whole_one(seed, free):
    scene, whole, merged, found = both_trees(seed, free)
    assert len(found.tree.nodes) < len(whole._tree.nodes) - 3
    assert (found.links.part != 0).sum() > 6 and (found.links.part == 0).any()
    u, w = random_state(whole, seed)
    matrix = whole.mass_matrix(u)
    assert_allclose(merged.mass_matrix(u), matrix, rtol=0, atol=1e-13 * np.abs(matrix).max())
    bias = whole.bias_force(u, w)
    assert_allclose(merged.bias_force(u, w), bias, rtol=0, atol=1e-12 * np.abs(bias).max())
    rates = whole.forward_dynamics(u, w)
    assert_allclose(merged.forward_dynamics(u, w), rates, rtol=0, atol=1e-10 * np.abs(rates).max())
    for one, other in zip(merged.centroidal_momentum(u, w), whole.centroidal_momentum(u, w), strict=True):
        assert_allclose(one, other, rtol=0, atol=1e-12)
    motion = merged._tree.motion
    for link, name in zip(found.links, in_rows(found, scene), strict=True):
        own = motion[link.node]
        turn, arm = own.rotation.reshape(3, 3), own.rotation.reshape(3, 3) @ link.offset
        (x, rotation), (v, omega) = whole.pose(u, name), whole.velocity(u, w, name)
        assert_allclose(own.x + arm, x, atol=1e-13)
        assert_allclose(turn @ link.turned.reshape(3, 3), rotation, atol=1e-13)
        assert_allclose(own.v + np.cross(own.omega, arm), v, atol=1e-12)
        assert_allclose(own.omega, omega, atol=1e-12)


def in_rows(found, scene):
    """The names of the links, in their order."""
    names = [*scene.bodies, *scene.links]
    return [names[row] for row in found.links.row]


def test_a_tree_without_welds_is_left_alone():
    arm = dal.Articulation(random_tree(0, kinds=("hinge", "ball")))
    rows = np.arange(len(arm._tree.nodes))
    assert merge_welds(arm._tree, rows).tree is arm._tree


def test_what_a_ball_turns_in_keeps_its_axes():
    """The quaternion of a ball is in the axes of what carries it, which stays a node."""
    scene = random_tree(3, count=8, kinds=("weld", "ball"))
    arm = dal.Articulation(scene)
    found = merge_welds(arm._tree, np.arange(len(arm._tree.nodes)))
    balls = found.tree.nodes[found.tree.nodes.kind == 3]
    kept = arm._tree.nodes[arm._tree.nodes.kind == 3]
    assert len(balls) == len(kept) > 0
    for ball, before in zip(balls, kept, strict=True):
        assert found.tree.nodes.kind[ball.parent] != WELD or found.tree.nodes.mass[ball.parent] > 0.0
        assert np.array_equal(ball.turned, before.turned)


def run_of(scene, steps=300, prepare=None):
    """(positions and velocities of all bodies on the way, the run). prepare : gets the stepper before the first step."""
    run = dal.Simulation(scene, method="time_stepping", dt=0.002, coordinates="joint")
    if prepare is not None:
        prepare(run._driver)
    states = []
    for _ in range(steps // 20):
        run.advance(0.04)
        states.append(np.concatenate([np.ravel(run.state.position), np.ravel(run.state.velocity)]))
    return np.array(states), run


def test_a_robot_lands_in_the_same_way_as_with_a_node_for_each_weld(monkeypatch):
    merged, run = run_of(quadruped(height=0.05, links=True, armature=0.01))
    assert len(run._driver._joint_space.tree.nodes) < len(run._driver.own.tables.tree.nodes)
    monkeypatch.setattr(stepping, "merge_welds", lambda tree, rows, merges=True: merge_welds(tree, rows, False))
    whole, other = run_of(quadruped(height=0.05, links=True, armature=0.01))
    assert len(other._driver._joint_space.tree.nodes) == len(other._driver.own.tables.tree.nodes)
    assert_allclose(merged, whole, rtol=0, atol=1e-9)
    for one in (run, other):
        assert one.report.contact.unsolved == 0 and len(one.contacts) > 0
        assert one.report.momentum_residual < 1e-10 and one.report.angular_momentum_residual < 1e-10
    assert run.report.energy_residual == pytest.approx(other.report.energy_residual, rel=1e-6)
    for name, work in run.report.work.items():
        assert work == pytest.approx(other.report.work[name], abs=1e-9)


@pytest.mark.parametrize("height", [0.3, 3.0])
def test_colliders_that_wait_and_one_bound_for_all_links_change_no_bit(height):
    """Colliders in no pair are placed only when they may have left their fat boxes, and one bound tells that no link is fast;
    a fall, slow or fast, and a landing have the same bits without."""

    def plainly(driver):
        assert driver.collision.counts[LAZY] == 1 and driver._joint_space.calm[0] > 0.0
        driver.collision.counts[LAZY] = 0
        driver._joint_space.calm[0] = -1.0

    lazy, run = run_of(quadruped(height=height, armature=0.01), 600)
    plain, other = run_of(quadruped(height=height, armature=0.01), 600, plainly)
    assert other._driver.collision.counts[LAZY] == 0 and other._driver._joint_space.calm[0] == -1.0
    assert np.array_equal(lazy, plain) and len(run.contacts) == len(other.contacts) > 0


def gripper():
    """A palm that falls on two fingers: the second follows the first, and a gear turns a third joint with both."""
    scene, material = dal.Scene("gripper"), dal.Material(friction=0.7)
    palm = scene.add_body("palm", dal.Box(0.3, 0.2, 0.05), mass=1.0, position=(0, 0, 0.35), material=material)
    fingers = []
    for side in (-1, 1):
        finger = scene.add_body(
            f"finger {side}", dal.Box(0.03, 0.1, 0.2), mass=0.2, position=(0.12 * side, 0, 0.24), material=material
        )
        scene.hinge(f"knuckle {side}", palm, finger, at=(0.12 * side, 0, 0.34), axis=(0, 1, 0))
        scene.limit(f"stop {side}", f"knuckle {side}", lower=-0.3, upper=0.3)
        fingers.append(finger)
    wheel = scene.add_body("wheel", dal.Cylinder(0.04, 0.02), mass=0.1, position=(0, 0, 0.4), material=material)
    scene.hinge("axle", palm, wheel, at=(0, 0, 0.4), axis=(0, 1, 0))
    scene.gear("follow", "knuckle -1", "knuckle 1", ratio=-1.0)
    scene.gear("turn", "knuckle 1", "axle", ratio=0.5)
    ground(scene, material)
    return scene


@pytest.mark.parametrize("scene", [gripper, four_bar], ids=["gripper", "four-bar"])
def test_few_loops_are_answered_as_any_number_is(scene, monkeypatch):
    """By the matrix of their rows, and by passes over the links: the same motion, impulses and reactions."""
    dense, run = run_of(scene())
    assert run._driver._joint_space.few[0] == 1 and len(run.contacts) > 0
    monkeypatch.setattr(stepping.Assemblies, "few", lambda self: 0)
    sparse, other = run_of(scene())
    assert other._driver._joint_space.few[0] == 0
    assert_allclose(dense, sparse, rtol=0, atol=1e-8)
    for one in (run, other):
        assert one.report.contact.unsolved == 0 and one.report.momentum_residual < 1e-10
    assert run.report.energy_residual == pytest.approx(other.report.energy_residual, rel=1e-4, abs=1e-12)
    for name, work in run.report.work.items():
        assert work == pytest.approx(other.report.work[name], abs=1e-7)
