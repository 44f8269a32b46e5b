"""The default fixed step, from sizes, speeds and stiffness at the start.

Each rule below gives the longest step for one object in the scene; the shortest one is used. The step is then reduced
to a whole fraction of the interval between frames, or between calls of the controller, so that these fall on ends of
steps. The report states the choice and the reason.

- size: a body of radius r falls by its radius in a time √(r/g); a step is at most `OF_FALL` of that. A bounce or a
  swing then takes a hundred steps or more. r is the bounding radius of the shape, or that of the ball with the same
  inertia.
- speed: at its initial speed a body moves at most `OF_RADIUS` r in a step, and turns by at most `TURN` rad.
- stiffness: springs between points are explicit: ω h is at most `OF_PERIOD`, and δ h at most `OF_DECAY`, for the
  frequency ω and the damping rate δ of each (see `stability`). Springs and motors of joints, and compliant surfaces, are
  implicit and stable for any step; so that they are resolved, ω h is at most `OF_JOINT_PERIOD` of undamped joints and
  `OF_SURFACE` of surfaces.
- No step is longer than `LONGEST`, or with particles `OF_PARTICLES`; none is shorter than `SHORTEST`.

User functions and laws between all particles are not considered; with the latter dt must be given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..model.compile import Model
from ..scene.body import Body
from ..scene.contact import springs_in_series
from ..scene.particles import ParticleForce
from .methods.contact import TIME_STEPPING
from .stability import Stiffness, in_place, stiffnesses

OF_FALL = 0.03
OF_RADIUS = 0.5
TURN = 0.1  # rad
OF_PERIOD = 0.1  # of 1/ω
OF_SURFACE = 0.2  # of 1/ω of a compliant surface, whose bounce is half a period: steps take 1 % of its energy
OF_DECAY = 0.1  # of 1/δ
OF_JOINT_PERIOD = 0.3
LONGEST, OF_PARTICLES, SHORTEST = 1.0 / 120.0, 1.0 / 240.0, 1e-5  # s
MOST_FRAMES = 1000.0  # Hz; frames at a higher rate do not shorten steps
ALL_PAIRS = ("gravitation", "electrostatics", "lennard_jones", "repulsion", "radial")


class Bound(NamedTuple):
    """The longest step (s) that one thing allows, and the thing with the rule, in words."""

    step: float
    why: str


class StepChoice(NamedTuple):
    """A step that was chosen, s, and why."""

    dt: float
    why: str

    def __str__(self) -> str:
        return f"{1e3 * self.dt:.4g} ms (1/{1.0 / self.dt:.6g} s), chosen: {self.why}"


def choose_step(model: Model, method: str, frame_rate: float, control_rate: float | None) -> StepChoice:
    """The step of a method of fixed steps for a scene. Raises ValueError for a scene that gives no time scale."""
    pairs = [
        force.name
        for force in model.scene.forces.values()
        if isinstance(force, ParticleForce) and force.kind in ALL_PAIRS
    ]
    if pairs:
        raise ValueError(
            f"method {method!r} takes fixed steps, which cannot be chosen automatically with {pairs[0]!r}, a law "
            "between all particles; give dt, in s, such as a hundredth of the shortest time in which two of them "
            "pass"
        )
    with np.errstate(all="ignore"):
        bounds = [bound for bound in _bounds(model, method) if bound.step > 0.0]
    shortest = min(bounds, key=lambda bound: bound.step)
    if shortest.step < SHORTEST:
        shortest = Bound(SHORTEST, f"the shortest that is chosen; {shortest.why} would take {shortest.step:.2g} s")
    return StepChoice(_whole_fraction(shortest.step, frame_rate, control_rate), shortest.why)


def _whole_fraction(longest: float, frame_rate: float, control_rate: float | None) -> float:
    """The longest step up to `longest` (s) that divides the time between calls of a controller, or between frames."""
    needed = 1.0 / longest * (1.0 - 1e-9)
    if control_rate is not None and np.isfinite(control_rate) and control_rate > 0.0:
        return 1.0 / (control_rate * math.ceil(needed / control_rate))
    if frame_rate > max(needed, MOST_FRAMES):
        return longest
    return 1.0 / (frame_rate * math.ceil(needed / frame_rate))


def _bounds(model: Model, method: str) -> Iterator[Bound]:
    """A bound for each rule, that of the thing which allows the least."""
    particles = model.particle_count > 0
    yield (
        Bound(OF_PARTICLES, "the longest with particles") if particles else Bound(LONGEST, "the longest that is chosen")
    )
    bodies = [body for body in model.scene.bodies.values() if body.motion is None]
    if bodies:
        sizes = np.array([size_of(body) for body in bodies])
        yield from _of_size(bodies, sizes, float(np.linalg.norm(model.scene.gravity)))
        yield from _of_speed(bodies, sizes)
        yield from _of_surfaces(model)
    yield from _of_forces(model, method)


def size_of(body: Body) -> float:
    """The bounding radius of a body's shape, m; of a body without one, the radius of the ball with its inertia."""
    if body.shape is not None:
        found = float(body.shape.bounding_radius())
        if np.isfinite(found) and found > 0.0:
            return found
    return math.sqrt(float(np.trace(body.inertia)) / (1.2 * body.mass))  # a ball has 3 · 2/5 m r²


