"""Runs record where they come from, and are replayed to the last bit, or told apart where they differ."""

import json

import numpy as np
import pytest

import dalembert as dal
from dalembert.gallery._loading import find
from dalembert.simulation.trajectory import TrajectoryError

from .scenes import SETTINGS, ball

SCENE = """
from dataclasses import dataclass
import dalembert as dal

SETTINGS = {"duration": 0.3, "method": "dop853", "frame_rate": 30.0}

@dataclass
class Kick:
    speed: "float" = 2.0

def build(height: float = 1.0, kick=Kick()):
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, height), velocity=(kick.speed, 0, 0))
    scene.add_particles("dust", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], mass=0.1)
    return scene
"""


def run_of(source, duration=0.3, settings=None, **parameters):
    settings = {**source.settings, **(settings or {})}
    settings.pop("duration", None)
    return dal.Simulation(source.scene(**parameters), **settings).advance(duration)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


def altered(trajectory, **changes):
    """The trajectory with entries of its provenance replaced."""
    dataset = trajectory.dataset.copy()
    dataset.attrs["provenance_json"] = json.dumps(trajectory.provenance | changes)
    return dal.Trajectory(dataset)


@pytest.mark.parametrize(
    "name", ["pendulum", "bouncing-ball", "stack", "generalized", "formulations", "dominoes", "sling"]
)
def test_scenes_of_the_gallery_are_replayed_to_the_last_bit(name):
    trajectory = run_of(find(name), 0.1).trajectory
    found = dal.replay(trajectory)
    assert found.same and found and found.difference is None and found.notes == []
    assert found.frames == len(trajectory) > 1
    assert found.simulation.trajectory.attrs["final_state_hash"] == trajectory.attrs["final_state_hash"]


def test_the_record_says_scene_parameters_seed_settings_and_versions():
    known = run_of(find("pile"), 0.01, hulls=2, seed=7).trajectory.provenance
    assert known["origin"]["name"] == "pile" and known["origin"]["parameters"]["hulls"] == 2 and known["seed"] == 7
    assert known["origin"]["parameters"]["side"] == 1.2  # a default
    assert known["settings"]["method"] == "time_stepping" and known["advances"] == [0.01]
    assert {"dalembert", "sources", "python", "numpy", "numba", "llvmlite", "processor"} <= set(known["versions"])
    assert len(known["final_state_hash"]) == len(known["frames_hash"]) == 64


def test_a_file_is_replayed_only_when_it_is_given(file, tmp_path):
    trajectory = run_of(find(str(file)), height=2.0).trajectory
    path = trajectory.save(tmp_path / "run.nc")
    with pytest.raises(ValueError, match=r"files are not run unasked: give it, with --scene FILE"):
        dal.replay(path)
    assert dal.replay(path, str(file)).same
    file.write_text(SCENE.replace("2.0", "2.0000001"))
    other = dal.replay(path, file)
    assert not other.same and any("not the one that was run" in note for note in other.notes)
    assert other.difference.frame == 0 and other.difference.quantity == "momentum x of 'ball'"
    assert other.difference.replayed - other.difference.recorded == pytest.approx(1e-7)
    assert "the bits differ" in str(other) and "frame 0" in str(other)


def test_a_scene_of_a_session_is_replayed_with_what_makes_it():
    trajectory = dal.simulate(ball(2.0), 0.3, **SETTINGS).trajectory
    with pytest.raises(ValueError, match="scene made in a session"):
        dal.replay(trajectory)
    assert dal.replay(trajectory, ball(2.0)).same
    found = dal.replay(trajectory, ball(2.5))
    assert str(found.difference).startswith("frame 0, t = 0 s: position z of 'ball' is 2.5, recorded 2.0 (0.5)")


def test_one_bit_anywhere_is_found_and_named(file):
    trajectory = run_of(find(str(file))).trajectory
    dataset = trajectory.dataset.copy(deep=True)
    state = dataset["state"].values
    at = 13 + 3 + 1  # y of dust[1]
    state[4, at] = np.nextafter(state[4, at], np.inf)
    found = dal.replay(dal.Trajectory(dataset), file)
    assert not found.same and found.difference.frame == 4 and found.difference.quantity == "position y of dust[1]"
    assert 0.0 < found.largest < 1e-14
    assert any("the file was changed" in note for note in found.notes)


