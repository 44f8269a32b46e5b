"""The methods of `Scene` that connect bodies by joints. Split off so that each file can be read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import finite, real_array
from .joint import Coupling, Curve, Custom, Frame, Joint, Part
from .particles import Particle

Point = ArrayLike
POINTS = (
    "ball",
    "rod",
    "point_on_line",
    "point_on_plane",
    "point_on_curve",
)  # what particles take; the last three as b


SAME_PLACE = 1e-9


def _unit(owner: str, name: str, value: ArrayLike) -> np.ndarray:
    v = real_array(owner, name, value, (3,))
    size = float(np.linalg.norm(v))
    if size < 1e-12:
        raise ValueError(f"{owner}: {name} {v.tolist()} has no direction; give a vector of some length")
    return v / size


def _sides(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def _point(pa: np.ndarray, pb: np.ndarray) -> Part:
    return Part("point", 3, pa, pb, np.zeros(3), np.zeros(3))


def _dot(axis_a: np.ndarray, axis_b: np.ndarray, value: float = 0.0) -> Part:
    return Part("dot", 1, np.zeros(3), np.zeros(3), axis_a, axis_b, value)


def _plane(normal: np.ndarray, pa: np.ndarray, pb: np.ndarray) -> Part:
    return Part("plane", 1, pa, pb, normal, np.zeros(3))


def place(owner: str, name: str, frame: Frame, point: Point | None) -> np.ndarray:
    """A point of a body or the world as it was given; of a particle, where that is. Raises ValueError."""
    if isinstance(frame, Particle):
        given = frame.position if point is None else real_array(owner, name, point, (3,))
        if np.linalg.norm(given - frame.position) > SAME_PLACE * max(1.0, float(np.linalg.norm(given))):
            raise ValueError(
                f"{owner}: {name} is {given.tolist()}, and {frame.name} is at {frame.position.tolist()}; a particle is its "
                "own only point"
            )
        return frame.position
    if point is None:
        raise ValueError(f"{owner}: {name} is missing; give the point of {frame.name!r}, in world coordinates")
    return real_array(owner, name, point, (3,))


class Connections:
    """Joints of a scene."""

    joints: dict[str, Joint]
    _frame: Callable[..., Frame]
    _frames: Callable[..., tuple[Frame, Frame]]
    _joint: Callable[..., Joint]
    _bodies: Callable[..., list[Frame]]
    _new_name: Callable[..., None]

    def _start(self, kind: str, name: str, a: Any, b: Any, at: Point | None, at_b: Point | None) -> tuple[Any, ...]:
        self._new_name(name, self.joints, kind)
        owner = f"{kind} {name!r}"
        first, second = self._frames(owner, a, b)
        turning = [end.name for end in (first, second) if isinstance(end, Particle)]
        if turning and kind not in POINTS:
            raise ValueError(f"{owner}: {turning[0]} is a particle, which has no axes; it takes {', '.join(POINTS)}")
        if isinstance(first, Particle) and kind not in POINTS[:2]:
            raise ValueError(f"{owner}: {first.name} is a particle; let it be b, the one that keeps to what a carries")
        if kind == "rod":
            return owner, first, second, place(owner, "at_a", first, at), place(owner, "at_b", second, at_b)
        pa = real_array(owner, "at", () if at is None else at, (3,))
        pb = pa if at_b is None else real_array(owner, "at_b", at_b, (3,))
        return owner, first, second, place(owner, "at", first, pa), place(owner, "at", second, pb)

    def _coordinate(self, owner: str, joint: str | Joint, coordinate: str | None) -> tuple[Joint, str]:
        j = self._joint(owner, joint)
        which = coordinate or ("angle" if j.angle else "displacement")
        if which not in ("angle", "displacement") or not getattr(j, which):
            raise ValueError(f"{owner}: {j.kind} {j.name!r} has no {which}; use a hinge or a slider")
        return j, which

    def _add_joint(self, joint: Joint) -> Joint:
        self.joints[joint.name] = joint
        return joint

    # Joints -----------------------------------------------------------------------------------------------------------

    def ball(self, name: str, a: str | Frame, b: str | Frame, at: Point, *, at_b: Point | None = None) -> Joint:
        """A point of b stays at a point of a: 3 constraints. `at_b`, where it is not `at`, tells an open joint."""
        _, first, second, pa, pb = self._start("ball", name, a, b, at, at_b)
        return self._add_joint(Joint(name, "ball", first, second, [_point(pa, pb)], pb))

    def attach(self, name: str, particles: Particle | Sequence[Particle], body: str | Frame) -> list[Joint]:
        """Particles go with a body, at the places where they are: ball joints, called "`name`[i]" where there are several."""
        many = [particles] if isinstance(particles, Particle) else list(particles)
        names = [name] if len(many) == 1 else [f"{name}[{i}]" for i in range(len(many))]
        return [self.ball(own, body, particle, particle.position) for own, particle in zip(names, many, strict=True)]

    def hinge(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None,
        axis_b: ArrayLike | None = None,
    ) -> Joint:  # fmt: skip
        """b turns about an axis of a: 5 constraints. The angle is 0 at the initial pose, positive by the right hand."""
        owner, first, second, pa, pb = self._start("hinge", name, a, b, at, at_b)
        n = _unit(owner, "axis", axis)
        nb = n if axis_b is None else _unit(owner, "axis_b", axis_b)
        parts = [_point(pa, pb), *(_dot(side, nb) for side in _sides(n))]
        return self._add_joint(Joint(name, "hinge", first, second, parts, pb, axis=n, angle=True))

    def slider(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """b slides along an axis of a without turning: 5 constraints."""
        owner, first, second, pa, pb = self._start("slider", name, a, b, at, at_b)
        n = _unit(owner, "axis", axis)
        s, t = _sides(n)
        parts = [_plane(s, pa, pb), _plane(t, pa, pb), _dot(s, n), _dot(t, n), _dot(s, t)]
        return self._add_joint(Joint(name, "slider", first, second, parts, pb, axis=n, displacement=True))

    def cylindrical(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """b slides along and turns about an axis of a: 4 constraints."""
        owner, first, second, pa, pb = self._start("cylindrical", name, a, b, at, at_b)
        n = _unit(owner, "axis", axis)
        s, t = _sides(n)
        parts = [_plane(s, pa, pb), _plane(t, pa, pb), _dot(s, n), _dot(t, n)]
        joint = Joint(name, "cylindrical", first, second, parts, pb, axis=n, angle=True, displacement=True)
        return self._add_joint(joint)

    def universal(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis_a: ArrayLike, axis_b: ArrayLike, *,
        at_b: Point | None = None,
    ) -> Joint:  # fmt: skip
        """A cross: `axis_a`, fixed in a, and `axis_b`, fixed in b, meet at a point at right angles: 4 constraints."""
        owner, first, second, pa, pb = self._start("universal", name, a, b, at, at_b)
        parts = [_point(pa, pb), _dot(_unit(owner, "axis_a", axis_a), _unit(owner, "axis_b", axis_b))]
        return self._add_joint(Joint(name, "universal", first, second, parts, pb))

    def weld(self, name: str, a: str | Frame, b: str | Frame, at: Point, *, at_b: Point | None = None) -> Joint:
        """b is fixed to a as it stands: 6 constraints."""
        _, first, second, pa, pb = self._start("weld", name, a, b, at, at_b)
        x, y, z = np.eye(3)
        parts = [_point(pa, pb), _dot(x, y), _dot(y, z), _dot(z, x)]
        return self._add_joint(Joint(name, "weld", first, second, parts, pb))

    def rod(
        self, name: str, a: str | Frame, b: str | Frame, at_a: Point | None = None, at_b: Point | None = None, *,
        length: float | None = None,
    ) -> Joint:  # fmt: skip
        """Two points keep their distance (m; the initial one where no length is given): 1 constraint. A particle is its
        own point."""
        owner, first, second, pa, pb = self._start("rod", name, a, b, at_a, at_b)
        value = float(np.linalg.norm(pb - pa)) if length is None else finite(owner, "length", length)
        if value <= 0.0:
            raise ValueError(f"{owner}: its length is {value:g} m; a rod needs one above zero (use ball for none)")
        part = Part("distance", 1, pa, pb, np.zeros(3), np.zeros(3), value)
        return self._add_joint(Joint(name, "rod", first, second, [part], pb))

    def point_on_line(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """A point of b stays on a line of a through `at`: 2 constraints."""
        owner, first, second, pa, pb = self._start("point_on_line", name, a, b, at, at_b)
        n = _unit(owner, "axis", axis)
        parts = [_plane(side, pa, pb) for side in _sides(n)]
        return self._add_joint(Joint(name, "point_on_line", first, second, parts, pb, axis=n, displacement=True))

    def point_on_plane(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, normal: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """A point of b stays in a plane of a through `at`: 1 constraint."""
        owner, first, second, pa, pb = self._start("point_on_plane", name, a, b, at, at_b)
        return self._add_joint(
            Joint(name, "point_on_plane", first, second, [_plane(_unit(owner, "normal", normal), pa, pb)], pb)
        )

    def point_on_curve(self, name: str, a: str | Frame, b: str | Frame, at: Point, curve: Curve) -> Joint:
        """The point `at` of b stays on a curve of a (a bead on a wire), given in world coordinates: 2 constraints."""
        _, first, second, pa, pb = self._start("point_on_curve", name, a, b, at, None)
        part = Part("curve", 2, pa, pb, np.zeros(3), np.zeros(3))
        return self._add_joint(Joint(name, "point_on_curve", first, second, [part], pb, curve=curve))

    def gear(self, name: str, first: str | Joint, second: str | Joint, ratio: float) -> Joint:
        """Coordinate of `second` = ratio × coordinate of `first`: 1 constraint.

        Two hinges make gears (a negative ratio for outer teeth), a hinge and a slider a rack (ratio in m/rad).
        """
        self._new_name(name, self.joints, "gear")
        owner = f"gear {name!r}"
        j1, j2 = self._joint(owner, first), self._joint(owner, second)
        for joint in (j1, j2):
            if not (joint.angle or joint.displacement):
                raise ValueError(f"{owner}: {joint.kind} {joint.name!r} has no coordinate; couple hinges or sliders")
        value = finite(owner, "ratio", ratio)
        return self._add_joint(Joint(name, "gear", j1.b, j2.b, [], j2.at, coupling=Coupling((j1, j2), value)))

    def constraint(
        self, name: str, bodies: Sequence[str | Frame], function: Callable[..., Any], rows: int, *,
        jacobian: Callable[..., Any] | None = None, bias: Callable[..., Any] | None = None,
    ) -> Joint:  # fmt: skip
        """A constraint of the user's own, C(x, q) = 0, on up to four bodies.

        function : (x, q) → (rows,) with x (k, 3) positions in m and q (k, 4) quaternions of the k bodies; compiled by
            Numba, or plain Python, which is slower. Without `jacobian` its derivatives are taken by a complex step, so
            that it must be made of analytic operations (no abs, no comparisons).
        jacobian : (x, q) → (rows, 6 k), Ċ = J (v, ω, v, ω, …). bias : (x, q, v, ω) → (rows,), J̇ v.
        """
        self._new_name(name, self.joints, "constraint")
        owner = f"constraint {name!r}"
        frames = self._bodies(owner, bodies)
        if len({id(frame) for frame in frames}) < len(frames):
            raise ValueError(f"{owner}: a body is named twice; name each once")
        if not (1 <= rows <= 6 and 1 <= len(frames) <= 4):
            raise ValueError(f"{owner}: {rows} rows on {len(frames)} bodies; give 1 to 6 rows on 1 to 4 bodies")
        if (jacobian is None) != (bias is None):
            raise ValueError(f"{owner}: give both jacobian and bias, or neither")
        custom = Custom(frames, rows, function, jacobian, bias)
        at = frames[-1].position if hasattr(frames[-1], "position") else np.zeros(3)
        return self._add_joint(Joint(name, "constraint", frames[0], frames[-1], [], at, custom=custom))
