"""The shared library of compiled kernels in a wheel, so that an installation compiles nothing.

`cli.build_library` makes the folder `library` of the package: one library for each kind of processor (`BASELINES`), and
the record `kernels.json`, which describes their sources. The best library for this processor is loaded when a kernel is
first needed. It is used only if it is complete and was built from the kernel sources of this package. Otherwise one
line on stderr gives the reason, and kernels are compiled for this machine. A source checkout has no library.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cache_folders import say

FORMAT = 1  # of the record, and of how a library is called
ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "library"
RECORD = "kernels.json"
IDENTITY = "dalembert_kernels"
"""The symbol of a text in each library that says what it is: `identity` of its record."""
COMPILED = "compiled for this machine"


@dataclass(frozen=True)
class Baseline:
    """A kind of processor: its name, also LLVM's, and the flags that Linux gives for all that code for it may use."""

    name: str
    flags: frozenset[str]


_V2 = frozenset(["cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"])
_V3 = frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"])
BASELINES = {
    "x86_64": (Baseline("x86-64-v3", _V2 | _V3), Baseline("x86-64-v2", _V2)),
    "aarch64": (Baseline("generic", frozenset()),),  # ARMv8-A
    "arm64": (Baseline("generic", frozenset()),),  # the same, as macOS calls it
}
"""For each machine, the processors that libraries are built for, the best first (levels of the System V ABI for x86-64)."""


class Unusable(Exception):
    """A library that cannot be used, and why."""


@functools.cache
def address(symbol: str) -> int | None:
    """The address of a C function in the library; None where there is none that can be used."""
    library = _library()
    if library is None:
        return None
    try:
        return ctypes.cast(getattr(library.code, symbol), ctypes.c_void_p).value
    except AttributeError:
        say(f"the library of compiled kernels has no {symbol}; it is {COMPILED}")
        library.missing.append(symbol)
        return None


def description() -> str:
    """The origin of the machine code: the library, with its baseline and the hash of its sources, or this machine."""
    library = _library()
    if library is None:
        return COMPILED
    missing = f"; {', '.join(library.missing)} {COMPILED}" if library.missing else ""
    return f"shipped library {library.baseline}, {library.sources}{missing}"


# Loading ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Library:
    code: ctypes.CDLL
    baseline: str
    sources: str
    missing: list[str]  # symbols that it should have


@functools.cache
def _library() -> _Library | None:
    """The library, loaded at the first call; None where there is none that can be used."""
    if not FOLDER.is_dir():
        return None
    try:
        return _load(FOLDER)
    except Unusable as found:
        reason = str(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        reason = f"{FOLDER / RECORD} is damaged"
    say(f"the library of compiled kernels is not used: {reason}. Kernels are {COMPILED}.")
    return None


def _load(folder: Path) -> _Library:
    """The best library for this processor. Raises Unusable."""
    record = read_record(folder)
    if source_hash(record["files"]) != record["sources"]:
        raise Unusable(f"it was built from other sources, those of version {record['dalembert']}")
    baseline = _best(record)
    path = read_library(folder, record, baseline)
    try:
        code = ctypes.CDLL(str(path))
        found = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(code, IDENTITY)))
    except (OSError, ValueError) as error:
        raise Unusable(str(error)) from error
    if found.decode("utf-8", "replace") != identity(record, baseline):
        raise Unusable(f"{path} does not match its record")
    return _Library(code, baseline, record["sources"], [])


def read_record(folder: Path) -> dict[str, Any]:
    """What `build_library` wrote about the libraries of a folder. Raises Unusable, ValueError, KeyError or TypeError."""
    path = folder / RECORD
    try:
        record = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror})") from error
    known = record["format"], record["system"], record["machine"]
    if known != (FORMAT, sys.platform, machine()):
        raise Unusable(
            f"it was built for {known[1]} {known[2]} (format {known[0]}), not for {sys.platform} {machine()}"
        )
    return dict(record)


def read_library(folder: Path, record: dict[str, Any], baseline: str) -> Path:
    """The file of a library, whose checksum has been verified before the system loads it. Raises Unusable."""
    path = folder / file_name(baseline)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != record["libraries"][baseline]:
        raise Unusable(f"{path} is damaged")
    return path


def _best(record: dict[str, Any]) -> str:
    """The best baseline there is a library for. Raises Unusable."""
    flags = cpu_flags()
    there = [baseline for baseline in BASELINES[machine()] if baseline.name in record["libraries"]]
    for baseline in there:
        if baseline.flags <= flags:
            return baseline.name
    if not there:
        raise Unusable("it has no code for this machine")
    raise Unusable(f"this processor lacks {', '.join(sorted(there[-1].flags - flags))}, which {there[-1].name} has")


def cpu_flags() -> frozenset[str]:
    """What this processor can do, in Linux's words; nothing where Linux is not the system."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


# What builder and loader have in common ---------------------------------------------------------------------------------


def machine() -> str:
    return os.uname().machine if hasattr(os, "uname") else ""


def file_name(baseline: str) -> str:
    return f"kernels-{baseline}.so"


def source_hash(files: Iterable[str]) -> str:
    """Hexadecimal digest (16 digits) of files of this package, by their paths in it; empty if one is missing."""
    digest = hashlib.sha256()
    try:
        for name in files:
            digest.update(f"{name}\n".encode() + hashlib.sha256((ROOT / name).read_bytes()).digest())
    except OSError:
        return ""
    return digest.hexdigest()[:16]


def identity(record: dict[str, Any], baseline: str) -> str:
    """The text that a library has under the symbol IDENTITY."""
    words = ("dalembert", "sources", "numba", "llvm")
    return " ".join([f"format {record['format']}", baseline, *(f"{word} {record[word]}" for word in words)])
