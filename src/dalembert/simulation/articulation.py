"""Mechanics of a scene in joint coordinates, for calls from Python."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike, VectorLike
from ..core.notebook import block, counted, note, numbers, table, title
from ..core.tables import handed
from ..dynamics.joint_space import queries as tasks
from ..dynamics.joint_space.queries import InverseKinematics, SmallMotions, query
from ..model.tree import build_tree
from ..scene.body import Body
from ..scene.checks import real_array
from ..scene.joint import Link
from ..scene.scene import Scene, require_scene

Vector = NDArray[np.float64]


class Articulation(SmallMotions, InverseKinematics):
    """A scene as a tree of links: kinematics and dynamics in joint coordinates.

    Parameters
    ----------
    scene : Scene. Its hinges, sliders, cylindrical, universal and ball joints and welds form the tree. A body that none
        of them carries is free. Joints that close loops are ignored here.

    The state is (u, w): `coordinates` names the numbers of u, `speeds` those of w.

    - hinge, slider: u is the angle (rad) or displacement (m) of b relative to a, zero at the start; w = u̇;
    - cylindrical: displacement, then angle; universal: about the axis of a, then about that of b;
    - ball: u is the quaternion (w, x, y, z) of the child's rotation since the start, w its angular velocity, both
      relative to the parent and in the parent's axes;
    - free: u is the position of the centre of mass and the quaternion of the body, w velocity and angular velocity, in
      world axes.

    Methods raise ValueError for arrays of the wrong size, non-finite values, and unknown names.

    >>> import dalembert as dal
    >>> scene = dal.Scene("pendulum")
    >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=2.0, position=(0.0, 0.0, -1.0))
    >>> joint = scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    >>> arm = dal.Articulation(scene)
    >>> arm.mass_matrix(arm.start).round(3).tolist()
    [[2.008]]
    >>> arm.inverse_dynamics([np.pi / 2], [0.0], [0.0]).round(3).tolist()
    [19.62]
    """

    scene: Scene
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    start: Vector

    def __init__(self, scene: Scene) -> None:
        require_scene(scene)
        items: list[Body | Link] = [*scene.bodies.values(), *scene.links.values()]
        self._layout = build_tree(scene)
        self._tree = self._layout.tree({item: i for i, item in enumerate(items)}, 0)
        self._handed = handed(self._tree)
        self._gravity = scene.gravity
        self.scene = scene
        self.coordinates = tuple(self._layout.coordinate_names)
        self.speeds = tuple(self._layout.freedom_names)
        self.start = np.array(self._layout.start)

    def __repr__(self) -> str:
        return f"<Articulation of {self.scene.name!r}: {len(self.coordinates)} coordinates, {len(self.speeds)} speeds>"

    def _repr_html_(self) -> str:
        facts = [counted(len(self.scene.bodies), "body", "bodies"), counted(len(self.speeds), "speed")]
        rows = zip_longest(self.coordinates, (numbers((value,)) for value in self.start), self.speeds, fillvalue="")
        head = ("coordinate u", "at the start", "speed w")
        count = max(len(self.coordinates), len(self.speeds))
        parts = [title(f"Articulation of {self.scene.name!r}", *facts), table(head, rows, count)]
        return block(*parts, note("angles in rad, lengths in m, and their rates"))

    def _ask(self, task: int, u: NumbersLike, w: NumbersLike | None, given: NumbersLike, size: int) -> Vector:
        m = len(self.speeds)
        place = real_array("coordinates", "u", u, (len(self.coordinates),))
        speed = np.zeros(m) if w is None else real_array("speeds", "w", w, (m,))
        out = np.zeros(size)
        status = query(task, np.array(place), np.array(speed), np.asarray(given, float), out, self._handed)
        if status:
            raise ValueError(f"nothing resists {self.speeds[status - 1]!r}: no mass, no armature")
        return out

    def _node(self, name: str) -> int:
        item: Any = self.scene.bodies.get(name) or self.scene.links.get(name)
        if item is None:
            raise ValueError(f"there is no body or link {name!r}; there are {', '.join([*self.scene.bodies][:8])}")
        return self._layout.nodes[item]

    # Kinematics -------------------------------------------------------------------------------------------------------

    def pose(self, u: NumbersLike, name: str) -> tuple[Vector, Vector]:
        """Position (3,) m of a body's centre of mass (a link's origin) and its rotation matrix (3, 3), body → world."""
        row = self._ask(tasks.POSES, u, None, (), 18 * len(self._layout.places)).reshape(-1, 18)[self._node(name)]
        return row[:3], row[3:12].reshape(3, 3)

    def velocity(self, u: NumbersLike, w: NumbersLike, name: str) -> tuple[Vector, Vector]:
        """Velocity (3,) m/s of a body's centre of mass and its angular velocity (3,) rad/s, world axes."""
        row = self._ask(tasks.POSES, u, w, (), 18 * len(self._layout.places)).reshape(-1, 18)[self._node(name)]
        return row[12:15], row[15:18]

    def jacobian(self, u: NumbersLike, name: str, point: VectorLike = (0.0, 0.0, 0.0)) -> Vector:
        """(6, m) Jacobian: velocity of a point, given in the frame of the body (m), and angular velocity, per unit of
        each speed.
        """
        at = real_array(name, "point", point, (3,))
        m = len(self.speeds)
        return self._ask(tasks.JACOBIAN, u, None, [self._node(name), *at], 6 * m).reshape(6, m)

    def coordinate_rates(self, u: NumbersLike, w: NumbersLike) -> Vector:
        """u̇ for the speeds w."""
        return self._ask(tasks.RATES, u, w, (), len(self.coordinates))

    def displaced(self, u: NumbersLike, displacement: NumbersLike) -> Vector:
        """u after a displacement along the speeds (m,), by which quaternions rotate."""
        d = real_array("displacement", "d", displacement, (len(self.speeds),))
        return self._ask(tasks.DISPLACED, u, None, d, len(self.coordinates))

    # Dynamics ---------------------------------------------------------------------------------------------------------

    def mass_matrix(self, u: NumbersLike) -> Vector:
        """(m, m) kg, kg m, kg m²: ½ wᵀ M w is the kinetic energy, including armatures."""
        m = len(self.speeds)
        return self._ask(tasks.MATRIX, u, None, (), m * m).reshape(m, m)

    def bias_force(self, u: NumbersLike, w: NumbersLike) -> Vector:
        """(m,) the bias in M ẇ + bias = τ: centrifugal and Coriolis forces, and weight."""
        return self.inverse_dynamics(u, w, np.zeros(len(self.speeds)))

    def inverse_dynamics(self, u: NumbersLike, w: NumbersLike, rates: NumbersLike) -> Vector:
        """(m,) efforts (N, N m) along the speeds for which ẇ = rates, under gravity; by Newton–Euler recursion."""
        m = len(self.speeds)
        return self._ask(tasks.INVERSE, u, w, [*self._gravity, *real_array("rates", "ẇ", rates, (m,))], m)

    def forward_dynamics(self, u: NumbersLike, w: NumbersLike, efforts: NumbersLike | None = None) -> Vector:
        """(m,) ẇ under gravity and efforts (N, N m) along the speeds; by the articulated-body algorithm."""
        m = len(self.speeds)
        tau = np.zeros(m) if efforts is None else real_array("efforts", "τ", efforts, (m,))
        return self._ask(tasks.FORWARD, u, w, [*self._gravity, *tau], m)

    def centroidal_momentum(self, u: NumbersLike, w: NumbersLike) -> tuple[Vector, Vector, Vector]:
        """Total centre of mass (3,) m, momentum (3,) kg m/s, and angular momentum (3,) kg m²/s about the centre of
        mass.
        """
        found = self._ask(tasks.MOMENTUM, u, w, np.zeros(3), 10)
        center = found[1:4] / found[0]
        return center, found[4:7], self._ask(tasks.MOMENTUM, u, w, center, 10)[7:10]
