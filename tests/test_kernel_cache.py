"""The cache of compiled kernels: whatever becomes of it, runs are right; at worst they compile, and say so in one line."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import pytest

import dalembert
from dalembert.core import cache_folders

pytestmark = [
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled"),
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are those of POSIX"),
]
NOBODY = 54321  # a user without a name and a home
PROGRAM = """
import sys
import numpy as np
from dalembert.core.kernel import array, kernel

@kernel
def total(values: array()) -> float:
    sum = 0.0
    for k in range(values.shape[0]):
        sum += values[k]
    return sum

print(total(np.ones(3)), "loaded" if "dalembert.core.compiler" not in sys.modules else "compiled", flush=True)
"""
# Runs the program in one forked process after another, as a user and within a limit on files: importing Numba, and its first
# compilation, take longer than all else. Nothing has asked for the cache before.
RUNNER = """
import json
import os
import sys
import tempfile
import traceback
import numba
import numpy as np
import dalembert.core.kernel

numba.njit(lambda values: values[0])(np.ones(3))
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        os.environ.clear()
        os.environ.update(order["environment"])
        tempfile.tempdir = None
        os.chdir(order["folder"])
        if order["limit"]:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
        if order["user"]:
            os.setgroups([])
            os.setgid(order["user"])
            os.setuid(order["user"])
        try:
            exec(compile(open("program.py").read(), os.path.abspath("program.py"), "exec"))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""
COMPILED, LOADED = "3.0 compiled", "3.0 loaded"


