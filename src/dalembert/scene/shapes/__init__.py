"""The shapes of bodies and obstacles, one file each, lengths in metres.

A shape is a plain value: it has no mass, position or colour. `mass.mass_properties` gives its inertia,
`shape_to_dict` its JSON form, and `shape.triangles()` a surface for display. A new shape is one more file, and
one more line here; see docs/extending.md.
"""

from .base import SHAPES, Shape, bounding_radius, shape_from_dict, shape_to_dict
from .box import Box
from .capsule import Capsule
from .compound import Compound, Part
from .cone import Cone
from .convex_hull import ConvexHull
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .mesh import Mesh
from .sphere import Sphere
from .surfaces import HalfSpace, HeightField, TriangleMesh

__all__ = [
    "SHAPES", "Box", "Capsule", "Compound", "Cone", "ConvexHull", "Cylinder", "Ellipsoid", "HalfSpace", "HeightField",
    "Mesh", "Part", "Shape", "Sphere", "TriangleMesh", "bounding_radius", "shape_from_dict", "shape_to_dict",
]  # fmt: skip
