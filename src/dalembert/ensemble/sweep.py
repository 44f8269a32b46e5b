"""`sweep`: a scene over many parameters. Every run is recorded, and a failed run does not end the others."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack

from ..core.keywords import with_keywords
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import current_names, renamed_keywords
from ..gallery._loading import Source, find, from_function
from ..simulation.provenance import versions
from ..simulation.settings import Settings
from ..simulation.simulation import Simulation, setting_names
from ..simulation.trajectory import VARIABLES
from .executors import not_kept, run_as_fits, run_in_batches, run_in_processes, run_on_cluster
from .plan import DONE, Answer, Member, Plan, Task, make_plan, members_of
from .store import Store, assemble, make_manifest

if TYPE_CHECKING:
    import xarray

KEPT = ("position", "orientation", "kinetic", "potential")
Executor: TypeAlias = Callable[[Task, Sequence[Member], int | None], Iterator[Answer]]
"""Runs members and gives the answers, of one each or of many in a block, in any order."""


class Counts(NamedTuple):
    """The progress of a sweep."""

    done: int
    failed: int
    total: int


class SweepError(RuntimeError):
    """Raised if a sweep cannot continue: its folder cannot be written, or its cluster is lost. `dataset` has all
    finished runs.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.dataset: Any = None


@renamed_keywords(**RENAMED)
@with_keywords(Settings, Simulation)
def sweep(
    build: Callable[..., Any] | str | os.PathLike[str],
    over: Any,
    duration: float | None = None,
    *,
    keep: str | Callable[[Simulation], Any] | Sequence[str | Callable[[Simulation], Any]] = KEPT,
    seed: int = 0,
    repeat: int = 1,
    how: Any = "processes",
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    progress: Callable[[Counts], Any] | None = None,
    **settings: Unpack[Settings],
) -> xarray.Dataset:
    """Run a scene with many parameters. Returns one labelled dataset of all runs: parameters × time × body.

    Parameters
    ----------
    build : a function that returns a Scene, the name of a gallery scene, or a Python file with build().
    over : a grid, {name: values}, of which all combinations are run (a name with one value is the same in all); or
        samples, a list of {name: value} or a table of pandas or polars with one row per run. Names are parameters of
        build() or settings of `Simulation`, including `duration`. If both have a name, it is the parameter of build().
    duration : simulated time of each run, s. Default: that of the gallery scene or of the file's SETTINGS.
    keep : names of quantities of a `Trajectory`, kept frame by frame, and functions of the finished run that return a
        number, an array, or a mapping of these. Default: positions, orientations and energies.
    seed : the root from which the seeds of the members are derived. If build() takes `seed`, each member passes its
        own.
    repeat : number of runs of each combination, with different seeds, along an axis `repeat`.
    how : "processes" on this machine; "serial", in this process; "batch", in this process on all cores, with members of
        equal structure and settings together in compiled code (smooth motion only: no contact, events or controllers,
        and no functions in `keep`); "auto", in batches if possible, else in processes; or a Dask cluster: its client,
        or the address of its scheduler. The results are bit-identical.
    workers : number of processes, or of threads of batches. Default: the number of cores.
    folder : each finished member is saved in this folder. The same call continues from what is saved.
    retry_failed : whether to run failed members again. Members whose process died are always run again.
    progress : called with `Counts` after each member.
    settings : settings of `Simulation`, the same for all members.

    Returns an xarray.Dataset: the kept quantities, along the axes of the grid (or `member`), and for each member
    `status` ("done", "failed", "died", "not run"), `error`, `wall_time` (s), `end_time` (s), `steps`, `energy_residual`
    (relative) and `final_state_hash`. A failed run has its recorded values until the failure and NaN after it. Ctrl-C
    ends a sweep cleanly: the dataset has all finished runs, and its attribute `interrupted` is 1.

    Raises ValueError for names and values that cannot be varied and for a folder with a different sweep, and SweepError
    if it cannot continue. Failed members raise nothing.

    >>> import dalembert as dal
    >>> found = dal.sweep("pendulum", {"length": [0.5, 1.0, 2.0]}, 1.0, how="serial")
    >>> found.position.dims
    ('length', 'time', 'body', 'xyz')
    """
    source = from_function(build) if callable(build) else find(str(build))
    if isinstance(over, Mapping):
        over = current_names(over, {old: new for old, new in RENAMED.items() if not source.takes(old)})
    task = Task(source, _keep(source, keep), stored=folder is not None)
    given = dict(settings) if duration is None else {"duration": duration} | settings
    _require_settings(given)
    plan = make_plan(source, over, given, known_settings(), seed, repeat)
    _require_duration(task, plan)
    start = _start(how, task, plan, workers)
    store = None if folder is None else Store(folder, make_manifest(task, plan, seed))
    members = {} if store is None else store.kept(plan, retry_failed)
    trouble: SweepError | None = None
    interrupted = False
    try:
        _collect(start, plan, members, store, progress)
    except KeyboardInterrupt:
        interrupted = True
    except SweepError as error:
        trouble = error
    found = assemble(plan, dict(sorted(members.items())), _attrs(task, plan, seed, interrupted))
    if trouble is not None:
        trouble.dataset = found
        raise trouble
    return found


