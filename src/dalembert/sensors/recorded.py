"""Samples of sensors as variables of a trajectory's dataset.

Sensor number i has the variable ``sensor_i`` over ``sensor_i_time`` and axes of its own. The name of the sensor is an
attribute, because it can have any characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

IMAGE_AXES = ("row", "column", "color")
MOST_SENSORS = 10_000


def attach(dataset: xarray.Dataset, sensors: Mapping[str, Any], before: tuple[str, ...] = ()) -> None:
    """Add the samples of all sensors (`sampling.Reading`) to a dataset. before : axes before those of a sensor."""
    for number, reading in enumerate(sensors.values()):
        key = f"sensor_{number}"
        axes = [f"{key}_{axis}" for axis in _axes(reading)]
        dataset[key] = ((*before, f"{key}_time", *axes), reading.values, _attributes(reading))
        dataset.coords[f"{key}_time"] = ((f"{key}_time",), reading.times, {"units": "s"})
        if axes[0].endswith("component"):
            dataset.coords[axes[0]] = ((axes[0],), np.array(reading.labels, dtype=object))


def _axes(reading: Any) -> tuple[str, ...]:
    """The axes of a sample."""
    shape = reading.sensor.shape
    return ("component",) if len(shape) == 1 else IMAGE_AXES[: len(shape)]


def _attributes(reading: Any) -> dict[str, Any]:
    sensor = reading.sensor
    return {
        "sensor": sensor.name, "kind": sensor.kind, "units": ", ".join(dict.fromkeys(sensor.units)),
        "rate": float(sensor.rate), "long_name": f"{sensor.kind} {sensor.name}",
    }  # fmt: skip


def detach(dataset: xarray.Dataset) -> dict[str, xarray.DataArray]:
    """Name of a sensor → its samples, over the axes time, and component or row, column and color."""
    found: dict[str, xarray.DataArray] = {}
    for number in range(MOST_SENSORS):
        key = f"sensor_{number}"
        if key not in dataset.data_vars:
            break
        array = dataset[key]
        names = {axis: str(axis).removeprefix(f"{key}_") for axis in array.dims}
        array = array.drop_vars([name for name in array.coords if name not in array.dims])
        name = str(array.attrs.get("sensor", key))
        found[name] = array.rename(names).rename(name)
    return found
