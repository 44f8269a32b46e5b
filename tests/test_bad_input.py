"""What cannot be run is refused before it runs, with the name of the object and what to do."""

import numpy as np
import pytest

import dalembert as dal


def pair():
    scene = dal.Scene("pair")
    scene.add_body("one", dal.Sphere(0.1), mass=1.0)
    scene.add_body("two", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    return scene


def refused(pattern):
    return pytest.raises(ValueError, match=pattern)


# Bodies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gravity", [(0, 0, np.nan), (0, np.inf, 0), (0, 0), "down"])
def test_gravity(gravity):
    with refused("gravity"):
        dal.Scene("s", gravity=gravity)


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"mass": 0.0}, "mass.*above zero"),
        ({"mass": -1.0}, "mass.*above zero"),
        ({"mass": np.nan}, "mass.*above zero"),
        ({"mass": np.inf}, "mass.*above zero"),
        ({"mass": "1"}, "mass.*above zero"),
        ({"density": -1.0}, "density"),
        ({"mass": 1.0, "density": 1.0}, "exactly one"),
        ({}, "exactly one"),
        ({"mass": 1.0, "position": (0, 0, np.nan)}, "position"),
        ({"mass": 1.0, "position": (0, 0)}, "position"),
        ({"mass": 1.0, "velocity": (np.inf, 0, 0)}, "velocity"),
        ({"mass": 1.0, "angular_velocity": (np.inf, 0, 0)}, "angular_velocity"),
        ({"mass": 1.0, "orientation": (0, 0, 0, 0)}, "orientation"),
        ({"mass": 1.0, "orientation": (1, 0, 0)}, "orientation"),
        ({"mass": 1.0, "inertia": (1.0, 1.0, 3.0)}, "inertia"),
        ({"mass": 1.0, "inertia": (1.0, 1.0, -1.0)}, "inertia"),
        ({"mass": 1.0, "inertia": (1.0, 1.0, np.nan)}, "inertia"),
        ({"mass": 1.0, "inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "inertia"),
        ({"mass": 1.0, "inertia": (1.0, 1.0)}, "inertia"),
        ({"mass": 1.0, "inertia": "heavy"}, "inertia"),
        ({"inertia": (1.0, 1.0, 1.0)}, "mass"),
        ({"density": 1.0, "mass": 1.0, "inertia": (1.0, 1.0, 1.0)}, "density"),
    ],
)
def test_body(fields, pattern):
    with refused(pattern) as caught:
        dal.Scene().add_body("brick", dal.Box(1, 1, 1), **fields)
    assert "'brick'" in str(caught.value)


def test_a_body_without_shape_or_inertia():
    with refused("'brick'.*shape.*inertia"):
        dal.Scene().add_body("brick", mass=1.0)


@pytest.mark.parametrize("name", ["", 7, None, "x" * 201, "world"])
def test_name(name):
    with refused("name"):
        dal.Scene().add_body(name, dal.Sphere(1), mass=1)


def test_names_are_given_once():
    scene = pair()
    with refused("'one'.*already"):
        scene.add_body("one", dal.Sphere(1), mass=1)
    scene.ball("j", "one", "two", (0, 0, 0))
    with refused("'j'.*already"):
        scene.ball("j", "one", "two", (0, 0, 0))
    scene.drag("f", linear=1.0)
    with refused("'f'.*already"):
        scene.external_force("f", "one")
    scene.event("e", lambda t, y: t - 1.0)
    with refused("'e'.*already"):
        scene.event("e", lambda t, y: t - 1.0)


# Joints and forces ----------------------------------------------------------------------------------------------------


def test_an_unknown_body_is_named_and_the_known_ones_listed():
    with refused("'j'.*no body 'three'.*'one', 'two'"):
        pair().ball("j", "one", "three", (0, 0, 0))


def test_a_body_of_another_scene():
    with refused("'one'.*another scene"):
        pair().ball("j", pair().bodies["one"], "two", (0, 0, 0))


