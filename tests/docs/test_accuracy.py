"""What the page on accuracy is measured against is right, and the page speaks of every method."""

import importlib
import sys

import pytest

import dalembert as dal

from .pages import DOCS, ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
cases = importlib.import_module("accuracy_cases")
accuracy = importlib.import_module("accuracy")
sys.path.pop(0)


@pytest.mark.parametrize("case", [cases.PENDULUM, cases.TUMBLING, cases.ORBIT], ids=lambda case: case.title)
def test_known_solutions_are_those_of_the_equations(case):
    assert case.error(cases.run_case(case, method="dop853", rtol=1e-13)) < 1e-11


def test_the_slope_is_the_order():
    curves = accuracy.convergence(cases.ORBIT, {"rk4": 4})
    assert abs(float(accuracy.order_of(curves["rk4"])) - 4.0) < 0.1
    assert accuracy.order_of([(0.1, 1e-15), (0.05, 1e-16)]) == "—"


def test_the_page_has_every_method():
    page = (DOCS / "accuracy.md").read_text("utf-8")
    for method in set(dal.METHODS) - {"adaptive_euler"}:
        assert f"| `{method}` |" in page, method
