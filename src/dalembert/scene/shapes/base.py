"""The base of all shapes: the class `Shape`, the compiled functions of a convex shape (`Kernels`), the registry, and
shapes as plain dictionaries.

One file of this folder defines one shape: the class with its checks, mass, drawing, export and dictionary form, and its
compiled functions. `register` adds it to `SHAPES`, where collision detection, queries, exports and saved runs find it.
Only pairs with special contact functions are named elsewhere.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..checks import positive
from ..polyhedron import Moments, Surface

# The numbers of the kinds of colliders; constants of the kernels, because they are compared often ------------------------

# Shapes with contact functions of their own for some pairs, see `collide.narrow_phase.family_of`. The order is that of
# the shapes in a pair.
SPHERE, CAPSULE, BOX, HULL, CYLINDER, CONE, ELLIPSOID = range(7)
# Other convex shapes have the numbers from here on, in the order of registration.
FIRST_FREE = 7
HALF_SPACE = 61
MESH = 62

# Shapes ---------------------------------------------------------------------------------------------------------------

NO_SIZE = (0.0, 0.0, 0.0)


class Kernels(NamedTuple):
    """The compiled functions of a convex shape. All work in the frame of the shape (m); `size` is what `Shape.size` returns.

    A shape is a *core* grown by a radius, zero for most shapes. `support` and `curvature` are those of the core; the others
    are those of the whole shape.
    """

    support: Any = None
    """(size, u) → the point of the core furthest along u, which need not be a unit vector"""
    extent: Any = None
    """(size, u) → how far the shape reaches from its origin along the unit vector u, and against it; made of `support` if
    None"""
    ray: Any = None
    """(size, o, d) → the part of the ray o + t d within the shape: (enter, leave, outward normal where it enters)"""
    distance: Any = None
    """(size, p) → signed distance of the point p from the surface, negative within, and the outward unit normal there"""
    curvature: Any = None
    """(size, p, u) → dp/du, (xx, yy, zz, xy, xz, yz), at the point p of the core furthest along the unit vector u; of a
    smooth surface. With it directions of contact are right to rounding, and without to 1e-6 or so."""
    flat_normal: Any = None
    """(size, u) → outward unit normal of the flat face that reaches furthest along u; zero where there is none"""
    face: Any = None
    """(size, u, x, axes, scratch, at) → number of corners of the flat part that faces u, see `geometry.put`; 0 for none"""


class UsdPrim(NamedTuple):
    """A shape as a geometry of USD: its type, its sizes by name, and by what its frame is scaled."""

    kind: str
    sizes: dict[str, float]
    scale: tuple[float, float, float] | None = None


class Shape:
    """A shape in its own frame, lengths in metres: a plain value without mass, position or colour."""

    kind: ClassVar[int]
    """its number in the tables of collision detection"""
    kernels: ClassVar[Kernels] = Kernels()
    keys: ClassVar[tuple[str, ...]]
    """the keys of its dictionary form, in the order of the arguments of the class"""
    solid: ClassVar[bool] = True
    """whether it has a volume, and so can be the shape of a body"""
    convex: ClassVar[bool] = True
    surface: ClassVar[bool] = False
    """whether collision detection takes it for a surface of triangles"""
    grown: ClassVar[bool] = False
    """whether the first number of `size` is the radius that its core is grown by"""
    curved: ClassVar[bool] = False
    """whether its core has infinitely many corners"""
    by_events: ClassVar[bool] = False
    """whether contact by events knows it"""
    listed: ClassVar[bool] = False
    """whether its dictionary form is made of lists"""
    mjcf_type: ClassVar[str] = ""
    """the type of a geom that MuJoCo has for it"""
    urdf_tag: ClassVar[str] = ""

    def moments(self) -> Moments:
        """Volume, centre of mass and gyration tensor. Raises ValueError for a shape without volume."""
        raise ValueError(f"mass_properties: {self!r:.80} has no volume; use a solid such as Box(1, 1, 1)")

    def bounding_radius(self) -> float:
        """The radius, m, of a sphere about the origin that contains the shape."""
        raise ValueError(f"bounding_radius: {self!r:.80} is unbounded; use a shape such as Box(1, 1, 1)")

    def size(self) -> tuple[float, float, float]:
        """The three numbers that describe the shape in compiled functions."""
        return NO_SIZE

    def triangles(self, segments: int = 24) -> Surface:
        """A surface for display: vertices (n, 3), m, and faces (m, 3), anticlockwise seen from outside. Round shapes have
        `segments` facets around."""
        raise NotImplementedError

    @property
    def has_surface(self) -> bool:
        """Whether collision detection treats the shape, or a part of it, as a surface of triangles."""
        return self.surface

    def to_dict(self) -> dict[str, Any]:
        """The shape as plain data; see `shape_to_dict`."""
        return {"type": type(self).__name__, **{key: _plain(getattr(self, key)) for key in self.keys}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Shape:
        """The shape from a dictionary without its type; see `shape_from_dict`."""
        values = values_of(cls.__name__, data, cls.keys)
        for key, rows in zip(cls.keys, values, strict=True):
            if cls.listed and (not isinstance(rows, list) or len(rows) > MAX_ROWS):
                raise ValueError(
                    f"{cls.__name__}: '{key}' must be a list of at most {MAX_ROWS} rows; got {type(rows).__name__}"
                )
        return cls.from_values(values)

    @classmethod
    def from_values(cls, values: list[Any]) -> Shape:
        """The shape from the values of its `keys`."""
        return cls(*values)

    def mjcf_geom(self) -> list[float] | None:
        """The sizes of a geom of `mjcf_type`; None if the shape is written as a mesh."""
        return None

    @classmethod
    def from_mjcf(cls, size: Any) -> Shape:
        """The shape from the sizes of a geom of `mjcf_type`."""
        raise NotImplementedError

    @classmethod
    def from_urdf(cls, attributes: Any) -> Shape:
        """The shape from an element `urdf_tag` with these attributes (`io.files.Attributes`)."""
        raise NotImplementedError

    def usd_prim(self) -> UsdPrim | None:
        """The USD geometry of the shape; None if it is written as a mesh."""
        return None


class Dimensions(Shape):
    """A shape whose fields are all lengths."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, positive(type(self).__name__, name, value, "m"))


