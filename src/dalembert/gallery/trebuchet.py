"""A trebuchet on wheels throws a stone.

The frame rolls along the ground, and its wheels are geared to the ground (x = r φ). The beam turns on the frame, the
counterweight swings from its short arm, and the sling is a rod without mass from the long arm to the stone. The sling
releases the stone at the given angle of its velocity, and the run ends where the stone lands. The motion is planar. There is
no trough: the stone dips a little before the sling lifts it.

The check integrates the machine in four coordinates (position of the frame; angles of beam, counterweight and sling), finds
the release independently, and continues the stone on a parabola.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.body import WORLD
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, Compound, Cylinder, Sphere
from ._common import PlanarTree, integrate, require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 12.0, "method": "dop853", "rtol": 1e-10, "frame_rate": 30.0}
ACROSS = (0.0, 1.0, 0.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
SIDEWAYS = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # z of a cylinder along y
WHEEL = 0.3  # radius, m
STONE = 0.11  # radius, m


def build(
    counterweight: float = 1000.0, stone: float = 15.0, pivot: float = 3.6, long_arm: float = 4.2, short_arm: float = 1.2,
    sling: float = 3.6, hang: float = 0.9, angle: float = np.pi / 4, material: Material | None = None,
) -> Scene:  # fmt: skip
    """Masses in kg, lengths in m; `pivot` is the height of the axle, `angle` (rad) the direction of flight at release,
    `material` that of the stone."""
    scene = Scene("trebuchet")
    scene.description = "a trebuchet on wheels: counterweight, beam, sling and stone"
    axle = np.array([0.0, 0.0, pivot])
    slope = np.arcsin((pivot - 1.0) / long_arm)
    reach = np.array([-np.cos(slope), 0.0, -np.sin(slope)])
    tip, end = axle + long_arm * reach, axle - short_arm * reach
    low = 0.8  # height of the stone at the start, m
    place = np.array([tip[0] + np.sqrt(sling**2 - (tip[2] - low) ** 2), 0.0, low])
    ball = scene.add_body("stone", Sphere(STONE), mass=stone, position=place, material=material, color="#777777")

    post = Box(0.15, 0.15, pivot - WHEEL)
    sides = [(post, (0.0, y, 0.5 * (pivot + WHEEL)), UPRIGHT) for y in (-0.6, 0.6)]
    beams = [(Box(3.0, 0.15, 0.2), (0.0, y, WHEEL), UPRIGHT) for y in (-0.6, 0.6)]
    frame = scene.add_body("frame", Compound(sides + beams), mass=300.0, color="#9d755d", material=None)
    ground = scene.slider("ground", WORLD, frame, at=(0.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    for name, x, y in (("rear left", -1.2, 0.75), ("rear right", -1.2, -0.75), ("front left", 1.2, 0.75),
                       ("front right", 1.2, -0.75)):  # fmt: skip
        hub = (x, y, WHEEL)
        wheel = scene.add_body(
            f"{name} wheel", Cylinder(WHEEL, 0.1), mass=20.0, position=hub, orientation=SIDEWAYS, color="#54433a",
            material=None,
        )  # fmt: skip
        turning = scene.hinge(f"{name} hub", frame, wheel, at=hub, axis=ACROSS)
        scene.gear(f"{name} rolls", turning, ground, WHEEL)

    beam = thin_rod(scene, "beam", end, tip, 80.0, radius=0.08, color="#d8a25e", material=None)
    scene.hinge("axle", frame, beam, at=axle, axis=ACROSS)
    weight = scene.add_body(
        "counterweight", Box(0.8, 0.7, 0.8), mass=counterweight, position=end - [0.0, 0.0, hang], color="#4c78a8",
        material=None,
    )  # fmt: skip
    scene.hinge("counterweight pin", beam, weight, at=end, axis=ACROSS)
    cord = scene.rod("sling", beam, ball, at_a=tip, at_b=place)

    cosine, sine = float(np.cos(angle)), float(np.sin(angle))

    def aim(t: float, y: np.ndarray) -> float:
        """Falls through zero as the stone, the first body of the state, turns to fly at the angle."""
        return y[9] * cosine - y[7] * sine

    def above_ground(t: float, y: np.ndarray) -> float:
        return y[2] - STONE

    scene.event("release", aim, direction=-1, release=cord)
    scene.event("landing", above_ground, direction=-1, stop=True)
    return scene


def machine(scene: Scene) -> PlanarTree:
    """The machine in four coordinates, all zero at the start; its points are seen from the axle."""
    plane = np.array([1.0, 0.0, 1j])
    axle = scene.joints["axle"].at @ plane
    end, tip = scene.joints["counterweight pin"].at @ plane, scene.joints["sling"].parts[0].point_a @ plane
    beam, weight, stone = (scene.bodies[name] for name in ("beam", "counterweight", "stone"))
    base = scene.bodies["frame"].mass
    for wheel in (body for name, body in scene.bodies.items() if name.endswith("wheel")):
        base += wheel.mass + wheel.inertia[2, 2] / WHEEL**2
    vectors = [
        [beam.position @ plane - axle, 0.0, 0.0],
        [end - axle, weight.position @ plane - end, 0.0],
        [tip - axle, 0.0, stone.position @ plane - tip],
    ]
    inertias = [beam.inertia[0, 0], weight.inertia[1, 1], 0.0]
    masses = [beam.mass, weight.mass, stone.mass]
    return PlanarTree(masses, vectors, inertias, base=base, gravity=-float(scene.gravity[2]))


def until_release(scene: Scene, model: PlanarTree, times: np.ndarray) -> Any:
    """The motion of a machine whose last point is the stone, from rest to the release, which is its first event."""

    def aim(t: float, y: np.ndarray) -> float:
        speed = model.velocities(*np.split(y, 2))[-1]
        state = np.zeros(13)  # with the stone's direction of motion in it
        state[7], state[9] = speed.real, speed.imag
        return scene.events["release"].function(t, state)

    aim.direction, aim.terminal = -1.0, True  # type: ignore[attr-defined]
    return integrate(model, np.zeros(2 * len(model.own)), times, events=aim, rtol=1e-11, atol=1e-12)


def require_flight(run: Simulation, release: float, start: complex, speed: complex, gravity: float) -> None:
    """The stone, let go at some place and speed, is on its parabola in all frames and lands where that ends."""
    times, stone = run.trajectory.times, run.trajectory.position.sel(body="stone").values
    flown = times > release + 1e-6
    flight = times[flown] - release
    parabola = start + speed * flight - 0.5j * gravity * flight**2
    require("flight of the stone", np.abs(stone[flown] @ (1.0, 0.0, 1j) - parabola), 0.0, 1e-6)
    span = (speed.imag + np.sqrt(speed.imag**2 + 2.0 * gravity * (start.imag - STONE))) / gravity
    require("time of the landing", run.time, release + span, 1e-7)
    require("range", stone[-1, 0], (start + speed * span).real, 1e-6)


def check(run: Simulation) -> None:
    """Release, motion up to it, flight and range against the machine in four coordinates; the energy."""
    scene, trajectory, model = run.model.scene, run.trajectory, machine(run.model.scene)
    axle, times = scene.joints["axle"].at @ (1.0, 0.0, 1j), trajectory.times
    motion = until_release(scene, model, times)
    release, (place, rate) = float(motion.t_events[0][0]), np.split(motion.y_events[0][0], 2)
    require("time of the release", np.abs(times - release).min(), 0.0, 1e-9)
    points = axle + np.array([model.points(y[:4]) for y in motion.y.T])
    centers = trajectory.position.sel(body=["beam", "counterweight", "stone"]).values
    require("motion in the plane", centers[:, :, 1], 0.0, 1e-9)
    found = (centers @ (1.0, 0.0, 1j))[: motion.t.size]
    require("motion up to the release", found.view(float), points.view(float), 1e-7)
    require_flight(run, release, axle + model.points(place)[2], model.velocities(place, rate)[2], model.gravity)
    require_ledger(run, energy=1e-9)
