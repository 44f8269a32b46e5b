"""The examples of docs/sweeps.md run, and print what is said beside them."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text("utf-8")


def test_examples_run_and_print_what_is_said(capsys):
    exec("\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.S)), {"__name__": "examples"})
    out = capsys.readouterr().out
    for said in re.findall(r"^print\(.*\)  # (.*)$", TEXT, re.M):
        assert said in out
    assert "['done', 'failed', 'done']" in out and "'repeat')" in out
