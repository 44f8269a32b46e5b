"""Saved runs that are damaged, or made to do harm: refused by name within a bounded time, or loaded right."""

import os
import random
import subprocess
import threading
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray

import dalembert as dal
import processes
from dalembert.simulation import netcdf as netcdf_reader
from dalembert.simulation.netcdf import READER, Reader, read_record
from dalembert.simulation.trajectory import Trajectory, TrajectoryError

processes.heed_interrupts()


def arrays(count=20):
    turned = np.zeros((count, 2, 4))
    turned[..., 0] = 1.0
    return {"time": np.linspace(0, 1, count), "position": np.random.default_rng(1).normal(size=(count, 2, 3)),
            "orientation": turned, "kinetic": np.ones(count), "potential": np.ones(count)}  # fmt: skip


@pytest.fixture
def saved(tmp_path):
    return Trajectory.from_arrays(arrays(), bodies=["one", "two"]).save(tmp_path / "run.nc")


def test_a_file_is_read_as_xarray_reads_it(saved):
    with xarray.open_dataset(saved, engine="h5netcdf", decode_times=False, mask_and_scale=False) as direct:
        assert read_record(saved).identical(direct.load().drop_attrs(deep=False).assign_attrs(read_record(saved).attrs))
        assert set(direct.attrs) - set(read_record(saved).attrs) == {"content_sha256"}


def test_values_of_every_kind_are_read_as_xarray_reads_them(tmp_path):
    dataset = xarray.Dataset(
        {"flags": ("n", [True, False, True]), "names": ("n", ["a", "ü", ""]), "many": (("n", "m"), np.eye(3, 4, dtype="f4")),
         "bytes": ("n", np.array([b"ab", b"c", b"d"])), "number": ((), 3), "nothing": ("k", np.zeros(0)),
         "half": ("n", np.array([1, 2, 3], "i2"), {"units": "m", "list": [1, 2], "words": ["x", "y"], "one": 1.5})},
        coords={"n": [1.0, 2.0, 3.0], "label": ("n", ["p", "q", "r"])}, attrs={"text": "t", "array": np.arange(3)},
    )  # fmt: skip
    path = tmp_path / "kinds.nc"
    dataset.to_netcdf(path, engine="h5netcdf")
    with xarray.open_dataset(path, engine="h5netcdf", decode_times=False, mask_and_scale=False) as direct:
        assert read_record(path).identical(direct.load())


def flipped(data, number):
    """A file with something wrong: cut off, bits turned, or words replaced."""
    chance = random.Random(number)
    damaged = bytearray(data)
    if number % 4 == 0:
        return bytes(damaged[: chance.randrange(len(damaged))])
    for _ in range(1 if number % 4 == 1 else chance.randrange(2, 30)):
        at = chance.randrange(len(damaged) - 8)
        if number % 4 < 3:
            damaged[at] ^= 1 << chance.randrange(8)
        else:
            word = chance.choice(
                [bytes(8), b"\xff" * 8, chance.randbytes(8), chance.randrange(len(data)).to_bytes(8, "little")]
            )
            damaged[at : at + 8] = word
    return bytes(damaged)


def test_damaged_files_are_refused_or_loaded(saved, tmp_path):
    data, path = saved.read_bytes(), tmp_path / "damaged.nc"
    refused, right = 0, Trajectory.load(saved).dataset
    for number in range(120):
        path.write_bytes(flipped(data, number))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found = Trajectory.load(path)
            except TrajectoryError as error:
                assert "damaged.nc" in str(error)
                refused += 1
                continue
        if not any("differs from its checksum" in str(warning.message) for warning in warned):
            assert found.dataset.drop_attrs().identical(right.drop_attrs())
    assert refused > 60


def with_an_external_link(file):
    del file["kinetic"]
    file["kinetic"] = h5py.ExternalLink("/etc/hostname", "/kinetic")


def with_a_soft_link(file):
    file["loop"] = h5py.SoftLink("/loop")


def with_external_storage(file):
    del file["kinetic"]
    file.create_dataset("kinetic", shape=(20,), dtype="f8", external=[("/etc/passwd", 0, 160)])


def with_a_virtual_dataset(file):
    layout = h5py.VirtualLayout(shape=(20,), dtype="f8")
    layout[:] = h5py.VirtualSource("/etc/hostname", "x", shape=(20,))
    del file["kinetic"]
    file.create_virtual_dataset("kinetic", layout)


def with_a_foreign_filter(file):
    del file["kinetic"]
    file.create_dataset("kinetic", data=np.ones(20), chunks=(20,), compression="lzf")


def with_a_bomb(file):
    del file["position"]
    file.create_dataset("position", shape=(10**7, 2, 3), dtype="f8", chunks=(10**5, 2, 3), fillvalue=1.0)


def with_many_objects(file):
    for k in range(10_001):
        file.create_group(f"g{k}")


