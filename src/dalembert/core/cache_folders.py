"""The folders of compiled kernels: their paths, which of them are safe to load from, and their names, a hash of
sources.

Machine code from the cache is executed, and the Python objects beside it are unpickled, so anyone who can write to the
cache can execute code as its user. A folder is used only if the user alone can write to it and to each folder above it,
as ssh requires for the folders of keys. Root and the owner of this package are also accepted, because they can change
the executed code anyway. Below a folder with the sticky bit, such as /tmp, the user's own folder is safe.

There are up to two folders: the preferred one (`$DALEMBERT_CACHE`, else that of the user's cache), and a private one
among temporary files, for use if the first is not writable. If neither is, every process compiles its kernels.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # no such locks on Windows: two processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

FOLDER = re.compile(r"^(.+)-[0-9a-f]{16}$")  # of the kernels of one file: its name, and a hash of its sources
DAY = 86400.0  # s
LONGEST = 30 * DAY  # folders that nothing used for so long are removed
VERSIONS = 8  # of one file; more of them are removed as soon as they were not used for a day
GENERATED = 64  # the same, of sources that are generated
LARGEST_FOLDER, MOST_FILES = (
    64_000_000,
    1000,
)  # bytes and files in one folder; above, those used longest ago are removed


@functools.cache
def say(line: str) -> None:
    """Print a line on stderr, once a process."""
    print(f"dalembert: {line}", file=sys.stderr, flush=True)


# Which folders ----------------------------------------------------------------------------------------------------------


def preferred() -> Path | None:
    """The folder of the cache as the environment says; None where there is no home."""
    chosen = os.environ.get("DALEMBERT_CACHE")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base, "dalembert") if os.path.isabs(base) else None


def temporary() -> Path | None:
    """The private folder among temporary files; None where there are none."""
    try:
        user = os.geteuid() if hasattr(os, "geteuid") else "user"
        return Path(tempfile.gettempdir(), f"dalembert-{user}")
    except OSError:
        return None


def why_unsafe(folder: Path) -> str:
    """How other users could change the contents of a folder; empty where they cannot. Raises OSError if it cannot be read."""
    if not hasattr(os, "geteuid"):
        return ""
    real = Path(os.path.realpath(folder))
    for level in (real, *real.parents):
        status = level.stat()
        if status.st_uid not in _trusted():
            return f"{level} belongs to another user"
        if status.st_mode & 0o022 and (level == real or not status.st_mode & stat.S_ISVTX):
            return f"others can write to {level}; try chmod go-w {level}"
    return ""


@functools.cache
def _trusted() -> frozenset[int]:
    return frozenset([0, os.geteuid(), os.stat(__file__).st_uid])


@functools.cache
def _usable(folder: Path | None, mode: int) -> str:
    """Why a folder cannot be used at all, after making it if it is not there; empty where it can."""
    if folder is None:
        return "there is no home folder"
    try:
        _make(folder, mode)
        return why_unsafe(folder)
    except OSError as error:
        return error.strerror or str(error)


def _make(folder: Path, mode: int) -> None:
    """Make a folder, and those above it, that no other user can write to."""
    if not folder.is_dir():
        if not folder.parent.is_dir():
            _make(folder.parent, 0o755)
        folder.mkdir(mode, exist_ok=True)


def _places() -> tuple[tuple[Path | None, int], ...]:
    """The folders in the order in which they are used, and the modes that they are made with."""
    return (preferred(), 0o755), (temporary(), 0o700)


# What is in them --------------------------------------------------------------------------------------------------------


def find(folder: str, pattern: str) -> Iterator[Path]:
    """The files of a folder of kernels whose names fit a pattern, wherever they may be loaded from."""
    for base, mode in _places():
        with contextlib.suppress(OSError):
            own = None if base is None else base / folder
            if own is not None and own.is_dir() and not _usable(base, mode) and _is_safe(own):
                yield from filter(_is_safe, list(own.glob(pattern)))


def _is_safe(path: Path) -> bool:
    """Whether a folder or file in a safe folder is no link, and can be written to by nobody else."""
    status = path.lstat()
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid in _trusted() and not status.st_mode & 0o022)


def is_writable() -> bool:
    """Whether kernels can be written to any folder."""
    return any(not _usable(base, mode) and os.access(base or "", os.W_OK | os.X_OK) for base, mode in _places())


def use(path: Path) -> None:
    """Remember that a file was used today, so that neither it nor its folder is removed."""
    for used in (path, path.parent):
        with contextlib.suppress(OSError):
            if time.time() - used.stat().st_mtime > 0.5 * DAY:
                os.utime(used)


def sealed(magic: bytes, rest: bytes) -> bytes:
    """A file: a line that says what it is, the SHA-256 of the rest, and the rest."""
    return magic + hashlib.sha256(rest).digest() + rest


def unsealed(magic: bytes, path: Path) -> bytes | None:
    """The rest of a file that `sealed` made; None for a file that is not there, or whose checksum does not fit."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    rest = data[len(magic) + hashlib.sha256().digest_size :]
    return rest if data == sealed(magic, rest) else None


