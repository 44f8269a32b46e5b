"""Kernels take what they say they take, and name what they do not; every entry point of the package is listed."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dalembert
from dalembert.core import jit
from dalembert.core.kernel import array, kernel, out
from dalembert.core.tables import address_table, column
from dalembert.simulation import precompile as ahead

ROW = np.dtype([("kind", "i8"), ("value", "f8", 3)], align=True)
compiled = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


class Pair(NamedTuple):
    counts: Any = column("2", np.int64)
    values: Any = column("2")


@jit.njit
def twice(x):
    return 2.0 * x


@kernel
def weigh(
    scale: float, count: int, rows: array(1, ROW), grid: array(3, np.float32),
    pair: Pair(array(1, np.int64), array()), tables: Pair, found: out(2),
) -> float:  # fmt: skip
    """Something of all that it is given."""
    total = 0.0
    for i in range(count):
        total += rows[i].kind * rows[i].value[2]
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            for k in range(grid.shape[2]):
                found[j, k] += grid[i, j, k]
    total += pair.counts[1] * pair.values[0]
    return twice(scale * (total + tables.counts[0] * tables.values[1]))


@kernel
def fill(found: out()) -> None:
    for i in range(found.shape[0]):
        found[i] = i


def arguments():
    rows = np.zeros(2, ROW)
    rows["kind"], rows["value"][:, 2] = (1, 2), (10.0, 20.0)
    grid = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    pair = Pair(np.array([3, 4]), np.array([5.0, 6.0]))
    return [0.5, 2, rows.view(np.recarray), grid, pair, pair, np.zeros((3, 4))]


def test_it_takes_numbers_arrays_of_any_dimension_records_and_tuples():
    given = arguments()
    assert weigh(*given) == 10.0 + 40.0 + 4 * 5.0 + 3 * 6.0
    np.testing.assert_array_equal(given[-1], given[3].sum(axis=0))
    empty = np.zeros(0)
    assert fill(empty) is None
    assert fill(values := np.zeros(3)) is None and values.tolist() == [0.0, 1.0, 2.0]


@compiled
def test_tables_may_be_given_by_their_addresses_and_arrays_that_are_read_be_read_only():
    given = arguments()
    given[5] = address_table(given[5])
    given[3].flags.writeable = False
    assert weigh(*given) == 88.0


@compiled
@pytest.mark.parametrize(
    ("place", "value", "error", "words"),
    [
        (0, "half", TypeError, "scale must be a number, not 'half'"),
        (1, 2.5, TypeError, "count must be a number, not 2.5"),
        (2, np.zeros(2), TypeError, "rows must be an array of"),
        (3, np.zeros((2, 3, 4)), TypeError, "grid must be an array of float32 with 3 dimension(s), not of float64"),
        (3, np.zeros((2, 3), np.float32), TypeError, "grid must be an array of float32 with 3 dimension(s), not of shape"),
        (3, np.zeros((2, 3, 8), np.float32)[:, :, ::2], ValueError, "grid must be contiguous"),
        (4, (1, 2), TypeError, "pair must be a Pair, not (1, 2)"),
        (4, Pair(np.zeros(2), np.zeros(2)), TypeError, "pair .counts must be an array of int64"),
        (5, [1, 2], TypeError, "tables must be a Pair or its address_table, not [1, 2]"),
        (6, [[0.0]], TypeError, "found must be an array of float64 with 2 dimension(s), not [[0.0]]"),
    ],
)  # fmt: skip
def test_what_it_does_not_take_is_refused_by_name(place, value, error, words):
    given = arguments()
    given[place] = value
    with pytest.raises(error, match=re.escape(words)):
        weigh(*given)


@compiled
def test_an_array_that_is_written_to_must_not_be_read_only():
    values = np.zeros(3)
    values.flags.writeable = False
    with pytest.raises(ValueError, match=r"test_kernel\.fill: found is read-only"):
        fill(values)


@compiled
def test_the_number_of_arguments_and_annotations_are_checked():
    with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
        fill(np.zeros(1), 2)
    with pytest.raises(TypeError, match="annotate every argument, and the result"):

        @kernel
        def loose(x, y: int) -> int:
            return y

    with pytest.raises(TypeError, match="a kernel takes int, float"):

        @kernel
        def odd(x: str) -> int:
            return 0


@compiled
def test_inner_functions_say_that_python_cannot_call_them():
    with pytest.raises(TypeError, match=r"test_kernel\.twice is compiled as a part of kernels"):
        twice(1.0)
    assert twice.py_func(1.0) == 2.0


@compiled
def test_functions_that_users_compile_may_call_inner_functions():
    import numba

    from dalembert.contact import cone
    from dalembert.core import math3 as quat

    turned = numba.njit(lambda q, v: quat.rotate_by(q, v))  # which calls four others
    assert turned((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, np.pi)) == pytest.approx((0.0, 0.0, 0.0, 1.0), abs=1e-15)
    largest = numba.njit(lambda s, z: cone.scaling_point(s, z)[0])  # and these call functions of Numba's
    assert np.isfinite(largest((2.0, 1.0, 0.0), (3.0, 0.5, 0.0)))


def test_inner_functions_are_pickled_and_copied_by_name():
    from dalembert.core import math3 as vec

    assert pickle.loads(pickle.dumps(vec.dot)) is vec.dot
    assert copy.deepcopy(vec.dot) is vec.dot


def test_every_module_with_entry_points_is_listed_and_symbols_are_stable():
    root = Path(dalembert.__file__).parent
    found = {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in root.rglob("*.py")
        if re.search(
            r"^@kernel$|^\w+ = CFunction\(|, CFunction\(\w+, C_SIGNATURE\)", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert found == set(ahead.MODULES)
    symbols = [item.symbol for item in ahead.everything()]
    assert len(set(symbols)) == len(symbols)
    assert "dalembert_dynamics_mechanism_mechanism_entry" in symbols


@compiled
def test_two_entry_points_cannot_have_one_symbol():
    item = ahead.everything()[0]
    with pytest.raises(ValueError, match=f"two C functions are called {item.symbol}"):
        jit.CFunction(item.function, item.signature)
