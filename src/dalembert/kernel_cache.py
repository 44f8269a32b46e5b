"""Compiled kernels on disk: one file a kernel, with a checksum, loaded by the process that needs it or made anew.

A file is a line that says what it is, the SHA-256 of the rest, and the rest: what Numba needs to rebuild a kernel, pickled,
with the key that says of what it was compiled. It is read only from folders that nobody else can write to (`cache_folders`),
and not a byte of it is looked at before the checksum fits, so that a damaged file costs time and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, compiler, registry, serialize
from numba.core.compiler_lock import global_compiler_lock

from . import cache_folders, compile_progress

MAGIC = b"dalembert kernel 1\n"
DIGEST = hashlib.sha256().digest_size


class Busy(Exception):
    """Another process is compiling this kernel."""


patient = True  # wait for a kernel that another process is compiling; else `Busy` is raised
SILENT, POLL = 1.0, 0.05  # s: a shorter wait is not told of; how often a lock is tried


class KernelCache(caching._Cache):
    """The kernels of one function on disk, as Numba's dispatchers ask for them.

    What one process compiles, others wait for: a lock on a file beside the kernel, let go when that is written.
    folder : the name of their folder, which says what they are made of. name : what it is called while it is compiled.
    content : a digest that says all about the function, in place of its bytecode and what it closes over.
    worth : asked after compiling, whether it is to be kept.
    """

    def __init__(
        self, function: Callable[..., Any], folder: str, *, name: str = "", content: str = "",
        worth: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        self._function, self._folder, self._content, self._worth = function, folder, content, worth
        code = function.__code__
        self.name = name or f"{function.__module__.removeprefix('dalembert.')}.{function.__name__}"
        self._stem = f"{function.__qualname__.replace('<', '').replace('>', '')}-{code.co_firstlineno}"
        if content:
            self._stem = content[:32]
        self._lock: Any = None
        self._compiling = False

    @property
    def cache_path(self) -> str:
        """The folder that is asked for first."""
        return str(Path(cache_folders.asked_for() or "", self._folder))

    @property
    def place(self) -> Path | None:
        """The file with machine code for this computer; None where there is none."""
        return next(cache_folders.found(self._folder, f"{self._stem}-{_host()}-*.kernel"), None)

    @property
    def kept(self) -> bool:
        """Whether there is machine code for this computer on disk."""
        return self.place is not None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel of a signature; None where it is to be compiled."""
        target_context.refresh()
        found = self._load(sig, target_context)
        if found is not None:
            return found
        self._take()
        found = self._load(sig, target_context)
        if found is None:
            self._compiling = True
            compile_progress.begin(self.name)
            threading.Thread(target=self._watch, name="lock of a kernel", daemon=True).start()
        else:
            self.let_go()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if there is somewhere to keep it."""
        if not data.lifted and not data.library.has_dynamic_globals and self._worth():
            rest = serialize.dumps((self._key(sig), data._reduce()))
            cache_folders.write(self._folder, self._name(sig), MAGIC + hashlib.sha256(rest).digest() + rest)
        compile_progress.end(self.name)
        self.let_go()

    def enable(self) -> None:
        """Always on."""

    disable = flush = enable

    def _key(self, sig: Any) -> tuple[str, ...]:
        if self._content:
            return repr(sig), self._content
        cells = self._function.__closure__
        closed = b"" if cells is None else serialize.dumps(tuple(cell.cell_contents for cell in cells))
        return repr(sig), hashlib.sha256(self._function.__code__.co_code + closed).hexdigest()

    def _name(self, sig: Any) -> str:
        key = hashlib.sha256(repr(self._key(sig)).encode()).hexdigest()
        return f"{self._stem}-{_host()}-{key[:16]}.kernel"

    def _load(self, sig: Any, target_context: Any) -> Any:
        damaged = None
        for path in cache_folders.found(self._folder, self._name(sig)):
            rest = _checked(path)
            try:
                key, payload = ((), ()) if rest is None else pickle.loads(rest)
                if key == self._key(sig):
                    kernel = compiler.CompileResult._rebuild(target_context, *payload)
                    cache_folders.use(path)
                    return kernel
            except Exception:  # noqa: BLE001 - whatever it is that cannot be rebuilt, it can be compiled
                rest = None
            damaged = path if rest is None else damaged
        if damaged is not None:
            cache_folders.say(f"{damaged} is damaged; its kernel is compiled anew")
        return None

    def _take(self) -> None:
        """Lock this kernel. While another process has it: raises Busy, or waits, and says so after a second."""
        self.let_go()
        start = time.monotonic()
        while True:
            try:
                self._lock = cache_folders.lock(self._folder, self._stem)
                return
            except BlockingIOError as error:
                if not patient:
                    raise Busy from error
            if time.monotonic() - start > SILENT:
                compile_progress.wait(self.name, cache_folders.locked_by(self._folder, self._stem))
            time.sleep(POLL)

    def _watch(self) -> None:
        """Let others have this kernel when compiling it ended with an exception, of which Numba tells nobody."""
        compiling = getattr(global_compiler_lock, "_lock", None)
        while self._compiling and compiling is not None:
            time.sleep(POLL)
            if compiling.acquire(blocking=False):
                compiling.release()
                self.let_go()

    def let_go(self) -> None:
        """Let others have this kernel, compiled or not."""
        held, self._lock, self._compiling = self._lock, None, False
        if held is not None:
            held.close()
        compile_progress.leave(self.name)


def _checked(path: Path) -> bytes | None:
    """What follows the checksum of a file; None unless it fits."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST
    rest = data[start:]
    whole = data[:start] == MAGIC + hashlib.sha256(rest).digest()
    return rest if whole else None


@functools.cache
def _host() -> str:
    """What machine code depends on beside its source: the processor, and the versions that compile. 8 digits."""
    machine = registry.cpu_target.target_context.codegen().magic_tuple()
    return hashlib.sha256(repr((machine, numba.__version__, sys.version_info[:2])).encode()).hexdigest()[:8]
