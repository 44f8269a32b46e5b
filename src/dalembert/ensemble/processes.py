"""The members of a sweep in processes of this machine. A process that dies costs the run that it was at, and is replaced.

Each is a fresh Python that imports this package and no script of the user's, so that scripts need no
``if __name__ == "__main__"``; functions go there by cloudpickle.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from ..team import cores
from .plan import Member
from .task import DIED, Answer, Task, described, pack
from .worker import READY

ATTEMPTS = 2  # runs of a member whose process dies
BOOT = "import sys, pickle; sys.path[:] = pickle.load(sys.stdin.buffer); from dalembert.ensemble.worker import main; main()"


class Died(Exception):
    """A process ended before it answered."""


class Process:
    """A worker, and the pipes to it."""

    def __init__(self, task: bytes) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", BOOT], stdin=pipe, stdout=pipe)
        self.send(sys.path)
        self.send(task)
        try:
            status, why = self.receive()
        except Died as error:
            raise RuntimeError(f"a process for the sweep does not start: {error}") from error
        if status != READY:
            self.stop()
            raise RuntimeError(f"the scene cannot be sent to another process ({why}); use how='serial'")

    def send(self, what: Any) -> None:
        """Hand over; a process that is dead is noticed by `receive`."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(what, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def receive(self) -> Any:
        """Wait for an answer. Raises Died."""
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            pass
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)  # it closed its end, so that it is about to be over
        self.stop()
        raise Died(_cause(self._process.returncode))

    def stop(self) -> None:
        """End the process at once, if it has not ended by itself; from any thread."""
        self._process.kill()
        self._process.wait()


class Crew:
    """Threads that each have a process, and take from one list what to run."""

    def __init__(self, task: Task, members: Sequence[Member], workers: int) -> None:
        self._task = pack(task)
        self._left = iter(members)
        self._lock = threading.Lock()
        self._processes: set[Process] = set()
        self._over = False
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        process = None
        try:
            while (member := self._next()) is not None:
                for _ in range(ATTEMPTS):
                    process = process or self._start()
                    try:
                        process.send(member)
                        answer = process.receive()
                        break
                    except Died as error:
                        with self._lock:
                            self._processes.discard(process)
                        process, answer = None, _lost(member, str(error))
                        if self._over:
                            return
                self.answers.put(answer)
        except BaseException as error:
            self.answers.put(error)
        finally:
            if process is not None:
                process.stop()

    def _next(self) -> Member | None:
        with self._lock:
            return None if self._over else next(self._left, None)

    def _start(self) -> Process:
        process = Process(self._task)
        with self._lock:
            self._processes.add(process)
            over = self._over
        if over:
            process.stop()
        return process

    def end(self) -> None:
        """Stop every process, whatever it is at."""
        with self._lock:
            self._over = True
            for process in self._processes:
                process.stop()
        for thread in self._threads:
            thread.join()


def run_in_processes(task: Task, members: Sequence[Member], workers: int | None) -> Iterator[Answer]:
    """The answers of members as they are ready, run by so many processes, or one for each core.

    Raises RuntimeError where none can start.
    """
    crew = Crew(task, members, min(workers or cores(), len(members)))
    try:
        for _ in members:
            answer = crew.answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        crew.end()


def _lost(member: Member, why: str) -> Answer:
    """The answer of a member whose processes died."""
    import xarray

    return Answer(xarray.Dataset(attrs=described(member, DIED, 0.0, f"{why}; so it was {ATTEMPTS} times")))


def _cause(code: int | None) -> str:
    """How a process ended."""
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        hint = " (is there enough memory?)" if name == "SIGKILL" else ""
        return f"the process was ended by signal {name}{hint}"
    return f"the process ended by itself with exit code {code}"
