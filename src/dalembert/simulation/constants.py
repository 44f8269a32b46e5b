"""The constants of a scene as plain data, by which a saved run is resumed in the scene that it was made of only.

They are what stays in a run: names, masses, shapes, initial poses, the places and parts of joints, and the parameters of
forces and contacts. Not among them are velocities at the start, colours and sensors; of functions, and of all events, they
say that there are some. Numbers are compared to rounding, as another processor may build a scene with other last bits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.checkpoint_fields import MOST
from ..scene.body import Body, World
from ..scene.contact import Obstacle
from ..scene.joint import Joint, Link
from ..scene.particles import Particle, Particles
from ..scene.scene import Scene
from ..scene.shapes import Shape, shape_to_dict
from .recording import as_json

FEW = 12  # numbers of an array that are kept; of more, their number and some sums
CLOSE = 1e-9  # of the largest number of an array: less is rounding
NAMED = (Body, World, Obstacle, Joint, Link, Particle, Particles)
UNUSED = {
    "name", "color", "group", "velocity", "angular_velocity", "material_given", "segments", "faces"
}  # fmt: skip
"""Fields that change no motion, or that the state has."""
Constants = dict[str, dict[str, dict[str, Any]]]  # kind → name → field → value


def constants(scene: Scene) -> Constants:
    """The constants of everything in a scene that moves, or makes it move."""
    rules = {f"{rule.a} – {rule.b}": rule for rule in scene.contact_rules}
    tables: dict[str, Mapping[str, Any]] = {
        "body": scene.bodies, "obstacle": scene.obstacles, "particles": scene.particles, "link": scene.links,
        "joint": scene.joints, "force": scene.forces, "contact rule": rules,
    }  # fmt: skip
    found: Constants = {"scene": {scene.name: {"gravity": _plain(scene.gravity), "events": bool(scene.events)}}}
    for kind, table in tables.items():
        found[kind] = {name: _fields(item) for name, item in table.items()}
    return found


_computed: WeakKeyDictionary[Scene, str] = WeakKeyDictionary()


def constants_json(scene: Scene) -> str:
    """The same as JSON, computed once for the scene of a run, which does not change."""
    if scene not in _computed:
        _computed[scene] = as_json(constants(scene))
    return _computed[scene]


def _fields(item: Any) -> dict[str, Any]:
    """The fields of an object; those that are its own business, or unused, are left out."""
    names = [field.name for field in fields(item)] if is_dataclass(item) else [*vars(item)]
    kept = {name: _plain(getattr(item, name)) for name in names if name not in UNUSED and not name.startswith("_")}
    return {"type": type(item).__name__} | kept


def _plain(value: Any) -> Any:
    """A value as data for JSON: names for things of the scene, a few numbers for long arrays."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, NAMED):
        return value.name
    if isinstance(value, Shape):
        return {key: _plain(each) for key, each in shape_to_dict(value).items()}
    if isinstance(value, int | float | np.generic | np.ndarray) or _is_numbers(value):
        return _numbers(np.asarray(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if callable(value):
        return "a function"
    return _fields(value) if is_dataclass(value) else type(value).__name__


def _is_numbers(value: Any) -> bool:
    """Whether a list is one of numbers, or of rows of them."""
    if not isinstance(value, list | tuple) or not value:
        return False
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except ValueError:
        return False


def _numbers(values: np.ndarray) -> Any:
    """Numbers as they are, where they are few; texts for those that are not finite."""
    if values.dtype.kind not in "biuf":
        return str(values.tolist())[:200]
    if values.size <= FEW:
        return _finite(values.astype(float).tolist())
    flat = values.astype(float).ravel()
    sums = flat.sum(), flat @ np.linspace(-1.0, 1.0, flat.size), np.abs(flat).sum()
    return {"numbers": values.size, "sums": _finite([float(each) for each in sums])}


def _finite(values: Any) -> Any:
    if isinstance(values, list):
        return [_finite(each) for each in values]
    return values if np.isfinite(values) else str(values)


# The first difference -------------------------------------------------------------------------------------------------


def difference(saved: Constants, scene: Scene) -> str | None:
    """The first difference between the constants of a saved run, of a file, and a scene, in words; None where there is
    none."""
    own = json.loads(constants_json(scene))
    for kind, table in own.items():
        before = saved.get(kind)
        before = before if isinstance(before, dict) else {}
        if kind == "scene":  # whatever it is called
            before = dict(zip(table, before.values(), strict=False))
        if lost := first_other(before, table):
            return f"it has {kind} {lost!r:.60}, and this scene does not"
        if new := first_other(table, before):
            return f"it has no {kind} {new!r:.60}"
        for name, item in table.items():
            for key in sorted(item, key=lambda key: len(str(item[key]))):  # what is shown best first
                then = before[name].get(key) if isinstance(before[name], dict) else None
                if not _same(then, item[key]):
                    what = "" if kind == "scene" else f" of {kind} {name!r:.60}"
                    return f"{key}{what} is {_shown(then)} there, and {_shown(item[key])} here"
    return None


def first_other(names: Iterable[str], known: Iterable[str]) -> str | None:
    """The first name that is not among those known."""
    among = set(known)
    return next((name for name in names if name not in among), None)


def _same(then: Any, now: Any) -> bool:
    """Whether two values are equal, numbers to rounding."""
    if isinstance(now, dict):
        return isinstance(then, dict) and then.keys() == now.keys() and all(_same(then[key], now[key]) for key in now)
    if isinstance(now, list):
        if not isinstance(then, list) or len(then) != len(now):
            return False
        if not _real(now) or not _real(then):
            return all(_same(a, b) for a, b in zip(then, now, strict=True))
        scale = max((abs(each) for each in now), default=0.0)
        return all(abs(a - b) <= CLOSE * scale + 1e-15 for a, b in zip(then, now, strict=True))
    if _real([now]) and _real([then]):
        return bool(abs(then - now) <= CLOSE * abs(now) + 1e-15)
    return bool(then == now)


def _real(values: list[Any]) -> bool:
    """Whether all are real numbers, of a size that a file of this version has."""
    return all(isinstance(each, int | float) and not isinstance(each, bool) and abs(each) <= MOST for each in values)


def _shown(value: Any) -> str:
    """A value for a message."""
    if isinstance(value, dict) and value.keys() == {"numbers", "sums"}:
        return f"{_shown(value['numbers'])} numbers of sum {_shown(value['sums'])}"
    if isinstance(value, list):
        return f"({', '.join(map(_shown, value))})"[:120]
    return f"{value:.10g}" if _real([value]) else f"{value!r:.80}"
