"""Who the members of a sweep are: a product grid of parameters, or samples, each with a seed of its own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..sources import Source
from ..trajectory_format import VARIABLES

MEMBER, REPEAT = "member", "repeat"
SUMMARY = ("status", "error", "wall_time", "end_time", "steps", "energy_residual", "final_state_hash", "seed")
TAKEN = {*VARIABLES, *SUMMARY, MEMBER, REPEAT, "time", "body", "joint", "force", "particle", "phase", "xyz", "wxyz"}
MOST_MEMBERS = 10_000_000


@dataclass(frozen=True)
class Member:
    """One run of a sweep: parameters of build() and settings of `Simulation`, with the duration (s)."""

    index: int
    parameters: dict[str, Any]
    settings: dict[str, Any]
    seed: int | None


@dataclass(frozen=True)
class Plan:
    """The members of a sweep, and how the dataset of all of them is labelled.

    axes: axis → its labels, the members in the order of their product; columns: name → a value for each label of an axis.
    """

    members: list[Member]
    axes: dict[str, np.ndarray]
    columns: dict[str, tuple[tuple[str, ...], np.ndarray]]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.axes.values())


def make_plan(
    source: Source, over: Any, settings: Mapping[str, Any], known: Sequence[str], seed: int, repeat: int
) -> Plan:
    """The members of a sweep over a grid (mapping of name → values) or samples (a table, or a sequence of mappings).

    settings: those of all members; known: names of all settings there are. Raises ValueError for names that neither build()
    nor `Simulation` knows, and for values that are no grid.
    """
    samples = _records(over)
    if samples is None:
        fixed, varied = _grid(over)
        axes = {_axis(name): _labels(values) for name, values in varied.items()}
        columns: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            _axis(name): ((), _labels([value])[0:1].reshape(())) for name, value in fixed.items()
        }
        choices: Iterable[dict[str, Any]] = (
            fixed | dict(zip(varied, values, strict=True)) for values in product(*varied.values())
        )
        names = [*fixed, *varied]
    else:
        names, choices = list(samples[0]), samples
        axes = {MEMBER: np.arange(len(samples))}
        columns = {_axis(name): ((MEMBER,), _labels([sample[name] for sample in samples])) for name in names}
    if not isinstance(repeat, int) or repeat < 1:
        raise ValueError(f"repeat is {repeat!r}; give a whole number from 1 on")
    if repeat > 1:
        if not source.takes("seed") or "seed" in names:
            raise ValueError(
                f"repeat is {repeat}, but build() of {source.name} is given no seed: all would be the same"
            )
        axes[REPEAT] = np.arange(repeat)
    count = math.prod(len(labels) for labels in axes.values())
    if count > MOST_MEMBERS:
        raise ValueError(f"the sweep has {count} members, at most {MOST_MEMBERS}")
    _require_known(source, names, known)
    seeded = source.takes("seed") and "seed" not in names
    seeds: list[int | None] = [*member_seeds(seed, count)] if seeded else [None] * count
    members = []
    repeated = ({**choice} for choice in choices for _ in range(repeat))
    for index, (choice, own) in enumerate(zip(repeated, seeds, strict=True)):
        parameters, changed = _split(source, choice, known)
        if own is not None:
            parameters["seed"] = own
        given = parameters.get("seed")
        members.append(Member(index, parameters, {**settings, **changed}, given if isinstance(given, int) else None))
    if seeded:
        columns["seed"] = (tuple(axes), np.array(seeds, np.int64).reshape([len(labels) for labels in axes.values()]))
    return Plan(members, axes, columns)


def member_seeds(seed: int, count: int) -> list[int]:
    """Independent seeds of 63 bits, all derived from one by NumPy's SeedSequence. Raises ValueError."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}; give a whole number from 0 on")
    root = np.random.SeedSequence(int(seed))
    return [int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)) for child in root.spawn(count)]


def _records(over: Any) -> list[dict[str, Any]] | None:
    """The samples, one mapping each; None for a grid. Raises ValueError."""
    if isinstance(over, Mapping):
        return None
    if hasattr(over, "to_dicts"):  # polars
        found = over.to_dicts()
    elif hasattr(over, "to_dict") and hasattr(over, "columns"):  # pandas
        found = over.to_dict("records")
    elif isinstance(over, Iterable) and not isinstance(over, str | bytes):
        found = list(over)
    else:
        raise ValueError(f"over is {over!r:.80}; give a mapping of name → values, or a table or list of samples")
    if not found:
        raise ValueError("there are no samples")
    for i, sample in enumerate(found):
        if not isinstance(sample, Mapping):
            raise ValueError(f"sample {i} is {sample!r:.80}; give a mapping of name → value")
        odd = set(sample) ^ set(found[0])
        if odd:
            raise ValueError(
                f"sample {i} and sample 0 do not name the same parameters: {', '.join(map(str, sorted(odd)))}"
            )
    return [{str(key): _python(value) for key, value in sample.items()} for sample in found]


def _grid(over: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """(names that have one value, names that have several). Raises ValueError."""
    fixed, varied = {}, {}
    for name, values in over.items():
        if (
            isinstance(values, str | bytes | Mapping)
            or not isinstance(values, Iterable)
            or getattr(values, "ndim", 1) == 0
        ):
            fixed[str(name)] = _python(values)
            continue
        found = [_python(value) for value in values]
        if not found:
            raise ValueError(f"{name!r} has no values to vary over")
        twice = next(
            (value for i, value in enumerate(found) if any(value is v or _same(value, v) for v in found[:i])), None
        )
        if twice is not None:
            raise ValueError(f"{name!r} has the value {twice!r} twice")
        varied[str(name)] = found
    return fixed, varied


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, int | float | str) and one == other


def _python(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _labels(values: Sequence[Any]) -> np.ndarray:
    """Numbers as numbers, all else as text."""
    if all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else f"{value!r:.200}" for value in values], object)


def _axis(name: str) -> str:
    """What a parameter is called in the dataset."""
    return f"parameter_{name}" if name in TAKEN - {"seed"} else name


def _require_known(source: Source, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError unless every name is one of build() or of a setting, and all that build() needs is given."""
    for name in names:
        if not (source.takes(name) or name in known):
            own = ", ".join(source.parameters()) or "none"
            raise ValueError(
                f"{source.name} has no parameter {name!r}; build() takes {own}, and the settings of a run are "
                f"{', '.join(known)}"
            )
    needed = [name for name, default in source.parameters().items() if default is inspect.Parameter.empty]
    missing = [name for name in needed if name not in names and name != "seed"]
    if missing:
        raise ValueError(f"build() of {source.name} needs {', '.join(missing)}; give each one value or several")


def _split(source: Source, choice: Mapping[str, Any], known: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters of build(), settings of the run); what both have is the scene's."""
    own = source.parameters()
    settings = {name: value for name, value in choice.items() if name in known and name not in own}
    return {name: value for name, value in choice.items() if name not in settings}, settings
