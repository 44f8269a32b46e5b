"""What is in the HTML that an object shows: its elements and text, and the page of its player."""

import base64
import json
from html.parser import HTMLParser

import numpy as np

HOSTILE = "<script>alert('1')</script>\"'&<img src=x onerror=alert(2)>"
VOID = {"img", "meta", "link", "input"}


class Shown(HTMLParser):
    """elements: (name, attributes) in order; text: all of it outside of styles and scripts. Elements must be closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """All text."""
        return "".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements called so."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def page(self) -> str | None:
        """The page of the player."""
        frames = self.all("iframe")
        return frames[0]["srcdoc"] if frames else None

    @property
    def run(self) -> dict:
        """What the scripts of the player read."""
        page = self.page
        data = page.partition('<script id="run" type="application/json">')[2]
        return json.loads(data.partition("</script>")[0])


def shown(thing) -> Shown:
    """What an object shows in a notebook."""
    return Shown(thing._repr_html_())


def unpack(text, shape, kind="<f4"):
    """Numbers of the page."""
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)
