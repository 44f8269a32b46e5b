"""Runs whose start, settings or steps are doubtful."""

import contextlib
import pickle
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dal
from articulated import linkages
from dalembert.model.compile import compile_scene
from dalembert.simulation.stability import response

from .collect import arm, ground, of_run, told

RUBBER = dal.Material(0.6)
CUBE = dal.Box(0.2, 0.2, 0.2)


def one(found):
    assert len(found) == 1, found
    return found[0]


# Overlaps at the start ------------------------------------------------------------------------------------------------


def test_overlaps_are_named_with_their_depth_the_deepest_first():
    scene = ground(material=RUBBER)
    scene.add_body("low", CUBE, mass=1.0, position=(0, 0, 0.07))
    scene.add_body("high", CUBE, mass=1.0, position=(0, 0, 0.26))
    message = one(of_run(scene))
    assert "overlap at the start: 'low' and 'ground' by 0.03 m, 'low' and 'high' by 0.01 m;" in message


@pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])
def test_what_just_touches_does_not_overlap(solver):
    scene = ground(material=RUBBER)
    for k in range(3):
        scene.add_body(f"cube {k}", CUBE, mass=1.0, position=(0, 0, 0.1 + 0.2 * k))
    assert of_run(scene, solver=solver) == []


def test_what_may_pass_through_each_other_may_overlap():
    scene = ground(material=RUBBER)
    scene.add_body("a", CUBE, mass=1.0, position=(0, 0, 0.5))
    scene.add_body("b", CUBE, mass=1.0, position=(0, 0, 0.55))
    scene.set_contact("a", "b", enabled=False)
    assert of_run(scene) == []


def test_at_most_a_few_overlaps_are_named():
    scene = ground(material=RUBBER)
    for k in range(9):
        scene.add_body(f"cube {k}", CUBE, mass=1.0, position=(k, 0, 0.05))
    assert "and 5 more pairs;" in one(of_run(scene))


@pytest.mark.parametrize("method", ["time_stepping", "implicit_euler"])
def test_particles_inside_something(method):
    scene = ground(material=RUBBER)
    scene.add_particles("sand", [[0, 0, 0.01], [1, 0, 0.01], [2, 0, -0.03]], mass=1.0, radius=0.01)
    assert "1 of the particles 'sand' overlap other objects at the start, by up to 0.04 m" in one(
        of_run(scene, method=method)
    )


def test_pinned_and_attached_particles_may_be_inside():
    scene = ground(material=RUBBER)
    box = scene.add_body("box", CUBE, mass=1.0, position=(0, 0, 0.1))
    cord = scene.thread("cord", [[0, 0, 0.1], [0, 0, 0.3], [0, 0, 0.5]], density=0.1, stretch=1e3, pinned=[2])
    scene.attach("knot", cord[0], box)
    scene.add_particles("nail", [[3, 0, -0.1]], mass=1.0, pinned=True)
    assert not [text for text in of_run(scene, method="implicit_euler") if "overlap" in text]


# Solvers that miss their tolerance ------------------------------------------------------------------------------------


def tower(boxes):
    scene = ground(material=RUBBER)
    for k in range(boxes):
        scene.add_body(f"box {k}", CUBE, mass=1.0, position=(0.02 * k, 0, 0.1 + 0.2 * k))
    return scene


def test_a_solver_that_misses_its_tolerance_is_told_of_once_with_the_way_out():
    run = dal.Simulation(tower(12), dt=0.01, iterations=1, tolerance=1e-12)
    found = told(lambda: [run.advance(0.1) for _ in range(5)])
    message = one(found)
    assert "the contact solver 'gauss_seidel' missed its tolerance of 1e-12 m/s in" in message
    assert 'raise iterations (now 1), take a smaller dt or pass solver="interior_point"' in message
    report = run.report
    assert report.contact.unsolved >= 10
    assert f"in {report.contact.unsolved} of {report.steps} steps" in one(
        report.warnings
    )  # the report has the last count
    assert told(run.restart) == [] and run.report.warnings == []


def test_a_solver_that_does_is_not():
    assert of_run(tower(2), duration=1.0, dt=0.01, solver="interior_point") == []


