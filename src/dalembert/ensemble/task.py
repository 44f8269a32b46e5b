"""One member of a sweep, run: what it recorded, what was measured, and what went wrong, as one dataset."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import SimulationError
from ..provenance import plain_items, provenance
from ..simulate import Simulation
from ..simulation.registry import override
from ..sources import Source, reason
from ..trajectory_file import encode
from ..trajectory_format import VARIABLES
from .plan import Member

if TYPE_CHECKING:
    import xarray

DONE, FAILED, DIED = "done", "failed", "died"


class Answer(NamedTuple):
    """What came of a member: its dataset and, where it is to be kept on disk, the bytes of its file."""

    dataset: xarray.Dataset
    file: bytes | None = None


@dataclass(frozen=True)
class Task:
    """What the members of a sweep have in common.

    keep: names of recorded quantities, functions of the run, and names of functions that the source has.
    stored: whether members are kept on disk; they are encoded where they run, as that takes as long as a short run.
    """

    source: Source
    keep: tuple[str | Callable[[Simulation], Any], ...]
    stored: bool = False

    def begin(self, member: Member) -> Simulation:
        """The run of a member, at its start. Raises ValueError."""
        settings = self.settings(member)
        settings.pop("duration")
        return Simulation(self.source.scene(**member.parameters), **settings)

    def settings(self, member: Member) -> dict[str, Any]:
        """All settings of a member: the source's, and over these its own."""
        return override(self.source.settings, member.settings)

    def run(self, member: Member) -> Answer:
        """Run a member from start to end. Whatever goes wrong is told in the dataset; KeyboardInterrupt alone is raised."""
        dataset = self.dataset(member)
        return Answer(dataset, encode(dataset) if self.stored else None)

    def dataset(self, member: Member) -> xarray.Dataset:
        """Run a member from start to end; what came of it."""
        start, simulation, failed = time.perf_counter(), None, None
        try:
            simulation = self.begin(member)
            simulation.advance(self.settings(member)["duration"])
        except (Exception, SystemExit) as error:
            failed = error
        return self.end(member, simulation, time.perf_counter() - start, failed)

    def end(
        self, member: Member, simulation: Simulation | None, wall_time: float, failed: BaseException | None = None
    ) -> xarray.Dataset:
        """The dataset of a member that was run, or that failed; what was recorded up to then is in it."""
        import xarray

        data: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        facts: dict[str, Any] = {}
        if simulation is not None:
            try:
                facts = self._recorded(simulation, coordinates, data)
                measured = {} if failed is not None else self._measured(simulation)
                if measured:
                    xarray.Dataset(data | measured, coordinates)  # raises where they do not fit together
                    data |= measured
            except (Exception, SystemExit) as error:
                failed = failed or error
        attrs = described(member, DONE if failed is None else FAILED, wall_time, self._why(failed), failed)
        return xarray.Dataset(data, coordinates, {**attrs, **facts})

    def _recorded(self, simulation: Simulation, coordinates: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Add the recorded quantities that are to be kept, with coordinates; returns attributes that say what was run."""
        names = [each for each in self.keep if isinstance(each, str) and each in VARIABLES]
        if not names:
            return _facts(simulation, simulation.report.as_dict(), provenance(simulation))
        trajectory = simulation.trajectory
        recorded = trajectory.dataset
        chosen = recorded[[name for name in names if name in recorded]]
        coordinates |= {str(name): array for name, array in chosen.coords.items()}
        data |= {str(name): array for name, array in chosen.data_vars.items()}
        return _facts(simulation, trajectory.report, trajectory.provenance)

    def _measured(self, simulation: Simulation) -> dict[str, Any]:
        """What functions say of a finished run."""
        found: dict[str, Any] = {}
        for each in self.keep:
            if callable(each):
                found |= _measured(each, simulation)
            elif each not in VARIABLES:
                found |= _measured(self.source.names[each], simulation)
        return found

    def _why(self, error: BaseException | None) -> str:
        if error is None:
            return ""
        plainly = isinstance(error, SimulationError | ValueError)
        return str(error) if plainly and str(error) else reason(error, self.source.name)


def pack(task: Task) -> bytes:
    """A task as bytes for another process. Raises RuntimeError where it holds what cannot be sent."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(task))
    except Exception as error:
        raise RuntimeError(f"the scene cannot be sent to another process ({error}); use how='serial'") from error


def described(
    member: Member, status: str, wall_time: float, why: str, error: BaseException | None = None
) -> dict[str, Any]:
    """Attributes of a member's dataset: who it is, how it ended."""
    attrs: dict[str, Any] = {"index": member.index, "status": status, "error": why, "wall_time": wall_time}
    for key, values in (("parameters", member.parameters), ("settings", member.settings)):
        kept, others = plain_items(values)
        attrs[key] = json.dumps(kept | others)
    if error is not None:
        attrs["traceback"] = "".join(traceback.format_exception(error))
    return {key: _clean(value) if isinstance(value, str) else value for key, value in attrs.items()}


def _clean(text: str) -> str:
    """Text that a file can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _facts(simulation: Simulation, report: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that say what was run, and how well."""
    return {
        "scene": simulation.model.name,
        "end_time": float(simulation.recorder.frames["time"][-1]),
        "steps": report["steps"],
        "energy_residual": np.nan if report["energy_residual_relative"] is None else report["energy_residual_relative"],
        "frames": simulation.frames,
        "final_state_hash": found["final_state_hash"],
        "provenance_json": json.dumps(found),
    }


def _measured(function: Callable[[Simulation], Any], simulation: Simulation) -> dict[str, Any]:
    """What a function of the user's says of a run: a number, an array, or several by name."""
    import xarray

    name = getattr(function, "__name__", type(function).__name__)
    try:
        values = function(simulation)
    except Exception as error:
        raise RuntimeError(f"the function {name!r} failed: {type(error).__name__}: {error}") from error
    found: dict[str, Any] = {}
    for key, value in (values if isinstance(values, Mapping) else {name: values}).items():
        if key in VARIABLES:
            raise ValueError(f"the function {name!r} returns {key!r}, which is the name of a recorded quantity")
        if isinstance(value, xarray.DataArray) and value.dtype.kind in "biuf":
            found[str(key)] = value.reset_coords(drop=True)
            continue
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError):
            raise ValueError(f"the function {name!r} returns {value!r:.80} for {key!r}; numbers can be kept") from None
        found[str(key)] = ([f"{key}_{axis}" for axis in range(array.ndim)], array)
    return found
