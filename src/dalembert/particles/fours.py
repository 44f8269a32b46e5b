"""Four particles at a time, in uniform fields: what makes the step of free particles as fast as memory."""

from ..jit import inlined, njit
from ..lanes import first_thrice, last_thrice, middle_thrice, peek4, plus4, poke4, spread, times4, where4
from ..mechanics.particles import particles_at
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, scale


# Four particles are three registers of places, x y z x | y z x y | z x y z, and as many of momenta. Of forces m a + c the sum
# is a Σ m + c n and their moment (Σ m x) × a + (Σ x) × c. Pinned particles have an inverse mass of zero, and no momentum.
@njit
def step_fours(first, last, a, c, y, system, steps):
    """The step of `free` for whole fours of the particles from `first` to `last`, with the acceleration a and the force c.

    Returns (the first that is left over, sum of forces, their moment, a number that is not finite if any place is not).
    """
    h, n, at = steps.options[0].dt, system.settings[0].particles, particles_at(system)
    mass, inverse, room = system.particle_mass, system.particle_inverse_mass, steps.start
    end = last - (last - first) % 4
    if end == first:  # there may be too little room
        return first, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for k in range(12):
        poke(room, k, h * a[k % 3])
        poke(room, 12 + k, h * c[k % 3])
    a_0, a_1, a_2 = peek4(room, 0), peek4(room, 4), peek4(room, 8)
    c_0, c_1, c_2 = peek4(room, 12), peek4(room, 16), peek4(room, 20)
    zero, half = spread(0.0), spread(0.5 * h)
    masses, check = zero, zero
    s_0, s_1, s_2, r_0, r_1, r_2 = zero, zero, zero, zero, zero, zero  # Σ m x and Σ x
    for i in range(first, end, 4):
        m, w = peek4(mass, i), times4(half, peek4(inverse, i))
        moved = where4(w, zero, m)
        x, p = at + 3 * i, at + 3 * (n + i)
        s_0, r_0, check = move(
            y, x, p, first_thrice(w), first_thrice(m), first_thrice(moved), a_0, c_0, s_0, r_0, check
        )
        s_1, r_1, check = move(
            y, x + 4, p + 4, middle_thrice(w), middle_thrice(m), middle_thrice(moved), a_1, c_1, s_1, r_1, check
        )
        s_2, r_2, check = move(
            y, x + 8, p + 8, last_thrice(w), last_thrice(m), last_thrice(moved), a_2, c_2, s_2, r_2, check
        )
        masses = plus4(masses, m)
    weighted, places = sum_of(s_0, s_1, s_2, room), sum_of(r_0, r_1, r_2, room)
    total = add_scaled(scale(end - first, c), sum_4(masses, room), a)
    moment = add(cross(weighted, a), cross(places, c))
    return end, total, moment, sum_4(check, room)


@inlined
def move(y, at, to_p, w, m, moved, a, c, weighted, places, check):
    """Four numbers: half a drift, the kick m a + c where anything moves, half a drift; the three sums go on."""
    zero = spread(0.0)
    p = peek4(y, to_p)
    x = plus4(peek4(y, at), times4(w, p))
    weighted, places = plus4(weighted, times4(m, x)), plus4(places, x)
    p = plus4(p, plus4(times4(moved, a), where4(w, zero, c)))
    x = plus4(x, times4(w, p))
    poke4(y, at, x)
    poke4(y, to_p, p)
    return weighted, places, plus4(check, x)


@inlined
def sum_of(v_0, v_1, v_2, room):
    """The sum of four vectors in three registers."""
    poke4(room, 0, v_0)
    poke4(room, 4, v_1)
    poke4(room, 8, v_2)
    total = (0.0, 0.0, 0.0)
    for k in range(0, 12, 3):
        total = add(total, (peek(room, k), peek(room, k + 1), peek(room, k + 2)))
    return total


@inlined
def sum_4(v, room):
    poke4(room, 0, v)
    return peek(room, 0) + peek(room, 1) + peek(room, 2) + peek(room, 3)
