"""Joints as the user describes them: compositions of parts, written in world coordinates at the initial pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .body import Body, World
from .checks import finite, real_array, rotation_matrix, unit_quaternion
from .particles import Particle

# ----------------------------------------------------------------------------------------------------------------------
# The methods of `Scene` for articulated models: links without mass, and the inertia of rotors.


@dataclass(frozen=True, eq=False)
class Link:
    """A frame without mass, between joints; made by `Scene.add_link`."""

    name: str
    position: np.ndarray  # (3,) world, m
    orientation: tuple[float, float, float, float]

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, link → world."""
        return rotation_matrix(self.orientation)

    def to_body(self, point: np.ndarray) -> np.ndarray:
        """A world point in the frame of the link (m)."""
        return self.rotation.T @ (point - self.position)


class Articulations:
    """What only joint coordinates can run."""

    _new_name: Callable[..., None]
    _coordinate: Callable[..., tuple[Any, str]]
    _joint: Callable[..., Any]

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, Link] = {}

    def add_link(
        self, name: str, *, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    ) -> Link:
        """Add a frame without mass, which joints connect like a body: two hinges and a link between them make a universal
        joint whose axes may be at any angle, three a shoulder; a link at the end of an arm is its tool frame.

        position : (3,) m. orientation : (w, x, y, z), link → world.

        What it carries must have mass. A run with links takes joint coordinates, `coordinates="joint"`.
        """
        self._new_name(name, self.links, "link")
        self._new_name(name, self.bodies, "link")  # type: ignore[attr-defined]
        owner = f"link {name!r}"
        link = Link(
            name, real_array(owner, "position", position, (3,)), unit_quaternion(owner, "orientation", orientation)
        )
        self.links[name] = link
        return link

    def close_loop(self, joint: Any) -> None:
        """Take a joint as one that closes a loop in joint coordinates: a constraint on them, and not a part of the tree. Else
        the tree is made of the joints that are nearest to the world."""
        self._joint(f"loop of {getattr(joint, 'name', joint)!r}", joint).closes_loop = True

    def armature(self, joint: Any, inertia: float) -> None:
        """The inertia of a motor's rotor, as the joint's coordinate feels it: kg m² on a hinge, kg on a slider.

        It adds ½ inertia ṡ² to the kinetic energy. A run with one takes joint coordinates, `coordinates="joint"`.
        """
        owner = f"armature of {getattr(joint, 'name', joint)!r}"
        found, _ = self._coordinate(owner, joint, None)
        if found.angle and found.displacement:
            raise ValueError(f"{owner}: a {found.kind} joint has two coordinates; give a hinge or a slider")
        found.armature = finite(owner, "inertia", inertia, 0.0)


# ----------------------------------------------------------------------------------------------------------------------

Frame = Body | Link | World | Particle


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
    axis: np.ndarray  # (3,) world axes, at the initial pose
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
    at: np.ndarray  # where reactions act: on b, world coordinates at the initial pose
    axis: np.ndarray | None = None
    angle: bool = False
    displacement: bool = False
    steps: tuple[Step, ...] | None = None
    armature: float = 0.0  # kg m² or kg, see `Scene.armature`
    closes_loop: bool = False  # see `Scene.close_loop`
    curve: Curve | None = None
    coupling: Coupling | None = None
    custom: Custom | None = None

    @property
    def bodies(self) -> tuple[Frame, ...]:
        if self.coupling is not None:
            first, second = self.coupling.joints
            return (first.a, first.b, second.a, second.b)
        return (self.a, self.b) if self.custom is None else tuple(self.custom.bodies)

    @property
    def rows(self) -> int:
        if self.custom is not None:
            return self.custom.rows
        return 1 if self.coupling is not None else sum(part.rows for part in self.parts)

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
    closed : whether the curve closes on itself smoothly. An open one goes on straight past its ends.
    pieces : number of pieces; their error falls as its sixth power.

    >>> import numpy as np
    >>> ring = Curve(lambda s: (np.cos(s), np.sin(s), 0.0), 0.0, 2 * np.pi, closed=True)
    """

    function: Callable[[float], Any]
    first: float
    last: float
    closed: bool = False
    pieces: int = 256
    _table: list[np.ndarray] = field(default_factory=list, repr=False, compare=False)

    def table(self) -> np.ndarray:
        """The flat table that `mechanics.curve` reads."""
        if not self._table:
            self._table.append(_tabulate(self))
        return self._table[0]

    def points(self, count: int = 200) -> np.ndarray:
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
        raise ValueError("curve: two points of it coincide; it must move with its parameter")
    if curve.closed and np.linalg.norm(points[0, 0] - points[-1, -1]) > 1e-9 * extent:
        raise ValueError("curve: it is called closed, but its ends differ; give closed=False, or the full period")
    coefficients = np.linalg.solve(np.vander(nodes, increasing=True), points)
    coefficients /= (width ** np.arange(6))[None, :, None]
    return np.concatenate([[float(curve.closed), curve.first, width, float(curve.pieces)], coefficients.ravel()])
