"""The examples of docs/coordinates.md run, and print what is said beside them."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "coordinates.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize(
    ("blocks", "printed"),
    [
        ([0, 1], "('shoulder', 'elbow')"),
        ([2], "work of moving coordinates  1.31541 J"),
        ([3], "0.9944"),
    ],
)
def test_examples_run(blocks, printed, capsys):
    exec("\n".join(EXAMPLES[block] for block in blocks), {})
    assert printed in capsys.readouterr().out
