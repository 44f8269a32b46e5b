"""Forces applied between steps, impulses, and writes to the state: their effect, and their work in the ledger.

Runs without applied forces have no extra cost. The first call adds a row to the table of forces for each body, and two
entries to the ledger: the work of applied forces, and the energy added by writes to the state. The tables are rebuilt
for this, and the run continues with the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..collide.tables import AWAKE
from ..core.c_function import COMPLETE, MEASURE
from ..core.status import OK
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.joint_space.queries import SOLVE
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import (
    FIELD,
    FORCE,
    FORCE_IMPULSE,
    LEDGER,
    PROJECTION,
    STATE_SIZE,
    TORQUE_IMPULSE,
    System,
)
from .articulation import Articulation
from .branch import with_longer_ledger
from .initial_conditions import ledger_size
from .precompile import precompile
from .setup import compiled_parts
from .state import LIVE_ENTRIES, with_live_entries
from .wrenches import BY_CONTROLLER, BY_USER, Wrenches

WORK, WRITTEN = 0, 1  # the entries, in this order behind those of the scene


def with_entries(model: Model) -> Model:
    """The model with an idle force on each body, and two more entries of the ledger."""
    entry, count = len(model.force_names), len(model.body_names)
    forces: Any = np.zeros(len(model.tables["forces"]) + count, FORCE).view(np.recarray)
    own = forces[len(forces) - count :]
    forces[: len(forces) - count] = model.tables["forces"]
    own.kind, own.ledger, own.a, own.b = FIELD, entry + WORK, np.arange(count), np.arange(count)

    return dataclasses.replace(
        model, tables={**model.tables, "forces": forces}, force_names=(*model.force_names, *unused(model.force_names)),
        initial=with_live_entries(model.initial), weights=with_live_entries(model.weights),
        momentum=with_live_entries(model.momentum),
    )  # fmt: skip


def unused(names: tuple[str, ...]) -> list[str]:
    """The names of the two entries, changed where the scene has forces of these names."""
    found = []
    for name in LIVE_ENTRIES:
        while name in names:
            name += " (live)"
        found.append(name)
    return found


class Applying:
    """The part of `Simulation` about what is applied between steps."""

    model: Model
    time: Any
    _system: System
    _driver: Stepper
    _mechanism: Any
    _method: Any
    _iterative: Any
    _y: np.ndarray
    _dydt: np.ndarray
    _hold: Any
    _compiled: Model  # without the further entries
    _wrenches: Wrenches | None
    _in_controller: bool
    _changed_by_hand: Callable[[str], None]
    _notice_changes: Callable[[], None]
    changed: Callable[[], None]
    _take_change: Callable[[], None]

    def _take_entries(self) -> Wrenches:
        """The rows of applied forces, which the first call adds to the tables. Raises ValueError in coordinates of the
        user's."""
        if self._wrenches is None:
            self._require_bodies_of_our_own("forces, impulses and changes of single bodies")
            self._notice_changes()
            model = with_entries(self._compiled)
            precompile(compiled_parts(model, self._method, self._iterative is not None))
            with_longer_ledger(self, model, with_live_entries)
            self._wrenches = Wrenches(self)
        return self._wrenches

    def _require_bodies_of_our_own(self, what: str) -> None:
        if isinstance(self._mechanism, JointMechanism) and not hasattr(self._mechanism, "layout"):
            raise ValueError(
                f"scene {self.model.name!r} uses generalized coordinates, which do not support {what}; "
                "use coordinates='maximal' or 'joint'"
            )

    # Forces -----------------------------------------------------------------------------------------------------------

    def _apply(self, body: int, force: np.ndarray, torque: np.ndarray) -> None:
        """Apply a force (N) at the centre of a body and a torque (N m), world axes."""
        wrench, who = np.concatenate([force, torque]), BY_CONTROLLER if self._in_controller else BY_USER
        wrenches = self._take_entries()
        if not wrench.any():
            return
        wrenches.add(who, body, wrench)
        self._changed_by_hand(f"force on {self.model.body_names[body]!r}")
        self._driver.inputs_changed()
        self._wake(body)

    def _end_of_forces(self, who: int) -> None:
        """Forces end: those of the user with a call of `step` or `advance`, those of a controller when it is called again."""
        if self._wrenches is not None and self._wrenches.clear(who):
            self._driver.inputs_changed()

    def _live_work(self) -> float:
        """The work of what was applied, and the energy that writes added, so far, J."""
        if self._wrenches is None:
            return 0.0
        at = len(self._y) - len(LEDGER)
        return float(self._y[at - len(LIVE_ENTRIES) : at].sum())

    def _wake(self, body: int) -> None:
        """Wake a body, and what fell asleep with it."""
        bodies = self._driver.bodies
        if bodies is None or not bodies.settings.sleep_after > 0.0:
            return
        if bodies.collision.asleep[body] == AWAKE:
            bodies._tables.slow[body] = min(bodies._tables.slow[body], 0.0)
            return
        flags = np.zeros(len(self.model.body_names), bool)
        flags[body] = True
        bodies.keep_awake(flags)

    # Impulses and writes ----------------------------------------------------------------------------------------------

    def _push(self, body: int, impulse: np.ndarray, turning: np.ndarray) -> None:
        """Change the momenta by an impulse (N s) at the centre of a body and an angular one (N m s); joints share it."""
        with self._booked(WORK, f"impulse on {self.model.body_names[body]!r}"):
            if self.model.tree is not None:
                self._push_tree(body, np.concatenate([impulse, turning]))
            else:
                at = STATE_SIZE * body + 7
                self._y[at : at + 3] += impulse
                self._y[at + 3 : at + 6] += turning

    def _push_tree(self, body: int, wrench: np.ndarray) -> None:
        """In joint coordinates: w += M⁻¹ Jᵀ p, rotors included."""
        own, tree = self._mechanism, self._articulation
        own.time = float(self.time)
        own.take(self._y)
        first, m = len(own.layout.start), len(own.layout.freedoms)
        u = own.z[:first].copy()
        jacobian = tree.jacobian(u, self.model.body_names[body])
        own.z[first : first + m] += tree._ask(SOLVE, u, None, wrench @ jacobian, m)
        own.put(self._y)

    @property
    def _articulation(self) -> Articulation:
        """The scene in joint coordinates, for calls from Python."""
        found: Articulation | None = self.__dict__.get("_tree_of_scene")
        if found is None:
            found = self.__dict__["_tree_of_scene"] = Articulation(self.model.scene)
        return found

    @contextmanager
    def _booked(self, entry: int, what: str) -> Iterator[None]:
        """A context in which the state may be written to: joints share the change, by the smallest change in the mass metric,
        and energy and momenta that it adds go to the ledger. Raises ValueError, and changes nothing, for a state that cannot
        be."""
        self._take_entries()
        self._notice_changes()
        before, kept = self._totals(), self._y.copy()
        try:
            yield
            if not np.isfinite(self._y).all():
                raise ValueError(f"{what}: the state would not be finite; give finite numbers")
            self._close_joints()
        except ValueError:
            self._y[:] = kept
            self._take_change()
            raise
        size = ledger_size(self.model)
        self._y[-size:] = kept[-size:]
        change = self._totals() - before
        self._y[len(self._y) - len(LEDGER) - len(LIVE_ENTRIES) + entry] += change[0]
        common = self._y[-len(LEDGER) :]
        common[FORCE_IMPULSE : FORCE_IMPULSE + 3] += change[1:4]
        common[TORQUE_IMPULSE : TORQUE_IMPULSE + 3] += change[4:7]
        self._take_change()
        self._changed_by_hand(what)

    def _close_joints(self) -> None:
        """Make velocities consistent with the joints, where these are enforced by projection."""
        if len(self._system.error) and self._system.settings[0].hold == PROJECTION:
            if self._mechanism(COMPLETE, float(self.time), self._y, self._dydt) != OK:
                raise ValueError(f"the joints of scene {self.model.name!r} cannot be closed from this state")
        elif self.model.tree is not None:
            self._mechanism.time = float(self.time)
            self._mechanism.take(self._y)
            self._mechanism.put(self._y)

    def _totals(self) -> np.ndarray:
        """(7,) energy (J), momentum (kg m/s) and angular momentum about the origin (kg m²/s) of everything."""
        y, scratch = self._y, np.empty_like(self._y)
        self._mechanism(MEASURE, float(self.time), y, scratch)
        bodies = y[: STATE_SIZE * len(self.model.body_names)].reshape(-1, STATE_SIZE)
        x, p = y[self.model.particle_block].reshape(2, -1, 3)
        momentum = bodies[:, 7:10].sum(axis=0) + p.sum(axis=0)
        spin = (np.cross(bodies[:, 0:3], bodies[:, 7:10]) + bodies[:, 10:13]).sum(axis=0) + np.cross(x, p).sum(axis=0)
        return np.concatenate([[np.sum(self._system.energies[:2])], momentum, spin])
