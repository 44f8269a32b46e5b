"""The tables of a `System` inside compiled code; see `addresses`."""

import numpy as np

from ..addresses import nested_reader, reader
from ..linalg.ordering import COLUMN, ENTRY, UPDATE
from ..model.tables import (
    BODY,
    COORDINATE,
    FORCE,
    HUB,
    INCIDENCE,
    JOINT,
    KINEMATICS,
    NODE,
    PAIR,
    PANEL,
    PART,
    PARTICLE_FORCE,
    REACTION,
    SETTINGS,
    SPIN,
    System,
)

bodies_of = reader(System, "bodies", BODY)
parts_of = reader(System, "parts", PART)
joints_of = reader(System, "joints", JOINT)
incidences_of = reader(System, "incidences", INCIDENCE)
pairs_of = reader(System, "pairs", PAIR)
hubs_of = reader(System, "hubs", HUB)
coordinates_of = reader(System, "coordinates", COORDINATE)
forces_of = reader(System, "forces", FORCE)
reactions_of = reader(System, "reactions", REACTION)
columns_of = reader(System, "columns", COLUMN)
entries_of = reader(System, "entries", ENTRY)
updates_of = reader(System, "updates", UPDATE)
settings_of = reader(System, "settings", SETTINGS)
kinematics_of = reader(System, "kinematics", KINEMATICS)
spins_of = reader(System, "spins", SPIN)
nodes_of = reader(System, "nodes", NODE)
particle_forces_of = reader(System, "particle_forces", PARTICLE_FORCE)
panels_of = reader(System, "panels", PANEL)
elements_of = nested_reader(System, "elements")
interactions_of = nested_reader(System, "interactions")
pushes_of = reader(System, "pushes")
diagonal_slots_of = reader(System, "diagonal_slots", np.int64)
particle_mass_of = reader(System, "particle_mass")
particle_inverse_mass_of = reader(System, "particle_inverse_mass")
curves_of = reader(System, "curves")
jacobian_of = reader(System, "jacobian")
error_of = reader(System, "error")
bias_of = reader(System, "bias")
scale_of = reader(System, "scale")
values_of = reader(System, "values")
lower_of = reader(System, "lower")
rhs_of = reader(System, "rhs")
multipliers_of = reader(System, "multipliers")
residual_of = reader(System, "residual")
scratch_of = reader(System, "scratch")
power_of = reader(System, "power")
exerted_of = reader(System, "exerted")
energies_of = reader(System, "energies")
rates_of = reader(System, "rates")
wrenches_of = reader(System, "wrenches")
ticks_of = reader(System, "ticks")
