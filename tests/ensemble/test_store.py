"""Sweeps on disk: what is kept, how they go on, and what cannot end them."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
import processes
from dalembert.ensemble import store

from .scenes import SETTINGS, ball, troubled

processes.heed_interrupts()
OVER = {"height": [1.0, 2.0, 3.0, 4.0]}


def run(folder, over=OVER, build=ball, **more):
    return dal.sweep(build, over, 0.5, **({"how": "serial", "folder": folder} | SETTINGS | more))


def times_written(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "members").iterdir()}


def test_a_sweep_goes_on_where_it_was_stopped_with_the_same_result(tmp_path):
    def stop(counts):
        if counts.done == 2:
            raise KeyboardInterrupt

    part = run(tmp_path / "s", progress=stop)
    assert part.attrs["interrupted"] == 1
    assert part.status.values.tolist() == ["done", "done", "not run", "not run"]
    before = times_written(tmp_path / "s")
    assert set(before) == {"000000.nc", "000001.nc"}
    seen = []
    whole = run(tmp_path / "s", progress=seen.append)
    assert seen[0] == (2, 0, 4) and seen[-1] == (4, 0, 4)
    assert {name: times_written(tmp_path / "s")[name] for name in before} == before
    assert whole.attrs["interrupted"] == 0
    assert whole.drop_vars("wall_time").identical(run(None).drop_vars("wall_time"))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"over": {"height": [1.0, 2.0]}}, "members was 4 and is 2"),
        ({"dt": 0.005}, "members_sha256"),
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"keep": "kinetic"}, "keep was"),
        ({"build": lambda height: ball(height, 1.0)}, "scene_sha256 was"),
    ],
)
def test_another_sweep_in_the_same_folder_is_refused_and_says_how_it_differs(tmp_path, other, told):
    run(tmp_path / "s")
    before = times_written(tmp_path / "s")
    with pytest.raises(ValueError, match=f"has a different sweep .*{told}"):
        run(tmp_path / "s", **other)
    assert times_written(tmp_path / "s") == before


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="has other files and no sweep"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_member_is_run_again_and_a_damaged_manifest_refused(tmp_path):
    whole = run(tmp_path / "s")
    path = tmp_path / "s" / "members" / "000001.nc"
    path.write_bytes(path.read_bytes()[:500])
    again = run(tmp_path / "s")
    assert again.drop_vars("wall_time").identical(whole.drop_vars("wall_time"))
    (tmp_path / "s" / "sweep.json").write_text("[1, 2")
    with pytest.raises(ValueError, match="is damaged"):
        run(tmp_path / "s")


def test_members_that_failed_are_run_again_only_if_asked(tmp_path):
    def fails(marker, height=1.0):
        if not Path(marker).exists():
            raise OSError("the file is not there yet")
        return ball(height)

    marker = str(tmp_path / "marker")
    over = {"height": [1.0, 2.0], "marker": marker}
    assert (run(tmp_path / "s", over, fails).status == "failed").all()
    Path(marker).touch()
    found = run(tmp_path / "s", over, fails)
    assert (found.status == "failed").all() and "not there yet" in found.error.values[0]
    assert (run(tmp_path / "s", over, fails, retry_failed=True).status == "done").all()


def test_a_full_disk_stops_the_sweep_loses_nothing_and_it_goes_on_when_there_is_room(tmp_path, monkeypatch):
    write, written = store.write_bytes, []

    def full(content, path):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(content, path)

    monkeypatch.setattr(store, "write_bytes", full)
    with pytest.raises(dal.SweepError, match=r"No space left on device.* 2 members are safe there.* 3 are in") as error:
        run(tmp_path / "s")
    assert error.value.dataset.status.values.tolist() == ["done", "done", "done", "not run"]
    assert np.isfinite(error.value.dataset.position.values[:3]).all()
    monkeypatch.undo()
    assert (run(tmp_path / "s").status == "done").all()


def test_a_process_that_dies_costs_an_attempt_and_not_the_sweep(tmp_path):
    cases = ["none", "dies once", "raises", "dies twice"]
    over, seen = {"case": cases, "marker": str(tmp_path / "deaths")}, []
    found = run(tmp_path / "s", over, troubled, how="processes", workers=1)
    assert found.status.values.tolist() == ["done", "done", "failed", "died"]
    assert (
        found.error.values[3] == "the process was ended by signal SIGKILL (is there enough memory?); it failed 2 times"
    )
    again = run(tmp_path / "s", over, troubled, how="processes", workers=1, progress=seen.append)
    assert seen[0] == (2, 1, 4)  # what died is run again, what failed is not
    assert again.status.values.tolist() == ["done", "done", "failed", "done"]
    assert np.array_equal(again.position[3], again.position[0])


def test_processes_give_the_bits_of_a_serial_sweep_and_take_functions_of_a_session():
    gain = 2.0
    over = {"height": [1.0, 2.0, 3.0]}
    keep = ["position", lambda run: gain * run.state.position[0, 2]]
    one = run(None, over, lambda height: ball(height, gain), keep=keep)
    other = run(None, over, lambda height: ball(height, gain), keep=keep, how="processes", workers=2)
    assert (one.status == "done").all() and "<lambda>" in one
    assert one.position.identical(other.position) and one["<lambda>"].identical(other["<lambda>"])


def test_what_cannot_be_sent_to_a_process_is_told():
    import threading

    lock = threading.Lock()
    with pytest.raises(dal.SweepError, match="how='serial'"):
        run(None, {"height": [1.0]}, lambda height: ball(height) if lock else None, how="processes")


SCRIPT = """
import sys, time
import dalembert as dal

def build(height):
    time.sleep(0.3)
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, height))
    return scene

found = dal.sweep(build, {"height": [float(i) for i in range(1, 41)]}, 0.1, method="rk4", dt=0.01, workers=1, folder="s")
print("interrupted", found.attrs["interrupted"], int((found.status == "done").sum()), flush=True)
"""


def script(tmp_path):
    """A script that sweeps, without a guard of its main part, when two of its members are finished."""
    (tmp_path / "script.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 600.0
    while len(list(tmp_path.glob("s/members/*.nc"))) < 2 and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    return process


def test_control_c_ends_a_script_s_sweep_cleanly(tmp_path):
    process = script(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group
    out, _ = process.communicate(timeout=1800)
    word, interrupted, done = out.split()
    assert (word, interrupted) == ("interrupted", "1") and 2 <= int(done) < 40
    assert len(list(tmp_path.glob("s/members/*.nc"))) == int(done)


def test_a_sweep_that_is_killed_leaves_whole_files_only(tmp_path):
    process = script(tmp_path)
    process.kill()
    process.communicate(timeout=1800)
    files = list(tmp_path.glob("s/members/*.nc"))
    assert 2 <= len(files) < 40
    for file in files:
        assert dal.Trajectory.load(file).attrs["status"] == "done"
    assert json.loads((tmp_path / "s" / "sweep.json").read_text())["members"] == 40
