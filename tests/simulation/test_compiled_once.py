"""Functions of the user's are compiled once for the same content, and never taken for others."""

import functools
import json
import math
import os
import subprocess
import sys
import time
import types
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest

import dalembert as dal
from dalembert.core import user_function as user_pointer
from dalembert.core.user_function import Adapter, Pointer, content_of
from dalembert.model.user_functions import automatic_constraint, load_adapter, motor_adapter

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

SIZE = 2.0
NUMBERS = np.array([1.0, 2.0])
SHAPE = (1.0, 2.0)
OBJECT = {"k": 1.0}
OTHER = types.ModuleType("other")
OTHER.size, OTHER.unused = 2.0, OBJECT


def value(function, *numbers):
    """What f(t, y) gives through its pointer."""
    return float(Pointer(Adapter((function,), size=1), scalar=True)(0.0, np.array(numbers or (1.0,)))[0])


def digest(function):
    content = content_of(function)
    return None if content is None else content.digest


def made(source, **names):
    """The function `f` of a source, compiled by Numba, of a module of its own."""
    namespace = {"numba": numba, "np": np, "math": math, "__name__": "somewhere", **names}
    exec(source, namespace)
    return namespace["f"]


@pytest.fixture
def compilations(monkeypatch):
    """The names of what was compiled or loaded."""
    found = []
    full = user_pointer._compile
    monkeypatch.setattr(user_pointer, "_compile", lambda *a, **k: (found.append(a[3]), full(*a, **k))[1])
    return found


# The same ---------------------------------------------------------------------------------------------------------------


def force(gain):
    @numba.njit
    def push(t, x, q, v, w):
        return (gain + 0.1 * v[0], 0.0, 1.0)

    return push


def motor():
    return numba.njit(lambda t, s, rate: -0.3 * s)


def on_plane():
    @numba.njit
    def plane(x, q):
        out = np.zeros(1, x.dtype)
        out[0] = x[0, 1]
        return out

    return plane


def scene_of(gain=0.5):
    scene = dal.Scene("compiled")
    rod = scene.add_body("rod", dal.Box(0.2, 0.1, 0.1), mass=1.0, position=(0.0, 0.0, 0.5))
    wheel = scene.add_body("wheel", dal.Cylinder(0.1, 0.02), mass=0.5, position=(2.0, 0.0, 0.0))
    scene.hinge("axle", dal.WORLD, wheel, at=(2.0, 0.0, 0.0), axis=(0, 0, 1))
    scene.external_force("push", rod, function=force(gain))
    scene.motor("drive", "axle", function=motor())
    scene.constraint("plane", [rod], on_plane(), rows=1)
    scene.event("low", numba.njit(lambda t, y: y[2] - 0.1), stop=True)
    return scene


def test_a_scene_that_is_made_again_compiles_nothing(compilations):
    settings = {"method": "rk4", "dt": 0.01}
    first = dal.simulate(scene_of(), 0.05, **settings)
    compilations.clear()
    dispatchers = []
    real = numba.core.dispatcher.Dispatcher.compile

    def compile(self, sig):
        dispatchers.append(self)
        return real(self, sig)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.core.dispatcher.Dispatcher, "compile", compile)
        second = dal.simulate(scene_of(), 0.05, **settings)
    assert compilations == [] and dispatchers == []
    assert first.state.y.tobytes() == second.state.y.tobytes()
    other = dal.simulate(scene_of(0.7), 0.05, **settings)
    assert compilations == ["function of 'push'"]
    assert other.state.y.tobytes() != second.state.y.tobytes()


def test_it_is_found_in_less_than_a_millisecond():
    function = force(0.1)
    Pointer(load_adapter(function))
    least = math.inf
    for _ in range(5):
        start = time.thread_time()
        Pointer(load_adapter(force(0.1)))
        least = min(least, time.thread_time() - start)
    assert least < 5e-3  # with what Numba takes for a dispatcher
    start = time.thread_time()
    for _ in range(20):
        Pointer(load_adapter(function))
    assert (time.thread_time() - start) / 20 < 2e-3


