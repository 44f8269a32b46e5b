"""The tables of a step of contact in coordinates of bodies: options, report and workspace.

In order: records (OPTIONS, REPORT, BOUND, SOFT, CALLBACKS), the packed velocities of bodies and rows of contacts, the tables
`Stepping` and `ContactTables`, and the calls of C functions that a step makes. All functions of a step take `ContactTables`,
or the one table of it that they read.
"""

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import Collision
from ..core.c_function import call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, scale, sub, symvec
from ..core.simd import copy, load, store
from ..core.tables import column, own_address, part
from ..dynamics.commands import surface_velocity
from ..model.tables import LEDGER, STATE_SIZE, System

# Records ---------------------------------------------------------------------------------------------------------------

MANY = 300  # contacts: islands of more than these are solved less precisely

# `predict`: whether some force may depend on velocities. `corrects`: whether one does that the step does not solve for.
# `finishes`: whether islands that sweeps leave unsolved go to the converging solver, or `iterations` are all they get.
# `tolerance_of_many`: m/s, that of a solver with a relative tolerance in an island of more than MANY contacts; 0: the same.
# `slop`: m, overlap that is tolerated; `kept`: m, gap over which a contact keeps its force. `fresh`: whether the state was
# set from outside, so that the contacts ahead of it are
# unknown. `separates`: whether the solver finds displacements too (`solvers.ContactSolver`). `sleep_after`: s of slowness,
# below `sleep_speed` (m/s), after which bodies sleep; zero: never. `ledger`: where the entries of contact stand in the
# state. `fast`: whether some body may move by more than a part of its thickness in a step (`fast`). `fall`: half of what
# weight moves a body by in a step, m: see `velocities.set_travel`. `dt` and `whole`: the length of a step (s); in a step that
# is made in parts `dt` is that of the part (`divided_steps`).
OPTIONS = np.dtype(
    [("dt", "f8"), ("margin", "f8"), ("separates", "i8"), ("iterations", "i8"), ("tolerance", "f8"), ("ledger", "i8"),
     ("predict", "i8"), ("corrects", "i8"), ("finishes", "i8"), ("tolerance_of_many", "f8"), ("slop", "f8"), ("kept", "f8"),
     ("fresh", "i8"),
     ("sleep_after", "f8"), ("sleep_speed", "f8"), ("start", "f8"), ("fast", "i8"), ("fall", "f8"), ("whole", "f8")],
    align=True,
)  # fmt: skip
# What the steps reached. `deepest`: the worst overlap (m) before its correction, `largest_residual`: of the natural map
# (m/s), both since the last frame; `worst_`: the same of the whole run; `residual` and `aim`: of the last step, and its
# tolerance (m/s); `unsolved`: steps whose residual missed it; `overlap`: the deepest of the last step (m); `status`: of its
# solver; `naps`: islands that fell asleep; `wants_finisher`: whether steps need the converging solver for islands;
# `impacts`: of fast bodies in free motion; `held`: half steps in which fast bodies had too many, and were held where they
# were; `struck`: how many rows of that table the step has, `room`: how many it needs; `unnoted`: whether the impulses of the
# contacts are of this step, and not there yet; `unstored`: whether they are to be stored for the next; `way_residual`,
# `way_aim`: of its worst impact in free motion (m/s); `kept`: whether the state of collision detection is saved, should this
# step be made again; `passed`: whether this step was begun before, and nothing met in its first half; `wants_continuous`:
# whether continuous detection was needed; `jolted`: whether there were impacts since the last middle of a
# step, 0 or 1; 2 before the first (`curved_paths.AT_START`). Of `divided_steps`: `done`: how much of this step was made (s),
# in how many `parts`; `last`: the length of the last part (s); `hits`: what contacts that hit do in this part; `hit`: when,
# but for as much as it is `unsure` (s); `kept_struck`: how many rows `struck_before` has. `caught`: how often the
# rounds of the impacts of an elastic island ran out (`restitution`). `crowded`: whether elastic bodies were caught between
# others, and what they meet is left to continuous detection.
REPORT = np.dtype(
    [("steps", "i8"), ("contacts", "i8"), ("iterations", "i8"), ("unsolved", "i8"), ("deepest", "f8"),
     ("worst_penetration", "f8"), ("largest_residual", "f8"), ("worst_residual", "f8"), ("residual", "f8"), ("aim", "f8"),
     ("overlap", "f8"), ("status", "i8"), ("naps", "i8"), ("wants_finisher", "i8"), ("impacts", "i8"), ("held", "i8"),
     ("struck", "i8"), ("room", "i8"), ("unnoted", "i8"), ("way_residual", "f8"), ("way_aim", "f8"), ("unstored", "i8"),
     ("kept", "i8"), ("passed", "i8"), ("wants_continuous", "i8"), ("left", "i8"), ("jolted", "i8"),
     ("done", "f8"), ("parts", "i8"), ("last", "f8"), ("hits", "i8"), ("hit", "f8"), ("unsure", "f8"), ("kept_struck", "i8"),
     ("caught", "i8"), ("crowded", "i8")],
    align=True,
)  # fmt: skip

