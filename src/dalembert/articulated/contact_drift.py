"""Free motion of trees over half a step: no forces, and every tree on its own, as loops are closed by impulses.

M ẇ + bias = 0, by the classical Runge–Kutta method: between its kicks a step is exact to fourth order.
"""

from ..jit import njit
from ..unchecked import peek, poke
from ..vec import store3
from .contact_tables_of import options_of, slopes_of, start_of, total_of
from .evaluate import LIMP
from .forward import accelerate
from .motion import ZERO, coordinate_rates, move, normalize_quaternions
from .tables_of import efforts_of, motion_of, rates_of, tree_of
from .tables_of import options_of as reduced_options_of


@njit
def move_tree(z, reduced):
    """Places, velocities and columns of all links at z."""
    options = reduced_options_of(reduced)[0]
    move(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree_of(reduced))


@njit
def drift(z, reduced, stepping):
    """Move z, where the tree is, over half a step. Returns a status; the tree is not where z is then."""
    options, tree = reduced_options_of(reduced)[0], tree_of(reduced)
    h, first = 0.5 * options_of(stepping)[0].dt, options.coordinates
    start, total, slopes, rates = start_of(stepping), total_of(stepping), slopes_of(stepping), rates_of(tree)
    n = first + options.speeds
    unload(tree)
    for k in range(n):
        poke(start, k, peek(z, k))
        poke(total, k, 0.0)
    for stage in range(4):
        if stage > 0:
            move_tree(z, reduced)
        options.limp = accelerate(tree)
        if options.limp >= 0:
            return LIMP
        coordinate_rates(z, z[first:n], slopes, tree)
        for k in range(options.speeds):
            poke(slopes, first + k, peek(rates, k))
        weight = 2.0 if stage == 1 or stage == 2 else 1.0
        ahead = h if stage == 2 else 0.5 * h
        for k in range(n):
            slope = peek(slopes, k)
            poke(total, k, peek(total, k) + weight * slope)
            poke(z, k, peek(start, k) + ahead * slope)
    for k in range(n):
        poke(z, k, peek(start, k) + h / 6.0 * peek(total, k))
    normalize_quaternions(z, tree)
    return 0


@njit
def unload(tree):
    """Take all forces off the links."""
    motion, efforts = motion_of(tree), efforts_of(tree)
    for i in range(motion.shape[0]):
        store3(motion[i].force, ZERO)
        store3(motion[i].torque, ZERO)
    for k in range(efforts.shape[0]):
        poke(efforts, k, 0.0)
