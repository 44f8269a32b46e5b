"""Bodies, particles, links, trails and quantities of a scene as viser objects, and the camera."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .camera import axis_ends, coil_points, rotate, segments
from .drawing import BACK, BodyDrawing, Extent, LinkDrawing, ParticleDrawing, SceneDrawing, rgb_of
from .live_sensors import LiveSensors
from .live_stage import Stage, as_sent, intensities, of_arrows
from .pressure import BANDS, patches_of, scale_words, with_prefix
from .viewpoint import ELEVATIONS, Aim, Focus, direction

# Bodies: all of one shape are one batch, so that an update takes few messages -----------------------------------------

CHOSEN = np.array([255, 214, 10])  # what the colour of the chosen body goes towards
THROUGH, WITHIN = 0.12, 0.4  # opacity of bodies: what lies between them is seen; or what lies within them, as joints do
ROUND = 60  # faces, from which on a shape is shaded as smooth


class LiveBodies:
    """All bodies of a scene at given poses; `point_size` (m) is the size of a body without shape and radius."""

    def __init__(self, server: Any, bodies: list[BodyDrawing], point_size: float) -> None:
        self._bodies, self._chosen = bodies, -1
        self.position = np.array([body.position for body in bodies], float).reshape(-1, 3)
        self.orientation = np.array([body.orientation for body in bodies], float).reshape(-1, 4)
        groups: dict[Any, list[int]] = {}
        for i, body in enumerate(bodies):
            shape = (body.vertices - body.center).astype(np.float32)
            key = (shape.tobytes(), body.faces.tobytes()) if len(body.faces) else (body.radius or point_size,)
            groups.setdefault(key, []).append(i)
        self.batches = [
            (np.array(rows), self._add(server, k, rows, point_size)) for k, rows in enumerate(groups.values())
        ]
        axes = max((body.bound for body in bodies), default=0.0)
        self.axes = server.scene.add_batched_axes(
            "/axes", self.orientation, self.position, axes_length=0.6 * min(axes, 6.0 * point_size) + 4.0 * point_size,
            axes_radius=0.35 * point_size, visible=False,
        )  # fmt: skip

    def _add(self, server: Any, k: int, rows: list[int], point_size: float) -> Any:
        body = self._bodies[rows[0]]
        if len(body.faces):
            vertices, faces = (body.vertices - body.center).astype(np.float32), body.faces.astype(np.uint32)
        else:
            vertices, faces = ball(body.radius or point_size, 3)
        return server.scene.add_batched_meshes_simple(
            f"/bodies/{k}", vertices, faces, self.orientation[rows], self.position[rows], lod="off", side="double",
            batched_colors=self._colors(np.array(rows)), flat_shading=len(faces) < ROUND,
        )  # fmt: skip

    def _colors(self, rows: np.ndarray) -> np.ndarray:
        colors = np.array([self._bodies[i].rgb for i in rows], float).reshape(-1, 3)
        colors = intensities(colors)
        chosen = rows == self._chosen
        colors[chosen] = 0.35 * colors[chosen] + 0.65 * CHOSEN
        return colors.astype(np.uint8)

    def draw(self, position: np.ndarray, orientation: np.ndarray) -> None:
        """Put the bodies at positions (b, 3) m, turned by orientations (b, 4)."""
        self.position, self.orientation = position, orientation
        for rows, handle in self.batches:
            handle.batched_positions, handle.batched_wxyzs = position[rows], orientation[rows]
        if self.axes.visible:
            self.axes.batched_positions, self.axes.batched_wxyzs = position, orientation

    def show_axes(self, on: bool) -> None:
        """Show or hide the axes of the bodies."""
        self.axes.visible = on

    def cast_shadows(self, on: bool) -> None:
        """Whether bodies cast shadows, on the ground and on each other."""
        for _, handle in self.batches:
            handle.cast_shadow = handle.receive_shadow = on

    def show_through(self, opacity: float | None) -> None:
        """See what is between and within bodies through them, which have this opacity; None for solid ones."""
        for _, handle in self.batches:
            handle.opacity = opacity

    def choose(self, body: int) -> None:
        """Light a body up; −1 for none."""
        before, self._chosen = self._chosen, body
        for rows, handle in self.batches:
            if np.isin((before, body), rows).any():
                handle.batched_colors = self._colors(rows)

    def on_pick(self, act: Callable[[int], None]) -> None:
        """Call `act` with the body that was clicked."""
        for rows, handle in self.batches:

            async def picked(event: Any, rows: np.ndarray = rows) -> None:
                act(int(rows[event.instance_index or 0]))

            handle.on_click(picked)

    def on_drag(self, act: Callable[[int, str, np.ndarray, np.ndarray], None]) -> None:
        """Call `act` with the body that is dragged, "start", "update" or "end", where it was taken, and the pointer, m."""
        for rows, handle in self.batches:

            async def dragged(event: Any, rows: np.ndarray = rows) -> None:
                points = np.array(event.start_position, float), np.array(event.end_position, float)
                act(int(rows[event.instance_index or 0]), event.phase, *points)

            handle.on_drag("left")(dragged)


def ball(radius: float, subdivisions: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a sphere about the origin: an octahedron whose triangles are split in four."""
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([(x, y, z) if (x + y + z) % 2 else (x, z, y) for x in (0, 3) for y in (1, 4) for z in (2, 5)])
    for _ in range(subdivisions):
        edges, side = np.unique(
            np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        middle = len(corners) + side.reshape(-1, 3)
        corners = np.concatenate([corners, corners[edges].mean(axis=1)])
        corners /= np.linalg.norm(corners, axis=1)[:, None]
        (a, b, c), (ab, bc, ca) = faces.T, middle.T
        faces = np.concatenate([np.stack(f, axis=1) for f in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return (radius * corners).astype(np.float32), faces.astype(np.uint32)


# Joints, springs and curves: all dots are one batch, all lines of one kind one object ---------------------------------

DARK, CURVE, STRAIGHT = (35, 42, 53), (90, 97, 115), (64, 74, 92)


def add_lines(server: Any, path: str, color: Any, width: float = 2.0) -> Any:
    """Line segments that are not there yet."""
    return server.scene.add_line_segments(
        path, np.zeros((1, 2, 3), np.float32), color, thickness=width, thickness_units="screen", visible=False
    )


def set_lines(handle: Any, pairs: np.ndarray) -> None:
    """Draw segments (n, 2, 3); none are hidden."""
    handle.visible = len(pairs) > 0
    if len(pairs):
        handle.points = pairs.astype(np.float32)


class LiveLinks:
    """What connects bodies. `released` says when joints and springs were let go, s."""

    def __init__(self, server: Any, drawing: SceneDrawing, size: float) -> None:
        self.drawing, self._size = drawing, size
        self.released: dict[str, float] = {}
        self.show_joints = True
        self._dots: Any = None
        count = 2 * sum(joint.is_marked for joint in drawing.joints)
        if count:
            self._dots = server.scene.add_batched_meshes_simple(
                "/joints/dots", *ball(0.009 * size, 2), np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)), np.zeros((count, 3)),
                batched_colors=intensities(np.array(DARK, float)).astype(np.uint8), lod="off", visible=False,
            )  # fmt: skip
        self._axes = add_lines(server, "/joints/axes", DARK, 3.0)
        self._lines = add_lines(server, "/lines", STRAIGHT)
        curves = add_lines(server, "/curves", CURVE)
        if drawing.curves:
            set_lines(curves, np.concatenate([segments(curve.points) for curve in drawing.curves]))

    def draw(self, time: float, position: np.ndarray, orientation: np.ndarray, particles: np.ndarray) -> None:
        """The links at `time` (s) of bodies at positions (b, 3) and orientations (b, 4) and of particles (p, 3)."""
        there = position, orientation, particles

        def held(link: LinkDrawing) -> bool:
            return time <= self.released.get(link.name, link.until)

        joints = [joint for joint in self.drawing.joints if self.show_joints and held(joint)]
        if self._dots is not None:
            ends = [end.at(*there) for joint in joints if joint.is_marked for end in (joint.a, joint.b)]
            self._dots.visible = bool(ends)
            if ends:  # those that are not held hide behind the first
                self._dots.batched_positions = np.array((ends + ends[:1] * len(self._dots.batched_positions))[: len(
                    self._dots.batched_positions)])  # fmt: skip
        strokes = []
        for joint in joints:
            if joint.axis is not None and joint.a.particle < 0:
                body = joint.a.body
                axis = joint.axis if body < 0 else rotate(orientation[body], joint.axis)
                strokes.append(axis_ends(joint.a.at(*there), axis, 0.04 * self._size))
        set_lines(self._axes, np.array(strokes).reshape(-1, 2, 3))
        radius = 0.016 * self._size
        lines = [link for link in self.drawing.lines if held(link)]
        coils = [segments(coil_points(k.a.at(*there), k.b.at(*there), k.coils, radius)) for k in lines]
        cables = [cable for cable in self.drawing.cables if time <= self.released.get(cable.name, cable.until)]
        coils += [segments(cable.points(*there)) for cable in cables]
        set_lines(self._lines, np.concatenate(coils) if coils else np.zeros((0, 2, 3)))


# Quantities: arrows of velocities, momenta and forces, points and planes of contact, boxes, the centre of mass --------
#
# Each kind is one viser object. Lengths of arrows are relative to the largest value of their kind so far.

REACTIONS = "reaction forces"
ARROWS = {
    "velocities": (42, 140, 90), "angular momenta": (140, 80, 190), "contact forces": (214, 64, 56),
    REACTIONS: (225, 130, 20),
}  # fmt: skip
BOXES, PLANES, POINTS, CENTRE = "bounding boxes", "separating planes", "contact points", "centre of mass"
PRESSURE, SENSORS = "contact pressure", "sensors"
KINDS = (*ARROWS, PRESSURE, POINTS, PLANES, BOXES, CENTRE, SENSORS)
UNITS = {"velocities": "m/s", "angular momenta": "kg m²/s", "contact forces": "N", REACTIONS: "N"}
FLAT = 1e-9  # of the speed of a fall as high as the picture: what is slower is rounding, and has no arrow
LONGEST = 0.17  # of the picture: the arrow of the largest value
EDGES = np.array([(a, b) for a in range(8) for b in range(8) if a < b and (a ^ b) in (1, 2, 4)])
CORNERS = np.array([[(i >> k & 1) * 2 - 1 for k in range(3)] for i in range(8)], float)


class LiveOverlays:
    """What may be drawn beside the bodies; `shown` are the kinds of `KINDS` that are."""

    def __init__(self, server: Any, drawing: SceneDrawing, size: float) -> None:
        self.drawing, self.shown = drawing, frozenset[str]()
        self._largest = dict.fromkeys(ARROWS, 0.0)
        self._masses = np.array([body.mass or 0.0 for body in drawing.bodies])
        fall, mass = np.sqrt(2.0 * 9.81 * size), float(self._masses.sum())
        self._least = {"velocities": FLAT * fall, "angular momenta": FLAT * mass * fall * size}
        boxes = np.array([body.box for body in drawing.bodies]).reshape(-1, 2, 3)
        self._middle, self._half = boxes.mean(axis=1), 0.5 * (boxes[:, 1] - boxes[:, 0])
        nothing = np.zeros((1, 2, 3), np.float32)
        self._arrows = {
            name: server.scene.add_arrows(f"/arrows/{name}", nothing, of_arrows(color), visible=False)
            for name, color in ARROWS.items()
        }
        self._boxes = add_lines(server, "/boxes", (70, 120, 200), 1.5)
        self._planes = add_lines(server, "/planes", (0, 140, 150), 1.5)
        self._points = server.scene.add_point_cloud(
            "/contact_points", nothing[0], (214, 64, 56), point_shape="circle",
            precision="float32", visible=False,
        )  # fmt: skip
        self._bands = [
            server.scene.add_mesh_simple(
                f"/pressure/{i}", np.zeros((3, 3), np.float32), np.array([[0, 1, 2]], np.uint32), color=color, side="double",
                visible=False, cast_shadow=False, receive_shadow=False,
            )
            for i, color in enumerate(BANDS)
        ]  # fmt: skip
        self.pressure_scale: tuple[str, ...] = ()  # what the colours of the picture mean
        self._centre = server.scene.add_mesh_simple(
            "/centre_of_mass", *ball(1.0, 2), color=(240, 190, 20), visible=False, cast_shadow=False
        )
        self.resize(size)

    def resize(self, size: float) -> None:
        """Fit what is drawn to a picture of this size, m."""
        self._size, self._centre.scale, self._points.point_size = size, 0.011 * size, 0.005 * size
        for handle in self._arrows.values():
            handle.shaft_radius, handle.head_radius, handle.head_length = 0.0035 * size, 0.01 * size, 0.024 * size

    def show(self, kinds: frozenset[str]) -> None:
        """Draw these from the next picture on, and nothing else."""
        self.shown = kinds

    def draw(self, position: np.ndarray, orientation: np.ndarray, found: Mapping[str, Any], joints: np.ndarray) -> None:
        """At positions (b, 3) and orientations (b, 4): what is `found` of momentum and angular_momentum (b, 3), contacts
        (k, 10) and reaction_force (j, 3), the latter at the places `joints` (j, 3) m."""
        contacts = np.asarray(found.get("contacts", np.zeros((0, 10))))
        reactions = found.get("reaction_force")
        some = {
            "velocities": (position, self._velocities(found.get("momentum"))),
            "angular momenta": (position, found.get("angular_momentum")),
            "contact forces": (contacts[:, :3], contacts[:, 3:6]),
            "reaction forces": (joints, reactions if reactions is None or len(reactions) == len(joints) else None),
        }
        for name, (places, values) in some.items():
            self._draw_arrows(name, places, values)
        set_lines(self._boxes, self._box_lines(position, orientation) if BOXES in self.shown else np.zeros((0, 2, 3)))
        set_lines(self._planes, self._plane_lines(contacts if PLANES in self.shown else contacts[:0]))
        self._draw_pressure(contacts if PRESSURE in self.shown else contacts[:0])
        self._points.visible = POINTS in self.shown and len(contacts) > 0
        if self._points.visible:
            self._points.points = contacts[:, :3].astype(np.float32)
        self._centre.visible = CENTRE in self.shown and self._masses.sum() > 0.0
        if self._centre.visible:
            self._centre.position = self._masses @ position / self._masses.sum()

    def _draw_pressure(self, contacts: np.ndarray) -> None:
        """The patches of faces that touch, a mesh for each band of pressure."""
        patches = patches_of(contacts)
        self.pressure_scale = scale_words(patches) if len(patches.pressure) else ()
        bands = patches.bands
        for i, handle in enumerate(self._bands):
            chosen = patches.corners[bands == i]
            handle.visible = len(chosen) > 0
            if len(chosen):
                handle.vertices = chosen.reshape(-1, 3).astype(np.float32)
                handle.faces = np.arange(3 * len(chosen), dtype=np.uint32).reshape(-1, 3)

    def scales(self) -> list[tuple[str, tuple[int, int, int], str]]:
        """(kind, colour, size) of each kind of arrows that is shown: the value whose arrow is longest."""
        return [
            (name, color, with_prefix(self._largest[name], UNITS[name]) if UNITS[name] == "N" else
             f"{self._largest[name]:.3g} {UNITS[name]}")
            for name, color in ARROWS.items()
            if name in self.shown and self._largest[name] > 0.0
        ]  # fmt: skip

    def _velocities(self, momentum: np.ndarray | None) -> np.ndarray | None:
        return None if momentum is None else momentum / np.where(self._masses > 0.0, self._masses, np.inf)[:, None]

    def _draw_arrows(self, name: str, places: np.ndarray, values: np.ndarray | None) -> None:
        handle = self._arrows[name]
        if name not in self.shown or values is None:
            handle.visible = False
            return
        length = np.linalg.norm(values, axis=1)
        if not np.nanmax(length, initial=0.0) > self._least.get(name, 0.0):
            handle.visible = False
            return
        self._largest[name] = max(self._largest[name], float(np.nanmax(length, initial=0.0)))
        seen = length > 0.01 * self._largest[name]  # not those that are not known either
        handle.visible = bool(seen.any())
        if handle.visible:
            ends = places[seen] + LONGEST * self._size / self._largest[name] * values[seen]
            handle.points = np.stack([places[seen], ends], axis=1).astype(np.float32)

    def _box_lines(self, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
        """Edges (n, 2, 3) of the boxes, along the axes of the world, around all bodies that have a mass."""
        moving = self._masses > 0.0
        q = orientation[moving]
        middle = position[moving] + rotate(q, self._middle[moving])
        turned = np.stack([rotate(q, np.broadcast_to(axis, (len(q), 3))) for axis in np.eye(3)], axis=2)
        half = np.einsum("nij,nj->ni", np.abs(turned), self._half[moving])
        corners = middle[:, None] + half[:, None] * CORNERS
        return corners[:, EDGES].reshape(-1, 2, 3)

    def _plane_lines(self, contacts: np.ndarray) -> np.ndarray:
        """Outlines (n, 2, 3) of squares across the normals of contacts, and their normals."""
        if not len(contacts):
            return np.zeros((0, 2, 3))
        at, normal = contacts[:, :3].astype(float), contacts[:, 6:9].astype(float)
        other = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
        u = np.cross(normal, other)
        u *= 0.03 * self._size / np.linalg.norm(u, axis=1, keepdims=True)
        v = np.cross(normal, u)
        square = np.stack([at + u + v, at - u + v, at - u - v, at + u - v], axis=1)
        sides = np.stack([square, np.roll(square, -1, axis=1)], axis=2).reshape(-1, 2, 3)
        return np.concatenate([sides, np.stack([at, at + 0.03 * self._size * normal], axis=1)])


# Particles: dots, threads, and surfaces with a darker back ------------------------------------------------------------


class LiveParticles:
    """One group, as viser's handles: a `cloud` of dots, `threads`, and the two sides of a `surface`.

    A surface has the group's colour, whatever its particles' colours: viser's plain meshes have one.
    """

    def __init__(self, server: Any, path: str, group: ParticleDrawing) -> None:
        self.group = group
        self._dots = group.dots
        self.cloud: Any = None
        self.threads: Any = None
        self.surface: list[Any] = []
        scene, colors = server.scene, group.rgb
        nowhere = np.zeros((group.number, 3), np.float32)
        if len(group.faces):
            front = group.faces.astype(np.uint32)
            plain = as_sent(np.array(rgb_of(group.color), float))
            # Each side is a mesh of its own: one that is seen from both has one colour. The back would lie in the shadow of
            # the front, which is at the same place.
            for side, color in (("front", plain), ("back", BACK * plain)):
                self.surface.append(
                    scene.add_mesh_simple(
                        f"{path}/{side}",
                        nowhere,
                        front,
                        color=tuple(int(c) for c in color),
                        side=side,
                        cast_shadow=side == "front",
                        receive_shadow=side == "front",
                        visible=False,
                    )
                )
        elif len(group.segments):
            self.threads = scene.add_line_segments(
                f"{path}/threads", nowhere[group.segments],
                np.array(rgb_of(group.color)) if group.colors is None else _linear(colors)[group.segments],
                thickness=2.5, thickness_units="screen", visible=False,
            )  # fmt: skip
        if len(self._dots):
            self.cloud = scene.add_point_cloud(
                f"{path}/dots", nowhere[self._dots], colors[self._dots], point_size=group.radius, point_shape="circle",
                precision="float32", visible=False,
            )  # fmt: skip

    def resize(self, size: float) -> None:
        """Fit the dots to a picture of this size, m."""
        if self.cloud is not None:
            self.cloud.point_size = self.group.dot_radius(size)  # viser's "size" is the radius of what it draws

    def draw(self, particles: np.ndarray) -> None:
        """Put the particles where they are, (p, 3) over all groups; they are seen from the first time on."""
        x = particles[self.group.span]
        for side in self.surface:
            side.vertices, side.visible = x, True
        if self.threads is not None:
            self.threads.points, self.threads.visible = x[self.group.segments], True
        if self.cloud is not None:
            self.cloud.points, self.cloud.visible = x[self._dots], True


def _linear(colors: np.ndarray) -> np.ndarray:
    """sRGB as intensities, 0 to 255, which viser takes a line's colours for where there are several."""
    part = colors / 255.0
    return np.round(255.0 * np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)).astype(np.uint8)


# Trails, coloured by speed: dark where slow, bright where fast --------------------------------------------------------

TRAIL_POINTS = 200  # of a trail
MOST = 40  # bodies that have a trail at once
SHORT = 1e-3  # of the picture: a way too short to draw
SPEEDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # of the fastest; dark violet over red to yellow
COLORS = np.array([[60, 30, 120], [150, 40, 130], [220, 70, 80], [250, 140, 30], [255, 225, 60]], float)


def glow(share: np.ndarray) -> np.ndarray:
    """(…, 3) uint8 colours of speeds, 0 to 1 of the fastest, as intensities, which viser takes a line's colours for."""
    rgb = np.stack([np.interp(share, SPEEDS, COLORS[:, k]) for k in range(3)], axis=-1) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.round(255.0 * linear).astype(np.uint8)


class LiveTrails:
    """One object for the trails of all bodies; a trail has always as many segments, so that its colours fit.

    `fastest` (m/s) is the speed of the brightest colour, 0 where no trail is drawn.
    """

    def __init__(self, server: Any, bodies: list[BodyDrawing], least: float) -> None:
        """least: the way (m) from which on a trail is drawn."""
        self.server, self.bodies, self._least = server, bodies, least
        self._handle: Any = None
        self._rows: list[int] = []
        self.fastest = 0.0

    def draw(self, rows: list[int], times: np.ndarray, past: np.ndarray) -> None:
        """The trails of the bodies `rows` with places (n, b, 3) m at times (n,) s."""
        rows = rows[:MOST]
        if not rows or len(times) < 2 or not np.ptp(past[:, rows], axis=0).max(initial=0.0) > self._least:
            self.fastest = 0.0
            if self._handle is not None:
                self._handle.visible = False
            return
        if rows != self._rows:
            self._rows = rows
            nothing = np.zeros((len(rows) * (TRAIL_POINTS - 1), 2, 3))
            self._handle = self.server.scene.add_line_segments(
                "/trails", nothing.astype(np.float32), nothing.astype(np.uint8), thickness=3.0, thickness_units="screen"
            )
        keep = np.linspace(0, len(times) - 1, TRAIL_POINTS).round().astype(int)
        points = past[:, rows][keep].transpose(1, 0, 2)
        gaps = np.diff(times)
        speeds = np.linalg.norm(np.diff(past[:, rows], axis=0), axis=2) / np.where(gaps > 0.0, gaps, np.inf)[:, None]
        self.fastest = max(self.fastest, float(speeds.max()))
        at = np.concatenate([speeds[:1], speeds])[keep].T / (self.fastest or 1.0)
        self._handle.points = np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 3).astype(np.float32)
        self._handle.colors = glow(np.stack([at[:, :-1], at[:, 1:]], axis=2).reshape(-1, 2))
        self._handle.visible = True


