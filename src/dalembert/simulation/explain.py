"""`Simulation.explain`: what failed in a run or was doubtful, where, and what to try, found from the record of the run."""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..core.status import NON_FINITE, STEP_UNDERFLOW
from ..dynamics.constraints import NOT_SOLVED
from ..dynamics.joint_space.mechanism import LIMP, TOO_FAST
from ..dynamics.mechanism import NOT_CLOSED, SINGULAR
from ..impact.resting_contact import UNSOLVED
from ..scene.joint import Joint
from .errors import culprit_of
from .stability import grows, in_place, largest_step, stiffnesses
from .state import State

DRIFT = 0.01  # of the energies of a run: a larger error of the energy is told of
WIDTH = 112


@dataclass(frozen=True)
class Finding:
    """One failure or doubtful result. what : a sentence. where : label → value, as text with units. ways : what to try,
    the most likely remedy first."""

    what: str
    where: dict[str, str]
    ways: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The result of `Simulation.explain`; print it. time : s, simulated time reached. failed : whether the run failed
    there.
    """

    scene: str
    method: str
    time: float
    failed: bool
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, Any]:
        """The findings as plain data for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        state = "failed" if self.failed else "is"
        lines = [f"{self.scene}, {self.method}: the run {state} at t = {self.time:.6g} s"]
        if not self.findings:
            lines.append("Nothing failed, and there were no warnings.")
        for finding in self.findings:
            lines += ["", *textwrap.wrap(finding.what, WIDTH)]
            left = max(map(len, finding.where), default=0) + 2
            lines += [f"  {label + ':':<{left}}{value}" for label, value in finding.where.items()]
            for way in finding.ways:
                lines += textwrap.wrap(way, WIDTH, initial_indent="  try: ", subsequent_indent="       ")
        return "\n".join(lines)


def explain_run(simulation: Any) -> Explanation:
    """See `Simulation.explain`."""
    failed = simulation._failure is not None
    found = [_of_failure(simulation)] if failed else []
    energy = list(_of_energy(simulation))
    found += [*_of_contact(simulation), *_of_joints(simulation), *energy]
    for about, message in simulation._warnings.items():
        stiff = failed and "stability limit" in message  # the finding of the failure says so
        known = about in ("contact", "joints") or (about == "energy" and (failed or energy))
        if not known and not stiff:
            found.append(_of_message(message))
    return Explanation(simulation.model.name, simulation.method, float(simulation.time), failed, tuple(found))


# A failure ------------------------------------------------------------------------------------------------------------


def _of_failure(simulation: Any) -> Finding:
    """The finding of a run that ended with a status, or because of a solver."""
    status, message = simulation._failure
    where = {"time": f"{simulation.time:.9g} s", "step": f"{float(simulation._driver.step):.3g} s"}
    cause = next((each for each in simulation.model.pointers if each.error is not None), None)
    if cause is not None:
        return _of_function(simulation, cause, message, where)
    own: Callable[..., tuple[dict[str, str], tuple[str, ...]]] | None = BY_STATUS.get(status)
    if own is None:
        return Finding(_sentence(message), where | _fastest(simulation), (_smaller_steps(simulation),))
    more, ways = own(simulation)
    return Finding(_sentence(message), where | more, tuple(way for way in ways if way))


def _of_function(simulation: Any, pointer: Any, message: str, where: dict[str, str]) -> Finding:
    """A function of the user's that raised."""
    model = simulation.model
    name = model.pointer_names[model.pointers.index(pointer)]
    frames = traceback.extract_tb(pointer.error.__traceback__)
    if frames:
        where["line"] = f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}"
    acts = model.scene.forces.get(name.split("'")[1] if "'" in name else name)
    if acts is not None:
        where["acts on"] = (
            ", ".join(end.name for end in acts.acts_on(model.scene)) if hasattr(acts, "acts_on") else name
        )
    ways = (
        f"correct the function of {name}: it must return finite numbers for every time and state that a step can try",
        "call it with the state of the last frame: run.state holds it",
    )
    return Finding(_sentence(message), where, ways)


