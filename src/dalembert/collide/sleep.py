"""Bodies that sleep: what is at rest is left alone until something touches it.

Bodies that fall asleep together have one number (`asleep`); all of them wake when one is touched by a body that is awake.
Pairs of bodies that sleep keep what is known of them, their impulses too, so that on waking everything goes on as if there
had been no sleep.
"""

from ..jit import njit
from .tables import AWAKE, FIRST_PAIR, PAIRS


@njit
def wake_touched(bodies, collision):
    """Wake all whose number is that of a body that an awake one touches; returns whether there were any."""
    counts, asleep, colliders = collision.counts, collision.asleep, collision.colliders
    manifolds, pairs = collision.manifolds, collision.pairs
    woken = False
    for k in range(counts[PAIRS]):
        if manifolds[k].points <= 0:
            continue
        pair = pairs[counts[FIRST_PAIR] + k]
        a, b = colliders[pair.a].body, colliders[pair.b].body
        sleeper = max(asleep[a], asleep[b])  # one of the two is awake, or there would be no points
        if sleeper > AWAKE:
            woken = True
            for body in range(bodies):
                if asleep[body] == sleeper:
                    asleep[body] = AWAKE
    return woken
