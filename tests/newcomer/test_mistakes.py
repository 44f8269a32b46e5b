"""Typical mistakes of people who are new: each gets an error or a warning that names the object and the value, and says what
to write instead."""

import math
import re
import warnings

import pytest

import dalembert as dal
from dalembert.scene.scene_warnings import warnings_of

WORLD, GROUND = dal.WORLD, dal.HalfSpace()
SURFACE = dal.Material(friction=0.5)


def arm():
    scene = dal.Scene("arm")
    scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.hinge("shoulder", WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def two():
    scene = dal.Scene("two")
    scene.add_body("a", dal.Sphere(0.1), mass=1.0)
    scene.add_body("b", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    return scene


def room(material=SURFACE, ground=True, **given):
    """A box on the ground."""
    scene = dal.Scene("room", material=material)
    if ground:
        scene.add_obstacle("floor", GROUND, material=SURFACE)
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), **{"mass": 8.0, "position": (0, 0, 0.1)} | given)
    return scene


def ball(**given):
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), **{"mass": 1.0} | given)
    return scene


def cart(gravity, ground=True):
    scene = dal.Scene("cart", gravity=gravity, material=SURFACE if ground else None)
    if ground:
        scene.add_obstacle("floor", GROUND)
    scene.add_body("cart", dal.Box(1, 1, 1), mass=1000.0, position=(0, 0, 0.5))
    return scene


def spring(stiffness):
    scene = dal.Scene("hanging")
    scene.add_body("bob", dal.Sphere(0.05), mass=1.0, position=(0, 0, -0.2))
    scene.spring("coil", WORLD, "bob", at_a=(0, 0, 0), at_b=(0, 0, -0.2), stiffness=stiffness)
    return scene


def run(scene, duration=0.05, **settings):
    return dal.simulate(scene, duration, **settings)


def limited(lower, upper):
    scene = arm()
    scene.limit("stop", "shoulder", lower=lower, upper=upper)
    return scene


def motor(**given):
    scene = arm()
    scene.motor("drive", "shoulder", **given)
    return scene


def brick(shape):
    scene = dal.Scene("brick")
    scene.add_body("brick", shape, mass=2.0)
    return scene


def far():
    scene = two()
    scene.hinge("pin", "a", "b", at=(500, 0, 0), axis=(0, 0, 1))
    return scene


