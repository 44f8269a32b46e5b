"""A run as one self-contained HTML page: the animation, the energy ledger, joint errors, reactions and the tables.

The page is `report.html` with its style and scripts inside, and the run as JSON with base64 arrays. It fetches nothing:
its content security policy forbids it. Names enter the page as text only.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.file_format import PAGES, require_suffix
from .camera import thinned
from .drawing import (
    BodyDrawing,
    End,
    Extent,
    LinkDrawing,
    ParticleDrawing,
    SceneDrawing,
    recorded_particles,
    thinned_scene,
    thinning_note,
    trajectory_drawing,
)
from .plots import FLAT, ROUNDING, drawn_works, ledger_parts
from .report_contacts import contact_data, pack
from .viewpoint import elevation_of, is_scattered

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory


# Particles, joints and springs, as the scripts of the page read them --------------------------------------------------

MAX_POINTS = 6000  # free particles on the page


def particle_data(
    trajectory: Trajectory,
    drawing: SceneDrawing,
    drawn: SceneDrawing,
    rows: np.ndarray,
    frames: np.ndarray,
    size: float,
) -> dict[str, Any]:
    """The positions of the particles `rows` at `frames`, and the groups of `drawn`, which has only those.

    drawing: the whole scene; size: of the picture, m.
    """
    groups = zip(drawing.particles, drawn.particles, strict=True)
    return {
        "count": len(rows),
        **_packed_way(recorded_particles(trajectory)[np.ix_(frames, rows)]),
        "groups": [_group(whole, part, size) for whole, part in groups],
        "note": thinning_note(drawing.particles, drawn.particles),
    }


def _packed_way(x: np.ndarray) -> dict[str, str]:
    """Positions (time, p, 3) as whole numbers of 16 bits: each coordinate of each particle in steps of 1/65535 of its own
    way, which is half the size of single precision and looks the same."""
    low = x.min(axis=0)
    span = np.maximum(x.max(axis=0) - low, 1e-30)
    return {
        "low": pack(low),
        "span": pack(span / 65535.0),
        "position": pack(np.rint((x - low) * (65535.0 / span)), "<u2"),
    }


def _group(whole: ParticleDrawing, drawn: ParticleDrawing, size: float) -> dict[str, Any]:
    radius = f", radius {whole.radius:g} m" if whole.radius else ""
    if len(whole.faces):
        kind = f"surface, {len(whole.faces)} faces"
    else:
        kind = f"threads, {len(whole.segments)} segments{radius}" if len(whole.segments) else f"points{radius}"
    return {
        "name": whole.name,
        "number": whole.number,
        "kind": kind,
        "color": whole.color,
        "radius": whole.dot_radius(size),
        "first": drawn.first,
        "count": drawn.number,
        "colors": None if drawn.colors is None else pack(drawn.colors, "u1"),
        "dots": pack(drawn.dots, "<u4"),
        "segments": pack(drawn.segments, "<u4") if len(drawn.segments) and not len(drawn.faces) else None,
        "faces": pack(drawn.faces, "<u4") if len(drawn.faces) else None,
    }


def links(drawing: SceneDrawing, whole: Sequence[LinkDrawing], drawn: Sequence[LinkDrawing]) -> list[dict[str, Any]]:
    """Joints or springs: their names in the whole scene, their ends among the particles that are drawn."""
    return [
        {
            "name": link.name,
            "kind": link.kind,
            "between": " – ".join(_end_name(drawing, end) for end in (link.a, link.b)),
            "a": _end(shown.a),
            "b": _end(shown.b),
            "coils": link.coils,
            "marked": link.is_marked,
            "axis": None if link.axis is None else link.axis.tolist(),
            "until": link.until if np.isfinite(link.until) else None,
        }
        for link, shown in zip(whole, drawn, strict=True)
    ]


def _end(end: End) -> dict[str, Any]:
    return {"body": end.body, "particle": end.particle, "anchor": end.anchor.tolist()}


def _end_name(drawing: SceneDrawing, end: End) -> str:
    if end.particle >= 0:
        held = (group for group in drawing.particles if group.span.start <= end.particle < group.span.stop)
        group = next(held, None)
        return f"particle {end.particle}" if group is None else f"{group.name} {end.particle - group.first}"
    return drawing.bodies[end.body].name if end.body >= 0 else "world"


# Texts: how the run was made and how to repeat it, and the contents of the scene --------------------------------------

MOST_TEXT = 2000  # characters of one value
DEFAULTS = {
    "contact_points": True,
    "hold": "projection",
    "coordinates": "maximal",
    "constraint_solver": "ldl",
    "impacts": "simultaneous",
}
RELATED = {"stiffness": "hold", "damping": "hold"}  # settings that mean nothing where another is at its default


def settings_of(trajectory: Trajectory) -> dict[str, Any]:
    """The settings of the run that were recorded and are not left to themselves, empty where none were recorded."""
    known = _object(_known(trajectory).get("settings"))
    left = {name for name, value in known.items() if value is None or value == DEFAULTS.get(name, False)}
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
        lines += [f"# resumed from a saved run at t = {trajectory.times[0]:g} s: Simulation(scene, ...).resume(saved)"]
    return "\n".join([*lines, f"run = dal.simulate(\n    {call},\n)", "print(run.report)"])


def listing(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The tables of the scene (`dalembert.simulation.summary`), with texts only, whatever the file says."""
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
    """The record of where the run comes from (`dalembert.simulation.provenance`), which a file may have damaged."""
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


