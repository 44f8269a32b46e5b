"""What the report page says in words: how the run was made and how to make it again, and what the scene holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["listing", "provenance", "rerun"]

MOST_TEXT = 2000  # characters of one value
DEFAULTS = {"hold": "projection", "coordinates": "maximal", "constraint_solver": "ldl", "impacts": "simultaneous"}
RELATED = {"stiffness": "hold", "damping": "hold"}  # settings that mean nothing where another is at its default


def settings_of(trajectory: Trajectory) -> dict[str, Any]:
    """The settings of the run that were recorded and are not left to themselves, empty where none were recorded."""
    known = _object(_known(trajectory).get("settings"))
    left = {name for name, value in known.items() if value is None or value is False or DEFAULTS.get(name) == value}
    left |= {name for name, other in RELATED.items() if other in left}
    return {str(name): value for name, value in known.items() if name not in left}


def provenance(trajectory: Trajectory) -> list[tuple[str, str]]:
    """(name, value) rows: scene and parameters, method, settings, seed, versions and the hash of the last state."""
    known = _known(trajectory)
    gravity = _numbers(trajectory.scene_description.get("gravity"))
    origin = _object(known.get("origin"))
    rows = [("scene", trajectory.scene_name)]
    rows += [("made by", f"{origin.get('kind')} {origin.get('name')}")] if origin else []
    rows += [(f"parameter {name}", value) for name, value in _object(origin.get("parameters")).items()]
    rows += [("gravity", f"({', '.join(f'{g:g}' for g in gravity)}) m/s²")] if gravity else []
    rows += [("method", trajectory.attrs["method"])] if trajectory.attrs.get("method") else []
    rows += [(name.replace("_", " "), value) for name, value in settings_of(trajectory).items() if name != "method"]
    rows += [(name.replace("_", " "), value) for name, value in _object(known.get("settings_not_kept")).items()]
    rows += [("seed", known["seed"])] if known.get("seed") is not None else []
    versions = {"dalembert": trajectory.attrs["version"]} if trajectory.attrs.get("version") else {}
    rows += [(str(name), value) for name, value in {**versions, **_object(known.get("versions"))}.items()]
    rows += [("hash of the last state", known["final_state_hash"])] if "final_state_hash" in known else []
    return [(str(name), str(value)[:MOST_TEXT]) for name, value in rows]


def rerun(trajectory: Trajectory) -> str:
    """Python that makes the run again from its scene; where that came from, if it is known."""
    known = _known(trajectory)
    given = {"method": trajectory.attrs.get("method"), **settings_of(trajectory)}
    arguments = [f"{name}={value!r}" for name, value in given.items() if value is not None and name.isidentifier()]
    span = float(trajectory.times[-1] - trajectory.times[0])
    call = ",\n    ".join(["scene", f"duration={round(span, 9):.12g}", *arguments])
    origin = _object(known.get("origin"))
    kind, name = origin.get("kind"), str(origin.get("name"))
    with_parameters = ", ".join(
        f"{key}={value!r}" for key, value in _object(origin.get("parameters")).items() if key.isidentifier()
    )
    lines = ["import dalembert as dal", ""]
    if kind == "model":
        lines += [f"scene = dal.load_model({name!r}).scene"]
    elif kind == "file":
        lines += ["import runpy", "", f'scene = runpy.run_path({name!r})["build"]({with_parameters})']
    elif kind == "gallery":
        lines += ["from dalembert import gallery", "", f"scene = gallery.load({name!r}).build({with_parameters})"]
    else:
        lines += [f"scene = ...  # {trajectory.scene_name!r}, as listed on this page"]
    for setting, value in _object(known.get("settings_not_kept")).items():
        lines += [f"# {setting}: {value}"[:200].replace("\n", " ")]
    if trajectory.times[0] > 0.0:
        lines += [f"# went on from a saved run at t = {trajectory.times[0]:g} s: Simulation(scene, ...).resume(saved)"]
    return "\n".join([*lines, f"run = dal.simulate(\n    {call},\n)", "print(run.report)"])


def listing(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The tables of the scene (`dalembert.listing`), with texts only, whatever the file says."""
    tables = trajectory.scene_description.get("listing")
    found = []
    for table in tables if isinstance(tables, list) else []:
        if isinstance(table, dict) and isinstance(table.get("columns"), list) and isinstance(table.get("rows"), list):
            rows = [[str(cell)[:MOST_TEXT] for cell in row] for row in table["rows"] if isinstance(row, list)]
            left_out = table.get("left_out")
            found.append({"title": str(table.get("title", ""))[:200], "columns": [str(name) for name in table["columns"]],
                          "rows": rows, "leftOut": left_out if isinstance(left_out, int) else 0})  # fmt: skip
    return found


def _known(trajectory: Trajectory) -> dict[str, Any]:
    """The record of where the run comes from (`dalembert.provenance`), which a file may have damaged."""
    return _object(trajectory.attrs.get("provenance_json"))


def _object(text: Any) -> dict[str, Any]:
    """A JSON object, or nothing."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _numbers(values: Any) -> list[float]:
    """A list of numbers, or nothing."""
    return [float(value) for value in values if isinstance(value, int | float)] if isinstance(values, list) else []
