"""Impulses of a step kept by feature, for the next to start from."""

from ..jit import inlined, njit
from ..vec import store3
from .tables import CONTACTS


@inlined
def impulse_before(pair, feature):
    """The impulse (world axes) of the same feature in the step before, or none."""
    for k in range(pair.points):
        if pair.feature[k] == feature:
            return (pair.impulse[3 * k], pair.impulse[3 * k + 1], pair.impulse[3 * k + 2])
    return (0.0, 0.0, 0.0)


@inlined
def keep_impulse(contact, pair):
    """Put the impulse of a contact back to its pair, in world axes."""
    at = 3 * contact.point
    for c in range(3):
        pair.impulse[at + c] = (
            contact.impulse[0] * contact.frame[c]
            + contact.impulse[1] * contact.frame[3 + c]
            + contact.impulse[2] * contact.frame[6 + c]
        )


@njit
def keep_impulses(collision):
    """Put the impulses of the contacts back to their pairs, to start the next step from."""
    contacts = collision.contacts
    pairs = collision.pairs
    for i in range(collision.counts[CONTACTS]):
        keep_impulse(contacts[i], pairs[contacts[i].pair])


@njit
def forget_impulses(collision):
    """Let the contacts start from nothing."""
    contacts = collision.contacts
    for i in range(collision.counts[CONTACTS]):
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))
