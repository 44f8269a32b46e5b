"""The tables of a thread that runs members of a batch, and how compiled code reads them; see `tables`."""

from typing import Any, NamedTuple

import numpy as np

from ..integrate.state import CLOCK, PLAN
from ..model.tables import System
from ..tables import column, part

NEXT, STOP = 0, 8  # words that threads share: the member to be taken next, and whether all shall stop
NOT_RUN, INTERRUPTED, OPEN_AT_START, APART_AT_START, CANNOT_CLOSE, DEPENDENT = (
    -1,
    50,
    51,
    52,
    53,
    54,
)  # statuses of ours

OWN = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("stepper", "i8"), ("steps", "i8"), ("joint", "i8"), ("assemble", "i8"),
     ("members", "i8"), ("rows", "i8"), ("closed", "f8"), ("dependent", "f8")],
    align=True,
)  # fmt: skip
"""mechanism, handle, stepper, steps : addresses of both functions, and of what each is handed. joint : 1 in joint
coordinates. rows : frames that there is room for, of each member. closed, dependent : the limits of `start`."""

TABLE = np.dtype([("address", "i8"), ("width", "i8"), ("first", "i8")], align=True)
"""A table of the workspace: its address, bytes, and where in the image its first contents stand."""

VARIED = np.dtype([("address", "i8"), ("width", "i8"), ("source", "i8")], align=True)
"""Bytes that differ from member to member, and the address of those of member 0, which those of member 1 follow."""

OUTCOME = np.dtype(
    [("status", "i8"), ("frames", "i8"), ("steps", "i8"), ("rejected", "i8"), ("evaluations", "i8"), ("end", "f8")],
    align=True,
)
"""How a member ended, and when (s); what it recorded and counted."""


class Worker(NamedTuple):
    """What one thread works with. n numbers of the state, m members, f frames."""

    own: Any = column("1", OWN)
    system: Any = part(System)
    clock: Any = column(dtype=CLOCK)
    plan: Any = column(dtype=PLAN)
    tables: Any = column(dtype=TABLE)
    image: Any = column(dtype=np.uint8, doc="uint8")
    varied: Any = column(dtype=VARIED)
    y: Any = column("n")
    dydt: Any = column("n")
    spare: Any = column("n")
    z: Any = column(doc="joint coordinates: the state, its rate, y as last put or taken, and y as the mechanism has it")
    dzdt: Any = column()
    known: Any = column()
    lifted: Any = column()
    targets: Any = column("f1", unit="s")
    shared: Any = column(dtype=np.int64, doc="see NEXT; this and all below are of all threads")
    times: Any = column("f", unit="s")
    states: Any = column("m * f * n")
    energies: Any = column("m * f * 2", unit="J")
    errors: Any = column("m * f", unit="m", doc="of the worst joint")
    error_rates: Any = column("m * f", unit="m/s")
    outcomes: Any = column(dtype=OUTCOME, doc="one a member")
