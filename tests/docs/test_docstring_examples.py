"""The examples in docstrings do what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import dalembert
from dalembert.core import jit

ROOT = Path(dalembert.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(("dalembert", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.skipif(jit.DISABLED, reason="takes minutes without compilation")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_print_what_they_show(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    failed, tried = doctest.testmod(module)
    assert tried
    assert failed == 0
