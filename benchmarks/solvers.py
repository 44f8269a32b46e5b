"""Every solver of the constraint system on three scenes, and our stages beside the published ones of a student engine.

Writes the tables of docs/linear-systems.md.
"""

from pathlib import Path

from dalembert import IterativeSolver, gallery
from dalembert.cli.commands.solvers import ROWS, SolverResult, compare_solvers
from readme import refreshed

PAGE = Path(__file__).parents[1] / "docs" / "linear-systems.md"
SETTINGS = {"method": "rk4", "dt": 1e-3, "frame_rate": 30.0}
DURATION = 0.5  # s
REPEATS = 3  # of the direct solver; the shortest counts
STUDENT = {"double-pendulum": (401, 310), "rope": (988, 620), "trebuchet": (491, 278)}  # ms/s: all, resolution alone


def measured(name: str) -> list[SolverResult]:
    """All solvers on one scene, the direct one first."""
    scene = gallery.load(name).build()
    direct = [next(compare_solvers(scene, ["ldl"], DURATION, SETTINGS)) for _ in range(REPEATS)]
    ways = [IterativeSolver(*row) for row in ROWS]
    return [min(direct, key=lambda result: result.total_time), *compare_solvers(scene, ways, DURATION, SETTINGS)]


def beside_the_student(results: dict[str, list[SolverResult]]) -> str:
    """Markdown: our times by the direct solver beside the published ones."""
    lines = [
        "| scene | student engine | of it resolution | ours | of it the linear system | BiCGSTAB over LDLᵀ |",
        "|---|---|---|---|---|---|",
    ]
    for name, rows in results.items():
        whole, resolution = STUDENT[name]
        direct = rows[0]
        others = [row.linear_time / direct.linear_time for row in rows if row.solver.startswith("bicgstab")]
        lines.append(
            f"| {name} | {whole} ms | {resolution} ms | {direct.total_time:.3g} ms | {direct.linear_time:.3g} ms | "
            f"{min(others):.3g} to {max(others):.3g} |"
        )
    return "\n".join(lines)


def all_solvers(results: dict[str, list[SolverResult]]) -> str:
    """Markdown: every solver on every scene."""
    lines = [
        "| scene | solver | linear system | over LDLᵀ | iterations | residual | joint error | energy | unsolved |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, rows in results.items():
        for row in rows:
            lines.append(
                f"| {name} | {row.solver} | {row.linear_time:.3g} ms | {row.linear_time / rows[0].linear_time:.3g} | "
                f"{row.iterations:.3g} | {row.residual:.0e} | {row.joint_error:.0e} m | {row.energy_drift:.0e} | "
                f"{row.unsolved} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page."""
    results = {name: measured(name) for name in STUDENT}
    tables = {"student": beside_the_student(results), "solvers": all_solvers(results)}
    text = PAGE.read_text()
    for name, table in tables.items():
        print(table)
        text = refreshed(text, name, table)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
