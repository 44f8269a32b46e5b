"""A writer of binary glTF 2.0 (Khronos Group, 2021): JSON and one buffer in a file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

FLOAT, UINT32 = 5126, 5125
VERTICES, INDICES = 34962, 34963  # targets of buffer views
POINTS, LINES, LINE_STRIP, TRIANGLES = 0, 1, 3, 4
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class Glb:
    """Lists of glTF's things, which refer to each other by their numbers."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0", "generator": "dalembert"}, "scene": 0}
        self._data = bytearray()

    def add(self, kind: str, thing: dict[str, Any]) -> int:
        """Append to the list `kind` ("nodes", "meshes", ...); returns the number there."""
        things = self.json.setdefault(kind, [])
        things.append({key: value for key, value in thing.items() if value is not None})
        return len(things) - 1

    def array(self, values: np.ndarray, target: int | None = None) -> int:
        """The number of an accessor of numbers, vectors (n, 3) or quaternions (n, 4): float32, whole numbers uint32."""
        whole = np.issubdtype(values.dtype, np.integer)
        array = np.ascontiguousarray(values, "<u4" if whole else "<f4")
        view = self.add(
            "bufferViews", {"buffer": 0, "byteOffset": len(self._data), "byteLength": array.nbytes, "target": target}
        )
        self._data += array.tobytes()
        rows = array.reshape(len(array), -1)
        return self.add(
            "accessors",
            {"bufferView": view, "componentType": UINT32 if whole else FLOAT, "count": len(rows),
             "type": TYPES[rows.shape[1]], "min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()},
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Write header, JSON chunk and binary chunk, each filled up to four bytes."""
        if self._data:
            self.json["buffers"] = [{"byteLength": len(self._data)}]
        text = json.dumps(self.json, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self._data:
            chunks += struct.pack("<I4s", len(self._data), b"BIN\0") + self._data
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
