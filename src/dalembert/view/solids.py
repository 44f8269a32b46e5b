"""The bodies of a scene as triangles with normals, found once and moved for each picture."""

from __future__ import annotations

import numpy as np

from dalembert.view.drawing import BodyDrawing
from dalembert.view.geometry import rotate
from dalembert.view.normals import smooth_normals

__all__ = ["Solids"]


class Solids:
    """All meshes of some bodies, b of them, as m triangles."""

    def __init__(self, bodies: list[BodyDrawing]) -> None:
        meshes = [(b, body) for b, body in enumerate(bodies) if len(body.faces)]
        self.bare = [b for b, body in enumerate(bodies) if not len(body.faces)]  # drawn as balls
        self._body = _of([np.full(len(body.faces), b) for b, body in meshes], (), int)
        self._corners = _of([(body.vertices - body.center)[body.faces] for _, body in meshes], (3, 3))
        normals: dict[tuple[bytes, bytes], np.ndarray] = {}
        for _, body in meshes:
            normals.setdefault(_key(body), np.zeros(0))
            if not len(normals[_key(body)]):
                normals[_key(body)] = smooth_normals(body.vertices, body.faces)
        self._normals = _of([normals[_key(body)] for _, body in meshes], (3, 3))
        colors = np.array([body.rgb for body in bodies]).reshape(-1, 3) / 255.0
        self.colors = colors[self._body]
        self._bound = np.array([body.bound for body in bodies])

    def casting(self, size: float) -> np.ndarray:
        """Which triangles (m,) throw a shadow: not those of bodies much larger than the picture."""
        return self._bound[self._body] < 2.0 * size

    def at(self, positions: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (m, 3, 3) m and normals there, of bodies at positions (b, 3) and orientations (b, 4)."""
        q = turns[self._body][:, None]
        return positions[self._body][:, None] + rotate(q, self._corners), rotate(q, self._normals)


def _key(body: BodyDrawing) -> tuple[bytes, bytes]:
    return body.vertices.tobytes(), body.faces.tobytes()


def _of(parts: list[np.ndarray], shape: tuple[int, ...], kind: type = float) -> np.ndarray:
    return np.concatenate([np.zeros((0, *shape), kind), *parts])
