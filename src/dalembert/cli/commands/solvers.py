"""`dalembert solvers`: one scene under every solver of its constraint system; `dalembert condition`: condition numbers."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from . import FAILED, REFUSED, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...linalg.iterative import IterativeSolver
    from ...scene.scene import Scene
    from ...simulation.settings import ConstraintSolverName

LONGEST = 1.0  # s, where no duration is given
ROWS = (  # solver, preconditioner, equilibration
    ("bicgstab", "none", None), ("bicgstab", "none", "alg3"), ("bicgstab", "none", "mc64"),
    ("bicgstab", "block_jacobi", None), ("bicgstab", "incomplete", None),
    ("conjugate_gradient", "none", None), ("conjugate_gradient", "block_jacobi", None),
    ("conjugate_gradient", "incomplete", None), ("minres", "block_jacobi", None),
    ("gauss_seidel", None, None), ("jacobi", None, None),
)  # fmt: skip


@dataclass(frozen=True)
class SolverResult:
    """How one solver did on a scene; times in ms a simulated second."""

    solver: str
    linear_time: float  # assembly, factorization or preconditioner, and all solutions
    total_time: float
    iterations: float  # for one solution
    residual: float  # of J W Jᵀ λ = b, the largest, relative, as the solver scales it; of "ldl" in the last state
    joint_error: float  # m, the largest
    energy_drift: float  # the largest error of the energy, relative
    unsolved: int  # solutions above the tolerance
    failed: str | None  # why the run ended early


@command("solvers")
def solvers(
    scene: str,
    /,
    *,
    duration: float | None = None,
    dt: float | None = None,
    method: str | None = None,
    tolerance: float = 1e-10,
    iterations: int = 1000,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run a scene with every solver of its constraint system, and print the cost and accuracy of each.

    Parameters
    ----------
    scene
        A name from `dalembert list`, a Python file with build(), or a model file.
    duration
        Simulated time of each run, s. Default: that of the scene, at most 1 s.
    dt
        Step of a fixed-step method, s.
    method
        Name of a method; `dalembert methods` lists them. Default: that of the scene.
    tolerance
        Tolerance of the iterative solvers, on the relative residual.
    iterations
        Largest number of iterations for one solution.
    as_json
        Print the table as JSON.
    """
    from ...gallery._loading import load
    from ...linalg.iterative import IterativeSolver
    from ...simulation.registry import override

    try:
        built, settings = load(scene, False)
        given = {"dt": dt, "method": method}
        settings = override(settings, {key: value for key, value in given.items() if value is not None})
        own = float(settings.pop("duration", LONGEST))
        length = min(own, LONGEST) if duration is None else duration
        ways: list[IterativeSolver | str] = ["ldl"]
        ways += [IterativeSolver(name, before, scaling, tolerance, iterations) for name, before, scaling in ROWS]
        results = []
        for result in compare_solvers(built, ways, length, settings):
            results.append(result)
            if not as_json:
                _print(result, first=len(results) == 1)
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    if as_json:
        print(json.dumps([asdict(result) for result in results]))
    return FAILED if results[0].failed else 0


def compare_solvers(
    scene: Scene, ways: list[IterativeSolver | str], duration: float, settings: dict[str, Any]
) -> Iterator[SolverResult]:
    """Run a scene for `duration` seconds with each solver in turn. Raises ValueError as `Simulation` does, and
    where the scene has no constraint system."""
    from ...simulation.errors import SimulationError
    from ...simulation.simulation import Simulation

    for way in ways:
        run = Simulation(scene, **settings, constraint_solver=cast("ConstraintSolverName | IterativeSolver", way))
        run.constraint_system()
        failed = None
        try:
            run.advance(duration)
        except SimulationError as error:
            failed = str(error)
        except KeyboardInterrupt:
            return
        report, simulated = run.report, max(run.time, 1e-300)
        stages = report.stages
        linear = sum(stages.get(name, 0.0) for name in ("assembly", "factorization", "solve"))
        own = report.solver
        yield SolverResult(
            str(way), 1e3 * linear / simulated, 1e3 * run.kernel_time / simulated, own.iterations if own else 1.0,
            own.residual if own else run.constraint_system().residual, report.joint_error,
            report.energy_residual_relative, own.unsolved if own else 0, failed,
        )  # fmt: skip


HEADINGS = ("solver", "linear, ms/s", "total, ms/s", "iterations", "residual", "joints, m", "energy", "unsolved")
WIDTHS = (54, 13, 12, 11, 10, 10, 10, 9)


def _print(result: SolverResult, first: bool) -> None:
    if first:
        print("".join(f"{name:{'<' if k == 0 else '>'}{WIDTHS[k]}}" for k, name in enumerate(HEADINGS)))
    numbers = (
        f"{result.linear_time:.3g}", f"{result.total_time:.3g}", f"{result.iterations:.3g}", f"{result.residual:.1e}",
        f"{result.joint_error:.1e}", f"{result.energy_drift:.1e}", str(result.unsolved),
    )  # fmt: skip
    line = f"{result.solver:<{WIDTHS[0]}}" + "".join(f"{n:>{w}}" for n, w in zip(numbers, WIDTHS[1:], strict=True))
    print(line + (f"  failed: {result.failed}" if result.failed else ""), flush=True)


# dalembert condition --------------------------------------------------------------------------------------------------


@command("condition")
def condition(*files: Path, random: tuple[int, ...] = (), exact: bool = False) -> int:
    """Print the condition numbers (1-norm) of square matrices without scaling, and after scaling by MC64 and by ALG3.

    Parameters
    ----------
    files
        Matrix Market files of real square matrices, .mtx or compressed .mtx.gz.
    random
        Also a badly scaled dense random matrix with this number of rows; can be repeated.
    exact
        Compute every column of the inverses; by default their norms are estimated.
    """
    from ...linalg.equilibrate import condition_table

    if not (files or random):
        print("dalembert: no matrix: name Matrix Market files, or give --random N", file=sys.stderr)
        return REFUSED
    code = 0
    for line, good in condition_table(files, random, exact):
        print(line if good else f"dalembert: {line}", file=sys.stdout if good else sys.stderr, flush=True)
        code = code if good else REFUSED
    return code
