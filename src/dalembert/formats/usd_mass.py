"""Mass, centre of mass and inertia of a rigid body of USD Physics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import UsdPhysics

from ..scene.checks import rotation_matrix
from ..scene.mass import MassProperties, mass_properties
from ..scene.shapes import Compound, Part
from .usd_shapes import Collider, Geometry
from .usd_values import quaternion, short, value

if TYPE_CHECKING:
    from .usd_reader import Reader

WATER = 1000.0  # kg/m³, the density that USD Physics assumes


def solid_of(
    reader: Reader, prim: Any, rotation: np.ndarray, place: np.ndarray, shown: list[Collider]
) -> tuple[MassProperties, list[Geometry]]:
    """Mass, centre (3,) m in the world and inertia (3, 3) kg m² in the body's axes; and the shapes, in the frame of the
    prim. What the file does not say follows from the shapes and their densities."""
    api = UsdPhysics.MassAPI(prim)
    mass = reader.mass * short(value(api.GetMassAttr(), 0.0))
    center = np.array(value(api.GetCenterOfMassAttr(), (-np.inf,) * 3), float)
    moments = reader.mass * reader.length**2 * np.array(value(api.GetDiagonalInertiaAttr(), (0, 0, 0)), float)
    own = density_of(reader, prim)
    parts, densities = [], []
    for item in shown:
        part = item.geometry.seen_from(rotation, place)
        volume = mass_properties(part.shape, density=1.0).mass
        inner = reader.mass * float(value(UsdPhysics.MassAPI(item.prim).GetMassAttr(), 0.0)) / volume
        densities.append(inner or density_of(reader, item.prim) or own or item.density or WATER)
        parts.append(part)
    whole = None
    if parts:
        compound = Compound(
            [
                Part(p.shape, tuple(p.position), p.orientation, d / densities[0])
                for p, d in zip(parts, densities, strict=True)
            ]
        )
        whole = mass_properties(compound, mass=mass) if mass > 0.0 else mass_properties(compound, density=densities[0])
    if whole is None and not (mass > 0.0 and moments.all()):
        raise ValueError("it has no shape, and not both mass and inertia; give it a collider, or a mass and an inertia")
    linear, origin = reader.matrix(prim)
    middle = origin if whole is None else origin + rotation @ np.array(whole.center)
    if np.isfinite(center).all():
        middle = linear @ center + origin
    tensor = None if whole is None else np.array(whole.inertia)
    if moments.all():
        q = value(api.GetPrincipalAxesAttr(), None)
        axes = np.eye(3) if q is None or q.GetLength() == 0.0 else rotation_matrix(quaternion(q))
        tensor = axes @ np.diag(moments) @ axes.T
    total = mass if whole is None else whole.mass
    return MassProperties(total, middle, tensor), parts  # type: ignore[arg-type]


def density_of(reader: Reader, prim: Any) -> float:
    """kg/m³; 0 where the prim says nothing."""
    return short(value(UsdPhysics.MassAPI(prim).GetDensityAttr(), 0.0)) * reader.mass / reader.length**3
