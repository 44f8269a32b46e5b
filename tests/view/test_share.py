"""The share of a body in the energy, as the live page tells it, adds up to what the ledger says of all."""

import pytest

import dalembert as dal
from dalembert.view.live_page import Share


def hung():
    """Two bodies, a spring to the ceiling, one between them, drag on one, and a push on the other."""
    scene = dal.Scene("hung")
    upper = scene.add_body("upper", dal.Box(0.1, 0.2, 0.3), mass=2.0, position=(0, 0, 1), angular_velocity=(1, 2, 3))
    lower = scene.add_body("lower", dal.Sphere(0.1), mass=1.0, position=(0.5, 0, 0))
    scene.spring("coil", dal.WORLD, upper, at_a=(0, 0, 3), at_b=(0, 0.1, 1.1), stiffness=50, rest=1.0, damping=0.5)
    scene.spring("link", upper, lower, at_a=(0, 0, 1), at_b=(0.5, 0, 0), stiffness=20, rest=1.0)
    scene.drag("air", [upper], linear=0.3)
    scene.external_force("push", lower, force=(1, 0, 0))
    return scene


@pytest.fixture(scope="module")
def told():
    """Of each body, and of the run, at one frame: name → value."""
    live = dal.show(hung(), port=0, open_page=False, wait=False)
    try:
        live.session.advance()
        live.session.set_gravity((0.0, 1.0, -4.0))
        for _ in range(20):
            live.session.advance()
        live._push()
        viewer = live.viewer
        frames = viewer._frames
        index = len(frames) - 1
        shares = [dict(viewer._share.of(number, frames, index)) for number in range(2)]
        viewer.go_to(float(frames.times[-1]))
        viewer.choose("upper")
        works = dict(zip(viewer._share.forces, frames.further["work"][index].tolist(), strict=True))
        yield shares, frames.energies[index], works, viewer._panel.facts.content
    finally:
        live.close()


def test_potential_energies_add_up_to_that_of_all_bodies_also_where_gravity_was_changed(told):
    (upper, lower), (_, potential, _), _, _ = told
    shared = "energy of spring link (shared with lower), J"
    assert upper[shared] == pytest.approx(lower["energy of spring link (shared with upper), J"])
    gravity = "potential energy in gravity, J"
    total = upper[gravity] + lower[gravity] + upper["energy of spring coil, J"] + upper[shared]
    assert total == pytest.approx(potential, rel=1e-6)


def test_works_are_those_of_the_ledger_on_that_body(told):
    (upper, lower), _, works, _ = told
    assert upper["work of air, J"] == works["air"] < 0.0
    assert upper["work of damper of coil, J"] == works["coil"] < 0.0
    assert lower["work of push, J"] == works["push"] != 0.0
    assert "work of push, J" not in upper and not any("link" in name for name in lower if name.startswith("work"))


def test_the_panel_shows_it(told):
    (upper, _), _, _, content = told
    for name, value in upper.items():
        assert f"| {name} | {value:.5g} |" in content


def test_a_replayed_run_tells_the_same_and_old_files_less(told):
    run = dal.simulate(hung(), 0.2, frame_rate=60.0).trajectory
    viewer = dal.show(run, port=0, open_page=False, wait=False)
    try:
        index = viewer.frame_count - 1
        share = dict(viewer._share.of(0, viewer._frames, index))
        assert share["work of air, J"] == pytest.approx(float(run.work.sel(force="air")[-1]), rel=1e-6)
        both = share, dict(viewer._share.of(1, viewer._frames, index))
        total = sum(v for part in both for name, v in part.items() if "energy" in name)
        link = share["energy of spring link (shared with lower), J"]  # which is in both
        assert total - link == pytest.approx(float(run.potential[-1]), rel=1e-6)
        old = {key: value for key, value in run.scene_description.items() if key not in ("forces", "springs")}
        assert list(dict(Share(old, viewer.drawing).of(0, viewer._frames, index))) == ["potential energy in gravity, J"]
    finally:
        viewer.close()
