"""Processes that tests start and interrupt: they end with the process that started them, however that ends."""

import os
import signal
import subprocess
import sys

# The pipe's other end is open in the process of the test alone.
GUARD = (
    "import os, threading; threading.Thread(target=lambda: os.read({pipe}, 1) or os._exit(1), daemon=True).start()\n"
)


def heed_interrupts():
    """Let SIGINT interrupt this process and those that it starts, also in the background of a shell, which has them ignore
    it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def python(program, *words, **options):
    """Start a Python program, as `subprocess.Popen` does with these options."""
    end, own = os.pipe()
    try:
        command = [sys.executable, "-c", GUARD.format(pipe=end) + program, *words]
        process = subprocess.Popen(command, pass_fds=[end], **options)
    except BaseException:
        os.close(own)
        raise
    finally:
        os.close(end)
    process.guard = open(own, "wb", 0)  # noqa: SIM115 - for as long as the process object is in use
    return process
