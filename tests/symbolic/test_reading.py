"""What may be written: expressions only, each refusal naming what it refuses; the code that comes of it."""

import os
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dal
from dalembert.symbolic.expressions import FUNCTIONS, Generated, Graph, Reader, derivatives, gradient

from . import systems

q, v, c, t = sp.symbols("q v c t")


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "message"),
    [
        (("v**2/2", [q]), {}, TypeError, r"the Lagrangian is 'v\*\*2/2'; give a SymPy expression"),
        ((v**2, ["q"]), {}, TypeError, "coordinate 'q': give a SymPy symbol"),
        ((v**2, []), {}, ValueError, "give at least one"),
        ((v**2 - c * q, [q]), {"velocities": [v]}, ValueError, "the symbol c is unknown; give its value in `parameters`"),
        ((v**2 - c * q, [q]), {"velocities": [v], "parameters": {c: "2"}}, ValueError, "parameter c is '2'"),
        ((v**2 - c * q, [q]), {"velocities": [v], "parameters": {"c": 2}}, TypeError, "parameter 'c'"),
        ((v**2, [q]), {"velocities": [v], "parameters": {q: 2.0}}, ValueError, "q is given twice"),
        ((v**2 + sp.gamma(q), [q]), {"velocities": [v]}, ValueError, "the function gamma cannot be compiled"),
        ((v**2 + sp.Function("f")(q), [q]), {"velocities": [v]}, ValueError, r"f\(q\) is neither a coordinate"),
        ((v**2 + sp.I * q, [q]), {"velocities": [v]}, ValueError, "I is not a real number"),
        ((v**2 + sp.zoo * q, [q]), {"velocities": [v]}, ValueError, "not a (real|finite) number"),
        ((v**2, [q]), {"velocities": [v], "forces": {c: 1}}, ValueError, "forces: c is not a coordinate"),
        ((v**2, [q]), {"velocities": [v], "forces": {q: "sin(q)"}}, TypeError, r"force on q is 'sin\(q\)'"),
        ((v**2, [q]), {"velocities": [v], "constraints": [q + v]}, ValueError, "constraint 0 contains rates"),
        ((v**2, [q]), {"velocities": [v], "nonholonomic": [q * v**2]}, ValueError, "constraint 0 is not linear"),
        ((v**2, [q]), {"velocities": [v, c]}, ValueError, "2 velocities for 1 coordinates"),
        ((v**2, [q]), {"velocities": [v], "time": "t"}, TypeError, "time is 't'"),
        ((sp.Piecewise((q, q > 0)), [q]), {"velocities": [v]}, ValueError, "a last case"),
        ((sp.Piecewise((q, sp.Eq(q, 0)), (v, True)), [q]), {"velocities": [v]}, ValueError, "compare with"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled_is_refused_by_name(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        dal.Lagrangian(*arguments, **settings)


def test_accelerations_may_not_appear():
    a = dynamicsymbols("a")
    with pytest.raises(ValueError, match="accelerations are not allowed"):
        dal.Lagrangian(a.diff(dynamicsymbols._t, 2) ** 2, [a])


def test_names_of_symbols_are_never_run():
    bad = sp.Symbol("__import__('os').abort()\n    raise SystemExit")
    system = dal.Lagrangian(v**2 / 2 - bad * q, [q], velocities=[v], parameters={bad: 3.0})
    assert system.acceleration(0.0, [1.0]).tolist() == [-3.0]
    imports = [line for line in system.source.splitlines() if "import" in line]
    assert (
        imports == ["import math", "from dalembert.core import elementary as functions"]
        and "abort" not in system.source
    )


ARGUMENTS = {"acosh": 1.7, "asin": 0.3, "acos": 0.3, "atanh": 0.3, "log": 0.8, "sqrt": 0.8}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_derivatives_of_functions_are_those_of_sympy(name):
    graph = Graph()
    x = graph.input("u0")
    expression = getattr(sp, name)(q) * (2 + q) / (1 + q**2)
    node = Reader(graph, {q: x})("expression", expression)
    one = graph.node(1.0)
    first = derivatives([node], {x: one})
    outputs = [node, *first, *derivatives(first, {x: one}), *gradient(node, [x])]
    at = ARGUMENTS.get(name, 0.8)
    exact = [float(expression.diff(q, k).subs(q, at)) for k in (0, 1, 2, 1)]
    np.testing.assert_allclose(Generated(outputs, ["u0"])(0.0, np.array([at])), exact, rtol=1e-13)


def test_what_is_computed_twice_is_computed_once():
    graph = Graph()
    x = graph.input("u0")
    read = Reader(graph, {q: x})
    assert read("first", sp.sin(q) ** 2 + sp.cos(q) ** 2).is_number(1.0)
    assert read("second", sp.sin(q) * q) is read("third", q * sp.sin(q))
    deep = q
    for _ in range(60):  # 2⁶⁰ terms, were it written out
        deep = sp.sin(deep + 1) * deep
    node = read("deep", deep)
    rate = derivatives([node], {x: graph.node(1.0)})
    assert len(graph.nodes) < 600
    value, slope = Generated([node, *rate], ["u0"])(0.0, np.array([0.4]))
    above, below = (Generated([node], ["u0"])(0.0, np.array([0.4 + h]))[0] for h in (1e-6, -1e-6))
    assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6)
    assert np.isfinite(value)


PROGRAM = """
import dalembert as dal
from tests.symbolic import systems
expression, coordinates = systems.of_everything()
print(dal.Lagrangian(expression, coordinates, parameters=systems.VALUES).source)
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_code_is_the_same_in_every_process_and_its_machine_code_is_found_on_disk(seed):
    expression, coordinates = systems.of_everything()
    system = dal.Lagrangian(expression, coordinates, parameters=systems.VALUES)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    told = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == system.source.strip()
    assert told.stderr == ""  # where a line would say that it compiles


def test_import_does_not_load_sympy():
    program = "import sys, dalembert; print('sympy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )
