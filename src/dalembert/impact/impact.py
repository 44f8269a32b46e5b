"""Events of contact at one instant: laws of impact, the log of events, and the change of contacts (`Impact`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..collide.tables import CONTACTS
from ..contact.points import Owners
from ..core.c_function import DERIVATIVE
from ..core.checkpoint_fields import Field, prefixed
from ..core.status import NoSolution
from ..integrate.driver import Driver
from ..linalg.lcp import boxed
from ..linalg.lcp_dantzig import OK
from ..model.compile import Model
from .contact_law import ACCEPTED, CONE, FREE, MARGIN, Rest, classify, classify_slow, solve
from .features import (
    FRICTIONLESS,
    HOLD_LINES,
    OPEN,
    RESPOND,
    RIM,
    SLIDING,
    STICKING,
    TOUCH,
    ColliderPose,
    make_touch,
    surfaces_of,
)
from .repeats import Repeats
from .resting_contact import WAIT
from .system import CLOSES, LEAVES, LETS_GO, MEETS, SLIPS, STOPS, TURNS, ContactSystem, book_impulse

# Laws of impact --------------------------------------------------------------------------------------------------------
#
# The impulses of all contacts that close at one instant, by a law that the user names. With A = J W Jᵀ of the contacts,
# joints closed, impulses p take the relative velocities from u to u⁺ = u + A p. All three laws keep Coulomb's law with the
# exact cone on u⁺, and none adds energy.
#
# simultaneous  Newton's hypothesis for all at once: u_n⁺ ≥ −e u_n ⊥ p_n ≥ 0, one complementarity problem. In the cradle of
#               equal balls the first one recoils, and all others move: momentum and energy are conserved, but the shock is
#               spread. Where Newton's law with friction would add energy (Kane's paradox), e is reduced just enough. So it is
#               where the law has no solution: what jams against a joint cannot leave with e times its speed, as the friction
#               of leaving presses it on. Without restitution there is one: it stops.
# sequential    Contacts one at a time, the one that closes fastest first, with j = −(1 + e) u_n / (J W Jᵀ)_nn, until none
#               closes: the limit of contacts that are far stiffer than they are many. In the cradle the last ball takes the
#               velocity.
# poisson       All at once, in two phases: compression until none closes, then restitution with e times the impulses of
#               compression. In the cradle it does what "simultaneous" does; with friction and with several contacts of one
#               body it differs. With friction no proof is known that several contacts together add no energy by this
#               hypothesis; thousands of random impacts have added none. Where one would, or where there is no solution, e
#               is reduced just enough, as above.


ROUNDS = 100_000  # at most, of single impacts
AGREE = 1e-4  # of the speeds: velocities of contacts that depend on each other agree no better
TRIALS, SHARE = 60, 1e-12  # of the share of e: most of them, and how well it is found
LEAST = 1e-6  # share of e: a smaller one that has a solution to `ACCEPTED` is rounding of one without restitution


Law: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def coulomb(
    matrix: np.ndarray, b: np.ndarray, friction: np.ndarray, lower: np.ndarray | None = None, agree: float = AGREE
) -> np.ndarray:
    """Impulses (n, 3) with a = A p + b: p_n ≥ lower ⊥ a_n ≥ 0, |p_t| ≤ μ p_n against a_t. Raises NoSolution where the error
    of the natural map is more than `agree` of the speeds."""
    n = len(b)
    least = np.zeros(n) if lower is None else lower
    if not friction.any():
        normal = matrix[::3, ::3]
        status, normals = boxed(np.ascontiguousarray(normal), b[:, 0] + normal @ least, np.zeros(n), np.full(n, np.inf))
        if status == OK:
            return np.column_stack([normals + least, np.zeros((n, 2))])
    kinds = np.where(friction > 0.0, CONE, FREE)
    p, change = solve(matrix, b, kinds, friction, np.zeros((n, 2)), least)
    if not change <= agree:
        raise NoSolution(
            f"the impulses of {n} contact{'s' * (n != 1)} were not found: the velocities miss Coulomb's law by "
            f"{change:.3g} of the largest speed"
        )
    return p


def simultaneous(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Impulses (n, 3), N s, of contacts with relative velocities u (n, 3), m/s, in their frames."""

    def impulses(part: float, agree: float = AGREE) -> np.ndarray:
        b = u.copy()
        b[:, 0] += part * e * np.minimum(u[:, 0], 0.0)
        return coulomb(matrix, b, friction, None, agree)

    return _dissipative(impulses, matrix, u, partial(_alone, simultaneous, matrix, u, e, friction))


