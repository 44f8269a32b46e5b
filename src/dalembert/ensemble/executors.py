"""Executors of the members of a sweep: processes of this machine, the workers of a Dask cluster, and compiled batches."""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.thread_pool import MOST_THREADS, cores
from ..simulation.registry import Method, positive
from ..simulation.trajectory import VARIABLES
from .batch import Differences, instants, room_of, run_together, threads_of
from .batch_kernel import NotForBatches, Workspace
from .batch_sensors import rates_of, rows_of
from .plan import AUDITED, DIED, OF_CONTACT, STACKED, Answer, Member, Task, described, make_block, pack
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
            raise RuntimeError(f"a process for the sweep cannot be started: {error}") from error
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

    return Answer(xarray.Dataset(attrs=described(member, DIED, 0.0, f"{why}; it failed {ATTEMPTS} times")))


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


# Dask cluster: other workers run the members of a worker that is lost -------------------------------------------------

AHEAD = 4  # members handed out for each thread of the cluster
PATIENCE = 10.0  # s, until a scheduler has answered
PATIENCE_FOR_WORKERS = 60.0  # s, until there is one


def run_on_cluster(task: Task, members: Sequence[Member], cluster: Any) -> Iterator[Answer]:
    """The answers of members as they are ready, run by a cluster: `distributed.Client`, or the address of a scheduler.

    Raises ImportError without Dask, and RuntimeError where the cluster cannot be reached or cannot run this package.
    """
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise ImportError("a sweep on a cluster needs Dask; install dalembert[dask]") from error
    own = isinstance(cluster, str)
    try:
        client = Client(cluster, timeout=PATIENCE, set_as_default=False) if own else cluster
    except (OSError, ValueError) as error:
        raise RuntimeError(f"no Dask scheduler answers at {cluster!r}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE_FOR_WORKERS)
    except TimeoutError as error:
        if own:
            client.close()
        raise RuntimeError(f"the Dask cluster has had no worker for {PATIENCE_FOR_WORKERS:g} s; start some") from error
    packed, left = pack(task), iter(members)
    at: dict[Any, Member] = {}

    def hand_out() -> list[Any]:
        member = next(left, None)
        if member is None:
            return []
        future = client.submit(_run, packed, member, pure=False)
        at[future] = member
        return [future]

    try:
        running = as_completed(
            [future for _ in range(AHEAD * max(1, _threads(client))) for future in hand_out()], loop=client.loop
        )
        for future in running:
            member = at.pop(future)
            try:
                answer = future.result()
            except KilledWorker as error:
                import xarray

                why = f"the workers that ran it died: {error}"
                answer = Answer(xarray.Dataset(attrs=described(member, DIED, 0.0, why)))
            except Exception as error:
                raise RuntimeError(f"the cluster cannot run member {member.index}: {error!r:.500}") from error
            for more in hand_out():
                running.add(more)
            del future
            yield answer
    finally:
        if at and client.status == "running":
            client.cancel(list(at))
        if own:
            client.close()


def _threads(client: Any) -> int:
    return sum(client.nthreads().values())


def _run(packed: bytes, member: Member) -> Answer:
    """Run a member; in a worker."""
    import pickle

    task: Task = pickle.loads(packed)
    return task.run(member)


# Compiled batches: members of equal settings and structure run together, on all cores ---------------------------------

FRAMES = 128_000_000  # bytes of frames that a batch may take
FIRST, PACE = 64, 5.0  # members of a first batch; s that a further one may take, so that what is done is soon safe
MOST_WAITING = 1024  # members, of all groups together


def run_in_batches(
    task: Task, members: Sequence[Member], workers: int | None, refused: list[Member] | None = None
) -> Iterator[Answer]:
    """The answers of members, in blocks of those that ran together, on so many threads, or one for each processor.

    What does not start or fails on the way is run once more by itself, so that it has the same record and error. refused:
    takes the members that batches cannot run; if it is not given, the first one raises ValueError.
    """
    threads, groups = threads_of(min(workers or threads_of(None), MOST_THREADS)), Groups(task)
    for member in members:
        try:
            group = groups.take(member)
        except NotForBatches as error:
            if refused is None:
                raise ValueError(f"member {member.index}: {error}") from None
            refused.append(member)
        except (Exception, SystemExit):  # of the user's build(), or of settings that cannot be
            yield task.run(member)
        else:
            if group.full():
                yield from group.run(task, threads)
            elif groups.waiting() >= MOST_WAITING:
                yield from groups.run(threads)
    yield from groups.run(threads)


def run_as_fits(task: Task, members: Sequence[Member], workers: int | None) -> Iterator[Answer]:
    """The answers of members: in batches what these can run, the rest in processes."""
    refused = [] if not_kept(task) is None else list(members)
    if not refused:
        yield from run_in_batches(task, members, workers, refused)
    if refused:
        yield from run_in_processes(task, refused, workers)


def not_kept(task: Task) -> str | None:
    """What is to be kept of each member that a batch does not record."""
    for each in task.keep:
        if callable(each) or each not in VARIABLES:
            return f"the function {getattr(each, '__name__', each)!r}, which is given a finished Simulation"
        if each not in (*STACKED, *AUDITED, *OF_CONTACT):
            return repr(each)
    return None


@dataclass
class Group:
    """Members of equal settings and equal structure that wait to be run."""

    differences: Differences
    settings: dict[str, Any]
    duration: float
    members: list[Member] = field(default_factory=list)

    def __post_init__(self) -> None:
        template = self.differences.template
        room = room_of(len(instants(self.duration, template.frame_rate)) + 1, template.model.size)
        room += room_of(rows_of(rates_of(template.model.scene.sensors), self.duration), template.model.size)
        self._fit, self._paced = max(1, FRAMES // room), FIRST

    def full(self) -> bool:
        """Whether they fill a batch."""
        return len(self.members) >= min(self._fit, self._paced)

    def run(self, task: Task, threads: int) -> Iterator[Answer]:
        """Run those that wait."""
        members, self.members = self.members, []
        batch = run_together(
            self.differences.template, self.settings, self.differences.result(), self.duration, threads
        )
        self._paced = max(1, int(PACE * len(members) / batch.wall_time))
        whole = batch.ok & (batch.frames == len(batch.times))
        rows = np.flatnonzero(whole)
        if rows.size:
            yield Answer(make_block(batch, rows, [members[row] for row in rows], task.keep))
        if batch.interrupted:
            raise KeyboardInterrupt
        for row in np.flatnonzero(~whole):
            yield task.run(members[row])


class Groups:
    """Members by settings and structure."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._leads: dict[Hashable, Differences] = {}  # of the first member with these settings
        self._groups: dict[Hashable, Group] = {}

    def take(self, member: Member) -> Group:
        """Add a member to its group. Raises NotForBatches, and whatever keeps it from starting."""
        settings = self._task.settings(member)
        duration = positive("duration", settings.pop("duration"), "s")
        scene = self._task.source.scene(**member.parameters)
        asked = _key({**settings, "duration": duration})
        known = self._leads.get(asked)
        lead = known or self._leads.setdefault(asked, Differences(Workspace(scene, **settings)))
        model = lead.compiled(scene)
        tables = lead.tables(model)
        which = (asked, lead.signature(model, tables))
        group = self._groups.get(which)
        if group is None:
            own = Differences(Workspace(scene, **settings)) if known else lead
            group = self._groups[which] = Group(own, settings, duration)
        group.differences.add(model, tables)
        group.members.append(member)
        return group

    def waiting(self) -> int:
        """How many members wait to be run."""
        return sum(len(group.members) for group in self._groups.values())

    def run(self, threads: int) -> Iterator[Answer]:
        """Run all that wait, and forget the groups."""
        groups, self._groups, self._leads = list(self._groups.values()), {}, {}
        for group in groups:
            if group.members:
                yield from group.run(self._task, threads)


def _key(settings: dict[str, Any]) -> Hashable:
    """Equal for equal settings; what is no plain value is equal to itself only."""
    plain = (bool, int, float, str, type(None), Method)
    return tuple(
        (name, type(value), value if isinstance(value, plain) else id(value))
        for name, value in sorted(settings.items())
    )
