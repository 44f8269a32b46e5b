"""Links that are welded together, as one link: a smaller tree for steps that do not need the reactions of welds.

Models from files have many links that are fixed to others: sensors, frames, covers, feet. They move as one rigid body
with the link that carries them, its *carrier*. `merge_welds` makes the tree in which each such group is one node, whose
mass, centre of mass and inertia are those of the group; freedoms and coordinates are those of the whole tree, in the
same order. Each body or link has a row in the LINK table, which says where it is in its node:

    x_b = x + R o,   R_b = R Q,   v_b = v + ω × R o,   ω_b = ω.

The frame of a node is at the centre of mass of its group, with the axes of the carrier. The coordinates of a free link
are those of its own centre of mass, so its frame stays there, and the links that it carries are one more node, welded
to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.jit import inlined, njit
from ...core.math3 import add, cross, from_matrix, load3, matmul, matvec, matvec_t, scale, store3, symvec
from ...core.simd import store
from ...core.tables import allocate
from ...linalg.block_matrix import store_3
from ...model.tables import STATE_SIZE
from ...model.tree import BALL, COMMANDED, FREE, FREEDOM, NODE, WELD, Tree
from ..kinematics import load6, load9
from .kinematics import load_4, store9
from .state import copy_tail

LINK = np.dtype(
    [("row", "i8"), ("node", "i8"), ("part", "i8"), ("mass", "f8"), ("offset", "f8", 3), ("turned", "f8", 9),
     ("inertia", "f8", 6)],
    align=True,
)  # fmt: skip
"""A body or a link. row : of the kinematics table. node : that of its group. part : 0 where it is all there is of its node,
so that its frame is that of the node. offset, turned : o (m) and Q. mass, inertia : its own, in its own frame (kg, kg m²)."""


class Merged(NamedTuple):
    """A tree with one node for each group of links that are welded together."""

    tree: Tree
    links: Any  # LINK
    node_of_row: np.ndarray  # row of the kinematics table → node, −1 for none
    node_of: np.ndarray  # node of the whole tree → node


# Building ---------------------------------------------------------------------------------------------------------------


def merge_welds(tree: Tree, node_of_row: np.ndarray, merges: bool = True) -> Merged:
    """The merged tree, with a workspace of its own; the tree itself where nothing can be merged, or not `merges`.

    tree : the whole tree. node_of_row : row of the kinematics table → node of that, −1 for none.
    """
    group = _Groups(tree.nodes)
    if not merges or not group.absorbed.any():
        places = np.arange(len(tree.nodes))
        return Merged(tree, _links(tree.nodes, node_of_row, places, None), node_of_row, places)
    rows: list[Any] = []
    number = np.full(len(tree.nodes), -1)
    for i, node in enumerate(tree.nodes):
        if group.absorbed[i]:
            continue
        number[i] = len(rows)
        rows += group.nodes_of(i, node, number)
    node_of = number[group.carrier]
    nodes = np.array(rows, NODE).view(np.recarray)
    freedoms = np.array(tree.freedoms, FREEDOM).view(np.recarray)
    freedoms.node = number[freedoms.node]
    merged = allocate(Tree, {"nodes": len(nodes), "m": len(freedoms)}, nodes=nodes, freedoms=freedoms)
    rows_now = np.where(node_of_row >= 0, node_of[node_of_row], -1)
    return Merged(merged, _links(tree.nodes, node_of_row, node_of, group), rows_now, node_of)


def _links(nodes: Any, node_of_row: np.ndarray, node_of: np.ndarray, group: _Groups | None) -> Any:
    """The LINK table."""
    rows = np.flatnonzero(node_of_row >= 0)
    rows = rows[np.argsort(node_of_row[rows], kind="stable")]  # parents first
    links: Any = np.zeros(len(rows), LINK).view(np.recarray)
    own = node_of_row[rows]
    links.row, links.node = rows, node_of[own]
    links.mass, links.inertia = nodes.mass[own], nodes.inertia[own]
    links.turned = np.eye(3).ravel()
    if group is not None:
        links.part = group.size[group.carrier[own]] > 1
        links.offset = group.offset[own]
        links.turned = group.turned[own].reshape(-1, 9)
    return links


class _Groups:
    """The groups of nodes of a tree that are welded together. Of each node: its carrier, whether that absorbs it, and where
    it is in the frame of the group (`offset`, m, and `turned`)."""

    def __init__(self, nodes: Any) -> None:
        self.nodes, n = nodes, len(nodes)
        self.absorbed, self.carrier, self.size = np.zeros(n, bool), np.arange(n), np.ones(n, int)
        self.offset, self.turned = np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1))
        under_ball = {
            int(node.parent) for node in nodes if node.kind == BALL
        }  # a ball has coordinates in axes of its parent
        for i, node in enumerate(nodes):
            p = int(node.parent)
            if node.kind != WELD or p < 0 or i in under_ball or nodes.kind[self.carrier[p]] == COMMANDED:
                continue
            self.absorbed[i], self.carrier[i] = True, self.carrier[p]
            self.size[self.carrier[p]] += 1
            self.turned[i] = self.turned[p] @ node.turned.reshape(3, 3)
            self.offset[i] = self.offset[p] + self.turned[p] @ node.anchor_parent - self.turned[i] @ node.anchor
        for root in np.flatnonzero(~self.absorbed & (self.size > 1)):
            if nodes.kind[root] != FREE:
                members = np.flatnonzero(self.carrier == root)
                self.offset[members] -= self._mass_of(members)[1]

    def _mass_of(self, members: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """(mass, centre, inertia about it (3 × 3)) of some nodes of a group, in its frame; the centre of the first, if they
        have no mass."""
        masses, places = self.nodes.mass[members], self.offset[members]
        mass = float(masses.sum())
        center = masses @ places / mass if mass > 0.0 else places[0].copy()
        inertia = np.zeros((3, 3))
        for i in members:
            d, own, turned = self.offset[i] - center, _matrix(self.nodes.inertia[i]), self.turned[i]
            inertia += turned @ own @ turned.T + self.nodes.mass[i] * (d @ d * np.eye(3) - np.outer(d, d))
        return mass, center, inertia

    def nodes_of(self, i: int, node: Any, number: np.ndarray) -> list[Any]:
        """The rows of NODE of the group of a carrier. number : carrier → node of the merged tree."""
        row, parent = node.copy(), int(node.parent)
        if parent >= 0:
            turned = self.turned[parent]
            row.parent = number[self.carrier[parent]]
            row.anchor_parent = self.offset[parent] + turned @ node.anchor_parent
            if self.absorbed[parent]:
                row.axis = turned @ node.axis
                for name in ("turned", "still", "across"):
                    row[name] = (turned @ node[name].reshape(3, 3)).ravel()
        members = np.flatnonzero(self.carrier == i)
        if len(members) == 1:
            return [row]
        if node.kind != FREE:
            row.anchor = node.anchor + self.offset[i]
            row.mass, _, inertia = self._mass_of(members)
            row.inertia = _six(inertia)
            return [row]
        mass, center, inertia = self._mass_of(members[1:])
        if mass == 0.0:
            return [row]
        load = np.zeros(1, NODE).view(np.recarray)[0]
        load.parent, load.row, load.kind, load.joint, load.sign = number[i], -1, WELD, -1, 1.0
        load.first = load.last = node.last
        load.at, load.mass, load.inertia, load.anchor_parent = node.at, mass, _six(inertia), center
        load.turned = np.eye(3).ravel()
        return [row, load]


def _matrix(six: np.ndarray) -> np.ndarray:
    """(3, 3) from (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _six(m: np.ndarray) -> tuple[float, ...]:
    """The reverse."""
    return (m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2])


