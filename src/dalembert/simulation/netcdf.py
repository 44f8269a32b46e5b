"""NetCDF-4 files of trajectories: written completely or not at all, and read in a separate process within limits."""

from __future__ import annotations

import atexit
import base64
import contextlib
import errno
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..core.status import warn
from .trajectory import MAX_TEXT, TrajectoryError, check_sizes, check_structure

if TYPE_CHECKING:
    import xarray


# Hash of the contents, which detects damaged files --------------------------------------------------------------------
#
# It is no signature: whoever changes the numbers on purpose can change the hash as well.

ATTRIBUTE = "content_sha256"  # of the file; a dataset in memory has none


def content_hash(dataset: xarray.Dataset) -> str:
    """Hexadecimal SHA-256 of names, axes, types and numbers of all variables, and of attributes that are texts or numbers."""
    digest = hashlib.sha256()
    for name, variable in sorted(dataset.variables.items(), key=lambda item: str(item[0])):
        values = np.asarray(variable.values)
        texts = values.dtype.kind in "OUS"
        kind = (
            "nothing" if values.size == 0 else "text" if texts else values.dtype.str
        )  # empty texts are numbers in a file
        digest.update(json.dumps([str(name), list(map(str, variable.dims)), kind, list(values.shape)]).encode())
        if values.size == 0:
            continue
        if texts:
            digest.update(json.dumps(list(map(_text, values.ravel().tolist()))).encode())
        else:
            if values.dtype.kind == "f" and np.isnan(values).any():
                values = np.where(np.isnan(values), values.dtype.type(np.nan), values)  # files have one NaN only
            digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    for key, value in sorted(dataset.attrs.items()):
        if isinstance(value, str | int | float | np.number) and key != ATTRIBUTE:
            said = value if isinstance(value, str) else float(value)
            digest.update(json.dumps([str(key), said]).encode())
    return digest.hexdigest()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


# NetCDF-4 files, read in a separate process (`netcdf_child`) within limits of time and memory -------------------------

SECONDS = 5.0  # of processor time for any file, and
BYTES_A_SECOND = 20e6  # of the file beside
WAIT = 12.0  # times as long by the clock, as the computer may have other things to do
HEADER = 4 * MAX_TEXT  # bytes
END = 5.0  # s, for a process that has closed its pipes to end
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from dalembert.simulation.netcdf_child import main; main()"


class Reader:
    """A process that reads files, started when it is needed; a new one after each file that brings it down."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started it: a fork must not share its pipes
        self._lock = threading.Lock()

    def read(self, path: Path) -> xarray.Dataset:
        """The dataset of a file. Raises TrajectoryError for files that are damaged or take too long."""
        seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND
        with self._lock:
            answer = self._attempt(path, seconds) or self._attempt(path, seconds)
            if answer is None:
                raise _unreadable(path, _ended(0, seconds))
            process, header, arrays = answer
            if "error" in header:
                if not hasattr(os, "fork"):  # the process has read it itself, and HDF5 may have been harmed
                    self._stop(process)
                raise _unreadable(path, str(header["error"]))
        try:
            return _dataset(header, arrays)
        except Exception as error:  # xarray raises many kinds
            raise _unreadable(path, str(error) or type(error).__name__) from error

    def _attempt(self, path: Path, seconds: float) -> tuple[subprocess.Popen[bytes], dict[str, Any], list[Any]] | None:
        """The process and what it answers; None if it had no orders for long, and ended as this one was on its way."""
        process = self._ask({"path": str(path.absolute()), "seconds": seconds})
        late = threading.Event()

        def stop() -> None:
            late.set()
            _kill(process)

        clock = threading.Timer(WAIT * seconds, stop)
        clock.daemon = True
        clock.start()
        try:
            return process, *_answer(process.stdout)  # type: ignore[arg-type]
        except BaseException as error:
            if isinstance(error, EOFError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(END)
            self._stop(process)
            if late.is_set():
                raise _unreadable(path, f"reading it takes more than {WAIT * seconds:.0f} s") from None
            if not isinstance(error, EOFError):
                raise
            if process.returncode == 0:
                return None
            raise _unreadable(path, _ended(process.returncode, seconds)) from None
        finally:
            clock.cancel()

    def _ask(self, order: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Give the order to the process, or to a new one where it has ended."""
        for _ in range(2):
            process = self._process
            if process is None or self._owner != os.getpid() or process.poll() is not None:
                process = self._process = _start()
                self._owner = os.getpid()
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order).encode() + b"\n")
                process.stdin.flush()
                return process
            self._stop(process)
        raise TrajectoryError("the process that reads files cannot be started")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._process = None

    def close(self) -> None:
        """End the process, if this one started it."""
        if self._process is not None and self._owner == os.getpid():
            self._stop(self._process)


