"""Attributes of an element as numbers, vectors and words, checked; those that nobody asked for are known in the end."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .xml import Element

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
        """What stands there; required where there is no default."""
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.element.error(f"attribute {key!r} is missing; add it")
        return value

    def name(self) -> str | None:
        """Its name; None where it has none."""
        value = self.text("name", "")
        if len(value) > 150:
            raise self.element.error(f"the name {value!r:.40} has more than 150 characters; shorten it")
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
        """From `least` to `most` numbers (as many as `least` where that is all that is said)."""
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
        raise element.error(f"{what}: {wrong!r:.40} is no number; correct it")
    bad = ~(np.abs(numbers) <= LARGEST)
    if infinite:
        bad &= ~np.isinf(numbers)
    if bad.any():
        raise element.error(f"{what}: {words[int(np.argmax(bad))]!r:.40} is no sensible number; give a finite one")
    return numbers


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word
