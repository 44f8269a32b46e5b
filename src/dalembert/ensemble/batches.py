"""The members of a sweep in compiled batches: those of equal settings and equal structure run together, on all cores."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..batch.run import MOST_THREADS, instants, room_of, run_together, threads_of
from ..batch.structure import Differences
from ..batch.workspace import NotForBatches, Workspace
from ..simulation.checks import positive
from ..simulation.registry import Method
from ..trajectory_format import VARIABLES
from .block import AUDITED, OF_CONTACT, STACKED, make_block
from .plan import Member
from .processes import run_in_processes
from .task import Answer, Task

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
        room = room_of(len(instants(self.duration, template.frames)) + 1, template.model.size)
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
