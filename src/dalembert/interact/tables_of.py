"""The tables of `Interactions` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from .tables import LAW, NODE, Interactions

laws_of = reader(Interactions, "laws", LAW)
members_of = reader(Interactions, "members", np.int64)
weights_of = reader(Interactions, "weights")
order_of = reader(Interactions, "order", np.int64)
points_of = reader(Interactions, "points")
sums_of = reader(Interactions, "sums")
keys_of = reader(Interactions, "keys", np.int64)
starts_of = reader(Interactions, "starts", np.int64)
nodes_of = reader(Interactions, "nodes", NODE)
block_of = reader(Interactions, "block")
ints_of = reader(Interactions, "ints", np.int64)
scratch_of = reader(Interactions, "scratch")
trouble_of = reader(Interactions, "trouble", np.int64)
