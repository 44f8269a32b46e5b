"""The live interface of a run: steps, handles by name, contact forces by pair, and reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from ..contact.points import frame_of, listed_points, of_sleepers
from ..dynamics.joint_space.mechanism import JointMechanism
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..scene.body import Body
from ..scene.contact import Obstacle
from ..scene.joint import Joint
from ..scene.particles import Particles
from .applied import Applying
from .branch import Branching
from .clock import next_frame, slack
from .handles import BodyHandle, Handle, JointHandle, ObstacleHandle, ParticlesHandle
from .recording import Recorder
from .registry import whole
from .run import Course
from .state import Named, name_of


class UnknownName(KeyError, ValueError):
    """A name that nothing has, or several things have."""

    def __str__(self) -> str:  # that of KeyError is in quotes
        return str(self.args[0])


NO_FORCE = np.zeros(3)
WARN_OF = 1.0  # s: the run that steps are the beginning of, at least, for warnings of unstable steps


class Live(Applying, Branching):
    """The part of `Simulation` for loops of the user's."""

    model: Model
    frame_rate: float
    recorder: Recorder
    settings: dict[str, Any]
    advances: list[float]
    stopped: bool
    _driver: Stepper
    _unrecorded: bool
    _stepped_from: float | None
    _handles: dict[Any, Handle]
    _asked: Any
    _turn: Any
    _course: Course
    _warn_before: Callable[[float], None]
    _to: Callable[..., None]
    _record: Callable[[], None]
    _warn_after: Callable[[], None]
    restart: Callable[..., Any]
    joint_state: Callable[[], dict[str, tuple[float, float]]]

    # Steps ------------------------------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> Self:
        """Make n steps. With fixed steps each is dt long. With an adaptive method each is the interval between recorded
        frames, 1/`frame_rate` s.

        Frames are recorded only at multiples of 1/`frame_rate` s, so that a loop of many short steps costs no more than
        `advance`. `report` and `trajectory` end with the current state. Applied forces act during all n steps. Raises
        the same errors as `advance`. After an event that stops the run, `step` does nothing.

        >>> import dalembert as dal
        >>> scene = dal.Scene("falling", gravity=(0, 0, -10))
        >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
        >>> sim = dal.Simulation(scene, method="rk4", dt=0.01)
        >>> for _ in range(10):
        ...     _ = sim.step(5)
        >>> round(sim.time, 9), round(float(sim[ball].position[2]), 9)
        (0.5, -1.25)
        """
        count = n if type(n) is int and n > 0 else whole("n", n)
        if self._stepped_from is None:
            self._warn_before(WARN_OF)
        with self._turn, self._course:
            begun, before = self._stepped_from, self._driver.time
            if begun is None:
                begun = float(self._asked.total + self._asked.rest)
            try:
                self._make_steps(count, self.settings["dt"])
            finally:
                self._note_steps(begun, before)
        return self

    def _note_steps(self, begun: float, before: float) -> None:
        """Note, for a replay, that `advance` would have led from the time `begun` to the current one."""
        now = self._driver.time
        if now > before:
            if self._stepped_from is None:
                self._stepped_from = begun
                self.advances.append(0.0)
            self.advances[-1] = now - begun
            self._asked.begin(now)

    def _make_steps(self, count: int, dt: float | None) -> None:
        """Make so many steps; frames on the way are recorded."""
        times = self.recorder.frames["time"]
        recorded, now = len(times), self._driver.time
        if dt is None:
            for _ in range(count):
                if not self.stopped:
                    self._to(next_frame(self._driver.time, self.frame_rate))
        else:
            end = now + count * dt
            while not self.stopped and now < end - 0.5 * dt:
                frame = next_frame(now, self.frame_rate)
                ends_frame = frame <= end + slack(end)
                self._to(frame if ends_frame else end, ends_frame)
                now = self._driver.time
        times = self.recorder.frames["time"]
        if len(times) > recorded:
            self._warn_after()
        self._unrecorded = times[-1] < self._driver.time

    def _record_now(self) -> None:
        """Record the current state if steps have led beyond the last frame."""
        if self._unrecorded and not self._advancing:
            self._unrecorded, self._stepped_from = False, None
            self._notice_changes()
            if self._driver.time > self.recorder.frames["time"][-1]:
                self._record()

    _advancing: bool

    def reset(self) -> Self:
        """Go back to the initial state, at time 0, with an empty record. The run that follows has the same bits as a
        new `Simulation`, and nothing is recompiled. See `restart`, which can also change the initial state."""
        self.restart()
        return self

    # Handles ----------------------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, item: Body | BodyHandle) -> BodyHandle: ...
    @overload
    def __getitem__(self, item: Joint | JointHandle) -> JointHandle: ...
    @overload
    def __getitem__(self, item: Particles | ParticlesHandle) -> ParticlesHandle: ...
    @overload
    def __getitem__(self, item: Obstacle | ObstacleHandle) -> ObstacleHandle: ...
    @overload
    def __getitem__(self, item: str) -> Any: ...

    def __getitem__(self, item: Any) -> Any:
        """The handle of a body, joint, obstacle or group of particles, by its name or by the object that
        `Scene.add_body` or another method returned. Type checkers know the type of the handle of an object, and of
        `body`, `joint`, `obstacle` and `particles`.

        Raises KeyError for an unknown name, a name that a body and a joint share, and objects of another scene.
        """
        found = self._handles.get(item) if isinstance(item, str) else None
        if found is not None:
            return found
        scene = self.model.scene
        tables: dict[str, dict[str, Any]] = {
            "body": scene.bodies, "joint": scene.joints, "obstacle": scene.obstacles, "particles": scene.particles
        }  # fmt: skip
        name: str = item if isinstance(item, str) else getattr(item, "name", "")
        kinds = [kind for kind, table in tables.items() if name in table]
        if not isinstance(item, str):
            own = getattr(item, "scene_item", item)
            kinds = [kind for kind in kinds if tables[kind][name] is own]
            if not kinds:
                raise UnknownName(
                    f"{item!r:.80} is not part of scene {scene.name!r}; give an object that add_body, hinge, … returned"
                )
        if len(kinds) > 1:
            ways = " or ".join(f"sim.{kind}({name!r})" for kind in kinds)
            raise UnknownName(f"{name!r} is the name of several objects of scene {scene.name!r}; use {ways}")
        if not kinds:
            known = [*scene.bodies, *scene.joints, *scene.obstacles, *scene.particles]
            near = closest(name, known)
            hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(known[:8])}"
            if name in scene.forces:
                hint = "except a force; see sim.set_motor, sim.efforts, and sim.joint(name).target of its joint"
            raise UnknownName(f"nothing in scene {scene.name!r} is called {name!r:.80}{hint}")
        handle = KINDS[kinds[0]](self, tables[kinds[0]][name])
        if isinstance(item, str):
            self._handles[item] = handle
        return handle

    def body(self, name: str) -> BodyHandle:
        """The handle of a body by its name. Raises KeyError."""
        return self[self._item("body", self.model.scene.bodies, name)]

    def joint(self, name: str) -> JointHandle:
        """The handle of a joint by its name. Raises KeyError."""
        return self[self._item("joint", self.model.scene.joints, name)]

    def obstacle(self, name: str) -> ObstacleHandle:
        """The handle of an obstacle by its name. Raises KeyError."""
        return self[self._item("obstacle", self.model.scene.obstacles, name)]

    def particles(self, name: str) -> ParticlesHandle:
        """The handle of a group of particles by its name. Raises KeyError."""
        return self[self._item("group of particles", self.model.scene.particles, name)]

    def _item(self, kind: str, table: dict[str, Any], name: str) -> Any:
        if name not in table:
            known = ", ".join(list(table)[:8]) or "none"
            raise UnknownName(f"scene {self.model.scene.name!r} has no {kind} {name!r:.80}; there are {known}")
        return table[name]

    # Joints -----------------------------------------------------------------------------------------------------------

    def _joint_value(self, name: str, which: int) -> float | None:
        """The coordinate of a joint (which = 0) or its rate (1); None for a joint without a single one."""
        if self.model.tree is not None and isinstance(self._mechanism, JointMechanism):
            own = self._mechanism
            place = own.layout.scalars().get(name)
            if place is not None:
                own.time = float(self._driver.time)
                own.take(self._y)
                return float(own.z[place[0]] if which == 0 else own.z[len(own.layout.start) + place[1]])
        pair = self.joint_state().get(name)
        return None if pair is None else pair[which]

    # Contact forces by pair -------------------------------------------------------------------------------------------

    def contact_force(self, on: str | Named, by: str | Named | None = None) -> NDArray[np.float64]:
        """(3,) N, world axes: the contact force on a body or obstacle from another one (`by`), or from all of them.
        With fixed steps it is the mean over the last step; with events, the force at the end of the last step. It is
        zero without contact. For sleeping bodies it is the force of the last recorded frame. Contacts with particles
        are not included. `Trajectory.contact_force_between(by, on)` has the force at all recorded frames.

        Raises ValueError for an unknown name, and for an object without a material.

        >>> import dalembert as dal
        >>> scene = dal.Scene("at rest", material=dal.Material(friction=0.5), gravity=(0, 0, -10))
        >>> floor = scene.add_obstacle("floor", dal.HalfSpace())
        >>> box = scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=3.0, position=(0, 0, 0.1))
        >>> sim = dal.Simulation(scene, dt=0.01).step(5)
        >>> round(float(sim.contact_force(box, by=floor)[2]), 3)
        30.0
        """
        first, second = self._owner_number(on), None if by is None else self._owner_number(by)
        points = self._points()
        ones, others, forces = points["a"], points["b"], points["force"]
        mine, theirs = others == first, ones == first
        if second is not None:
            if first == second:
                name = self.recorder.owners.names[first]
                raise ValueError(f"contact_force: {name!r} is given twice; give two objects")
            mine, theirs = mine & (ones == second), theirs & (others == second)
        return np.asarray(forces[mine].sum(axis=0) - forces[theirs].sum(axis=0))

    @property
    def contact_forces(self) -> dict[tuple[str, str], NDArray[np.float64]]:
        """(a, b) → (3,) N, the contact force on b from a, for all pairs in contact: see `contact_force`. Each pair is
        listed once, in the order of the scene, bodies before obstacles."""
        points, names, found = self._points(), self.recorder.owners.names, dict[tuple[str, str], Any]()
        for one, other, force in zip(points["a"].tolist(), points["b"].tolist(), points["force"], strict=True):
            key, sign = ((names[one], names[other]), 1.0) if one < other else ((names[other], names[one]), -1.0)
            found[key] = found.get(key, NO_FORCE) + sign * force
        return found

    def _points(self) -> Any:
        """The contact points of the last step, (n,) records of `contact_point.POINT`."""
        owners, bodies = self.recorder.owners, self._driver.bodies
        if bodies is None:
            return listed_points(self._driver.contacts(self.model), owners)
        points = frame_of(bodies.collision, owners, bodies.settings.dt, bodies._struck())["contact_points"]
        asleep = of_sleepers(self.recorder._last_points, bodies.collision.asleep, owners)
        return np.concatenate([points, asleep]) if len(asleep) else points

    def _owner_number(self, item: Any) -> int:
        name, names = name_of(item, self.model.scene), self.recorder.owners.names
        if name not in names:
            known = ", ".join(names[:8]) or "none"
            raise ValueError(f"contact_force: {name!r:.80} is not a body or obstacle of this run; there are {known}")
        return names.index(name)


KINDS: dict[str, Any] = {
    "body": BodyHandle, "joint": JointHandle, "obstacle": ObstacleHandle, "particles": ParticlesHandle
}  # fmt: skip


def closest(name: str, known: list[str]) -> str | None:
    """The name most like this one, if any is near."""
    import difflib

    found = difflib.get_close_matches(name, known, 1, 0.5)
    return found[0] if found else None
