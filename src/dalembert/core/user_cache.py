"""Compiled user functions on disk: one file for each function, with a checksum.

A file has a header line, the SHA-256 of the rest, and the rest: the pickled data from which Numba rebuilds the
function, with the digest of its content (`user_function.content_of`). It is read only from folders that no other user
can write to (`cache_folders`), and parsed only after the checksum has been verified, so a damaged file only costs time.
This is the only module of the cache that imports Numba.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import caching, compiler, serialize

from . import cache_folders, compile_progress, object_cache

MAGIC = b"dalembert kernel 2\n"


class KernelCache(caching._Cache):
    """One function on disk, as Numba asks for it.

    folder : the name of its folder, which says what compiled it. content : its digest. name : what it is called while it is
    compiled. worth : called after that: whether to write it to disk.
    """

    def __init__(self, folder: str, content: str, name: str, worth: Callable[[], bool]) -> None:
        self._folder, self._content, self._name, self._worth = folder, content, name, worth
        self._file = f"{content[:32]}-{object_cache.host()}.kernel"

    def exists(self) -> bool:
        """Whether there is a file of it for this machine."""
        return any(cache_folders.find(self._folder, self._file))

    @property
    def cache_path(self) -> str:
        """The preferred folder."""
        return str(Path(cache_folders.preferred() or "", self._folder))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function; None where it is to be compiled."""
        target_context.refresh()
        damaged = None
        for path in cache_folders.find(self._folder, self._file):
            rest = cache_folders.unsealed(MAGIC, path)
            try:
                key, payload = ((), ()) if rest is None else pickle.loads(rest)
                if key == (repr(sig), self._content):
                    kernel = compiler.CompileResult._rebuild(target_context, *payload)
                    cache_folders.use(path)
                    return kernel
            except Exception:  # noqa: BLE001 - whatever it is that cannot be rebuilt, it can be compiled
                rest = None
            damaged = path if rest is None else damaged
        if damaged is not None:
            cache_folders.say(f"{damaged} is damaged; its function is recompiled")
        compile_progress.begin(self._name)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write what was compiled to disk, if it may be, and there is a folder for it."""
        if not data.lifted and not data.library.has_dynamic_globals and self._worth():
            try:
                rest = serialize.dumps(((repr(sig), self._content), data._reduce()))
            except Exception:  # noqa: BLE001 - what cannot be pickled is not written
                rest = b""
            if rest:
                cache_folders.write(self._folder, self._file, cache_folders.sealed(MAGIC, rest))
        compile_progress.end(self._name)

    def enable(self) -> None:
        """Always on."""

    disable = flush = enable
