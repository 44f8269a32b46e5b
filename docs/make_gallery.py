"""Run every scene of the gallery, check it, draw it: writes docs/gallery.md and docs/gallery/NAME.png."""

import sys
from pathlib import Path

import matplotlib

import dalembert as dal
from dalembert import gallery
from dalembert.view.plots import still

matplotlib.use("Agg")
HERE = Path(__file__).parent


def main(names: list[str]) -> None:
    """Draw the named scenes, or all; the page lists all."""
    (HERE / "gallery").mkdir(exist_ok=True)
    for name in names or gallery.names():
        module = gallery.load(name)
        settings = dict(module.SETTINGS)
        run = dal.simulate(module.build(), settings.pop("duration"), **settings)
        module.check(run)
        moment = min([0.4 * run.time, *(0.85 * time for time in run.released.values())])
        still(run.trajectory, HERE / "gallery" / f"{name}.png", time=moment)
        print(name, "energy residual", run.report.energy_residual, "joint error", run.report.joint_error, flush=True)
    lines = ["# Gallery", "", "Each scene is a file of `src/dalembert/gallery/`; `dalembert run NAME` runs it.", ""]
    for name in gallery.names():
        text = (gallery.load(name).__doc__ or "").strip()
        lines += [f"## {name}", "", text, "", f"![{name}](gallery/{name}.png)", ""]
    (HERE / "gallery.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
