"""Sensors as they are drawn: frames, rays, arrows and cameras at an instant, and their values as text.

What is drawn of a sensor is its last sample, at the place where it is now.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from .camera import rotate
from .frames import checked_array, checked_items

WORLD_AXES = ("frame", "contact force")  # kinds whose values are not in the axes of the sensor
MOST_RAYS, MOST_SENSORS = 100_000, 1000

# Which components of a value are a vector to draw, by kind and, of those that have one, quantity.
VECTORS: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {
    ("imu", ""): (("specific force", 0), ("angular rate", 3)),
    ("accelerometer", ""): (("specific force", 0),),
    ("gyroscope", ""): (("angular rate", 0),),
    ("velocimeter", ""): (("velocity", 0),),
    ("frame", "velocity"): (("velocity", 0),),
    ("frame", "angular_velocity"): (("angular rate", 0),),
    ("frame", "acceleration"): (("acceleration", 0),),
    ("force torque", "wrench"): (("force", 0), ("torque", 3)),
    ("force torque", "force"): (("force", 0),),
    ("force torque", "torque"): (("torque", 0),),
    ("contact force", ""): (("force", 0),),
}
UNITS = {"specific force": "m/s²", "angular rate": "rad/s", "velocity": "m/s", "acceleration": "m/s²", "force": "N",
         "torque": "N m"}  # fmt: skip

COLORS = {
    "specific force": (17, 138, 178), "angular rate": (150, 80, 190), "velocity": (42, 140, 90),
    "acceleration": (17, 138, 178), "force": (230, 110, 40), "torque": (190, 60, 130),
}  # fmt: skip
RAY, NO_RAY, HIT, CAMERA = (0, 150, 136), (150, 168, 178), (224, 60, 49), (52, 73, 94)
LONGEST = 0.14  # of the picture: the arrow of the largest value
# The longest arrow stands for at least so much, so that noise is no long arrow, and for at most so much, so that gravity is
# seen after an impact.
LEAST = {"specific force": 1.0, "acceleration": 1.0, "angular rate": 0.5, "velocity": 0.05}
MOST = {"specific force": 30.0, "acceleration": 30.0}
SAME_TIME = 1e-9  # s


class Samples(Protocol):
    """The samples of one sensor."""

    def at(self, time: float) -> Any:
        """The last one that was not taken later than a time, s; NaN before the first."""


class RecordedSamples:
    """Samples of a recorded run: times (n,) s, values (n, …)."""

    def __init__(self, times: np.ndarray, values: np.ndarray) -> None:
        self._times, self._values = times, values
        number = values.dtype.kind == "f"
        self._unknown = np.full(values.shape[1:], np.nan) if number else np.zeros(values.shape[1:], values.dtype)

    def at(self, time: float) -> np.ndarray:
        """See `Samples`."""
        index = bisect_right(self._times, time)
        return self._values[index - 1] if index else self._unknown


@dataclass(frozen=True)
class SensorDrawing:
    """One sensor: on a body (its index, −1 for the world) at `position` (3,) m and `orientation` (w, x, y, z) in its frame;
    both are None for one without a place.

    directions : (n, 3) of rays. reach : m. region : vertices (n, 3) m and faces (m, 3) of what feels touch. view : the
    tangent of half the angle of a camera, over its height, and width over height; None for others.
    """

    name: str
    kind: str
    quantity: str
    units: tuple[str, ...]
    body: int
    position: np.ndarray | None
    orientation: np.ndarray
    directions: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    reach: float = np.inf
    region: tuple[np.ndarray, np.ndarray] | None = None
    view: tuple[float, float] | None = None

    @property
    def vectors(self) -> tuple[tuple[str, int], ...]:
        """(what, first component) of each vector in its value."""
        return VECTORS.get((self.kind, self.quantity), ())

    def placed(self, position: np.ndarray, orientation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Place (3,) m and orientation of the sensor with the bodies at positions (b, 3) and orientations (b, 4)."""
        assert self.position is not None
        if self.body < 0:
            return self.position, self.orientation
        q = orientation[self.body]
        return position[self.body] + rotate(q, self.position), product(q, self.orientation)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quaternion a b, (4,): first b, then a."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def parse_sensors(description: Mapping[str, Any], index: Mapping[str, int]) -> list[SensorDrawing]:
    """The sensors of a scene's description, checked. index : of the bodies, by name.

    Raises ValueError naming the sensor.
    """
    return [_sensor(item, index) for item in checked_items(description, "sensors")[:MOST_SENSORS]]


