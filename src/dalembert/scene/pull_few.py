"""The methods of `Scene` that pull at a few particles at a time: springs, angles, bending, areas, volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .particle_force import ParticleForce, elements_of, per_element, require_apart
from .particles import Particles


class PullsOfFew:
    """Forces between a few particles of a group."""

    _group: Callable[..., Particles]
    _add_pull: Callable[..., ParticleForce]

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
