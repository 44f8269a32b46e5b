"""The size of every kernel before it is optimised, which is what it costs to compile. A function that is inlined by force
below each of its callers shows here first, and so does a part that a kernel does not need."""

import pytest

from dalembert.core import jit
from dalembert.simulation import precompile as ahead

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

# (functions, kB of LLVM's bitcode) at most: a fifth more than measured
BOUNDS = {
    "deformable.step.particle_step_entry": (300, 950), "contact.joint_space.joint_space_entry": (300, 676),
    "contact.joint_space.rides_entry": (96, 224), "deformable.joint_space_carriers.trees_entry": (175, 424),
    "contact.step.step_entry": (500, 950), "dynamics.mechanism.mechanism_entry": (177, 385),
    "contact.converge.converging_entry": (262, 532), "contact.cone_solver.cone_solver_entry": (196, 405),
    "contact.surface_rows.surfaces_entry": (118, 184),
    "contact.joint_space_surfaces.joint_surfaces_entry": (143, 227),
    "impact.system.contact_system_entry": (128, 265), "impact.grazing.look_entry": (84, 142),
    "dynamics.particle_forces.elements_entry": (178, 580), "dynamics.joint_space.mechanism.tree_entry": (120, 295),
    "dynamics.joint_space.loops.loops_entry": (116, 275), "contact.limits.limits_entry": (132, 230),
    "collide.curved.distance_entry": (110, 264), "dynamics.mechanism.special_entry": (120, 238),
    "linalg.conjugate_gradient._solve": (128, 556), "collide.detect.detect_entry": (142, 225),
    "collide.narrow_phase.general_entry": (105, 176), "collide.narrow_phase.hull_entry": (91, 196),
    "collide.narrow_phase.box_entry": (76, 155), "deformable.contact.particle_detect_entry": (113, 210),
    "collide.particles.meet": (83, 156), "dynamics.joint_space.queries.query": (77, 200),
    "integrate.driver.integration_entry": (75, 175), "contact.continuous.continuous_entry": (120, 225),
    "contact.mechanism_impacts.impacts_entry": (100, 165),
    "contact.joint_space_continuous.joint_space_continuous_entry": (115, 240),
    "contact.wide_rows.wide_entry": (117, 275), "dynamics.cables.cables_entry": (83, 180),
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
