"""Ctrl-C is an interruption wherever it comes, comes soon, and loses nothing: real signals, to processes of their own."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
import processes
from dalembert.core import interrupt

from .motions import double_pendulum, pendulum

processes.heed_interrupts()
ROOT = Path(__file__).parents[2]
SOON = 30.0  # s, on a busy machine; without a look at the keyboard each of these would take days

LONG = """
import json, sys, time
sys.path.insert(0, {root!r})
import numpy as np
import dalembert as dal
from tests.simulation.steppers import STEPPERS

for name in {names!r}:
    build, settings = STEPPERS[name]
    settings = {{**settings, "frame_rate": 0.001}}
    if "dt" in settings:
        settings["dt"] = 1e-6
    elif "rtol" not in settings:
        settings["rtol"] = 1e-13
    run = dal.Simulation(build(), **settings)
    print(json.dumps(name), flush=True)
    try:
        run.advance(1e4)
    except KeyboardInterrupt as error:
        now = time.time()
        good = error.simulation is run and run.interrupted and run.report.interrupted and np.isfinite(run.state.y).all()
        print(json.dumps([now, bool(good), run.time, len(run.trajectory)]), flush=True)
"""
IN_LONG_FRAMES = ["dop853", "rk4", "joint coordinates, fixed", "contact", "contact in joint coordinates", "bdf2",
                  "bodies and particles", "events of contact, fixed", "iterative constraints"]  # fmt: skip


def start(text, *words):
    return processes.python(text, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def test_a_signal_in_a_long_frame_takes_effect_soon_by_every_method():
    process = start(LONG.format(root=str(ROOT), names=IN_LONG_FRAMES))
    for name in IN_LONG_FRAMES:
        assert json.loads(process.stdout.readline()) == name
        processes.wait_for_work(process, 0.3)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        now, good, reached, frames = json.loads(process.stdout.readline())
        assert now - sent < SOON and good and reached > 0.0 and frames == 1, name
    assert process.wait(300) == 0


SCRIPT = """
import dalembert as dal, numpy as np, sys, time
def wind(t, x, q, v, w):
    if t > 0.5:
        print("ready", flush=True)
        time.sleep(600.0)
    return np.zeros(3)
scene = dal.Scene("ball")
ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
scene.external_force("wind", ball, function=wind)
try:
    dal.simulate(scene, 10.0, method="rk4", dt=0.01, frame_rate=10.0)
except KeyboardInterrupt as error:
    run = error.simulation
    print(run.time, len(run.trajectory), run.interrupted, flush=True)
    raise
print("never", flush=True)
"""


def test_a_script_that_simulates_is_interrupted_in_a_function_of_its_own():
    process = start(SCRIPT)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=1800)
    reached, frames, interrupted = out.split()
    assert (float(reached), frames, interrupted) == (pytest.approx(0.5), "6", "True")
    assert process.returncode != 0 and errors.rstrip().endswith("KeyboardInterrupt")
    assert "SimulationError" not in errors and "ignored" not in errors


@pytest.mark.parametrize("repeat", range(10))
def test_a_signal_that_comes_between_compiled_code_and_a_plain_function_is_not_lost(repeat):
    """Python handles a signal where the next function begins: that is the callback, from which nothing can be raised."""

    timer, calls = threading.Timer(0.007 * repeat, os.kill, (os.getpid(), signal.SIGINT)), []

    def wind(t, x, q, v, w):
        calls.append(t)
        if len(calls) == 1000:
            timer.start()
        return np.zeros(3)

    scene = double_pendulum()
    scene.external_force("wind", "upper", function=wind)
    run = dal.Simulation(scene, method="rk4", dt=1e-4, frame_rate=0.01)
    with pytest.raises(KeyboardInterrupt) as caught:
        run.advance(1000.0)
    assert caught.value.simulation is run and 0.0 < run.time < 1000.0
    before = run.time
    run.advance(0.01)  # and it can go on
    whole = dal.Simulation(scene, method="rk4", dt=1e-4).advance(run.time)
    assert run.time == pytest.approx(before + 0.01, abs=2e-4)
    np.testing.assert_array_equal(run.state.y, whole.state.y)


def test_an_interrupted_run_goes_on_with_the_bits_of_one_that_was_not():
    for settings in ({}, {"coordinates": "joint"}, {"method": "rk4", "dt": 1e-3}):
        run = dal.Simulation(pendulum(), frame_rate=10.0, **settings)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        begun = []

        def progress(_, timer=timer, begun=begun):
            if not begun:
                begun.append(timer.start())

        with pytest.raises(KeyboardInterrupt):
            run.advance(1e6, progress=progress)
        end = np.ceil(run.time * 10.0 + 1.0) / 10.0
        run.advance(end - run.time)
        if end < 100.0:
            whole = dal.Simulation(pendulum(), frame_rate=10.0, **settings).advance(end)
            assert run.state.y.tobytes() == whole.state.y.tobytes()


def test_a_signal_during_compilation_takes_effect_between_two_functions_alone():
    """In a callback of the compiler it would be printed and lost. Within a run it waits for the run, for whole frames."""
    before = signal.getsignal(signal.SIGINT)
    with interrupt.compiling():
        with interrupt.compiling():  # of one kernel among those of a scene
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt.poll_compilation()
        interrupt.poll_compilation()  # once
    with pytest.raises(KeyboardInterrupt), interrupt.compiling():
        os.kill(os.getpid(), signal.SIGINT)
        done = True  # and at the end, if not before
    assert done and signal.getsignal(signal.SIGINT) is before
    with interrupt.Deferred():
        with interrupt.compiling():
            os.kill(os.getpid(), signal.SIGINT)
            interrupt.poll_compilation()
        with pytest.raises(KeyboardInterrupt):
            interrupt.poll()


def test_handlers_of_the_program_are_left_as_they_were():
    before = signal.getsignal(signal.SIGINT)
    caught = []
    signal.signal(signal.SIGINT, lambda *what: caught.append(what))
    mine = signal.getsignal(signal.SIGINT)
    try:
        timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        run = dal.Simulation(double_pendulum(), rtol=1e-12)
        while not caught:
            run.advance(0.1)
        timer.join()
        assert signal.getsignal(signal.SIGINT) is mine and not run.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


SCENE = """
import dalembert as dal
SETTINGS = {"duration": 1e6, "method": "rk4", "dt": 1e-4, "frame_rate": 0.01}
said = []
def wind(t, x, q, v, w):
    if t > 0.01 and not said:
        said.append(print("ready", flush=True))
    return 0.0, 0.0, 0.0
def build(height=1.0):
    scene = dal.Scene("ball")
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, height))
    scene.external_force("wind", ball, function=wind)
    return scene
"""


def test_the_command_line_prints_the_table_of_an_interrupted_run(tmp_path):
    (tmp_path / "scene.py").write_text(SCENE)
    program = "from dalembert.cli import main; raise SystemExit(main())"
    process = start(program, "run", str(tmp_path / "scene.py"), "--out", str(tmp_path / "run.nc"))
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=1800)
    assert process.returncode == 130, errors
    assert "(interrupted)" in out and "simulated time" in out and "Traceback" not in errors
    assert len(dal.Trajectory.load(tmp_path / "run.nc")) >= 1
