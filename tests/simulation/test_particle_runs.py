"""Runs of particles: events, resuming, failures, views on the state, files, and functions of the user."""

import numba
import numpy as np
import pytest

import dalembert as dal
from dalembert.scene import mesh_file as mesh_topology

METHODS = ["rk4", "splitting", "time_stepping", "linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"]


def sheet(**fields):
    """A cloth that hangs from two corners, and a particle beside it."""
    vertices, faces = mesh_topology.triangle_grid(1.0, 1.0, 4, 4)
    scene = dal.Scene("sheet")
    scene.add_particles("first", [[0, 0, 2.0], [0.3, 0, 2.0]], mass=0.1)
    scene.cloth(
        "flag",
        vertices,
        faces,
        density=0.3,
        stretch=300.0,
        shear=50.0,
        bend=0.01,
        damping=0.01,
        pinned=[0, 3],
        **fields,
    )
    scene.medium("air", linear=0.01)
    return scene


# Events ---------------------------------------------------------------------------------------------------------------


def pulled(kind):
    """A particle that one force pulls, which is let go at t = 0.5."""
    scene = dal.Scene("pulled", gravity=(0, 0, 0))
    scene.add_particles("p", [[0, 0, 0], [1, 0, 0], [0.4, 1, 0]], mass=1.0, velocity=[[0, 0, 0], [0, 0.3, 0], [0, 0, 0]],
                        pinned=[0])  # fmt: skip
    add = {
        "springs": lambda: scene.springs("force", "p", [[0, 1]], stiffness=3.0, rest=0.5),
        "areas": lambda: scene.areas("force", "p", [[0, 1, 2]], stiffness=30.0),
        "field": lambda: scene.field("force", acceleration=(1.0, 0, 0)),
        "function": lambda: scene.field("force", function=lambda t, x, v: (1.0, 0.0, v[1])),
        "medium": lambda: scene.medium("force", linear=0.8),
        "wind": lambda: scene.wind("force", "p", [[0, 1, 2]], velocity=(0, 0, 3.0)),
        "gravitation": lambda: scene.gravitation("force", constant=1.0),
        "repulsion": lambda: scene.repulsion("force", stiffness=5.0, diameter=1.5),
    }
    force = add[kind]()
    scene.event("now", lambda t, y: t - 0.5, release=force)
    return scene


KINDS = ["springs", "areas", "field", "function", "medium", "wind", "gravitation", "repulsion"]


