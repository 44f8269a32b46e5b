"""Conservative advancement: a time in which no body can pass through another one (B. Mirtich 1996).

The event function is evaluated at the end of a step. Two bodies that collided head on within the step overlap there, unless
one has already passed through the other. So a step must not move them by more than their distance plus half the thickness
of the thinner one, at the current velocities and accelerations with a margin. Those that graze each other part again at
once; `choose_pairs` chooses the pairs for which steps are searched inside, see `grazing`. The time of a pair is the longest
that one of these bounds allows:

balls   the distance of the spheres that hold the two, at the speed of the centres and of the furthest points;
planes  two things on either side of a plane stay apart while no point of the one crosses the plane, which is fixed to
        the other. A convex thing crosses it with a corner first (or the ball about one), so the time is the least in
        which one of the corners x can do so, from its own distance d, rate ḋ and second derivative:

            d + ḋ t − ½ c t² = 0,    ḋ = n·(v_a(x) − v_b(x)),
            c ≥ |a_a − a_b| + (|α_a| + ω_a²) |x − x_a| + (|α_b| + ω_b²) |x − x_b| + 2 |ω_b| |v_a(x) − v_b(x)|.

The same for the sphere about the centre of mass that holds it, which does not depend on ω_a: what turns fast far from a
wall takes long steps. Corners that bear force as part of a contact of the pair are held by it, and do not count: their
events have functions of their own. So a thin rod that lies, slides or falls over on the ground takes steps by how its
other end falls, and not by its thickness. The plane is one of the normals of the contacts of the pair, or that of the
widest gap among the faces of both, the cross products of their edges (of boxes) or axes (of capsules), and the
direction of their centres. Two capsules that touch with their sides cannot pass through each other while they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.tables import Collision
from ..model.compile import Model
from ..model.tables import KINEMATICS, STATE_SIZE
from ..scene.shapes.base import BOX, CAPSULE, HALF_SPACE, HULL, SPHERE
from .features import EDGES, OPEN, OPTIONS, TOUCH, corners, facets
from .system import ContactSystem

THICKNESS = 0.5  # of the thickness of a collider: the part that may be passed
SPARE = 2.0  # factor by which the acceleration may grow meanwhile
LONGEST = 1e6  # s, where nothing moves
SAME = 1e-6  # of a collider's size: a corner that is nearer to the point of a contact is that point


class ConservativeAdvancement:
    """The speeds and sizes of the colliders of a model. body_radius: (m,) m, of each body about its centre of mass."""

    def __init__(self, system: ContactSystem, model: Model) -> None:
        collision = system.detector.collision
        colliders = collision.colliders
        self._system = system
        self._count = len(model.body_names)
        self._body = np.array(colliders.body)
        self._kind = np.array(colliders.kind)
        self._offset = np.linalg.norm(colliders.position, axis=1)
        self._position = np.array(colliders.position)
        self._rotation = np.array(colliders.rotation).reshape(-1, 3, 3)
        self._radius = np.where(colliders.kind == HALF_SPACE, 0.0, colliders.radius)
        self._thickness = np.array([thickness(collision, c) for c in range(len(colliders))])
        self._cores = [core(collision, c) for c in range(len(colliders))]
        self._axes = [directions(collision, c) for c in range(len(colliders))]
        self._round = np.where(np.isin(self._kind, (SPHERE, CAPSULE)), np.array(colliders["size"])[:, 0], 0.0)
        self.body_radius = np.zeros(self._count)
        for c, body in enumerate(self._body):
            if body < self._count:
                self.body_radius[body] = max(self.body_radius[body], self._offset[c] + self._radius[c])
        self._first, self._second = self._pairs(collision, len(colliders))
        self._number = np.minimum(self._first, self._second) * len(self._body) + np.maximum(self._first, self._second)
        self._active = system.options.view(OPTIONS, np.ndarray)["active"]
        # of each pair, s: how long it does not touch, from the last state on
        self._untouched = np.zeros(len(self._first))
        arms = [np.linalg.norm(points, axis=1).max(initial=0.0) for points in self._cores]
        system.looking.reach[:] = np.where(self._body < self._count, arms, 0.0)

    def _pairs(self, collision: Collision, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of colliders that can touch, a half-space second."""
        first, second = np.triu_indices(count, 1)
        barred = np.isin(first * count + second, collision.excluded)
        a, b = self._body[first], self._body[second]
        keep = (a != b) & ~((a >= self._count) & (b >= self._count)) & ~barred
        first, second = first[keep], second[keep]
        planes = self._kind == HALF_SPACE
        swap = planes[first]
        return np.where(swap, second, first), np.where(swap, first, second)

    def safe_time(self, y: np.ndarray, dydt: np.ndarray, enough: float) -> float:
        """The time (s) from the state y with derivative dydt within which nothing passes through anything; where that is
        more than `enough` (s), any such time. The kinematics table must be of this state."""
        if not len(self._first):
            return LONGEST
        motion = Motion(self._system, self._count, y, dydt)
        spheres = self._spheres(motion)
        order = np.argsort(spheres, kind="stable")
        best = LONGEST
        touching = self._touches() if spheres[order[0]] < enough else {}
        for k in order:
            if spheres[k] >= min(best, max(enough, 0.0)):
                return float(min(best, spheres[k]))
            pair = int(self._first[k]), int(self._second[k])
            best = min(best, max(float(spheres[k]), self._planes(*pair, touching.get(pair, []), motion)))
        return float(best)

    def choose_pairs(self, span: float) -> None:
        """Have those pairs looked at within steps that may touch within `span` (s) of the state of the last `safe_time`, and
        of which no contact bears force: the distance of these does not say whether they touch elsewhere."""
        chosen = np.flatnonzero(self._untouched < span)
        active = int(self._active[0]) if len(chosen) else 0
        if active:
            touches = self._system.tables.touches.view(TOUCH, np.ndarray)[:active]
            a, b = touches["a"], touches["b"]
            number = np.minimum(a, b) * len(self._body) + np.maximum(a, b)
            chosen = chosen[(self._number[chosen, None] != number).all(axis=1)]
        self._system.set_pairs(self._first[chosen], self._second[chosen])

    def _spheres(self, motion: Motion) -> np.ndarray:
        """(pairs,) s, by the balls of each pair; without an allowance those are `_untouched`."""
        a, b = self._body[self._first], self._body[self._second]
        radius = np.append(self.body_radius, 0.0)
        spin, whirl = motion.turn * radius, (motion.twist + motion.turn**2) * radius
        speed = np.linalg.norm(motion.v[a] - motion.v[b], axis=1) + spin[a] + spin[b]
        push = SPARE * (np.linalg.norm(motion.a[a] - motion.a[b], axis=1) + whirl[a] + whirl[b])
        distance = self._distances(motion)
        self._untouched = least_time(distance, -speed, push)
        return least_time(distance + self._allowance(self._first, self._second), -speed, push)

    def _allowance(self, a: Any, b: Any) -> Any:
        """How deep two colliders may overlap at the end of a step, m."""
        return THICKNESS * np.minimum(self._thickness[a], self._thickness[b])

    def _distances(self, motion: Motion) -> np.ndarray:
        """(pairs,) at most the distances of their spheres, or of a sphere and the half-space; none below zero."""
        turned = motion.rotation[self._body]
        centre = motion.x[self._body] + np.einsum("ijk,ik->ij", turned, self._position)
        normal = np.einsum("ijk,ik->ij", turned, self._rotation[:, :, 2])
        apart = centre[self._first] - centre[self._second]
        from_plane = np.sum(apart * normal[self._second], axis=1)
        plane = np.isinf(self._thickness[self._second])
        distance = np.where(plane, from_plane, np.linalg.norm(apart, axis=1))
        return np.maximum(distance - self._radius[self._first] - self._radius[self._second], 0.0)

    def _touches(self) -> dict[tuple[int, int], list[Any]]:
        """The touches of each pair of colliders."""
        found: dict[tuple[int, int], list[Any]] = {}
        for touch in self._system.tables.touches:
            a, b = int(touch.a), int(touch.b)
            pair = (b, a) if self._kind[a] == HALF_SPACE else (min(a, b), max(a, b))
            found.setdefault(pair, []).append(touch)
        return found

    # Planes -----------------------------------------------------------------------------------------------------------

    def _planes(self, a: int, b: int, touches: list[Any], motion: Motion) -> float:
        """s, by the planes between colliders a and b."""
        bearing = [touch for touch in touches if touch.mode != OPEN]
        if any(touch.kind == EDGES for touch in bearing) and self._kind[a] == self._kind[b] == CAPSULE:
            return LONGEST
        at = [motion.place(self._body[c], self._cores[c]) for c in (a, b)]
        allowance = float(self._allowance(a, b))
        best = 0.0
        for n in self._normals(a, b, at, touches, motion):
            reach = float((at[0] @ n).max() + self._round[a]) if len(at[0]) else 0.0
            start = float((at[1] @ n).min() - self._round[b]) if len(at[1]) else 0.0
            if not len(at[1]):  # a half-space, n into it
                start = float(n @ motion.place(self._body[b], self._position[b][None])[0])
            best = max(best, self._crossing(a, b, at[0], (-n, -start), bearing, allowance, motion))
            if len(at[1]):
                best = max(best, self._crossing(b, a, at[1], (n, reach), bearing, allowance, motion))
        return best

    def _normals(self, a: int, b: int, at: list[np.ndarray], touches: list[Any], motion: Motion) -> list[np.ndarray]:
        """Unit normals from a to b of planes that are tried."""
        body_a, body_b = self._body[a], self._body[b]
        if self._kind[b] == HALF_SPACE:
            return [-motion.rotation[body_b] @ self._rotation[b][:, 2]]
        found = [-touch.frame[:3] if touch.i == body_a else np.array(touch.frame[:3]) for touch in touches]
        faces_a, edges_a = (axes @ motion.rotation[body_a].T for axes in self._axes[a])
        faces_b, edges_b = (axes @ motion.rotation[body_b].T for axes in self._axes[b])
        centre = at[1].mean(axis=0) - at[0].mean(axis=0)
        tried = [faces_a, -faces_b, centre[None]]
        if len(edges_a) and len(edges_b):
            both = np.cross(edges_a[:, None], edges_b[None]).reshape(-1, 3)
            tried += [both, -both]
        for edges in (edges_a, edges_b):  # across the edge, toward the other
            if len(edges):
                tried.append(centre - (edges @ centre)[:, None] * edges)
        candidates = np.vstack(tried)
        size = np.linalg.norm(candidates, axis=1)
        candidates = candidates[size > 1e-9 * size.max()] / size[size > 1e-9 * size.max(), None]
        gap = (candidates @ at[1].T).min(axis=1) - (candidates @ at[0].T).max(axis=1)
        return [*found, candidates[int(np.argmax(gap))]]

    def _crossing(
        self, moving: int, fixed: int, points: np.ndarray, plane: tuple[np.ndarray, float], bearing: list[Any],
        allowance: float, motion: Motion,
    ) -> float:  # fmt: skip
        """s, in which no corner of a collider, `points` (k, 3), crosses a plane fixed to another; or the sphere about the
        centre of mass that holds it, which is longer for what turns fast. plane: its normal, out of the other, and offset."""
        i, j = self._body[moving], self._body[fixed]
        n, offset = plane
        free = np.ones(len(points), bool)
        for touch in bearing:
            if touch.i == i and touch.kind != EDGES:
                held = motion.place(i, np.array(touch.point_i)[None])[0]
                free &= np.linalg.norm(points - held, axis=1) > SAME * self._radius[moving]
        if not free.any():
            return LONGEST
        x = np.vstack([points[free], motion.x[i]])
        gap = x @ n - offset - self._round[moving] + allowance
        gap[-1] -= self._offset[moving] + self._radius[moving] - self._round[moving]
        arm_i, arm_j = x - motion.x[i], x - motion.x[j]
        w = motion.v[i] - motion.v[j] + across(motion.omega[i], arm_i) - across(motion.omega[j], arm_j)
        bend = np.linalg.norm(motion.a[i] - motion.a[j]) + 2.0 * motion.turn[j] * np.linalg.norm(w, axis=1)
        for body, arm in ((i, arm_i), (j, arm_j)):
            bend += (motion.twist[body] + motion.turn[body] ** 2) * np.linalg.norm(arm, axis=1)
        times = least_time(np.maximum(gap, 0.0), w @ n, SPARE * bend)
        return float(max(times[:-1].min(), times[-1]))


