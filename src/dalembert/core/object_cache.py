"""Machine code of kernels on disk: object files, which LLVM loads without Numba.

A file has a header line, the SHA-256 of the rest, and the rest: a line of JSON (`ObjectFile`) and the object. It is
read only from folders that no other user can write to (`cache_folders`), and parsed only after the checksum has been
verified, so a damaged file only costs time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from . import cache_folders, compile_progress, interrupt

MAGIC = b"dalembert object 2\n"


class ObjectFile(NamedTuple):
    """An object file, and what it was made of."""

    code: bytes
    functions: int  # compiled by Numba for it
    intermediate: int  # bytes of LLVM's bitcode before it was optimised
    seconds: float  # of processor time


class Busy(Exception):
    """Another process is compiling this kernel."""


patient = True  # wait for a kernel that another process is compiling; else `Busy` is raised
SILENT, POLL = 1.0, 0.05  # s: a shorter wait is not reported; how often a lock is tried


class CachedObject:
    """The object file of one C function on disk, in a folder of a name that says what it is made of.

    kernel : what it is called while it is compiled.
    """

    def __init__(self, folder: str, name: str, kernel: str) -> None:
        self._folder, self._stem, self._kernel = folder, name, kernel

    @property
    def _name(self) -> str:
        return f"{self._stem}-{host()}.object"

    def path(self) -> Path | None:
        """The file for this machine; None where there is none."""
        return next(cache_folders.find(self._folder, self._name), None)

    def exists(self) -> bool:
        """Whether there is one."""
        return self.path() is not None

    def read(self) -> ObjectFile | None:
        """The object file; None where there is none that can be used."""
        damaged = None
        for path in cache_folders.find(self._folder, self._name):
            found = _unpacked(path)
            if found is not None:
                cache_folders.use(path)
                return found
            damaged = path
        if damaged is not None:
            cache_folders.say(f"{damaged} is damaged; its kernel is recompiled")
        return None

    def read_or_make(self, make: Callable[[], ObjectFile]) -> ObjectFile:
        """The object file on disk, or a new one. Raises `Busy` where another process makes it and this one does not wait for
        it (`patient`)."""
        found = self.read()
        if found is not None:
            return found
        with interrupt.compiling(), alone(self._folder, self._stem, self._kernel):
            found = self.read()
            if found is None:
                with compile_progress.compiling(self._kernel):
                    found = make()
                    cache_folders.write(self._folder, self._name, _packed(found))
        return found


@contextlib.contextmanager
def alone(folder: str, name: str, kernel: str, wait: bool = False) -> Iterator[None]:
    """While no other process compiles this kernel: raises `Busy` unless `patient` or `wait`, or waits, and says so after a
    second."""
    start, lock, waiting = time.monotonic(), None, True
    try:
        while waiting:
            try:
                lock, waiting = cache_folders.lock(folder, name), False
            except BlockingIOError as error:
                if not (patient or wait):
                    raise Busy from error
                if time.monotonic() - start > SILENT:
                    compile_progress.wait(kernel, cache_folders.locked_by(folder, name))
                time.sleep(POLL)
                interrupt.poll_compilation()
        compile_progress.leave(kernel)
        yield
    finally:
        compile_progress.leave(kernel)
        if lock is not None:
            lock.close()


def _packed(made: ObjectFile) -> bytes:
    rest = json.dumps(made[1:]).encode() + b"\n" + made.code
    return cache_folders.sealed(MAGIC, rest)


def _unpacked(path: Path) -> ObjectFile | None:
    """What `_packed` made of a file; None unless its checksum fits."""
    rest = cache_folders.unsealed(MAGIC, path)
    if rest is None:
        return None
    line, _, code = rest.partition(b"\n")
    return ObjectFile(code, *json.loads(line))


@functools.cache
def host() -> str:
    """What machine code depends on beside its source: the processor, and the versions that compile. 8 digits."""
    found = importlib.util.find_spec("numba")
    version = b"" if found is None or found.origin is None else Path(found.origin).with_name("_version.py").read_bytes()
    machine = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    machine += [os.environ.get(name) for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]  # compile for another one
    return hashlib.sha256(version + repr((machine, llvm.llvm_version_info)).encode()).hexdigest()[:8]


# In memory --------------------------------------------------------------------------------------------------------------


@functools.cache
def _engine() -> Any:
    """The execution engine that owns loaded objects."""
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
    address = int(engine.get_function_address(symbol))
    if address == 0:
        raise ValueError(f"an object file has no {symbol}")
    return address
