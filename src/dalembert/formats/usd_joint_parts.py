"""What joints of USD Physics are made of: their two frames, stops and drives.

Files keep the places of joints in float32, so that both ends are a little apart; below a hundred thousandth they are one. The
coordinates of a scene are 0 where the file's joints are at some angle or displacement already: stops and targets are shifted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import UsdPhysics

from ..scene.body import Body, World
from ..scene.joint import Joint
from .usd_values import value

if TYPE_CHECKING:
    from .usd_reader import Reader

CLOSED = 1e-5
DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class Ends:
    """The two frames of a joint, in the scene: places (3,) m and axes, the columns of rotations."""

    name: str
    a: Body | World
    b: Body | World
    at_a: np.ndarray
    at_b: np.ndarray
    frame_a: np.ndarray
    frame_b: np.ndarray

    def angle(self, k: int) -> float:
        """Of the second frame against the first about axis k, rad."""
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = self.frame_a.T @ self.frame_b
        return float(np.arctan2(turn[j, i] - turn[i, j], turn[i, i] + turn[j, j]))

    def displacement(self, k: int) -> float:
        """Of the second along axis k of the first, m."""
        return float(self.frame_a[:, k] @ (self.at_b - self.at_a))


def points(reader: Reader, prim: Any, ends: Ends) -> dict[str, np.ndarray]:
    """`at`, and `at_b` where it is another place: then the joint is open."""
    gap = float(np.linalg.norm(ends.at_b - ends.at_a))
    if gap <= CLOSED * max(1.0, float(np.abs(ends.at_a).max())):
        return {"at": ends.at_a}
    reader.warn(prim, f"it is open by {gap:.3g} m; assemble the scene: Simulation(…, assemble=True)")
    return {"at": ends.at_a, "at_b": ends.at_b}


def hinge(reader: Reader, prim: Any, ends: Ends, k: int) -> Joint:
    places = points(reader, prim, ends)
    axis, other = ends.frame_a[:, k], ends.frame_b[:, k]
    if np.abs(axis - other).max() > CLOSED:
        reader.warn(prim, "its axes are not in line; assemble the scene: Simulation(…, assemble=True)")
        places["axis_b"] = other
    return reader.scene.hinge(ends.name, ends.a, ends.b, axis=axis, **places)


def slider(reader: Reader, prim: Any, ends: Ends, k: int) -> Joint:
    axis = ends.frame_a[:, k]
    aside = ends.at_b - ends.at_a - ends.displacement(k) * axis
    at = ends.at_b
    if np.linalg.norm(aside) > CLOSED * max(1.0, float(np.abs(at).max())):
        reader.warn(prim, "it is open across its axis; it slides as it stands")
    return reader.scene.slider(ends.name, ends.a, ends.b, at, axis)


def act(
    reader: Reader,
    prim: Any,
    ends: Ends,
    joint: Joint,
    k: int,
    angular: bool,
    bounds: tuple[float, float],
    freedom: str,
) -> None:
    """Stops and drive of one coordinate, which is 0 where the file's is `zero`."""
    unit = DEGREE if angular else reader.length
    zero = ends.angle(k) if angular else ends.displacement(k)
    if abs(zero) <= CLOSED:
        zero = 0.0
    which = "angle" if angular else "displacement"
    lower, upper = (bound * unit - zero if np.isfinite(bound) else None for bound in bounds)
    if lower is not None or upper is not None:
        try:
            reader.scene.limit(f"{joint.name}/{which} limit", joint, lower=lower, upper=upper, coordinate=which)
        except ValueError as error:
            reader.warn(prim, f"its stops are left out: {error}")
    if not prim.HasAPI(UsdPhysics.DriveAPI, freedom):
        return
    drive = UsdPhysics.DriveAPI(prim, freedom)
    if value(drive.GetTypeAttr(), "force") != "force":
        reader.warn(prim, "a drive of type acceleration is left out; give one of type force")
        return
    force = reader.mass * reader.length * (reader.length if angular else 1.0)  # N m or N in a unit of the file
    stiffness, damping = (
        float(value(a, 0.0)) * force / unit for a in (drive.GetStiffnessAttr(), drive.GetDampingAttr())
    )
    position = float(value(drive.GetTargetPositionAttr(), 0.0)) * unit - zero
    speed = float(value(drive.GetTargetVelocityAttr(), 0.0)) * unit
    limit = float(value(drive.GetMaxForceAttr(), np.inf)) * force
    if stiffness > 0.0 or damping > 0.0:
        reader.scene.motor(
            f"{joint.name}/{which} drive", joint, stiffness=stiffness, position=position, gain=damping,
            speed=speed if damping > 0.0 else None, limit=limit if limit < 1e30 else np.inf, coordinate=which,
        )  # fmt: skip
