"""A run as one self-contained HTML page: the animation, the energy ledger, joint errors, reactions and the tables.

The page is `report.html` with its style and scripts inside, and the run as JSON with base64 arrays. It fetches nothing:
its content security policy forbids it. Names enter the page as text only.
"""

from __future__ import annotations

import html
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.file_format import PAGES, require_suffix
from dalembert.view.drawing import BodyDrawing, thinned_scene
from dalembert.view.extent import Extent, trajectory_drawing
from dalembert.view.geometry import thinned
from dalembert.view.report_particles import MAX_POINTS, links, pack, particle_data
from dalembert.view.report_tables import listing, provenance, rerun
from dalembert.view.works import drawn_works, ledger_parts

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["write_report"]

MAX_FRAMES = 1500
MAX_NUMBERS = 700_000  # poses, errors and reactions together: about 4 MB of page
MAX_PARTICLE_NUMBERS = 1_200_000  # about 3.2 MB of page
MOST_WARNINGS, MOST_TEXT = 50, 2000  # shown, and characters of one
CONTACT = ("contact_residual", "penetration", "contacts")
UNITS = {
    "simulated_time": "s", "wall_time": "s", "time_per_step": "s", "energy": "J", "work": "J", "constraint_work": "J",
    "projection_loss": "J", "integration_error": "J", "momentum_residual": "kg m/s",
    "angular_momentum_residual": "kg m²/s", "joint_error": "m", "joint_velocity_error": "m/s",
    "penetration": "m", "residual": "m/s",
}  # fmt: skip
SCRIPTS = ("report_scene.js", "report_particles.js", "report_panels.js", "report_plots.js", "report_picture.js",
           "report_app.js")  # fmt: skip


