"""Robots that stand on the ground: a step of contact in joint coordinates beside MuJoCo's, robot by robot, in one run.

Each robot is read from its URDF, freed from the world, given a motor with stiffness and gain on each joint, which holds
the posture of the start, and put on a plane. MuJoCo gets the same scene by `export_mjcf`, with elliptic cones, its implicit
integrator for the motors' gains and its own defaults for the solver. Both start in the same state and take turns in one run;
the shortest turn counts. The table has those that stand in both to the end: the freedoms, contacts, time of a step of both,
their ratio, our steps above the tolerance of 1e-6 m/s among all, our largest residual (m/s), and how deep contacts are in
the ground. Robots come from the packages `pybullet` and `example-robot-data`, or from folders given.

    python benchmarks/robots.py [--only a1,go1] [FOLDER ...]
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dalembert as dal
from race import race
from readme import refreshed

ROOT = Path(__file__).parent.parent
DT, SETTLE, MOST = 0.002, 1500, 5000  # s; steps before the first turn, and of a turn at most
STIFFNESS, SWAY = 20.0, 50.0  # N m/rad a kg of the robot, or 100 N/m; rad/s, of a motor with the armature
FRICTION, TILT = 0.8, 0.6  # of the ground; rad, that a robot may lean and still stand
KNEES = {"thigh": 0.8, "calf": -1.6, "upper": 0.8, "lower": -1.6}
HFE = {
    "LF_HFE": 0.5, "RF_HFE": 0.5, "LH_HFE": -0.5, "RH_HFE": -0.5,
    "LF_KFE": -1.0, "RF_KFE": -1.0, "LH_KFE": 1.0, "RH_KFE": 1.0,
}  # fmt: skip
FLAT: dict[str, float] = {}

# Robot: the end of the path of its file, and the posture: what a joint's name contains, and its angle. Others are at zero, or
# at the end of their range that is nearest to it.
ROBOTS: dict[str, tuple[str, dict[str, float]]] = {
    "a1": ("a1_description/urdf/a1.urdf", KNEES),
    "a1 (pybullet)": ("pybullet_data/a1/a1.urdf", KNEES),
    "aliengo": ("aliengo/aliengo.urdf", KNEES),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", HFE),
    "anymal kinova": ("anymal_b_simple_description/robots/anymal-kinova.urdf", HFE),
    "anymal c": ("anymal_c_simple_description/urdf/anymal.urdf", HFE),
    "alexander": ("alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf", FLAT),
    "b1": ("b1_description/urdf/b1.urdf", KNEES),
    "b1 z1": ("b1_description/urdf/b1-z1.urdf", KNEES),
    "baxter": ("baxter_description/urdf/baxter.urdf", FLAT),
    "bolt": ("bolt_description/robots/bolt.urdf", FLAT),
    "centauro": ("centauro_description/urdf/centauro.urdf", FLAT),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", FLAT),
    "g1 with hands": ("g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", FLAT),
    "go1": ("go1_description/urdf/go1.urdf", KNEES),
    "go2": ("go2_description/urdf/go2.urdf", KNEES),
    "human": ("human_description/robots/human.urdf", FLAT),
    "husky": ("husky/husky.urdf", FLAT),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", HFE),
    "icub": ("icub_description/robots/icub_reduced.urdf", FLAT),
    "iiwa": ("kuka_iiwa/model.urdf", FLAT),
    "kinova": ("kinova_description/robots/kinova.urdf", FLAT),
    "laikago": ("laikago_description/urdf/laikago.urdf", FLAT),
    "laikago (toes)": ("laikago/laikago_toes_zup.urdf", FLAT),
    "mini cheetah": ("mini_cheetah/mini_cheetah.urdf", {"hip_f": -0.8, "hip_b": -0.8, "knee": 1.6}),
    "minitaur": ("quadruped/minitaur_fixed_knees.urdf", FLAT),
    "panda": ("franka_panda/panda.urdf", FLAT),
    "pr2": ("pr2_description/urdf/pr2.urdf", FLAT),
    "quadruped": ("quadruped_description/urdf/quadruped.urdf", FLAT),
    "r2d2": ("pybullet_data/r2d2.urdf", FLAT),
    "racecar": ("racecar/racecar.urdf", FLAT),
    "romeo": ("romeo_description/urdf/romeo_small.urdf", FLAT),
    "simple humanoid": ("simple_humanoid_description/urdf/simple_humanoid.urdf", FLAT),
    "so101": ("so_arm_description/urdf/so101.urdf", FLAT),
    "solo": ("solo_description/robots/solo.urdf", HFE),
    "solo12": ("solo_description/robots/solo12.urdf", HFE),
    "spirit": ("quadruped/spirit40.urdf", FLAT),
    "talos": ("talos_data/robots/talos_reduced.urdf", FLAT),
    "talos (boxes)": ("talos_data/robots/talos_reduced_box.urdf", FLAT),
    "tiago": ("tiago_description/robots/tiago.urdf", FLAT),
    "tiago dual": ("tiago_description/robots/tiago_dual.urdf", FLAT),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", FLAT),
    "vision60": ("quadruped/vision60.urdf", FLAT),
    "xarm6": ("xarm/xarm6_robot.urdf", FLAT),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", FLAT),
    "z1": ("z1_description/urdf/z1.urdf", FLAT),
}  # fmt: skip


def folders() -> list[Path]:
    """Where the packages have their robots."""
    found = [Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"]
    data = importlib.util.find_spec("pybullet_data")
    if data is not None and data.origin is not None:
        found.append(Path(data.origin).parent)
    return [folder for folder in found if folder.is_dir()]


@dataclass
class Robot:
    """A robot with its motors. posture : joint → angle or displacement at the start. ground : height of a plane, m."""

    name: str
    path: Path
    wanted: dict[str, float]
    ground: float | None = None

    def make(self) -> dal.Scene:
        """The scene; sets `posture`."""
        model = dal.load_model(self.path, floating=True, friction=False)
        scene, self.posture = model.scene, {}
        weight = sum(body.mass for body in scene.bodies.values())
        for joint in list(scene.joints.values()):
            if joint.kind not in ("hinge", "slider") or joint.name not in model.joints:
                continue
            wanted = next((value for part, value in self.wanted.items() if part.lower() in joint.name.lower()), 0.0)
            low, high = range_of(scene, joint.name)
            self.posture[joint.name] = place = float(np.clip(wanted, low, high))
            stiffness = STIFFNESS * weight * (1.0 if joint.kind == "hinge" else 100.0)
            scene.armature(joint.name, stiffness / SWAY**2)
            scene.motor(
                f"{joint.name} motor", joint.name, stiffness=stiffness, damping=2.0 * stiffness / SWAY, speed=0.0,
                position=place,
            )  # fmt: skip
        if self.ground is not None:
            scene.add_obstacle(
                "ground", dal.HalfSpace(), position=(0.0, 0.0, self.ground), material=dal.Material(friction=FRICTION)
            )
        return scene


def range_of(scene: dal.Scene, joint: str) -> tuple[float, float]:
    """The range of a joint that stops limit, a little smaller."""
    for force in scene.forces.values():
        if force.kind == "limit" and force.joint is not None and force.joint.name == joint:
            low, high = force.stops
            return low + 0.02 * (high - low), high - 0.02 * (high - low)
    return -np.inf, np.inf


class MuJoCo:
    """The scene as `export_mjcf` writes it, in the posture."""

    def __init__(self, robot: Robot, folder: Path) -> None:
        import mujoco

        mujoco.set_mju_user_warning(lambda message: None)  # it would write a log file
        self._mujoco, file = mujoco, folder / "robot.xml"
        scene = robot.make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dal.export_mjcf(scene, file)
        spec = mujoco.MjSpec.from_file(str(file))
        spec.option.timestep, spec.option.cone = DT, mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        for joint, place in robot.posture.items():
            self.data.joint(joint).qpos[0] = place
        mujoco.mj_forward(self.model, self.data)
        self._up = self.up()

    def lowest(self) -> float:
        """The height of the lowest point of what collides, m."""
        m, d, low, points = self.model, self.data, np.inf, np.zeros(6)
        for geom in range(m.ngeom):
            if m.geom_bodyid[geom] == 0 or not (m.geom_contype[geom] or m.geom_conaffinity[geom]):
                continue
            plane = int(np.flatnonzero(m.geom_type == self._mujoco.mjtGeom.mjGEOM_PLANE)[0])
            apart = self._mujoco.mj_geomDistance(m, d, plane, geom, 1000.0, points)
            low = min(low, float(m.geom_pos[plane][2]) + apart)
        return low

    def advance(self, steps: int) -> None:
        self._mujoco.mj_step(self.model, self.data, steps)

    def up(self) -> np.ndarray:
        """The vertical in axes of the root."""
        return np.array(self.data.xmat[1][6:9])

    def stands(self) -> bool:
        return self.data.ncon > 0 and leans(self._up, self.up()) < TILT


class Ours:
    """Time steps of contact in joint coordinates."""

    def __init__(self, robot: Robot) -> None:
        scene = robot.make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.run = dal.Simulation(
                scene, method="time_stepping", dt=DT, coordinates="joint", frame_rate=1.0 / (MOST * DT)
            )
        self.run.set_joint_state({joint: (place, 0.0) for joint, place in robot.posture.items()})
        self._up = self.up()

    def advance(self, steps: int) -> None:
        self.run.advance(steps * DT)

    def up(self) -> np.ndarray:
        w, x, y, z = self.run.state.orientation[0]
        row = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
        return np.array(row)

    def stands(self) -> bool:
        return len(self.run.contacts) > 0 and leans(self._up, self.up()) < TILT

    def unsolved(self) -> tuple[int, int]:
        """(steps above the tolerance, all)."""
        contact = self.run.report.contact
        return contact.unsolved, contact.steps

    def depth(self) -> float:
        return max(0.0, *(-contact.separation for contact in self.run.contacts))


def leans(before: np.ndarray, now: np.ndarray) -> float:
    """The angle between the vertical in axes of the root before and now, rad."""
    return float(np.arccos(np.clip(before @ now, -1.0, 1.0)))


@dataclass
class Row:
    """What was measured of a robot. ours, theirs : s a step; unsolved of steps; residual : m/s; depth, their_depth : m."""

    name: str
    freedoms: int
    contacts: int
    ours: float
    theirs: float
    unsolved: int
    steps: int
    residual: float
    depth: float
    their_depth: float

    def __str__(self) -> str:
        return (
            f"| {self.name} | {self.freedoms} | {self.contacts} | {self.ours * 1e6:.1f} | {self.theirs * 1e6:.1f} "
            f"| {self.ours / self.theirs:.2f} | {self.unsolved} of {self.steps} | {self.residual:.1e} "
            f"| {self.depth * 1e6:.2g} | {self.their_depth * 1e6:.2g} |"
        )


HEAD = """| robot | freedoms | contacts | µs a step | MuJoCo | ratio | unsolved | residual, m/s | depth, µm | MuJoCo |
|---|---|---|---|---|---|---|---|---|---|"""


def measure(name: str, path: Path, wanted: dict[str, float]) -> Row | None:
    """The comparison of one robot; None where it does not stand in both."""
    robot = Robot(name, path, wanted, -100.0)
    with tempfile.TemporaryDirectory() as folder:
        robot.ground = MuJoCo(robot, Path(folder)).lowest() - 1e-4
        if not np.isfinite(robot.ground):
            print(f"{name}: its file has no collision shapes", file=sys.stderr)
            return None
        theirs, ours = MuJoCo(robot, Path(folder)), Ours(robot)
    for engine in (ours, theirs):
        engine.advance(SETTLE)
        if not engine.stands():
            print(f"{name}: does not stand in {type(engine).__name__}", file=sys.stderr)
            return None
    found = race({"ours": ours.advance, "theirs": theirs.advance}, MOST, turns=10, clock=time.process_time)
    if len(found) < 2 or not (ours.stands() and theirs.stands()):
        print(f"{name}: falls", file=sys.stderr)
        return None
    return Row(
        name, theirs.model.nv, len(ours.run.contacts), found["ours"], found["theirs"], *ours.unsolved(),
        ours.run.report.contact.residual, ours.depth(), max(0.0, -float(theirs.data.contact.dist.min())),
    )  # fmt: skip


def file_of(ending: str, roots: list[Path]) -> Path | None:
    """The file of a robot below one of these folders."""
    for root in roots:
        for path in sorted(root.rglob(Path(ending).name)):
            if str(path).endswith("/" + ending):
                return path
    return None


def section(rows: list[Row]) -> str:
    """Markdown."""
    ratios = [row.ours / row.theirs for row in rows]
    unsolved = sum(row.unsolved for row in rows)
    law = (
        f"Median over {len(rows)} robots: **{np.median(ratios):.2f}** (a quarter below {np.quantile(ratios, 0.25):.2f}, a "
        f"quarter above {np.quantile(ratios, 0.75):.2f}); {unsolved} of {sum(row.steps for row in rows)} steps above the "
        "tolerance."
    )
    return "\n".join([law, "", HEAD, *map(str, rows)])


def main(roots: list[Path], only: list[str]) -> None:
    """Print the table; a run over all robots writes it to docs/benchmarks.md."""
    rows = []
    print(HEAD, flush=True)
    for name, (ending, wanted) in ROBOTS.items():
        path = file_of(ending, roots)
        if only and name not in only:
            continue
        if path is None:
            print(f"{name}: no {ending} in {', '.join(map(str, roots)) or 'any folder'}", file=sys.stderr)
            continue
        try:
            row = measure(name, path, wanted)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if row is not None:
            rows.append(row)
            print(row, flush=True)
    if not rows:
        print("no robots: pip install pybullet example-robot-data, or name a folder with models", file=sys.stderr)
        return
    text = section(rows)
    print(text.split("\n")[0])
    if not only:
        page = ROOT / "docs" / "benchmarks.md"
        block = f"## {TITLE}\n\n{ABOUT}\n\n{text}\n\n{WHERE}"
        page.write_text(refreshed(page.read_text(encoding="utf-8"), "robots", block), encoding="utf-8")


TITLE = "Robots that stand"
ABOUT = """Robots of `pybullet` and `example-robot-data`, freed from the world, on a plane, held by a motor with stiffness and
gain on each joint; the same scene in MuJoCo by `export_mjcf`, with elliptic cones, at steps of 2 ms. Those that stand in both
for three seconds are timed (`benchmarks/robots.py`). Unsolved are steps above 1e-6 m/s, from the fall on the ground on; the
residual is that of the worst step."""

WHERE = """Most robots rest after one sweep, and the rest of a step counts: kinematics, the mass matrix and the drifts of the
links, collision detection, rows and their solution, and the energy audit, none of them more than a fifth. Those
far above the median have many contacts whose rows reach many speeds (`tiago`, `tiago dual`, `baxter`), loops that the end of
each step closes (`baxter`, `pr2`), or sway for seconds, at the end of long arms or on edges of their feet, so that sweeps do
not reach the tolerance and the converging solver is called (`centauro`, `panda`)."""


if __name__ == "__main__":
    arguments = sys.argv[1:]
    chosen: list[str] = []
    if arguments[:1] == ["--only"]:
        chosen, arguments = arguments[1].split(","), arguments[2:]
    main([Path(argument).resolve() for argument in arguments] or folders(), chosen)
