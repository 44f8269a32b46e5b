"""The schemes of a time step of particles, as data; `stage` has the equations.

A file adds a scheme with `SCHEMES.add`, and is listed in `particles.SCHEME_FILES`. Kernels read the numbers of a scheme in
the options of a step, so that a new one compiles nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from ..registry import Registry


class Scheme(NamedTuple):
    """How a step of length h goes from (x₀, v₀) to (x₁, v₁).

    help : what it is, in a few words.
    fraction : θ, the time of the stage in steps. The step ends at x₁ = x₀ + (x − x₀)/θ, v₁ = v₀ + (v − v₀)/θ.
    past : q and r, whole numbers, of a scheme that uses the step before: its stage starts from
        base = ((r + q) x₀ − q x₋₁)/r, with v alike, and takes τ = (r − q) h/r. q = 0: only x₀ counts, and τ = θ h.
    linear : whether a stage is one step of Newton's method, a linear solve.
    explicit : half a drift, kick, half a drift.
    """

    help: str
    fraction: float = 1.0
    past: tuple[int, int] = (0, 1)
    linear: bool = False
    explicit: bool = False

    @property
    def order(self) -> int:
        """The order of accuracy of a converged step: 2 for the midpoint, and with a step before; else 1."""
        return 2 if self.fraction == 0.5 or self.past[0] > 0 else 1


class Schemes(Registry[Scheme]):
    """Schemes by name."""

    def add(self, name: str, thing: Scheme) -> None:
        """Add a scheme. Raises ValueError for a name that is taken, and for numbers that make no step."""
        q, r = thing.past
        if not 0.0 < thing.fraction <= 1.0:
            raise ValueError(f"scheme {name!r}: fraction is {thing.fraction!r}; give one above 0, and at most 1")
        if not 0 <= q < r or (q > 0 and (thing.fraction != 1.0 or thing.explicit)):
            raise ValueError(f"scheme {name!r}: past is {thing.past!r}; give 0 ≤ q < r, and q = 0 unless fraction is 1")
        super().add(name, thing)


SCHEMES = Schemes("scheme", "dalembert.particles", "SCHEME_FILES")
SCHEMES.add("time_stepping", Scheme("explicit: leapfrog, and contact of bodies", fraction=0.5, explicit=True))
SCHEMES.add(
    "linear_implicit_euler", Scheme("Stiff particles: one linear solve a step (Baraff & Witkin 1998)", linear=True)
)
NEWTON = "Stiff particles: Newton's method to `newton_tolerance`"
SCHEMES.add("implicit_euler", Scheme(f"{NEWTON}; damps most"))
SCHEMES.add("implicit_midpoint", Scheme(f"{NEWTON}; hardly damps, and keeps orbits over long times", fraction=0.5))
SCHEMES.add("bdf2", Scheme(f"{NEWTON}; damps less than implicit Euler", past=(1, 3)))
