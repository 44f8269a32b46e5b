"""Runs by iterative solvers of their constraint system, and the system laid open."""

import json

import numpy as np
import pytest
import scipy.sparse.linalg as scipy_solvers

import dalembert as dal
from dalembert import IterativeSolver, Simulation, SimulationError, Trajectory, gallery
from dalembert.cli import app
from dalembert.cli.commands import REFUSED
from dalembert.linalg.iterative import SOLVERS

STEPS = {"method": "rk4", "dt": 1e-3, "frame_rate": 20.0}
SCENES = ("double-pendulum", "rope", "trebuchet")


def run(name, duration=0.1, **settings):
    return Simulation(gallery.load(name).build(), **{**STEPS, **settings}).advance(duration)


def motion(simulation):
    return simulation.trajectory.state.values[-1][: 13 * len(simulation.model.body_names)]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("solver", ("bicgstab", "conjugate_gradient", "minres"))
def test_motion_does_not_depend_on_the_solver(scene, solver):
    direct, iterative = run(scene), run(scene, constraint_solver=solver)
    size = np.abs(motion(direct)).max()
    np.testing.assert_allclose(motion(iterative), motion(direct), atol=1e-9 * size)
    assert iterative.report.joint_error < 1e-12
    assert iterative.report.solver.residual < 1e-8


@pytest.mark.parametrize("solver", ("gauss_seidel", "jacobi"))
def test_stationary_iterations_come_to_the_same_motion(solver):
    way = IterativeSolver(solver, iterations=20_000)
    direct, iterative = run("double-pendulum", 0.02), run("double-pendulum", 0.02, constraint_solver=way)
    np.testing.assert_allclose(motion(iterative), motion(direct), atol=1e-9)


@pytest.mark.parametrize("equilibration", ("alg3", "mc64", "ruiz"))
@pytest.mark.parametrize("preconditioner", ("none", "incomplete"))
def test_equilibrated_solvers_come_to_the_same_motion(preconditioner, equilibration):
    way = IterativeSolver("bicgstab", preconditioner, equilibration)
    direct, iterative = run("trebuchet", 0.03), run("trebuchet", 0.03, constraint_solver=way)
    size = np.abs(motion(direct)).max()
    np.testing.assert_allclose(motion(iterative), motion(direct), atol=1e-9 * size)


def test_equilibration_saves_iterations_where_rows_differ_in_size():
    plain, scaled = (
        run("trebuchet", 0.05, constraint_solver=IterativeSolver("bicgstab", "none", how)).report.solver.iterations
        for how in (None, "alg3")
    )
    assert scaled < 0.6 * plain


def test_a_warm_start_saves_iterations():
    warm, cold = (
        run(
            "rope", 0.05, constraint_solver=IterativeSolver("conjugate_gradient", warm_start=how)
        ).report.solver.iterations
        for how in (True, False)
    )
    assert warm < cold


def test_redundant_constraints_are_solved_by_conjugate_gradients():
    direct, iterative = run("four-bar"), run("four-bar", constraint_solver="conjugate_gradient")
    assert direct.report.redundant
    np.testing.assert_allclose(motion(iterative), motion(direct), atol=1e-8)
    assert iterative.report.joint_error < 1e-11


def test_contact_steps_take_any_solver():
    scene = gallery.load("siege").build()
    settings = {"method": "time_stepping", "dt": 1e-3, "frame_rate": 20.0}
    direct = Simulation(scene, **settings).advance(0.1)
    iterative = Simulation(scene, constraint_solver=IterativeSolver("bicgstab", tolerance=1e-12), **settings).advance(
        0.1
    )
    np.testing.assert_allclose(motion(iterative), motion(direct), atol=1e-6 * np.abs(motion(direct)).max())


@pytest.mark.parametrize("scene", SCENES)
def test_the_matrix_for_scipy_is_that_of_the_run(scene):
    simulation = run(scene, 0.05)
    system = simulation.constraint_system()
    dense = system.matrix.toarray()
    assert dense.shape == (simulation.model.graph.rows,) * 2
    np.testing.assert_allclose(dense, dense.T, atol=1e-12 * np.abs(dense).max())
    assert np.linalg.eigvalsh(dense)[0] > 0.0
    assert system.residual < 1e-11
    np.testing.assert_allclose(
        scipy_solvers.spsolve(system.matrix.tocsc(), system.b), system.multipliers,
        atol=1e-9 * np.abs(system.multipliers).max(),
    )  # fmt: skip
    np.testing.assert_array_equal(dense, simulation.constraint_matrix().toarray())


def test_solvers_find_on_the_matrix_for_scipy_what_scipy_finds():
    system = run("trebuchet", 0.05).constraint_system()
    expected = scipy_solvers.spsolve(system.matrix.tocsc(), system.b)
    for solver in SOLVERS[:3]:
        found = dal.solve_linear(system.matrix, system.b, IterativeSolver(solver, tolerance=1e-12))
        assert found.solved
        np.testing.assert_allclose(found.x, expected, atol=1e-6 * np.abs(expected).max())


def test_the_kernel_assembles_the_same_matrix():
    simulation = run("trebuchet", 0.05, constraint_solver="bicgstab")
    tables = simulation._constraint_solver._system.tables
    simulation.recorder.record(simulation.time, simulation._y)  # evaluates the state in the run's own tables
    rows = np.repeat(np.arange(len(tables.starts) - 1), np.diff(tables.starts))
    kernel = np.zeros((len(tables.b), len(tables.b)))
    kernel[rows, tables.columns] = tables.values
    np.testing.assert_allclose(kernel, simulation.constraint_matrix().toarray(), atol=1e-13)


