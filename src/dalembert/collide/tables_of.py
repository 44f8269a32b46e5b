"""The tables of a `Collision` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import reader
from .tables import COLLIDER, CONTACT, EDGE, FACE, FACET, MANIFOLD, NODE, PAIR, PLACE, SIDE, TREE, Collision

colliders_of = reader(Collision, "colliders", COLLIDER)
places_of = reader(Collision, "places", PLACE)
vertices_of = reader(Collision, "vertices")
faces_of = reader(Collision, "faces", FACE)
edges_of = reader(Collision, "edges", EDGE)
loops_of = reader(Collision, "loops", np.int64)
travel_of = reader(Collision, "travel")
facets_of = reader(Collision, "facets", FACET)
sides_of = reader(Collision, "sides", SIDE)
rings_of = reader(Collision, "rings")
nodes_of = reader(Collision, "nodes", NODE)
trees_of = reader(Collision, "trees", TREE)
excluded_of = reader(Collision, "excluded", np.int64)
rule_keys_of = reader(Collision, "rule_keys", np.int64)
rule_values_of = reader(Collision, "rule_values")
scratch_of = reader(Collision, "scratch")
pairs_of = reader(Collision, "pairs", PAIR)
order_of = reader(Collision, "order", np.int64)
unbounded_of = reader(Collision, "unbounded", np.int64)
strips_of = reader(Collision, "strips", np.int64)
entries_of = reader(Collision, "entries", np.int64)
slots_of = reader(Collision, "slots", np.int64)
counts_of = reader(Collision, "counts", np.int64)
manifold_of = reader(Collision, "manifold", MANIFOLD)
contacts_of = reader(Collision, "contacts", CONTACT)
functions_of = reader(Collision, "functions", np.int64)
