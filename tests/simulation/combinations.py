"""Scenes of any content, each run for a few steps by any method: what `test_combinations` does in a process of its own.

`python -m tests.simulation.combinations FIRST LAST` prints, for each number, the choice, then how it ended: "runs", or the
exception that refused it. A crash ends the output after a choice.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np

import dalembert as dal

METHODS = ("rk4", "dormand_prince", "rk4", "splitting", "dop853", "time_stepping", "implicit_euler",
           "linear_implicit_euler", "bdf2")  # fmt: skip
REFUSALS = (ValueError, dal.SimulationError)  # what says that a scene cannot be run so; anything else is a defect


class Draw:
    """A scene in the making: bodies and particles at places of their own, 1.5 m apart."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.scene, self.count = rng, dal.Scene("drawn"), 0

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what}{self.count}"

    def place(self) -> np.ndarray:
        self.count += 1
        return np.array([1.5 * self.count, 0.0, self.rng.uniform(0.6, 2.0)])

    def body(self, **more):
        shapes = [dal.Sphere(0.1), dal.Box(0.2, 0.2, 0.2), dal.Capsule(0.1, 0.2), dal.Cylinder(0.1, 0.2)]
        shape = shapes[int(self.rng.integers(4 if self.rng.random() < 0.2 else 3))]
        more.setdefault("position", self.place())
        return self.scene.add_body(self.name("body"), shape, mass=1.0, **more)

    def particles(self, number: int, **more):
        at = self.place() + 0.3 * np.arange(number)[:, None] * [1.0, 0.0, 0.2]
        return self.scene.add_particles(self.name("particles"), at, mass=0.5, **more)


def rods_of_particles(d):
    group = d.particles(4)
    d.scene.rods(d.name("rods"), group, [(0, 1), (1, 2), (2, 3)])


def rods_of_pinned_particles(d):
    group = d.particles(3, pinned=[0])
    d.scene.rods(d.name("rods"), group, [(0, 1), (1, 2)])


def rod_to_a_body(d):
    group, body = d.particles(2), d.body()
    d.scene.rod(d.name("rod"), group[0], body, at_b=body.position)
    d.scene.rod(d.name("rod"), group[0], group[1])


def rod_to_a_body_that_touches(d):
    group, body = d.particles(1), d.body(material=dal.Material())
    d.scene.rod(d.name("rod"), group[0], body, at_b=body.position)


def attached_particles(d):
    body = d.body()
    group = d.scene.add_particles(d.name("particles"), [body.position, body.position + [0.1, 0, 0]], mass=0.2)
    d.scene.attach(d.name("attach"), [group[1]], body)


def spring_to_a_body(d):
    group, body = d.particles(2), d.body()
    d.scene.spring(d.name("spring"), group[1], body, at_b=body.position, stiffness=10.0)


def springs_of_particles(d):
    group = d.particles(4)
    d.scene.springs(d.name("springs"), group, [(0, 1), (1, 2), (2, 3)], stiffness=50.0)


def free_particles(d):
    d.particles(3, radius=0.05, material=dal.Material())


def law_of_particles(d):
    d.scene.repulsion(d.name("repulsion"), [d.particles(3)], stiffness=10.0, diameter=0.5)


def chain(d):
    before = dal.WORLD
    at = d.place()
    for k in range(3):
        body = d.body(position=at + [0.3 * (k + 1), 0.0, 0.0])
        d.scene.hinge(d.name("hinge"), before, body, at=at + [0.3 * k, 0.0, 0.0], axis=(0, 1, 0))
        before = body


def hub(d):
    centre = d.body()
    for k in range(6):
        other = d.body(position=centre.position + 0.4 * np.array([np.cos(k), np.sin(k), 0.0]))
        d.scene.ball(d.name("ball"), centre, other, at=0.5 * (centre.position + other.position))


def stops(d):
    body = d.body()
    joint = d.scene.hinge(d.name("hinge"), dal.WORLD, body, at=body.position + [0.2, 0, 0], axis=(0, 1, 0))
    d.scene.limit(d.name("limit"), joint, lower=-0.5, upper=0.5)


