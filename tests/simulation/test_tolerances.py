"""What a tolerance buys: free rotation against Euler's equations, and joint coordinates against maximal ones."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dal

from .motions import G, body_rates

PEERS = {"dop853": "DOP853", "dormand_prince": "RK45"}


# Free rotation near the saddle ----------------------------------------------------------------------------------------


def by_body_rates(moments, spin, duration, method, rtol):
    """(attitude at the end, evaluations) of SciPy's method on these equations."""
    start = np.concatenate([[1.0, 0, 0, 0], spin])
    end = solve_ivp(body_rates(np.array(moments)), (0, duration), start, method=method, rtol=rtol, atol=rtol)
    return end.y[:4, -1] / np.linalg.norm(end.y[:4, -1]), end.nfev


def free_run(moments, spin, duration, **settings):
    scene = dal.Scene("free", gravity=(0, 0, 0))
    scene.add_body("book", mass=1.0, inertia=moments, angular_velocity=spin)
    return dal.simulate(scene, duration, frame_rate=1.0 / duration, **settings)


def apart(p, q):
    return min(np.abs(p - q).max(), np.abs(p + q).max())


SADDLES = {
    "1, 2, 3": ((1.0, 2.0, 3.0), (1e-3, 3.0, 7e-4), 20.0),
    "far off": ((1.0, 2.0, 3.0), (3e-2, 3.0, -2e-2), 20.0),
    "a book": ((0.9, 2.2, 2.9), (1e-3, 2.0, 1e-3), 25.0),
    "a bar": ((0.1, 2.0, 2.05), (1e-3, 4.0, 1e-3), 20.0),
    "nearly a disc": ((1.0, 1.05, 2.0), (1e-3, 5.0, 1e-3), 20.0),
}


@pytest.mark.parametrize("method", PEERS)
@pytest.mark.parametrize("case", SADDLES)
@pytest.mark.sampled(3)
def test_spin_about_the_middle_axis_is_no_less_exact_than_by_body_rates(case, method):
    moments, spin, duration = SADDLES[case]
    exact, _ = by_body_rates(moments, spin, duration, "DOP853", 2.3e-14)
    peers = [by_body_rates(moments, spin, duration, PEERS[method], rtol) for rtol in 10.0 ** -np.arange(4, 12)]
    counts, errors = [n for _, n in peers], [apart(q, exact) for q, _ in peers]
    for rtol in (1e-6, 1e-8, 1e-9):
        run = free_run(moments, spin, duration, method=method, rtol=rtol)
        evaluations = run._driver.counts["evaluations"]
        allowed = np.exp(np.interp(np.log(evaluations), np.log(counts), np.log(errors)))
        assert apart(run.state.orientation[0], exact) <= 2.0 * allowed + 3e-8, (
            rtol
        )  # rounding, times what the saddle makes of it


def test_stable_axes_and_symmetric_tops_keep_their_accuracy():
    for moments, spin in (((1, 2, 3), (4.0, 0.1, 0.1)), ((1, 2, 3), (0.1, 0.1, 4.0)), ((1, 1, 2), (0.5, 0.1, 4.0))):
        exact, _ = by_body_rates(moments, spin, 20.0, "DOP853", 2.3e-14)
        run = free_run(moments, spin, 20.0, method="dop853", rtol=1e-9)
        assert apart(run.state.orientation[0], exact) <= 1e-8


@pytest.mark.parametrize(
    "settings", [{"rtol": 1e-4}, {"method": "rk4", "dt": 0.05}, {"method": "dop853", "rtol": 1e-6}]
)
def test_angular_momentum_of_a_free_body_stays_exact(settings):
    run = free_run((1.0, 2.0, 3.0), (0.1, 3.0, 0.2), 10.0, **settings)
    np.testing.assert_array_equal(run.state.angular_momentum[0], [0.1, 6.0, 3 * 0.2])


def test_frames_change_no_bit_of_fixed_steps():
    ends = []
    for frames in (0.5, 8.0):
        scene = top(moments=(1.0, 2.0, 2.5), spin=(0.1, 0.3, 10.0))
        ends.append(dal.simulate(scene, 2.0, method="rk4", dt=2.0**-8, frame_rate=frames).state)
    np.testing.assert_array_equal(ends[0].orientation, ends[1].orientation)
    np.testing.assert_array_equal(ends[0].angular_momentum, ends[1].angular_momentum)


# A weak torque leaves the saddle to Euler's equations, and a strong one does no harm ---------------------------------


@pytest.mark.parametrize(("stiffness", "most"), [(1e-3, 1e-7), (300.0, 1e-6)])
def test_a_spring_on_a_turning_body(stiffness, most):
    def scene():
        found = dal.Scene("held", gravity=(0, 0, 0))
        found.add_body("body", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(1e-2, 3.0, 1e-2))
        found.spring("spring", dal.WORLD, "body", (1.0, 0.5, 0.2), (0.3, 0.2, 0.1), stiffness=stiffness)
        return found

    runs = [dal.simulate(scene(), 5.0, method="dop853", rtol=rtol, frame_rate=0.2).state for rtol in (1e-13, 1e-8)]
    assert apart(runs[0].orientation[0], runs[1].orientation[0]) <= most


