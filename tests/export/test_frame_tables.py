"""A run as a table: the numbers of the arrays under names with units, in pandas, CSV and Parquet."""

import sys

import numpy as np
import pandas
import pytest

import dalembert as dal
from dalembert.cli import main
from dalembert.simulation.trajectory import VARIABLES, Trajectory


@pytest.fixture(scope="module")
def trajectory():
    """Bodies, a joint, a force, an obstacle and contact."""
    scene = dal.Scene("table", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box, large", dal.Box(0.2, 0.3, 0.2), mass=1.5, position=(0, 0, 0.2), angular_velocity=(1, 2, 3))
    rod = scene.add_body("rod", dal.Box(1, 0.05, 0.05), mass=1.0, position=(0.5, 2, 2))
    scene.hinge("pivot", dal.WORLD, rod, at=(0, 2, 2), axis=(0, 1, 0))
    scene.drag("air", linear=0.1)
    return dal.simulate(scene, 0.5, dt=1 / 240).trajectory


def test_columns_are_the_arrays_with_their_units(trajectory):
    table = trajectory.to_pandas()
    assert table.index.name == "time [s]"
    np.testing.assert_array_equal(table.index, trajectory.times)
    box, pivot, air = trajectory.body("box, large"), trajectory.joint("pivot"), trajectory.forces.index("air")
    expected = {
        "box, large.y [m]": box.position[:, 1],
        "box, large.qw": box.orientation[:, 0],
        "box, large.wz [rad/s]": box.angular_velocity[:, 2],
        "box, large.Lx [kg m^2/s]": box.angular_momentum[:, 0],
        "box, large.vz [m/s]": box.momentum[:, 2] / 1.5,
        "box, large.contact_z [N]": box.contact_force[:, 2],
        "pivot.force_x [N]": pivot.reaction_force[:, 0],
        "pivot.torque_z [N m]": pivot.reaction_torque[:, 2],
        "pivot.position [rad]": trajectory.joint_coordinate.sel(coordinate="pivot"),
        "pivot.speed [rad/s]": trajectory.joint_speed.sel(coordinate="pivot"),
        "pivot.error [m]": pivot.joint_error,
        "air.work [J]": trajectory.work[:, air],
        "ground.contact_z [N]": trajectory.obstacle("ground").obstacle_contact_force[:, 2],
        "kinetic [J]": trajectory.kinetic,
        "balance [J]": trajectory.balance,
        "contacts": trajectory.contacts,
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(table[name], np.asarray(values), err_msg=name)
    assert table.attrs["scene"] == "table" and table.columns.is_unique


def test_no_recorded_number_is_left_out(trajectory):
    """All numbers of a frame but the flat state, which has the same again, and contact points, which are no fixed number."""
    count = 0
    for name, array in trajectory.dataset.data_vars.items():
        if array.dims[0] == "time" and name not in ("state", "contact_point_count", "contact_point_start"):
            count += int(np.prod(array.shape[1:], dtype=int))
    velocities = 3 * len(trajectory.bodies)
    assert len(trajectory.to_pandas().columns) == count + velocities


def test_csv_and_parquet_keep_every_bit(trajectory, tmp_path):
    table = trajectory.to_pandas()
    read = pandas.read_csv(trajectory.save(tmp_path / "sub" / "run.csv"), index_col=0)
    assert [p.name for p in (tmp_path / "sub").iterdir()] == ["run.csv"]
    assert list(read.columns) == list(table.columns) and read.index.name == "time [s]"
    np.testing.assert_allclose(read, table, rtol=1e-15, atol=0)  # what any reader of CSV makes of it
    by_hand = [line.rsplit(",", 1)[1] for line in (tmp_path / "sub/run.csv").read_text("utf-8").splitlines()[1:]]
    np.testing.assert_array_equal(np.array(by_hand, float), table.iloc[:, -1])  # every digit is there
    pytest.importorskip("pyarrow", reason="Parquet needs the extra 'parquet'")
    read = pandas.read_parquet(trajectory.save(tmp_path / "run.parquet"))
    pandas.testing.assert_frame_equal(read, table, check_exact=True)
    assert read.attrs == table.attrs


def test_what_cannot_be_written_or_read_is_refused(trajectory, tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match=r"unsupported format '.xlsx'; the name must end in one of .nc, .csv, .parquet"
    ):
        trajectory.save(tmp_path / "run.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"Parquet needs pyarrow: pip install 'dalembert\[parquet\]'; or write a .csv"
    ):
        trajectory.save(tmp_path / "run.parquet")
    with pytest.raises(ValueError, match="is a table, which does not contain the whole run; read it with pandas"):
        Trajectory.load(trajectory.save(tmp_path / "run.csv"))
    with pytest.raises(ValueError, match="particles is 'all'; give True, False, or None"):
        trajectory.to_pandas(particles="all")
    assert not (tmp_path / "run.parquet").exists()


def test_a_write_that_fails_leaves_what_was_there(trajectory, tmp_path, monkeypatch):
    path = trajectory.save(tmp_path / "run.csv")
    before = path.read_bytes()

    def fail(table, target, **_):
        with open(target, "w") as file:
            file.write("half")
        raise OSError("the disk is full")

    monkeypatch.setattr(pandas.DataFrame, "to_csv", fail)
    with pytest.raises(OSError, match="the disk is full"):
        trajectory.save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def of_particles(count):
    rng = np.random.default_rng(3)
    scene = '{"particles": [{"name": "sand", "first": 0, "number": %d}, {"name": "net", "first": %d, "number": 3}]}'
    variables = {
        "time": [0.0, 1.0], "position": np.zeros((2, 0, 3)), "orientation": np.zeros((2, 0, 4)), "kinetic": np.zeros(2),
        "potential": np.zeros(2), "particle_position": rng.normal(size=(2, count + 3, 3)),
    }  # fmt: skip
    return Trajectory.from_arrays(variables, bodies=[], attrs={"scene_json": scene % (count, count)})


def test_few_particles_have_columns_each_and_many_the_mean_of_their_group():
    few, many = of_particles(4), of_particles(500)
    x = few.particle_position.values
    np.testing.assert_array_equal(few.to_pandas()["net[2].y [m]"], x[:, 6, 1])
    assert len(few.to_pandas(particles=False).columns) == 2
    table, x = many.to_pandas(), many.particle_position.values
    assert sorted(table.columns)[:3] == ["kinetic [J]", "net.mean_x [m]", "net.mean_y [m]"]
    np.testing.assert_allclose(table["sand.mean_z [m]"], x[:, :500, 2].mean(axis=1))
    assert len(many.to_pandas(particles=True).columns) == 2 + 3 * 503


def test_names_that_come_twice_are_told_apart():
    names, count = ["a", "a"], 3
    variables = {"time": np.arange(count), "position": np.arange(6.0 * count).reshape(count, 2, 3),
                 "orientation": np.tile([1.0, 0, 0, 0], (count, 2, 1)), "kinetic": np.zeros(count),
                 "potential": np.zeros(count)}  # fmt: skip
    table = Trajectory.from_arrays(variables, bodies=names).to_pandas()
    np.testing.assert_array_equal(table["a.x (2) [m]"], variables["position"][:, 1, 0])
    assert table.columns.is_unique and len(table.columns) == 2 + 2 * 7


def test_every_variable_of_one_owner_has_a_column_with_its_unit(trajectory):
    for name in trajectory.to_pandas().columns:
        unit = name.rpartition(" [")[2].rstrip("]") if name.endswith("]") else "1"
        known = {variable.units for variable in VARIABLES.values()} | {"rad", "rad/s", "m/s", "1"}
        assert unit in known, name


def test_the_command_line_converts_a_saved_run(trajectory, tmp_path, monkeypatch):
    run = trajectory.save(tmp_path / "run.nc")
    monkeypatch.setattr(sys, "argv", ["dalembert", "convert", str(run), str(tmp_path / "run.csv")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert len(pandas.read_csv(tmp_path / "run.csv")) == len(trajectory)
