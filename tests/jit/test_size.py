"""The size of every kernel before it is optimised, which is what it costs to compile. A function that is inlined by force
below each of its callers shows here first, and so does a part that a kernel does not need."""

import pytest

from dalembert.core import jit
from dalembert.simulation import precompile as ahead

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

# (functions, kB of LLVM's bitcode) at most: a fifth more than measured
BOUNDS = {
    "particles.step.evaluate": (280, 950), "articulated.contact_step.evaluate": (280, 575),
    "contact.step.evaluate": (205, 405), "mechanics.evaluate.evaluate": (177, 385),
    "contact.converging.evaluate": (160, 325), "impact.evaluate.evaluate": (118, 250),
    "mechanics.element_forces.evaluate": (178, 580), "articulated.evaluate.evaluate": (120, 295),
    "articulated.closed.evaluate": (116, 275), "contact.limits.evaluate": (124, 225),
    "collide.distance.evaluate": (95, 220), "mechanics.special.evaluate": (90, 200),
    "linalg.conjugate_gradient._solve": (128, 556), "collide.detect.evaluate": (83, 130),
    "collide.narrow.evaluate_general": (92, 165), "collide.narrow.evaluate_hull": (87, 180),
    "collide.narrow.evaluate_box": (72, 142), "particles.detect.evaluate": (92, 175),
    "collide.particles.meet": (83, 156), "articulated.answer.answer": (77, 200),
    "integrate.behind.advance_behind": (75, 175),
}  # fmt: skip
OTHERS = (72, 130)


@pytest.mark.parametrize("kernel", ahead.everything(), ids=lambda kernel: kernel.name)
def test_a_kernel_is_no_larger_than_it_was(kernel):
    made = kernel.object_file()
    functions, kilobytes = BOUNDS.get(kernel.name, OTHERS)
    assert made.functions <= functions, f"{made.functions} functions"
    assert made.intermediate <= 1000 * kilobytes, f"{made.intermediate / 1000:.0f} kB"


def test_every_bound_belongs_to_a_kernel():
    assert set(BOUNDS) <= {kernel.name for kernel in ahead.everything()}