def test_both_ends_of_a_joint_are_one_body():
    with refused("'j'.*both ends"):
        pair().ball("j", "one", "one", (0, 0, 0))
    with refused("'f'.*both ends"):
        pair().spring("f", "one", "one", (0, 0, 0), (0, 0, 1), stiffness=1.0)
    with refused("'j'.*both ends"):
        pair().ball("j", "world", dal.WORLD, (0, 0, 0))


@pytest.mark.parametrize(
    "add, pattern",
    [
        (lambda s: s.ball("j", "one", "two", (0, 0)), "'j'.*at"),
        (lambda s: s.ball("j", "one", "two", (0, 0, np.nan)), "'j'.*at"),
        (lambda s: s.hinge("j", "one", "two", (0, 0, 0), (0, 0, 0)), "'j'.*axis.*direction"),
        (lambda s: s.hinge("j", "one", "two", (0, 0, 0), (0, 0, np.inf)), "'j'.*axis"),
        (lambda s: s.slider("j", "one", "two", (0, 0, 0), (0, 0, 0)), "'j'.*axis"),
        (lambda s: s.universal("j", "one", "two", (0, 0, 0), (0, 0, 1), (0, 0, 0)), "'j'.*axis_b"),
        (lambda s: s.point_on_plane("j", "one", "two", (0, 0, 0), (0, 0, 0)), "'j'.*normal"),
        (lambda s: s.rod("j", "one", "two", (0, 0, 0), (0, 0, 0)), "'j'.*length"),
        (lambda s: s.rod("j", "one", "two", (0, 0, 0), (1, 0, 0), length=-1.0), "'j'.*length"),
        (lambda s: s.rod("j", "one", "two", (0, 0, 0), (1, 0, 0), length=np.nan), "'j'.*length"),
        (lambda s: s.gear("j", "one", "two", 1.0), "'j'.*no joint"),
        (
            lambda s: s.gear("j", h := s.hinge("h", "one", "two", (0, 0, 0), (0, 0, 1)), h, 2.0),
            "'j'.*both joints are 'h'.*couple two",
        ),
        (lambda s: s.gear("j", s.ball("b", "one", "two", (0, 0, 0)), "b", 1.0), "'j'.*no single coordinate"),
        (lambda s: s.constraint("j", ["one"], lambda x, q: x[0], 7), "'j'.*1 to 6 rows"),
        (lambda s: s.constraint("j", [], lambda x, q: x[0], 3), "'j'.*1 to 4 bodies"),
        (lambda s: s.constraint("j", ["one"], lambda x, q: x[0], 3, bias=lambda x: x), "'j'.*both"),
        (lambda s: s.spring("f", "one", "two", (0, 0, 0), (1, 0, 0), stiffness=-1.0), "'f'.*stiffness"),
        (lambda s: s.spring("f", "one", "two", (0, 0, 0), (1, 0, 0), stiffness=np.nan), "'f'.*stiffness"),
        (lambda s: s.spring("f", "one", "two", (0, 0, 0), (1, 0, 0), stiffness=1.0, damping=-1.0), "'f'.*damping"),
        (lambda s: s.spring("f", "one", "two", (0, 0, 0), (1, 0, 0), stiffness=1.0, rest=-1.0), "'f'.*rest"),
        (lambda s: s.torsion_spring("f", "elbow", stiffness=1.0), "'f'.*no joint"),
        (lambda s: s.torsion_spring("f", s.ball("b", "one", "two", (0, 0, 0)), stiffness=1.0), "'b'.*no displacement"),
        (lambda s: s.drag("f", linear=-1.0), "'f'.*linear"),
        (lambda s: s.drag("f", ["three"], linear=1.0), "'f'.*'three'"),
        (lambda s: s.external_force("f", dal.WORLD, force=(0, 0, 1)), "'f'.*world"),
        (lambda s: s.external_force("f", "one", force=(0, 0, np.nan)), "'f'.*force"),
        (lambda s: s.external_force("f", "one", frame="moon"), "'f'.*frame"),
        (
            lambda s: s.motor("f", s.hinge("h", "one", "two", (0, 0, 0), (0, 0, 1)), speed=1.0, effort=2.0),
            "'f'.*damping",
        ),
        (lambda s: s.motor("f", s.hinge("h", "one", "two", (0, 0, 0), (0, 0, 1)), limit=0.0), "'f'.*limit"),
        (lambda s: s.event("e", lambda t, y: t, direction=2), "'e'.*direction"),
        (lambda s: s.event("e", lambda t, y: t, release="pin"), "'e'.*'pin'"),
    ],
)
def test_joint_or_force(add, pattern):
    with refused(pattern):
        add(pair())


