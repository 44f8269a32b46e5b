"""No point of a manifold is deeper than the bodies are along its normal: any two shapes, near or far, with any margin."""

import numpy as np
import pytest

from dalembert.collide.build import Solid, make_collision

from .oracle import KINDS, gap_along, random_rotation
from .pairs import Two


def in_order(kind_a, kind_b):
    """The two kinds in the order in which the narrow phase takes them."""
    shapes = [KINDS[kind](np.random.default_rng(0)) for kind in (kind_a, kind_b)]
    codes = make_collision([Solid(shape, i) for i, shape in enumerate(shapes)]).colliders.kind
    return (kind_a, kind_b) if codes[0] <= codes[1] else (kind_b, kind_a)


PAIRS = sorted({in_order(a, b) for a in KINDS for b in KINDS})


@pytest.mark.parametrize("kinds", PAIRS, ids=["-".join(pair) for pair in PAIRS])
@pytest.mark.sampled(4)
def test_no_point_is_deeper_than_the_bodies_are_along_the_normal(kinds):
    """A margin may be as large as a small fast body. Points beside a face or an edge must not overlap then."""
    rng = np.random.default_rng(5)
    met_far, deepest = 0, np.inf
    for _ in range(400):
        shape_a, shape_b = (KINDS[kind](rng) for kind in kinds)
        pair = Two(shape_a, shape_b)
        offset = rng.normal(size=3) * rng.uniform(0.3, 1.5)
        margin = rng.choice([0.01, 0.1, 0.5, 1.0])
        met = pair.meet((np.zeros(3), random_rotation(rng)), (offset, random_rotation(rng)), margin=margin)
        if met.points == 0:
            continue
        along = gap_along(pair.tables, met.normal)
        met_far += along > 0.05
        deepest = min(deepest, met.separation.min() - along)
    assert met_far > 20
    assert deepest > -1e-6