# What a step with impacts in free motion did to a pair of colliders a, b, but for the last of its solutions, which is in the
# table of contacts: a point, axes as those of a contact, the sum of the impulses on b, in these, and their moment about the
# point, with that of friction against turning, in world axes.
STRUCK = np.dtype(
    [("a", "i8"), ("b", "i8"), ("position", "f8", 3), ("frame", "f8", 9), ("impulse", "f8", 3), ("moment", "f8", 3)],
    align=True,
)  # fmt: skip

# A force on a coordinate within bounds (see `limits`): its row of the table of forces, its entry in the state's ledger, its
# bodies, the row of J (of a stop: toward the inside), bounds of the impulse, the bias of the rate, the rate before the
# impulses and at the start of the step, the distance to the stop, the response to a unit impulse (OFF: none) and the
# compliance beside it, the impulse, that at the start of a round of impacts, that of impacts at a stop and the rate after
# them, that of a displacement, and, for the interior point solver, the active bound. In joint coordinates, `soft` is the
# row of that table that acts as this bound; −1 if none does. `freedom` is that of a joint of a tree, whose row of J is
# `sign` there and nothing else, and `at` is where the state has its coordinate; −1 of others. `earlier`: the impulses of
# earlier parts of the step (`divided_steps`). `slide`: what moving surfaces of its bodies add to the rate of packed
# velocities.
BOUND = np.dtype(
    [("force", "i8"), ("entry", "i8"), ("a", "i8"), ("b", "i8"), ("linear_a", "f8", 3), ("angular_a", "f8", 3),
     ("linear_b", "f8", 3), ("angular_b", "f8", 3), ("least", "f8"), ("most", "f8"), ("bias", "f8"), ("before", "f8"),
     ("start", "f8"), ("gap", "f8"), ("response", "f8"), ("compliance", "f8"), ("impulse", "f8"),
     ("first_impulse", "f8"), ("impact", "f8"), ("impact_speed", "f8"), ("correction", "f8"), ("state", "i8"),
     ("soft", "i8"), ("freedom", "i8"), ("at", "i8"), ("sign", "f8"), ("earlier", "f8"), ("slide", "f8")],
    align=True,
)  # fmt: skip
# A force on a coordinate of a joint that acts as a soft constraint (see `limits`): its row of the table of forces, its
# entry in the state's ledger, its coordinate and bodies, the row of J, where the forces on the same coordinate begin and
# end in this table; in coordinates of bodies its node among the joints, its row and its part; in joint coordinates its
# freedom, and `at`, where the state has its coordinate. `response` of the coordinate to a unit impulse at the initial pose,
# and `faint`, an inertia that is negligible. Of the law in this step: λ = push − resist ṡ⁺ + keep ṡ⁻, and `lost`, the share
# of its damping that is numerical. The coordinate, its rate at the start of the step, its change of rate in half a drift, the
# impulse, and the active limit. Of the first row of a coordinate: the step, stiffness and damping for which `inertia` and
# `damping` were fitted last. `earlier`, `slide`: as of a bound.
SOFT = np.dtype(
    [("force", "i8"), ("entry", "i8"), ("coordinate", "i8"), ("a", "i8"), ("b", "i8"), ("linear_a", "f8", 3),
     ("angular_a", "f8", 3), ("linear_b", "f8", 3), ("angular_b", "f8", 3), ("first", "i8"), ("end", "i8"), ("joint", "i8"),
     ("row", "i8"), ("part", "i8"), ("freedom", "i8"), ("response", "f8"), ("faint", "f8"), ("push", "f8"),
     ("resist", "f8"), ("keep", "f8"), ("lost", "f8"), ("value", "f8"), ("before", "f8"), ("drift", "f8"),
     ("impulse", "f8"), ("state", "i8"), ("at", "i8"), ("of_h", "f8"), ("of_k", "f8"), ("of_d", "f8"), ("inertia", "f8"),
     ("damping", "f8"), ("earlier", "f8"), ("slide", "f8")],
    align=True,
)  # fmt: skip
OFF = 0.0
WAITING = -1.0  # instead of the response of a stop that does not act: it is found when it first does
HELD, AT_LEAST, AT_MOST = range(3)