def write_report(trajectory: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write the report of `trajectory` to `path`, one HTML file without outside references.

    Long runs are thinned to at most 1500 frames, fewer when there are many bodies or particles; joint errors keep the
    largest value between two kept frames. Of more than 6000 free particles so many are drawn, and the page says so;
    surfaces and threads are drawn whole.

    Raises:
        ValueError: the trajectory has no instants, or the suffix is another than .html.
    """
    path = require_suffix(path, *PAGES)
    if not len(trajectory):
        raise ValueError("the trajectory is empty: there is nothing to report")
    page = _fill(
        _resource("report.html"),
        title=html.escape(trajectory.scene_name),
        subtitle=html.escape(_subtitle(trajectory)),
        warnings=_warnings(trajectory.warnings),
        style=_resource("report.css"),
        data=_json_for_html(page_data(trajectory)),
        script="\n".join(_resource(name) for name in SCRIPTS),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def page_data(trajectory: Trajectory) -> dict[str, Any]:
    """What the page's scripts read: thinned arrays in base64, the drawn scene, and the tables."""
    drawing, extent = trajectory_drawing(trajectory)
    drawn, rows = thinned_scene(drawing, MAX_POINTS)
    frames = kept_frames(trajectory, len(rows))
    meshes, mesh_of = _shared_meshes(drawing.bodies)
    has = trajectory.__contains__
    moving = [np.linalg.norm(np.ptp(track, axis=0)) for track in np.moveaxis(trajectory["position"].values, 1, 0)]
    return {
        "times": pack(trajectory.times[frames], "<f8"),
        "recorded": len(trajectory.bodies),
        "position": pack(trajectory["position"].values[frames]),
        "orientation": pack(trajectory["orientation"].values[frames]),
        "bodies": [_body(body, mesh) for body, mesh in zip(drawing.bodies, mesh_of, strict=True)],
        "meshes": meshes,
        "particles": particle_data(trajectory, drawing, drawn, rows, frames, extent.size),
        "joints": links(drawing, drawing.joints, drawn.joints),
        "springs": links(drawing, drawing.springs, drawn.springs),
        "lines": links(drawing, drawing.lines, drawn.lines),
        "curves": [{"name": curve.name, "points": curve.points.tolist()} for curve in drawing.curves],
        "ground": extent.ground,
        "camera": _camera(extent),
        "trail": int(np.argmax(moving)) if moving else -1,
        "energies": _energies(trajectory, frames),
        "ledger": [{"name": name, "values": pack(values[frames])} for name, values in ledger_parts(trajectory)],
        "contact": {name: _since(trajectory, name, frames) for name in CONTACT if has(name)},
        "balance": pack(trajectory["balance"].values[frames]) if has("balance") else None,
        "momentumBalance": _vectors(trajectory, "linear_impulse_balance", frames),
        "spinBalance": _vectors(trajectory, "angular_impulse_balance", frames),
        "jointError": _largest(trajectory, "joint_error", frames),
        "jointVelocityError": _largest(trajectory, "joint_velocity_error", frames),
        "reactionForce": _reaction(trajectory, "reaction_force", frames),
        "reactionTorque": _reaction(trajectory, "reaction_torque", frames),
        "jointNames": trajectory.joints,
        "stages": _stages(trajectory.report),
        "report": list(
            _rows({key: value for key, value in trajectory.report.items() if key not in ("stages", "warnings")})
        ),
        "provenance": provenance(trajectory),
        "rerun": rerun(trajectory),
        "listing": listing(trajectory),
    }


def kept_frames(trajectory: Trajectory, particles: int = 0) -> np.ndarray:
    """Indices of the frames the page shows, (k,), evenly spaced, the first and the last among them; `particles` drawn."""
    each = 7 * len(trajectory.bodies) + 8 * len(trajectory.joints) + 10
    most = min(MAX_FRAMES, MAX_NUMBERS // each, MAX_PARTICLE_NUMBERS // max(1, 3 * particles))
    return thinned(len(trajectory), max(40, most))


def _energies(trajectory: Trajectory, frames: np.ndarray) -> list[dict[str, Any]]:
    total = trajectory["kinetic"].values + trajectory["potential"].values
    lines = [("kinetic", trajectory["kinetic"].values), ("potential", trajectory["potential"].values)]
    lines += drawn_works(trajectory)
    for name, label in (("projection_loss", "projection loss"), ("constraint_work", "work of constraints")):
        if name in trajectory and np.any(trajectory[name].values):
            lines.append((label, trajectory[name].values))
    packed: list[dict[str, Any]] = [{"name": name, "values": pack(values[frames])} for name, values in lines]
    return [*packed, {"name": "kinetic + potential", "values": pack(total[frames]), "strong": True}]


def _largest(trajectory: Trajectory, name: str, frames: np.ndarray) -> str | None:
    if name not in trajectory or not trajectory.joints:
        return None
    return _since(trajectory, name, frames)


def _since(trajectory: Trajectory, name: str, frames: np.ndarray) -> str:
    """The largest values between one kept frame and the next."""
    return pack(np.maximum.reduceat(trajectory[name].values, frames, axis=0))


def _stages(report: dict[str, Any]) -> list[tuple[str, float]]:
    """Stages of a step and what they took in all, s."""
    stages = report.get("stages")
    items = stages.items() if isinstance(stages, dict) else ()
    return [(str(name), float(value)) for name, value in items if isinstance(value, int | float) and value > 0.0]


def _vectors(trajectory: Trajectory, name: str, frames: np.ndarray) -> str | None:
    return pack(trajectory[name].values[frames]) if name in trajectory else None


def _reaction(trajectory: Trajectory, name: str, frames: np.ndarray) -> str | None:
    if name not in trajectory or not trajectory.joints:
        return None
    return pack(trajectory[name].values[frames])


def _camera(extent: Extent) -> dict[str, Any]:
    """The first view: yaw and pitch in radians, distance, target and size in m."""
    return {
        "yaw": float(extent.yaw),
        "pitch": 0.32,
        "distance": 1.6 * extent.size,
        "target": extent.center.tolist(),
        "size": extent.size,
    }


def _body(body: BodyDrawing, mesh: int) -> dict[str, Any]:
    return {
        "name": body.name,
        "mass": body.mass,
        "color": body.color,
        "shape": body.shape,
        "mesh": mesh,
        "center": body.center.tolist(),
        "radius": body.radius,
        "position": body.position.tolist(),
        "orientation": body.orientation.tolist(),
    }


def _shared_meshes(bodies: list[BodyDrawing]) -> tuple[list[dict[str, str]], list[int]]:
    """Each different mesh once, and the index of every body's mesh (−1 for none)."""
    index: dict[tuple[str, str], int] = {}
    which = []
    for body in bodies:
        if not len(body.faces):
            which.append(-1)
            continue
        key = (pack(body.vertices), pack(body.faces, "<u4"))
        which.append(index.setdefault(key, len(index)))
    return [{"vertices": vertices, "faces": faces} for vertices, faces in index], which


def _warnings(messages: list[str]) -> str:
    """A list of what is doubtful, above everything else."""
    items = "".join(f"<li>{html.escape(message[:MOST_TEXT])}</li>" for message in messages[:MOST_WARNINGS])
    return f'<ul class="warnings" aria-label="Warnings">{items}</ul>' if items else ""


def _rows(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The end-of-run table as (name with its unit, value) rows; a nested table starts with (name, None)."""
    rows: list[tuple[str, Any]] = []
    for key, value in table.items():
        unit = next((unit for part, unit in UNITS.items() if str(key).startswith(part) or prefix == part), "")
        name = str(key).replace("_", " ") + (f", {unit}" if unit and not str(key).endswith("relative") else "")
        if isinstance(value, dict):
            rows += [(prefix + name, None), *_rows(value, f"{prefix}{name}: " if prefix else "")]
        elif isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            rows.append((name, str(value)))
        else:
            rows.append((name, value))
    return rows


def _subtitle(trajectory: Trajectory) -> str:
    span = trajectory.times[-1] - trajectory.times[0]
    bodies, joints, particles = len(trajectory.bodies), len(trajectory.joints), trajectory.particle_number
    counts = {"body": bodies, "joint": joints, "particle": particles}
    many = {"body": "bodies", "joint": "joints", "particle": "particles"}
    parts = [f"{number} {name if number == 1 else many[name]}" for name, number in counts.items() if number]
    parts.append(f"{span:g} s")
    parts += [f"method {trajectory.attrs['method']}"] if trajectory.attrs.get("method") else []
    parts += [f"dalembert {trajectory.attrs['version']}"] if trajectory.attrs.get("version") else []
    return " · ".join(parts)


def _json_for_html(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fill(template: str, **parts: str) -> str:
    """Replace every ``{{name}}`` in one pass, so that no part is searched for placeholders."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _resource(name: str) -> str:
    return (files("dalembert.view") / name).read_text(encoding="utf-8")
