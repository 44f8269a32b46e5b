"""Free motion of trees over half a step: no forces, and every tree on its own, as loops are closed by impulses.

With f(u, w) = −M⁻¹ bias, what the speeds do on their own, and places u_m at the middle of the step,

    u_m = u + ½ h w,  w⁻ = w + ½ h f(u_m, w⁻)       before the kick,
    w' = w⁺ + ½ h f(u_m, w⁺),  u' = u_m + ½ h w'     after it:

leapfrog, whose second half is the first one backwards. M is needed at u_m only, where the kick has it anyway.
"""

from ..arrays import copy
from ..jit import njit
from ..unchecked import peek, poke
from ..vec import store3
from .inverse import bear, spread_rates
from .jacobian import spread_speeds
from .lift import step
from .mass_matrix import factorize, fill_matrix, solve
from .motion import ZERO, move

PASSES, ROUNDING = 10, 1e-12  # of finding w⁻, each a factor of h better; they end when so small a part of it changes


@njit
def place(z, reduced, stepping):
    """Places and velocities of all links at z, and the factor of M. Returns the freedom that nothing resists, or −1."""
    options, tree = reduced.options[0], reduced.tree
    move(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree)
    fill_matrix(tree)
    if stepping.soft.shape[0] > 0:
        copy(stepping.mass, tree.matrix)
    options.limp = factorize(tree)
    return options.limp


@njit
def approach(z, reduced, stepping):
    """Move z to the middle of the step. Returns as `place`."""
    options, tree = reduced.options[0], reduced.tree
    h, first, start, slopes = stepping.options[0].dt, options.coordinates, stepping.before, stepping.slopes
    m = options.speeds
    step(z, 0.5 * h, z[first : first + m], tree)
    if place(z, reduced, stepping) >= 0:
        return options.limp
    for k in range(m):
        poke(start, k, peek(z, first + k))
    for _ in range(PASSES):
        fill_slopes(slopes, tree)
        size, change = 0.0, 0.0
        for k in range(m):
            speed = peek(start, k) + 0.5 * h * peek(slopes, k)
            size, change = max(size, abs(speed)), max(change, abs(speed - peek(z, first + k)))
            poke(z, first + k, speed)
        if not change > ROUNDING * size:
            break
        spread_speeds(z[first : first + m], tree)
    return -1


@njit
def depart(z, reduced, stepping):
    """Move z on from the middle of the step, where the tree is, to its end."""
    tree = reduced.tree
    h, first, slopes, m = (
        stepping.options[0].dt,
        reduced.options[0].coordinates,
        stepping.slopes,
        reduced.options[0].speeds,
    )
    if stepping.soft.shape[0] > 0:
        copy(tree.matrix, stepping.factor)
    spread_speeds(z[first : first + m], tree)
    fill_slopes(slopes, tree)
    for k in range(m):
        poke(z, first + k, peek(z, first + k) + 0.5 * h * peek(slopes, k))
    step(z, 0.5 * h, z[first : first + m], tree)


@njit
def fill_slopes(slopes, tree):
    """−M⁻¹ bias, at the velocities of the links."""
    motion, rates = tree.motion, tree.rates
    for i in range(motion.shape[0]):
        store3(motion[i].force, ZERO)
        store3(motion[i].torque, ZERO)
    for k in range(rates.shape[0]):
        poke(rates, k, 0.0)
    spread_rates(rates, tree)
    bear(rates, slopes, tree)
    for k in range(rates.shape[0]):
        poke(slopes, k, -peek(slopes, k))
    solve(slopes, 0, tree)
