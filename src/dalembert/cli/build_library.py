"""Builds the shared libraries of all kernels for a wheel (`make wheel`); `shipped` loads them.

Numba generates LLVM intermediate code of each C function. The code is optimised for each baseline of `shipped`, in
place of the machine that runs Numba, and compiled to a position-independent object. The system's linker makes one
library for each baseline. It exports only the C functions and imports only `ALLOWED`: kernels return statuses, so the
library does not need Python.

Each subpackage is compiled by its own process, always in the same order, so that builds from the same sources and
versions are identical byte by byte.

    python -m dalembert.cli.build_library FOLDER
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir

from .. import __version__
from ..core import compiler, jit, shipped
from ..core.cache_folders import ROOT
from ..core.cache_folders import sources as sources_of
from ..core.jit import CFunction
from ..core.thread_pool import cores
from ..simulation import precompile as ahead

ALLOWED = frozenset(("memcpy", "memmove", "memset"))
"""What a library may use of the process that loads it."""
LINK = {
    "linux": (
        "-Wl,-z,noexecstack",
        "-Wl,-z,relro",
        "-Wl,-z,now",
        "-Wl,--build-id=none",
        "-Wl,--hash-style=gnu",
        "-Wl,-s",
    ),
    "darwin": ("-undefined", "dynamic_lookup"),
}
"""Options of the linker, by system: without symbols of its own, and without a mark of when it was made."""


class BuildError(RuntimeError):
    """A library that cannot be built, and why."""


def build(folder: Path) -> dict[str, Any]:
    """Make the libraries and their record in a folder, unless they are there; returns the record. Raises BuildError."""
    if sys.platform not in LINK or shipped.machine() not in shipped.BASELINES:
        raise BuildError(
            f"libraries cannot be built for {sys.platform} {shipped.machine()}; kernels are compiled there"
        )
    wanted = functions()
    baselines = [baseline.name for baseline in shipped.BASELINES[shipped.machine()]]
    sources = {Path(__file__), *(path for function in wanted.values() for path in sources_of(file_of(function)))}
    files = sorted(path.relative_to(ROOT).as_posix() for path in sources)
    record = {
        "format": shipped.FORMAT, "system": sys.platform, "machine": shipped.machine(), "dalembert": __version__,
        "numba": numba.__version__, "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "sources": shipped.source_hash(files), "files": files, "libraries": {},
    }  # fmt: skip
    there = _there(folder)
    if there == record | {"libraries": there.get("libraries")} and set(there["libraries"]) == set(baselines):
        return there
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("kernels*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as place:
        objects = Path(place)
        _compile_all(wanted, baselines, objects)
        for baseline in baselines:
            path = folder / shipped.file_name(baseline)
            (objects / f"{baseline}.identity.o").write_bytes(
                _identity_object(shipped.identity(record, baseline), baseline)
            )
            link(sorted(objects.glob(f"{baseline}.*.o")), path)
            check(path, {*wanted, shipped.IDENTITY})
            record["libraries"][baseline] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / shipped.RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record


def _there(folder: Path) -> dict[str, Any]:
    """The record of libraries that are in a folder and whole; empty where there are none."""
    try:
        record = shipped.read_record(folder)
        for baseline in record["libraries"]:
            shipped.read_library(folder, record, baseline)
        return record
    except (shipped.Unusable, ValueError, KeyError, TypeError):
        return {}


# What there is to compile -----------------------------------------------------------------------------------------------


def functions() -> dict[str, CFunction]:
    """Every C function of the package, by symbol."""
    return {function.symbol: function for function in sorted(ahead.everything(), key=lambda function: function.symbol)}


def file_of(function: CFunction) -> Path:
    """Where a C function is written."""
    return Path(function.function.__code__.co_filename)


def group_of(function: CFunction) -> str:
    """The subpackage, or else module, that a C function is in."""
    return function.name.split(".")[0]


def _compile_all(wanted: dict[str, CFunction], baselines: list[str], folder: Path) -> None:
    """Objects of all functions for all baselines in a folder: a process a group, as many as there are cores."""
    sizes: dict[str, set[Path]] = {}
    for function in wanted.values():
        sizes.setdefault(group_of(function), set()).update(sources_of(file_of(function)))
    groups = sorted(sizes, key=lambda group: -len(sizes[group]))  # what is made of most files takes longest
    paths = filter(None, [str(ROOT.parent), os.environ.get("PYTHONPATH")])
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0",
        "NUMBA_CPU_NAME": baselines[0], "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_JIT": "0",
    }  # fmt: skip

    def run(group: str) -> None:
        begun = time.perf_counter()
        command = [sys.executable, "-m", "dalembert.cli.build_library", str(folder), group]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"the kernels of {group} could not be compiled:\n{done.stderr}")
        print(f"{group}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(cores()) as processes:
        list(processes.map(run, groups))


# One process: from functions to objects ---------------------------------------------------------------------------------


def compile_group(group: str, folder: Path) -> None:
    """Write an object for each baseline of all C functions of a group."""
    chosen = {symbol: function for symbol, function in functions().items() if group_of(function) == group}
    together = llvm.parse_assembly("")
    for symbol, function in chosen.items():  # what two of them call becomes one function
        together.link_in(compiler.intermediate_code(function.function, function.signature, symbol, jit.INNER))
    code = together.as_bitcode()
    for baseline in shipped.BASELINES[shipped.machine()]:
        module, machine = llvm.parse_bitcode(code), _machine(baseline.name)
        compiler.optimise(module, machine, set(chosen))
        (folder / f"{baseline.name}.{group}.o").write_bytes(machine.emit_object(module))


def _machine(baseline: str) -> Any:
    """LLVM's description of the processors that code is for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=baseline, opt=3, reloc="pic", codemodel="default")


