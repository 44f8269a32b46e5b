"""The origin of a run: the data needed to repeat it, and hashes that show whether the bits are the same.

It is plain data, stored with a trajectory as JSON, and never executed; see `replay`.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")


class NotPlain(TypeError):
    """A value that JSON cannot hold."""


def plain(value: Any) -> Any:
    """The value as data for JSON, numbers to the last bit. Raises NotPlain for what is none: functions, NaN, objects."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    raise NotPlain(f"{value!r:.80} is not plain data")


def plain_items(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(what is plain data, a description of each item that is none)."""
    kept, described = {}, {}
    for key, value in values.items():
        try:
            kept[key] = plain(value)
        except NotPlain:
            described[key] = describe(value)
    return kept, described


def describe(value: Any) -> Any:
    """Plain data as it is; else a text that stays the same from one process to the next: a function by its source."""
    try:
        return plain(value)
    except NotPlain:
        pass
    if isinstance(value, functools.partial):
        return [describe(value.func), [describe(item) for item in value.args], describe(value.keywords)]
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__} sha256:{function_hash(value)[:16]}"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def function_hash(function: Callable[..., Any]) -> str:
    """sha256 of a function's source, or of its bytecode where there is no source. What it calls and reads is not in it."""
    try:
        return digest(inspect.getsource(function).encode())
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return digest(code.co_code if code is not None else repr(function).encode())


def digest(*parts: bytes) -> str:
    """sha256, hexadecimal."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def processor() -> str:
    """The name of this processor, or its kind where the system tells no name."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


@functools.cache
def versions() -> dict[str, str]:
    """What computed: versions, a hash of this package's sources, the platform and processor, and which code kernels were:
    that of the library that comes with the package, code compiled for this machine, or plain Python."""
    import platform
    from importlib import metadata

    from .. import __version__
    from ..core import shipped
    from ..core.jit import DISABLED

    folder = Path(__file__).parents[1]
    sources = digest(*(file.read_bytes() for file in sorted(folder.rglob("*.py"))))
    return {
        "dalembert": __version__,
        "sources": sources[:16],
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "kernels": "plain Python" if DISABLED else shipped.description(),
    }


def frames_hash(times: Iterable[float], states: Iterable[np.ndarray]) -> str:
    """sha256 of the times and the states of frames, as little-endian 64-bit floats, frame by frame."""
    found = hashlib.sha256()
    for time, state in zip(times, states, strict=True):
        found.update(np.asarray(time, "<f8").tobytes())
        found.update(np.ascontiguousarray(state, "<f8").tobytes())
    return found.hexdigest()


def provenance(simulation: Any) -> dict[str, Any]:
    """What is kept of where a `Simulation` comes from and of how it was run, as plain data."""
    settings, others = plain_items(simulation.arguments)
    times, states = simulation.recorder.frames["time"], simulation.recorder.frames["state"]
    origin = simulation.model.scene.origin
    return {
        "origin": origin,
        "seed": None if origin is None else origin["parameters"].get("seed"),
        "settings": settings,
        "settings_not_kept": others,
        "advances": list(simulation.advances),
        "resumed": simulation.resumed,
        "by_hand": list(simulation.by_hand),
        "versions": versions(),
        "final_state_hash": frames_hash(times[-1:], states[-1:]),
        "frames_hash": frames_hash(times, states),
    }
