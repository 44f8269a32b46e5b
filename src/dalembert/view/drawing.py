"""Drawable parts of a run: checked meshes, particles, colours, links and curves.

The scene description may come from an untrusted file, so everything is checked here, once, for the report, the viewer and
still pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.kernel import array, kernel, out
from ..simulation.trajectory import particle_span
from .cables import CableDrawing, parse_cables
from .camera import rotate, thinned
from .frames import COLORS, checked_array, checked_color, checked_indices, checked_items
from .sensor_drawing import SensorDrawing, parse_sensors

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory


# Groups of particles: dots, threads and surfaces ----------------------------------------------------------------------
#
# A group with faces is a surface (cloth, the skin of a soft body) whose vertices are its particles; one with segments is a
# thread or a net of them; the particles of one with neither are free, and drawn as dots.

BACK = 0.75  # brightness of a surface's back, its front being 1; in report_particles.js too
POINT_RADIUS = 0.003  # of the picture's size: a particle without a radius of its own


@dataclass(frozen=True)
class ParticleDrawing:
    """One group: `number` particles from the index `first` on; segments (n, 2) and faces (m, 3) are indices within it.

    `radius` (m) is 0 for points. `colors` (number, 3), 0 to 255, are None where all have the group's `color`.
    """

    name: str
    first: int
    number: int
    color: str
    radius: float
    segments: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None = None

    @property
    def rgb(self) -> np.ndarray:
        """The colour of every particle as red, green and blue, 0 to 255: (number, 3) uint8."""
        return np.tile(np.array(rgb_of(self.color), np.uint8), (self.number, 1)) if self.colors is None else self.colors

    @property
    def span(self) -> slice:
        """Where the group lies among all particles."""
        return slice(self.first, self.first + self.number)

    @property
    def free(self) -> bool:
        """Whether nothing is drawn between its particles."""
        return not len(self.segments) and not len(self.faces)

    @property
    def dots(self) -> np.ndarray:
        """Which of its particles are drawn as dots, indices within it: none of a surface; of a thread without a radius
        those on no segment."""
        if len(self.faces):
            return np.zeros(0, np.int64)
        every = np.arange(self.number)
        return np.setdiff1d(every, self.segments) if self.radius == 0.0 else every

    def dot_radius(self, size: float) -> float:
        """Radius of its dots in a picture of this size, m."""
        return self.radius or POINT_RADIUS * size


def parse_particles(description: Mapping[str, Any], recorded: int | None = None) -> list[ParticleDrawing]:
    """The groups of a scene description, checked; `recorded` is how many particles a run has, None where not known.

    Particles that a run has and no description speaks of are one group.

    Raises:
        ValueError: a group that cannot be drawn; the message names it.
    """
    items = checked_items(description, "particles")
    if not items and recorded:
        items = [{"name": "particles", "first": 0, "number": recorded}]
    return [_group(item, i, recorded) for i, item in enumerate(items)]


def _group(item: Mapping[str, Any], index: int, recorded: int | None) -> ParticleDrawing:
    span = particle_span(item, recorded) if recorded is not None else particle_span(item)
    name, number = str(item.get("name", "particles")), span.stop - span.start
    what = f"particles {name[:80]!r}"
    radius = float(checked_array(item.get("radius") or 0.0, (), f"{what}: radius"))
    if radius < 0.0:
        raise ValueError(f"{what}: radius must not be negative")
    colors = item.get("colors")
    if colors is not None:
        if not isinstance(colors, list) or len(colors) != number:
            raise ValueError(f"{what}: colors must be a list of {number}, one per particle")
        colors = np.array([rgb_of(checked_color(color, what)) for color in colors], np.uint8).reshape(-1, 3)
    return ParticleDrawing(
        name,
        span.start,
        number,
        checked_color(item.get("color") or COLORS[index % len(COLORS)], what),
        radius,
        checked_indices(item.get("segments"), 2, number, f"{what}: segments"),
        checked_indices(item.get("faces"), 3, number, f"{what}: faces"),
        colors,
    )


def rgb_of(color: str) -> tuple[int, int, int]:
    """#rrggbb as red, green and blue, 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def chosen_particles(groups: Sequence[ParticleDrawing], most: int, also: Sequence[int] = ()) -> np.ndarray:
    """Which particles to draw so that at most about `most` free ones are: indices over all particles, ascending.

    Where there are more, each group of free particles keeps the same share of its own, picked at random, the same at all
    times and in every view. Threads, surfaces, and the particles `also` (ends of springs and joints) are all kept.
    """
    free = sum(group.number for group in groups if group.free)
    chosen = [np.array(also, np.int64)]
    for group in groups:
        some = np.arange(group.number)
        if group.free and free > most:
            count = min(group.number, max(1, group.number * most // free))
            some = np.random.default_rng(0).choice(group.number, count, replace=False)
        chosen.append(group.first + some)
    return np.unique(np.concatenate(chosen))


def regrouped(groups: Sequence[ParticleDrawing], rows: np.ndarray) -> list[ParticleDrawing]:
    """The groups over the particles `rows` (ascending) alone, which must hold all of every thread and surface."""
    found = []
    for group in groups:
        first, last = np.searchsorted(rows, (group.first, group.first + group.number))
        kept = rows[first:last] - group.first
        colors = None if group.colors is None else group.colors[kept]
        found.append(replace(group, first=int(first), number=int(last - first), colors=colors))
    return found


def thinning_note(groups: Sequence[ParticleDrawing], drawn: Sequence[ParticleDrawing]) -> str:
    """What to say where not all free particles are drawn; empty where all are."""
    all_free, shown = (sum(group.number for group in some if group.free) for some in (groups, drawn))
    return f"{shown:,} of {all_free:,} free particles are drawn".replace(",", "\u202f") if shown < all_free else ""


# The drawing of a scene -----------------------------------------------------------------------------------------------

MARKED = 4.0  # radii of the largest body held by joints
NOWHERE = ("gear", "motion", "point_on_curve")  # joints that join nothing at their ends, which are not marked
STRAIGHT_KINDS = ("distance", "rod", "rope", "tether", "cable")


@dataclass(frozen=True)
class BodyDrawing:
    """One body: its mesh in the shape's frame, vertices (n, 3) m and faces (m, 3), and its centre of mass there, m.

    `position` (3,) m and `orientation` (w, x, y, z) are where a body that was not recorded stands. `radius` (m) is the
    size of the ball drawn for a body without a mesh.
    """

    name: str
    mass: float | None
    color: str
    shape: str
    vertices: np.ndarray
    faces: np.ndarray
    center: np.ndarray
    radius: float | None
    position: np.ndarray
    orientation: np.ndarray

    @property
    def rgb(self) -> tuple[int, int, int]:
        """The colour as red, green and blue, 0 to 255."""
        return rgb_of(self.color)

    @property
    def bound(self) -> float:
        """Radius of a ball around the centre of mass that holds the mesh, m."""
        if len(self.vertices):
            return float(np.linalg.norm(self.vertices - self.center, axis=1).max())
        return self.radius or 0.0

    @property
    def box(self) -> np.ndarray:
        """The lowest and the highest corner, (2, 3) m, of the mesh in axes of the body, from its centre of mass."""
        if len(self.vertices):
            return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]) - self.center
        return (self.radius or 0.0) * np.array([[-1.0] * 3, [1.0] * 3])


