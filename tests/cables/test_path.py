"""The path of a cable: it is a geodesic on each cylinder, and its J and J̇ v are derivatives of its length."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.cable import path_of, trace
from dynamics.mechanism import Measured, derivative_of, gradient


def bodies(scene, count, seed=4):
    """Bodies with inertia that stand askew, near the x axis."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        q = rng.normal(size=4)
        made.append(
            scene.add_body(
                f"body {i}", mass=1.0 + i, inertia=(0.2, 0.3, 0.25), position=(1.5 * i, *rng.uniform(-0.4, 0.4, 2)),
                orientation=q / np.linalg.norm(q),
            )
        )  # fmt: skip
    return made


def eyes(scene):
    a, b, c = bodies(scene, 3)
    scene.cable(
        "cable", [(a, (0.1, 0.2, 0)), (b, (1.4, -0.3, 0.2)), (dal.WORLD, (2, 1, 1)), (b, (1.2, 0, 0)), (c, (3, 0, 0))]
    )


def one_pulley(scene):
    a, b, c = bodies(scene, 3)
    pulley = dal.Pulley(b, b.position, (0.1, 1.0, 0.2), 0.25, (0, 0, 1))
    scene.cable("cable", [(a, (0, 0, -0.4)), pulley, (c, (3, 0.3, -0.6))])


def skew_pulleys(scene):
    """Pulleys that follow each other, with axes in different directions, one of them turned around more than once."""
    a, b, c, d = bodies(scene, 4)
    scene.cable("cable", [
        (a, (0, 0, -0.4)), dal.Pulley(b, b.position, (0.1, 1.0, 0.2), 0.25, (0, 0, 1)),
        dal.Pulley(c, c.position, (0.3, 1.0, -0.1), 0.35, (0, 0, -1), turns=1),
        dal.Pulley(dal.WORLD, (3.4, 0.1, 1.6), (0.0, 0.8, 0.5), 0.15, (0, -0.5, 1)), (d, (4.2, 0.3, -0.6)),
    ])  # fmt: skip


def drums(scene):
    """A drum at each end, of different radii, and a pulley and an eye between them."""
    a, b, c = bodies(scene, 3)
    scene.cable("cable", [
        dal.Drum(a, a.position, (0, 1, 0.1), 0.3, (0, 0, 1), turns=2.3),
        dal.Pulley(b, b.position, (0.1, 1.0, 0.2), 0.25, (0, 0, -1)),
        (dal.WORLD, (2, 0.3, 1)),
        dal.Drum(c, c.position, (0.2, 1, 0), 0.2, (0, 0, 1), turns=4),
    ])  # fmt: skip


def gripping(scene):
    """A cable that turns one of the pulleys that it runs around: two pieces."""
    a, b, c, d = bodies(scene, 4)
    scene.cable("cable", [
        (a, (0, 0, -0.4)), dal.Pulley(b, b.position, (0.1, 1.0, 0.2), 0.25, (0, 0, 1), slips=False),
        dal.Pulley(c, c.position, (0.3, 1.0, -0.1), 0.35, (0, 0, -1)), (d, (4.2, 0.3, -0.6)),
    ])  # fmt: skip


def swivelling(scene):
    """Blocks that swivel, next to each other, and a fixed pulley."""
    a, b, c, d = bodies(scene, 4)
    scene.cable("cable", [
        (a, (0, 0, 0.9)), dal.Pulley(b, b.position, (0.1, 1.0, 0.2), 0.25, (0, 0, -1), swivels=True),
        dal.Pulley(c, c.position + (0, 0, 1), (0.3, 1.0, -0.1), 0.35, (0, 0, 1), swivels=True),
        dal.Pulley(dal.WORLD, (3.4, 0.1, -0.6), (0.0, 0.9, 0.2), 0.15, (0, 0.2, -1)), (d, (4.2, 0.3, 0.6)),
    ])  # fmt: skip


