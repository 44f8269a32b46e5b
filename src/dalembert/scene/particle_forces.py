"""The methods of `Scene` that add forces on particles: on single particles, between a few, and between all.

- `field`, `medium`, `wind`: on each particle, or each triangle of a surface.
- `springs`, `angular_springs`, `bending`, `areas`, `volumes`: energies of a few particles each; see
  `dalembert.energies`.
- `gravitation`, `electrostatics`, `lennard_jones`, `repulsion`, `radial`: laws between all particles;
  see `dalembert.pairwise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Array, NumbersLike, VectorLike
from ..core.renamed import renamed_method
from .checks import array_of, finite, positive, real_array, require_arguments
from .particles import ParticleForce, Particles, elements_of
from .resolve import Resolver

if TYPE_CHECKING:
    from ..energies.kinds import Energy

Groups = str | Particles | Iterable[str | Particles]


class ParticleForceMethods:
    """The methods of `Scene` that add forces on particles.

    They import an energy when it is added: its file has compiled functions, which take time to load.
    """

    particles: dict[str, Particles]
    forces: dict[str, Any]  # Force or ParticleForce
    _new_name: Callable[..., None]

    # On each particle -------------------------------------------------------------------------------------------------

    def field(
        self, name: str, particles: Groups | None = None, *, acceleration: VectorLike = (0.0, 0.0, 0.0),
        force: VectorLike = (0.0, 0.0, 0.0), function: Callable[[float, Array, Array], VectorLike] | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Add a force on each particle of some groups (default: all): m · `acceleration` (m/s²) plus `force` (N), both
        uniform, with the potential −(m a + f)·x.

        function : (t, x, v) → (3,) force in N, in place of these; compiled by Numba, or plain Python, which is slower.
        """
        owner = f"field {name!r}"
        if function is not None:
            require_arguments(owner, function, "t, x, v")
        values = {"acceleration": real_array(owner, "acceleration", acceleration, (3,)),
                  "force": real_array(owner, "force", force, (3,))}  # fmt: skip
        if function is not None and (values["acceleration"].any() or values["force"].any()):
            raise ValueError(f"{owner}: give a function, or an acceleration and a force, not both")
        return self._add_particle_force(ParticleForce(name, "field", self._groups(owner, particles), values, function))

    def medium(
        self, name: str, particles: Groups | None = None, *, linear: float = 0.0, quadratic: float = 0.0,
        velocity: VectorLike = (0.0, 0.0, 0.0),
    ) -> ParticleForce:  # fmt: skip
        """Add drag −(linear + quadratic |u|) u (N s/m, N s²/m²) on each particle of some groups (default: all), where u
        is its velocity relative to the medium, whose velocity is given in m/s."""
        owner = f"medium {name!r}"
        values = {"linear": finite(owner, "linear", linear, 0.0), "quadratic": finite(owner, "quadratic", quadratic, 0.0),
                  "velocity": real_array(owner, "velocity", velocity, (3,))}  # fmt: skip
        return self._add_particle_force(ParticleForce(name, "medium", self._groups(owner, particles), values))

    def wind(
        self, name: str, particles: str | Particles, faces: NumbersLike | None = None, *,
        velocity: VectorLike = (0.0, 0.0, 0.0), density: float = 1.2, coefficient: float = 1.0,
        function: Callable[[float, Array], VectorLike] | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Add wind on the triangles of a surface: the force ½ ρ c A |u_n| u_n along the normal, a third of it on each
        corner. u_n is the normal component of the wind relative to the centre of the triangle.

        faces : (m, 3) indices within the group. Default: those of the cloth. velocity : of the wind, m/s. density : ρ,
        kg/m³. function : (t, x) → (3,) m/s, in place of `velocity`, at the centre of a triangle; compiled by Numba, or
        plain Python, which is slower.
        """
        owner = f"wind {name!r}"
        if function is not None:
            require_arguments(owner, function, "t, x")
        group = self._group(owner, particles)
        if faces is None and not group.faces:
            raise ValueError(f"{owner}: particles {group.name!r} have no surface; give faces")
        rows = elements_of(owner, group, np.concatenate(group.faces) if faces is None else faces, 3)
        pressure = 0.5 * finite(owner, "density", density, 0.0) * finite(owner, "coefficient", coefficient, 0.0)
        values = {
            "nodes": rows + group.first,
            "pressure": pressure,
            "velocity": real_array(owner, "velocity", velocity, (3,)),
        }
        return self._add_particle_force(ParticleForce(name, "wind", (group,), values, function))

    # Between a few particles ------------------------------------------------------------------------------------------

    def add_energy(self, name: str, energy: Energy) -> ParticleForce:
        """Add an energy of `dalembert.energies`, such as `Springs(particles, pairs, …)`. Raises ValueError, naming it and the
        value."""
        return self._add_energy(name, energy, f"{energy.label} {name!r}")

    def _add_energy(self, name: str, energy: Energy, owner: str) -> ParticleForce:
        """owner : what messages call it."""
        group, values = energy.resolve(Resolver(self, owner))
        return self._add_particle_force(ParticleForce(name, energy.kind, (group,), values))

    def springs(
        self, name: str, particles: str | Particles, pairs: NumbersLike, *, stiffness: NumbersLike,
        damping: NumbersLike = 0.0, rest: NumbersLike | None = None, draw: bool = True,
    ) -> ParticleForce:  # fmt: skip
        """Add damped springs between pairs of particles of a group. Energy: ½ k (|d| − l)².

        pairs : (m, 2) indices within the group. stiffness : k, N/m; damping : N s/m; rest : l, m (default: the initial
        lengths). Each is one number, or (m,).
        """
        from ..energies.spring import Springs

        springs = Springs(particles, pairs, stiffness=stiffness, damping=damping, rest=rest, draw=draw)
        return self.add_energy(name, springs)

    def angular_springs(
        self, name: str, particles: str | Particles, triples: NumbersLike, *, stiffness: NumbersLike,
        damping: NumbersLike = 0.0, rest: NumbersLike | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Add springs on the angle θ at the middle one of three particles. Energy: ½ k (θ − θ₀)².

        triples : (m, 3) indices. stiffness : N m/rad; damping : N m s/rad; rest : θ₀, rad, above 0 and below π
        (default: the initial angles). For threads that are straight at rest use `bending`.
        """
        from ..energies.angle import AngularSprings

        springs = AngularSprings(particles, triples, stiffness=stiffness, damping=damping, rest=rest)
        return self.add_energy(name, springs)

    def bending(
        self,
        name: str,
        particles: str | Particles,
        triples: NumbersLike,
        *,
        stiffness: NumbersLike,
        damping: NumbersLike = 0.0,
    ) -> ParticleForce:
        """Add bending resistance to threads that are straight at rest. Energy at the middle one of three particles: ½
        (k/l) κ², where κ = 2 tan(φ/2) for the turning angle φ, and l is the mean of the two lengths (Bergou et al.
        2008).

        triples : (m, 3) indices, in order along the thread. stiffness : k = E I, N m². damping : c, N m s, of κ, as k/l
        is its stiffness: c = τ k/l damps as `thread` does with the time τ, with any number of particles.
        """
        from ..energies.bending import Bending

        return self.add_energy(name, Bending(particles, triples, stiffness=stiffness, damping=damping))

    def areas(
        self,
        name: str,
        particles: str | Particles,
        faces: NumbersLike,
        *,
        stiffness: NumbersLike,
        damping: NumbersLike = 0.0,
    ) -> ParticleForce:
        """Add resistance of triangles to changes of their area A. Energy: ½ k (A − A₀)²/A₀, stiffness k in N/m. Power of
        damping: c Ȧ²/A₀, damping c in N s/m.
        """
        from ..energies.area import Areas

        return self.add_energy(name, Areas(particles, faces, stiffness=stiffness, damping=damping))

    def volumes(
        self,
        name: str,
        particles: str | Particles,
        tetrahedra: NumbersLike,
        *,
        stiffness: NumbersLike,
        damping: NumbersLike = 0.0,
    ) -> ParticleForce:
        """Add resistance of tetrahedra to changes of their volume V. Energy: ½ k (V − V₀)²/V₀, stiffness k in Pa.
        Power of damping: c V̇²/V₀, damping c in Pa s.
        """
        from ..energies.volume import Volumes

        return self.add_energy(name, Volumes(particles, tetrahedra, stiffness=stiffness, damping=damping))

    # Between all particles --------------------------------------------------------------------------------------------

    def gravitation(
        self, name: str, particles: Groups | None = None, *, constant: float = 6.674e-11, softening: float = 0.0,
        theta: float | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Add gravitation between all particles of some groups (default: all), with the potential −G m m′/√(r² + ε²).

        constant : G, N m²/kg². softening : ε, m; if it is zero, particles that meet end the run. theta : opening angle
        of the Barnes–Hut method (1986), which treats distant particles that appear smaller than it as one group; None:
        all pairs, exactly.
        """
        strength = positive(f"gravitation {name!r}", "constant", constant)
        return self._interaction("gravitation", name, particles, theta, strength=strength, softening=softening)

    def electrostatics(
        self, name: str, particles: Groups | None = None, *, charge: NumbersLike, constant: float = 8.9875517923e9,
        softening: float = 0.0, theta: float | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Add electrostatic forces between all particles of some groups (default: all), with the potential k q q′/√(r²
        + ε²).

        charge : C, one number or one per particle, in the order of the groups. For all other arguments see
        `gravitation`.
        """
        owner = f"electrostatics {name!r}"
        count = sum(len(group) for group in self._groups(owner, particles))
        q = real_array(owner, "charge", np.full(count, charge) if array_of(charge).ndim == 0 else charge, (count,))
        return self._interaction("electrostatics", name, particles, theta, strength=positive(owner, "constant", constant),
                                 softening=softening, weights=q)  # fmt: skip

    def lennard_jones(
        self, name: str, particles: Groups | None = None, *, depth: float, diameter: float, cutoff: float | None = None
    ) -> ParticleForce:
        """Add the Lennard-Jones potential 4 ε ((σ/r)¹² − (σ/r)⁶) between all particles of some groups (default: all)
        that are nearer than `cutoff` (m; default 2.5 σ), shifted so that energy and force are continuous there. depth :
        ε, J. diameter : σ, m."""
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
        """Add soft repulsion between all particles of some groups (default: all) that are nearer than `diameter` d (m):
        energy ½ k (d − r)², damping force −c ṙ (c in N s/m)."""
        owner = f"repulsion {name!r}"
        size = positive(owner, "diameter", diameter, "m")
        return self._interaction(
            "repulsion", name, particles, None, strength=positive(owner, "stiffness", stiffness, "N/m"), diameter=size,
            cutoff=size, damping=finite(owner, "damping", damping, 0.0),
        )  # fmt: skip

    def radial(
        self,
        name: str,
        particles: Groups | None = None,
        *,
        function: Callable[[float], VectorLike],
        cutoff: float | None = None,
    ) -> ParticleForce:
        """Add your own law between all particles of some groups (default: all).

        function : r (m) → (W, dW/dr) in J and N; compiled by Numba, or plain Python, which is slower. cutoff : m;
        particles further apart do not interact.
        """
        require_arguments(f"radial {name!r}", function, "r")
        reach = np.inf if cutoff is None else positive(f"radial {name!r}", "cutoff", cutoff, "m")
        return self._interaction("radial", name, particles, None, cutoff=reach, function=function)

    if not TYPE_CHECKING:
        coulomb = renamed_method("coulomb", "electrostatics")

    def _interaction(
        self, kind: str, name: str, particles: Groups | None, theta: float | None, function: Any = None, **values: Any
    ) -> ParticleForce:
        owner = f"{kind} {name!r}"
        groups = self._groups(owner, particles)
        if not groups:
            raise ValueError(f"{owner}: there are no particles yet; add particles first")
        if "softening" in values:
            values["softening"] = finite(owner, "softening", values["softening"], 0.0)
        if theta is not None:
            values["theta"] = positive(owner, "theta", theta)
            if values["theta"] > 1.0:
                raise ValueError(f"{owner}: theta is {theta:g}; give an opening angle up to 1")
        return self._add_particle_force(ParticleForce(name, kind, groups, values, function))

    # What the methods share -------------------------------------------------------------------------------------------

    def _groups(self, owner: str, groups: Groups | None) -> tuple[Particles, ...]:
        if groups is None:
            return tuple(self.particles.values())
        items = list(groups) if isinstance(groups, Iterable) and not isinstance(groups, str | Particles) else [groups]
        found = tuple(self._group(owner, item) for item in items)
        if len({group.name for group in found}) < len(found):
            raise ValueError(f"{owner}: a group of particles is given twice; give each once")
        return found

    def _group(self, owner: str, item: str | Particles) -> Particles:
        name = item if isinstance(item, str) else getattr(item, "name", None)
        found = self.particles.get(name) if isinstance(name, str) else None
        if found is None or (isinstance(item, Particles) and found is not item):
            known = ", ".join(list(self.particles)[:8]) or "none yet"
            raise ValueError(f"{owner}: there are no particles {name!r} in this scene; groups: {known}")
        return found

    def _add_particle_force(self, force: ParticleForce) -> ParticleForce:
        self._new_name(force.name, self.forces, force.kind)
        self.forces[force.name] = force
        return force
