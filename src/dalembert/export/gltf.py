"""`export_gltf`: a scene or a run as an animated glTF file."""

from __future__ import annotations

import json
import struct
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..scene.scene import Scene
from ..simulation.simulation import Simulation
from ..simulation.trajectory import Trajectory
from ..view.cables import CableDrawing
from ..view.camera import thinned
from ..view.drawing import BodyDrawing, LinkDrawing, ParticleDrawing
from .shown import ExportWarning, Shown, continuous, free_name, linear_rgb, shown, target

# Binary glTF 2.0 (Khronos Group, 2021): JSON and one buffer in a file -------------------------------------------------

FLOAT, UINT32 = 5126, 5125
VERTICES, INDICES = 34962, 34963  # targets of buffer views
POINTS, LINES, LINE_STRIP, TRIANGLES = 0, 1, 3, 4
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class Glb:
    """Lists of glTF's things, which refer to each other by their numbers."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0", "generator": "dalembert"}, "scene": 0}
        self._data = bytearray()

    def add(self, kind: str, thing: dict[str, Any]) -> int:
        """Append to the list `kind` ("nodes", "meshes", ...); returns the number there."""
        things = self.json.setdefault(kind, [])
        things.append({key: value for key, value in thing.items() if value is not None})
        return len(things) - 1

    def array(self, values: np.ndarray, target: int | None = None) -> int:
        """The number of an accessor of numbers, vectors (n, 3) or quaternions (n, 4): float32, whole numbers uint32."""
        whole = np.issubdtype(values.dtype, np.integer)
        array = np.ascontiguousarray(values, "<u4" if whole else "<f4")
        view = self.add(
            "bufferViews", {"buffer": 0, "byteOffset": len(self._data), "byteLength": array.nbytes, "target": target}
        )
        self._data += array.tobytes()
        rows = array.reshape(len(array), -1)
        return self.add(
            "accessors",
            {"bufferView": view, "componentType": UINT32 if whole else FLOAT, "count": len(rows),
             "type": TYPES[rows.shape[1]], "min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()},
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Write header, JSON chunk and binary chunk, each filled up to four bytes."""
        if self._data:
            self.json["buffers"] = [{"byteLength": len(self._data)}]
        text = json.dumps(self.json, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self._data:
            chunks += struct.pack("<I4s", len(self._data), b"BIN\0") + self._data
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)


# What is written ------------------------------------------------------------------------------------------------------

UPRIGHT = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # (x, y, z, w): our z becomes glTF's y
MOST_SHAPES = 100  # instants of what changes its shape: each is a copy of all its points
GROUND = 2.0  # half side of the ground drawn, in sizes of the motion
STILL = 1e-9  # of its size: what moves less stands still
DARK = "#404040"