class End(NamedTuple):
    """Where a link ends: on a body (its index, −1 for none) at an anchor (3,) in its frame, on a particle (its index over
    all, −1 for none), or, on neither, at the anchor in the world; m."""

    body: int
    particle: int
    anchor: np.ndarray

    @property
    def fixed(self) -> bool:
        """Whether it stands still in the world."""
        return self.body < 0 and self.particle < 0

    def at(self, position: np.ndarray, orientation: np.ndarray, particles: np.ndarray) -> np.ndarray:
        """Where it is, (3,) m, with the bodies at position (b, 3) and orientation (b, 4), the particles at (p, 3)."""
        if self.particle >= 0:
            return particles[self.particle]
        return self.anchor if self.body < 0 else position[self.body] + rotate(orientation[self.body], self.anchor)


@dataclass(frozen=True)
class LinkDrawing:
    """A joint or spring between two ends.

    `axis` (3,) is the unit vector of a hinge or slider in the first body's frame, None for joints without one.
    """

    name: str
    kind: str
    a: End
    b: End
    coils: int = 0
    until: float = np.inf  # when it was let go, s
    axis: np.ndarray | None = None

    @property
    def is_marked(self) -> bool:
        """Whether its ends are marked: not where both are particles, which show where it ends."""
        return self.kind not in NOWHERE and (self.a.particle < 0 or self.b.particle < 0)


@dataclass(frozen=True)
class CurveDrawing:
    """A fixed polyline: points (n, 3) in m, world axes."""

    name: str
    points: np.ndarray


