"""How long the motion can be left alone so that nothing passes through anything unseen.

A step is looked at at its end. There, two things that met within it overlap, unless one is through the other already. So a
step may not take them past their distance and half the thickness of the thinner one, at speeds and accelerations as
they are, with room to spare.
"""

from __future__ import annotations

import numpy as np

from ..collide.tables import BOX, CAPSULE, HALF_SPACE, SPHERE, Collision
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .features import corners, facets

THICKNESS = 0.5  # what part of it may be passed
SPARE = 2.0  # how much the acceleration may grow meanwhile
LONGEST = 1e6  # s


class Reach:
    """The speeds and sizes of the colliders of a model. body_radius: (m,) m, of each body about its centre of mass."""

    def __init__(self, collision: Collision, model: Model) -> None:
        colliders = collision.colliders
        self._count = len(model.body_names)
        self._body = np.array(colliders.body)
        self._bounded = np.flatnonzero(colliders.kind != HALF_SPACE)
        self._offset = np.linalg.norm(colliders.position, axis=1)
        self._position = np.array(colliders.position)
        self._rotation = np.array(colliders.rotation).reshape(-1, 3, 3)
        self._radius = np.where(colliders.kind == HALF_SPACE, 0.0, colliders.radius)
        self._thickness = np.array([thickness(collision, c) for c in range(len(colliders))])
        self.body_radius = np.zeros(self._count)
        for c, body in enumerate(self._body):
            if body < self._count:
                self.body_radius[body] = max(self.body_radius[body], self._offset[c] + self._radius[c])
        self._mass = np.array(model.tables["bodies"]["mass"])[: self._count]
        inverse = np.array(model.tables["bodies"]["inverse_inertia"])[: self._count, :3]
        self._inverse = inverse.max(axis=1, initial=0.0)
        self._first, self._second = self._pairs(collision, len(colliders))

    def _pairs(self, collision: Collision, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of colliders that can touch, a half-space second."""
        first, second = np.triu_indices(count, 1)
        barred = np.isin(first * count + second, collision.excluded)
        a, b = self._body[first], self._body[second]
        keep = (a != b) & ~((a >= self._count) & (b >= self._count)) & ~barred
        first, second = first[keep], second[keep]
        planes = collision.colliders.kind == HALF_SPACE
        swap = planes[first]
        return np.where(swap, second, first), np.where(swap, first, second)

    def safe_time(self, y: np.ndarray, dydt: np.ndarray) -> float:
        """Seconds, from the state y with its derivative."""
        if not len(self._first):
            return LONGEST
        state = y[: STATE_SIZE * self._count].reshape(-1, STATE_SIZE)
        rate = dydt[: STATE_SIZE * self._count].reshape(-1, STATE_SIZE)
        turn = self._inverse * np.linalg.norm(state[:, 10:], axis=1)
        velocity = np.vstack([state[:, 7:10] / self._mass[:, None], np.zeros(3)])
        pull = np.vstack([np.nan_to_num(rate[:, 7:10]) / self._mass[:, None], np.zeros(3)])
        twist = self._inverse * np.linalg.norm(np.nan_to_num(rate[:, 10:]), axis=1)
        spin = np.append(turn * self.body_radius, 0.0)
        whirl = np.append((twist + turn**2) * self.body_radius, 0.0)
        a, b = self._body[self._first], self._body[self._second]
        speed = np.linalg.norm(velocity[a] - velocity[b], axis=1) + spin[a] + spin[b]
        push = SPARE * (np.linalg.norm(pull[a] - pull[b], axis=1) + whirl[a] + whirl[b])
        room = self._distances(state) + THICKNESS * np.minimum(
            self._thickness[self._first], self._thickness[self._second]
        )
        # The least time of speed t + push t²/2 = room.
        time = 2.0 * room / np.maximum(speed + np.sqrt(speed * speed + 2.0 * push * room), 1e-300)
        return float(min(time.min(), LONGEST))

    def _distances(self, state: np.ndarray) -> np.ndarray:
        """(pairs,) at most the distances of their spheres, or of a sphere and the half-space; none below zero."""
        x, turned = np.vstack([state[:, :3], np.zeros(3)]), np.vstack([state[:, 3:7], (1.0, 0.0, 0.0, 0.0)])
        q = turned[self._body]
        centre = x[self._body] + rotate(q, self._position)
        normal = rotate(q, self._rotation[:, :, 2])
        apart = centre[self._first] - centre[self._second]
        from_plane = np.sum(apart * normal[self._second], axis=1)
        plane = np.isinf(self._thickness[self._second])
        distance = np.where(plane, from_plane, np.linalg.norm(apart, axis=1))
        return np.maximum(distance - self._radius[self._first] - self._radius[self._second], 0.0)


def rotate(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) turned by unit quaternions (n, 4)."""
    t = 2.0 * np.cross(q[:, 1:], a)
    return np.asarray(a + q[:, :1] * t + np.cross(q[:, 1:], t))


def thickness(collision: Collision, c: int) -> float:
    """The radius of a ball that fits into a collider, m; infinite for a half-space."""
    collider = collision.colliders[c]
    if collider.kind == HALF_SPACE:
        return float("inf")
    if collider.kind in (SPHERE, CAPSULE):
        return float(collider["size"][0])
    if collider.kind == BOX:
        return float(min(collider["size"]))
    _, offsets = facets(collision, c)
    return float(max(offsets.min(), 1e-3 * np.ptp(corners(collision, c), axis=0).min()))