def with_a_compound(file):
    file.create_dataset("table", data=np.zeros(3, [("a", "f8"), ("b", "i4")]))


def with_references(file):
    file.create_dataset("refs", shape=(2,), dtype=h5py.ref_dtype)


HARMFUL = {
    with_an_external_link: "an external link", with_a_soft_link: "an external link",
    with_external_storage: "in another file",
    with_a_virtual_dataset: "parts of other files", with_a_foreign_filter: "filters", with_a_bomb: "claim to have",
    with_many_objects: "10... objects", with_a_compound: "expected numbers or text",
    with_references: "expected numbers or text",
}  # fmt: skip


@pytest.mark.parametrize("harm", HARMFUL, ids=lambda harm: harm.__name__)
def test_what_a_trajectory_has_no_use_for_is_refused(saved, harm):
    with h5py.File(saved, "r+") as file:
        harm(file)
    for read in (Trajectory.load, read_record, dal.replay):
        with pytest.raises(TrajectoryError, match=f"run.nc.*{HARMFUL[harm]}"):
            read(saved)
    assert Trajectory.from_arrays(arrays(), bodies=["one", "two"]).save(saved) and Trajectory.load(saved)  # as before


def test_a_number_that_was_changed_is_warned_of(saved):
    with h5py.File(saved, "r+") as file:
        file["kinetic"][3] += 1e-9
    with pytest.warns(dal.SimulationWarning, match="run.nc' differs from its checksum"):
        Trajectory.load(saved)
    with pytest.raises(TrajectoryError, match="differs from its checksum"):
        read_record(saved, unchanged=True)


HANGS = "import sys, time\nfor line in sys.stdin:\n    while True: pass"
CRASHES = "import os, sys\nfor line in sys.stdin:\n    os.kill(os.getpid(), 11)"
STOPS = "import sys\nsys.stdin.readline()"


@pytest.mark.parametrize(("behaviour", "words"), [(HANGS, "takes more than"), (CRASHES, "damaged"), (STOPS, "damaged")])
def test_a_file_that_hangs_or_crashes_hdf5_is_refused_in_time(saved, monkeypatch, behaviour, words):
    reader = Reader()
    monkeypatch.setattr(netcdf_reader, "BOOT", behaviour)
    monkeypatch.setattr(netcdf_reader, "SECONDS", 0.2)
    monkeypatch.setattr(netcdf_reader, "WAIT", 2.0)
    start = time.monotonic()
    with pytest.raises(TrajectoryError, match=words):
        reader.read(saved)
    assert time.monotonic() - start < 200.0  # on a busy machine, too
    monkeypatch.undo()
    assert "position" in reader.read(saved)


def test_a_fork_that_uses_up_its_time_is_ended_by_the_system(saved, monkeypatch):
    pytest.importorskip("resource")
    loops = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from dalembert.simulation import netcdf_child as child\n"
        "def read(path):\n    while True: pass\n"
        "child.read = read; child.main()"
    )
    monkeypatch.setattr(netcdf_reader, "BOOT", loops)
    monkeypatch.setattr(netcdf_reader, "SECONDS", 0.2)
    monkeypatch.setattr(netcdf_reader, "WAIT", 1000.0)
    with pytest.raises(TrajectoryError, match="takes more than"):
        Reader().read(saved)


def test_ctrl_c_ends_the_wait_for_a_file(saved):
    """In a process of its own, which is interrupted while HDF5 would hang."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom dalembert.simulation import netcdf as netcdf_reader\n"
        f"netcdf_reader.BOOT = {HANGS!r}\n"
        "try:\n    print('begun', flush=True)\n    netcdf_reader.READER.read(Path(sys.argv[1]))\n"
        "except KeyboardInterrupt:\n    print('interrupted')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(dal.__file__).parents[1])}
    process = processes.python(program, str(saved), stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(2)
    assert process.communicate(timeout=1800)[0] == "interrupted\n"


def test_files_are_read_by_one_process(saved, tmp_path):
    reader = Reader()
    reader.read(saved)
    first = reader._process
    (tmp_path / "bad.nc").write_bytes(b"no")
    with pytest.raises(TrajectoryError):
        reader.read(tmp_path / "bad.nc")
    reader.read(saved)
    assert reader._process is first
    first.kill()
    first.wait()
    reader.read(saved)
    assert reader._process is not first


def test_an_order_that_comes_as_the_process_ends_for_want_of_orders_is_given_again(saved, monkeypatch):
    """The order is in the pipe, as the process has stopped to wait for one."""
    reader = Reader()
    monkeypatch.setattr(netcdf_reader, "BOOT", STOPS)
    reader._process, reader._owner = netcdf_reader._start(), os.getpid()
    monkeypatch.undo()
    assert "position" in reader.read(saved)


def test_threads_may_read_at_the_same_time(saved):
    found = []
    threads = [threading.Thread(target=lambda: found.append(READER.read(saved))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert len(found) == 4 and all(one.identical(found[0]) for one in found)
