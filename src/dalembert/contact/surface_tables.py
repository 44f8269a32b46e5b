"""Surface laws in Python: the tables of a scene, their growth, the fields of a checkpoint, and torques of contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.tables import Collision
from ..core.checkpoint_fields import LARGE, Field, columns
from ..core.tables import allocate, grow
from ..model.compile import Model
from ..model.tables import CONTACT_WORK, SPRING_ENTRIES, TURNING_ENTRY
from ..scene.contact import Material, PairFriction, has_surface_laws, pair_friction, rule_for, rule_table
from ..scene.scene import Scene
from .converge import Converging
from .fast import half_thickness, sizes_of_bodies
from .island_problem import IslandProblem, room_of_problem
from .points import Owners
from .surface_laws import (
    CLASSES,
    COUNTS,
    HALF,
    HALF_AT_START,
    MEMORY,
    NO_ENTRY,
    ROWS,
    STIFFNESS,
    VALUES,
    Surfaces,
)


def make_surfaces(model: Model, collision: Collision, ledger: int) -> Surfaces | None:
    """The tables of a scene, without room for contacts; None where all its surfaces are rigid and have Coulomb's friction.
    ledger : where the entries of contact begin in the state of the step."""
    scene = model.scene
    if not has_surface_laws(scene):
        return None
    items, owners = scene.touching(), Owners(scene)
    touching = {item.name: item for item in items}
    of_collider = [touching[owners.names[k]] for k in owners.of_collider]
    classes: dict[Material, int] = {}
    class_of = [classes.setdefault(item.material, len(classes)) for item in of_collider]
    made = [_values(pair_friction(a, b)) for a in classes for b in classes]
    keys, ruled = _ruled(scene, of_collider)
    counts = np.zeros(COUNTS, np.int64)
    counts[CLASSES] = len(classes)
    start = model.force_names.index(CONTACT_WORK[0])
    entries = [
        ledger + model.force_names.index(name) - start if name in model.force_names else NO_ENTRY
        for name in (TURNING_ENTRY, *SPRING_ENTRIES)
    ]
    return allocate(
        Surfaces, {"contacts": 0, "path": 0, "span": 0}, counts=counts, entries=np.array(entries, np.int64),
        class_of=np.array(class_of, np.int64), made=np.ravel(made).astype(float), keys=np.array(keys, np.int64),
        ruled=np.ravel(ruled).astype(float), memory=np.zeros(0, MEMORY).view(np.recarray), problem=_no_problem(),
    )  # fmt: skip


def _values(pair: PairFriction) -> list[float]:
    """VALUES of a pair, in their order."""
    return [pair.rolling, pair.torsional, pair.static, pair.stribeck_velocity, pair.stiffness, pair.damping]


def _ruled(scene: Scene, of_collider: list[Any]) -> tuple[list[int], list[list[float]]]:
    """The pairs of colliders that a rule is for, as sorted keys, with their VALUES."""
    if not scene.contact_rules:
        return [], []
    table, count, found = rule_table(scene.contact_rules), len(of_collider), []
    for i, a in enumerate(of_collider):
        for j in range(i + 1, count):
            rule = rule_for(table, a, of_collider[j])
            if rule is not None:
                values = _values(pair_friction(a.material, of_collider[j].material, rule))
                found.append((i * count + j, values))
    return [key for key, _ in found], [values for _, values in found]


def _no_problem() -> IslandProblem:
    return allocate(IslandProblem, room_of_problem(0, 0, 0, 0, []))


def with_sizes(tables: Any, collision: Collision, surfaces: Surfaces | None) -> Any:
    """Stepping tables with the sizes of bodies and colliders, by which those that are fast are watched. A body that may meet
    a compliant contact is not watched: it enters that, so that nothing may stop it on its way."""
    bodies = len(tables.thickness)
    tables.thickness[:], tables.swing[:] = sizes_of_bodies(collision, bodies)
    if surfaces is not None:
        classes = int(surfaces.counts[CLASSES])
        soft = surfaces.made.reshape(classes, classes, VALUES)[:, :, STIFFNESS].any(axis=1)[surfaces.class_of]
        own = collision.colliders.body < bodies
        tables.thickness[collision.colliders.body[own & soft]] = np.inf
    return tables._replace(walls=half_thickness(collision))


def fit_surfaces(surfaces: Surfaces, collision: Collision, workspace: Any, path: int, span: int) -> Surfaces:
    """The same with room for the contacts of `collision`, and the problem of the converging solver. path, span : of rows in
    joint coordinates."""
    room = len(collision.contacts)
    if room > len(surfaces.laws):
        surfaces = grow(surfaces, {"path": path, "span": span}, contacts=room)
        surfaces = with_memory(surfaces, max(room, len(surfaces.memory) // 2))
    problem = workspace.island if isinstance(workspace, Converging) else surfaces.problem
    return surfaces._replace(problem=problem)


def with_memory(surfaces: Surfaces, room: int) -> Surfaces:
    """The same with room for so many contacts in each half of the memory."""
    memory, half = np.zeros(2 * room, MEMORY).view(np.recarray), len(surfaces.memory) // 2
    for k in range(2):
        memory[k * room : k * room + half] = surfaces.memory[k * half : (k + 1) * half]
    return surfaces._replace(memory=memory)


def fields_of_surfaces(surfaces: Surfaces | None) -> list[Field]:
    """What carries over from step to step: torques, the warm start of the next one."""
    if surfaces is None:
        return []
    first, rows = _kept(surfaces)
    memory = surfaces.memory.view(np.ndarray)[first : first + rows]
    return [
        Field("stored", surfaces.stored),
        Field("torques", memory, columns=columns(MEMORY, {"feature": (-LARGE, LARGE)})),
    ]


def _kept(surfaces: Surfaces) -> tuple[int, int]:
    """Where the memory of the last step begins, and its rows."""
    half = int(surfaces.counts[HALF])
    return half * (len(surfaces.memory) // 2), int(surfaces.counts[ROWS + half])


def room_of_surfaces(surfaces: Surfaces | None) -> dict[str, int]:
    """How many torques `fields_of_surfaces` has, by the name of that number."""
    return {} if surfaces is None else {"torques": _kept(surfaces)[1]}


def with_room_of_surfaces(surfaces: Surfaces, torques: int) -> Surfaces:
    """The same with room for so many torques, whose rows are written next."""
    if 2 * torques > len(surfaces.memory):
        surfaces = with_memory(surfaces, torques)
    surfaces.counts[HALF] = surfaces.counts[HALF_AT_START] = 0
    surfaces.counts[ROWS] = torques
    return surfaces


def torques_of(rows: Any, surfaces: Surfaces | None) -> np.ndarray:
    """(n, 3) N m s on the second body of each contact, world axes."""
    if surfaces is None:
        return np.zeros((len(rows), 3))
    return np.einsum("ij,ijk->ik", surfaces.laws["torque"][: len(rows)], rows["frame"].reshape(-1, 3, 3))


def compliance_of(surfaces: Surfaces | None, count: int) -> np.ndarray | float:
    """(count,) 1/kg, of the contacts of the last step."""
    return 0.0 if surfaces is None else np.array(surfaces.laws["compliance"][:count])
