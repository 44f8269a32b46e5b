"""What a batch recorded: labelled arrays, member × time × body, and how each member ended."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanics.dynamics import SINGULAR, USER_FUNCTION
from ..mechanics.projection import NOT_CLOSED
from ..model.tables import STATE_SIZE
from ..recording import ledger, work_done
from ..simulate import Simulation
from ..status import MESSAGES, OK
from ..trajectory_format import VARIABLES
from .tables import (
    APART_AT_START,
    CANNOT_CLOSE,
    DEPENDENT,
    INTERRUPTED,
    NOT_RUN,
    OPEN_AT_START,
)
from .threads import Record
from .workspace import Member, Varied, Workspace

if TYPE_CHECKING:
    import xarray

REASONS = {
    **MESSAGES,
    NOT_RUN: "was not run, as the batch was interrupted before",
    INTERRUPTED: "was interrupted",
    OPEN_AT_START: "a joint is open at the start",
    APART_AT_START: "a joint moves apart at the start",
    CANNOT_CLOSE: "the joints cannot be closed at the start",
    DEPENDENT: "its joints depend on each other at the start, and those of the first member do not; run it alone",
    SINGULAR: "the constraint system cannot be solved",
    USER_FUNCTION: "a function of the scene failed",
    NOT_CLOSED: "the joints cannot be closed",
}
ENDINGS = {"status": "1", "frames": "1", "steps": "1", "rejected": "1", "evaluations": "1", "end_time": "s"}


class Batch:
    """Runs of m members of one scene, recorded at f instants; SI units. Made by `run_batch`.

    A member that failed keeps what it recorded; its arrays are NaN from there on.

    times : (f,) s. state : (m, f, n), the state vectors.
    position : (m, f, bodies, 3) m, a view on them, as are orientation (m, f, bodies, 4) (w, x, y, z), momentum and
        angular_momentum (m, f, bodies, 3), particle_position and particle_momentum (m, f, particles, 3).
    kinetic, potential : (m, f) J.
    joint_error, joint_velocity_error : (m, f) m and m/s, of the worst joint.
    status : (m,), 0 where all went well.
    frames, steps, rejected, evaluations : (m,), what each recorded and counted. end_time : (m,) s, where it ended.
    duration, wall_time : of a run, and of the batch, s. threads : how many ran. interrupted : whether Ctrl-C ended the batch.
    """

    def __init__(
        self, template: Workspace, settings: dict[str, Any], varied: list[Varied], kept: list[Any], record: Record,
        duration: float, wall_time: float, interrupted: bool, threads: int,
    ) -> None:  # fmt: skip
        self._settings, self._varied, self._kept = settings, varied, kept
        self.model, self.settings, self.arguments = template.model, template.settings, template.arguments
        self.duration = duration
        self.wall_time, self.interrupted, self.threads = wall_time, interrupted, threads
        outcomes = record.outcomes
        members = len(outcomes)
        self.status, self.frames = outcomes.status, outcomes.frames
        self.steps, self.rejected, self.evaluations = outcomes.steps, outcomes.rejected, outcomes.evaluations
        self.end_time = outcomes.end
        rows = int(self.frames.max(initial=0))
        self.times = record.times[:rows]
        self.state = record.states[:, :rows]
        self.kinetic, self.potential = record.energies[:, :rows, 0], record.energies[:, :rows, 1]
        self.joint_error, self.joint_velocity_error = record.errors[:, :rows], record.error_rates[:, :rows]
        for member in np.flatnonzero(self.frames < rows):
            for array in (self.state, self.kinetic, self.potential, self.joint_error, self.joint_velocity_error):
                array[member, self.frames[member] :] = np.nan
        bodies, particles = len(self.model.body_names), self.model.particle_count
        parts = self.state[..., : STATE_SIZE * bodies].reshape(members, rows, bodies, STATE_SIZE)
        self.position, self.orientation = parts[..., 0:3], parts[..., 3:7]
        self.momentum, self.angular_momentum = parts[..., 7:10], parts[..., 10:13]
        points = self.state[..., self.model.particle_block].reshape(members, rows, 2, particles, 3)
        self.particle_position, self.particle_momentum = points[:, :, 0], points[:, :, 1]

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        span = f"{self.times[-1]:g} s" if len(self.times) else "nothing"
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return f"<Batch of {len(self)} × {self.model.name!r}: {span}, {len(self.times)} instants{failed}>"

    @property
    def ok(self) -> np.ndarray:
        """(m,) whether each member reached the end."""
        return self.status == OK

    @property
    def failed(self) -> np.ndarray:
        """Numbers of the members that did not reach the end."""
        return np.flatnonzero(self.status != OK)

    @cached_property
    def balance(self) -> np.ndarray:
        """(m, f) J: the error of the energy: what it changed by since the start beside the work of the forces."""
        earned = self.kinetic + self.potential - work_done(self.model, self.state)
        return earned - earned[:, :1]

    @property
    def energy_residual(self) -> np.ndarray:
        """(m,) J: the largest |balance| of each member; NaN where nothing was recorded."""
        return _worst(self.balance)

    @property
    def worst_joint_error(self) -> np.ndarray:
        """(m,) m: the largest joint error of each member; NaN where nothing was recorded."""
        return _worst(self.joint_error)

    def ledger(self, member: int) -> dict[str, np.ndarray]:
        """The audit of what a member recorded, frame by frame; see `Trajectory` for the names and units."""
        rows = int(self.frames[member])
        energies = np.stack([self.kinetic[member, :rows], self.potential[member, :rows]], axis=1)
        return ledger(self.model, self.state[member, :rows], energies)

    def reason(self, member: int) -> str:
        """In a few words how a member ended; `error` says more."""
        code = int(self.status[member])
        return f"member {member}: {REASONS.get(code, f'status {code}')} (t = {self.end_time[member]:.6g} s)"

    def alone(self, member: int) -> Simulation:
        """The run of one member by itself, at its start, of the same bits: for all else that a `Simulation` tells.

        Raises IndexError, and what a `Simulation` raises where it cannot start.
        """
        if not -len(self) <= member < len(self):
            raise IndexError(f"there is no member {member}; there are {len(self)}")
        return Member(self.model, self._settings, self._varied, member)

    def error(self, member: int) -> Exception | None:
        """The exception that ends the run of a member by itself, found by running it; None where it goes well."""
        try:
            self.alone(member).advance(float(self.times[-1]) if len(self.times) > 1 else 1.0)
        except (RuntimeError, ValueError) as error:
            return error
        return None

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All of it as an `xarray.Dataset` with axes member, time, body and so on, with units."""
        import xarray

        names = [name for name in VARIABLES if name in ARRAYS and hasattr(self, name)]
        data: dict[str, Any] = {}
        for name in names:
            variable, array = VARIABLES[name], getattr(self, name)
            axes = ("member", *(axis for axis in variable.dims if axis != "joint"))
            data[name] = axes, array, {"units": variable.units, "long_name": variable.description}
        for name, unit in ENDINGS.items():
            data[name] = ("member",), np.asarray(getattr(self, name)), {"units": unit}
        labels = {"time": ("time", self.times, {"units": "s"}), "body": list(self.model.body_names), "xyz": list("xyz")}
        return xarray.Dataset(data, coords={**labels, "wxyz": list("wxyz")}, attrs={"scene": self.model.name})

    def __str__(self) -> str:
        residual, errors = self.energy_residual, self.worst_joint_error
        lines = [
            ("scene", f"{self.model.name}, {self.settings['method']}, {len(self)} members on {self.threads} threads"),
            ("wall time", f"{self.wall_time:.4g} s, {1e3 * self.wall_time / len(self):.4g} ms a member"),
            ("steps", f"{int(self.steps.sum())} accepted, {int(self.rejected.sum())} rejected"),
            ("energy error", f"{_largest(residual):.3g} J at worst"),
            ("worst joint error", f"{_largest(errors):.3g} m"),
            ("failed", f"{len(self.failed)} of {len(self)}"),
            *(("", self.reason(int(member))) for member in self.failed[:5]),
        ]
        return "\n".join(f"{name:<24}  {value}" for name, value in lines)


ARRAYS = (
    "state", "position", "orientation", "momentum", "angular_momentum", "particle_position", "particle_momentum", "kinetic",
    "potential", "balance", "joint_error", "joint_velocity_error",
)  # fmt: skip


def _worst(values: np.ndarray) -> np.ndarray:
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    known = np.isfinite(values)
    return np.where(known.any(axis=1), np.abs(np.where(known, values, 0.0)).max(axis=1), np.nan)


def _largest(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")
