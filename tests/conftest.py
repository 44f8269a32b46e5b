"""Settings of the process that runs the tests."""

import signal
import threading

# In the background of a shell without job control SIGINT is ignored, and processes inherit that. Tests that interrupt a run
# would wait for ever.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