@dataclass(frozen=True)
class SceneDrawing:
    """Everything to draw; the recorded bodies come first, in the trajectory's order."""

    bodies: list[BodyDrawing]
    joints: list[LinkDrawing]
    springs: list[LinkDrawing]
    curves: list[CurveDrawing]
    particles: list[ParticleDrawing]
    cables: list[CableDrawing] = field(default_factory=list)
    sensors: list[SensorDrawing] = field(default_factory=list)

    @property
    def links(self) -> list[LinkDrawing]:
        """All joints and springs."""
        return self.joints + self.springs

    def mark_size(self, size: float) -> float:
        """The length (m) that marks of joints and coils of springs are relative to: that of the picture, or less where the
        bodies that they hold are small in it."""
        held = {end.body for link in self.links for end in (link.a, link.b) if end.body >= 0}
        largest = max((self.bodies[b].bound for b in held), default=0.0)
        return min(size, MARKED * largest) if largest > 0.0 else size

    @property
    def lines(self) -> list[LinkDrawing]:
        """The links drawn as lines: springs, and joints that keep a distance."""
        return self.springs + [joint for joint in self.joints if joint.kind in STRAIGHT_KINDS]


def parse_scene(
    description: Mapping[str, Any], recorded: Sequence[str] | None = None, particles: int | None = None
) -> SceneDrawing:
    """Check a scene description; bodies named in `recorded` come first, in that order.

    particles: how many were recorded, None where that is not known yet.

    Raises:
        ValueError: a mesh, colour, anchor, group or name cannot be drawn; the message names the object.
    """
    described = {str(item.get("name")): item for item in checked_items(description, "bodies")}
    names = list(described) if recorded is None else [*recorded, *(n for n in described if n not in set(recorded))]
    bodies = [_body(name, described.get(name, {}), i) for i, name in enumerate(names)]
    index = {name: i for i, name in enumerate(names)}
    groups = parse_particles(description, particles)
    total = max((group.span.stop for group in groups), default=0) if particles is None else particles
    joints = [_link(item, index, total, "joint") for item in checked_items(description, "joints")]
    springs = [_link(item, index, total, "spring") for item in checked_items(description, "springs")]
    curves = []
    for item in checked_items(description, "curves"):
        name = str(item.get("name", "curve"))
        curves.append(CurveDrawing(name, checked_array(item.get("points", []), (-1, 3), f"curve {name!r}: points")))
    cables = parse_cables(checked_items(description, "cables"), index)
    return SceneDrawing(bodies, joints, springs, curves, groups, cables, parse_sensors(description, index))


def thinned_scene(drawing: SceneDrawing, most: int) -> tuple[SceneDrawing, np.ndarray]:
    """The scene with at most about `most` free particles, and the indices (n,) of those it has; see `chosen_particles`."""
    ends = [end.particle for link in drawing.links for end in (link.a, link.b) if end.particle >= 0]
    rows = chosen_particles(drawing.particles, most, ends)

    def moved(link: LinkDrawing) -> LinkDrawing:
        a, b = (
            end._replace(particle=int(np.searchsorted(rows, end.particle))) if end.particle >= 0 else end
            for end in (link.a, link.b)
        )
        return replace(link, a=a, b=b)

    joints, springs = [moved(joint) for joint in drawing.joints], [moved(spring) for spring in drawing.springs]
    thinned = replace(drawing, joints=joints, springs=springs, particles=regrouped(drawing.particles, rows))
    return thinned, rows


def _body(name: str, item: Mapping[str, Any], index: int) -> BodyDrawing:
    what = f"body {name!r}"
    vertices = checked_array(item.get("vertices") or [], (-1, 3), f"{what}: vertices")
    faces = checked_array(item.get("faces") or [], (-1, 3), f"{what}: faces").astype(np.int64)
    if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise ValueError(f"{what}: a face has an index beyond the {len(vertices)} vertices")
    color = checked_color(item.get("color") or COLORS[index % len(COLORS)], what)
    center = checked_array(item.get("center") or (0, 0, 0), (3,), f"{what}: center")
    found = item.get("shape")
    shape: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    radius = shape.get("radius")
    mass = item.get("mass")
    return BodyDrawing(
        name,
        float(mass) if isinstance(mass, int | float) and np.isfinite(mass) else None,
        color,
        _shape_text(shape),
        vertices,
        faces,
        center,
        float(radius) if isinstance(radius, int | float) and 0 < radius < np.inf else None,
        checked_array(item.get("position") or center, (3,), f"{what}: position") if "position" in item else center,
        checked_array(item.get("orientation") or (1, 0, 0, 0), (4,), f"{what}: orientation"),
    )


