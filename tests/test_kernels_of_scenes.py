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

MECHANICS, SPECIAL, INTEGRATE = "mechanics.evaluate", "mechanics.special", "integrate.behind"
EACH, ELEMENTS, PAIRS = "mechanics.fields", "mechanics.element_forces", "mechanics.pair_forces"
DETECT, BOX, PLANE, ROUND = "collide.detect", "collide.narrow_box", "collide.narrow_plane", "collide.narrow_round"
STEP, LIMITS, CONVERGING = "contact.step", "contact.limits", "contact.converging"
JOINT, CLOSED, JOINT_STEP = "articulated.evaluate", "articulated.closed", "articulated.contact_step"
PARTICLES, PARTICLE_DETECT, IMPACT = "particles.step", "particles.detect", "impact.evaluate"
LCP, SWEEPS = "linalg.lcp", "impact.cone_sweeps"
AT_TIMES = {LCP, SWEEPS}  # what some instants take
SMALL = {"mechanics.joint_state"}  # read while the run is set up, where joints have coordinates


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


def gallery(name):
    module = importlib.import_module(f"dalembert.gallery.{name}")
    return module.build(), dict(module.SETTINGS)


# scene, settings beside its own, kernels
SCENES = {
    "pendulum": ("pendulum", {}, {MECHANICS, INTEGRATE}),
    "a body on a spring": (on_a_spring, {"method": "rk4"}, {MECHANICS, SPECIAL, INTEGRATE}),
    "springs between particles": ("spring_chain", {}, {MECHANICS, EACH, ELEMENTS, INTEGRATE}),
    "a bead on a wire": ("bead", {}, {MECHANICS, SPECIAL, INTEGRATE}),
    "joint coordinates": ("double_pendulum", {"coordinates": "joint"}, {MECHANICS, JOINT, INTEGRATE}),
    "a closed chain in joint coordinates": (
        "four_bar", {"coordinates": "joint"}, {MECHANICS, JOINT, CLOSED, INTEGRATE},
    ),
    "boxes": ("stack", {"solver": "gauss_seidel"}, {MECHANICS, DETECT, BOX, PLANE, STEP}),
    "boxes, converging": ("stack", {"solver": "interior_point"}, {MECHANICS, DETECT, BOX, PLANE, STEP, CONVERGING}),
    "events": ("cradle", {}, {MECHANICS, DETECT, ROUND, INTEGRATE, IMPACT, LCP, SWEEPS}),
    "cloth": ("cloth", {}, {MECHANICS, EACH, ELEMENTS, PARTICLES}),
    "particles that attract each other": ("galaxy", {}, {MECHANICS, PAIRS, PARTICLES}),
    "particles in a field": ("fountain", {}, {MECHANICS, EACH, PARTICLES, PARTICLE_DETECT}),
    "a robot with contact": (robot, {"coordinates": "joint"}, {MECHANICS, DETECT, BOX, PLANE, JOINT, JOINT_STEP}),
    "a robot with a stop": (
        lambda: robot(stop=True), {"coordinates": "maximal"}, {MECHANICS, DETECT, BOX, PLANE, STEP, LIMITS},
    ),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """(names of what is compiled ahead, names of what is asked for its address)."""
    before, used = set(), set()
    simulate = importlib.import_module("dalembert.simulation.simulation")
    monkeypatch.setattr(simulate, "compile_ahead", lambda parts: before.update(short(part) for part in parts))
    address = jit.CFunction.address.func

    def asked_for(function):
        used.add(short(function))
        if "address" not in vars(function):
            vars(function)["address"] = address(function)
        return vars(function)["address"]

    monkeypatch.setattr(jit.CFunction, "address", property(asked_for))
    return before, used


def short(function):
    """The module of a kernel, and its family where there are several."""
    module, _, entry = function.name.rpartition(".")
    return module + entry.removeprefix("evaluate") if module == "collide.narrow" else module


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
    assert used - SMALL | AT_TIMES & expected == expected


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


def test_no_two_kernels_are_nearly_the_same():
    """Of all that two consist of, less than a half is in both: else one C function with a task more would do."""
    found = kernels()
    for one, other in itertools.combinations(found, 2):
        both = found[one].keys() & found[other].keys()
        whole = sum((found[one] | found[other]).values())
        assert sum(found[one][function] for function in both) < 0.5 * whole, (one, other)


@pytest.mark.parametrize(
    ("kernel", "folders"),
    [
        ("mechanics.evaluate.evaluate", ("energies", "interact", "particles", "contact", "body_forces", "special_rows")),
        ("contact.step.evaluate", ("bounded", "soft", "converge", "interior_point", "coordinates", "curve")),
        ("articulated.evaluate.evaluate", ("articulated.loops", "linalg.ldl")),
        ("articulated.contact_step.evaluate", ("articulated.loops", "linalg.ldl")),
    ],
)  # fmt: skip
def test_what_few_scenes_need_is_no_part_of_what_many_need(kernel, folders):
    used = {function.__module__ for function in kernels()[kernel]}
    wrong = {f"{module}." for module in used if any(f".{part}." in f"{module}." for part in folders)}
    assert wrong - {"dalembert.dynamics.particle_forces."} == set()
