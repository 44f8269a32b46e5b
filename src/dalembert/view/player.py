"""The animation of a run in a notebook: a still picture and a player that needs no server, both of bounded size.

The player is the picture of the report page (`report`), with its style, scripts and numbers inside, in a frame without
access to the notebook. If a notebook is shown without scripts, the still picture remains.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.notebook import block, counted, note, text
from .camera import thinned
from .drawing import BodyDrawing, SceneDrawing, thinned_scene, trajectory_drawing
from .report import SCRIPTS, fill, json_for_html, picture_data, resource

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory

MOST_BYTES = 4_000_000  # of all that one object shows
MOST_FRAMES = 400
FEWEST_FRAMES = 12  # below that there is the still picture alone
MOST_NUMBERS = 260_000  # poses of bodies, in single precision: 1.4 MB of text
MOST_PARTICLE_NUMBERS = 400_000  # 16 bits each: 1.1 MB of text
MOST_POINTS = 3000  # free particles
MOST_TRIANGLES = 20_000  # of different meshes: 0.6 MB of text
MOST_BODIES = 2000
CELLS = (48, 24, 12, 6)  # along the longest side of a mesh that is made coarser
WIDTH = 860  # pixels of the still picture
LOW = 320  # pixels: the least height of the player on a narrow page
QUALITY = 88  # of the still picture as JPEG, in percent


class Animation:
    """A player of a run for notebooks, shown as the last value of a cell or with ``display``; made by
    `Trajectory.animate`.

    It also works in a saved notebook, and in pages that nbconvert makes of it.
    """

    trajectory: Trajectory
    speed: float  # simulated seconds per second
    height: int  # pixels
    autoplay: bool  # whether it plays when it becomes visible

    def __init__(self, trajectory: Trajectory, speed: float = 1.0, height: int = 480, autoplay: bool = True) -> None:
        if not (np.isfinite(speed) and speed > 0.0):
            raise ValueError(f"speed is {speed!r}; give a number above zero: 0.5 is half as fast as real time")
        if not 120 <= height <= 4000:
            raise ValueError(f"height is {height!r}; give the height in pixels, 120 to 4000")
        if not len(trajectory):
            raise ValueError(f"{trajectory.scene_name!r} has no frames: there is nothing to show; run it first")
        self.trajectory, self.speed, self.height, self.autoplay = trajectory, float(speed), int(height), autoplay

    def __repr__(self) -> str:
        return f"<animation of {self.trajectory.scene_name!r}: shown in a notebook; save_movie and save_report write files>"

    def _repr_html_(self) -> str:
        return block(player(self.trajectory, self.speed, self.height, self.autoplay))


def player(trajectory: Trajectory, speed: float = 1.0, height: int = 480, autoplay: bool = False) -> str:
    """The still picture and the player over it, in HTML of at most `MOST_BYTES`; what cannot be drawn is told in words.

    Of a run with many bodies or particles fewer frames are kept; of one that is still too large, the picture alone.
    """
    try:
        still = _still(trajectory, height, autoplay)
        page, why = _page(trajectory, speed, autoplay)
    except ValueError as error:  # a file describes something that cannot be drawn
        return note(f"there is no picture: {error}")
    if page and len(page) + len(still) > MOST_BYTES - 300_000:  # which leaves room for tables
        page, why = "", "this run is too large to play here; use save_movie, save_report or dalembert.show"
    style = "position:absolute;inset:0;width:100%;height:100%;border:0"
    frame = (
        f'<iframe title="{text(trajectory.scene_name)}" style="{style};color-scheme:light" sandbox="allow-scripts" '
        f'srcdoc="{page}"></iframe>'
        if page
        else ""
    )
    picture = f'<img alt="{text(trajectory.scene_name)}" src="{still}" style="{style};object-fit:contain;margin:0">'
    least = f";min-height:{min(height, LOW)}px" if page else ""
    shape = f"position:relative;width:100%;box-sizing:border-box;aspect-ratio:{WIDTH}/{height}{least}"
    view = f'<div class="view" style="{shape}">{picture}{frame}</div>'
    return view + (note(why) if why else "")


def _still(trajectory: Trajectory, height: int, start: bool) -> str:
    """The scene at one instant, at the start or the end, as the address of a JPEG."""
    from PIL import Image

    from .still import picture

    time = float(trajectory.times[0 if start else -1])
    drawn = Image.fromarray(picture(trajectory, time=time, size=(WIDTH, min(height, WIDTH)), fine=2))
    file = io.BytesIO()
    drawn.save(file, "JPEG", quality=QUALITY, subsampling=0)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _page(trajectory: Trajectory, speed: float, autoplay: bool) -> tuple[str, str]:
    """(the page of the player, escaped, or nothing; what to say below it)."""
    if len(trajectory) < 2 or not trajectory.times[-1] > trajectory.times[0]:
        return "", ""
    drawing, extent = trajectory_drawing(trajectory)
    _, rows = thinned_scene(drawing, MOST_POINTS)
    each = max(7 * len(trajectory.bodies) / MOST_NUMBERS, 3 * len(rows) / MOST_PARTICLE_NUMBERS, 1 / MOST_FRAMES)
    frames = thinned(len(trajectory), int(1.0 / each))
    if len(drawing.bodies) > MOST_BODIES or (len(frames) < FEWEST_FRAMES and len(frames) < len(trajectory)):
        return "", "this run is too large to play here; use save_movie, save_report or dalembert.show"
    coarse, made = thinned_meshes(drawing)
    data: dict[str, Any] = {
        **picture_data(trajectory, coarse, extent, frames, MOST_POINTS),
        "contacts": None, "player": True, "speed": speed, "autoplay": autoplay,
    }  # fmt: skip
    page = fill(
        resource("report.html"),
        title=text(trajectory.scene_name),
        subtitle="",
        warnings="",
        kind="player waiting",
        begin='<button id="begin" type="button" aria-label="Play"><span>▶</span></button>',
        style=resource("report.css") + resource("player.css"),
        data=json_for_html(data),
        script="\n".join(resource(name) for name in (*SCRIPTS, "player.js")),
    )
    said = [f"{len(frames)} of {len(trajectory)} frames"] * (4 * len(frames) < len(trajectory))
    said += [f"{counted(made, 'mesh is', 'meshes are')} drawn coarser"] * bool(made)
    return html.escape(page), "; ".join(said)


def thinned_meshes(drawing: SceneDrawing) -> tuple[SceneDrawing, int]:
    """The drawing with at most about `MOST_TRIANGLES` triangles of different meshes, and how many bodies have coarser ones:
    the largest meshes, whose vertices within a cell of a grid are joined."""
    bodies, made = list(drawing.bodies), 0
    for cells in CELLS:
        total = sum({(len(b.faces), b.vertices.tobytes()): len(b.faces) for b in bodies}.values())
        if total <= MOST_TRIANGLES:
            break
        large = np.median([len(b.faces) for b in bodies if len(b.faces)])
        least = min(large, MOST_TRIANGLES // 4)
        bodies = [coarser(body, cells) if len(body.faces) >= least else body for body in bodies]
    made = sum(new is not old for new, old in zip(bodies, drawing.bodies, strict=True))
    return replace(drawing, bodies=bodies), made


def coarser(body: BodyDrawing, cells: int) -> BodyDrawing:
    """The body with a mesh whose vertices are the means of those in each cell of a grid, so many along its longest side."""
    low = body.vertices.min(axis=0)
    step = float(np.ptp(body.vertices, axis=0).max()) / cells or 1.0
    keys = np.floor((body.vertices - low) / step).astype(np.int64)
    _, cell = np.unique(keys, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    count = np.bincount(cell)
    vertices = np.stack([np.bincount(cell, body.vertices[:, k]) / count for k in range(3)], axis=1)
    faces = cell[body.faces]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = (
        np.unique(np.stack([np.roll(f, -int(np.argmin(f))) for f in faces[kept]]), axis=0) if kept.any() else faces[:0]
    )
    return replace(body, vertices=vertices, faces=faces)
