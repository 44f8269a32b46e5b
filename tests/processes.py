"""Processes that tests start and interrupt: they end with the process that started them, however that ends."""

import os
import signal
import subprocess
import sys
import time

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


def wait_for_work(process, seconds):
    """Wait until a process has used so much more processor time, however busy the machine is; where that cannot be read, so
    long."""
    try:
        end = _processor_time(process) + seconds
    except OSError:
        time.sleep(seconds)
        return
    while _processor_time(process) < end and process.poll() is None:
        time.sleep(0.01)


def _processor_time(process):
    with open(f"/proc/{process.pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
