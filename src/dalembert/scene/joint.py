"""Joints in a scene: their parts, and the methods of `Scene` that add joints.

Points and axes are in world coordinates at the initial pose. The files in `joints` define joints as compositions of
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array, MatrixLike, VectorLike
from .body import Body, World
from .checks import finite, real_array, require_arguments, rotation_matrix, unit_quaternion
from .motion import Keyframes
from .particles import Particle

if TYPE_CHECKING:
    from .cable import CablePath
    from .contact import Obstacle
    from .joints.composition import Composition


@dataclass(frozen=True, eq=False)
class Link:
    """A frame without mass, between joints; made by `Scene.add_link`."""

    name: str
    position: NDArray[np.float64]  # (3,) world, m
    orientation: tuple[float, float, float, float]

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation matrix, link → world."""
        return rotation_matrix(self.orientation)

    def to_body(self, point: np.ndarray) -> np.ndarray:
        """A world point in the frame of the link (m)."""
        return self.rotation.T @ (point - self.position)


Frame = Body | Link | World | Particle
End: TypeAlias = "str | Frame | Obstacle"
"""What joints and springs take: a body, link, particle or obstacle, its name, or the world."""
Coordinate: TypeAlias = Literal["angle", "displacement"]


@dataclass(frozen=True)
class Part:
    """One part of a joint: its kind, and its points and axes in world coordinates at the initial pose."""

    kind: str  # point, dot, plane, distance, curve
    rows: int
    point_a: np.ndarray
    point_b: np.ndarray
    axis_a: np.ndarray
    axis_b: np.ndarray
    value: float = 0.0


@dataclass(frozen=True)
class Step:
    """A hinge, a slider or a ball: one of those that a joint is made of in joint coordinates, from a to b."""

    kind: str  # "hinge", "slider", "ball"
    axis: NDArray[np.float64]  # (3,) world axes, at the initial pose
    suffix: str = ""  # of the name of its coordinate, after that of the joint


@dataclass(eq=False)
class Joint:
    """A joint between bodies a and b; made by `Scene.add_joint` and the other methods of `Scene`.

    steps : what it is in joint coordinates; empty for a weld, None for what is a constraint there, too.

    `angle` and `displacement` say whether those coordinates of b relative to a exist (hinge and cylindrical; slider and
    cylindrical); both are zero at the initial pose.
    """

    name: str
    kind: str
    a: Frame
    b: Frame
    parts: list[Part]
    at: NDArray[np.float64]  # where reactions act: on b, world coordinates at the initial pose
    axis: NDArray[np.float64] | None = None
    angle: bool = False
    displacement: bool = False
    steps: tuple[Step, ...] | None = None
    armature: float = 0.0  # kg m² or kg, see `Scene.armature`
    closes_loop: bool = False  # see `Scene.close_loop`
    curve: Curve | None = None
    coupling: Coupling | None = None
    custom: Custom | None = None
    prescribed: Prescribed | None = None
    cable: CablePath | None = None

    @property
    def bodies(self) -> tuple[Frame, ...]:
        if self.coupling is not None:
            first, second = self.coupling.joints
            return (first.a, first.b, second.a, second.b)
        if self.prescribed is not None:
            return (self.prescribed.joint.a, self.prescribed.joint.b)
        if self.cable is not None:
            return tuple(dict.fromkeys(self.cable.bodies))
        return (self.a, self.b) if self.custom is None else tuple(self.custom.bodies)

    @property
    def rows(self) -> int:
        if self.custom is not None:
            return self.custom.rows
        one = self.coupling is not None or self.prescribed is not None or self.cable is not None
        return 1 if one else sum(part.rows for part in self.parts)

    def error_text(self, rows: np.ndarray, rate: bool = False) -> str:
        """The largest error, with its unit, from those of the rows; of axes, the angle between where one is and where it
        belongs. rate : whether they are rates of errors."""
        rows = np.where(np.isfinite(rows), np.abs(rows), np.inf)
        worst, parts = int(np.argmax(rows)), [part for part in self.parts for _ in range(part.rows)]
        unit = "m"
        if self.custom is not None:
            unit = ""
        elif self.prescribed is not None:
            unit = "rad" if self.prescribed.coordinate == "angle" else "m"
        elif self.coupling is not None:
            unit = "rad" if self.coupling.joints[1].angle else "m"
        elif parts and parts[worst].kind == "dot":
            if not rate:
                sine = np.linalg.norm([row for row, part in zip(rows, parts, strict=True) if part.kind == "dot"])
                return f"{np.degrees(np.arcsin(min(1.0, float(sine)))):.3g} degrees"
            unit = "rad"
        return f"{rows[worst]:.3g} {unit}{'/s' if rate else ''}".strip()

    def coordinate_name(self, which: str) -> str:
        """Name of its "angle", "displacement" or "parameter": the joint's own, with the kind after it where it has both."""
        return f"{self.name}.{which}" if self.angle and self.displacement else self.name

    @property
    def starts_with_point(self) -> bool:
        """Whether the first part is a point; no other part is."""
        return bool(self.parts) and self.parts[0].kind == "point"