def export_gltf(source: Simulation | Trajectory | Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """Write a run as an animation, or a scene at its initial pose, in binary glTF (.glb). Returns warnings about what
    the file does not contain.

    A body is a node with a mesh, at its centre of mass; positions and orientations are keys at the recorded instants;
    viewers interpolate between them. Rods and springs are lines. Particles are points, lines or surfaces, and cables are
    lines, that change their shape (morph targets) at 100 instants at most. Numbers are float32. The root node turns z up
    into glTF's y up.

    Raises ValueError for a run without frames or an unsupported suffix.
    """
    file = target(path, ".glb")
    film = _Film(shown(source))
    film.write()
    film.glb.save(file)
    return film.warnings


class _Film:
    def __init__(self, what: Shown) -> None:
        self.what, self.glb = what, Glb()
        self.warnings: list[ExportWarning] = []
        self.nodes: list[int] = []  # below the root
        self._meshes: dict[tuple[bytes, bytes, str], int] = {}
        self._materials: dict[tuple[str, bool], int] = {}
        self._channels: list[dict[str, Any]] = []
        self._samplers: list[dict[str, Any]] = []
        times = (what.times - what.times[0]).astype(np.float32)
        self._kept = np.flatnonzero(np.diff(times, prepend=-1.0) > 0.0)  # keys must be apart in float32 too
        self._times = times[self._kept]
        self._clocks: dict[bytes, int] = {}
        self._names: set[str] = set()

    def write(self) -> None:
        what, drawing = self.what, self.what.drawing
        recorded = what.positions.shape[1]
        for i, body in enumerate(drawing.bodies):
            if i < recorded:
                self._body(body, what.positions[:, i], what.orientations[:, i])
            else:
                self._body(body, body.position[None], body.orientation[None])
        for link in drawing.lines:
            self._line(link)
        for cable in drawing.cables:
            self._cable(cable)
        for curve in drawing.curves:
            self._mesh_node(curve.name, curve.points, None, DARK, LINE_STRIP)
        for group in drawing.particles:
            self._particles(group)
        for ground in what.grounds:
            half = GROUND * max(what.size, 1.0)
            corners = half * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
            faces = np.array([[0, 1, 2], [0, 2, 3]])
            node = self._mesh_node(ground.name, corners, faces, ground.color, TRIANGLES)
            self._place(node, ground.position[None], np.array([ground.orientation]))
        root = self.glb.add(
            "nodes", {"name": free_name(what.name, self._names), "rotation": UPRIGHT, "children": self.nodes or None}
        )
        self.glb.add("scenes", {"name": what.name, "nodes": [root]})
        if self._channels:
            animation = {"name": what.name, "channels": self._channels, "samplers": self._samplers}
            self.glb.add("animations", animation)

    # Things -----------------------------------------------------------------------------------------------------------

    def _body(self, body: BodyDrawing, position: np.ndarray, orientation: np.ndarray) -> None:
        points, faces = body.vertices - body.center, body.faces
        if len(faces):
            node = self._mesh_node(body.name, points, faces, body.color, TRIANGLES)
        else:
            node = self._node({"name": body.name})
            self._warn(f"body {body.name!r}", "it has no shape; its node moves, but has no mesh")
        self._place(node, position, orientation)

    def _line(self, link: LinkDrawing) -> None:
        """A rod or spring as a stroke of length 1 along x that is moved, turned and scaled."""
        what = self.what
        ends = [
            np.array([end.at(*frame) for frame in zip(what.positions, what.orientations, what.particles, strict=True)])
            for end in (link.a, link.b)
        ]
        along = ends[1] - ends[0]
        length = np.linalg.norm(along, axis=1)
        if not length.all():
            along = np.where(length[:, None] > 0.0, along, [1.0, 0.0, 0.0])
        x = along / np.linalg.norm(along, axis=1, keepdims=True)
        # The least turn from x to u is (1 + x·u, x × u), made unit; half a turn about z where u is −x.
        q = np.stack([1.0 + x[:, 0], np.zeros(len(x)), -x[:, 2], x[:, 1]], axis=1)
        q = np.where(np.linalg.norm(q, axis=1, keepdims=True) > 1e-9, q, [0.0, 0.0, 0.0, 1.0])
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        stroke = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        node = self._mesh_node(link.name, stroke, None, DARK, LINES)
        length = np.where(what.times <= link.until, length, 0.0)  # what was let go is gone
        self._place(node, ends[0], continuous(q), np.repeat(length[:, None], 3, axis=1))

    def _cable(self, cable: CableDrawing) -> None:
        """A line through the points of its path, which changes its shape."""
        what, kept = self.what, self._kept
        rows = kept[thinned(len(kept), MOST_SHAPES)]
        shapes = cable.track(what.times[rows], what.positions[rows], what.orientations[rows], what.particles[rows])
        moving = len(rows) > 1 and not self._still(shapes)
        if moving and len(rows) < len(kept):
            self._warn(f"cable {cable.name!r}", f"it moves through {len(rows)} of {len(kept)} instants")
        deltas = shapes[1:] - shapes[0] if moving else shapes[:0]
        node = self._mesh_node(cable.name, shapes[0], None, DARK, LINE_STRIP, deltas)
        if moving:
            times = (what.times[rows] - what.times[0]).astype(np.float32)
            self._channel(node, "weights", times, np.eye(len(rows))[:, 1:].ravel())

    def _particles(self, group: ParticleDrawing) -> None:
        """Points, segments or a surface; where they move, targets of a morph, each of weight 1 at its instant."""
        tracks = self.what.particles[self._kept][:, group.span]
        if not group.number:
            return
        rows = thinned(len(tracks), MOST_SHAPES)
        shapes = tracks[rows]
        moving = len(rows) > 1 and not self._still(shapes)
        if moving and len(rows) < len(tracks):
            self._warn(f"particles {group.name!r}", f"they move through {len(rows)} of {len(tracks)} instants")
        if group.radius and not len(group.faces):
            self._warn(f"particles {group.name!r}", "glTF draws points and lines without their radius")
        kind, elements = POINTS, None
        if len(group.faces) or len(group.segments):
            kind, elements = (TRIANGLES, group.faces) if len(group.faces) else (LINES, group.segments)
        deltas = shapes[1:] - shapes[0] if moving else shapes[:0]
        node = self._mesh_node(group.name, shapes[0], elements, group.color, kind, deltas)
        if moving:
            weights = np.eye(len(rows))[:, 1:]
            self._channel(node, "weights", self._times[rows], weights.ravel())

    # Parts of the file ------------------------------------------------------------------------------------------------

    def _warn(self, item: str, message: str) -> None:
        self.warnings.append(ExportWarning(item, message))

    def _node(self, thing: dict[str, Any]) -> int:
        thing["name"] = free_name(thing["name"], self._names)
        self.nodes.append(self.glb.add("nodes", thing))
        return self.nodes[-1]

    def _mesh_node(
        self, name: str, points: np.ndarray, elements: np.ndarray | None, color: str, mode: int,
        targets: np.ndarray | tuple[()] = (),
    ) -> int:  # fmt: skip
        """A node with a mesh; equal meshes of one colour are one."""
        key = points.tobytes(), b"" if elements is None else elements.tobytes(), f"{color} {mode}"
        mesh = self._meshes.get(key)
        if mesh is None or len(targets):
            primitive: dict[str, Any] = {
                "attributes": {"POSITION": self.glb.array(points, VERTICES)},
                "mode": mode,
                "material": self._material(color, mode == TRIANGLES),
            }
            if elements is not None:
                primitive["indices"] = self.glb.array(elements.reshape(-1), INDICES)
            if len(targets):
                primitive["targets"] = [{"POSITION": self.glb.array(delta, VERTICES)} for delta in targets]
            weights = [0.0] * len(targets) or None
            mesh = self.glb.add("meshes", {"name": name, "primitives": [primitive], "weights": weights})
            self._meshes[key] = mesh
        return self._node({"name": name, "mesh": mesh})

    def _material(self, color: str, lit: bool) -> int:
        if (color, lit) not in self._materials:
            shade = linear_rgb(color)
            surface = {"baseColorFactor": [*shade, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8}
            thing = {"name": color, "pbrMetallicRoughness": surface, "doubleSided": True}
            self._materials[color, lit] = self.glb.add("materials", thing)
        return self._materials[color, lit]

    def _place(self, node: int, position: np.ndarray, orientation: np.ndarray, scale: np.ndarray | None = None) -> None:
        """Where a node is at first, and the keys of what changes."""
        turn = orientation[..., [1, 2, 3, 0]]  # glTF has w last
        given = {"translation": position, "rotation": turn, **({} if scale is None else {"scale": scale})}
        for path, values in given.items():
            self.glb.json["nodes"][node][path] = values[0].tolist()
            if len(values) > 1 and not self._still(values):
                self._channel(node, path, self._times, values[self._kept])

    def _still(self, values: np.ndarray) -> bool:
        return bool(np.ptp(values, axis=0).max(initial=0.0) <= STILL * np.abs(values).max(initial=0.0))

    def _channel(self, node: int, path: str, times: np.ndarray, values: np.ndarray) -> None:
        clock = self._clocks.setdefault(times.tobytes(), -1)
        if clock < 0:
            clock = self._clocks[times.tobytes()] = self.glb.array(times)
        self._samplers.append({"input": clock, "output": self.glb.array(values), "interpolation": "LINEAR"})
        self._channels.append({"sampler": len(self._samplers) - 1, "target": {"node": node, "path": path}})