# The scene and its camera ---------------------------------------------------------------------------------------------

FIELD_OF_VIEW = 0.7  # radians, vertically
AWAY = 0.62  # of the size of what is framed: what is seen of it on either side of its middle
SHEET = 0.22  # of the height of a narrow page: how far above its middle the scene is seen
HAND = (214, 64, 56)


class LiveScene:
    """What stands in the picture."""

    def __init__(self, server: Any, drawing: SceneDrawing, extent: Extent) -> None:
        self.server, self.drawing = server, drawing
        self.names = [body.name for body in drawing.bodies]
        self.extent, self.elevation = extent, ELEVATIONS[0]
        self._placed: dict[int, np.ndarray] = {}  # where this put the camera of each client
        self._reacting: list[tuple[int, int]] = []  # joints whose reactions are drawn, and their rows in frames
        self._aims: dict[int, Aim] = {}  # of the clients whose camera follows something
        self._stage = Stage(server)
        self.focus = Focus(drawing, extent)
        self._label = server.scene.add_label("/chosen", "", visible=False, anchor="bottom-left", font_screen_scale=1.1)
        self.bodies = LiveBodies(server, drawing.bodies, 0.012 * extent.size)
        self.particles = [LiveParticles(server, f"/particles/{i}", g) for i, g in enumerate(drawing.particles)]
        self.links = LiveLinks(server, drawing, drawing.mark_size(extent.size))
        self.trails = LiveTrails(server, drawing.bodies, SHORT * extent.size)
        self.overlays = LiveOverlays(server, drawing, extent.size)
        self.sensors = LiveSensors(server, drawing, extent.size, drawing.mark_size(extent.size))
        self._hand = add_lines(server, "/hand", HAND, 4.0)
        server.initial_camera.fov = FIELD_OF_VIEW
        self.aim(extent)

    def draw(
        self,
        time: float,
        position: np.ndarray,
        orientation: np.ndarray,
        particles: np.ndarray,
        found: Mapping[str, Any],
    ) -> None:
        """The instant `time` (s): positions (b, 3), orientations (b, 4) and particles (p, 3), and what is known of it."""
        with self.server.atomic():
            self.bodies.draw(position, orientation)
            for group in self.particles:
                group.draw(particles)
            self.links.draw(time, position, orientation, particles)
            there = position, orientation, particles
            joints = np.array([self.drawing.joints[j].b.at(*there) for j, _ in self._reacting]).reshape(-1, 3)
            reactions = found.get("reaction_force")
            if reactions is not None and self._reacting:
                found = {**found, "reaction_force": np.asarray(reactions)[[row for _, row in self._reacting]]}
            self.overlays.draw(position, orientation, found, joints)
            self.sensors.draw(time, position, orientation)
        self.server.flush()  # viser would wait for the end of its interval, and merge some pictures with the next

    def style(self, joints: bool, axes: bool, shadows: bool, kinds: frozenset[str]) -> None:
        """Show or hide the joints, the bodies' axes, shadows, and kinds of quantities."""
        self.links.show_joints = joints
        self.bodies.show_axes(axes)
        self.bodies.cast_shadows(shadows)
        self._stage.cast_shadows(shadows)
        self.bodies.show_through(THROUGH if PRESSURE in kinds else WITHIN if REACTIONS in kinds else None)
        self.overlays.show(kinds)
        self.sensors.show(SENSORS in kinds)

    def name_joints(self, names: Sequence[str]) -> None:
        """Frames have the reactions of the joints of these names, in this order."""
        rows = {name: row for row, name in enumerate(names)}
        self._reacting = [(j, rows[joint.name]) for j, joint in enumerate(self.drawing.joints)
                          if joint.is_marked and joint.name in rows]  # fmt: skip

    def release(self, released: Mapping[str, float]) -> None:
        """Joints and springs were let go at these times, s."""
        self.links.released = dict(released)

    def show_hand(self, ends: np.ndarray | None) -> None:
        """Draw the hand from the point it holds to where it pulls, (2, 3) m; None for an empty one."""
        set_lines(self._hand, np.zeros((0, 2, 3)) if ends is None else ends[None])

    # ---- the camera ------------------------------------------------------------------------------------------------

    def aim(self, extent: Extent, elevation: float | None = None, *, anew: bool = False) -> None:
        """Look at a box, from `elevation` degrees above the ground (None: as before): new pages, and those open whose camera
        nobody has moved since, or all of them if `anew`."""
        self.extent = extent
        self.elevation = self.elevation if elevation is None else elevation
        self.overlays.resize(extent.size)
        self.sensors.resize(extent.size)
        for group in self.particles:
            group.resize(extent.size)
        self._stage.fit(extent)
        away = AWAY * extent.size / np.tan(0.5 * FIELD_OF_VIEW) * direction(self.elevation, extent.yaw)
        camera = self.server.initial_camera
        previous = camera.position.copy()
        camera.look_at, camera.position = extent.center, extent.center + away
        for number, client in self.server.get_clients().items():
            moved = client.camera.position - self._placed.get(number, previous)
            if anew or np.linalg.norm(moved) < 1e-3 * extent.size:
                self._place(client, away)

    def lower_ground(self, height: float) -> None:
        """Put the ground at a height (m) if it is higher: nothing moves below it."""
        if height < self.extent.ground:
            self.extent = replace(self.extent, ground=height)
            self._stage.fit(self.extent)

    def _place(self, client: Any, away: np.ndarray) -> None:
        """Put a client's camera at `away` from the middle; on a page higher than wide it is further off, and sees the middle
        above the panel, which is a sheet at the bottom there."""
        center, narrow = self.extent.center, client.camera.aspect < 1.0
        if narrow:
            away = away / client.camera.aspect
            center = center - (0.0, 0.0, SHEET * 2.0 * np.linalg.norm(away) * np.tan(0.5 * FIELD_OF_VIEW))
        client.camera.position, client.camera.look_at = center + away, center
        self._placed[client.client_id] = center + away
        self._aims.pop(client.client_id, None)

    def welcome(self, client: Any) -> None:
        """A page was opened: the scene may have grown since it asked where to look from."""
        self._place(client, self.server.initial_camera.position - self.extent.center)

    def follow(self, name: str, position: np.ndarray) -> None:
        """Move every camera along with a body, in the middle; with none, leave them where they are."""
        if name in self.names:
            here = position[self.names.index(name)].copy()
            for client in self.server.get_clients().values():
                self._move(client, here, None)

    def follow_motion(self, position: np.ndarray, velocity: np.ndarray, passed: float) -> None:
        """Frame what moves, bodies at position (b, 3) m with velocity (b, 3) m/s, after `passed` s of the clock; pages whose
        camera somebody turns or moves keep its direction."""
        focus = self.focus
        if not focus.follow(position, velocity, passed) or focus.center is None:
            return
        distance = AWAY * focus.size / np.tan(0.5 * FIELD_OF_VIEW)
        for client in self.server.get_clients().values():
            self._move(client, focus.center, max(distance / min(1.0, client.camera.aspect), 1e-9))

    def _move(self, client: Any, center: np.ndarray, distance: float | None) -> None:
        """Have a client look at a point (3,) m from a distance (m; None: the same), and from the same side as before."""
        camera = client.camera
        aim = self._aims.setdefault(client.client_id, Aim(camera.position - camera.look_at))
        aim.hear(camera.position, camera.look_at)
        away = aim.offset if distance is None else distance * aim.offset / (np.linalg.norm(aim.offset) or 1.0)
        aim.put(center + away)
        camera.position, camera.look_at = center + away, center
        self._placed[client.client_id] = center + away

    def stop_following(self) -> None:
        """Leave the cameras where they are."""
        self._aims = {}

    # ---- the chosen body -------------------------------------------------------------------------------------------

    def label(self, body: int, text: str, position: np.ndarray) -> None:
        """Say something of a body beside it, at positions (b, 3) m of all; −1 for none."""
        self._label.visible = body >= 0
        if body >= 0:
            bound = min(self.drawing.bodies[body].bound, 0.1 * self.extent.size)
            self._label.position = position[body] + (0.0, 0.0, 1.1 * bound)
            if self._label.text != text:
                self._label.text = text
