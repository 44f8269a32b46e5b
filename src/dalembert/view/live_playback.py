"""The time of a live page: playing, pausing, stepping, moving along what was recorded, at the pace of the clock."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import numpy as np

from dalembert.view.frames import Frames

__all__ = ["Playback"]

FRAME_RATE = 60.0  # drawn frames a second
LEAD = 0.04  # s of the clock that a run in progress is kept ahead of what is shown


class Playback:
    """Which instant is shown. Playing waits where it overtakes a run in progress (`running`)."""

    _frames: Frames
    _panel: Any

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._time = 0.0
        self._playing = self._running = self._started = False
        self._owed = 0  # frames asked for beyond the last
        self.pictures = 0  # drawn so far

    def _seek(self, wanted: float) -> None:
        """Draw the instant `wanted`."""
        raise NotImplementedError

    @property
    def time(self) -> float:
        """The instant on the screen, s."""
        return self._time

    @property
    def playing(self) -> bool:
        """Whether it plays, or would if the run had come further."""
        return self._playing

    @property
    def at_end(self) -> bool:
        """Whether it shows the last frame there is."""
        return not len(self._frames) or self._time >= self._frames.times[-1] - 1e-12

    @property
    def wants_more(self) -> bool:
        """Whether a run in progress should go on: somebody looks at its end, or stepped beyond it."""
        with self._lock:
            if self._owed > 0:
                return True
            ahead = self._time + self._panel.speed * LEAD
            return self._playing and (not len(self._frames) or ahead >= self._frames.times[-1])

    def play(self, on: bool = True) -> None:
        """Play from where it stands (from the start where it is at the end), or pause."""
        with self._lock:
            self._started = True
            if on and self.at_end and len(self._frames) and not self._playing and not self._running:
                self._seek(float(self._frames.times[0]))
            self._set_playing(on)

    def go_to(self, wanted: float) -> None:
        """Pause, and show the instant `wanted` (s), or the first or the last there is."""
        with self._lock:
            if len(self._frames):
                self._set_playing(False)
                self._seek(float(np.clip(wanted, self._frames.times[0], self._frames.times[-1])))

    def step(self, frames: int) -> None:
        """Pause, and go on (or back) by so many frames; a run in progress goes on where there are not that many."""
        with self._lock:
            if not len(self._frames):
                return
            self._set_playing(False)
            index, last = self._frames.index(self._time) + frames, len(self._frames) - 1
            if index > last and self._running:
                self._owed = index - last
            self._seek(float(self._frames.times[int(np.clip(index, 0, last))]))

    def _came(self, count: int) -> None:
        """So many frames came: those that were stepped to are shown."""
        if self._owed > 0:
            self._owed = max(self._owed - count, 0)
            self._seek(float(self._frames.times[-1]))

    def _set_playing(self, on: bool) -> None:
        self._playing, self._owed = on, 0
        self._panel.set_playing(on)

    def _start(self) -> None:
        """A page was opened: the first one starts the show."""
        if not self._started:
            self.play()

    def _scrub(self, wanted: float) -> None:
        if abs(wanted - self._time) > self._panel.timeline.step:
            self.go_to(wanted)

    def _play_loop(self) -> None:
        last = due = monotonic()
        while not self._closed.is_set():
            due = max(due + 1.0 / FRAME_RATE, monotonic() - 1.0 / FRAME_RATE)
            self._closed.wait(max(due - monotonic(), 0.001))
            now = monotonic()
            passed, last = min(now - last, 0.2), now
            with self._lock:
                if not self._playing or not len(self._frames):
                    continue
                wanted, end = self._time + self._panel.speed * passed, float(self._frames.times[-1])
                if wanted >= end and not self._running:
                    self._set_playing(bool(self._panel.loop.value))
                    wanted = float(self._frames.times[0]) if self._panel.loop.value else end
                if min(wanted, end) != self._time:
                    self._seek(min(wanted, end))
