"""The tables of elements: one record array a kind, and the table of all of them."""

from collections import namedtuple

import numpy as np

from ..tables import column
from .kinds import KINDS
from .kinds import SCRATCH as SCRATCH

ELEMENT_SET = np.dtype(
    [("kind", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8")], align=True
)


COLUMNS = {name: column(dtype=kind.dtype) for name, kind in KINDS.items()}
SLOTS = {f"{name}_slots": column(dtype=np.int64, doc="k (k + 1)/2 numbers an element of k nodes") for name in KINDS}
DECLARED = {**COLUMNS, "sets": column(dtype=ELEMENT_SET), **SLOTS, "scratch": column("SCRATCH")}


class Elements(namedtuple("Elements", DECLARED, defaults=DECLARED.values())):
    """All elements of a model.

    There is one table of elements a kind, by its name. A set (ELEMENT_SET) is the elements first ≤ i < last of one kind;
    those that are not active do nothing. `ledger` is where the power of its damping is added, none if negative. Slots (int64,
    k (k + 1)/2 numbers an element of k nodes) say where the matrix of an element goes; see `loops`. They may be empty where
    no matrix is asked for. scratch : (kinds.SCRATCH,) float64.
    """

    __slots__ = ()