def test_what_was_let_go_is_left_out():
    simulation = run("trebuchet", 0.05)
    before = simulation.constraint_system()
    simulation.release("sling")
    after = simulation.constraint_system()
    assert "sling" in before.joints and "sling" not in after.joints
    keep = np.array(before.joints) != "sling"
    np.testing.assert_allclose(after.matrix.toarray(), before.matrix.toarray()[np.ix_(keep, keep)], atol=1e-15)
    assert after.residual < 1e-12


def test_a_chain_is_eliminated_without_fill_and_a_loop_of_hubs_is_told():
    order = run("rope", 0.01).constraint_system().elimination
    assert not order.fill and len(order.blocks) == len(order.nodes) - 1
    hubs = run("trebuchet", 0.01).constraint_system().elimination
    assert "frame" in hubs.nodes and not hubs.fill
    scene = dal.Scene("ring")
    angles = 2.0 * np.pi * np.arange(8) / 8
    bodies = [
        scene.add_body(f"link {k}", dal.Sphere(0.05), mass=1.0, position=(np.cos(a), np.sin(a), 0.0))
        for k, a in enumerate(angles)
    ]
    for k in range(8):
        scene.ball(
            f"joint {k}", bodies[k], bodies[(k + 1) % 8], at=0.5 * (bodies[k].position + bodies[(k + 1) % 8].position)
        )
    ring = Simulation(scene).constraint_system().elimination
    assert len(ring.fill) == 5  # a cycle of n nodes costs n − 3 blocks


def test_conditions_over_time_are_those_of_the_matrices():
    simulation = run("double-pendulum", 0.2)
    found = simulation.conditions()
    assert found.dims == ("time",) and len(found) == len(simulation.trajectory)
    assert found.values[-1] == pytest.approx(np.linalg.cond(simulation.constraint_matrix().toarray(), 1), rel=1e-8)
    assert (simulation.conditions("alg3").values < found.values).all()
    assert (run("four-bar", 0.05).conditions().values > 1e15).all()
    with pytest.raises(ValueError, match="equilibration must be"):
        simulation.conditions("lu")


def test_iterations_and_residuals_are_recorded_and_kept_in_files(tmp_path):
    simulation = run("rope", 0.1, constraint_solver="conjugate_gradient")
    saved = Trajectory.load(simulation.trajectory.save(tmp_path / "rope.nc"))
    assert (saved["solver_iterations"].values[1:] > 1.0).all()
    residuals = saved["solver_residual"].values[1:]
    assert ((residuals > 0.0) & (residuals < 1e-9)).all()
    assert json.loads(saved.attrs["settings"])["constraint_solver"] == "conjugate_gradient, block jacobi"
    lines = dict(simulation.report.rows())
    assert "iterations each" in lines["constraint system"]
    assert simulation.report.as_dict()["solver"]["unsolved"] == 0


@pytest.mark.filterwarnings("ignore:the constraint solver bicgstab")  # it is to miss its tolerance
def test_a_solver_that_misses_its_tolerance_is_counted_or_ends_the_run():
    few = IterativeSolver("bicgstab", iterations=20)
    assert run("rope", 0.01, constraint_solver=few).report.solver.unsolved > 0
    with pytest.raises(
        SimulationError, match=r"'bicgstab': the largest number of iterations .* worst at joint '(joint|knot)"
    ):
        run("rope", 0.01, constraint_solver=few, stop_unsolved=True)


def test_a_constraint_that_holds_nothing_is_named():
    scene = dal.Scene("nothing")
    scene.gravity = (0.0, 0.0, 0.0)
    one = scene.add_body("one", dal.Sphere(0.1), mass=1.0)
    scene.constraint("idle", [one], lambda x, q: np.array([0.0 * x[0, 0]]), 1)
    for solver in ("bicgstab", "ldl"):
        with pytest.raises((SimulationError, ValueError), match="'idle'"):
            Simulation(scene, constraint_solver=solver).advance(0.1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"constraint_solver": "cg"}, "unknown constraint_solver 'cg'"),
        ({"constraint_solver": "minres", "coordinates": "joint"}, "coordinates='joint'"),
        ({"constraint_solver": "minres", "hold": "penalty", "stiffness": 1e6}, "hold='penalty'"),
    ],
)
def test_solvers_that_cannot_be_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        run("double-pendulum", **settings)


def test_scenes_without_a_system_say_so():
    free = dal.Scene("free")
    free.add_body("ball", dal.Sphere(0.1), mass=1.0)
    assert Simulation(free, constraint_solver="minres").advance(0.1).report.solver is None
    with pytest.raises(ValueError, match="has no joint"):
        Simulation(free).constraint_system()
    with pytest.raises(ValueError, match="joint coordinates"):
        run("double-pendulum", coordinates="joint").constraint_matrix()


def test_the_picture_shows_both_patterns(tmp_path):
    figure = run("trebuchet", 0.01).constraint_system().plot()
    left, right = figure.axes[:2]
    assert "40 rows" in left.get_title() and "13 nodes" in right.get_title()
    assert sum(len(collection.get_paths()) for collection in right.collections) == 13 + 17
    figure.savefig(tmp_path / "pattern.png")


def test_the_command_compares_all_solvers(capsys):
    words = ["solvers", "double-pendulum", "--method", "rk4", "--dt", "0.001", "--duration", "0.005", "--json"]
    assert app(words, result_action="return_value") == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 12 and rows[0]["solver"] == "ldl"
    assert {row["solver"].split(",")[0] for row in rows} == {"ldl", *SOLVERS}
    assert all(row["joint_error"] < 1e-12 and row["linear_time"] > 0.0 for row in rows)
    assert app(["solvers", "bouncing-ball"], result_action="return_value") == REFUSED
    assert "has no joint" in capsys.readouterr().err
