"""Registries: what is registered is found by name, names are taken once, unknown ones are refused with a list."""

import math

import pytest

from dalembert.contact.solvers import SOLVERS
from dalembert.core.file_format import READERS, WRITERS, add_writer
from dalembert.core.jit import DISABLED, njit
from dalembert.core.registry import Registry, by_kind


def test_the_files_of_a_folder_are_imported_when_the_registry_is_first_read():
    assert set(SOLVERS) >= {"gauss_seidel", "interior_point"}
    assert {".urdf", ".xml", ".usda", ".nc"} <= set(READERS) and {".xml", ".glb", ".png"} <= set(WRITERS)


def test_unknown_names_are_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"unknown solver 'magic'; the solvers are gauss_seidel, interior_point"):
        SOLVERS["magic"]
    assert "magic" not in SOLVERS and SOLVERS.get("magic") is None


def test_a_name_is_taken_once():
    registry = Registry[int]("number")
    registry.add("one", 1)
    with pytest.raises(ValueError, match="two numbers are called 'one'; rename one of them"):
        registry.add("one", 2)
    assert dict(registry) == {"one": 1}
    with pytest.raises(ValueError, match=r"two formats are called '\.glb'"):
        add_writer("another glTF", (".glb",), lambda source, path: [])


def test_dispatch_calls_the_function_of_a_kind():
    """Kinds may be negative, as those of laws of forces that a file adds."""
    choose = by_kind(
        __name__, "x, y", {-1: njit(lambda x, y: x - y), 7: njit(lambda x: -x)}, "(inf, -inf)[0]",
        {-1: "x, y", 7: "x"},
    )  # fmt: skip
    plain = choose if DISABLED else choose.py_func
    names = plain.__globals__
    if not DISABLED:
        names.update({name: thing.py_func for name, thing in names.items() if name.startswith("kind_")})
    assert plain(-1, 3.0, 1.0) == 2.0 and plain(7, 3.0, 1.0) == -3.0 and plain(0, 3.0, 1.0) == math.inf
