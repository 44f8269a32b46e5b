"""The energy ledger as figures and pages show it: the works of forces, the largest apart, and what the energy became."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 8
NEGLIGIBLE = 1e-3  # of the energy that moves: what is smaller than that is no part of a stacked picture


def drawn_works(trajectory: Any) -> list[tuple[str, np.ndarray]]:
    """(label, (frames,) J) of the forces that did most, in the order of the scene, and of all others together."""
    if "work" not in trajectory:
        return []
    names, works = list(trajectory.forces), np.asarray(trajectory["work"].values)
    if len(names) <= MOST + 1:
        return [(f"work: {name}", works[:, i]) for i, name in enumerate(names)]
    order = np.argsort(-np.abs(works).max(axis=0), kind="stable")
    largest, others = np.sort(order[:MOST]), np.sort(order[MOST:])
    return [
        *((f"work: {names[i]}", works[:, i]) for i in largest),
        (f"work of {len(others)} others", works[:, others].sum(axis=1)),
    ]


def ledger_parts(trajectory: Any) -> list[tuple[str, np.ndarray]]:
    """(label, (frames,) J) of what the energy at the start has become: kinetic energy, potential energy above its least
    value, what each force took (negative where it gave), and the error of the energy, negated.

    As K + V − Σ W − error is constant, the parts add up to the same at every frame. Parts that stay below a thousandth of the
    largest are left out.
    """
    potential = trajectory["potential"].values
    parts = [("kinetic", trajectory["kinetic"].values), ("potential, above its least", potential - potential.min())]
    taken = [(label.replace("work: ", "taken by ").replace("work of", "taken by"), -values)
             for label, values in drawn_works(trajectory)]  # fmt: skip
    if "balance" in trajectory and "work" in trajectory:
        error = trajectory["balance"].values
        earned = trajectory["kinetic"].values + trajectory["potential"].values - trajectory["work"].values.sum(axis=1)
        taken += [("energy error", -error), ("taken by moving coordinates", error - (earned - earned[0]))]
    scale = max(float(np.abs(values).max(initial=0.0)) for _, values in parts)
    return [*parts, *((label, v) for label, v in taken if np.abs(v).max(initial=0.0) > NEGLIGIBLE * scale)]


def stacked(parts: list[tuple[str, np.ndarray]]) -> list[tuple[str, list[tuple[np.ndarray, np.ndarray]]]]:
    """(label, bands) of each part on those before it, bands being (lower, upper) edges: of what is positive, upwards from 0,
    and of what is negative, downwards; a part that is never so has no such band."""
    found = []
    up = down = np.zeros(len(parts[0][1]) if parts else 0)
    for label, values in parts:
        above, below = up + np.maximum(values, 0.0), down + np.minimum(values, 0.0)
        bands = [(up, above)] if np.any(values > 0.0) else []
        found.append((label, [*bands, (below, down)] if np.any(values < 0.0) else bands))
        up, down = above, below
    return found
