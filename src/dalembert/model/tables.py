"""The tables of mechanics: one record array for each kind of element, and the numbers that name the kinds.

A body index equal to the number of bodies means the world, which is a body of infinite mass: its row of the
`kinematics` table never changes, and its Jacobian blocks go to an area that is never read.
Vectors called anchor_* and axis_* are in the frame of the body of the same letter. SI units.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.tables import column, part
from ..energies.elements import Elements
from ..linalg.ordering import COLUMN, ENTRY
from ..linalg.ordering import UPDATE as BLOCK_UPDATE
from ..pairwise.laws import Interactions

STATE_SIZE = 13  # numbers a body has in the state vector: x (3), q (4), P (3), L (3)

# Parts of joints ------------------------------------------------------------------------------------------------------
POINT = 0  # anchor_b of body b lies at anchor_a of body a: 3 rows
DOT = 1  # axis_a · axis_b = value: 1 row
PLANE = 2  # axis_a · (anchor_b − anchor_a) = value: 1 row
DISTANCE = 3  # |anchor_b − anchor_a| = value: 1 row
CURVE = 4  # anchor_b lies on a curve fixed in body a: 2 rows
COUPLING = 5  # ratio s_1 + ratio₂ s_2 = value, of two coordinates: 1 row (gears, racks, screws)
CUSTOM = 6  # C(t, poses) by a user function: any number of rows up to 6
SOFT = 7  # the rate of a coordinate, with a bias of its own: 1 row (see `contact.limits`)
PRESCRIBED = 8  # a coordinate is a function of time: 1 row (see `dynamics.commands`)
CABLE = 9  # the length of a cable = value: 1 row, on any number of bodies (see `dynamics.cables`)

# Coordinates ----------------------------------------------------------------------------------------------------------
ANGLE = 0  # turn of body b about axis_a of body a (rad), counted over full turns
DISPLACEMENT = 1  # axis_a · (anchor_b − anchor_a) (m)
PARAMETER = 2  # parameter of the point of a curve fixed in body a that is nearest to anchor_b
LENGTH = 3  # of the cable at `curve` of the curves (m), which acts on bodies a and b at most
WRAP = 4  # wound angle (rad), with its turns, of the drum at `curve` of the curves; `axis_a[0]`: where its cable begins

# Forces ---------------------------------------------------------------------------------------------------------------
FIELD = 0  # uniform acceleration field `vector` on every body
SPRING = 1  # damped spring between two points
TORSION = 2  # damped spring on a coordinate
DRAG = 3  # linear and quadratic drag, on the velocity and on the spin
CONSTANT = 4  # constant force and torque, at a point, in world or body axes
MOTOR = 5  # force or torque on a coordinate: constant, or towards a speed within a limit
CUSTOM_FORCE = 6  # force and torque by a user function
CUSTOM_MOTOR = 7  # force or torque on a coordinate by a user function
CABLE_PULL = 8  # tension of the cable at `address` of the curves
# From here on, the impulses of time steps: on a coordinate, within bounds.
LIMITED = 9
STOP = 9  # s ≥ `rest` (side +1) or s ≤ `rest` (side −1)
DRY_FRICTION = 10  # as much as `limit` against the motion
SERVO = 11  # as much as `limit` either way, towards the speed `target`

# Cables, in the array of curves ---------------------------------------------------------------------------------------
# A cable is a header and its elements, from one end to the other. `ROUNDS`: 0 where all elements are points, 1 where each
# cylinder is between points, else 2. `CREEP`: m/s, below which friction does not act fully. `NOW`: the length found last (m).
# `ENTRY`: the address of the C function of cables (`dynamics.cables.cable_task`), written for a run. The rest of the header
# has what this function takes and returns. It takes two bodies, and of a cable that stretches stiffness (N/m), damping
# (N s/m) and length without tension (m). It returns ℓ̇ (m/s), J̇ v (m/s²), the gradients (1, m) of ℓ on the two bodies, elastic
# tension (N), whether there is one, the power of what is not elastic (W), and the elastic energy (J).
# Of an element, as given: its kind, body, and in the frame of this body its point or centre (m), axis and side (unit vectors;
# the cable is fixed to the side of a drum); radius (m); sense, 1 for a turn about the axis by the right hand; the angle that
# is the middle of the turn to which the angle of contact is counted, −1 where the cable may leave the pulley; the coefficient
# of friction; where the state has the wound angle of a drum; of a drum 1 where its cable has no end on it, 2 where it also
# runs in the plane of the centre. As found: whether the cable is off; the points where it arrives and leaves (m), their
# velocities (m/s), the angle of contact (rad), its rate, the arc (m), and the tension (N) after the element.
CABLE_COUNT, CABLE_ROUNDS, CABLE_CREEP, CABLE_NOW, CABLE_ENTRY = range(5)
CABLE_GIVEN = 4  # numbers of the header that the model has
CABLE_FIRST, CABLE_SECOND, CABLE_STIFFNESS, CABLE_DAMPING, CABLE_REST = range(5, 10)
CABLE_RATE, CABLE_BIAS, CABLE_GRADIENT_A, CABLE_GRADIENT_B = 10, 11, 12, 18
CABLE_ELASTIC, CABLE_TAUT, CABLE_POWER, CABLE_ENERGY = range(24, 28)
CABLE_HEADER = 28
CABLE_KIND, CABLE_BODY, CABLE_ANCHOR, CABLE_AXIS, CABLE_SIDE = 0, 1, 2, 5, 8
CABLE_RADIUS, CABLE_SENSE, CABLE_WINDOW, CABLE_FRICTION, CABLE_SLOT, CABLE_ENDLESS = 11, 12, 13, 14, 15, 16
CABLE_OFF, CABLE_ARRIVES, CABLE_LEAVES, CABLE_ARRIVES_RATE, CABLE_LEAVES_RATE = 17, 18, 21, 24, 27
CABLE_WRAP, CABLE_WRAP_RATE, CABLE_ARC, CABLE_TENSION = 30, 31, 32, 33
CABLE_ELEMENT = 34
CABLE_POINT, CABLE_PULLEY, CABLE_DRUM, CABLE_BLOCK = range(4)  # the last: a pulley that swivels

BODY = np.dtype(
    [("mass", "f8"), ("inverse_mass", "f8"), ("inertia", "f8", 6), ("inverse_inertia", "f8", 6),
     ("principal", "f8", 4), ("moments", "f8", 3)],
    align=True,
)  # fmt: skip
KINEMATICS = np.dtype(
    [("x", "f8", 3), ("rotation", "f8", 9), ("v", "f8", 3), ("omega", "f8", 3), ("momentum", "f8", 3),
     ("inverse_inertia", "f8", 6), ("force", "f8", 3), ("torque", "f8", 3), ("linear", "f8", 3), ("angular", "f8", 3),
     ("acceleration", "f8", 3), ("turning", "f8", 3)],
    align=True,
)  # fmt: skip
EQUAL_MOMENTS = 1e-12  # difference of moments of inertia, relative, that is none
SPIN = np.dtype(
    [("body", "i8"), ("size", "f8")], align=True
)  # a body with three different ones; |L| at the last completion
# `compliance`: what the multiplier of a joint of one row adds to the rate of that row, 1/kg or 1/(kg m²); zero but for soft
# constraints.
JOINT = np.dtype(
    [("row", "i8"), ("rows", "i8"), ("first", "i8"), ("last", "i8"), ("active", "i8"), ("pivot", "i8"),
     ("compliance", "f8")],
    align=True,
)  # fmt: skip
INCIDENCE = np.dtype(
    [("joint", "i8"), ("body", "i8"), ("is_point", "i8"), ("row", "i8"), ("rows", "i8"), ("offset", "i8"), ("hub", "i8"),
     ("target", "i8"), ("row_step", "i8"), ("column_step", "i8")],
    align=True,
)  # fmt: skip
PAIR = np.dtype(
    [("kind", "i8"), ("body", "i8"), ("left", "i8"), ("rows", "i8"), ("right", "i8"), ("columns", "i8"),
     ("target", "i8"), ("row_step", "i8"), ("column_step", "i8")],
    align=True,
)  # fmt: skip
POINT_POINT, POINT_ROWS, ROWS_ROWS = range(3)  # kinds of pairs
HUB = np.dtype([("body", "i8"), ("pivot", "i8"), ("x", "i8")], align=True)
PART = np.dtype(
    [("kind", "i8"), ("joint", "i8"), ("row", "i8"), ("a", "i8"), ("b", "i8"), ("block_a", "i8"), ("block_b", "i8"),
     ("block_c", "i8"), ("block_d", "i8"), ("first", "i8"), ("second", "i8"), ("address", "i8"),
     ("anchor_a", "f8", 3), ("anchor_b", "f8", 3), ("axis_a", "f8", 3), ("axis_b", "f8", 3), ("value", "f8"),
     ("ratio", "f8"), ("ratio_2", "f8")],
    align=True,
)  # fmt: skip
COORDINATE = np.dtype(
    [("kind", "i8"), ("a", "i8"), ("b", "i8"), ("at", "i8"), ("curve", "i8"), ("axis_a", "f8", 3), ("side_a", "f8", 3),
     ("side_b", "f8", 3), ("anchor_a", "f8", 3), ("anchor_b", "f8", 3)],
    align=True,
)  # fmt: skip
# Forces on each of a range of particles
PARTICLE_FIELD = 0  # m · vector + force
MEDIUM = 1  # −(linear + quadratic |u|) u, u the velocity relative to `velocity`
CUSTOM_FIELD = 2  # by a user function
WIND = 3  # on the panels `first` to `last`: triangles

FORCE = np.dtype(
    [("kind", "i8"), ("a", "i8"), ("b", "i8"), ("ledger", "i8"), ("coordinate", "i8"), ("in_body", "i8"),
     ("address", "i8"), ("active", "i8"), ("implicit", "i8"), ("anchor_a", "f8", 3), ("anchor_b", "f8", 3),
     ("vector", "f8", 3), ("torque", "f8", 3), ("stiffness", "f8"), ("damping", "f8"), ("rest", "f8"), ("target", "f8"),
     ("limit", "f8"), ("side", "f8"), ("restitution", "f8"), ("position", "f8")],
    align=True,
)  # fmt: skip

PARTICLE_FORCE = np.dtype(
    [("kind", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8"), ("address", "i8"),
     ("vector", "f8", 3), ("force", "f8", 3), ("velocity", "f8", 3), ("linear", "f8"), ("quadratic", "f8"),
     ("pressure", "f8")],
    align=True,
)  # fmt: skip
# What moves by command: a body, or the coordinate that row `row` of the joint `joint` prescribes (else −1). `kind`: of the
# motion; address: of its function; table: where its keyframes begin. `entry`: of its work in the state's ledger. Of a motion
# that is set: from `begin` (s) on, the pose `from_x`, `from_q` moves at `set_v`, `set_omega` until `end`. x, q, v, omega, a,
# alpha: at the time of the last evaluation; of a coordinate the first components. `before`, `after`: velocities in a step of
# contact. `surface`: velocity and spin of a surface that moves along itself, in the axes of the body.
COMMAND_FUNCTION, COMMAND_KEYFRAMES, COMMAND_SET = range(3)
COMMAND = np.dtype(
    [("body", "i8"), ("row", "i8"), ("joint", "i8"), ("kind", "i8"), ("address", "i8"), ("table", "i8"), ("entry", "i8"),
     ("begin", "f8"), ("end", "f8"), ("from_x", "f8", 3), ("from_q", "f8", 4), ("set_v", "f8", 3), ("set_omega", "f8", 3),
     ("x", "f8", 3), ("q", "f8", 4), ("v", "f8", 3), ("omega", "f8", 3), ("a", "f8", 3), ("alpha", "f8", 3),
     ("before_v", "f8", 3), ("before_omega", "f8", 3), ("after_v", "f8", 3), ("after_omega", "f8", 3),
     ("surface_v", "f8", 3), ("surface_omega", "f8", 3)],
    align=True,
)  # fmt: skip

PANEL = np.dtype([("nodes", "i8", 3)], align=True)
NODE = np.dtype([("particle", "i8")], align=True)

REACTION = np.dtype([("body", "i8"), ("sign", "f8"), ("anchor", "f8", 3)], align=True)

# How constraints are enforced -----------------------------------------------------------------------------------------
PROJECTION = 0
FEEDBACK = 1
PENALTY = 2
EXERTED = 6  # numbers that each force has in `System.exerted`
SCRATCH = 4 * STATE_SIZE + 26 * 6  # states of four bodies, and the results of a user constraint of six rows
# `open`: whether the rows that `choose_rows` chose count alone; `chooses`: whether the end of a step chooses them for the
# stages of the next one.
# `implicit`: whether forces that are marked so act as soft constraints, and are left out of the applied forces.
# `on_particles`: addresses of the C functions of fields, elements and laws between particles, 0 where there are none.
# `special`: that of what few scenes need; and whether there are rows and forces of that kind. `motions`: that of what moves
# by command.
SETTINGS = np.dtype(
    [("hold", "i8"), ("stiffness", "f8"), ("damping", "f8"), ("regularization", "f8"), ("deficient", "i8"),
     ("condition", "f8"), ("linear_residual", "f8"), ("length", "f8"), ("refactored", "i8"),
     ("ledger", "i8"), ("rigid", "i8"), ("particles", "i8"), ("stepped", "i8"), ("contact_entry", "i8"),
     ("rate", "f8"), ("solver", "i8"), ("solver_data", "i8"), ("unsolved", "i8"), ("implicit", "i8"),
     ("open", "i8"), ("chooses", "i8"), ("on_particles", "i8", 3), ("special", "i8"), ("special_rows", "i8"),
     ("special_forces", "i8"), ("motions", "i8")],
    align=True,
)  # fmt: skip

# Stages of a step, timed ----------------------------------------------------------------------------------------------
STAGES = ("mass properties", "J and J̇q̇", "assembly", "factorization", "solve", "forces", "update")
MASS, JACOBIAN, ASSEMBLY, FACTORIZATION, SOLVE, FORCE_STAGE, UPDATE = range(7)

# Entries of the ledger of a scene with contacts: the work of normal forces (impacts), and of friction.
CONTACT_WORK = ("contact: impacts", "contact: friction")
# More of them where surfaces resist rolling or spinning, and where they are compliant.
TURNING_ENTRY = "contact: rolling and spinning"
SPRING_ENTRIES = ("contact: springs", "contact: dampers")
# Entries of the ledger after the work of each non-conservative force ----------------------------------------------------
LEDGER = ("constraint work", "projection work") + tuple(
    f"{impulse} {axis}"
    for impulse in ("force impulse", "torque impulse", "reaction impulse", "reaction torque impulse")
    for axis in "xyz"
)
CONSTRAINT_WORK, PROJECTION_WORK, FORCE_IMPULSE, TORQUE_IMPULSE, REACTION_IMPULSE, REACTION_TORQUE = 0, 1, 2, 5, 8, 11
ENTRIES = len(LEDGER)
TIMES = len(STAGES) + 3  # of `System.timer`


class System(NamedTuple):
    """The tables of mechanics: those of the model first, then the workspace of `dynamics`.

    Particles that joints or forces of bodies take part in are *nodes*: they have a row of `bodies` and one of `kinematics`
    after the rigid bodies, as bodies that cannot turn (inverse inertia 0), so that everything there holds for them too.
    Units of rows are those of the constraint: m or rad for its error, N or N m for its multiplier.
    """

    bodies: Any = column(
        dtype=BODY, writer="model.compile", doc="rigid bodies and then nodes",
        unit="mass kg, inverse_mass 1/kg, inertia kg m², inverse_inertia 1/(kg m²), principal 1, moments kg m²",
    )  # fmt: skip
    parts: Any = column(
        dtype=PART, writer="model.compile", doc="of joints",
        unit="anchor_a m, anchor_b m, axis_a 1, axis_b 1, value m or 1, ratio 1 or m, ratio_2 1 or m",
    )  # fmt: skip
    joints: Any = column(dtype=JOINT, unit="compliance 1/kg or 1/(kg m²)", writer="model.graph")
    incidences: Any = column(
        dtype=INCIDENCE, writer="model.graph", doc="one a (joint's group of rows, body), sorted by joint"
    )
    pairs: Any = column(
        dtype=PAIR, writer="model.graph",
        doc="two incidences of one body; the target block is stepped through by row_step and column_step",
    )  # fmt: skip
    hubs: Any = column(dtype=HUB, writer="model.graph", doc="bodies of many joints, which stay unknowns")
    coordinates: Any = column(
        dtype=COORDINATE, unit="axis_a 1, side_a 1, side_b 1, anchor_a m, anchor_b m", writer="model.compile"
    )
    forces: Any = column(
        dtype=FORCE, writer="model.compile",
        unit="anchor_a m, anchor_b m, vector N or m/s² or 1, torque N m, stiffness N/m or N m/rad, "
        "damping N s/m or N m s/rad, rest m or rad, target m/s or rad/s, limit N or N m, side 1, restitution 1, "
        "position m or rad",
    )  # fmt: skip
    reactions: Any = column(dtype=REACTION, unit="sign 1, anchor m", writer="model.compile", doc="one a joint")
    columns: Any = column(dtype=COLUMN, writer="linalg.ordering")
    entries: Any = column(dtype=ENTRY, writer="linalg.ordering")
    updates: Any = column(dtype=BLOCK_UPDATE, writer="linalg.ordering")
    settings: Any = column(
        "1", SETTINGS, writer="simulation",
        unit="stiffness 1/s² or N/m, damping 1/s or N s/m, regularization 1, condition 1, linear_residual 1, length m, "
        "rate 1/s",
    )  # fmt: skip
    kinematics: Any = column(
        "bodies + 1", KINEMATICS, writer="dynamics.kinematics", doc="one a body or node, and the world",
        unit="x m, rotation 1, v m/s, omega rad/s, momentum kg m²/s, inverse_inertia 1/(kg m²), force N, torque N m, "
        "linear m/s², angular rad/s², acceleration m/s², turning rad/s²",
    )  # fmt: skip
    spins: Any = column(dtype=SPIN, unit="size kg m²/s", writer="dynamics.kinematics")
    nodes: Any = column(dtype=NODE, writer="model.compile")
    particle_forces: Any = column(
        dtype=PARTICLE_FORCE, writer="model.particles",
        unit="vector m/s², force N, velocity m/s, linear N s/m, quadratic N s²/m², pressure N s²/m⁴",
    )  # fmt: skip
    panels: Any = column(dtype=PANEL, writer="model.particles")
    elements: Any = part(Elements)
    interactions: Any = part(Interactions)
    pushes: Any = column(
        "6 * rigid_bodies", unit="N, N m", writer="deformable.step",
        doc="forces and torques from particles with a time step of their own",
    )  # fmt: skip
    diagonal_slots: Any = column(
        dtype=np.int64, writer="deformable.linear", doc="blocks on the diagonal of the matrix of such a step"
    )
    particle_mass: Any = column(unit="kg", writer="model.particles")
    particle_inverse_mass: Any = column(unit="1/kg", writer="model.particles", doc="0 for what is pinned")
    curves: Any = column(
        unit="m",
        writer="model.compile",
        doc="piecewise polynomials, see `dynamics.jacobian`; cables, see `dynamics.cables`",
    )
    commands: Any = column(
        dtype=COMMAND, writer="dynamics.commands", doc="what moves by command",
        unit="begin s, end s, from_x m, from_q 1, set_v m/s, set_omega rad/s, x m or rad, q 1, v m/s or rad/s, omega rad/s, "
        "a m/s² or rad/s², alpha rad/s², before_v m/s, before_omega rad/s, after_v m/s, after_omega rad/s, surface_v m/s, "
        "surface_omega rad/s",
    )  # fmt: skip
    keyframes: Any = column(unit="any", writer="model.compile", doc="see `dynamics.commands`")
    jacobian: Any = column(
        "jacobian_size", unit="1, m", writer="dynamics.jacobian",
        doc="of a POINT: its sign and arm (4 numbers); of other rows: (rows × 6), linear then angular",
    )  # fmt: skip
    error: Any = column("rows", unit="m or rad", writer="dynamics.jacobian", doc="C")
    bias: Any = column(
        "rows", unit="m/s² or rad/s²", writer="dynamics.jacobian", doc="J̇ v, and ∂²C/∂t² of what time prescribes"
    )
    partial: Any = column("rows", unit="m/s or rad/s", writer="dynamics.commands", doc="∂C/∂t")
    scale: Any = column("unknowns", unit="1/kg", fill=np.nan, writer="dynamics.constraints", doc="diagonal of J W Jᵀ")
    values: Any = column(
        "values", unit="1/kg", fill=np.nan, writer="dynamics.constraints", doc="blocks of the factorization"
    )
    lower: Any = column("values", unit="1", fill=np.nan, writer="dynamics.constraints", doc="its factor")
    rhs: Any = column("unknowns", unit="m/s²", fill=np.nan, writer="dynamics.constraints")
    multipliers: Any = column("unknowns", unit="N or N m", writer="dynamics.constraints", doc="λ of the last solve")
    residual: Any = column("unknowns", unit="m/s²", fill=np.nan, writer="dynamics.constraints")
    independent: Any = column(
        "unknowns",
        np.int64,
        writer="dynamics.constraints",
        doc="whether a row counts within time steps: see `choose_rows`",
    )
    scratch: Any = column(
        "SCRATCH", unit="any", fill=np.nan, writer="dynamics.forces", doc="arguments and results of user functions"
    )
    power: Any = column(
        "ledger + ENTRIES", unit="W", fill=np.nan, writer="dynamics.dynamics", doc="rates of the ledger"
    )
    exerted: Any = column(
        "EXERTED * forces", unit="N, N m", fill=np.nan, writer="dynamics.forces",
        doc="force and torque of each that has no potential; see `dynamics.forces`",
    )  # fmt: skip
    energies: Any = column(
        "3", unit="J", fill=np.nan, writer="dynamics.dynamics",
        doc="kinetic and potential; the potential of the particles' own forces, last evaluated",
    )  # fmt: skip
    rates: Any = column("rows", unit="m/s or rad/s", fill=np.nan, writer="dynamics.dynamics", doc="J v")
    wrenches: Any = column(
        "6 * joints", unit="N, N m", fill=np.nan, writer="dynamics.dynamics",
        doc="force and torque of each joint on its second body",
    )  # fmt: skip
    timer: Any = column("TIMES", unit="ticks", writer="core.profiler", doc="see `core.profiler`")
