"""Sweeps in compiled batches: the same dataset as one after the other, to the last bit, whatever happens to members."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.ensemble import executors as batches
from dalembert.gallery import double_pendulum

from .scenes import SETTINGS, ball, drop, troubled

AUDIT = (
    "state", "position", "momentum", "kinetic", "balance", "work", "constraint_work", "projection_loss",
    "linear_impulse_balance", "angular_impulse_balance", "contacts",
)  # fmt: skip


def pendulum(length=1.0, mass=1.0, arms=2):
    """A double pendulum; or a chain of as many arms."""
    if arms == 2:
        return double_pendulum.build(length=length, mass=mass)
    scene = dal.Scene("chain")
    holder = dal.WORLD
    for k in range(arms):
        bob = scene.add_body(f"bob {k}", dal.Sphere(0.1), mass=mass, position=((k + 0.5) * length, 0.0, 0.0))
        scene.hinge(f"hinge {k}", holder, bob, at=(k * length, 0.0, 0.0), axis=(0, 1, 0))
        holder = bob
    return scene


def touching(height):
    """A ball on a floor; above 2 m there is none."""
    scene = ball(height)
    if height < 2.0:
        scene.add_obstacle("floor", dal.HalfSpace())
    return scene


def braced(twist):
    """A hub with five arms, and two rods to one of these, which are one constraint twice where the twist is zero."""
    scene = dal.Scene("braced")
    hub = scene.add_body("hub", dal.Sphere(0.2), mass=2.0)
    for k in range(5):
        way = np.array([np.cos(k), np.sin(k), 0.1 * k])
        scene.ball(f"joint {k}", hub, scene.add_body(f"arm {k}", dal.Sphere(0.1), mass=1.0, position=way), at=0.3 * way)
    for k in range(2):
        scene.rod(f"rod {k}", hub, "arm 0", at_a=(0.0, 0.2, 0.1), at_b=(1.0, 0.2, 0.1 + k * twist))
    return scene


def both(build, over, duration=0.5, **more):
    """The sweep in batches and one after the other."""
    found = [dal.sweep(build, over, duration, how=how, **more) for how in ("batch", "serial")]
    return [dataset.drop_vars("wall_time") for dataset in found]


@pytest.mark.parametrize("settings", [{}, {"coordinates": "joint"}, {"method": "rk4", "dt": 0.003}])
def test_the_dataset_is_that_of_runs_one_after_the_other_to_the_last_bit(settings):
    over = {"length": [0.5, 1.0], "mass": [1.0, 2.0, 3.0]}
    found, serial = both(pendulum, over, keep=AUDIT, **settings)
    assert found.identical(serial)
    assert (found.status == "done").all() and (found.final_state_hash != "").all()


def test_particles_and_forces_run_in_batches_too():
    def net(stiffness):
        scene = dal.Scene("net")
        points = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.8, 0.0, 0.1]])
        chain = scene.add_particles("chain", points, mass=0.1, pinned=[0])
        scene.springs("springs", chain, [(0, 1), (1, 2)], stiffness=stiffness, damping=0.1)
        return scene

    keep = ("particle_position", "particle_momentum", "work", "angular_impulse_balance")
    found, serial = both(net, {"stiffness": [100.0, 200.0]}, keep=keep, method="rk4", dt=1e-3)
    assert found.identical(serial) and found.particle_position.dims == ("stiffness", "time", "particle", "xyz")


def test_members_of_other_settings_and_other_structure_run_in_batches_of_their_own(monkeypatch):
    sizes = []
    real = batches.run_together
    monkeypatch.setattr(batches, "run_together", lambda *a: sizes.append(a[2][1]) or real(*a))
    over = {"rtol": [1e-5, 1e-7], "duration": [0.2, 0.4], "arms": [1, 2, 3], "mass": [1.0, 2.0]}
    found, serial = both(pendulum, over, None)
    assert found.identical(serial) and sorted(sizes) == [2] * 12


def test_joints_that_depend_on_each_other_in_some_members_only_change_nothing():
    for twists in ([0.0, 0.3, 0.0], [0.3, 0.0, 0.4]):
        found, serial = both(lambda k, twists=twists: braced(twists[k]), {"k": [0, 1, 2]}, 0.1)
        assert found.identical(serial) and (found.status == "done").all()


def test_batches_of_any_size_give_the_same(monkeypatch):
    over = {"length": np.linspace(0.5, 1.5, 7)}
    whole = dal.sweep(pendulum, over, 0.5, how="batch").drop_vars("wall_time")
    monkeypatch.setattr(batches, "FRAMES", 50_000)
    seen = []
    parts = dal.sweep(pendulum, over, 0.5, how="batch", progress=seen.append, workers=1).drop_vars("wall_time")
    assert [counts.done for counts in seen] == [0, 4, 7]
    assert parts.identical(whole)
    monkeypatch.setattr(batches, "MOST_WAITING", 2)
    assert dal.sweep(pendulum, over, 0.5, how="batch").drop_vars("wall_time").identical(whole)


def test_members_that_fail_have_the_record_and_the_error_of_their_run_alone():
    over = {"case": ["none", "raises", "exits", "breaks", "again"]}
    found, serial = both(troubled, over, keep=["position", "kinetic"], **SETTINGS)
    assert found.status.values.tolist() == ["done", "failed", "failed", "failed", "done"]
    assert found.identical(serial)
    found, serial = both(ball, {"height": 1.0, "dt": [0.01, -1.0], "duration": [0.1, -1.0]}, None, method="rk4")
    assert found.identical(serial) and (found.status == "failed").sum() == 3


def test_what_batches_cannot_do_is_refused_and_names_the_way_out():
    with pytest.raises(ValueError, match=r"member 0: scene 'ball'.*cannot run in a batch.*how=\"processes\""):
        dal.sweep(touching, {"height": [1.0, 3.0]}, 0.1, how="batch", dt=0.01)
    with pytest.raises(ValueError, match=r"cannot keep the function 'drop'.*how='processes'"):
        dal.sweep(ball, {"height": [1.0]}, 0.1, how="batch", keep=["position", drop])
    with pytest.raises(ValueError, match=r"cannot keep 'reaction_force'.*how='processes'"):
        dal.sweep(ball, {"height": [1.0]}, 0.1, how="batch", keep="reaction_force")


def test_auto_takes_batches_where_they_can_and_processes_elsewhere():
    over = {"height": [1.0, 3.0, 1.5, 4.0]}
    found, serial = (dal.sweep(touching, over, 0.1, how=how, dt=0.01, workers=1) for how in ("auto", "serial"))
    assert (found.status == "done").all() and (found.final_state_hash == serial.final_state_hash).all()
    kept = dal.sweep(ball, over, 0.1, how="auto", keep=drop, workers=1, **SETTINGS)
    assert kept["drop"].shape == (4,)


def test_a_sweep_in_a_folder_goes_on_from_its_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "FRAMES", 50_000)
    over = {"length": [0.5, 1.0, -1.0, 1.5, 2.0, 2.5]}
    folder = tmp_path / "s"

    def stop(counts):
        if counts.done >= 2:
            raise KeyboardInterrupt

    part = dal.sweep(pendulum, over, 0.5, how="batch", folder=folder, progress=stop)
    assert part.attrs["interrupted"] == 1 and 2 <= (part.status == "done").sum() < 5
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "members").iterdir()}
    assert all(name.startswith("batch-") for name in before if name != "000002.nc")
    seen = []
    whole = dal.sweep(pendulum, over, 0.5, how="batch", folder=folder, progress=seen.append)
    assert seen[0].done == (part.status == "done").sum()
    assert {name: (folder / "members" / name).stat().st_mtime_ns for name in before} == before
    serial = dal.sweep(pendulum, over, 0.5, how="serial").drop_vars("wall_time")
    assert whole.drop_vars("wall_time").identical(serial)
    again = dal.sweep(pendulum, over, 0.5, how="serial", folder=folder)
    assert again.identical(whole)


def test_a_damaged_batch_is_run_again(tmp_path):
    over = {"length": [0.5, 1.0]}
    first = dal.sweep(pendulum, over, 0.2, how="batch", folder=tmp_path / "s")
    (path,) = (tmp_path / "s" / "members").iterdir()
    path.write_bytes(path.read_bytes()[:200])
    again = dal.sweep(pendulum, over, 0.2, how="batch", folder=tmp_path / "s")
    assert again.drop_vars("wall_time").identical(first.drop_vars("wall_time"))