def test_implicit_steps_of_particles_that_miss_their_tolerance():
    scene = dal.Scene("cord")
    points = np.stack([np.linspace(0, 1, 30), np.zeros(30), np.zeros(30)], axis=1)
    scene.thread("cord", points, density=0.01, stretch=1e6, bend=1e-3, pinned=[0])
    settings = {"duration": 0.5, "dt": 0.02, "method": "linear_implicit_euler"}
    assert [text for text in of_run(scene, **settings) if "missed" in text] == []
    message = one([text for text in of_run(scene, linear_tolerance=1e-30, **settings) if "missed" in text])
    assert "the implicit steps of the particles missed their tolerance in 10 of 25 steps (40 %)" in message


def test_an_iterative_constraint_solver_that_misses_its_tolerance():
    scene = dal.Scene("chain")
    before = dal.WORLD
    for k in range(6):
        body = scene.add_body(f"link {k}", CUBE, mass=1.0, position=(0.3 * k + 0.3, 0, 0))
        scene.ball(f"ball {k}", before, body, at=(0.3 * k, 0, 0))
        before = body
    solver = dal.IterativeSolver("gauss_seidel", tolerance=1e-14, iterations=5)
    message = one(of_run(scene, duration=0.1, method="rk4", constraint_solver=solver))
    assert "the constraint solver gauss_seidel" in message and "constraint_solver='ldl'" in message


# Steps beyond the stability limit -------------------------------------------------------------------------------------


def particles_on_a_spring():
    scene = dal.Scene("oscillator", gravity=(0, 0, 0))
    scene.add_particles("p", [[0, 0, 0], [1.01, 0, 0]], mass=0.07, pinned=[0])
    scene.springs("spring", "p", [[0, 1]], stiffness=350.0, rest=1.0)
    return scene


@pytest.mark.parametrize(("dt", "warned"), [(0.03, False), (0.05, True)])  # the limit of rk4 is 2.83/ω = 0.04 s
def test_explicit_steps_from_python(dt, warned):
    found = of_run(particles_on_a_spring(), duration=1.0, dt=dt, method="rk4")
    assert len(found) == 1  # below the limit such steps lose the energy
    assert ["beyond its stability limit for 'spring'" in text for text in found] == [warned]


def test_many_short_stretches_are_told_of_like_a_long_one():
    run = dal.Simulation(particles_on_a_spring(), dt=0.05, method="rk4")
    assert "beyond its stability limit" in one(told(lambda: [run.advance(0.05) for _ in range(4)]))