class Motion:
    """Poses, velocities and accelerations of all bodies at a state, in world axes; the row after the last is the world.

    x, v, omega, a : (m + 1, 3). rotation : (m + 1, 3, 3). turn, twist : (m + 1,) |ω| and |α|.
    """

    def __init__(self, system: ContactSystem, count: int, y: np.ndarray, dydt: np.ndarray) -> None:
        kinematics = system.mechanism.system.kinematics.view(KINEMATICS, np.ndarray)[:count]
        state = y[: STATE_SIZE * count].reshape(-1, STATE_SIZE)
        rate = dydt[: STATE_SIZE * count].reshape(-1, STATE_SIZE)
        rate = np.where(rate == rate, rate, 0.0)
        inverse_mass = np.array(system.mechanism.system.bodies.inverse_mass)[:count, None]
        xx, yy, zz, xy, xz, yz = kinematics["inverse_inertia"].T
        inverse = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
        none, omega, v = np.zeros((1, 3)), np.array(kinematics["omega"]), np.array(state[:, 7:10] * inverse_mass)
        alpha = np.einsum("ijk,ik->ij", inverse, rate[:, 10:] - across_each(omega, state[:, 10:]))
        a = np.array(rate[:, 7:10] * inverse_mass)
        for row in system.mechanism.system.commands:  # of `t` of the state
            if row.body >= 0:
                v[row.body], a[row.body], alpha[row.body] = row.v, row.a, row.alpha
        self.x = np.vstack([state[:, :3], none])
        self.rotation = np.concatenate([np.array(kinematics["rotation"]).reshape(-1, 3, 3), np.eye(3)[None]])
        self.v = np.vstack([v, none])
        self.a = np.vstack([a, none])
        self.omega = np.vstack([omega, none])
        self.turn = np.append(np.linalg.norm(omega, axis=1), 0.0)
        self.twist = np.append(np.linalg.norm(alpha, axis=1), 0.0)

    def place(self, body: int, points: np.ndarray) -> np.ndarray:
        """Points (k, 3) of a body in the world."""
        body = min(int(body), len(self.x) - 1)
        return np.asarray(self.x[body] + points @ self.rotation[body].T)


