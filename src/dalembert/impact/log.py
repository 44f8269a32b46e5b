"""What happened to the contacts of a run, and when; and bounces that pile up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..checkpoint_fields import Field
from .tables import OPEN, SLIDING, STICKING

IMPACT, REST, PARTS, SLIPS, STICKS = "impact", "rest", "parts", "slips", "sticks"
LOWEST_BOUNCE = 1e-9  # of the size: bounces that would rise less are summed up, all of those to come
GEOMETRIC = 1e-2  # how well the times of bounces have to follow e before their sum is believed

KEY, BOUNCES = 11, 3  # numbers of a key, and times of bounces that are kept

Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class ContactEvent:
    """Something that happened to one point of contact.

    time : s. kind : "impact"; "rest", it stays; "parts"; "slips", it starts to slide; "sticks", or starts to roll.
    a, b : names of bodies or "world". position : (3,) m. impulse : (3,) N s on b, of an impact. Where bounces piled up to
    rest, time is the limit of their times.
    """

    time: float
    kind: str
    a: str
    b: str
    position: np.ndarray
    impulse: np.ndarray


def key_of(touch: Any) -> Key:
    """What tells a contact from others while the same features meet."""
    return (
        int(touch["kind"]), int(touch["a"]), int(touch["b"]), int(touch["i"]), int(touch["j"]),
        *np.round(np.concatenate([touch["point_i"], touch["axis_j"]]), 6).tolist(),
    )  # fmt: skip


class Log:
    """The events of a run in `events`. names : of the bodies, and of the world."""

    def __init__(self, names: tuple[str, ...], size: float) -> None:
        self.events: list[ContactEvent] = []
        self._names, self._size = names, size
        self._bounces: dict[Key, list[float]] = {}
        self._rested: set[Key] = set()
        self._table = np.zeros((0, 0))  # see `fields`

    def room(self) -> dict[str, int]:
        """How many contacts have bounced."""
        return {"bounces": len(self._bounces)}

    def make_room(self, room: dict[str, int]) -> None:
        """So many bounces, which are written to `fields` next."""
        self._bounces = {(k,): [] for k in range(room["bounces"])}

    def fields(self) -> list[Field]:
        """The key of each contact that has bounced, how many of its times are kept, and these."""
        self._table = np.zeros((len(self._bounces), KEY + 1 + BOUNCES))
        for row, (key, times) in zip(self._table, self._bounces.items(), strict=True):
            row[: len(key)], row[KEY] = key, len(times)
            row[KEY + 1 : KEY + 1 + len(times)] = times
        return [Field("rows", self._table)]

    def put_back(self) -> None:
        """`fields` were written."""
        self._bounces = {
            tuple(row[:KEY].tolist()): row[KEY + 1 :].tolist()[: int(min(max(row[KEY], 0.0), BOUNCES))]
            for row in self._table
        }

    def add(self, time: float, kind: str, touch: Any, impulse: np.ndarray | None = None) -> None:
        """Write down what happened to a row of the table of touches."""
        if kind == REST:
            self._rested.add(key_of(touch))
        self.events.append(
            ContactEvent(
                time, kind, self._name(touch["j"]), self._name(touch["i"]), np.array(touch["position"]),
                np.zeros(3) if impulse is None else impulse,
            )
        )  # fmt: skip

    def _name(self, body: int) -> str:
        return self._names[min(body, len(self._names) - 1)]

    def note_changes(self, time: float, before: Any, now: Any) -> None:
        """Write down which contacts came to rest, parted, began to slip or to stick, by the tables before and after."""
        old, new = ({key_of(touch): touch for touch in table} for table in (before, now))
        for key, touch in new.items():
            was, mode = int(old[key]["mode"]) if key in old else OPEN, int(touch["mode"])
            if was == OPEN and mode != OPEN and key not in self._rested:
                self.add(time, REST, touch)
            elif was == SLIDING and mode == STICKING:
                self.add(time, STICKS, touch)
            elif was == STICKING and mode == SLIDING:
                self.add(time, SLIPS, touch)
        for key, touch in old.items():
            if int(touch["mode"]) != OPEN and (key not in new or int(new[key]["mode"]) == OPEN):
                self.add(time, PARTS, touch)
        self._rested.clear()

    def restitution(self, time: float, touches: Any, closing: np.ndarray, free: np.ndarray, tiny: float) -> np.ndarray:
        """e of each contact; none where the bounce would rise next to nothing: then all bounces to come are over at once.

        Bounces at e u, e² u, ... under an acceleration −a take the times 2 e u/a (1 + e + ...), in all 2 e u/(a (1 − e)).
        closing : (n,) m/s, normal velocities. free : (n,) m/s², normal accelerations.
        """
        e = np.array(touches.restitution)
        for k in np.flatnonzero(closing < -tiny):
            key, a, speed = key_of(touches[k]), -free[k], -e[k] * closing[k]
            times = self._bounces.setdefault(key, [])
            times.append(time)
            del times[:-BOUNCES]
            if 0.0 < e[k] < 1.0 and a > 0.0 and speed * speed < 2.0 * a * LOWEST_BOUNCE * self._size:
                wait = 2.0 * speed / (a * (1.0 - e[k]))
                geometric = (
                    len(times) == BOUNCES and abs((times[2] - times[1]) / (times[1] - times[0]) - e[k]) < GEOMETRIC
                )
                self.add(time + (wait if geometric else 0.0), REST, touches[k])
                self._bounces.pop(key)
                e[k] = 0.0
        return e