def _sensor(item: Mapping[str, Any], index: Mapping[str, int]) -> SensorDrawing:
    what = f"sensor {str(item.get('name'))[:80]!r}"
    body, units = item.get("body"), item.get("units")
    if not isinstance(units, list) or not all(isinstance(unit, str) for unit in units):
        raise ValueError(f"{what}: units must be texts")
    has_place = item.get("position") is not None
    if has_place and body not in (None, "", "world") and body not in index:
        raise ValueError(f"{what}: there is no body {body!r}")
    region = item.get("region")
    more: dict[str, Any] = {}
    if isinstance(region, Mapping):
        vertices = checked_array(region.get("vertices"), (-1, 3), f"{what}: region")
        faces = checked_array(region.get("faces"), (-1, 3), f"{what}: region").astype(np.int64)
        if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
            raise ValueError(f"{what}: a face of its region has an index beyond the {len(vertices)} vertices")
        more["region"] = vertices, faces
    if item.get("directions"):
        more["directions"] = checked_array(item["directions"], (-1, 3), f"{what}: directions")[:MOST_RAYS]
        more["reach"] = (
            np.inf if item.get("reach") is None else float(checked_array(item["reach"], (), f"{what}: reach"))
        )
    if item.get("view") is not None:
        tangent, aspect = checked_array(item["view"], (2,), f"{what}: view").tolist()
        more["view"] = tangent, aspect
    return SensorDrawing(
        str(item.get("name", "sensor")), str(item.get("kind", "")), str(item.get("quantity") or ""), tuple(units),
        index.get(str(body), -1), checked_array(item["position"], (3,), f"{what}: position") if has_place else None,
        checked_array(item.get("orientation") or (1, 0, 0, 0), (4,), f"{what}: orientation"), **more,
    )  # fmt: skip


# What there is to draw at an instant ----------------------------------------------------------------------------------

FRUSTUM = 0.09  # of the picture's size: the depth of a camera
ALONE = 0.25  # of the picture's size: how far a ray is drawn that meets nothing


class Rays(NamedTuple):
    """met : (n, 2, 3) m, rays from the sensor to what they meet. free : (m, 2, 3) m, the first part of those that meet
    nothing."""

    met: np.ndarray
    free: np.ndarray


def rays_of(sensor: SensorDrawing, value: np.ndarray, at: np.ndarray, turn: np.ndarray, size: float) -> Rays:
    """The rays of a sensor at `at` (3,) m with orientation `turn`, whose value is distances (n,) m."""
    ways = rotate(turn, sensor.directions)
    distances = np.resize(np.asarray(value, float), len(ways)) if np.size(value) else np.full(len(ways), np.nan)
    met = np.isfinite(distances) & (distances <= sensor.reach)
    ends = at + np.where(met, distances, 0.0)[:, None] * ways
    starts = np.broadcast_to(at, ends.shape)
    free = np.isposinf(distances) | (np.isfinite(distances) & ~met)
    beyond = at + min(sensor.reach, ALONE * size) * ways
    return Rays(np.stack([starts, ends], axis=1)[met], np.stack([starts, beyond], axis=1)[free])


