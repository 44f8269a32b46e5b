"""Sweeps: what the dataset holds, seeds, samples, and what is refused."""

import numpy as np
import pytest

import dalembert as dal

from .scenes import SETTINGS, ball, drop, thrown, troubled

G = 9.81


def serial(build, over, duration=0.5, **more):
    return dal.sweep(build, over, duration, **({"how": "serial"} | SETTINGS | more))


def test_a_grid_gives_parameters_by_time_by_body():
    found = serial(ball, {"height": [1.0, 2.0, 5.0], "speed": np.array([0.0, 3.0])})
    assert found.position.dims == ("height", "speed", "time", "body", "xyz")
    place = found.position.sel(height=5.0, speed=3.0, body="ball")
    t = found.time.values
    np.testing.assert_array_equal(t, np.arange(11) / 20.0)
    np.testing.assert_allclose(place.sel(xyz="x"), 3.0 * t, atol=1e-12)
    np.testing.assert_allclose(place.sel(xyz="z"), 5.0 - 0.5 * G * t**2, atol=1e-12)
    assert (found.status == "done").all() and (found.steps == 50).all() and float(found.end_time.min()) == 0.5
    assert found.position.attrs["units"] == "m"


def test_every_member_is_the_run_alone_to_the_last_bit():
    found = serial(ball, {"height": [1.0, 2.0], "speed": 1.5})
    assert found.position.dims[0] == "height" and float(found.speed) == 1.5
    alone = dal.simulate(ball(2.0, 1.5), 0.5, **SETTINGS).trajectory
    np.testing.assert_array_equal(found.position.sel(height=2.0).values, alone.position.values)
    assert found.final_state_hash.sel(height=2.0).item() == alone.attrs["final_state_hash"]


def test_settings_of_the_run_are_varied_like_parameters():
    found = serial(ball, {"dt": [0.01, 0.005], "duration": [0.2, 0.4]}, None)
    assert found.steps.values.tolist() == [[20, 40], [40, 80]]
    assert found.time.values[-1] == 0.4
    assert np.isnan(found.kinetic.sel(duration=0.2).values[:, -1]).all()
    assert not np.isnan(found.kinetic.sel(duration=0.4).values).any()


def test_samples_are_members_with_their_parameters_as_coordinates():
    samples = [{"height": 1.0, "speed": 2.0}, {"height": 3.0, "speed": -1.0}]
    found = serial(ball, samples)
    assert found.position.dims[0] == "member" and found.speed.values.tolist() == [2.0, -1.0]
    pandas = pytest.importorskip("pandas")
    table = serial(ball, pandas.DataFrame(samples))
    assert (table.final_state_hash == found.final_state_hash).all()


def test_each_member_has_a_seed_of_its_own_from_one_root():
    first, again = (serial(thrown, {"height": [1.0, 2.0]}, repeat=3, seed=5) for _ in range(2))
    assert first.seed.dims == ("height", "repeat") and len(np.unique(first.seed)) == 6
    assert len(np.unique(first.kinetic[..., 0])) == 6
    assert (first.final_state_hash == again.final_state_hash).all()
    other = serial(thrown, {"height": [1.0, 2.0]}, repeat=3, seed=6)
    assert not np.intersect1d(first.seed, other.seed).size
    chosen = serial(thrown, {"seed": [1, 2]})
    assert chosen.position.dims[0] == "seed"


def test_functions_of_the_run_say_what_is_kept():
    def speeds(run):
        return {"speed at the end": np.linalg.norm(run.state.velocity[0]), "last": run.state.position[0]}

    found = serial(ball, {"height": [1.0, 2.0]}, keep=[drop, speeds])
    assert "position" not in found and "time" not in found.dims
    np.testing.assert_allclose(found["drop"], 0.5 * G * 0.25, atol=1e-12)
    np.testing.assert_allclose(found["speed at the end"], G * 0.5, atol=1e-12)
    np.testing.assert_allclose(found["last"].sel(height=2.0), [0.0, 0.0, 2.0 - 0.5 * G * 0.25], atol=1e-12)


def test_members_that_fail_leave_what_they_recorded_and_say_why():
    found = serial(troubled, {"case": ["none", "raises", "exits", "breaks"]}, keep=["position", drop])
    assert found.status.values.tolist() == ["done", "failed", "failed", "failed"]
    errors = dict(zip(found.case.values, found.error.values, strict=True))
    assert errors["none"] == "" and "KeyError: 'no such thing'" in errors["raises"]
    assert "SystemExit" in errors["exits"] and "'wind'" in errors["breaks"] and "t = 0.24" in errors["breaks"]
    heights = found.position.sel(body="ball", xyz="z")
    assert np.isfinite(heights.sel(case="breaks").values).tolist() == [True] * 5 + [False] * 6
    assert np.isnan(heights.sel(case="raises").values).all()
    assert np.isfinite(found["drop"].values).tolist() == [True, False, False, False]


