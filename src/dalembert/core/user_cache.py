"""Compiled functions of the user on disk: one file a function, with a checksum, loaded by the process that needs it.

A file is a line that says what it is, the SHA-256 of the rest, and the rest: what Numba needs to rebuild the function,
pickled, with the digest of its content (`user_function.content_of`). It is read only from folders that nobody else can write
to (`cache_folders`), and not a byte of it is parsed before the checksum fits, so that a damaged file costs time and nothing
else. Only this file of the cache imports Numba.
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
            cache_folders.say(f"{damaged} is damaged; its function is compiled anew")
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
