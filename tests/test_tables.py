"""Tables: declaration, allocation, growth, and reading by attribute in compiled code."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from dalembert import jit
from dalembert.kernel import kernel, out
from dalembert.tables import address_table, allocate, column, column_of, grow, own_address, part

POINT = np.dtype([("mass", "f8"), ("x", "f8", 3)], align=True)
compiled = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


class Inside(NamedTuple):
    numbers: Any = column("2 * n", np.int64, doc="of things")
    single: Any = column("n", np.float32)


class Outside(NamedTuple):
    points: Any = column("points", POINT, unit="mass kg, x m", doc="what moves")
    inside: Any = part(Inside)
    free: Any = column("3 * points + n", unit="m/s", fill=np.nan)
    given: Any = column()


class Other(NamedTuple):
    points: Any = column("1")


def made():
    inside = allocate(Inside, {"n": 2})
    inside.numbers[:] = 1, 2, 3, 4
    inside.single[:] = 0.5, 0.25
    table = allocate(Outside, {"points": 2, "n": 1}, inside=inside, given=np.arange(3.0))
    table.points.mass[:] = 10.0, 20.0
    table.points.x[1] = 1.0, 2.0, 3.0
    return table


@jit.njit
def inner(table):
    return table.numbers[3] + table.single[1]


@kernel
def weigh(table: Outside, other: Other, found: out()) -> float:
    """Something of every field; `points` of two tables of other dtypes."""
    for i in range(table.points.shape[0]):
        found[i] = table.points[i].mass * table.points[i].x[2]
    table.points[0].mass = 11.0
    return inner(table.inside) + table.given[2] + other.points[0] + table.inside.numbers.shape[0]


def test_compiled_code_reads_and_writes_tables_by_attribute():
    table, found = made(), np.zeros(2)
    assert weigh(table, Other(np.array([100.0])), found) == 4.25 + 2.0 + 100.0 + 4.0
    assert found.tolist() == [0.0, 60.0]
    assert table.points.mass.tolist() == [11.0, 20.0]


@compiled
def test_a_table_may_be_given_by_its_addresses_which_keep_those_of_nested_tables():
    table, found = made(), np.zeros(2)
    addresses = address_table(table)
    assert addresses[2 * 1] == addresses.parts[0].ctypes.data
    assert weigh(addresses, Other(np.array([100.0])), found) == 110.25


@compiled
def test_a_table_is_one_pointer():
    from dalembert import compiler
    from dalembert.table_type import TableType

    context = compiler.cpu_target.target_context
    assert str(context.get_value_type(TableType(Outside))) == "i64*"
    assert TableType(Outside) == TableType(Outside) != TableType(Other)


@kernel
def where(table: Other) -> int:
    return own_address(table)


@compiled
def test_its_own_address_is_what_c_functions_are_handed():
    addresses = address_table(Other(np.zeros(1)))
    assert where(addresses) == addresses.ctypes.data


@kernel
def misspelt(table: Other) -> float:
    return table.point[0]


@compiled
def test_a_name_that_a_table_does_not_have_is_told_with_those_that_it_has():
    with pytest.raises(Exception, match="Other has no table 'point'; it has points"):
        misspelt(Other(np.zeros(1)))
    with pytest.raises(AttributeError, match="Outside has no table 'point'; it has points, inside, free, given"):
        column_of(Outside, "point")


def test_tables_are_allocated_as_they_are_declared():
    table = made()
    assert table.points.shape == (2,) and table.points.dtype == POINT
    assert table.free.shape == (7,) and np.isnan(table.free).all()
    assert table.inside.single.dtype == np.float32
    for match, error, sizes, given in (
        ("Other has no table 'x'; it has points", AttributeError, {}, {"x": np.zeros(1)}),
        ("Other.points must be of float64, not of int64", TypeError, {}, {"points": np.zeros(1, np.int64)}),
    ):
        with pytest.raises(error, match=match):
            allocate(Other, sizes, **given)
    with pytest.raises(KeyError, match=r"Inside.numbers has 2 \* n rows; give n"):
        allocate(Inside, {})
    with pytest.raises(ValueError, match=r"Outside.inside has no declared shape; give the array"):
        allocate(Outside, {"points": 1, "n": 1})


def test_a_table_grows_where_its_rows_depend_on_a_size():
    table = made()
    more = grow(table, points=5, n=3)
    assert len(more.points) == 5 and len(more.free) == 18
    assert more.given is table.given and more.inside is table.inside
    assert len(grow(table.inside, n=7).numbers) == 14
