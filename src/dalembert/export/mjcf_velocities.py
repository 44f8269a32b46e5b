"""The velocities at the start, in the speeds of an MJCF file."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..scene.articulate import Link
from ..scene.body import WORLD, Body
from ..scene.joint import Joint, Part
from .mjcf_document import Document, numbers

DEPENDENT = 1e-10  # of the largest singular value: what is below is a row that others make
TINY = 1e-15  # of the largest speed


def write_velocities(out: Document, loops: list[Joint]) -> None:
    """The key frame "start", where anything moves: the speeds w that come nearest to the velocities v of the bodies in the
    metric of the masses, the least |M^½ (J w − v)| of those with C w = 0, C the rows of the loops. Where the velocities fit
    the joints these are they."""
    bodies = list(out.scene.bodies.values())
    if not any(body.velocity.any() or body.angular_velocity.any() for body in bodies):
        return
    motions = _Motions(out)
    rows, wanted = [np.zeros((0, motions.count))], []
    for body in bodies:
        root, spin = np.sqrt(body.mass), np.linalg.cholesky(body.inertia).T @ body.rotation.T
        linear, angular = motions.of(body, body.position)
        rows += [root * linear, spin @ angular]
        wanted += [root * body.velocity, spin @ body.angular_velocity]
    free = _null_space(motions.closing(loops))
    speeds = free @ np.linalg.lstsq(np.concatenate(rows) @ free, np.concatenate(wanted), rcond=None)[0]
    speeds[np.abs(speeds) <= TINY * np.abs(speeds).max(initial=0.0)] = 0.0
    start = [value for _, _, joints in out.in_order() for joint in joints for value in joint.start()]
    ElementTree.SubElement(
        out.section("keyframe"), "key", name="start", qpos=numbers(start), qvel=numbers(speeds.tolist())
    )


def _null_space(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span what the rows take to nothing."""
    _, sizes, directions = np.linalg.svd(rows)
    rank = int(np.sum(sizes > DEPENDENT * sizes.max(initial=0.0)))
    return directions[rank:].T


class _Motions:
    """What each speed of the file moves, at the start."""

    def __init__(self, out: Document) -> None:
        self.out, self.count = out, 0
        self._numbers: dict[str, int] = {}  # joint of the file → its first speed
        self._ways: dict[Any, list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]] = {WORLD: []}
        for place, host, joints in out.in_order():
            way = list(self._ways[host.item])
            for joint in joints:
                self._numbers[joint.name] = self.count
                for slide, turn in joint.freedoms():
                    way.append((self.count, slide, turn, joint.at))
                    self.count += 1
            self._ways[place.item] = way

    def of(self, frame: Any, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(3, count) each: velocity of a world point of a frame, and angular velocity of that, of a unit of each speed."""
        linear, angular = np.zeros((3, self.count)), np.zeros((3, self.count))
        for k, slide, turn, at in self._ways[frame]:
            linear[:, k] = slide + np.cross(turn, point - at)
            angular[:, k] = turn
        return linear, angular

    def closing(self, loops: list[Joint]) -> np.ndarray:
        """C: the rates of the constraints that the file has, of a unit of each speed."""
        rows = [np.zeros((0, self.count))]
        for joint in loops:
            ends = (joint.a, joint.b)
            if joint.coupling is not None:
                first, second = (self.out.coordinate(item) for item in joint.coupling.joints)
                if first is not None and second is not None:
                    row = np.zeros((1, self.count))
                    row[0, self._numbers[first.name]] = joint.coupling.ratio
                    row[0, self._numbers[second.name]] = -1.0
                    rows.append(row)
            elif joint.kind in ("ball", "hinge", "weld", "rod") and all(
                end is WORLD or isinstance(end, Body | Link) for end in ends
            ):
                rows += [self._rates(joint, part) for part in joint.parts]
        return np.concatenate(rows)

    def _rates(self, joint: Joint, part: Part) -> np.ndarray:
        """point: d/dt (b − a). distance: that along b − a. dot: d/dt (n_a · n_b) = (n_a × n_b) · (ω_a − ω_b)."""
        linear_a, angular_a = self.of(joint.a, part.point_a)
        linear_b, angular_b = self.of(joint.b, part.point_b)
        if part.kind == "dot":
            return (np.cross(part.axis_a, part.axis_b) @ (angular_a - angular_b))[None]
        gap = linear_b - linear_a
        return gap if part.kind == "point" else ((part.point_b - part.point_a) @ gap)[None]
