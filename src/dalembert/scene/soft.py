"""The methods of `Scene` that make threads, cloth and soft bodies: groups of particles with their forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..energies.volume import require_upright
from .checks import array_of, finite, positive, real_array
from .joint import Joint
from .mesh_file import boundary_faces, hinges_of
from .particles import ParticleForce, Particles, elements_of


class Soft:
    """What is made of many particles."""

    particles: dict[str, Particles]
    forces: dict[str, Any]  # Force or ParticleForce
    add_particles: Callable[..., Particles]
    springs: Callable[..., ParticleForce]
    bending: Callable[..., ParticleForce]
    rod: Callable[..., Joint]
    _group: Callable[..., Particles]
    _add_pull: Callable[..., ParticleForce]

    def thread(
        self, name: str, points: ArrayLike, *, density: float, stretch: float | None = None, bend: float = 0.0,
        damping: float = 0.0, pinned: ArrayLike = False, **fields: Any,
    ) -> Particles:  # fmt: skip
        """Threads: chains of particles that resist stretching and bending; straight at rest, of the length they have now.

        points : (n, 3) m, of one thread, or (threads, n, 3). density : kg/m. stretch : E A, N; None: it does not stretch at
        all, and its links are rods, constraints of the run. bend : E I, N m². damping : s, the time in which it damps what
        resists: force of stiffness k is joined by k · damping · rate. pinned and more fields: see `add_particles`.

        The forces are called "`name` stretch" and "`name` bend", the rods "`name`[i]".
        """
        owner = f"thread {name!r}"
        x = array_of(points)
        x = x[None] if x.ndim == 2 else x
        if x.dtype.kind not in "iuf" or x.ndim != 3 or x.shape[1] < 2 or x.shape[2] != 3:
            raise ValueError(f"{owner}: points must have the shape (n, 3) or (threads, n, 3), n ≥ 2; got {x.shape}")
        x = x.astype(float)
        lengths = np.linalg.norm(np.diff(x, axis=1), axis=2)
        if not (lengths > 0.0).all():
            i = np.argwhere(~(lengths > 0.0))[0].tolist()
            raise ValueError(
                f"{owner}: two neighbours, {i}, are at the same place, or not finite; give points that differ"
            )
        share = np.zeros(x.shape[:2])
        share[:, :-1] += 0.5 * lengths
        share[:, 1:] += 0.5 * lengths
        mass = positive(owner, "density", density, "kg/m") * share
        group = self.add_particles(name, x.reshape(-1, 3), mass=mass.ravel(), pinned=pinned, **fields)
        number = np.arange(len(group)).reshape(x.shape[:2])
        pairs = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
        tau = finite(owner, "damping", damping, 0.0)
        if stretch is None:
            self.rods(name, group, pairs)
        else:
            k = positive(owner, "stretch", stretch, "N") / lengths.ravel()
            self.springs(f"{name} stretch", group, pairs, stiffness=k, damping=tau * k)
        stiffness = finite(owner, "bend", bend, 0.0)
        if stiffness > 0.0 and x.shape[1] > 2:
            triples = np.stack([number[:, :-2].ravel(), number[:, 1:-1].ravel(), number[:, 2:].ravel()], axis=1)
            self.bending(f"{name} bend", group, triples, stiffness=stiffness, damping=tau * stiffness)
        return group

    def rods(self, name: str, particles: str | Particles, pairs: ArrayLike) -> list[Joint]:
        """Rods between pairs (m, 2) of particles of a group, joints called "`name`[i]": they keep their distance."""
        owner = f"rods {name!r}"
        group = self._group(owner, particles)
        rows = elements_of(owner, group, pairs, 2)
        free = ~group.pinned[rows].all(axis=1)
        made = [
            self.rod(f"{name}[{i}]", *sorted((group[a], group[b]), key=lambda end: not end.group.pinned[end.index]))
            for i, (a, b) in enumerate(rows.tolist())
            if free[i]
        ]
        group.segments.append(rows)
        return made

    def cloth(
        self, name: str, vertices: ArrayLike, faces: ArrayLike, *, density: float, stretch: float | tuple[float, float],
        shear: float, bend: float = 0.0, damping: float = 0.0, coordinates: ArrayLike | None = None,
        pinned: ArrayLike = False, **fields: Any,
    ) -> Particles:  # fmt: skip
        """A cloth on a mesh of triangles (D. Baraff, A. Witkin, "Large steps in cloth simulation", 1998), at rest as it is.

        vertices : (n, 3) m; faces : (m, 3). density : kg/m². damping : s, see `thread`.
        stretch : k, N/m, along u and v (or one for both): energy ½ k (|w_u| − 1)² a square metre. shear : N/m,
        ½ k (w_u·w_v)². bend : rigidity D, N m, on the angles θ of edges of length l between triangles of areas
        A and A′: ½ D 3 l²/(A + A′) (θ − θ₀)².
        coordinates : (n, 2) m, u and v of the vertices in the plane of the cloth; if not given, u is the direction x, or y
        where x is nearly normal, in each triangle's plane.

        The forces are called "`name` stretch" and "`name` bend". pinned and more fields: see `add_particles`.
        Raises ValueError for triangles without area, and edges of more than two.
        """
        owner = f"cloth {name!r}"
        x = real_array(owner, "vertices", vertices, (-1, 3))
        shape = Particles(name, 0, x, x, np.ones(len(x)), np.zeros(len(x), bool), 0.0, "")
        rows = elements_of(owner, shape, faces, 3)
        edges, area = _material_edges(owner, x, rows, coordinates)
        mass = np.bincount(rows.ravel(), np.repeat(area / 3.0, 3), len(x)) * positive(
            owner, "density", density, "kg/m²"
        )
        if not (mass > 0.0).all():
            raise ValueError(f"{owner}: vertex {int(np.argmin(mass))} belongs to no triangle; leave it out")
        hinges, factor = hinges_of(owner, x, rows)
        group = self.add_particles(name, x, mass=mass, pinned=pinned, **fields)
        group.faces.append(rows)
        along = (stretch, stretch) if np.ndim(stretch) == 0 else stretch
        k_u, k_v = (positive(owner, "stretch", k, "N/m") for k in along)  # type: ignore[union-attr]
        k_s, tau = finite(owner, "shear", shear, 0.0), finite(owner, "damping", damping, 0.0)
        values = {
            "nodes": rows + group.first, "inverse": np.linalg.inv(edges).reshape(-1, 4), "area": area, "stretch_u": k_u,
            "stretch_v": k_v, "shear": k_s, "stretch_damping": tau * max(k_u, k_v), "shear_damping": tau * k_s,
        }  # fmt: skip
        self._add_pull(ParticleForce(f"{name} stretch", "cloths", (group,), values))
        rigidity = finite(owner, "bend", bend, 0.0)
        if rigidity > 0.0 and len(hinges):
            values = {"nodes": hinges + group.first, "stiffness": rigidity * factor, "damping": tau * rigidity * factor,
                      "rest": dihedral_angles(x, hinges)}  # fmt: skip
            self._add_pull(ParticleForce(f"{name} bend", "hinges", (group,), values))
        return group

    def soft_body(
        self, name: str, vertices: ArrayLike, tetrahedra: ArrayLike, *, density: float, young: float, poisson: float = 0.45,
        viscosity: float = 0.0, pinned: ArrayLike = False, **fields: Any,
    ) -> Particles:  # fmt: skip
        """An elastic solid of tetrahedra, at rest as it is: stable neo-Hookean (B. Smith, F. de Goes, T. Kim, 2018).

        vertices : (n, 3) m; tetrahedra : (m, 4), with the first corner behind the other three, which turn right-handed about
        the way out. density : kg/m³; young : E, Pa; poisson : ν, from 0 to less than ½; viscosity : Pa s (Kelvin–Voigt).

        The force is called "`name` elastic". pinned and more fields: see `add_particles`.
        Raises ValueError for tetrahedra that are flat or inside out.
        """
        owner = f"soft body {name!r}"
        x = real_array(owner, "vertices", vertices, (-1, 3))
        shape = Particles(name, 0, x, x, np.ones(len(x)), np.zeros(len(x), bool), 0.0, "")
        rows = elements_of(owner, shape, tetrahedra, 4)
        volume = require_upright(owner, x, rows)
        mass = np.bincount(rows.ravel(), np.repeat(volume / 4.0, 4), len(x)) * positive(
            owner, "density", density, "kg/m³"
        )
        if not (mass > 0.0).all():
            raise ValueError(f"{owner}: vertex {int(np.argmin(mass))} belongs to no tetrahedron; leave it out")
        e, nu = positive(owner, "young", young, "Pa"), finite(owner, "poisson", poisson, 0.0)
        if nu >= 0.5:
            raise ValueError(
                f"{owner}: poisson is {nu:g}; give a number below ½, as 0.49 for nearly no change of volume"
            )
        group = self.add_particles(name, x, mass=mass, pinned=pinned, **fields)
        group.faces.append(boundary_faces(rows))
        edges = np.swapaxes(x[rows[:, 1:]] - x[rows[:, :1]], 1, 2)
        values = {
            "nodes": rows + group.first, "inverse": np.linalg.inv(edges).reshape(-1, 9), "volume": volume,
            "mu": e / (2.0 * (1.0 + nu)), "lame": e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)),
            "viscosity": finite(owner, "viscosity", viscosity, 0.0),
        }  # fmt: skip
        self._add_pull(ParticleForce(f"{name} elastic", "tetrahedra", (group,), values))
        return group


def _material_edges(
    owner: str, x: np.ndarray, rows: np.ndarray, coordinates: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """(m, 2, 2) edges of triangles in the plane of the cloth, as columns, and their areas (m²)."""
    d, e = x[rows[:, 1]] - x[rows[:, 0]], x[rows[:, 2]] - x[rows[:, 0]]
    if coordinates is None:
        normal = np.cross(d, e)
        size = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = normal / np.where(size > 0.0, size, 1.0)
        axis = np.where(np.abs(normal[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        u = axis - normal * np.einsum("ij,ij->i", axis, normal)[:, None]
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        frame = np.stack([u, np.cross(normal, u)], axis=1)
        edges = np.stack([np.einsum("ijk,ik->ij", frame, d), np.einsum("ijk,ik->ij", frame, e)], axis=2)
    else:
        plane = real_array(owner, "coordinates", coordinates, (len(x), 2))
        edges = np.stack([plane[rows[:, 1]] - plane[rows[:, 0]], plane[rows[:, 2]] - plane[rows[:, 0]]], axis=2)
    area = 0.5 * np.abs(np.linalg.det(edges))
    flat = area <= 1e-10 * np.abs(edges).max(axis=(1, 2)) ** 2
    if flat.any():
        i = int(np.argmax(flat))
        raise ValueError(
            f"{owner}: triangle {i}, vertices {rows[i].tolist()}, has no area; leave it out, or move a vertex"
        )
    return edges, area


def dihedral_angles(x: np.ndarray, hinges: np.ndarray) -> np.ndarray:
    """(m,) rad: the angles between the triangles (0, 1, 2) and (1, 0, 3) of each hinge, 0 where they are level."""
    a, b, c, d = (x[hinges[:, k]] for k in range(4))
    edge = b - a
    one, other = np.cross(edge, c - a), np.cross(d - a, edge)
    sine = np.einsum("ij,ij->i", np.cross(one, other), edge) / np.linalg.norm(edge, axis=1)
    return np.asarray(np.arctan2(sine, np.einsum("ij,ij->i", one, other)))