def test_a_function_that_fails_fails_its_member_only():
    def choosy(run):
        if run.state.position[0, 2] < 0.0:
            raise LookupError("it is under the ground")
        return 1.0

    found = serial(ball, {"height": [-1.0, 5.0]}, keep=["kinetic", choosy])
    assert found.status.values.tolist() == ["failed", "done"] and "under the ground" in found.error.values[0]
    assert np.isfinite(found.kinetic.values).all()  # what was recorded is kept
    assert np.isnan(found["choosy"].values).tolist() == [True, False]
    bad = serial(ball, {"height": [1.0]}, keep=lambda run: "tall")
    assert bad.status.item() == "failed" and "'tall'" in bad.error.item()


def test_what_does_not_fit_together_is_told_and_ends_nothing():
    def odd(run):
        high = run.state.position[0, 2] > 0.0
        return {"value": [1.0, 2.0] if high else 3.0, "z": run.trajectory.position.sel(body="ball", xyz="z")[-1]}

    found = serial(ball, {"height": [5.0, -1.0]}, keep=["position", odd])
    assert (found.status == "done").all() and "it is left out" in found.error.values[1]
    assert found["value"].values[0].tolist() == [1.0, 2.0] and np.isnan(found["value"].values[1]).all()


def test_what_is_kept_under_the_name_of_a_parameter_does_not_hide_it():
    found = serial(ball, {"height": [1.0, 2.0]}, keep=lambda run: {"height": run.state.position[0, 2], "steps": 7.0})
    assert found.height.values.tolist() == [1.0, 2.0] and (found.steps == 50).all() and (found.kept_steps == 7.0).all()
    np.testing.assert_allclose(found.kept_height, found.height - 0.5 * G * 0.25)


def test_scenes_of_different_bodies_share_one_dataset():
    def row(bodies):
        scene = dal.Scene("row")
        for i in range(bodies):
            scene.add_body(f"ball {i + 1}", dal.Sphere(0.1), mass=1.0, position=(i, 0, 0))
        return scene

    found = serial(row, {"bodies": [1, 3]})
    assert found.body.values.tolist() == ["ball 1", "ball 2", "ball 3"]
    assert np.isnan(found.position.sel(bodies=1, body="ball 2")).all()
    np.testing.assert_array_equal(found.position.sel(bodies=3, body="ball 3", xyz="x"), 2.0)


def test_a_run_that_an_event_stops_ends_in_nan_and_says_when():
    def until(height):
        scene = ball(height)
        scene.event("low", lambda t, y: y[2] - 0.5, direction=-1, stop=True)
        return scene

    found = serial(until, {"height": [1.0, 20.0]}, 1.0, dt=None, method="dop853")
    stop = np.sqrt(2.0 * 0.5 / G)
    np.testing.assert_allclose(found.end_time, [stop, 1.0], atol=1e-9)
    heights = found.position.sel(height=1.0, body="ball", xyz="z").values
    assert np.isfinite(heights).sum() == np.floor(stop * 20.0) + 1


@pytest.mark.parametrize(
    ("over", "more", "reason"),
    [
        ({"width": [1.0]}, {}, "ball has no parameter 'width'; its build\\(\\) takes height, speed"),
        ({"height": []}, {}, "'height' has no values"),
        ({"height": [1.0, 2.0, 1.0]}, {}, "'height' has the value 1.0 twice"),
        ([], {}, "there are no samples"),
        ([{"height": 1.0}, {"speed": 1.0}], {}, "sample 1 and sample 0 do not name the same parameters"),
        ([1.0], {}, "sample 0 is 1.0"),
        (3, {}, "over is 3"),
        ({"height": [1.0]}, {"repeat": 2}, "takes no seed"),
        ({"height": [1.0]}, {"repeat": 0}, "repeat is 0"),
        ({"height": [1.0]}, {"keep": "colour"}, "'colour' cannot be kept"),
        ({"height": [1.0]}, {"colour": "red"}, "there is no setting 'colour'"),
        ({"height": [1.0]}, {"duration": None}, "has no duration"),
        ({"height": [1.0]}, {"how": "magic"}, "how is 'magic'"),
        ({"height": [1.0]}, {"workers": 0}, "workers is 0"),
    ],
)
def test_what_cannot_be_swept_is_refused_with_the_reason(over, more, reason):
    with pytest.raises(ValueError, match=reason):
        serial(ball, over, **more)
    with pytest.raises(ValueError, match="seed is -1"):
        serial(thrown, {"height": [1.0]}, seed=-1)


def test_a_parameter_that_build_needs_must_be_given():
    with pytest.raises(ValueError, match="build\\(\\) of troubled needs case"):
        serial(troubled, {"dt": [0.01]})
