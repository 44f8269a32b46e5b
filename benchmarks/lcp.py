"""The forces of n frictionless contacts by Dantzig's algorithm, in units of one Gaussian elimination of the same matrix.

This is the measure of Baraff (1994). The elimination is a plain kernel, row by row and without pivoting, compiled as
Dantzig's is; its copy of the matrix is counted. A = J W Jᵀ is that of a column of boxes with contacts at random points
between neighbours, of 4 contacts a box; b is that of random accelerations of the boxes ("free": about half the contacts
hold), or such that all contacts hold ("all held").
"""

import sys

import numpy as np

from dalembert.core.jit import njit
from dalembert.core.kernel import array, kernel, out
from dalembert.core.simd import load, store
from dalembert.linalg import lcp_dantzig as lcp_problem
from dalembert.linalg.lcp_dantzig import dantzig
from race import race

SIZES = (10, 20, 50, 100, 200, 500)
HALF = np.array([0.5, 0.4, 0.3])  # m, half the sides of a box of 1 kg


@njit
def gaussian_elimination(n, matrix, factors):
    for i in range(n * n):
        store(factors, i, load(matrix, i))
    for c in range(n):
        inverse = 1.0 / factors[c * n + c]
        for i in range(c + 1, n):
            factor = factors[i * n + c] * inverse
            factors[i * n + c] = factor
            for j in range(c + 1, n):
                store(factors, i * n + j, load(factors, i * n + j) - factor * load(factors, c * n + j))


@kernel
def eliminate_often(count: int, n: int, matrix: array(), factors: out()) -> None:
    for _ in range(count):
        gaussian_elimination(n, matrix, factors)


@kernel
def dantzig_often(count: int, n: int, matrix: array(), work: out(), ints: out(1, np.int64)) -> int:
    status = 0
    for _ in range(count):
        status = max(status, dantzig(n, matrix, n, work, ints))
    return status


def jacobian(n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 6 boxes): rates of the separations of contacts, by velocities of the boxes in units of their masses' roots."""
    boxes = max(2, n // 4)
    moments = (np.sum(HALF**2) - HALF**2) / 3.0
    rows = np.zeros((n, boxes, 6))
    for i in range(n):
        upper = i % boxes
        normal = np.array([0.0, 0.0, 1.0]) + 0.3 * rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        arm = HALF * np.append(rng.uniform(-1.0, 1.0, 2), 1.0)
        for box, sign, r in ((upper, 1.0, arm * [1, 1, -1]), (upper - 1, -1.0, arm)):
            if box >= 0:  # the lowest rests on the ground
                rows[i, box] += sign * np.concatenate([normal, np.cross(r, normal) / np.sqrt(moments)])
    return rows.reshape(n, -1)


def problem(n: int, held: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = jacobian(n, rng)
    matrix = rows @ rows.T
    return matrix, -matrix @ rng.uniform(0.5, 1.5, n) if held else rows @ rng.normal(size=rows.shape[1])


def measure(n: int, held: bool, seed: int) -> tuple[float, float, float]:
    """(seconds of Dantzig's algorithm, of the elimination, fraction of the contacts that hold)."""
    matrix, b = problem(n, held, seed)
    flat = np.ascontiguousarray(matrix).ravel()
    work, ints = np.zeros(lcp_problem.work_size(n)), np.zeros(lcp_problem.ints_size(n), np.int64)
    work[lcp_problem.B * n : (lcp_problem.B + 1) * n] = b
    work[lcp_problem.UPPER * n : (lcp_problem.UPPER + 1) * n] = np.inf
    factors = np.zeros(n * n)
    status = dantzig_often(1, n, flat, work, ints)
    if status != lcp_problem.OK:
        raise RuntimeError(f"n = {n}, seed {seed}: status {status}")
    times = race(
        {
            "dantzig": lambda count: dantzig_often(count, n, flat, work, ints),
            "elimination": lambda count: eliminate_often(count, n, flat, factors),
        },
        most=100000,
        budget=0.02,
    )
    return times["dantzig"], times["elimination"], ints[lcp_problem.COUNT * n] / n


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"means over {seeds} problems; microseconds\n")
    print(f"{'contacts':>8} {'case':>9} {'held':>5} {'Dantzig':>10} {'elimination':>12} {'ratio':>6} {'worst':>6}")
    for n in SIZES:
        for held in (False, True):
            results = np.array([measure(n, held, seed) for seed in range(seeds)])
            ours, theirs, share = results.mean(axis=0)
            ratios = results[:, 0] / results[:, 1]
            case = "all held" if held else "free"
            print(
                f"{n:8} {case:>9} {share:5.2f} {1e6 * ours:10.2f} {1e6 * theirs:12.2f} {ours / theirs:6.2f}"
                f" {ratios.max():6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
