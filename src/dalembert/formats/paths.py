"""Which files a model may refer to.

A model reads from one folder and what lies below it: `root`, where the caller names one; else the package that the model
lies in, the nearest folder above it with a package.xml; else the folder of the model. Symbolic links count as what they
point at. `package://name/…` is the nearest folder above the model that is called so, or whose package.xml says so, or that
holds a folder called so within the root; where the model has no package.xml, the folder found by its name is read from too.
Nothing is fetched from a network.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from urllib.parse import unquote

from .xml import Element, read_xml


class Unreadable(ValueError):
    """A file that a model refers to does not exist, or may not be read. `reason` is its message without the place."""

    def __init__(self, element: Element, reason: str) -> None:
        super().__init__(str(element.error(reason)))
        self.reason = reason


class Folder:
    """What one model may read."""

    def __init__(self, model: Path, root: str | PathLike[str] | None = None) -> None:
        self.home = model.parent
        self._packages: dict[str, Path] = {}
        self.given = root is not None
        if root is not None:
            self.roots = [Path(root).resolve()]
            if not self.roots[0].is_dir():
                raise ValueError(f"root '{root}': there is no such folder; name the folder that holds the meshes")
            if not model.is_relative_to(self.roots[0]):
                raise ValueError(f"root '{root}': {model} does not lie in it; name a folder above the model")
        else:
            packages = (folder for folder in model.parents if (folder / "package.xml").is_file())
            self.roots = [next(packages, self.home)]

    def find(self, element: Element, reference: str, base: Path | None = None) -> Path:
        """The file that a reference means; relative ones start at `base`, or at the model.

        Raises Unreadable where there is none, or where it may not be read.
        """
        try:
            path = self._locate(element, reference, base or self.home).resolve()
            allowed = any(path.is_relative_to(root) for root in self.roots)
            exists = allowed and path.is_file()
        except (OSError, RuntimeError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(element, f"{reference!r:.200} is no usable file name ({error}); correct it") from None
        if not allowed:
            raise Unreadable(
                element,
                f"{reference!r:.200} lies outside of {self.roots[0]}, all that this model may read; move it there, or name a "
                "folder that holds both: load_model(…, root=folder)",
            )
        if not exists:
            raise _missing(element, reference, path)
        return path

    def _locate(self, element: Element, reference: str, base: Path) -> Path:
        scheme, colon, rest = reference.partition("://")
        if not colon:
            return base / reference
        if scheme == "file":
            return Path(unquote(rest))
        if scheme in ("package", "model"):
            name, _, inside = rest.lstrip("/").partition("/")
            if name not in self._packages:
                self._packages[name] = self._package(element, reference, name)
            return self._packages[name] / inside
        raise ValueError("only files and package:// are read")

    def _package(self, element: Element, reference: str, name: str) -> Path:
        """The folder of a package."""
        if name in ("", ".", ".."):
            raise ValueError("it names no package")
        for folder in self.home.resolve().joinpath("model").parents:
            inside = any(folder.is_relative_to(root) for root in self.roots)
            if folder.name == name or _package_name(folder) == name:
                if not inside and not self.given and not (self.roots[0] / "package.xml").is_file():
                    self.roots.append(folder)
                return folder
            if inside and (folder / name).is_dir():
                return folder / name
        raise _missing(element, reference, None)


def _package_name(folder: Path) -> str | None:
    """What a package.xml in the folder calls its package."""
    manifest = folder / "package.xml"
    try:
        found = read_xml(manifest).first("name") if manifest.is_file() else None
    except ValueError:
        return None
    return found.text if found is not None else None


def _missing(element: Element, reference: str, path: Path | None) -> Unreadable:
    where = "no folder above the model is that package" if path is None else f"there is no file {path}"
    return Unreadable(
        element,
        f"{reference!r:.200} is missing ({where}); put it there, or load the model from the folder that it came in",
    )
