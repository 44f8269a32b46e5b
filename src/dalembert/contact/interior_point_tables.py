"""The tables of the contact solver of one time step, and how large its workspace must be."""

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACT
from ..tables import column

# Statuses. Of the first two the solution is at hand; NEED_MORE asks for a longer `envelope` (`Step.envelope_needed`).
SOLVED, NOT_CONVERGED, NEED_MORE, NOT_FINITE = range(4)

# What the solver is told (the first five), and what it tells.
STEP = np.dtype(
    [("bodies", "i8"), ("contacts", "i8"), ("groups", "i8"), ("max_iterations", "i8"), ("tolerance", "f8"),
     ("iterations", "i8"), ("envelope_needed", "i8"), ("placed", "i8"), ("half", "i8"),
     ("speed", "f8"), ("residual", "f8"), ("cone", "f8"), ("dual", "f8"), ("complementarity", "f8"),
     ("natural_map", "f8"), ("joints", "f8"), ("balance", "f8")],
    align=True,
)  # fmt: skip
# A contact in the variables of the Lorentz cone (see `interior_point`): force λ, slack, and their steps; value z(v) and the
# direction of sliding there; f and the spectrum of D (see `cone`) of λ's step f − D B δv; the scaling (β, w) and its right
# side q; compliance: J W Jᵀ of the normal, 0 between bodies that nothing moves; saved, prior: the force before the method
# of multipliers, and before its round.
CONE = np.dtype(
    [("force", "f8", 3), ("slack", "f8", 3), ("force_step", "f8", 3), ("slack_step", "f8", 3), ("value", "f8", 3),
     ("sliding", "f8", 2), ("q", "f8", 3), ("f", "f8", 3), ("d", "f8", 5), ("beta", "f8"), ("w", "f8", 3),
     ("compliance", "f8"), ("saved", "f8", 3), ("prior", "f8", 3)],
    align=True,
)  # fmt: skip
# A group of joint rows, over bodies a and b.
GROUP = np.dtype([("first", "i8"), ("rows", "i8"), ("a", "i8"), ("b", "i8")], align=True)
ROW = 12  # numbers a row in `jacobian`: linear and angular part of body a, then of body b
# What is kept of a joint row: the multiplier, its step, what it was before the method of multipliers, G v − g, and G W Gᵀ.
LINK = np.dtype(
    [("force", "f8"), ("force_step", "f8"), ("saved", "f8"), ("defect", "f8"), ("compliance", "f8")], align=True
)


class Problem(NamedTuple):
    """One time step at velocity level, n bodies; world axes, SI units. Body index n is the world. In and out:"""

    step: Any = column("1", STEP)
    mass: Any = column("n", unit="kg")
    inverse_mass: Any = column("n", unit="1/kg", doc="0: a body that nothing moves")
    inertia: Any = column("6 * n", unit="kg m²", doc="xx, yy, zz, xy, xz, yz")
    inverse_inertia: Any = column("6 * n")
    velocity: Any = column(
        "6 * n", unit="m/s, rad/s", doc="v then ω of each body; in: free of contacts and joints, out: the solution"
    )
    contacts: Any = column("contacts", CONTACT, doc="out: impulse")
    groups: Any = column("groups", GROUP)
    jacobian: Any = column("12 * rows")
    target: Any = column("rows", doc="what J v + compliance y must be")
    compliance: Any = column("rows", unit="1/kg, 1/(kg m²)")
    multiplier: Any = column("rows", doc="out")
    # Workspace
    cones: Any = column("contacts", CONE)
    links: Any = column("rows", LINK)
    vectors: Any = column("VECTORS * 6 * n")
    numbers: Any = column("(INTEGERS + 1) * n + 4 * (contacts + groups) + 1", np.int64)
    envelope: Any = column("entries", doc="both triangles; its length is known once the bodies are ordered")


# Vectors of 6 n numbers in `vectors`: v_free, the iterate, its step, the best iterate, M (v − v_free) − Jᵀ p − Gᵀ y, a
# right-hand side, what is left of it, and the same in the order of elimination.
FREE, POINT, DIRECTION, SAVED, GRADIENT, RIGHT, LEFT, ORDERED = range(8)
VECTORS = 8
INTEGERS = 6  # integers a body: place in the order, first column, start, degree, queue, level