# Addresses of the C functions that a step calls: the mechanism, the same without rows of soft constraints (`plain`), and
# collision detection, each with the `data` for it; what acts on coordinates of joints (`limits`, 0 where nothing does) and
# the solver (0 for Gauss–Seidel, which is part of the step), which take the address of `ContactTables`. `workspace`: the
# address of the table that only the solver knows. `coordinates`: the function of joint coordinates, which is `limits` as well
# (0: those of bodies), and the addresses of the two tables that only it knows. `finisher`: a solver of second order for
# islands that sweeps leave unsolved (0: none), with the number of the island. `continuous`:
# continuous collision detection; 0 until something is fast. `surfaces`: the function of surface laws (`surface_laws`), in the
# coordinates of the step, and the address of the table that only it knows; 0 where no surface needs it. `impacts`: likewise
# the impacts of mechanisms; 0 where nothing that has joints bounces.
CALLBACKS = np.dtype(
    [("mechanism", "i8"), ("mechanism_data", "i8"), ("plain", "i8"), ("plain_data", "i8"), ("detector", "i8"),
     ("detector_data", "i8"), ("limits", "i8"), ("solver", "i8"), ("workspace", "i8"), ("coordinates", "i8"),
     ("reduced", "i8"), ("joint_space", "i8"), ("finisher", "i8"), ("continuous", "i8"), ("rides", "i8"),
     ("surfaces", "i8"), ("surface_tables", "i8"), ("impacts", "i8"), ("impact_rows", "i8")],
    align=True,
)  # fmt: skip

# What each body brings to its island: its speeds in the packed vectors (in joint coordinates those of its whole assembly,
# with the first of its bodies), and likewise its bounds.
MEMBER = np.dtype([("first_speed", "i8"), ("end_speed", "i8"), ("first_bound", "i8"), ("end_bound", "i8")], align=True)

# Velocities of bodies, packed -------------------------------------------------------------------------------------------

# Numbers a body has in `motion`: v, ω (world axes), 1/m, and I⁻¹ in world axes as six, then three zeros, so that two lines of
# the cache hold a row; the world's last row is zero.
MOTION = 16
LINEAR, ANGULAR, INVERSE_MASS, INVERSE_INERTIA = 0, 3, 6, 7
SPEEDS = 6  # of them that are velocities
# Numbers a contact has in `rows`: its 3 × 3 response K = J W Jᵀ as six (nn, nt, ns, tt, ts, ss), 1/K_nn, the step of
# friction (1 over the larger eigenvalue of K_tt) and its relative velocity (n, t, s) before the step.
ROW = 11
RESPONSE, INVERSE_NORMAL, FRICTION_STEP, BEFORE = 0, 6, 7, 8


@inlined
def three(values, at):
    """values[at : at + 3] as a vector."""
    return (load(values, at), load(values, at + 1), load(values, at + 2))


@inlined
def six(values, at):
    """values[at : at + 6], a symmetric matrix as (xx, yy, zz, xy, xz, yz)."""
    return (
        load(values, at), load(values, at + 1), load(values, at + 2), load(values, at + 3), load(values, at + 4),
        load(values, at + 5),
    )  # fmt: skip


@inlined
def put_three(values, at, a):
    """values[at : at + 3] = a."""
    store(values, at, a[0])
    store(values, at + 1, a[1])
    store(values, at + 2, a[2])


@inlined
def point_velocity(motion, body, arm):
    """v + ω × arm: the velocity of the point at `arm` from the centre of mass, world axes."""
    at = MOTION * body
    return add(three(motion, at + LINEAR), cross(three(motion, at + ANGULAR), arm))


