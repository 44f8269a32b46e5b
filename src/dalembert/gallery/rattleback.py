"""A rattleback spins one way only: spun the other way it rattles, stops, and turns round.

Its underside is an ellipsoid whose axes of inertia are turned against those of its shape. Let n be the vertical and ω the
angular velocity in the axes of the shape, and r the arm from the centre to the point of contact. Where it rolls without
slip, v = r × ω, and with the force of the ground

    I ω̇ + ω × I ω = m r × (v̇ + g n),      ṅ = n × ω.

No energy is lost: the spin becomes rocking, and that becomes a spin the other way (H. Bondi, "The rigid body dynamics of
unidirectional spin", Proc. R. Soc. A 405, 1986). In one direction this takes a second, in the other several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Ellipsoid, HalfSpace
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.2, "dt": 1 / 960, "frame_rate": 60.0}
G = 9.81
MASS, HALF_AXES, TURN = 1.0, np.array([0.2, 0.05, 0.03]), 0.15  # kg, m, rad
UP = np.array([0.0, 0.0, 1.0])
SPIN = -3.0  # rad/s
PUSH = np.array([0.05, 0.02, 0.0])  # rad/s, of the rocking at the start


def moments() -> np.ndarray:
    """(3, 3) kg m², in the axes of the shape."""
    c, s = np.cos(TURN), np.sin(TURN)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return turn @ np.diag([0.0006, 0.0092, 0.0095]) @ turn.T


def arm(up: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arm r (m) to the point of contact, where the vertical is `up` in the axes of the shape, and its rate (m/s), where
    `up` changes at some rate (1/s)."""
    square = HALF_AXES**2
    length = np.sqrt(up @ (square * up))
    r = -square * up / length
    return r, -square * change / length - r * (up @ (square * change)) / length**2


def build(spin: float = SPIN) -> Scene:
    """A rattleback of 40 cm that spins at some rate (rad/s) about the vertical, and rocks a little."""
    scene = Scene("rattleback", material=Material(friction=50.0))
    scene.description = "a rattleback stops and turns round"
    scene.add_obstacle("ground", HalfSpace())
    omega, (r, _) = PUSH + spin * UP, arm(UP, np.zeros(3))
    scene.add_body(
        "rattleback", Ellipsoid(*HALF_AXES), mass=MASS, inertia=moments(), position=-r, velocity=np.cross(r, omega),
        angular_velocity=omega, color="#72b7b2",
    )  # fmt: skip
    return scene


def expected(times: np.ndarray, spin: float = SPIN) -> np.ndarray:
    """The spin about the vertical (rad/s) at some times (s), by the equations of rolling."""
    from scipy.integrate import solve_ivp  # only checks need it, and it is slow to load

    inertia = moments()

    def rates(_t: float, y: np.ndarray) -> np.ndarray:
        up, omega = y[:3], y[3:]
        change = np.cross(up, omega)
        r, slide = arm(up, change)
        across = np.array([np.cross(r, axis) for axis in np.eye(3)]).T
        known = np.cross(slide, omega) + np.cross(omega, np.cross(r, omega)) + G * up
        turn = MASS * np.cross(r, known) - np.cross(omega, inertia @ omega)
        return np.concatenate([change, np.linalg.solve(inertia - MASS * across @ across, turn)])

    start, span = [*UP, *(PUSH + spin * UP)], (0.0, float(times[-1]))
    found = solve_ivp(rates, span, start, t_eval=times, rtol=1e-10, atol=1e-12, method="DOP853")
    return np.sum(found.y[:3] * found.y[3:], axis=0)


def check(run: Simulation) -> None:
    """The spin is that of the equations of rolling, through two turns round, and the energy stays."""
    spin = run.trajectory.angular_velocity[:, 0, 2].values
    require("spin", spin, expected(run.trajectory.time.values), 0.01)
    assert spin.max() > 2.8 and spin[-1] < -0.4, "it has not turned round twice"
    require_energy(run, error=1e-4)
    contact = run.report.work["contact: impacts"] + run.report.work["contact: friction"]
    require("what the contact takes, beside the energy of the spin", contact / (0.5 * 0.0095 * SPIN**2), 0.0, 1e-3)