@pytest.mark.parametrize("method", ["rk4", "implicit_midpoint"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_force_on_particles_is_let_go_by_an_event(kind, method):
    run = dal.simulate(pulled(kind), 1.0, method=method, dt=0.01, newton_tolerance=1e-12)
    assert run.released["force"] == pytest.approx(0.5, abs=1e-12)
    momentum, times = run.trajectory.particle_momentum.values, run.trajectory.times
    assert np.ptp(momentum[times <= 0.5 + 1e-9], axis=0).max() >= 0.05
    after = momentum[times > 0.5 + 1e-9]
    np.testing.assert_allclose(after, np.broadcast_to(after[0], after.shape), rtol=0, atol=1e-12)
    energy = (run.trajectory.kinetic + run.trajectory.potential).values[times > 0.5 + 1e-9]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-11)
    assert run.report.energy_residual_relative <= 1e-3
    dal.simulate(run.model, 0.1, method=method, dt=0.01)  # the model is as it was


def test_an_event_sees_particles_and_may_push_them():
    scene = dal.Scene("bounce")
    scene.add_particles("p", [[0, 0, 1.0]], mass=2.0)

    def bounce(state):
        state.particle_momentum[0, 2] *= -0.5

    scene.event("floor", lambda t, y: y[2], direction=-1, action=bounce, once=False)
    run = dal.simulate(scene, 0.6, rtol=1e-10)
    t = np.sqrt(2.0 / 9.81)
    assert run.event_times["floor"] == [pytest.approx(t, abs=1e-9)]
    speed = 0.5 * np.sqrt(2.0 * 9.81)
    assert run.state.particle_position[0, 2] == pytest.approx(speed * (0.6 - t) - 0.5 * 9.81 * (0.6 - t) ** 2, abs=1e-8)
    assert run.report.work["events"] == pytest.approx(-0.75 * 2.0 * 9.81, rel=1e-8)


# Parts of runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["time_stepping", "implicit_euler"])
def test_events_of_particles_and_bodies_in_steps_are_told_by_name(method):
    scene = dal.Scene("two fall")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.add_particles("dust", [[1.0, 0.0, 0.0]], mass=0.1)
    scene.event("ball", lambda t, y: y[2] + 0.5, direction=-1)
    scene.event("dust", lambda t, y: y[15] + 1.0, direction=-1)
    scene.event("end", lambda t, y: y[2] + 1.5, direction=-1, stop=True)
    dt = 1e-3
    run = dal.simulate(scene, 2.0, method=method, dt=dt)
    assert run.stopped
    for name, fall in (("ball", 0.5), ("dust", 1.0), ("end", 1.5)):
        assert run.event_times[name] == [pytest.approx(np.sqrt(2.0 * fall / 9.81), abs=1.01 * dt)]


@pytest.mark.parametrize("method", METHODS)
def test_two_runs_of_particles_agree_to_the_bit(method):
    states = []
    for _ in range(2):
        scene = sheet()
        scene.repulsion("push", stiffness=10.0, diameter=0.3)
        states.append(dal.simulate(scene, 0.2, method=method, dt=2e-3).trajectory.state.values)
    np.testing.assert_array_equal(states[0], states[1])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "bdf2"])