ERRORS = {
    # names
    "a misspelt body": (lambda: arm().spring("s", "arn", WORLD, (0, 0, 0), (0, 0, 1), stiffness=1.0),
                        "spring 's'", "'arn'", "did you mean 'arm'"),
    "a misspelt joint": (lambda: arm().motor("drive", "sholder", effort=1.0),
                         "motor 'drive'", "'sholder'", "did you mean 'shoulder'"),
    "a motor on a joint that was not added": (lambda: two().motor("drive", "hinge", effort=1.0),
                                              "motor 'drive'", "'hinge'", "no joints yet"),
    "a misspelt keyword": (lambda: ball(colour="red"), r"add_body\(\)", "'colour'", "did you mean 'color'"),
    "a misspelt color": (lambda: ball(color="bleu"), "body 'ball'", "'bleu'", "did you mean 'blue'"),
    "a misspelt setting": (lambda: run(arm(), timestep=0.01), "'timestep'", "did you mean dt"),
    "a method in capitals": (lambda: run(arm(), method="RK4"), "'RK4'", "did you mean 'rk4'"),
    "a misspelt scene": (lambda: dal.gallery.load("pendulm"), "'pendulm'", "Did you mean 'pendulum'"),
    "a misspelt name of the package": (lambda: dal.Secne, "'Secne'", "did you mean 'Scene'"),
    "a misspelt part of a contact rule": (lambda: room().set_contact("box", "flor"), "'flor'", "did you mean 'floor'"),
    "two bodies of one name": (lambda: arm().add_body("arm", dal.Sphere(0.1), mass=1.0), "body 'arm'", "choose another"),
    "a body that is called world": (lambda: arm().add_body("world", dal.Sphere(1), mass=1), "'world'", "choose another"),
    "a body's name asked of a trajectory": (lambda: run(arm()).trajectory["amr"], "'amr'", r"position\.sel\(body='arm'\)"),
    # order and number of arguments
    "mass and position exchanged": (lambda: ball(mass=(0, 0, 1), position=2.0),
                                    "body 'ball'", r"\(0, 0, 1\)", "exchanged", r"mass= in kg and position=\(x, y, z\)"),
    "a shape without a name": (lambda: dal.Scene().add_body(dal.Sphere(0.1), mass=1.0), "Sphere", "the name comes first"),
    "a shape's class": (lambda: dal.Scene().add_body("b", dal.Sphere, mass=1.0), "body 'b'", r"Sphere\(\.\.\.\)"),
    "a mass without its keyword": (lambda: dal.Scene().add_body("b", dal.Sphere(0.1), 1.0), "add_body", r"\[mass=\]"),
    "a hinge without its point": (lambda: two().hinge("h", "a", "b", axis=(0, 0, 1)), r"Scene\.hinge", "'at'", "it takes"),
    "a body's friction": (lambda: ball(friction=0.5), "'friction'", r"material=Material\(friction"),
    "an obstacle's mass": (lambda: dal.Scene().add_obstacle("floor", GROUND, mass=1.0), "'mass'", "add_body"),
    "limits the wrong way round": (lambda: limited(1.0, -1.0), "limit 'stop'", r"1\.0 and upper -1\.0", "lower < upper"),
    # shapes of values
    "text for a vector": (lambda: ball(position="up"), "body 'ball': position", "'up'", r"\(0, 0, 0\)"),
    "text for an axis": (lambda: two().hinge("h", "a", "b", at=(0, 0, 0), axis="z"), "hinge 'h': axis", r"give \(0, 0, 1\)"),
    "two numbers for a vector": (lambda: ball(position=(0, 1)), "body 'ball': position", r"\(3,\)", r"\(0, 1\)"),
    "gravity as a number": (lambda: dal.Scene(gravity=9.81), "gravity", "9.81", r"\(0, 0, -9\.81\)"),
    "Euler angles for an orientation": (lambda: ball(orientation=(0, 0, 1.57)), "'ball'", "1.57", r"\(w, x, y, z\)"),
    "an orientation of zeros": (lambda: ball(orientation=(0, 0, 0, 0)), "'ball': orientation", r"\(1, 0, 0, 0\)"),
    "an axis of zeros": (lambda: two().hinge("h", "a", "b", at=(0, 0, 0), axis=(0, 0, 0)), "hinge 'h': axis", "some length"),
    "an event's function of time alone": (lambda: arm().event("e", lambda t: t - 1.0), "event 'e'", r"\(t\)", r"\(t, y\)"),
    # numbers that cannot be
    "a negative mass": (lambda: ball(mass=-1.0), "body 'ball'", "-1.0", "above zero, in kg"),
    "no mass": (lambda: ball(mass=None), "body 'ball'", r"mass \(kg\) and density \(kg/m³\)", "neither"),
    "a restitution above one": (lambda: dal.Material(0.5, 1.5), "restitution", "1.5", "0 to 1"),
    "a negative length": (lambda: dal.Box(1, -2, 3), "Box: y", "-2", "above zero, in m"),
    "a negative duration": (lambda: run(arm(), -1.0), "duration", r"-1\.0", r"above zero \(s\)"),
    "a duration with a unit": (lambda: run(arm(), "1 s"), "duration", "'1 s'", "a finite number"),
    "a material as a number": (lambda: ball(material=0.5), "body 'ball': material", "0.5", r"Material\(friction=0\.5\)"),
    # things in the wrong place
    "a joint of a body with itself": (lambda: two().hinge("h", "a", "a", at=(0, 0, 0), axis=(0, 0, 1)),
                                      "hinge 'h'", "both ends are 'a'", "two different bodies"),
    "a body of another scene": (lambda: two().ball("b", arm().bodies["arm"], "a", at=(0, 0, 0)),
                                "'arm'", "add it to this one"),
    "the ground as a body": (lambda: dal.Scene().add_body("floor", GROUND, mass=1.0), "body 'floor'", "add_obstacle"),
    "a scene with nothing in it": (lambda: run(dal.Scene("empty")), "'empty'", "nothing that moves", "add_body"),
    "the class Scene": (lambda: run(dal.Scene), "scene is", r"Scene\(\"name\"\)"),
    "the name of a scene": (lambda: run("pendulum"), "'pendulum'", r"gallery\.load\(name\)\.build\(\)"),
    "a model file that is missing": (lambda: dal.load_model("no/arm.urdf"), r"arm\.urdf", "no such file", "check the path"),
    "a fixed-step method without dt": (lambda: run(arm(), method="rk4"), "'rk4'", "give its step, dt", "dormand_prince"),
}  # fmt: skip
WARNINGS = {
    "degrees for the limits of a joint": (lambda: limited(-45, 45), "limit 'stop'", "-45 and 45 rad", "radians", "0.7854"),
    "degrees for a motor": (lambda: motor(position=90, stiffness=10.0, damping=1.0), "motor 'drive'", "90 rad", "1.571"),
    "lengths in millimetres": (lambda: brick(dal.Box(200, 100, 50)), "body 'brick'", "2 kg", "lengths in m"),
    "masses in grams": (lambda: ball(mass=33000.0), "body 'ball'", r"3.3e\+04 kg", "masses are in kg"),
    "gravity in millimetres": (lambda: run(cart((0, 0, -9810))), "gravity is 9810", "lengths are in m"),
    "gravity upwards": (lambda: run(cart((0, 0, 9.81))), r"9\.81\]", "'floor'", r"\(0, 0, -9\.81\)"),
    "gravity upwards without a ground": (lambda: run(cart((0, 0, 9.81), False)), r"9\.81\]", "up", r"\(0, 0, -9\.81\)"),
    "gravity along y": (lambda: run(cart((0, -9.81, 0))), r"\[0\.0, -9\.81, 0\.0\]", "'floor'", r"give \(0, 0, -9\.81\)"),
    "a quaternion of length 1.4": (lambda: room(orientation=(1, 1, 0, 0)), "body 'box'", "norm 1.414", r"0\.707107"),
    "a quaternion (x, y, z, w)": (lambda: room(orientation=(0, 0, math.sin(0.2), math.cos(0.2))),
                                  "body 'box'", "half a turn", r"\(w, x, y, z\)", r"give \(0\.98"),
    "the identity as (x, y, z, w)": (lambda: room(orientation=(0, 0, 0, 1)), "body 'box'", "half a turn", r"\(1, 0, 0, 0\)"),
    "a forgotten ground": (lambda: run(room(ground=False)), "'box'", "no ground", "add_obstacle", "HalfSpace"),
    "a forgotten material": (lambda: run(room(material=None)), "'box'", "no material", r"material=Material\("),
    "a body that starts in the floor": (lambda: run(room(position=(0, 0, 0.05))), "'box' and 'floor'", "0.05 m", "Move them"),
    "a spring of 10 N/mm": (lambda: run(spring(4.0)), "spring 'coil'", "'bob'", "4 N/m", "1000 N/m"),
    "a spring too stiff for the step": (lambda: run(spring(1e9), dt=0.01, method="rk4"), "'coil'", "rk4", "dt below"),
    "milliseconds for dt": (lambda: run(room(), 10.0, dt=5), "dt=5 s", "smaller dt"),
    "a step longer than the run": (lambda: run(arm(), dt=1.0, method="rk4"), "dt is 1 s", "0.05 s", "smaller dt"),
    "a joint in millimetres": (lambda: run(far()), "hinge 'pin'", r"\[500", "world coordinates, in m"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", ERRORS)
def test_is_refused_with_the_way_out(mistake):
    do, *says = ERRORS[mistake]
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)) as caught:
        do()
    text = str(caught.value)
    for words in says:
        caught.match(words)
    assert len(text) < 900 and "\n" not in text


