"""Run every scene of the gallery, check it, draw it: writes docs/gallery.md, docs/gallery/NAME.png, thumbnails and films."""

import sys
from pathlib import Path
from typing import Any

import figures
import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageOps

import dalembert as dal
from dalembert import gallery
from dalembert.gallery import rotation_drift
from dalembert.view.still import Arrow, still

HERE = Path(__file__).parent
LEFT, RIGHT = (0.0, 0.0, -0.5), (0.0, 0.0, 0.5)  # ends of a bar of 1 m
FORCE, BACK = (0.0, 0.45, 0.0), (0.0, -0.45, 0.0)
INTRODUCTION = (
    "The gallery is a collection of ready-made scenes. Each is checked against a known result. Each scene is a file of",
    "`src/dalembert/gallery/`; `dalembert run NAME` runs it, and `dalembert view NAME` shows it live. The page on",
    "[stiffness](stiffness.md) compares how methods handle strong forces.",
)
GROUPS = {
    "Mechanisms": ("pendulum", "double-pendulum", "generalized", "formulations", "four-bar", "n-four-bar", "rope", "bead",
                   "trebuchet", "sling", "crane", "factory"),
    "Rigid bodies in motion": ("tumbling", "top", "tippe-top", "euler-disk", "rattleback", "force-pair", "force-puzzle",
                               "rotation-drift"),
    "Contact and friction": ("incline", "rolling", "bicycle", "bouncing-ball", "cradle", "billiards", "rocking-block",
                             "dominoes", "stack", "heavy-on-light", "card-house", "arch", "pyramid", "wall", "pile",
                             "terrain", "siege"),
    "Cloth, hair and soft bodies": ("cloth", "cloth-on-sphere", "flag", "net", "hair", "soft-body"),
    "Particles": ("fountain", "galaxy", "orbit", "spring-chain", "stiffness"),
}  # fmt: skip
# Where a film tells more than a picture: its length (s of the run) and speed.
FILMS: dict[str, dict[str, float]] = {
    "double-pendulum": {"until": 6.0}, "trebuchet": {"until": 3.0, "speed": 0.5}, "tippe-top": {"until": 5.0},
    "cradle": {"until": 4.0}, "dominoes": {"until": 1.5, "speed": 0.25}, "terrain": {"until": 4.0, "speed": 0.5},
    "cloth-on-sphere": {"until": 2.0, "speed": 0.5}, "flag": {"until": 5.0},
    "rattleback": {"until": 4.2},
}  # fmt: skip
FILM_SIZE, THUMBNAIL = (640, 360), (240, 180)

BRICKS = [f"brick {row} {column}" for row in range(1, 9) for column in range(1, 6)]  # of the wall of "siege"

