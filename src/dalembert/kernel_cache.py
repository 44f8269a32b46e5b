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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, compiler, registry, serialize

from . import cache_folders, objects

MAGIC = b"dalembert kernel 1\n"
DIGEST = hashlib.sha256().digest_size


class KernelCache(caching._Cache):
    """The kernels of one function on disk, as Numba's dispatchers ask for them.

    What one process compiles, others wait for: a lock on a file beside the kernel, let go when that is written.
    folder : the name of their folder, which says what they are made of.
    """

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._function, self._folder = function, folder
        code = function.__code__
        self._stem = f"{function.__qualname__.replace('<', '').replace('>', '')}-{code.co_firstlineno}"
        self._lock: Any = None

    @property
    def cache_path(self) -> str:
        """The folder that is asked for first."""
        return str(Path(cache_folders.asked_for() or "", self._folder))

    @property
    def kept(self) -> bool:
        """Whether there is machine code for this computer on disk."""
        return any(cache_folders.found(self._folder, f"{self._stem}-{_host()}-*.kernel"))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel of a signature; None where it is to be compiled."""
        target_context.refresh()
        found = self._load(sig, target_context)
        if found is not None:
            return found
        self._take()
        found = self._load(sig, target_context)
        if found is None:
            objects.announce_compilation()
        else:
            self._let_go()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if there is somewhere to keep it."""
        if not data.lifted and not data.library.has_dynamic_globals:
            rest = serialize.dumps((self._key(sig), data._reduce()))
            cache_folders.write(self._folder, self._name(sig), MAGIC + hashlib.sha256(rest).digest() + rest)
        self._let_go()

    def enable(self) -> None:
        """Always on."""

    disable = flush = enable

    def _key(self, sig: Any) -> tuple[str, ...]:
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
        self._let_go()
        try:
            self._lock = cache_folders.lock(self._folder, self._stem, objects.patient)
        except BlockingIOError as error:
            raise objects.Busy from error

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


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
