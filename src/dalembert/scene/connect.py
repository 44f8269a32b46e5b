"""The methods of `Scene` that connect bodies by joints. Split off so that each file can be read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .joint import Curve, Custom, Frame, Joint
from .joints.composition import Composition
from .joints.standard import (
    Ball,
    Cylindrical,
    Gear,
    Hinge,
    PointOnCurve,
    PointOnLine,
    PointOnPlane,
    Rod,
    Slider,
    Universal,
    Weld,
)
from .particles import Particle
from .resolve import Resolver

Point = ArrayLike


class Connections:
    """Joints of a scene."""

    joints: dict[str, Joint]
    _frame: Callable[..., Frame]
    _frames: Callable[..., tuple[Frame, Frame]]
    _joint: Callable[..., Joint]
    _bodies: Callable[..., list[Frame]]
    _new_name: Callable[..., None]

    def _coordinate(self, owner: str, joint: str | Joint, coordinate: str | None) -> tuple[Joint, str]:
        j = self._joint(owner, joint)
        which = coordinate or ("angle" if j.angle else "displacement")
        if which not in ("angle", "displacement") or not getattr(j, which):
            raise ValueError(f"{owner}: {j.kind} {j.name!r} has no {which}; use a hinge or a slider")
        return j, which

    def add_joint(self, name: str, joint: Composition) -> Joint:
        """Add a joint of `dalembert.scene.joints`, such as `Hinge(a, b, at, axis)`. Returns what it is composed of.
        Raises ValueError, naming the joint and the value."""
        self._new_name(name, self.joints, joint.kind)
        return self._add_joint(joint.compose(name, Resolver(self, f"{joint.kind} {name!r}")))

    def _add_joint(self, joint: Joint) -> Joint:
        self.joints[joint.name] = joint
        return joint

    # Joints -----------------------------------------------------------------------------------------------------------

    def ball(self, name: str, a: str | Frame, b: str | Frame, at: Point, *, at_b: Point | None = None) -> Joint:
        """A point of b stays at a point of a: 3 constraints. `at_b`, where it is not `at`, tells an open joint."""
        return self.add_joint(name, Ball(a, b, at, at_b=at_b))

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
        return self.add_joint(name, Hinge(a, b, at, axis, at_b=at_b, axis_b=axis_b))

    def slider(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """b slides along an axis of a without turning: 5 constraints."""
        return self.add_joint(name, Slider(a, b, at, axis, at_b=at_b))

    def cylindrical(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """b slides along and turns about an axis of a: 4 constraints."""
        return self.add_joint(name, Cylindrical(a, b, at, axis, at_b=at_b))

    def universal(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis_a: ArrayLike, axis_b: ArrayLike, *,
        at_b: Point | None = None,
    ) -> Joint:  # fmt: skip
        """A cross: `axis_a`, fixed in a, and `axis_b`, fixed in b, meet at a point at right angles: 4 constraints."""
        return self.add_joint(name, Universal(a, b, at, axis_a, axis_b, at_b=at_b))

    def weld(self, name: str, a: str | Frame, b: str | Frame, at: Point, *, at_b: Point | None = None) -> Joint:
        """b is fixed to a as it stands: 6 constraints."""
        return self.add_joint(name, Weld(a, b, at, at_b=at_b))

    def rod(
        self, name: str, a: str | Frame, b: str | Frame, at_a: Point | None = None, at_b: Point | None = None, *,
        length: float | None = None,
    ) -> Joint:  # fmt: skip
        """Two points keep their distance (m; the initial one where no length is given): 1 constraint. A particle is its
        own point."""
        return self.add_joint(name, Rod(a, b, at_a, at_b, length=length))

    def point_on_line(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, axis: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """A point of b stays on a line of a through `at`: 2 constraints."""
        return self.add_joint(name, PointOnLine(a, b, at, axis, at_b=at_b))

    def point_on_plane(
        self, name: str, a: str | Frame, b: str | Frame, at: Point, normal: ArrayLike, *, at_b: Point | None = None
    ) -> Joint:
        """A point of b stays in a plane of a through `at`: 1 constraint."""
        return self.add_joint(name, PointOnPlane(a, b, at, normal, at_b=at_b))

    def point_on_curve(self, name: str, a: str | Frame, b: str | Frame, at: Point, curve: Curve) -> Joint:
        """The point `at` of b stays on a curve of a (a bead on a wire), given in world coordinates: 2 constraints."""
        return self.add_joint(name, PointOnCurve(a, b, at, curve))

    def gear(self, name: str, first: str | Joint, second: str | Joint, ratio: float) -> Joint:
        """Coordinate of `second` = ratio × coordinate of `first`: 1 constraint.

        Two hinges make gears (a negative ratio for outer teeth), a hinge and a slider a rack (ratio in m/rad).
        """
        return self.add_joint(name, Gear(first, second, ratio))

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