def frustum(sensor: SensorDrawing, at: np.ndarray, turn: np.ndarray, size: float) -> np.ndarray:
    """Lines (n, 2, 3) m of what a camera sees, up to a small depth, with a triangle above its upper edge."""
    assert sensor.view is not None
    tangent, aspect = sensor.view
    depth = FRUSTUM * size / max(1.0, tangent, tangent * aspect)
    h, w = tangent * depth, tangent * aspect * depth
    corners = np.array([(-w, -h, -depth), (w, -h, -depth), (w, h, -depth), (-w, h, -depth)])
    tip = np.array([(-0.5 * w, 1.1 * h, -depth), (0.0, 1.6 * h, -depth), (0.5 * w, 1.1 * h, -depth)])
    corners, tip = at + rotate(turn, corners), at + rotate(turn, tip)
    eye = np.broadcast_to(at, (4, 3))
    return np.concatenate([np.stack([eye, corners], axis=1), np.stack([corners, np.roll(corners, -1, 0)], axis=1),
                           np.stack([tip, np.roll(tip, -1, 0)], axis=1)])  # fmt: skip


def vectors_of(sensor: SensorDrawing, value: np.ndarray, turn: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """(what, vector (3,) in world axes) of a sensor's value; those that are not known are left out."""
    found = []
    for what, first in sensor.vectors:
        vector = np.asarray(value, float)[first : first + 3]
        if vector.shape == (3,) and np.isfinite(vector).all():
            found.append((what, vector if sensor.kind in WORLD_AXES else rotate(turn, vector)))
    return found


class Drawn(NamedTuple):
    """What is drawn of all sensors: lines (n, 2, 3) m, and of each kind of arrow the places (k, 3) m and vectors (k, 3)."""

    met: np.ndarray
    free: np.ndarray
    cameras: np.ndarray
    arrows: dict[str, tuple[np.ndarray, np.ndarray]]


def drawn_of(
    sensors: Sequence[SensorDrawing],
    values: Mapping[str, Any],
    places: Sequence[tuple[np.ndarray, np.ndarray]],
    size: float,
) -> Drawn:
    """What is drawn of sensors that have a place, with these values by name, in a picture of a size, m."""
    met, free, cameras = ([np.zeros((0, 2, 3))] for _ in range(3))
    arrows: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for sensor, (at, turn) in zip(sensors, places, strict=True):
        if sensor.view is not None:
            cameras.append(frustum(sensor, at, turn, size))
        value = values.get(sensor.name)
        if value is None:
            continue
        if len(sensor.directions):
            rays = rays_of(sensor, value, at, turn, size)
            met.append(rays.met)
            free.append(rays.free)
        for what, vector in vectors_of(sensor, value, turn):
            arrows.setdefault(what, []).append((at, vector))
    pairs = {what: (np.array([at for at, _ in some]), np.array([v for _, v in some])) for what, some in arrows.items()}
    return Drawn(np.concatenate(met), np.concatenate(free), np.concatenate(cameras), pairs)


def scale_of(what: str, largest: float) -> float:
    """The value of the longest arrow of a kind whose largest value is this one."""
    return float(np.clip(largest, LEAST.get(what, 0.0), MOST.get(what, np.inf)))


def scale_text(what: str, largest: float) -> str:
    """The same with its unit."""
    scale = scale_of(what, largest)
    return f"{scale:.3g} {UNITS[what]}{' and more' if largest > scale else ''}"


def arrow_lines(places: np.ndarray, vectors: np.ndarray, scale: float, size: float) -> np.ndarray:
    """Arrows (n, 2, 3) m, from places (k, 3) along vectors (k, 3): those of the value `scale` and more are as long as
    `LONGEST`; those that are very short are left out."""
    length = np.linalg.norm(vectors, axis=1)
    seen = (length > 0.01 * scale) & (length > 0.0)
    if not seen.any():
        return np.zeros((0, 2, 3))
    factor = LONGEST * size / np.maximum(length[seen], scale)[:, None]
    return np.stack([places[seen], places[seen] + factor * vectors[seen]], axis=1)


class RecordedSensors:
    """The sensors of a run whose samples are `samples` (times (n,) s, values (n, …)), by name, for still pictures."""

    def __init__(self, sensors: Sequence[SensorDrawing], samples: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self.sensors = [sensor for sensor in sensors if sensor.position is not None and sensor.name in samples]
        self._samples = {name: RecordedSamples(times, values) for name, (times, values) in samples.items()}
        self.largest: dict[str, float] = {}  # value in the run, by kind
        for sensor in self.sensors:
            for what, first in sensor.vectors:
                length = np.linalg.norm(samples[sensor.name][1][:, first : first + 3], axis=1)
                most = float(np.max(length, initial=0.0, where=np.isfinite(length)))
                self.largest[what] = max(self.largest.get(what, 0.0), most)

    def lines(
        self, time: float, position: np.ndarray, orientation: np.ndarray, size: float
    ) -> list[tuple[np.ndarray, tuple[int, int, int]]]:
        """Strokes (n, 2, 3) m and their colour at a time (s), with the bodies at positions (b, 3) and orientations (b, 4)."""
        values = {sensor.name: self._samples[sensor.name].at(time + SAME_TIME) for sensor in self.sensors}
        places = [sensor.placed(position, orientation) for sensor in self.sensors]
        drawn = drawn_of(self.sensors, values, places, size)
        found = [(drawn.free, NO_RAY), (drawn.met, RAY), (drawn.cameras, CAMERA)]
        for what, (at, vectors) in drawn.arrows.items():
            shafts = arrow_lines(at, vectors, scale_of(what, self.largest[what]), size)
            along = shafts[:, 1] - shafts[:, 0]
            along = along / np.linalg.norm(along, axis=1, keepdims=True)
            side = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)]) if len(along) else along
            back, out = shafts[:, 1] - 0.025 * size * along, 0.01 * size * side
            heads = [np.stack([back + way * out, shafts[:, 1]], axis=1) for way in (-1.0, 1.0)]
            found.append((np.concatenate([shafts, *heads]), COLORS[what]))
        return found

    def words(self) -> list[tuple[str, tuple[int, int, int]]]:
        """(text, colour) of a legend; the font of pictures has no raised numbers."""
        return [(f"longest arrow: {what} of {scale_text(what, size).replace('²', '^2')}", COLORS[what])
                for what, size in self.largest.items() if size > 0.0]  # fmt: skip


