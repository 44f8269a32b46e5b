"""What cannot be is rejected, with the sensor, the value and the way out."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors

from .scenes import pendulum, resting_box


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: sensors.Imu("s", "wheel"), "sensor 's': there is no body 'wheel'; the bodies are 'bar'"),
        (lambda: sensors.Imu("s", "bar", rate=0.0), "rate must be a finite number above zero"),
        (lambda: sensors.Imu("s", "bar", rate=1e9), "at most"),
        (lambda: sensors.Imu("s", "bar", noise=-0.1), "noise is -0.1; give a standard deviation"),
        (lambda: sensors.Imu("s", "bar", noise=(0.1, 0.2)), "noise must be numbers of shape"),
        (lambda: sensors.Imu("s", "bar", bias=np.nan), "bias must be a finite number"),
        (lambda: sensors.Imu("s", "bar", seed=-1), "seed is -1; give a whole number"),
        (lambda: sensors.Imu("s", "bar", position=(0, 0)), "position must be numbers of shape"),
        (lambda: sensors.Imu("s", "bar", orientation=(0, 0, 0, 0)), "has no direction"),
        (lambda: sensors.FrameState("s", "bar", "speed"), "quantity is 'speed'; give one of position"),
        (lambda: sensors.FrameState("s", "bar", "orientation", noise=0.1), "cannot have noise"),
        (lambda: sensors.JointState("s", "elbow"), "there is no joint 'elbow'"),
        (lambda: sensors.JointState("s", "pivot", "torque"), "give one of position, velocity, effort"),
        (lambda: sensors.JointState("s", "pivot", coordinate="displacement"), "no displacement"),
        (lambda: sensors.Effort("s", "pivot"), "there is no motor, stop or motion 'pivot'"),
        (lambda: sensors.ForceTorque("s", "bar"), "there is no joint 'bar'"),
        (lambda: sensors.ForceTorque("s", "pivot", "moment"), "give one of wrench, force, torque"),
        (lambda: sensors.Touch("s", "bar"), "has no material"),
        (lambda: sensors.ContactForce("s", "bar"), "has no material"),
        (lambda: sensors.Range("s", "bar", directions=(0, 0, 0)), "give vectors of some length"),
        (lambda: sensors.Range("s", "bar", reach=-1.0), "reach is -1.0"),
        (lambda: sensors.CenterOfMass("s", []), "give bodies that have a mass"),
        (lambda: sensors.CenterOfMass("s", [dal.WORLD]), "give bodies that have a mass"),
        (lambda: sensors.Camera("s", "bar", "heat"), "image is 'heat'; give one of rgb, depth, segmentation"),
        (lambda: sensors.Camera("s", "bar", size=(0, 5)), "size is"),
        (lambda: sensors.Camera("s", "bar", field_of_view=4.0), "field_of_view is 4.0"),
        (lambda: sensors.Camera("s", "bar", "segmentation", noise=1.0), "cannot have noise"),
        (lambda: sensors.Imu("", "bar"), "must be a text"),
        (lambda: "imu", "is not a sensor; use one of dal.sensors"),
    ],
)
def test_bad_sensors_are_rejected(make, told):
    with pytest.raises(ValueError, match=told):
        pendulum().add_sensor(make())


def test_names_are_unique_among_sensors():
    scene = pendulum()
    scene.add_sensor(sensors.Imu("bar", "bar"))
    with pytest.raises(ValueError, match="sensor 'bar': the name is already in use"):
        scene.add_sensor(sensors.Gyroscope("bar", "bar"))


def test_things_of_another_scene_are_rejected():
    with pytest.raises(ValueError, match="belongs to another scene"):
        pendulum().add_sensor(sensors.Imu("imu", pendulum().bodies["bar"]))
    with pytest.raises(ValueError, match="in this scene"):
        pendulum().add_sensor(sensors.JointState("q", pendulum().joints["pivot"]))
    with pytest.raises(ValueError, match="there is no body or obstacle"):
        resting_box().add_sensor(sensors.ContactForce("f", resting_box().bodies["box"]))


def test_regions_and_pairs_are_checked():
    with pytest.raises(ValueError, match=r"region is .*give a Sphere, Box"):
        resting_box().add_sensor(sensors.Touch("t", "box", region=dal.HalfSpace()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="given twice"):
        resting_box().add_sensor(sensors.ContactForce("f", "box", "box"))


def test_unknown_names_of_readings_list_those_there_are():
    scene = pendulum()
    scene.add_sensor(sensors.Imu("imu", "bar"))
    with pytest.raises(KeyError, match="there is no sensor 'gyro'; there are imu"):
        dal.Simulation(scene).sensors["gyro"]
    with pytest.raises(KeyError, match="add_sensor"):
        dal.Simulation(pendulum()).sensors["gyro"]


def test_generalized_coordinates_refuse_sensors_of_forces():
    from dalembert.gallery import generalized

    scene = generalized.build()
    name = next(iter(scene.bodies))
    scene.add_sensor(sensors.Gyroscope("gyro", name))
    settings = {key: value for key, value in generalized.SETTINGS.items() if key != "duration"}
    run = dal.simulate(scene, 0.05, **settings)
    spin = run.state.angular_velocity[0]
    assert abs(np.linalg.norm(run.sensors["gyro"].value) - np.linalg.norm(spin)) < 1e-9
    scene.add_sensor(sensors.Imu("imu", name))
    with pytest.raises(ValueError, match="sensor 'imu': generalized coordinates"):
        dal.Simulation(scene, **settings)


def test_the_wrench_on_a_particle_with_steps_of_its_own_is_refused():
    scene = dal.Scene("hung")
    box = scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(0, 0, -0.6))
    string = scene.add_particles("string", [(0, 0, 0), (0, 0, -0.5)], mass=0.1, pinned=[0])
    scene.springs("spring", "string", [[0, 1]], stiffness=1e4)
    scene.attach("knot", string[1], box)
    scene.add_sensor(sensors.ForceTorque("knot", "knot"))
    assert dal.simulate(scene, 0.01, rtol=1e-6).sensors["knot"].value[2] < 0.0
    with pytest.raises(ValueError, match="'knot' holds a particle with its own time steps"):
        dal.Simulation(scene, method="linear_implicit_euler", dt=1e-3)
