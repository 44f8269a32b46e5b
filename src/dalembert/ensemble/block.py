"""Members that ran in one batch, as one dataset with an axis `index`: what each recorded and how it ended.

A dataset for each would take longer to make, and its file far longer, than a short run takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..batch.result import Batch
from ..provenance import frames_hash, plain_items, versions
from ..report import energy_scale
from ..trajectory_format import VARIABLES
from .plan import Member
from .task import DONE, described

if TYPE_CHECKING:
    import xarray

AXIS = "index"
STACKED = (
    "state", "position", "orientation", "momentum", "angular_momentum", "particle_position", "particle_momentum", "kinetic",
    "potential", "balance",
)  # fmt: skip
AUDITED = ("work", "projection_loss", "constraint_work", "linear_impulse_balance", "angular_impulse_balance")
OF_CONTACT = ("contact_force", "contacts", "penetration", "contact_residual")  # which no run without contact records
ENDINGS = ("status", "error", "wall_time", "end_time", "steps", "energy_residual", "final_state_hash", "parameters")


class Row(NamedTuple):
    """A member in a block. attrs : how it ended, as those of a member's own dataset say it."""

    block: xarray.Dataset
    at: int
    attrs: Mapping[str, Any]


def make_block(batch: Batch, rows: np.ndarray, members: Sequence[Member], keep: Sequence[Any]) -> xarray.Dataset:
    """The dataset of those rows of a batch, all of which reached the end; members: whose they are."""
    import xarray

    model = batch.model
    absent = () if model.particle_count else ("particle_position", "particle_momentum")
    data: dict[str, Any] = {}
    for name in keep:
        if name in (*STACKED, *AUDITED) and name not in absent:
            variable = VARIABLES[name]
            about = {"units": variable.units, "long_name": variable.description}
            data[name] = (AXIS, *variable.dims), _values(batch, rows, name), about
    used = {axis for axes, *_ in data.values() for axis in axes}
    labels = {
        "time": ("time", batch.times, {"units": "s"}),
        "body": ("body", np.array(model.body_names, object)),
        "force": ("force", np.array(model.force_names, object)),
        "xyz": ("xyz", np.array(list("xyz"), object)),
        "wxyz": ("wxyz", np.array(list("wxyz"), object)),
        "phase": ("phase", np.arange(model.size)),
    }
    coordinates: dict[str, Any] = {axis: label for axis, label in labels.items() if axis in used}
    coordinates[AXIS] = np.array([member.index for member in members], np.int64)
    data |= {name: (AXIS, np.array(values)) for name, values in _endings(batch, rows, members).items()}
    settings, others = plain_items(batch.arguments)
    known = {"advances": [batch.duration], "settings": settings, "settings_not_kept": others, "versions": versions()}
    attrs = {"scene": model.name, "frames": batch.arguments["frames"], "provenance_json": json.dumps(known)}
    return xarray.Dataset(data, coordinates, attrs)


def members_of(dataset: xarray.Dataset) -> dict[int, Any]:
    """Index → the dataset of one member; or of a block, each of its rows."""
    if AXIS not in dataset.dims:
        return {dataset.attrs["index"]: dataset}
    endings = {name: dataset[name].values.tolist() for name in ENDINGS}
    return {
        index: Row(dataset, at, {name: values[at] for name, values in endings.items()})
        for at, index in enumerate(dataset[AXIS].values.tolist())
    }


def _values(batch: Batch, rows: np.ndarray, name: str) -> np.ndarray:
    if name in STACKED:
        return np.asarray(getattr(batch, name)[rows])
    return np.stack([batch.ledger(row)[name] for row in rows.tolist()])


def _endings(batch: Batch, rows: np.ndarray, members: Sequence[Member]) -> dict[str, list[Any]]:
    residual = batch.energy_residual[rows] / energy_scale(batch.kinetic[rows], batch.potential[rows])
    count, last = len(rows), batch.times[-1:]
    return {
        "status": [DONE] * count,
        "error": [""] * count,
        "wall_time": [batch.wall_time / len(batch)] * count,
        "end_time": batch.end_time[rows].tolist(),
        "steps": batch.steps[rows].tolist(),
        "energy_residual": np.where(np.isfinite(residual), residual, np.nan).tolist(),
        "final_state_hash": [frames_hash(last, batch.state[row, -1:]) for row in rows.tolist()],
        "parameters": [described(member, DONE, 0.0, "")["parameters"] for member in members],
    }