def driven(kind, coordinates="maximal", **gains):
    """A bar on a hinge of a cart on rails, with something stiff in it: 30 times as stiff for bodies that nothing holds."""
    scene = dal.Scene("cart", gravity=(0, 0, 0))
    cart = scene.add_body("cart", CUBE, mass=3.0)
    bar = scene.add_body("bar", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.slider("rails", dal.WORLD, cart, at=(0, 0, 0), axis=(1, 0, 0))
    scene.hinge("pin", cart, bar, at=(0, 0, 0), axis=(0, 1, 0))
    if kind == "spring":
        scene.spring("stiff", dal.WORLD, bar, at_a=(1, 0, -1), at_b=(0, 0, -1), **gains)
    elif kind == "torsion_spring":
        scene.torsion_spring("stiff", "pin", **gains)
    elif kind == "motor":
        scene.motor("stiff", "pin", **gains)
    else:
        scene.motor("stiff", "rails", **gains)
    return scene


def measured(scene):
    """The acceleration of the coordinate under a unit effort, by two runs of one tiny step."""
    force = scene.forces["stiff"]
    h, speeds = 1e-6, []
    for effort in (0.0, 1.0):
        if force.kind == "spring":
            scene.forces["stiff"].rest = float(np.linalg.norm(force.at_b - force.at_a)) - effort / force.stiffness
        elif force.kind == "torsion_spring":
            force.rest = effort / force.stiffness
        else:
            force.rest = effort
        run = dal.simulate(scene, h, method="rk4", dt=h)
        if force.joint is not None:
            speeds.append(run.joint_state()[force.joint.name][1])
        else:
            bar = run.state.index("bar")
            speeds.append(-(run.state.velocity[bar] + np.cross(run.state.angular_velocity[bar], (0, 0, -0.5)))[0])
    return abs(speeds[1] - speeds[0]) / h


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("kind", ["spring", "torsion_spring", "motor", "motor of the rails"])
def test_the_mobility_is_that_with_all_joints_in_place(kind, coordinates):
    scene = driven(kind, stiffness=100.0)
    found = response(compile_scene(scene, coordinates=coordinates), scene.forces["stiff"])
    assert found == pytest.approx(measured(scene), rel=1e-6)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("kind", ["spring", "torsion_spring", "motor", "motor of the rails"])
@pytest.mark.parametrize("gain", ["stiffness", "damping"])
def test_stiff_forces_of_bodies_are_told_of_where_they_are_unstable_and_no_earlier(kind, coordinates, gain):
    scene = driven(kind, stiffness=1.0)
    mobility = response(compile_scene(scene, coordinates=coordinates), scene.forces["stiff"])
    dt, limit = 0.01, {"stiffness": 2.0 * np.sqrt(2.0), "damping": 2.785}[gain]
    for factor, warned in ((0.85, False), (1.2, True)):
        value = (factor * limit / dt) ** 2 / mobility if gain == "stiffness" else factor * limit / dt / mobility
        values = {"stiffness": 1.0} | {gain: value}
        found = told(lambda values=values: _quietly(driven(kind, **values), coordinates, dt))
        assert ["beyond its stability limit for 'stiff'" in text for text in found] == [True] * warned


def _quietly(scene, coordinates, dt):
    with contextlib.suppress(dal.SimulationError):
        dal.simulate(scene, 1.0, method="rk4", dt=dt, coordinates=coordinates)


@pytest.mark.parametrize(("stiffness", "warned"), [(5e4, False), (1.5e5, True)])  # the limit is 8e4 · 1 N m/rad
def test_a_motor_on_a_link_without_mass(stiffness, warned):
    scene = dal.Scene("tool")
    frame = scene.add_link("frame")
    scene.add_body("bob", mass=1.0, inertia=(1e-9, 1e-9, 1e-9), position=(0, 0, -1))
    scene.hinge("x", dal.WORLD, frame, at=(0, 0, 0), axis=(1, 0, 0))
    scene.hinge("y", frame, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("stiff", "x", stiffness=stiffness)
    found = of_run(scene, coordinates="joint", method="rk4", dt=0.01)
    assert ["beyond its stability limit for 'stiff'" in text for text in found] == [True] * warned


def test_motors_of_time_steps_are_not_looked_at():
    scene = driven("motor", stiffness=10.0, damping=5.0)
    scene.limit("stops", "pin", lower=-1.0)
    assert of_run(scene, dt=0.001) == []


# Joints -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tilt", "warned"), [(0.0, False), (1e-4, True), (1e-6, True), (1e-2, False)])
def test_joints_that_projection_cannot_close_are_named(tilt, warned):
    """A four-bar with one hinge askew is locked, but by constraints that are nearly dependent."""
    scene = linkages.four_bar(Rotation.identity(), speed=0.0, tilt=tilt)
    found = told(lambda: dal.simulate(scene, 0.1, method="rk4", dt=1e-3))
    assert ["is open by" in text and "misalignment" in text for text in found] == [True] * warned


# Settings, and the rest -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"method": "rk4", "rtol": 1e-12}, "rtol is not used by method 'rk4' with a fixed dt"),
        ({"method": "rk4", "tolerance": 1e-12, "iterations": 5}, "iterations, tolerance are not used by method 'rk4'"),
        ({"method": "rk4", "stiffness": 1e4}, "stiffness is not used by hold='projection'"),
        ({"method": "rk4", "impacts": "poisson"}, "impacts is not used"),
        ({"method": "rk4", "newton_tolerance": 1e-3, "linear_solver": "direct"}, None),
        ({"method": "rk4", "hold": "feedback", "stiffness": 1e2, "damping": 20.0}, None),
        ({"method": "dormand_prince", "dt": None, "rtol": 1e-12}, None),
    ],
)
def test_settings_that_are_not_used(settings, names):
    found = of_run(arm(), **settings)
    assert (found == []) if names is None else names in one(found)


