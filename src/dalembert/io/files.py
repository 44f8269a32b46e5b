"""Common parts of the readers of model files: XML, files that a model can refer to, warnings, the result, and
attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

import numpy as np

from ..scene.body import Body, World
from ..scene.checks import MOST_CHARACTERS
from ..scene.force import Force
from ..scene.joint import Joint, Link
from ..scene.scene import Scene

# XML ------------------------------------------------------------------------------------------------------------------
#
# A small tree whose elements know their line. A hostile file can do no more than be rejected: there are no document
# types, hence no entities that expand or fetch, no encodings that hide something, and bounds on size, nesting and number
# of elements.

MAX_BYTES = 50_000_000
MAX_DEPTH = 256
MAX_ELEMENTS = 1_000_000
MAX_ATTRIBUTE = 10_000_000  # characters: meshes may stand in one
ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "latin1")


@dataclass(eq=False, slots=True)
class Element:
    """One element of a file: its tag, attributes, children and text, and where it begins."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def first(self, tag: str) -> Element | None:
        """Its first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, *tags: str) -> Iterator[Element]:
        """Its children of these tags, in the order of the file."""
        return (child for child in self.children if child.tag in tags)

    def everything(self) -> Iterator[Element]:
        """The element and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def error(self, message: str) -> ValueError:
        """The error to raise, with file, line and element."""
        return ValueError(f"{self.file}:{self.line}: <{self.tag}>: {message}")


def read_xml(path: Path) -> Element:
    """The root element of a file of at most 50 MB. Raises ValueError naming file, line and the way out."""
    try:
        if not path.is_file():
            raise ValueError(f"{path}: there is no such file; check the path")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); check its name and permissions") from error
    return parse_xml(data, path)


