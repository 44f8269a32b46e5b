"""Frictional contact problems in files of the FCLib collection (HDF5).

V. Acary, M. Brémond, T. Koziara, F. Pérignon, "FCLIB: a collection of discrete 3D frictional contact problems", 2014.
With three components a contact, normal first, a file has one of

    fclib_global    M v = H r + G λ + f,   u = Hᵀ v + w,   Gᵀ v + b = 0
    fclib_local     u = W r + V λ + q,   Vᵀ r + R λ + s = 0

and matrices by columns, by rows, or as triplets. Files are untrusted: links to other files, inconsistent sizes, and
sizes above MOST_ENTRIES are rejected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MOST_ENTRIES = 50_000_000  # of a matrix or vector: 600 MB
BY_COLUMNS, BY_ROWS = -1, -2  # values of `nz`; others count triplets


class FclibProblem(NamedTuple):
    """What a file has; None for what it does not have."""

    matrices: dict[str, Any]  # csr: M, H, G or W, V, R
    vectors: dict[str, np.ndarray]  # mu, and f, w, b or q, s

    @property
    def is_local(self) -> bool:
        """Whether it is W, q rather than M, H, f."""
        return "W" in self.matrices


def read_fclib(path: str | Path) -> FclibProblem:
    """Read a problem. Raises FileNotFoundError, and ValueError for what is no such problem, or one in a plane."""
    import h5py

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} is not an HDF5 file: {error}") from None
    with file:
        for kind, matrices, vectors in (("fclib_global", "MHG", "fwb"), ("fclib_local", "WVR", "qs")):
            if file.get(kind, getlink=True) is not None:
                return _read_problem(file, kind, matrices, vectors)
    raise ValueError(f"{path} has neither fclib_global nor fclib_local: it is not an FCLib problem")


def _read_problem(file: Any, kind: str, matrices: str, vectors: str) -> FclibProblem:
    dimension = _number(file, f"{kind}/spacedim")
    if dimension != 3:
        raise ValueError(f"{kind}/spacedim is {dimension}: only contacts with 3 components can be read")
    found = {name: _matrix(file, f"{kind}/{name}") for name in matrices if _has(file, f"{kind}/{name}")}
    own = {name: _array(file, f"{kind}/vectors/{name}") for name in vectors if _has(file, f"{kind}/vectors/{name}")}
    own["mu"] = _array(file, f"{kind}/vectors/mu")
    needed = ("M", "H", "f", "w") if kind == "fclib_global" else ("W", "q")
    missing = [name for name in needed if name not in found and name not in own]
    if missing:
        raise ValueError(f"{kind} has no {missing[0]}")
    return FclibProblem(found, own)


def _has(file: Any, path: str) -> bool:
    """Whether there is something at a path. Raises ValueError for a link to another file, or one that leads nowhere."""
    import h5py

    at = file
    for part in path.split("/"):
        link = at.get(part, getlink=True) if isinstance(at, h5py.Group) else None
        if link is None:
            return False
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{path} is a link, which is not followed; copy its target into the file")
        at = at[part]
    return True


def _array(file: Any, path: str, dtype: Any = np.float64) -> np.ndarray:
    """The numbers of a dataset, flat. Raises ValueError for what is missing, too long, not numbers or not here."""
    import h5py

    data = file[path] if _has(file, path) else None
    if not isinstance(data, h5py.Dataset):
        raise ValueError(f"{path} is missing, or is not a dataset")
    if data.size is None or data.size > MOST_ENTRIES:
        raise ValueError(f"{path} has {data.size} entries; at most {MOST_ENTRIES} are read")
    if data.is_virtual or data.external:
        raise ValueError(f"{path} stores its numbers in another file, which is not opened")
    if data.dtype.kind not in "iuf":
        raise ValueError(f"{path} holds {data.dtype}, not numbers")
    return np.asarray(data[()]).reshape(-1).astype(dtype)


def _number(file: Any, path: str) -> int:
    found = _array(file, path, np.int64)
    if found.size != 1:
        raise ValueError(f"{path} has {found.size} numbers, not one")
    return int(found[0])


def _matrix(file: Any, path: str) -> Any:
    """A matrix as csr. Raises ValueError where its parts do not fit."""
    from scipy.sparse import coo_array, csc_array, csr_array

    m, n, kind = (_number(file, f"{path}/{name}") for name in ("m", "n", "nz"))
    p, i = (_array(file, f"{path}/{name}", np.int64) for name in "pi")
    x = _array(file, f"{path}/x")
    if not (0 <= m <= MOST_ENTRIES and 0 <= n <= MOST_ENTRIES):
        raise ValueError(f"{path} is {m} × {n}; both must lie between 0 and {MOST_ENTRIES}")
    if kind >= 0:
        if min(len(p), len(i), len(x)) < kind:
            raise ValueError(f"{path} has {kind} triplets, but only {min(len(p), len(i), len(x))} entries")
        rows, columns = p[:kind], i[:kind]
        _require_within(path, rows, m)
        _require_within(path, columns, n)
        return csr_array(coo_array((x[:kind], (rows, columns)), shape=(m, n)))
    if kind not in (BY_COLUMNS, BY_ROWS):
        raise ValueError(f"{path}/nz is {kind}; there are -1 (by columns), -2 (by rows), and counts of triplets")
    lines, across = (n, m) if kind == BY_COLUMNS else (m, n)
    if len(p) != lines + 1 or p[0] != 0 or (np.diff(p) < 0).any() or p[-1] > min(len(i), len(x)):
        raise ValueError(
            f"{path}/p does not say where {lines} columns or rows begin among {min(len(i), len(x))} entries"
        )
    count = int(p[-1])
    _require_within(path, i[:count], across)
    made = (csc_array if kind == BY_COLUMNS else csr_array)((x[:count], i[:count], p), shape=(m, n))
    return csr_array(made)


def _require_within(path: str, indices: np.ndarray, size: int) -> None:
    """Raises ValueError for an index that is not in a matrix."""
    if ((indices < 0) | (indices >= size)).any():
        raise ValueError(f"{path} has an index outside 0 … {size - 1}")
