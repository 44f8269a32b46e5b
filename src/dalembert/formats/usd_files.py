"""Opening a USD file so that it can read from its own folder only.

USD follows references as it opens a stage. So all layers are looked at first, one by one and without composing anything, and
the stage is opened only where each that they refer to is a file in the model's folder or below.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pxr import Ar, Sdf, Tf, Usd

from .usd_package import SUFFIXES
from .usd_text import MAX_DEPTH, require_shallow

MAX_BYTES = 200_000_000
MAX_LAYERS = 1000


def open_stage(file: Path) -> Any:
    """The stage of a file. Raises ValueError naming the file and the way out."""
    _require_file(file, file.parent)
    waiting, known = [file], {file}
    while waiting:
        for found in _dependencies(waiting.pop(), file.parent):
            if found not in known:
                known.add(found)
                waiting.append(found)
                if len(known) > MAX_LAYERS:
                    raise ValueError(f"{file}: it is made of more than {MAX_LAYERS} layers; flatten it")
    try:
        with Ar.ResolverContextBinder(Ar.DefaultResolverContext([])):
            stage = Usd.Stage.Open(_layer(file), Ar.DefaultResolverContext([]))
    except Tf.ErrorException as error:
        raise ValueError(f"{file}: it cannot be composed ({_first_line(error)}); export it again") from None
    return stage


def _dependencies(file: Path, folder: Path) -> list[Path]:
    """The layers that a layer refers to, in sublayers, references and payloads, those inside of variants among them."""
    layer = _layer(file)
    found = []
    for reference in layer.GetCompositionAssetDependencies():
        if "`" in reference or "${" in reference:
            raise ValueError(
                f"{file}: it refers to {reference!r:.200}, an expression, which is not read; write out the file"
            )
        inner = file.parent / reference
        try:
            path = inner.resolve()
        except (OSError, RuntimeError, ValueError):
            path = None
        if "://" in reference or "[" in reference or path is None:
            raise ValueError(
                f"{file}: it refers to {reference!r:.200}, which is no file beside it; only those are read"
            )
        _require_file(path, folder, f"{file}: it refers to {reference!r:.200}, which")
        found.append(path)
    _look_at_prims(layer, file)
    return found


def _look_at_prims(layer: Any, file: Path) -> None:
    """Refuse prims that are nested too deep, which a binary file may have, and value clips: layers too that a stage opens by
    itself."""
    waiting = list(layer.rootPrims)
    while waiting:
        prim = waiting.pop()
        if prim.path.pathElementCount > MAX_DEPTH:
            raise ValueError(f"{file}: it is nested more than {MAX_DEPTH} deep; flatten it")
        if prim.HasInfo("clips"):
            raise ValueError(f"{file}: {prim.path} has value clips, which are not read; flatten the file")
        waiting += prim.nameChildren
        waiting += [variant.primSpec for choices in prim.variantSets for variant in choices.variants]


def _require_file(path: Path, folder: Path, subject: str | None = None) -> None:
    """Raises ValueError for what is outside of the folder, no file, too large or of another suffix."""
    what = subject or f"{path}: it"
    if not path.is_relative_to(folder):
        raise ValueError(f"{what} lies outside of {folder}, all that this model may read; move it there")
    if not path.is_file():
        raise ValueError(f"{what} does not exist; check the path")
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{what} is no {', '.join(SUFFIXES)} file; convert it to one")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{what} is larger than {MAX_BYTES // 10**6} MB; split it or simplify its meshes")


def _layer(file: Path) -> Any:
    """One layer, read from its file alone, and anew where the process has read it before."""
    require_shallow(file)
    try:
        layer = Sdf.Layer.FindOrOpen(str(file))
        if layer is not None and not layer.dirty:
            layer.Reload()
    except Tf.ErrorException as error:
        raise ValueError(f"{file}: not a readable USD file ({_first_line(error)}); export it again") from None
    if layer is None:
        raise ValueError(f"{file}: not a readable USD file; export it again")
    return layer


def _first_line(error: Exception) -> str:
    """What USD says, without where in its own sources."""
    said = re.search(r" : '(.*?)'?\s*$", str(error).strip(), re.DOTALL)
    return " ".join((said[1] if said else str(error)).split())[:200]
