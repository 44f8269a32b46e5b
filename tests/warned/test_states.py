"""Every array of `run.state`: what is written to it changes the run, or is refused; nothing is lost without a word."""

import numpy as np
import pytest

import dalembert as dal

MASS = {"a": 2.0, "b": 0.5}
GRAINS = np.array([0.25, 0.5, 1.0])  # kg


def made(**settings):
    scene = dal.Scene("state", gravity=(0, 0, 0))
    scene.add_body("a", dal.Box(0.1, 0.2, 0.3), mass=2.0, orientation=(0.5, 0.1, -0.7, 0.3), angular_velocity=(1, 2, 3))
    scene.add_body("b", dal.Box(0.3, 0.1, 0.2), mass=0.5, position=(1, 0, 0), velocity=(0, 1, 0))
    scene.add_particles("grains", [[0, 0, 1], [1, 0, 1], [2, 0, 1]], mass=GRAINS, pinned=[0])
    return dal.Simulation(scene, **settings)


ARRAYS = [
    "position", "orientation", "momentum", "angular_momentum", "velocity", "angular_velocity", "particle_position",
    "particle_momentum", "particle_velocity",
]  # fmt: skip
ROW = {name: 1 for name in ARRAYS}  # one that is not pinned


def new_row(name):
    return np.array([0.5, 0.5, -0.5, 0.5]) if name == "orientation" else np.array([0.25, -1.0, 2.0])


def test_the_list_is_complete():
    found = {name for name, item in vars(dal.State).items() if isinstance(item, property)}
    assert found == {*ARRAYS, "y"}  # y is the whole state, in one array


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("way", ["row", "entries", "slice", "all", "assign", "add", "add to a row", "through a view"])
def test_writing_to_an_array_changes_the_state(name, way):
    run = made()
    state, wanted = run.state, np.array(getattr(run.state, name))
    array, row = getattr(state, name), new_row(name)
    before = run._y.copy()
    wanted[1] = row
    if way == "row":
        array[1] = row
    elif way == "entries":
        for k, value in enumerate(row):
            array[1, k] = value
    elif way == "slice":
        array[1:2] = row
    elif way == "all":
        array[:] = wanted
    elif way == "assign":
        setattr(state, name, wanted)
    elif way == "add":
        exec(f"state.{name} += change", {"state": state, "change": wanted - array})
    elif way == "add to a row":
        array[1] += row - array[1]
    else:
        view = array[1]
        view[:] = row
    np.testing.assert_allclose(getattr(run.state, name), wanted, rtol=1e-14, atol=1e-15)
    if way not in ("assign", "add"):  # which go by another array, where it follows from the momenta
        np.testing.assert_allclose(array, wanted, rtol=1e-14, atol=1e-15)
    changed = np.flatnonzero(run._y != before)
    assert 0 < len(changed) <= len(row) or way in ("assign", "add", "all")  # nothing else


@pytest.mark.parametrize("name", ["velocity", "angular_velocity", "particle_velocity"])
def test_other_rows_keep_their_bits(name):
    run = made()
    run.state.angular_momentum[0] = np.sqrt([2.0, 3.0, 5.0])
    run.state.momentum[0] = run.state.particle_momentum[2] = np.sqrt([7.0, 11.0, 13.0])
    before = run._y.copy()
    getattr(run.state, name)[1] = (1.0, 2.0, 3.0)
    assert np.count_nonzero(run._y != before) <= 3


def test_momenta_follow_velocities():
    run = made()
    state = run.state
    state.velocity = [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_allclose(state.momentum, [[2, 4, 6], [2, 2.5, 3]], rtol=1e-15)
    state.particle_velocity[1:] = (1, 0, 0)
    np.testing.assert_allclose(state.particle_momentum, [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]], rtol=1e-15)
    for index, body in enumerate(run.model.scene.bodies.values()):
        turn = body.rotation
        np.testing.assert_allclose(state.angular_velocity[index], body.angular_velocity, rtol=1e-13, atol=1e-14)
        state.angular_velocity[index] = (0.3, -2.0, 1.0)
        expected = turn @ body.inertia @ turn.T @ [0.3, -2.0, 1.0]
        np.testing.assert_allclose(state.angular_momentum[index], expected, rtol=1e-13)


