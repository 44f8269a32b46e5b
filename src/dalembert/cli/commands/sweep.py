"""`dalembert sweep SCENE --vary name=start:stop:count ...`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from . import FAILED, INTERRUPTED, REFUSED, command, plain_warnings

if TYPE_CHECKING:
    import xarray

    from ...ensemble import Counts

DONE = 0
TOLD = 10  # failed members that are listed
DATASET = "sweep.nc"


@command("sweep")
@plain_warnings()
def sweep(
    scene: str,
    /,
    *,
    vary: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    samples: Path | None = None,
    repeat: int = 1,
    seed: int = 0,
    keep: str = "position,orientation,kinetic,potential",
    duration: float | None = None,
    dt: float | None = None,
    rtol: float | None = None,
    method: str | None = None,
    frame_rate: Annotated[float | None, Parameter(name=("--frame-rate", "--frames"))] = None,
    workers: int | None = None,
    how: str = "processes",
    dask: str | None = None,
    out: Path | None = None,
    retry_failed: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run a scene with many parameters, and save one dataset of all runs. Run the same command again to continue a
    sweep that was stopped.

    Parameters
    ----------
    scene
        A name from `dalembert list`, or a Python file with a function build() that returns a Scene.
    vary
        A parameter of build(), or a setting of the run (dt, rtol, method, duration, ...): name=start:stop:count, evenly
        spaced; name=start:stop:count:log, evenly on a logarithmic scale; name=a,b,c; or name=a. Can be repeated: all
    combinations are run. samples
        A CSV table: one row per run, with the names of the parameters in the first line. Use it in place of --vary.
    repeat
        Number of runs of each combination, each with its own seed, if build() takes `seed`.
    seed
        The root from which these seeds are derived.
    keep
        What to keep of each run: recorded quantities, and functions of the scene's file that take the run and return
    numbers. duration
        Simulated time, s.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method, on the error of one step.
    method
        Integration method, or a method of fixed steps: a name from `dalembert methods`.
    frame_rate
        Recorded frames per second of simulated time, Hz.
    workers
        Number of processes, or of threads of batches. Default: the number of cores.
    how
        processes; serial: one after the other, in this process; batch: members of equal structure together in compiled
    code, for smooth motion only; or auto: batch if possible, else processes. dask
        Address of a Dask scheduler whose workers run the members, such as tcp://host:8786.
    out
        Folder of the sweep. Each member is saved when it is finished, and at the end sweep.nc, the dataset of all
        members. Default: a folder in out/ that is named after the scene and the arguments.
    retry_failed
        Run failed members again.
    as_json
        Print the outcome as JSON.
    """
    from ...ensemble import SweepError
    from ...ensemble.sweep import sweep as swept
    from ...simulation.netcdf import rescue
    from ...simulation.provenance import digest

    settings = {"duration": duration, "dt": dt, "rtol": rtol, "method": method, "frame_rate": frame_rate}
    try:
        over = read_over(vary, samples)
        keeping = tuple(word.strip() for word in keep.split(",") if word.strip())
        given: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
        asked = digest(repr((scene, over, given, repeat, seed, keeping)).encode())[:8]
        folder = out or Path("out") / f"{Path(scene).stem}-{asked}"
        with shown(scene) as progress:
            found = swept(
                scene, over, **given, repeat=repeat, seed=seed, keep=keeping, workers=workers, how=dask or how, folder=folder,
                retry_failed=retry_failed, progress=progress,
            )  # fmt: skip
        keep_dataset(found, folder / DATASET)
    except SweepError as error:
        saved = rescue(error.dataset, Path(DATASET))
        print(f"dalembert: {error}" + (f"; saved in {saved}" if saved else ""), file=sys.stderr)
        return FAILED
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return tell(found, folder, as_json)


def keep_dataset(found: xarray.Dataset, path: Path) -> None:
    """Write the dataset. Raises OSError with the place to which it was written instead."""
    from ...simulation.netcdf import rescue, write

    try:
        write(found, path, hashed=False)
    except OSError as error:
        saved = rescue(found, path)
        members = f"the members are saved in {str(path.parent)!r}"
        raise OSError(f"{path}: {error}; {members}" + (f", the dataset in {saved}" if saved else "")) from error


