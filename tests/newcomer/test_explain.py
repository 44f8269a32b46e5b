"""`run.explain()` names what failed or was doubtful, where, and what to try; what it says is compared with the record."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dal
from articulated import linkages


def failed(scene, duration, **settings):
    """The run that failed, from its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dal.SimulationWarning)
        with pytest.raises(dal.SimulationError) as caught:
            dal.simulate(scene, duration, **settings)
    return caught.value.simulation


def finished(scene, duration, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dal.SimulationWarning)
        return dal.simulate(scene, duration, **settings)


def windy(function):
    scene = dal.Scene("windy")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.external_force("wind", "ball", function=function)
    return scene


def broken(t, x, q, v, w):
    if t > 0.045:
        raise ZeroDivisionError("no air")
    return (0.0, 0.0, 0.0)


def heavy_on_light():
    scene = dal.Scene("heavy on light", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    for i, mass in enumerate((1.0, 1.0, 1000.0)):
        scene.add_body(f"box {i}", dal.Box(1, 1, 1), mass=mass, position=(0.3 * i, 0, 0.5 + i), velocity=(0.3, 0, 0))
    return scene


def test_a_function_that_raises():
    run = failed(windy(broken), 0.1, method="rk4", dt=0.01)
    found = run.explain()
    (finding,) = found.findings
    assert found.failed and found.time == run.time == pytest.approx(0.04)
    assert "wind" in finding.what and "ZeroDivisionError" in finding.what
    assert finding.where["acts on"] == "ball" and "test_explain.py" in finding.where["line"]
    assert "raise ZeroDivisionError" in finding.where["line"] and "wind" in finding.ways[0]


def test_a_function_that_returns_no_number():
    run = failed(windy(lambda t, x, q, v, w: (np.nan if t > 0.3 else 0.0, 0.0, 0.0)), 1.0)
    (finding,) = run.explain().findings
    assert "'wind' returned [nan" in finding.where["function"] and "'ball'" in finding.where["body"]
    assert "finite numbers" in finding.ways[0]


def test_a_step_beyond_the_stability_limit_of_a_spring():
    scene = dal.Scene("stiff")
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, -1.1))
    scene.spring("coil", dal.WORLD, "bob", (0, 0, 0), (0, 0, -1.1), stiffness=1e7, rest=1.0)
    run = failed(scene, 20.0, method="rk4", dt=0.01)
    (finding,) = run.explain().findings
    assert "'coil'" in finding.where["stiffest force"] and "'bob'" in finding.where["body"]
    limit = float(finding.ways[0].split("dt below ")[1].split(" s")[0])
    assert limit == pytest.approx(2.83 / np.sqrt(1e7), rel=0.05)  # that of rk4: ω h = 2.83
    assert finished(scene, 0.1, method="rk4", dt=0.9 * limit).explain().failed is False


def test_joints_that_cannot_be_closed():
    scene = dal.Scene("coarse")
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    scene.hinge("pivot", dal.WORLD, "bob", (0, 0, 0), (0, 1, 0))
    run = failed(scene, 10.0, method="euler", dt=0.05)
    (finding,) = run.explain().findings
    assert finding.where["joint"] == "hinge 'pivot' of 'world' and 'bob'"
    assert float(finding.where["residual"].split()[0]) > 0.1  # it is a bob on an arm of 1 m
    assert "pivot" in finding.where and "smaller dt than 0.05 s" in finding.ways[0]


def test_a_joint_that_projection_leaves_open():
    """A four-bar with one hinge askew: it is locked, by constraints that are nearly dependent."""
    run = finished(linkages.four_bar(Rotation.identity(), speed=0.0, tilt=1e-4), 0.1, method="rk4", dt=1e-3)
    (finding,) = run.explain().findings
    errors = run.trajectory.joint_error.values[-1]
    name = run.model.joint_names[int(np.argmax(errors))]
    assert repr(name) in finding.where["joint"] and finding.where["residual"] == f"{errors.max():.3g} m"
    assert float(finding.where["pivot"].split(",")[0]) < 1e-6
    assert "misalignment" in finding.ways[0]


def test_contact_that_a_budget_left_unsolved():
    settings = {"dt": 1 / 240, "iterations": 2}
    run = finished(heavy_on_light(), 0.5, **settings)
    found, report = run.explain(), run.report.contact
    finding = found.findings[0]
    assert not found.failed and report.unsolved > 10
    assert finding.where["contact"] == report.where and f"{report.residual:.3g} m/s" in finding.where["residual"]
    assert any("iterations=2" in way for way in finding.ways) and any("converging" in way for way in finding.ways)
    assert sum("missed its tolerance" in each.what for each in found.findings) == 1
    stopped = failed(heavy_on_light(), 0.5, stop_unsolved=True, **settings).explain()
    assert stopped.failed and "stop_unsolved=False" in stopped.findings[0].ways[-1]
    assert "residual" in stopped.findings[0].where
    solved = finished(heavy_on_light(), 0.5, dt=1 / 240, solver="converging").explain()
    assert not any("missed its tolerance" in each.what for each in solved.findings)


def test_energy_that_the_steps_lose():
    scene = dal.Scene("coarse orbit", gravity=(0, 0, 0))
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0), velocity=(0, 1, 0))
    scene.spring("tether", dal.WORLD, "bob", (0, 0, 0), (1, 0, 0), stiffness=1.0, rest=0.0)
    run = finished(scene, 20.0, method="midpoint", dt=0.3)
    (finding,) = [each for each in run.explain().findings if "energy" in each.what]
    assert float(finding.where["error"].split()[0]) == pytest.approx(run.report.energy_residual, rel=1e-2)
    exact = finished(scene, 20.0, method="dop853", rtol=1e-10)
    assert exact.explain().findings == ()


def test_what_was_warned_of_at_the_start_and_what_is_well():
    scene = dal.Scene("room", material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1000.0, position=(0, 0, 0.3))
    found = finished(scene, 0.1, dt=0.01).explain()
    assert any("'box' and 'floor' by 0.2 m" in each.what and "Move them" in str(each.ways) for each in found.findings)
    well = finished(windy(lambda t, x, q, v, w: (0.0, 0.0, 0.0)), 0.1)
    assert well.explain().findings == () and "Nothing failed" in str(well.explain())


def test_a_restarted_run_has_not_failed():
    run = failed(windy(broken), 0.1, method="rk4", dt=0.01)
    assert run.explain().failed
    assert not run.restart().explain().failed


def test_it_is_plain_data_and_text():
    found = failed(windy(broken), 0.1, method="rk4", dt=0.01).explain()
    data = found.as_dict()
    assert data["failed"] is True and data["findings"][0]["where"]["time"] == "0.04 s"
    text = str(found)
    assert text.count("\n  try: ") == len(found.findings[0].ways) and max(map(len, text.splitlines()[:3])) < 120
