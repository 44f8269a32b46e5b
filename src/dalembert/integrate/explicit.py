"""Explicit stepping: one step of any method, step-size control, events; `advance`, the entry, is last.

`plan` is the record of `state` that holds the tableau (conventions: see `tableaus`); `context` the `Functions`; `work` the
`Work`; `clock` one record of CLOCK. `k` is float64[rows, n]; row 0 is f(t, y) on entry. `stage` and `y_new` are float64[n].
Nothing is allocated.
"""

import math

from ..core.elementary import hypot, pow
from ..core.jit import inlined, njit
from ..core.simd import clear, copy
from ..core.status import ENDS_RUN, EVENT, MAX_STEPS, NON_FINITE, OK, STEP_UNDERFLOW
from .state import SMALLEST_ERROR, begin_look, complete, derivative, drift, event, look, merge

# One step -------------------------------------------------------------------------------------------------------------


@inlined
def combine(out, y, h, coefficients, count, k):
    """out = y + h Σ_{i < count} coefficients_i k_i; rows with a zero coefficient are not read."""
    n = out.size
    first, last = 0, count - 1
    while first < last and coefficients[first] == 0.0:
        first += 1
    while last > first and coefficients[last] == 0.0:
        last -= 1
    weight = coefficients[first]
    if first == last:
        weight *= h
        for j in range(n):
            out[j] = y[j] + weight * k[first, j]
        return
    for j in range(n):
        out[j] = weight * k[first, j]
    for i in range(first + 1, last):
        weight = coefficients[i]
        if weight != 0.0:
            for j in range(n):
                out[j] += weight * k[i, j]
    weight = coefficients[last]
    for j in range(n):
        out[j] = y[j] + h * (out[j] + weight * k[last, j])


@njit
def explicit_step(context, t, y, h, plan, k, stage, y_new):
    """y_new = the method's step of h (s) from y at t; fills rows 1 to s - 1 of `k`. Returns derivative's status."""
    for i in range(1, plan.stages):
        combine(stage, y, h, plan.a[i], i, k)
        status = derivative(t + plan.c[i] * h, stage, k[i], context)
        if status != OK:
            return status
    combine(y_new, y, h, plan.b, plan.stages, k)
    return OK


@njit
def symplectic_step(context, t, y, h, momentum, k, stage, y_new):
    """Symplectic Euler: p += h ṗ(t, q, p), then q += h q̇(t, q, p_new) (Hairer, Lubich & Wanner, *Geometric Numerical
    Integration*, I.1.2). `momentum` is float64[n], positive where y is a momentum. Row 1 of `k` becomes
    (y_new - y)/h."""
    for j in range(y.size):
        stage[j] = y[j] + h * k[0, j] if momentum[j] > 0.0 else y[j]
    status = derivative(t, stage, k[1], context)
    if status != OK:
        return status
    for j in range(y.size):
        if momentum[j] > 0.0:
            k[1, j] = k[0, j]
        y_new[j] = y[j] + h * k[1, j]
    return OK


@njit
def splitting_step(context, t, y, h, momentum, k, stage, y_new):
    """Strang splitting: p += ½h ṗ; q moves freely over h at constant p (the drift), exactly preserving what a free system
    preserves; p += ½h ṗ. `momentum` is +1 at momenta, -1 at what the drift moves, 0 at the rest, which takes the mean
    of its rates. The last half step of p is evaluated at the momenta it leads to, by one correction. Row 1 of `k` becomes
    (y_new - y)/h."""
    for j in range(y.size):
        y_new[j] = y[j] + 0.5 * h * k[0, j] if momentum[j] > 0.0 else y[j]
    status = drift(h, y_new, k[1], context)
    if status == OK:
        status = derivative(t + h, y_new, k[1], context)
    if status != OK:
        return status
    for j in range(y.size):
        stage[j] = y_new[j] + 0.5 * h * k[1, j] if momentum[j] > 0.0 else y_new[j]
    status = derivative(t + h, stage, k[1], context)
    if status != OK:
        return status
    for j in range(y.size):
        if momentum[j] > 0.0:
            y_new[j] += 0.5 * h * k[1, j]
        elif momentum[j] == 0.0:
            y_new[j] += 0.5 * h * (k[0, j] + k[1, j])
        k[1, j] = (y_new[j] - y[j]) / h
    return OK


