"""What `jit` asks of Numba; imported when something is compiled, or loaded from the cache, and not before."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target

from . import light
from .kernel_cache import KernelCache

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise RuntimeError(
        "numba.config.DISABLE_JIT was set after dalembert was imported; set the environment variable NUMBA_DISABLE_JIT=1 "
        "before that to run everything in plain Python"
    )


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What Numba compiles of a function that is called from compiled code only."""
    found = numba.njit(**options)(function)
    light.use(found)
    return found


def type_of(intrinsic: Any) -> Any:
    """The type of a function that `numba.extending.intrinsic` has just registered."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(intrinsic)


def c_function(function: Callable[..., Any], signature: str, options: dict[str, Any], folder: str) -> CFunc:
    """A C function that is kept in a folder of the cache."""
    found = CFunc(function, sigutils.normalize_signature(signature), {}, options)
    found._cache = KernelCache(function, folder)
    return found
