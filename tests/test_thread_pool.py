"""Jobs of the thread pool: each item once, by any number of threads, whether or not all of them come."""

import numpy as np
import pytest

from dalembert.core import jit
from dalembert.core.c_function import C_SIGNATURE, C_TYPE, viewer
from dalembert.core.jit import CFunction
from dalembert.core.thread_pool import COLLISION_SLOT, FUNCTIONS, MOST_CHUNKS, ThreadPool, run_parallel

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="without compilation there is one thread")

_words, _floats = viewer(np.int64), viewer(np.float64)


def count_entry(slot, kind, value, nothing, begin, result, end):
    """Add one to each item in the table of the slot, of `kind` items; the result is the value and where the chunk ends."""
    table = _words(_words(slot, 1)[0], kind)
    for i in range(begin, end):
        table[i] += 1
    best = _floats(result, 1)
    best[0] = max(best[0], value + end)
    return 0


def jobs_entry(data, jobs, value, queue, n, out, m):
    """So many jobs over 0 … m, of chunks of `data` items."""
    largest = _floats(out, 1)
    for _ in range(jobs):
        largest[0] = run_parallel(_words(queue, n), 0, m, 0, m, data, value)
    return 0


COUNT, JOBS = CFunction(count_entry, C_SIGNATURE), CFunction(jobs_entry, C_SIGNATURE)


def run_jobs(pool, jobs, items, size, value):
    """How often each item was done, and the result of the last job."""
    table, largest = np.zeros(items, np.int64), np.zeros(1)
    pool.job_queue[FUNCTIONS] = COUNT.address
    for thread in range(pool.threads):
        pool.set_slot(thread, COLLISION_SLOT, table.ctypes.data)
    C_TYPE(JOBS.address)(size, jobs, value, pool.job_queue.ctypes.data, pool.job_queue.size, largest.ctypes.data, items)
    return table, float(largest[0])


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize(("items", "size"), [(1, 4), (7, 2), (1000, 3), (64, 64)])
def test_each_item_of_each_job_is_done_once(threads, items, size):
    with ThreadPool(threads) as pool:
        done, largest = run_jobs(pool, 300, items, size, 0.25)
    assert (done == 300).all()
    assert largest == items + 0.25


@pytest.mark.parametrize("threads", [2, 4])
def test_the_parts_of_threads_that_do_not_come_are_done_by_the_first(threads):
    """Outside of `with pool` only thread 0 takes chunks."""
    done, largest = run_jobs(ThreadPool(threads), 5, 100, 7, -3.0)
    assert (done == 5).all()
    assert largest == 97.0


def test_a_job_of_more_items_than_a_ticket_can_number_has_larger_chunks():
    with ThreadPool(2) as pool:
        done, _ = run_jobs(pool, 2, 3 * MOST_CHUNKS, 1, 0.0)
    assert (done == 2).all()
