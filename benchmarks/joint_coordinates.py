"""Forward dynamics in joint coordinates: ours against MuJoCo's mj_forward, without contact, and Pinocchio's aba.

A 6-joint arm, a quadruped of 18 freedoms and a humanoid of 30, of the same bodies and joints in every engine; accelerations
at the state that is timed are compared first. MuJoCo and Pinocchio are called from Python, which costs them about 0.2 µs a
call; ours are called in one compiled loop. They take turns, and the shortest turn counts.

    python benchmarks/joint_coordinates.py
"""

import platform
from pathlib import Path

import numpy as np

import dalembert as dal
from dalembert.core.kernel import array, kernel
from dalembert.dynamics.joint_space.dynamics import accelerate
from dalembert.dynamics.joint_space.kinematics import update_links
from dalembert.dynamics.joint_space.queries import apply_gravity
from dalembert.model.tree import Tree
from race import Advance, built, race
from readme import refreshed

ROOT = Path(__file__).parent.parent
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ROBOTS = {"arm": (False, 1, 6), "quadruped": (True, 4, 3), "humanoid": (True, 4, 6)}  # free?, limbs, joints a limb
OURS = "dalembert, articulated bodies"


@kernel
def repeat(count: int, u: array(), w: array(), tree: Tree) -> int:
    """So many evaluations of ẇ."""
    for _ in range(count):
        update_links(u, w, tree)
        apply_gravity((0.0, 0.0, -9.81), tree)
        accelerate(tree)
    return 0


def robot(free: bool, limbs: int, joints: int) -> dal.Scene:
    """A trunk with limbs of hinges about x, y, z in turn."""
    scene = dal.Scene("robot")
    trunk = scene.add_body("trunk", dal.Box(0.5, 0.3, 0.1), mass=10.0)
    if not free:
        scene.weld("base", dal.WORLD, trunk, at=(0, 0, 0))
    for limb in range(limbs):
        carrier, x = trunk, 0.2 * limb
        for k in range(joints):
            body = scene.add_body(f"{limb}.{k}", dal.Box(0.1, 0.08, 0.3), mass=1.0, position=(x, 0, -0.3 * (k + 1)))
            scene.hinge(f"joint {limb}.{k}", carrier, body, at=(x, 0, -0.3 * k - 0.15), axis=AXES[k % 3])
            carrier = body
    return scene


