"""Compiles prescribed motions of a scene to rows of the COMMAND table, and their keyframes to tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..scene.joint import Joint
from ..scene.motion import SET, Keyframes
from ..scene.scene import Scene
from . import tables
from .graph import Graph
from .user_functions import motion_adapter


class Commands(NamedTuple):
    """rows : (n,) COMMAND, those of coordinates first. keyframes : tables of `scene.motion`, one after the other."""

    rows: Any
    keyframes: np.ndarray


def command_rows(scene: Scene, joints: Sequence[Joint], graph: Graph, compiler: Any) -> Commands:
    """The rows of a scene. compiler : a `particles.ForceCompiler`, which gives entries of the ledger and pointers, after it
    has made the rows of joints."""
    moved = [body for body in scene.bodies.values() if body.motion is not None]
    rows = np.zeros(len(compiler.prescribed) + len(moved), tables.COMMAND).view(np.recarray)
    keyframes: list[np.ndarray] = []
    for row, item in zip(rows, [*compiler.prescribed, *moved], strict=True):
        row.body = row.row = row.joint = -1
        row.from_q = row.q = (1.0, 0.0, 0.0, 0.0)
        row.end, row.entry = np.inf, compiler.entry(item.name)
        if isinstance(item, Joint):
            assert item.prescribed is not None
            row.joint = joints.index(item)
            row.row = graph.joints["row"][row.joint]
            row.set_v[0] = row.after_v[0] = item.prescribed.speed
            _fill(row, item.prescribed.motion, 1, item.name, keyframes, compiler)
            continue
        row.body = compiler.index[item]
        row.from_x, row.from_q = row.x, row.q = item.position, item.orientation
        row.set_v, row.set_omega = item.motion.velocity, item.motion.angular_velocity
        row.after_v, row.after_omega = row.set_v, row.set_omega
        row.surface_v, row.surface_omega = item.surface_velocity, item.surface_spin
        _fill(row, item.motion.given, 7, item.name, keyframes, compiler)
    return Commands(rows, np.concatenate([np.zeros(0), *keyframes]))


def _fill(row: Any, motion: Any, size: int, name: str, keyframes: list[np.ndarray], compiler: Any) -> None:
    """The kind of a motion, and where it comes from."""
    if isinstance(motion, Keyframes):
        row.kind, row.table = tables.COMMAND_KEYFRAMES, sum(len(table) for table in keyframes)
        keyframes.append(motion.table())
    elif motion == SET:
        row.kind = tables.COMMAND_SET
    else:
        row.kind, row.address = tables.COMMAND_FUNCTION, compiler.pointer(motion_adapter(motion, size), name)