@njit
def extra_stages(context, t, y, h, plan, k, stage):
    """Fill the rows of `k` that only the dense output needs; the row after the stages must hold f at the end."""
    for i in range(plan.extra):
        row = plan.stages + 1 + i
        combine(stage, y, h, plan.extra_a[i], row, k)
        status = derivative(t + plan.extra_c[i] * h, stage, k[row], context)
        if status != OK:
            return status
    return OK


@njit
def dense_state(plan, k, y, h, theta, out):
    """out = the dense output at t + θ h, 0 ≤ θ ≤ 1."""
    rows, degree = plan.rows, plan.degree
    clear(out)
    for i in range(rows):
        weight = 0.0
        for j in range(degree - 1, -1, -1):
            weight = theta * (plan.dense[i, j] + weight)
        if weight != 0.0:
            for j in range(out.size):
                out[j] += weight * k[i, j]
    for j in range(out.size):
        out[j] = y[j] + h * out[j]


@njit
def dense_coefficients(plan, k, h, out):
    """out[j] (float64[degree, n]) = the coefficient of θ^(j+1) in the dense output."""
    rows, degree = plan.rows, plan.degree
    for j in range(degree):
        clear(out[j])
    for i in range(rows):
        for j in range(degree):
            weight = h * plan.dense[i, j]
            if weight != 0.0:
                for m in range(out.shape[1]):
                    out[j, m] += weight * k[i, m]


# Step-size control ----------------------------------------------------------------------------------------------------
# Sources: Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, II.4 (starting step, step-size control),
# II.10 (DOP853's error estimate); Gustafsson (1991) for the PI controller.

SAFETY = 0.9  # of the step that would meet the tolerance exactly
SHRINK_MOST = 0.2  # least factor on a step
GROW_MOST = 10.0  # largest factor on a step
SMALLEST_STEP = 1e-30  # s: steps that would have to be shorter end the run
# The starting step of Hairer et al., II.4: norms below NEGLIGIBLE_NORM give no scale, and then the trial is TRIAL_STEP (s).
NEGLIGIBLE_NORM, TRIAL_STEP = 1e-5, 1e-6
NEGLIGIBLE_RATE = 1e-15  # of the scale a second: the norms of y' and y'' that are none


@njit
def all_finite(array):
    """Whether no number is infinite or NaN."""
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
    known = NEGLIGIBLE_NORM < d0 < math.inf and NEGLIGIBLE_NORM < d1 < math.inf
    h0 = 0.01 * d0 / d1 if known else TRIAL_STEP
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
    if math.isinf(largest) or largest <= NEGLIGIBLE_RATE:
        h1 = max(TRIAL_STEP, 1e-3 * h0)
    else:
        h1 = pow(0.01 / largest, 1.0 / (plan.error_order + 1))
    return OK, min(100.0 * h0, h1, longest)


# Fixed and adaptive steps ---------------------------------------------------------------------------------------------
# One step of the chosen method: its length, whether it is accepted, and the completed state at its end.
#
# `y` is read only: the new state is left in work.y_new, its derivative in the row of work.k after the stages.

SAME_TIME = 1e-9  # in units of dt: step ends closer than this are one
NEARLY_THERE = 1e-10  # of a step: an adaptive step that ends so close before t_end is stretched to it
EPSILON = 2.220446049250313e-16


@inlined
def attempt(context, plan, t, h, y, work, clock):
    """work.y_new = one raw step of h from y; row 0 of work.k holds f(t, y)."""
    clock[0].evaluations += plan.stages - 1
    if plan.partitioned == 2:
        return splitting_step(context, t, y, h, work.momentum, work.k, work.stage, work.y_new)
    if plan.partitioned == 1:
        return symplectic_step(context, t, y, h, work.momentum, work.k, work.stage, work.y_new)
    status = explicit_step(context, t, y, h, plan, work.k, work.stage, work.y_new)
    return status if status != OK else merge(t + h, work.y_new, context)


@inlined
def finish(context, plan, t_new, evaluated, work, clock):
    """Complete work.y_new at t_new."""
    if evaluated == 0:
        clock[0].evaluations += 1
    return complete(t_new, work.y_new, work.k[plan.stages], evaluated, context)


