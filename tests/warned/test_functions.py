"""Functions of the user that return something else than they should: the error names the force and says what was expected."""

import numba
import numpy as np
import pytest

import dalembert as dal

from .collect import arm


def brick():
    scene = dal.Scene("brick")
    scene.add_body("brick", dal.Box(0.1, 0.2, 0.3), mass=1.0, position=(1, 0, 0))
    return scene


def grains():
    scene = dal.Scene("grains")
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    scene.cloth("sail", corners, [[0, 1, 2]], density=1.0, stretch=10.0, shear=1.0)
    return scene


def of_load(function):
    scene = brick()
    scene.external_force("push", "brick", function=function)
    return scene


def of_motor(function):
    scene = arm()
    scene.motor("push", "j", function=lambda t, s, rate: function(t, s, rate, 0, 0))
    return scene


def of_field(function):
    scene = grains()
    scene.field("push", function=lambda t, x, v: function(t, x, v, 0, 0))
    return scene


def of_wind(function):
    scene = grains()
    scene.wind("push", "sail", function=lambda t, x: function(t, x, 0, 0, 0))
    return scene


def of_law(function):
    scene = grains()
    scene.radial("push", function=lambda r: function(0, r, 0, 0, 0))
    return scene


def of_event(function):
    scene = brick()
    scene.event("push", lambda t, y: function(t, y, 0, 0, 0))
    return scene


def of_constraint(function):
    scene = brick()
    scene.constraint("push", ["brick"], lambda x, q: function(0, x, q, 0, 0), 2)
    return scene


OF = {
    of_load: ("a force of shape (3,), or force and torque of shape (6,)", (1.0, 2.0)),
    of_motor: ("one number, the effort", (1.0, 2.0)),
    of_field: ("a force of shape (3,)", (1.0, 2.0)),
    of_wind: ("a velocity of shape (3,)", 3.0),
    of_law: ("two numbers, W and dW/dr", (1.0, 2.0, 3.0)),
    of_event: ("one number, whose sign change is the event", (1.0, 2.0)),
    of_constraint: ("2 numbers, of shape (2,)", (1.0,)),
}


@pytest.mark.parametrize("make", OF, ids=lambda make: make.__name__)
@pytest.mark.parametrize("wrong", ["shape", "nothing", "text", "complex", "truth", "ragged"])
def test_what_is_wrong_is_named_with_what_was_expected(make, wrong):
    words, shape = OF[make]
    value, said = {
        "shape": (shape, "of shape"), "nothing": (None, "nothing (None)"), "text": ("three", "'three'"),
        "complex": (1.0j, "complex numbers"), "truth": (True, "a truth value"), "ragged": ([1.0, [2.0]], "[1.0, [2.0]]"),
    }[wrong]  # fmt: skip
    if make is of_constraint and wrong == "complex":
        pytest.skip("its derivatives are taken by complex numbers")
    with pytest.raises((dal.SimulationError, ValueError)) as caught:
        dal.simulate(make(lambda *_: value), 0.1)
    message = str(caught.value)
    assert "'push'" in message and words in message and said in message


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ((1.0, 2.0, 3.0), True),
        (np.arange(6), True),
        ([1, 2, 3], True),
        (np.float32([1, 2, 3]), True),
        ((1, 2, 3, 4), False),
    ],
)
def test_what_fits_runs(value, fits):
    scene = of_load(lambda *_: value)
    if fits:
        assert dal.simulate(scene, 0.1).state.velocity[0, 0] == pytest.approx(0.1 * np.asarray(value)[0])
    else:
        with pytest.raises(dal.SimulationError, match=r"shape \(4,\)"):
            dal.simulate(scene, 0.1)


@pytest.mark.parametrize(
    ("add", "owner"),
    [
        (
            lambda s: s.external_force("push", "brick", function=numba.njit(lambda t, x, q, v, w: (1.0, 2.0))),
            "external force 'push'",
        ),
        (lambda s: s.event("push", numba.njit(lambda t, y: y[2] < 0.5)), "event 'push'"),
    ],
)
def test_compiled_functions_are_tried_before_the_run(add, owner):
    scene = brick()
    add(scene)
    with pytest.raises(ValueError, match=f"{owner}: its function cannot be used: it returned"):
        dal.Simulation(scene)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 0.01}])
