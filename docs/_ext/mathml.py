"""Formulas as MathML, made by KaTeX when the site is built: pages need no script and no network to show them.

KaTeX is the copy in sphinxcontrib-katex, run by dukpy's interpreter; STIX Two Math, a font with the tables that MathML
asks for, is the copy in ziamath.
"""

import json
import re
import shutil
import unicodedata
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import dukpy
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

CLOSING = re.compile(r"[.,;:!?)\]’]+")  # what stays on the line of the formula before it
FONT = "STIXTwoMath-Regular.ttf"


@cache
def engine() -> dukpy.JSInterpreter:
    """An interpreter that knows KaTeX."""
    interpreter = dukpy.JSInterpreter()
    interpreter.evaljs((files("sphinxcontrib") / "katex.min.js").read_text("utf-8"))
    return interpreter


BEFORE_A_SIGN = "=|≈|≤|≥|,|\\(|→|←|&lt;|&gt;|×|⋅"  # a minus after these is a sign, set without space
VARIANTS = {"bold": "BOLD", "bold-italic": "BOLD ITALIC", "double-struck": "DOUBLE-STRUCK", "script": "SCRIPT"}


def lettered(match: re.Match[str]) -> str:
    """A letter of a variant as the character that has this form: of the attribute, browsers know "normal" only."""
    tag, variant, text = match.groups()
    return f"<{tag}>{''.join(letter(VARIANTS[variant], c) for c in text)}</{tag}>"


def letter(variant: str, character: str) -> str:
    """The character's form among Unicode's mathematical letters; itself where there is none."""
    words = unicodedata.name(character, "").replace("LATIN ", "").replace("GREEK ", "").replace("LETTER ", "")
    for name in (f"MATHEMATICAL {variant} {words}", f"{variant} {words}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return character


@cache
def mathml(latex: str, *, display: bool) -> str:
    """The formula as a <math> element. Raises ExtensionError for LaTeX that cannot be read."""
    options = json.dumps({"output": "mathml", "displayMode": display, "strict": "error"})
    try:
        text = engine().evaljs(f"katex.renderToString({json.dumps(latex.strip())}, {options})")
    except dukpy.JSRuntimeError as error:
        raise ExtensionError(f"the formula {latex!r} cannot be read: {str(error).splitlines()[0]}") from error
    text = re.sub(
        r'<(m[ino]) mathvariant="([a-z-]+)">([^<]+)</\1>', lambda m: lettered(m) if m[2] in VARIANTS else m[0], text
    )
    text = re.sub(rf"(<mo[^>]*>(?:{BEFORE_A_SIGN})</mo>)<mo>−</mo>", r'\1<mo form="prefix">−</mo>', text)
    text = text.replace('<mo stretchy="false">∥</mo>', '<mo stretchy="false" lspace="0" rspace="0">∥</mo>')
    return text.replace(' accent="true"', "")  # browsers set accents too low over what they mark


def inline(writer: Any, node: nodes.Element) -> None:
    """A formula within a sentence, with what must not begin the next line."""
    formula, tail = f'<span class="formula">{mathml(node.astext(), display=False)}</span>', node.get("tail", "")
    writer.body.append(f'<span class="unbroken">{formula}{tail}</span>' if tail else formula)
    raise nodes.SkipNode


def keep_together(app: Sphinx, document: nodes.document) -> None:
    """Hand each formula the punctuation that follows it."""
    for node in list(document.findall(nodes.math)):
        after = node.next_node(descend=False, siblings=True)
        found = CLOSING.match(after) if isinstance(after, nodes.Text) else None
        if found is not None:
            node["tail"] = found[0]
            node.parent.replace(after, nodes.Text(after[found.end() :]))


def displayed(writer: Any, node: nodes.Element) -> None:
    """A formula on a line of its own; what is wide scrolls."""
    writer.body.append(f'<div class="formula">{mathml(node.astext(), display=True)}</div>\n')
    raise nodes.SkipNode


def add_font(app: Sphinx, error: Exception | None) -> None:
    """Put the font beside the style sheet."""
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / FONT
        shutil.copyfile(str(files("ziamath.fonts") / FONT), target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.connect("doctree-read", keep_together)
    app.connect("build-finished", add_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
