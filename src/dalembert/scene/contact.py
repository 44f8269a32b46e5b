"""Contact in a scene: materials, fixed obstacles, and rules for pairs.

Bodies and obstacles collide if they have a material: their own, or that of the scene. The friction of a pair is the
geometric mean of both coefficients, √(μ_a μ_b), as are rolling and torsional friction; the restitution is the larger of
the two. A rule can set other values. Two bodies that a joint connects do not collide, unless a rule enables it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..core.arrays import VectorLike
from .body import Body
from .checks import meant, number_or_nan, real_array, rotation_matrix, unit_quaternion
from .colors import color_text
from .motion import Motion
from .shapes import Shape

MOST_FRICTION = 1e3
MOST = {
    "restitution": 1.0, "rolling_friction": 10.0, "torsional_friction": 10.0, "stribeck_velocity": 1e3, "stiffness": 1e15,
    "damping": 1e15,
}  # fmt: skip
LEAST = {"stribeck_velocity": 1e-12, "stiffness": 1e-9}
UNITS = {
    "rolling_friction": " m", "torsional_friction": " m", "stribeck_velocity": " m/s", "stiffness": " N/m",
    "damping": " N s/m",
}  # fmt: skip
STRIBECK = ("static_friction", "stribeck_velocity")
TURNING = ("rolling_friction", "torsional_friction")
OPTIONAL = (*STRIBECK, "stiffness")
SHOWN = ("friction", "restitution")  # always; others where they are given


@dataclass(frozen=True, repr=False)
class Material:
    """The properties of a surface: Coulomb friction, restitution, and resistance to rolling and spinning.

    friction : coefficient μ ≥ 0 of sliding friction in Coulomb's law.
    restitution : coefficient, 0 ≤ e ≤ 1.
    rolling_friction, torsional_friction : m. A contact with normal force N resists rolling with a torque of at most
        rolling_friction N, and spinning about its normal with at most torsional_friction N.
    static_friction, stribeck_velocity : Stribeck's law, μ(v) = μ + (static_friction − μ) exp(−(v/stribeck_velocity)²)
        with the sliding speed v (m/s) at the start of a step. Give both or neither, with static_friction ≥ friction.
    stiffness, damping : N/m, N s/m; for a compliant surface. The normal force of a contact point with overlap δ is
        stiffness δ + damping δ̇, and never negative. Without stiffness the surface is rigid. A compliant surface has no
        restitution, because its spring returns the energy.

    Raises ValueError for a coefficient out of range.

    >>> Material(friction=0.6)
    Material(friction=0.6, restitution=0.0)
    >>> Material(friction=0.6, rolling_friction=0.001)
    Material(friction=0.6, restitution=0.0, rolling_friction=0.001)
    """

    friction: float = 0.5
    restitution: float = 0.0
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    static_friction: float | None = None
    stribeck_velocity: float | None = None
    stiffness: float | None = None
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None or name not in OPTIONAL:
                object.__setattr__(self, name, _coefficient("Material", name, value))
        static, velocity = self.static_friction, self.stribeck_velocity
        if (static is None) != (velocity is None):
            given, other = STRIBECK if velocity is None else STRIBECK[::-1]
            raise ValueError(f"Material: {given} is {getattr(self, given):g} without {other}; give both, or neither")
        if static is not None and static < self.friction:
            raise ValueError(
                f"Material: static_friction is {static:g}, below friction, {self.friction:g}, the coefficient of sliding; "
                "exchange them"
            )

        if self.stiffness is None and self.damping > 0.0:
            raise ValueError(
                f"Material: damping is {self.damping:g} N s/m without a stiffness; give a stiffness, in N/m, or for a rigid "
                "surface a smaller restitution"
            )
        if self.stiffness is not None and self.restitution > 0.0:
            raise ValueError(
                f"Material: restitution is {self.restitution:g} with a stiffness of {self.stiffness:g} N/m; a compliant "
                "surface has no restitution; use damping in place of it"
            )

    def __repr__(self) -> str:
        shown = (f.name for f in fields(self) if f.name in SHOWN or getattr(self, f.name) != f.default)
        return f"Material({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @property
    def resists_turning(self) -> bool:
        """Whether the surface has rolling or torsional friction."""
        return self.rolling_friction > 0.0 or self.torsional_friction > 0.0

    @property
    def is_simple(self) -> bool:
        """Whether the surface is rigid and has nothing but Coulomb friction."""
        return not self.resists_turning and self.static_friction is None and self.stiffness is None


class PairFriction(NamedTuple):
    """What two surfaces make: see `Material`. Without Stribeck's law `static` is `friction`, and `stribeck_velocity` 0.
    Two rigid surfaces have the stiffness 0."""

    friction: float
    restitution: float
    rolling: float
    torsional: float
    static: float
    stribeck_velocity: float
    stiffness: float
    damping: float


def pair_friction(a: Material, b: Material, rule: ContactRule | None = None) -> PairFriction:
    """The coefficients of two materials: the geometric mean of each friction, the larger restitution and Stribeck velocity;
    what a rule gives counts instead. A rule of friction leaves the ratio of static to sliding friction as it is."""

    def chosen(name: str, made: float) -> float:
        given = getattr(rule, name, None)
        return made if given is None else given

    sliding = math.sqrt(a.friction * b.friction)
    own = [m.friction if m.static_friction is None else m.static_friction for m in (a, b)]
    static = math.sqrt(own[0] * own[1])
    friction = chosen("friction", sliding)
    stiffness, damping = springs_in_series(a, b)
    return PairFriction(
        friction,
        0.0 if stiffness > 0.0 else chosen("restitution", max(a.restitution, b.restitution)),
        chosen("rolling_friction", math.sqrt(a.rolling_friction * b.rolling_friction)),
        chosen("torsional_friction", math.sqrt(a.torsional_friction * b.torsional_friction)),
        friction * static / sliding if sliding > 0.0 else max(static, friction),
        max(a.stribeck_velocity or 0.0, b.stribeck_velocity or 0.0),
        stiffness,
        damping,
    )


def springs_in_series(a: Material, b: Material) -> tuple[float, float]:
    """(k, d) of two compliant surfaces: 1/k = 1/k_a + 1/k_b and d/k² = d_a/k_a² + d_b/k_b², which is exact for motions that
    are slow in relation to k/d. A rigid surface leaves those of the other; (0, 0) where both are rigid."""
    soft = [m for m in (a, b) if m.stiffness is not None]
    if not soft:
        return 0.0, 0.0
    compliance = sum(1.0 / float(m.stiffness or 0.0) for m in soft)
    stiffness = 1.0 / compliance
    return stiffness, stiffness**2 * sum(m.damping / float(m.stiffness or 0.0) ** 2 for m in soft)


def resists_turning(scene: Any) -> bool:
    """Whether some contact of a scene resists rolling or spinning."""
    touching = [item.material for item in scene.touching()]
    rough = any(getattr(m, name) for m in touching for name in TURNING)
    return rough or any(getattr(rule, name) for rule in scene.contact_rules for name in TURNING)


def is_compliant(scene: Any) -> bool:
    """Whether some surface of a scene is compliant."""
    return any(item.material.stiffness is not None for item in scene.touching())


def has_surface_laws(scene: Any) -> bool:
    """Whether some contact of a scene has more than Coulomb's friction and rigid contact."""
    return resists_turning(scene) or any(not item.material.is_simple for item in scene.touching())