@pytest.mark.parametrize(
    "curve",
    [
        dal.Curve(lambda s: (s, 0, 0), 1.0, 1.0),
        dal.Curve(lambda s: (s, 0, 0), 0.0, np.inf),
        dal.Curve(lambda s: (s, 0), 0.0, 1.0),
        dal.Curve(lambda s: (np.nan, 0, 0), 0.0, 1.0),
        dal.Curve(lambda s: (1.0, 0, 0), 0.0, 1.0),
        dal.Curve(lambda s: (s, 0, 0), 0.0, 1.0, closed=True),
        dal.Curve(lambda s: (s, 0, 0), 0.0, 1.0, pieces=2),
    ],
)
def test_curve(curve):
    scene = pair()
    with refused("curve"):
        scene.point_on_curve("j", dal.WORLD, "one", (0, 0, 0), curve)
        dal.Simulation(scene)


# Runs -----------------------------------------------------------------------------------------------------------------


def test_a_scene_without_bodies():
    with refused("'nothing'.*nothing that moves; add a body"):
        dal.Simulation(dal.Scene("nothing"))


def test_an_unknown_method_is_answered_with_the_list():
    with refused("'rk5'") as caught:
        dal.Simulation(pair(), method="rk5")
    assert all(name in str(caught.value) for name in dal.METHODS)


@pytest.mark.parametrize(
    "settings, pattern",
    [
        ({"method": "rk4"}, "'rk4'.*dt"),
        ({"dt": 0.0}, "dt"),
        ({"dt": -0.1}, "dt"),
        ({"dt": np.nan}, "dt"),
        ({"rtol": 0.0}, "rtol"),
        ({"rtol": -1e-6}, "rtol"),
        ({"rtol": np.inf}, "rtol"),
        ({"atol": 0.0}, "atol"),
        ({"frame_rate": 0.0}, "frame_rate"),
        ({"frame_rate": np.nan}, "frame_rate"),
        ({"hold": "glue"}, "'glue'.*projection"),
        ({"hold": "feedback", "stiffness": np.nan}, "stiffness"),
        ({"hold": "penalty", "stiffness": -1.0}, "stiffness"),
        ({"hold": "penalty", "stiffness": 1.0, "damping": -1.0}, "damping"),
    ],
)
def test_settings(settings, pattern):
    with refused(pattern):
        dal.Simulation(pair(), **settings)


@pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf])
def test_duration(duration):
    with refused("duration"):
        dal.simulate(pair(), duration, dt=0.1)


def test_an_open_joint_is_refused_or_closed_on_request():
    scene = pair()
    scene.ball("gap", "one", "two", (0.5, 0, 0), at_b=(0.5, 0, 0.1))
    with refused("'gap' is open.*0.1 m.*assemble=True"):
        dal.Simulation(scene)
    run = dal.Simulation(scene, assemble=True)
    assert run.report.joint_error <= 1e-14
    np.testing.assert_allclose(run.state.position.mean(axis=0), [0.5, 0, 0], atol=1e-14)


def test_inconsistent_velocities_are_refused_or_mended_on_request():
    scene = dal.Scene("spin")
    scene.add_body("rod", dal.Box(0.1, 0.1, 1), mass=1.0, position=(0, 0, -0.5), velocity=(0.3, 0, 0))
    scene.hinge("pin", dal.WORLD, "rod", (0, 0, 0), (0, 1, 0))
    with refused("'pin' moves apart.*0.3 m/s.*assemble=True"):
        dal.Simulation(scene)
    run = dal.Simulation(scene, assemble=True)
    assert run.report.joint_velocity_error <= 1e-15
    assert 0.1 < run.state.velocity[0, 0] < 0.3


def test_joints_that_cannot_be_closed():
    scene = pair()
    scene.rod("short", "one", "two", (0, 0, 0), (1, 0, 0), length=0.5)
    scene.rod("long", "one", "two", (0, 0, 0), (1, 0, 0), length=2.0)
    with refused("cannot be closed"):
        dal.Simulation(scene, assemble=True)


def test_resuming_another_scene():
    other = dal.Scene("other")
    other.add_body("alone", dal.Sphere(0.1), mass=1.0)
    saved = dal.simulate(other, 0.1, method="rk4", dt=0.05).trajectory
    with refused("same scene"):
        dal.Simulation(pair(), method="rk4", dt=0.05).resume(saved)


def test_releasing_what_is_not_there():
    with refused("'pin'"):
        dal.Simulation(pair(), dt=0.1).release("pin")


def test_a_constraint_names_each_body_once():
    with refused("'j'"):
        pair().constraint("j", ["one", "one"], lambda x, q: x[0] - x[1], 3)


# What is no number, or no name, wherever it is given ---------------------------------------------------------------------

NONSENSE = ["a", None, np.nan, np.inf, -1.0, 0.0, [1.0, 2.0], True, object()]


@pytest.mark.parametrize("value", [value for value in NONSENSE if value is not None])
@pytest.mark.parametrize("name", ["dt", "rtol", "atol", "frame_rate"])
def test_numbers_of_a_run(name, value):
    with refused(f"{name} is "):
        dal.Simulation(pair(), **{name: value})


@pytest.mark.parametrize("value", NONSENSE)
def test_durations(value):
    run = dal.Simulation(pair(), method="rk4", dt=0.1)
    with refused("duration is "):
        run.advance(value)
    assert run.time == 0.0 and run.advances == []


@pytest.mark.parametrize("value", ["a", np.nan, -1.0, [1.0]])
@pytest.mark.parametrize("name", ["tolerance", "sleep_after", "newton_tolerance", "linear_tolerance", "control_rate"])
def test_numbers_of_steps(name, value):
    scene = dal.Scene("dust", material=dal.Material(0.1))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    scene.add_particles("dust", (0, 0, 2.0), mass=0.1)
    more = {"controller": print} if name == "control_rate" else {}
    with refused(f"{name} is "):
        dal.Simulation(scene, method="implicit_euler", dt=0.01, **{name: value}, **more)


@pytest.mark.parametrize("name", ["method", "hold", "solver", "impacts", "linear_solver"])
def test_names_of_a_run(name):
    for value in (5, ["rk4"], {}):
        with refused(f"{name} is "):
            dal.Simulation(pair(), **{name: value})


@pytest.mark.parametrize("name", ["assemble", "stop_unsolved"])
def test_flags_of_a_run(name):
    with refused(f"{name} is 'yes'"):
        dal.Simulation(pair(), **{name: "yes"})


@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_gains_that_hold_joints(name):
    with refused(f"{name} is 'a'"):
        dal.Simulation(pair(), hold="feedback", **{name: "a"})


@pytest.mark.parametrize("settings", [{"method": "rk4"}, {}])
def test_a_step_that_no_run_gets_on_with(settings):
    with refused("dt is 1e-300 s.*steps from one frame to the next"):
        dal.Simulation(pair(), dt=1e-300, **settings)


@pytest.mark.parametrize("shape", [None, "box", 1.0, dal.Box])
def test_an_obstacle_without_a_shape(shape):
    with refused("obstacle 'ground': shape is "):
        dal.Scene("s").add_obstacle("ground", shape)


@pytest.mark.parametrize("settings", [{}, {"coordinates": "joint"}, {"method": "rk4", "dt": 0.01}])
def test_an_event_that_returns_no_number_is_named(settings):
    import numba

    def late(t, y):
        return np.nan if t > 0.5 else -1.0

    for function in (late, numba.njit(late)):
        scene = pair()
        scene.event("sane", lambda t, y: 1.0)
        scene.event("odd", function)
        with pytest.raises(dal.SimulationError, match="event 'odd' returns NaN"):
            dal.simulate(scene, 1.0, **settings)
    scene = pair()
    scene.event("odd", lambda t, y: np.nan)
    with pytest.raises(dal.SimulationError, match="at t = 0 s the event 'odd' returns NaN"):
        dal.Simulation(scene, **settings)


def test_an_event_of_time_steps_that_returns_no_number_is_named():
    scene = dal.Scene("s", material=dal.Material(0.1))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.event("odd", lambda t, y: np.nan if t > 0.05 else 1.0)
    with pytest.raises(dal.SimulationError, match=r"at t = 0\.06 s the event 'odd' returns NaN"):
        dal.simulate(scene, 1.0, dt=0.01)


def test_one_run_is_advanced_by_one_thread_at_a_time():
    import threading

    found, refused = [], threading.Event()

    def slow(t, x, q, v, w):
        if threading.current_thread() is not threading.main_thread():
            assert refused.wait(300.0)
        return np.zeros(3)

    scene = pair()
    scene.external_force("slow", "one", function=slow)
    run = dal.Simulation(scene, method="rk4", dt=0.01)

    def advance():
        try:
            found.append(run.advance(0.3))
        except RuntimeError as error:
            found.append(str(error))
            if len(found) == 2:
                refused.set()

    threads = [threading.Thread(target=advance) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refusals = [each for each in found if isinstance(each, str)]
    assert len(refusals) == 2 and all("advanced by another thread" in each for each in refusals)
    assert run.time == pytest.approx(0.3)
    whole = dal.Simulation(scene, method="rk4", dt=0.01).advance(0.3)
    assert whole.state.y.tobytes() == run.state.y.tobytes()


@pytest.mark.parametrize("method", ["advance", "restart"])
def test_a_function_of_a_run_cannot_start_it_again(method):
    def watch(run):
        run.restart() if method == "restart" else run.advance(0.1)

    run = dal.Simulation(pair(), method="rk4", dt=0.01)
    with pytest.raises(RuntimeError, match="cannot advance the run that calls it"):
        run.advance(0.1, progress=watch)
    run.advance(0.1)  # and it is as good as before


# Joints that are open at the start, and more frames than there is room for ----------------------------------------------


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize(
    ("add", "degrees"),
    [
        (lambda s: s.hinge("j", "one", "two", (0, 0, 0), (0, 0, 1), axis_b=(1, 0, 0)), 90),
        (lambda s: s.hinge("j", "one", "two", (0, 0, 0), (0, 0, 1), axis_b=(0.5, 0, np.sqrt(0.75))), 30),
        (lambda s: s.universal("j", "one", "two", (0, 0, 0), (0, 0, 1), (0, 0, 1)), 90),
        (lambda s: s.universal("j", "one", "two", (0, 0, 0), (0, 0, 1), (1, 0, 1)), 45),
    ],
)
def test_axes_that_are_apart_at_the_start(add, degrees, coordinates):
    scene = pair()
    add(scene)
    with refused(f"joint 'j' is open at the start by {degrees} degrees; correct the poses or .* axes"):
        dal.Simulation(scene, coordinates=coordinates)
    if degrees == 90 and coordinates == "maximal":  # where the angle does not change to first order
        with refused(f"joint 'j' cannot be closed at the start by {degrees} degrees; correct the poses"):
            dal.Simulation(scene, coordinates=coordinates, assemble=True)


def test_more_frames_than_there_is_room_for():
    scene = pair()
    run = dal.Simulation(scene, method="dormand_prince", frame_rate=1e12)
    with refused(
        r"frame_rate is 1e\+12 Hz, so that 5e\+10 frames would be recorded in 0\.05 s; give a lower frame_rate"
    ):
        run.advance(0.05)
    with refused(r"frame_rate is 1e\+12 Hz"):
        dal.run_batch(scene, 0.05, vary={"one.mass": [1.0, 2.0]}, frame_rate=1e12)
    assert run.advance(1e-9).time == pytest.approx(1e-9, abs=2e-12)
    fixed = dal.Simulation(scene, method="rk4", dt=0.01, frame_rate=1e12).advance(0.05)  # a frame a step at most
    assert len(fixed.recorder) == 6
