"""What compiled kernels are made of: each file with kernels, and the files with compiled functions that it imports, hashed.

All files are read once and each is hashed once, as this is done at the start of every process.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from pathlib import Path

ROOT = Path(__file__).parent
# subpackages with compiled functions
KERNELS = (
    "elementary", "linalg", "energies", "interact", "integrate", "mechanics", "articulated", "collide", "contact",
    "impact", "particles", "symbolic", "batch", os.path.join("scene", "shapes"), os.path.join("scene", "forces"),
)  # fmt: skip
TABLES = ("model/tables.py", "model/tree_tables.py", "model/force_kinds.py")
MADE_OF = {
    "mechanics/body_forces.py": "scene/forces",
    "energies/elements.py": "energies",
}  # of a registry: of all its files
APART = (  # where kernels are kept changes none of them
    "kernel_cache.py", "objects.py", "cache_folders.py", "compile_progress.py", "shipped.py", "build_library.py",
    "source_hash.py", "numba_import.py",
)  # fmt: skip
COMPILERS = ("jit.py", "compiler.py", "table_type.py")  # part of every kernel
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
    for made, folder in MADE_OF.items():
        if path == os.path.join(ROOT, made):
            found |= {part for part in compiled_files() if os.path.dirname(part) == os.path.join(ROOT, folder)}
    return compiled_files() & found


@functools.cache
def compiled_files() -> frozenset[str]:
    """The files of this package with compiled functions, and with the tables that these read."""
    folders = (ROOT, *(ROOT / name for name in KERNELS))
    found = {entry.path for folder in folders for entry in os.scandir(folder) if entry.name.endswith(".py")}
    found |= {os.path.join(ROOT, name) for name in TABLES}
    return frozenset(found - {os.path.join(ROOT, name) for name in APART})


@functools.cache
def _text(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@functools.cache
def _digest(path: str) -> bytes:
    return hashlib.sha256(_text(path)).digest()
