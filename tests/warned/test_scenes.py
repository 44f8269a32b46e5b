"""Scenes that can be run but are probably not as they were meant: each is told of by name, one that is right is not."""

import numpy as np
import pytest

import dalembert as dal

from .collect import arm, ground, of_run, told

RUBBER = dal.Material(0.6)
CUBE = dal.Box(0.2, 0.2, 0.2)


def one(found):
    assert len(found) == 1, found
    return found[0]


# Contact --------------------------------------------------------------------------------------------------------------


def test_bodies_without_a_material_are_named_once_where_other_things_touch():
    scene = ground()
    scene.add_body("meant", CUBE, mass=1.0, position=(0, 0, 1), material=None)
    scene.add_body("solid", CUBE, mass=1.0, position=(2, 0, 1), material=RUBBER)
    scene.add_body("no shape", mass=1.0, inertia=(1, 1, 1), position=(3, 0, 1))
    assert of_run(scene) == []
    for k in range(6):
        scene.add_body(f"lost {k}", CUBE, mass=1.0, position=(4 + k, 0, 1))
    message = one(of_run(scene))
    assert "bodies 'lost 0', 'lost 1', 'lost 2', 'lost 3' and 2 more have no material" in message
    assert "Scene(...)" in message and "material=None" in message and "meant'" not in message


def test_a_body_without_a_material_is_named_where_only_bodies_touch():
    scene = dal.Scene("bodies")
    scene.add_body("solid", CUBE, mass=1.0, material=RUBBER)
    scene.add_body("ghost", CUBE, mass=1.0, position=(1, 0, 0))
    assert "body 'ghost' has no material" in one(of_run(scene))


def test_where_nothing_touches_no_material_is_missed():
    assert of_run(arm(), method="rk4") == []


def test_material_none_turns_contact_off_where_the_scene_has_a_material():
    scene = ground(material=RUBBER)
    scene.add_body("ghost", CUBE, mass=1.0, position=(0, 0, 0.1), material=None)
    scene.add_body("solid", CUBE, mass=1.0, position=(1, 0, 0.1))
    scene.add_particles("dust", [[2, 0, 0.0]], mass=1.0, material=None)
    scene.add_particles("sand", [[3, 0, 0.0]], mass=1.0)
    assert scene.bodies["ghost"].material is None and scene.particles["dust"].material is None
    assert scene.bodies["solid"].material is RUBBER and scene.particles["sand"].material is RUBBER
    assert of_run(scene) == []
    run = dal.simulate(scene, 0.2, dt=0.005)
    assert run.state.position[0, 2] < -0.05 and run.state.position[1, 2] == pytest.approx(0.1, abs=1e-6)
    assert run.state.particle_position[:, 2] == pytest.approx([-0.5 * 9.81 * 0.2**2, 0.0], abs=6e-3)


def test_particles_without_a_material_are_named():
    scene = ground()
    scene.add_particles("dust", [[0, 0, 1]], mass=1.0)
    assert "particles 'dust' have no material" in one(of_run(scene))


def test_particles_that_a_method_lets_pass_are_named():
    scene = ground(material=RUBBER)
    scene.add_particles("sand", [[0, 0, 0.001]], mass=1.0)
    assert of_run(scene) == []
    assert "particles 'sand' have no contacts in method 'rk4'" in one(of_run(scene, method="rk4"))


def test_what_is_no_material_is_refused():
    with pytest.raises(TypeError, match=r"body 'b': material is 0\.5; give a Material"):
        dal.Scene().add_body("b", CUBE, mass=1.0, material=0.5)
    with pytest.raises(TypeError, match="scene 's': material is 'rubber'"):
        dal.Scene("s", material="rubber")
    with pytest.raises(ValueError, match="obstacle 'o': material is None"):
        dal.Scene().add_obstacle("o", CUBE, material=None)


def test_rules_of_contact_without_effect():
    scene = ground()
    scene.add_body("ghost", CUBE, mass=1.0, position=(0, 0, 1), material=None)
    scene.set_contact("ghost", "ground", enabled=False)
    assert of_run(scene) == []
    scene.set_contact("ghost", "ground", friction=0.1)
    assert "set_contact('ghost', 'ground') has no effect: 'ghost' has no material" in one(of_run(scene))
    with pytest.raises(ValueError, match="both are 'ghost'"):
        scene.set_contact("ghost", "ghost")


