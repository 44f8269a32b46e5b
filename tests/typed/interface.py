"""What belongs to the public interface: the names of `dalembert.__all__`, and all classes that their annotations name."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import dalembert

ROOT = Path(dalembert.__file__).parent
FOLDERS = ("dalembert.scene.joints", "dalembert.scene.forces", "dalembert.scene.shapes")  # named in docs/extending.md


@cache
def names_of(module: str) -> dict[str, tuple[str, str]]:
    """Name in a module → (module that defines it, name there), of what is imported for type checkers too."""
    path = ROOT.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    package = module.split(".") if path.is_dir() else module.split(".")[:-1]
    found = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            found.setdefault(node.name, (module, node.name))
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            for alias in node.names:
                found[alias.asname or alias.name] = (base, alias.name)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, (module, node.targets[0].id))
    return found


def defined(module: str, name: str) -> tuple[str, str]:
    """Where a name is defined that a module has."""
    home = names_of(module).get(name, (module, name))
    return home if home == (module, name) else defined(*home)


def named_in(annotation: object) -> set[str]:
    """The names in an annotation, as text or as a type."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "None")
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def annotations_of(thing: type) -> list[object]:
    """The annotations of a class: of its fields, and of its public methods and properties."""
    found = [value for name, value in vars(thing).get("__annotations__", {}).items() if name[0] != "_"]
    for name, value in vars(thing).items():
        for part in (getattr(value, "__func__", value), *(getattr(value, f, None) for f in ("fget", "fset", "func"))):
            if (name[0] != "_" or name == "__init__") and inspect.isfunction(part):
                found += part.__annotations__.values()
    return found


def interface() -> set[str]:
    """Full names of the functions and classes of the public interface."""
    waiting = [getattr(dalembert, name) for name in dalembert.__all__]
    found: set[str] = set()
    while waiting:
        thing = waiting.pop()
        module = getattr(thing, "__module__", "")
        full = f"{module}.{getattr(thing, '__qualname__', '')}"
        if not module.startswith("dalembert.") or full in found or not callable(thing):
            continue
        found.add(full)
        bases = thing.__mro__ if inspect.isclass(thing) else ()
        owners = [each for each in bases if each.__module__.startswith("dalembert.")]
        waiting += owners[1:]
        texts = annotations_of(thing) if owners else getattr(thing, "__annotations__", {}).values()
        for name in sorted({name for text in texts for name in named_in(text)}):
            home, own = defined(module, name)
            if home.startswith("dalembert."):
                waiting.append(getattr(importlib.import_module(home), own, None))
    return found