def sequential(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The same, contact by contact; what still closes after many rounds is stopped all at once, without restitution."""
    total = np.zeros_like(u)
    now = u.copy()
    closes = 1e-12 * float(np.abs(u).max(initial=0.0))
    for _ in range(ROUNDS):
        k = int(np.argmin(now[:, 0]))
        if now[k, 0] >= -closes:
            return total
        block = slice(3 * k, 3 * k + 3)
        p = simultaneous(matrix[block, block], now[k : k + 1], e[k : k + 1], friction[k : k + 1])[0]
        total[k] += p
        now = u + (matrix @ total.ravel()).reshape(-1, 3)
    return total + coulomb(matrix, now, friction)


def poisson(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The same by Poisson's hypothesis: at least e times the impulse of compression in restitution, Coulomb's law in each
    phase."""
    compression = coulomb(matrix, u, friction)
    after = u + (matrix @ compression.ravel()).reshape(-1, 3)

    def impulses(part: float, agree: float = AGREE) -> np.ndarray:
        return compression + coulomb(matrix, after, friction, part * e * compression[:, 0], agree)

    return _dissipative(impulses, matrix, u, partial(_alone, poisson, matrix, u, e, friction))


def _alone(
    law: Law, matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray, some: np.ndarray
) -> np.ndarray:
    """The impulses of some of the contacts, by their numbers, which the others do not change."""
    rows = (3 * some[:, None] + np.arange(3)).ravel()
    return law(matrix[np.ix_(rows, rows)], u[some], e[some], friction[some])


def _dissipative(
    impulses: Callable[..., np.ndarray], matrix: np.ndarray, u: np.ndarray, alone: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The impulses by the largest share of e, at most 1, that has a solution and adds no energy. That share exists: without
    restitution

        ΔT = p·u + ½ pᵀA p = p·u⁺ − ½ pᵀA p ≤ p_t·u_t⁺ − ½ pᵀA p ≤ 0,

    as p_n u_n⁺ = 0 and friction opposes sliding. The energy is continuous in the share where the impulses are.

    impulses : of a share of e, and of the error that is accepted. Where the whole of e has no solution, a share must have
    one to `ACCEPTED`: a bounce below the error that is accepted else would be none. alone : the impulses of a group of
    contacts that others do not change; e is reduced by group. Raises NoSolution where none is found without restitution.
    """

    def gain(p: np.ndarray) -> float:
        return float(np.sum(p * u) + 0.5 * p.ravel() @ matrix @ p.ravel())

    agree, above = AGREE, np.inf
    try:
        p = impulses(1.0)
    except NoSolution:
        agree, p = ACCEPTED, impulses(0.0)
    else:
        above = gain(p)
    rounding = 1e-12 * float(np.sum(np.abs(p * u)))
    if above <= rounding:
        return p
    groups = _groups(matrix)
    if len(groups) > 1:
        for some in groups:
            p[some] = alone(some)
        return p
    stopped = best = impulses(0.0)
    low, high, below = 0.0, 1.0, gain(best)
    for step in range(TRIALS):  # by secants, and each third time by halves
        if high - low <= SHARE or (below >= -rounding and np.isfinite(above)):
            break
        by_halves = step % 3 == 2 or not np.isfinite(above)
        middle = 0.5 * (low + high) if by_halves else low - (high - low) * below / (above - below)
        try:
            p = impulses(middle, agree)
        except NoSolution:
            high, above = middle, np.inf
            continue
        now = gain(p)
        if now <= rounding:
            low, below, best = middle, now, p
        else:
            high, above = middle, now
    return best if low > LEAST or agree == AGREE else stopped


def _groups(matrix: np.ndarray) -> list[np.ndarray]:
    """The numbers of the contacts whose impulses change each other's velocities, by group."""
    n = len(matrix) // 3
    acts = np.abs(matrix).reshape(n, 3, n, 3).max(axis=(1, 3)) > 0.0
    left, groups = set(range(n)), []
    while left:
        group: set[int] = set()
        new = {min(left)}
        while new:
            group |= new
            new = {int(k) for i in new for k in np.flatnonzero(acts[i])} - group
        groups.append(np.array(sorted(group)))
        left -= group
    return groups


LAWS: dict[str, Law] = {
    "simultaneous": simultaneous,
    "sequential": sequential,
    "poisson": poisson,
}


# The log of events -----------------------------------------------------------------------------------------------------

IMPACT, REST, PARTS, SLIDES, STICKS = "impact", "rest", "parts", "slips", "sticks"
LOWEST_BOUNCE = 1e-7  # of the size: where a bounce would rise less, all further ones are summed
GEOMETRIC = 1e-2  # tolerance within which the times of bounces are a geometric series of ratio e

KEY, BOUNCES = 11, 3  # numbers of a key, and times of bounces that are stored

Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class ContactEvent:
    """An event at one point of contact.

    time : s. kind : "impact"; "rest": a resting contact begins; "parts": it ends; "slips": it starts to slide;
    "sticks": it starts to stick or roll.
    a, b : names of bodies or obstacles. position : (3,) m. impulse : (3,) N s on b, of an impact. If infinitely many
    bounces end in rest, time is the limit of their times.
    """

    time: float
    kind: str
    a: str
    b: str
    position: np.ndarray
    impulse: np.ndarray


def key_of(touch: Any) -> Key:
    """The identity of a contact while the same features meet."""
    numbers = [*touch["point_i"].tolist(), *touch["axis_j"].tolist()]
    return (
        int(touch["kind"]), int(touch["a"]), int(touch["b"]), int(touch["i"]), int(touch["j"]),
        *(round(number, 6) for number in numbers),
    )  # fmt: skip


class Log:
    """The events of a run in `events`. owners : the names of what touches."""

    def __init__(self, owners: Owners, size: float) -> None:
        self.events: list[ContactEvent] = []
        self._owners, self._size = owners, size
        self._bounces: dict[Key, list[float]] = {}
        self._rested: set[Key] = set()
        self._table = np.zeros((0, 0))  # see `fields`

    def room(self) -> dict[str, int]:
        """How many contacts have bounced."""
        return {"bounces": len(self._bounces)}

    def make_room(self, room: dict[str, int]) -> None:
        """Make room for so many bounces, which are written to `fields` next."""
        self._bounces = {(k,): [] for k in range(room["bounces"])}

    def fields(self) -> list[Field]:
        """The key of each contact that has bounced, how many of its times are stored, and these."""
        self._table = np.zeros((len(self._bounces), KEY + 1 + BOUNCES))
        for row, (key, times) in zip(self._table, self._bounces.items(), strict=True):
            row[: len(key)], row[KEY] = key, len(times)
            row[KEY + 1 : KEY + 1 + len(times)] = times
        return [Field("rows", self._table)]

    def put_back(self) -> None:
        """`fields` were written."""
        self._bounces = {
            tuple(row[:KEY].tolist()): row[KEY + 1 :].tolist()[: int(min(max(row[KEY], 0.0), BOUNCES))]
            for row in self._table
        }

    def add(self, time: float, kind: str, touch: Any, impulse: np.ndarray | None = None) -> None:
        """Log an event of a row of the table of touches."""
        if kind == REST:
            self._rested.add(key_of(touch))
        self.events.append(
            ContactEvent(
                time, kind, self._name(touch, "j"), self._name(touch, "i"), np.array(touch["position"]),
                np.zeros(3) if impulse is None else impulse,
            )
        )  # fmt: skip

    def _name(self, touch: Any, side: str) -> str:
        return self._owners.name(int(touch[side]), int(touch["a"]), int(touch["b"]))

    def note_changes(self, time: float, before: Any, now: Any) -> None:
        """Log which contacts came to rest, parted, began to slip or to stick, by the tables before and after."""
        old, new = ({key_of(touch): touch for touch in table.view(TOUCH, np.ndarray)} for table in (before, now))
        for key, touch in new.items():
            was, mode = int(old[key]["mode"]) if key in old else OPEN, int(touch["mode"])
            if was == OPEN and mode != OPEN and key not in self._rested:
                self.add(time, REST, touch)
            elif was == SLIDING and mode == STICKING:
                self.add(time, STICKS, touch)
            elif was == STICKING and mode == SLIDING:
                self.add(time, SLIDES, touch)
        for key, touch in old.items():
            if int(touch["mode"]) != OPEN and (key not in new or int(new[key]["mode"]) == OPEN):
                self.add(time, PARTS, touch)
        self._rested.clear()

    def restitution(self, time: float, touches: Any, closing: np.ndarray, free: np.ndarray, tiny: float) -> np.ndarray:
        """e of each contact; zero where the bounce would hardly rise: then all further bounces end at once.

        Bounces at e u, e² u, ... under an acceleration −a take the times 2 e u/a (1 + e + ...), in all 2 e u/(a (1 − e)).
        closing : (n,) m/s, normal velocities. free : (n,) m/s², normal accelerations.
        """
        e = np.array(touches.restitution)
        for k in np.flatnonzero(closing < -tiny):
            key, a, speed = key_of(touches[k]), -free[k], -e[k] * closing[k]
            times = self._bounces.setdefault(key, [])
            times.append(time)
            del times[:-BOUNCES]
            if e[k] > 0.0 and a > 0.0 and speed * speed < 2.0 * a * LOWEST_BOUNCE * self._size:
                wait = 2.0 * speed / (a * (1.0 - e[k])) if e[k] < 1.0 else 0.0
                geometric = (
                    e[k] < 1.0
                    and len(times) == BOUNCES
                    and abs((times[2] - times[1]) / (times[1] - times[0]) - e[k]) < GEOMETRIC
                )
                self.add(time + (wait if geometric else 0.0), REST, touches[k])
                self._bounces.pop(key)
                e[k] = 0.0
        return e


# Change of contacts ----------------------------------------------------------------------------------------------------

TINY_GAP = 1e-12  # of the size of the smallest thing that touches: gaps below are closed
TOUCHES = 1e-9  # of the same: what is nearer at an event takes part in it
TINY_SPEED = 1e-10  # of the typical speed: contacts that close more slowly rest
TINY_FORCE = 1e-8  # of the largest force of contact
OVERLAP = 1e-6  # of the size: more overlap at the start is an error
# Of μ f_n: the most by which friction at a contact that does not slip, though it is above its limit, may grow until it is
# looked at again, and how many times the present excess that is. One that is just above slips a moment later, unless other
# contacts keep it from slipping.
MUTED, GROWS = 1e-2, 3.0
HELD = 1e-6  # of the largest force of contact: what parts slowly and is pressed with more comes back
CLOSING = 1e-7  # of the largest free acceleration: contacts that close more slowly stay apart
JAM_STEP = 1e-7  # of speed / acceleration: the time step whose impulses are those of a jam
JAMS = 30.0  # times the change of velocity by the free accelerations: smaller impulses are those of forces
# fields of TOUCH that say which features touch
FEATURES = ("kind", "i", "j", "a", "b", "point_i", "axis_i", "point_j", "axis_j", "radius", "radius_i", "sign", "friction",
            "restitution")  # fmt: skip
MOST_JAMS = 10  # at one instant
PIVOT = 1e-2  # of the speeds of other slow contacts: a body turns about one that is so slow
SAME_POINT = 1e-3  # of the size: points of one pair that are nearer are one contact
NAMED = 3  # pairs of bodies that a message names


class EventSettings(NamedTuple):
    """law : a name of `LAWS`. step : fixed step (s), or 0. size : m, of the smallest thing that touches."""

    law: str
    step: float
    size: float


class Impact:
    """Handles the instants of a run at which contacts change; between them `driver` integrates.

    body_radius : (bodies,) m, of the sphere about the centre of mass that holds all that may touch.
    """

    def __init__(
        self, system: ContactSystem, model: Model, settings: EventSettings, driver: Driver, body_radius: np.ndarray
    ) -> None:
        self.system, self.model, self.settings = system, model, settings
        self._driver, self._radius = driver, body_radius
        self._dydt = np.zeros(model.size)
        self._law = LAWS[settings.law]
        self._bodies = len(model.body_names)
        inverse = system.mechanism.system.bodies.inverse_mass[: self._bodies]
        self._movable = np.append(np.asarray(inverse) > 0.0, False)
        colliders = system.detector.collision.colliders
        self._surfaces = surfaces_of(system.detector.collision)
        self._places = np.array(colliders.position), np.array(colliders.rotation).reshape(-1, 3, 3)
        world = len(system.mechanism.system.bodies)
        self._owner = [int(body) if body < self._bodies else world for body in colliders.body]
        self.owners = Owners(model.scene)
        self.log = Log(self.owners, settings.size)
        self.worst_gap, self.frame_gap = 0.0, 0.0
        self._fastest = 0.0  # m/s, of what is slow at the instant
        self._held: set[Key] = set()  # see `_find_held`
        self._repeats = Repeats(settings.size)
        self.same_features = False  # whether contacts that bear force are between the features that they were
        self.turns = False  # whether a contact that was held on a straight line turns
        own: Any = system.options[0]
        own.tiny_gap, own.near = TINY_GAP * settings.size, SAME_POINT * settings.size

    def fields(self) -> list[Field]:
        """What carries over from one instant to the next."""
        return [*self._repeats.fields(), *prefixed("bounces", self.log.fields())]

    def settle(self, y: np.ndarray) -> None:
        """Find what touches, apply the impulses of what closes, and find which contacts bear force from here on.

        Raises ValueError where bodies overlap at the start, NoSolution where a law has no solution.
        """
        self._count(y)
        before = self.system.tables.touches.copy()
        self._held = self._find_held(before)
        touches = self.find(y)
        if len(touches):
            tiny = self._tiny_speed(y)
            self.respond(y)
            if (self.system.tables.touches.velocity[:, 0] < -tiny).any():
                self._apply_impulses(y, tiny)
                self.respond(y)
            own: Any = self.system.options[0]
            own.tiny_speed = tiny
            self._find_resting(y, tiny)
            if self.turns:
                own.wait = WAIT
            else:
                self.hold_lines(y)
        self.turns = False
        self.log.note_changes(self._driver.time, before, self.system.tables.touches)
        clock: Any = self._driver._clock[0]
        clock.event = -1
        self._driver.changed()

    def _count(self, y: np.ndarray) -> None:
        """Count the event at hand. Raises NoSolution where events follow each other without time passing."""
        own: Any = self.system.options[0]
        touches, which = self.system.tables.touches, int(own.which)
        if 0 <= which < len(touches):
            touch = touches[which]
            what: Any = (int(own.cause), key_of(touch))
            pair = (self.name(touch, "j"), self.name(touch, "i"))
        else:
            what, pair = (int(own.cause), ()), self._nearest()
        self._repeats.count(self._driver.time, self._tiny_speed(y) / TINY_SPEED, what, pair)
        own.slack = self._slack(MEETS, (), TINY_GAP * self.settings.size) if int(own.cause) == MEETS else 0.0

    def _find_held(self, table: Any) -> set[Key]:
        """Where a slide stops or turns: the contacts that stick until then, and the one that stops."""
        own: Any = self.system.options[0]
        cause, which = int(own.cause), int(own.which)
        if cause not in (STOPS, TURNS):
            return set()
        touches = enumerate(table.view(TOUCH, np.ndarray))
        return {key_of(touch) for k, touch in touches if touch["mode"] == STICKING or (cause == STOPS and k == which)}

    def _slack(self, cause: int, key: Key, least: float) -> float:
        """The slack of an event that was handled before at this instant, a multiple of `least`; zero for others."""
        often = self._repeats.repetitions((cause, key))
        return least * 2.0**often if often else 0.0

    def _nearest(self) -> tuple[str, str]:
        """The names of the two bodies whose points of collision detection are nearest."""
        collision = self.system.detector.collision
        found = collision.contacts[: int(collision.counts[CONTACTS])]
        if not len(found):
            return "world", "world"
        nearest = min(found, key=lambda contact: contact.separation)
        pair = collision.pairs[nearest.pair]
        a, b = int(pair.a), int(pair.b)
        return self.owners.name(int(nearest.a), a, b), self.owners.name(int(nearest.b), a, b)

    def find(self, y: np.ndarray) -> Any:
        """The table of all that touches at the state y, bearing no force yet."""
        size = self.settings.size
        self.system.mechanism(DERIVATIVE, self._driver.time, y, self._dydt)  # for the rotations
        contacts = self.system.detect(y, float(self.system.options.margin[0]))
        near = [contact for contact in contacts[contacts["separation"] <= TOUCHES * size] if self._can_move(contact)]
        deepest = max((-float(contact.separation) for contact in near), default=0.0)
        if deepest > OVERLAP * size and self._driver.counts["steps"] == 0:
            worst = max(near, key=lambda contact: -contact.separation)
            pair = self.system.detector.collision.pairs[worst.pair]
            one, two = (self.owners.name(int(body), int(pair.a), int(pair.b)) for body in (worst.a, worst.b))
            raise ValueError(
                f"{one!r} and {two!r} overlap at the start by {deepest:.3g} m; move them "
                "apart, or use method='time_stepping', which separates them"
            )
        self.worst_gap = max(self.worst_gap, deepest)
        self.frame_gap = max(self.frame_gap, deepest)
        poses = self._poses()
        collision = self.system.detector.collision
        rows, sides, keys = [], [np.zeros((0, 4))], set()
        count = 0
        known = self._known() if self.same_features else {}
        self.same_features = False
        for contact in near:
            touch = self._known_touch(contact, known) or make_touch(contact, collision, poses, self._surfaces)
            if touch is None:
                continue
            row, sides_i, sides_j = touch
            key = key_of(row)
            if key in keys:
                continue
            keys.add(key)
            row["first_i"], row["last_i"] = count, count + len(sides_i)
            row["first_j"], row["last_j"] = row["last_i"], row["last_i"] + len(sides_j)
            count += len(sides_i) + len(sides_j)
            sides += [sides_i, sides_j]
            rows.append(row)
        table = np.array(rows, TOUCH)
        self.system.set_touches(table, np.vstack(sides), 0)
        return table

    def _known(self) -> dict[tuple[int, int], list[Any]]:
        """The touches that bear force, by pair of colliders: (row, sides of i, sides of j) as of `make_touch`. Their features
        are those of the instant before, as the event function watches the rims."""
        found: dict[tuple[int, int], list[Any]] = {}
        old, sides = self.system.tables.touches, self.system.tables.sides.reshape(-1, 4)
        active = int(self.system.options.active[0])
        rows = np.zeros(active, TOUCH)
        for name in FEATURES:
            rows[name] = old[name][:active]
        ends = np.array([old[name][:active] for name in ("first_i", "last_i", "first_j", "last_j")]).T
        for k, (first_i, last_i, first_j, last_j) in enumerate(ends):
            row, position = rows[k : k + 1].reshape(()), np.array(old.position[k])
            pair = min(int(row["a"]), int(row["b"])), max(int(row["a"]), int(row["b"]))
            touch = row, sides[first_i:last_i].copy(), sides[first_j:last_j].copy()
            found.setdefault(pair, []).append((position, touch))
        return found

    def _known_touch(self, contact: Any, known: dict[tuple[int, int], list[Any]]) -> Any:
        """The touch that a contact of collision detection was at the instant before; None for others."""
        if not known:
            return None
        pair = self.system.detector.collision.pairs[contact.pair]
        near = self.system.options.near[0]
        for position, touch in known.get((min(int(pair.a), int(pair.b)), max(int(pair.a), int(pair.b))), []):
            if np.linalg.norm(contact.position - position) <= near:
                return touch
        return None

    def _can_move(self, contact: Any) -> bool:
        """Whether a contact can move one of its bodies, and is not one of what moves by command with an obstacle."""
        return bool(self._movable[contact.a] or self._movable[contact.b])

    def _poses(self) -> list[ColliderPose]:
        """The poses of the colliders. Their bodies are numbered as in the mechanism, whose world comes after the nodes."""
        kinematics = self.system.mechanism.system.kinematics
        x, rotation = np.array(kinematics.x), np.array(kinematics.rotation).reshape(-1, 3, 3)
        return [
            ColliderPose(body, position, turn, x[body], rotation[body])
            for body, position, turn in zip(self._owner, *self._places, strict=True)
        ]

    def respond(self, y: np.ndarray) -> None:
        """Put the matrix and the free accelerations of all touches in the tables. Raises NoSolution."""
        status = self.system(RESPOND, self._driver.time, y, self._dydt)
        if status != 0:
            raise NoSolution(f"the forces at t = {self._driver.time:.9g} s could not be found (status {status})")

    def hold_lines(self, y: np.ndarray) -> None:
        """Hold what slides straight on its line, see `resting_contact`. Raises NoSolution."""
        status = self.system(HOLD_LINES, self._driver.time, y, self._dydt)
        if status != 0:
            raise NoSolution(f"the forces at t = {self._driver.time:.9g} s could not be found (status {status})")

    def matrix(self) -> tuple[np.ndarray, np.ndarray]:
        """A (3 n, 3 n) and the free accelerations (n, 3) of all touches."""
        tables = self.system.tables
        rows = len(tables.free)
        return tables.matrix.reshape(rows, rows), tables.free.reshape(-1, 3)

    def _tiny_speed(self, y: np.ndarray) -> float:
        """The speed that counts as zero, m/s."""
        kinematics = self.system.mechanism.system.kinematics[: self._bodies]
        radius = self._radius
        speed = np.linalg.norm(kinematics.v, axis=1) + radius * np.linalg.norm(kinematics.omega, axis=1)
        gravity = float(np.linalg.norm(self.model.scene.gravity))
        return TINY_SPEED * max(float(speed.max(initial=0.0)), float(np.sqrt(gravity * self.settings.size)), 1e-300)

    # Impacts ----------------------------------------------------------------------------------------------------------

    def _apply_impulses(self, y: np.ndarray, tiny: float) -> None:
        """Apply the impulses of the contacts that close, by the chosen law, to the momenta and the ledger."""
        touches = self.system.tables.touches
        matrix, free = self.matrix()
        velocity = np.where(np.abs(touches.velocity) > 0.1 * tiny, touches.velocity, 0.0)
        restitution = self.log.restitution(self._driver.time, touches, velocity[:, 0], free[:, 0], tiny)
        try:
            impulse = self._law(matrix, velocity, restitution, np.array(touches.friction))
        except NoSolution as error:
            raise NoSolution(self._unsolved(np.flatnonzero(velocity[:, 0] < -tiny), error)) from None
        after = touches.velocity + (matrix @ impulse.ravel()).reshape(-1, 3)
        self._book(y, impulse, 0.5 * (touches.velocity + after))
        for k in np.flatnonzero(touches.velocity[:, 0] < -tiny):
            touch = touches[k]
            self.log.add(self._driver.time, IMPACT, touch, touch.frame.reshape(3, 3).T @ impulse[k])

    def _unsolved(self, which: np.ndarray, error: NoSolution) -> str:
        """What a run that ends says of the impulses of some contacts that were not found, by their numbers (n,)."""
        rows = self.system.tables.touches.view(TOUCH, np.ndarray)
        pairs = dict.fromkeys((self.name(rows[k], "j"), self.name(rows[k], "i")) for k in which)
        names = ", ".join(f"{a!r} and {b!r}" for a, b in list(pairs)[:NAMED])
        more = f" and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
        return (
            f"the impact of {names}{more} at t = {self._driver.time:.9g} s is not solved: {error}; reduce the friction of "
            "what meets there, or use method='time_stepping'"
        )

    # Rest -------------------------------------------------------------------------------------------------------------

    def _find_resting(self, y: np.ndarray, tiny: float) -> None:
        """Decide which of the touches bear force, and their modes; these come first in the table. Raises NoSolution."""
        sides = self.system.tables.sides.reshape(-1, 4)
        for attempt in range(MOST_JAMS + 1):
            table = self.system.tables.touches.copy()
            matrix, free = self.matrix()
            try:
                resting, rest = self._classify(table, matrix, free, tiny)
                break
            except NoSolution:
                if attempt == MOST_JAMS:
                    raise
                forces = self._jam(y, table, tiny)
                if forces is not None:
                    resting, rest = self._go_on(table, matrix, free, forces, 10.0 * tiny)
                    break
        table.mode = OPEN
        table.mode[resting] = rest.mode
        frames = table.frame[resting].reshape(-1, 3, 3)
        table.slide[resting] = np.einsum("ij,ijk->ik", rest.slide, frames[:, 1:])
        largest = float(np.abs(rest.force).max(initial=0.0))
        mass = float(self.model.tables["bodies"]["mass"].max())
        weight = float(np.linalg.norm(self.model.scene.gravity)) * mass
        if weight == 0.0:  # the force that turns the fastest motion within the size
            weight = mass * (tiny / TINY_SPEED) ** 2 / self.settings.size
        self.system.options.tiny_force = max(TINY_FORCE * largest, 1e-6 * TINY_FORCE * weight, 1e-300)
        rests, idle = np.zeros(len(table), bool), np.zeros(len(table), bool)
        rests[resting] = True
        idle[resting] = rest.force[:, 0] <= TINY_FORCE * largest
        table.mode, table.slide = self._stuck(y, table, sides)
        self.system.set_touches(table, sides, 0)
        self.respond(y)
        self._stop_bounces(y, table, matrix, tiny)
        self._activate(y, table, sides, rests, idle)
        self._set_slacks(y)

    def _go_on(
        self, table: Any, matrix: np.ndarray, free: np.ndarray, forces: np.ndarray, still: float
    ) -> tuple[np.ndarray, Rest]:
        """As `_classify`, with forces (n, 3) that are known."""
        resting = np.flatnonzero(np.abs(table.velocity[:, 0]) <= still)
        rows = (3 * resting[:, None] + np.arange(3)).ravel()
        parts = free[resting], table.velocity[resting], table.friction[resting]
        return resting, classify(matrix[np.ix_(rows, rows)], *parts, still, forces[resting])

    def _jam(self, y: np.ndarray, table: Any, tiny: float) -> np.ndarray | None:
        """Apply the impulses of contacts that jam: where something slides fast with much friction, no forces may satisfy the
        law (Painlevé). Then friction grows beyond all bounds, and the sliding ends at once, without a collision. These
        impulses are those of a time step of contact (Moreau) whose length goes to zero. Where they vanish with it, they are
        forces. Returns these, (n, 3) in N, or None after impulses. Raises NoSolution."""
        matrix, free = self.matrix()
        speed = tiny / TINY_SPEED
        velocity = np.where(np.abs(table.velocity) > 0.1 * tiny, table.velocity, 0.0)
        fastest = max(float(np.abs(free).max()), 1e-300)
        step = JAM_STEP * speed / fastest
        try:
            impulse = coulomb(matrix, velocity + step * free, np.array(table.friction))
        except NoSolution as error:
            raise NoSolution(self._unsolved(np.arange(len(table)), error)) from None
        change = (matrix @ impulse.ravel()).reshape(-1, 3)
        if np.abs(change).max() < JAMS * step * fastest:
            return np.asarray(impulse / step)
        self._book(y, impulse, table.velocity + 0.5 * change)
        for k in np.flatnonzero(impulse[:, 0] > 1e-6 * float(impulse[:, 0].max())):
            self.log.add(self._driver.time, IMPACT, table[k], table[k].frame.reshape(3, 3).T @ impulse[k])
        self.respond(y)
        return None

    def _classify(self, table: Any, matrix: np.ndarray, free: np.ndarray, tiny: float) -> tuple[np.ndarray, Rest]:
        """(numbers of the contacts that rest, how each goes on).

        A contact that parts so slowly that the forces would close it again before it has risen by `LOWEST_BOUNCE` rests:
        impacts at one contact may lift another, those there the first, and so on without end, ever faster.
        """
        still = 10.0 * tiny

        speed = table.velocity[:, 0]
        resting = np.flatnonzero(np.abs(speed) <= still)
        height = LOWEST_BOUNCE * self.settings.size
        fastest = np.sqrt(2.0 * float(np.abs(free).max(initial=0.0)) * height)
        self._fastest = fastest

        def rest_of(resting: np.ndarray) -> Rest:
            rows = (3 * resting[:, None] + np.arange(3)).ravel()
            return classify_slow(
                matrix[np.ix_(rows, rows)], free[resting], table.velocity[resting], table.friction[resting],
                (still, fastest, height),
            )  # fmt: skip

        slow = np.flatnonzero((np.abs(speed) <= still) | ((speed > 0.0) & (speed <= fastest)))
        while len(slow) > len(resting):
            rest = rest_of(slow)
            pressed = rest.force[:, 0]
            low = speed[slow] ** 2 <= 2.0 * matrix[3 * slow, 3 * slow] * pressed * height
            keep = (np.abs(speed[slow]) <= still) | (low & (pressed > HELD * float(np.abs(rest.force).max())))
            if keep.all():
                return slow, rest
            slow = slow[keep]
        return resting, rest_of(resting)

    def _stop_bounces(self, y: np.ndarray, table: Any, matrix: np.ndarray, tiny: float) -> None:
        """Remove what normal velocity the contacts in rest have, and what tangential one those that stick, with the least
        impulses in the metric of the masses."""
        speed = table.velocity
        rests = table.mode != OPEN
        moves = np.abs(speed[rests, 0]).max(initial=0.0), np.abs(speed[table.mode == STICKING, 1:]).max(initial=0.0)
        if max(moves) <= 10.0 * tiny:
            return
        wanted = np.zeros((len(table), 3), bool)
        wanted[rests, 0] = True
        wanted[table.mode == STICKING, 1:] = True
        rows = np.flatnonzero(wanted)
        impulse = np.zeros(3 * len(table))
        impulse[rows] = np.linalg.lstsq(matrix[np.ix_(rows, rows)], -speed.ravel()[rows], rcond=1e-12)[0]
        self._book(y, impulse.reshape(-1, 3), speed + 0.5 * (matrix @ impulse).reshape(-1, 3))
        self.respond(y)
        table.velocity = self.system.tables.touches.velocity

    def _book(self, y: np.ndarray, impulse: np.ndarray, mean: np.ndarray) -> None:
        """Apply impulses (n, 3) of all touches, whose mean velocities are given, to the momenta and the ledger."""
        columns = self.system.tables.columns.reshape(-1, 6 * len(self.system.mechanism.system.bodies))
        wrench = (impulse.ravel() @ columns).reshape(-1, 6)
        book_impulse(y, self.system.all_tables, wrench, impulse, mean)

    def _activate(self, y: np.ndarray, table: Any, sides: np.ndarray, resting: np.ndarray, idle: np.ndarray) -> None:
        """Let the contacts of a mode other than OPEN bear force, so that the forces between events obey the law as well.

        These are the forces of least squares, and where contacts depend on each other they are not those of `classify`. A
        contact that they make pull parts, and one of `resting` (n,), flags, that they would close bears force; else what the
        law of the instant decides would be undone at once. One of `idle` (n,), flags, bears no force by the law; it parts
        also where friction would leave the cone.
        """
        matrix, free = (values.copy() for values in self.matrix())  # the tables are put in another order below
        tried: set[bytes] = set()
        while True:
            order, forces = self._bearing_forces(y, table, sides)
            own: Any = self.system.options[0]
            rubs = np.hypot(forces[:, 1], forces[:, 2])
            slips = idle[order] & (table.mode[order] == STICKING)
            slips &= rubs > table.friction[order] * forces[:, 0] + own.tiny_force
            wrong = np.flatnonzero((forces[:, 0] < -0.5 * own.tiny_force) | slips)
            if len(wrong):
                table.mode[order[wrong[np.argmin(forces[wrong, 0])]]] = OPEN
                continue
            found = np.zeros_like(forces)
            found[order] = forces
            closing = free[:, 0] + matrix[::3] @ found.ravel()
            closing[~resting | (table.mode != OPEN)] = 0.0
            k = int(np.argmin(closing))
            key = np.asarray(table.mode).tobytes()
            if closing[k] >= -CLOSING * float(np.abs(free).max()) or key in tried:
                return
            tried.add(key)
            speed = float(np.hypot(*table.velocity[k, 1:]))
            slides = speed > 10.0 * own.tiny_speed
            table.mode[k] = FRICTIONLESS if table.friction[k] == 0.0 else SLIDING if slides else STICKING
            if slides:
                table.slide[k] = table.velocity[k, 1:] / speed @ table.frame[k].reshape(3, 3)[1:]

    def _bearing_forces(self, y: np.ndarray, table: Any, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(order (n,) of the touches in the table of the system, forces (n, 3) in it); those that bear force come first."""
        order = np.argsort(table.mode == OPEN, kind="stable")
        active = int(np.sum(table.mode != OPEN))
        self.system.set_touches(table[order], sides, active)
        if active == 0:
            self.respond(y)
            return order, np.zeros((len(order), 3))
        status = self.system(DERIVATIVE, self._driver.time, y, self._dydt)
        if status != 0:
            raise NoSolution(
                f"the forces of contact at t = {self._driver.time:.9g} s could not be found (status {status})"
            )
        forces = np.array(self.system.tables.touches.force)
        forces[active:] = 0.0
        return order, forces

    def _stuck(self, y: np.ndarray, table: Any, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Modes and slides, where contacts that slide slowly stick if the forces between events then keep them so.

        Where friction just holds, as in a stack that slides with the same friction at each level, a slide neither ends nor
        grows. Friction turns with it at the rate A μ f_n/|u|: the slower it is, the shorter are the steps. So a slow slide
        sticks by friction up to `MARGIN` above the cone. It is as slow as a bounce that is ended, see `LOWEST_BOUNCE`. Where
        no slow slides stick together, those that stuck before may, and one that has just stopped, if all others are far
        faster: a body turns about them.
        """
        speed = np.hypot(table.velocity[:, 1], table.velocity[:, 2])
        slow = (table.mode == SLIDING) & (speed <= self._fastest)
        if not slow.any():
            return np.array(table.mode), np.array(table.slide)
        held = slow & np.array([key_of(touch) in self._held for touch in table.view(TOUCH, np.ndarray)], bool)
        others = slow & ~held
        held &= others.any() & (speed <= PIVOT * speed[others].min(initial=np.inf))
        for some in (slow, held):
            sticks = self._holding(y, table, sides, some)
            if sticks.any():
                return np.where(sticks, STICKING, table.mode), np.where(sticks[:, None], 0.0, table.slide)
        return np.array(table.mode), np.array(table.slide)

    def _holding(self, y: np.ndarray, table: Any, sides: np.ndarray, sticks: np.ndarray) -> np.ndarray:
        """Which of some contacts, given as flags, stick together, without those that slip or pull when all of them do. Two
        corners beside each other, about one of which a body turns, keep it from turning: so neither of them is left."""
        own: Any = self.system.options[0]
        trial = table.copy()
        while sticks.any():
            trial.mode = np.where(sticks, STICKING, table.mode)
            order, forces = self._bearing_forces(y, trial, sides)
            rubs, most = np.hypot(forces[:, 1], forces[:, 2]), (1.0 + MARGIN) * trial.friction[order] * forces[:, 0]
            slips = (trial.mode[order] == STICKING) & (rubs > most)
            wrong = (forces[:, 0] < -0.5 * own.tiny_force) | slips
            if not wrong.any():
                break
            drop = sticks & np.isin(np.arange(len(sticks)), order[wrong])
            sticks = sticks & ~drop if drop.any() else np.zeros(len(sticks), bool)
        return sticks

    def _set_slacks(self, y: np.ndarray) -> None:
        """Make the event function positive: contacts just handled, at zero but for rounding, must not be events again."""
        own: Any = self.system.options[0]
        touches = self.system.tables.touches
        if own.touches > own.active:
            self.system.event_value(self._driver.time, y)  # velocities and gaps of all
        columns = ("mode", "gap", "velocity", "friction", "force", "frame", "slide")
        mode, gap, velocity, friction, force, frame, slide = (np.asarray(touches[name]) for name in columns)
        active, tiny_gap, tiny_force = int(own.active), float(own.tiny_gap), float(own.tiny_force)
        for k, touch in enumerate(touches.view(TOUCH, np.ndarray)):
            key = key_of(touch)
            if k >= active or mode[k] == OPEN:
                slack = tiny_gap if velocity[k, 0] < 0.0 else 3.0 * tiny_gap
                touch["slack_gap"] = max(0.0, tiny_gap - (gap[k] + slack)) + self._slack(CLOSES, key, tiny_gap)
                continue
            touch["slack_force"] = self._slack(LETS_GO, key, tiny_force)
            touch["slack_rim"] = self._slack(LEAVES, key, RIM * self.settings.size)
            if mode[k] == STICKING:
                most, rubs = friction[k] * force[k, 0], float(np.hypot(force[k, 1], force[k, 2]))
                if rubs >= most or self._repeats.repetitions((SLIPS, key)):
                    excess = max(0.0, rubs - most)
                    more = min(max(MARGIN * most, GROWS * excess), MUTED * most)
                    touch["slack_cone"] = excess + more + self._slack(SLIPS, key, tiny_force)
            elif mode[k] == SLIDING:
                along = float(velocity[k, 1:] @ frame[k].reshape(3, 3)[1:] @ slide[k])
                touch["slack_slide"] = max(0.0, -along) + self._slack(STOPS, key, float(own.tiny_speed))

    def name(self, touch: Any, side: str) -> str:
        """The name of body i or j of a touch, or of the obstacle there."""
        return self.owners.name(int(touch[side]), int(touch["a"]), int(touch["b"]))
