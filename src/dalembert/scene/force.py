"""Forces on bodies in a scene: the base class, and the methods of `Scene` that add forces.

Points and axes are in world coordinates at the initial pose. The files in `forces` define one force each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ..core.arrays import Array, Number, VectorLike
from ..core.renamed import renamed_keywords, renamed_method, warn_renamed
from .checks import require_arguments
from .joint import Coordinate, End, Frame, Joint
from .resolve import Resolver

if TYPE_CHECKING:
    from .forces.drag import Drag
    from .forces.external_force import ExternalForce
    from .forces.limit import JointFriction, Limit
    from .forces.motor import Motor
    from .forces.spring import Spring
    from .forces.torsion_spring import TorsionSpring

NOWHERE = np.zeros(3)
NOWHERE.setflags(write=False)
Parameter = tuple[str, Any, str]  # name, value, unit


class Force:
    """A force on bodies, the base class of all of them; see `forces`. `Scene.add_force` adds one to a scene.

    A subclass sets `kind` and those of the attributes below that it has, and defines `resolve` and `rows`. The other methods
    have defaults for a force that is not drawn, not exported, and never too stiff for an explicit step.
    """

    kind: str = ""
    parameters_to_vary: tuple[str, ...] = ()  # fields of its row that a batch may vary
    drawn: bool = False  # whether it is drawn as a spring between its ends
    limited: bool = False  # whether only time steps can run it

    name: str = ""
    a: Any = None  # its ends, frames of the scene
    b: Any = None
    at_a: Any = NOWHERE  # (3,) m
    at_b: Any = NOWHERE
    joint: Any = None  # the joint on whose coordinate it acts
    coordinate: Any = "angle"
    bodies: Any = None  # those it acts on; None: see `acts_on`
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    position: float = 0.0
    target: float = 0.0
    limit: float = np.inf
    stops: tuple[float, float] = (-np.inf, np.inf)
    restitution: float = 0.0
    vector: Any = NOWHERE
    torque: Any = NOWHERE
    in_body: bool = False
    function: Callable[..., Any] | None = None

    def __init_subclass__(cls) -> None:
        if "bounded" in vars(cls):
            warn_renamed(f"{cls.__name__}.bounded", f"{cls.__name__}.limited")
            cls.limited = bool(vars(cls)["bounded"])

    @property
    def owner(self) -> str:
        """What messages call it."""
        return f"{self.kind.replace('_', ' ')} {self.name!r}"

    def resolve(self, resolver: Resolver) -> None:
        """Replace names by what they name, and check every value. Raises ValueError."""
        raise NotImplementedError(f"{type(self).__name__} does not define resolve(resolver)")

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        """Its rows of the FORCE table, made by `compiler`: a `model.particles.ForceCompiler`."""
        raise NotImplementedError(f"{type(self).__name__} does not define rows(compiler)")

    def parameters(self) -> list[Parameter]:
        """What tables show of it."""
        return []

    def acts_on(self, scene: Any) -> Sequence[Frame]:
        """The frames that it acts on."""
        ends = (self.a, self.b) if self.joint is None else self.joint.bodies
        return [end for end in ends if end is not None]

    def on(self) -> str:
        """What it acts on, in words."""
        return self.joint.name if self.joint is not None else " – ".join(end.name for end in self.acts_on(None))

    def gains(self) -> tuple[float, float]:
        """Stiffness and damping along the line between its ends, or of its coordinate, at the start (SI units): what limits
        explicit steps."""
        return 0.0, 0.0

    def tendon(self) -> dict[str, float] | None:
        """Attributes of an MJCF tendon between its ends that is the same force; None where there is none."""
        return None


def units(coordinate: str) -> tuple[str, str, str, str]:
    """Units of a coordinate, an effort on it, a stiffness and a damping."""
    return ("rad", "N m", "N m/rad", "N m s/rad") if coordinate == "angle" else ("m", "N", "N/m", "N s/m")


# The methods of `Scene` ----------------------------------------------------------------------------------------------


Point = VectorLike
ForceOfBodies = TypeVar("ForceOfBodies", bound=Force)


class ForceMethods:
    """The methods of `Scene` that add forces on bodies.

    They import a force when it is added: its file has compiled functions, which take time to load.
    """

    forces: dict[str, Any]  # Force or ParticleForce
    _new_name: Callable[..., None]

    def add_force(self, name: str, force: ForceOfBodies) -> ForceOfBodies:
        """Add a force of `dalembert.scene.forces`, such as `Spring(a, b, …)`. Returns it, with names replaced by the
        objects. Raises ValueError, naming the force and the value."""
        force.name = name
        force.resolve(Resolver(self, force.owner))
        self._new_name(name, self.forces, force.kind)
        self.forces[name] = force
        return force

    def spring(
        self, name: str, a: End, b: End, at_a: Point | None = None, at_b: Point | None = None, *,
        stiffness: float, damping: float = 0.0, rest: float | None = None,
    ) -> Spring:  # fmt: skip
        """Add a damped spring between two points: stiffness N/m, damping N s/m, rest length m (default: the initial
        length). A particle needs no point."""
        from .forces.spring import Spring

        spring = Spring(a, b, at_a, at_b, stiffness=stiffness, damping=damping, rest=rest)
        return self.add_force(name, spring)

    def torsion_spring(
        self, name: str, joint: str | Joint, *, stiffness: float, damping: float = 0.0, rest: float = 0.0,
        coordinate: Coordinate | None = None,
    ) -> TorsionSpring:  # fmt: skip
        """Add a damped spring on the coordinate of a joint: N m/rad, N m s/rad on a hinge; N/m, N s/m on a slider."""
        from .forces.torsion_spring import TorsionSpring

        spring = TorsionSpring(joint, stiffness=stiffness, damping=damping, rest=rest, coordinate=coordinate)
        return self.add_force(name, spring)

    def drag(
        self, name: str, bodies: Sequence[str | Frame] | None = None, *, linear: float = 0.0, quadratic: float = 0.0,
        angular: float = 0.0, angular_quadratic: float = 0.0,
    ) -> Drag:  # fmt: skip
        """Add drag −(linear + quadratic |v|) v on each body (N s/m, N s²/m²), and the same on its rotation (N m s, N m
        s²).
        """
        from .forces.drag import Drag

        values = {"linear": linear, "quadratic": quadratic, "angular": angular, "angular_quadratic": angular_quadratic}
        return self.add_force(name, Drag(bodies, **values))

    def external_force(
        self, name: str, body: str | Frame, *, force: VectorLike = (0, 0, 0), torque: VectorLike = (0, 0, 0),
        at: Point | None = None, frame: Literal["world", "body"] = "world",
        function: Callable[[float, Array, Array, Array, Array], VectorLike] | None = None,
    ) -> ExternalForce:  # fmt: skip
        """Add a force (N) at a point that moves with the body (default: its centre of mass), and a torque (N m).

        frame : axes of the force: "world", or "body" for axes that turn with the body.
        function : (t, x, q, v, ω) → (3,) force or (6,) force and torque, instead of constants; compiled by Numba, or
            plain Python, which is slower.
        """
        from .forces.external_force import ExternalForce

        if function is not None:
            require_arguments(f"external force {name!r}", function, "t, x, q, v, w")
        given = ExternalForce(body, force=force, torque=torque, at=at, frame=frame, function=function)
        return self.add_force(name, given)

    if not TYPE_CHECKING:
        load = renamed_method("load", "external_force")
        bounded = renamed_method("bounded", "limited_forces")

    @renamed_keywords(gain="damping")
    def motor(
        self, name: str, joint: str | Joint, *, effort: float = 0.0, speed: float | None = None, damping: float = 0.0,
        position: float = 0.0, stiffness: float = 0.0, limit: float = np.inf,
        function: Callable[[float, float, float], Number] | None = None, coordinate: Coordinate | None = None,
    ) -> Motor:  # fmt: skip
        """Add a motor on the coordinate s of a joint. Its effort is effort + stiffness (position − s) + damping (speed
        − ṡ), clamped to ±limit (N m or N).

        With a speed and no damping it is an ideal motor: its effort is the one, within ±limit, that makes ṡ equal to
        the speed. Ideal motors need method "time_stepping". In this method stiffness and damping are implicit, and
        stable for any value.

        function : (t, s, ṡ) → effort, in place of this formula; compiled by Numba, or plain Python, which is slower.
        """
        from .forces.motor import Motor

        if function is not None:
            require_arguments(f"motor {name!r}", function, "t, s, rate")
        motor = Motor(
            joint, effort=effort, speed=speed, damping=damping, position=position, stiffness=stiffness, limit=limit,
            function=function, coordinate=coordinate,
        )  # fmt: skip
        return self.add_force(name, motor)

    def limit(
        self, name: str, joint: str | Joint, *, lower: float | None = None, upper: float | None = None,
        restitution: float = 0.0, coordinate: Coordinate | None = None,
    ) -> Limit:  # fmt: skip
        """Add stops to a joint: lower ≤ s ≤ upper (rad or m; 0 is the initial pose). The joint bounces off them with
        `restitution`. A joint that starts beyond a stop is moved to it in the first steps; the energy of this
        correction counts as projection error.

        Stops need method "time_stepping".
        """
        from .forces.limit import Limit

        stops = Limit(joint, lower=lower, upper=upper, restitution=restitution, coordinate=coordinate)
        return self.add_force(name, stops)

    def joint_friction(
        self, name: str, joint: str | Joint, *, effort: float, coordinate: Coordinate | None = None
    ) -> JointFriction:
        """Add dry friction to a joint: `effort` (N m or N) against its motion, and at most `effort` at rest.

        Dry friction needs method "time_stepping".
        """
        from .forces.limit import JointFriction

        return self.add_force(name, JointFriction(joint, effort=effort, coordinate=coordinate))

    def limited_forces(self) -> list[str]:
        """Names of stops, of dry friction and of motors without damping, which need method "time_stepping"."""
        return [force.name for force in self.forces.values() if isinstance(force, Force) and force.limited]
