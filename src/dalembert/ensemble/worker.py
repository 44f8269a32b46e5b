"""A process that runs members of a sweep, one after the other, and returns the result of each.

Members and results are pickles on two pipes. Standard output is redirected to standard error, because it is one of the
pipes.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import Any

READY, REFUSED = "ready", "refused"


def main() -> None:
    """Serve until the other side closes the pipe, or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that sent us the work
    orders = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as the process lives

    def answer(what: Any) -> None:
        pickle.dump(what, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()

    try:
        task = pickle.loads(pickle.load(orders))
    except Exception as error:
        answer((REFUSED, f"{type(error).__name__}: {error}"))
        return
    answer((READY, ""))
    while True:
        try:
            member = pickle.load(orders)
        except EOFError:
            return
        answer(task.run(member))
