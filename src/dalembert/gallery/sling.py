"""The trebuchet with a sling of cord instead of its rod: a thread of particles between bodies.

The thread does not stretch: its links are rods. Joints connect one end to the tip of the beam and the other to the stone, so
that beam and stone pull at it and it pulls at them. It starts straight; then waves run along it. The stone leaves it at the
release angle, and the empty sling whips on behind the beam.

The check integrates the machine with one angle for each link and no force of the thread, and requires that no link pushes
before the release. A thread without mass is straight, and throws as the trebuchet's sling does. The weight of the thread
costs speed in proportion, as if it stayed straight; its waves add or take a part that falls as the mass to the power 3/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.scene import Scene
from . import trebuchet
from ._common import PlanarTree, integrate, require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 12.0, "method": "dop853", "rtol": 1e-10, "frame_rate": 60.0}
WHIP = 1.0  # s after the release in which the check follows the empty sling
WAVES = 0.1  # most that waves change the speed, relative, at a cord as heavy as the stone; it falls as the power 3/2


def build(links: int = 10, cord: float = 1.0, **parameters: Any) -> Scene:
    """A thread of so many links and of the mass `cord` (kg); other parameters are those of the trebuchet."""
    scene = trebuchet.build(**parameters)
    scene.name, scene.description = "sling", "a trebuchet whose sling is a thread of particles"
    rod = scene.joints.pop("sling").parts[0]
    points, length = np.linspace(rod.point_a, rod.point_b, links + 1), float(np.linalg.norm(rod.point_b - rod.point_a))
    thread = scene.thread("cord", points, density=cord / length, radius=0.025, color="#54433a")
    scene.attach("sling", thread[0], "beam")
    scene.attach("pouch", thread[links], "stone")
    scene.events["release"].release[:] = ["pouch"]
    return scene


def machine(scene: Scene, *, straight: bool = False, empty: bool = False) -> PlanarTree:
    """The machine in the place of the frame and the angles of beam, counterweight and links, or of one link as long as all
    (`straight`), all zero at the start. Its points are beam, counterweight and thread; the last bears the stone, if it is
    not `empty`."""
    rigid, mass = trebuchet.machine(scene), scene.particles["cord"].mass.copy()
    links = len(mass) - 1
    if not empty:
        mass[-1] += rigid.masses[2]
    along = np.linspace(0.0, 1.0, links + 1)[:, None] if straight else np.tril(np.ones((links + 1, links)), -1) / links
    vectors = np.zeros((links + 3, 2 + along.shape[1]), complex)
    vectors[:2, :2] = rigid.vectors[:2, :2]
    vectors[2:, 0], vectors[2:, 2:] = rigid.vectors[2, 0], rigid.vectors[2, 2] * along
    base, *inertias, _ = np.diag(rigid.own)
    inertias += [0.0] * along.shape[1]
    return PlanarTree([*rigid.masses[:2], *mass], vectors, inertias, base=base, gravity=rigid.gravity)


def check(run: Simulation) -> None:
    """Motion up to the release and a second on, tension, flight and range; speed; lengths, energy, momentum."""
    scene, trajectory, model = run.model.scene, run.trajectory, machine(run.model.scene)
    axle, times = scene.joints["axle"].at @ (1.0, 0.0, 1j), trajectory.times
    loaded = trebuchet.until_release(scene, model, times)
    release, last = float(loaded.t_events[0][0]), loaded.y_events[0][0]
    require("time of the release", np.abs(times - release).min(), 0.0, 1e-9)
    later = times[(times > release + 1e-6) & (times < release + WHIP)]
    empty = integrate(machine(scene, empty=True), last, [release, *later], rtol=1e-11, atol=1e-12)
    shown = np.isin(times, np.concatenate([loaded.t, empty.t[1:]]))
    motion = np.concatenate([loaded.y, empty.y[:, 1:]], axis=1).T[:, : len(model.own)]
    bodies = trajectory.position.sel(body=["beam", "counterweight"]).values
    places = np.concatenate([bodies, trajectory.particle_position.values], axis=1)
    require("motion in the plane", places[shown, :, 1], 0.0, 1e-9)
    points = axle + np.array([model.points(y) for y in motion])
    require("motion", np.abs(places[shown] @ (1.0, 0.0, 1j) - points), 0.0, 1e-8)
    require_pull(run, release)

    place, rate = np.split(last, 2)
    speed = model.velocities(place, rate)[-1]
    trebuchet.require_flight(run, release, axle + model.points(place)[-1], speed, model.gravity)
    require_speed(run, release)
    require_ledger(run, energy=1e-9)
    weight = model.gravity * (sum(body.mass for body in scene.bodies.values()) + scene.particles["cord"].mass.sum())
    require("momentum, of the impulse of the weight", run.report.momentum_residual / (weight * run.time), 0.0, 1e-12)


def require_speed(run: Simulation, release: float) -> None:
    """The stone leaves as fast as from a straight cord, but for what waves do."""
    scene, trajectory = run.model.scene, run.trajectory
    straight = machine(scene, straight=True)
    place, rate = np.split(trebuchet.until_release(scene, straight, trajectory.times).y_events[0][0], 2)
    stone, cord = scene.bodies["stone"].mass, scene.particles["cord"].mass.sum()
    momentum = trajectory.momentum.sel(body="stone").values[np.argmin(np.abs(trajectory.times - release))]
    found = np.linalg.norm(momentum) / stone / abs(straight.velocities(place, rate)[-1])
    require("speed beside that of a straight cord", found, 1.0, WAVES * (cord / stone) ** 1.5)


def require_pull(run: Simulation, release: float) -> None:
    """The links keep their length, and none pushes before the release."""
    trajectory, group = run.trajectory, run.model.scene.particles["cord"]
    links = np.diff(trajectory.particle_position.values, axis=1)
    lengths = np.linalg.norm(links, axis=2)
    require("lengths of the links", lengths, np.linalg.norm(np.diff(group.position, axis=0), axis=1), 1e-12)
    forces = trajectory.reaction_force.sel(joint=[f"cord[{i}]" for i in range(len(group) - 1)]).values
    pull = -np.einsum("tik,tik->ti", forces, links)[trajectory.times < release] / lengths[0]
    assert pull.min() > 0.0, f"a link pushes with {-pull.min():.3g} N before the release"
