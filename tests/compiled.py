"""Entry points of tests: functions of any arguments that Numba knows, compiled when they are called, and kept on disk."""

from pathlib import Path

from dalembert import jit


def compiled(function):
    """The function, compiled as kernels are; as it is where nothing is compiled."""
    if jit.DISABLED:
        return function
    import numba

    from dalembert.kernel_cache import KernelCache

    dispatcher = numba.njit(**jit.OPTIONS)(function)
    dispatcher._cache = KernelCache(function, jit.folder_of(Path(function.__code__.co_filename)))
    return dispatcher
