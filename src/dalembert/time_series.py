"""Samples over time as inputs of motors."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .scene.checks import real_array

OF = ("effort", "position", "speed")
MAX_BYTES = 256_000_000
MAX_MOTORS = 1000


class TimeSeries:
    """A controller that plays samples: between them it interpolates linearly; before the first and after the last it holds
    these.

    Parameters
    ----------
    samples : motor → (times (n,) s, values (n,)), times rising.
    of : what the values are: "effort" (N m or N), "position" (rad or m) or "speed" (rad/s or m/s).

    Raises ValueError for times that do not rise, values that are not finite, and sizes that differ.

    >>> import dalembert as dal
    >>> series = dal.TimeSeries({"motor": ([0.0, 1.0], [0.0, 2.0])}, of="position")
    >>> series.at(0.25)
    {'motor': 0.5}
    """

    def __init__(self, samples: Mapping[str, tuple[ArrayLike, ArrayLike]], of: str = "position") -> None:
        if of not in OF:
            raise ValueError(f"time series: of is {of!r}; give one of {', '.join(OF)}")
        if not samples:
            raise ValueError("time series: there are no samples; give motor → (times, values)")
        self.of = of
        self.samples: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for name, (times, values) in samples.items():
            owner = f"time series of {name!r}"
            t = real_array(owner, "times", times, (-1,))
            v = real_array(owner, "values", values, (-1,))
            if len(t) != len(v) or not len(t):
                raise ValueError(f"{owner}: {len(t)} times and {len(v)} values; give as many of both, at least one")
            late = np.flatnonzero(np.diff(t) <= 0.0)
            if len(late):
                raise ValueError(
                    f"{owner}: times[{late[0] + 1}] is {t[late[0] + 1]:g} s, after {t[late[0]]:g} s; times must rise"
                )
            self.samples[name] = (t, v)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], of: str = "position") -> TimeSeries:
        """From a file of comma-separated values: the first line names the columns, "time" (s) and then motors; each further
        line is an instant.

        Raises ValueError, with the number of the line, for what is not so, and for files of more than 256 MB.
        """
        source = Path(path)
        if source.stat().st_size > MAX_BYTES:
            raise ValueError(f"{str(source)!r} is larger than {MAX_BYTES} bytes; play it in parts")
        with open(source, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            try:
                header = [name.strip() for name in next(reader, [])]
                _check_header(str(source), header)
                rows = [_numbers(str(source), reader.line_num, header, row) for row in reader if row]
            except (csv.Error, UnicodeDecodeError) as error:
                raise ValueError(
                    f"{str(source)!r}, line {reader.line_num + 1}: no comma-separated text: {error}"
                ) from None
        if not rows:
            raise ValueError(f"{str(source)!r} has no line of numbers after the names")
        columns = np.array(rows).T
        try:
            return cls({name: (columns[0], column) for name, column in zip(header[1:], columns[1:], strict=True)}, of)
        except ValueError as error:
            raise ValueError(f"{str(source)!r}: {error}") from None

    def at(self, time: float) -> dict[str, float]:
        """Motor → value at a time (s)."""
        return {name: float(np.interp(time, t, v)) for name, (t, v) in self.samples.items()}

    def __call__(self, run: Any) -> None:
        for name, value in self.at(float(run.time)).items():
            run.set_motor(name, **{self.of: value})


def _check_header(source: str, header: list[str]) -> None:
    if len(header) < 2 or header[0] != "time":
        raise ValueError(
            f"{source!r}, line 1: give names of columns, 'time' and then motors; got {','.join(header)!r:.80}"
        )
    if len(header) > MAX_MOTORS:
        raise ValueError(f"{source!r}, line 1: {len(header)} columns, at most {MAX_MOTORS}")
    twice = next((name for name in header if header.count(name) > 1 or not name), None)
    if twice is not None:
        raise ValueError(
            f"{source!r}, line 1: {f'column {twice!r} is there twice' if twice else 'a column has no name'}"
        )


def _numbers(source: str, line: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise ValueError(f"{source!r}, line {line}: {len(row)} values, and {len(header)} columns have names")
    values = []
    for name, text in zip(header, row, strict=True):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{source!r}, line {line}, {name!r}: {text!r:.40} is no finite number")
        values.append(value)
    return values