# In compiled code -------------------------------------------------------------------------------------------------------


@njit
def show_links(z, reduced, tree, links):
    """The mechanism's state y, and the rows of bodies and links in the kinematics table, where the merged tree is."""
    options, y, nodes, motion = reduced.options[0], reduced.y, tree.nodes, tree.motion
    rigid, kinematics = reduced.system.settings[0].rigid, reduced.system.kinematics
    for i in range(links.shape[0]):
        link = links[i]
        own, kin, row = motion[link.node], kinematics[link.row], link.row
        x, rotation, v, omega = load3(own.x), load9(own.rotation), load3(own.v), load3(own.omega)
        if link.part != 0:
            arm = matvec(rotation, load3(link.offset))
            x, v, rotation = add(x, arm), add(v, cross(omega, arm)), matmul(rotation, load9(link.turned))
        store3(kin.x, x)
        store9(kin.rotation, rotation)
        store3(kin.v, v)
        store3(kin.omega, omega)
        if row >= rigid:
            continue
        at, whole = STATE_SIZE * row, link.part == 0
        q = load_4(z, nodes[link.node].at + 3) if whole and nodes[link.node].kind == FREE else from_matrix(rotation)
        store_3(y, at, x)
        for k in range(4):
            store(y, at + 3 + k, q[k])
        store_3(y, at + 7, scale(link.mass, v))
        if whole:
            store_3(y, at + 10, symvec(load6(own.inertia), omega))
        else:
            turning = symvec(load6(link.inertia), matvec_t(rotation, omega))
            store_3(y, at + 10, matvec(rotation, turning))
    copy_tail(z, options.coordinates + options.speeds, y, STATE_SIZE * rigid)


@inlined
def velocity_of(link, own):
    """(v, ω) of a body or link in a node."""
    v, omega = load3(own.v), load3(own.omega)
    if link.part != 0:
        v = add(v, cross(omega, matvec(load9(own.rotation), load3(link.offset))))
    return v, omega


@njit
def show_link_velocities(kinematics, tree, links):
    """Velocities of bodies and links in the kinematics table, from those of the merged tree; poses stay."""
    motion = tree.motion
    for i in range(links.shape[0]):
        v, omega = velocity_of(links[i], motion[links[i].node])
        kin = kinematics[links[i].row]
        store3(kin.v, v)
        store3(kin.omega, omega)