# The page -------------------------------------------------------------------------------------------------------------

MAX_FRAMES = 1500
MAX_NUMBERS = 700_000  # poses, errors and reactions together: about 4 MB of page
MAX_PARTICLE_NUMBERS = 1_200_000  # about 3.2 MB of page
MOST_WARNINGS, MOST_REPORT_TEXT = 50, 2000  # shown, and characters of one
CONTACT = ("contact_residual", "penetration", "contacts")
UNITS = {
    "simulated_time": "s", "wall_time": "s", "time_per_step": "s", "energy": "J", "work": "J", "constraint_work": "J",
    "projection_loss": "J", "integration_error": "J", "momentum_residual": "kg m/s",
    "angular_momentum_residual": "kg m²/s", "joint_error": "m", "joint_velocity_error": "m/s",
    "penetration": "m", "residual": "m/s", "dt": "s",
}  # fmt: skip
SCRIPTS = ("report_scene.js", "report_particles.js", "report_panels.js", "report_plots.js", "report_contacts.js",
           "report_picture.js", "report_app.js")  # fmt: skip


def write_report(trajectory: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write the report of `trajectory` to `path`, one HTML file without outside references.

    Long runs are reduced to at most 1500 frames, fewer if there are many bodies or particles; joint errors are the
    largest values between two of these frames. At most 6000 free particles are drawn, and the page says so; surfaces
    and threads are drawn completely.

    Raises:
        ValueError: if the trajectory has no frames, or the suffix is not .html.
    """
    path = require_suffix(path, *PAGES)
    if not len(trajectory):
        raise ValueError("the trajectory has no frames: there is nothing to report")
    page = fill(
        resource("report.html"),
        title=html.escape(trajectory.scene_name),
        subtitle=html.escape(_subtitle(trajectory)),
        warnings=_warnings([*_unsolved(trajectory.report), *trajectory.warnings]),
        style=resource("report.css"),
        kind="report",
        begin="",
        data=json_for_html(page_data(trajectory)),
        script="\n".join(resource(name) for name in SCRIPTS),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def page_data(trajectory: Trajectory) -> dict[str, Any]:
    """What the page's scripts read: thinned arrays in base64, the drawn scene, and the tables."""
    drawing, extent = trajectory_drawing(trajectory)
    _, rows = thinned_scene(drawing, MAX_POINTS)
    frames = kept_frames(trajectory, len(rows), sum(cable.count for cable in drawing.cables))
    has = trajectory.__contains__
    return {
        **picture_data(trajectory, drawing, extent, frames, MAX_POINTS),
        "least": _least_axes(trajectory, drawing, extent),
        "energies": _energies(trajectory, frames),
        "ledger": [{"name": name, "values": pack(values[frames])} for name, values in ledger_parts(trajectory)],
        "contacts": contact_data(trajectory, frames),
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
            report_rows(
                {
                    key: value
                    for key, value in trajectory.report.items()
                    if key not in ("stages", "warnings", "not_solved")
                }
            )
        ),
        "provenance": provenance(trajectory),
        "rerun": rerun(trajectory),
        "listing": listing(trajectory),
        "player": False,
    }