@pytest.mark.parametrize(
    "write",
    [
        lambda state: np.add(state.velocity, 1.0, out=state.velocity),
        lambda state: state.velocity.fill(0.0),
        lambda state: np.copyto(state.angular_velocity, 0.0),
        lambda state: state.particle_velocity.__setitem__(0, 1.0),  # pinned
        lambda state: state.velocity.__setitem__(0, np.nan),
        lambda state: state.velocity.__setitem__((0, 1), np.inf),
        lambda state: setattr(state, "position", np.zeros((3, 3))),
        lambda state: setattr(state, "velocity", np.full((2, 3), np.nan)),
    ],
)
def test_what_cannot_be_written_raises_and_leaves_the_state(write):
    run = made()
    before = run._y.copy()
    state = run.state
    kept = state.velocity
    with pytest.raises(ValueError):
        write(state)
    assert (run._y == before).all() and (np.asarray(kept) == np.asarray(run.state.velocity)).all()


def test_names_that_are_none_are_refused():
    with pytest.raises(AttributeError):
        made().state.speed = 1.0
    with pytest.raises(ValueError, match="there is no body 'c'; bodies: a, b"):
        made().state.index("c")


def test_results_of_calculations_are_arrays_of_their_own():
    run = made()
    before = run._y.copy()
    double = 2.0 * run.state.velocity
    double[0] = 7.0
    double += 1.0
    copied = run.state.velocity.copy()
    copied[:] = 3.0
    assert (run._y == before).all() and double[0, 0] == 8.0 and copied[0, 0] == 3.0


@pytest.mark.parametrize("settings", [{"rtol": 1e-10}, {"method": "rk4", "dt": 1e-3}])
def test_a_run_notices_that_its_state_was_written_to(settings):
    """As if `changed` had been called: an adaptive method must not go on with the derivative of the state before."""
    told, silent, held = made(**settings), made(**settings), made(**settings)
    early = held.state
    for run in (told, silent, held):
        run.advance(0.1)
    told.state.velocity[1] = silent.state.velocity[1] = early.velocity[1] = (5.0, 0.0, 0.0)
    told.changed()
    for run in (told, silent, held):
        run.advance(0.1)
        assert run.by_hand == ["the state at t = 0.1 s"]
    assert told._y.tobytes() == silent._y.tobytes() == held._y.tobytes()


def test_reading_changes_no_bit():
    read, left = made(), made()
    for run in (read, left):
        for _ in range(3):
            if run is read:
                assert np.isfinite(run.state.velocity).all() and np.isfinite(run.state.angular_velocity).all()
            run.advance(0.1)
    assert read._y.tobytes() == left._y.tobytes() and read.by_hand == []


def test_what_a_controller_writes_counts():
    scene = made().model.scene
    push = lambda run: run.state.velocity.__setitem__(1, (2.0, 0.0, 0.0))  # noqa: E731
    run = dal.simulate(scene, 1.0, controller=push, control_rate=10.0)
    assert run.state.position[1, 0] == pytest.approx(1.0 + 2.0, abs=1e-9)


def test_a_state_that_cannot_be_is_named_and_orientations_are_made_unit():
    run = made()
    run.state.position[1, 2] = np.nan
    with pytest.raises(ValueError, match="state: position of body 'b' is"):
        run.advance(0.1)
    run.state.position[1, 2] = 0.0
    run.state.orientation[0] = (1.0, 1.0, 0.0, 0.0)
    run.advance(0.1)
    assert np.linalg.norm(run.state.orientation[0]) == pytest.approx(1.0, abs=1e-12)
    run.state.orientation[1] = 0.0
    with pytest.raises(ValueError, match="state: orientation of body 'b'"):
        run.advance(0.1)


def test_coordinates_and_speeds_of_joints_are_read_only():
    scene = dal.Scene("arm")
    scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.hinge("j", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    run = dal.Simulation(scene, coordinates="joint")
    for name in ("coordinates", "speeds"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(run, name)[0] = 1.0