def state(arm: dal.Articulation) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and speeds at random; what is free stays where it is."""
    rng = np.random.default_rng(0)
    u, w = arm.start.copy(), rng.normal(size=len(arm.speeds))
    first = 7 if arm.speeds[0].startswith("trunk") else 0
    u[first:] = rng.uniform(-1.0, 1.0, len(u) - first)
    return u, w


def ours(arm: dal.Articulation, u: np.ndarray, w: np.ndarray) -> Advance:
    """The articulated-body algorithm."""

    def advance(count: int) -> None:
        repeat(count, u, w, arm._tree)

    return advance


def order(scene: dal.Scene, arm: dal.Articulation) -> list[int]:
    """Where the joints of the scene, in its order, are among the last of our coordinates."""
    first = len(arm.speeds) - sum(joint.kind == "hinge" for joint in scene.joints.values())
    return [arm.speeds.index(name) - first for name, joint in scene.joints.items() if joint.kind == "hinge"]


def in_mujoco(scene: dal.Scene, arm: dal.Articulation, u: np.ndarray, w: np.ndarray, check: np.ndarray) -> Advance:
    """mj_forward of the same robot at the same state."""
    import mujoco

    def nested(body: dal.scene.body.Body, origin: np.ndarray) -> str:
        i = body.inertia
        text = (
            f'<body pos="{" ".join(map(repr, (body.position - origin).tolist()))}"><inertial pos="0 0 0" mass="{body.mass}" '
            f'fullinertia="{i[0, 0]} {i[1, 1]} {i[2, 2]} {i[0, 1]} {i[0, 2]} {i[1, 2]}"/>'
        )
        for joint in scene.joints.values():
            if joint.b is body and joint.kind == "hinge":
                at = joint.at - body.position
                text += f'<joint pos="{at[0]} {at[1]} {at[2]}" axis="{" ".join(map(str, joint.axis))}"/>'
        if body.name == "trunk" and "base" not in scene.joints:
            text += "<freejoint/>"
        text += "".join(nested(j.b, body.position) for j in scene.joints.values() if j.a is body)
        return text + "</body>"

    xml = f"<mujoco><worldbody>{nested(scene.bodies['trunk'], np.zeros(3))}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    places, free = order(scene, arm), 7 if model.nq > model.nv else 0
    data.qpos[:free], data.qpos[free:] = u[:free], u[free:][places]
    data.qvel[: model.nv - len(places)] = w[: model.nv - len(places)]
    data.qvel[model.nv - len(places) :] = w[model.nv - len(places) :][places]
    mujoco.mj_forward(model, data)
    compare("MuJoCo", data.qacc[model.nv - len(places) :], check[model.nv - len(places) :][places])

    def advance(count: int) -> None:
        for _ in range(count):
            mujoco.mj_forward(model, data)

    return advance


def in_pinocchio(scene: dal.Scene, arm: dal.Articulation, u: np.ndarray, w: np.ndarray, check: np.ndarray) -> Advance:
    """aba of the same robot at the same state."""
    import pinocchio as pin

    model, known = pin.Model(), {}
    trunk = scene.bodies["trunk"]
    still = pin.SE3.Identity()
    free = "base" not in scene.joints
    if free:
        known["trunk"] = (model.addJoint(0, pin.JointModelFreeFlyer(), still, "root"), trunk.position)
        model.appendBodyToJoint(1, pin.Inertia(trunk.mass, np.zeros(3), trunk.inertia), still)
    else:
        known["trunk"] = (0, trunk.position)
    names = []
    for name, joint in scene.joints.items():
        if joint.kind != "hinge":
            continue
        parent, origin = known[joint.a.name]
        number = model.addJoint(
            parent, pin.JointModelRevoluteUnaligned(joint.axis), pin.SE3(np.eye(3), joint.at - origin), name
        )
        inertia = pin.Inertia(joint.b.mass, np.zeros(3), joint.b.inertia)
        model.appendBodyToJoint(number, inertia, pin.SE3(np.eye(3), joint.b.position - joint.at))
        known[joint.b.name] = (number, joint.at)
        names.append(name)
    data, places = model.createData(), order(scene, arm)
    q, v = pin.neutral(model), np.zeros(model.nv)
    q[model.nq - len(places) :] = u[len(u) - len(places) :][places]
    v[: model.nv - len(places)], v[model.nv - len(places) :] = (
        w[: model.nv - len(places)],
        w[model.nv - len(places) :][places],
    )
    zero = np.zeros(model.nv)
    found = pin.aba(model, data, q, v, zero)
    compare("Pinocchio", found[model.nv - len(places) :], check[model.nv - len(places) :][places])

    def advance(count: int) -> None:
        for _ in range(count):
            pin.aba(model, data, q, v, zero)

    return advance


def compare(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Raises ValueError where accelerations of joints differ."""
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error < 1e-9:
        raise ValueError(f"{name} has other accelerations: relative difference {error:.3g}")


def main() -> None:
    """Race, and write the section of docs/benchmarks.md."""
    lines = ["| robot | freedoms | dalembert | MuJoCo mj_forward | Pinocchio aba | MuJoCo / ours | Pinocchio / ours |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, shape in ROBOTS.items():
        scene = robot(*shape)
        arm = dal.Articulation(scene)
        u, w = state(arm)
        rates = arm.forward_dynamics(u, w)
        makers = {
            OURS: lambda arm=arm, u=u, w=w: ours(arm, u, w),
            "MuJoCo": lambda s=scene, a=arm, u=u, w=w, r=rates: in_mujoco(s, a, u, w, r),
            "Pinocchio": lambda s=scene, a=arm, u=u, w=w, r=rates: in_pinocchio(s, a, u, w, r),
        }
        times = race(built(makers), 20_000, turns=15, budget=0.03)
        cells = [f"{times[key] * 1e6:.2f} µs" if key in times else "—" for key in makers]
        ratios = [f"{times[key] / times[OURS]:.2f}" if key in times else "—" for key in ("MuJoCo", "Pinocchio")]
        lines.append("| " + " | ".join([name, str(len(arm.speeds)), *cells, *ratios]) + " |")
        print(lines[-1], flush=True)
    block = "\n".join([
        "## Forward dynamics in joint coordinates", "",
        f"One evaluation of the accelerations at one state, without contact, on one thread ({platform.machine()}).",
        "MuJoCo and Pinocchio are called from Python (about 0.2 µs a call), ours in one compiled loop; accelerations agree",
        "to 1e-9.", "",
        *lines, "",
    ])  # fmt: skip
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(refreshed(page.read_text("utf-8"), "joint-coordinates", block), encoding="utf-8")


if __name__ == "__main__":
    main()
