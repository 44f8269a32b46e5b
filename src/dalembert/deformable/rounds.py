"""Rounds of a step of particles and of a step of bodies, until bodies move as the particles assumed.

A stage of particles moves the bodies that they touch, with their inertia and the forces on them. It does not know the
impulses of contacts between bodies, of stops, dry friction and ideal motors, nor, in maximal coordinates, those of motors and
springs of joints. So it assumes what these give to the velocities of bodies, `assumed`. The bodies' own step, with the forces
of the particles, says what they gave indeed: the difference of the velocities at the end is added, and both steps are made
again from where they began. Where nothing of the kind acts, there is one round.

With a body at rest on the ground the error shrinks by m/(m + M) a round, m the mass of the particles on it and M its own.
Aitken's factor (B. Irons, R. Tuck, Int. J. Numer. Meth. Eng. 1, 1969) makes one mode exact in two. The next step starts from
what was found, so that what rests takes one round a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.tables import CONTACTS
from ..collide.tables import FREE as UNLINKED
from ..contact.joint_space_stepping import JointContactStepper
from ..contact.time_stepping import ContactStepper
from ..core.checkpoint_fields import Field
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .tables import BODY_ROW, Steps

MOST_ROUNDS = 12
RELATIVE, LEAST = 1e-4, 1e-6  # of what was assumed, and m/s: a smaller error of the velocities ends the rounds
LONGEST = 4.0  # largest factor by Aitken


class Rounds:
    """What is assumed of the bodies beside particles, and what is needed to make a step of both again."""

    def __init__(self, model: Model, bodies: ContactStepper, particles: Any) -> None:
        self._bodies, self._particles = bodies, particles
        self._system, self._length = bodies.mechanism_system, model.length
        self._count = len(model.body_names)
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._last: np.ndarray | None = None
        self._factor, self._round = 1.0, 0

    # The state of both ------------------------------------------------------------------------------------------------

    def begin(self, y: np.ndarray) -> None:
        """Keep what the first round of a step changes."""
        own, bodies, steps = self._particles, self._bodies, self._particles.steps_tables
        arrays = [y, own.report.steps, bodies.report, steps.before, steps.memory, steps.booked, steps.options.history]
        arrays += [field.values for field in bodies.memory_fields()]
        if isinstance(bodies, JointContactStepper):
            arrays += [bodies._joint_space.roots, *(field.values for field in bodies.own.fields())]
        self._kept = [(array, array.copy()) for array in arrays]
        self._before = self._velocities(y)
        self._last, self._factor, self._round = None, 1.0, 0

    def _restore(self) -> None:
        for array, values in self._kept:
            array[...] = values

    def again(self, y: np.ndarray) -> bool:
        """Compare the velocities of the state y with what the stage made of them, and correct what it assumed. Returns
        whether to make the step again; then all is as it was before."""
        steps: Steps = self._particles.steps_tables
        assumed = steps.assumed.reshape(-1, BODY_ROW)
        acts = self._acted_on(steps)
        assumed[~acts] = 0.0
        if not acts.any():
            return False
        error = np.where(acts[:, None], self._velocities(y) - self._foreseen(steps), 0.0)
        self._relax(error)
        size = float(np.abs(self._sized(error)).max())
        self._round += 1
        done = size <= max(LEAST, RELATIVE * float(np.abs(self._sized(assumed)).max()))
        assumed += self._factor * error
        steps.options.assumes = 1
        if done or self._round == MOST_ROUNDS or not np.isfinite(size):
            return False
        self._restore()
        return True

    def _relax(self, error: np.ndarray) -> None:
        """Aitken's factor for an error, from that before it."""
        flat = self._sized(error).ravel()
        if self._last is not None:
            change = flat - self._last
            square = float(change @ change)
            if square > 0.0:
                wanted = -self._factor * float(self._last @ change) / square
                self._factor = min(max(wanted, 1.0 / LONGEST), LONGEST)
        self._last = flat

    def _sized(self, velocities: np.ndarray) -> np.ndarray:
        """Velocities (bodies, 6) in m/s."""
        return velocities * np.array([1.0] * 3 + [self._length] * 3)

    # Bodies -----------------------------------------------------------------------------------------------------------

    def _velocities(self, y: np.ndarray) -> np.ndarray:
        """(bodies, 6): v and ω of the state y."""
        rows = y[: STATE_SIZE * self._count].reshape(-1, STATE_SIZE)
        table = self._system.bodies[: self._count]
        rotation = rotations(rows[:, 3:7])
        own = np.einsum("bji,bj->bi", rotation, rows[:, 10:13])
        spin = np.einsum("bij,bj->bi", rotation, symmetric_times(table.inverse_inertia, own))
        return np.hstack([rows[:, 7:10] * table.inverse_mass[:, None], spin])

    def _foreseen(self, steps: Steps) -> np.ndarray:
        """(bodies, 6): the velocities at the end of the step by the last stage."""
        options = steps.options[0]
        share = 1.0 if options.explicit else float(options.fraction)
        mean = steps.moved.reshape(-1, BODY_ROW) / (float(options.fraction) * float(options.dt))
        return self._before + (mean - self._before) / share

    def _acted_on(self, steps: Steps) -> np.ndarray:
        """(bodies,) of which particles push the group (what joints hold together), and on which what is not part of a stage
        acts."""
        pushed = self._system.pushes.reshape(-1, BODY_ROW).any(axis=1)
        if not pushed.any():
            return np.zeros(self._count, bool)
        acted = np.zeros(self._count + 1, bool)
        collision, tables = self._bodies.collision, self._bodies.contact_tables.stepping
        contacts = collision.contacts[: int(collision.counts[CONTACTS])]
        contacts = contacts[contacts.impulse.any(axis=1)]
        bounds = tables.bounds[tables.bounds.impulse != 0.0]
        soft = tables.soft[:0] if isinstance(self._bodies, JointContactStepper) else tables.soft
        for rows in (contacts, bounds, soft):
            for side in (rows.a, rows.b):
                acted[np.minimum(side, self._count)] = True
        groups = collision.linked[: self._count]
        return self._with_group(acted[:-1], groups) & self._with_group(pushed, groups)

    @staticmethod
    def _with_group(flags: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """The same flags, also of what is in one group with one."""
        held = groups[flags]
        return flags | np.isin(groups, held[held != UNLINKED])

    def fields(self) -> list[Field]:
        """What carries over from step to step."""
        steps = self._particles.steps_tables
        return [Field("assumed", steps.assumed), Field("assumes", steps.options.assumes, 0, 1)]


def rotations(q: np.ndarray) -> np.ndarray:
    """(n, 3, 3) of quaternions (n, 4)."""
    w, x, y, z = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def symmetric_times(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(n, 3): symmetric matrices (n, 6; xx, yy, zz, xy, xz, yz) times vectors (n, 3)."""
    xx, yy, zz, xy, xz, yz = np.asarray(m).T
    x, y, z = v.T
    return np.stack([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z], axis=1)
