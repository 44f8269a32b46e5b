"""Each scene compiles only what it needs, before its first step, and no two kernels are nearly the same."""

import importlib
import itertools
import types

import pytest

import dalembert as dal
from dalembert.core import jit
from dalembert.core.kernel import Kernel
from dalembert.simulation import precompile as ahead

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

# Kernels by the names of their entry points; where a module has several that go together, by the name of the module.
MECHANICS, SPECIAL, INTEGRATE, CABLES = "mechanism_entry", "special_entry", "integration_entry", "cables_entry"
EACH, ELEMENTS, PAIRS = "fields_entry", "elements_entry", "pairs_entry"
DETECT, BOX, PLANE, ROUND = "detect_entry", "box_entry", "plane_entry", "round_entry"
STEP, LIMITS, CONVERGING = "step_entry", "limits_entry", "converging_entry"
JOINT, CLOSED, JOINT_SPACE = "tree_entry", "loops_entry", "joint_space_entry"
PARTICLES, PARTICLE_DETECT, IMPACT = "particle_step_entry", "particle_detect_entry", "contact_system_entry"
LOOK, DISTANCE = "look_entry", "distance_entry"
LCP, SWEEPS = "linalg.lcp", "impact.contact_law"
AT_TIMES = {LCP, SWEEPS}  # what some instants take
SMALL = {"dynamics.forces"}  # read while the run is set up, where joints have coordinates
RECORDING = {"contact.points"}  # read when a frame first has contacts
GROUPS = AT_TIMES | SMALL | RECORDING


def robot(stop=False):
    """An arm that falls on the ground, with or without a stop."""
    scene = dal.Scene("arm", material=dal.Material())
    scene.add_obstacle("ground", dal.HalfSpace())
    base = scene.add_body("base", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.0, 0.0, 0.5))
    arm = scene.add_body("arm", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(0.3, 0.0, 0.5))
    scene.hinge("hinge", base, arm, at=(0.1, 0.0, 0.5), axis=(0.0, 1.0, 0.0))
    if stop:
        scene.limit("stop", "hinge", upper=0.1)
    return scene


def on_a_spring():
    scene = dal.Scene("spring")
    body = scene.add_body("body", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.0, 0.0, -1.0))
    scene.spring("spring", dal.WORLD, body, at_a=(0.0, 0.0, 0.0), at_b=(0.0, 0.0, -1.0), stiffness=100.0)
    return scene


def hoist(slack=False):
    """A ball on a rope over a pulley."""
    scene = dal.Scene("hoist")
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0.1, 0.0, 0.0))
    over = dal.Pulley(dal.WORLD, at=(0.0, 0.0, 1.0), axis=(0.0, 1.0, 0.0), radius=0.1, side=(0.0, 0.0, 1.0))
    scene.cable("rope", [(dal.WORLD, (-0.1, 0.0, 0.0)), over, (ball, (0.1, 0.0, 0.0))], slack=slack)
    return scene


def gallery(name):
    module = importlib.import_module(f"dalembert.gallery.{name}")
    return module.build(), dict(module.SETTINGS)