def test_a_saved_run_of_particles_is_resumed(method, tmp_path):
    settings = {"method": method, "dt": 2e-3, "frame_rate": 50}
    if method == "linear_implicit_euler":  # begins its solves from the step before, which is not saved
        settings["linear_solver"] = "direct"
    whole = dal.simulate(sheet(), 0.4, **settings)
    dal.simulate(sheet(), 0.2, **settings).trajectory.save(tmp_path / "half.nc")
    run = dal.Simulation(sheet(), **settings).resume(dal.Trajectory.load(tmp_path / "half.nc")).advance(0.2)
    assert run.time == pytest.approx(0.4, abs=1e-12)
    np.testing.assert_allclose(run.state.y, whole.state.y, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_a_push_between_two_parts(method):
    scene = dal.Scene("free", gravity=(0, 0, 0))
    scene.add_particles("p", [[0, 0, 0]], mass=2.0, velocity=(1, 0, 0))
    run = dal.Simulation(scene, method=method, dt=0.01).advance(0.5)
    run.state.particle_momentum[0] += [0, 4.0, 0]
    run.changed()
    run.advance(0.5)
    np.testing.assert_allclose(run.state.particle_position[0], [1.0, 1.0, 0], rtol=0, atol=1e-9)


def test_views_on_the_state_of_particles():
    scene = sheet()
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    run = dal.Simulation(scene, method="rk4", dt=1e-2)
    state = run.state
    assert state.particles("first") == slice(0, 2) and state.particles("flag") == slice(2, 18)
    np.testing.assert_array_equal(state.particle_position[state.particles("flag")], scene.particles["flag"].position)
    state.particle_momentum[1] = [0.0, 0.0, 0.5]
    np.testing.assert_allclose(state.particle_velocity[1], [0.0, 0.0, 5.0])
    assert run.state.y[13 + 54 + 5] == 0.5
    assert not state.particle_velocity[2].any()  # pinned
    with pytest.raises(ValueError, match=r"'sail'.*first, flag"):
        state.particles("sail")


def test_a_trajectory_of_particles_is_saved_and_loaded(tmp_path):
    run = dal.simulate(sheet(color="#112233"), 0.1, method="implicit_euler", dt=1e-2)
    run.trajectory.save(tmp_path / "sheet.nc")
    loaded = dal.Trajectory.load(tmp_path / "sheet.nc")
    for name in ("particle_position", "particle_momentum", "state", "work", "balance"):
        np.testing.assert_array_equal(getattr(loaded, name).values, getattr(run.trajectory, name).values)
    flag = loaded.particles("flag")
    assert flag.particle_position.shape == (7, 16, 3)
    np.testing.assert_array_equal(flag.particle_position.values, run.trajectory.particle_position.values[:, 2:])
    group = loaded.scene_description["particles"][1]
    assert (group["name"], group["first"], group["number"], group["color"]) == ("flag", 2, 16, "#112233")
    assert len(group["faces"]) == 18


# Failures -------------------------------------------------------------------------------------------------------------


def lone(**fields):
    scene = dal.Scene("lone", gravity=(0, 0, 0))
    scene.add_particles("still", [[5, 5, 5]], mass=1.0)
    scene.add_particles("dust", [[0, 0, 0], [1, 0, 0]], mass=1.0, **fields)
    return scene


@pytest.mark.parametrize("method", METHODS)
def test_a_function_that_fails_is_named_with_the_time_and_what_was_recorded_is_kept(method):
    def blow(t, x, v):
        if t > 0.25:
            raise ZeroDivisionError("the fan is off")
        return (1.0, 0.0, 0.0)

    scene = lone()
    scene.field("fan", "dust", function=blow)
    run = dal.Simulation(scene, method=method, dt=0.01, frame_rate=100)
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*'fan'.*fan is off") as caught:
        run.advance(1.0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) and caught.value.simulation is run
    assert 0.2 <= run.trajectory.times[-1] <= 0.26
    assert np.isfinite(run.trajectory.state.values).all()
    assert run.report.slow_functions == ["fan"]


@pytest.mark.parametrize("method", METHODS)
def test_a_force_that_is_no_number_names_the_particle(method):
    scene = lone()
    scene.field("odd", "dust", function=lambda t, x, v: (0.0, 0.0, np.nan if t > 0.25 and x[0] > 0.5 else 0.0))
    run = dal.Simulation(scene, method=method, dt=0.01, frame_rate=100)
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*not a number.*dust\[1\]"):
        run.advance(1.0)
    assert np.isfinite(run.trajectory.state.values).all() and run.trajectory.times[-1] >= 0.2


def test_a_run_that_diverges_names_the_particle():
    scene = lone(velocity=[[0, 0, 0], [0.1, 0, 0]])
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.field("growing", "dust", function=lambda t, x, v: (1e5 * x[0], 0.0, 0.0))
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(dal.SimulationError, match=r"particle.*dust\[1\]"):
        dal.simulate(scene, 100.0, method="euler", dt=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", ["gravitation", "electrostatics"])
def test_particles_at_one_place_are_named_with_their_law(law, method):
    scene = dal.Scene("crash", gravity=(0, 0, 0))
    scene.add_particles("sun", [[0, 0, 0], [3, 0, 0]], mass=1.0)
    scene.add_particles("dust", [[5, 0, 0], [3, 0, 0]], mass=1.0)
    scene.field("calm", acceleration=(0, 0, 0))
    if law == "gravitation":
        scene.gravitation("pull", constant=1e-3)
    else:
        scene.electrostatics("pull", charge=1e-6)
    with pytest.raises(dal.SimulationError, match=r"at t = 0 s particles sun\[1\] and dust\[1\].*'pull'.*softening"):
        dal.simulate(scene, 1.0, method=method, dt=0.1)


@pytest.mark.parametrize("method", ["rk4", "symplectic_euler", "linear_implicit_euler", "implicit_midpoint"])
def test_particles_that_come_to_one_place_are_named_with_the_time(method):
    """A pull too weak to move anything, and a step that meets the other particle exactly."""
    scene = dal.Scene("crash", gravity=(0, 0, 0))
    scene.add_particles("sun", [0, 0, 0], mass=1.0, pinned=True)
    scene.add_particles("dust", [1, 0, 0], mass=1.0, velocity=(-1, 0, 0))
    scene.gravitation("pull", constant=1e-200)
    run = dal.Simulation(scene, method=method, dt=0.25, frame_rate=4)
    with pytest.raises(dal.SimulationError, match=r"at t = (0\.75|1) s particles sun\[0\] and dust\[0\].*'pull'"):
        run.advance(2.0)
    assert run.trajectory.times[-1] >= 0.75


# Functions of the user ------------------------------------------------------------------------------------------------


def whirl(t, x, v):
    return (0.3 * v[1] - 0.1 * x[0], -0.3 * v[0], np.sin(t))


def breeze(t, x):
    return (1.0 + 0.5 * x[1], 2.0 * np.sin(3.0 * t), 0.0)


def newton(r):
    return (-0.02 / r, 0.02 / (r * r))


@pytest.mark.parametrize("method", ["rk4", "implicit_midpoint"])
def test_compiled_functions_give_the_runs_of_plain_ones(method):
    ends = []
    for wrap, slow in ((lambda f: f, ["whirl", "breeze", "newton"]), (numba.njit, [])):
        scene = sheet()
        scene.field("whirl", "first", function=wrap(whirl))
        scene.wind("breeze", "flag", function=wrap(breeze))
        scene.radial("newton", "first", function=wrap(newton))
        run = dal.simulate(scene, 0.1, method=method, dt=5e-3)
        assert run.report.slow_functions == slow
        assert run.report.work["whirl"] != 0.0 and run.report.work["breeze"] != 0.0
        ends.append(run.state.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_a_law_of_the_users_equals_gravitation(method):
    ends = []
    for custom in (False, True):
        scene = dal.Scene("stars", gravity=(0, 0, 0))
        x = np.random.default_rng(3).normal(size=(5, 3))
        scene.add_particles("stars", x, mass=1.0, velocity=0.1 * x[::-1])
        if custom:
            scene.radial("pull", function=newton)
        else:
            scene.gravitation("pull", constant=0.02)
        run = dal.simulate(scene, 0.5, method=method, dt=0.02, newton_tolerance=1e-13, linear_tolerance=1e-12)
        ends.append((run.state.particle_position.copy(), run.report.energy_start))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-9)
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-13)


@pytest.mark.parametrize("method", ["rk4", "time_stepping", "implicit_euler"])
def test_a_wind_of_the_users_that_blows_evenly_equals_the_wind(method):
    ends = []
    for fields in ({"velocity": (1.0, 2.0, 0.5)}, {"function": lambda t, x: (1.0, 2.0, 0.5)}):
        scene = sheet()
        scene.wind("wind", "flag", density=1.0, **fields)
        ends.append(dal.simulate(scene, 0.1, method=method, dt=2.5e-3, newton_tolerance=1e-13).state.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("add", [
    lambda scene: scene.field("odd", function=lambda t, x, v: (1.0, 2.0)),
    lambda scene: scene.radial("odd", function=lambda r: 1.0 / r),
    lambda scene: scene.wind("odd", "dust", [[0, 1, 2]], function=lambda t, x: (1.0,) * 4),
], ids=["field", "radial", "wind"])  # fmt: skip
@pytest.mark.parametrize("method", ["rk4", "implicit_euler"])
def test_a_function_that_returns_the_wrong_number_of_values_is_named(add, method):
    scene = dal.Scene("odd", gravity=(0, 0, 0))
    scene.add_particles("dust", np.eye(3), mass=1.0)
    add(scene)
    with pytest.raises(dal.SimulationError, match=r"t = 0 s the function of 'odd' failed.*shape"):
        dal.simulate(scene, 1.0, method=method, dt=0.1)


@pytest.mark.parametrize("method", ["rk4", "implicit_euler"])
def test_a_compiled_function_that_returns_the_wrong_number_of_values_is_named(method):
    scene = lone()
    scene.field("odd", function=numba.njit(lambda t, x, v: (1.0, 2.0)))
    with pytest.raises(
        ValueError, match=r"field 'odd': its function cannot be used: it returned numbers of shape \(2,\)"
    ):
        dal.simulate(scene, 1.0, method=method, dt=0.1)
