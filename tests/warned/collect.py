"""What a piece of code warned of."""

import warnings

import dalembert as dal


def told(act):
    """The texts of the SimulationWarnings that `act()` issued."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if issubclass(one.category, dal.SimulationWarning)]


def of_run(scene, duration=0.02, dt=0.005, **settings):
    """The warnings of a short run; those of its report are the same, and are in its table."""
    run = None

    def act():
        nonlocal run
        run = dal.simulate(scene, duration, dt=dt, **settings)

    found = told(act)
    assert run.report.warnings == found == run.trajectory.warnings
    table = str(run.report).replace("\n", " ").split()
    assert all(set(message.split()) <= set(table) for message in found)
    return found


def ground(**settings):
    """A scene with a ground."""
    scene = dal.Scene("ground", **settings)
    scene.add_obstacle("ground", dal.HalfSpace())
    return scene


def arm(**settings):
    """A bar of 1 kg and 1 m that hangs from a hinge "j" at the origin."""
    scene = dal.Scene("arm", **settings)
    scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.hinge("j", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    return scene