def write(folder: str, name: str, data: bytes) -> None:
    """Write a file, whole or not at all, to the first writable folder; prints a line if that is not `preferred`."""
    (first, mode), (other, private) = _places()
    why = _put(first, mode, folder, name, data)
    if not why:
        _clear(first)
        _trim(first, folder)
        return
    preferred_name = "the cache" if first is None else first
    if not _put(other, private, folder, name, data):
        _trim(other, folder)
        say(f"compiled kernels are not cached in {preferred_name} ({why}) but in {other}")
    else:
        say(f"compiled kernels are not cached in {preferred_name} ({why}), so each process compiles them")


def _put(base: Path | None, mode: int, folder: str, name: str, data: bytes) -> str:
    """Why a file could not be written; empty where it was."""
    why = _usable(base, mode)
    if why or base is None:
        return why
    part = base / folder / f".{name}.{os.getpid()}-{uuid.uuid4().hex[:16]}"
    try:
        _make(part.parent, mode)
        if not _is_safe(part.parent):
            return f"others can write to {part.parent}"
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
                file.write(data)
            os.replace(part, part.with_name(name))
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        return error.strerror or str(error)
    return ""


def lock(folder: str, name: str) -> Any:
    """A file that is locked until it is closed, with the number of this process in it; None where there are no locks. Raises
    BlockingIOError where another process holds it."""
    for base, mode in _places() if fcntl is not None else ():
        if base is None or _usable(base, mode):
            continue
        try:
            _make(base / folder, mode)
            file = open(base / folder / f"{name}.lock", "a")  # noqa: SIM115 - stays open
        except OSError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):  # a full disk
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
        except BlockingIOError:
            file.close()
            raise
        except OSError:  # a file system without locks
            file.close()
            continue
        return file
    return None


def locked_by(folder: str, name: str) -> int:
    """The number of the process that holds a lock; 0 where it is not known."""
    for path in find(folder, f"{name}.lock"):
        with contextlib.suppress(OSError, ValueError):
            text = path.read_bytes()[:12].decode("ascii", "replace")
            return int(text) if text.isdecimal() else 0
    return 0


def remove_parts(process: int) -> None:
    """Remove what a process that was ended had not finished writing."""
    for base, _ in _places():
        if base is not None:
            with contextlib.suppress(OSError):
                for part in base.glob(f"*/.*.{process}-*"):
                    part.unlink(missing_ok=True)


@functools.cache
def _clear(base: Path) -> None:
    """Remove the kernels of sources that are gone: see LONGEST and VERSIONS."""
    versions: dict[str, list[tuple[float, Path]]] = {}
    with contextlib.suppress(OSError):
        for path in base.iterdir():
            match = FOLDER.match(path.name)
            if match and path.is_dir() and not path.is_symlink():
                family = "generated" if match[1].startswith("generated_") else match[1]
                versions.setdefault(family, []).append((time.time() - path.stat().st_mtime, path))
    for family, group in versions.items():
        most = GENERATED if family == "generated" else VERSIONS
        for rank, (age, path) in enumerate(sorted(group)):
            if age > (DAY if rank >= most else LONGEST):
                shutil.rmtree(path, ignore_errors=True)


