"""Bodies that are jammed between things that move by command: the converging solver ends early, and where bodies can still
give way it does not."""

import numpy as np
import pytest

import dalembert as dal


def point_velocity(x, y, z):
    """(n, t, s) velocities of the point (x, y, z) of a body; the normal is the first axis."""
    return np.hstack([np.eye(3), -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])])


def row_of_cubes(cubes, closing, last_wall=True):
    """(M, J, offset) of cubes of 2 kg in a row. The wall before the first one moves towards it; one behind the last rests."""
    masses = np.kron(np.eye(cubes), np.diag([2.0, 2.0, 2.0, 1 / 3, 1 / 3, 1 / 3]))
    jacobian, offset = [], []
    for k in range(cubes + 1 if last_wall else cubes):
        for y, z in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)):
            rows = np.zeros((3, 6 * cubes))
            if k < cubes:
                rows[:, 6 * k : 6 * k + 6] += point_velocity(-0.5, y, z)
            if k > 0:
                rows[:, 6 * k - 6 : 6 * k] -= point_velocity(0.5, y, z)
            jacobian.append(rows)
            offset.append([-closing if k == 0 else 0.0, 0.0, 0.0])
    return masses, np.vstack(jacobian), np.ravel(offset)


@pytest.mark.parametrize("cubes", [1, 2, 5, 10])
def test_cubes_between_walls_that_close_end_the_solver_early(cubes):
    masses, jacobian, offset = row_of_cubes(cubes, 1.0)
    start = 0.01 * np.random.default_rng(0).normal(size=6 * cubes)
    solution = dal.solve_contact(masses, jacobian, start, 0.5, offset=offset)
    assert not solution.converged and "no solution" in solution.status
    assert solution.iterations < 120  # 190 and more before impulses were looked at


@pytest.mark.parametrize("cubes", [1, 5, 20])
@pytest.mark.parametrize("closing", [1e-3, 1.0, 1e3])
def test_cubes_that_can_give_way_do_give_way(cubes, closing):
    masses, jacobian, offset = row_of_cubes(cubes, closing, last_wall=False)
    solution = dal.solve_contact(masses, jacobian, np.zeros(6 * cubes), 0.5, offset=offset)
    assert solution.converged
    np.testing.assert_allclose(solution.velocity[::6], closing, rtol=1e-6)


def test_a_heavy_body_behind_a_light_one_is_no_wall():
    """It is pushed away, although the impulses balance on the light one to a part in 10⁸."""
    masses, jacobian, offset = row_of_cubes(2, 1.0, last_wall=False)
    masses[6:, 6:] *= 1e8
    solution = dal.solve_contact(masses, jacobian, np.zeros(12), 0.5, offset=offset)
    assert solution.converged
    np.testing.assert_allclose(solution.velocity[[0, 6]], 1.0, rtol=1e-6)


def squeeze(friction, restitution, **settings):
    """A box between two jaws that close by half a millimetre too much on each side, and rise. Returns the run."""
    scene = dal.Scene("vice", material=dal.Material(friction, restitution))
    scene.add_obstacle("floor", dal.HalfSpace())
    for name, x in (("left", -0.127), ("right", 0.127)):
        scene.add_body(name, dal.Box(0.05, 0.2, 0.2), motion="set", position=(x, 0, 0.12))
    scene.add_body("box", dal.Box(0.2, 0.15, 0.2), mass=1.0, position=(0, 0, 0.1))
    run = dal.Simulation(scene, **settings)
    for x, z, time in ((0.05, 0.0, 0.05), (0.0, 0.1, 0.1)):
        run.set_motion("left", velocity=(x, 0, z))
        run.set_motion("right", velocity=(-x, 0, z))
        run.advance(time)
    return run


@pytest.mark.filterwarnings("ignore::dalembert.SimulationWarning")
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("friction", [0.0, 0.3, 0.8])
@pytest.mark.parametrize(
    "settings",
    [{"dt": 1e-3}, {"dt": 2e-3}, {"dt": 1e-3, "coordinates": "joint"}, {"dt": 1 / 240, "solver": "converging"},
     {"dt": 1e-3, "solver": "converging"}],
    ids=str,
)  # fmt: skip
def test_jaws_that_close_too_far_do_not_shoot_out_what_they_hold(settings, friction, restitution):
    """The faces are parallel but for rounding, and there are velocities that satisfy the law: thousands of metres a second
    along the faces. They are no result; the box stays, overlaps, and the steps count as unsolved."""
    run = squeeze(friction, restitution, **settings)
    box = run["box"]
    assert np.abs(box.position - (0, 0, 0.1)).max() < 0.02
    assert np.linalg.norm(box.velocity) < 0.2
    assert run.report.contact.unsolved > 0
    assert run.report.contact.penetration < 2e-3
