"""Compiled functions of all convex shapes: each calls that of the shape whose kind is given.

They are generated from the registry when this module is imported; see `by_kind`. `Kernels` says what each computes.
"""

from typing import Any

from ...core.jit import inlined
from ...core.math3 import dot
from ...core.registry import by_kind
from . import SHAPES
from .base import FIRST_FREE, Shape

CONVEX = {cls.kind: cls for cls in SHAPES.values() if any(cls.kernels)}
"""The shapes that have compiled functions, by kind."""
CURVED = sum(1 << kind for kind, cls in CONVEX.items() if cls.curved)
"""The bit of each kind whose core has infinitely many corners."""
GROWN = sum(1 << kind for kind, cls in CONVEX.items() if cls.grown)
"""The bit of each kind whose core is grown by the first number of its size."""


def hooks(name: str) -> dict[int, Any]:
    """The functions of this name, by kind."""
    found = {kind: getattr(cls.kernels, name) for kind, cls in CONVEX.items()}
    return {kind: function for kind, function in found.items() if function is not None}


def extent_by_support(cls: type[Shape]) -> Any:
    """`Kernels.extent` made of `Kernels.support`, by two calls."""
    support, grown = cls.kernels.support, float(cls.grown)

    @inlined
    def extent(size, u):
        """u · support(u) and −u · support(−u), each grown by the radius of the shape."""
        back = (-u[0], -u[1], -u[2])
        return dot(u, support(size, u)) + grown * size[0], dot(back, support(size, back)) + grown * size[0]

    return extent


ORIGIN = "(0.0, 0.0, 0.0)"
_derived = {kind: extent_by_support(cls) for kind, cls in CONVEX.items() if cls.kernels.extent is None}
_faces = hooks("face")
_other_faces = {kind: function for kind, function in _faces.items() if kind >= FIRST_FREE}


def _by_kind(name: str, arguments: str, functions: dict[int, Any], otherwise: str) -> Any:
    return by_kind(__name__, arguments, functions, otherwise, name=name)


shape_support = _by_kind("shape_support", "size, u", hooks("support"), ORIGIN)
shape_extent = _by_kind("shape_extent", "size, u", {**hooks("extent"), **_derived}, "(0.0, 0.0)")
shape_ray = _by_kind("shape_ray", "size, o, d", hooks("ray"), f"(inf, -inf, {ORIGIN})")
shape_distance = _by_kind("shape_distance", "size, p", hooks("distance"), f"(inf, {ORIGIN})")
shape_curvature = _by_kind("shape_curvature", "size, p, u", hooks("curvature"), "(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)")
shape_flat_normal = _by_kind("shape_flat_normal", "size, u", hooks("flat_normal"), ORIGIN)
shape_face = _by_kind("shape_face", "size, u, x, axes, scratch, at", _faces, "0")
# The same of the shapes without contact functions of their own.
other_face = _by_kind("other_face", "size, u, x, axes, scratch, at", _other_faces, "0")
