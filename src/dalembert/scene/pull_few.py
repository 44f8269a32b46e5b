"""The methods of `Scene` that pull at a few particles at a time: springs, angles, bending, areas, volumes."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from ..energies.angle import AngularSprings
from ..energies.area import Areas
from ..energies.curvature import Bending
from ..energies.kinds import Energy
from ..energies.spring import Springs
from ..energies.volume import Volumes
from .particle_force import ParticleForce
from .particles import Particles
from .resolve import Resolver


class PullsOfFew:
    """Forces between a few particles of a group."""

    _add_pull: Callable[..., ParticleForce]

    def add_energy(self, name: str, energy: Energy) -> ParticleForce:
        """Add an energy of `dalembert.energies`, such as `Springs(particles, pairs, …)`. Raises ValueError, naming it and the
        value."""
        group, values = energy.resolve(Resolver(self, f"{energy.label} {name!r}"))
        return self._add_pull(ParticleForce(name, energy.kind, (group,), values))

    def springs(
        self, name: str, particles: str | Particles, pairs: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0,
        rest: ArrayLike | None = None, draw: bool = True,
    ) -> ParticleForce:  # fmt: skip
        """Damped springs between pairs of particles of a group, energy ½ k (|d| − l)².

        pairs : (m, 2) indices within the group. stiffness : k, N/m; damping : N s/m; rest : l, m (the initial lengths);
        each one number, or (m,).
        """
        springs = Springs(particles, pairs, stiffness=stiffness, damping=damping, rest=rest, draw=draw)
        return self.add_energy(name, springs)

    def angular_springs(
        self, name: str, particles: str | Particles, triples: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Springs on the angle θ at the middle one of three particles, energy ½ k (θ − θ₀)².

        triples : (m, 3) indices. stiffness : N m/rad; damping : N m s/rad; rest : θ₀, rad, above 0 and below π (the initial
        angles). For what is straight at rest see `bending`.
        """
        springs = AngularSprings(particles, triples, stiffness=stiffness, damping=damping, rest=rest)
        return self.add_energy(name, springs)

    def bending(
        self,
        name: str,
        particles: str | Particles,
        triples: ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
    ) -> ParticleForce:
        """Bending of threads that are straight at rest, at the middle one of three particles: energy ½ (k/l) κ² with
        κ = 2 tan(φ/2) of the turning angle φ, and l the mean of the two lengths (Bergou et al. 2008).

        triples : (m, 3) indices, in order along the thread. stiffness : k = E I, N m²; damping : N m s.
        """
        return self.add_energy(name, Bending(particles, triples, stiffness=stiffness, damping=damping))

    def areas(
        self, name: str, particles: str | Particles, faces: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0
    ) -> ParticleForce:
        """Triangles that keep their area A: energy ½ k (A − A₀)²/A₀, stiffness k in N/m, damping in N s/m³."""
        return self.add_energy(name, Areas(particles, faces, stiffness=stiffness, damping=damping))

    def volumes(
        self,
        name: str,
        particles: str | Particles,
        tetrahedra: ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
    ) -> ParticleForce:
        """Tetrahedra that keep their volume V: energy ½ k (V − V₀)²/V₀, stiffness k in Pa, damping in N s/m⁵."""
        return self.add_energy(name, Volumes(particles, tetrahedra, stiffness=stiffness, damping=damping))