@njit
def step_to(context, plan, t_new, h, y, work, clock):
    """work.y_new = one step of h from y that ends at t_new, completed. Returns a status."""
    status = attempt(context, plan, clock[0].t, h, y, work, clock)
    if status == OK and not all_finite(work.y_new):
        status = NON_FINITE
    return finish(context, plan, t_new, 0, work, clock) if status == OK else status


@inlined
def fixed_end(plan, clock, t_end):
    """(t_new, h): the end of the next fixed step, on the grid origin + i dt, and its length."""
    now = clock[0]
    on_grid = now.t == now.origin + now.count * now.h
    t_new = now.origin + (now.count + 1) * now.h
    if not on_grid and t_new - now.t <= SAME_TIME * now.h:
        now.count += 1
        t_new = now.origin + (now.count + 1) * now.h
    if plan.land != 0 and t_new > t_end + SAME_TIME * now.h:
        return t_end, t_end - now.t
    if on_grid:
        return t_new, now.h
    return t_new, t_new - now.t


@inlined
def fixed_step(context, plan, y, work, clock, t_end):
    """(status, t_new, h) of one fixed step, completed."""
    t_new, h = fixed_end(plan, clock, t_end)
    return step_to(context, plan, t_new, h, y, work, clock), t_new, h


@njit
def judge(context, plan, t_new, h, y, work, clock):
    """(status, error) of the raw step in `work`; infinite where the state is not finite."""
    if not all_finite(work.y_new):
        return OK, math.inf
    if plan.fsal != 0:
        clock[0].evaluations += 1
        status = derivative(t_new, work.y_new, work.k[plan.stages], context)
        if status != OK:
            return status, math.inf
    return OK, error_norm(plan, h, y, work)


@njit
def adaptive_step(context, plan, y, work, clock, t_end):
    """(status, t_new, h) of one accepted step, completed, and the clock's next h. The step that reaches t_end is
    shortened to land on it, without spoiling h.

    A trial is rejected where its error is too large, where it is not finite, and where the system cannot be evaluated at one
    of its stages or completed at its end. The run fails only where the step would have to be too short for the clock; then
    the clock's h is that step, and the status that of the last trial."""
    now = clock[0]
    t = now.t
    h = min(now.h, plan.h_max)
    limit = 1.0
    while True:
        shortened = t + h >= t_end - NEARLY_THERE * h
        proposed = h
        if shortened:
            h = t_end - t
        t_new = t_end if shortened else t + h
        status, error = attempt(context, plan, t, h, y, work, clock), math.inf
        if status == OK:
            status, error = judge(context, plan, t_new, h, y, work, clock)
        if status == OK and error <= 1.0:
            status = finish(context, plan, t_new, plan.fsal, work, clock)
            if status == OK:
                break
            error = math.inf
        now.h = h
        if status >= ENDS_RUN:
            return status, t, h
        now.rejected += 1
        limit = 0.0
        h *= reduction(plan, error)
        if too_short(t, h):
            if status == OK:
                status = NON_FINITE if math.isinf(error) else STEP_UNDERFLOW
            return status, t, h
    factor = growth(plan, error, now.error_last)
    if limit == 0.0:
        factor = min(1.0, factor)
    if shortened:
        now.h = max(proposed, h * factor) if h < proposed else h * factor
    else:
        now.h = h * factor
        now.error_last = max(error, SMALLEST_ERROR)
    return OK, t_new, h


@inlined
def too_short(t, h):
    """Whether t + h is t to rounding, or h below `SMALLEST_STEP`."""
    return h < 16.0 * EPSILON * abs(t) or h < SMALLEST_STEP


# Event location -------------------------------------------------------------------------------------------------------
# The first sign change in a step, located on the dense output and then on the method's own steps.
#
# `event(t, y, values, context)` writes one number per event; a root is where it changes sign. `work.signs` holds the side of
# each event between calls, so that a root just found is not found again and one found late is not lost.

RESOLUTION = 1e-14  # of the step: how closely a root is located
STRAY = 1e-3  # of the step: a correction of a root of the dense output that is larger has left it
NEARBY, WIDEN = (
    1e-9,
    16.0,
)  # of the step: how far from that root a change of sign is sought, and the factor that follows
AHEAD = 1e-3  # of the next step: where the side of an event on a root is determined


