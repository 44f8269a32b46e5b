"""Actuators of MJCF files as motors of the scene.

MuJoCo's force on a transmission of length l and rate l̇ is k u + b₀ + b₁ l + b₂ l̇ for a control u; of a joint,
l = gear · q with q = ref + s and s the coordinate of the scene. So the effort on s is

    gear k u + gear b₀ − gear² (−b₁) (s + ref) − gear² (−b₂) ṡ,

a motor of stiffness −gear² b₁ and gain −gear² b₂. Where b₁ = −k the control sets its position, where b₂ = −k and b₁ = 0 its
speed, else its effort.
"""

from __future__ import annotations

import math

import numpy as np

from .attributes import Attributes
from .built import Built, free_name, told
from .description import Axis
from .imported import Actuator, Warnings
from .mjcf import MjcfReader
from .mjcf_settings import note_unasked

AFFINE = ("motor", "position", "velocity", "general")
Law = tuple[float, float, float, float]  # k, b0, b1, b2


def add_actuators(reader: MjcfReader, built: Built, warnings: Warnings) -> tuple[dict[str, Actuator], list[str]]:
    """The actuators that are motors of the scene, and the names of all controls of the file, in order."""
    found: dict[str, Actuator] = {}
    names: dict[str, None] = {}
    for element in (item for section in reader.root.all("actuator") for item in section.children):
        given = reader.defaults.of(element, None)
        name = given.name() or f"actuator {len(names)}"
        if name in names:
            raise element.error(f"actuator {name!r:.60} is there twice; rename one")
        names[name] = None
        axis = _axis(reader, built, given, warnings)
        law = _law(given, warnings) if axis is not None else None
        if axis is not None and law is not None:
            with told(element):
                actuator = _motor(built, given, name, axis, law, warnings)
            if actuator is not None:
                found[name] = actuator
            note_unasked(given, warnings)
    return found, list(names)


def _axis(reader: MjcfReader, built: Built, given: Attributes, warnings: Warnings) -> Axis | None:
    """The hinge or slider that it drives; None with a warning for anything else."""
    element = given.element
    if element.tag not in AFFINE:
        warnings.add(element, f"a {element.tag} actuator is not known and left out", f"actuator {element.tag}")
        return None
    key = next((each for each in ("joint", "jointinparent") if each in given), None)
    if key is None:
        warnings.add(element, "it drives no joint, and is left out", "transmission")
        return None
    name = given.text(key)
    if name not in reader.joints:
        raise element.error(f"there is no joint {name!r:.60}; correct the name")
    axis = reader.joints[name]
    if not isinstance(axis, Axis) or axis.kind == "ball" or axis.name not in built.axes:
        warnings.add(element, f"joint {name!r:.60} is no hinge or slider that moves; the actuator is left out")
        return None
    return axis


def _law(given: Attributes, warnings: Warnings) -> Law | None:
    """Its gain and its affine bias; None with a warning where they are something else."""
    tag, element = given.element.tag, given.element
    if tag == "motor":
        return 1.0, 0.0, 0.0, 0.0
    if tag == "velocity":
        kv = given.number("kv", 1.0, 0.0)
        return kv, 0.0, 0.0, -kv
    if tag == "position":
        kp, kv = given.number("kp", 1.0, 0.0), given.number("kv", 0.0, 0.0)
        if given.number("timeconst", 0.0) != 0.0:
            warnings.add(element, "the filter of its control (timeconst) is left out", "timeconst")
        if given.number("dampratio", 0.0) != 0.0:
            warnings.add(element, "dampratio is not known, and the servo has no damping; give kv", "dampratio")
        given.asked.update(("kp", "kv", "timeconst", "dampratio"))
        return kp, 0.0, -kp, -kv
    kinds = [
        given.text(key, default) for key, default in (("gaintype", "fixed"), ("biastype", "none"), ("dyntype", "none"))
    ]
    gain = _padded(given, "gainprm", 1.0)
    bias = _padded(given, "biasprm", 0.0)
    constant = kinds[0] == "fixed" or (kinds[0] == "affine" and not gain[1:3].any())
    if not constant or kinds[1] not in ("none", "affine") or kinds[2] != "none":
        warnings.add(element, f"gain {kinds[0]}, bias {kinds[1]} and dynamics {kinds[2]} are no motor; it is left out")
        return None
    return (float(gain[0]), *(bias[:3].tolist() if kinds[1] == "affine" else (0.0, 0.0, 0.0)))  # type: ignore[return-value]