def motor(d):
    body = d.body()
    joint = d.scene.slider(d.name("slider"), dal.WORLD, body, axis=(0, 0, 1), at=body.position)
    d.scene.motor(d.name("motor"), joint, effort=1.0)


def link(d):
    arm, body = d.scene.add_link(d.name("link")), d.body()
    d.scene.hinge(d.name("hinge"), dal.WORLD, arm, at=body.position + [0.2, 0, 0], axis=(0, 1, 0))
    d.scene.hinge(d.name("hinge"), arm, body, at=body.position + [0.2, 0, 0], axis=(1, 0, 0))


def falling_body(d):
    d.body(material=dal.Material(friction=0.3, restitution=0.5), velocity=(0.0, 0.0, -1.0))


def body_on_the_ground(d):
    at = d.place()
    at[2] = 0.1
    d.scene.add_body(d.name("body"), dal.Sphere(0.1), mass=1.0, position=at, material=dal.Material())


def loose_body(d):
    d.body()


def ground(d):
    d.scene.add_obstacle(d.name("ground"), dal.HalfSpace())


def block(d):
    d.scene.add_obstacle(d.name("block"), dal.Box(1, 1, 0.2), position=(0.0, 3.0, 0.0))


def mesh(d):
    corners = np.array([(-50, -50, -0.1), (50, -50, -0.1), (0, 50, -0.1)], float)
    d.scene.add_obstacle(d.name("mesh"), dal.TriangleMesh(corners, [(0, 1, 2)]))


def height_field(d):
    d.scene.add_obstacle(d.name("field"), dal.HeightField(np.full((4, 4), -0.2), (40.0, 40.0)))


def event(d):
    d.scene.event(d.name("event"), lambda t, y: t - 0.004)


PARTS: tuple[Callable[[Draw], None], ...] = (
    rods_of_particles, rods_of_pinned_particles, rod_to_a_body, rod_to_a_body_that_touches, attached_particles,
    spring_to_a_body, springs_of_particles, free_particles, law_of_particles, chain, hub, stops, motor, link, falling_body,
    body_on_the_ground, loose_body, ground, block, mesh, height_field, event,
)  # fmt: skip


def choose(number: int) -> tuple[list[Callable[[Draw], None]], dict]:
    """The parts of scene `number` and the settings of its run."""
    rng = np.random.default_rng(number)
    parts = [PARTS[i] for i in rng.choice(len(PARTS), size=int(rng.integers(1, 5)), replace=False)]
    method = METHODS[number % len(METHODS)]
    settings = {"method": method}
    if method != "dormand_prince" or rng.random() < 0.5:
        settings["dt"] = 1e-3
    if rng.random() < (0.9 if link in parts else 0.1):
        settings["coordinates"] = "joint"
    if rng.random() < 0.1:
        settings["constraint_solver"] = "minres"
    if rng.random() < 0.1:
        settings["hold"], settings["stiffness"], settings["damping"] = "penalty", 1e4, 10.0
    if rng.random() < 0.1:
        settings["solver"] = "interior_point"
    return parts, settings


def outcome(number: int) -> str:
    """How the run of that number ends."""
    parts, settings = choose(number)
    drawn = Draw(np.random.default_rng(number))
    for part in parts:
        part(drawn)
    try:
        run = dal.simulate(drawn.scene, 0.01, **settings)
    except REFUSALS as error:
        return f"refused {type(error).__name__}: {error}".splitlines()[0]
    if not np.isfinite(run.trajectory.last_state).all():
        return "DEFECT: not finite"
    return "runs"


def main(first: int, last: int) -> None:
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for number in range(first, last):
        parts, settings = choose(number)
        print(number, "+".join(part.__name__ for part in parts), settings, flush=True)
        found = outcome(number)
        counts[found.split()[0]] += 1
        print("   ", found, flush=True)
    print("all", dict(counts), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
