"""The methods of `Scene` by which all particles pull at each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import array_of, finite, positive, real_array
from .particle_force import ParticleForce
from .particles import Particles

Groups = str | Particles | Iterable[str | Particles]


class PullsOfAll:
    """Laws between all particles of some groups."""

    _groups: Callable[..., tuple[Particles, ...]]
    _add_pull: Callable[..., ParticleForce]

    def gravitation(
        self, name: str, particles: Groups | None = None, *, constant: float = 6.674e-11, softening: float = 0.0,
        theta: float | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Gravitation between all particles of some groups (all): potential −G m m′/√(r² + ε²).

        constant : G, N m²/kg². softening : ε, m; without one, particles that meet end the run. theta : opening angle of
        Barnes & Hut's method (1986), where groups that appear smaller than it are taken together; None: all pairs, exactly.
        """
        strength = positive(f"gravitation {name!r}", "constant", constant)
        return self._interaction("gravitation", name, particles, theta, strength=strength, softening=softening)

    def coulomb(
        self, name: str, particles: Groups | None = None, *, charge: ArrayLike, constant: float = 8.9875517923e9,
        softening: float = 0.0, theta: float | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Electrostatic forces between all particles of some groups (all): potential k q q′/√(r² + ε²).

        charge : C, one for all or one each, in the order of the groups. See `gravitation` for the rest.
        """
        owner = f"coulomb {name!r}"
        count = sum(len(group) for group in self._groups(owner, particles))
        q = real_array(owner, "charge", np.full(count, charge) if array_of(charge).ndim == 0 else charge, (count,))
        return self._interaction("coulomb", name, particles, theta, strength=positive(owner, "constant", constant),
                                 softening=softening, weights=q)  # fmt: skip

    def lennard_jones(
        self, name: str, particles: Groups | None = None, *, depth: float, diameter: float, cutoff: float | None = None
    ) -> ParticleForce:
        """4 ε ((σ/r)¹² − (σ/r)⁶) between all particles of some groups (all) that are nearer than `cutoff` (m; 2.5 σ), less
        what makes energy and force end there without a jump. depth : ε, J. diameter : σ, m."""
        owner = f"lennard_jones {name!r}"
        size = positive(owner, "diameter", diameter, "m")
        reach = 2.5 * size if cutoff is None else positive(owner, "cutoff", cutoff, "m")
        return self._interaction(
            "lennard_jones",
            name,
            particles,
            None,
            strength=positive(owner, "depth", depth, "J"),
            diameter=size,
            cutoff=reach,
        )

    def repulsion(
        self, name: str, particles: Groups | None = None, *, stiffness: float, diameter: float, damping: float = 0.0
    ) -> ParticleForce:
        """A soft push between all particles of some groups (all) that are nearer than `diameter` d (m): energy ½ k (d − r)²,
        damping −c ṙ (N s/m) while they are."""
        owner = f"repulsion {name!r}"
        size = positive(owner, "diameter", diameter, "m")
        return self._interaction(
            "repulsion", name, particles, None, strength=positive(owner, "stiffness", stiffness, "N/m"), diameter=size,
            cutoff=size, damping=finite(owner, "damping", damping, 0.0),
        )  # fmt: skip

    def radial(
        self, name: str, particles: Groups | None = None, *, function: Callable[..., Any], cutoff: float | None = None
    ) -> ParticleForce:
        """A law of the user's between all particles of some groups (all).

        function : r (m) → (W, dW/dr) in J and N; compiled by Numba, or plain Python, which is slower. cutoff : m; particles
        further apart do nothing to each other.
        """
        reach = np.inf if cutoff is None else positive(f"radial {name!r}", "cutoff", cutoff, "m")
        return self._interaction("radial", name, particles, None, cutoff=reach, function=function)

    def _interaction(
        self, kind: str, name: str, particles: Groups | None, theta: float | None, function: Any = None, **values: Any
    ) -> ParticleForce:
        owner = f"{kind} {name!r}"
        groups = self._groups(owner, particles)
        if not groups:
            raise ValueError(f"{owner}: there are no particles yet; add some first")
        if "softening" in values:
            values["softening"] = finite(owner, "softening", values["softening"], 0.0)
        if theta is not None:
            values["theta"] = positive(owner, "theta", theta)
            if values["theta"] > 1.0:
                raise ValueError(f"{owner}: theta is {theta:g}; give an opening angle up to 1")
        return self._add_pull(ParticleForce(name, kind, groups, values, function))