def test_settings_of_contact_in_time_steps_are_used():
    scene = ground(material=RUBBER)
    scene.add_body("cube", CUBE, mass=1.0, position=(0, 0, 0.1))
    assert of_run(scene, iterations=50, tolerance=1e-8, sleep_after=0.5) == []
    assert "rtol is not used by method 'time_stepping'" in one(of_run(scene, rtol=1e-3))


def test_a_scene_that_was_changed_after_its_run_was_made():
    scene = arm()
    run = dal.Simulation(scene, method="rk4", dt=0.01)
    assert told(lambda: run.advance(0.1)) == []
    scene.add_body("late", CUBE, mass=1.0)
    assert "scene 'arm' was changed after this Simulation was made" in one(told(lambda: run.advance(0.1)))


def box_on_the_ground():
    scene = ground(material=RUBBER)
    scene.add_body("cube", CUBE, mass=1.0, position=(0, 0, 0.1))
    return scene


LATER = {
    "gravity": lambda scene: setattr(scene, "gravity", (0, 0, 3.0)),
    "rule": lambda scene: scene.set_contact("cube", "ground", enabled=False),
    "body": lambda scene: scene.add_body("late", CUBE, mass=1.0, position=(0, 0, 3.0)),
    "obstacle": lambda scene: scene.add_obstacle("late", CUBE, position=(0.15, 0, 0.1)),
}
ANEW = {
    "goes on": lambda run: run,
    "restarts": lambda run: run.restart(),
    "is pushed": lambda run: run["cube"].apply_force((0, 0, 0)) or run,
    "is copied": lambda run: run.copy(),
    "is pickled": lambda run: pickle.loads(pickle.dumps(run)),
}


@pytest.mark.parametrize("how", ANEW)
@pytest.mark.parametrize("change", LATER)
def test_a_run_is_of_the_scene_as_it_was_whatever_is_changed_of_it(change, how):
    ends = []
    for changes in (False, True):
        scene = box_on_the_ground()
        run = dal.Simulation(scene, dt=1 / 240).advance(0.1)
        if changes:
            LATER[change](scene)
            if how in ("goes on", "restarts"):
                assert "was changed after this Simulation was made" in one(told(lambda: run.advance(0.1)))  # noqa: B023
            else:
                told(lambda: run.advance(0.1))  # noqa: B023
        else:
            run.advance(0.1)
        run = ANEW[how](run)
        told(lambda: run.advance(0.2))  # noqa: B023
        ends.append(run.state.y)
    np.testing.assert_array_equal(*ends)


def test_gravity_that_is_set_to_what_it_was_changes_nothing():
    scene = box_on_the_ground()
    run = dal.Simulation(scene, dt=1 / 240)
    scene.gravity = (0, 0, -9.81)
    assert told(lambda: run.advance(0.1)) == []


def test_what_a_controller_returns_is_not_used():
    scene = arm()
    scene.motor("drive", "j")
    settings = {"method": "rk4", "controller": lambda run: {"drive": 1.0}, "control_rate": 100.0}
    assert "the controller '<lambda>' returned dict" in one(of_run(scene, dt=0.01, duration=0.1, **settings))


def test_warnings_can_be_turned_into_errors_and_point_at_the_line_of_the_user():
    scene = arm()
    scene.motor("drive", "j", position=90.0, stiffness=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dal.SimulationWarning)
        with pytest.raises(dal.SimulationWarning, match="motor 'drive'"):
            dal.Simulation(scene)
    with pytest.warns(dal.SimulationWarning) as caught:
        dal.Simulation(scene)
    assert caught[0].filename == __file__


def test_long_warnings_are_broken_in_the_table_and_yellow_on_a_terminal():
    scene = ground()
    for k in range(4):
        scene.add_body(f"a rather long name of body {k}", CUBE, mass=1.0, position=(k, 0, 1))
    with pytest.warns(dal.SimulationWarning):
        report = dal.simulate(scene, 0.01, dt=0.01).report
    lines = [line for line in report.table(80).splitlines() if line.startswith(("warning", "      "))]
    assert len(lines) > 3 and max(map(len, lines)) <= 80
    assert report.table(80) in report.table(80, color=True).replace("\x1b[33m", "").replace("\x1b[0m", "")
    assert report.table(80, color=True).count("\x1b[33m") == 1


