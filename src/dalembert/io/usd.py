"""Reads a USD file with USD Physics as a scene: safe opening, then units, bodies and their masses, obstacles, contact.

Only `load_usd` imports this module, as it needs the package usd-core.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Ar, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from ..core.file_format import USD_SUFFIXES
from ..scene.body import THE_WORLD, Body, World
from ..scene.checks import quaternion_of
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.scene_warnings import simplification_message
from ..scene.shapes import Compound, HalfSpace, Part
from .files import FileFrame, ImportedModel, ModelWarning
from .usd_prims import (
    Collider,
    Located,
    alone,
    read_collider,
    read_joints,
    short,
    solid_of,
    value,
)

# Opening --------------------------------------------------------------------------------------------------------------
#
# USD follows references as it opens a stage. So all layers are read first, one by one and without composing anything, and the
# stage is opened only where each that they refer to is a file in the model's folder or below.

MAX_BYTES = 200_000_000
MAX_LAYERS = 1000


def open_stage(file: Path) -> Any:
    """The stage of a file. Raises ValueError naming the file and the way out."""
    _require_file(file, file.parent)
    waiting, known = [file], {file}
    while waiting:
        for found in _dependencies(waiting.pop(), file.parent):
            if found not in known:
                known.add(found)
                waiting.append(found)
                if len(known) > MAX_LAYERS:
                    raise ValueError(f"{file}: it is made of more than {MAX_LAYERS} layers; flatten it")
    try:
        with Ar.ResolverContextBinder(Ar.DefaultResolverContext([])):
            stage = Usd.Stage.Open(_layer(file), Ar.DefaultResolverContext([]))
    except Tf.ErrorException as error:
        raise ValueError(f"{file}: it cannot be composed ({_first_line(error)}); export it again") from None
    return stage


def _dependencies(file: Path, folder: Path) -> list[Path]:
    """The layers that a layer refers to, in sublayers, references and payloads, those inside of variants among them."""
    layer = _layer(file)
    found = []
    for reference in layer.GetCompositionAssetDependencies():
        if "`" in reference or "${" in reference:
            raise ValueError(
                f"{file}: it refers to {reference!r:.200}, an expression, which is not supported; write the file name"
            )
        inner = file.parent / reference
        try:
            path = inner.resolve()
        except (OSError, RuntimeError, ValueError):
            path = None
        if "://" in reference or "[" in reference or path is None:
            raise ValueError(
                f"{file}: it refers to {reference!r:.200}, which is not a local file; only local files are read"
            )
        _require_file(path, folder, f"{file}: it refers to {reference!r:.200}, which")
        found.append(path)
    _look_at_prims(layer, file)
    return found


def _look_at_prims(layer: Any, file: Path) -> None:
    """Refuse prims that are nested too deep, which a binary file may have, and value clips: layers too that a stage opens by
    itself."""
    waiting = list(layer.rootPrims)
    while waiting:
        prim = waiting.pop()
        if prim.path.pathElementCount > MAX_DEPTH:
            raise ValueError(f"{file}: it is nested more than {MAX_DEPTH} deep; flatten it")
        if prim.HasInfo("clips"):
            raise ValueError(f"{file}: {prim.path} has value clips, which are not supported; flatten the file")
        waiting += prim.nameChildren
        waiting += [variant.primSpec for choices in prim.variantSets for variant in choices.variants]


def _require_file(path: Path, folder: Path, subject: str | None = None) -> None:
    """Raises ValueError for what is outside of the folder, no file, too large or of another suffix."""
    what = subject or f"{path}: it"
    if not path.is_relative_to(folder):
        raise ValueError(f"{what} lies outside of {folder}, the only folder that this model can read; move it there")
    if not path.is_file():
        raise ValueError(f"{what} does not exist; check the path")
    if path.suffix.lower() not in USD_SUFFIXES:
        raise ValueError(f"{what} is not a {', '.join(USD_SUFFIXES)} file; convert it to one")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{what} is larger than {MAX_BYTES // 10**6} MB; split it or simplify its meshes")


def _layer(file: Path) -> Any:
    """One layer, read from its file alone, and anew where the process has read it before."""
    require_shallow(file)
    try:
        layer = Sdf.Layer.FindOrOpen(str(file))
        if layer is not None and not layer.dirty:
            layer.Reload()
    except Tf.ErrorException as error:
        raise ValueError(f"{file}: not a readable USD file ({_first_line(error)}); export it again") from None
    if layer is None:
        raise ValueError(f"{file}: not a readable USD file; export it again")
    return layer


def _first_line(error: Exception) -> str:
    """The message of USD, without its own source file and line."""
    said = re.search(r" : '(.*?)'?\s*$", str(error).strip(), re.DOTALL)
    return " ".join((said[1] if said else str(error)).split())[:200]


# The depth of a USD text ----------------------------------------------------------------------------------------------
#
# It is checked before USD reads the text: USD's parser and its stage call themselves for each level, so that a text that is
# nested some ten thousand deep ends the process. Strings, asset paths and comments hold any characters, and are skipped.

MAX_DEPTH = 256
BINARY = b"PXR-USDC"
# What is passed over; or, in a group, the beginning of one that does not end, or a line end that not every parser knows.
PASSED_OVER = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""' + rb"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    rb'|"(?:[^"\\\n]|\\.)*"' + rb"|'(?:[^'\\\n]|\\.)*'"
    rb"|@@@(?:[^@\\]|\\.|@(?!@@))*@@@|@[^@\n]*@|#[^\r\n]*|//[^\r\n]*|/\*.*?\*/|([\"'@]|/\*|\r(?!\n))",
    re.DOTALL,
)
CHUNK = 1 << 24  # bytes at a time
STEP = np.zeros(256, np.int8)
STEP[list(b"([{")], STEP[list(b")]}")] = 1, -1


def require_shallow(file: Path) -> None:
    """Raises ValueError, naming the file and the way out, for a text that is nested too deep. Binary files pass."""
    data = file.read_bytes()
    if data.startswith(BINARY):
        return

    def pass_over(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            line = data.count(b"\n", 0, found.start()) + 1
            raise ValueError(
                f"{file}:{line}: not a readable USD text ({found[1].decode()!r} without an end); export it again"
            )
        return b" "

    text = PASSED_OVER.sub(pass_over, data)
    if any(depth > MAX_DEPTH for depth in _depths(text)):
        raise ValueError(f"{file}: it is nested more than {MAX_DEPTH} deep; flatten it")


def _depths(text: bytes) -> Iterator[int]:
    """The greatest depth in each chunk of a text."""
    depth = 0
    for start in range(0, len(text), CHUNK):
        steps = STEP[np.frombuffer(text, np.uint8, min(CHUNK, len(text) - start), start)]
        depths = depth + np.cumsum(steps, dtype=np.int64)
        yield int(depths.max())
        depth = int(depths[-1])


# From a stage to a scene ----------------------------------------------------------------------------------------------

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # y → z, z → −y


class Reader:
    """Reads one stage."""

    def __init__(self, stage: Any, file: Path, contacts: bool) -> None:
        self.stage, self.file, self.contacts = stage, file, contacts
        self.length = float(UsdGeom.GetStageMetersPerUnit(stage))
        self.mass = float(UsdPhysics.GetStageKilogramsPerUnit(stage))
        for unit, name in ((self.length, "metersPerUnit"), (self.mass, "kilogramsPerUnit")):
            if not (math.isfinite(unit) and unit > 0.0):
                raise ValueError(f"{file}: {name} is {unit}; give a number above zero")
        self.up = np.eye(3) if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else Y_UP
        self.time = Usd.TimeCode.EarliestTime()
        self._cache = UsdGeom.XformCache(self.time)
        self._warnings: dict[tuple[str, str], ModelWarning] = {}
        self.items: dict[Any, Body | World] = {}  # path of a rigid body → what it became
        self.shapes: dict[Any, str] = {}  # path of a collider → name of its body or obstacle
        self._names: set[str] = {THE_WORLD.name}
        self._joint_names: set[str] = set()
        root = stage.GetDefaultPrim()
        self.scene = Scene((root.GetDisplayName() or root.GetName()) if root else file.stem)
        self.scene.imported = True
        self.model = ImportedModel(self.scene, file, "USD")

    def warn(self, prim: Any, message: str) -> None:
        """Said once for a prim, and of a kind of prim once where `prim` is a text."""
        name = prim if isinstance(prim, str) else str(prim.GetPath())
        self._warnings.setdefault((name, message), ModelWarning(self.file, 0, name, message))

    def read(self) -> ImportedModel:
        prims = list(Usd.PrimRange(self.stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
        self._read_gravity(prims)
        carried: dict[Any, list[Any]] = {}
        rigid = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
        moving = {prim.GetPath() for prim in rigid if self._moves(prim)}
        for prim in prims:
            if prim.IsA(UsdGeom.Gprim):
                carried.setdefault(self._carrier(prim, moving), []).append(prim)
        for prim in rigid:
            if prim.GetPath() in moving:
                with self.located(prim):
                    self._add_body(prim, carried.get(prim.GetPath(), []))
            else:
                self.items[prim.GetPath()] = THE_WORLD
        for prim in carried.get(None, []):
            with self.located(prim):
                self._add_obstacle(prim)
        read_joints(self, prims)
        for prim in prims:
            self._read_rest(prim)
        if simplified := simplification_message(self.scene):
            self.warn(self.scene.name, simplified)
        self.model.warnings = list(self._warnings.values())
        return self.model

    def located(self, prim: Any) -> Located:
        """Add the prim to the message of a ValueError of the scene."""
        return Located(f"{self.file}: <{prim.GetPath()}>: ")

    # Places -----------------------------------------------------------------------------------------------------------

    def matrix(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """(3, 3) and (3,): x → A x + t from the frame of a prim to the scene, in m."""
        found = np.array(self._cache.GetLocalToWorldTransform(prim)) if prim else np.eye(4)
        if not np.isfinite(found).all():
            raise ValueError(f"{self.file}: <{prim.GetPath()}>: its transformation is not finite; correct it")
        turn = self.length * self.up
        return turn @ found[:3, :3].T, turn @ found[3, :3]

    def frame(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and position (3,) m of a prim, without its scale."""
        linear, place = self.matrix(prim)
        u, sizes, vt = np.linalg.svd(linear)
        if sizes[-1] <= 1e-12 * sizes[0]:
            raise ValueError(f"{self.file}: <{prim.GetPath()}>: its transformation is flat; correct its scale")
        rotation = u @ vt
        return (rotation if np.linalg.det(rotation) > 0.0 else rotation @ np.diag([1.0, 1.0, -1.0])), place

    def item(self, path: Any) -> Body | World:
        """What a path belongs to: the nearest rigid body above, or the world."""
        while path and not path.IsAbsoluteRootPath():
            if path in self.items:
                return self.items[path]
            path = path.GetParentPath()
        return THE_WORLD

    def name(self, prim: Any) -> str:
        return _free(prim, self._names)

    def joint_name(self, prim: Any) -> str:
        return _free(prim, self._joint_names)

    # Things -----------------------------------------------------------------------------------------------------------

    def _moves(self, prim: Any) -> bool:
        body = UsdPhysics.RigidBodyAPI(prim)
        if value(body.GetKinematicEnabledAttr(), False):
            self.warn(prim, "kinematic bodies are read as fixed ones")
            return False
        return bool(value(body.GetRigidBodyEnabledAttr(), True))

    def _carrier(self, prim: Any, moving: set[Any]) -> Any:
        path = prim.GetPath()
        while not path.IsAbsoluteRootPath() and path not in moving:
            path = path.GetParentPath()
        return path if path in moving else None

    def _add_body(self, prim: Any, gprims: list[Any]) -> None:
        rotation, place = self.frame(prim)
        colliders = [found for found in (read_collider(self, gprim) for gprim in gprims) if found is not None]
        touching = [item for item in colliders if item.material is not None]
        shown = [item for item in touching or colliders if not isinstance(item.geometry.shape, HalfSpace)]
        for item in colliders:
            if isinstance(item.geometry.shape, HalfSpace):
                self.warn(item.prim, "moving planes are not supported; it is left out; use a box")
        solid, parts = solid_of(self, prim, rotation, place, shown)
        center = rotation.T @ (solid.center - place)
        shape = None
        if parts:
            shape = Compound([Part(part.shape, part.position - center, part.orientation) for part in parts])
            if len(parts) == 1:
                shape = alone(shape)
        api = UsdPhysics.RigidBodyAPI(prim)
        outer, _ = self.frame(prim.GetParent())
        velocity = self.length * outer @ np.array(value(api.GetVelocityAttr(), (0, 0, 0)), float)
        spin = np.radians(outer @ np.array(value(api.GetAngularVelocityAttr(), (0, 0, 0)), float))
        color = next((item.color for item in shown if item.color), None)
        body = self.scene.add_body(
            self.name(prim), shape, mass=solid.mass, inertia=solid.inertia, position=solid.center,
            orientation=quaternion_of(rotation), velocity=velocity, angular_velocity=spin,
            material=self._material(prim, touching) if touching and shape is not None else None,
            color=color,
        )  # fmt: skip
        self.items[prim.GetPath()] = body
        self.model.frames[str(prim.GetPath())] = FileFrame(body, -center, (1.0, 0.0, 0.0, 0.0))
        for item in touching:
            self.shapes[item.prim.GetPath()] = body.name

    def _material(self, prim: Any, touching: list[Collider]) -> Material:
        """A body has one material: the roughest and bounciest of its colliders."""
        found = [item.material for item in touching if item.material is not None]
        if len(set(found)) > 1:
            self.warn(prim, "its colliders differ in material; the body gets the largest friction and restitution")
        return Material(max(item.friction for item in found), max(item.restitution for item in found))

    def _add_obstacle(self, prim: Any) -> None:
        found = read_collider(self, prim, still=True)
        if found is None or found.material is None:
            return  # what is only seen
        at = found.geometry
        colored: dict[str, Any] = {"color": found.color} if found.color else {}
        # An exported scene has the name at the frame, and "shape" below it.
        obstacle = self.scene.add_obstacle(
            self.name(prim.GetParent() if prim.GetName() == "shape" else prim), at.shape, position=at.position,
            orientation=at.orientation, material=found.material, **colored,
        )  # fmt: skip
        self.shapes[prim.GetPath()] = obstacle.name

    # The rest ---------------------------------------------------------------------------------------------------------

    def _read_gravity(self, prims: list[Any]) -> None:
        scenes = [UsdPhysics.Scene(prim) for prim in prims if prim.IsA(UsdPhysics.Scene)]
        if len(scenes) > 1:
            self.warn(
                scenes[1].GetPrim(),
                "there is more than one physics scene; they are merged, with the gravity of the first",
            )
        if not scenes:
            return
        direction = np.array(value(scenes[0].GetGravityDirectionAttr(), (0, 0, 0)), float)
        size = short(value(scenes[0].GetGravityMagnitudeAttr(), -np.inf))
        down = self.up @ direction / np.linalg.norm(direction) if direction.any() else np.array([0.0, 0.0, -1.0])
        gravity = (self.length * size if size >= 0.0 else 9.81) * down
        self.scene.gravity = gravity + 0.0

    def _read_rest(self, prim: Any) -> None:
        """Pairs that do not touch, and what is not read."""
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            first = self._touching_names(prim.GetPath())
            for path in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                for a in first:
                    for b in self._touching_names(path):
                        if a != b:
                            self.scene.set_contact(a, b, enabled=False)
        if prim.IsA(UsdPhysics.CollisionGroup):
            self.warn(prim, "collision groups are not supported; filter pairs instead")
        for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
            if schema.startswith("Physx"):
                self.warn(schema.split(":")[0], "schemas for PhysX are ignored")

    def _touching_names(self, path: Any) -> set[str]:
        """Bodies and obstacles at or below a path."""
        return {name for found, name in self.shapes.items() if found.HasPrefix(path)}


def _free(prim: Any, taken: set[str]) -> str:
    """The name that a prim is shown by, with a number where something has it already; it is taken from now on."""
    wanted = found = prim.GetDisplayName() or prim.GetName()
    number = 2
    while found in taken:
        number, found = number + 1, f"{wanted} ({number})"
    taken.add(found)
    return found
