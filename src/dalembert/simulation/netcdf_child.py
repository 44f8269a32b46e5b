"""The process that reads NetCDF-4 files, so that a damaged file can neither block nor crash the main process.

HDF5 may loop or crash on a damaged file, and cannot be interrupted. Here it has limits of time and memory, and the
contents of a file are limited before they are read: no links out of the file, no data elsewhere, no filters but those
of every build of HDF5, and no more numbers than its size allows. `netcdf` is the other end of the pipes.

Orders are lines of JSON. An answer is a line of JSON, {"error": ...} or what the file holds, and then the bytes of the
arrays one after the other: numbers and fixed strings as they are in memory, others as JSON.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any, BinaryIO

import h5netcdf
import h5py
import numpy as np

from .trajectory import MAX_TEXT, MAX_VALUES

try:
    import resource
except ImportError:  # on Windows, where the other process watches the clock
    resource = None  # type: ignore[assignment]


MOST_OBJECTS = 10_000  # in the root group
MOST_ATTRIBUTES = 1000  # of one object
MOST_DEFLATED = 1032  # numbers that Deflate can make of one
SMALL = 1_000_000  # bytes that any file may hold
MOST_BYTES = 4 * 8 * MAX_VALUES  # of all arrays together
ROOM = 1 << 30  # bytes of memory beside twice what the file holds
FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
TYPES = (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.STRING, h5py.h5t.ENUM)
IDLE = 20.0  # s without an order, after which the process ends


class Refused(Exception):
    """What a file may not have."""


def main() -> None:
    """Answer orders until there are none, each in a fork of this process, so that no file can harm what the next finds."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in _lines():
        fork = os.fork() if hasattr(os, "fork") else 0
        if fork == 0:
            _answer(json.loads(line), answers)
            if hasattr(os, "fork"):
                os._exit(0)
        else:
            status = os.waitpid(fork, 0)[1]
            if status != 0:  # the answer is not whole
                os._exit(os.WTERMSIG(status) or 1)


def _answer(order: dict[str, Any], answers: BinaryIO) -> None:
    try:
        _limit_time(order["seconds"])
        _limit_memory(ROOM)
        header, arrays = read(order["path"])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the file cannot be read
        header, arrays = {"error": str(error) or type(error).__name__}, []
    answers.write(json.dumps(header).encode() + b"\n")
    for array in arrays:
        answers.write(array)
    answers.flush()


def _lines() -> Any:
    """Orders, while they come soon enough."""
    try:
        import select

        ready = select.select
        while ready([sys.stdin], [], [], IDLE)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            yield line
    except OSError:  # where pipes cannot be waited for
        yield from sys.stdin


def _limit_time(seconds: float) -> None:
    """So much time of the processor from now on."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime + seconds) + 1
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until if most == resource.RLIM_INFINITY else min(until, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_memory(memory: int) -> None:
    """So many bytes beside what is in use."""
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    now = _in_use()
    if now and most == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, most))


def _in_use() -> int:
    """Bytes of address space; 0 where it is not known."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def read(path: str) -> tuple[dict[str, Any], list[Any]]:
    """What a file holds: (header, the bytes of its arrays). Raises Refused, and whatever HDF5 raises."""
    with h5py.File(path, "r") as file:
        total = inspect(file, os.path.getsize(path))
        _limit_memory(ROOM + 2 * total)
        with h5netcdf.File(file, "r", decode_vlen_strings=True, phony_dims="sort") as found:
            header: dict[str, Any] = {"attributes": _attributes(found), "variables": {}}
            arrays = []
            for name, variable in found.variables.items():
                values = np.asarray(variable[...], order="C")
                plain = values.dtype.kind in "fiubS"
                data = values.reshape(-1).view(np.uint8).data if plain else _texts(name, values)
                header["variables"][name] = {
                    "dims": list(variable.dimensions), "shape": list(values.shape), "bytes": len(data),
                    "dtype": values.dtype.str if plain else "text", "attributes": _attributes(variable),
                }  # fmt: skip
                arrays.append(data)
        return header, arrays