# What shows best what a scene is about: the instant, s, the ghosts before it, the view.
PICTURES: dict[str, dict[str, Any]] = {
    "arch": {"time": 1.5, "ground": 0.0, "azimuth": -70},
    "bicycle": {"time": 0.9, "ghosts": (0.0, 0.45), "ground": 0.0, "azimuth": -70, "elevation": 14},
    "bouncing-ball": {"time": 3.0, "ground": 0.0, "ghosts": (0.0, 0.9, 1.6), "azimuth": -75},
    "cradle": {"time": 1.0, "ghosts": (0.0,), "azimuth": -75},
    "rocking-block": {"time": 0.6, "ghosts": (0.0,), "ground": 0.0, "azimuth": -75},
    "tippe-top": {"time": 2.0, "ghosts": (0.0, 0.9), "ground": 0.0},
    "billiards": {"time": 0.2, "ghosts": (0.0,), "elevation": 55, "azimuth": -80, "ground": 0.0},
    "card-house": {"time": 1.0, "ground": 0.0, "azimuth": -70},
    "cloth": {"time": 6.0, "azimuth": -60},
    "cloth-on-sphere": {"time": 1.2, "ground": 0.0, "azimuth": -60, "elevation": 20},
    "dominoes": {"time": 0.6, "ground": 0.0, "azimuth": -75, "trail": False},
    "euler-disk": {"time": 0.2, "ghosts": (0.15,), "ground": 0.0, "elevation": 12},
    "fountain": {"time": 0.6, "ground": 0.0, "elevation": 9, "azimuth": -80},
    "heavy-on-light": {"time": 1.0, "ground": 0.0, "azimuth": -60},
    "incline": {"time": 1.0, "ghosts": (0.0, 0.5, 0.75), "ground": 0.0, "azimuth": -75},
    "pile": {"time": 2.5, "ground": 0.0, "trail": False, "elevation": 68},
    "pyramid": {"time": 2.0, "ground": 0.0, "azimuth": -75},
    "rolling": {"time": 0.4, "ghosts": (0.0, 0.1, 0.2, 0.3), "ground": 0.0, "azimuth": -75},
    "siege": {"time": 7.1, "ground": 0.0, "azimuth": -125, "elevation": 14, "focus": BRICKS},
    "sling": {"time": 1.05, "ghosts": (0.0, 0.55, 0.85), "azimuth": -80, "ground": 0.0},
    "soft-body": {"time": 0.2, "azimuth": -70, "ground": 0.0},
    "stack": {"time": 2.0, "ground": 0.0, "azimuth": -65},
    "terrain": {"time": 1.1, "elevation": 48},
    "wall": {"time": 5.0, "ground": 0.0, "azimuth": -75},
    "bead": {"time": 1.35, "ghosts": (0.0, 0.4, 0.65, 0.85, 1.05, 1.2), "elevation": 24, "azimuth": -40},
    "double-pendulum": {"time": 0.9, "ghosts": (0.0, 0.35, 0.6)},
    "flag": {"time": 2.0, "azimuth": -65},
    "force-pair": {
        "time": 0.7, "ghosts": (0.0, 0.35, 0.55), "elevation": 50, "azimuth": -75,
        "arrows": [
            Arrow("pair", LEFT, FORCE, turns=True), Arrow("pair", RIGHT, FORCE, turns=True),
            Arrow("couple", LEFT, BACK, turns=True), Arrow("couple", RIGHT, FORCE, turns=True),
        ],
    },
    "force-puzzle": {
        "time": 1.6, "ghosts": (0.0, 0.8, 1.25), "elevation": 50, "azimuth": -75,
        "arrows": [Arrow("pushed at its centre", (0.0, 0.0, 0.0), FORCE), Arrow("pushed at its end", RIGHT, FORCE)],
    },
    "four-bar": {"time": 0.9, "ghosts": (0.3, 0.6), "azimuth": -78},
    "generalized": {"time": 1.7, "ghosts": (1.2, 1.4, 1.55)},
    "hair": {"time": 0.3, "azimuth": -65},
    "n-four-bar": {"time": 1.05, "ghosts": (0.0, 0.5, 0.8), "azimuth": -78},
    "net": {"time": 1.6, "azimuth": -65, "elevation": 24, "trail": False, "ghosts": (0.0,)},
    "pendulum": {"time": 0.95, "ghosts": (0.0, 0.3, 0.45, 0.57, 0.68, 0.8), "azimuth": -80},
    "rope": {"time": 0.75, "ghosts": (0.0, 0.3, 0.55)},
    "top": {"time": 0.6, "ghosts": (0.0, 0.3)},
    "trebuchet": {"time": 0.93, "ghosts": (0.0, 0.55), "azimuth": -80, "ground": 0.0},
    "tumbling": {
        "time": 1.15, "azimuth": -25,
        "arrows": [Arrow("box", (0.0, 0.0, 0.0), (0.0, 0.26, 0.0))],
    },
}  # fmt: skip


def main(names: list[str]) -> None:
    """Draw the named scenes, or all; the page lists all."""
    (HERE / "gallery").mkdir(exist_ok=True)
    for name in names or gallery.names():
        module = gallery.load(name)
        settings = dict(module.SETTINGS)
        run = dal.simulate(module.build(), settings.pop("duration"), **settings)
        module.check(run)
        picture = HERE / "gallery" / f"{name}.png"
        if name == "rotation-drift":
            drift(run, picture)
        elif name in figures.DRAWN:
            figures.DRAWN[name](run, picture)
        else:
            still(run.trajectory, picture, **PICTURES.get(name, {"time": 0.4 * run.time}))
        thumbnail(picture)
        film(name, run)
        print(name, "energy residual", run.report.energy_residual, "joint error", run.report.joint_error, flush=True)
    page()


