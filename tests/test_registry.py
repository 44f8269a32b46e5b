"""Registries: what is registered is found by name, names are taken once, unknown ones are refused with a list."""

import pytest

from dalembert.contact.solvers import SOLVERS
from dalembert.core.file_format import READERS, WRITERS, add_writer
from dalembert.core.registry import Registry


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