def known_settings() -> tuple[str, ...]:
    """The settings of a run that may be varied or given."""
    return ("duration", *setting_names())


def _run_here(task: Task, members: Sequence[Member], workers: int | None) -> Iterator[Answer]:
    return (task.run(member) for member in members)


EXECUTORS: dict[str, Executor] = {
    "processes": run_in_processes,
    "serial": _run_here,
    "batch": run_in_batches,
    "auto": run_as_fits,
}


def _start(how: Any, task: Task, plan: Plan, workers: int | None) -> Callable[[Sequence[Member]], Iterator[Answer]]:
    """The executor for `how`. Raises ValueError."""
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers is {workers!r}; give a whole number from 1 on")
    if not isinstance(how, str):
        return lambda members: run_on_cluster(task, members, how)
    if how == "batch" and (what := not_kept(task)) is not None:
        raise ValueError(f"a batch cannot keep {what}; leave it out, or use how='processes'")
    if how in EXECUTORS:
        return lambda members: EXECUTORS[how](task, members, workers)
    if "://" not in how and ":" not in how:
        raise ValueError(
            f"how is {how!r}; give one of {', '.join(EXECUTORS)}, a Dask client, or the address of its scheduler"
        )
    return lambda members: run_on_cluster(task, members, how)


def _collect(
    start: Callable[[Sequence[Member]], Iterator[Answer]],
    plan: Plan,
    members: dict[int, Any],
    store: Store | None,
    progress: Callable[[Counts], Any] | None,
) -> None:
    """Run the missing members, and store each when it is ready. Raises SweepError if that fails for good."""
    tell = progress or (lambda counts: None)
    tell(count(members, plan))
    left = [member for member in plan.members if member.index not in members]
    if not left:
        return
    running = start(left)
    try:
        for answer in running:
            members.update(members_of(answer.dataset))
            if store is not None:
                _write(store, answer, members)
            tell(count(members, plan))
    except (RuntimeError, OSError) as error:
        if isinstance(error, SweepError):
            raise
        raise SweepError(f"{error}; {len(members)} of {len(plan.members)} members are finished") from error
    finally:
        running.close()  # type: ignore[attr-defined]


def _write(store: Store, answer: Answer, members: Mapping[int, Any]) -> None:
    """Keep a member on disk. Raises SweepError where it cannot be written."""
    try:
        with uninterrupted():
            store.write(answer)
    except OSError as error:
        raise _cannot_write(error, store, members) from error


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C comes at the end of what is done here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *what: caught.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    if caught:
        raise KeyboardInterrupt


def count(members: Mapping[int, Any], plan: Plan) -> Counts:
    """How many members there are."""
    states = [dataset.attrs["status"] for dataset in members.values()]
    return Counts(states.count(DONE), len(states) - states.count(DONE), len(plan.members))


def _cannot_write(error: OSError, store: Store, members: Mapping[int, Any]) -> SweepError:
    return SweepError(
        f"a member cannot be written to {str(store.folder)!r}: {error}. {len(store.safe)} members are safe there, and "
        f"with those in memory {len(members)} are in the error's dataset; make room, then make the same call again "
        "to continue"
    )


RECORDED = [name for name in VARIABLES if not name.startswith("contact_point_")]


def _keep(source: Source, keep: Any) -> tuple[str | Callable[[Simulation], Any], ...]:
    """What to keep, functions of the scene's file by their names. Raises ValueError."""
    found: list[str | Callable[[Simulation], Any]] = []
    for each in (keep,) if isinstance(keep, str) or callable(keep) else keep:
        if each in VARIABLES and str(each).startswith("contact_point_"):  # runs have different numbers of them
            raise ValueError(
                f"{each!r} cannot be kept: runs have different numbers of contact points; give a function of the run"
            )
        if callable(each) or each in VARIABLES or callable(source.names.get(each)):
            found.append(each)
        else:
            raise ValueError(
                f"{each!r} cannot be kept; give functions of the run, or names of {', '.join(RECORDED)}"
                + (f", or of functions in {source.name}" if source.kind == "file" else "")
            )
    return tuple(found)


def _require_settings(given: Mapping[str, Any]) -> None:
    """Raise ValueError for a setting that there is not."""
    for name in given:
        if name not in known_settings():
            raise ValueError(f"there is no setting {name!r}; the settings of a run are {', '.join(known_settings())}")


def _require_duration(task: Task, plan: Plan) -> None:
    """Raise ValueError unless all members have a duration."""
    if any("duration" not in task.settings(member) for member in plan.members[:1]):
        raise ValueError(f"{task.source.name} has no duration; give one, in s")


def _attrs(task: Task, plan: Plan, seed: int, interrupted: bool) -> dict[str, Any]:
    return {
        "sweep": json.dumps(make_manifest(task, plan, seed)),
        "versions": json.dumps(versions()),
        "interrupted": int(interrupted),
    }
