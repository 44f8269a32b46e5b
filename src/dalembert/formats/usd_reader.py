"""From a USD stage to a scene: units, bodies and their masses, obstacles, contact."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from ..scene.body import WORLD, Body, World
from ..scene.checks import quaternion_of
from ..scene.contact import HalfSpace, Material
from ..scene.scene import Scene
from ..scene.shapes import Compound, Part
from ..scene.simplify import simplification_message
from .imported import FileFrame, ImportedModel, ModelWarning
from .usd_joints import read_joints
from .usd_mass import solid_of
from .usd_shapes import Collider, alone, read_collider
from .usd_values import Told, short, value

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
        self._names: set[str] = {WORLD.name}
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
                with self.told(prim):
                    self._add_body(prim, carried.get(prim.GetPath(), []))
            else:
                self.items[prim.GetPath()] = WORLD
        for prim in carried.get(None, []):
            with self.told(prim):
                self._add_obstacle(prim)
        read_joints(self, prims)
        for prim in prims:
            self._read_rest(prim)
        if simplified := simplification_message(self.scene):
            self.warn(self.scene.name, simplified)
        self.model.warnings = list(self._warnings.values())
        return self.model

    def told(self, prim: Any) -> Told:
        """Says of a refusal by the scene which prim is its reason."""
        return Told(f"{self.file}: <{prim.GetPath()}>: ")

    # Places -----------------------------------------------------------------------------------------------------------

    def matrix(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """(3, 3) and (3,): x → A x + t from the frame of a prim to the scene, in m."""
        found = np.array(self._cache.GetLocalToWorldTransform(prim)) if prim else np.eye(4)
        if not np.isfinite(found).all():
            raise ValueError(f"{self.file}: <{prim.GetPath()}>: its transformation is not finite; correct it")
        turn = self.length * self.up
        return turn @ found[:3, :3].T, turn @ found[3, :3]

    def frame(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and place (3,) m of a prim, without its scale."""
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
        return WORLD

    def name(self, prim: Any) -> str:
        return _free(prim, self._names)

    def joint_name(self, prim: Any) -> str:
        return _free(prim, self._joint_names)

    # Things -----------------------------------------------------------------------------------------------------------

    def _moves(self, prim: Any) -> bool:
        body = UsdPhysics.RigidBodyAPI(prim)
        if value(body.GetKinematicEnabledAttr(), False):
            self.warn(prim, "a kinematic body is read as one that stands still")
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
                self.warn(item.prim, "a plane that moves is left out; use a box")
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
            self.warn(prim, "its colliders differ in material; a body has one: the roughest and bounciest")
        return Material(max(item.friction for item in found), max(item.restitution for item in found))

    def _add_obstacle(self, prim: Any) -> None:
        found = read_collider(self, prim, still=True)
        if found is None or found.material is None:
            return  # what is only seen
        at = found.geometry
        # An exported scene has the name at the frame, and "shape" below it.
        obstacle = self.scene.add_obstacle(
            self.name(prim.GetParent() if prim.GetName() == "shape" else prim), at.shape, position=at.position,
            orientation=at.orientation, material=found.material, **({"color": found.color} if found.color else {}),
        )  # fmt: skip
        self.shapes[prim.GetPath()] = obstacle.name

    # The rest ---------------------------------------------------------------------------------------------------------

    def _read_gravity(self, prims: list[Any]) -> None:
        scenes = [UsdPhysics.Scene(prim) for prim in prims if prim.IsA(UsdPhysics.Scene)]
        if len(scenes) > 1:
            self.warn(
                scenes[1].GetPrim(), "a second physics scene; all is one scene here, with the first one's gravity"
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
            self.warn(prim, "collision groups are not read; filter pairs instead")
        for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
            if schema.startswith("Physx"):
                self.warn(schema.split(":")[0], "what only PhysX reads is not used")

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
