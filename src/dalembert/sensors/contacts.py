"""The contacts of the last step as arrays, for sensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import AWAKE, CONTACTS
from ..contact.points import Owners, impulses_of, owners_of
from ..contact.surface_tables import torques_of
from ..integrate.stepper import Stepper
from ..model.compile import Model

YZX, ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The vector product of vectors (..., 3), for few of them faster than NumPy's."""
    return a[..., YZX] * b[..., ZXY] - a[..., ZXY] * b[..., YZX]


class Contacts(NamedTuple):
    """n contacts, world axes.

    a, b : (n,) numbers of bodies, from the number of bodies on of obstacles. point : (n, 3) m. normal : (n, 3) unit, from a
    to b. force : (n, 3) N on b. torque_a, torque_b : (n, 3) N m on each, about its centre of mass.
    """

    a: np.ndarray
    b: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    torque_a: np.ndarray
    torque_b: np.ndarray

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Which contacts a body or obstacle has (indices), and 1 where it is their b, −1 where it is their a."""
        rows = np.flatnonzero((self.a == number) | (self.b == number))
        return rows, np.where(self.b[rows] == number, 1.0, -1.0)

    def wrenches(self, bodies: int) -> np.ndarray:
        """(bodies, 6) N and N m: the sum of forces on each body, and of their torques about its centre of mass."""
        found = np.zeros((bodies, 6))
        if not len(self.a):
            return found
        for number, sign, torque in ((self.b, 1.0, self.torque_b), (self.a, -1.0, self.torque_a)):
            own = number < bodies
            np.add.at(found, number[own], np.concatenate([sign * self.force[own], torque[own]], axis=1))
        return found


def _empty() -> Contacts:
    number, vector = np.zeros(0, np.int64), np.zeros((0, 3))
    return Contacts(number, number, vector, vector, vector, vector, vector)


NONE = _empty()


def read_contacts(driver: Stepper, model: Model, owners: Owners, x: np.ndarray, before: Contacts) -> Contacts:
    """The contacts that the last step solved.

    x : (bodies, 3) m, the centres of mass now. before : what was read last; contacts between sleeping bodies, which a step
    does not look at, are taken from there.
    """
    if driver.bodies is None:
        return _of_events(driver.contacts(model), owners, x)
    stepper = driver.bodies
    collision, dt = stepper.collision, float(stepper.settings.dt)
    rows = collision.contacts.view(np.ndarray)[: int(collision.counts[CONTACTS])]  # records are slow to read
    struck = stepper._tables.struck.view(np.ndarray)[: int(stepper.report.struck[0])]
    parts = []
    if len(rows):
        a, b, _ = owners_of(rows, collision, owners)
        force, torque = impulses_of(rows) / dt, torques_of(rows, stepper._surfaces) / dt
        arms = [np.array(rows[arm]).reshape(-1, 3) for arm in ("arm_a", "arm_b")]
        parts.append(_made(a, b, rows, force, torque, arms))
    if len(struck):
        ends = [owners.of_collider[struck[side]] for side in ("a", "b")]
        force = impulses_of(struck) / dt
        arms = [struck["position"] - _centers(x, end) for end in ends]
        parts.append(_made(ends[0], ends[1], struck, force, struck["moment"] / dt, arms))
    asleep = collision.asleep
    if len(before.a) and (asleep > AWAKE).any():
        still = np.ones(len(owners.names), bool)
        still[: owners.bodies] = asleep[: owners.bodies] != AWAKE
        seen = {
            pair for part in parts for pair in zip(part.a.tolist(), part.b.tolist(), strict=True)
        }  # in this very step
        kept = still[before.a] & still[before.b]
        kept &= [pair not in seen for pair in zip(before.a.tolist(), before.b.tolist(), strict=True)]
        parts.append(Contacts(*(values[kept] for values in before)))
    return Contacts(*map(np.concatenate, zip(*parts, strict=True))) if parts else NONE


def _made(a: Any, b: Any, rows: Any, force: np.ndarray, torque: np.ndarray, arms: Any) -> Contacts:
    """Contacts from rows of a table; torque : of friction against rolling and spinning, on b."""
    normal = np.array(rows["frame"]).reshape(-1, 9)[:, :3]
    on_a, on_b = -cross(arms[0], force) - torque, cross(arms[1], force) + torque
    return Contacts(np.array(a), np.array(b), np.array(rows["position"]).reshape(-1, 3), normal, force, on_a, on_b)


def _centers(x: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """(n, 3) m: of bodies; of obstacles zero, as their torques are not used."""
    return np.concatenate([x, np.zeros((1, 3))])[np.minimum(owners, len(x))]


def _of_events(listed: list[Any], owners: Owners, x: np.ndarray) -> Contacts:
    """Contacts from a list of `Contact`."""
    if not listed:
        return NONE
    a, b = (np.array([owners.number(getattr(contact, end)) for contact in listed]) for end in "ab")
    point, normal, force = (np.array([getattr(c, key) for c in listed]) for key in ("position", "normal", "force"))
    arms = [point - _centers(x, end) for end in (a, b)]
    return Contacts(a, b, point, normal, force, -cross(arms[0], force), cross(arms[1], force))
