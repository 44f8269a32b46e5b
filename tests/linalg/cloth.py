"""A test matrix: M + h² K of a sheet of particles on springs, as implicit steps have it."""

import numpy as np

from dalembert.linalg.block_matrix import BlockMatrix, block_pattern

MASS = 1e-3  # kg
STEP = 1.0 / 60.0  # s


def springs(side):
    """Pairs of a side × side sheet: along its threads, across its cells, and between second neighbours."""
    node = np.arange(side * side).reshape(side, side)

    def pairs(*ends):
        return np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in ends])

    stretch = pairs((node[:-1], node[1:]), (node[:, 1:], node[:, :-1]))
    shear = pairs((node[:-1, :-1], node[1:, 1:]), (node[1:, :-1], node[:-1, 1:]))
    bend = pairs((node[:-2], node[2:]), (node[:, 2:], node[:, :-2]))
    return [stretch, shear, bend]


def cloth(side, stiffness=1e3):
    """A `BlockMatrix` of side² nodes; `stiffness` of threads in N/m, half of it across cells, a tenth in bending."""
    rng = np.random.default_rng(side)
    cell = 0.01
    row, column = np.divmod(np.arange(side * side), side)
    place = cell * np.column_stack([row, column, 0.3 * np.sin(row) * np.cos(0.7 * column)])
    place += 0.05 * cell * rng.normal(size=place.shape)
    groups = springs(side)
    pattern = block_pattern(side * side, groups)
    values = np.zeros((len(pattern.columns), 3, 3))
    for pairs, slots, k, rest in zip(groups, pattern.slots, (1.0, 0.5, 0.1), (1.0, 2.0**0.5, 2.0), strict=True):
        arm = place[pairs[:, 1]] - place[pairs[:, 0]]
        length = np.linalg.norm(arm, axis=1)[:, None, None]
        along = arm[:, :, None] * arm[:, None, :] / length**2
        # The Hessian of ½ k (l − l₀)², without what compression would make indefinite.
        block = STEP**2 * k * stiffness * (along + np.maximum(0.0, 1.0 - rest * cell / length) * (np.eye(3) - along))
        for local, sign in ((0, 1.0), (1, -1.0), (2, 1.0)):
            np.add.at(values, slots[:, local] // 2, sign * block)
    values[pattern.starts[:-1]] += MASS * np.eye(3)
    return BlockMatrix(pattern.starts, pattern.columns, values.ravel())
