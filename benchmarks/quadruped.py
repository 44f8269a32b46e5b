"""A quadruped standing under its motors: time steps in joint coordinates against MuJoCo, side by side in one run.

Both have the same masses, hinges, armatures, motors and feet. What is compared: time a step, how deep the feet are in the
ground and how fast they creep when all has come to rest, and how far the trunk is from where the motors hold it.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

import dalembert as dal

DT = 0.002
SETTLE, LOOK, ROUNDS = 3000, 500, 5  # steps before and in each timed round, and rounds; the fastest counts
THIGH, SHANK, FOOT, BEND, ARMATURE = 0.2, 0.2, 0.02, 0.6, 0.01
STIFFNESS, GAIN, FRICTION = 300.0, 5.0, 0.8
TOP = (THIGH + SHANK) * np.cos(BEND) + FOOT
LEGS = {"fl": (1, 1), "fr": (1, -1), "hl": (-1, 1), "hr": (-1, -1)}
JOINTS = {"roll": (1, 0, 0), "pitch": (0, 1, 0), "knee": (0, 1, 0)}


class Runner(Protocol):
    """An engine with the quadruped in it."""

    def advance(self, steps: int) -> None: ...
    def feet(self) -> np.ndarray: ...
    def penetration(self) -> float: ...
    def trunk(self) -> np.ndarray: ...


def points(leg: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hip, knee and foot of a leg at the start (m)."""
    x, y = LEGS[leg]
    hip = np.array([0.2 * x, 0.14 * y, TOP])
    knee = hip - THIGH * np.array([np.sin(BEND), 0, np.cos(BEND)])
    return hip, knee, knee - SHANK * np.array([-np.sin(BEND), 0, np.cos(BEND)])


def scene() -> dal.Scene:
    """The hips' links have no mass: three hinges in one point."""
    found, material = dal.Scene("quadruped"), dal.Material(friction=FRICTION)
    trunk = found.add_body("trunk", dal.Box(0.4, 0.2, 0.1), mass=8.0, position=(0, 0, TOP), material=material)
    for leg in LEGS:
        hip, knee, foot = points(leg)
        yoke = found.add_link(f"{leg}_yoke", position=hip)
        parts = []
        for name, mass, a, b, size in (("thigh", 0.6, hip, knee, 0.02), ("shank", 0.2, knee, foot, 0.015)):
            turn = BEND if name == "thigh" else -BEND
            parts.append(
                found.add_body(
                    f"{leg}_{name}", dal.Capsule(size, 0.12), mass=mass, position=(a + b) / 2,
                    orientation=(np.cos(turn / 2), 0, np.sin(turn / 2), 0),
                )
            )  # fmt: skip
        ball = found.add_body(f"{leg}_foot", dal.Sphere(FOOT), mass=0.05, position=foot, material=material)
        found.hinge(f"{leg}_roll", trunk, yoke, at=hip, axis=JOINTS["roll"])
        found.hinge(f"{leg}_pitch", yoke, parts[0], at=hip, axis=JOINTS["pitch"])
        found.hinge(f"{leg}_knee", parts[0], parts[1], at=knee, axis=JOINTS["knee"])
        found.weld(f"{leg}_ankle", parts[1], ball, at=foot)
        for joint in JOINTS:
            found.armature(f"{leg}_{joint}", ARMATURE)
            found.motor(f"{leg}_{joint}_motor", f"{leg}_{joint}", stiffness=STIFFNESS, damping=GAIN, speed=0.0)
    found.add_obstacle("ground", dal.HalfSpace(), material=material)
    return found


class Ours:
    """Time steps of contact in joint coordinates."""

    def __init__(self) -> None:
        self.run = dal.Simulation(scene(), dt=DT, coordinates="joint", frame_rate=1.0 / (LOOK * DT))
        self._feet = [self.run.model.body_names.index(f"{leg}_foot") for leg in LEGS]

    def advance(self, steps: int) -> None:
        self.run.advance(steps * DT)

    def feet(self) -> np.ndarray:
        return self.run.state.position[self._feet].copy()

    def penetration(self) -> float:
        return max(0.0, *(-contact.separation for contact in self.run.contacts))

    def trunk(self) -> np.ndarray:
        return self.run.state.position[0].copy()


