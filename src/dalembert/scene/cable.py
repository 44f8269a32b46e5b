"""Cables: the elements of their path, the path at the initial pose, and `Scene.cable`.

The path is the shortest one in this order: straight between the elements, and on each cylinder a geodesic. `trace`
finds it for given poses, for the length at the start and for pictures; `dynamics.cables` does the same in a run, with
velocities, and explains the geometry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import VectorLike
from .body import WORLD, Body
from .joint import Frame, Link
from .particles import Particle
from .resolve import Resolver

if TYPE_CHECKING:
    from .forces.cable import ElasticCable, SlackCable
    from .joint import Joint

POINT, PULLEY, DRUM, BLOCK = range(4)  # the last: a pulley that swivels
ROUNDS, ROUNDING = 200, 1e-15
ALIKE = 1e-6  # two ways around a pulley that are as long (of its radius), or a way that is on neither side
LESS = 0.5  # of the cosine of the angle between side and contact: so much more decides
MISFIT = 1e-6  # of the length: a taut cable may be so much shorter than its path


@dataclass(frozen=True)
class Eye:
    """A point at which a cable ends, or through which it runs.

    body : a body, `WORLD` or a particle, or its name. at : (3,) m, world coordinates at the initial pose; not needed
    for a particle. friction : coefficient of friction in the eye, for cables with `stretch`.
    """

    body: str | Frame
    at: VectorLike | None = None
    friction: float = 0.0


@dataclass(frozen=True)
class Pulley:
    """A cylinder that a cable runs around.

    body : the body that is the pulley or carries it. at : (3,) m, its centre. axis : (3,) of the cylinder. radius : m,
    to the middle of the cable. side : (3,) the direction from the centre to the side on which the cable runs: (0, 0, 1)
    for over it, (0, 0, −1) for under it. turns : additional full turns. Without them the cable can leave the pulley
    when its straight path is free. friction : coefficient of friction, for cables with `stretch`. slips : False if the
    cable turns the body without slip; then the tensions on the two sides differ by the inertia of the body and other
    forces on it. swivels : True if the plane of the pulley follows the cable, as that of a block on a hook does.

    Points and directions are in world coordinates at the initial pose. The cylinder has no flanges: the cable can move
    along the axis, and slides off a body that rolls over. Use swivels=True for the pulley of a freely hanging load.
    """

    body: str | Frame
    at: VectorLike
    axis: VectorLike
    radius: float
    side: VectorLike
    turns: int = 0
    friction: float = 0.0
    slips: bool = True
    swivels: bool = False


@dataclass(frozen=True)
class Drum:
    """A cylinder onto which an end of a cable is wound. If the body turns, it takes in cable or pays it out.

    Arguments are those of `Pulley`, except: side : the direction from the centre to the point at which the cable leaves
    the drum. turns : turns of cable on the drum at the start.
    """

    body: str | Frame
    at: VectorLike
    axis: VectorLike
    radius: float
    side: VectorLike
    turns: float = 5.0


Item: TypeAlias = Eye | Pulley | Drum | tuple[str | Frame, VectorLike] | Particle


@dataclass
class Element:
    """One element of a path, in world coordinates at the initial pose, or at the pose that is drawn."""

    kind: int
    frame: Frame
    point: NDArray[np.float64]
    axis: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    side: NDArray[np.float64] = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    radius: float = 0.0
    sense: float = 1.0
    turns: float = 0.0
    friction: float = 0.0
    slips: bool = True
    endless: int = 0  # of a drum, 1: a pulley that the cable turns; 2: and in the plane of whose centre it runs
    wrap: float = 0.0  # rad, angle of contact, or wound on a drum


@dataclass
class Trace:
    """The path of a cable: where it arrives at and leaves each element, (n, 3) m; which elements it touches; angles of
    contact of pulleys (rad), arcs and the whole length, with what is wound on drums (m)."""

    arrives: NDArray[np.float64]
    leaves: NDArray[np.float64]
    on: NDArray[np.bool_]
    wraps: NDArray[np.float64]
    arcs: NDArray[np.float64]
    length: float


@dataclass(eq=False)
class CablePath:
    """A piece of a cable: its elements, and its length (m)."""

    elements: list[Element]
    length: float
    creep: float = 0.01  # m/s

    @property
    def bodies(self) -> list[Frame]:
        return [element.frame for element in self.elements]

    @property
    def moving(self) -> list[Frame]:
        """The frames that are not the world, each once."""
        return list(dict.fromkeys(frame for frame in self.bodies if frame is not WORLD))


@dataclass(frozen=True, eq=False)
class Cable:
    """A cable of a scene; made by `Scene.cable`. Its pieces are joints or forces of the scene: one piece, or, if the
    cable turns pulleys without slip, one on each side of them, called "`name`[0]", "`name`[1]", … in order."""

    name: str
    pieces: tuple[Joint | ElasticCable | SlackCable, ...]

    @property
    def length(self) -> float:
        """Total length (m), including the cable on drums."""
        return sum(path_of(piece).length for piece in self.pieces)


def path_of(piece: Any) -> CablePath:
    """The path of a piece of a cable."""
    return piece.cable  # type: ignore[no-any-return]


# The path at given poses --------------------------------------------------------------------------------------------------


def trace(elements: Sequence[Element]) -> Trace:
    """The path through these elements. Angles of contact are counted from `turns`."""
    n = len(elements)
    found = Trace(
        np.array([e.point for e in elements]), np.array([e.point for e in elements]), np.ones(n, bool), np.zeros(n),
        np.zeros(n), 0.0,
    )  # fmt: skip
    for _ in range(ROUNDS):
        before = np.array([found.arrives, found.leaves])
        for i, element in enumerate(elements):
            if element.kind == DRUM:
                _place_drum(i, element, found)
            elif element.kind != POINT:
                _place_pulley(i, element, found)
        if np.abs(before - [found.arrives, found.leaves]).max() <= ROUNDING * max(1.0, np.abs(before).max()):
            break
    on = np.flatnonzero(found.on)
    straight = found.arrives[on[1:]] - found.leaves[on[:-1]]
    found.length = float(np.linalg.norm(straight, axis=1).sum() + found.arcs.sum())
    return found


def _frame(element: Element) -> NDArray[np.float64]:
    """(3, 3): rows are two directions across the axis, and the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(element.axis)))]
    x = np.cross(helper, element.axis)
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(element.axis, x), element.axis])


