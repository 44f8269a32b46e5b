"""Clouds of particles and their interactions, for the tests."""

import numba
import numpy as np

from dalembert.core.user_function import Pointer
from dalembert.pairwise.forces import RadialLaw, interactions_entry, make_interactions
from dalembert.pairwise.laws import ALL_PAIRS, COULOMB, CUSTOM, GRAVITATION, LENNARD_JONES, REPULSION

REACH = 1.3  # of the laws that end (m)


def bond(t, r):
    """A law of the user's that depends on time and comes to zero at REACH with its slope."""
    s = REACH - r[0]
    return (1.0 + t) * s**3, -3.0 * (1.0 + t) * s**2


POINTER = Pointer(numba.njit(bond))

LAWS = {
    "gravitation": {"kind": GRAVITATION, "strength": -0.7},
    "gravitation, softened": {"kind": GRAVITATION, "strength": -0.7, "softening": 0.2},
    "coulomb": {"kind": COULOMB, "strength": 0.9},
    "coulomb, softened": {"kind": COULOMB, "strength": 0.9, "softening": 0.1},
    "lennard-jones": {"kind": LENNARD_JONES, "strength": 0.3, "diameter": 0.45},
    "lennard-jones, cut off": {"kind": LENNARD_JONES, "strength": 0.3, "diameter": 0.45, "cutoff": REACH},
    "repulsion": {"kind": REPULSION, "strength": 8.0, "diameter": REACH},
    "custom": {"kind": CUSTOM, "address": POINTER.address, "cutoff": REACH},
}
ENDING = ["lennard-jones, cut off", "repulsion", "custom"]


def cloud(n, seed=0, side=3.0, least=0.25):
    """(n, 3) places in a box about the origin, no two nearer than `least`."""
    rng = np.random.default_rng(seed)
    found = np.zeros((0, 3))
    while len(found) < n:
        x = rng.uniform(-0.5 * side, 0.5 * side, 3)
        if (np.linalg.norm(found - x, axis=1) > least).all():
            found = np.vstack([found, x])
    return found


def plummer(n, seed=0):
    """(n, 3) places of a Plummer sphere of scale radius 1 (S. Aarseth, M. Hénon & R. Wielen 1974)."""
    rng = np.random.default_rng(seed)
    r = 1.0 / np.sqrt(rng.uniform(0.0, 1.0, n) ** (-2.0 / 3.0) - 1.0)
    direction = rng.normal(size=(n, 3))
    return (r / np.linalg.norm(direction, axis=1))[:, None] * direction


def tables_for(n, weights=None, method=ALL_PAIRS, **law):
    return make_interactions([RadialLaw(members=np.arange(n), weights=weights, method=method, **law)])


def poisoned(tables):
    """Leave rubbish in every workspace."""
    rng = np.random.default_rng(9)
    for name in ("points", "sums", "block", "scratch"):
        getattr(tables, name)[:] = np.nan
    for name in ("order", "keys", "starts", "ints", "trouble"):
        array = getattr(tables, name)
        array[:] = rng.integers(-(2**62), 2**62, len(array))
    tables.nodes.view(np.uint8)[:] = 255
    return tables


def forces(tables, x, v=None, t=0.0, power=None):
    """(energy, forces (N, 3), status) from workspaces that hold rubbish."""
    x = np.array(x, float).ravel()
    v = np.zeros_like(x) if v is None else np.array(v, float).ravel()
    f = np.zeros_like(x)
    poisoned(tables)
    energy, status = interactions_entry(t, x, v, f, np.zeros(4) if power is None else power, tables)
    return energy, f.reshape(-1, 3), status


def relative(found, exact):
    """Root mean square of the relative errors of forces."""
    errors = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return np.sqrt((errors**2).mean())
