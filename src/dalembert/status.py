"""What a kernel returns: 0 when all is well, a small positive code for what the driver itself found, or a code of at
least `PASSED_THROUGH` that came from the user's derivative or completion and is handed on as it is.

Codes below `ENDS_RUN` say that the system could not be evaluated at one state. An adaptive method rejects the trial step that
led there and takes a shorter one. Codes from `ENDS_RUN` on do not depend on the state, and end the run at once.
"""

OK = 0
EVENT = 1
STEP_UNDERFLOW = 2
NON_FINITE = 3
MAX_STEPS = 4
PASSED_THROUGH = 100
ENDS_RUN = 200

MESSAGES = {
    OK: "reached the end",
    EVENT: "stopped at an event",
    STEP_UNDERFLOW: "the step became too small for the tolerance asked: the problem is stiff or discontinuous here; "
    "loosen rtol or atol, or give the discontinuity as an event",
    NON_FINITE: "the state or its derivative became infinite or not a number",
    MAX_STEPS: "the number of steps allowed was used up before the end: raise max_steps or loosen rtol",
}
