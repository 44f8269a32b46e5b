"""How many files one has to read to follow a step of contact."""

import ast
from pathlib import Path

import dalembert

FOLDER = Path(dalembert.__file__).parent / "contact"
BY_POINTER = {"limits"}  # what a step calls through a C pointer; collision detection is in another folder


def imported(module):
    """The modules of the folder that a module imports."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    return {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
    }


def test_a_step_of_contact_is_read_in_twenty_files():
    files, queue = {"step"}, ["step"]
    while queue:
        for module in imported(queue.pop()) - files:
            files.add(module)
            queue.append(module)
    assert not files & BY_POINTER  # compiled only for scenes that need it
    assert len(files | BY_POINTER | {"collide.detect"}) <= 20, sorted(files)
