"""More mistakes of people who are new: sensors, cables, live runs, results, sweeps and mathematics. Each gets an error that
names the value and says what to write instead."""

import warnings

import pytest

import dalembert as dal
from dalembert import sensors

WORLD = dal.WORLD


def arm():
    scene = dal.Scene("arm")
    scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.hinge("shoulder", WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def run(scene=None, **settings):
    return dal.Simulation(scene or arm(), **({"method": "rk4", "dt": 0.01} | settings))


def done(**settings):
    return run(**settings).advance(0.02)


def with_motor(**given):
    scene = arm()
    scene.motor("drive", "shoulder", **given)
    return run(scene)


def sensed(make):
    scene = arm()
    scene.add_sensor(make)
    return run(scene)


def cable(path, **given):
    scene = dal.Scene("weights")
    left = scene.add_body("left", dal.Sphere(0.05), mass=1.0, position=(-0.2, 0, 0))
    right = scene.add_body("right", dal.Sphere(0.05), mass=1.0, position=(0.2, 0, 0))
    return scene.cable("rope", path(left, right), **given)


def pulley(radius=0.2):
    return dal.Pulley(WORLD, at=(0, 0, 1), axis=(0, 1, 0), radius=radius, side=(0, 0, 1))


def assign(thing, name, value):
    setattr(thing, name, value)


def after_reset():
    sim = run()
    kept = sim["arm"].velocity
    sim.step(5)
    sim.reset()
    sim.step(3)
    kept[0] = 1.0


def twice(left, right):
    return [(left, (-0.2, 0, 0)), pulley(), (right, (0.2, 0, 0))]


ERRORS = {
    # sensors
    "a sensor on an unknown body": (lambda: sensed(sensors.Imu("imu", "amr")),
                                    "sensor 'imu'", "'amr'", "did you mean 'arm'"),
    "a sensor's class": (lambda: arm().add_sensor(sensors.Imu), "Imu", r"such as Imu\(name, body\)"),
    "a joint sensor on a body": (lambda: sensed(sensors.JointState("angle", "arm")), "'angle'", "'arm'", "'shoulder'"),
    "a field of view in degrees": (lambda: sensed(sensors.Camera("eye", WORLD, field_of_view=60)),
                                   "'eye'", "60", "3.1 rad"),
    "a rate of zero": (lambda: sensed(sensors.Imu("imu", "arm", rate=0)), "'imu': rate", "above zero, in Hz"),
    "a sensor that was not added": (lambda: run().sensors["imu"], "'imu'", "add_sensor"),
    "a sensor that was not recorded": (lambda: done().trajectory.sensors["imu"], "'imu'", "add_sensor"),
    "a method of a reading": (lambda: sensed(sensors.Imu("imu", "arm")).sensors["imu"].read, "Reading",
                              "'read'", "value"),
    # cables
    "a cable with one end": (lambda: cable(lambda a, b: [(a, (-0.2, 0, 0))]), "cable 'rope'", "two elements", "path="),
    "a cable of bodies without points": (lambda: cable(lambda a, b: [a, pulley(), b]),
                                         r"path\[0\] is body 'left'", r"\(body, point\)"),
    "a cable that ends on a pulley": (lambda: cable(lambda a, b: [(a, (-0.2, 0, 0)), pulley()]),
                                      r"path\[1\] is a Pulley", "Drum"),
    "a cable shorter than its path": (lambda: cable(twice, length=1.0), "1 m", "2.62832 m", "leave length out"),
    "the stiffness of a cable": (lambda: cable(twice, stiffness=1e4), "'stiffness'", "stretch=E A, in N"),
    "a pulley of negative radius": (lambda: cable(lambda a, b: [(a, (-0.2, 0, 0)), pulley(-0.2), (b, (0.2, 0, 0))]),
                                    r"path\[1\]\.radius", "above zero, in m; got -0.2"),
    # bodies
    "a mass of zero": (lambda: arm().add_body("wall", dal.Box(1, 1, 1), mass=0),
                       "body 'wall'", "mass is 0", "add_obstacle"),
    "a static body": (lambda: arm().add_body("wall", dal.Box(1, 1, 1), static=True), "'static'", "add_obstacle"),
    "two numbers for gravity": (lambda: dal.Scene(gravity=(0, -9.81)), "gravity", r"\(3,\)", r"\(0, -9\.81\)"),
    "text for a material": (lambda: dal.Scene(material="rubber"), "'rubber'", r"Material\(friction"),
    # live runs
    "a misspelt handle": (lambda: run()["amr"], "'amr'", "did you mean 'arm'"),
    "a force of two numbers": (lambda: run()["arm"].apply_force((1, 2)), "body 'arm': force", r"\(3,\)", r"\(1, 2\)"),
    "a force of the run": (lambda: run().apply_force("arm", (0, 0, 1)), "'apply_force'", r'sim\["name"\]\.apply_force'),
    "pos of a handle": (lambda: run()["arm"].pos, "'pos'", "use position"),
    "a misspelt attribute that is set": (lambda: assign(run()["arm"], "velocty", (1, 0, 0)),
                                         "'velocty'", "did you mean 'velocity'"),
    "a part of a velocity from before": (after_reset, "body 'arm': this velocity is that of t = 0 s", "0.03 s",
                                         "handle.velocity ="),
    "the position of a body on a hinge": (lambda: assign(run()["arm"], "position", (0, 0, 1)),
                                          "joint 'shoulder' holds it", "'joint'"),
    "the target of a joint without a motor": (lambda: assign(run()["shoulder"], "target", 1.0),
                                              "'shoulder' has no motor", r"motor\(\)"),
    "half a step": (lambda: run().step(0.5), "n is 0.5", "a whole number of at least 1"),
    "a step of so many seconds": (lambda: run().step(dt=0.1),
                                  r"Simulation\.step\(\)", "'dt'", r"step\(n\) makes n steps"),
    "run of a run": (lambda: run().run(1.0), "'run'", r"advance\(duration\)"),
    "a run of a run": (lambda: dal.simulate(run(), 1.0), "scene is", "model.scene"),
    "a controller of two arguments": (lambda: run(controller=lambda run, t: None, control_rate=10),
                                      "controller", r"\(run, t\)", r"with \(run\)"),
    "a controller without a rate": (lambda: run(controller=lambda run: None), "without a control_rate", "the rate in Hz"),
    "a position for a motor without stiffness": (lambda: with_motor(effort=0.0).set_motor("drive", position=1.0),
                                                 "motor 'drive'", "position=1.0", "position with a stiffness above zero"),
    "motion of a dynamic body": (lambda: run().set_motion("arm", velocity=(1, 0, 0)), "'arm' has no prescribed motion"),
    # results
    "a run that is saved": (lambda: done().save("run.nc"), "'save'", r"trajectory\.save"),
    "positions of a run": (lambda: done().position, "'position'", r"trajectory\.position"),
    "an unknown figure": (lambda: done().plot.velocity(), "Plots", "'velocity'", "phase"),
    "a picture after the end": (lambda: done().trajectory.save_picture("p.png", time=5), "5 s", "0 to 0.02 s"),
    "an unknown file format": (lambda: done().trajectory.save("run.xyz"), "'.xyz'", ".nc, .csv, .parquet"),
    # many runs, and mathematics
    "a misspelt parameter of a sweep": (lambda: dal.sweep("pendulum", {"lenght": [1.0]}, 1.0, how="serial"),
                                        "'lenght'", "did you mean 'length'"),
    "names in place of a grid": (lambda: dal.sweep("pendulum", ["length"], 1.0, how="serial"),
                                 "'length'", r"\{\"length\": \["),
    "a misspelt value of a batch": (lambda: dal.run_batch(arm(), 1.0, vary={"arm.weight": [1, 2]}),
                                    "'arm.weight'", "'arm.mass'"),
    "an articulation of a run": (lambda: dal.Articulation(run()), "scene is", "model.scene"),
    "an equilibrium of a run": (lambda: dal.equilibrium(run()), "scene is", "model.scene"),
    "start and targets exchanged": (lambda: dal.Articulation(arm()).inverse_kinematics({"arm": (0, 0, 0)}, [0.0]),
                                    "targets is", r"\(start, targets\)"),
    "f of y and t": (lambda: dal.solve(lambda y, t: -y, [1.0], 0, 1), r"shape \(\)", r"f\(t, y\)"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", ERRORS)
def test_is_refused_with_the_way_out(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    do, *says = ERRORS[mistake]
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        do()
    for words in says:
        caught.match(words)
    text = str(caught.value)
    assert len(text) < 900 and "\n" not in text and "__init__" not in text


def test_errors_within_a_property_are_not_taken_for_unknown_names():
    sim = run()
    sim._driver = None
    with pytest.raises(AttributeError, match="NoneType"):
        _ = sim.report


def test_handles_and_runs_can_be_copied_and_asked_for_what_they_have():
    sim = run()
    assert not hasattr(sim, "nothing") and not hasattr(sim["arm"], "nothing") and hasattr(sim["arm"], "velocity")
    assert sim.copy().step(2).time == pytest.approx(0.02)
