"""The members of a sweep on the workers of a Dask cluster. What a worker that is lost was at, others run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .plan import Member
from .task import DIED, Answer, Task, described, pack

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