@njit
def sign(value):
    """−1, 0 or +1."""
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@njit
def set_sides(context, y, dydt, work, clock, t_end):
    """Set the side of every event at the start of a run, or of the event just stopped at. On a root, it is the side that
    y is about to move to; the value there, a rounding error, is replaced by the one a little ahead."""
    now, signs = clock[0], work.signs
    ahead = AHEAD * min(now.h, t_end - now.t)
    for j in range(y.size):
        work.stage[j] = y[j] + ahead * dydt[j]
    status = event(now.t + ahead, work.stage, work.values[2], context)
    for i in range(signs.size):
        if i == now.event or (now.started == 0 and work.values[0, i] == 0.0):
            work.values[0, i] = work.values[2, i]
            signs[i] = sign(work.values[2, i])
        elif now.started == 0:
            signs[i] = sign(work.values[0, i])
    return status


@njit
def crossed(before, value, direction):
    """Whether going from the side `before` to `value` is an event."""
    return before != 0.0 and sign(value) != before and (direction == 0 or direction == -before)


@njit
def update_sides(values, direction, signs):
    """Store the side of each value, except where that would hide a crossing still to be reported."""
    for i in range(signs.size):
        if values[i] != 0.0 and not crossed(signs[i], values[i], direction[i]):
            signs[i] = sign(values[i])


@njit
def secant(low, g_low, high, g_high):
    """The root of the chord, clamped to the bracket."""
    x = low - g_low * (high - low) / (g_high - g_low)
    return min(high, max(low, x))


@njit
def dense_root(context, plan, t, h, y, work, which):
    """(status, θ) with θ in [0, 1] where event `which` crosses zero on the dense output: regula falsi (Illinois), with a
    bisection now and then."""
    low, high = 0.0, 1.0
    g_low, g_high = work.values[0, which], work.values[1, which]
    side = 0
    for i in range(200):
        width = high - low
        if width <= RESOLUTION:
            break
        x = 0.5 * (low + high) if i % 4 == 3 else secant(low, g_low, high, g_high)
        x = min(high - 0.25 * RESOLUTION, max(low + 0.25 * RESOLUTION, x))
        dense_state(plan, work.k, y, h, x, work.stage)
        status = event(t + x * h, work.stage, work.values[2], context)
        g = work.values[2, which]
        if status != OK or g == 0.0:
            return status, x
        if (g > 0.0) == (g_high > 0.0):
            high, g_high = x, g
            g_low *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, g_low = x, g
            g_high *= 0.5 if side == -1 else 1.0
            side = -1
    return OK, high


@njit
def first_root(context, plan, t, h, y, work, clock):
    """(status, index, θ) of the earliest crossing in the step, by dense output; index -1 if there is none. Values at the
    start and the end are in rows 0 and 1 of work.values."""
    signs = work.signs
    first, earliest, ready = -1, math.inf, False
    for i in range(signs.size):
        if not crossed(signs[i], work.values[1, i], work.direction[i]):
            continue
        if not ready:
            clock[0].evaluations += plan.extra
            status = extra_stages(context, t, y, h, plan, work.k, work.stage)
            if status != OK:
                return status, -1, 0.0
            ready = True
        if sign(work.values[0, i]) != signs[i]:
            theta = 0.0
        elif work.values[1, i] == 0.0:
            theta = 1.0
        else:
            status, theta = dense_root(context, plan, t, h, y, work, i)
            if status != OK:
                return status, -1, 0.0
        if theta < earliest:
            first, earliest = i, theta
    return OK, first, earliest


