"""Modules that moved can be imported from where they were, with a warning that names the new place."""

import importlib
import subprocess
import sys
import warnings

import pytest

import dalembert as dal

# What users imported from old places: the names in documentation, error messages and stored settings.
OLD = {
    "articulation": "Articulation",
    "batch.result": "Batch",
    "batch.run": "run_batch",
    "constraint_solver": "SolverReport",
    "constraint_system": "ConstraintSystem Elimination",
    "control": "Controls",
    "environment": "Environment",
    "errors": "SimulationError",
    "export.shared": "ExportWarning",
    "formats.imported": "ImportedModel ModelWarning FileFrame Actuator",
    "formats.load": "load_model",
    "formats.usd": "load_usd",
    "impact.laws": "LAWS",
    "impact.log": "ContactEvent",
    "integrate.methods": "METHODS",
    "integrate.solution": "Solution IntegrationError",
    "linalg.condition": "condition_number",
    "live_session": "show",
    "mechanics.mechanism": "Mechanism",
    "particles.report": "ParticleReport",
    "pointer": "DERIVATIVE",
    "queries": "RayHit Gap",
    "replay": "Replay Difference replay",
    "report": "Report",
    "scene.mesh_topology": "block sheet",
    "scene.surfaces": "HeightField TriangleMesh",
    "sources": "load",
    "simulate": "Simulation simulate",
    "state": "State",
    "time_series": "TimeSeries",
    "trajectory": "Trajectory",
    "trajectory_format": "TrajectoryError",
    "view.movie": "save_movie",
    "warning": "SimulationWarning",
}


@pytest.fixture(autouse=True)
def nothing_imported_from_old_places():
    """Each test imports old places for the first time."""
    for old in dal._NEW_PLACE:
        package, _, name = old.rpartition(".")
        if sys.modules.pop(old, None) and name not in dal.__all__ and package in sys.modules:
            vars(sys.modules[package]).pop(name, None)


@pytest.mark.parametrize("old", OLD)
def test_an_old_place_is_the_new_module_and_warns(old):
    if old == "environment":
        pytest.importorskip("gymnasium")
    with pytest.warns(DeprecationWarning, match=rf"dalembert\.{old} is now dalembert\.") as warned:
        module = importlib.import_module(f"dalembert.{old}")
    assert module.__name__ == dal._NEW_PLACE[f"dalembert.{old}"]
    assert module.__spec__.name == module.__name__
    assert warned[-1].filename != dal.__file__
    for name in OLD[old].split():
        assert getattr(module, name) is getattr(dal, name, getattr(module, name))


def test_every_new_place_exists_and_every_old_one_is_gone():
    for old, new in dal._NEW_PLACE.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            if not new.endswith("environment"):
                assert importlib.import_module(old) is importlib.import_module(new)
        assert new not in dal._NEW_PLACE


def test_functions_of_the_package_stay_functions():
    with pytest.warns(DeprecationWarning):
        from dalembert.simulate import Simulation
    with pytest.warns(DeprecationWarning):
        import dalembert.replay
    assert Simulation is dal.Simulation
    assert callable(dal.simulate) and callable(dalembert.replay)


def test_old_modules_as_attributes():
    with pytest.warns(DeprecationWarning, match=r"now dalembert\.simulation\.trajectory"):
        assert dal.trajectory.Trajectory is dal.Trajectory


def test_the_package_itself_uses_no_old_place():
    program = "import dalembert as dal; [getattr(dal, name) for name in dal.__all__]; import dalembert.cli.commands.run"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:dalembert", "-c", program], check=True)


def test_the_warning_points_at_the_line_that_imports(tmp_path):
    file = tmp_path / "users.py"
    file.write_text("from dalembert.scene.mesh_topology import sheet\n")
    found = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    assert (
        "users.py:1: DeprecationWarning: dalembert.scene.mesh_topology is now dalembert.scene.mesh_file" in found.stderr
    )
