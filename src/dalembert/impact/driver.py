"""The stepper of contact by events: an integration method between located events, and its report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.detect import check, fields_of
from ..collide.tables import CONTACTS, PAIRS
from ..contact.contact_point import Contact
from ..contact.time_stepping import ContactReport
from ..core.checkpoint_fields import CheckpointError, Field, columns, prefixed
from ..core.interrupt import poll
from ..core.status import EVENT, OK, warn
from ..integrate.driver import Driver
from ..integrate.state import Functions
from ..integrate.stepper import Stepper
from ..model.compile import Model
from .advancement import ConservativeAdvancement
from .features import EDGES, SIDE, SLIDING, STICKING, TOUCH
from .impact import ContactEvent, EventSettings, Impact
from .resting_contact import WAIT
from .system import LEAVES, NEED_ROOM, TURNS, ContactSystem

MOST_TOUCHES = 2000  # of a checkpoint, as their memory grows with the square
ENOUGH = 8.0  # steps: no longer time need be known to be safe
CREEP_STEPS, CREEP_TIME = 1000, 5e-3  # s: so many steps in less time are said to be many
TIME_ROUNDING = 1e-9  # of a step: a target so near is reached


class EventDriver(Stepper):
    """Steps a mechanism with contact by an integration method, event by event."""

    need_room = NEED_ROOM

    def __init__(
        self, system: ContactSystem, model: Model, options: Any, addresses: np.ndarray, settings: EventSettings
    ) -> None:
        self.system, self.model, self.settings = system, model, settings
        events = np.append(addresses, system.address).astype(np.int64)
        data = np.append(np.zeros(len(addresses), np.int64), system.data)
        self._own = len(addresses)  # the event of contact comes after the user's
        self._driver = Driver(
            Functions(system.address, system.data, 1, events, data, look=system.look), options, settings.step
        )
        self._advancement = ConservativeAdvancement(system, model)
        self._impact = Impact(system, model, settings, self._driver, self._advancement.body_radius)
        self._driver.between = self._watch_steps
        self._mark, self._creeps = (
            (self._driver.time, 0),
            False,
        )  # time and steps of the last check; whether a user was told
        self._unsettled = np.ones(1, np.int64)  # 1: touches are to be found before the run continues

    # Running ----------------------------------------------------------------------------------------------------------

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float) -> int:
        """Step y until `target` (s), in place. Returns a status. Raises KeyboardInterrupt."""
        while True:
            if self._unsettled[0] and target > self.time:
                self._settle(y)
            elif self._unsettled[0]:
                self._impact.find(y)  # says what overlaps at the start
            poll()
            status = self.call_with_room(lambda: self._driver.run(y, dydt, *self._stop(y, dydt, target)))
            if status == EVENT and self._driver.event == self._own:
                self._unsettled[0] = 1
                cause = int(self.system.options.cause[0])
                self._impact.same_features, self._impact.turns = cause != LEAVES, cause == TURNS
                if self.time >= target:
                    self._settle(y)
            elif status != OK:
                return status
            if status in (OK, EVENT) and self.time >= target - TIME_ROUNDING * self.settings.step:
                return OK

    def _watch_steps(self) -> None:
        """Warn once of adaptive steps that are so short that the run seems to stand still, with the contact that creeps."""
        begun, before = self._mark
        steps = self._driver.counts["steps"] + self._driver.counts["rejected"]
        if steps - before < CREEP_STEPS:
            return
        span, self._mark = self.time - begun, (self.time, steps)
        touches = self.system.tables.touches[: int(self.system.options.active[0])]
        sliding = touches[touches.mode == SLIDING]
        if self.settings.step > 0.0 or span >= CREEP_TIME or not len(sliding) or self._creeps:
            return
        self._creeps = True
        speed = np.hypot(sliding.velocity[:, 1], sliding.velocity[:, 2])
        slowest = sliding[int(np.argmin(speed))]
        one, two = self._impact.name(slowest, "j"), self._impact.name(slowest, "i")
        warn(
            f"{CREEP_STEPS} steps in {span:.3g} s before t = {self.time:.6g} s: {one!r} and {two!r} slide on each other at "
            f"{speed.min():.3g} m/s, and friction at such low speeds turns too fast for the steps; reduce the friction, "
            "remove a joint that is redundant with the contacts, or use method='time_stepping'"
        )

    def grow(self) -> None:
        """Give collision detection as much room as it asked for."""
        self.system.make_room()

    def _settle(self, y: np.ndarray) -> None:
        self._impact.settle(y)
        self._unsettled[0] = 0

    def _stop(self, y: np.ndarray, dydt: np.ndarray, target: float) -> tuple[float, bool]:
        """(the time of the next check, before anything can have passed through another; whether to end there exactly)."""
        step = self.settings.step
        enough = max(ENOUGH * max(self.step, step), 2.0 * step)
        safe = self._advancement.safe_time(y, dydt, min(enough, target - self.time) if enough > 0.0 else 0.0)
        end, exactly = min(target, self.time + safe), False
        if step > 0.0:
            exactly = safe < 2.0 * step and self.time + safe < target  # shorter steps than asked
            end = self.time + safe if exactly else min(target, max(self.time + safe - step, self.time + step))
        self._advancement.choose_pairs(end + step - self.time)
        return end, exactly

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._driver.restart(time)
        self._unsettled[0] = 1

    def changed(self) -> None:
        """The state was changed from outside: find the touches anew."""
        self._driver.changed()
        self._impact.same_features = False
        self._unsettled[0] = 1

    def room(self) -> dict[str, int]:
        """The lengths of `fields` that do not follow from the model."""
        counts, tables = self.system.detector.collision.counts, self.system.tables
        return {
            "pairs": int(counts[PAIRS]), "contacts": int(counts[CONTACTS]), "touches": len(tables.touches),
            "sides": len(tables.sides) // SIDE, **self._impact.log.room(),
        }  # fmt: skip

    def make_room(self, room: dict[str, int]) -> None:
        """Give `fields` these lengths. Raises CheckpointError for more than there is memory for."""
        if room["touches"] > MOST_TOUCHES:
            raise CheckpointError(f"the checkpoint has {room['touches']} contacts at once, at most {MOST_TOUCHES}")
        self.system.detector.set_counts(room["pairs"], room["contacts"])
        touches, sides = np.zeros(room["touches"], TOUCH), np.zeros((room["sides"], SIDE))
        self.system.set_touches(touches, sides, 0)
        self.system.update_addresses()
        self._impact.log.make_room(room)

    def fields(self) -> list[Field]:
        """What carries over from step to step, beside the state and its derivative."""
        tables, options, bodies = self.system.tables, self.system.options, len(self.model.body_names)
        colliders, sides = len(self.system.detector.collision.colliders), len(tables.sides) // SIDE
        index = {"i": (0, bodies), "j": (0, bodies), "a": (0, colliders - 1), "b": (0, colliders - 1)}
        kinds = {"kind": (0, EDGES), "mode": (0, STICKING), "straight": (0, 1)}
        rows = {name: (0, sides) for name in ("first_i", "last_i", "first_j", "last_j")}
        return [
            *self._driver.fields(),
            Field("unsettled", self._unsettled, 0, 1),
            Field("active", options.active, 0, len(tables.touches)),
            Field("wait", options.wait, 0, WAIT),
            *(Field(name, options[name]) for name in ("tiny_speed", "tiny_force")),
            Field("touches", tables.touches, columns=columns(TOUCH, {**index, **rows, **kinds})),
            Field("sides", tables.sides),
            *self._impact.fields(),
            *prefixed("collision", fields_of(self.system.detector.collision)),
        ]

    def put_back(self) -> None:
        """Resume from the `fields` written by a checkpoint. Raises CheckpointError for values that cannot be."""
        check(self.system.detector.collision)
        self.system.options.touches = len(self.system.tables.touches)
        self._impact.log.put_back()

    # Reports -----------------------------------------------------------------------------------------------------------

    @property
    def log(self) -> list[ContactEvent]:
        """The events of contact so far."""
        return self._impact.log.events

    def contacts(self, model: Model) -> list[Contact]:
        """The contacts that bear force, with their forces (N) at the end of the last step."""
        own: Any = self.system.options[0]
        return [
            Contact(
                self._impact.name(touch, "j"), self._impact.name(touch, "i"), touch.position.copy(), touch.frame[:3].copy(),
                float(touch.gap), touch.frame.reshape(3, 3).T @ touch.force,
            )
            for touch in self.system.tables.touches[: int(own.active)]
        ]  # fmt: skip

    def frame(self) -> dict[str, Any]:
        """What a trajectory records of the contacts: see `Trajectory`."""
        world = len(self.model.body_names)
        forces = np.zeros((world + 1, 3))
        own: Any = self.system.options[0]
        for touch in self.system.tables.touches[: int(own.active)]:
            force = touch.frame.reshape(3, 3).T @ touch.force
            forces[min(touch.i, world)] += force
            forces[min(touch.j, world)] -= force
        deepest, self._impact.frame_gap = self._impact.frame_gap, 0.0
        return {
            "contact_force": forces[:-1], "contacts": int(own.active), "penetration": deepest, "contact_residual": 0.0
        }  # fmt: skip

    def contact_report(self) -> ContactReport:
        """How the contacts were solved in the run so far."""
        return ContactReport(f"events, {self.settings.law} impacts", self._impact.worst_gap, 0.0, 0)

    # Of the integration ------------------------------------------------------------------------------------------------

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried."""
        return self._driver.attempt(y)

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return self._driver.time

    @property
    def step(self) -> float:
        """The length of the step that was tried last, or that comes next, s."""
        return self._driver.step

    @property
    def event(self) -> int:  # type: ignore[override]
        """The user's event that the last call stopped at."""
        return self._driver.event

    @property
    def counts(self) -> dict[str, int]:
        """Steps accepted and rejected, and evaluations of f."""
        return self._driver.counts
