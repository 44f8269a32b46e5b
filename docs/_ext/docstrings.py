"""Docstrings as this package writes them, brought to reStructuredText: entries "name : text", sections, lists, examples.

Fields of records (dataclasses, named tuples) are told by the comments beside them.
"""

import inspect
import re
from importlib import import_module
from typing import Any

from sphinx.application import Sphinx

PACKAGE = "dalembert"
ENTRY = re.compile(r"([A-Za-z_][\w, *]{0,60}?) : (?=\S)(.*)")  # name, name : text
IN_SECTION = re.compile(ENTRY.pattern.replace(" : ", " ?: "))  # name: text as well
SECTION = re.compile(r"(Args|Raises|Returns|Attributes):$")
FIELD = re.compile(r"^    ([a-z]\w*): [^#\n]*?(?:# (.*))?$", re.M)
UNDERLINED = re.compile(r"-{3,}$")


def inline(text: str, owner: str) -> str:
    """A sentence with what reStructuredText would read as markup escaped; names in backticks become links or code."""
    parts = re.split(r"(``?[^`]+``?)", text)
    return "".join(code(part.strip("`"), owner) if part.startswith("`") else escaped(part) for part in parts)


def escaped(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)


def code(text: str, owner: str) -> str:
    """A link where the text is a public name, or that of a member of the owner's class; else code."""
    parents = [PACKAGE, owner, owner.rpartition(".")[0]]
    names = [f"{parent}.{text}" for parent in parents if parent.startswith(PACKAGE)]
    for name in [*names, text] if text.startswith(PACKAGE) else names:
        if public(name):
            return f":py:obj:`{text} <{name}>`"
    return f"\\ ``{text}``\\ "


def public(name: str) -> bool:
    """Whether package.Name or package.Name.member is on a page of the reference."""
    words = name.split(".")[1:]
    item: Any = import_module(PACKAGE)
    if not words or len(words) > 2 or words[0] not in item.__all__ or any(word.startswith("_") for word in words):
        return False
    for word in words:
        item = getattr(item, word, None)
    return item is not None


def blocks(lines: list[str]) -> list[list[str]]:
    """Lines that stand together: those between empty lines, and sections with their underline."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def converted(lines: list[str], owner: str) -> list[str]:
    """The docstring as reStructuredText."""
    out: list[str] = []
    for block in blocks(lines):
        if block[0].startswith(">>>"):
            out += [*block, ""]
            continue
        if len(block) > 1 and UNDERLINED.match(block[1].strip()):
            out += [f"**{block[0].strip()}**", ""]
            block = block[2:]
        elif SECTION.match(block[0].strip()):
            out += [f"**{'Parameters' if block[0].startswith('Args') else block[0].strip(' :')}**", ""]
            out += prose([line[4:] for line in block[1:]], owner, IN_SECTION)
            continue
        elif all(line.startswith("    ") for line in block):
            out += ["::", "", *block, ""]
            continue
        out += prose(block, owner)
    return out


def prose(block: list[str], owner: str, pattern: re.Pattern[str] = ENTRY) -> list[str]:
    """Paragraphs, entries and items of a block; a line may hold several entries, apart by full stops."""
    block = [part for line in block for part in re.split(r"(?<=[.;]) (?=[a-z_]+(?:, [a-z_]+)* : )", line)]
    out: list[str] = []
    kind, text = "", ""

    def close() -> None:
        if text:
            body = inline(text, owner)
            if kind == "item":
                out.extend([f"- {body}", ""])
            elif kind:
                out.extend([f"``{kind}``", f"   {body}", ""])
            else:
                out.extend([body, ""])

    for line in block:
        entry = pattern.match(line)
        if line.startswith("- "):
            close()
            kind, text = "item", line[2:]
        elif entry and is_entry(entry):
            close()
            kind, text = entry[1], entry[2]
        elif kind and not line.startswith(" ") and re.match(r"Raises|Methods raise", line):
            close()
            kind, text = "", line
        else:
            text = f"{text} {line.strip()}".strip()
    close()
    return out


def is_entry(entry: re.Match[str]) -> bool:
    """Names, apart by commas; a sentence that has a colon is none."""
    return all(re.fullmatch(r"\*{0,2}\w+", name.strip()) for name in entry[1].split(","))


def fields(item: Any, lines: list[str]) -> list[str]:
    """Entries for the fields of a record that its docstring does not tell."""
    if not inspect.isclass(item) or not (hasattr(item, "_fields") or hasattr(item, "__dataclass_fields__")):
        return []
    names = getattr(item, "_fields", None) or tuple(item.__dataclass_fields__)
    told = " ".join(lines)
    found = [(n, c) for n, c in FIELD.findall(inspect.getsource(item)) if n in names and c and f"{n} :" not in told]
    return ["", *(f"{name} : {comment}" for name, comment in found)] if found else []


def process(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines[:] = converted([*lines, *fields(item, lines)], name)


def skip(app: Sphinx, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:
    """The fields of a named tuple, which have no docstrings of their own."""
    return True if type(item).__name__ == "_tuplegetter" else None


def shorten(app: Sphinx, what: str, name: str, item: Any, options: Any, arguments: str, result: str) -> tuple[Any, Any]:
    """Names of types, where Sphinx has the object that stands for a name."""
    names = [text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (arguments, result)]
    names = [text and text.replace("ndarray[tuple[Any, ...], dtype[float64]]", "ndarray") for text in names]
    return names[0], names[1]


def setup(app: Sphinx) -> dict[str, Any]:
    """Let autodoc pass docstrings through `converted`, signatures through `shorten`, and members through `skip`."""
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
