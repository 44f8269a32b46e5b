"""Runs mypy and pyright, both strict, and tells what they report at which line."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dalembert

SOURCE = Path(dalembert.__file__).parents[1]
STUBS = Path(__file__).with_name("stubs")
UNTYPED = ("scipy", "gymnasium", "numba", "matplotlib")  # whose stubs a reader may not have
# pyright reports what it does not know of other packages (SciPy, xarray, matplotlib) at the line that uses it.
OTHERS = ("Member", "Argument", "Variable", "Lambda")
Reports = dict[tuple[str, int], str]  # (file, line) → the first message

pyright = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")


def by_mypy(folder: Path) -> Reports:
    """What mypy --strict reports of the programs of a folder."""
    untyped = "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in UNTYPED)
    (folder / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\nallow_redefinition = True\nfollow_imports = silent\nscripts_are_modules = True\n"
        f"mypy_path = {SOURCE}:{STUBS}\n[mypy-dalembert.*]\nignore_errors = True\n{untyped}",
        "utf-8",
    )
    files = sorted(file.name for file in folder.glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *files],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Reports = {}
    for file, line, message in re.findall(r"^(\S+?):(\d+): error: (.*)$", done.stdout, re.M):
        found.setdefault((file, int(line)), message)
    return found


def by_pyright(folder: Path) -> Reports:
    """What pyright, strict, reports of the programs of a folder."""
    settings = {
        "include": ["."], "typeCheckingMode": "strict", "extraPaths": [str(SOURCE)], "stubPath": str(STUBS),
        "reportMissingTypeStubs": "none", "reportMissingModuleSource": "none", "reportDuplicateImport": "none",
        "reportUnusedExpression": "none",
        **{f"reportUnknown{name}Type": "none" for name in OTHERS},
    }  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run(
        [str(pyright), "-p", ".", "--outputjson", "--pythonpath", sys.executable],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Reports = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found.setdefault((Path(each["file"]).name, each["range"]["start"]["line"] + 1), each["message"])
    return found
