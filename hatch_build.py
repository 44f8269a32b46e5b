"""Wheels with the library of compiled kernels that `make wheel` leaves in out/library, where it was made of these sources.

Without one, and from a source distribution, a wheel is plain Python for every machine, and kernels are compiled where it is
installed.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAGS = {
    ("linux", "x86_64"): "py3-none-manylinux_2_17_x86_64",
    ("linux", "aarch64"): "py3-none-manylinux_2_17_aarch64",
    ("darwin", "arm64"): "py3-none-macosx_11_0_arm64",
}
"""By system and machine. A library calls nothing of Python's, and of the C library only memcpy and the like."""


class LibraryHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        folder = root / "out" / "library"
        if version == "editable" or not folder.is_dir():
            return
        sys.path.insert(0, str(root / "src"))
        from dalembert.core import shipped

        try:
            record = shipped.read_record(folder)
            for baseline in record["libraries"]:
                shipped.read_library(folder, record, baseline)
            if shipped.source_hash(record["files"]) != record["sources"]:
                raise shipped.Unusable("it was made of other sources")
        except (shipped.Unusable, ValueError, KeyError, TypeError) as reason:
            self.app.display_warning(f"the wheel goes without the library in {folder}: {reason}")
            return
        build_data["force_include"][str(folder)] = "dalembert/library"
        build_data["pure_python"] = False
        build_data["tag"] = TAGS[record["system"], record["machine"]]