@pytest.mark.parametrize(("faces", "warned"), [([[0, 1, 2]], False), ([[0, 2, 1]], True)])
def test_a_surface_upside_down(faces, warned):
    scene = dal.Scene("mesh", material=RUBBER)
    scene.add_obstacle("floor", dal.TriangleMesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], faces))
    scene.add_body("cube", CUBE, mass=1.0, position=(0, 0, 0.15))
    assert ["obstacle 'floor': the normals of its faces point down" in text for text in of_run(scene)] == [
        True
    ] * warned


@pytest.mark.parametrize("inwards", [False, True])
def test_a_closed_surface_inside_out(inwards):
    vertices, faces = dal.Box(1, 1, 1).triangles()
    scene = dal.Scene("mesh", material=RUBBER)
    scene.add_obstacle("rock", dal.TriangleMesh(vertices, faces[:, ::-1] if inwards else faces))
    scene.add_body("cube", CUBE, mass=1.0, position=(0, 0, 0.7))
    assert ["point inwards" in text for text in of_run(scene)] == [True] * inwards


def test_points_on_a_surface_need_a_radius():
    scene = dal.Scene("mesh", material=RUBBER)
    scene.add_obstacle("floor", dal.TriangleMesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], [[0, 1, 2]]))
    scene.add_particles("balls", [[0, 0, 1]], mass=1.0, radius=0.01)
    assert of_run(scene) == []
    scene.add_particles("points", [[0, 0, 1]], mass=1.0)
    assert "particles 'points' have no radius and fall through the surface of 'floor'" in one(of_run(scene))


# Angles ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [90.0, 180.0, -45.0, 7.0, 360.0])
@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda s, a: s.limit("x", "j", **({"upper": a} if a > 0 else {"lower": a})), "limit 'x': its stops are at"),
        (lambda s, a: s.motor("x", "j", position=a, stiffness=1e-9), "motor 'x': its position is"),
        (lambda s, a: s.torsion_spring("x", "j", stiffness=1e-9, rest=a), "torsion spring 'x': its rest position is"),
    ],
)
def test_angles_in_degrees(add, words, angle):
    scene = arm()
    add(scene, angle)
    message = one(of_run(scene))
    assert f"{words} {angle:g} rad" in message and f"{np.radians(angle):.4g} rad" in message


@pytest.mark.parametrize("angle", [0.5 * np.pi, 2.0 * np.pi, 4.0 * np.pi, 31.4159265])
def test_angles_in_radians_and_whole_turns_are_let_be(angle):
    scene = arm()
    scene.limit("stops", "j", lower=-angle, upper=angle)
    scene.motor("drive", "j", position=angle, stiffness=1e-9)
    assert of_run(scene) == []


def test_lengths_are_no_angles():
    scene = dal.Scene("slide")
    scene.add_body("car", CUBE, mass=1.0)
    scene.slider("track", dal.WORLD, "car", at=(0, 0, 0), axis=(1, 0, 0))
    scene.limit("stops", "track", lower=-90.0, upper=90.0)
    scene.motor("drive", "track", position=50.0, stiffness=1e-9)
    assert of_run(scene) == []


def test_motors_told_degrees_in_a_run():
    scene = arm()
    scene.motor("drive", "j", stiffness=1e-9)
    run = dal.Simulation(scene, method="rk4", dt=0.01)
    winch = [lambda k=k: run.set_motor("drive", position=0.3 * k) for k in range(60)]
    assert told(lambda: [act() for act in winch]) == []  # up to 17.7 rad, in small steps
    assert "motor 'drive': its position is set to 180 rad" in one(told(lambda: run.set_motor("drive", position=180.0)))
    assert told(lambda: [run.set_motor("drive", position=p) for p in (0.0, 90.0)]) == []  # once a motor


def test_angles_of_joints_set_in_degrees():
    run = dal.Simulation(arm(), coordinates="joint")
    assert told(lambda: run.set_joint_state({"j": (12.345678, 0.0)})) == []  # as it is measured after two turns
    assert "joint 'j': its angle is set to 45 rad" in one(told(lambda: run.set_joint_state({"j": (45.0, 0.0)})))


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 1.0), (-1.0, -0.5)])
def test_stops_that_leave_out_the_initial_pose(lower, upper):
    scene = arm()
    scene.limit("stops", "j", lower=lower, upper=upper)
    message = one(of_run(scene))
    assert (
        "limit 'stops': joint 'j' is at 0 at the initial pose" in message
        and f"{min(lower, upper, key=abs):g} rad" in message
    )