@pytest.mark.parametrize("mistake", WARNINGS)
def test_is_warned_of_with_the_way_out(mistake):
    do, *says = WARNINGS[mistake]
    with pytest.warns(dal.SimulationWarning) as caught:
        found = do()
        if isinstance(found, dal.Scene):  # what is wrong in it is said when it is run
            run(found, 0.01)
    texts = [str(each.message) for each in caught]
    assert any(all(re.search(words, text) for words in says) for text in texts), texts


def test_what_is_right_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scene in (arm(), room(), ball(), spring(1000.0), limited(-0.5, 0.5)):
            run(scene)
        half = math.sqrt(0.5)
        for orientation in ((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, half, half), (0, half, 0, half), (half, 0, 0, half)):
            run(room(orientation=orientation))
        thrown = dal.Scene("thrown", material=SURFACE)
        thrown.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(0, 0, 5))
        run(thrown)
        run(cart((0, 0, 0)))


def test_a_call_that_fits_raises_what_it_raised():
    """Errors inside of a method are not taken for calls that do not fit."""
    scene = arm()
    with pytest.raises(TypeError, match="material is 'steel'; give a Material"):
        scene.add_body("b", dal.Sphere(1), mass=1, material="steel")


@pytest.mark.parametrize("name", dal.gallery.names())
def test_scenes_of_the_gallery_are_not_taken_for_mistakes(name):
    built = dal.gallery.load(name).build()
    assert warnings_of(getattr(built, "scene", built)) == []
