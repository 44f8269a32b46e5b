"""How the steps of particles were solved, as the table at the end of a run has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ParticleReport:
    """How the steps of particles of a run were solved.

    newton : steps of Newton's method.
    solves : of linear systems. iterations : of conjugate gradients in them.
    unconverged : solves that missed their tolerance.
    indefinite : those whose matrix was found not to be positive definite.
    unsolved : time steps that ended above the tolerance; with one linear solve a step, those whose last one missed its own.
    gradient : the largest of a step, relative to its forces; with one linear solve a step, of those unsolved.
    """

    newton: int
    solves: int
    iterations: int
    unconverged: int
    indefinite: int
    unsolved: int
    gradient: float

    def rows(self, steps: int) -> list[tuple[str, str]]:
        """Lines of the table of a run of so many steps."""
        lines = []
        if self.gradient > 0.0 or self.unsolved:
            lines.append(
                ("particle residual",
                 f"{self.gradient:.3g} of the forces at worst (above its tolerance in {self.unsolved} steps)")
            )  # fmt: skip
        if self.iterations or self.newton > steps:
            iterated = f", {self.iterations} iterations" if self.iterations else ""
            lines.append(("  linear solves", f"{self.solves} in {self.newton} steps of Newton's method{iterated}"))
        if self.unconverged or self.indefinite:
            lines.append(
                ("  of them unsolved", f"{self.unconverged} above their tolerance, {self.indefinite} indefinite")
            )
        return lines