def parse_xml(data: bytes, path: Path) -> Element:
    """The root element of a text; `path` is what messages call it. Raises ValueError."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path}: larger than {MAX_BYTES // 10**6} MB; keep meshes in files of their own")
    if b"\0" in data:
        raise ValueError(f"{path}: not UTF-8 text (it has zero bytes); save it as UTF-8")
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()  # blank lines before the declaration are common, and harmless
    builder = _Builder(path, data[: len(data) - len(text)].count(b"\n"))
    try:
        builder.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ValueError(
            f"{path}:{error.lineno + builder.skipped}: not well-formed XML ({expat.ErrorString(error.code)}); correct it"
        ) from None
    except (LookupError, UnicodeError) as error:
        raise ValueError(f"{path}:1: cannot be decoded ({error}); save it as UTF-8") from None
    assert builder.root is not None
    return builder.root


class _Builder:
    """Takes what the parser reports and makes elements of it."""

    def __init__(self, path: Path, skipped: int) -> None:
        self.path, self.skipped = path, skipped  # lines before what the parser sees
        self.root: Element | None = None
        self.count = 0
        self.open: list[Element] = []
        self.texts: list[list[str]] = []
        parser = self.parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype
        parser.ExternalEntityRefHandler = self._external
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    @property
    def _line(self) -> int:
        return self.parser.CurrentLineNumber + self.skipped

    def _refuse(self, message: str) -> ValueError:
        return ValueError(f"{self.path}:{self._line}: {message}")

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise self._refuse(f"encoding {encoding!r:.40} is not supported; save the file as UTF-8")

    def _doctype(self, *_: object) -> None:
        raise self._refuse("document types and entities are not supported; remove <!DOCTYPE …> and expand its entities")

    def _external(self, *_: object) -> int:
        raise self._refuse("external references are not supported; remove them")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self._refuse(f"more than {MAX_ELEMENTS} elements; split the model")
        if len(self.open) >= MAX_DEPTH:
            raise self._refuse(f"elements are nested more than {MAX_DEPTH} deep; flatten the model")
        for key, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE:
                raise self._refuse(
                    f"attribute {key!r:.40} is longer than {MAX_ATTRIBUTE} characters; use a file for it"
                )
        element = Element(tag, attributes, self.path, self._line)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _characters(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)

    def _end(self, tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop()).strip()


# Which files a model may refer to -------------------------------------------------------------------------------------
#
# A model reads from one folder and what lies below it: `root`, where the caller names one; else the package that the
# model lies in, the nearest folder above it with a package.xml; else the folder of the model. Symbolic links count as
# what they point at. `package://name/…` is the nearest folder above the model that is called so, or whose package.xml
# says so, or that contains a folder called so within the root; where the model has no package.xml, the folder found by
# its name is read from too. Nothing is fetched from a network.


class Unreadable(ValueError):
    """A file that a model refers to does not exist, or may not be read. `reason` is its message without file and line."""

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
            raise Unreadable(element, f"{reference!r:.200} is not a valid file name ({error}); correct it") from None
        if not allowed:
            raise Unreadable(
                element,
                f"{reference!r:.200} lies outside of {self.roots[0]}, the only folder that this model can read; move "
                "it there, or name a folder that contains both: load_model(…, root=folder)",
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
        raise ValueError("only files and package:// are supported")

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
    where = "no parent folder of the model is that package" if path is None else f"there is no file {path}"
    return Unreadable(
        element,
        f"{reference!r:.200} is missing ({where}); put it there, or load the model from its original folder",
    )


# Warnings, and what reading a model file returns ----------------------------------------------------------------------


@dataclass(frozen=True)
class ModelWarning:
    """A part of a model file that the scene lacks or approximates; `str()` is one line."""

    file: Path
    line: int
    element: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: <{self.element}>: {self.message}"


class FileFrame(NamedTuple):
    """A frame of the file: the body or link that carries it, and its pose in that body. The pose of a body's own frame
    is relative to the centre of mass."""

    body: Body | Link | World
    position: np.ndarray  # (3,) m
    orientation: tuple[float, float, float, float]  # (w, x, y, z), frame → body


@dataclass(frozen=True, eq=False)
class Actuator:
    """An actuator of the file: its motor, and the input that its control sets.

    The `sets` ("effort", "position" or "speed") of the motor is scale · control + offset, in units of the joint's
    coordinate, with the control clamped to `control_range` first.
    """

    name: str
    joint: Joint = field(repr=False)
    motor: Force = field(repr=False)
    gear: float
    sets: str
    scale: float
    offset: float
    control_range: tuple[float, float]


@dataclass(eq=False)
class ImportedModel:
    """A scene read from a model file, with the names and frames of the file.

    Attributes
    ----------
    scene : the `Scene`, at the zero pose of the file.
    path : the file. format : "URDF" or "MJCF".
    warnings : parts of the file that the scene lacks or approximates, with file and line.
    joints : names of the joints of the file, in its order, without free joints.
    frames : name of a body or link of the file → its `FileFrame`. sites : the same for MJCF's sites.
    keyframes : name → {"positions": {joint or free body: value}, "velocities": the same, "ctrl": {actuator: control}}.
        Values are coordinates of the scene, which are zero at the file's zero pose. Values of a ball joint are
        quaternions (w, x, y, z), and those of a free body the position and quaternion of its frame, as in the file.
    actuators : name → `Actuator`.
    timestep : s, of the file; None if the file has none.
    """

    scene: Scene
    path: Path
    format: str
    warnings: list[ModelWarning] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    frames: dict[str, FileFrame] = field(default_factory=dict)
    sites: dict[str, FileFrame] = field(default_factory=dict)
    keyframes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    actuators: dict[str, Actuator] = field(default_factory=dict)
    timestep: float | None = None

    def __repr__(self) -> str:
        scene = self.scene
        return (
            f"ImportedModel({self.path.name}: {len(scene.bodies)} bodies, {len(scene.links)} links without mass, "
            f"{len(self.joints)} joints, {len(self.actuators)} actuators, {len(self.warnings)} warnings)"
        )


class Warnings:
    """Collects warnings; equal warnings of several elements become one, with their number."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[Element, str]] = {}
        self._count: dict[str, int] = {}

    def add(self, element: Element, message: str, once: str | None = None) -> None:
        """once : what the warning is about, where one warning is enough for all elements."""
        key = f"{element.file}:{element.line}:{message}" if once is None else once
        self._first.setdefault(key, (element, message))
        self._count[key] = self._count.get(key, 0) + 1

    def at_most(self, element: Element, name: str, value: float, most: float) -> float:
        """The value or, with a warning, `most` where it is larger."""
        if value > most:
            self.add(element, f"{name} is {value:g}; {most:g} is used, the largest allowed value", f"large {name}")
        return min(value, most)

    def list(self) -> list[ModelWarning]:
        """In the order of the file."""
        found = [
            ModelWarning(element.file, element.line, element.tag, message + _more(self._count[key] - 1))
            for key, (element, message) in self._first.items()
        ]
        return sorted(found, key=lambda warning: (str(warning.file), warning.line))


