"""Runs by events that are copied: the copy goes on with the same bits, whatever else happens in between."""

import pickle

import numpy as np
import pytest

import dalembert as dal
from dalembert import gallery

SCENES = ("bouncing-ball", "rocking-block", "cradle")


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("steps", [1, 2])
def test_a_copy_goes_on_with_the_same_bits_after_the_run(name, steps):
    """Compiled code of a copy had the addresses of tables that were replaced when it was resumed, and fell through the
    ground once their memory was used again."""
    example = gallery.load(name)
    settings = {key: value for key, value in example.SETTINGS.items() if key != "duration"}
    settings.setdefault("method", "dormand_prince")
    run = dal.Simulation(example.build(), **settings).advance(0.1 * steps)
    copies = [pickle.loads(pickle.dumps(run)), run.copy()]
    copies.append(dal.Simulation(example.build(), **settings).resume(run.trajectory))
    for _ in range(4):
        run.advance(0.25)
        pickle.loads(pickle.dumps(run))
    for copy in copies:
        system = getattr(copy._driver, "system", None)
        if system is not None:
            assert system.options.detector_data[0] == system.detector.data
        for _ in range(4):
            copy.advance(0.25)
        assert np.array_equal(run._y, copy._y)
