"""Trajectories as NetCDF-4 files: written whole or not at all, and read in a process of their own (`netcdf_reader`)."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .content_hash import ATTRIBUTE, content_hash
from .netcdf_reader import READER
from .trajectory_format import TrajectoryError, check_sizes, check_structure
from .warning import warn

if TYPE_CHECKING:
    import xarray


ONE_AT_A_TIME = threading.Lock()
IN_MEMORY = 256_000_000  # bytes: what is smaller is encoded before it is written


def write(dataset: xarray.Dataset, path: Path, hashed: bool = True) -> Path:
    """Write a dataset to a temporary file beside `path`, which is renamed over it. Returns the path. Raises OSError.

    hashed : with its hash, by which `read` tells that a file was damaged; for files that only `read` is to read.

    HDF5 takes a full disk badly: it may bring the process down. So it is not let near one.
    """
    content = encode(dataset, hashed)
    if content is not None:
        return write_bytes(content, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < dataset.nbytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    return _write(lambda temporary: _fill(_hashed(dataset) if hashed else dataset, temporary), path)


def write_bytes(content: bytes, path: Path) -> Path:
    """Write what `encode` gave, in the same way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return _write(lambda temporary: Path(temporary).write_bytes(content), path)


def _hashed(dataset: xarray.Dataset) -> xarray.Dataset:
    return dataset.assign_attrs({ATTRIBUTE: content_hash(dataset)})


def encode(dataset: xarray.Dataset, hashed: bool = True) -> bytes | None:
    """The bytes of a dataset's file; None if they are too many to have in memory twice."""
    if dataset.nbytes > IN_MEMORY:
        return None
    buffer = io.BytesIO()
    _fill(_hashed(dataset) if hashed else dataset, buffer)
    return buffer.getvalue()


def _fill(dataset: xarray.Dataset, target: Any) -> None:
    """Write NetCDF. In a Dask worker xarray would take a lock of the whole cluster, which a worker that is killed never
    gives back; one of this process is enough."""
    with ONE_AT_A_TIME:
        if "dask" in sys.modules:
            with sys.modules["dask"].config.set(scheduler="synchronous"):
                dataset.to_netcdf(target, engine="h5netcdf")
        else:
            dataset.to_netcdf(target, engine="h5netcdf")


def _write(fill: Callable[[str], Any], path: Path) -> Path:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        fill(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, RuntimeError):  # of HDF5
            raise OSError(f"{path}: {error}") from error
        raise
    return path


def rescue(dataset: xarray.Dataset, path: Path) -> Path | None:
    """Write what could not be written to `path` to a new folder among the temporary files instead; None if that fails too."""
    try:
        return write(dataset, Path(tempfile.mkdtemp(prefix="dalembert-")) / path.name)
    except OSError:
        return None


def read(path: Path) -> xarray.Dataset:
    """The dataset of a file, in memory, its structure checked; see `Trajectory.load` for the errors. Warns of a file that
    does not hold what was written."""
    return _read(path, check_structure, False)


def read_record(path: Path, outer: str | None = None, unchanged: bool = False) -> xarray.Dataset:
    """The same of a file that need not have all that a trajectory must, such as that of a member of a sweep.

    outer : an axis that may stand before those of a trajectory, of several runs. unchanged : refuse a file that does not hold
    what was written, with a TrajectoryError.
    """
    return _read(path, lambda dataset, source: check_sizes(dataset, source, outer), unchanged)


def _read(path: Path, look: Callable[[xarray.Dataset, str], None], unchanged: bool) -> xarray.Dataset:
    if not path.is_file():
        raise FileNotFoundError(f"there is no trajectory file {str(path)!r}")
    dataset = READER.read(path)
    look(dataset, str(path))
    written = dataset.attrs.pop(ATTRIBUTE, None)
    if written is not None and written != content_hash(dataset):
        what = f"{str(path)!r} does not hold what was written to it: it was changed, or is damaged"
        if unchanged:
            raise TrajectoryError(what)
        warn(what)
    return dataset


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