@inlined
def relative_velocity(motion, contact, arm_a, arm_b):
    """Velocity of the point of b less that of a, world axes."""
    return sub(point_velocity(motion, contact.b, arm_b), point_velocity(motion, contact.a, arm_a))


@inlined
def push(motion, body, impulse, arm, sign):
    """v ← v ± p/m, ω ← ω ± I⁻¹ (arm × p) for an impulse p at `arm`."""
    at = MOTION * body
    turn = symvec(six(motion, at + INVERSE_INERTIA), cross(arm, impulse))
    put_three(motion, at + LINEAR, add_scaled(three(motion, at), sign * load(motion, at + INVERSE_MASS), impulse))
    put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), sign, turn))


@njit
def copy_velocities(island, members, source, target):
    """Copy the velocities of the bodies of an island from one packed table to another."""
    for m in range(island.first_member, island.end_member):
        copy_velocity(members[m], source, target)


@inlined
def copy_velocity(body, source, target):
    """Copy the velocity of a body likewise."""
    for i in range(MOTION * body, MOTION * body + SPEEDS):
        store(target, i, load(source, i))


@njit
def clear_velocities(motion, out):
    """Fill `out` with the masses of `motion` and zero velocities."""
    copy(out, motion)
    for i in range(motion.shape[0] // MOTION):
        put_three(out, MOTION * i + LINEAR, (0.0, 0.0, 0.0))
        put_three(out, MOTION * i + ANGULAR, (0.0, 0.0, 0.0))


@njit
def load_motion(y, system, motion):
    """Fill `motion` with v = P/m, ω = I⁻¹ L, 1/m and I⁻¹ from the momenta in y, at the orientations of the kinematics
    table; of bodies that move by command, whose 1/m and I⁻¹ are zero, with the velocities there and those of their
    surfaces, which joints and bounds subtract again."""
    for i in range(system.bodies.shape[0]):
        load_motion_of(i, y, system.bodies, system.kinematics, motion)
    for i in range(system.commands.shape[0]):
        row = system.commands[i]
        if row.body >= 0:
            at, (slide, spin) = MOTION * row.body, surface_velocity(row)
            put_three(motion, at + LINEAR, add(three(motion, at + LINEAR), slide))
            put_three(motion, at + ANGULAR, add(three(motion, at + ANGULAR), spin))


@njit
def load_motion_of(i, y, bodies, kinematics, motion):
    """The same of body i."""
    kin = kinematics[i]
    at, to = STATE_SIZE * i, MOTION * i
    w = bodies[i].inverse_mass
    put_three(motion, to + LINEAR, scale(w, three(y, at + 7)))
    store(motion, to + INVERSE_MASS, w)
    inverse = kin.inverse_inertia
    s = (inverse[0], inverse[1], inverse[2], inverse[3], inverse[4], inverse[5])
    for k in range(6):
        store(motion, to + INVERSE_INERTIA + k, s[k])
    put_three(motion, to + ANGULAR, symvec(s, three(y, at + 10)))
    if w == 0.0:
        put_three(motion, to + LINEAR, (kin.v[0], kin.v[1], kin.v[2]))
        put_three(motion, to + ANGULAR, (kin.omega[0], kin.omega[1], kin.omega[2]))


@inlined
def exerts(tables):
    """Whether something acts on the bodies but fields, which have a potential; particles with steps of their own do."""
    return tables.stepping.options[0].predict != 0 or tables.system.settings[0].stepped != 0


@njit
def add_powers(h, y, power):
    """Add the work of so long (s) at the powers of the applied forces to the ledger."""
    first = y.shape[0] - power.shape[0]
    for i in range(power.shape[0] - len(LEDGER)):
        y[first + i] += h * power[i]


# Tables ----------------------------------------------------------------------------------------------------------------

STEP_STAGES = ("forces and joints", "collision detection", "contact solver", "update")
SMOOTH, DETECTION, SOLVER, UPDATE = range(4)
TIMER_SIZE = len(STEP_STAGES) + 3  # see `core.profiler`


IMPACT = 10  # numbers of an impact, see `fast`


class Stepping(NamedTuple):
    """What a step of contact needs beside the mechanism and collision detection; `rows` of sizes are those of joints."""

    options: Any = column("1", OPTIONS)
    report: Any = column("1", REPORT)
    saved: Any = column("state", doc="the state at the start of the step")
    unforced: Any = column(
        "state", doc="the state in the middle of the step before forces, if some depend on velocities"
    )
    kept_forces: Any = column("6 * bodies", unit="N, N m", doc="force and torque on bodies as they were")
    kept_exerted: Any = column("exerted", unit="any", doc="`exerted` of the mechanism, likewise")
    motion: Any = column(
        "packed", unit="m/s, rad/s", doc="velocities of bodies, see MOTION; in joint coordinates the speeds"
    )
    free_motion: Any = column("packed", unit="m/s, rad/s", doc="`motion` without impulses, for the converging solver")
    shift: Any = column("packed", unit="m, rad", doc="displacements that remove overlap, laid out like `motion`")
    members: Any = column("bodies", MEMBER)
    rows: Any = column("ROW * contacts", doc="responses of contacts, see ROW")
    corrections: Any = column("contacts", unit="kg m", doc="normal multipliers of the displacements")
    wide: Any = column("0", doc="contacts of groups, see `wide_rows`; none where nothing is swept so")
    wide_result: Any = column(
        "1", unit="any", doc="of a job over groups that a thread does by itself; each has its own"
    )
    wide_sums: Any = column("0", doc="two sums over each group, or first what of its impulses is taken")
    before_impulses: Any = column(
        "3 * contacts", unit="N s; kg m", doc="before the last sweep, see `parallel.carry_on`"
    )
    wide_before: Any = column("0", doc="the same of groups")
    before_motion: Any = column(
        "MOTION * (bodies + 1)", unit="m/s, rad/s; m, rad", doc="velocities or displacements before it, likewise"
    )
    wide_bodies: Any = column(
        "0", np.int32, doc="rows of `motion` of the bodies of each group: first a of each pair, then b"
    )
    single_wide: Any = column("0", np.float32, doc="`wide` in single precision, see `large_islands`")
    single_before: Any = column("0", np.float32, doc="`wide_before`, likewise")
    single_motion: Any = column("0", np.float32, unit="m/s, rad/s", doc="`motion`, likewise")
    single_before_motion: Any = column("0", np.float32, unit="m/s, rad/s", doc="`before_motion`, likewise")
    first_impulses: Any = column(
        "3 * contacts", unit="N s", doc="of a first solution with restitution, see `restitution`"
    )
    first_motion: Any = column("packed", unit="m/s, rad/s", doc="`motion` before a round of `mechanism_impacts`")
    first_joint_impulses: Any = column("rows", unit="N s, N m s", doc="impulses of joints, likewise")
    impacts: Any = column("3 * contacts", unit="N s", doc="impulses of the impacts of a step, see `restitution`")
    impact_speeds: Any = column("contacts", unit="m/s", doc="normal velocities after them, where there was one")
    kick: Any = column("MOTION * (bodies + 1)", unit="m/s, rad/s", doc="what forces add to the velocities in a step")
    bounds: Any = column(dtype=BOUND)
    soft: Any = column(dtype=SOFT)
    numbers_of_bounds: Any = column(doc="the memory of `bounds`, number by number")
    numbers_of_soft: Any = column(doc="likewise of `soft`")
    saved_bounds: Any = column(doc="these at the start of the step")
    saved_soft: Any = column(doc="likewise")
    # Fast bodies
    thickness: Any = column("bodies", unit="m", doc="half the least thickness of each body, infinite without a shape")
    swing: Any = column("bodies", unit="m", doc="how far from the centre of a body its rotation moves points")
    walls: Any = column(unit="m", doc="half the least thickness of each collider")
    moves: Any = column("bodies", unit="m", doc="displacement of a fast body in a step; −1: not fast")
    met: Any = column("bodies", np.int64, doc="impacts of a body in this half of a step, after the usual ones")
    hit: Any = column("bodies", unit="s", doc="until the first impact of a body in this half of a step; infinite: none")
    bears: Any = column(
        "bodies", doc="1 if a contact of the body bore force at the last middle, where something was fast"
    )
    saved_bears: Any = column("bodies", doc="these at the start of the step")
    lead: Any = column("bodies", unit="s", doc="for how long forces act on a body before an impact, see `nearby`")
    led: Any = column(
        "packed", unit="N s, N m s", doc="what forces add to P and L of bodies in flight before an impact"
    )
    last_speeds: Any = column(
        "3 * bodies", unit="m/s", doc="of bodies in contact at the last middle, see `curved_paths`"
    )
    saved_last_speeds: Any = column("3 * bodies", unit="m/s", doc="these at the start of the step")
    aims: Any = column(
        "bodies",
        unit="m/s",
        doc="aim of the large pile in which a body bore force at the last middle; 0: it is in none",
    )
    saved_aims: Any = column("bodies", unit="m/s", doc="these at the start of the step")
    speed_bounds: Any = column("bodies", unit="m/s", doc="in joint coordinates: most of a point of each link")
    acceleration_bounds: Any = column("bodies", unit="m/s²", doc="likewise of its acceleration")
    impact: Any = column("IMPACT", doc="an impact in free motion, see `fast`")
    first_impact: Any = column("IMPACT", doc="scratch: the first one")
    origin: Any = column("state", doc="the state at the start of a step in which something is fast")
    struck: Any = column(
        "0", STRUCK, doc="impulses of the last step but those of `contacts`; room where something is fast"
    )
    struck_before: Any = column(
        "0", STRUCK, unit="position m, frame 1, impulse N s, moment N m s", doc="that of earlier parts of a step"
    )
    struck_slots: Any = column("0", np.int64, doc="a hash table of the pairs in `struck`, see `fast.slot_of`")
    targets: Any = column("rows", unit="m/s, rad/s", doc="what J v must be after the step")
    joint_impulses: Any = column("rows", unit="N s, N m s")
    change: Any = column("rows", unit="N s, N m s", doc="scratch: changes of joint impulses")
    rates: Any = column("rows", unit="m/s, rad/s", doc="scratch: changes of J v")
    answer: Any = column("2", doc="numbers that `limits` returns")
    values: Any = column(
        "bodies + 1", doc="of each island: the number that its last task in joint coordinates returned"
    )
    surface_speeds: Any = column(
        "contacts", unit="m/s", doc="normal part of the velocities of moving surfaces, 0 without"
    )
    contact_rates: Any = column("3 * contacts", unit="m/s", doc="of contacts in joint coordinates: see RATES")
    state_of_bodies: Any = column(doc="the state of the bodies, where that of the step is in joint coordinates")
    job_state: Any = column("2", np.int64, doc="the address of the state and its size, for jobs of threads")
    residuals: Any = column(
        "contacts", unit="m/s", doc="of the contacts of a large island, when they were last looked at"
    )
    contact_works: Any = column("2 * contacts", unit="J", doc="work of the normal part and of friction")
    timer: Any = column("TIMER_SIZE", doc="see `core.profiler`")
    saved_passes: Any = column("2 * bodies", np.int64, doc="`passes` and `waits` at the start of the step")
    passes: Any = column("bodies", np.int64, doc="sweeps of the solver in the last step, over the island of each body")
    waits: Any = column("bodies", np.int64, doc="steps without shock propagation left, since it did not help")
    slow: Any = column("bodies", unit="s", doc="for how long each body has been slow; −∞ of what never sleeps")
    # Line search of Gauss–Seidel: where it starts
    search_motion: Any = column("MOTION * (bodies + 1)", unit="m/s, rad/s")
    search_impulses: Any = column("3 * contacts", unit="N s")
    # Shock propagation
    levels: Any = column("bodies + 1", np.int64, doc="least number of contacts to the world, whose own level is zero")
    queue: Any = column("bodies", np.int64, doc="bodies of each island by level, where its members stand")
    link_starts: Any = column("bodies", np.int64)
    link_ends: Any = column("bodies", np.int64)
    links: Any = column("2 * contacts", np.int64, doc="contacts of each body")
    support_rows: Any = column("ROW * contacts", doc="`rows` with the response of the upper body only")
    support_system: Any = column(doc="6 × 6 system of one body, see `shock_propagation`")
    support_motion: Any = column("MOTION * (bodies + 1)", unit="m/s, rad/s", doc="velocities without the load above")


class ContactTables(NamedTuple):
    """All tables of a step of contact."""

    system: Any = part(System)
    collision: Any = part(Collision)
    stepping: Any = part(Stepping)
    callbacks: Any = column("1", CALLBACKS)


# Calls of C functions ---------------------------------------------------------------------------------------------------

# Tasks of a solver
SOLVE_IMPULSES, SOLVE_DISPLACEMENTS, FINISH_ISLAND, FINISH_PATCH = 1, 2, 3, 4
# Tasks of `limits`, which acts on coordinates of joints: stops, dry friction, ideal motors and soft constraints. y is the
# state where one is needed; numbers are returned in `answer`.
START_STEP = 0  # rates at the start of a step
SET_SOFT, SET_SOFT_IDLE = 1, 2  # the soft rows, before the mechanism's factorization; idle: no forces act in the step
UPDATE_ROWS, UPDATE_ROWS_IDLE = 3, 4  # all rows, gaps, limits and responses at the kinematics table
SET_STOPS = 5  # the biases at stops, without restitution
UPDATE_SATURATION = 7  # which motors are at their limits; h: the trial; returns 1 if one has changed
REFACTOR = 8  # the factorization and the responses after that
APPLY_WARM_START = 9  # apply the impulses in the table of bounds to `motion`
SWEEP_LIMITS = 10  # a sweep over the bounds; the largest change of a rate
LIMITS_RESIDUAL = 11  # the largest residual
APPLY_TO_STATE = 13  # apply the impulses to the state
CORRECT_STOPS = 14  # add the displacement of stops to `shift`; 1 if there is one
BOOK_CORRECTION = 15  # the work along `shift`, into the ledger; the work of bounds
BOOK_CORRECTION_OF_SOFT = 16  # the same of soft rows
# Tasks of joint coordinates, whose function also does those tasks of `limits` that are left there: SET_STOPS,
# UPDATE_SATURATION, REFACTOR and CORRECT_STOPS. For a step over h (s); h = 0: no forces act.
PLACE = 20  # move the state to the middle of the step, with the forces there
FILL_ROWS = 21  # J, M⁻¹ Jᵀ, responses and rates of all rows
FREE_SPEEDS = 22  # `motion` = the speeds with the impulses of the forces
RATES = 23  # out = J y of all contacts, y packed speeds
BOOK = 24  # the speeds after the impulses into the state, and their work into the ledger
FINISH = 25  # move the state to the end of the step
WALK = 35  # move the coordinates along the speeds for h
PLACE_ON_WAY = 36  # factor, forces and rates where the state is, for impulses on the way; h: the rest of the half step
TURN = 37  # the speeds of the second half of a step; FINISH does the rest
BODY_SPEEDS = 38  # the velocities of all bodies at the packed speeds y, laid out like MOTION, into out
POWER = 39  # answer = the power of the forces, W
BEGIN_WAY = 40  # a step begins: no impulses yet, should one before it have failed
END_WAY_IMPACT = 45  # after the impulses that follow PLACE_ON_WAY
MEAN_FORCES = 46  # the forces at the mean of the speeds before and the packed speeds in `motion`
LEAD, UNLEAD = 43, 44  # let forces act for h on the speeds of bodies in flight; take that back
MOVES_LITTLE = 41  # returns 1 where no point of a collider may move far within h at the packed speeds y, else 0
STOP_ISLAND = 26  # set the speeds of an island to zero
DESCRIBE_ISLAND = 31  # fill the `problem` of joint space with an island
GIVEN_OF_ISLAND = 32  # its `given` and `given_bounds`, of packed speeds y
# Tasks over the rows of one island
WARM_START_ROWS, SWEEP_ROWS, RESIDUAL_OF_ROWS, SWEEP_POSITIONS_OF_ROWS = range(27, 31)
# Tasks of the impacts of mechanisms: find them within h (s); apply their impulses to `motion`; weaken them
MAKE_IMPACTS, PUSH_IMPACTS, WEAKEN_IMPACTS = 33, 34, 42


# Tasks of surface laws: rolling, torsional and Stribeck friction, and compliance. Those of one island get its number.
MARK_SURFACES = 0  # the coefficients of all contacts, and which islands need more than Coulomb's law
FILL_SURFACES = 1  # responses, velocities before the step and warm starts, for a step over h (s); h = 0: no forces act
AIM_SURFACES = 2  # the biases of compliant contacts
WARM_START_SURFACES, SWEEP_SURFACES, RESIDUAL_OF_SURFACES = range(3, 6)
SAVE_SURFACES = 6  # the warm start of the next step
PUSH_SURFACES = 7  # y += Jᵀ τ of all contacts, along the speeds of joint coordinates
BOOK_SURFACES = 8  # torques on the momenta in y, in coordinates of bodies; the work of all laws into the ledger
DESCRIBE_SURFACES = 9  # add the laws of an island to its `IslandProblem`
TAKE_SURFACES = 10  # the torques that solved it
BEGIN_SURFACES, RESTORE_SURFACES = 11, 12  # keep the memory of the step before, and put it back
RESPOND_SURFACES = 13  # the responses in joint coordinates, after REFACTOR
NOTE_TORQUES = 14  # add the torques to `struck`


@inlined
def has_surfaces(tables):
    """Whether some surface has another law than Coulomb's and rigid contact."""
    return tables.callbacks[0].surfaces != 0


@njit
def call_surfaces(task, h, y, tables):
    """Do a task of surface laws; nothing where there are none. Returns a status."""
    address = tables.callbacks[0].surfaces
    if address == 0:
        return 0
    return call_pointer(address, own_address(tables), task, h, y, tables.stepping.values)


@njit
def call_surfaces_of(task, island, tables):
    """The number that a task of surface laws on an island returns."""
    collision, stepping = tables.collision, tables.stepping
    number = collision.island_of[collision.members[island.first_member]]
    call_surfaces(task, float(number), stepping.motion, tables)
    return load(stepping.values, number)


@inlined
def call_mechanism(callbacks, task, t, y, out):
    """Do a task of the mechanism (`core.c_function`). Returns a status."""
    return call_pointer(callbacks[0].mechanism, callbacks[0].mechanism_data, task, t, y, out)


@njit
def call_solver(task, tables):
    """Do a task of the solver. Returns a status."""
    motion = tables.stepping.motion
    return call_pointer(tables.callbacks[0].solver, own_address(tables), task, 0.0, motion, motion)


@inlined
def in_joint_space(tables):
    """Whether the step is one in joint coordinates."""
    return tables.callbacks[0].coordinates != 0


@njit
def call_coordinates(task, h, y, out, tables):
    """Do a task of joint coordinates. Returns a status."""
    return call_pointer(tables.callbacks[0].coordinates, own_address(tables), task, h, y, out)


@njit
def call_rows(task, island, tables):
    """The number that a task over the rows of an island returns."""
    collision, stepping = tables.collision, tables.stepping
    number = collision.island_of[collision.members[island.first_member]]
    call_coordinates(task, float(number), stepping.motion, stepping.values, tables)
    return load(stepping.values, number)


@njit
def call_finisher(task, number, tables):
    """FINISH_ISLAND or FINISH_PATCH: solve an island, or what of it misses its aim, by the solver of second order, from its
    impulses and `motion`; it writes `residual` of its row. Returns a status."""
    motion = tables.stepping.motion
    return call_pointer(tables.callbacks[0].finisher, own_address(tables), task, float(number), motion, motion)


@njit
def call_limits(task, h, y, tables):
    """Do a task of `limits`, for a step over h (s); nothing where there are none. Returns a status."""
    address = tables.callbacks[0].limits
    if address == 0:
        return 0
    return call_pointer(address, own_address(tables), task, h, y, tables.stepping.answer)


@njit
def limits_value(task, tables):
    """The number that a task of `limits` returns in `answer`; zero where there are none."""
    call_limits(task, 0.0, tables.stepping.motion, tables)
    return tables.stepping.answer[0]


@njit
def note_way(report):
    """Keep the worst residual of the impacts in free motion of a step: that of the last solution."""
    if report.residual * report.way_aim > report.way_residual * report.aim:
        report.way_residual, report.way_aim = report.residual, report.aim


@njit
def note_residual(report):
    """Keep the worst residual of the run, and count the steps in which the solver missed its tolerance."""
    report.largest_residual = max(report.largest_residual, report.residual)
    report.worst_residual = max(report.worst_residual, report.residual)
    if report.residual > report.aim:
        report.unsolved += 1


STEP_ROUNDING = 1e-9  # of a step: one that would begin so shortly before the end of the run is not made


@inlined
def start_of_part(stepping):
    """When the step, or the part of it that is made now, begins (s)."""
    options, report = stepping.options[0], stepping.report[0]
    return options.start + report.steps * options.whole + report.done


@inlined
def end_of_part(stepping):
    """When it ends (s)."""
    options, report = stepping.options[0], stepping.report[0]
    if report.done + options.dt >= options.whole * (1.0 - STEP_ROUNDING):
        return options.start + (report.steps + 1) * options.whole
    return start_of_part(stepping) + options.dt
