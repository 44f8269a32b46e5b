"""Particles in a scene: points with mass, in groups of one to a million, and the forces on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike
from .checks import array_of, finite, real_array
from .colors import color_text
from .contact import OF_SCENE, Material, OfScene, surface

MOST_PARTICLES = 10_000_000
COLOR = "#4c78a8"


@dataclass(frozen=True, eq=False)
class Particles:
    """A group of particles in its initial state; made by `Scene.add_particles`, which explains the fields.

    `group[i]` is one particle of it, which joints and springs take where they take a body.
    """

    name: str
    first: int  # number of its first particle among all of the scene
    position: NDArray[np.float64]  # (n, 3) m
    velocity: NDArray[np.float64]  # (n, 3) m/s
    mass: NDArray[np.float64]  # (n,) kg
    pinned: NDArray[np.bool_]  # (n,) bool
    radius: float  # m
    color: str
    material: Material | Any = None
    segments: list[np.ndarray] = field(default_factory=list)  # what is drawn as lines, (m, 2) each
    faces: list[np.ndarray] = field(default_factory=list)  # what is drawn as a surface, (m, 3) each
    material_given: bool = False  # whether `add_particles` got a material, or None

    def __len__(self) -> int:
        return len(self.mass)

    def __getitem__(self, index: int) -> Particle:
        number = int(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"particles {self.name!r}: there is no particle {number}; there are {len(self)}")
        return Particle(self, number % len(self))

    @property
    def last(self) -> int:
        """One more than the number of its last particle."""
        return self.first + len(self)


@dataclass(frozen=True)
class Particle:
    """One particle of a group."""

    group: Particles
    index: int

    @property
    def name(self) -> str:
        return f"{self.group.name}[{self.index}]"

    @property
    def number(self) -> int:
        """Among all particles of the scene."""
        return self.group.first + self.index

    @property
    def position(self) -> NDArray[np.float64]:
        """(3,) m, at the start."""
        return np.asarray(self.group.position[self.index])


class ParticleMethods:
    """The methods of `Scene` that add particles."""

    particles: dict[str, Particles]
    material: Material | None
    _new_name: Callable[..., None]

    def add_particles(
        self,
        name: str,
        position: NumbersLike,
        *,
        mass: NumbersLike,
        velocity: NumbersLike = (0.0, 0.0, 0.0),
        pinned: NumbersLike = False,
        radius: float = 0.0,
        color: str = COLOR,
        material: Material | OfScene | None = OF_SCENE,
    ) -> Particles:
        """Add a group of particles.

        position : (n, 3) m, or (3,) for one. velocity : (n, 3) m/s, or (3,) for all.
        mass : (n,) kg, or one number for all.
        pinned : (n,) whether each particle is fixed; or one value for all; or the indices of the fixed ones.
        radius : m; particles collide with bodies and are drawn as balls of this radius.
        material : their surface, for collisions with bodies and obstacles that have a material, with fixed steps.
            Default: that of the scene. None: they collide with nothing.

        Raises ValueError naming the group and the value.
        """
        self._new_name(name, self.particles, "particles")
        owner = f"particles {name!r}"
        single = array_of(position).shape == (3,)
        x = real_array(owner, "position", array_of(position).reshape(1, 3) if single else position, (-1, 3))
        first = sum(len(group) for group in self.particles.values())
        if not 0 < len(x) <= MOST_PARTICLES - first:
            raise ValueError(f"{owner}: {len(x)} particles; give 1 to {MOST_PARTICLES - first}")
        v = np.broadcast_to(np.asarray(velocity), x.shape) if array_of(velocity).shape == (3,) else velocity
        m = np.full(len(x), mass) if array_of(mass).ndim == 0 else mass
        group = Particles(
            name, first, x, real_array(owner, "velocity", v, x.shape), _masses(owner, m, len(x)),
            _pinned(owner, pinned, len(x)), finite(owner, "radius", radius, 0.0), color_text(owner, color),
            surface(owner, material, self.material), material_given=not isinstance(material, OfScene),
        )  # fmt: skip
        if np.any(group.velocity[group.pinned]):
            i = int(np.argmax(group.pinned & group.velocity.any(axis=1)))
            raise ValueError(
                f"{owner}: particle {i} is pinned but has velocity {group.velocity[i].tolist()}; leave it out"
            )
        self.particles[name] = group
        return group


def _masses(owner: str, mass: NumbersLike, count: int) -> np.ndarray:
    m = real_array(owner, "mass", mass, (count,))
    if not (m > 0.0).all():
        i = int(np.argmin(m))
        raise ValueError(f"{owner}: mass[{i}] is {m[i]:g}; give numbers above zero, in kg")
    return m


def _pinned(owner: str, pinned: NumbersLike, count: int) -> np.ndarray:
    given = array_of(pinned)
    if given.dtype.kind == "b" and given.shape in ((), (count,)):
        return np.array(np.broadcast_to(given, count))
    if given.size == 0 and given.dtype.kind != "O":
        return np.zeros(count, bool)
    if given.dtype.kind not in "iu" or given.ndim != 1 or given.min() < -count or given.max() >= count:
        raise ValueError(
            f"{owner}: pinned is {pinned!r:.80}; give True or False, one per particle, or indices below {count}"
        )
    found = np.zeros(count, bool)
    found[given] = True
    return found


# Forces on particles, and the checks of what they connect -------------------------------------------------------------


@dataclass(eq=False)
class ParticleForce:
    """A force on particles; made by the methods of `Scene`.

    `kind` is that of a table of elements (springs, angles, ...), of an interaction (gravitation, ...), or field, medium,
    wind.
    """

    name: str
    kind: str
    groups: tuple[Particles, ...]
    values: dict[str, Any] = field(default_factory=dict)  # fields of its rows, arrays by element or numbers for all
    function: Callable[..., Any] | None = None


def elements_of(owner: str, group: Particles, elements: NumbersLike, nodes: int) -> np.ndarray:
    """(m, nodes) indices within a group, checked: in range, and each particle once in an element. Raises ValueError."""
    given = array_of(elements)
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != nodes or not len(given):
        raise ValueError(
            f"{owner}: give a table of whole numbers of shape (m, {nodes}), indices within {group.name!r}; got "
            f"{given.dtype} of shape {given.shape}"
        )
    rows = given.astype(np.int64)
    bad = (rows < 0) | (rows >= len(group))
    if bad.any():
        i = int(np.argmax(bad.any(axis=1)))
        raise ValueError(
            f"{owner}: element {i} names {rows[i].tolist()}, and {group.name!r} has particles 0 to {len(group) - 1}"
        )
    ordered = np.sort(rows, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        i = int(np.argmax(twice))
        raise ValueError(f"{owner}: element {i} has a particle twice, {rows[i].tolist()}; use different ones")
    return rows


def per_element(owner: str, name: str, value: NumbersLike, count: int, *, above_zero: bool = False) -> np.ndarray:
    """(m,) numbers not below zero (or above it), from one for all or one an element. Raises ValueError."""
    given = np.full(count, value) if array_of(value).ndim == 0 else value
    array = real_array(owner, name, given, (count,))
    bad = array <= 0.0 if above_zero else array < 0.0
    if bad.any():
        i = int(np.argmax(bad))
        least = "above zero" if above_zero else "not below zero"
        raise ValueError(f"{owner}: {name}[{i}] is {array[i]:g}; give numbers {least}")
    return array


def require_apart(owner: str, x: np.ndarray, rows: np.ndarray, why: str) -> None:
    """Refuse elements with neighbours (columns 0 and 1, ...) at the same place. x : (n, 3)."""
    for a, b in zip(range(rows.shape[1] - 1), range(1, rows.shape[1]), strict=True):
        same = (x[rows[:, a]] == x[rows[:, b]]).all(axis=1)
        if same.any():
            i = int(np.argmax(same))
            raise ValueError(
                f"{owner}: element {i}, particles {rows[i].tolist()}, has two particles at the same place; {why}"
            )
