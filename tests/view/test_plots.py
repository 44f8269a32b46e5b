"""Figures of a run: every one is drawn from what was recorded, and says what is missing where it was not."""

import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from synthetic_run import AMPLITUDE, HOSTILE

import dalembert as dal
from dalembert.simulation.trajectory import Trajectory
from dalembert.view.plots import ledger_parts, stacked
from dalembert.view.still import still


@pytest.fixture(scope="module")
def braked():
    """A pendulum with a motor that brakes it, recorded by a run."""
    scene = dal.Scene("braked")
    bob = scene.add_body(
        "bob", dal.Box(0.1, 0.1, 1.0), mass=2.0, position=(0.5, 0, 0), orientation=(0.5**0.5, 0, 0.5**0.5, 0)
    )
    scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("brake", "pivot", speed=0.0, damping=0.4)
    return dal.simulate(scene, 3.0, rtol=1e-10)


def test_the_stacked_ledger_is_level_and_shows_every_joule(braked):
    parts = dict(ledger_parts(braked.trajectory))
    assert list(parts) == ["kinetic", "potential, above its least", "taken by brake"]
    total = sum(parts.values())
    np.testing.assert_allclose(total, total[0], atol=1e-7)
    assert parts["taken by brake"][-1] > 1.0
    found = stacked([("a", np.array([1.0, 2.0])), ("b", np.array([3.0, -1.0])), ("c", np.array([-1.0, -2.0]))])
    assert [[(low.tolist(), high.tolist()) for low, high in bands] for _, bands in found] == [
        [([0, 0], [1, 2])], [([1, 2], [4, 2]), ([0, -1], [0, 0])], [([-1, -3], [0, -1])],
    ]  # fmt: skip
    figure = braked.plot.energy()
    assert len(figure.axes[0].collections) == 3
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), braked.trajectory.balance.values)


def test_a_phase_portrait_is_the_recorded_angle_against_its_rate(braked, run):
    line = braked.plot.phase("pivot").axes[0].lines[0]
    x, _, z = braked.trajectory.position.sel(body="bob").values.T
    turned = np.arctan2(-z, x)  # about y, from where it began
    np.testing.assert_allclose(line.get_xdata(), turned, atol=1e-9)
    t = braked.trajectory.times
    np.testing.assert_allclose(line.get_ydata()[5:-5], np.gradient(turned, t)[5:-5], atol=0.05)
    assert braked.trajectory.coordinates == {"pivot": "rad"}
    body = run.plot.phase("bob")  # swings in x and z
    assert [axis.get_xlabel() for axis in body.axes] == ["x, m", "z, m"]
    assert abs(body.axes[0].lines[0].get_xdata()[0] - np.sin(AMPLITUDE)) < 1e-12
    assert body.axes[0].get_ylabel() == "vx, m/s"


def test_coordinates_of_joints_come_back_from_a_file(braked, tmp_path):
    loaded = Trajectory.load(braked.trajectory.save(tmp_path / "run.nc"))
    assert loaded.coordinates == {"pivot": "rad"}
    np.testing.assert_array_equal(loaded.joint_speed.values, braked.trajectory.joint_speed.values)


def test_reactions_efforts_and_contact_forces_are_drawn(run, braked):
    assert len(run.plot.forces("pivot").axes) == 2
    motor = braked.plot.forces("brake")
    assert [axis.get_ylabel() for axis in motor.axes] == ["effort, N or N m", "work, J"]
    rate = braked.trajectory.joint_speed.values[:, 0]
    np.testing.assert_allclose(motor.axes[0].lines[0].get_ydata(), -0.4 * rate, atol=1e-9)
    scene = dal.Scene("rest", material=dal.Material())
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    resting = dal.simulate(scene, 0.2, dt=0.01)
    assert abs(resting.plot.forces("box").axes[0].lines[2].get_ydata()[-1] - 9.81) < 1e-6
    assert [axis.get_ylabel() for axis in resting.plot.contact().axes] == ["contacts", "overlap, m", "residual, m/s"]


