"""Tables declare what each column holds: the unit of every real number, and the module that writes it."""

import re

import numpy as np
import pytest

from dalembert.collide.particles import Particles
from dalembert.collide.tables import Collision
from dalembert.core.tables import column_of
from dalembert.integrate.driver import Stepping
from dalembert.model.tables import System
from dalembert.model.tree import Tree

TABLES = [Collision, Particles, Stepping, System, Tree]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_declares_its_units_and_its_writer(table):
    for name in table._fields:
        column = column_of(table, name)
        if column.fields is not None:
            continue
        assert column.writer, f"{table.__name__}.{name} has no writer"
        if column.dtype.names is None:
            assert column.unit or column.dtype.kind != "f", f"{table.__name__}.{name} has no unit"
            continue
        units = dict(re.findall(r"(\w+) ([^,]+)", column.unit))
        real = {one for one in column.dtype.names if column.dtype[one].base.kind == "f"}
        assert set(units) == real, f"{table.__name__}.{name}: {sorted(set(units) ^ real)}"
        assert all(np.char.strip(unit) for unit in units.values())
