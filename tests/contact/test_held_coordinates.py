"""Forces and contacts on coordinates that joints or prescribed motions hold, in both coordinates and by both solvers."""

import numpy as np
import pytest

import dalembert as dal

BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
SOLVERS = pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
RESISTING = {
    "dry friction": lambda scene: scene.joint_friction("force", "j", effort=5.0),
    "ideal motor": lambda scene: scene.motor("force", "j", speed=0.0, limit=5.0),
    "limited motor": lambda scene: scene.motor("force", "j", damping=50.0, speed=0.0, limit=5.0),
    "damper": lambda scene: scene.torsion_spring("force", "j", stiffness=0.0, damping=5.0),
}


@SOLVERS
@BOTH
@pytest.mark.parametrize("force", RESISTING)
@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_a_drive_works_against_what_resists_its_joint(kind, force, coordinates, solver):
    """5 N m at 1 rad/s, or 5 N at 1 m/s."""
    scene = dal.Scene("driven", gravity=(0, 0, 0))
    turns = kind == "hinge"
    scene.add_body(
        "body",
        dal.Box(0.2, 0.2, 0.2),
        mass=1.0,
        velocity=(0 if turns else 1, 0, 0),
        angular_velocity=(0, 0, 1 if turns else 0),
    )
    getattr(scene, kind)("j", dal.WORLD, "body", (0, 0, 0), (0, 0, 1) if turns else (1, 0, 0))
    scene.add_motion("drive", "j", speed=1.0)
    RESISTING[force](scene)
    run = dal.simulate(scene, 0.5, method="time_stepping", dt=1e-3, coordinates=coordinates, solver=solver)
    assert run.efforts["drive"] == pytest.approx(5.0, rel=1e-6) and run.report.contact.unsolved == 0
    assert run.report.work["force"] == pytest.approx(-2.5, rel=1e-6)
    assert run.report.work["drive"] == pytest.approx(2.5, rel=1e-6)


def slider_crank(force, joint):
    """A driven crank, whose linkage has no other freedom, with a force on one of its joints."""
    scene = dal.Scene("slider-crank")
    scene.add_body("crank", dal.Box(0.2, 0.03, 0.03), mass=1.0, position=(0.1, 0, 0))
    scene.add_body("rod", dal.Box(0.5, 0.03, 0.03), mass=1.0, position=(0.45, 0, 0))
    scene.add_body("piston", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.7, 0, 0))
    scene.hinge("axle", dal.WORLD, "crank", (0, 0, 0), (0, 1, 0))
    scene.hinge("pin", "crank", "rod", (0.2, 0, 0), (0, 1, 0))
    scene.hinge("wrist", "rod", "piston", (0.7, 0, 0), (0, 1, 0))
    scene.slider("guide", dal.WORLD, "piston", (0.7, 0, 0), (1, 0, 0))
    scene.add_motion("drive", "axle", lambda t: 1 - np.cos(6 * t))
    if force == "spring":
        scene.torsion_spring("force", joint, stiffness=300.0, damping=20.0)
    elif force == "motor":
        scene.motor("force", joint, effort=5.0)
    else:
        scene.joint_friction("force", joint, effort=5.0)
    return scene


@pytest.mark.parametrize("joint", ["guide", "wrist", "pin"])
@pytest.mark.parametrize("force", ["spring", "friction", "motor"])
def test_a_drive_feels_the_forces_on_all_joints_of_its_linkage(force, joint):
    """Whichever joint closes the loop in joint coordinates."""
    works, drives = [], []
    for coordinates in ("maximal", "joint"):
        run = dal.simulate(slider_crank(force, joint), 0.3, method="time_stepping", dt=1e-3, coordinates=coordinates)
        works.append(run.report.work["force"])
        drives.append(run.efforts["drive"])
    assert works[1] == pytest.approx(works[0], rel=5e-3) and abs(works[0]) > 0.5
    assert drives[1] == pytest.approx(drives[0], rel=2e-3, abs=0.02)


def foot(held):
    """A foot that a slider holds 1 mm in compliant ground, driven over it at 1 m/s, or free to slide along it."""
    scene = dal.Scene("foot", gravity=(0, 0, 0))
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.5))
    scene.add_body(
        "foot",
        dal.Sphere(0.1),
        mass=1.0,
        position=(0, 0, 0.099),
        velocity=(1, 0, 0),
        material=dal.Material(0.5, stiffness=2e4),
    )
    scene.slider("rail", dal.WORLD, "foot", (0, 0, 0.099), (1, 0, 0))
    if held:
        scene.add_motion("drive", "rail", speed=1.0)
    return scene


@SOLVERS
@BOTH
def test_a_compliant_contact_whose_normal_joints_hold_has_the_force_of_its_law(coordinates, solver):
    run = dal.simulate(foot(True), 0.1, method="time_stepping", dt=1e-3, coordinates=coordinates, solver=solver)
    assert np.allclose(run.contacts[0].force, (10, 0, -20), rtol=1e-6)
    assert run.efforts["drive"] == pytest.approx(10.0, rel=1e-6)
    run = dal.simulate(foot(False), 0.2, method="time_stepping", dt=1e-3, coordinates=coordinates, solver=solver)
    assert run.report.work["contact: friction"] == pytest.approx(-0.5, rel=1e-6)
    assert abs(run.state.velocity[0, 0]) < 1e-5 and run.state.position[0, 0] == pytest.approx(0.05, abs=6e-4)


@SOLVERS
@BOTH
def test_friction_resists_a_driven_foot_that_is_pressed_on_rigid_ground(coordinates, solver):
    """20 N on a foot that its joints let move along the normal alone, beside what is prescribed."""
    scene = dal.Scene("pressed", gravity=(0, 0, 0), material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("cart", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.5), velocity=(1, 0, 0), material=None)
    scene.add_body("foot", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0))
    scene.slider("rail", dal.WORLD, "cart", (0, 0, 0.5), (1, 0, 0))
    scene.slider("leg", "cart", "foot", (0, 0, 0.3), (0, 0, 1))
    scene.add_motion("drive", "rail", speed=1.0)
    scene.external_force("press", "foot", force=(0, 0, -20))
    run = dal.simulate(scene, 0.1, method="time_stepping", dt=1e-3, coordinates=coordinates, solver=solver)
    assert run.efforts["drive"] == pytest.approx(10.0, rel=1e-6)
    assert run.report.work["contact: friction"] == pytest.approx(-1.0, rel=1e-6)


@BOTH
@pytest.mark.parametrize("turn", [(0.4, 0.7, 0.3), (1.0, 0.2, -0.5)])
def test_rows_that_nothing_loads_are_solved_to_rounding(turn, coordinates):
    """Dry friction on a hinge that gravity does not turn, without contacts."""
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_rotvec(turn)
    q = np.roll(turned.as_quat(), 1)
    scene = dal.Scene("still hinge", gravity=turned.apply((0, 0, -9.81)))
    scene.add_body("a", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=turned.apply((0.25, 0, 0)), orientation=q)
    scene.add_body("b", dal.Box(0.5, 0.1, 0.1), mass=1.3, position=turned.apply((0.75, 0, 0)), orientation=q)
    scene.ball("shoulder", dal.WORLD, "a", (0, 0, 0))
    scene.hinge("elbow", "a", "b", turned.apply((0.5, 0, 0)), turned.apply((0, 0, 1)))
    scene.joint_friction("dry", "elbow", effort=0.2)
    run = dal.simulate(
        scene, 0.1, method="time_stepping", dt=1e-3, coordinates=coordinates, solver="converging", stop_unsolved=True
    )
    assert run.report.contact.unsolved == 0
