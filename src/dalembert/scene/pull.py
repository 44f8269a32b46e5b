"""The methods of `Scene` that pull at particles: at each here, between a few and between all beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import finite, real_array
from .particle_force import ParticleForce, elements_of
from .particles import Particles
from .pull_all import Groups, PullsOfAll
from .pull_few import PullsOfFew


class Pulls(PullsOfFew, PullsOfAll):
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