def _shape_text(shape: Mapping[str, Any]) -> str:
    kind = str(shape.get("kind", shape.get("type", "mesh" if shape else "point")))
    sizes = [f"{key.replace('_', ' ')} {_brief(v)}" for key, v in shape.items() if key not in ("kind", "type")]
    return ", ".join([kind, *(text for text in sizes if len(text) < 48)])


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(_brief(v) for v in value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _link(item: Mapping[str, Any], index: Mapping[str, int], particles: int, default: str) -> LinkDrawing:
    name = str(item.get("name", default))
    kind = str(item.get("kind", default))
    until, axis = item.get("until"), None
    if item.get("axis_a") is not None:
        axis = checked_array(item["axis_a"], (3,), f"{default} {name!r}: axis_a")
        axis = axis / (np.linalg.norm(axis) or 1.0)
    return LinkDrawing(
        name, kind, _end(item, "a", index, particles, f"{default} {name!r}"),
        _end(item, "b", index, particles, f"{default} {name!r}"), coils=10 if kind == "spring" else 0,
        until=float(until) if isinstance(until, int | float) else np.inf, axis=axis,
    )  # fmt: skip


def _end(item: Mapping[str, Any], which: str, index: Mapping[str, int], particles: int, what: str) -> End:
    particle = item.get(f"particle_{which}")
    if particle is not None:
        if not isinstance(particle, int) or isinstance(particle, bool) or not 0 <= particle < particles:
            raise ValueError(f"{what}: there is no particle {str(particle)[:40]} (there are {particles})")
        return End(-1, particle, np.zeros(3))
    body = item.get(f"body_{which}")
    if body not in (None, "", "world") and body not in index:
        raise ValueError(f"{what}: there is no body {body!r}")
    anchor = checked_array(item.get(f"anchor_{which}") or (0, 0, 0), (3,), f"{what}: anchor_{which}")
    return End(index.get(body, -1) if body else -1, -1, anchor)


# Normals of meshes: smooth between faces at small angles, with edges elsewhere ----------------------------------------

CREASE = 0.766  # cosine of 40°: faces that lean more than that have an edge between them


def smooth_normals(vertices: np.ndarray, faces: np.ndarray, crease: float = CREASE) -> np.ndarray:
    """Unit normals (m, 3, 3) at the corners of faces (m, 3), smooth where neighbours lean little."""
    _, same = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    joined = same.reshape(-1)[faces]
    triangles = vertices[faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    around = np.argsort(joined.ravel(), kind="stable") // 3
    starts = np.concatenate([[0], np.cumsum(np.bincount(joined.ravel(), minlength=len(vertices)))])
    found = np.empty((len(faces), 3, 3))
    corner_normals(np.ascontiguousarray(joined), normals, starts, around, crease, found)
    return found


@kernel
def corner_normals(
    faces: array(2, np.int64), normals: array(2), starts: array(1, np.int64), around: array(1, np.int64), least: float,
    found: out(3),
) -> None:  # fmt: skip
    """Normals (m, 3, 3) at the corners of faces (m, 3): the sum of the normals (m, 3; as long as the face is large) of the
    faces around that corner that lean by no more than the angle with cosine `least`. around[starts[v]:starts[v + 1]]
    are the faces at vertex v."""
    for f in range(len(faces)):
        nx, ny, nz = normals[f, 0], normals[f, 1], normals[f, 2]
        own = math.sqrt(nx * nx + ny * ny + nz * nz)
        for k in range(3):
            sx = sy = sz = 0.0
            for at in range(starts[faces[f, k]], starts[faces[f, k] + 1]):
                g = around[at]
                gx, gy, gz = normals[g, 0], normals[g, 1], normals[g, 2]
                if nx * gx + ny * gy + nz * gz >= least * own * math.sqrt(gx * gx + gy * gy + gz * gz):
                    sx, sy, sz = sx + gx, sy + gy, sz + gz
            size = math.sqrt(sx * sx + sy * sy + sz * sz)
            size = size if size > 0.0 else 1.0
            found[f, k, 0], found[f, k, 1], found[f, k, 2] = sx / size, sy / size, sz / size


# Solids: triangles with normals, computed once and moved for each picture ---------------------------------------------


class Solids:
    """All meshes of some bodies, b of them, as m triangles."""

    def __init__(self, bodies: list[BodyDrawing]) -> None:
        meshes = [(b, body) for b, body in enumerate(bodies) if len(body.faces)]
        self.bare = [b for b, body in enumerate(bodies) if not len(body.faces)]  # drawn as balls
        self._body = _of([np.full(len(body.faces), b) for b, body in meshes], (), int)
        self._corners = _of([(body.vertices - body.center)[body.faces] for _, body in meshes], (3, 3))
        normals: dict[tuple[bytes, bytes], np.ndarray] = {}
        for _, body in meshes:
            normals.setdefault(_key(body), np.zeros(0))
            if not len(normals[_key(body)]):
                normals[_key(body)] = smooth_normals(body.vertices, body.faces)
        self._normals = _of([normals[_key(body)] for _, body in meshes], (3, 3))
        colors = np.array([body.rgb for body in bodies]).reshape(-1, 3) / 255.0
        self.colors = colors[self._body]
        self._bound = np.array([body.bound for body in bodies])

    def casting(self, size: float) -> np.ndarray:
        """Which triangles (m,) throw a shadow: not those of bodies much larger than the picture."""
        return self._bound[self._body] < 2.0 * size

    def at(self, positions: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (m, 3, 3) m and normals there, of bodies at positions (b, 3) and orientations (b, 4)."""
        q = turns[self._body][:, None]
        return positions[self._body][:, None] + rotate(q, self._corners), rotate(q, self._normals)


def _key(body: BodyDrawing) -> tuple[bytes, bytes]:
    return body.vertices.tobytes(), body.faces.tobytes()


def _of(parts: list[np.ndarray], shape: tuple[int, ...], kind: type = float) -> np.ndarray:
    return np.concatenate([np.zeros((0, *shape), kind), *parts])


# Extent of a motion: where the ground and the camera are --------------------------------------------------------------

AWAY, FAR = 3.0, 40.0
PARTICLE_INSTANTS, PARTICLES_LOOKED_AT = 60, 2000


@dataclass(frozen=True)
class Extent:
    """The box the motion stays in, corners (3,) in m, and the height of the ground drawn under it, m."""

    low: np.ndarray
    high: np.ndarray
    ground: float

    @property
    def center(self) -> np.ndarray:
        """Middle of the box, (3,) m."""
        return 0.5 * (self.low + self.high)

    @property
    def size(self) -> float:
        """Diagonal of the box, m."""
        return float(np.linalg.norm(self.high - self.low))

    @property
    def yaw(self) -> float:
        """Direction to look from, radians about z from x: across the plane in which most of the motion lies."""
        wide_x = self.high[0] - self.low[0] >= self.high[1] - self.low[1]
        return -np.pi / 2 + 0.45 if wide_x else 0.45


def motion_extent(
    drawing: SceneDrawing, positions: np.ndarray, orientations: np.ndarray, particles: np.ndarray | None = None
) -> Extent:
    """The box around a motion, from the recorded bodies' positions (time, body, 3) in m, orientations (time, body, 4) and
    the particles' positions (time, particle, 3) in m.

    What would make the rest too small to see does not count: bodies that stand still and are much larger than the motion
    (a floor, a terrain), bodies that fly away from all others (a missile), which count where they start, and the few of
    many free particles that fly far (`particle_box`).
    """
    cloud = particle_box(drawing.particles, particles)
    boxes = [cloud, _body_box(drawing.bodies, positions, orientations, cloud)]
    boxes += [end.anchor[None] for link in drawing.links for end in (link.a, link.b) if end.fixed]
    boxes += [curve.points for curve in drawing.curves]
    corners = np.concatenate(boxes)
    if not len(boxes[0]) and not len(boxes[1]):
        return Extent(-np.ones(3), np.ones(3), -1.0)
    low, high = corners.min(axis=0), corners.max(axis=0)
    if np.linalg.norm(high - low) < 1e-9:
        low, high = low - 0.5, high + 0.5
    size = np.linalg.norm(high - low)
    on_floor = -0.05 * size < low[2] < size
    return Extent(low, high, float(-0.002 * size if on_floor else low[2] - 0.04 * size))


def particle_box(groups: list[ParticleDrawing], particles: np.ndarray | None) -> np.ndarray:
    """The lowest and the highest corner (2, 3), m, of the particles' way, (time, particle, 3); (0, 3) where there is none.

    Surfaces and threads count whole. Of free particles those count, along each axis at each instant, that lie between the
    group's 1st and 99th percentile or beyond by at most half of what lies between: a few that fly far do not set the view.
    """
    found = [np.zeros((0, 3))]
    instants = thinned(0 if particles is None else len(particles), PARTICLE_INSTANTS)
    for group in groups:
        if particles is None or not len(particles) or not group.number:
            continue
        if group.free:
            x = particles[np.ix_(instants, group.first + thinned(group.number, PARTICLES_LOOKED_AT))]
            low, high = np.quantile(x, (0.01, 0.99), axis=1)[..., None, :]
            near = (x >= 1.5 * low - 0.5 * high) & (x <= 1.5 * high - 0.5 * low)
            low, high = np.where(near, x, np.inf).min(axis=1), np.where(near, x, -np.inf).max(axis=1)
        else:
            x = particles[instants, group.span]
            low, high = x.min(axis=1), x.max(axis=1)
        found += [low.min(axis=0)[None] - group.radius, high.max(axis=0)[None] + group.radius]
    corners = np.concatenate(found)
    return np.stack([corners.min(axis=0), corners.max(axis=0)]) if len(corners) else corners


def _body_box(
    bodies: list[BodyDrawing], positions: np.ndarray, orientations: np.ndarray, cloud: np.ndarray
) -> np.ndarray:
    """The corners (2, 3) of what counts of the bodies' way; (0, 3) where nothing does. cloud: the box of the particles."""
    if not bodies or not len(positions):
        return np.zeros((0, 3))
    instants = thinned(len(positions), max(2, min(200, 50_000 // len(bodies))))
    tracks, corners = _swept(bodies, positions[instants], orientations[instants])
    bound = np.array([body.bound for body in bodies])
    low, high = corners.min(axis=(0, 2)), corners.max(axis=(0, 2))
    first_low, first_high = corners[0].min(axis=1), corners[0].max(axis=1)
    counted = np.ptp(tracks, axis=0).max(axis=1) > 1e-9
    counted = counted if counted.any() or len(cloud) else np.ones(len(bound), bool)
    moving = np.concatenate([low[counted], high[counted], cloud])
    counted |= bound <= _size(moving, moving)
    if not counted.any():
        return np.zeros((0, 3))
    away = _flying_away(low, high, counted)
    low[away], high[away] = first_low[away], first_high[away]
    if _size(low[counted], high[counted]) > FAR * _size(first_low[counted], first_high[counted]) > 0.0:
        low, high = first_low, first_high  # all of it flew away: show where it started
    return np.stack([low[counted].min(axis=0), high[counted].max(axis=0)])


def _swept(bodies: list[BodyDrawing], x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tracks (time, body, 3) and the corners of the bodies' own boxes along them, (time, body, 8, 3), world axes."""
    still = bodies[x.shape[1] :]
    if still:
        x = np.concatenate([x, np.tile([body.position for body in still], (len(x), 1, 1))], axis=1)
        q = np.concatenate([q, np.tile([body.orientation for body in still], (len(q), 1, 1))], axis=1)
    boxes = np.array([body.box for body in bodies])
    signs = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    corners = np.where(signs == 0, boxes[:, None, 0], boxes[:, None, 1])
    return x, x[:, :, None] + rotate(q[:, :, None], corners)


def _size(low: np.ndarray, high: np.ndarray) -> float:
    return float(np.linalg.norm(high.max(axis=0) - low.min(axis=0)))


def _flying_away(low: np.ndarray, high: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Which bodies sweep a box more than `AWAY` times as large as all others together; never more than a few."""
    away = np.zeros(len(low), bool)
    for body in np.argsort(-np.linalg.norm(high - low, axis=1))[: len(low) // 3]:
        others = counted & ~away
        others[body] = False
        if not others.any() or np.linalg.norm(high[body] - low[body]) < AWAY * _size(low[others], high[others]):
            break
        away[body] = True
    return away


def recorded_particles(trajectory: Trajectory) -> np.ndarray:
    """Positions of all particles of a run, (time, particle, 3) m; (time, 0, 3) where it has none."""
    if "particle_position" in trajectory:
        return trajectory["particle_position"].values
    return np.zeros((len(trajectory), 0, 3))


def trajectory_drawing(trajectory: Trajectory) -> tuple[SceneDrawing, Extent]:
    """What `trajectory` shows: its scene, and the extent of its motion."""
    drawing = parse_scene(trajectory.scene_description, trajectory.bodies, trajectory.particle_number)
    moved = trajectory.position.values, trajectory.orientation.values, recorded_particles(trajectory)
    return drawing, motion_extent(drawing, *moved)
