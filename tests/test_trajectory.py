"""Trajectories: labelled access, and files that survive a round trip or are refused with a clear message."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

from dalembert.simulation.trajectory import VARIABLES, Trajectory, TrajectoryError

SIZES = {"time": 5, "body": 2, "obstacle": 1, "joint": 1, "force": 2, "xyz": 3, "wxyz": 4, "phase": 26, "particle": 7,
         "coordinate": 1, "contact_point": 6}  # fmt: skip


def arrays():
    rng = np.random.default_rng(0)
    out = {name: rng.normal(size=[SIZES[d] for d in variable.dims]) for name, variable in VARIABLES.items()}
    for name in ("orientation", "contact_point_normal"):
        out[name] /= np.linalg.norm(out[name], axis=-1, keepdims=True)
    out["contact_point_count"], out["contact_point_start"] = np.array([0, 2, 3, -1, 1]), np.array([0, 0, 2, 5, 5])
    out["contact_point_a"], out["contact_point_b"] = np.array([0, 0, 1, 0, 1, 0]), np.array([2, 1, 2, 1, 0, 2])
    out["contact_point_manifold"] = np.array([0, 1, 0, 1, 1, 0])
    return {"time": np.linspace(0, 1, 5), **out}


def build(variables=None, **attrs):
    return Trajectory.from_arrays(
        variables or arrays(),
        bodies=["bob", "Körper/2"],
        joints=["pivot"],
        forces=["drag", "motor"],
        coordinates={"pivot": "rad"},
        obstacles=["ground"],
        attrs=attrs,
    )


def test_access_by_name_and_by_body():
    trajectory = build(scene="two bodies", scene_json='{"name": "x"}')
    assert len(trajectory) == 5
    assert trajectory.bodies == ["bob", "Körper/2"] and trajectory.joints == ["pivot"]
    assert trajectory["position"].dims == ("time", "body", "xyz")
    assert trajectory.position.attrs["units"] == "m"
    assert all(trajectory[name].attrs["units"] == VARIABLES[name].units for name in VARIABLES)
    bob = trajectory.body("bob")
    np.testing.assert_array_equal(bob["position"], trajectory.position.values[:, 0])
    assert set(bob) == {"position", "orientation", "momentum", "angular_momentum", "angular_velocity", "contact_force"}
    assert trajectory.joint("pivot")["reaction_force"].shape == (5, 3)
    np.testing.assert_array_equal(trajectory.last_state, trajectory.state.values[-1])
    assert trajectory.scene_description == {"name": "x"}
    with pytest.raises(KeyError, match="no body is called 'bib'; there are bob"):
        trajectory.body("bib")
    with pytest.raises(AttributeError, match="'speed' was not recorded"):
        _ = trajectory.speed


def test_round_trip_keeps_every_bit(tmp_path):
    trajectory = build(scene="two bodies", method="rk4", report_json=json.dumps({"steps": 3}), version="0.1")
    path = trajectory.save(tmp_path / "sub" / "run.nc")
    assert [p.name for p in path.parent.iterdir()] == ["run.nc"]  # no temporary file stays
    loaded = Trajectory.load(path)
    assert loaded.bodies == trajectory.bodies and loaded.forces == trajectory.forces
    for name in VARIABLES:
        np.testing.assert_array_equal(loaded[name].values, trajectory[name].values, err_msg=name)
        assert loaded[name].attrs["units"] == VARIABLES[name].units
    np.testing.assert_array_equal(loaded.times, trajectory.times)
    assert loaded.attrs == trajectory.attrs and loaded.report == {"steps": 3}
    loaded.save(path)  # over itself
    assert len(Trajectory.load(path)) == 5


def test_without_joints_and_forces(tmp_path):
    keep = ("time", "position", "orientation", "kinetic", "potential")
    variables = {name: value for name, value in arrays().items() if name in keep}
    trajectory = Trajectory.from_arrays(variables, bodies=["a", "b"])
    loaded = Trajectory.load(trajectory.save(tmp_path / "bare.nc"))
    assert loaded.joints == [] and loaded.forces == [] and "work" not in loaded


def particle_arrays(particles=7):
    rng = np.random.default_rng(1)
    still = {"time": [0.0, 1.0], "position": np.zeros((2, 0, 3)), "orientation": np.zeros((2, 0, 4))}
    moving = {"particle_position": rng.normal(size=(2, particles, 3))}
    return {**still, **moving, "kinetic": np.zeros(2), "potential": np.zeros(2)}


GROUPS = [{"name": "sand", "first": 0, "number": 4}, {"name": "net", "first": 4, "number": 3}]


def test_particles_without_bodies_survive_a_round_trip_and_are_found_by_group(tmp_path):
    variables = particle_arrays()
    made = Trajectory.from_arrays(variables, bodies=[], attrs={"scene_json": json.dumps({"particles": GROUPS})})
    trajectory = Trajectory.load(made.save(tmp_path / "sand.nc"))
    assert trajectory.bodies == [] and trajectory.particle_number == 7 and "7 particles" in repr(trajectory)
    assert trajectory.position.shape == (2, 0, 3) and "particle" not in trajectory.dataset.coords
    net = trajectory.particles("net")
    assert set(net) == {"particle_position"}
    np.testing.assert_array_equal(net.particle_position, variables["particle_position"][:, 4:])
    with pytest.raises(KeyError, match="there are no particles 'rope'; there are sand, net"):
        trajectory.particles("rope")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"number": 4}, "'net': 4 [+] 4 goes beyond the last of 7 particles"),
        ({"first": -1}, "'net': 'first' must be a whole number"),
        ({"first": True}, "'net': 'first' must be a whole number"),
        ({"number": "3"}, "'net': 'number' must be a whole number"),
    ],
)
def test_a_group_that_is_not_within_the_recorded_particles_is_refused(edit, message):
    scene = {"particles": [GROUPS[0], GROUPS[1] | edit]}
    made = Trajectory.from_arrays(particle_arrays(), bodies=[], attrs={"scene_json": json.dumps(scene)})
    with pytest.raises(TrajectoryError, match=message):
        made.particles("net")


def test_particle_arrays_must_agree():
    variables = particle_arrays()
    momentum = np.zeros((2, 6, 3))
    with pytest.raises(TrajectoryError, match=r"'particle_momentum' has shape .2, 6, 3., expected .time=2, particle=7"):
        Trajectory.from_arrays({**variables, "particle_momentum": momentum}, bodies=[])
    del variables["particle_position"]
    with pytest.raises(TrajectoryError, match="it has 'particle_momentum' and no 'particle_position'"):
        Trajectory.from_arrays({**variables, "particle_momentum": momentum}, bodies=[])
    variables["particle_position"] = np.full((2, 3, 3), np.nan)
    with pytest.raises(TrajectoryError, match="'particle_position' is not finite"):
        Trajectory.from_arrays(variables, bodies=[])


def test_a_file_that_claims_too_many_particles_is_refused_before_it_is_read(tmp_path):
    path = Trajectory.from_arrays(particle_arrays(), bodies=[]).save(tmp_path / "crowd.nc")
    with h5py.File(path, "r+") as file:
        del file["particle_position"], file["particle"]
        file.create_dataset("particle", shape=(10**7 + 1,), dtype="f4", chunks=(10**6,)).make_scale()
        claimed = file.create_dataset("particle_position", shape=(2, 10**7 + 1, 3), dtype="f8", chunks=(2, 10**5, 3))
        for i, scale in enumerate(("time", "particle", "xyz")):
            claimed.dims[i].attach_scale(file[scale])
    with pytest.raises(
        TrajectoryError, match=r"crowd\.nc.* its arrays claim to have more than \d+ bytes, and the file has"
    ):
        Trajectory.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = build().save(tmp_path / "run.nc")
    before = path.read_bytes()
    trajectory = build()
    trajectory.dataset.attrs["bad"] = object()
    with pytest.raises(Exception, match=r".+"):
        trajectory.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_bad_arrays_are_refused():
    with pytest.raises(TrajectoryError, match=r"'position' has shape \(5, 3, 3\), expected \(time=5, body=2, xyz=3\)"):
        build({**arrays(), "position": np.zeros((5, 3, 3))})
    with pytest.raises(TrajectoryError, match="unknown variable 'speed'"):
        build({**arrays(), "speed": np.zeros(5)})
    with pytest.raises(TrajectoryError, match="never decrease"):
        build({**arrays(), "time": np.array([0, 1, 0.5, 2, 3])})
    with pytest.raises(TrajectoryError, match="not a unit quaternion"):
        build({**arrays(), "orientation": np.zeros((5, 2, 4))})
    poisoned = arrays()
    poisoned["kinetic"][3] = np.nan
    with pytest.raises(TrajectoryError, match=r"'kinetic' is not finite at t = 0.75 s"):
        build(poisoned)
    unsolved = arrays()
    unsolved["reaction_force"][0] = np.nan
    assert np.isnan(build(unsolved).reaction_force.values[0]).all()
    with pytest.raises(TrajectoryError, match="'scene_json' is not JSON"):
        build(scene_json="{")


def test_missing_damaged_and_foreign_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Trajectory.load(tmp_path / "nowhere.nc")
    text = tmp_path / "notes.nc"
    text.write_text("not a trajectory")
    with pytest.raises(TrajectoryError, match=r"notes\.nc.* is not a readable NetCDF-4 file"):
        Trajectory.load(text)
    path = build().save(tmp_path / "cut.nc")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(TrajectoryError, match=r"cut\.nc"):
        Trajectory.load(path)
    foreign = tmp_path / "foreign.nc"
    with h5py.File(foreign, "w") as file:
        file["temperature"] = np.zeros(3)
    with pytest.raises(TrajectoryError, match=r"foreign\.nc is not a trajectory: it has no time, body, position"):
        Trajectory.load(foreign)


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        ("kinetic", lambda old: np.full(5, np.inf), "'kinetic' is not finite"),
        ("orientation", lambda old: old * 2, "not a unit quaternion"),
        ("potential", lambda old: np.array([b"x"] * 5), "'potential' holds .* expected numbers"),
    ],
)
def test_edited_files_are_refused(tmp_path, name, edit, message):
    path = build().save(tmp_path / "edited.nc")
    with h5py.File(path, "r+") as file:
        values = edit(file[name][...])
        scales = [file[name].dims[i][0].name for i in range(file[name].ndim)]
        del file[name]
        file[name] = values
        for i, scale in enumerate(scales):
            file[name].dims[i].attach_scale(file[scale])
    with pytest.raises(TrajectoryError, match=message) as caught:
        Trajectory.load(path)
    assert "edited.nc" in str(caught.value)


def test_a_file_that_claims_a_huge_array_is_refused_before_it_is_read(tmp_path):
    path = build().save(tmp_path / "huge.nc")
    with h5py.File(path, "r+") as file:
        file.create_dataset("extra", shape=(10**7, 10**4), dtype="f8", chunks=(10**4, 10**2))
    with pytest.raises(TrajectoryError, match=r"huge\.nc.* variable 'extra' has 100000000000 values"):
        Trajectory.load(path)


def test_a_file_that_cannot_be_whole_leaves_the_one_before_and_the_process_alive(tmp_path):
    """HDF5 does not survive a full disk; files may not grow beyond a limit here, to the same effect."""
    code = """
import resource, signal, sys
from pathlib import Path
import dalembert as dal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
scene = dal.Scene("ball")
scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
trajectory = dal.simulate(scene, 0.1, method="rk4", dt=0.01).trajectory
trajectory.save("run.nc")
size = Path("run.nc").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, resource.RLIM_INFINITY))
try:
    trajectory.save("run.nc")
except OSError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    whole = Path("run.nc").stat().st_size == size
    print("told", whole, [path.name for path in Path().iterdir()], len(dal.Trajectory.load("run.nc")))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=1800)
    assert (done.returncode, done.stdout) == (0, "told True ['run.nc'] 7\n"), done.stderr