def test_the_same_source_is_the_same_function_wherever_it_stands():
    source = "@numba.njit\ndef f(t, y):\n    return math.sin(y[0]) + k"
    assert digest(made(source, k=1.0)) == digest(made("\n\n# moved\n" + source, k=1.0, __name__="elsewhere"))
    assert Pointer(made(source, k=1.0), True).address == Pointer(made("\n" + source, k=1.0), True).address


def test_a_function_that_calls_itself_is_compared():
    source = "@numba.njit\ndef f(t, y):\n    return y[0] if t > 2.0 else 2.0 * f(t + 1.0, y)"
    assert digest(made(source)) == digest(made(source)) is not None
    assert value(made(source), 3.0) == 24.0


def test_other_adapters_and_sizes_are_other_functions():
    function = numba.njit(lambda t, a, b: a + b)
    assert (
        Pointer(motor_adapter(function)).address
        != Pointer(Adapter((function,), lambda compile, f: lambda t, y: np.array([f(t, y[0], 1.0)]))).address
    )
    plane = on_plane()
    one, two = (Pointer(automatic_constraint(plane, 1, bodies)) for bodies in (1, 2))
    assert one.address != two.address


# Others -----------------------------------------------------------------------------------------------------------------


@numba.njit
def inner(a):
    return SIZE * a


@numba.njit
def middle(a):
    return inner(a) + 1.0


@numba.njit
def outer(t, y):
    return middle(y[0])


def test_a_global_number_that_changed_counts(monkeypatch):
    assert outer(0.0, np.ones(1)) == 3.0  # Numba keeps this number in its own machine code
    assert value(outer) == 3.0
    monkeypatch.setattr(sys.modules[__name__], "SIZE", 5.0)
    assert value(outer) == 6.0
    monkeypatch.setattr(sys.modules[__name__], "SIZE", 2.0)
    assert value(outer) == 3.0


def test_an_array_that_is_changed_in_place_counts():
    numbers = np.array([1.0, 2.0])
    function = numba.njit(lambda t, y: y[0] * numbers[1])
    assert value(function, 3.0) == 6.0
    numbers[1] = 7.0
    assert value(function, 3.0) == 21.0


def test_a_closed_over_number_that_changed_counts():
    gain = 1.0

    @numba.njit
    def f(t, y):
        return gain * y[0]

    assert value(f, 3.0) == 3.0
    gain = 4.0
    assert value(f, 3.0) == 12.0


def test_a_helper_that_was_edited_counts():
    source = "@numba.njit\ndef g(a):\n    return {} * a\n@numba.njit\ndef f(t, y):\n    return g(y[0])"
    assert [value(made(source.format(k)), 3.0) for k in (1.0, 2.0, 1.0)] == [3.0, 6.0, 3.0]


def test_a_helper_that_was_replaced_in_its_module_counts():
    module = types.ModuleType("helpers")
    module.g = numba.njit(lambda a: 2.0 * a)
    function = made("@numba.njit\ndef f(t, y):\n    return helpers.g(y[0]) + helpers.c", helpers=module)
    module.c = 1.0
    assert value(function, 3.0) == 7.0
    module.g = numba.njit(lambda a: 5.0 * a)
    assert value(function, 3.0) == 16.0
    module.c = 2.0
    assert value(function, 3.0) == 17.0