def across_each(omega: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """ω × r of each row of (n, 3)."""
    (x, y, z), (a, b, c) = omega.T, arms.T
    return np.stack([y * c - z * b, z * a - x * c, x * b - y * a], axis=1)


def across(omega: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """ω × r of arms r (k, 3)."""
    x, y, z = omega
    return np.asarray(arms @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]))


def least_time(distance: Any, rate: Any, bend: Any) -> np.ndarray:
    """The least t ≥ 0 of distance + rate t − ½ bend t² = 0, at most `LONGEST`; distance and bend are not negative."""
    root = np.sqrt(rate * rate + 2.0 * bend * distance)
    return np.asarray(np.minimum(2.0 * distance / np.maximum(root - rate, 1e-300), LONGEST))


def core(collision: Collision, c: int) -> np.ndarray:
    """(n, 3) corners of a collider, or of the core of a round one, in the frame of its body; none of a half-space."""
    row = collision.colliders[c]
    points = np.zeros((1, 3))
    if row.kind == HALF_SPACE:
        return np.zeros((0, 3))
    if row.kind == CAPSULE:
        points = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]) * row["size"][1]
    elif row.kind != SPHERE:
        points = corners(collision, c)
    return np.asarray(points @ np.array(row["rotation"]).reshape(3, 3).T + row["position"])


def directions(collision: Collision, c: int) -> tuple[np.ndarray, np.ndarray]:
    """(outward normals of the faces, directions of the edges) of a collider in the frame of its body: of a hull no edges."""
    row = collision.colliders[c]
    turn = np.array(row["rotation"]).reshape(3, 3).T
    none = np.zeros((0, 3))
    if row.kind == BOX:
        return facets(collision, c)[0] @ turn, np.eye(3) @ turn
    if row.kind == HULL:
        return facets(collision, c)[0] @ turn, none
    return none, np.array([[0.0, 0.0, 1.0]]) @ turn if row.kind == CAPSULE else none


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
