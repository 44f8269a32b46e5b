"""The hash of what a dataset holds, kept in its file, so that a bit that turned on a disk is noticed.

It says nothing of who wrote the file: who changes the numbers on purpose can change the hash as well.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

ATTRIBUTE = "content_sha256"  # of the file; a dataset in memory has none


def content_hash(dataset: xarray.Dataset) -> str:
    """Hexadecimal SHA-256 of names, axes, types and numbers of all variables, and of attributes that are texts or numbers."""
    digest = hashlib.sha256()
    for name, variable in sorted(dataset.variables.items(), key=lambda item: str(item[0])):
        values = np.asarray(variable.values)
        texts = values.dtype.kind in "OUS"
        kind = (
            "nothing" if values.size == 0 else "text" if texts else values.dtype.str
        )  # empty texts are numbers in a file
        digest.update(json.dumps([str(name), list(map(str, variable.dims)), kind, list(values.shape)]).encode())
        if values.size == 0:
            continue
        if texts:
            digest.update(json.dumps(list(map(_text, values.ravel().tolist()))).encode())
        else:
            if values.dtype.kind == "f" and np.isnan(values).any():
                values = np.where(np.isnan(values), values.dtype.type(np.nan), values)  # files have one NaN only
            digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    for key, value in sorted(dataset.attrs.items()):
        if isinstance(value, str | int | float | np.number) and key != ATTRIBUTE:
            said = value if isinstance(value, str) else float(value)
            digest.update(json.dumps([str(key), said]).encode())
    return digest.hexdigest()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
