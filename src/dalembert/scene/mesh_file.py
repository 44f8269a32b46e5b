"""Triangle meshes from STL, OBJ and PLY files, and meshes of particles.

Files are read from memory, so references in them are not followed.
"""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.renamed import warn_renamed
from .checks import positive

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


# Meshes of particles: edges, surfaces, and plain meshes ---------------------------------------------------------------


def hinges_of(owner: str, x: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, 4) inner edges with the opposite corners on either side, and (m,) 3 l²/(A + A′) of each.

    Raises ValueError for an edge of more than two triangles.
    """
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    opposite = np.concatenate([faces[:, 2], faces[:, 0], faces[:, 1]])
    number = np.tile(np.arange(len(faces)), 3)
    low, high = sides.min(axis=1), sides.max(axis=1)
    order = np.lexsort((high, low))
    low, high, opposite, number = low[order], high[order], opposite[order], number[order]
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    many = same[1:] & same[:-1]
    if many.any():
        bad = int(np.argmax(many))
        raise ValueError(
            f"{owner}: the edge between vertices {low[bad]} and {high[bad]} belongs to more than two triangles; cut the mesh"
        )
    i = np.nonzero(same)[0]
    hinges = np.stack([low[i], high[i], opposite[i], opposite[i + 1]], axis=1)
    area = 0.5 * np.linalg.norm(np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]), axis=1)
    length = np.linalg.norm(x[hinges[:, 1]] - x[hinges[:, 0]], axis=1)
    return hinges, 3.0 * length**2 / (area[number[i]] + area[number[i + 1]])


def boundary_faces(tetrahedra: np.ndarray) -> np.ndarray:
    """(m, 3) faces that belong to one tetrahedron only, turning right-handed about the way out."""
    corners = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
    faces = tetrahedra[:, corners].reshape(-1, 3)
    _, first, counts = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.asarray(faces[np.sort(first[counts == 1])])


def triangle_grid(width: float, height: float, columns: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A flat rectangle of triangles in the x–y plane, centred at the origin. Returns vertices (columns · rows, 3) in m,
    row by row from the lowest y, and faces with alternating diagonals.

    >>> vertices, faces = triangle_grid(1.0, 1.0, 3, 3)
    >>> vertices.shape, faces.shape
    ((9, 3), (8, 3))
    """
    w, h = positive("triangle_grid", "width", width, "m"), positive("triangle_grid", "height", height, "m")
    if not (isinstance(columns, int) and isinstance(rows, int) and columns > 1 and rows > 1):
        raise ValueError(
            f"triangle_grid: {columns!r} columns and {rows!r} rows of vertices; give whole numbers above one"
        )
    x, y = np.meshgrid(np.linspace(-0.5 * w, 0.5 * w, columns), np.linspace(-0.5 * h, 0.5 * h, rows))
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(columns * rows)], axis=1)
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(columns - 1), np.arange(rows - 1)))
    a = j * columns + i
    b, c, d = a + 1, a + columns + 1, a + columns
    even = ((i + j) % 2 == 0)[:, None]
    one = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    other = np.where(even, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    return vertices, np.stack([one, other], axis=1).reshape(-1, 3)


def tetrahedron_grid(size: tuple[float, float, float], cells: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A box of tetrahedra, centred at the origin. Returns vertices (n, 3) in m and tetrahedra (m, 4), five per cell.

    >>> vertices, tetrahedra = tetrahedron_grid((1.0, 1.0, 1.0), (2, 2, 2))
    >>> vertices.shape, tetrahedra.shape
    ((27, 3), (40, 4))
    """
    lengths = [positive("tetrahedron_grid", "size", length, "m") for length in size]
    if len(lengths) != 3 or len(cells) != 3 or not all(isinstance(n, int) and n > 0 for n in cells):
        raise ValueError(
            f"tetrahedron_grid: size {size!r} and cells {cells!r}; give three lengths and three whole numbers above zero"
        )
    axes = [np.linspace(-0.5 * length, 0.5 * length, n + 1) for length, n in zip(lengths, cells, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=3).reshape(-1, 3)
    i, j, k = (grid.ravel() for grid in np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"))

    def corner(a: int, b: int, c: int) -> np.ndarray:
        return np.asarray(((i + a) * (cells[1] + 1) + j + b) * (cells[2] + 1) + k + c)

    bits = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    number = np.stack([corner(*bit) for bit in bits], axis=1)
    even = np.array([[0, 4, 2, 1], [6, 2, 4, 7], [5, 4, 1, 7], [3, 1, 2, 7], [1, 4, 2, 7]])
    odd = np.array([[4, 0, 5, 6], [2, 0, 6, 3], [1, 5, 0, 3], [7, 5, 3, 6], [0, 5, 6, 3]])
    chosen = np.where(((i + j + k) % 2 == 0)[:, None, None], number[:, even], number[:, odd]).reshape(-1, 4)
    edges = vertices[chosen[:, 1:]] - vertices[chosen[:, :1]]
    inside_out = np.linalg.det(edges) < 0.0
    chosen[inside_out] = chosen[inside_out][:, [0, 1, 3, 2]]
    return vertices, chosen


if not TYPE_CHECKING:
    _RENAMED = {"sheet": "triangle_grid", "block": "tetrahedron_grid"}

    def __getattr__(name: str) -> Any:
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warn_renamed(name, _RENAMED[name])
        return globals()[_RENAMED[name]]
