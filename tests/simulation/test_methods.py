"""Methods as objects and by name: the same runs; what is refused; and methods that one file adds."""

import dataclasses
import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import dalembert as dal
from dalembert.cli.replay import replay
from dalembert.core.c_function import DERIVATIVE
from dalembert.integrate.stepper import FixedStepper
from dalembert.integrate.tableaus import METHODS
from dalembert.simulation import registry
from dalembert.simulation.registry import Facts, Method, override
from dalembert.simulation.simulation import MethodOptions

from .steppers import bouncing_ball, cloth_on_ball, double_pendulum, tumbling_boxes

PAIRS = {
    "adaptive": (double_pendulum, dal.RungeKutta("dop853", rtol=1e-9), {"method": "dop853", "rtol": 1e-9}),
    "fixed": (double_pendulum, dal.RungeKutta("rk4", dt=1e-3), {"method": "rk4", "dt": 1e-3}),
    "events": (
        bouncing_ball, dal.Events("dop853", rtol=1e-9, impacts="sequential"),
        {"method": "dop853", "rtol": 1e-9, "impacts": "sequential"},
    ),
    "contact": (
        tumbling_boxes, dal.TimeStepping(dt=1 / 300, solver="converging", tolerance=1e-9),
        {"method": "time_stepping", "dt": 1 / 300, "solver": "interior_point", "tolerance": 1e-9},
    ),
    "particles": (
        cloth_on_ball, dal.ImplicitParticles("bdf2", dt=1 / 300, linear_solver="direct"),
        {"method": "bdf2", "dt": 1 / 300, "linear_solver": "direct"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_an_object_and_a_name_with_keywords_give_the_same_run(kind, tmp_path):
    build, method, settings = PAIRS[kind]
    one, other = dal.simulate(build(), 0.1, method=method), dal.simulate(build(), 0.1, **settings)
    assert one.arguments == other.arguments and one.settings == other.settings
    found = [np.array(run.recorder.frames["state"]) for run in (one, other)]
    assert np.array_equal(*found)
    assert one.method == method.name == settings["method"]
    assert replay(one.trajectory, build())  # options of the object are in the record, as keywords


def test_options_beside_an_object_are_refused_by_name():
    method = dal.TimeStepping(dt=0.01)
    with pytest.raises(ValueError, match=r"dt is given twice: as dt=0\.1, and in method=TimeStepping\(dt=0\.01"):
        dal.Simulation(tumbling_boxes(), method=method, dt=0.1)
    with pytest.raises(ValueError, match=r"TimeStepping\(\.\.\.\) has no option 'rtol'; its options are dt, solver"):
        dal.Simulation(tumbling_boxes(), method=method, rtol=1e-8)


def test_keywords_that_a_named_method_does_not_have_are_not_used():
    with pytest.warns(dal.SimulationWarning, match="rtol, impacts are not used by method 'time_stepping'"):
        run = dal.Simulation(tumbling_boxes(), method="time_stepping", dt=0.01, rtol=1e-3, impacts="poisson")
    assert "rtol" not in run._method.options


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tolernce'.*tolerance"):
        dal.Simulation(tumbling_boxes(), tolernce=1e-3)


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (lambda: dal.RungeKutta("rk5", dt=0.1), "unknown method 'rk5'; the methods are euler.*bdf2"),
        (lambda: dal.RungeKutta(5), "unknown method 5"),
        (lambda: dal.RungeKutta("rk4"), "'rk4' has no error estimate; give its step, dt"),
        (lambda: dal.RungeKutta(rtol=0.0), "rtol is 0.0"),
        (lambda: dal.Events(impacts="newton"), "unknown law of impacts 'newton'; the laws are simultaneous"),
        (lambda: dal.TimeStepping(dt=-1.0), "dt is -1.0"),
        (lambda: dal.TimeStepping(dt=0.1, solver="jacobi"), "unknown solver 'jacobi'.*gauss_seidel, interior_point"),
        (lambda: dal.TimeStepping(dt=0.1, iterations=0), "iterations is 0"),
        (lambda: dal.TimeStepping(dt=0.1, threads=1.5), "threads is 1.5"),
        (lambda: dal.ImplicitParticles("rk4", dt=0.1), "unknown method 'rk4'.*linear_implicit_euler"),
        (lambda: dal.ImplicitParticles(dt=0.1, linear_solver="lu"), "unknown linear solver 'lu'.*cg, direct"),
    ],
)
def test_options_are_checked_where_they_are_given(make, pattern):
    with pytest.raises(ValueError, match=pattern):
        make()


def test_methods_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        dal.TimeStepping(dt=0.1).dt = 0.2


def test_the_signature_and_the_types_know_every_option():
    known = registry.option_defaults()
    assert set(MethodOptions.__annotations__) == set(known)
    parameters = inspect.signature(dal.Simulation).parameters
    assert {name: parameters[name].default for name in known} == known
    assert not any(each.kind == inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def test_settings_are_changed_inside_an_object():
    settings = {"method": dal.TimeStepping(dt=0.1, threads=2), "frame_rate": 30.0}
    changed = override(settings, {"dt": 0.2, "frame_rate": 60.0})
    assert changed == {"method": dal.TimeStepping(dt=0.2, threads=2), "frame_rate": 60.0}
    adaptive = override({"method": dal.RungeKutta(dt=0.1)}, {"rtol": 1e-3})
    assert adaptive == {"method": dal.RungeKutta(rtol=1e-3)}
    assert override({"method": "rk4", "dt": 0.1}, {"rtol": 1e-3}) == {"method": "rk4", "rtol": 1e-3}


@pytest.mark.parametrize("how", ["serial", "batch"])
def test_a_sweep_varies_an_option_of_an_object(how):
    over = {"dt": [0.01, 0.02], "length": [1.0, 2.0]}
    found = dal.sweep("pendulum", over, 0.2, how=how, method=dal.RungeKutta("rk4", dt=0.1))
    assert found.steps.values.tolist() == [[20, 20], [10, 10]]
    named = dal.sweep("pendulum", over, 0.2, how="serial", method="rk4", rtol=1e-8, atol=None)
    np.testing.assert_array_equal(found.final_state_hash, named.final_state_hash)


def test_a_batch_takes_an_object():
    batch = dal.run_batch([double_pendulum()] * 2, 0.1, method=dal.RungeKutta("rk4", dt=1e-3))
    alone = dal.simulate(double_pendulum(), 0.1, method="rk4", dt=1e-3)
    assert (batch.position[1, -1] == alone.state.position).all()


# What one file adds -----------------------------------------------------------------------------------------------------


@pytest.fixture
def own_registry(monkeypatch):
    """Registers that are put back after the test."""
    monkeypatch.setattr(METHODS, "_by_name", dict(METHODS._by_name))
    monkeypatch.setattr(registry, "FAMILIES", list(registry.FAMILIES))


class PlainEuler(FixedStepper):
    """Explicit Euler in plain Python, with a gain on the derivative; every third step counts as unsolved."""

    def __init__(self, mechanism, settings, events):
        options = np.zeros(1, [("start", "f8")]).view(np.recarray)
        report = np.zeros(1, [("steps", "i8"), ("unsolved", "i8")]).view(np.recarray)
        super().__init__(settings, options, report, events)
        self._mechanism = mechanism

    def call_kernel(self, y, dydt, stop):
        while (self.report.steps[0] + 1e-9) * self.settings.dt < stop:
            status = self._mechanism(DERIVATIVE, self.time, y, dydt)
            if status:
                return status
            y += self.settings.gain * self.settings.dt * dydt
            self.report.steps += 1
            self.report.unsolved += self.report.steps % 3 == 0
        return 0

    def missed(self):
        return "the third step is not solved"

    def fields(self):
        return []

    def attempt(self, y):
        return y


@dataclass(frozen=True, kw_only=True)
class Plain(Method):
    dt: float
    gain: float = 1.0
    stop_unsolved: bool = False
    name = "plain_euler"

    @classmethod
    def names(cls):
        return ["plain_euler"]

    @classmethod
    def facts(cls, name):
        return Facts("Euler in plain Python", 1, "fixed")

    def compiled(self, model):
        return []

    def make_stepper(self, model, mechanism, stop_unsolved):
        from dalembert.simulation.methods.contact import step_events

        return PlainEuler(mechanism, dataclasses.replace(self, stop_unsolved=stop_unsolved), step_events(model))


def falling(**event):
    scene = dal.Scene("falling")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    if event:
        scene.event("late", lambda t, y: t - 0.05, **event)
    return scene


def test_a_family_of_methods_is_one_file(own_registry):
    registry.register(Plain)
    run = dal.simulate(falling(), 0.1, method=Plain(dt=0.01))
    np.testing.assert_allclose(run.state.position[0, 2], -9.81 * 0.01**2 * sum(range(10)), rtol=1e-12)
    named = dal.simulate(falling(), 0.1, method="plain_euler", dt=0.01, gain=2.0)  # its option is a keyword
    np.testing.assert_allclose(named.state.velocity[0, 2], -9.81 * 0.2, rtol=1e-12)
    assert "| `plain_euler` | 1 | fixed | – | – | – | Euler in plain Python |" in registry.table()
    with pytest.raises(ValueError, match="there is already a method 'plain_euler'"):
        registry.register(Plain)


def test_a_fixed_stepper_has_events_and_stops_where_a_step_is_unsolved(own_registry):
    registry.register(Plain)
    run = dal.Simulation(falling(stop=True), method=Plain(dt=0.01)).advance(0.1)
    assert run.stopped and run.event_times["late"] == [pytest.approx(0.05)]
    with pytest.raises(dal.SimulationError, match="the third step is not solved"):
        dal.simulate(falling(), 0.1, method=Plain(dt=0.01), stop_unsolved=True)


def test_room_is_grown_until_a_call_finds_enough():
    stepper = PlainEuler(None, Plain(dt=0.1), [])
    stepper.need_room, grown, answers = 7, [], iter([7, 7, 3])
    stepper.grow = lambda: grown.append(1)
    assert stepper.call_with_room(lambda: next(answers)) == 3 and len(grown) == 2


def test_contacts_of_bodies_beside_particles_are_told():
    scene = dal.Scene("box and dust", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1))
    scene.add_particles("dust", (0, 0, 2.0), mass=0.1, material=None)
    run = dal.simulate(scene, 0.05, method=dal.ImplicitParticles(dt=0.01, sleep_after=0.02))
    assert run.asleep == ["box"]
    run = dal.simulate(scene, 0.05, method=dal.ImplicitParticles(dt=0.01))
    assert {(contact.a, contact.b) for contact in run.contacts} == {("box", "ground")}
    assert sum(contact.force[2] for contact in run.contacts) == pytest.approx(-9.81, rel=1e-6)  # on the ground


# What is made of the registry -------------------------------------------------------------------------------------------


def test_the_command_lists_every_method(capsys):
    from dalembert.cli.commands.lists import methods

    assert methods() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(registry.names())]] == registry.names()
    assert any(line.split()[0] == "interior_point" for line in lines)