def test_total_momentum_of_a_free_body_stays(tmp_path):
    scene = dal.Scene("free", gravity=(0, 0, 0))
    scene.add_body(
        "stick", dal.Box(1, 0.1, 0.2), mass=3.0, velocity=(0, 2, 0), angular_velocity=(1, 2, 3), position=(1, 0, 0)
    )
    figure = dal.simulate(scene, 1.0).plot.momentum()
    assert len(figure.axes) == 4
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), 6.0, rtol=1e-9)  # p_y
    turning = [line.get_ydata() for line in figure.axes[2].lines]
    np.testing.assert_allclose(turning, np.tile(np.array(turning)[:, :1], len(turning[0])), atol=1e-6)
    figure.savefig(tmp_path / "momentum.pdf")
    assert (tmp_path / "momentum.pdf").read_bytes().startswith(b"%PDF")


def test_paths_errors_and_stage_times(run, braked):
    path = run.plot.path("bob", "box", plane="xz").axes[0]
    np.testing.assert_array_equal(path.lines[0].get_ydata(), run.position.sel(body="bob").values[:, 2])
    assert run.plot.joint_errors().axes[0].get_yscale() == "log"
    stages = braked.plot.stage_times().axes[0]
    assert abs(sum(bar.get_width() for bar in stages.patches) - 1e3 * sum(braked.report.stages.values())) < 1e-6


def test_figures_are_drawn_where_they_are_asked_to_be(run):
    from matplotlib.figure import Figure

    whole = Figure(layout="constrained")
    left, right = whole.subfigures(1, 2)
    assert run.plot.energy(figure=left) is left
    axis = right.subplots()
    run.plot.path(ax=axis)
    assert axis.lines
    assert run.plot.phase(HOSTILE).axes


def test_what_was_not_recorded_is_said(run):
    keep = ("time", "position", "orientation", "kinetic", "potential")
    bare = Trajectory.from_arrays({name: run[name].values for name in keep}, bodies=run.bodies)
    assert len(bare.plot.energy().axes) == 1
    for draw, message in (
        (bare.plot.joint_errors, "no joint errors"), (bare.plot.momentum, "no momenta"), (bare.plot.contact, "no contacts"),
        (bare.plot.stage_times, "no stage times"), (lambda: bare.plot.phase("bob"), "no phase portrait of 'bob'"),
        (lambda: run.plot.phase("elbow"), "'elbow'; choose joints: none; bodies: bob, box"),
        (lambda: run.plot.forces("elbow"), "'elbow' were recorded; choose joints: pivot, rod; forces: air drag"),
        (lambda: run.plot.path("elbow"), "no body 'elbow' to trace; bodies: bob"),
        (lambda: run.plot.path(plane="zx"), "plane is 'zx'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            draw()


def test_plots_leave_the_session_of_matplotlib_alone(tmp_path):
    code = (
        "import sys, numpy as np; from dalembert.simulation.trajectory import Trajectory\n"
        "v = dict(time=[0.0, 1.0], position=np.zeros((2, 1, 3)), orientation=[[[1.0, 0, 0, 0]]] * 2)\n"
        "v |= dict(kinetic=[0, 1], potential=[1, 0])\n"
        "Trajectory.from_arrays(v, bodies=['a']).plot.energy().savefig(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "energy.svg")], check=True)
    assert (tmp_path / "energy.svg").stat().st_size > 1000


def test_the_still_picture_is_not_blank(run, tmp_path):
    still(run, tmp_path / "still.png", time=2.2)
    picture = matplotlib.image.imread(tmp_path / "still.png")
    assert picture.shape[:2] == (900, 1200)
    assert ((picture[..., 0] - picture[..., 2]) > 0.3).sum() > 2000  # the orange box
    assert ((picture[..., 2] - picture[..., 0]) > 0.3).sum() > 2000  # the blue bob
