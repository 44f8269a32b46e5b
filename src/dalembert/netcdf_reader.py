"""NetCDF-4 files as datasets, read in a process of their own (`netcdf_child`) within limits of time and memory."""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .trajectory_format import MAX_TEXT, TrajectoryError

if TYPE_CHECKING:
    import xarray

SECONDS = 5.0  # of processor time for any file, and
BYTES_A_SECOND = 20e6  # of the file beside
WAIT = 12.0  # times as long by the clock, as the computer may have other things to do
HEADER = 4 * MAX_TEXT  # bytes
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from dalembert.netcdf_child import main; main()"


class Reader:
    """A process that reads files, started when it is needed; a new one after each file that brings it down."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started it: a fork must not share its pipes
        self._lock = threading.Lock()

    def read(self, path: Path) -> xarray.Dataset:
        """The dataset of a file. Raises TrajectoryError where it is damaged, has what it must not, or takes too long."""
        seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND
        with self._lock:
            process = self._ask({"path": str(path.absolute()), "seconds": seconds})
            late = threading.Event()

            def stop() -> None:
                late.set()
                _kill(process)

            clock = threading.Timer(WAIT * seconds, stop)
            clock.daemon = True
            clock.start()
            try:
                header, arrays = _answer(process.stdout)  # type: ignore[arg-type]
            except BaseException as error:
                self._stop(process)
                if late.is_set():
                    raise _unreadable(path, f"reading it takes more than {WAIT * seconds:.0f} s") from None
                if isinstance(error, EOFError):
                    raise _unreadable(path, _ended(process.returncode, seconds)) from None
                raise
            finally:
                clock.cancel()
            if "error" in header:
                if not hasattr(os, "fork"):  # the process has read it itself, and HDF5 may have been harmed
                    self._stop(process)
                raise _unreadable(path, str(header["error"]))
        try:
            return _dataset(header, arrays)
        except Exception as error:  # xarray raises many kinds
            raise _unreadable(path, str(error) or type(error).__name__) from error

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
    own = str(Path(__file__).parents[1])
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
    return "it is damaged: reading it takes too much memory, or brings down HDF5"


def _unreadable(path: Path, reason: str) -> TrajectoryError:
    return TrajectoryError(f"{str(path)!r} is not a readable NetCDF-4 file: {reason.splitlines()[0]:.500}")
