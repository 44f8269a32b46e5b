"""A rigid body of a scene, and the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike
from .checks import array_of, positive, rotation_matrix
from .mass import mass_properties, validate_inertia
from .shapes import HalfSpace, Shape

if TYPE_CHECKING:
    from .contact import Material
    from .joint import Frame
    from .motion import Commanded


class World:
    """What does not move. Joints and springs may be fixed to it."""

    name: str = "world"

    def __repr__(self) -> str:
        return "WORLD"


THE_WORLD = World()
WORLD: Frame = THE_WORLD  # declared as a frame, so that `above = WORLD` takes a body later


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body in its initial state; made by `Scene.add_body`, which explains the fields."""

    name: str
    shape: Any  # a `Shape`, or None
    mass: float
    inertia: NDArray[np.float64]  # (3, 3) about the centre of mass, in body axes, kg m²
    center: NDArray[np.float64]  # (3,) centre of mass in the frame of the shape, m
    position: NDArray[np.float64]  # (3,) of the centre of mass, world, m
    orientation: tuple[float, float, float, float]
    velocity: NDArray[np.float64]  # (3,) of the centre of mass, world, m/s
    angular_velocity: NDArray[np.float64]  # (3,) world, rad/s
    color: str = field(default="#8899aa")
    material: Material | Any = None  # None: it touches nothing
    group: str = ""
    material_given: bool = False  # whether `add_body` got a material, or None
    motion: Commanded | None = None  # of a kinematic body, whose mass and inertia are zero here
    surface_velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))  # (3,) m/s, of a belt, body axes
    surface_spin: NDArray[np.float64] = field(
        default_factory=lambda: np.zeros(3)
    )  # (3,) rad/s, of a roller or turntable

    @property
    def is_belt(self) -> bool:
        """Whether its surface moves along itself."""
        return bool(self.surface_velocity.any() or self.surface_spin.any())

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation matrix, body → world."""
        return rotation_matrix(self.orientation)

    def to_body(self, point: np.ndarray) -> np.ndarray:
        """A world point in the frame at the centre of mass (m)."""
        return self.rotation.T @ (point - self.position)


def require_shape(owner: str, shape: Any) -> None:
    """Raises ValueError for what is no shape, and for one without a volume, which only an obstacle can have."""
    if isinstance(shape, type) and issubclass(shape, Shape):
        raise ValueError(
            f"{owner}: shape is the class {shape.__name__}; give one with its sizes, {shape.__name__}(...)"
        )
    if shape is not None and not isinstance(shape, Shape):
        raise ValueError(f"{owner}: shape is {shape!r:.80}; give a shape, such as Sphere(0.1) or Box(1, 1, 1)")
    if isinstance(shape, HalfSpace):
        raise ValueError(
            f"{owner}: a HalfSpace is the ground, which does not move; add it by add_obstacle(name, HalfSpace())"
        )


def require_not_exchanged(owner: str, mass: Any, position: Any) -> None:
    """Raises ValueError for a mass that looks like a position."""
    if mass is not None and array_of(mass).shape == (3,):
        other = f", and position is {position!r:.80}; are the two exchanged?" if array_of(position).ndim == 0 else ";"
        raise ValueError(
            f"{owner}: mass is {mass!r:.80}, three numbers{other} Give mass= in kg and position=(x, y, z) in m"
        )


def mass_of_body(
    owner: str, shape: Any, mass: float | None, density: float | None, inertia: NumbersLike | None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass (kg), inertia (3, 3) about the centre of mass (kg m²), and the centre of mass (3,) in the frame of the shape (m),
    of the arguments of `Scene.add_body`. Raises ValueError naming the body and the value."""
    center = np.zeros(3)
    if isinstance(mass, int | float) and mass == 0:
        raise ValueError(f"{owner}: mass is 0; give kg above zero, or add a fixed object with add_obstacle")
    if shape is not None and inertia is None:
        try:
            solid = mass_properties(shape, mass=mass, density=density)
        except ValueError as error:
            raise ValueError(f"{owner}: {error}") from None
        total, tensor, center = solid.mass, np.array(solid.inertia), np.array(solid.center)
    elif inertia is not None:
        total = positive(owner, "mass", mass, "kg")
        try:
            values = np.asarray(inertia, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{owner}: inertia must be (3,) or (3, 3) numbers in kg m²; got {inertia!r:.80}") from None
        tensor = np.array(np.diag(values) if values.shape == (3,) else values)
        if density is not None:
            raise ValueError(
                f"{owner}: density and inertia are both given; give mass and inertia, or a shape and density"
            )
    else:
        raise ValueError(
            f"{owner}: neither shape nor inertia is given; give a shape with mass or density, or mass and inertia"
        )
    return total, validate_inertia(owner, tensor), center
