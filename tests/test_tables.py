"""Tables: declaration, allocation, growth, and reading by attribute in compiled code."""

import gc
import sys
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import dalembert as dal
from dalembert.core import jit
from dalembert.core.kernel import kernel, out
from dalembert.core.tables import address_table, allocate, column, column_of, grow, is_table, own_address, part
from dalembert.simulation.inspection import list_tables, show_table

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
    assert addresses[2 * 1] == addresses.parts[1].ctypes.data
    assert weigh(addresses, Other(np.array([100.0])), found) == 110.25


@compiled
def test_a_table_is_one_pointer():
    from dalembert.core import compiler
    from dalembert.core.table_type import TableType

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
def test_what_compiled_code_has_the_address_of_stays_alive():
    """A table that was replaced while a kernel still had its address was written to after it was freed."""
    table = made()
    inside, outside = weakref.ref(table.inside.numbers), weakref.ref(table.free)
    addresses = address_table(table)
    del table
    gc.collect()
    assert inside() is not None and outside() is not None
    del addresses
    gc.collect()
    assert inside() is None and outside() is None


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


def test_a_table_is_printed_with_names_and_units():
    table = made()
    listed = list_tables({"outside": table}).splitlines()
    assert listed[0].split() == ["table", "rows", "of", "unit", "writer"]
    assert listed[1].split() == ["outside.points", "2", "records", "of", "2", "what", "moves"]
    assert listed[2].split() == ["outside.free", "7", "float64", "m/s"]
    assert show_table({"outside": table}, "points", 5).splitlines() == [
        "outside.points: 2 of 2 rows, what moves",
        "row  mass (kg)  x (m)",
        "0    10         0 0 0",
        "1    20         1 2 3",
    ]
    assert show_table({"outside": table}, "free", 2).splitlines()[1:] == [
        "row  m/s",
        "0    nan",
        "1    nan",
        "… 5 more",
    ]
    assert "inside.numbers" in show_table({"outside": table}, "inside", 2)


def test_the_tables_of_a_run_are_found_and_unknown_names_are_told():
    scene = dal.Scene("drop", gravity=(0.0, 0.0, -10.0))
    stone = dal.Material(friction=0.5, restitution=0.0)
    scene.add_body("ball", dal.Sphere(0.5), mass=1.0, position=(0.0, 0.0, 2.0), material=stone)
    scene.add_obstacle("floor", dal.HalfSpace(), material=stone)
    run = dal.Simulation(scene, dt=0.01, solver="interior_point")
    assert "kinematics: 2 of 2 rows" in run.debug("kinematics")
    assert "momentum (kg m²/s)" in run.debug("kinematics")
    assert run.debug("collision.contacts").startswith("collision.contacts: 0 of ")
    assert {"system.bodies", "elements.springs", "collision.pairs", "stepping.motion", "cone_problem.speeds"} <= {
        line.split()[0] for line in run.debug().splitlines()
    }
    with pytest.raises(ValueError, match=r"there is no table 'contcts'; there are system.bodies, "):
        run.debug("contcts")
    with pytest.raises(ValueError, match=r"'rates' is in system.rates, stepping.rates; give one of these"):
        run.debug("rates")


def test_every_table_of_the_package_has_shapes_that_can_be_read():
    import dalembert.simulation.precompile

    dalembert.simulation.precompile.everything()
    found = 0
    for module in [m for name, m in sys.modules.items() if name.startswith("dalembert.")]:
        for kind in vars(module).values():
            if isinstance(kind, type) and is_table(kind) and kind.__module__ == module.__name__:
                for name in kind._fields:
                    if shape := column_of(kind, name).shape:
                        names = compile(shape, f"{kind.__name__}.{name}", "eval").co_names
                        assert [
                            one for one in names if one.isupper() and len(one) > 1 and not hasattr(module, one)
                        ] == []
                        found += 1
    assert found > 200
