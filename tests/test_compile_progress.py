"""What is said while kernels compile: on a terminal, elsewhere, while waiting, and when processes end early."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import numba
import pytest

import dalembert
import processes
from dalembert.cli.commands import all_commands
from dalembert.core import cache_folders, compile_progress, object_cache
from dalembert.core.thread_pool import cores
from dalembert.simulation import precompile as ahead

processes.heed_interrupts()
pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
needs_processes = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at other processes")

TWO = """
import sys
from dalembert.core import thread_pool
from dalembert.ensemble import batch_kernel
from dalembert.simulation.precompile import precompile
seconds = precompile([thread_pool.WORKER_ENTRY, batch_kernel.BATCH_ENTRY])
print(sorted(seconds), "rich" in sys.modules)
"""
LATE = """
import time
from dalembert.core import compile_progress
from dalembert.simulation import precompile as ahead
full = ahead.compile_free

def late(*arguments, **more):
    while not compile_progress._state.running:
        time.sleep(0.02)
    ahead.compile_free = full
    full(*arguments, **more)

ahead.compile_free = late
"""  # so that a helper is the first
LARGE = """
from dalembert.contact import converge, step
from dalembert.dynamics import mechanism
from dalembert.simulation.precompile import precompile
precompile([converge.CONVERGING_ENTRY, step.STEP_ENTRY, mechanism.MECHANISM_ENTRY])
"""
ONE = "from dalembert.core import thread_pool; print(thread_pool.WORKER_ENTRY.address > 0)"
NAMES = ["core.thread_pool.serve", "ensemble.batch_kernel.run_batch"]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    path = str(Path(dalembert.__file__).parents[1])
    monkeypatch.delenv("COLUMNS", raising=False)
    return {**os.environ, "PYTHONPATH": path, "DALEMBERT_CACHE": str(tmp_path / "cache"), "TERM": "xterm"}


@pytest.fixture
def begin(environment):
    """Starts a program; ends it after the test."""
    started = []

    def begin(program, **more):
        files = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
        started.append(processes.python(program, env=environment, **files))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


def on_terminal(begin, program, columns=110):
    """What a program writes to a terminal, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = begin(program, stdin=slave, stdout=slave, stderr=slave, text=False)
    os.close(slave)
    written = b""
    while True:
        if select.select([master], [], [], 0.2)[0]:
            try:
                written += os.read(master, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    os.close(master)
    return written.decode(), process.wait()


def until(true, seconds=300.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def helpers_of(process):
    return [int(n) for n in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def locked(cache):
    """The processes that compile a kernel now, by its folder."""
    held = {
        int(fields[5].split(":")[2]): int(fields[4])
        for fields in map(str.split, Path("/proc/locks").read_text().splitlines())
        if "->" not in fields
    }
    files = {path.stat().st_ino: path.parent.name.rpartition("-")[0] for path in cache.glob("*/*.lock")}
    return {files[inode]: pid for inode, pid in held.items() if inode in files}


# Lines ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_elsewhere_than_on_a_terminal_each_kernel_is_one_line(begin, tmp_path):
    out, err = begin(TWO).communicate(timeout=1800)
    assert out.strip() == f"{NAMES} False"
    first, *lines = err.splitlines()
    assert re.fullmatch(
        r"dalembert: compiling 2 kernels \(first run only\), about \d+ s on \d process(es)? \.\.\.", first
    )
    assert len(lines) == 2 and lines[0].endswith("; 1 left")
    assert {re.sub(r" in [\d.]+ s.*", "", line) for line in lines} == {
        "dalembert: compiled batches (ensemble.batch_kernel)", "dalembert: compiled threads (core.thread_pool)"
    }  # fmt: skip
    kept = json.loads((tmp_path / "cache" / "durations.json").read_text())
    assert sorted(kept) == NAMES and all(0.0 < s < 300.0 for s in kept.values())
    out, err = begin(TWO).communicate(timeout=1800)
    assert (out.strip(), err) == ("[] False", "")


@pytest.mark.slow
def test_a_terminal_shows_one_line_that_changes_and_goes(begin):
    written, code = on_terminal(begin, TWO, columns=60)
    assert code == 0
    shown = [re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", part).strip() for part in re.split(r"[\r\n]+", written)]
    bars = [part for part in shown if "━" in part]
    assert any(re.match(r"━+ 2 to compile, about \d+ s: (batches|threads)", part.replace("╸", "━").replace("╺", "━"))
               for part in bars)  # fmt: skip
    assert max(map(len, bars)) <= 60
    assert [part for part in shown if part and part not in bars] == [shown_end for shown_end in shown if shown_end and (
        re.fullmatch(r"dalembert: compiled 2 kernels in \d+ s", shown_end) or "run_batch" in shown_end)]  # fmt: skip
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")  # the cursor is there again
    written, code = on_terminal(begin, TWO)
    assert written.strip() == "[] False"


@pytest.mark.slow
@needs_processes
def test_waiting_for_another_process_is_said_and_ends_when_that_dies(begin, environment, tmp_path):
    holder = (
        "import sys, time\nfrom dalembert.core import cache_folders, thread_pool\n"
        "cached = thread_pool.WORKER_ENTRY._on_disk\n"
        "lock = cache_folders.lock(cached._folder, cached._stem)\nprint('locked', flush=True)\ntime.sleep(600)\n"
    )
    other = begin(holder)
    assert other.stdout.readline() == "locked\n"
    waiting = begin(ONE)
    line = waiting.stderr.readline()
    assert line == f"dalembert: waiting for process {other.pid}, which compiles threads (core.thread_pool) ...\n"
    assert waiting.poll() is None
    other.kill()
    out, err = waiting.communicate(timeout=1800)
    assert out == "True\n" and re.fullmatch(r"dalembert: compiled threads \(core.thread_pool\) in [\d.]+ s\n", err)


# Processes that end early -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_processes
@pytest.mark.skipif(cores() < 2, reason="nothing helps")
def test_ctrl_c_ends_all_processes_and_leaves_no_lock(begin, tmp_path):
    process = begin(LARGE)
    until(lambda: len(locked(tmp_path / "cache")) >= min(3, cores()))
    helpers = helpers_of(process)
    assert helpers
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == -signal.SIGINT
    assert not any(os.path.exists(f"/proc/{helper}") for helper in helpers)
    assert locked(tmp_path / "cache") == {}
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    for path in left:  # a kernel that a helper finished before the signal reached the compiler of its parent: whole
        assert path.name == "durations.json" or object_cache._unpacked(path) is not None, path
    assert len(left) < 4  # not all three, with their durations
    assert begin(ONE).wait(300) == 0  # and the cache is as good as before


@pytest.mark.slow
@needs_processes
@pytest.mark.skipif(cores() < 2, reason="nothing helps")
def test_helpers_end_with_their_parent(begin, tmp_path):
    process = begin(LARGE)
    until(lambda: len(locked(tmp_path / "cache")) >= 2)
    helpers = helpers_of(process)
    process.kill()
    process.wait()
    until(lambda: not locked(tmp_path / "cache"), 60.0)
    assert helpers


@pytest.mark.slow
@needs_processes
@pytest.mark.skipif(cores() < 2, reason="nothing helps")
def test_what_a_helper_was_at_when_it_died_is_compiled_by_another(begin, tmp_path):
    process = begin(LATE + TWO)
    found = {}

    def helping():
        helpers = helpers_of(process)
        found.update({name: pid for name, pid in locked(tmp_path / "cache").items() if pid in helpers})
        return found

    until(helping)
    ((name, helper),) = found.items()
    os.kill(helper, signal.SIGKILL)
    out, err = process.communicate(timeout=1800)
    assert out.strip() == f"{NAMES} False"
    label = compile_progress.label(f"{name}.x")
    assert f"process {helper}, which compiled {label}, ended early (killed by signal 9)" in err
    assert err.count(f"compiled {label} in") == 1
    assert len(list((tmp_path / "cache").glob("*/*.object"))) == 2


# What is kept of last time ----------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    cache_folders._usable.cache_clear()
    yield tmp_path
    cache_folders._usable.cache_clear()


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1, 2]", "null", "7", '{"dynamics": NaN, "core": Infinity, "ensemble": -1}',
     '{"core": "1.0", "ensemble": true}',
     '{"core": [1.0], "ensemble": {"a": 1}, "impact": 1e9}', "[" * 60000, '{"' + "x" * 200 + '": 1.0, "a\\u001b[31m": 2.0}',
     "\udcff", '{"core": ' + "9" * 5000 + "}"],
)  # fmt: skip
def test_nonsense_in_the_file_of_durations_is_ignored(cache, text):
    (cache / "durations.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert compile_progress.known_durations() == {}
    compile_progress.keep_durations({"core.thread_pool.serve": 2.0, "function of 'secret'": 1.0})
    assert compile_progress.known_durations() == {"core.thread_pool.serve": 2.0}


def test_the_file_of_durations_is_bounded(cache):
    compile_progress.keep_durations({f"core.thread_pool.{k}": 1.0 for k in range(5000)})
    assert len(compile_progress.known_durations()) == compile_progress.MOST
    assert (cache / "durations.json").stat().st_size < compile_progress.LARGEST
    (cache / "durations.json").write_text(json.dumps({f"core.thread_pool.{k}": 1.0 for k in range(100_000)}))
    assert compile_progress.known_durations() == {}  # cut off


def test_durations_that_others_can_write_are_not_read(cache):
    compile_progress.keep_durations({"core.thread_pool.serve": 2.0})
    (cache / "durations.json").chmod(0o666)
    assert compile_progress.known_durations() == {}


def test_every_kernel_has_a_name_and_a_time():
    for item in ahead.everything():
        assert compile_progress.label(item.name) != item.name, item.name
        assert compile_progress.expected(item.name, {}) >= compile_progress.UNKNOWN
        assert compile_progress.expected(item.name, {item.name: 0.5}) == 0.5


def test_the_line_counts_what_is_left_and_estimates_from_last_time(monkeypatch):
    known = {"core.thread_pool.serve": 10.0, "ensemble.batch_kernel.run_batch": 30.0,
             "impact.system.contact_system_entry": 20.0}  # fmt: skip
    state = compile_progress._State(pending=list(known), known=known, processes=2, batch=True)
    now = time.perf_counter()
    state.running = {
        "core.thread_pool.serve": compile_progress._Task(now - 4.0),
        "ensemble.batch_kernel.run_batch": compile_progress._Task(now),
    }
    monkeypatch.setattr(compile_progress, "_state", state)
    assert compile_progress.line() == "3 to compile, about 30 s: threads, batches"
    state.running["ensemble.batch_kernel.run_batch"].begun = now - 100.0  # and takes another tenth of that
    assert compile_progress.line() == "3 to compile, about 18 s: threads, batches"
    state.done["impact.contact_law._solve"] = 3.0 * compile_progress.expected("impact", known)  # the computer is busy
    assert compile_progress.line() == "3 to compile, about 45 s: threads, batches"
    state.running = {"core.thread_pool.serve": compile_progress._Task(now, waiting=-1)}
    assert compile_progress.line() == "waiting for another process, which compiles threads (core.thread_pool)"


def test_the_command_prints_a_table_of_all_kernels(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "precompile", lambda wanted: {"core.thread_pool.serve": 1.25})
    monkeypatch.setenv("COLUMNS", "200")
    assert all_commands()["compile"]() == 0
    out = capsys.readouterr().out
    assert out.split()[:5] == ["kernel", "purpose", "seconds", "cached", "in"]
    assert re.search(r"core\.thread_pool\.serve +threads +1\.2", out)
    assert all(item.name in out for item in ahead.everything())


def test_a_folder_holds_so_much_and_no_more(cache, monkeypatch):
    monkeypatch.setattr(cache_folders, "MOST_FILES", 5)
    monkeypatch.setattr(cache_folders, "LARGEST_FOLDER", 1000)
    folder = cache / "user_functions-0123456789abcdef"
    folder.mkdir()

    def write(name, size, age):
        cache_folders.write(folder.name, name, bytes(size))
        os.utime(folder / name, (time.time() - age, time.time() - age))

    for k in range(8):
        write(f"{k}.kernel", 10, 1000.0 - k)
    cache_folders._trim(cache, folder.name)
    assert sorted(path.name for path in folder.iterdir()) == [f"{k}.kernel" for k in range(3, 8)]
    write("large.kernel", 990, 100.0)
    cache_folders._trim(cache, folder.name)
    assert sorted(path.name for path in folder.iterdir()) == ["7.kernel", "large.kernel"]
