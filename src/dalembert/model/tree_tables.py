"""The tables of a tree of links.

A *node* is a link together with the joint that carries it; nodes stand parents first. Its frame is the frame of its body: at
the centre of mass. The *coordinates* u of a node are those of its joint (what is free has the position of its centre of mass
and its quaternion; a ball has the quaternion of the child's turn since the start, in the axes of the parent), the *speeds* w
are u̇ of a hinge (rad/s) or a slider (m/s), the angular velocity relative to the parent, in the axes of the parent, of a
ball, and velocity and angular velocity in world axes of what is free. A *freedom* is one of these speeds.

All that moves is in world axes; a wrench is a force and a torque about the centre of mass of its link. With v, ω the
velocities of that point and of the link,

    (v, ω) = (v_p + ω_p × r, ω_p) + Σ S_k w_k,      r = x − x_p,

S_k the column of freedom k. Their rates are those of the parent, taken along in the same way, plus S ẇ, plus a bias.
"""

from typing import Any, NamedTuple

import numpy as np

from ..tables import column

WELD, HINGE, SLIDER, BALL, FREE = range(5)
COORDINATES = (0, 1, 1, 4, 7)  # numbers u has of a joint of each kind
FREEDOMS = (0, 1, 1, 3, 6)

NODE = np.dtype(
    [("parent", "i8"), ("row", "i8"), ("kind", "i8"), ("first", "i8"), ("last", "i8"), ("at", "i8"), ("mass", "f8"),
     ("sign", "f8"), ("joint", "i8"), ("inertia", "f8", 6),
     ("anchor_parent", "f8", 3), ("anchor", "f8", 3), ("axis", "f8", 3), ("turned", "f8", 9),
     ("still", "f8", 9), ("across", "f8", 9)],
    align=True,
)  # fmt: skip
"""parent : −1 is the world. row : of the kinematics table, −1 for what is in between the two axes of one joint. first, last :
its freedoms; at : its first coordinate. anchor_parent, anchor : the joint's point in the frames of parent and link. axis : in
the frame of the parent. The rotation from link to parent is that at the start, `turned`, but of a hinge, which is
still + cos u turned + sin u across (Rodrigues, times that at the start). joint : what it bears is recorded as of this one, −1
if as of none; sign : −1 where that is told of the parent."""

FREEDOM = np.dtype([("node", "i8"), ("before", "i8"), ("armature", "f8")], align=True)
"""before : the freedom that comes before it on the way from the root, −1 if none."""

MOTION = np.dtype(
    [("x", "f8", 3), ("rotation", "f8", 9), ("r", "f8", 3), ("arm", "f8", 3), ("v", "f8", 3), ("omega", "f8", 3),
     ("bias", "f8", 3), ("bias_turn", "f8", 3), ("inertia", "f8", 6), ("force", "f8", 3), ("torque", "f8", 3),
     ("acceleration", "f8", 3), ("turning", "f8", 3), ("mass_block", "f8", 6), ("mixed_block", "f8", 9),
     ("inertia_block", "f8", 6), ("bearing", "f8", 3), ("bearing_torque", "f8", 3)],
    align=True,
)  # fmt: skip
"""r : from the parent; arm : to the joint. force, torque : applied to the link. acceleration, turning : v̇, ω̇. The three
blocks: how force and torque depend on these, (M, H; Hᵀ, J), of the link or of all that it carries; bearing : what is left of
them without accelerations, or what a joint bears."""

COLUMN = np.dtype([("linear", "f8", 3), ("angular", "f8", 3), ("force", "f8", 3), ("torque", "f8", 3), ("response", "f8"),
                   ("effort", "f8")], align=True)  # fmt: skip
"""S_k, and what the algorithms find of it: force and torque of a unit of its rate, its response, its effort."""


class Tree(NamedTuple):
    """n nodes, m speeds."""

    nodes: Any = column("nodes", NODE)
    freedoms: Any = column("m", FREEDOM)
    motion: Any = column("nodes", MOTION, unit="x m, v m/s, omega rad/s, force N, torque N m")
    columns: Any = column("m", COLUMN, doc="one a freedom")
    matrix: Any = column("m * m", fill=np.nan, doc="mass matrix, or its factor")
    efforts: Any = column("m", unit="N, N m", doc="applied along the freedoms")
    rates: Any = column("m", unit="m/s², rad/s²", fill=np.nan, doc="ẇ")
    scratch: Any = column("m", fill=np.nan)
