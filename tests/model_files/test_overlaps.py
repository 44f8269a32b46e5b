"""Links of a URDF that overlap at its zero pose do not collide with each other; others do."""

import numpy as np
import pytest

import dalembert as dal

LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{shape}</geometry></collision></link>
<joint name="{name} joint" type="continuous"><parent link="{parent}"/><child link="{name}"/><origin xyz="{at}" rpy="{turn}"/>
<axis xyz="0 1 0"/></joint>"""
BOX, BALL, ROD = '<box size="0.2 0.2 0.2"/>', '<sphere radius="0.1"/>', '<cylinder radius="0.1" length="0.4"/>'


def robot(folder, *links):
    """A fixed base with a box, and links (name, parent, shape, place[, turn]) at the ends of joints."""
    base = f'<link name="base"><collision><geometry>{BOX}</geometry></collision></link>'
    text = "".join(
        LINK.format(name=name, parent=parent, shape=shape, at=at, turn=turn[0] if turn else "0 0 0")
        for name, parent, shape, at, *turn in links
    )
    file = folder / "robot.urdf"
    file.write_text(f'<robot name="r">{base}{text}</robot>')
    return dal.load_model(file)


def parted(model):
    lines = [str(warning) for warning in model.warnings if "not collide" in str(warning)]
    off = {frozenset((rule.a, rule.b)) for rule in model.scene.contact_rules if not rule.enabled}
    return lines, off


def test_links_that_overlap_pass_through_each_other_and_are_named(tmp_path):
    model = robot(tmp_path, ("a", "base", BOX, "1 0 0"), ("b", "a", BOX, "1 0 0"), ("c", "b", BOX, "-0.9 0 0"))
    (line,), off = parted(model)
    assert "1 pair of links overlaps" in line and "'a' and 'c'" in line and "robot.urdf" in line
    assert frozenset("ac") in off
    assert dal.Simulation(model.scene, dt=1e-3).advance(0.01).trajectory["penetration"].values.max() < 1e-3


@pytest.mark.parametrize(
    ("shape", "at", "turn", "overlap"),
    [
        (BALL, "-1.85 0 0", "0 0 0", True),  # into the side of a box
        (BALL, "-1.82 0.18 0", "0 0 0", False),  # its box overlaps at an edge, it does not
        (ROD, "-1.72 0 0", "0 1.5708 0", True),
        (ROD, "-1.72 0 0", "0 0 0", False),
        (BOX, "-1.8 0 0", "0 0 0", False),  # faces that touch
        (BOX, "-1.77 0 0", "0 0 0.7854", True),  # a corner reaches further than a side
    ],
)
def test_it_is_the_shapes_that_count(shape, at, turn, overlap, tmp_path):
    """Link c hangs on b, which is 2 m from the box a, with half sides of 0.1 m."""
    model = robot(tmp_path, ("a", "base", BOX, "0 0 1"), ("b", "base", BALL, "2 0 1"), ("c", "b", shape, at, turn))
    lines, off = parted(model)
    assert (frozenset("ac") in off) == overlap == bool(lines)


def test_the_base_counts_and_neighbours_are_not_named(tmp_path):
    model = robot(tmp_path, ("a", "base", BOX, "0.05 0 0"), ("b", "a", BALL, "0.02 0 0"))
    (line,), off = parted(model)
    assert "'b' and 'base/collision'" in line and "'a' and 'b'" not in line
    assert any({"b", "base/collision"} == set(pair) for pair in off)


def test_many_links_are_not_searched(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.io.build.MOST_LINKS", 2)
    model = robot(tmp_path, ("a", "base", BOX, "1 0 0"), ("b", "a", BOX, "1 0 0"), ("c", "b", BOX, "-0.9 0 0"))
    assert any("are not checked" in str(warning) for warning in model.warnings) and parted(model)[0] == []
    assert np.isfinite(model.scene.bodies["c"].mass)
