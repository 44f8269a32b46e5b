"""Figures are drawn from a run, and the still picture shows its bodies."""

import matplotlib
import numpy as np
import pytest
from conftest import HOSTILE

from dalembert.trajectory import Trajectory
from dalembert.view.plots import plot_energy, plot_joint_errors, plot_phase, plot_reaction
from dalembert.view.still import still


def test_figures_show_what_was_recorded(run, tmp_path):
    energy = plot_energy(run)
    assert [text.get_text() for text in energy.axes[0].get_legend().get_texts()] == [
        "kinetic", "potential", "work: air drag", "kinetic + potential",
    ]  # fmt: skip
    np.testing.assert_array_equal(energy.axes[1].lines[0].get_ydata(), run.balance.values)
    assert plot_joint_errors(run).axes[0].get_yscale() == "log"
    assert len(plot_reaction(run, "pivot").axes) == 2
    phase = plot_phase(run, HOSTILE)
    assert len(phase.axes) == 3
    for figure in (energy, phase):
        figure.savefig(tmp_path / "figure.png")


def test_the_still_picture_is_not_blank(run, tmp_path):
    still(run, tmp_path / "still.png", time=2.2)
    picture = matplotlib.image.imread(tmp_path / "still.png")
    assert picture.shape[:2] == (900, 1200)
    assert ((picture[..., 0] - picture[..., 2]) > 0.3).sum() > 2000  # the orange box
    assert ((picture[..., 2] - picture[..., 0]) > 0.3).sum() > 2000  # the blue bob


def test_what_was_not_recorded_is_said(run):
    keep = ("time", "position", "orientation", "kinetic", "potential")
    bare = Trajectory.from_arrays({name: run[name].values for name in keep}, bodies=run.bodies)
    assert len(plot_energy(bare).axes) == 1
    with pytest.raises(ValueError, match="no joint errors"):
        plot_joint_errors(bare)
    with pytest.raises(ValueError, match="no momentum"):
        plot_phase(bare, "bob")
    with pytest.raises(KeyError, match="no joint is called 'elbow'"):
        plot_reaction(run, "elbow")
