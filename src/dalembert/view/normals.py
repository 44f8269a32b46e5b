"""Normals of meshes: smooth where faces lean little, with edges elsewhere."""

import math

import numpy as np

from dalembert.kernel import array, kernel, out

__all__ = ["smooth_normals"]

CREASE = 0.766  # cosine of 40°: faces that lean more than that have an edge between them


def smooth_normals(vertices: np.ndarray, faces: np.ndarray, crease: float = CREASE) -> np.ndarray:
    """Unit normals (m, 3, 3) at the corners of faces (m, 3), smooth where neighbours lean little."""
    _, same = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    joined = same.reshape(-1)[faces]
    triangles = vertices[faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    around = np.argsort(joined.ravel(), kind="stable") // 3
    starts = np.concatenate([[0], np.cumsum(np.bincount(joined.ravel(), minlength=len(vertices)))])
    found = np.empty((len(faces), 3, 3))
    corner_normals(np.ascontiguousarray(joined), normals, starts, around, crease, found)
    return found


@kernel
def corner_normals(
    faces: array(2, np.int64), normals: array(2), starts: array(1, np.int64), around: array(1, np.int64), least: float,
    found: out(3),
) -> None:  # fmt: skip
    """Normals (m, 3, 3) at the corners of faces (m, 3): the sum of the normals (m, 3; as long as the face is large) of the
    faces around that corner that lean by no more than the angle with cosine `least`. around[starts[v]:starts[v + 1]]
    are the faces at vertex v."""
    for f in range(len(faces)):
        nx, ny, nz = normals[f, 0], normals[f, 1], normals[f, 2]
        own = math.sqrt(nx * nx + ny * ny + nz * nz)
        for k in range(3):
            sx = sy = sz = 0.0
            for at in range(starts[faces[f, k]], starts[faces[f, k] + 1]):
                g = around[at]
                gx, gy, gz = normals[g, 0], normals[g, 1], normals[g, 2]
                if nx * gx + ny * gy + nz * gz >= least * own * math.sqrt(gx * gx + gy * gy + gz * gz):
                    sx, sy, sz = sx + gx, sy + gy, sz + gz
            size = math.sqrt(sx * sx + sy * sy + sz * sz)
            size = size if size > 0.0 else 1.0
            found[f, k, 0], found[f, k, 1], found[f, k, 2] = sx / size, sy / size, sz / size