@pytest.mark.parametrize("start", [0.0, 0.05])
def test_a_result_that_is_no_number_names_its_function(compiled, settings, start):
    def push(t, x, q, v, w):
        return (0.0, 0.0, np.nan if t >= start else 1.0)

    scene = of_load(numba.njit(push) if compiled else push)
    scene.external_force("innocent", "brick", function=lambda t, x, q, v, w: (0, 0, 0))
    with pytest.raises(
        dal.SimulationError, match=r"the function of external force 'push' returned \[0\.0, 0\.0, nan\]"
    ):
        dal.simulate(scene, 0.2, **settings)


def test_of_fields_motors_and_winds_too():
    for make, kind in ((of_field, "field"), (of_motor, "motor"), (of_wind, "wind")):
        scene = make(lambda *_: np.nan if make is of_motor else np.full(3, np.nan))  # noqa: B023
        with pytest.raises(dal.SimulationError, match=f"the function of {kind} 'push' returned"):
            dal.simulate(scene, 0.1)


# Derivatives ----------------------------------------------------------------------------------------------------------


def on_circle(x, q):
    return np.array([x[0, 0] ** 2 + x[0, 2] ** 2 - 1.0])


def circle_bias(x, q, v, w):
    return np.array([2.0 * v[0, 0] ** 2 + 2.0 * v[0, 2] ** 2])


@pytest.mark.parametrize(("factor", "right"), [(2.0, True), (1.0, False), (-2.0, False)])
def test_jacobians_that_are_not_those_of_the_function(factor, right):
    """∂C/∂z vanishes at the initial pose, whatever its factor."""
    scene = brick()
    jacobian = lambda x, q: np.array([[2.0 * x[0, 0], 0.0, factor * x[0, 2], 0.0, 0.0, 0.0]])  # noqa: E731
    scene.constraint("ring", ["brick"], on_circle, 1, jacobian=jacobian, bias=circle_bias)
    if right:
        dal.Simulation(scene)
    else:
        with pytest.raises(
            ValueError, match=r"constraint 'ring': its derivative by the velocity of 'brick' along z is"
        ):
            dal.Simulation(scene)


def test_a_bias_that_is_not_that_of_the_function():
    scene = brick()
    jacobian = lambda x, q: np.array([[2.0 * x[0, 0], 0.0, 2.0 * x[0, 2], 0.0, 0.0, 0.0]])  # noqa: E731
    scene.constraint("ring", ["brick"], on_circle, 1, jacobian=jacobian, bias=lambda x, q, v, w: np.zeros(1))
    with pytest.raises(ValueError, match="constraint 'ring': its bias is"):
        dal.Simulation(scene)


@pytest.mark.parametrize(
    ("function", "right"),
    [(lambda x, q: [abs(x[0, 0]) - 1.0 + x[0, 2]], False), (lambda x, q: [x[0, 0] - 1.0 + x[0, 2].real], False),
     (lambda x, q: [x[0, 0] - 1.0 + 3.0 * q[0, 1] * q[0, 3]], True)],
)  # fmt: skip
def test_functions_that_are_not_analytic(function, right):
    scene = brick()
    scene.constraint("wire", ["brick"], function, 1)
    if right:
        dal.Simulation(scene)
    else:
        with pytest.raises(ValueError, match=r"constraint 'wire': its derivative .* must be analytic"):
            dal.Simulation(scene)


@pytest.mark.parametrize(("sign", "right"), [(1.0, True), (-1.0, False), (0.5, False)])
def test_laws_whose_force_is_not_the_slope_of_their_energy(sign, right):
    scene = dal.Scene("pair", gravity=(0, 0, 0))
    scene.add_particles("pair", [[0, 0, 0], [1.5, 0, 0]], mass=1.0)
    scene.radial("law", function=lambda r: (r**3, 3.0 * sign * r**2))
    if right:
        assert dal.simulate(scene, 0.1).report.energy_residual_relative < 1e-6
    else:
        with pytest.raises(ValueError, match="radial 'law': its function says dW/dr"):
            dal.Simulation(scene)
