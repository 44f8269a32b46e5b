"""Contact by events where joints hold particles: a particle moves as the point mass that it is."""

import numpy as np
import pytest

import dalembert as dal


def hung(point, friction=0.2):
    """A ball over the ground, tied to a point mass beside it by a rod, and that to a second; `point` adds one."""
    scene = dal.Scene("hung")
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.4), velocity=(0.8, 0, -0.3),
                          material=dal.Material(friction=friction, restitution=0.5))  # fmt: skip
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(friction=friction, restitution=0.5))
    one, two = point(scene, "one", (0.3, 0.1, 1.2)), point(scene, "two", (0.8, 0.0, 1.5))
    scene.rod("first", ball, one, at_a=(0.0, 0.05, 0.4), at_b=(0.3, 0.1, 1.2))
    scene.rod("second", one, two, at_a=(0.3, 0.1, 1.2), at_b=(0.8, 0.0, 1.5))
    return scene


def particle(scene, name, at):
    return scene.add_particles(name, at, mass=0.3)[0]


def body(scene, name, at):
    return scene.add_body(name, dal.Sphere(0.05), mass=0.3, position=at)


@pytest.mark.parametrize("method", [{"method": "dop853", "rtol": 1e-11}, {"method": "rk4", "dt": 5e-4}])
@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_a_particle_on_a_rod_moves_as_a_point_mass_through_bounces_and_slides(method, friction):
    tied, loose = (dal.simulate(hung(point, friction), 0.84, **method) for point in (particle, body))
    assert [event.kind for event in tied.contact_events] == [event.kind for event in loose.contact_events]
    assert any(event.kind == "impact" for event in tied.contact_events)
    here = np.vstack([tied.state.position, tied.state.particle_position])
    assert here == pytest.approx(loose.state.position, abs=1e-8)
    there = np.array(loose.trajectory.contact_force)[:, :1]
    assert np.array(tied.trajectory.contact_force) == pytest.approx(there, abs=1e-5)
    for run in (tied, loose):
        assert abs(run.report.energy_residual) < 1e-8