def inspect(file: h5py.File, size: int) -> int:
    """Look at all that is in the root group, as NetCDF reads no other; returns the bytes of its arrays. Raises Refused."""
    total = 0
    if len(file) > MOST_OBJECTS:
        raise Refused(f"it has {len(file)} objects, at most {MOST_OBJECTS}")
    _inspect_attributes("the file", file, size)
    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise Refused(f"{name!r} is an external link, which trajectories do not contain")
        item = file[name]
        _inspect_attributes(repr(name), item, size)
        if isinstance(item, h5py.Dataset):
            total += _inspect_dataset(name, item)
            if total > min(MOST_DEFLATED * size + SMALL, MOST_BYTES):
                raise Refused(f"its arrays claim to have more than {total} bytes, and the file has {size}")
    return total


def _inspect_dataset(name: str, item: h5py.Dataset) -> int:
    """The bytes that an array holds. Raises Refused."""
    made = item.id.get_create_plist()
    if made.get_external_count() > 0:
        raise Refused(f"variable {name!r} is in another file; trajectories are a single file")
    if made.get_layout() == h5py.h5d.VIRTUAL:
        raise Refused(f"variable {name!r} consists of parts of other files; trajectories are a single file")
    codes = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    if any(code not in FILTERS for code in codes) or len(codes) > len(FILTERS):
        raise Refused(f"variable {name!r} uses filters ({codes}) that trajectories do not use")
    kind = item.id.get_type()
    if kind.get_class() not in TYPES:
        raise Refused(f"variable {name!r} holds {item.dtype}, expected numbers or text")
    space = item.id.get_space()
    count = space.get_simple_extent_npoints() if space.get_simple_extent_type() != h5py.h5s.NULL else 0
    if count > MAX_VALUES:
        raise Refused(f"variable {name!r} has {count} values, at most {MAX_VALUES}")
    chunk = item.chunks
    if chunk is not None and np.prod(chunk, dtype=float) > MAX_VALUES:
        raise Refused(f"variable {name!r} has chunks of {chunk} values, at most {MAX_VALUES}")
    return int(count) * kind.get_size()


def _inspect_attributes(what: str, item: Any, size: int) -> None:
    count = h5py.h5a.get_num_attrs(item.id)
    if count > MOST_ATTRIBUTES:
        raise Refused(f"{what} has {count} attributes, at most {MOST_ATTRIBUTES}")
    for k in range(count):
        one = h5py.h5a.open(item.id, index=k)
        space = one.get_space()
        points = space.get_simple_extent_npoints() if space.get_simple_extent_type() != h5py.h5s.NULL else 0
        if points * one.get_type().get_size() > size:
            raise Refused(f"attribute {one.name!r} of {what} claims to be larger than the file")


def _attributes(item: Any) -> dict[str, Any]:
    found = {}
    for key, value in item.attrs.items():
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise Refused(f"attribute {key!r} is longer than {MAX_TEXT} characters")
        found[key] = _plain(key, value)
    return found


def _plain(key: str, value: Any) -> Any:
    """An attribute as JSON; numbers and arrays of them with their type."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "fiub":
        return {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "data": base64.b64encode(array.tobytes()).decode(),
        }
    if array.dtype.kind in "OUS":
        return [_plain(key, text) for text in array.ravel().tolist() if isinstance(text, str | bytes)]
    raise Refused(f"attribute {key!r} holds {array.dtype}, expected numbers or text")


def _texts(name: str, values: np.ndarray) -> bytes:
    texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in values.ravel().tolist()]
    if not all(isinstance(text, str) for text in texts):
        raise Refused(f"variable {name!r} holds {values.dtype}, expected numbers or text")
    return json.dumps(texts).encode()