def _not_finite(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """A state that grew without limit: the stiffest force, or the fastest body."""
    where, ways = _fastest(simulation), []
    culprit = culprit_of(simulation) if simulation.model.pointers else None
    if culprit is not None:
        where["function"] = culprit
        ways.append("make that function return finite numbers at every state")
    dt = simulation.settings["dt"]
    if dt is not None:
        for mode in stiffnesses(simulation.model, simulation.method):
            placed = in_place(simulation.model, mode)
            length = max(float(simulation.time), 100.0 * float(dt))
            if grows(simulation.method, float(dt), length, placed):
                limit = largest_step(simulation.method, length, placed)
                where["stiffest force"] = (
                    f"{mode.name!r}, ω = {placed.frequency:.3g} rad/s, δ = {placed.damping:.3g} 1/s"
                )
                ways.append(f"dt below {limit:.2g} s: at {float(dt):g} s the steps are unstable for {mode.name!r}")
                break
    ways.append(_smaller_steps(simulation))
    ways.append("check the units of masses, lengths and stiffness (kg, m, N/m) of the objects named above")
    return where, tuple(dict.fromkeys(ways))


def _underflow(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    where, ways = _not_finite(simulation)
    first = "a jump in your own force: make it smooth, or put a scene.event at the jump"
    return where, (first, "a larger rtol or atol, if you do not need this accuracy", *ways[:-1])


def _singular(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Joints that cannot be solved or closed."""
    system, names = simulation._system, simulation.model.joint_names
    rows = np.where(np.isfinite(system.error), np.abs(system.error), np.inf)
    if not len(rows):
        return {}, (_smaller_steps(simulation),)
    worst = np.maximum.reduceat(rows, np.array(system.joints.row, dtype=np.int64))
    index = int(np.argmax(worst))
    joint = simulation.model.scene.joints[names[index]]
    where = _place_of(joint) | {
        "residual": f"{worst[index]:.3g} m or rad, the error of that joint",
        "pivot": f"{float(system.settings[0].condition):.3g}, least over largest (0: redundant constraints)",
    }
    ways = (
        _smaller_steps(simulation),
        f"check the points and axes of {joint.name!r}: the bodies may have reached poses in which it cannot be closed",
        'remove redundant constraints, or pass coordinates="joint"',
    )
    return where, ways


def _limp(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    name = simulation.model.tree.freedom_names[int(simulation._mechanism.tables.options.limp[0])]
    return {"coordinate": repr(name)}, (
        f"give the body that {name!r} moves a mass, or the joint a rotor: scene.armature(joint, inertia)",
    )


def _too_fast(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    return _fastest(simulation), (_smaller_steps(simulation), "lower initial speeds, or limits of the motors")


def _no_forces(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    return _fastest(simulation), (
        'method="time_stepping", which solves the same contacts at velocity level',
        "look for contradictory contacts: a body wedged between moving obstacles",
    )


def _solver_missed(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """A step whose solver missed its tolerance, in a run with stop_unsolved=True."""
    where, ways = _contact_facts(simulation)
    return where, (*ways, "stop_unsolved=False: the run continues, and the report counts such steps")


BY_STATUS: dict[int | None, Callable[..., tuple[dict[str, str], tuple[str, ...]]]] = {
    NON_FINITE: _not_finite, STEP_UNDERFLOW: _underflow, SINGULAR: _singular, NOT_CLOSED: _singular,
    NOT_SOLVED: _singular, LIMP: _limp, TOO_FAST: _too_fast, UNSOLVED: _no_forces, None: _solver_missed,
}  # fmt: skip
"""What explains a status; None: a solver that ended the run with a sentence."""


def _fastest(simulation: Any) -> dict[str, str]:
    """The body or particle that is not finite in the step that was tried last, or else the fastest, and where it is."""
    model, driver = simulation.model, simulation._driver
    state = State(model, simulation._y, simulation.time)
    with np.errstate(all="ignore"):
        tried = State(model, driver.attempt(simulation._y), simulation.time)
        speeds = np.linalg.norm([*tried.velocity, *tried.particle_velocity], axis=1)
        places = np.array([*state.position, *state.particle_position])
    lost = np.flatnonzero(~np.isfinite(speeds))
    index = int(lost[0]) if len(lost) else int(np.argmax(speeds))
    count = len(model.body_names)
    kind = "body" if index < count else "particle"
    name = model.body_names[index] if index < count else str(index - count)
    place = ", ".join(f"{x:.4g}" for x in places[index])
    speed = "not finite" if len(lost) else f"{speeds[index]:.3g} m/s"
    return {kind: f"{name!r} at ({place}) m", "speed": speed}


def _smaller_steps(simulation: Any) -> str:
    """Smaller steps, in the terms of the method."""
    dt = simulation.settings["dt"]
    if dt is None:
        return f"a smaller rtol than {simulation.settings['rtol']:g}"
    return f"a smaller dt than {float(dt):.3g} s, such as {0.25 * float(dt):.2g} s"


def _place_of(joint: Joint) -> dict[str, str]:
    """A joint with its bodies and its point."""
    ends = " and ".join(repr(end.name) for end in dict.fromkeys(joint.bodies))
    place = ", ".join(f"{x:.4g}" for x in joint.at)
    return {"joint": f"{joint.kind} {joint.name!r} of {ends}", "point": f"({place}) m at the initial pose"}


def _sentence(message: str) -> str:
    """A message without the time, which is told beside it."""
    text = message.split(" s ", 1)[1] if message.startswith("at t = ") and " s " in message else message
    text = text.split(";", 1)[0].strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


# What was doubtful ----------------------------------------------------------------------------------------------------


def _contact_facts(simulation: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    report = simulation._driver.contact_report()
    if report is None:
        return {}, (_smaller_steps(simulation),)
    where = {"contact": report.where} if report.where else {}
    where |= {
        "residual": f"{report.residual:.3g} m/s at worst",
        "steps": f"{report.unsolved} of {report.steps} above the tolerance",
        "penetration": f"{report.penetration:.3g} m at worst",
    }
    ways = [_smaller_steps(simulation)]
    if simulation.arguments.get("iterations"):
        ways.insert(
            0, f"leave out iterations={simulation.arguments['iterations']}: without this budget every step is solved"
        )
    if report.solver == "gauss_seidel":
        ways.append('solver="converging", which solves every step to its tolerance')
    if "masses there are" in report.where:
        ways.append("masses that differ less, or the heaviest body as an obstacle")
    return where, tuple(ways)


def _of_contact(simulation: Any) -> Iterator[Finding]:
    """Steps of contact that missed their tolerance."""
    report = simulation._driver.contact_report()
    if report is None or not report.unsolved or simulation._failure is not None:
        return
    where, ways = _contact_facts(simulation)
    known = simulation._warnings.get("contact")
    yield Finding(_sentence(known or report.verdict()), where, ways)


def _of_joints(simulation: Any) -> Iterator[Finding]:
    """A joint that projection left open."""
    message = simulation._warnings.get("joints")
    if message is None:
        return
    errors = np.array(simulation.recorder.frames["joint_error"])
    index = int(np.argmax(errors[-1]))
    joint = simulation.model.scene.joints[simulation.model.joint_names[index]]
    first = int(np.argmax(errors[:, index] > 0.5 * errors[-1, index]))
    where = _place_of(joint) | {
        "residual": f"{errors[-1, index]:.3g} m",
        "since": f"{simulation.recorder.frames['time'][first]:.6g} s",
        "pivot": f"{min(simulation.recorder.frames['condition']):.3g}, the least over the largest",
    }
    ways = (
        "correct the misalignment: points and axes of a closed loop must be consistent",
        'compare with coordinates="joint"',
    )
    yield Finding(_sentence(message), where, ways)


def _of_energy(simulation: Any) -> Iterator[Finding]:
    """An energy balance that does not close."""
    frames = simulation.recorder.frames
    if len(frames["time"]) < 3 or simulation._failure is not None:
        return
    from .report import energy_scale

    ledger = simulation.recorder.ledger()
    balance = np.asarray(ledger["balance"])
    scale = float(energy_scale(ledger["kinetic"], ledger["potential"]))
    worst = float(np.abs(balance).max())
    if not worst > DRIFT * scale:
        return
    jump = int(np.argmax(np.abs(np.diff(balance))))
    start, end = frames["time"][jump], frames["time"][jump + 1]
    loss = float(np.abs(np.asarray(ledger["projection_loss"])[-1]))
    where = {
        "time": f"most of it between {start:.6g} s and {end:.6g} s",
        "error": f"{worst:.3g} J, {worst / scale:.2g} of the energies of the run",
    }
    ways = [_smaller_steps(simulation)]
    if loss > 0.5 * worst:
        where["made by"] = f"projection: {loss:.3g} J, of overlaps or open joints that were corrected"
        ways.append("start without overlaps, and with joints closed")
    known = simulation._warnings.get("energy", "the energy balance does not close")
    yield Finding(_sentence(known), where, tuple(ways))


def _of_message(message: str) -> Finding:
    """A warning as it was issued: what, and the way out after the semicolon."""
    what, _, way = message.partition("; ")
    return Finding(what[:1].upper() + what[1:] + ".", {}, (way,) if way else ())
