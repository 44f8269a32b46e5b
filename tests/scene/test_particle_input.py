"""What cannot be run of particles is refused with the name of the object, the value, and what to do."""

import numpy as np
import pytest

import dalembert as dal

from .refusals import NAN, SQUARE, refused, some

# Groups ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"position": [[0, 0]]}, r"position must be numbers of shape \(n, 3\).*\(1, 2\)"),
        ({"position": [[0, 0, 0], [0, 0]]}, "position must be numbers of shape"),
        ({"position": "here"}, "position must be numbers"),
        ({"position": [[0, 0, NAN]]}, r"position\[0, 2\] is nan; give finite"),
        ({"position": np.zeros((0, 3))}, "0 particles; give 1 to"),
        ({"mass": 0.0}, r"mass\[0\] is 0; give numbers above zero"),
        ({"mass": [1, -2, 1, 1, 1]}, r"mass\[1\] is -2; give numbers above zero"),
        ({"mass": [1, 2]}, r"mass must be numbers of shape \(5,\)"),
        ({"mass": np.inf}, r"mass\[0\] is inf; give finite"),
        ({"mass": "heavy"}, r"mass must be numbers of shape \(5,\); got <U5"),
        ({"velocity": [[0, 0, 0]]}, r"velocity must be numbers of shape \(5, 3\)"),
        ({"velocity": (0, np.inf, 0)}, r"velocity\[0, 1\] is inf"),
        ({"mass": True}, "mass must be numbers"),
        ({"mass": [[1.0], [1.0, 2.0]]}, "mass must be numbers"),
        ({"velocity": [[0, 0, 0], [0]]}, "velocity must be numbers"),
        ({"pinned": [[0], [1, 2]]}, "pinned is .*; give"),
        ({"radius": -0.1}, "radius must be a finite number not below 0; got -0.1"),
        ({"radius": NAN}, "radius must be a finite number not below 0; got nan"),
        ({"pinned": [0, 5]}, r"pinned is \[0, 5\]; give True or False.*indices below 5"),
        ({"pinned": [-6]}, r"pinned is \[-6\].*indices below 5"),
        ({"pinned": [0.5]}, r"pinned is \[0.5\]; give"),
        ({"pinned": [True, False]}, r"pinned is \[True, False\]; give"),
        ({"pinned": "all"}, "pinned is 'all'; give"),
        (
            {"pinned": [2], "velocity": (0, 0, 1)},
            r"particle 2 is pinned but has velocity \[0.0, 0.0, 1.0\]; leave it out",
        ),
    ],
)
def test_particles(fields, pattern):
    scene = dal.Scene()
    with refused(pattern) as caught:
        scene.add_particles("cloud", **{"position": SQUARE, "mass": 1.0, **fields})
    assert str(caught.value).startswith("particles 'cloud': ")
    assert not scene.particles


def test_names_of_groups_and_their_forces_are_given_once():
    scene = some()
    with refused("particles 'dust': the name is already in use"):
        scene.add_particles("dust", [0, 0, 0], mass=1.0)
    scene.field("f")
    with refused("'f': the name is already in use"):
        scene.medium("f", linear=1.0)
    with refused("name must be a text"):
        scene.add_particles("", [0, 0, 0], mass=1.0)


def test_a_particle_that_there_is_not():
    group = some().particles["dust"]
    with pytest.raises(IndexError, match="'dust': there is no particle 5; there are 5"):
        group[5]
    assert group[-1].name == "dust[4]"