# Bodies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orientation", "words"),
    [
        ((0, 0, 0, 1), "half a turn about z"),
        ((1.57, 0, 0, 1), "looks like an axis and an angle"),
        ((0, 0.6, 0.8, 0.3), "looks like an axis and an angle"),
        ((90, 0, 1, 0), "looks like an axis and an angle"),
        ((1, 0, 0, 0), None),
        ((0, 0, 0, -1), None),
        ((1, 0, 0, 1), "has the norm 1.414 and was divided by it"),
        ((1, 1, 1, 1), None),
        ((2, 0, 0, 0), "has the norm 2 and"),
        ((0.7071, 0.7071, 0, 0), None),
        ((0.3, -1.2, 0.4, 2.1), None),  # as drawn at random
    ],
)
def test_orientations(orientation, words):
    scene = dal.Scene("turned")
    scene.add_body("brick", CUBE, mass=1.0, orientation=orientation)
    found = of_run(scene)
    assert (found == []) if words is None else ("body 'brick'" in one(found) and words in found[0])


@pytest.mark.parametrize(
    ("size", "mass", "warned"), [(0.2, 8.0, False), (0.01, 1.0, False), (200.0, 8.0, True), (0.01, 20.0, True)]
)
def test_masses_and_lengths_in_other_units(size, mass, warned):
    scene = dal.Scene("units")
    scene.add_body("brick", dal.Box(size, size, size), mass=mass)
    assert ["body 'brick': its mass" in text and "kg/m³" in text for text in of_run(scene)] == [True] * warned


def test_the_volume_of_a_compound_is_that_of_its_parts():
    scene = dal.Scene("units")
    upright = (1.0, 0.0, 0.0, 0.0)
    cross = dal.Compound(
        [(dal.Box(0.1, 0.1, 0.4), (0, 0, 0.2), upright), (dal.Box(0.1, 0.1, 0.4), (0, 0, -0.2), upright)]
    )
    scene.add_body("cross", cross, mass=8.0)
    assert of_run(scene) == []


@pytest.mark.parametrize(
    ("gravity", "words"),
    [((0, 0, -9.81), None), ((0, 0, 0), None), ((9.0, 0, -3.0), None), ((0, 0, 9.81), "points away from the ground 'ground'"),
     ((0, 0, -9810), "gravity is 9810 m/s²")],
)  # fmt: skip
def test_gravity(gravity, words):
    scene = ground(gravity=gravity, material=RUBBER)
    scene.add_body("cube", CUBE, mass=1.0, position=(0, 0, 0.1))
    found = of_run(scene, dt=1e-5, duration=1e-4)
    assert (found == []) if words is None else words in one(found)


def test_gravity_and_material_of_a_scene_may_be_set_and_are_checked():
    scene = dal.Scene("moon")
    scene.gravity = (0, 0, -1.62)
    scene.material = RUBBER
    scene.add_body("stone", CUBE, mass=1.0)
    run = dal.simulate(scene, 1.0, dt=0.01)
    assert run.state.velocity[0, 2] == pytest.approx(-1.62) and scene.bodies["stone"].material is RUBBER
    with pytest.raises(ValueError, match=r"scene 'moon': gravity is -9.81; give a vector"):
        scene.gravity = -9.81
    with pytest.raises(ValueError, match="read-only"):
        scene.gravity[2] = 0.0


# What would be ignored is refused -------------------------------------------------------------------------------------


def test_a_position_without_a_stiffness():
    with pytest.raises(ValueError, match="motor 'drive': position is 1 and stiffness is 0"):
        arm().motor("drive", "j", position=1.0, damping=3.0)


def test_a_function_and_constants():
    with pytest.raises(ValueError, match="motor 'drive': give a function of the effort, or"):
        arm().motor("drive", "j", effort=1.0, function=lambda t, s, rate: 0.0)
    with pytest.raises(ValueError, match="external force 'push': give a function, or a force and a torque"):
        arm().external_force("push", "arm", force=(1, 0, 0), function=lambda t, x, q, v, w: (0, 0, 0))


@pytest.mark.parametrize("color", ["rde", "#12345", "#12345g", None, (1, 0, 0)])
def test_colours(color):
    if color is not None:  # a body takes the next of the palette
        with pytest.raises(ValueError, match="body 'b': color is"):
            dal.Scene().add_body("b", CUBE, mass=1.0, color=color)
    with pytest.raises(ValueError, match="particles 'p': color is"):
        dal.Scene().add_particles("p", [[0, 0, 0]], mass=1.0, color=color)
    with pytest.raises(ValueError, match="obstacle 'o': color is"):
        dal.Scene().add_obstacle("o", CUBE, color=color)
