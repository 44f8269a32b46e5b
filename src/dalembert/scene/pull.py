"""The methods of `Scene` that pull at particles. Split off so that each file can be read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import array_of, finite, positive, real_array
from .particle_force import ParticleForce, elements_of, per_element, require_apart
from .particles import Particles

Groups = str | Particles | Iterable[str | Particles]


class Pulls:
    """Forces on particles: on each, between a few, and between all."""

    particles: dict[str, Particles]
    forces: dict[str, Any]  # Force or ParticleForce
    _new_name: Callable[..., None]

    def _groups(self, owner: str, groups: Groups | None) -> tuple[Particles, ...]:
        if groups is None:
            return tuple(self.particles.values())
        items = list(groups) if isinstance(groups, Iterable) and not isinstance(groups, str | Particles) else [groups]
        found = tuple(self._group(owner, item) for item in items)
        if len({group.name for group in found}) < len(found):
            raise ValueError(f"{owner}: a group of particles is named twice; name each once")
        return found

    def _group(self, owner: str, item: str | Particles) -> Particles:
        name = item if isinstance(item, str) else getattr(item, "name", None)
        found = self.particles.get(name) if isinstance(name, str) else None
        if found is None or (isinstance(item, Particles) and found is not item):
            known = ", ".join(list(self.particles)[:8]) or "none yet"
            raise ValueError(f"{owner}: there are no particles {name!r} in this scene; groups: {known}")
        return found

    def _add_pull(self, force: ParticleForce) -> ParticleForce:
        self._new_name(force.name, self.forces, force.kind)
        self.forces[force.name] = force
        return force

    # On each ----------------------------------------------------------------------------------------------------------

    def field(
        self, name: str, particles: Groups | None = None, *, acceleration: ArrayLike = (0.0, 0.0, 0.0),
        force: ArrayLike = (0.0, 0.0, 0.0), function: Callable[..., Any] | None = None,
    ) -> ParticleForce:  # fmt: skip
        """A field that acts on each particle of some groups (all): m · `acceleration` (m/s²) and `force` (N), both uniform
        and so of potential −(m a + f)·x.

        function : (t, x, v) → (3,) force in N, instead; compiled by Numba, or plain Python, which is slower.
        """
        owner = f"field {name!r}"
        values = {"acceleration": real_array(owner, "acceleration", acceleration, (3,)),
                  "force": real_array(owner, "force", force, (3,))}  # fmt: skip
        if function is not None and (values["acceleration"].any() or values["force"].any()):
            raise ValueError(f"{owner}: give a function, or an acceleration and a force, not both")
        return self._add_pull(ParticleForce(name, "field", self._groups(owner, particles), values, function))

    def medium(
        self, name: str, particles: Groups | None = None, *, linear: float = 0.0, quadratic: float = 0.0,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> ParticleForce:  # fmt: skip
        """Drag on each particle of some groups (all) in a medium that moves: −(linear + quadratic |u|) u (N s/m, N s²/m²),
        u its velocity relative to that of the medium (m/s)."""
        owner = f"medium {name!r}"
        values = {"linear": finite(owner, "linear", linear, 0.0), "quadratic": finite(owner, "quadratic", quadratic, 0.0),
                  "velocity": real_array(owner, "velocity", velocity, (3,))}  # fmt: skip
        return self._add_pull(ParticleForce(name, "medium", self._groups(owner, particles), values))

    def wind(
        self, name: str, particles: str | Particles, faces: ArrayLike | None = None, *, velocity: ArrayLike = (0.0, 0.0, 0.0),
        density: float = 1.2, coefficient: float = 1.0, function: Callable[..., Any] | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Wind on the triangles of a surface: ½ ρ c A |u_n| u_n along the normal, with u_n the normal component of the wind
        relative to the middle of the triangle; a third of it on each corner.

        faces : (m, 3) indices within the group; those of a cloth, if not given. velocity : of the wind, m/s. density : ρ,
        kg/m³. function : (t, x) → (3,) m/s, instead of `velocity`, at the middle of a triangle; compiled by Numba, or plain
        Python, which is slower.
        """
        owner = f"wind {name!r}"
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
        return self._add_pull(ParticleForce(name, "wind", (group,), values, function))

    # Between a few ----------------------------------------------------------------------------------------------------

    def _elements(
        self,
        kind: str,
        name: str,
        particles: str | Particles,
        elements: ArrayLike,
        nodes: int,
        why: str,
        **numbers: ArrayLike,
    ) -> tuple[str, np.ndarray, np.ndarray, dict[str, Any], Particles]:
        """(owner, positions, indices within the group, fields of the rows, group)."""
        owner = f"{kind} {name!r}"
        group = self._group(owner, particles)
        rows = elements_of(owner, group, elements, nodes)
        require_apart(owner, group.position, rows, why)
        values: dict[str, Any] = {key: per_element(owner, key, value, len(rows)) for key, value in numbers.items()}
        values["nodes"] = rows + group.first
        return owner, group.position, rows, values, group

    def springs(
        self, name: str, particles: str | Particles, pairs: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0,
        rest: ArrayLike | None = None, draw: bool = True,
    ) -> ParticleForce:  # fmt: skip
        """Damped springs between pairs of particles of a group, energy ½ k (|d| − l)².

        pairs : (m, 2) indices within the group. stiffness : k, N/m; damping : N s/m; rest : l, m (the initial lengths);
        each one number, or (m,).
        """
        owner = f"springs {name!r}"
        group = self._group(owner, particles)
        rows = elements_of(owner, group, pairs, 2)
        lengths = np.linalg.norm(group.position[rows[:, 1]] - group.position[rows[:, 0]], axis=1)
        values = {
            "nodes": rows + group.first, "stiffness": per_element(owner, "stiffness", stiffness, len(rows)),
            "damping": per_element(owner, "damping", damping, len(rows)),
            "rest": lengths if rest is None else per_element(owner, "rest", rest, len(rows)),
        }  # fmt: skip
        lost = (lengths == 0.0) & (values["rest"] > 0.0)
        if lost.any():
            i = int(np.argmax(lost))
            raise ValueError(
                f"{owner}: spring {i}, particles {rows[i].tolist()}, starts with both ends at one place and a rest length of "
                f"{values['rest'][i]:g} m, and so has no direction; move one, or give it no rest length"
            )
        if draw:
            group.segments.append(rows)
        return self._add_pull(ParticleForce(name, "springs", (group,), values))

    def angular_springs(
        self, name: str, particles: str | Particles, triples: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
    ) -> ParticleForce:  # fmt: skip
        """Springs on the angle θ at the middle one of three particles, energy ½ k (θ − θ₀)².

        triples : (m, 3) indices. stiffness : N m/rad; damping : N m s/rad; rest : θ₀, rad, above 0 and below π (the initial
        angles). For what is straight at rest see `bending`.
        """
        owner, x, rows, values, group = self._elements(
            "angular springs",
            name,
            particles,
            triples,
            3,
            "an angle needs three places",
            stiffness=stiffness,
            damping=damping,
        )
        u, v = x[rows[:, 0]] - x[rows[:, 1]], x[rows[:, 2]] - x[rows[:, 1]]
        angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ij,ij->i", u, v))
        values["rest"] = angle if rest is None else per_element(owner, "rest", rest, len(rows))
        flat = (values["rest"] < 1e-6) | (values["rest"] > np.pi - 1e-6)
        if flat.any():
            i = int(np.argmax(flat))
            raise ValueError(
                f"{owner}: the rest angle of element {i} is {values['rest'][i]:g}; straight ones go with bending()"
            )
        return self._add_pull(ParticleForce(name, "angles", (group,), values))

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
        _, x, rows, values, group = self._elements(
            "bending", name, particles, triples, 3, "a thread needs some length", stiffness=stiffness, damping=damping
        )
        lengths = np.linalg.norm(np.diff(x[rows], axis=1), axis=2).mean(axis=1)
        values["stiffness"] = values["stiffness"] / lengths
        return self._add_pull(ParticleForce(name, "curvatures", (group,), values))

    def areas(
        self, name: str, particles: str | Particles, faces: ArrayLike, *, stiffness: ArrayLike, damping: ArrayLike = 0.0
    ) -> ParticleForce:
        """Triangles that keep their area A: energy ½ k (A − A₀)²/A₀, stiffness k in N/m, damping in N s/m³."""
        owner, x, rows, values, group = self._elements(
            "areas", name, particles, faces, 3, "a triangle needs an area", stiffness=stiffness, damping=damping
        )
        a, b, c = x[rows[:, 0]], x[rows[:, 1]], x[rows[:, 2]]
        rest = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        values["rest"] = per_element(owner, "area", rest, len(rows), above_zero=True)
        return self._add_pull(ParticleForce(name, "areas", (group,), values))

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
        owner, x, rows, values, group = self._elements(
            "volumes",
            name,
            particles,
            tetrahedra,
            4,
            "a tetrahedron needs a volume",
            stiffness=stiffness,
            damping=damping,
        )
        values["rest"] = require_upright(owner, x, rows)
        return self._add_pull(ParticleForce(name, "volumes", (group,), values))

    # Between all ------------------------------------------------------------------------------------------------------

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


def require_upright(owner: str, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The volumes of tetrahedra (m³). Raises ValueError for one that is flat or turned inside out."""
    edges = x[rows[:, 1:]] - x[rows[:, :1]]
    volume = np.linalg.det(edges) / 6.0
    flat = volume <= 1e-12 * np.abs(edges).max(axis=(1, 2)) ** 3
    if flat.any():
        i = int(np.argmax(flat))
        raise ValueError(
            f"{owner}: tetrahedron {i}, particles {rows[i].tolist()}, has the volume {volume[i]:.3g} m³; exchange two of its "
            "corners where it is inside out, and leave out flat ones"
        )
    return volume
