"""Draw the data flow of the engine: writes docs/data-flow.svg, which docs/architecture.md shows.

All text stands in filled boxes and arrows are of a middle grey, so that the picture is legible on light and on dark pages.
"""

from html import escape
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT = 960, 800
USER, DATA, STEP, PART, BASE = "#1d4f8c", "#8a4b08", "#1f6b4a", "#2f7d8c", "#4a5263"
FRAME, GREY = "#dfe7ee", "#808a99"
SANS, MONO = "system-ui, 'DejaVu Sans', sans-serif", "ui-monospace, 'DejaVu Sans Mono', monospace"

MODEL = ["tables, graph and tree of joints,", "order of elimination"]
STATE = ["bodies x, q, P, L; particles x, p;", "joint coordinates; energy ledger"]
RUN = "Simulation: the method makes a stepper, which runs to the next frame or event"
BELOW = (
    "Below everything: compilation, tables, threads, vectors, elementary functions; "
    "linear algebra, complementarity, minima"
)


def text(
    x: float, y: float, words: str, size: float = 13, fill: str = "#ffffff", bold: bool = False, mono: bool = False
) -> str:
    """A line of text about x, on the baseline y."""
    weight = ' font-weight="600"' if bold else ""
    family = MONO if mono else SANS
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-family="{family}" font-size="{size:g}"{weight} '
        f'fill="{fill}">{escape(words)}</text>'
    )


def box(x: float, y: float, w: float, title: str, lines: list[str], folders: str, fill: str) -> str:
    """A filled box as high as its lines: a title, what it has or does, and the folders of the package."""
    h, middle = 40 + 17 * len(lines) + (20 if folders else 0), x + w / 2
    parts = [f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8" fill="{fill}"/>']
    parts.append(text(middle, y + 24, title, 15, bold=True))
    parts += [text(middle, y + 44 + 17 * i, line) for i, line in enumerate(lines)]
    if folders:
        parts.append(text(middle, y + h - 11, folders, 12.5, "#ffe9b8", mono=True))
    return "\n".join(parts)


def arrow(*points: tuple[float, float]) -> str:
    """An arrow along straight lines."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{GREY}" stroke-width="2.5" marker-end="url(#tip)"/>'


def pill(x: float, y: float, w: float, words: str) -> str:
    """The name of a function, on an arrow."""
    return (
        f'<rect x="{x - w / 2:g}" y="{y - 13:g}" width="{w:g}" height="26" rx="13" fill="{FRAME}" stroke="{GREY}"/>'
        + text(x, y + 4.5, words, 12.5, "#1b2430", mono=True)
    )


def drawing() -> str:
    """The picture as SVG."""
    parts = [
        arrow((240, 67), (278, 67)), arrow((720, 67), (682, 67)),
        arrow((480, 95), (480, 168), (290, 168), (290, 184)), arrow((480, 95), (480, 168), (670, 168), (670, 184)),
        arrow((290, 280), (290, 314)), arrow((670, 280), (670, 314)),
        arrow((480, 608), (480, 662)),
        box(20, 18, 220, "Model files", ["URDF, MJCF, USD"], "io/", USER),
        box(280, 18, 400, "Scene", ["bodies, joints, forces, shapes, particles, events"], "scene/", USER),
        box(720, 18, 220, "Entry points", ["ready-made scenes, commands"], "gallery/  cli/", USER),
        pill(480, 132, 150, "compile_scene"),
        box(120, 186, 340, "Model: does not change", MODEL, "model/", DATA),
        box(500, 186, 340, "State y: evolves", STATE, "one vector", DATA),
        f'<rect x="20" y="316" width="920" height="292" rx="10" fill="{FRAME}" stroke="{GREY}"/>',
        text(480, 341, RUN, 15, "#1b2430", bold=True),
        text(480, 361, "simulation/  sensors/", 12.5, "#7a3d00", mono=True),
    ]  # fmt: skip
    steppers = [
        ("Integration", ["y′ = f(t, y), error control,", "location of events"], "integrate/"),
        ("Contact by events", ["impacts, resting contact,", "changes of friction"], "impact/"),
        ("Step of contact", ["Coulomb's law with", "joints and limits"], "contact/"),
        ("Step of particles", ["minimum of inertia", "and energy"], "deformable/"),
    ]
    for i, (title, lines, folder) in enumerate(steppers):
        x = 36 + 225 * i
        parts += [arrow((x + 106, 466), (x + 106, 484)), box(x, 374, 213, title, lines, folder, STEP)]
    below = [
        (
            36,
            438,
            "Mechanics: f(t, y), projection, audit",
            ["maximal, joint or symbolic coordinates"],
            "dynamics/  symbolic/",
        ),
        (486, 213, "Collisions", ["pairs, contact points, queries"], "collide/"),
        (711, 213, "Particle energies", ["of few and of all"], "energies/  pairwise/"),
    ]
    parts.append(f'<rect x="36" y="485" width="888" height="24" rx="8" fill="{BASE}"/>')
    parts.append(text(480, 501.5, "C function pointers: what stands on either side is compiled once", 12.5))
    parts += [box(x, 515, w, title, lines, folders, PART) for x, w, title, lines, folders in below]
    parts += [
        pill(480, 632, 190, "record every frame"),
        box(280, 664, 400, "Trajectory and report", ["labelled arrays with units, checkpoint, energy balance"], "", DATA),
        arrow((280, 692), (242, 692)), arrow((680, 692), (718, 692)),
        box(20, 654, 220, "Look and write", ["plots, viewer, films, files"], "view/  export/", USER),
        box(720, 654, 220, "Many runs", ["sweeps, batches"], "ensemble/", USER),
        f'<rect x="20" y="746" width="920" height="46" rx="8" fill="{BASE}"/>',
        text(480, 765, BELOW),
        text(480, 784, "core/  linalg/", 12.5, "#ffe9b8", mono=True),
    ]  # fmt: skip
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M 0 0 L 10 5 L 0 10 z" fill="{GREY}"/></marker></defs>'
    )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, "<title>The data flow of dalembert</title>", tip, *parts, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "data-flow.svg").write_text(drawing(), "utf-8")