# Linking ----------------------------------------------------------------------------------------------------------------


def _identity_object(text: str, baseline: str) -> bytes:
    """An object with a text in it."""
    module = ir.Module(shipped.IDENTITY)
    module.triple = llvm.get_process_triple()
    data = bytearray(text.encode() + b"\0")
    kind = ir.ArrayType(ir.IntType(8), len(data))
    value = ir.GlobalVariable(module, kind, shipped.IDENTITY)
    value.initializer, value.global_constant = ir.Constant(kind, data), True
    return bytes(_machine(baseline).emit_object(llvm.parse_assembly(str(module))))


def link(objects: Iterable[Path], path: Path) -> None:
    """Make a shared library. Raises BuildError."""
    try:
        subprocess.run(
            ["cc", "-shared", "-nostdlib", *LINK[sys.platform], "-o", path, *objects],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    except OSError as error:
        raise BuildError(f"linking needs a C compiler, `cc` ({error})") from error
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{path.name} could not be linked:\n{error.stderr}") from error


def check(path: Path, exported: Set[str], allowed: Set[str] = ALLOWED) -> None:
    """Raise BuildError unless a library exports these symbols, and uses no others than those allowed."""
    lines = subprocess.run(
        ["nm", "-P", *(["-D"] if sys.platform == "linux" else []), path], check=True, capture_output=True
    )
    found = [line.split()[:2] for line in lines.stdout.decode().splitlines()]
    mark = "_" if sys.platform == "darwin" else ""
    named = [(name.removeprefix(mark), kind) for name, kind in found]
    used = {name for name, kind in named if kind == "U"} - allowed
    if used:
        raise BuildError(f"{path.name} refers to symbols that are not allowed: {', '.join(sorted(used))}")
    there = {name for name, kind in named if kind.isupper() and kind != "U"}
    if there != exported:
        raise BuildError(
            f"{path.name} exports unexpected or lacks expected symbols: {', '.join(sorted(there ^ exported))}"
        )


if __name__ == "__main__":
    try:
        if len(sys.argv) > 2:
            compile_group(sys.argv[2], Path(sys.argv[1]))
        else:
            build(Path(sys.argv[1]))
    except BuildError as error:
        sys.exit(f"dalembert: {error}")