class OfScene:
    """The default of `material`: that of the scene. None is another value, "no contact"."""

    def __repr__(self) -> str:
        return "the scene's"


OF_SCENE = OfScene()


def surface(owner: str, given: Material | OfScene | None, default: Material | None) -> Material | None:
    """The material, or the default for OF_SCENE. Raises TypeError for what is no material."""
    if isinstance(given, OfScene):
        return default
    if given is not None and not isinstance(given, Material):
        raise TypeError(f"{owner}: material is {given!r:.80}; give a Material, such as Material(friction=0.5), or None")
    return given


@dataclass(frozen=True, eq=False)
class Obstacle:
    """What bodies touch and nothing moves; made by `Scene.add_obstacle`, which explains the fields."""

    name: str
    shape: Shape
    position: np.ndarray  # (3,) of the shape's frame, world, m
    orientation: tuple[float, float, float, float]
    material: Material
    group: str
    color: str

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, shape → world."""
        return rotation_matrix(self.orientation)


@dataclass(frozen=True)
class ContactRule:
    """A rule of `Scene.set_contact` for the pairs of two names (of bodies, obstacles or groups). None: as the materials."""

    a: str
    b: str
    enabled: bool
    friction: float | None
    restitution: float | None
    rolling_friction: float | None = None
    torsional_friction: float | None = None


Touching: TypeAlias = Body | Obstacle


class ContactMethods:
    """The methods of `Scene` about contact."""

    bodies: dict[str, Body]
    material: Material | None
    obstacles: dict[str, Obstacle]
    contact_rules: list[ContactRule]
    _new_name: Callable[..., None]
    _add_kinematic: Callable[..., Body]

    def add_obstacle(
        self,
        name: str,
        shape: Shape,
        *,
        position: VectorLike | None = None,
        orientation: VectorLike | None = None,
        material: Material | OfScene = OF_SCENE,
        group: str = "",
        color: str = "#b8b0a4",
        motion: Motion | None = None,
        surface_velocity: VectorLike | None = None,
        surface_spin: VectorLike | None = None,
    ) -> Obstacle | Body:
        """Add a fixed object that bodies collide with.

        shape : a solid; a surface: a `Mesh`, `TriangleMesh` or `HeightField`, which keeps bodies on the side to which
            its normals point; or `HalfSpace()`, the ground z ≤ 0.
        position, orientation : (3,) m and (w, x, y, z) of the shape's frame in the world.
        material : its surface. Default: that of the scene, or Material() if the scene has none.
        motion, surface_velocity, surface_spin : see `Scene.add_body`. An obstacle with one of them is a kinematic body,
            of any of these shapes. It is returned as a body and listed in `Scene.bodies`.

        Raises ValueError naming the obstacle and the value.
        """
        self._new_name(name, self.obstacles, "obstacle")
        owner = f"obstacle {name!r}"
        made_of = surface(owner, material, self.material or Material())
        if made_of is None:
            raise ValueError(
                f"{owner}: material is None, and an obstacle without a material has no effect; leave it out"
            )
        if name in self.bodies:
            raise ValueError(f"{owner}: a body already has that name; choose another")
        if not isinstance(shape, Shape):
            raise ValueError(
                f"{owner}: shape is {shape!r:.80}; give a shape, such as HalfSpace() for the ground, or Box(...)"
            )
        if motion is not None or surface_velocity is not None or surface_spin is not None:
            pose = {"position": position, "orientation": orientation, "velocity": None, "angular_velocity": None}
            return self._add_kinematic(
                owner, name, shape, motion, pose, made_of, color, group, surface_velocity, surface_spin
            )
        obstacle = Obstacle(
            name, shape, real_array(owner, "position", (0.0, 0.0, 0.0) if position is None else position, (3,)),
            unit_quaternion(owner, "orientation", (1.0, 0.0, 0.0, 0.0) if orientation is None else orientation), made_of,
            group, color_text(owner, color),
        )  # fmt: skip
        self.obstacles[name] = obstacle
        return obstacle

    def touching(self) -> list[Touching]:
        """Bodies and obstacles that have a material, bodies first."""
        return [*(body for body in self.bodies.values() if body.material is not None), *self.obstacles.values()]

    def set_contact(
        self,
        a: str | Touching,
        b: str | Touching,
        *,
        enabled: bool = True,
        friction: float | None = None,
        restitution: float | None = None,
        rolling_friction: float | None = None,
        torsional_friction: float | None = None,
    ) -> None:
        """Set the contact properties of a pair. `a` and `b` are bodies, obstacles or their names, or names of groups.

        enabled : False turns off their collisions. friction, restitution, rolling_friction (m), torsional_friction (m)
        : values for this pair, instead of those combined from the two materials. The last rule that applies to a pair
        is used.

        Raises ValueError for an unknown name or a coefficient out of range.
        """
        for item in (a, b):
            if isinstance(item, str) or any(item is own for own in (*self.bodies.values(), *self.obstacles.values())):
                continue
            raise ValueError(
                f"set_contact: {getattr(item, 'name', item)!r:.80} is not a body or obstacle of this scene; give a name, or "
                "what add_body or add_obstacle of this scene returned"
            )
        names = [item if isinstance(item, str) else item.name for item in (a, b)]
        owners: list[Touching] = [*self.bodies.values(), *self.obstacles.values()]
        groups = {item.group for item in owners} - {""}
        for name in names:
            if name not in self.bodies and name not in self.obstacles and name not in groups:
                raise ValueError(
                    f"set_contact: {name!r} is not a body, obstacle or group of this scene"
                    f"{meant(name, [*self.bodies, *self.obstacles, *groups], 'bodies, obstacles and groups')}"
                )
        if names[0] == names[1] and names[0] not in groups:
            raise ValueError(
                f"set_contact: both are {names[0]!r}, which does not touch itself; name two objects, or a group"
            )
        given = {
            "friction": friction, "restitution": restitution, "rolling_friction": rolling_friction,
            "torsional_friction": torsional_friction,
        }  # fmt: skip
        owner = f"set_contact({names[0]!r}, {names[1]!r})"
        own = {name: None if value is None else _coefficient(owner, name, value) for name, value in given.items()}
        self.contact_rules.append(ContactRule(names[0], names[1], bool(enabled), **own))


RuleTable: TypeAlias = dict[tuple[str, str], tuple[int, ContactRule]]


def rule_table(rules: Iterable[ContactRule]) -> RuleTable:
    """The last rule of each two names, in either order, and its index among all."""
    table: RuleTable = {}
    for place, rule in enumerate(rules):
        table[rule.a, rule.b] = table[rule.b, rule.a] = place, rule
    return table


def rule_for(table: RuleTable, a: Touching, b: Touching) -> ContactRule | None:
    """The last rule that fits the two, by their names or groups."""
    pairs = ((first, second) for first in (a.name, a.group) for second in (b.name, b.group))
    found = [table[pair] for pair in pairs if pair in table]
    return max(found, key=lambda item: item[0])[1] if found else None


def require_convex(owner: str, shape: Any) -> None:
    """Reject shapes of bodies that only an obstacle can have: a mesh must be its hull, or a compound of hulls."""
    if isinstance(shape, Shape) and shape.has_surface:
        name = type(shape).__name__
        raise ValueError(
            f"{owner}: a {name} can be an obstacle only (add_obstacle), because it is not convex; for a moving "
            "body use ConvexHull(vertices), or a Compound of convex pieces"
        )


def _coefficient(owner: str, name: str, value: object) -> float:
    most = MOST.get(name, MOST_FRICTION)
    number, least = number_or_nan(value), LEAST.get(name, 0.0)
    if not least <= number <= most:
        raise ValueError(
            f"{owner}: {name} is {value!r:.80}; give a number from {least:g} to {most:g}{UNITS.get(name, '')}"
        )
    return number
