"""Environments for reinforcement learning: what Gymnasium asks of them, and a cart-pole that an optimal law balances."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import dalembert as dal

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed; pip install dalembert[gym]")
from dalembert.simulation.environment import Environment  # noqa: E402


def cart_pole():
    """A cart of 1 kg on a rail with a pole of 0.1 kg and 1 m that stands on it."""
    scene = dal.Scene("cart-pole")
    cart = scene.add_body("cart", dal.Box(0.3, 0.2, 0.1), mass=1.0)
    pole = scene.add_body("pole", dal.Box(0.04, 0.04, 1.0), mass=0.1, position=(0, 0, 0.5))
    scene.slider("rail", dal.WORLD, cart, at=(0, 0, 0), axis=(1, 0, 0))
    scene.hinge("pivot", cart, pole, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("drive", "rail", limit=20.0)
    return scene


def tilt(rng, run):
    run.set_joint_state({"pivot": (rng.uniform(-0.2, 0.2), 0.0)})


def fallen(run):
    return abs(run.joint_state()["pivot"][0]) > 0.5


def environment(**more):
    settings = {"motors": ["drive"], "control_rate": 50.0, "reward": lambda run, action: 1.0, "terminated": fallen,
                "duration": 10.0, "randomize": tilt, "coordinates": "joint"}  # fmt: skip
    return Environment(cart_pole, **(settings | more))


def regulator(scene, state_cost, effort_cost):
    """K of the law τ = −K x that makes ∫ xᵀ Q x + τᵀ R τ least near the start."""
    robot = dal.Articulation(scene)
    a, b = robot.linearize(robot.start, np.zeros(len(robot.speeds)))
    b = b[:, [robot.speeds.index("rail")]]
    r = np.array([[effort_cost]])
    return np.linalg.solve(r, b.T @ solve_continuous_are(a, b, np.diag(state_cost), r))


def test_an_optimal_regulator_balances_the_pole_for_ten_seconds():
    env = environment()
    gain = regulator(cart_pole(), (1.0, 10.0, 1.0, 1.0), 0.1)
    observation, _ = env.reset(seed=3)
    assert abs(observation[1]) > 0.02
    steps, terminated, truncated = 0, False, False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, _ = env.step(-gain @ observation)
        steps += reward
    assert truncated and not terminated and steps == 500
    assert np.abs(observation).max() < 1e-3
    assert env.run.report.energy_residual < 1e-6
    env.reset(seed=3)
    for _ in range(500):
        *_, terminated, truncated, _ = env.step(np.zeros(1))
        if terminated:
            break
    assert terminated  # without the law it falls


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
def test_gymnasium_s_own_check_passes(coordinates):
    from gymnasium.utils.env_checker import check_env

    env = environment(
        coordinates=coordinates, randomize=tilt if coordinates == "joint" else None, render_mode="rgb_array"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning)
        # Observations have no bounds, actions are in N, and the environment is not in a registry.
        warnings.filterwarnings("ignore", message=".*(Box observation space|normalized space|spec).*")
        check_env(env, skip_render_check=coordinates == "maximal")


def test_episodes_of_a_seed_are_the_same():
    first, second = environment(), environment()
    for env in (first, second):
        env.reset(seed=7)
    for k in range(20):
        action = np.array([np.sin(k)])
        one, two = first.step(action), second.step(action)
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
    assert not np.array_equal(first.reset()[0], first.reset()[0])
    np.testing.assert_array_equal(first.reset(seed=7)[0], second.reset(seed=7)[0])


def test_spaces_have_the_limits_of_motors():
    env = environment()
    assert env.action_space == gymnasium.spaces.Box(-20.0, 20.0, (1,), np.float64)
    assert env.observation_space.shape == (4,)
    env.reset(seed=0)
    env.step(np.array([1e3]))
    assert env.run.efforts["drive"] == 20.0


def test_actions_may_be_positions():
    scene = cart_pole()
    scene.motor("servo", "rail", stiffness=200.0, damping=30.0)
    env = Environment(scene, motors=["servo"], of="position", control_rate=100.0, bounds={"servo": (-0.5, 0.5)},
                      reward=lambda run, action: -abs(action[0]))  # fmt: skip
    env.reset()
    for _ in range(100):
        _, reward, terminated, truncated, _ = env.step(np.array([0.3]))
    assert reward == -0.3 and not terminated and not truncated
    assert env.run.joint_state()["rail"][0] == pytest.approx(0.3, abs=0.05)


def test_pictures_are_arrays():
    env = environment(render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert picture.shape == (900, 1200, 3) and picture.dtype == np.uint8
    assert 0.01 < np.mean(picture.min(axis=2) < 200) < 0.9  # something is drawn, on a page that is mostly bright
    assert environment().render() is None


@pytest.mark.parametrize(
    "more, pattern",
    [
        ({"of": "torque"}, "of is 'torque'"),
        ({"motors": []}, "no motors"),
        ({"motors": ["rail"]}, "no motor 'rail'; the motors are drive"),
        ({"of": "position"}, "'drive' is given a position; give its actions bounds"),
        ({"of": "position", "bounds": {"drive": (-1, 1)}}, "'drive' is given position=0.0; it takes effort"),
        ({"bounds": {"drive": (1.0, -1.0)}}, "bounds are"),
        ({"control_rate": 0.0}, "control_rate"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
        ({"coordinates": "maximal"}, "coordinates='joint'"),
    ],
)
def test_what_cannot_be_an_environment_is_refused(more, pattern):
    with pytest.raises(ValueError, match=pattern):
        environment(**more).reset()


def test_actions_that_are_no_numbers_are_refused():
    env = environment()
    env.reset(seed=0)
    for action in (np.array([np.nan]), np.zeros(2)):
        with pytest.raises(ValueError, match="give 1 finite numbers, one per motor"):
            env.step(action)


def test_the_examples_of_the_documentation_run(capsys):
    page = (Path(__file__).parent.parent / "docs" / "control.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 6
    names: dict = {}
    for example in examples:
        exec(example, names)
    assert "N m at most" in capsys.readouterr().out