def _padded(given: Attributes, key: str, first: float) -> np.ndarray:
    """At least three numbers."""
    values = given.vector(key, 1, 20, default=(first,))
    return np.concatenate([values, np.zeros(3)])


def _motor(built: Built, given: Attributes, name: str, axis: Axis, law: Law, warnings: Warnings) -> Actuator | None:
    """The motor that stands for it."""
    k, b0, b1, b2 = law
    gear = float(given.vector("gear", 1, 6, default=(1.0,))[0])
    most = min(abs(gear) * _force_limit(given, warnings), axis.effort)
    if gear == 0.0 or most == 0.0 or b1 > 0.0 or b2 > 0.0:
        warnings.add(given.element, f"it gives no effort, or one that grows with what it does; {name!r} is left out")
        return None
    stiffness, damping = -(gear**2) * b1, -(gear**2) * b2
    sets, scale, offset = "effort", gear * k, gear * b0
    if b1 == -k != 0.0:
        sets, scale, offset = "position", 1.0 / gear, -axis.zero
    elif b1 == 0.0 and b2 == -k != 0.0:
        sets, scale, offset = "speed", 1.0 / gear, 0.0
    joint, scene = built.joints[axis.name], built.scene
    motor = scene.motor(
        free_name(name, scene.forces), joint, effort=gear * b0, stiffness=stiffness, position=-axis.zero, gain=damping,
        speed=0.0 if damping > 0.0 else None, limit=most,
    )  # fmt: skip
    _add_rotor(built, given, axis, motor.name, gear)
    return Actuator(name, joint, motor, gear, sets, scale, offset, _control_range(given, axis))


def _force_limit(given: Attributes, warnings: Warnings) -> float:
    """The largest force either way."""
    limits = _limited(given, "forcelimited", "forcerange")
    if limits is None:
        return math.inf
    if limits[0] != -limits[1]:
        warnings.add(given.element, f"forcerange {limits.tolist()} is taken as wide on both sides", "forcerange")
    return float(np.abs(limits).max())


def _limited(given: Attributes, flag: str, key: str) -> np.ndarray | None:
    limits = given.vector(key, 2, default=(0.0, 0.0))
    limited = given.choice(flag, ("true", "false", "auto"), "auto")
    return limits if limited == "true" or (limited == "auto" and key in given) else None


def _control_range(given: Attributes, axis: Axis) -> tuple[float, float]:
    """As written, or as a multiple of the joint's own range (`inheritrange`)."""
    limits = _limited(given, "ctrllimited", "ctrlrange")
    inherited = given.number("inheritrange", 0.0, 0.0)
    own = "ctrlrange" in given.element.attributes
    if inherited > 0.0 and not own and math.isfinite(axis.upper - axis.lower):
        middle, half = axis.zero + 0.5 * (axis.lower + axis.upper), 0.5 * (axis.upper - axis.lower)
        return middle - inherited * half, middle + inherited * half
    return (-math.inf, math.inf) if limits is None else (float(limits[0]), float(limits[1]))


def _add_rotor(built: Built, given: Attributes, axis: Axis, name: str, gear: float) -> None:
    """The inertia and damping that an actuator adds to its joint, as felt through its gear."""
    joint = built.joints[axis.name]
    armature = given.number("armature", 0.0, 0.0)
    damping = float(given.vector("damping", 1, 3, default=(0.0,))[0])
    if armature > 0.0:
        built.scene.armature(joint, joint.armature + gear**2 * armature)
    if damping > 0.0:
        built.scene.torsion_spring(f"{name}/damping", joint, stiffness=0.0, damping=gear**2 * damping)