READER = Reader()
atexit.register(READER.close)


def _start() -> subprocess.Popen[bytes]:
    own = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", BOOT, json.dumps([own, *sys.path])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, start_new_session=True,
    )  # fmt: skip


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and its forks."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _answer(pipe: BinaryIO) -> tuple[dict[str, Any], list[Any]]:
    """(header, arrays). Raises EOFError where it ends too soon."""
    line = pipe.readline(HEADER)
    if not line.endswith(b"\n"):
        raise EOFError
    header: dict[str, Any] = json.loads(line)
    arrays: list[Any] = []
    for variable in header.get("variables", {}).values():
        data = bytearray(int(variable["bytes"]))
        rest = memoryview(data)
        while rest:
            count = pipe.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                raise EOFError
            rest = rest[count:]
        arrays.append(_array(variable, data))
    return header, arrays


def _array(variable: dict[str, Any], data: bytearray) -> np.ndarray:
    if variable["dtype"] == "text":
        found = np.empty(int(np.prod(variable["shape"], dtype=int)), object)
        found[:] = json.loads(data)
        return found.reshape(variable["shape"])
    return np.frombuffer(data, variable["dtype"]).reshape(variable["shape"])


def _dataset(header: dict[str, Any], arrays: list[Any]) -> xarray.Dataset:
    """What xarray makes of such a file itself, without times and masks."""
    import xarray

    found = {
        name: xarray.Variable(one["dims"], array, _attributes(one["attributes"]))
        for (name, one), array in zip(header["variables"].items(), arrays, strict=True)
    }
    raw = xarray.Dataset(found, attrs=_attributes(header["attributes"]))
    return xarray.decode_cf(raw, decode_times=False, mask_and_scale=False)


def _attributes(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        key: np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).reshape(value["shape"])[()]
        if isinstance(value, dict)
        else value
        for key, value in plain.items()
    }


def _ended(status: int | None, seconds: float) -> str:
    """How the process ended, in words."""
    if status == getattr(signal, "SIGXCPU", None):
        return f"it is damaged: reading it takes more than {seconds:.0f} s"
    return "it is damaged: reading it takes too much memory, or crashes HDF5"


def _unreadable(path: Path, reason: str) -> TrajectoryError:
    return TrajectoryError(f"{str(path)!r} is not a readable NetCDF-4 file: {reason.splitlines()[0]:.500}")


# Writing whole files, and reading trajectories ------------------------------------------------------------------------

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
    return write_with(lambda temporary: _fill(_hashed(dataset) if hashed else dataset, temporary), path)


def write_bytes(content: bytes, path: Path) -> Path:
    """Write what `encode` gave, in the same way."""
    return write_with(lambda temporary: Path(temporary).write_bytes(content), path)


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


def write_with(fill: Callable[[str], Any], path: Path) -> Path:
    """Let `fill` write a temporary file beside `path`, and rename it over that. Returns the path. Raises OSError, and what
    `fill` raises; then nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
        what = f"{str(path)!r} differs from its checksum: it was changed, or is damaged"
        if unchanged:
            raise TrajectoryError(what)
        warn(what)
    return dataset


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
