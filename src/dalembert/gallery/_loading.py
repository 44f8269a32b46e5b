"""Loading of scenes: from the gallery, Python files, model files and functions."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from ..core.file_format import READERS, USD_SUFFIXES, suffixes_of
from ..core.renamed import current_names
from ..scene.scene import Scene
from ..simulation.provenance import describe, digest, function_hash, plain_items


@dataclass(frozen=True)
class Source:
    """Something that makes scenes, with the settings to run them by.

    names: what else the module or file defines. recipe: the function and arguments that make this source in another process.
    """

    kind: str  # "gallery", "file", "model" or "function"
    name: str
    build: Callable[..., Any]
    sha256: str
    recipe: tuple[Callable[..., Source], tuple[Any, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)
    floating: bool = False  # of a model: whether its root link was let free

    def __reduce__(self) -> Any:
        return self.recipe

    def takes(self, name: str) -> bool:
        """Whether build() has a parameter of that name."""
        return name in self.parameters() or self.takes_any()

    def takes_any(self) -> bool:
        """Whether build() takes any keyword."""
        return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(self.build).parameters.values())

    def parameters(self) -> dict[str, Any]:
        """The parameters of build() with their defaults."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        found = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in found if p.kind in named}

    def origin(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Where a scene of these parameters comes from, as plain data; defaults are among its parameters."""
        known = {key: value for key, value in self.parameters().items() if value is not inspect.Parameter.empty}
        defaults, _ = plain_items({key: value for key, value in known.items() if key not in parameters})
        given, others = plain_items(parameters)
        return {
            "kind": self.kind, "name": self.name, "sha256": self.sha256, "parameters": defaults | given,
            "parameters_not_kept": others, "floating": self.floating,
        }  # fmt: skip

    def scene(self, **parameters: Any) -> Any:
        """Build the scene. Raises ValueError that names the source, the line and the reason."""
        try:
            built = self.build(**parameters)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error
        except (Exception, SystemExit) as error:
            raise ValueError(f"{self.name}: build() failed: {reason(error, self.name)}") from error
        scene = getattr(built, "scene", built)
        if not isinstance(scene, Scene):
            raise ValueError(f"{self.name}: build() returned {built!r:.80}, not a Scene")
        scene.origin = self.origin(parameters)
        return built


def reason(error: BaseException, file: str) -> str:
    """What went wrong, in a line, and in which line of a file, if it was there."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}".rstrip(": ")


def find(name: str, floating: bool = False, root: str | None = None) -> Source:
    """The source of that name: of the gallery, a model file, or a Python file, which is run. root : folder that a model may
    read from. Raises ValueError."""
    from .. import gallery

    if name in gallery.names():
        module = gallery.load(name)
        text = Path(str(vars(module)["__file__"])).read_bytes()
        return Source("gallery", name, module.build, digest(text), (find, (name,)), module.SETTINGS, vars(module))
    path = Path(name)
    if path.suffix != ".py":
        models = {suffix: reader for suffix, reader in READERS.items() if reader.model}
        if path.suffix in models:
            return _find_model(path, floating, root)
        raise ValueError(
            f"no scene {name!r}. {gallery.nearest(name)}Give a name that `dalembert list` prints, a .py file with "
            f"build(), or a model: {suffixes_of(models.items())}"
        )
    if not path.is_file():
        raise ValueError(f"no file {name!r}")
    return from_text(name, path.read_bytes())


def from_text(name: str, text: bytes) -> Source:
    """The source that a Python file with that text is; the text is run. Raises ValueError."""
    sha256 = digest(text)
    module = ModuleType(f"scene_{sha256[:16]}")
    module.__file__ = name
    sys.modules[module.__name__] = module  # while it runs: dataclasses look there
    try:
        exec(compile(text, name, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise ValueError(f"{name}: the file failed: {reason(error, name)}") from error
    finally:
        del sys.modules[module.__name__]
    build = vars(module).get("build")
    if not callable(build):
        raise ValueError(f"{name}: define a function build() that returns a Scene")
    settings = current_names(vars(module).get("SETTINGS", {}))
    return Source("file", name, build, sha256, (from_text, (name, text)), settings, vars(module))


def from_function(build: Callable[..., Any]) -> Source:
    """The source that a function of this session is."""
    name = getattr(build, "__qualname__", None) or str(describe(build))
    return Source("function", name, build, function_hash(build), (from_function, (build,)))


def load(
    name: str, floating: bool, parameters: Mapping[str, Any] = MappingProxyType({}), root: str | Path | None = None
) -> tuple[Any, dict[str, Any]]:
    """(scene, settings) of a gallery name, of a model file, or of a Python file, which is run; parameters: of build()."""
    source = find(name, floating, None if root is None else str(root))
    for word in parameters:
        if not source.takes(word):
            raise ValueError(
                f"{name} has no parameter {word!r}; build() takes {', '.join(source.parameters()) or 'none'}"
            )
    return source.scene(**parameters), dict(source.settings)


def read_model(path: Path, floating: bool, root: str | Path | None = None) -> Any:
    """The model of a file, by its suffix; one that is no model's is taken for URDF or MJCF. root : the folder that it may
    read from. Raises ValueError."""
    suffix = path.suffix.lower()
    if root is not None:
        from ..io.load import load_model

        if suffix in USD_SUFFIXES:
            raise ValueError(f"{path}: --root is for URDF and MJCF files; leave it out for a USD file")
        return load_model(path, floating=floating or None, root=root)
    known = suffix in READERS and READERS[suffix].model
    return READERS[suffix if known else ".xml"].read(path, floating)


def _find_model(path: Path, floating: bool, root: str | None) -> Source:
    """The source that a model file is; its warnings are printed."""
    model = read_model(path, floating, root)
    for warning in model.warnings:
        print(f"dalembert: warning: {warning}", file=sys.stderr)
    settings: dict[str, Any] = {"coordinates": "joint"}
    if model.scene.limited_forces() or model.scene.touching():
        settings |= {"method": "time_stepping"} | ({"dt": model.timestep} if model.timestep else {})
    recipe = (find, (str(path), floating, root))
    return Source(
        "model", str(path), lambda: model.scene, digest(path.read_bytes()), recipe, settings, floating=floating
    )
