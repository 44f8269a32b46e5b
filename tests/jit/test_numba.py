"""What `compiler` leans on in Numba, for the versions that pyproject.toml allows: each part is there and works as assumed."""

import ctypes
import gc
import re
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import codegen, compiler_machinery, dispatcher, errors, types

from dalembert.core import jit
from dalembert.core.jit import CFunction, njit

if jit.DISABLED:
    pytest.skip("nothing is compiled", allow_module_level=True)

from dalembert.core import compiler
from dalembert.core import object_cache as objects
from dalembert.core.status import ENDS_RUN

BINARY = "float64(float64, float64)"


@njit
def product(a, b):
    return a * b


@njit
def cube(a):
    return product(a, product(a, a))


def sum_of_cubes(a, b):
    return cube(a) + cube(b)


def both_kinds_of_number(a, b):
    """The same function of a constant, a variable that begins as a constant, and another."""
    found = 0.0
    for _ in range(3):
        found = product(found, 2.0) + product(a, b)
    return product(1.0, found)


def raises_below_zero(a, b):
    if a < 0.0:
        raise ValueError("below zero")
    return a + b


def counts_below_zero(a, b):
    if a < 0.0:
        raise ValueError("below zero")
    return 1


def nonsense(a, b):
    return a.colour + b


def call(function, signature, *arguments):
    """What a function returns that is compiled now, and kept nowhere."""
    made = compiler.compile_for_host(function, signature, f"test_{function.__name__}", jit.INNER)
    result, *kinds = [{"int64": ctypes.c_int64, "float64": ctypes.c_double}[k] for k in re.findall(r"\w+", signature)]
    return ctypes.CFUNCTYPE(result, *kinds)(objects.load(made.code, f"test_{function.__name__}"))(*arguments)


def intermediate(function):
    return compiler.intermediate_code(function, BINARY, f"test_{function.__name__}", jit.INNER)


def names(module, defined=True):
    return [found.name for found in module.functions if found.is_declaration != defined]


def test_the_version_of_numba_is_one_that_is_allowed():
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text("utf-8"))["project"]
    (allowed,) = [line for line in project["dependencies"] if line.startswith("numba")]
    low, high = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", allowed).groups()
    assert int(low) <= int(numba.__version__.split(".")[1]) < int(high)


def test_the_private_names_are_there():
    library = codegen.JITCodeLibrary
    assert all(
        hasattr(library, name) for name in ("add_ir_module", "finalize", "_get_module_for_linking", "_ensure_finalized")
    )
    generator = compiler.cpu_target.target_context.codegen()
    made = compiler.InnerLibrary(generator, "test")
    assert made._linking_libraries == [] and made._finalized is False
    assert callable(generator._pass_builder) and generator._tm.triple and generator._data_layout
    assert {"_compiler", "_compiling_counter"} <= set(vars(numba.njit(lambda: 0)))
    assert callable(dispatcher._FunctionCompiler.compile) and callable(types.BaseFunction.get_call_type)
    assert all(compiler_machinery._pass_registry.is_registered(kind) for kind in compiler.PASSES)


def test_inner_functions_are_linked_once_with_all_that_they_call():
    found = [name for name in names(intermediate(sum_of_cubes)) if "product" in name or "cube" in name]
    assert len(found) == 4 and len(set(found)) == 4  # product, cube, the function itself and the C function
    assert call(sum_of_cubes, BINARY, 2.0, 3.0) == 35.0


def test_only_the_c_function_is_left_when_the_others_are_part_of_it():
    module = intermediate(sum_of_cubes)
    compiler.optimise(module, compiler.cpu_target.target_context.codegen()._tm, {"test_sum_of_cubes"})
    assert "test_sum_of_cubes" in names(module)
    assert not [name for name in names(module) if "product" in name or ("cube" in name and "sum" not in name)]
    exported = [f.name for f in module.functions if not f.is_declaration and f.linkage.name == "external"]
    assert exported == ["test_sum_of_cubes"]


def test_nothing_of_python_is_needed_where_kernels_raise():
    module = intermediate(raises_below_zero)
    assert not [name for name in names(module, defined=False) if name.startswith(("Py", "_Py", "NRT", "numba_"))]
    assert call(raises_below_zero, BINARY, 1.0, 2.0) == 3.0
    assert np.isnan(call(raises_below_zero, BINARY, -1.0, 2.0))
    assert call(counts_below_zero, "int64(float64, float64)", -1.0, 2.0) == ENDS_RUN


def test_a_function_is_compiled_for_the_types_of_constants_not_for_each_constant():
    inner = product.dispatcher
    inner.overloads.clear()
    assert call(both_kinds_of_number, BINARY, 2.0, 3.0) == 42.0
    assert list(inner.overloads) == [(types.float64, types.float64)]


def test_the_types_of_an_operation_are_found_once(monkeypatch):
    asked = []
    full = compiler._full_call_type

    def count(function, context, args, kws):
        asked.append((function, args))
        return full(function, context, args, kws)

    monkeypatch.setattr(compiler, "_full_call_type", count)
    monkeypatch.setattr(compiler, "_signatures", {})
    intermediate(both_kinds_of_number)
    builtin = [key for key in asked if isinstance(key[0], types.Function)]
    assert builtin and len(builtin) == len(set(builtin))


def test_functions_of_the_users_are_compiled_as_ever():
    @numba.njit
    def expression(a, b):
        return (a + 2.0 * b).sum()

    assert expression(np.ones(3), np.ones(3)) == 9.0
    assert type(numba.njit(lambda a: a)._compiler.pipeline_class) is not compiler.Compiler


def test_what_cannot_be_compiled_says_so_and_leaves_the_collector_on():
    assert gc.isenabled()
    with pytest.raises(errors.TypingError, match="colour"):
        intermediate(nonsense)
    assert gc.isenabled() and compiler.Compiler.running == 0


def test_a_function_of_python_objects_is_refused():
    holder = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda a: a)

    def uses_a_callback(a, b):
        return holder(a) + b

    with pytest.raises(TypeError, match="of this process"):
        intermediate(uses_a_callback)


def test_a_kept_object_says_what_it_was_made_of(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    function = CFunction(sum_of_cubes, BINARY)
    made = function.object_file()
    assert made.functions == 4 and 1000 < made.intermediate < 20000 and made.seconds > 0.0
    assert function.is_cached and CFunction(sum_of_cubes, BINARY).object_file() == made
