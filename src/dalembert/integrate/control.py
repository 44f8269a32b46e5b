"""How large an error is, and how long the next step should be.

Sources: Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, II.4 (starting step, step-size control),
II.10 (DOP853's error estimate); Gustafsson (1991) for the PI controller.
"""

import math

from ..arrays import clear
from ..elementary.hypotenuse import hypot
from ..elementary.power import pow
from ..jit import njit
from ..status import ENDS_RUN, OK
from .explicit import combine
from .functions import derivative

SAFETY = 0.9
SHRINK_MOST = 0.2
GROW_MOST = 10.0
SMALLEST_STEP = 1e-30  # s: steps that would have to be shorter end the run
SMALLEST_ERROR = 1e-4  # what the controller remembers of a step that was (nearly) exact


@njit
def all_finite(array):
    for i in range(array.size):
        if not math.isfinite(array[i]):
            return False
    return True


@njit
def scaled_norm(values, y, y_new, plan, weights):
    """max over i with weight_i > 0 of |v_i| / (atol weight_i + rtol max(|y_i|, |y_new_i|)); infinite if any is NaN."""
    norm = 0.0
    for i in range(values.size):
        weight = weights[i]
        if weight > 0.0:
            size = abs(values[i])
            scale = plan.atol * weight + plan.rtol * max(abs(y[i]), abs(y_new[i]))
            if math.isnan(size):
                return math.inf
            if size > norm * scale:
                norm = size / scale
    return norm


@njit
def error_norm(plan, h, y, work):
    """The error of the step in `work`, in units of the tolerance: accepted if ≤ 1.

    With one error row, its norm. With DOP853's two, e = e₅²/√(e₅² + 0.01 e₃²) of their norms.
    """
    clear(work.stage)
    combine(work.spare, work.stage, h, plan.error[0], plan.stages + 1, work.k)
    first = scaled_norm(work.spare, y, work.y_new, plan, work.weights)
    if plan.error_rows == 1 or first == 0.0 or math.isinf(first):
        return first
    combine(work.spare, work.stage, h, plan.error[1], plan.stages + 1, work.k)
    second = scaled_norm(work.spare, y, work.y_new, plan, work.weights)
    return first / hypot(1.0, 0.1 * second / first)


@njit
def growth(plan, error, error_last):
    """Factor on h after an accepted step (PI control; with beta = 0 it is 0.9 error^(-1/(q+1)), which for the
    step-doubled Euler method is the course notes' h (tol/e)^½)."""
    if error == 0.0:
        return GROW_MOST
    exponent = 1.0 / (plan.error_order + 1) - 0.75 * plan.beta
    factor = SAFETY * pow(error, -exponent) * pow(error_last, plan.beta)
    return min(GROW_MOST, max(SHRINK_MOST, factor))


@njit
def reduction(plan, error):
    """Factor on h after a rejected step: error > 1, possibly infinite."""
    if math.isinf(error):
        return SHRINK_MOST
    return max(SHRINK_MOST, SAFETY * pow(error, -1.0 / (plan.error_order + 1)))


@njit
def initial_step(context, plan, t, y, dydt, work, longest):
    """(status, h): a first step whose error is about a hundredth of the tolerance, at most `longest` (s). The trial that
    tells is as short as it must be for the system to be evaluated at its end."""
    d0 = scaled_norm(y, y, y, plan, work.weights)
    d1 = scaled_norm(dydt, y, y, plan, work.weights)
    h0 = 0.01 * d0 / d1 if 1e-5 < d0 < math.inf and 1e-5 < d1 < math.inf else 1e-6
    h0 = min(h0, longest)
    while True:
        for i in range(y.size):
            work.stage[i] = y[i] + h0 * dydt[i]
        status = derivative(t + h0, work.stage, work.spare, context)
        if status == OK:
            break
        h0 *= SHRINK_MOST
        if status >= ENDS_RUN or h0 < SMALLEST_STEP:
            return status, h0
    for i in range(y.size):
        work.spare[i] = (work.spare[i] - dydt[i]) / h0
    largest = max(d1, scaled_norm(work.spare, y, y, plan, work.weights))
    if math.isinf(largest) or largest <= 1e-15:
        h1 = max(1e-6, 1e-3 * h0)
    else:
        h1 = pow(0.01 / largest, 1.0 / (plan.error_order + 1))
    return OK, min(100.0 * h0, h1, longest)
