"""The folder of a compiled kernel is named by a hash of all that the kernel is made of."""

import ast
from pathlib import Path

import pytest

from dalembert.core import cache_folders as source_hash
from dalembert.core.cache_folders import ROOT, compiled_files, imported, sources


def imports_of(path):
    """The files that Python imports with the module at `path`, which does so when it is loaded itself."""
    found = set()
    for node in ast.parse(Path(path).read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = Path(path).parents[node.level - 1].joinpath(*filter(None, (node.module or "").split(".")))
            found |= {str(folder.with_suffix(".py")), *(str(folder / f"{alias.name}.py") for alias in node.names)}
    return found


def test_every_file_is_hashed_with_the_compiled_files_that_it_imports():
    files = compiled_files()
    assert len(files) > 100
    for path in files:
        assert imported(path) >= imports_of(path) & files


def test_an_edit_changes_the_hash_of_the_files_that_import_it_and_of_no_others(monkeypatch):
    edited = ROOT / "contact" / "cone.py"
    users = [path for path in compiled_files() if edited in sources(Path(path))]
    assert 3 < len(users) < 150
    before = {path: source_hash.source_hash(Path(path)) for path in compiled_files()}
    digest = source_hash._digest
    monkeypatch.setattr(source_hash, "_digest", lambda path: b"edited" if path == str(edited) else digest(path))
    source_hash.source_hash.cache_clear()
    after = {path: source_hash.source_hash(Path(path)) for path in compiled_files()}
    source_hash.source_hash.cache_clear()
    assert sorted(path for path in before if before[path] != after[path]) == sorted(users)


def test_kernels_of_a_user_s_file_are_made_of_it_and_of_the_whole_package(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from dalembert.core.math3 import cross\n")
    assert sources(path) == {path, *map(Path, compiled_files())}


@pytest.mark.parametrize("name", source_hash.APART)
def test_what_changes_no_kernel_is_no_part_of_them(name):
    assert all(ROOT / name not in sources(Path(path)) for path in compiled_files())