# Joints and springs of bodies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "connect, pattern",
    [
        (
            lambda s, p: s.hinge("j", "ball", p, (0, 0, 0), (0, 0, 1)),
            r"hinge 'j': dust\[0\] is a particle, which has no axes",
        ),
        (
            lambda s, p: s.weld("j", p, "ball", (0, 0, 0)),
            r"weld 'j': dust\[0\] is a particle, which has no axes; use ball",
        ),
        (
            lambda s, p: s.point_on_line("j", p, "ball", (0, 0, 0), (0, 0, 1)),
            r"'j': dust\[0\] is a particle; make it b",
        ),
        (
            lambda s, p: s.ball("j", "ball", p, (0, 0, 1)),
            r"'j': at is \[0.0, 0.0, 1.0\], and dust\[0\] is at .* only point",
        ),
        (lambda s, p: s.rod("j", p, "ball"), "'j': at_b is missing; give the point of 'ball'"),
        (lambda s, p: s.rod("j", p, p), r"'j': both ends are 'dust\[0\]'"),
        (
            lambda s, p: s.rod("j", "ball", some().particles["dust"][0], (0, 0, 3)),
            r"'j': particle dust\[0\] belongs to another",
        ),
        (
            lambda s, p: s.external_force("j", p, force=(0, 0, 1)),
            r"external force 'j': it acts on 'dust\[0\]', which is not a body.*field\(\)",
        ),
        (lambda s, p: s.rods("j", "dust", [[0, 9]]), r"rods 'j': element 0 names \[0, 9\]"),
        (lambda s, p: s.rods("j", "sand", [[0, 1]]), "rods 'j': there are no particles 'sand'"),
    ],
)
def test_joints_of_particles(connect, pattern):
    scene = some()
    with refused(pattern):
        connect(scene, scene.particles["dust"][0])


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, pattern",
    [
        (
            {"method": "implicit_eulers", "dt": 0.1},
            "unknown method 'implicit_eulers'; .*implicit_euler, implicit_midpoint, bdf2",
        ),
        ({"method": "bdf2", "dt": 0.0}, "dt is 0.0; give a finite number above zero"),
        ({"method": "bdf2", "dt": NAN}, "dt is nan; give a finite number above zero"),
        ({"method": "bdf2", "dt": 0.1, "newton_tolerance": -1.0}, "newton_tolerance is -1.0; give"),
        ({"method": "bdf2", "dt": 0.1, "linear_tolerance": 0.0}, "linear_tolerance is 0.0; give"),
        (
            {"method": "bdf2", "dt": 0.1, "linear_solver": "lu"},
            "unknown linear solver 'lu'; the linear solvers are cg, direct",
        ),
        (
            {"method": "bdf2", "dt": 0.1, "hold": "feedback"},
            "hold is 'feedback', and method 'bdf2' supports 'projection'",
        ),
        ({"method": "rk4"}, "method 'rk4' has no error estimate; give its step, dt"),
        ({"method": "rk4", "dt": 0.1, "frame_rate": 0.0}, "frame_rate is 0.0"),
    ],
)
def test_settings(settings, pattern):
    with refused(pattern):
        dal.Simulation(some(), **settings)


@pytest.mark.parametrize("method", ["linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"])
def test_steps_of_particles_need_particles(method):
    scene = dal.Scene("bodies")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    with refused(f"method '{method}' is for particles, but scene 'bodies' has none; use 'time_stepping'"):
        dal.Simulation(scene, method=method, dt=0.1)


@pytest.mark.parametrize(
    "method", ["time_stepping", "linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"]
)
def test_time_steps_refuse_a_thread_of_rods(method):
    scene = dal.Scene("thread")
    scene.thread("rope", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], density=1.0, pinned=[0])
    with refused(
        rf"method '{method}' moves particles separately from joints, but 'rope\[0\]' holds rope\[1\]; .*'rk4'"
    ):
        dal.Simulation(scene, method=method, dt=0.1)


def test_a_saved_run_of_another_scene_is_refused():
    run = dal.simulate(some(), 0.1, method="rk4", dt=0.05)
    other = some()
    other.add_particles("more", [0, 0, 9], mass=1.0)
    with refused("the saved run is of another scene: it has no particles 'more'; resume the same scene"):
        dal.Simulation(other, method="rk4", dt=0.05).resume(run.trajectory)
