"""XML as a small tree whose elements know their line, read so that a hostile file can do no more than be refused.

There are no document types, hence no entities that expand or fetch, no encodings that hide something, and bounds on size,
nesting and number of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

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
        """What to raise: it says file, line and element."""
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
        raise ValueError(f"{path}: not a text in UTF-8 (it has zero bytes); save it as UTF-8")
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
            raise self._refuse(f"encoding {encoding!r:.40} is not read; save the file as UTF-8")

    def _doctype(self, *_: object) -> None:
        raise self._refuse(
            "document types and entities are not read; remove <!DOCTYPE …> and write out what it defines"
        )

    def _external(self, *_: object) -> int:
        raise self._refuse("external references are not read; remove them")

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