def thumbnail(picture: Path) -> None:
    """Write a small copy of a picture into the folder `thumbs` beside it."""
    folder = picture.parent / "thumbs"
    folder.mkdir(exist_ok=True)
    image = Image.open(picture).convert("RGB")
    ImageOps.pad(image, THUMBNAIL, color="white").save(folder / f"{picture.stem}.png", optimize=True)


def film(name: str, run: dal.Simulation) -> None:
    """Write the film of a scene that has one, from a run with frames enough for it."""
    if name not in FILMS:
        return
    module, wanted = gallery.load(name), FILMS[name]
    speed = wanted.get("speed", 1.0)
    settings = {**module.SETTINGS, "frame_rate": 30.0 / speed}
    del settings["duration"]
    shown = dal.simulate(module.build(), wanted["until"], **settings)
    view = {key: value for key, value in PICTURES.get(name, {}).items() if key in ("elevation", "azimuth", "ground")}
    (HERE / "_static" / "films").mkdir(parents=True, exist_ok=True)
    shown.trajectory.save_movie(HERE / "_static" / "films" / f"{name}.mp4", size=FILM_SIZE, speed=speed, **view)


def page() -> None:
    """Write the page of all scenes: thumbnails by group, then each scene with its command and its code."""
    listed = sorted(name for names in GROUPS.values() for name in names)
    assert listed == sorted(gallery.names()), "each scene is in one group"
    lines = ["# Gallery", "", *INTRODUCTION, ""]
    for group, names in GROUPS.items():
        lines += [f"**{group}**", "", "```{container} thumbnails"]
        lines += [f"[![{name}](gallery/thumbs/{name}.png) {name}](#{name})" for name in names]
        lines += ["```", ""]
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            lines += section(name)
    (HERE / "gallery.md").write_text("\n".join(lines), encoding="utf-8")


def section(name: str) -> list[str]:
    """What the page says of one scene."""
    module = gallery.load(name)
    file = Path(str(module.__file__)).name
    lines = [f"### {name}", "", (module.__doc__ or "").strip(), "", f"![{name}](gallery/{name}.png)", ""]
    if name in FILMS:
        speed = FILMS[name].get("speed", 1.0)
        words = "film" if speed == 1.0 else f"film, at {speed:g} times its speed"
        lines += ["<video controls muted loop playsinline preload='metadata' width='640' height='360' "
                  f"title='{name}, {words}' src='_static/films/{name}.mp4'></video>", ""]  # fmt: skip
    lines += ["```console", f"$ dalembert view {name}", "```", ""]
    own = module.build.__module__ == module.__name__  # or of another scene, and then the file is shown whole
    part = [":pyobject: build"] if own else []
    lines += ["<details><summary>code of the scene</summary>", "", f"```{{literalinclude}} ../src/dalembert/gallery/{file}",
              ":language: python", *part, "```", "", "</details>", ""]  # fmt: skip
    return lines


def drift(run: dal.Simulation, path: Path) -> None:
    """Plot how far a matrix and a quaternion depart from a rotation, for two steps."""
    times = run.trajectory.times
    figure = Figure(figsize=(8, 6), dpi=150, layout="constrained")
    axis = figure.subplots()
    for dt, dash in ((rotation_drift.STEP, "-"), (0.5 * rotation_drift.STEP, "--")):
        found = rotation_drift.compare(run.model.scene, times, dt=dt)
        for kind, color in (("matrix", "#b4434d"), ("quaternion", "#3566b0")):
            rotation = found[kind].rotation
            defect = np.linalg.norm(rotation.transpose(0, 2, 1) @ rotation - np.eye(3), axis=(1, 2))
            label = f"{kind}, {found[kind].numbers} numbers, step {dt:g} s"
            axis.plot(times[1:], defect[1:], dash, color=color, linewidth=2, label=label)
    axis.set(xlabel="time, s", ylabel="‖RᵀR − 1‖", yscale="log", title="How far from a rotation?")
    axis.grid(color="#e4e7ec")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main(sys.argv[1:])
