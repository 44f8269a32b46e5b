"""Explicit integration methods: of smooth motion, and by events if bodies collide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...collide.curved import DISTANCE_ENTRY as DISTANCE
from ...collide.detect import collision_of, joined_pairs
from ...core.jit import CFunction
from ...dynamics.joint_space.mechanism import JointDriver, JointMechanism
from ...dynamics.mechanism import Mechanism
from ...impact.contact_law import KERNELS as SWEEPS
from ...impact.driver import EventDriver
from ...impact.grazing import LOOK_ENTRY as LOOK
from ...impact.impact import LAWS, EventSettings
from ...impact.system import CONTACT_SYSTEM_ENTRY as EVENTS
from ...impact.system import ContactSystem
from ...integrate import state as integration
from ...integrate.driver import INTEGRATION_ENTRY as INTEGRATION
from ...integrate.driver import Driver
from ...integrate.state import Functions
from ...integrate.stepper import Stepper
from ...integrate.tableaus import METHODS
from ...linalg.lcp import KERNELS as LCP
from ...model.compile import Model
from ...model.tables import STATE_SIZE, System
from ...scene.contact import Obstacle, rule_for, rule_table
from ...scene.scene import Scene
from ..agreement import require_agreement
from ..registry import NO, Facts, Method, names, one_of, positive, register
from ..settings import ImpactLaw
from .contact import MARGIN, TIME_STEPPING, contact_entry, require_rigid

# Share of rtol and atol where balls or free bodies are in joint coordinates. In maximal coordinates the error of a step is
# measured before projection removes most of it, the part that violates the joints. Joint coordinates have no such part:
# their tops would be 2 to 4 times less accurate at the same tolerance. With this share they are alike.
JOINT_TOLERANCE = 0.4


@register
@dataclass(frozen=True, kw_only=True)
class RungeKutta(Method):
    """An explicit integration method with adaptive or fixed steps. For scenes with collisions use `Events`.

    Parameters
    ----------
    name : one of `dalembert.METHODS`.
    dt : step, s, for fixed steps. Methods without an error estimate need it.
    rtol, atol : tolerances on the error of one adaptive step: relative, and absolute in m, rad, m/s and rad/s. Default
        of atol: rtol.

    Raises ValueError for an unknown name and invalid numbers.

    >>> import dalembert as dal
    >>> dal.RungeKutta("dop853", rtol=1e-10).options
    {'dt': None, 'rtol': 1e-10, 'atol': None}
    """

    name: str = field(default="dormand_prince", kw_only=False)
    dt: float | None = None
    rtol: float = 1e-8
    atol: float | None = None

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise ValueError(f"unknown method {self.name!r:.80}; the methods are {', '.join(names())}")
        if self.dt is not None:
            positive("dt", self.dt, "s")
        elif not METHODS[self.name].error.shape[0]:
            raise ValueError(
                f"method {self.name!r} has no error estimate; give its step, dt, in s, or use "
                "method='dormand_prince', which chooses its steps"
            )
        positive("rtol", self.rtol, "relative")
        if self.atol is not None:
            positive("atol", self.atol, "m, rad, m/s, rad/s")

    @classmethod
    def names(cls) -> list[str]:
        """The names of all tableaus."""
        return list(METHODS)

    @classmethod
    def facts(cls, name: str) -> Facts:
        """See `Method.facts`."""
        tableau = METHODS[name]
        # Symplectic Euler with half a force step on each side of the drift is leapfrog.
        order = 2 if tableau.partitioned == 2 else tableau.order
        return Facts(
            METHODS.help(name), order, "adaptive, or fixed" if tableau.error.shape[0] else "fixed",
            NO if tableau.partitioned else "by events", "yes", NO if tableau.partitioned else "yes",
        )  # fmt: skip

    @classmethod
    def from_options(cls, name: str, given: Mapping[str, Any]) -> Method:
        """See `Method.from_options`; with a law of impacts the result is `Events`."""
        own = Events if cls is RungeKutta and "impacts" in given else cls
        return super(RungeKutta, own).from_options(name, given)

    @property
    def _law(self) -> str:
        return "simultaneous"

    def system(self, model: Model) -> System:
        """The tables of a run of the model, whose stages are evaluated where joints are open."""
        system = model.system()
        system.settings.chooses = int(model.tree is None)
        return system

    def compiled(self, model: Model) -> list[CFunction]:
        """See `Method.compiled`."""
        return [INTEGRATION, *((EVENTS, LOOK, DISTANCE, *LCP, *SWEEPS) if model.scene.touching() else [])]

    def make_stepper(self, model: Model, mechanism: Mechanism, stop_unsolved: bool) -> Stepper:
        """See `Method.make_stepper`."""
        tableau, touching = METHODS[self.name], bool(model.scene.touching())
        if tableau.partitioned or isinstance(mechanism, JointMechanism):  # which have no contact by events
            touching = touching and can_collide(model.scene)
        self._require_runnable(model, mechanism, touching)
        share = JOINT_TOLERANCE if isinstance(mechanism, JointMechanism) and mechanism.carried else 1.0
        weights = smooth_weights(model, mechanism, self.name)
        options = integration.make_options(
            tableau,
            weights.size,
            adaptive=self.dt is None,
            rtol=share * float(self.rtol),
            atol=share * float(self.rtol if self.atol is None else self.atol),
            weights=weights,
            momentum=model.momentum if tableau.partitioned else None,
            direction=[event.direction for event in model.events] + [-1] * touching,
        )
        step = 0.0 if self.dt is None else float(self.dt)
        if touching:
            return self._event_driver(model, mechanism, options, step)
        require_agreement(model.size, mechanism.system)
        if isinstance(mechanism, JointMechanism):
            return JointDriver(mechanism, options, step)
        none = np.zeros(len(model.events), np.int64)
        carried = weights.size - model.size
        return Driver(
            Functions(mechanism.address, mechanism.data, 1, model.event_addresses, none, carried), options, step
        )

    def _require_runnable(self, model: Model, mechanism: Mechanism, touching: bool) -> None:
        """Raises ValueError for a model that this method cannot run."""
        joint, partitioned = isinstance(mechanism, JointMechanism), METHODS[self.name].partitioned
        limited = model.scene.limited_forces()
        motor = model.scene.forces[limited[0]] if limited else None
        if motor is not None and motor.kind == "servo" and motor.limit == np.inf:
            raise ValueError(
                f"method {self.name!r} cannot run {limited[0]!r}: motors without damping need method="
                f"{TIME_STEPPING!r}; or, as it has no limit, prescribe the speed of its joint: "
                f"add_motion({limited[0]!r}, {motor.joint.name!r}, speed={motor.target:g})"
            )
        if limited:
            raise ValueError(
                f"method {self.name!r} cannot run {limited[0]!r}: stops, dry friction and motors without damping need "
                f"time steps; use method={TIME_STEPPING!r}"
            )
        if joint and partitioned:
            raise ValueError(f"method {self.name!r} does not support joint coordinates; use 'rk4'")
        if joint and touching:
            raise ValueError(
                f"scene {model.name!r}: bodies that collide need coordinates='maximal' with method {self.name!r}; or use "
                f"method={TIME_STEPPING!r}"
            )
        if touching:
            require_rigid(model.scene, f"method {self.name!r}")
        if touching and partitioned:
            raise ValueError(
                f"method {self.name!r} supports only forces that depend on positions; contact needs 'dormand_prince', or "
                f"{TIME_STEPPING!r}"
            )

    def _event_driver(self, model: Model, mechanism: Mechanism, options: Any, step: float) -> EventDriver:
        """The stepper of a scene whose bodies collide. Raises ValueError."""
        for solid in model.scene.touching():
            parts = getattr(solid.shape, "parts", None)
            shapes = [solid.shape] if parts is None else [part.shape for part in parts]
            for shape in shapes:
                if not shape.by_events:
                    raise ValueError(
                        f"{solid.name!r}: a {type(shape).__name__} is not supported by contact events (method "
                        f"{self.name!r}); use method={TIME_STEPPING!r}, or a ConvexHull"
                    )
        collision = collision_of(model.scene)
        size = float(collision.colliders.radius[collision.order].min(initial=1.0))
        require_agreement(model.size, mechanism.system, collision)
        system = ContactSystem(mechanism, collision, model.size, contact_entry(model, model.size), MARGIN * size)
        return EventDriver(system, model, options, model.event_addresses, EventSettings(self._law, step, size))


@dataclass(frozen=True, kw_only=True)
class Events(RungeKutta):
    """An explicit integration method with contact by events: impacts are located in time, and the motion between them
    is smooth.

    Parameters
    ----------
    name, dt, rtol, atol : see `RungeKutta`.
    impacts : law of impacts, "simultaneous", "sequential" or "poisson": see `impact.impact`.

    >>> import dalembert as dal
    >>> dal.Events("dop853", rtol=1e-11, impacts="sequential").impacts
    'sequential'
    """

    impacts: ImpactLaw = "simultaneous"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("law of impacts", self.impacts, LAWS, "the laws")

    @property
    def _law(self) -> str:
        return self.impacts


def can_collide(scene: Scene) -> bool:
    """Whether there are a body that moves and another body or obstacle that do not pass through each other."""
    table, joined, touching = rule_table(scene.contact_rules), joined_pairs(scene), scene.touching()
    for a in touching:
        if isinstance(a, Obstacle) or a.motion is not None:
            continue
        for b in touching:
            rule = rule_for(table, a, b)
            if a is not b and (rule.enabled if rule is not None else {a.name, b.name} not in joined):
                return True
    return False


def smooth_weights(model: Model, mechanism: Mechanism, method: str) -> np.ndarray:
    """Scales of the absolute tolerance of an integration method, of the state and of what a step carries behind it:
    see `dynamics.kinematics`. Contact by events and methods of momenta carry nothing."""
    if isinstance(mechanism, JointMechanism):
        return mechanism.weights
    if model.scene.touching() or METHODS[method].partitioned:
        return model.weights
    spins = model.tables["spins"].body
    return np.concatenate([model.weights, *(model.weights[STATE_SIZE * i + 10 : STATE_SIZE * i + 13] for i in spins)])