# The registry ---------------------------------------------------------------------------------------------------------

SHAPES: dict[str, type[Shape]] = {}
"""The shapes by name, in the order of registration."""
_Class = TypeVar("_Class", bound=type[Shape])


def register(cls: _Class) -> _Class:
    """Make a shape known. A convex one without a number gets the next that is free.

    Raises ValueError for a name that is there already, for kernels in a file outside of this folder (machine code on disk
    is keyed by the files of the package), for kernels without `support`, `ray` or `distance`, and for more shapes than
    there are numbers.
    """
    name = cls.__name__
    if name in SHAPES:
        raise ValueError(f"two shapes are called {name}; rename one of them")
    if any(cls.kernels) and not cls.__module__.startswith(__package__):
        raise ValueError(f"{name}: compiled kernels know the shapes of {__package__} only; put its file in that folder")
    if not hasattr(cls, "kind") and any(cls.kernels):
        missing = [hook for hook in ("support", "ray", "distance") if getattr(cls.kernels, hook) is None]
        if missing:
            raise ValueError(f"{name}: its kernels lack {', '.join(missing)}; collision detection needs all of them")
        cls.kind = max([FIRST_FREE - 1, *(k for k in map(kind_of, SHAPES.values()) if k < HALF_SPACE)]) + 1
        if cls.kind >= HALF_SPACE:
            raise ValueError(
                f"{name}: there are {HALF_SPACE} convex shapes already; raise HALF_SPACE and MESH in shapes/base.py"
            )
    if not hasattr(cls, "keys"):
        cls.keys = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]
    SHAPES[name] = cls
    return cls


def kind_of(cls: type[Shape]) -> int:
    """The number of its kind; −1 for a compound."""
    return getattr(cls, "kind", -1)


# What shapes are written with -----------------------------------------------------------------------------------------


def bounding_radius(shape: Shape) -> float:
    """The radius, m, of a sphere about the origin of the shape's frame that contains the shape.

    It is the least one, but for a compound of parts that are not spheres.

    >>> from dalembert.scene.shapes import Capsule
    >>> bounding_radius(Capsule(0.5, 2.0))
    1.5
    """
    if not isinstance(shape, Shape):
        raise ValueError(f"bounding_radius: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
    return shape.bounding_radius()


def centered(volume: float, second: tuple[float, float, float]) -> Moments:
    """The moments of a solid centred at the origin whose mean squares of x, y and z are ``second``, m²."""
    x, y, z = second
    return Moments(volume, np.zeros(3), np.diag([y + z, z + x, x + y]))


def set_arrays(shape: Shape, **arrays: np.ndarray) -> None:
    """Set fields of a frozen shape to arrays that cannot be written to."""
    for name, array in arrays.items():
        array.flags.writeable = False
        object.__setattr__(shape, name, array)


# Shapes as plain dictionaries of numbers, strings and lists: what JSON holds, and nothing that runs --------------------

MAX_ROWS = 10_000_000
"""most points, vertices, faces or parts in one shape"""


def shape_to_dict(shape: Shape) -> dict[str, Any]:
    """The shape as a dictionary that ``json.dumps`` takes; every bit comes back with ``shape_from_dict``.

    >>> from dalembert import Sphere
    >>> shape_to_dict(Sphere(0.5))
    {'type': 'Sphere', 'radius': 0.5}
    """
    if not isinstance(shape, Shape):
        raise ValueError(f"shape_to_dict: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
    return shape.to_dict()


def shape_from_dict(data: dict[str, Any]) -> Shape:
    """The shape that ``shape_to_dict`` wrote, checked as if it were built by hand.

    Raises:
        ValueError: an unknown type, a key too many or too few, too many rows, or a value that the shape rejects.
    """
    name = data.get("type") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in SHAPES:
        raise ValueError(f"shape_from_dict: {data!r:.80} has no known type; 'type' is one of {', '.join(SHAPES)}")
    return SHAPES[name].from_dict({key: value for key, value in data.items() if key != "type"})


def values_of(owner: str, data: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """The values of the keys. Raises ValueError for a key too many or too few."""
    if set(data) != set(keys):
        raise ValueError(f"{owner}: its keys must be {', '.join(keys)}; got {', '.join(map(str, data))!s:.80}")
    return [data[key] for key in keys]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