def picture_data(
    trajectory: Trajectory, drawing: SceneDrawing, extent: Extent, frames: np.ndarray, most_points: int
) -> dict[str, Any]:
    """What the scripts of the picture read: poses at the `frames` (k,), meshes, particles (of free ones at most about
    `most_points`), links, and the camera."""
    drawn, rows = thinned_scene(drawing, most_points)
    meshes, mesh_of = _shared_meshes(drawing.bodies)
    poses = trajectory["position"].values[frames], trajectory["orientation"].values[frames]
    moving = [np.linalg.norm(np.ptp(track, axis=0)) for track in np.moveaxis(trajectory["position"].values, 1, 0)]
    trail = int(np.argmax(moving)) if moving else -1
    return {
        "times": pack(trajectory.times[frames], "<f8"),
        "recorded": len(trajectory.bodies),
        "position": pack(poses[0]),
        "orientation": pack(poses[1]),
        "bodies": [_body(body, mesh) for body, mesh in zip(drawing.bodies, mesh_of, strict=True)],
        "meshes": meshes,
        "particles": particle_data(trajectory, drawing, drawn, rows, frames, extent.size),
        "joints": links(drawing, drawing.joints, drawn.joints),
        "springs": links(drawing, drawing.springs, drawn.springs),
        "lines": links(drawing, drawing.lines, drawn.lines),
        "cables": _cables(trajectory, drawing, frames),
        "curves": [{"name": curve.name, "points": curve.points.tolist()} for curve in drawing.curves],
        "ground": extent.ground,
        "camera": _camera(extent, np.radians(elevation_of(drawing, extent, *poses))),
        "marks": drawing.mark_size(extent.size),
        "trail": trail,
        "follow": trail if is_scattered(drawing, extent, _first_places(drawing, poses[0])) else -1,
    }


def _cables(trajectory: Trajectory, drawing: SceneDrawing, frames: np.ndarray) -> list[dict[str, Any]]:
    """Cables, with the points of their paths at the frames (k, n, 3)."""
    if not drawing.cables:
        return []
    poses = [trajectory[name].values[frames] for name in ("position", "orientation")]
    now = trajectory.times[frames], *poses, recorded_particles(trajectory)[frames]
    return [{"name": cable.name, "count": cable.count, "points": pack(cable.track(*now))} for cable in drawing.cables]


def kept_frames(trajectory: Trajectory, particles: int = 0, cable_points: int = 0) -> np.ndarray:
    """Indices of the frames the page shows, (k,), evenly spaced, the first and the last among them; so many `particles` and
    points of cables are drawn."""
    each = 7 * len(trajectory.bodies) + 8 * len(trajectory.joints) + 3 * cable_points + 10
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


def _first_places(drawing: SceneDrawing, positions: np.ndarray) -> np.ndarray:
    """Where all bodies are at first, (b, 3) m, from those of the recorded ones (time, n, 3)."""
    still = [body.position for body in drawing.bodies[positions.shape[1] :]]
    return np.concatenate([positions[0], np.reshape(still, (-1, 3))])


def _least_axes(trajectory: Trajectory, drawing: SceneDrawing, extent: Extent) -> dict[str, float]:
    """The least lengths of the axes of energy and its error (J), and of the residuals of momentum: what is smaller than
    rounding leaves of the scene's own energy and momentum is drawn flat."""
    masses = np.array([body.mass or 0.0 for body in drawing.bodies])
    gravity = float(np.linalg.norm(_numbers(trajectory.scene_description.get("gravity")) or 0.0))
    energy = max(
        float(masses.sum()) * gravity * extent.size,
        float(np.nanmax(trajectory["kinetic"].values)),
        float(np.ptp(trajectory["potential"].values)),
    )
    energy = energy if np.isfinite(energy) else 0.0
    momentum = float(np.sqrt(2.0 * masses.sum() * energy))
    return {
        "energy": FLAT * energy, "error": ROUNDING * energy,
        "linear": ROUNDING * momentum, "angular": ROUNDING * momentum * extent.size,
    }  # fmt: skip


def _camera(extent: Extent, pitch: float) -> dict[str, Any]:
    """The first view: yaw and pitch in radians, distance, target and size in m, and the distance to one body (`near`)."""
    return {
        "yaw": float(extent.yaw),
        "pitch": float(pitch),
        "distance": 1.6 * extent.size,
        "near": 0.16 * extent.size,
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
    items = "".join(f"<li>{html.escape(message[:MOST_REPORT_TEXT])}</li>" for message in messages[:MOST_WARNINGS])
    return f'<ul class="warnings" aria-label="Warnings">{items}</ul>' if items else ""


def _unsolved(report: dict[str, Any]) -> list[str]:
    """What the contact solver did not solve, if anything."""
    text = report.get("not_solved")
    return [f"Not solved: {text}"] if isinstance(text, str) and text else []


def report_rows(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The end-of-run table as (name with its unit, value) rows; a nested table starts with (name, None)."""
    rows: list[tuple[str, Any]] = []
    for key, value in table.items():
        unit = next((unit for part, unit in UNITS.items() if str(key).startswith(part) or prefix == part), "")
        name = str(key).replace("_", " ") + (f", {unit}" if unit and not str(key).endswith("relative") else "")
        if isinstance(value, dict):
            rows += [(prefix + name, None), *report_rows(value, f"{prefix}{name}: " if prefix else "")]
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


def json_for_html(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def fill(template: str, **parts: str) -> str:
    """Replace every ``{{name}}`` in one pass, so that no part is searched for placeholders."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def resource(name: str) -> str:
    return (files("dalembert.view") / name).read_text(encoding="utf-8")
