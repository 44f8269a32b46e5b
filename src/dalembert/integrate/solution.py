"""What `solve` returns: where the integration went, and what is between its steps."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .tableau import Array


@dataclass
class Solution:
    """Where the integration went. m rows: every step, or the `times` asked for; n components.

    Call it with a time (s) inside the run to interpolate, if it was made with dense=True.
    """

    t: Array  # (m,) seconds
    y: Array  # (m, n)
    status: int
    message: str
    steps: int
    rejected: int
    evaluations: int
    event_times: tuple[Array, ...]  # for each event, its times (s)
    event_states: tuple[Array, ...]  # for each event, (count, n)
    polynomials: Array | None = field(default=None, repr=False)  # (m - 1, degree, n)

    def __call__(self, t: ArrayLike) -> Array:
        """The state at time(s) t by the method's dense output: (n,) or (len(t), n). Raises ValueError."""
        if self.polynomials is None:
            raise ValueError("this solution holds no dense output: call solve(..., dense=True)")
        at = np.asarray(t, dtype=np.float64)
        if not np.all((at >= self.t[0]) & (at <= self.t[-1])):
            raise ValueError(f"t = {t} lies outside the run, which goes from {self.t[0]} to {self.t[-1]}")
        if not len(self.polynomials):
            return np.broadcast_to(self.y[0], (*at.shape, self.y.shape[1])).copy()
        step = np.clip(np.searchsorted(self.t, at, side="left") - 1, 0, len(self.polynomials) - 1)
        theta = ((at - self.t[step]) / (self.t[step + 1] - self.t[step]))[..., None]
        total = np.zeros((*at.shape, self.y.shape[1]))
        for j in range(self.polynomials.shape[1] - 1, -1, -1):
            total = theta * (self.polynomials[step, j] + total)
        return self.y[step] + total


class IntegrationError(RuntimeError):
    """An integration that failed in the middle; `solution` holds everything up to then."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution
