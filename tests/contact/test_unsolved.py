"""What a run says of contact steps that were not solved, and of settings with which none is: in all coordinates."""

import warnings

import numpy as np
import pytest

import dalembert as dal
from dalembert.contact.diagnosis import project_dual

JOINT = {"coordinates": "joint"}


def heavy_on_light(ratio=1e5, boxes=4, offset=0.1):
    """A leaning stack whose upmost box is heavy."""
    scene = dal.Scene("heavy on light", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    for i in range(boxes):
        mass = ratio if i == boxes - 1 else 1.0
        scene.add_body(f"box {i}", dal.Box(1, 1, 1), mass=mass, position=(offset * i, 0, 0.5 + i), velocity=(0.3, 0, 0))
    return scene


def arm_on_a_block(arm=1.0, block=500.0):
    """A double pendulum that falls on a block."""
    scene = dal.Scene("arm", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    upper = scene.add_body("upper", dal.Box(1, 0.1, 0.1), mass=arm, position=(0.5, 0, 0.36))
    lower = scene.add_body("lower", dal.Box(1, 0.1, 0.1), mass=arm, position=(1.5, 0, 0.36))
    scene.hinge("shoulder", dal.WORLD, upper, (0, 0, 0.36), (0, 1, 0))
    scene.hinge("elbow", upper, lower, (1, 0, 0.36), (0, 1, 0))
    scene.add_body("block", dal.Box(0.3, 0.3, 0.3), mass=block, position=(1.5, 0, 0.15))
    return scene


def dust_beside(scene):
    scene.add_particles("dust", [(-5.0, 0, 0.5)], mass=0.1, radius=0.05)
    return scene


@pytest.mark.parametrize("settings", [{}, JOINT])
@pytest.mark.parametrize("scene", [heavy_on_light, arm_on_a_block])
def test_the_worst_contact_has_the_residual_that_the_solver_reports(scene, settings):
    """Computed from the state after the step, in NumPy, it is that of the kernel; through an impact too. With joints,
    projection changes velocities after the solver, and in joint coordinates so does the half drift."""
    near = (5e-3 if scene is arm_on_a_block else 1e-6) if not settings else 0.1 if scene is arm_on_a_block else 1e-3
    run, unsolved = dal.Simulation(scene(), dt=1 / 240, iterations=2, frame_rate=240, **settings), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dal.SimulationWarning)
        for _ in range(40):
            run.advance_frame()
            report = run._driver.report[0]
            if report.residual > report.aim:
                assert run._driver.worst().residual == pytest.approx(float(report.residual), rel=near)
                unsolved += 1
    assert unsolved > 10


def test_the_dual_cone_is_projected_on_as_optimality_asks():
    rng = np.random.default_rng(0)
    x, friction = rng.normal(size=(500, 3)), np.concatenate([np.zeros(50), rng.uniform(0.0, 3.0, 450)])
    p = project_dual(x, friction)
    inside = p[:, 0] - friction * np.hypot(p[:, 1], p[:, 2])
    assert inside.min() > -1e-12
    np.testing.assert_allclose(np.einsum("ij,ij->i", x - p, p), 0.0, atol=1e-12)  # orthogonal
    polar = p - x  # in the cone of friction, which is dual to the dual
    assert (friction * polar[:, 0] - np.hypot(polar[:, 1], polar[:, 2])).min() > -1e-12


def test_an_unsolved_step_names_contact_masses_and_ways_out():
    with pytest.raises(dal.SimulationError) as error:
        dal.simulate(heavy_on_light(), 1.0, dt=1 / 240, iterations=1, stop_unsolved=True)
    message = str(error.value)
    for part in ("between 'box ", "' and '", "' at (", "masses there are 1:1e+05 (from 1 kg, 'box ", "to 1e+05 kg, 'box 3')",
                 "allow more iterations than 1", 'solver="interior_point"', "masses that differ less"):  # fmt: skip
        assert part in message


def test_an_unsolved_step_of_equal_masses_does_not_blame_them():
    with pytest.raises(dal.SimulationError) as error:
        dal.simulate(heavy_on_light(1.0), 1.0, dt=1 / 240, iterations=1, stop_unsolved=True)
    assert "masses" not in str(error.value)


@pytest.mark.parametrize("settings", [{}, JOINT, {"method": "implicit_euler"}])
def test_robots_and_particles_say_the_same_of_an_unsolved_step(settings):
    scene = dust_beside(arm_on_a_block()) if "method" in settings else arm_on_a_block()
    with pytest.raises(dal.SimulationError, match=r"between '.+' and '.+' at .* m") as error:
        dal.simulate(scene, 1.0, dt=1 / 240, iterations=1, stop_unsolved=True, **settings)
    assert "interior_point" not in str(error.value) if settings == JOINT else "interior_point" in str(error.value)


@pytest.mark.parametrize("settings", [{}, JOINT])
def test_the_table_says_first_what_was_not_solved(settings):
    with pytest.warns(dal.SimulationWarning, match="missed its tolerance"):
        run = dal.simulate(arm_on_a_block(), 0.5, dt=1 / 240, iterations=1, **settings)
    name, text = run.report.rows()[1]
    report = run.report.contact
    assert name == "not solved" and run.report.not_solved == text
    assert f"in {report.unsolved} of 120 steps" in text and f"off by {report.residual:.3g} m/s" in text
    assert "between '" in text and "m in a step" in text and " N would correct it" in text
    assert str(run.report).splitlines()[1].startswith("not solved")


def test_a_solved_run_says_nothing_of_it():
    scene = dal.Scene("box", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    run = dal.simulate(scene, 0.2, dt=1 / 240)
    assert run.report.not_solved == "" and "not solved" not in str(run.report)


def said(make, **settings):
    """The warnings of a run that was just made."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        dal.Simulation(make(), **settings)
    return [str(one.message) for one in found]


KINDS = [
    (heavy_on_light, {}),
    (arm_on_a_block, JOINT),
    (lambda: dust_beside(arm_on_a_block()), {"method": "implicit_euler"}),
]


@pytest.mark.parametrize("make, settings", KINDS)
@pytest.mark.parametrize(
    "change, message",
    [
        ({"tolerance": 1.0}, "contacts can leave all weight unsolved"),
        ({"tolerance": 1e-15}, "below the rounding error of speeds"),
        ({"dt": 5.0}, "times the radius of the smallest colliding body; give a smaller dt"),
    ],
)
def test_settings_with_which_contact_means_nothing_are_warned_of(make, settings, change, message):
    assert any(message in one for one in said(make, **({"dt": 1 / 240} | settings | change)))
    assert not any(message in one for one in said(make, dt=1 / 240, **settings))


@pytest.mark.parametrize(
    "make, settings", [(lambda m: heavy_on_light(m), {}), (lambda m: arm_on_a_block(1.0, m), JOINT)]
)
def test_masses_too_far_apart_are_warned_of_by_name(make, settings):
    messages = said(lambda: make(1e9), dt=1 / 240, **settings)
    assert any("1e+09 kg" in one and "make the heavy body an obstacle" in one for one in messages)
    assert not any("an obstacle" in one for one in said(lambda: make(100.0), dt=1 / 240, **settings))


@pytest.mark.parametrize("settings", [{}, JOINT, {"method": "implicit_euler"}])
@pytest.mark.parametrize("value", [0, -3, 2.5, 1e3, True, np.nan, 10**30, "many"])
def test_budgets_that_are_none_are_refused_by_name(settings, value):
    scene = dust_beside(arm_on_a_block()) if "method" in settings else arm_on_a_block()
    with pytest.raises(ValueError, match=r"iterations is .*; give a whole number of at least 1"):
        dal.Simulation(scene, dt=1 / 240, iterations=value, **settings)


def test_a_whole_number_of_numpy_is_a_budget():
    scene = heavy_on_light(1.0)
    states = [dal.simulate(scene, 0.02, dt=1 / 240, iterations=n).state.position for n in (5, np.int64(5))]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize("settings", [{}, JOINT])
def test_a_load_that_returns_nan_is_named_in_any_coordinates(settings):
    scene = arm_on_a_block()
    scene.external_force("wind", "block", function=lambda t, x, q, v, w: np.array([np.nan, 0, 0]))
    with pytest.raises(dal.SimulationError, match="the function of external force 'wind' returned"):
        dal.simulate(scene, 0.1, dt=1 / 240, **settings)


MJCF = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" friction="{0}"/>
<body name="a" pos="0 0 1"><freejoint/><geom size=".1" friction="{0}"/></body></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision>
<contact><lateral_friction value="{0}"/></contact></link></robot>"""


@pytest.mark.parametrize("suffix, text", [(".xml", MJCF), (".urdf", URDF)])
def test_a_model_file_with_absurd_friction_is_warned_of(suffix, text, tmp_path):
    for value, absurd in (("0.8", False), ("1e9", True)):
        path = tmp_path / f"model{suffix}"
        path.write_text(text.format(value))
        found = [str(one) for one in dal.load_model(path).warnings]
        assert any("friction is 1e+09; 1000 is used" in one for one in found) == absurd


def press(to=0.35):
    """A plate that moves to a height (m) in two seconds, over two boxes on each other, on a floor."""
    scene = dal.Scene("press", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    for i in range(2):
        scene.add_body(f"box {i}", dal.Box(0.2, 0.2, 0.2), mass=4.0, position=(0, 0, 0.1 + 0.2 * i))
    scene.add_body("plate", dal.Box(1, 1, 0.1), motion=dal.Keyframes([0.0, 2.0], [(0, 0, 0.46), (0, 0, to)]))
    return scene


def lift():
    """Heavy and light boxes on a plate that rises."""
    scene = dal.Scene("lift", material=dal.Material(0.5))
    for i, mass in enumerate((1.0, 1.0, 1e5)):
        scene.add_body(f"box {i}", dal.Box(0.2, 0.2, 0.2), mass=mass, position=(0.05 * i, 0, 0.15 + 0.2 * i))
    scene.add_body("plate", dal.Box(1, 1, 0.1), motion=dal.Keyframes([0.0, 2.0], [(0, 0, 0), (0, 0, 1.0)]))
    return scene


def test_a_kinematic_body_that_jams_is_named():
    with pytest.raises(dal.SimulationError) as error:
        dal.simulate(press(), 2.0, dt=1 / 240, stop_unsolved=True)
    message = str(error.value)
    assert "the kinematic body 'plate' presses bodies there against fixed ones" in message
    assert "end the motion of 'plate', or move it by a joint whose motor has a largest force" in message
    assert "masses" not in message


@pytest.mark.filterwarnings("ignore:body 'box 2'")  # is as heavy as that on purpose
def test_a_kinematic_body_that_carries_does_not_jam():
    with pytest.raises(dal.SimulationError) as error:
        dal.simulate(lift(), 1.0, dt=1 / 240, iterations=1, stop_unsolved=True)
    assert "presses" not in str(error.value)
    assert "masses there are 1:1e+05" in str(error.value)  # a kinematic body has no mass, and is none of the two
