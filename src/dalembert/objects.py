"""Machine code of kernels: object files, kept on disk with a checksum, and loaded by LLVM. Numba makes them, and is not
needed to load them.

A file is a line that says what it is, the SHA-256 of the rest, and the rest: a line of JSON (`Made`) and the object. It is read only from folders that nobody else
can write to (`cache_folders`), and not a byte of it is looked at before the checksum fits, so that a damaged file costs time
and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from . import cache_folders

MAGIC = b"dalembert object 2\n"
DIGEST = hashlib.sha256().digest_size


class Made(NamedTuple):
    """An object file, and what it was made of."""

    code: bytes
    functions: int  # compiled by Numba for it
    intermediate: int  # bytes of LLVM's bitcode before it was optimised
    seconds: float  # of processor time


class Busy(Exception):
    """Another process is compiling this kernel."""


patient = True  # wait for a kernel that another process is compiling; else `Busy` is raised


class Kept:
    """The object file of one C function on disk, in a folder of a name that says what it is made of."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._stem = folder, name

    @property
    def _name(self) -> str:
        return f"{self._stem}-{host()}.object"

    def there(self) -> bool:
        """Whether it is, for this machine."""
        return any(cache_folders.found(self._folder, self._name))

    def read(self) -> Made | None:
        """What is there; None where there is nothing that can be used."""
        damaged = None
        for path in cache_folders.found(self._folder, self._name):
            found = _unpacked(path)
            if found is not None:
                cache_folders.use(path)
                return found
            damaged = path
        if damaged is not None:
            cache_folders.say(f"{damaged} is damaged; its kernel is compiled anew")
        return None

    def read_or_make(self, make: Callable[[], Made]) -> Made:
        """What is there, or is made, this process if by no other. Raises `Busy` where another is at it and this one
        does not wait for it (`patient`)."""
        found = self.read()
        if found is not None:
            return found
        try:
            lock = cache_folders.lock(self._folder, self._stem, patient)
        except BlockingIOError as error:
            raise Busy from error
        try:
            found = self.read()
            if found is None:
                announce_compilation()
                found = make()
                cache_folders.write(self._folder, self._name, _packed(found))
        finally:
            if lock is not None:
                lock.close()
        return found


def _packed(made: Made) -> bytes:
    rest = json.dumps(made[1:]).encode() + b"\n" + made.code
    return MAGIC + hashlib.sha256(rest).digest() + rest


def _unpacked(path: Path) -> Made | None:
    """What `_packed` made of a file; None unless its checksum fits."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST
    rest = data[start:]
    if data[:start] != MAGIC + hashlib.sha256(rest).digest():
        return None
    line, _, code = rest.partition(b"\n")
    return Made(code, *json.loads(line))


@functools.cache
def host() -> str:
    """What machine code depends on beside its source: the processor, and the versions that compile. 8 digits."""
    found = importlib.util.find_spec("numba")
    version = b"" if found is None or found.origin is None else Path(found.origin).with_name("_version.py").read_bytes()
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return hashlib.sha256(version + repr((machine, llvm.llvm_version_info)).encode()).hexdigest()[:8]


@functools.cache
def announce_compilation() -> None:
    """Say once a process, on stderr, that kernels are being compiled."""
    print("compiling kernels (first run only) ...", file=sys.stderr, flush=True)


# In memory --------------------------------------------------------------------------------------------------------------


@functools.cache
def _engine() -> Any:
    """What keeps loaded objects."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(codemodel="jitdefault", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


_loaded: list[Any] = []


def load(code: bytes, symbol: str) -> int:
    """The address of a C function in an object, which stays in memory."""
    engine = _engine()
    found = llvm.object_file.ObjectFileRef.from_data(code)
    engine.add_object_file(found)
    engine.finalize_object()
    _loaded.append(found)
    return int(engine.get_function_address(symbol))