def _tangent(p: NDArray[np.float64], radius: float, sense: float) -> tuple[NDArray[np.float64], float]:
    """The normal where the cable from p meets the circle, and the length of the straight part; see `dynamics.cables`."""
    square = float(p[:2] @ p[:2])
    r = min(radius, np.sqrt(square))
    straight = np.sqrt(max(square - r * r, 0.0))
    return (r * p[:2] + sense * straight * np.array([-p[1], p[0]])) / max(square, 1e-300), float(straight)


def _angle(n: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(np.arctan2(n[0] * m[1] - n[1] * m[0], n @ m))


def _neighbour(i: int, step: int, found: Trace) -> int:
    i += step
    while not found.on[i]:
        i += step
    return i


def _place_drum(i: int, element: Element, found: Trace) -> None:
    """Where the cable meets the drum at one end."""
    axes = _frame(element)
    other = found.leaves[_neighbour(i, -1, found)] if i > 0 else found.arrives[_neighbour(i, 1, found)]
    p = axes @ (other - element.point)
    n, straight = _tangent(p, element.radius, element.sense)
    found.arcs[i], rise = element.radius * element.wrap, p[2] if element.endless == 1 else 0.0
    if not element.endless:
        slope = p[2] / (straight + found.arcs[i])
        rise = p[2] - slope * straight
        found.arcs[i] *= np.hypot(1.0, slope)
    found.arrives[i] = found.leaves[i] = element.point + np.append(element.radius * n, rise) @ axes


def _is_free(p: NDArray[np.float64], q: NDArray[np.float64], radius: float, sense: float) -> bool:
    d = q[:2] - p[:2]
    foot, aside = -float(p[:2] @ d), sense * float(d[1] * p[0] - d[0] * p[1])
    square = float(d @ d)
    return 0.0 < foot < square and aside > 0.0 and aside * aside >= radius * radius * square


def _place_pulley(i: int, element: Element, found: Trace) -> None:
    """Where the cable arrives at the pulley and leaves it, and the angle between."""
    p = found.leaves[_neighbour(i, -1, found)] - element.point
    q = found.arrives[_neighbour(i, 1, found)] - element.point
    normal = np.cross(p, q)
    if element.kind == BLOCK and np.linalg.norm(normal) > 1e-12 * np.linalg.norm(p) * np.linalg.norm(q):
        element.axis = normal / np.linalg.norm(normal) * (1.0 if normal @ element.axis >= 0.0 else -1.0)
    axes = _frame(element)
    p, q = axes @ p, axes @ q
    found.on[i] = element.turns > 0 or not _is_free(p, q, element.radius, element.sense)
    if not found.on[i]:
        found.arcs[i] = found.wraps[i] = 0.0
        return
    n, before = _tangent(p, element.radius, element.sense)
    m, after = _tangent(q, element.radius, -element.sense)
    wrap = element.sense * _angle(n, m)
    wrap += (2.0 * np.pi if wrap < -1e-9 else 0.0) + 2.0 * np.pi * element.turns
    way = before + element.radius * wrap + after
    slope = (q[2] - p[2]) / way
    found.wraps[i] = wrap
    found.arcs[i] = element.radius * wrap * np.hypot(1.0, slope)
    found.arrives[i] = element.point + np.append(element.radius * n, p[2] + slope * before) @ axes
    found.leaves[i] = element.point + np.append(element.radius * m, q[2] - slope * after) @ axes


def drawn_points(elements: Sequence[Element], pieces: int = 24, each: int | None = None) -> NDArray[np.float64]:
    """(n, 3) points along the path of a cable, m, with arcs as polygons of `pieces` a turn. each : so many points for each
    pulley instead, also for one that the cable has left, so that n is the same for all poses."""
    found, points = trace(elements), []
    for i, element in enumerate(elements):
        if element.kind in (POINT, DRUM):
            points.append(found.arrives[i])
        elif found.on[i]:
            turn = 2.0 * np.pi / pieces
            points += _arc(i, element, found, each or max(2, int(np.ceil(found.wraps[i] / turn)) + 1))
        elif each:
            start, end = found.leaves[_neighbour(i, -1, found)], found.arrives[_neighbour(i, 1, found)]
            d = end - start
            share = np.clip((element.point - start) @ d / max(float(d @ d), 1e-300), 0.0, 1.0)
            points += [start + share * d] * each
    return np.array(points)


def _arc(i: int, element: Element, found: Trace, count: int) -> list[NDArray[np.float64]]:
    """So many points along the contact with a pulley."""
    axes = _frame(element)
    p = axes @ (found.arrives[i] - element.point)
    rise = (axes @ (found.leaves[i] - element.point))[2] - p[2]
    angles = np.arctan2(p[1], p[0]) + element.sense * found.wraps[i] * np.linspace(0.0, 1.0, count)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ axes[:2] * element.radius
    along = np.outer(p[2] + rise * np.linspace(0.0, 1.0, count), element.axis)
    return list(element.point + around + along)


# From what the user writes ------------------------------------------------------------------------------------------------


def resolve_path(items: Sequence[Item], resolver: Resolver) -> list[Element]:
    """The elements of a path, with senses and wound angles. Raises ValueError, naming the element and the value."""
    owner = resolver.owner
    if isinstance(items, str) or not isinstance(items, Sequence) or len(items) < 2:
        raise ValueError(
            f"{owner}: a path needs at least two elements; give path=[(body, point), ..., (body, point)], with Pulley "
            "and Drum for cylinders"
        )
    elements = [_element(i, item, resolver) for i, item in enumerate(items)]
    last = len(elements) - 1
    for i, element in enumerate(elements):
        if element.kind in (PULLEY, BLOCK) and i in (0, last):
            raise ValueError(
                f"{owner}: path[{i}] is a Pulley, but a cable must end at an Eye, a (body, point) or a Drum"
            )
        if element.kind == DRUM and 0 < i < last:
            raise ValueError(f"{owner}: path[{i}] is a Drum, but only an end of a cable can be on a Drum; use a Pulley")
    for i, element in enumerate(elements):
        if element.kind != POINT:
            _require_outside(i, element, elements, owner)
    for i, element in enumerate(elements):
        if element.kind != POINT:
            element.sense = _sense(i, element, elements, owner)
    for element in elements:
        element.wrap = 2.0 * np.pi * element.turns
    _wind_drums(elements, trace(elements))
    return elements


def _element(i: int, item: Item, resolver: Resolver) -> Element:
    """One element, without its sense."""
    name = f"path[{i}]"
    if isinstance(item, Particle):
        item = Eye(item)
    elif isinstance(item, tuple) and len(item) == 2:
        item = Eye(*item)
    if isinstance(item, Eye):
        frame = resolver.frame(item.body)
        friction = resolver.number(f"{name}.friction", item.friction, 0.0)
        return Element(POINT, frame, resolver.point(f"{name}.at", frame, item.at), friction=friction)
    if isinstance(item, Body):
        raise ValueError(f"{resolver.owner}: {name} is body {item.name!r}, without a point; give (body, point)")
    if not isinstance(item, Pulley | Drum):
        raise ValueError(
            f"{resolver.owner}: {name} is {item!r:.60}; give (body, point), a particle, an Eye, a Pulley or a Drum"
        )
    frame = resolver.frame(item.body)
    if isinstance(frame, Particle):
        raise ValueError(f"{resolver.owner}: {name} is on {frame.name}, a particle, which has no axes; use a body")
    axis, side = resolver.unit(f"{name}.axis", item.axis), resolver.unit(f"{name}.side", item.side)
    across = side - (side @ axis) * axis
    if np.linalg.norm(across) < ALIKE:
        raise ValueError(
            f"{resolver.owner}: {name}.side {side.tolist()} is along the axis, so the side of the cable is "
            "undefined; give the direction from the centre to the cable"
        )
    drum = isinstance(item, Drum)
    turns = resolver.number(f"{name}.turns", item.turns, 0.0)
    if not drum and turns != int(turns):
        raise ValueError(f"{resolver.owner}: {name}.turns is {turns:g}; give the number of full turns, 0 or more")
    swivels = isinstance(item, Pulley) and item.swivels
    if isinstance(item, Pulley) and item.swivels and not item.slips:
        raise ValueError(
            f"{resolver.owner}: {name} swivels and does not slip, which exclude each other; leave one of them out"
        )
    return Element(
        DRUM if drum else BLOCK if swivels else PULLEY, frame, resolver.point(f"{name}.at", frame, item.at), axis,
        across / np.linalg.norm(across), resolver.positive(f"{name}.radius", item.radius, "m"), 1.0, turns,
        0.0 if isinstance(item, Drum) else resolver.number(f"{name}.friction", item.friction, 0.0),
        True if isinstance(item, Drum) else bool(item.slips),
    )  # fmt: skip


def _require_outside(i: int, element: Element, elements: Sequence[Element], owner: str) -> None:
    """Raises ValueError for a neighbour inside the cylinder."""
    for j in (i - 1, i + 1):
        if 0 <= j < len(elements):
            other = elements[j]
            gap = other.point - element.point
            distance = float(np.linalg.norm(gap - (gap @ element.axis) * element.axis))
            if distance <= (element.radius if other.kind == POINT else abs(element.radius - other.radius) + 1e-12):
                what = "the point" if other.kind == POINT else "the centre"
                raise ValueError(
                    f"{owner}: {what} of path[{j}] is {distance:.3g} m from the axis of path[{i}], inside its radius of "
                    f"{element.radius:g} m; move one of them, or give a smaller radius"
                )


def _sense(i: int, element: Element, elements: Sequence[Element], owner: str) -> float:
    """The sense of the turn that keeps the cable on the given side; of two such turns that of the shorter way, whose straight
    parts do not cross. The neighbours are where they have their own sides."""
    axes = _frame(element)
    side = (axes @ element.side)[:2]
    ends = [elements[j] for j in (i - 1, i + 1) if 0 <= j < len(elements)]
    near = [axes @ (end.point + end.radius * end.side - element.point) for end in ends]
    ways = [_way(element, sense, near) for sense in (1.0, -1.0)]
    scores = [float(middle @ side) for middle, _ in ways]
    best = max(scores)
    wanted = [k for k in (0, 1) if scores[k] > ALIKE and scores[k] > best - LESS]
    if len(wanted) == 1:
        return (1.0, -1.0)[wanted[0]]
    if not wanted or abs(ways[0][1] - ways[1][1]) < ALIKE * element.radius:
        raise ValueError(
            f"{owner}: path[{i}].side {np.round(element.side, 6).tolist()} does not determine the side of the "
            "cable; give the direction from the centre to the cable"
        )
    return 1.0 if ways[0][1] < ways[1][1] else -1.0


def _way(element: Element, sense: float, near: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
    """The direction from the axis to the middle of the contact, and the length of the way, in the plane."""
    n, before = _tangent(near[0], element.radius, sense)
    if element.kind == DRUM:
        return n, before
    p, q = near
    if _is_free(p, q, element.radius, sense):
        d = (q - p)[:2]
        middle = p[:2] - d * (p[:2] @ d) / (d @ d)
        return middle / np.linalg.norm(middle), float(np.linalg.norm(d))
    m, after = _tangent(q, element.radius, -sense)
    wrap = (sense * _angle(n, m)) % (2.0 * np.pi)
    half = 0.5 * wrap * sense
    middle = np.array([n[0] * np.cos(half) - n[1] * np.sin(half), n[0] * np.sin(half) + n[1] * np.cos(half)])
    return middle, before + element.radius * wrap + after


def _wind_drums(elements: Sequence[Element], found: Trace) -> None:
    """Set the angles of contact, and the sides of drums to where their cable is fixed."""
    for i, element in enumerate(elements):
        if element.kind in (PULLEY, BLOCK):
            element.wrap = float(found.wraps[i])
        elif element.kind == DRUM:
            element.side = _turned(element, found.arrives[i], element.sense * element.wrap)


def _turned(element: Element, contact: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """The direction to a contact from the axis, turned about the axis."""
    n = contact - element.point
    n = n - (n @ element.axis) * element.axis
    n /= np.linalg.norm(n)
    return np.cos(angle) * n + np.sin(angle) * np.cross(element.axis, n)


def cut(elements: Sequence[Element]) -> list[list[Element]]:
    """The pieces of a path between pulleys that the cable turns. Each piece ends on such a pulley as on a drum, fixed to it
    in the middle of the arc at the start."""
    found = trace(elements)
    pieces: list[list[Element]] = [[]]
    for i, element in enumerate(elements):
        if element.kind in (POINT, DRUM) or element.slips:
            pieces[-1].append(element)
            continue
        middle = _turned(element, found.arrives[i], 0.5 * element.sense * element.wrap)
        ends = replace(element, kind=DRUM, side=middle, wrap=0.5 * element.wrap)
        pieces[-1].append(replace(ends, endless=1))
        pieces.append([replace(ends, sense=-element.sense, endless=1)])
    for piece in pieces:
        if all(element.kind in (PULLEY, BLOCK) or element.endless for element in piece):
            piece[0].endless = 2
    return pieces


def length_of(elements: Sequence[Element]) -> float:
    """The length of a piece at the initial pose (m), with what is wound on drums."""
    return trace(elements).length


def elements_at(path: CablePath, pose: Callable[[Frame], tuple[Any, Any] | None]) -> list[Element]:
    """The elements of a path at other poses. pose : frame → position (3,) and rotation matrix (3, 3), world axes; None: as at
    the start."""
    moved = []
    for element in path.elements:
        where, start = pose(element.frame), element.frame
        if where is None or start is WORLD:
            moved.append(element)
            continue
        x, turn = np.asarray(where[0], float), np.asarray(where[1], float)
        if isinstance(start, Body | Link):
            turn = turn @ start.rotation.T
            point = x + turn @ (element.point - start.position)
        else:
            point, turn = x, np.eye(3)
        moved.append(replace(element, point=point, axis=turn @ element.axis, side=turn @ element.side))
    return moved


class CableMethods:
    """The method of `Scene` that adds cables."""

    add_joint: Callable[..., Joint]
    add_force: Callable[..., Any]

    def cable(
        self, name: str, path: Sequence[Item], *, length: float | None = None, slack: bool = False,
        stretch: float | None = None, damping: float = 0.0, creep: float = 0.01,
    ) -> Cable:  # fmt: skip
        """A cable without mass through eyes, around pulleys and onto drums.

        path : its elements in order, at least two: (body, point), a particle, `Eye`, `Pulley`, `Drum`. The ends are
            points or drums. Points are in world coordinates at the initial pose.
        length : total length, including the cable on drums (m). Default: the length of the path at the start.
        slack : False: the cable stays taut; its length is an equality constraint, which can also push. True: the length
            is an upper limit, and the cable can go slack. Such a cable acts on at most two bodies and needs method
            "time_stepping".
        stretch : E A (N), for an elastic cable. Its tension is E A (ℓ − length)/length + damping · ℓ̇, and never
            negative. damping : N s/m.
        creep : m/s. Friction on pulleys and eyes grows with the sliding speed and is full from this speed on. Friction
            needs `stretch`.

        Returns the `Cable`; its pieces are in `joints` or `forces`. Raises ValueError, naming the element and the
        value.

        >>> import dalembert as dal
        >>> scene = dal.Scene("Atwood's machine")
        >>> left = scene.add_body("left", dal.Sphere(0.05), mass=1.0, position=(-0.2, 0, 0))
        >>> right = scene.add_body("right", dal.Sphere(0.05), mass=2.0, position=(0.2, 0, 0))
        >>> over = dal.Pulley(dal.WORLD, at=(0, 0, 1), axis=(0, 1, 0), radius=0.2, side=(0, 0, 1))
        >>> rope = scene.cable("rope", [(left, (-0.2, 0, 0)), over, (right, (0.2, 0, 0))])
        >>> round(rope.length, 4)
        2.6283
        """
        from .forces.cable import ElasticCable, SlackCable
        from .joints.cable import TautCable

        resolver = Resolver(self, f"cable {name!r}")
        elements = resolve_path(path, resolver)
        _require_frictionless(elements, stretch, resolver)
        pieces = cut(elements)
        at_start = [length_of(piece) for piece in pieces]
        whole = sum(at_start) if length is None else resolver.positive("length", length, "m")
        _require_length(whole, sum(at_start), stretch is not None, slack, resolver)
        pace = resolver.positive("creep", creep, "m/s")
        paths = [
            CablePath(piece, own * whole / sum(at_start), pace) for piece, own in zip(pieces, at_start, strict=True)
        ]
        names = [name] if len(pieces) == 1 else [f"{name}[{i}]" for i in range(len(pieces))]
        made: list[Any] = []
        for own, piece in zip(names, paths, strict=True):
            if stretch is not None:
                made.append(self.add_force(own, ElasticCable(piece, stretch=stretch, damping=damping)))
            elif slack:
                made.append(self.add_force(own, SlackCable(piece)))
            else:
                made.append(self.add_joint(own, TautCable(piece)))
        return Cable(name, tuple(made))


def _require_frictionless(elements: Sequence[Element], stretch: float | None, resolver: Resolver) -> None:
    """Raises ValueError for friction without stretch."""
    for i, element in enumerate(elements):
        if element.friction > 0.0 and stretch is None:
            raise ValueError(
                f"{resolver.owner}: path[{i}].friction is {element.friction:g}, but only cables with stretch have friction; "
                "give stretch=E A in N (a large value for a stiff cable)"
            )


def _require_length(whole: float, at_start: float, stretches: bool, slack: bool, resolver: Resolver) -> None:
    """Raises ValueError for a length that does not fit the path at the start."""
    if stretches:
        return
    if whole < at_start * (1.0 - MISFIT):
        raise ValueError(
            f"{resolver.owner}: its length {whole:g} m is less than that of its path at the start, {at_start:.6g} m; "
            "leave length out, move the bodies, or give stretch=E A for an elastic cable"
        )
    if not slack and whole > at_start * (1.0 + MISFIT):
        raise ValueError(
            f"{resolver.owner}: its length {whole:g} m is more than that of its path at the start, {at_start:.6g} m, but a "
            "taut cable must be as long as its path; leave length out, or give slack=True"
        )