SAME = "@numba.njit\ndef f(t, y):\n    return y[0]"
Pair, Flipped = namedtuple("Pair", "a b"), namedtuple("Pair", "b a")
DIFFERENT = {
    "a constant": [SAME, SAME.replace("y[0]", "y[0] + 0.0"), SAME.replace("y[0]", "y[0] - 0.0")],
    "the type of a constant": [SAME.replace("y[0]", f"y[0] + {c}") for c in ("1", "1.0", "True", "1j", "-0.0", "0.0")],
    "an operator": [SAME.replace("y[0]", f"y[0] {c} 2.0") for c in "+-*/"],
    "a name of a library": [SAME.replace("y[0]", f"math.{c}(y[0])") for c in ("sin", "cos")],
    "a library": [SAME.replace("y[0]", f"{c}.sin(y[0])") for c in ("math", "np")],
    "an option": [SAME.replace("njit", f"njit({c})") for c in (
        "", "fastmath=True", "fastmath={'nnan'}", "error_model='numpy'", "boundscheck=True", "parallel=True")],
    "declared types": [SAME.replace("njit", f"njit({c})") for c in (
        "", "'float64(float64, float64[:])'", "'float64(float64, float64[::1])'", "'float32(float64, float64[::1])'")],
    "a default": [SAME.replace("y)", f"y, k={c})") for c in ("1.0", "2.0", "1")],
    "a default by name": [SAME.replace("y)", f"y, *, k={c})") for c in ("1.0", "2.0")],
    "an inner function": [
        f"@numba.njit\ndef f(t, y):\n    def g(a):\n        return a * {c}\n    return g(y[0])" for c in (1.0, 2.0)],
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENT)
def test_different_functions_have_different_content(what):
    found = [digest(made(source)) for source in DIFFERENT[what]]
    assert None not in found
    if what == "declared types":
        found.remove(found[3])  # only arguments are declared
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "values",
    [
        [
            1,
            1.0,
            True,
            1j,
            np.float64(1.0),
            np.float32(1.0),
            np.int64(1),
            np.int32(1),
            "1",
            b"1",
            (1,),
            (1.0,),
            ((1,),),
            None,
        ],
        [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324],
        [
            np.array([1.0]),
            np.array([1]),
            np.array([1.0], np.float32),
            np.array([[1.0]]),
            np.array([1.0, 2.0]),
            np.zeros(0),
        ],
        [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(3, 2)],
        [np.zeros(1, [("a", "f8"), ("b", "f8")]), np.zeros(1, [("b", "f8"), ("a", "f8")])],
        [(1, (2, 3)), ((1, 2), 3), (1, 2, 3), ("a", "b"), ("ab", ""), ("a,b",)],
        [Pair(1.0, 2.0), Flipped(1.0, 2.0), (1.0, 2.0)],
        [math.sin, np.sin, math.cos, abs, numba.prange, numba.float64, numba.float32],
        [numba.njit(lambda a: a), numba.njit(lambda a: a + 1), numba.njit(fastmath=True)(lambda a: a)],
    ],
)
def test_different_values_are_told_apart(values):
    """As a global, as a default and as what is closed over."""

    def closing(k):
        return numba.njit(lambda t, y: k)

    for make in (
        lambda k: made("@numba.njit\ndef f(t, y):\n    return k", k=k),
        lambda k: made("@numba.njit\ndef f(t, y, k=k):\n    return k", k=k),
        closing,
    ):
        found = [digest(make(k)) for k in values]
        assert None not in found and len(set(found)) == len(found)
        assert found == [digest(make(k)) for k in values]


def test_a_name_that_comes_to_hide_a_builtin_counts():
    source = "@numba.njit\ndef f(t, y):\n    return abs(y[0])"
    assert digest(made(source)) != digest(made(source, abs=numba.njit(lambda a: a)))
    assert value(made(source, abs=numba.njit(lambda a: 2.0 * a)), -3.0) == -6.0


class Strange:
    k = 1.0


@pytest.mark.parametrize(
    "thing",
    [OBJECT, [1.0], Strange, Strange(), lambda a: a, np.zeros(10**6), np.zeros((4, 4))[::2, ::2], np.array([None]),
     np.vectorize(abs), functools.partial(abs, 1), Strange().__init__, numba.vectorize(lambda a: a), np.random.rand],
)  # fmt: skip
def test_what_cannot_be_compared_has_no_content(thing):
    assert content_of(made("@numba.njit\ndef f(t, y):\n    return k", k=thing)) is None


def test_what_cannot_be_compared_is_compiled_each_time(compilations):
    big = np.zeros(200_000)
    big[0] = 1.0

    def make():
        return numba.njit(lambda t, y: big[0] * y[0])

    assert value(make(), 3.0) == value(make(), 3.0) == 3.0
    assert len(compilations) == 2