@dataclass(frozen=True)
class Coupling:
    """ratio · s(first) = s(second) + constant."""

    joints: tuple[Joint, Joint]
    ratio: float


@dataclass(frozen=True)
class Prescribed:
    """The coordinate of a joint, "angle" or "displacement", is a function of time; see `Scene.add_motion`."""

    joint: Joint
    coordinate: str
    motion: Any  # a function of time, Keyframes, or "set"
    speed: float = 0.0  # rad/s or m/s, of what is set


@dataclass(frozen=True)
class Custom:
    """C(t, poses) = 0 by a user's function; see `Scene.constraint`."""

    bodies: Sequence[Frame]
    rows: int
    function: Callable[..., Any]
    jacobian: Callable[..., Any] | None = None
    bias: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Curve:
    """A smooth curve in space: quintic pieces through a function of one parameter.

    Parameters
    ----------
    function : s → (3,) point in m, smooth on [first, last].
    first, last : range of the parameter.
    closed : whether the curve closes on itself smoothly. An open curve continues straight past its ends.
    pieces : number of pieces n; the error decreases as n⁻⁶.

    >>> import numpy as np
    >>> ring = Curve(lambda s: (np.cos(s), np.sin(s), 0.0), 0.0, 2 * np.pi, closed=True)
    """

    function: Callable[[float], VectorLike]
    first: float
    last: float
    closed: bool = False
    pieces: int = 256
    _table: list[np.ndarray] = field(default_factory=list, repr=False, compare=False)

    def table(self) -> np.ndarray:
        """The curve as a flat array, for compiled code."""
        if not self._table:
            self._table.append(_tabulate(self))
        return self._table[0]

    def points(self, count: int = 200) -> NDArray[np.float64]:
        """(count, 3) points along the curve, for drawing."""
        return np.array([self.function(s) for s in np.linspace(self.first, self.last, count)], dtype=float)


def _tabulate(curve: Curve) -> np.ndarray:
    """Each piece interpolates the function in its six Chebyshev–Lobatto points, the ends among them."""
    if not (np.isfinite(curve.first) and np.isfinite(curve.last) and curve.last > curve.first):
        raise ValueError(f"curve: the range [{curve.first}, {curve.last}] is empty; give first < last")
    if not 8 <= curve.pieces <= 100_000:
        raise ValueError(f"curve: pieces is {curve.pieces}; give 8 to 100000")
    width = (curve.last - curve.first) / curve.pieces
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(6) / 5)
    starts = curve.first + width * np.arange(curve.pieces)
    try:
        points = np.array([[curve.function(s + width * u) for u in nodes] for s in starts], dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"curve: its function must return three numbers for every parameter ({error})") from None
    if points.shape != (curve.pieces, 6, 3) or not np.isfinite(points).all():
        raise ValueError("curve: its function must return three finite numbers for every parameter in its range")
    extent = np.ptp(points.reshape(-1, 3), axis=0).max()
    if np.linalg.norm(np.diff(points, axis=1), axis=2).min() <= 1e-12 * extent:
        raise ValueError("curve: two of its points coincide; it must move with its parameter")
    if curve.closed and np.linalg.norm(points[0, 0] - points[-1, -1]) > 1e-9 * extent:
        raise ValueError("curve: closed is True, but its ends differ; give closed=False, or the full period")
    coefficients = np.linalg.solve(np.vander(nodes, increasing=True), points)
    coefficients /= (width ** np.arange(6))[None, :, None]
    return np.concatenate([[float(curve.closed), curve.first, width, float(curve.pieces)], coefficients.ravel()])


# The methods of `Scene` ----------------------------------------------------------------------------------------------

Point = VectorLike


