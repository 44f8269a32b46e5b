"""The methods of `Scene` that exert forces. Split off so that each file can be read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .body import Body
from .checks import finite, real_array
from .connect import place
from .force import Force
from .joint import Frame, Joint

Point = ArrayLike


class Exertions:
    """Forces of a scene."""

    forces: dict[str, Any]  # Force or ParticleForce
    _frame: Callable[..., Frame]
    _frames: Callable[..., tuple[Frame, Frame]]
    _joint: Callable[..., Joint]
    _bodies: Callable[..., list[Frame]]
    _new_name: Callable[..., None]

    def _add_force(self, force: Force) -> Force:
        self._new_name(force.name, self.forces, force.kind)
        self.forces[force.name] = force
        return force

    def spring(
        self, name: str, a: str | Frame, b: str | Frame, at_a: Point | None = None, at_b: Point | None = None, *,
        stiffness: float, damping: float = 0.0, rest: float | None = None,
    ) -> Force:  # fmt: skip
        """A damped spring between two points: stiffness N/m, damping N s/m, rest length m (the initial one). A particle is
        its own point."""
        owner = f"spring {name!r}"
        first, second = self._frames(owner, a, b)
        pa, pb = place(owner, "at_a", first, at_a), place(owner, "at_b", second, at_b)
        k, c = finite(owner, "stiffness", stiffness, 0.0), finite(owner, "damping", damping, 0.0)
        length = float(np.linalg.norm(pb - pa)) if rest is None else finite(owner, "rest", rest, 0.0)
        return self._add_force(Force(name, "spring", first, second, pa, pb, stiffness=k, damping=c, rest=length))

    def torsion_spring(
        self, name: str, joint: str | Joint, *, stiffness: float, damping: float = 0.0, rest: float = 0.0,
        coordinate: str | None = None,
    ) -> Force:  # fmt: skip
        """A damped spring on the coordinate of a joint: N m/rad, N m s/rad on a hinge; N/m, N s/m on a slider."""
        owner = f"torsion spring {name!r}"
        k, c = finite(owner, "stiffness", stiffness, 0.0), finite(owner, "damping", damping, 0.0)
        j, which = self._coordinate(owner, joint, coordinate)
        value = finite(owner, "rest", rest)
        return self._add_force(
            Force(name, "torsion_spring", joint=j, coordinate=which, stiffness=k, damping=c, rest=value)
        )

    def _coordinate(self, owner: str, joint: str | Joint, coordinate: str | None) -> tuple[Joint, str]:
        j = self._joint(owner, joint)
        which = coordinate or ("angle" if j.angle else "displacement")
        if which not in ("angle", "displacement") or not getattr(j, which):
            raise ValueError(f"{owner}: {j.kind} {j.name!r} has no {which}; use a hinge or a slider")
        return j, which

    def drag(
        self, name: str, bodies: Sequence[str | Frame] | None = None, *, linear: float = 0.0, quadratic: float = 0.0,
        angular: float = 0.0, angular_quadratic: float = 0.0,
    ) -> Force:  # fmt: skip
        """−(linear + quadratic |v|) v on each body (N s/m, N s²/m²), and the same on its spin (N m s, N m s²)."""
        owner = f"drag {name!r}"
        values = [
            finite(owner, key, value, 0.0)
            for key, value in (("linear", linear), ("quadratic", quadratic), ("angular", angular),
                               ("angular_quadratic", angular_quadratic))
        ]  # fmt: skip
        for item in [] if bodies is None else self._bodies(owner, bodies):
            if not isinstance(item, Body):
                raise ValueError(f"{owner}: {item.name!r} is no body; name bodies, or use medium() for particles")
        force = Force(
            name, "drag", bodies=None if bodies is None else self._bodies(owner, bodies),
            vector=np.array([values[0], values[1], 0.0]), torque=np.array([values[2], values[3], 0.0]),
        )  # fmt: skip
        return self._add_force(force)

    def load(
        self, name: str, body: str | Frame, *, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0),
        at: Point | None = None, frame: str = "world", function: Callable[..., Any] | None = None,
    ) -> Force:  # fmt: skip
        """A force (N) at a point that moves with the body (its centre of mass), and a torque (N m).

        frame : "world", or "body" for axes that turn with it.
        function : (t, x, q, v, ω) → (3,) force or (6,) force and torque, instead of constants; compiled by Numba, or
            plain Python, which is slower.
        """
        owner = f"load {name!r}"
        target = self._frame(owner, body)
        if not isinstance(target, Body):
            raise ValueError(
                f"{owner}: it acts on {target.name!r}, which is no body; name a body, or use field() for particles"
            )
        if frame not in ("world", "body"):
            raise ValueError(f"{owner}: frame is {frame!r}; give 'world' or 'body'")
        f, m = real_array(owner, "force", force, (3,)), real_array(owner, "torque", torque, (3,))
        if function is not None and (f.any() or m.any()):
            raise ValueError(f"{owner}: give a function, or a force and a torque, not both")
        point = target.position if at is None else real_array(owner, "at", at, (3,))
        return self._add_force(
            Force(name, "load", a=target, at_a=point, vector=f, torque=m, in_body=frame == "body", function=function)
        )

    def motor(
        self, name: str, joint: str | Joint, *, effort: float = 0.0, speed: float | None = None, gain: float = 0.0,
        position: float = 0.0, stiffness: float = 0.0, limit: float = np.inf, function: Callable[..., Any] | None = None,
        coordinate: str | None = None,
    ) -> Force:  # fmt: skip
        """A motor on the coordinate s of a joint: effort + stiffness (position − s) + gain (speed − ṡ), kept within ± limit
        (N m or N).

        With a speed and no gain it is an ideal motor: whatever effort within ± limit makes ṡ the speed. A run with one
        takes time steps (method "time_stepping"). There stiffness and gain are implicit, and stable for any value.

        function : (t, s, ṡ) → effort, instead; compiled by Numba, or plain Python, which is slower.
        """
        owner = f"motor {name!r}"
        j, which = self._coordinate(owner, joint, coordinate)
        if not limit > 0.0:
            raise ValueError(f"{owner}: limit is {limit!r}; give an effort above zero")
        strength = finite(owner, "gain", gain, 0.0)
        k, aim = finite(owner, "stiffness", stiffness, 0.0), finite(owner, "position", position)
        if speed is not None and strength == 0.0:
            if function is not None or effort != 0.0 or k != 0.0:
                raise ValueError(f"{owner}: a speed without a gain leaves no room for an effort, stiffness or function")
            return self._add_force(
                Force(
                    name, "servo", joint=j, coordinate=which, target=finite(owner, "speed", speed), limit=float(limit)
                )
            )
        if function is not None and (effort != 0.0 or strength or k or aim or speed is not None):
            raise ValueError(f"{owner}: give a function of the effort, or effort, speed, gain, position and stiffness")
        if aim != 0.0 and k == 0.0:
            raise ValueError(
                f"{owner}: position is {aim:g} and stiffness is 0, so that nothing draws it there; give both"
            )
        force = Force(
            name, "motor", joint=j, coordinate=which, rest=finite(owner, "effort", effort),
            target=0.0 if speed is None else finite(owner, "speed", speed), damping=strength, stiffness=k,
            position=aim, limit=float(limit), function=function,
        )  # fmt: skip
        return self._add_force(force)

    def limit(
        self, name: str, joint: str | Joint, *, lower: float | None = None, upper: float | None = None,
        restitution: float = 0.0, coordinate: str | None = None,
    ) -> Force:  # fmt: skip
        """Stops of a joint: lower ≤ s ≤ upper (rad or m; 0 is the initial pose). It bounces off them with `restitution`.
        A joint that starts beyond a stop is brought to it in the first steps; the energy of that is an error, of
        projection.

        A run with limits takes time steps (method "time_stepping").
        """
        owner = f"limit {name!r}"
        j, which = self._coordinate(owner, joint, coordinate)
        stops = [-np.inf if lower is None else finite(owner, "lower", lower),
                 np.inf if upper is None else finite(owner, "upper", upper)]  # fmt: skip
        if not (stops[0] < stops[1] and np.isfinite(stops).any()):
            raise ValueError(
                f"{owner}: lower {lower!r} and upper {upper!r} leave no room; give lower < upper, or one of them"
            )
        e = finite(owner, "restitution", restitution, 0.0)
        if e > 1.0:
            raise ValueError(f"{owner}: restitution is {e:g}; give 0 to 1")
        return self._add_force(
            Force(name, "limit", joint=j, coordinate=which, stops=(stops[0], stops[1]), restitution=e)
        )

    def joint_friction(self, name: str, joint: str | Joint, *, effort: float, coordinate: str | None = None) -> Force:
        """Dry friction in a joint: as much as `effort` (N m or N) against its motion, and what it takes to hold it at rest.

        A run with dry friction takes time steps (method "time_stepping").
        """
        owner = f"friction {name!r}"
        j, which = self._coordinate(owner, joint, coordinate)
        return self._add_force(
            Force(name, "friction", joint=j, coordinate=which, limit=finite(owner, "effort", effort, 0.0))
        )

    def bounded(self) -> list[str]:
        """Names of stops, of dry friction and of motors without a gain, which only time steps can run."""
        kinds = ("limit", "friction", "servo")
        return [force.name for force in self.forces.values() if force.kind in kinds]
