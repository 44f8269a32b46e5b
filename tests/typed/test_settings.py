"""What is written for type checkers is what the registries and signatures have."""

import inspect
import subprocess
import sys
from dataclasses import MISSING, fields
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import dalembert as dal
from dalembert.contact.solvers import SOLVERS
from dalembert.impact.impact import LAWS
from dalembert.linalg.iterative import SOLVERS as ITERATIVE
from dalembert.scene.soft import ParticleFields
from dalembert.simulation import picture_options, registry, settings
from dalembert.simulation.constraint_system import DIRECT
from dalembert.simulation.initial_conditions import HOLD
from dalembert.simulation.methods.contact import ALIASES
from dalembert.simulation.methods.implicit_particles import LINEAR_SOLVERS
from dalembert.simulation.setup import COORDINATES
from dalembert.simulation.trajectory import VARIABLES, Trajectory
from dalembert.view import still

NAMES = {
    "Hold": HOLD, "Coordinates": COORDINATES, "ImpactLaw": LAWS, "ContactSolverName": [*SOLVERS, *ALIASES],
    "LinearSolverName": LINEAR_SOLVERS, "ConstraintSolverName": [DIRECT, *ITERATIVE],
}  # fmt: skip


def keywords(function):
    """The keyword parameters of a function."""
    return {each.name for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_the_registry(name):
    written = getattr(settings, name)
    assert get_origin(written) is Literal
    assert set(get_args(written)) == set(NAMES[name])


def test_names_of_methods_are_those_of_the_registry():
    """In a process of its own, as tests may register methods."""
    program = "from dalembert.simulation.methods import registry as r; print(*r.names())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert list(get_args(settings.MethodName)) == done.stdout.split()


def test_options_of_methods_have_the_types_of_their_fields():
    written = get_type_hints(settings.MethodOptions)
    assert set(written) == set(registry.option_defaults())
    for each in registry.classes():
        hints = get_type_hints(each)
        for field in fields(each):
            if field.name != "name" and not (field.name == "dt" and field.default is MISSING):
                assert hints[field.name] == written[field.name], f"{each.__name__}.{field.name}"
    assert written["dt"] == (float | None)


def test_settings_are_the_keywords_of_a_simulation():
    names = set(settings.Settings.__annotations__)
    assert names == keywords(dal.Simulation)
    own = inspect.get_annotations(dal.Simulation.__init__)
    for name, kind in settings.CommonSettings.__annotations__.items():
        assert kind.__forward_arg__ == own[name], name
    assert set(settings.RunSettings.__annotations__) == names | {"duration"}
    assert set(settings.BatchSettings.__annotations__) == names - {"threads"}
    assert set(settings.EnvironmentSettings.__annotations__) == names - {"controller", "control_rate"}


@pytest.mark.parametrize(
    "function", [dal.simulate, dal.show, dal.sweep, dal.run_batch, dal.replay], ids=lambda f: f.__name__
)
def test_what_makes_runs_names_all_settings(function):
    assert keywords(function) >= set(settings.Settings.__annotations__)
    assert not any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())


def test_defaults_that_are_shown_are_those_of_the_simulation():
    shown, own = inspect.signature(dal.simulate).parameters, inspect.signature(dal.Simulation).parameters
    assert all(shown[name].default is own[name].default for name in settings.Settings.__annotations__)


@pytest.mark.parametrize("options, drawn, saved", [
    (picture_options.PictureOptions, still.picture, Trajectory.save_picture),
    (picture_options.MovieOptions, still.save_movie, Trajectory.save_movie),
])  # fmt: skip
def test_options_of_pictures_and_films(options, drawn, saved):
    assert set(options.__annotations__) == keywords(drawn) == keywords(saved)


def test_particles_of_cloth_and_threads_take_fields_of_particles():
    own = inspect.signature(dal.Scene.add_particles).parameters
    for name, kind in ParticleFields.__annotations__.items():
        assert own[name].annotation == kind.__forward_arg__
    for function in (dal.Scene.thread, dal.Scene.cloth, dal.Scene.soft_body):
        assert keywords(function) >= set(ParticleFields.__annotations__)


def test_variables_of_a_trajectory_are_attributes():
    """They are declared for type checkers alone, so that the text is read."""
    text = inspect.getsource(Trajectory)
    declared = {line.split(":")[0].strip() for line in text.splitlines() if line.endswith(": xarray.DataArray")}
    assert declared == {*VARIABLES, "time"}
