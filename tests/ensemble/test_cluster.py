"""Sweeps on a Dask cluster: a real scheduler with two worker processes, one of which is killed half-way."""

import os
import signal
import time

import pytest

import dalembert as dal

from .scenes import SETTINGS, ball

distributed = pytest.importorskip("distributed", reason="Dask is not installed; pip install dalembert[dask]")


def slow(height):
    """A ball that takes its time, so that a worker is at work when it is killed."""
    time.sleep(0.1)
    return ball(height)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


def test_a_worker_that_is_killed_half_way_costs_no_member(cluster, tmp_path):
    with distributed.Client(cluster, set_as_default=False) as client:
        workers = client.run(os.getpid)
        assert len(set(workers.values())) == 2
        killed = []

        def kill(counts):
            if counts.done == 4 and not killed:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        over = {"height": [float(i) for i in range(1, 11)]}
        found = dal.sweep(slow, over, 0.5, how=client, progress=kill, folder=tmp_path / "s", **SETTINGS)
        assert killed and (found.status == "done").all()
        here = dal.sweep(ball, over, 0.5, how="serial", **SETTINGS)
        assert (found.final_state_hash == here.final_state_hash).all()
        assert found.position.identical(here.position)
        assert len(list((tmp_path / "s" / "members").glob("*.nc"))) == 10


def test_the_address_of_a_scheduler_is_enough_and_failures_stay_with_their_members(cluster):
    found = dal.sweep("pendulum", {"length": [1.0, -1.0, 2.0]}, 0.5, how=cluster.scheduler_address)
    assert found.status.values.tolist() == ["done", "failed", "done"]


def test_a_scheduler_that_does_not_answer_is_told(monkeypatch):
    from dalembert.ensemble import executors as module

    monkeypatch.setattr(module, "PATIENCE", 0.5)
    with pytest.raises(dal.SweepError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        dal.sweep(ball, {"height": [1.0]}, 0.5, how="tcp://127.0.0.1:9", **SETTINGS)


def test_a_cluster_without_workers_is_told(monkeypatch):
    from dalembert.ensemble import executors as module

    monkeypatch.setattr(module, "PATIENCE_FOR_WORKERS", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty,
        pytest.raises(dal.SweepError, match=r"no worker for 0.5 s.* 0 of 1 members"),
    ):
        dal.sweep(ball, {"height": [1.0]}, 0.5, how=empty.scheduler_address, **SETTINGS)
