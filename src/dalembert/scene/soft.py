"""The methods of `Scene` that make threads, cloth and soft bodies: groups of particles with their forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np

from ..core.arrays import NumbersLike
from ..core.keywords import with_keywords
from .checks import array_of, finite, positive, real_array
from .contact import Material, OfScene
from .joint import Joint
from .mesh_file import boundary_faces, hinges_of
from .particles import ParticleForce, ParticleMethods, Particles, elements_of


class ParticleFields(TypedDict, total=False):
    """Keywords of `Scene.add_particles` that threads, cloth and soft bodies have too."""

    velocity: NumbersLike
    radius: float
    color: str
    material: Material | OfScene | None


class SoftBodyMethods:
    """The methods of `Scene` that make threads, cloth and soft bodies."""

    particles: dict[str, Particles]
    forces: dict[str, Any]  # Force or ParticleForce
    add_particles: Callable[..., Particles]
    springs: Callable[..., ParticleForce]
    bending: Callable[..., ParticleForce]
    rod: Callable[..., Joint]
    _group: Callable[..., Particles]
    _add_energy: Callable[..., ParticleForce]

    @with_keywords(ParticleFields, ParticleMethods.add_particles)
    def thread(
        self, name: str, points: NumbersLike, *, density: float, stretch: float | None = None, bend: float = 0.0,
        damping: float = 0.0, pinned: NumbersLike = False, **fields: Unpack[ParticleFields],
    ) -> Particles:  # fmt: skip
        """Add threads: chains of particles that resist stretching and bending. At rest they are straight, with their
        initial lengths.

        points : (n, 3) m, of one thread, or (threads, n, 3). density : kg/m. stretch : E A, N; None: the thread does
        not stretch, and its links are rods (constraints). bend : E I, N m². damping : s; a force with stiffness k gets
        the damping coefficient k · damping. For pinned and other fields see `add_particles`.

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
            of_node = share[:, 1:-1].ravel()  # m of thread, by which `bending` divides the stiffness alone
            self.bending(f"{name} bend", group, triples, stiffness=stiffness, damping=tau * stiffness / of_node)
        return group

    def rods(self, name: str, particles: str | Particles, pairs: NumbersLike) -> list[Joint]:
        """Add massless rods, which keep the distance between pairs (m, 2) of particles of a group. The joints are
        called "`name`[i]".
        """
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

    @with_keywords(ParticleFields, ParticleMethods.add_particles)
    def cloth(
        self, name: str, vertices: NumbersLike, faces: NumbersLike, *, density: float, stretch: float | tuple[float, float],
        shear: float, bend: float = 0.0, damping: float = 0.0, coordinates: NumbersLike | None = None,
        pinned: NumbersLike = False, **fields: Unpack[ParticleFields],
    ) -> Particles:  # fmt: skip
        """Add a cloth on a mesh of triangles, which is its rest shape (D. Baraff, A. Witkin, "Large steps in cloth
        simulation", 1998).

        vertices : (n, 3) m; faces : (m, 3). density : kg/m². damping : s, see `thread`.
        stretch : k, N/m, along u and v (or one for both): energy ½ k (|w_u| − 1)² per square metre. shear : N/m,
        ½ k (w_u·w_v)². bend : rigidity D, N m, on the angles θ of edges of length l between triangles of areas
        A and A′: ½ D 3 l²/(A + A′) (θ − θ₀)².
        coordinates : (n, 2) m, u and v of the vertices in the plane of the cloth. Default: in the plane of each
        triangle, u is the direction x, or y if x is nearly normal to it.

        The forces are called "`name` stretch" and "`name` bend". For pinned and other fields see `add_particles`.
        Raises ValueError for triangles without area, and edges with more than two triangles.
        """
        from ..energies.cloth import Cloth, material_edges
        from ..energies.hinge import Hinges

        owner = f"cloth {name!r}"
        x = real_array(owner, "vertices", vertices, (-1, 3))
        shape = Particles(name, 0, x, x, np.ones(len(x)), np.zeros(len(x), bool), 0.0, "")
        rows = elements_of(owner, shape, faces, 3)
        plane = None if coordinates is None else real_array(owner, "coordinates", coordinates, (len(x), 2))
        area = material_edges(owner, x, rows, plane)[1]
        mass = np.bincount(rows.ravel(), np.repeat(area / 3.0, 3), len(x)) * positive(
            owner, "density", density, "kg/m²"
        )
        if not (mass > 0.0).all():
            raise ValueError(f"{owner}: vertex {int(np.argmin(mass))} belongs to no triangle; leave it out")
        hinges, factor = hinges_of(owner, x, rows)
        group = self.add_particles(name, x, mass=mass, pinned=pinned, **fields)
        group.faces.append(rows)
        surface = Cloth(group, rows, stretch=stretch, shear=shear, damping=damping, coordinates=plane)
        self._add_energy(f"{name} stretch", surface, owner)
        rigidity = finite(owner, "bend", bend, 0.0)
        if rigidity > 0.0 and len(hinges):
            tau = finite(owner, "damping", damping, 0.0)
            bending = Hinges(group, hinges, stiffness=rigidity * factor, damping=tau * rigidity * factor)
            self._add_energy(f"{name} bend", bending, owner)
        return group

    @with_keywords(ParticleFields, ParticleMethods.add_particles)
    def soft_body(
        self, name: str, vertices: NumbersLike, tetrahedra: NumbersLike, *, density: float, young: float,
        poisson: float = 0.45, viscosity: float = 0.0, pinned: NumbersLike = False, **fields: Unpack[ParticleFields],
    ) -> Particles:  # fmt: skip
        """Add an elastic solid of tetrahedra, which is its rest shape. Stable neo-Hookean material (B. Smith, F. de
        Goes, T. Kim, 2018).

        vertices : (n, 3) m; tetrahedra : (m, 4), with positive volume: seen from the first corner, the other three are
        clockwise. density : kg/m³; young : E, Pa; poisson : ν, from 0 to less than ½; viscosity : Pa s (Kelvin–Voigt).

        The force is called "`name` elastic". For pinned and other fields see `add_particles`. Raises ValueError for
        flat and inverted tetrahedra.
        """
        from ..energies.tetrahedron import Tetrahedra
        from ..energies.volume import require_upright

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
        group = self.add_particles(name, x, mass=mass, pinned=pinned, **fields)
        group.faces.append(boundary_faces(rows))
        solid = Tetrahedra(group, rows, young=young, poisson=poisson, viscosity=viscosity)
        self._add_energy(f"{name} elastic", solid, owner)
        return group