# scene, settings beside its own, kernels
SCENES = {
    "pendulum": ("pendulum", {}, {MECHANICS, INTEGRATE}),
    "a body on a spring": (on_a_spring, {"method": "rk4"}, {MECHANICS, SPECIAL, INTEGRATE}),
    "springs between particles": ("spring_chain", {}, {MECHANICS, EACH, ELEMENTS, INTEGRATE}),
    "a bead on a wire": ("bead", {}, {MECHANICS, SPECIAL, INTEGRATE}),
    "a cable": (hoist, {"method": "rk4"}, {MECHANICS, SPECIAL, CABLES, INTEGRATE}),
    "a cable that goes slack": (
        lambda: hoist(slack=True), {}, {MECHANICS, SPECIAL, CABLES, DETECT, STEP, LIMITS},
    ),
    "joint coordinates": ("double_pendulum", {"coordinates": "joint"}, {MECHANICS, JOINT, INTEGRATE}),
    "a closed chain in joint coordinates": (
        "four_bar", {"coordinates": "joint"}, {MECHANICS, JOINT, CLOSED, INTEGRATE},
    ),
    "boxes": ("stack", {"solver": "gauss_seidel"}, {MECHANICS, DETECT, BOX, PLANE, STEP}),
    "boxes, converging": ("stack", {"solver": "interior_point"}, {MECHANICS, DETECT, BOX, PLANE, STEP, CONVERGING}),
    "events": ("cradle", {}, {MECHANICS, DETECT, ROUND, INTEGRATE, IMPACT, LOOK, DISTANCE, LCP, SWEEPS}),
    "cloth": ("cloth", {}, {MECHANICS, EACH, ELEMENTS, PARTICLES}),
    "particles that attract each other": ("galaxy", {}, {MECHANICS, PAIRS, PARTICLES}),
    "particles in a field": ("fountain", {}, {MECHANICS, EACH, PARTICLES, PARTICLE_DETECT}),
    "a robot with contact": (
        robot, {"coordinates": "joint"}, {MECHANICS, DETECT, BOX, PLANE, JOINT, STEP, JOINT_SPACE},
    ),
    "a robot with a stop": (
        lambda: robot(stop=True), {"coordinates": "maximal"}, {MECHANICS, DETECT, BOX, PLANE, STEP, LIMITS},
    ),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """(names of what is compiled ahead, names of what is asked for its address)."""
    before, used = set(), set()
    simulation = importlib.import_module("dalembert.simulation.simulation")
    monkeypatch.setattr(simulation, "precompile", lambda parts: before.update(short(part) for part in parts))
    address = jit.CFunction.address.func

    def asked_for(function):
        used.add(short(function))
        if "address" not in vars(function):
            vars(function)["address"] = address(function)
        return vars(function)["address"]

    monkeypatch.setattr(jit.CFunction, "address", property(asked_for))
    return before, used


def short(function):
    """The name of a kernel's entry point, or that of its module where several go together."""
    module, _, entry = function.name.rpartition(".")
    return module if module in GROUPS else entry


@pytest.mark.parametrize("kind", SCENES)
def test_a_scene_asks_for_these_kernels_and_no_others(kind, asked):
    source, more, expected = SCENES[kind]
    scene, settings = (
        gallery(source) if isinstance(source, str) else (source(), {"method": "time_stepping", "dt": 0.01})
    )
    before, used = asked
    dal.simulate(scene, **(settings | {"duration": 2e-3} | more))
    assert before - SMALL == expected
    assert used & SMALL <= before
    assert used - SMALL - RECORDING | AT_TIMES & expected == expected


def called(function):
    """The compiled functions that one calls, by name in its source."""
    code, names = function.__code__, function.__globals__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    known = {name: cell.cell_contents for name, cell in cells}
    for name in (*code.co_names, *code.co_freevars):
        value = known.get(name, names.get(name))
        members = [getattr(value, part, None) for part in code.co_names] if isinstance(value, types.ModuleType) else []
        yield from (one.py_func for one in (value, *members) if isinstance(one, jit.Inner))


def reached(function):
    """The functions that a kernel is made of → the length of their bytecode, which is about what they cost to compile."""
    found, left = {}, [function]
    while left:
        one = left.pop()
        if one not in found:
            found[one] = len(one.__code__.co_code)
            left.extend(called(one))
    return found


def kernels():
    """Those that runs call by a pointer; others are called with arrays, one at a time."""
    chosen = (function for function in ahead.everything() if not isinstance(function, Kernel))
    return {function.name: reached(function.function) for function in chosen}


# The converging solver in a step, and by itself for problems from Python.
OF_SOLVER = {"contact.converge.converging_entry", "contact.cone_solver.cone_solver_entry"}


def test_no_two_kernels_are_nearly_the_same():
    """Of all that two consist of, less than a half is in both: else one C function with a task more would do."""
    found = kernels()
    for one, other in itertools.combinations(found, 2):
        both = found[one].keys() & found[other].keys()
        if {one, other} == OF_SOLVER:
            continue
        whole = sum((found[one] | found[other]).values())
        assert sum(found[one][function] for function in both) < 0.5 * whole, (one, other)


@pytest.mark.parametrize(
    ("kernel", "folders", "others"),
    [
        (MECHANICS, ("energies", "pairwise", "deformable", "contact", "scene"), (SPECIAL,)),
        (STEP, ("dynamics.joint_space",), (LIMITS, CONVERGING)),
        (JOINT, ("contact", "linalg.lcp"), (CLOSED,)),
        (JOINT_SPACE, ("contact.cone_solver", "linalg.lcp"), (CLOSED,)),
    ],
)  # fmt: skip
def test_what_few_scenes_need_is_no_part_of_what_many_need(kernel, folders, others):
    """No function of these folders, and none that the C functions of what few need call themselves."""
    made = {short(function): function.function for function in ahead.everything() if not isinstance(function, Kernel)}
    found = reached(made[kernel])
    wrong = [one for one in found if any(f".{part}." in f"{one.__module__}." for part in folders)]
    assert wrong == []
    for other in others:
        (task,) = called(made[other]) if kernel != STEP else list(called(made[other]))[-1:]
        own = {one for one in called(task) if len(reached(one)) > 10}
        assert own and not own & found.keys(), {one.__qualname__ for one in own & found.keys()}