def _of_size(bodies: list[Body], sizes: np.ndarray, gravity: float) -> Iterator[Bound]:
    if gravity > 0.0:
        i = int(np.argmin(sizes))
        yield Bound(
            OF_FALL * math.sqrt(sizes[i] / gravity),
            f"{OF_FALL:g} √(r/g) for the smallest body, {bodies[i].name!r}, of radius r = {sizes[i]:.3g} m",
        )


def _of_speed(bodies: list[Body], sizes: np.ndarray) -> Iterator[Bound]:
    speeds = np.array([np.linalg.norm(body.velocity) for body in bodies])
    spins = np.array([np.linalg.norm(body.angular_velocity) for body in bodies])
    if speeds.any():
        i = int(np.argmax(speeds / sizes))
        yield Bound(
            OF_RADIUS * sizes[i] / speeds[i],
            f"{bodies[i].name!r} starts at {speeds[i]:.3g} m/s and moves {OF_RADIUS:g} of its radius, {sizes[i]:.3g} m",
        )
    if spins.any():
        i = int(np.argmax(spins))
        yield Bound(
            TURN / spins[i], f"{bodies[i].name!r} starts turning at {spins[i]:.3g} rad/s and turns {TURN:g} rad"
        )


def _of_surfaces(model: Model) -> Iterator[Bound]:
    """Compliant surfaces: of each body on each other material."""
    touching, found = model.scene.touching(), None
    if not any(item.material.stiffness is not None for item in touching):
        return
    materials = {item.material: item for item in touching}
    for body in touching:
        if not isinstance(body, Body) or body.motion is not None:
            continue
        for material, other in materials.items():
            stiffness, _ = springs_in_series(body.material, material)
            omega = math.sqrt(stiffness / body.mass)
            if omega > 0.0 and (found is None or omega > found[0]):
                found = (omega, body.name, other.name)
    if found is not None:
        omega, name, other_name = found
        yield Bound(
            OF_SURFACE / omega, f"{OF_SURFACE:g}/ω for {name!r} on the surface of {other_name!r}, ω = {omega:.3g} rad/s"
        )


def _of_forces(model: Model, method: str) -> Iterator[Bound]:
    """Springs, dampers and motors. The modes of free bodies are upper bounds: the worst ones are found anew with all joints
    in place, until that of the next cannot be worse."""
    explicit = [mode for mode in stiffnesses(model, TIME_STEPPING) if method == TIME_STEPPING or not mode.particles]
    known = {mode.name for mode in explicit}
    others = [mode for mode in stiffnesses(model) if mode.name not in known and not mode.particles]
    bounds = [*((_of_mode(m), m, False) for m in explicit), *((_of_joint(m), m, True) for m in others)]
    best: Bound | None = None
    for bound, mode, implicit in sorted(bounds, key=lambda each: each[0].step):
        if best is not None and bound.step >= best.step:
            break
        placed = in_place(model, mode)
        exact = _of_joint(placed) if implicit else _of_mode(placed)
        best = exact if best is None or exact.step < best.step else best
    if best is not None:
        yield best


def _of_mode(mode: Stiffness) -> Bound:
    """The step of a force that is explicit."""
    by_frequency = OF_PERIOD / mode.frequency if mode.frequency > 0.0 else np.inf
    by_damping = OF_DECAY / mode.damping if mode.damping > 0.0 else np.inf
    if by_frequency <= by_damping:
        return Bound(by_frequency, f"{OF_PERIOD:g}/ω for {mode.name!r}, ω = {mode.frequency:.3g} rad/s")
    return Bound(by_damping, f"{OF_DECAY:g}/δ for {mode.name!r}, of the damping rate δ = {mode.damping:.3g} 1/s")


def _of_joint(mode: Stiffness) -> Bound:
    """The step of a spring or motor of a joint, which is implicit; a well damped one needs no short steps."""
    damped = not mode.frequency > 0.0 or mode.damping >= 2.0 * mode.frequency
    step = np.inf if damped else OF_JOINT_PERIOD / mode.frequency
    return Bound(step, f"{OF_JOINT_PERIOD:g}/ω for {mode.name!r}, ω = {mode.frequency:.3g} rad/s")
