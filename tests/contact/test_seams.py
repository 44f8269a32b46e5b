"""What slides over the seams of flush floors keeps its velocity, in closed form, whatever the floors are made of; a real step
stops it."""

import numpy as np
import pytest
from numba import config

import dalembert as dal

G, SPEED, HALF = 9.81, 0.5, 0.15  # m/s², m/s, m
EXACT, SOLVED = (
    1e-12,
    2e-5,
)  # of the speed: of one point of contact; of faces, which the residual of the solver tilts a little


def hull(*half):
    corners = [[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    return dal.ConvexHull(np.array(corners) * half)


def surface(kind):
    return kind(*dal.Box(0.5, 1.0, 0.4).triangles())


SHAPES = {
    "box": (dal.Box(0.16, 0.19, 0.3), SOLVED), "hull": (hull(0.08, 0.095, 0.15), SOLVED),
    "cylinder": (dal.Cylinder(0.1, 0.3), SOLVED), "cone": (dal.Cone(0.1, 0.3), SOLVED),
    "sphere": (dal.Sphere(0.15), EXACT), "capsule": (dal.Capsule(0.06, 0.18), EXACT),
    "ellipsoid": (dal.Ellipsoid(0.1, 0.12, 0.15), EXACT),
    "compound": (dal.Compound([(dal.Box(0.08, 0.19, 0.3), (x, 0, 0)) for x in (-0.04, 0.04)]), SOLVED),
}  # fmt: skip
PARTS = {
    "boxes": lambda: (dal.Box(0.5, 1.0, 0.4),) * 2, "hulls": lambda: (hull(0.25, 0.5, 0.2),) * 2,
    "a hull and a box": lambda: (hull(0.25, 0.5, 0.2), dal.Box(0.5, 1.0, 0.4)),
    "meshes": lambda: (surface(dal.Mesh), surface(dal.TriangleMesh)),
}  # fmt: skip
FEW = 0.1 if config.DISABLE_JIT else 1.0


def floors(scene, kind, step=0.0, backwards=False):
    """Two floors whose tops are at z = 0 and meet at x = 0, the second higher by `step`."""
    if kind == "compound":
        box = dal.Box(0.5, 1.0, 0.4)
        scene.add_obstacle("floor", dal.Compound([(box, (-0.25, 0, 0)), (box, (0.25, 0, step))]), position=(0, 0, -0.2))
        return
    places = list(zip(PARTS[kind](), ((-0.25, 0, -0.2), (0.25, 0, -0.2 + step)), strict=True))
    for i, (shape, position) in enumerate(reversed(places) if backwards else places):
        scene.add_obstacle(f"floor {i}", shape, position=position)


def slide(kind, shape, *, g=G, dt=2e-3, yaw=0.1, spin=0.0, friction=0.0, step=0.0, backwards=False, **settings):
    """The run of a body that starts 0.1 m and its half before the seam, and slides 0.2 m."""
    scene = dal.Scene("seam", gravity=(0, 0, -g), material=dal.Material(friction))
    floors(scene, kind, step, backwards)
    scene.add_body("body", SHAPES[shape][0], mass=1.0, position=(-0.15, 0.0, HALF), velocity=(SPEED, 0.1 * SPEED, 0.0),
                   orientation=(np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)), angular_velocity=(0, 0, spin))  # fmt: skip
    return dal.simulate(scene, FEW * 0.2 / SPEED, dt=dt, **settings)


def strays(run, bound):
    """Whether the first body has another velocity than it began with, by more than `bound` of its speed."""
    return np.abs(run.state.velocity[-1] - (SPEED, 0.1 * SPEED, 0.0)).max() > bound * SPEED


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [*PARTS, "compound"])
@pytest.mark.sampled(3)
def test_what_slides_over_a_seam_keeps_its_velocity(kind, shape):
    for dt, yaw in ((2e-3, 0.0), (2e-3, 0.1), (5e-4, 0.5)):
        assert not strays(slide(kind, shape, dt=dt, yaw=yaw), SHAPES[shape][1])


@pytest.mark.parametrize("kind", [*PARTS, "compound"])
def test_the_order_of_floors_their_weight_and_the_coordinates_change_nothing(kind):
    for shape in ("box", "hull", "cylinder"):
        assert not strays(slide(kind, shape, backwards=True), SOLVED)
        assert not strays(slide(kind, shape, coordinates="joint"), SOLVED)
        assert not strays(slide(kind, shape, g=0.0), EXACT)


@pytest.mark.parametrize("kind", ["boxes", "hulls", "compound"])
def test_what_turns_or_rubs_on_a_seam_does_so_as_on_a_floor(kind):
    for shape in ("box", "cylinder"):
        run = slide(kind, shape, spin=3.0)
        assert not strays(run, SOLVED)
        assert run.state.angular_velocity[0] == pytest.approx((0, 0, 3.0), abs=1e-4)
    run = slide(kind, "box", friction=0.05)
    speed = SPEED * np.hypot(1.0, 0.1) - 0.05 * G * FEW * 0.2 / SPEED
    assert np.linalg.norm(run.state.velocity[0]) == pytest.approx(speed, abs=SOLVED)


@pytest.mark.parametrize("kind", [*PARTS, "compound"])
@pytest.mark.skipif(config.DISABLE_JIT, reason="takes long")
def test_a_step_of_a_millimetre_stops_what_slides(kind):
    for shape in ("box", "hull", "cylinder", "compound"):
        run = slide(kind, shape, yaw=0.0, step=1e-3)
        assert run.state.velocity[0, 0] < 0.7 * SPEED
        assert run.state.position[0, 0] < 0.0
    assert slide(kind, "sphere", step=1e-3).state.velocity[0, 0] < 0.97 * SPEED


@pytest.mark.parametrize("shape", ["box", "hull", "cylinder"])
def test_what_slides_over_the_seam_of_two_pallets_moves_neither(shape):
    scene = dal.Scene("pallets", material=dal.Material(0.0))
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -0.4))
    for x in (-0.25, 0.25):
        scene.add_body(f"pallet {x}", dal.Box(0.5, 1.0, 0.4), mass=50.0, position=(x, 0, -0.2))
    velocity = (SPEED, 0.1 * SPEED, 0.0)
    scene.add_body("body", SHAPES[shape][0], mass=1.0, position=(-0.15, 0, HALF), velocity=velocity)
    run = dal.simulate(scene, FEW * 0.2 / SPEED, dt=2e-3)
    assert not strays(run, SOLVED)
    assert np.abs(run.state.velocity[:2]).max() < 1e-6


@pytest.mark.parametrize("shape", ["box", "hull", "cylinder"])
def test_what_falls_along_a_wall_of_two_boxes_falls_freely(shape):
    scene = dal.Scene("wall", material=dal.Material(0.0))
    for i in range(2):
        scene.add_obstacle(f"brick {i}", dal.Box(0.4, 1.0, 1.0), position=(0.2, 0.0, 0.5 - i))
    half = 0.1 if shape == "cylinder" else 0.08
    scene.add_body("body", SHAPES[shape][0], mass=1.0, position=(-half, 0.0, HALF + 0.05))
    run = dal.simulate(scene, 0.15, dt=1e-3)
    assert run.state.velocity[0] == pytest.approx((0, 0, -G * 0.15), abs=1e-9)
