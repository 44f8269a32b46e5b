"""Room for contacts: a step that finds too little is made again, and ends with an error where no table grows."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.tables import NEED_ROOM


def test_a_step_that_asks_for_room_again_and_again_ends_with_an_error():
    scene = dal.Scene(material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1.0, 1.0, 1.0), mass=1.0, position=(0.0, 0.0, 0.5))
    run = dal.Simulation(scene, method="time_stepping", dt=0.01)
    stepper, calls = run._driver, []
    room = stepper.room()

    def kernel(y: np.ndarray, dydt: np.ndarray, target: float) -> int:
        calls.append(target)
        return NEED_ROOM

    stepper.call_kernel, stepper.grow = kernel, lambda: None
    with pytest.raises(RuntimeError, match="did not grow"):
        run.advance(0.01)
    assert len(calls) < 1000 and stepper.room() == room
