"""The linear system of a Newton step by SciPy's sparse LU: for few unknowns, and to compare with.

See `linear` for the system: Tᵀ (A + inertia) T z = Tᵀ (b − A p) and d = T z + p.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg.block_matrix import BlockMatrix, to_scipy
from ..linalg.conjugate_gradient import INDEFINITE
from ..model.tables import System
from ..pointer import view
from ..status import OK
from .tables import BODY_ROW, Steps


class DirectSolver:
    """Called by a step through a C pointer: (right-hand side, what is prescribed) → the solution, in place."""

    def __init__(self, system: System, steps: Steps) -> None:
        self.system, self.steps = system, steps

    def __call__(self, data: int, task: int, t: float, rhs: int, m: int, change: int, also: int) -> int:
        from scipy.sparse import block_diag  # SciPy's parts are slow to load, and most runs need none
        from scipy.sparse.linalg import splu

        b, d = view(rhs, m), view(change, m)
        steps = self.steps
        matrix = to_scipy(BlockMatrix(steps.starts, steps.columns, steps.values))
        bodies = self._inertia()
        whole = block_diag([matrix, *bodies], format="csc") if bodies else matrix
        whole = whole + self._friction(whole.shape[0])
        basis = self._basis()
        reduced = (basis.T @ whole @ basis).tocsc()
        try:
            factor = splu(reduced, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return INDEFINITE
        prescribed = d.copy()
        d[:] = basis @ factor.solve(basis.T @ (b - whole @ prescribed)) + prescribed
        return OK

    def _inertia(self) -> list[np.ndarray]:
        """The mass matrices of bodies times their weight, two 3×3 blocks each."""
        weight = float(self.steps.stage[0].body_weight)
        found = []
        for m, xx, yy, zz, xy, xz, yz in self.steps.inertia.reshape(-1, 7):
            found += [weight * m * np.eye(3), weight * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]
        return found

    def _friction(self, size: int) -> Any:
        """What sliding friction adds to the matrix beside the blocks of particles: −κ P J, its mirror image, and κ Jᵀ P J."""
        from scipy.sparse import csc_array

        n, rigid = int(self.system.settings[0].particles), int(self.system.settings[0].rigid)
        rows, columns, entries = [], [], []
        for touch in self.steps.touches[: int(self.steps.touch_counts[0])]:
            if touch.stick != 0 or touch.grip == 0.0 or touch.locked == 0 or touch.body >= rigid:
                continue
            axes = np.array(touch.axes).reshape(3, 3)[: int(touch.normals)]
            carried = (np.eye(3) - axes.T @ axes) @ _point_jacobian(touch.arm)
            both = float(touch.grip) * np.block([[np.zeros((3, 3)), -carried], [-carried.T, carried.T @ carried]])
            at = np.concatenate(
                [3 * int(touch.particle) + np.arange(3), 3 * n + BODY_ROW * int(touch.body) + np.arange(6)]
            )
            r, c = np.meshgrid(at, at, indexing="ij")
            rows.append(r.ravel())
            columns.append(c.ravel())
            entries.append(both.ravel())
        if not entries:
            return csc_array((size, size))
        return csc_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(size, size))

    def _basis(self) -> Any:
        """T, of all particles and bodies: (m, unknowns)."""
        from scipy.sparse import csc_array

        n, rigid = int(self.system.settings[0].particles), int(self.system.settings[0].rigid)
        held = np.zeros((n, 3, 3))
        held[self.steps.pinned] = np.eye(3)
        rows: list[Any] = [np.arange(3 * n, 3 * n + BODY_ROW * rigid)]
        columns: list[Any] = [np.arange(BODY_ROW * rigid)]
        entries: list[Any] = [np.ones(BODY_ROW * rigid)]
        for touch in self.steps.touches[: int(self.steps.touch_counts[0])]:
            axes = np.array(touch.axes).reshape(3, 3)[: int(touch.locked)]
            along = axes.T @ axes
            held[int(touch.particle)] = along
            if touch.body < rigid:
                carried = along @ _point_jacobian(touch.arm)
                r, c = np.meshgrid(np.arange(3), np.arange(BODY_ROW), indexing="ij")
                rows.append((3 * int(touch.particle) + r).ravel())
                columns.append((BODY_ROW * int(touch.body) + c).ravel())
                entries.append(carried.ravel())
        free = BODY_ROW * rigid
        loose = ~held.any(axis=(1, 2))
        at = (3 * np.nonzero(loose)[0][:, None] + np.arange(3)).ravel()
        rows.append(at)
        columns.append(free + np.arange(at.size))
        entries.append(np.ones(at.size))
        free += at.size
        for i in np.nonzero(~loose)[0]:
            sizes, vectors = np.linalg.eigh(held[i])
            for k in np.nonzero(sizes < 0.5)[0]:
                rows.append(3 * i + np.arange(3))
                columns.append(np.full(3, free))
                entries.append(vectors[:, k])
                free += 1
        joined = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
        return csc_array(joined, shape=(3 * n + BODY_ROW * rigid, free))


def _point_jacobian(arm: np.ndarray) -> np.ndarray:
    """(3, 6): the displacement of a point at `arm` from a body's displacement and turn."""
    x, y, z = arm
    return np.hstack([np.eye(3), -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])])