def test_other_names_of_a_module_do_not_matter():
    function = made("@numba.njit\ndef f(t, y):\n    return other.size", other=OTHER)
    assert digest(function) is not None


def test_plain_functions_compile_nothing(monkeypatch):
    monkeypatch.setattr(user_pointer, "compiled", lambda *a: pytest.fail("a plain function was compiled"))
    scene = scene_of()
    for function in [*scene.forces.values(), *scene.events.values()]:
        function.function = function.function.py_func
    custom = scene.joints["plane"].custom
    object.__setattr__(custom, "function", custom.function.py_func)
    bound = functools.partial(lambda k, t, s, rate: k * s, 2.0)
    scene.motor("second", "axle", function=bound)
    run = dal.simulate(scene, 0.02, method="rk4", dt=0.01, controller=lambda run: None, control_rate=100.0)
    assert sorted(run.report.slow_functions) == ["drive", "low", "plane", "push", "second"]


# Other processes --------------------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
import numba, numpy as np
from dalembert.core.user_function import Adapter, Pointer
SIZE, VALUES = float(sys.argv[1]), np.array([1.0, 2.0])

@numba.njit
def helper(a):
    return SIZE * a

def make(k):
    @numba.njit
    def f(t, y):
        if t > 1.0:
            raise ValueError("too late")
        return k * helper(y[0]) + VALUES.sum() + np.ptp(VALUES[0] * y)
    return f

order = [float(k) for k in sys.argv[2].split(",")]
pointers = [Pointer(Adapter((make(k),), size=1), scalar=True) for k in order]
print(json.dumps([
    [p(0.0, np.ones(3))[0] for p in pointers], [p._wrapper.owners[0].cache_hits for p in pointers],
    [bool(np.isnan(p(2.0, np.ones(3))[0])) for p in pointers],
]))
"""


@pytest.fixture
def process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*arguments, **more):
        environment = {
            **os.environ, "PYTHONPATH": str(Path(dal.__file__).parents[1]), "DALEMBERT_CACHE": str(tmp_path / "cache"), **more
        }  # fmt: skip
        command = [sys.executable, str(tmp_path / "program.py"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=True)
        return (*json.loads(done.stdout), done.stderr)

    return run


@pytest.mark.slow
def test_another_process_loads_what_the_first_compiled_and_nothing_else(process):
    assert process("2", "1,3")[:3] == ([5.0, 9.0], [0, 0], [True, True])
    # in another order, so that Numba's own numbers of functions are others, and with one that is new
    values, hits, late, said = process("2", "5,3,1")
    assert (values, hits, late) == ([13.0, 9.0, 5.0], [0, 1, 1], [True, True, True])
    assert said.count("dalembert: compiled") == 1
    values, hits, _, said = process("2", "1,5,3")
    assert (values, hits) == ([5.0, 13.0, 9.0], [1, 1, 1]) and "dalembert:" not in said
    assert process("4", "1")[:2] == ([7.0], [0])  # a global of the helper
    assert process("2", "1", NUMBA_BOUNDSCHECK="1")[:2] == ([5.0], [0])


def test_plain_functions_need_neither_numba_nor_llvm(process, tmp_path):
    (tmp_path / "program.py").write_text(
        "import json, sys\nimport numpy as np\nfrom dalembert.core.user_function import Adapter, Pointer\n"
        "pointer = Pointer(Adapter((lambda t, y: y[0] + t,), size=1), scalar=True)\n"
        "print(json.dumps([pointer(1.0, np.ones(1))[0], *({'numba', 'llvmlite', 'rich'} & {*sys.modules})]))\n"
    )
    assert process() == (2.0, "")


@pytest.mark.slow
def test_a_damaged_file_is_compiled_anew(process, tmp_path):
    process("2", "1")
    (kernel,) = (tmp_path / "cache").glob("user_functions-*/*.kernel")
    data = bytearray(kernel.read_bytes())
    data[len(data) // 2] ^= 4
    kernel.write_bytes(data)
    values, hits, _, said = process("2", "1")
    assert (values, hits) == ([5.0], [0]) and "is damaged" in said
    assert process("2", "1")[1] == [1]