def _trim(base: Path | None, folder: str) -> None:
    """Bound what one folder holds: see LARGEST_FOLDER and MOST_FILES. Files that were written just now stay."""
    if base is None or not folder:
        return
    found = []
    with contextlib.suppress(OSError):
        for path in (base / folder).iterdir():
            with contextlib.suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime, status.st_size, path))
    total, young = 0, time.time() - 60.0
    for count, (when, size, path) in enumerate(sorted(found, reverse=True), start=1):
        total += size
        if (total > LARGEST_FOLDER or count > MOST_FILES) and when < young:
            with contextlib.suppress(OSError):
                path.unlink()


# What kernels are made of ---------------------------------------------------------------------------------------------
# Each file with kernels, and the files with compiled functions that it imports, hashed. All files are read once and each
# is hashed once, as this is done at the start of every process.

ROOT = Path(__file__).parents[1]
# subpackages with compiled functions
KERNELS = (
    "core", "linalg", "energies", "pairwise", "integrate", "dynamics", "collide", "contact", "impact", "deformable",
    "symbolic", os.path.join("scene", "shapes"), os.path.join("scene", "forces"),
)  # fmt: skip
TABLES = ("model/tables.py", "model/tree.py", "model/force_kinds.py", "ensemble/batch_kernel.py")
MADE_OF = {"dynamics/forces.py": "scene/forces", "energies/elements.py": "energies"}  # of a registry: of all its files
APART = (  # these change no machine code
    "core/object_cache.py", "core/user_cache.py", "core/cache_folders.py", "core/compile_progress.py", "core/shipped.py",
    "core/numba_import.py",
)  # fmt: skip
COMPILERS = ("core/jit.py", "core/compiler.py", "core/table_type.py")  # part of every kernel
IMPORT = re.compile(rb"^from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
WORD = re.compile(r"\w+")


@functools.cache
def source_hash(path: Path) -> str:
    """Hexadecimal digest (16 digits) of every file that the kernels in a file are made of."""
    digest = hashlib.sha256()
    for part in sorted(_parts(str(path))):
        digest.update(os.path.basename(part).encode() + _digest(part))
    return digest.hexdigest()[:16]


@functools.cache
def folder_of(path: Path) -> str:
    """The name of the folder of the compiled kernels of a file, keyed by `source_hash`."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts) if ROOT in path.parents else path.stem
    return f"{name}-{source_hash(path)}"


def sources(path: Path) -> frozenset[Path]:
    """The files that the kernels in a file are made of: itself, and what it imports, directly or not."""
    return frozenset(map(Path, _parts(str(path))))


def _parts(path: str) -> set[str]:
    found = {path, *(os.path.join(ROOT, name) for name in COMPILERS)}
    if ROOT not in Path(path).parents:  # of a user, or a test: it may use anything
        return found | compiled_files()
    left = [path]
    while left:
        fresh = imported(left.pop()) - found
        found |= fresh
        left.extend(fresh)
    return found


@functools.cache
def imported(path: str) -> frozenset[str]:
    """The files with compiled functions, or tables of theirs, that a file of this package imports."""
    found = set()
    for dots, module, names in IMPORT.findall(_text(path)):
        folder = path
        for _ in dots:
            folder = os.path.dirname(folder)
        folder = os.sep.join([folder, *filter(None, module.decode().split("."))])
        found.add(f"{folder}.py")
        if folder != str(ROOT):
            found.add(os.path.join(folder, "__init__.py"))  # what a package registers
        found.update(f"{folder}{os.sep}{word}.py" for word in WORD.findall(names.decode()))
    for registry, folder in MADE_OF.items():
        if path == os.path.join(ROOT, registry):
            found |= {part for part in compiled_files() if os.path.dirname(part) == os.path.join(ROOT, folder)}
    return compiled_files() & found


@functools.cache
def compiled_files() -> frozenset[str]:
    """The files of this package with compiled functions, and with the tables that these read."""
    found = {
        os.path.join(folder, file)
        for name in KERNELS
        for folder, _, files in os.walk(ROOT / name)
        for file in files
        if file.endswith(".py")
    }
    found |= {os.path.join(ROOT, name) for name in TABLES}
    return frozenset(found - {os.path.join(ROOT, name) for name in APART})


@functools.cache
def _text(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@functools.cache
def _digest(path: str) -> bytes:
    return hashlib.sha256(_text(path)).digest()
