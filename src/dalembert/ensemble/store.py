"""A sweep on disk: a folder with one file a member, or a batch of them, written whole or not at all, and what the sweep is in
`sweep.json`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..provenance import describe, digest, versions
from ..trajectory_file import read_record, write, write_bytes
from ..trajectory_format import TrajectoryError
from .block import AXIS, ENDINGS, members_of
from .plan import Plan
from .task import DONE, FAILED, Answer, Task

FORMAT = 1
MANIFEST, MEMBERS, BLOCK = "sweep.json", "members", "batch-"


class Store:
    """The folder of a sweep.

    Raises ValueError where the folder has another sweep, or other files; OSError where it cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.safe: set[int] = set()  # members that are there
        path = self.folder / MANIFEST
        if path.exists():
            self._require_same(path, manifest)
            return
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise ValueError(f"{str(self.folder)!r} has other files in it, and no sweep; give a new folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        try:
            part.write_text(json.dumps(manifest, indent=1), "utf-8")
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def _require_same(self, path: Path, manifest: dict[str, Any]) -> None:
        try:
            before = json.loads(path.read_text("utf-8"))
            if not isinstance(before, dict):
                raise ValueError("it is no JSON object")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} is damaged: {error}") from error
        odd = [key for key in {**manifest, **before} if manifest.get(key) != before.get(key)]
        if odd:
            told = "; ".join(f"{key} was {_short(before.get(key))} and is {_short(manifest.get(key))}" for key in odd)
            raise ValueError(f"{str(self.folder)!r} has another sweep ({told}); give a new folder, or remove that one")

    def path(self, index: int, block: bool = False) -> Path:
        """The file of a member, or of the block that begins with it."""
        return self.folder / MEMBERS / f"{BLOCK if block else ''}{index:06d}.nc"

    def kept(self, plan: Plan, retry_failed: bool) -> dict[int, Any]:
        """The members that need not be run: those that are done, and, unless they are to be retried, those that failed."""
        found = {member.index: self.read(member.index) for member in plan.members}
        for path in sorted((self.folder / MEMBERS).glob(f"{BLOCK}*.nc")):
            found |= {i: row for i, row in self._read_block(path).items() if i in found}
        self.safe = {i for i, member in found.items() if member is not None}
        over = (DONE,) if retry_failed else (DONE, FAILED)
        return {i: found[i] for i in self.safe if found[i].attrs["status"] in over}

    def write(self, answer: Answer) -> None:
        """Keep what came of a member, or of a block of them. Raises OSError."""
        members = members_of(answer.dataset)
        path = self.path(min(members), AXIS in answer.dataset.dims)
        if answer.file is None:
            write(answer.dataset, path)
        else:
            write_bytes(answer.file, path)
        self.safe |= set(members)

    def read(self, index: int) -> Any:
        """The dataset of a member; None where there is none that can be read."""
        try:
            found = read_record(self.path(index), unchanged=True)
        except (FileNotFoundError, TrajectoryError):
            return None
        _forget_fill_values(found)
        return found if found.attrs.get("index") == index and "status" in found.attrs else None

    def _read_block(self, path: Path) -> dict[int, Any]:
        """The members of a block; none where it cannot be read."""
        try:
            found = read_record(path, AXIS, unchanged=True)
        except (FileNotFoundError, TrajectoryError):
            return {}
        _forget_fill_values(found)
        there = AXIS in found.coords and all(name in found and found[name].dims == (AXIS,) for name in ENDINGS)
        return members_of(found) if there else {}


def _forget_fill_values(dataset: Any) -> None:
    for array in dataset.variables.values():
        array.attrs.pop("_FillValue", None)  # of the file


def make_manifest(task: Task, plan: Plan, seed: int) -> dict[str, Any]:
    """What a sweep is, as plain data: two sweeps of the same give the same."""
    source = task.source
    members = [[describe(member.parameters), describe(member.settings)] for member in plan.members]
    return {
        "format": FORMAT,
        "scene": f"{source.kind} {source.name}",
        "scene_sha256": source.sha256,
        "settings": describe(dict(source.settings)),
        "axes": {name: labels.tolist() for name, labels in plan.axes.items()},
        "members": len(members),
        "members_sha256": digest(json.dumps(members).encode()),
        "keep": describe(list(task.keep)),
        "seed": seed,
        "dalembert": versions()["dalembert"],
    }


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 60 else text[:57] + "..."