def mjcf() -> str:
    """The same as MJCF."""

    def text(values: Any) -> str:
        return " ".join(repr(float(value)) for value in values)

    def inertial(body: dal.Body, at: Any = (0, 0, 0)) -> str:
        axes = f'pos="{text(at)}" quat="{text(body.orientation)}"'
        return f'<inertial {axes} mass="{body.mass}" diaginertia="{text(np.diag(body.inertia))}"/>'

    bodies = scene().bodies
    legs, motors = "", ""
    for leg in LEGS:
        hip, knee, foot = points(leg)
        thigh, shank, ball = (bodies[f"{leg}_{part}"] for part in ("thigh", "shank", "foot"))
        roll, pitch, bend = (
            f'<joint axis="{text(JOINTS[j])}" name="{leg}_{j}" armature="{ARMATURE}"/>' for j in JOINTS
        )
        legs += (
            f'<body pos="{text(hip - (0, 0, TOP))}">{roll}{pitch}{inertial(thigh, thigh.position - hip)}'
            f'<body pos="{text(knee - hip)}">{bend}{inertial(shank, shank.position - knee)}'
            f'<body name="{leg}_foot" pos="{text(foot - knee)}">{inertial(ball)}<geom type="sphere" size="{FOOT}"/></body>'
            "</body></body>"
        )
        motors += "".join(f'<position joint="{leg}_{joint}" kp="{STIFFNESS}" kv="{GAIN}"/>' for joint in JOINTS)
    return (
        f'<mujoco><option timestep="{DT}" integrator="implicitfast" cone="elliptic"/>'
        f'<default><geom friction="{FRICTION} 0 0"/></default><worldbody><geom type="plane" size="0 0 1"/>'
        f'<body name="trunk" pos="{text((0, 0, TOP))}"><freejoint/>{inertial(bodies["trunk"])}'
        f'<geom type="box" size="0.2 0.1 0.05"/>{legs}</body></worldbody><actuator>{motors}</actuator></mujoco>'
    )


class MuJoCo:
    """Its implicit integrator for the motors' gains, elliptic cones, and its own defaults for contact."""

    def __init__(self) -> None:
        import mujoco

        self._mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(mjcf())
        self.data = mujoco.MjData(self.model)

    def advance(self, steps: int) -> None:
        self._mujoco.mj_step(self.model, self.data, steps)

    def feet(self) -> np.ndarray:
        return np.array([self.data.body(f"{leg}_foot").xpos for leg in LEGS])

    def penetration(self) -> float:
        return max(0.0, *(-float(d) for d in self.data.contact.dist))

    def trunk(self) -> np.ndarray:
        return np.array(self.data.body("trunk").xpos)


def measure(runners: dict[str, Runner]) -> dict[str, tuple[float, float, float, np.ndarray]]:
    """(s a step, penetration in m, creep of the feet in m/s, place of the trunk) of each, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for runner in runners.values():
        runner.advance(SETTLE)
    before = {name: runner.feet() for name, runner in runners.items()}
    for _ in range(ROUNDS):
        for name, runner in runners.items():
            start = time.perf_counter()
            runner.advance(LOOK)
            times[name].append((time.perf_counter() - start) / LOOK)
    return {
        name: (
            min(times[name]), runner.penetration(),
            float(np.abs(runner.feet() - before[name]).max()) / (LOOK * ROUNDS * DT), runner.trunk(),
        )
        for name, runner in runners.items()
    }  # fmt: skip


def main() -> None:
    """Print the comparison."""
    ours = Ours()
    found = measure({"dalembert, joint": ours, "MuJoCo": MuJoCo()})
    print(f"{'':18} {'µs a step':>10} {'penetration':>12} {'creep m/s':>10}  trunk (m)")
    for name, (step, depth, creep, trunk) in found.items():
        print(f"{name:18} {step * 1e6:10.1f} {depth:12.2e} {creep:10.1e}  {np.round(trunk, 6)}")
    one, other = (row[0] for row in found.values())
    contact = ours.run.report.contact
    print(
        f"time a step, ours over theirs: {one / other:.2f}; our contact residual: {contact.residual:.1e} m/s at worst"
    )


if __name__ == "__main__":
    main()