@njit
def repeat_step(context, plan, h, theta, y, work, clock, which):
    """(status, t_new): repeat the step from y up to event `which`, so that the state there has the method's accuracy.

    The dense output is less exact than the method; its root is corrected by regula falsi on steps of the method.
    """
    t = clock[0].t
    low, g_low = 0.0, work.values[0, which]
    high, g_high = h, work.values[1, which]
    x, side = theta * h, 0
    for attempts_left in range(9, -1, -1):
        status = step_to(context, plan, t + x, x, y, work, clock)
        if status == OK:
            status = event(t + x, work.y_new, work.values[2], context)
        if status != OK:
            return status, t
        g = work.values[2, which]
        if g == 0.0 or x == 0.0 or attempts_left == 0:
            break
        if (g > 0.0) == (g_low > 0.0):
            low, g_low = x, g
            g_high *= 0.5 if side == -1 else 1.0
            side = -1
        else:
            high, g_high = x, g
            g_low *= 0.5 if side == 1 else 1.0
            side = 1
        better = secant(low, g_low, high, g_high)
        if abs(better - x) <= RESOLUTION * h + EPSILON * abs(t):
            break
        if abs(better - theta * h) > STRAY * h:
            return bisect_steps(context, plan, h, x, low, high, y, work, clock, which)
        x = better
    return OK, t + x


@njit
def bisect_steps(context, plan, h, x, low, high, y, work, clock, which):
    """(status, t_new): as `repeat_step`, for an event that is the least of several functions. Chords of it say nothing of
    where it changes sign, so a change of sign is bracketed near x, and bisected. low, high: the bracket so far; x is one of
    the two. The step ends where the event has happened."""
    t = clock[0].t
    side = sign(work.values[0, which])
    nearby, bracketed = NEARBY * h, False
    upwards = x == low
    while True:
        if not bracketed:
            x = min(x + nearby, high) if upwards else max(x - nearby, low)
            nearby *= WIDEN
        elif high - low > RESOLUTION * h + EPSILON * abs(t):
            x = 0.5 * (low + high)
        else:
            x = high
        done = bracketed and x == high
        status = step_to(context, plan, t + x, x, y, work, clock)
        if status == OK:
            status = event(t + x, work.y_new, work.values[2], context)
        if status != OK or done:
            return status, t + x
        before = sign(work.values[2, which]) == side
        bracketed = bracketed or before != upwards or x in (low, high)
        if before:
            low = x
        else:
            high = x


# An event may begin and end within a step, as an impact of bodies that graze each other does. Where the system has a function
# that looks for it, the step is searched from its start to the first crossing that its end shows, by times within which that
# function knows of none; a step in which one is under way is cut there, so that its end shows it.

SURE = 40  # looks into a step that go no farther than is known; each of the following ones goes on by 1/SURE of it at least


@njit
def look_inside(context, plan, h, latest, y, work, clock):
    """(status, θ, looks): where in the step just taken, before θ = `latest`, an event is under way that may be over there, 1
    if nowhere; how many states within the step were looked at."""
    t, theta = clock[0].t, 0.0
    status = look(t, y, work.values[2], context)
    for looks in range(2 * SURE):
        if status != OK or (theta > 0.0 and work.values[2, 0] <= 0.0):
            return status, theta, looks
        wait = work.values[2, 0] / h
        theta += wait if looks < SURE else max(wait, 1.0 / SURE)
        if theta >= latest:
            return OK, 1.0, looks
        if looks == 0:
            clock[0].evaluations += plan.extra
            status = extra_stages(context, t, y, h, plan, work.k, work.stage)
        if status == OK:
            dense_state(plan, work.k, y, h, theta, work.stage)
            status = look(t + theta * h, work.stage, work.values[2], context)
    return OK, 1.0, 2 * SURE


@njit
def cut_at_event(context, plan, t_new, h, latest, y, work, clock):
    """(status, t_new, h) of the step just taken, cut where an event is under way that may be over at θ = `latest`. What the
    event functions leave in the tables of the system is that of its end."""
    status, theta, looks = look_inside(context, plan, h, latest, y, work, clock)
    if status == OK and theta < 1.0:
        h *= theta
        t_new = clock[0].t + h
        status = step_to(context, plan, t_new, h, y, work, clock)
    if status == OK and looks > 0:
        status = event(t_new, work.y_new, work.values[1], context)
    return status, t_new, h