def _more(others: int) -> str:
    return f" (and so for {others} more)" if others else ""


# Attributes of an element as numbers, vectors and words ---------------------------------------------------------------

LARGEST = 1e30  # beyond it is no length, mass or angle


class Attributes:
    """The attributes of an element over defaults. Each question raises ValueError with file, line and the value."""

    def __init__(self, element: Element, defaults: Mapping[str, str] | None = None) -> None:
        self.element = element
        self.values = {**(defaults or {}), **element.attributes}
        self.asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str | None = None) -> str:
        """The text of an attribute; required where there is no default."""
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.element.error(f"attribute {key!r} is missing; add it")
        return value

    def name(self) -> str | None:
        """Its name; None where it has none."""
        value = self.text("name", "")
        if len(value) > MOST_CHARACTERS:
            raise self.element.error(f"the name {value!r:.40} has more than {MOST_CHARACTERS} characters; shorten it")
        return value or None

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in choices:
            raise self.element.error(f"{key} is {value!r:.40}; give one of {', '.join(choices)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        return self.choice(key, ("true", "false", "True", "False", "1", "0"), "true" if default else "false") in (
            "true", "True", "1",
        )  # fmt: skip

    def number(self, key: str, default: float | None = None, least: float = -math.inf, infinite: bool = False) -> float:
        """One number, not below `least`; `infinite` ones only where asked for."""
        if key not in self.values and default is not None:
            return default
        found = self.vector(key, 1, infinite=infinite)
        if found[0] < least:
            raise self.element.error(f"{key} is {found[0]:g}; give {least:g} or more")
        return float(found[0])

    def integer(self, key: str, default: int) -> int:
        """A whole number."""
        value = self.number(key, default)
        if value != round(value):
            raise self.element.error(f"{key} is {value:g}; give a whole number")
        return round(value)

    def vector(
        self,
        key: str,
        least: int,
        most: int | None = None,
        default: tuple[float, ...] | None = None,
        infinite: bool = False,
    ) -> np.ndarray:
        """From `least` to `most` numbers (exactly `least` if `most` is not given)."""
        most = least if most is None else most
        if key not in self.values and default is not None:
            self.asked.add(key)
            return np.array(default, dtype=float)
        numbers = self.numbers(key, infinite)
        if not least <= len(numbers) <= most:
            wanted = f"{least}" if most == least else f"{least} to {most}"
            raise self.element.error(f"{key} has {len(numbers)} numbers, {self.values[key]!r:.60}; give {wanted}")
        return numbers

    def numbers(self, key: str, infinite: bool = False) -> np.ndarray:
        """As many numbers as there are."""
        return parse_numbers(self.element, key, self.text(key), infinite)

    def unasked(self) -> list[str]:
        """The attributes, also those from defaults, that no question was about."""
        return [key for key in self.values if key not in self.asked]


def parse_numbers(element: Element, what: str, text: str, infinite: bool = False) -> np.ndarray:
    """Numbers with white space between them. Raises ValueError naming what is none."""
    words = text.split()
    try:
        numbers = np.array([float(word) for word in words])
        clean = "_" not in text
    except ValueError:
        clean = False
    if not clean:
        wrong = next((word for word in words if not _is_number(word)), text)
        raise element.error(f"{what}: {wrong!r:.40} is not a number; correct it")
    bad = ~(np.abs(numbers) <= LARGEST)
    if infinite:
        bad &= ~np.isinf(numbers)
    if bad.any():
        raise element.error(f"{what}: {words[int(np.argmax(bad))]!r:.40} is not a finite number; correct it")
    return numbers


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word
