"""`dalembert view`: a scene in the browser, to be played with while it runs, or a recorded run, to be looked at."""

from __future__ import annotations

import sys

from . import REFUSED, plain_warnings


@plain_warnings()
def view(
    scene: str | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    dt: float | None = None,
    rtol: float | None = None,
    method: str | None = None,
    frames: float | None = None,
    solver: str | None = None,
    threads: int | None = None,
) -> int:
    """Show a scene in the browser and take part in its run, or replay a saved one.

    The run goes on while somebody plays it, at the pace of the clock. Pause, step, slow motion, rewind, go on from any
    instant in another way, pull bodies with the mouse, change gravity and motors, switch scenes.

    Parameters
    ----------
    scene
        A name from `dalembert list`, a Python file with build(), a model (URDF, MJCF, USD), or a saved run (.nc).
    host
        Address to serve at. Anything but 127.0.0.1 lets others see and steer the run.
    port
        0 for any free one; if not given 8080, or any free one where that is taken.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method, on the error of one step.
    method
        Integration method, or a method of fixed steps for contact or particles: a name from `dalembert methods`.
    frames
        Recorded frames a second.
    solver
        Of contact, in time steps: a name from `dalembert methods`.
    threads
        How many share the work of time steps with contact.
    """
    from ..live_session.start import open_session

    given = {"dt": dt, "rtol": rtol, "method": method, "frames": frames, "solver": solver, "threads": threads}
    settings = {key: value for key, value in given.items() if value is not None}
    try:
        opened = open_session(scene, host, port, True, settings)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    print("Ctrl-C ends it", file=sys.stderr, flush=True)
    opened.serve_forever()
    return 0
