"""Mass, centre of mass and inertia of solids: closed forms, exact polyhedra, and the algebra to combine them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import NumbersLike, VectorLike
from .checks import positive, real_array, rotation_matrix
from .polyhedron import Moments, inertia_from_second_moment
from .shapes import Compound, Shape


def validate_inertia(name: str, inertia: NumbersLike, *, rtol: float = 1e-6) -> np.ndarray:
    """Check that an inertia tensor is that of a real solid.

    It must be symmetric and positive definite, and no principal moment may exceed the sum of the two others:
    I₁ + I₂ − I₃ = 2∫x₃² dm ≥ 0. ``rtol`` forgives files that print seven digits.

    Args:
        name: the object, for the message.
        inertia: (3, 3), kg m², about the centre of mass, in any axes.

    Returns:
        (3, 3) read-only float64, exactly symmetric.

    Raises:
        ValueError: names the object, the value and the remedy.
    """
    tensor = real_array(name, "inertia", inertia, (3, 3))
    size = float(np.abs(tensor).max())
    skew = np.abs(tensor - tensor.T)
    if skew.max() > rtol * size:
        i, j = np.unravel_index(int(skew.argmax()), (3, 3))
        raise ValueError(
            f"{name}: inertia is not symmetric: [{i},{j}] is {tensor[i, j]:.9g} and [{j},{i}] is {tensor[j, i]:.9g} "
            "kg m²; make the two equal"
        )
    tensor = 0.5 * (tensor + tensor.T)
    first, second, third = np.linalg.eigvalsh(tensor).tolist()
    moments = f"principal moments {first:.9g}, {second:.9g}, {third:.9g} kg m²"
    if first <= 4.0 * np.finfo(float).eps * third or first < np.finfo(float).tiny:
        raise ValueError(
            f"{name}: inertia is not positive definite ({moments}); give the body an extent in all three directions, "
            "or add a particle with add_particles"
        )
    if third - first - second > rtol * third:
        raise ValueError(
            f"{name}: no solid has this inertia: the largest of the {moments} exceeds the sum of the others by "
            f"{third - first - second:.3g}; check the units and the signs of the products of inertia, or compute the "
            "inertia with mass_properties(shape, mass=...)"
        )
    tensor.flags.writeable = False
    return tensor


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass (kg), centre of mass (3,) in m and inertia (3, 3) in kg m² about it, all in the same frame. Arrays are
    read-only.

    >>> from dalembert import Box
    >>> half = mass_properties(Box(1, 1, 1), mass=1.0)
    >>> whole = half.moved((0.5, 0, 0)) + half.moved((-0.5, 0, 0))
    >>> whole.inertia.diagonal().round(3).tolist()  # the box 2 × 1 × 1 of 2 kg
    [0.333, 0.833, 0.833]
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", positive("MassProperties", "mass", self.mass, "kg"))
        object.__setattr__(self, "center", real_array("MassProperties", "center", self.center, (3,)))
        object.__setattr__(self, "inertia", validate_inertia("MassProperties", self.inertia))

    def principal(self) -> tuple[np.ndarray, np.ndarray]:
        """Principal moments (3,), ascending, kg m², and axes: the columns of a proper rotation (3, 3).

        inertia = axes @ diag(moments) @ axes.T. The largest entry of each of the first two axes is positive.
        """
        moments, axes = np.linalg.eigh(self.inertia)
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
        axes = axes * np.where(largest < 0.0, -1.0, 1.0)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        return moments, axes

    def inertia_about(self, point: VectorLike) -> np.ndarray:
        """The inertia (3, 3) about another point (3,) of the frame (parallel axis theorem)."""
        arm = self.center - real_array("MassProperties", "point", point, (3,))
        return self.inertia + self.mass * inertia_from_second_moment(np.outer(arm, arm))

    def rotated(self, rotation: NumbersLike) -> MassProperties:
        """The mass properties after a rotation about the origin of the frame; rotation matrix (3, 3)."""
        matrix = real_array("MassProperties", "rotation", rotation, (3, 3))
        if np.abs(matrix @ matrix.T - np.eye(3)).max() > 1e-9 or np.linalg.det(matrix) < 0.0:
            raise ValueError(f"MassProperties: {matrix.tolist()} is not a rotation; give orthonormal right-handed axes")
        return MassProperties(self.mass, matrix @ self.center, matrix @ self.inertia @ matrix.T)

    def moved(self, offset: VectorLike) -> MassProperties:
        """The mass properties after a translation by an offset (3,), m."""
        return MassProperties(
            self.mass, self.center + real_array("MassProperties", "offset", offset, (3,)), self.inertia
        )

    def __add__(self, other: MassProperties) -> MassProperties:
        """Both solids as one, about their common centre of mass."""
        return combine([self, other])


def combine(solids: Sequence[MassProperties]) -> MassProperties:
    """Several solids of one frame as one, about their common centre of mass (parallel axes)."""
    mass = math.fsum(solid.mass for solid in solids)
    center = np.sum([(solid.mass / mass) * solid.center for solid in solids], axis=0)
    return MassProperties(mass, center, np.sum([solid.inertia_about(center) for solid in solids], axis=0))


def mass_properties(shape: Shape, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Mass properties of a uniform solid in the frame of its shape, from its mass (kg) or its density (kg/m³).

    The parts of a compound have ``density_ratio`` times the density; ``mass`` is the mass of the whole.

    Raises:
        ValueError: if not exactly one of mass and density is given, it is not positive, or the inertia is out of range.

    >>> from dalembert import Sphere
    >>> mass_properties(Sphere(1.0), mass=5.0).inertia.diagonal().tolist()
    [2.0, 2.0, 2.0]
    """
    name = type(shape).__name__
    if (mass is None) == (density is None):
        given = "neither" if mass is None else f"mass={mass!r} and density={density!r}"
        raise ValueError(f"{name}: give exactly one of mass (kg) and density (kg/m³); got {given}")
    if isinstance(shape, Compound):
        return _compound(shape, mass, density)
    volume, center, gyration = _moments(shape)
    kilograms = (
        positive(name, "density", density, "kg/m³") * volume if mass is None else positive(name, "mass", mass, "kg")
    )
    positive(name, "mass from density × volume", kilograms, "kg")
    return MassProperties(kilograms, center, validate_inertia(name, kilograms * gyration))


def volume_of(shape: Shape) -> float:
    """m³; of a compound that of its parts, whether they overlap or not."""
    if isinstance(shape, Compound):
        return math.fsum(_moments(part.shape).volume for part in shape.parts)
    return float(_moments(shape).volume)


def _compound(shape: Compound, mass: float | None, density: float | None) -> MassProperties:
    if density is None:
        total = positive("Compound", "mass", mass, "kg")
        volume = math.fsum(part.density_ratio * _moments(part.shape).volume for part in shape.parts)
        density = total / positive("Compound", "volume", volume, "m³")
    else:
        density = positive("Compound", "density", density, "kg/m³")
    return combine(
        [
            mass_properties(part.shape, density=part.density_ratio * density)
            .rotated(rotation_matrix(part.orientation))
            .moved(part.position)
            for part in shape.parts
        ]
    )


def _moments(shape: Shape) -> Moments:
    if not isinstance(shape, Shape):
        raise ValueError(f"mass_properties: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
    return shape.moments()