def test_sessions_list_them_too():
    from dalembert.simulation.session import Session

    scene = ground()
    scene.add_body("lost", CUBE, mass=1.0, position=(0, 0, 1))
    with pytest.warns(dal.SimulationWarning, match="lost"):
        session = Session(scene, dt=0.01)
    session.advance()
    assert len(session.run.warnings) == 1


def swinging(angle=2.0):
    """A bar of 1 m that swings from a hinge, let go at an angle (rad)."""
    scene = dal.Scene("swing")
    turned = (np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0)
    bar = scene.add_body("bar", dal.Box(0.05, 0.05, 1.0), mass=1.0, orientation=turned,
                         position=(-0.5 * np.sin(angle), 0.0, -0.5 * np.cos(angle)))  # fmt: skip
    scene.hinge("pivot", dal.WORLD, bar, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


@pytest.mark.parametrize(("method", "dt", "enough"), [("euler", 0.01, 1e-4), ("midpoint", 0.1, 0.01)])
def test_energy_that_long_steps_add(method, dt, enough):
    message = one(of_run(swinging(), 3.0, dt, method=method))
    assert message.startswith("the integration has added ")
    assert message.endswith(f"take a smaller dt than {dt:g} s")
    assert of_run(swinging(), 3.0, enough, method=method) == []


def test_energy_that_a_loose_tolerance_loses():
    scene = particles_on_a_spring()
    found = told(lambda: dal.simulate(scene, 60.0, method="bogacki_shampine", rtol=0.1, atol=0.1))
    assert "the integration has lost" in one(found)
    assert "take a smaller rtol than 0.1" in one(found)


def test_energy_that_is_lost_by_design_is_not_warned_of():
    scene = dal.Scene("spring", gravity=(0, 0, 0))
    scene.add_particles("p", [[0, 0, 0], [1.1, 0, 0]], mass=0.07, pinned=[0])
    scene.springs("spring", "p", [[0, 1]], stiffness=350.0, rest=1.0)
    assert of_run(scene, 1.0, 0.01, method="implicit_euler") == []  # nor are steps at rest, whose forces are rounding
    assert dal.simulate(scene, 1.0, dt=0.01, method="implicit_euler").report.integration_error > 0.5


def test_energy_that_the_user_adds_is_not_blamed_on_the_integration():
    def pushed():
        run = dal.Simulation(swinging(), method="rk4", dt=0.01).advance(0.5)
        run.state.velocity[0] *= 2.0
        run.state.angular_velocity[0] *= 2.0
        run.advance(0.5)

    assert told(pushed) == []


def test_an_error_of_the_energy_is_explained_once_and_forgotten_on_restart():
    run = dal.Simulation(swinging(), method="midpoint", dt=0.1)
    with pytest.warns(dal.SimulationWarning, match="the integration has added"):
        run.advance(3.0)
    (finding,) = run.explain().findings
    assert finding.what.startswith("The integration has added")
    run.restart()
    assert run.warnings == []


def test_a_load_that_is_lifted_slowly_is_judged_by_the_energy_it_gets():
    """Its kinetic energy is a ten-thousandth of what it gains."""
    scene = dal.Scene("lift")
    load = scene.add_body("load", CUBE, mass=100.0, velocity=(0, 0, 0.1))
    scene.external_force("crane", load, force=(0, 0, 981.0))
    assert of_run(scene, 20.0, 0.02, method="euler") == []


def test_copies_judge_the_energy_as_the_run_does():
    run = dal.Simulation(swinging(), method="rk4", dt=0.01).advance(0.7)
    for twin in (run.copy(), pickle.loads(pickle.dumps(run))):
        assert twin.recorder.integration_error() == run.recorder.integration_error()
        twin.state.velocity[0] *= 2.0
        twin.advance(0.1)
        assert pickle.loads(pickle.dumps(twin.copy())).advance(0.1).warnings == []