# Values as text -------------------------------------------------------------------------------------------------------


def value_text(sensor: SensorDrawing, value: np.ndarray) -> str:
    """The value of a sensor with its units, short."""
    if sensor.kind == "camera":
        return f"{value.shape[1]} × {value.shape[0]} pixels" if np.ndim(value) >= 2 else "no image"
    numbers = np.atleast_1d(np.asarray(value, float))
    if np.isnan(numbers).all():
        return "no sample yet"
    if sensor.kind == "range":
        met = numbers[np.isfinite(numbers)]
        if not len(met):
            return "nothing in reach"
        if len(numbers) == 1:
            return f"{_short(met[0])} m"
        return f"nearest {_short(met.min())} m, {len(met)} of {len(numbers)} rays meet something"
    parts: list[tuple[str, list[str]]] = []
    for number, unit in zip(numbers, _repeated(sensor.units, len(numbers)), strict=True):
        if not parts or parts[-1][0] != unit:
            parts.append((unit, []))
        parts[-1][1].append(_short(number))
    return "; ".join(
        f"{' '.join(texts)} {'' if unit == '1' else unit.replace('^2', '²')}".strip() for unit, texts in parts
    )


def _repeated(units: Sequence[str], count: int) -> list[str]:
    """A unit for each component."""
    return [units[min(i * len(units) // max(count, 1), len(units) - 1)] if units else "" for i in range(count)]


def _short(number: float) -> str:
    if not np.isfinite(number):
        return "?" if np.isnan(number) else "∞"
    return f"{0.0 if abs(number) < 1e-9 else number:.4g}"