@njit
def stop_at_event(context, plan, t_new, h, y, work, clock):
    """(status, index, t_new): find the first event in the step just taken; if there is one, the step now ends there."""
    t, status, whole = clock[0].t, OK, h
    if context.look != 0:
        status = begin_look(t, y, work.k[0], t_new, work.y_new, work.k[plan.stages], context)
    if status == OK:
        status = event(t_new, work.y_new, work.values[1], context)
    if status != OK:
        return status, -1, t
    status, index, theta = first_root(context, plan, t, h, y, work, clock)
    if status == OK and context.look != 0:
        status, t_new, h = cut_at_event(context, plan, t_new, h, min(theta, 1.0), y, work, clock)
        if status == OK and h < whole:
            status, index, theta = first_root(context, plan, t, h, y, work, clock)
    if status != OK:
        return status, -1, t
    latest = 1
    if index >= 0:
        status, t_new = repeat_step(context, plan, h, theta, y, work, clock, index)
        if status != OK:
            return status, -1, t
        latest = 2
    update_sides(work.values[latest], work.direction, work.signs)
    copy(work.values[0], work.values[latest])
    return OK, index, t_new


# The driver -----------------------------------------------------------------------------------------------------------
# Step, complete, locate events, commit; from the clock's time to `t_end`.


@njit
def advance(context, plan, y, dydt, work, clock, t_end, max_steps):
    """Integrate until t_end (s), an event, a failure or `max_steps` accepted steps; call again to go on.

    y, dydt: float64[n], always the last good state and its derivative. Adaptive methods end on t_end exactly; fixed
    steps end on the first step end not before t_end (less `SAME_TIME` dt), or on t_end if plan.land is 1. `plan` is
    options.plan[0]; `options`, `work` and `clock` come from `state`. After changing y, set clock.valid = 0.
    """
    status = begin(context, plan, y, dydt, work, clock, t_end)
    if status != OK:
        return status
    for _ in range(max_steps):
        if reached(plan, clock, t_end):
            return OK
        status = step(context, plan, y, dydt, work, clock, t_end)
        if status != OK:
            return status
    return OK if reached(plan, clock, t_end) else MAX_STEPS


@inlined
def reached(plan, clock, t_end):
    """Whether the clock is at t_end, for fixed steps within `SAME_TIME` of a step."""
    now = clock[0]
    slack = 0.0 if plan.adaptive != 0 else SAME_TIME * now.h
    return now.t >= t_end - slack


@njit
def begin(context, plan, y, dydt, work, clock, t_end):
    """Compute what is not known yet: the derivative, the first step, the side of each event."""
    now = clock[0]
    if now.valid == 0:
        now.evaluations += 1
        status = complete(now.t, y, dydt, 0, context)
        if status != OK:
            return status
        now.valid = 1
    if reached(plan, clock, t_end):
        return OK
    if plan.adaptive != 0 and now.h <= 0.0:
        now.evaluations += 1
        longest = min(plan.h_max, t_end - now.t)
        status, now.h = initial_step(context, plan, now.t, y, dydt, work, longest)
        if status != OK:
            return status
    if work.signs.size > 0:
        status = event(now.t, y, work.values[0], context)
        if status == OK and (now.started == 0 or now.event >= 0):
            status = set_sides(context, y, dydt, work, clock, t_end)
        if status != OK:
            return status
    now.event = -1
    now.started = 1
    return OK


@inlined
def step(context, plan, y, dydt, work, clock, t_end):
    """One accepted step, committed: y, dydt and the clock move together."""
    now = clock[0]
    index = -1
    while True:
        copy(work.k[0], dydt)
        if plan.adaptive != 0:
            status, t_new, h = adaptive_step(context, plan, y, work, clock, t_end)
        else:
            status, t_new, h = fixed_step(context, plan, y, work, clock, t_end)
        if status != OK:
            return status
        if work.signs.size == 0:
            break
        status, index, t_new = stop_at_event(context, plan, t_new, h, y, work, clock)
        if status == OK:
            break
        if plan.adaptive == 0 or status >= ENDS_RUN or too_short(now.t, SHRINK_MOST * h):
            return status
        now.rejected += 1  # the system cannot be evaluated somewhere within the step
        now.h = SHRINK_MOST * h
    copy(y, work.y_new)
    copy(dydt, work.k[plan.stages])
    now.t = t_new
    now.steps += 1
    now.event = index
    if plan.adaptive == 0 and t_new >= now.origin + (now.count + 1) * now.h:
        now.count += 1
    return OK if index < 0 else EVENT
