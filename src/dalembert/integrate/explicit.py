"""One step of any explicit Runge–Kutta method, and its dense output. Conventions: see `tableau`.

`plan` is the record of `state` that holds the tableau; `k` is float64[rows, n]; row 0 is f(t, y) on entry. `stage` and
`y_new` are float64[n]. Nothing is allocated.
"""

from ..arrays import clear
from ..jit import inlined, njit
from ..status import OK
from .functions import derivative, drift


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
    """Kick, drift, kick (Strang): p += ½h ṗ; q moves freely over h at constant p, exactly preserving what a free system
    preserves; p += ½h ṗ. `momentum` is +1 at momenta, -1 at what the drift moves, 0 at the rest, which takes the mean
    of its rates. The last kick is taken at the momenta it leads to, by one correction. Row 1 of `k` becomes (y_new - y)/h."""
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
