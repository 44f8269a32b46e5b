"""docs/how-to/methods.md lists the methods that are registered, and shows how one is added."""

import subprocess
import sys

import pytest

import dalembert as dal
from dalembert import gallery
from dalembert.integrate.tableaus import METHODS
from dalembert.simulation import registry

from .pages import DOCS, ROOT, blocks

PAGE = DOCS / "how-to" / "methods.md"


def test_the_tables_are_those_of_the_registry():
    """In a process of its own, as tests may register methods."""
    program = "from dalembert.simulation.methods import registry as r; print(r.table()); print(r.options_table())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    text = PAGE.read_text("utf-8")
    for line in done.stdout.splitlines():
        assert line in text, "run docs/make_methods.py"


def test_the_tableau_of_the_documentation_is_a_method(monkeypatch):
    monkeypatch.setattr(METHODS, "_by_name", dict(METHODS._by_name))
    text = next(block.text for block in blocks(PAGE) if "@METHODS.add" in block.text)
    exec(text, {})
    scene = gallery.load("double-pendulum").build()
    run = dal.simulate(scene, 0.1, method=dal.RungeKutta("ralston", dt=1e-3))
    named = dal.simulate(scene, 0.1, method="ralston", dt=1e-3)
    assert run.report.steps == 100
    assert (run.state.position == named.state.position).all()
    assert "| `ralston` | 2 | fixed | by events | yes | yes | Ralston's method of order 2 (1962) |" in registry.table()
    with pytest.raises(ValueError, match=r"unknown method 'x'.*ralston"):
        dal.Simulation(scene, method="x")
    with pytest.raises(ValueError, match="two methods are called 'ralston'"):
        exec(text, {})