# Joint coordinates ----------------------------------------------------------------------------------------------------


def top(moments, spin, at=(0.0, 0.2, -0.4)):
    """A body of 1 kg on a ball joint beside its centre of mass."""
    scene = dal.Scene("top")
    scene.add_body("body", mass=1.0, inertia=moments, orientation=(np.cos(0.3), np.sin(0.3), 0, 0), angular_velocity=spin,
                   velocity=np.cross(spin, -np.array(at)))  # fmt: skip
    scene.ball("pivot", dal.WORLD, "body", at=at)
    return scene


def ring(links=6, radius=0.3):
    """A closed chain on ball joints, one of which is held."""
    scene, turn = dal.Scene("ring"), 2 * np.pi / links * np.arange(links + 1)
    points = np.c_[radius * np.cos(turn), np.zeros(links + 1), radius * np.sin(turn)]
    for i in range(links):
        along = points[i + 1] - points[i]
        half, middle = 0.5 * np.arctan2(along[0], along[2]), 0.5 * (points[i] + points[i + 1])
        scene.add_body(f"link {i}", dal.Box(0.03, 0.05, np.linalg.norm(along)), mass=0.1,
                       position=middle, orientation=(np.cos(half), 0, np.sin(half), 0))  # fmt: skip
    scene.ball("held", dal.WORLD, "link 0", at=points[0])
    for i in range(links):
        scene.ball(f"joint {i}", f"link {i}", f"link {(i + 1) % links}", at=points[i + 1])
    return scene


def cart():
    scene = dal.Scene("cart")
    above = scene.add_body("cart", dal.Box(0.3, 0.2, 0.1), mass=1.0)
    scene.slider("rail", dal.WORLD, above, at=(0, 0, 0), axis=(1, 0, 0))
    for i in range(2):
        rod = scene.add_body(f"rod {i}", dal.Box(0.02, 0.02, 0.5), mass=0.3, position=(0.25 + 0.5 * i, 0, 0),
                             orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0))  # fmt: skip
        scene.hinge(f"hinge {i}", above, rod, at=(0.5 * i, 0, 0), axis=(0, 1, 0))
        above = rod
    return scene


MECHANISMS = {
    "slow top": (lambda: top((1.0, 2.0, 2.5), (0.1, 0.3, 1.0)), 4.0),
    "fast top": (lambda: top((1.0, 2.0, 2.5), (0.1, 0.3, 10.0)), 4.0),
    "top on the saddle": (lambda: top((1.0, 2.0, 3.0), (0.01, 5.0, 0.02), (0.0, 0.2, -0.1)), 4.0),
    "top at rest": (lambda: top((1.0, 2.0, 2.5), (0.0, 0.0, 0.0), (0.3, 0.2, -0.4)), 4.0),
    "symmetric top": (lambda: top((1.0, 1.0, 0.5), (0.3, 0.0, 20.0), (0.0, 0.0, -0.4)), 4.0),
    "ring": (ring, 1.0),
    "cart": (cart, 2.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_joint_coordinates_are_as_exact_as_maximal_ones_at_the_same_tolerance(name):
    build, duration = MECHANISMS[name]

    def run(**settings):
        return dal.simulate(build(), duration, frame_rate=1.0 / duration, **settings)

    exact = run(method="dop853", rtol=1e-13).state.position
    for rtol in (1e-6, 1e-8):
        runs = [run(rtol=rtol, coordinates=coordinates) for coordinates in ("maximal", "joint")]
        maximal, joint = (np.abs(found.state.position - exact).max() for found in runs)
        work = [found._driver.counts["evaluations"] for found in runs]
        assert joint <= 3.0 * maximal, rtol
        assert 0.6 <= work[1] / work[0] <= 1.3, rtol


def test_a_fast_top_agrees_with_its_conserved_quantities():
    """Energy and angular momentum about the vertical, which no coordinates know of."""
    for coordinates in ("maximal", "joint"):
        run = dal.simulate(top((1.0, 2.0, 2.5), (0.1, 0.3, 10.0)), 4.0, rtol=1e-9, coordinates=coordinates)
        found, start = run.state, dal.Simulation(top((1.0, 2.0, 2.5), (0.1, 0.3, 10.0)), rtol=1e-9).state
        pivot = np.array((0.0, 0.2, -0.4))
        about = [np.cross(s.position[0] - pivot, s.velocity[0]) + s.angular_momentum[0] for s in (start, found)]
        assert about[1][2] == pytest.approx(about[0][2], abs=3e-8)
        heights = [s.position[0, 2] * G for s in (start, found)]
        kinetic = run.trajectory.kinetic.values
        assert kinetic[-1] + heights[1] == pytest.approx(kinetic[0] + heights[0], abs=3e-7)