class JointMethods:
    """The methods of `Scene` that add joints."""

    bodies: dict[str, Body]
    links: dict[str, Link]
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
        """Add a joint of `dalembert.scene.joints`, such as `Hinge(a, b, at, axis)`. Returns the joint, or the parts
        that it is composed of. Raises ValueError, naming the joint and the value."""
        from .resolve import Resolver

        self._new_name(name, self.joints, joint.kind)
        return self._add_joint(joint.compose(name, Resolver(self, f"{joint.kind} {name!r}")))

    def _add_joint(self, joint: Joint) -> Joint:
        self.joints[joint.name] = joint
        return joint

    def ball(self, name: str, a: End, b: End, at: Point, *, at_b: Point | None = None) -> Joint:
        """Add a ball joint: a point of b stays at a point of a. 3 constraints. If `at_b` differs from `at`, the joint
        starts open.
        """
        from .joints.standard import Ball

        return self.add_joint(name, Ball(a, b, at, at_b=at_b))

    def attach(self, name: str, particles: Particle | Sequence[Particle], body: End) -> list[Joint]:
        """Attach particles to a body at their positions, by ball joints. Several joints are called "`name`[0]",
        "`name`[1]", ….
        """
        many = [particles] if isinstance(particles, Particle) else list(particles)
        if not all(isinstance(each, Particle) for each in many):
            raise ValueError(
                f"attach {name!r}: particles is {particles!r:.80}; give particles of a group, such as group[0] or group[:4]"
            )
        names = [name] if len(many) == 1 else [f"{name}[{i}]" for i in range(len(many))]
        return [self.ball(own, body, particle, particle.position) for own, particle in zip(names, many, strict=True)]

    def hinge(
        self, name: str, a: End, b: End, at: Point, axis: VectorLike, *, at_b: Point | None = None,
        axis_b: VectorLike | None = None,
    ) -> Joint:  # fmt: skip
        """Add a hinge: b turns about an axis of a. 5 constraints. The angle is 0 at the initial pose and follows the
        right-hand rule.
        """
        from .joints.standard import Hinge

        return self.add_joint(name, Hinge(a, b, at, axis, at_b=at_b, axis_b=axis_b))

    def slider(self, name: str, a: End, b: End, at: Point, axis: VectorLike, *, at_b: Point | None = None) -> Joint:
        """Add a slider: b slides along an axis of a without turning. 5 constraints."""
        from .joints.standard import Slider

        return self.add_joint(name, Slider(a, b, at, axis, at_b=at_b))

    def cylindrical(
        self, name: str, a: End, b: End, at: Point, axis: VectorLike, *, at_b: Point | None = None
    ) -> Joint:
        """Add a cylindrical joint: b slides along and turns about an axis of a. 4 constraints."""
        from .joints.standard import Cylindrical

        return self.add_joint(name, Cylindrical(a, b, at, axis, at_b=at_b))

    def universal(
        self, name: str, a: End, b: End, at: Point, axis_a: VectorLike, axis_b: VectorLike, *,
        at_b: Point | None = None,
    ) -> Joint:  # fmt: skip
        """Add a universal joint: `axis_a`, fixed in a, and `axis_b`, fixed in b, meet at a point at right angles. 4
        constraints.
        """
        from .joints.standard import Universal

        return self.add_joint(name, Universal(a, b, at, axis_a, axis_b, at_b=at_b))

    def weld(self, name: str, a: End, b: End, at: Point, *, at_b: Point | None = None) -> Joint:
        """Fix b to a at the initial pose. 6 constraints."""
        from .joints.standard import Weld

        return self.add_joint(name, Weld(a, b, at, at_b=at_b))

    def rod(
        self, name: str, a: End, b: End, at_a: Point | None = None, at_b: Point | None = None, *,
        length: float | None = None,
    ) -> Joint:  # fmt: skip
        """Add a massless rod: two points keep their distance (m; default: the initial distance). 1 constraint. A
        particle needs no point."""
        from .joints.standard import Rod

        return self.add_joint(name, Rod(a, b, at_a, at_b, length=length))

    def point_on_line(
        self, name: str, a: End, b: End, at: Point, axis: VectorLike, *, at_b: Point | None = None
    ) -> Joint:
        """Keep a point of b on a line of a through `at`. 2 constraints."""
        from .joints.standard import PointOnLine

        return self.add_joint(name, PointOnLine(a, b, at, axis, at_b=at_b))

    def point_on_plane(
        self, name: str, a: End, b: End, at: Point, normal: VectorLike, *, at_b: Point | None = None
    ) -> Joint:
        """Keep a point of b in a plane of a through `at`. 1 constraint."""
        from .joints.standard import PointOnPlane

        return self.add_joint(name, PointOnPlane(a, b, at, normal, at_b=at_b))

    def point_on_curve(self, name: str, a: End, b: End, at: Point, curve: Curve) -> Joint:
        """Keep the point `at` of b on a curve of a (a bead on a wire), given in world coordinates. 2 constraints."""
        from .joints.standard import PointOnCurve

        return self.add_joint(name, PointOnCurve(a, b, at, curve))

    def gear(self, name: str, first: str | Joint, second: str | Joint, ratio: float) -> Joint:
        """Couple two joints: coordinate of `second` = ratio × coordinate of `first`. 1 constraint.

        Two hinges are a pair of gears (with a negative ratio for external gears), a hinge and a slider a rack and
        pinion (ratio in m/rad).
        """
        from .joints.standard import Gear

        return self.add_joint(name, Gear(first, second, ratio))

    def add_motion(
        self, name: str, joint: str | Joint, motion: Callable[[float], float] | Keyframes | Literal["set"] | None = None, *,
        speed: float | None = None, coordinate: Coordinate | None = None,
    ) -> Joint:  # fmt: skip
        """Prescribe the coordinate of a hinge, slider or cylindrical joint, s = s(t). 1 constraint. s(0) must be 0, the
        initial pose, and initial velocities must match; otherwise pass assemble=True to the run.

        motion : a function of time (s) → s (rad or m), compiled by Numba, or plain Python, which is slower; or
            `Keyframes` of numbers; or "set": s is constant until `Simulation.set_motion` sets another value or speed.
        speed : in place of motion, s = speed · t (rad/s or m/s), until `Simulation.set_motion` changes it: an ideal
            motor without limit.
        coordinate : "angle" or "displacement", for a joint that has both.

        The required effort is in `Simulation.efforts`, and its work in the ledger, both under `name`. Raises ValueError
        and TypeError for invalid motions, naming the motion and the value.
        """
        from .joints.standard import PrescribedMotion

        return self.add_joint(name, PrescribedMotion(joint, motion, speed, coordinate))

    def constraint(
        self, name: str, bodies: Sequence[End], function: Callable[[Array, Array], VectorLike], rows: int, *,
        jacobian: Callable[[Array, Array], MatrixLike] | None = None,
        bias: Callable[[Array, Array, Array, Array], VectorLike] | None = None,
    ) -> Joint:  # fmt: skip
        """Add your own constraint, C(x, q) = 0, on up to four bodies.

        function : (x, q) → (rows,) with x (k, 3) positions in m and q (k, 4) quaternions of the k bodies; compiled by
            Numba, or plain Python, which is slower. Without `jacobian` its derivatives are computed by a complex step,
            so it must use analytic operations only (no abs, no comparisons).
        jacobian : (x, q) → (rows, 6 k), Ċ = J (v, ω, v, ω, …). bias : (x, q, v, ω) → (rows,), J̇ v.
        """
        self._new_name(name, self.joints, "constraint")
        owner = f"constraint {name!r}"
        require_arguments(owner, function, "x, q")
        frames = self._bodies(owner, bodies)
        if len({id(frame) for frame in frames}) < len(frames):
            raise ValueError(f"{owner}: a body is given twice; give each once")
        if not (1 <= rows <= 6 and 1 <= len(frames) <= 4):
            raise ValueError(f"{owner}: {rows} rows on {len(frames)} bodies; give 1 to 6 rows on 1 to 4 bodies")
        if (jacobian is None) != (bias is None):
            raise ValueError(f"{owner}: give both jacobian and bias, or neither")
        custom = Custom(frames, rows, function, jacobian, bias)
        at = frames[-1].position if hasattr(frames[-1], "position") else np.zeros(3)
        return self._add_joint(Joint(name, "constraint", frames[0], frames[-1], [], at, custom=custom))

    # Joint coordinates ------------------------------------------------------------------------------------------------

    def add_link(
        self, name: str, *, position: VectorLike = (0.0, 0.0, 0.0), orientation: VectorLike = (1.0, 0.0, 0.0, 0.0)
    ) -> Link:
        """Add a frame without mass, which joints connect like a body. Two hinges with a link between them are a
        universal joint with axes at any angle; three hinges are a shoulder. A link at the end of an arm is a tool
        frame.

        position : (3,) m. orientation : (w, x, y, z), link → world.

        The bodies that it carries must have mass. Links need joint coordinates, `coordinates="joint"`.
        """
        self._new_name(name, self.links, "link")
        self._new_name(name, self.bodies, "link")
        owner = f"link {name!r}"
        link = Link(
            name, real_array(owner, "position", position, (3,)), unit_quaternion(owner, "orientation", orientation)
        )
        self.links[name] = link
        return link

    def close_loop(self, joint: str | Joint) -> None:
        """Make a joint a loop constraint in joint coordinates, and not a part of the tree. By default the tree consists
        of the joints that are nearest to the world."""
        self._joint(f"loop of {getattr(joint, 'name', joint)!r}", joint).closes_loop = True

    def armature(self, joint: str | Joint, inertia: float) -> None:
        """Add the inertia of a rotor, reflected to the coordinate of the joint: kg m² on a hinge, kg on a slider.

        It adds ½ inertia ṡ² to the kinetic energy. Armatures need joint coordinates, `coordinates="joint"`.
        """
        owner = f"armature of {getattr(joint, 'name', joint)!r}"
        found, _ = self._coordinate(owner, joint, None)
        if found.angle and found.displacement:
            raise ValueError(f"{owner}: a {found.kind} joint has two coordinates; give a hinge or a slider")
        found.armature = finite(owner, "inertia", inertia, 0.0)
