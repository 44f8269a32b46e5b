"""Free particles pass once over memory a step: what comes out is what the general step gives."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.model.tables import LEDGER

N = 23
ROUNDING = 1e-11  # of 50 steps: the general one takes velocities from differences of places of up to 10 m, over 5 ms


def scene_of(*, drag: bool, general: bool) -> dal.Scene:
    """Two groups in fields that reach over one or both, some of them pinned; with springs of no stiffness the step is the
    general one."""
    rng = np.random.default_rng(3)
    scene = dal.Scene("free", gravity=(0.3, -0.2, -9.81))
    a = scene.add_particles(
        "a", rng.normal(size=(N, 3)), mass=rng.uniform(0.5, 2.0, N), velocity=rng.normal(size=(N, 3))
    )
    pinned = np.arange(N) % 5 == 2
    v = np.where(pinned[:, None], 0.0, rng.normal(size=(N, 3)))
    scene.add_particles("b", rng.normal(size=(N, 3)), mass=rng.uniform(0.5, 2.0, N), velocity=v, pinned=pinned)
    scene.field("charge", "b", force=(0.4, 1.0, -0.3), acceleration=(0.0, 0.7, 0.0))
    scene.field("wind", force=(0.1, 0.0, 0.2))
    if drag:
        scene.medium("air", linear=0.2, quadratic=0.3, velocity=(1.0, 2.0, 0.0))
        scene.medium("water", "b", quadratic=0.5)
    if general:
        scene.springs("none", a, [[0, 1]], stiffness=0.0)
    return scene


def run_of(*, drag: bool, general: bool, **settings: float) -> dal.Simulation:
    return dal.Simulation(scene_of(drag=drag, general=general), method="time_stepping", dt=0.01, **settings)


def ledger_of(run: dal.Simulation) -> dict[str, float]:
    names = [*run.model.force_names, *LEDGER]
    return dict(zip(names, run._y[-len(names) :].tolist(), strict=True))


@pytest.mark.parametrize("drag", [False, True])
def test_one_pass_gives_what_the_general_step_gives(drag: bool) -> None:
    free, general = (run_of(drag=drag, general=kind).advance(0.5) for kind in (False, True))
    assert free._driver.report.solves == 0  # of linear systems, which the general step has one of
    assert general._driver.report.solves == 50
    assert free._driver.report.steps == 50
    np.testing.assert_allclose(free.state.particle_position, general.state.particle_position, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(free.state.particle_momentum, general.state.particle_momentum, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("drag", [False, True])
def test_the_ledger_is_that_of_the_general_step(drag: bool) -> None:
    free, general = (ledger_of(run_of(drag=drag, general=kind).advance(0.5)) for kind in (False, True))
    assert any(
        free[name] != 0.0 for name in free if name.startswith("reaction torque")
    )  # of what holds the pinned ones
    for name, value in free.items():
        assert value == pytest.approx(general[name], abs=ROUNDING), name


def test_a_force_let_go_acts_no_more() -> None:
    free, general = (run_of(drag=True, general=kind).advance(0.1) for kind in (False, True))
    for run in (free, general):
        run.release("wind")
        run.release("air")
        run.advance(0.1)
    np.testing.assert_allclose(free.state.particle_position, general.state.particle_position, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(free.state.particle_momentum, general.state.particle_momentum, rtol=0, atol=ROUNDING)


def test_pinned_particles_stay() -> None:
    run = run_of(drag=True, general=False)
    held = np.concatenate([group.pinned for group in run.model.scene.particles.values()])
    before = run.state.particle_position[held].copy()
    run.advance(0.5)
    assert held.any()
    assert (run.state.particle_position[held] == before).all()
    assert (run.state.particle_momentum[held] == 0.0).all()


def test_a_step_that_is_not_finite_leaves_the_state_before_it() -> None:
    """Drag that is far too strong for the step makes velocities grow without bound, many steps into a frame."""
    errors = []
    for general in (False, True):
        scene = scene_of(drag=False, general=general)
        scene.medium("tar", "a", quadratic=50.0)
        run = dal.Simulation(scene, method="time_stepping", dt=0.05, frame_rate=0.5)
        with pytest.raises(dal.SimulationError) as caught:
            run.advance(2.0)
        assert np.isfinite(run.state.particle_position).all()
        assert np.isfinite(run.state.particle_momentum).all()
        errors.append((caught.value.time, run._driver.report.steps[0]))
    assert errors[0] == errors[1]
    assert errors[0][1] > 0