CASES = [swivelling, eyes, one_pulley, skew_pulleys, drums, gripping]


def built(add):
    scene = dal.Scene("cable")
    add(scene)
    return scene


def away(measured, amount=0.05):
    """A pose near the one at the start."""
    rng = np.random.default_rng(8)
    shape = (measured.count, 3)
    return measured.moved(measured.y, rng.uniform(-amount, amount, shape), rng.uniform(-amount, amount, shape))


@pytest.mark.parametrize("add", CASES)
def test_a_cable_is_closed_at_the_start(add):
    measured = Measured(built(add))
    np.testing.assert_allclose(measured.error(measured.y), 0.0, atol=1e-13)


@pytest.mark.parametrize("add", CASES)
def test_jacobian_is_the_derivative_of_the_length(add):
    measured = Measured(built(add))
    y = away(measured)
    expected = gradient(measured, y, measured.error)
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(measured.jacobian(y), expected, atol=1e-10)


@pytest.mark.parametrize("add", CASES)
def test_bias_is_the_second_derivative_of_the_length_at_constant_velocities(add):
    measured = Measured(built(add))
    y = away(measured)
    rng = np.random.default_rng(5)
    v, w = rng.uniform(-1, 1, (measured.count, 3)), rng.uniform(-1, 1, (measured.count, 3))

    def rate(s):
        return measured.rates(measured.with_velocity(measured.moved(y, s * v, s * w), v, w))

    expected = derivative_of(rate)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(measured.measure(measured.with_velocity(y, v, w)).bias, expected, atol=1e-10)


def test_path_around_skew_cylinders_is_a_geodesic():
    """Straight parts are tangent to the cylinders, and rise along their axes as the arcs between them do."""
    path = path_of(built(skew_pulleys).joints["cable"]).elements
    found = trace(path)
    for i, element in enumerate(path[1:-1], start=1):
        arrives = found.arrives[i] - found.leaves[i - 1]
        leaves = found.arrives[i + 1] - found.leaves[i]
        along = element.radius * found.wraps[i]
        rise = (found.leaves[i] - found.arrives[i]) @ element.axis
        slope = rise / np.hypot(along, rise)
        assert found.arcs[i] == pytest.approx(np.hypot(along, rise), rel=1e-12)
        for part, contact in ((arrives, found.arrives[i]), (leaves, found.leaves[i])):
            part = part / np.linalg.norm(part)
            normal = contact - element.point
            normal = normal - (normal @ element.axis) * element.axis
            assert np.linalg.norm(normal) == pytest.approx(element.radius, rel=1e-12)
            assert part @ normal == pytest.approx(0.0, abs=1e-12)
            assert part @ element.axis == pytest.approx(slope, abs=1e-12)
            assert element.sense * np.cross(normal, part) @ element.axis > 0.0


def test_a_cable_leaves_a_pulley_where_its_straight_way_is_free():
    """Its length and the rate of its length are continuous there."""
    lengths = []
    for z in (0.2 - 1e-6, 0.2, 0.2 + 1e-6):
        scene = dal.Scene("obstacle")
        bob = scene.add_body("bob", dal.Sphere(0.05), mass=1.0, position=(1, 0, z))
        over = dal.Pulley(dal.WORLD, (0, 0, 0), (0, 1, 0), 0.2, (0, 0, 1))
        lengths.append(scene.cable("rope", [(dal.WORLD, (-1, 0, 0.2)), over, (bob, (1, 0, z))]).length)
    assert lengths == pytest.approx([2.0, 2.0, 2.0], abs=1e-9)
    # Above it is straight, 2 + z²/4; just below it turns by z, with a straight part of 1.
    assert lengths[2] - 2.0 == pytest.approx(1e-12 / 4, abs=1e-15)
    assert lengths[0] - 2.0 == pytest.approx(1e-12 / 2, abs=1e-15)
