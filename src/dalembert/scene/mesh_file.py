"""Triangle meshes from STL, OBJ and PLY files, read from memory so that no reference inside them can be followed."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path

import numpy as np

SUFFIXES = (".stl", ".obj", ".ply")
MAX_BYTES = 100_000_000


def read_mesh_file(path: str | PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """The triangles of a mesh file: vertices (n, 3) float64 in the file's unit and faces (m, 3) int64.

    Vertices at equal coordinates are one (STL repeats each at every corner; OBJ and PLY split them along texture
    seams), and triangles that this leaves with fewer than three corners go.

    Raises:
        ValueError: a file that is missing, unreadable, too large, of unknown suffix or without triangles.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"mesh file '{path}': suffix '{suffix}' is unknown; convert it to one of {', '.join(SUFFIXES)}"
        )
    if not file.is_file():
        raise ValueError(f"mesh file '{path}': there is no such file; check the path (now in {Path.cwd()})")
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"mesh file '{path}': cannot be read ({error.strerror}); check its permissions") from error
    if len(data) > MAX_BYTES:
        raise ValueError(f"mesh file '{path}': larger than {MAX_BYTES // 10**6} MB; simplify the mesh first")
    vertices, faces = _parse(path, data, suffix)
    vertices, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)  # + 0.0 makes one of 0.0 and -0.0
    faces = index.reshape(-1)[faces]
    return vertices, faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]


def _parse(path: str | PathLike[str], data: bytes, suffix: str) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    try:
        mesh = trimesh.load_mesh(io.BytesIO(data), file_type=suffix[1:], process=False, skip_materials=True)
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as error:  # whatever a malformed file provokes in the parser
        raise ValueError(
            f"mesh file '{path}': not a readable {suffix[1:].upper()} file "
            f"({type(error).__name__}: {error!s:.120}); export it again"
        ) from error
    if len(faces) == 0 or faces.min() < 0 or faces.max() >= len(vertices) or not np.isfinite(vertices).all():
        raise ValueError(f"mesh file '{path}': no valid triangles in it; export it again as a triangle mesh")
    return vertices, faces
