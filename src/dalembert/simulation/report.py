"""The report of a run: simulated time, speed, errors, and times of the stages."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..contact.time_stepping import ContactReport
from ..core.notebook import block, lines, title
from ..deformable.tables import ParticleReport
from ..model.tables import STAGES
from .constraint_system import SolverReport
from .recording import unexplained_energy

WARNING, UNSOLVED = "warning", "not solved"  # names of rows
LONG = (WARNING, UNSOLVED)  # rows of sentences, broken into lines
YELLOW, PLAIN = "\x1b[33m", "\x1b[0m"


@dataclass(frozen=True)
class Report:
    """The results of one run in numbers, in SI units. `str(report)` is the table, `as_dict` the same for programs."""

    scene: str
    method: str
    simulated_time: float  # s
    wall_time: float  # s
    real_time_factor: float  # simulated time over wall time
    steps: int
    rejected: int  # steps whose error was too large
    evaluations: int  # of the derivative
    time_per_step: float  # s
    energy_start: float
    energy_end: float
    energy_scale: float  # J, reference of relative residuals
    energy_residual: float  # error of the energy, |E − E₀ − Σ W|: worst over the frames, J
    energy_residual_relative: float  # relative to energy_scale
    integration_error: float  # J, its part without those of constraints and projection: worst over the frames
    work: dict[str, float]  # J, of each non-conservative force
    constraint_work: float  # J, an error unless constraints move
    projection_loss: float  # J, an error
    moving_constraints: (
        bool  # whether coordinates of the user's depend on time, so that what holds the bodies does work
    )
    momentum_residual: float  # worst over the frames, kg m/s
    angular_momentum_residual: float  # kg m²/s, about the origin
    joint_error: float  # worst over the frames, m
    joint_velocity_error: float  # worst over the frames, m/s
    worst_joint: str  # its name
    redundant: bool  # whether constraints are redundant
    condition: float  # of the constraint system: its least ratio of pivots, 0 for redundant constraints
    stages: dict[str, float]  # s spent in each
    solver: SolverReport | Any  # of the constraint system, if it is iterative; else None
    not_solved: str  # contact steps that missed their tolerance, as a sentence; empty if there were none
    contact: ContactReport | Any  # if bodies collide; else None
    particles: ParticleReport | Any  # if they have their own time steps; else None
    slow_functions: list[str]  # user functions in plain Python
    interrupted: bool  # by Ctrl-C
    warnings: list[str]  # each was also issued as a SimulationWarning
    step_choice: str = ""  # the fixed step and the reason, if the run chose it

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; non-finite numbers become None."""
        values = asdict(self)
        return {key: _plain(value) for key, value in values.items()}

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the table."""
        lines = [
            ("scene", f"{self.scene}, {self.method}" + (" (interrupted)" if self.interrupted else "")),
            *([(UNSOLVED, self.not_solved)] if self.not_solved else []),
            *((WARNING, message) for message in self.warnings),
            *([("time step", self.step_choice)] if self.step_choice else []),
            ("simulated time", f"{self.simulated_time:.6g} s"),
            ("wall time", f"{self.wall_time:.4g} s  ({self.real_time_factor:.4g} × real time)"),
            ("steps", f"{self.steps} accepted, {self.rejected} rejected, {self.time_per_step * 1e6:.3g} µs each"),
            ("energy error", f"{self.energy_residual:.3g} J  ({self.energy_residual_relative:.3g} relative)"),
            ("  of projection", f"{0.0 - self.projection_loss:.3g} J"),
        ]
        if not self.moving_constraints:
            lines.append(("  of constraints", f"{self.constraint_work:.3g} J"))
        lines += [
            ("  of the integration", f"{self.integration_error:.3g} J"),
            ("energy", f"{self.energy_start:.9g} J → {self.energy_end:.9g} J"),
        ]
        lines += [(f"  work of {name}", f"{value:.6g} J") for name, value in list(self.work.items())[:12]]
        if self.moving_constraints:
            lines.append(("  work of moving coordinates", f"{self.constraint_work:.6g} J"))
        lines += [
            ("momentum balance residual",
             f"{self.momentum_residual:.3g} kg m/s, {self.angular_momentum_residual:.3g} kg m²/s"),
        ]  # fmt: skip
        if self.worst_joint:
            lines.append(
                ("worst joint error",
                 f"{self.joint_error:.3g} m, {self.joint_velocity_error:.3g} m/s  ({self.worst_joint})")
            )  # fmt: skip
            rank = "redundant constraints, resolved" if self.redundant else f"pivot ratio {self.condition:.3g}"
            lines.append(("constraint system", rank if self.solver is None else str(self.solver)))
        if self.contact is not None:
            lines += [
                ("worst penetration", f"{self.contact.penetration:.3g} m"),
                ("contact residual",
                 f"{self.contact.residual:.3g} m/s at worst ({self.contact.solver}; above its tolerance in "
                 f"{self.contact.unsolved} steps)"),
            ]  # fmt: skip
        if self.particles is not None:
            lines += self.particles.rows(self.steps)
        total = sum(self.stages.values())  # zero where the stages are not timed
        if total > 0.0:
            lines += [
                (f"  {name}", f"{value:.4g} s  ({100 * value / total:.0f} %)") for name, value in self.stages.items()
            ]
        if self.slow_functions:
            lines.append(("plain Python in the loop", ", ".join(self.slow_functions) + " (compile them: numba.njit)"))
        return lines

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return block(title(f"Report of {self.scene!r}"), lines(self.rows(), LONG))

    def table(self, width: int = 120, color: bool = False) -> str:
        """The table as text. Warnings are wrapped to `width` characters, and yellow if `color` is true."""
        rows = self.rows()
        left = max(len(name) for name, _ in rows) + 2
        lines = []
        for name, value in rows:
            if name not in LONG:
                lines.append(f"{name:<{left}}{value}")
                continue
            found = textwrap.wrap(value, max(width - left, 30), break_long_words=False, break_on_hyphens=False)
            text = f"\n{'':{left}}".join(found)
            lines.append(f"{YELLOW}{name:<{left}}{text}{PLAIN}" if color else f"{name:<{left}}{text}")
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def make_report(simulation: Any) -> Report:
    """The report of a `Simulation`, from its frames, its clock and its counters."""
    ledger = simulation.recorder.ledger()
    frames = simulation.recorder.frames
    counts, system = simulation._driver.counts, simulation._system
    energy = ledger["kinetic"] + ledger["potential"]
    scale = float(energy_scale(ledger["kinetic"], ledger["potential"]))
    errors = np.array(frames["joint_error"])
    rates = np.array(frames["joint_velocity_error"])
    joint = ""
    if errors.size:
        joint = simulation.model.joint_names[int(np.argmax(errors.max(axis=0)))]
    simulated = float(frames["time"][-1] - frames["time"][0])
    residual = float(np.abs(ledger["balance"]).max())
    moving = simulation.recorder.moving
    energies = np.array(frames["energies"])
    unexplained = unexplained_energy(simulation.model, np.array(frames["state"]), energies)
    steps, contact = counts["steps"], simulation._driver.contact_report()
    return Report(
        scene=simulation.model.name,
        method=simulation.method,
        simulated_time=simulated,
        wall_time=simulation.wall_time,
        real_time_factor=simulated / simulation.wall_time if simulation.wall_time > 0.0 else 0.0,
        steps=steps,
        rejected=counts["rejected"],
        evaluations=counts["evaluations"],
        time_per_step=simulation.kernel_time / max(steps, 1),
        energy_start=float(energy[0]),
        energy_end=float(energy[-1]),
        energy_scale=scale,
        energy_residual=residual,
        energy_residual_relative=residual / scale,
        integration_error=float(np.abs(unexplained - unexplained[0]).max()),
        work={name: float(w) for name, w in zip(simulation.model.force_names, ledger["work"][-1], strict=True)},
        constraint_work=float(ledger["constraint_work"][-1]),
        projection_loss=float(ledger["projection_loss"][-1]),
        moving_constraints=moving,
        momentum_residual=float(np.abs(ledger["linear_impulse_balance"]).max()),
        angular_momentum_residual=float(np.abs(ledger["angular_impulse_balance"]).max()),
        joint_error=float(errors.max(initial=0.0)),
        joint_velocity_error=float(rates.max(initial=0.0)),
        worst_joint=joint,
        redundant=bool(system.settings[0].deficient),
        condition=float(min(frames["condition"])),
        stages=stage_times(simulation),
        solver=None if simulation._constraint_solver is None else simulation._constraint_solver.report(),
        not_solved="" if contact is None else contact.verdict(),
        contact=contact,
        particles=simulation._driver.particle_report(),
        slow_functions=list(simulation.model.slow),
        interrupted=simulation.interrupted,
        warnings=list(simulation.warnings),
        step_choice=str(simulation.settings.get("dt_chosen", "")),
    )


def energy_scale(kinetic: np.ndarray, potential: np.ndarray) -> np.ndarray:
    """The scale of energies for relative residuals, J; the last axis of the arguments is time."""
    start = np.abs(kinetic[..., 0] + potential[..., 0])
    return np.maximum(np.maximum(np.ptp(kinetic, axis=-1), np.abs(kinetic).max(axis=-1)), np.maximum(start, 1e-300))


def stage_times(simulation: Any) -> dict[str, float]:
    """Stage of a step → s that a `Simulation` spent in it; all zero for methods without stage timers."""
    timer = simulation._driver.timer or dict(zip(STAGES, simulation._system.timer.tolist(), strict=False))
    per_count = simulation.kernel_time / sum(timer.values()) if sum(timer.values()) > 0.0 else 0.0
    return {name: float(count * per_count) for name, count in timer.items()}