@pytest.fixture
def place():
    """A folder that every user can look into, with the program, an empty cache and a folder for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="dalembert-test-"))
    folder.chmod(0o755)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    (folder / "cache").mkdir(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def runner():
    environment = {**os.environ, "PYTHONPATH": str(Path(dalembert.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", RUNNER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        yield process
        process.stdin.close()


@pytest.fixture
def run(runner, place):
    """Runs the program; returns what it prints, and the lines that it says about its cache."""

    def run(*, user=0, limit=0, **environment):
        settings = {"DALEMBERT_CACHE": str(place / "cache"), "TMPDIR": str(place / "tmp"), **environment}
        order = {"environment": settings, "user": user, "limit": limit, "folder": str(place), "out": str(place / "out"),
                 "err": str(place / "err")}  # fmt: skip
        runner.stdin.write(json.dumps(order) + "\n")
        runner.stdin.flush()
        status = runner.stdout.readline().strip()
        said = (place / "err").read_text()
        assert status == "0", (status, said)
        return (place / "out").read_text().strip(), [
            line
            for line in said.splitlines()
            if line.startswith("dalembert: ") and not re.fullmatch(r"dalembert: compiled .* in .* s", line)
        ]

    return run


needs_another_user = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def the_kernel(base):
    (found,) = base.glob("*/*.object")
    return found


def test_a_kernel_is_compiled_once_and_loaded_after_that(run, place):
    assert run() == (COMPILED, [])
    assert run() == (LOADED, [])


def test_processes_that_start_together_compile_once(place):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(dalembert.__file__).parents[1]),
        "DALEMBERT_CACHE": str(place / "c"),
    }
    started = [
        subprocess.Popen(
            [sys.executable, str(place / "program.py")], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert sorted(process.communicate(timeout=1800)[0].strip() for process in started) == [COMPILED, LOADED, LOADED]


@pytest.mark.parametrize("damage", ["empty", "truncated", "a bit", "a bit of the checksum", "another file", "a folder"])
def test_a_damaged_kernel_is_compiled_anew(run, place, damage):
    run()
    kernel = the_kernel(place / "cache")
    data = bytearray(kernel.read_bytes())
    data[len(data) // 2 if damage == "a bit" else 25] ^= 4
    new = {"empty": b"", "truncated": kernel.read_bytes()[:-100], "another file": b"\x80\x04K\x01." * 99}
    kernel.unlink()
    if damage == "a folder":
        kernel.mkdir()
        assert run()[0] == COMPILED
        return
    kernel.write_bytes(new.get(damage, bytes(data)))
    printed, said = run()
    assert printed == COMPILED
    assert len(said) == 1 and "is damaged" in said[0]
    assert run() == (LOADED, [])


@needs_another_user
def test_a_warm_cache_that_cannot_be_written_to_is_loaded_from(run, place):
    run()
    assert run(user=NOBODY) == (LOADED, [])


@needs_another_user
def test_what_cannot_be_written_to_the_cache_is_kept_in_a_private_folder(run, place):
    printed, (said,) = run(user=NOBODY)
    private = place / "tmp" / f"dalembert-{NOBODY}"
    assert printed == COMPILED and str(private) in said and "Permission denied" in said
    assert private.stat().st_mode & 0o777 == 0o700
    assert run(user=NOBODY) == (LOADED, [])


@needs_another_user
def test_without_a_home_kernels_are_kept_in_a_private_folder(run, place):
    nothing = {"DALEMBERT_CACHE": ""}
    printed, (said,) = run(user=NOBODY, **nothing)
    assert printed == COMPILED and "no home folder" in said
    assert run(user=NOBODY, **nothing) == (LOADED, [])
    assert not (place / "~").exists()


@needs_another_user
def test_where_nothing_can_be_written_each_process_compiles(run, place):
    (place / "tmp" / f"dalembert-{NOBODY}").write_text("in the way")
    for _ in range(2):
        printed, (said,) = run(user=NOBODY)
        assert printed == COMPILED and "each process compiles" in said


def test_a_full_disk_costs_time_and_leaves_no_parts_of_files(run, place):
    printed, (said,) = run(limit=1000)
    assert printed == COMPILED and "each process compiles" in said
    assert not [path for path in place.glob("*/*/*") if path.is_file() and path.suffix != ".lock"]
    assert run() == (COMPILED, [])


@pytest.mark.parametrize("which", ["the cache", "its folder", "the kernel", "above it"])
def test_nothing_is_loaded_that_others_can_write_to(run, place, which):
    run()
    kernel = the_kernel(place / "cache")
    path = {"the cache": place / "cache", "its folder": kernel.parent, "the kernel": kernel, "above it": place}[which]
    path.chmod(path.stat().st_mode | stat.S_IWGRP)
    kernel.write_bytes(b"not to be read")
    printed, said = run()
    assert printed == COMPILED
    if which != "the kernel":  # which is replaced
        assert len(said) == 1 and "others can write to" in said[0]


@needs_another_user
@pytest.mark.parametrize("which", ["the cache", "its folder", "the kernel"])
def test_nothing_is_loaded_that_belongs_to_another_user(run, place, which):
    run()
    kernel = the_kernel(place / "cache")
    path = {"the cache": place / "cache", "its folder": kernel.parent, "the kernel": kernel}[which]
    os.chown(path, NOBODY, NOBODY)
    assert run()[0] == COMPILED


def test_nothing_is_loaded_through_a_link(run, place):
    run()
    kernel = the_kernel(place / "cache")
    kernel.rename(place / "elsewhere")
    kernel.symlink_to(place / "elsewhere")
    assert run()[0] == COMPILED


def test_old_versions_are_removed_and_what_is_in_use_stays(place):
    base, now = place / "cache", time.time()

    def version(name, number, days):
        folder = base / f"{name}-{number:016x}"
        folder.mkdir()
        (folder / "f.kernel").write_bytes(b"")
        os.utime(folder, (now - days * 86400, now - days * 86400))
        return folder

    kept = [version("a", k, 0.1) for k in range(20)] + [version("b", k, 20) for k in range(8)]
    gone = [version("b", k, 25) for k in range(8, 12)] + [version("c", 0, 40)]
    other = base / "something-else"
    other.mkdir()
    os.utime(other, (0, 0))
    cache_folders._clear(base)
    assert all(path.is_dir() for path in [*kept, other])
    assert not any(path.exists() for path in gone)


def test_a_kernel_that_is_used_is_not_removed(run, place):
    run()
    folder = the_kernel(place / "cache").parent
    os.utime(folder, (0, 0))
    run()
    assert time.time() - folder.stat().st_mtime < 3600