def test_runs_in_parts_resumed_runs_and_failed_runs_are_replayed(tmp_path):
    parts = run_of(find("bouncing-ball"), 0.5).advance(0.013).advance(0.2)
    assert dal.replay(parts.trajectory).same
    more = dal.Simulation(find("bouncing-ball").scene(), method="dormand_prince").resume(parts.trajectory).advance(0.3)
    assert dal.replay(more.trajectory).same and more.trajectory.provenance["resumed"]

    def broken(height=1.0):
        scene = ball(height)

        def wind(t, x, q, v, w):
            if t > 0.245:
                raise ZeroDivisionError("no air")
            return [1.0, 0.0, 0.0]

        scene.external_force("wind", "ball", function=wind)
        return scene

    failing = dal.Simulation(broken(), **SETTINGS)
    with pytest.raises(dal.SimulationError):
        failing.advance(1.0)
    assert dal.replay(failing.trajectory, broken).same


def test_what_was_changed_by_hand_is_noted():
    simulation = run_of(find("pendulum"), 0.1)
    simulation.state.momentum[0, 1] += 0.0
    simulation.state.momentum[0, 2] += 0.5
    simulation.changed()
    found = dal.replay(simulation.advance(0.1).trajectory)
    assert not found.same and found.difference.time > 0.1 - 1e-9
    assert found.notes == ["changed by hand then: the state at t = 0.1 s"]


def test_a_controller_is_not_in_the_record_and_has_to_be_given():
    def driven():
        scene = dal.Scene("arm")
        arm = scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
        scene.hinge("pivot", dal.WORLD, arm, at=(0, 0, 0), axis=(0, 1, 0))
        scene.motor("drive", "pivot", limit=5.0)
        return scene

    def push(run):
        run.set_motor("drive", effort=np.sin(run.time))

    control = {"controller": push, "control_rate": 50.0}
    trajectory = dal.simulate(driven(), 0.5, **control).trajectory
    with pytest.raises(ValueError, match=r"cannot be recorded: controller \(.*push"):
        dal.replay(trajectory, driven)
    assert dal.replay(trajectory, driven, controller=push).same


def test_other_versions_are_named():
    trajectory = run_of(find("pendulum"), 0.1).trajectory
    old = altered(trajectory, versions=trajectory.provenance["versions"] | {"numpy": "0.1"})
    assert dal.replay(old).notes == [f"numpy was 0.1, is {np.__version__}"]


def test_members_of_a_sweep_are_replayed_without_their_states(tmp_path):
    dal.sweep("pendulum", {"length": [1.0, 2.0]}, 0.2, how="serial", folder=tmp_path / "s")
    assert dal.replay(tmp_path / "s" / "members" / "000001.nc").same


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"origin": {"kind": "gallery", "name": "os.system", "parameters": {}}}, ValueError, "is not in the gallery"),
        ({"origin": {"kind": "file", "name": "/tmp/evil.py", "parameters": {}}}, ValueError, "files are not run unasked"),
        ({"origin": {"kind": "gallery", "name": "pendulum", "parameters": {"length": -1}}}, ValueError, "pendulum"),
        ({"origin": 3}, TrajectoryError, "is not valid"),
        ({"advances": [-1.0]}, TrajectoryError, "is not valid"),
        ({"advances": [[]]}, TrajectoryError, "is not valid"),
        ({"settings": {"method": "magic"}}, ValueError, "unknown method 'magic'"),
    ],
)  # fmt: skip
def test_an_untrusted_record_runs_no_code_and_is_rejected_with_the_reason(changes, error, reason):
    trajectory = run_of(find("pendulum"), 0.1).trajectory
    with pytest.raises(error, match=reason):
        dal.replay(altered(trajectory, **changes))


def test_a_run_of_an_older_version_is_told():
    trajectory = run_of(find("pendulum"), 0.1).trajectory
    del trajectory.dataset.attrs["provenance_json"]
    with pytest.raises(ValueError, match="does not contain the settings"):
        dal.replay(trajectory)
