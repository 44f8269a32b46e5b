"""What the report page says in words: how the run was made and how to make it again, and what the scene holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["listing", "provenance", "rerun"]

MOST_TEXT = 2000  # characters of one value
NOT_GIVEN = ("controller",)  # settings that name what cannot be written down here


def settings_of(trajectory: Trajectory) -> dict[str, Any]:
    """The recorded settings of the run, empty where none were recorded."""
    return _object(trajectory.attrs.get("settings"))


def provenance(trajectory: Trajectory) -> list[tuple[str, str]]:
    """(name, value) rows: method, settings, versions, seed and the hash of the last state, as far as they were recorded."""
    attrs = trajectory.attrs
    gravity = _numbers(trajectory.scene_description.get("gravity"))
    rows = [("scene", trajectory.scene_name)]
    rows += [("gravity", f"({', '.join(f'{g:g}' for g in gravity)}) m/s²")] if gravity else []
    rows += [("method", attrs["method"])] if attrs.get("method") else []
    rows += [(name.replace("_", " "), value) for name, value in settings_of(trajectory).items() if name != "method"]
    versions = {"dalembert": attrs["version"]} if attrs.get("version") else {}
    rows += [(str(name), value) for name, value in {**versions, **_object(attrs.get("versions"))}.items()]
    named = {"seed": "seed", "final_state_hash": "hash of the last state", "command": "command"}
    rows += [(label, attrs[key]) for key, label in named.items() if key in attrs]
    return [(name, str(value)[:MOST_TEXT]) for name, value in rows]


def rerun(trajectory: Trajectory) -> str:
    """Python that makes the run again from its scene; where that came from, if it is known."""
    given = {"method": trajectory.attrs.get("method"), **settings_of(trajectory)}
    arguments = [f"{name}={value!r}" for name, value in given.items()
                 if value is not None and name not in NOT_GIVEN and str(name).isidentifier()]  # fmt: skip
    span = float(trajectory.times[-1] - trajectory.times[0])
    call = ",\n    ".join(["scene", f"duration={round(span, 9):.12g}", *arguments])
    source = str(trajectory.attrs.get("source", ""))
    lines = ["import dalembert as dal", ""]
    if source.endswith((".urdf", ".xml", ".usd", ".usda", ".usdc")):
        lines += [f"scene = dal.load_model({source!r}).scene"]
    elif source.endswith(".py"):
        lines += ["import runpy", "", f'scene = runpy.run_path({source!r})["build"]()']
    elif source:
        lines += ["from dalembert import gallery", "", f"scene = gallery.load({source!r}).build()"]
    else:
        lines += [f"scene = ...  # {trajectory.scene_name!r}, as listed on this page"]
    if settings_of(trajectory).get("controller"):
        lines += [f"# controller: {settings_of(trajectory)['controller']}"[:200].replace("\n", " ")]
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
