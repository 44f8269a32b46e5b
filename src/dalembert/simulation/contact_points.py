"""Contact points in the arrays of a trajectory: all frames one after the other, with a count and a start for each
frame.

Frames have different numbers of points. The arrays are a ragged array like those of the CF conventions (section 9.3):
axis ``contact_point`` is that of the points of all frames; along ``time``, ``contact_point_count`` says how many of
them a frame has, −1 if they were not recorded, and ``contact_point_start`` where these begin. So a part of a dataset
along ``time`` is a dataset of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_point import NO_POINTS, POINT, Contact
from .trajectory import VARIABLES

if TYPE_CHECKING:
    import xarray

AXIS = "contact_point"
COUNT, START = "contact_point_count", "contact_point_start"
NOT_KEPT = -1
# Column of `POINT` → its variable, see `trajectory.VARIABLES`
COLUMNS = {column: f"contact_point_{column}" for column in POINT.names or ()}


def joined(frames: Sequence[Any]) -> dict[str, np.ndarray]:
    """The variables of the points of all frames; None for a frame whose points were not kept."""
    kept = [points for points in frames if points is not None]
    rows = np.concatenate([NO_POINTS, *kept]).view(np.ndarray)
    found = {name: rows[column] for column, name in COLUMNS.items()}
    counts = np.array([NOT_KEPT if points is None else len(points) for points in frames], np.int32)
    ends = np.cumsum(np.maximum(counts, 0))
    return {COUNT: counts, START: ends - np.maximum(counts, 0), **found}


def impossible(dataset: xarray.Dataset) -> str | None:
    """What cannot be of the contact points of a dataset whose shapes are right; None if nothing is."""
    names = (COUNT, START, *COLUMNS.values())
    missing = [name for name in names if name not in dataset]
    if len(missing) == len(names):
        return None
    if missing:
        return f"it has contact points without {', '.join(missing)}"
    counts, starts, number = dataset[COUNT].values, dataset[START].values, dataset.sizes[AXIS]
    for name, values, least in ((COUNT, counts, NOT_KEPT), (START, starts, 0)):
        if not ((values >= least) & (values <= number) & (values == np.round(values))).all():
            return f"{name!r} must be whole numbers from {least} to {number}, the number of contact points"
    held = np.maximum(counts, 0).astype(np.int64)
    if held.sum() > number or (starts.astype(np.int64) + held > number).any():
        return f"{COUNT!r} and {START!r} say that there are more than {number} contact points"
    owners = dataset.sizes["body"] + dataset.sizes.get("obstacle", 0)
    for name, most in (("contact_point_a", owners), ("contact_point_b", owners), ("contact_point_manifold", np.inf)):
        values = dataset[name].values
        if not ((values >= 0) & (values < most) & (values == np.round(values))).all():
            return f"{name!r} must be whole numbers from 0" + (f" to {owners - 1}" if np.isfinite(most) else "")
    norms = np.linalg.norm(dataset["contact_point_normal"].values, axis=1)
    if norms.size and np.abs(norms - 1.0).max() > 1e-3:
        return f"a contact normal has length {norms[np.argmax(np.abs(norms - 1.0))]:g}"
    return None


class RecordedPoints:
    """The contact points of a trajectory. Raises KeyError for one without.

    rows : (points,) `POINT` of its frames, one frame after the other. starts : (frames + 1,), of each frame. kept :
    (frames,), whether its points were kept. names : of bodies, then of obstacles.
    """

    def __init__(self, dataset: xarray.Dataset) -> None:
        if COUNT not in dataset:
            raise KeyError(
                "the run has no contact points: they are recorded if bodies have a material, unless contact_points=False"
            )
        counts = dataset[COUNT].values.astype(np.int64)
        self.times: np.ndarray = dataset["time"].values
        self.kept: np.ndarray = counts >= 0
        held = np.maximum(counts, 0)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(held)])
        at = np.arange(int(self.starts[-1])) + np.repeat(
            dataset[START].values.astype(np.int64) - self.starts[:-1], held
        )
        self.rows: Any = np.zeros(len(at), POINT).view(np.recarray)
        for column, name in COLUMNS.items():
            self.rows[column] = dataset[name].values[at]
        axes = ("body", "obstacle")
        self.names: list[str] = [str(name) for axis in axes if axis in dataset.coords for name in dataset[axis].values]

    def of_frame(self, index: int) -> Any:
        """The rows of one frame."""
        return self.rows[self.starts[index] : self.starts[index + 1]]

    def frame_of_row(self) -> np.ndarray:
        """(points,) the frame that each point is of."""
        return np.repeat(np.arange(len(self.kept)), np.diff(self.starts))

    def number(self, name: str) -> int:
        """The number of a body or obstacle. Raises KeyError."""
        if name not in self.names:
            raise KeyError(f"there is no body or obstacle {name!r}; there are {', '.join(self.names[:20]) or 'none'}")
        return self.names.index(name)

    def force_between(self, a: str, b: str) -> np.ndarray:
        """(frames, 3) N, on b from a; NaN for frames whose points were not kept. Raises KeyError and ValueError."""
        one, two = self.number(a), self.number(b)
        if one == two:
            raise ValueError(f"{a!r} is given twice; give two bodies or obstacles")
        forces = np.zeros((len(self.kept), 3))
        frames = self.frame_of_row()
        for first, second, sign in ((one, two, 1.0), (two, one, -1.0)):
            rows = (self.rows.a == first) & (self.rows.b == second)
            np.add.at(forces, frames[rows], sign * self.rows.force[rows])
        forces[~self.kept] = np.nan
        return forces

    def pairs(self) -> dict[tuple[str, str], float]:
        """Names of each two that touched → the largest force between them in any frame, N; the largest first."""
        rows = self.rows
        low, high = np.minimum(rows.a, rows.b).astype(np.int64), np.maximum(rows.a, rows.b).astype(np.int64)
        count, frames = len(self.names), self.frame_of_row()
        keys, group = np.unique(np.stack([low * count + high, frames]), axis=1, return_inverse=True)
        sums = np.zeros((keys.shape[1], 3))
        np.add.at(sums, group.reshape(-1), np.where(rows.a <= rows.b, 1.0, -1.0)[:, None] * rows.force)
        largest: dict[int, float] = {}
        for key, size in zip(keys[0].tolist(), np.linalg.norm(sums, axis=1).tolist(), strict=True):
            largest[key] = max(largest.get(key, 0.0), size)
        ordered = sorted(largest.items(), key=lambda item: -item[1])
        return {(self.names[key // count], self.names[key % count]): size for key, size in ordered}

    def listed(self, index: int) -> list[Any]:
        """The points of one frame as `Contact`s."""
        return [
            Contact(
                self.names[row.a], self.names[row.b], row.position.copy(), row.normal.astype(float), float(row.separation),
                row.force.copy(),
            )
            for row in self.of_frame(index)
        ]  # fmt: skip

    def dataset(self) -> xarray.Dataset:
        """All points with the time of their frame and the names of what touches, along axis ``contact_point``."""
        import xarray

        names = np.array(self.names, object)
        data: dict[str, Any] = {
            "time": (AXIS, self.times[self.frame_of_row()], {"units": "s"}),
            "a": (AXIS, names[self.rows.a], {"long_name": "name of the first body or obstacle"}),
            "b": (AXIS, names[self.rows.b], {"long_name": "name of the second"}),
        }
        for column, name in COLUMNS.items():
            if column not in data:
                about = {"units": VARIABLES[name].units, "long_name": VARIABLES[name].description}
                data[column] = (VARIABLES[name].dims, self.rows[column], about)
        return xarray.Dataset(data, coords={"xyz": ("xyz", np.array(list("xyz"), object))})
