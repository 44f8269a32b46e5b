"""The functions of this package by the names of `math`, for generated code."""

from .arctangent import acos, asin, atan, atan2
from .circular import cos, sin, sin_cos, tan
from .exponential import cosh, exp, expm1, sinh, tanh
from .hypotenuse import hypot
from .logarithm import acosh, asinh, atanh, log
from .power import pow

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1", "hypot", "log", "pow",
    "sin", "sin_cos", "sinh", "tan", "tanh",
]  # fmt: skip
