"""Output of scenes and runs in notebooks: a picture or a player, and tables below it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.file_format import TABLES
from ..core.notebook import MOST_ROWS, block, counted, folded, lines, note, numbers, table, title
from ..simulation.summary import scene_description, scene_summary
from .player import player
from .report import report_rows

if TYPE_CHECKING:
    from ..scene.scene import Scene
    from ..simulation.trajectory import Trajectory

HEIGHT = 400  # pixels of a picture


def scene_html(scene: Scene) -> str:
    """A picture of the scene in its initial pose, and its bodies, joints, forces and others as tables."""
    kinds = (("body", "bodies", scene.bodies), ("obstacle", "", scene.obstacles), ("joint", "", scene.joints),
             ("force", "", scene.forces))  # fmt: skip
    facts = [counted(len(found), one, many) for one, many, found in kinds if found]
    particles = sum(len(group) for group in scene.particles.values())
    facts += [counted(particles, "particle")] if particles else []
    parts = [title(f"Scene {scene.name!r}", *(facts or ["empty"]), f"gravity ({numbers(scene.gravity)}) m/s²")]
    if scene.bodies or scene.obstacles or particles:
        parts.append(player(at_rest(scene), height=HEIGHT))
    for found in scene_summary(scene):
        total = len(found["rows"]) + int(found["left_out"])
        content = table(found["columns"], found["rows"], total)
        parts.append(folded(f"{found['title']} ({total})", content, shown=total <= 8))
    parts += [note(f"warning: {message}") for message in scene.warnings[:MOST_ROWS]]
    return block(*parts)


def at_rest(scene: Scene) -> Trajectory:
    """The scene in its initial pose, as a run of one instant."""
    from ..simulation.trajectory import Trajectory

    bodies = scene.bodies.values()
    groups = sorted(scene.particles.values(), key=lambda group: group.first)
    variables = {
        "time": np.zeros(1),
        "position": np.array([body.position for body in bodies]).reshape(1, -1, 3),
        "orientation": np.array([body.orientation for body in bodies]).reshape(1, -1, 4),
        "kinetic": np.zeros(1),
        "potential": np.zeros(1),
    }
    if groups:
        variables["particle_position"] = np.concatenate([group.position for group in groups])[None]
    attrs = {"scene": scene.name, "scene_json": json.dumps(scene_description(scene, {}), allow_nan=False)}
    return Trajectory.from_arrays(variables, bodies=list(scene.bodies), attrs=attrs)


def run_html(trajectory: Trajectory, report: list[tuple[str, str]] | None = None, warned: Sequence[str] = ()) -> str:
    """The player of a run, and the lines of its report, of which those with a name of `warned` stand out; without these, what
    a trajectory has of its report, and its variables."""
    span = f"{trajectory.times[-1] - trajectory.times[0]:g} s" if len(trajectory) else "no frames"
    facts = [span, f"{len(trajectory)} frames", str(trajectory.attrs.get("method", ""))]
    kind = "Trajectory" if report is None else "Run"
    parts = [title(f"{kind} of {trajectory.scene_name!r}", *filter(None, facts))]
    if len(trajectory):
        parts.append(player(trajectory, height=HEIGHT))
    if report is not None:
        parts.append(folded("Report", lines(report, warned), shown=True))
        return block(*parts)
    parts += [note(f"warning: {message}") for message in trajectory.warnings[:MOST_ROWS]]
    rows = [
        (name, "" if value is None else value) for name, value in report_rows(trajectory.report) if name != "stages"
    ]
    parts += [folded("Report", lines(rows))] if rows else []
    variables = [(name, " × ".join(f"{axis} {size}" for axis, size in zip(array.dims, array.shape, strict=True)),
                  array.attrs.get("units", ""), array.attrs.get("long_name", ""))
                 for name, array in trajectory.dataset.data_vars.items()]  # fmt: skip
    head = ("variable", "axes", "unit", "meaning")
    shown = [*variables[:MOST_ROWS]]
    parts.append(folded(f"Variables ({len(variables)})", table(head, shown, len(variables))))
    return block(*parts, note(f"to_pandas() has these as one table, and save(…) writes {', '.join(TABLES)} and .nc"))
