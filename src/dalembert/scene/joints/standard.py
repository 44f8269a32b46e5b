"""The standard joints: ball, hinge, slider, cylindrical, universal, weld, rod, points on lines, planes and curves,
gear.

`Scene.add_joint` makes a `Joint` of one. A joint consists of parts, and has `steps`, its description in joint
coordinates. The methods of `Scene` describe the arguments and the number of constraints. To add a joint, add a file
here; see docs/extending.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..joint import Coupling, Curve, Joint, Prescribed, Step
from ..motion import motion_of_coordinate
from ..resolve import Resolver
from .composition import ZERO, Composition, curve, distance, dot, plane, point, sides


class _AtPoint(Composition):
    """A joint at a point of a and of b, which is another where it is open."""

    def __init__(self, a: Any, b: Any, at: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.at_b = a, b, at, at_b


class _AlongAxis(Composition):
    """A joint at a point, with an axis of a."""

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b = a, b, at, axis, at_b


class Ball(_AtPoint):
    """A point of b stays at a point of a; see `Scene.ball`."""

    kind = "ball"

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "ab")
        return Joint(name, self.kind, a, b, [point(pa, pb)], pb, steps=(Step("ball", ZERO),))


class Hinge(Composition):
    """b turns about an axis of a; see `Scene.hinge`."""

    kind = "hinge"

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None, axis_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b, self.axis_b = a, b, at, axis, at_b, axis_b

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "")
        n = resolver.unit("axis", self.axis)
        nb = n if self.axis_b is None else resolver.unit("axis_b", self.axis_b)
        parts = [point(pa, pb), *(dot(side, nb) for side in sides(n))]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, angle=True, steps=(Step("hinge", n),))


class Slider(_AlongAxis):
    """b slides along an axis of a without turning; see `Scene.slider`."""

    kind = "slider"

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "")
        n = resolver.unit("axis", self.axis)
        s, t = sides(n)
        parts = [plane(s, pa, pb), plane(t, pa, pb), dot(s, n), dot(t, n), dot(s, t)]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, displacement=True, steps=(Step("slider", n),))


class Cylindrical(_AlongAxis):
    """b slides along and turns about an axis of a; see `Scene.cylindrical`."""

    kind = "cylindrical"

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "")
        n = resolver.unit("axis", self.axis)
        s, t = sides(n)
        parts = [plane(s, pa, pb), plane(t, pa, pb), dot(s, n), dot(t, n)]
        steps = (Step("slider", n, ".displacement"), Step("hinge", n, ".angle"))
        return Joint(name, self.kind, a, b, parts, pb, axis=n, angle=True, displacement=True, steps=steps)


class Universal(Composition):
    """A cross of two axes; see `Scene.universal`."""

    kind = "universal"

    def __init__(self, a: Any, b: Any, at: Any, axis_a: Any, axis_b: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis_a, self.axis_b, self.at_b = a, b, at, axis_a, axis_b, at_b

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "")
        one, other = resolver.unit("axis_a", self.axis_a), resolver.unit("axis_b", self.axis_b)
        steps = (Step("hinge", one, ".a"), Step("hinge", other, ".b"))
        return Joint(name, self.kind, a, b, [point(pa, pb), dot(one, other)], pb, steps=steps)


class Weld(_AtPoint):
    """b is fixed to a as it stands; see `Scene.weld`."""

    kind = "weld"

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "")
        x, y, z = np.eye(3)
        return Joint(name, self.kind, a, b, [point(pa, pb), dot(x, y), dot(y, z), dot(z, x)], pb, steps=())


class Rod(Composition):
    """Two points keep their distance; see `Scene.rod`."""

    kind = "rod"

    def __init__(self, a: Any, b: Any, at_a: Any = None, at_b: Any = None, *, length: float | None = None) -> None:
        self.a, self.b, self.at_a, self.at_b, self.length = a, b, at_a, at_b, length

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.two_points(self.a, self.b, self.at_a, self.at_b)
        value = float(np.linalg.norm(pb - pa)) if self.length is None else resolver.number("length", self.length)
        if value <= 0.0:
            raise ValueError(f"{resolver.owner}: its length is {value:g} m; give a length above zero, or use ball")
        return Joint(name, self.kind, a, b, [distance(pa, pb, value)], pb)


class PointOnLine(_AlongAxis):
    """A point of b stays on a line of a; see `Scene.point_on_line`."""

    kind = "point_on_line"

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "b")
        n = resolver.unit("axis", self.axis)
        parts = [plane(side, pa, pb) for side in sides(n)]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, displacement=True)


class PointOnPlane(Composition):
    """A point of b stays in a plane of a; see `Scene.point_on_plane`."""

    kind = "point_on_plane"

    def __init__(self, a: Any, b: Any, at: Any, normal: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.normal, self.at_b = a, b, at, normal, at_b

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, self.at_b, "b")
        return Joint(name, self.kind, a, b, [plane(resolver.unit("normal", self.normal), pa, pb)], pb)


class PointOnCurve(Composition):
    """A point of b stays on a curve of a; see `Scene.point_on_curve`."""

    kind = "point_on_curve"

    def __init__(self, a: Any, b: Any, at: Any, curve: Curve) -> None:
        self.a, self.b, self.at, self.curve = a, b, at, curve

    def compose(self, name: str, resolver: Resolver) -> Joint:
        a, b, pa, pb = resolver.ends(self.a, self.b, self.at, None, "b")
        return Joint(name, self.kind, a, b, [curve(pa, pb)], pb, curve=self.curve)


class Gear(Composition):
    """A ratio of two coordinates; see `Scene.gear`."""

    kind = "gear"

    def __init__(self, first: Any, second: Any, ratio: float) -> None:
        self.first, self.second, self.ratio = first, second, ratio

    def compose(self, name: str, resolver: Resolver) -> Joint:
        j1, j2 = resolver.joint(self.first), resolver.joint(self.second)
        for joint in (j1, j2):
            if not (joint.angle or joint.displacement):
                raise ValueError(
                    f"{resolver.owner}: {joint.kind} {joint.name!r} has no single coordinate; couple hinges or sliders"
                )
        if j1 is j2:
            raise ValueError(
                f"{resolver.owner}: both joints are {j1.name!r}, which would be locked; couple two joints, or weld its bodies"
            )
        coupling = Coupling((j1, j2), resolver.number("ratio", self.ratio))
        return Joint(name, self.kind, j1.b, j2.b, [], j2.at, coupling=coupling)


class PrescribedMotion(Composition):
    """The coordinate of another joint is a function of time; see `Scene.add_motion`."""

    kind = "motion"

    def __init__(
        self, joint: Any, motion: Any = None, speed: float | None = None, coordinate: str | None = None
    ) -> None:
        self.joint, self.motion, self.speed, self.coordinate = joint, motion, speed, coordinate

    def compose(self, name: str, resolver: Resolver) -> Joint:
        joint, which = resolver.coordinate(self.joint, self.coordinate)
        for other in resolver.joints():
            if other.prescribed is not None and (other.prescribed.joint, other.prescribed.coordinate) == (joint, which):
                raise ValueError(
                    f"{resolver.owner}: {other.name!r} prescribes the {which} of {joint.name!r} already; change that one"
                )
        found, speed = motion_of_coordinate(resolver.owner, self.motion, self.speed)
        prescribed = Prescribed(joint, which, found, speed)
        return Joint(name, self.kind, joint.a, joint.b, [], joint.at, prescribed=prescribed)