def read_over(vary: tuple[str, ...], samples: Path | None) -> Any:
    """The grid of --vary, or the samples of a table. Raises ValueError, OSError."""
    if (samples is None) == (not vary):
        raise ValueError("give exactly one of --vary name=start:stop:count, or --samples FILE.csv")
    if samples is not None:
        import csv

        with open(samples, newline="", encoding="utf-8") as file:
            table = csv.DictReader(file, skipinitialspace=True, strict=True)
            try:
                rows = list(table)
            except csv.Error as error:
                raise ValueError(f"{samples}: line {table.line_num}: {error}") from error
        if any(None in row or None in row.values() for row in rows):
            raise ValueError(f"{samples}: the number of values differs from the number of names in the first line")
        return [{name.strip(): value_of(text.strip()) for name, text in row.items()} for row in rows]
    found: dict[str, Any] = {}
    for word in vary:
        name, equals, text = word.partition("=")
        if not (equals and name.strip() and text.strip()):
            raise ValueError(f"--vary {word}: give name=start:stop:count, name=a,b,c or name=a")
        if name.strip() in found:
            raise ValueError(f"--vary {word}: {name.strip()!r} is varied twice")
        found[name.strip()] = values_of(text, word)
    return found


def values_of(text: str, word: str) -> Any:
    """A list of values, or one value. Raises ValueError that quotes `word`."""
    import numpy as np

    if "," in text:
        return [value_of(part.strip()) for part in text.split(",") if part.strip()]
    if ":" not in text:
        return value_of(text.strip())
    start, stop, count, scale = ([*text.split(":"), "", ""] if text.count(":") < 3 else text.split(":", 3))[:4]
    first, last, number = value_of(start), value_of(stop), value_of(count)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1 or scale not in ("", "log"):
        raise ValueError(
            f"--vary {word}: give name=start:stop:count, with a whole number, or name=start:stop:count:log"
        )
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in (first, last)):
        raise ValueError(f"--vary {word}: start and stop must be numbers")
    if scale == "log":
        if not (first > 0 and last > 0):
            raise ValueError(f"--vary {word}: start and stop must be above zero for logarithmic spacing")
        return [float(value) for value in np.geomspace(first, last, number)]
    values = np.linspace(first, last, number)
    whole = isinstance(first, int) and isinstance(last, int) and bool(np.all(values == np.round(values)))
    return [int(value) if whole else float(value) for value in values]


def read_parameters(words: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of name=value. Raises ValueError."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and name.strip()):
            raise ValueError(f"--set {word}: give name=value")
        found[name.strip()] = value_of(text.strip())
    return found


def value_of(text: str) -> Any:
    """A number, true, false or none, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


@contextmanager
def shown(scene: str) -> Iterator[Callable[[Counts], None] | None]:
    """A progress bar when a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(scene, total=None, failed="")

        def update(counts: Counts) -> None:
            failed = f"[red]{counts.failed} failed" if counts.failed else ""
            bar.update(task, completed=counts.done + counts.failed, total=counts.total, failed=failed)

        yield update


def tell(found: xarray.Dataset, folder: Path, as_json: bool) -> int:
    """Print how the members ended; returns the exit code."""
    status = found["status"].values.ravel().tolist()
    counts = {state: status.count(state) for state in ("done", "failed", "died", "not run") if state in status}
    interrupted = bool(found.attrs["interrupted"])
    failed = [i for i, state in enumerate(status) if state in ("failed", "died")]
    told = [(where(found, i), str(found["error"].values.flat[i])) for i in failed]
    if as_json:
        print(json.dumps({
            "members": len(status), **counts, "interrupted": interrupted, "dataset": str((folder / DATASET).resolve()),
            "failures": [{"member": i, "parameters": at, "error": why} for i, (at, why) in zip(failed, told, strict=True)],
        }))  # fmt: skip
    else:
        axes = " × ".join(f"{name} {size}" for name, size in zip(*axes_of(found), strict=True))
        print(f"{len(status)} members ({axes or 'one'}): {', '.join(f'{n} {state}' for state, n in counts.items())}")
        for place, why in told[:TOLD]:
            print(f"  {place}: {why}")
        if len(told) > TOLD:
            print(f"  and {len(told) - TOLD} more; see the variable 'error'")
        print(f"saved {(folder / DATASET).resolve()}")
        if interrupted:
            print("interrupted; run the same command again to continue", file=sys.stderr)
    return INTERRUPTED if interrupted else FAILED if failed else DONE


def axes_of(found: xarray.Dataset) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and lengths of the axes of the members."""
    status = found["status"]
    return tuple(map(str, status.dims)), status.shape


def where(found: xarray.Dataset, index: int) -> str:
    """The parameters of a member, in a line."""
    import numpy as np

    names, shape = axes_of(found)
    at = dict(zip(names, (int(k) for k in np.unravel_index(index, shape)), strict=True)) if shape else {}
    one = found["status"].isel(at)
    return ", ".join(f"{name}={one[name].item()!r}" for name in one.coords if name in found.coords) or "the only one"
