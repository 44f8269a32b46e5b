"""A member of a batch is the same run, to the last bit, as it is by itself, whoever runs it beside how many others."""

import numba
import numpy as np
import pytest

import dalembert as dal
from dalembert.gallery import formulations, four_bar

from .scenes import START, hanging_particles, pendulum, spring_and_ball, star


def require_same(batch, member, run):
    frames = int(batch.frames[member])
    made = run.trajectory
    assert np.array_equal(batch.times[:frames], made.times)
    for name in ("state", "kinetic", "potential", "position", "orientation", "momentum", "angular_momentum", "balance"):
        assert np.array_equal(getattr(batch, name)[member, :frames], made[name].values), name
    for name in ("joint_error", "joint_velocity_error"):
        assert np.array_equal(getattr(batch, name)[member, :frames], made[name].values.max(axis=1, initial=0.0)), name
    counts = run.report
    assert (batch.steps[member], batch.rejected[member]) == (counts.steps, counts.rejected)
    assert batch.evaluations[member] == counts.evaluations


SETTINGS = [
    {"coordinates": "joint"},
    {"rtol": 1e-6},
    {"method": "rk4", "dt": 1e-2, "coordinates": "joint"},
    {"method": "rk4", "dt": 7e-3, "frame_rate": 10.0},
    {"method": "euler", "dt": 0.05, "frame_rate": 60.0},
    {"method": "dop853", "hold": "feedback", "stiffness": 100.0, "damping": 20.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scenes_run_in_a_batch_as_alone(settings):
    scenes = [pendulum(length, mass) for length, mass in ((1.0, 1.0), (0.7, 2.0), (1.3, 0.4))]
    batch = dal.run_batch(scenes, 0.5, threads=2, **settings)
    assert batch.ok.all()
    for member, scene in enumerate(scenes):
        require_same(batch, member, dal.simulate(scene, 0.5, **settings))
        require_same(batch, member, batch.alone(member).advance(0.5))


@pytest.mark.parametrize(
    "build, values, settings",
    [
        (spring_and_ball, (20.0, 50.0, 80.0), {}),
        (spring_and_ball, (20.0, 50.0), {"method": "splitting", "dt": 0.01}),
        (star, (5, 5), {"rtol": 1e-6}),
        (hanging_particles, (100.0, 300.0), {"method": "rk4", "dt": 1e-3}),
        (lambda length: four_bar.build(), (1, 2), {"coordinates": "joint", "rtol": 1e-6}),
    ],
    ids=["spring", "splitting", "hub", "particles", "loop"],
)
def test_kinds_of_scenes_run_in_a_batch_as_alone(build, values, settings):
    if settings.get("method") not in (None, *dal.METHODS):
        pytest.skip("no such method")
    scenes = [build(value) for value in values]
    batch = dal.run_batch(scenes, 0.3, **settings)
    for member, scene in enumerate(scenes):
        require_same(batch, member, dal.simulate(scene, 0.3, **settings))


def test_what_varies_by_name_runs_as_a_run_that_is_given_it():
    batch = dal.run_batch(pendulum(), 0.5, vary=START, coordinates="joint")
    run = dal.Simulation(pendulum(), coordinates="joint")
    for member in range(4):
        places = {
            "shoulder": (START["shoulder.position"][member], START["shoulder.speed"][member]),
            "elbow": (START["elbow.position"][member], 0.0),
        }
        run.restart(prepare=lambda run, places=places: run.set_joint_state(places))
        require_same(batch, member, run.advance(0.5))


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_any_number_of_threads_gives_the_same_bits(coordinates):
    vary = {name: np.linspace(0.0, 2.0, 23) for name in START}
    one, two, five = (
        dal.run_batch(pendulum(), 0.2, vary=vary, coordinates=coordinates, threads=n, rtol=1e-6) for n in (1, 2, 5)
    )
    assert one.threads == 1 and (numba.config.DISABLE_JIT or five.threads == 5)
    for other in (two, five):
        for name in ("state", "kinetic", "potential", "joint_error", "steps", "status", "times"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_functions_of_the_user_run_in_a_batch():
    @numba.njit
    def push(t, x, q, v, omega):
        return (np.sin(t), 0.0, 0.0)

    def build(mass, function):
        scene = pendulum(mass=mass)
        scene.external_force("push", "lower", function=function)
        return scene

    for function in (push, push.py_func):
        scenes = [build(mass, function) for mass in (1.0, 2.0)]
        batch = dal.run_batch(scenes, 0.2, rtol=1e-6)
        for member, scene in enumerate(scenes):
            require_same(batch, member, dal.simulate(scene, 0.2, rtol=1e-6))


def test_joints_that_depend_on_each_other_run_in_a_batch_as_alone():
    scenes = [four_bar.build(), four_bar.build()]
    batch = dal.run_batch(scenes, 0.2, rtol=1e-6)
    require_same(batch, 1, dal.simulate(scenes[1], 0.2, rtol=1e-6))


def test_an_open_scene_is_closed_in_a_batch_as_alone():
    scenes = [formulations.build() for _ in range(2)]
    batch = dal.run_batch(scenes, 0.1, assemble=True, rtol=1e-6)
    require_same(batch, 0, dal.simulate(scenes[0], 0.1, assemble=True, rtol=1e-6))
