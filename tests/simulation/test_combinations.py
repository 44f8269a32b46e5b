"""Any content by any method: it runs, or it is refused by name. Never a crash, nor an exception that explains nothing."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.detect import collision_of
from dalembert.model.compile import compile_scene
from dalembert.simulation.agreement import Disagreement, require_agreement

NUMBERS = 40 if numba.config.DISABLE_JIT else 320


def test_every_combination_of_content_and_method_runs_or_is_refused():
    """In a process of its own, so that a segmentation fault is a failure of this test."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(dal.__file__).parents[1]), str(root)])}
    found = subprocess.run(
        [sys.executable, "-m", "tests.simulation.combinations", "0", str(NUMBERS)],
        env=environment, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert found.returncode == 0, f"{found.stdout[-600:]}\n{found.stderr[-2000:]}"
    assert "DEFECT" not in found.stdout
    assert found.stdout.count("    runs") > NUMBERS // 4


@pytest.mark.parametrize("method", [{"method": "rk4", "dt": 1e-3}, {"method": "dormand_prince"}])
def test_rods_between_particles_over_the_ground_fall_as_without_it(method):
    def scene(ground):
        made = dal.Scene("rods")
        group = made.add_particles("p", [(0, 0, 1), (0.5, 0, 1)], mass=1.0, velocity=[(0, 1, 0), (0, -1, 0)])
        made.rods("r", group, [(0, 1)])
        if ground:
            made.add_obstacle("ground", dal.HalfSpace())
        return made

    with_ground, without = (dal.simulate(scene(ground), 0.3, **method) for ground in (True, False))
    np.testing.assert_allclose(with_ground.state.particle_position, without.state.particle_position, atol=1e-12)


def mixed():
    """Bodies, links, nodes, elements, laws, a mesh, a rule: numbers of every kind."""
    scene = dal.Scene("mixed")
    ball = scene.add_body("ball", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 1), material=dal.Material())
    other = scene.add_body("other", dal.Sphere(0.1), mass=1.0, position=(1, 0, 1), material=dal.Material())
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    scene.add_body("hull", dal.ConvexHull(corners), mass=1.0, position=(3, 0, 1), material=dal.Material())
    scene.add_obstacle("mesh", dal.TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]))
    scene.set_contact("ball", "other", enabled=False)
    scene.set_contact("ball", "mesh", friction=0.1)
    joint = scene.hinge("hinge", ball, other, at=(0.5, 0, 1), axis=(0, 1, 0))
    scene.torsion_spring("torsion", joint, stiffness=1.0, damping=1.0)
    group = scene.add_particles("p", [(2, 0, 1), (2, 0.5, 1), (2, 1, 1)], mass=1.0)
    scene.rod("rod", ball, group[1], at_a=(0, 0, 1))
    scene.springs("springs", group, [(0, 1), (1, 2)], stiffness=1.0)
    scene.repulsion("repulsion", stiffness=1.0, diameter=0.1)
    return scene


NUMBERED = [
    ("system", "nodes", "particle"), ("system", "parts", "joint"), ("system", "parts", "a"), ("system", "parts", "b"),
    ("system", "joints", "row"), ("system", "joints", "last"), ("system", "incidences", "joint"),
    ("system", "incidences", "body"), ("system", "incidences", "row"), ("system", "pairs", "body"),
    ("system", "reactions", "body"), ("system", "coordinates", "a"), ("system", "coordinates", "at"),
    ("system", "forces", "a"), ("system", "forces", "coordinate"), ("system", "forces", "ledger"),
    ("system", "particle_forces", "last"), ("elements", "springs", "nodes"), ("elements", "sets", "last"),
    ("interactions", "laws", "last"), ("interactions", "members", None),
    ("collision", "colliders", "body"), ("collision", "colliders", "first_vertex"), ("collision", "colliders", "edges"),
    ("collision", "faces", "first"), ("collision", "facets", "face"), ("collision", "facets", "first_vertex"),
    ("collision", "nodes", "facet"), ("collision", "trees", "collider"), ("collision", "order", None),
    ("collision", "excluded", None), ("collision", "rule_keys", None),
]  # fmt: skip


@pytest.mark.parametrize(("where", "table", "field"), NUMBERED)
@pytest.mark.parametrize("value", [10**6, -2])
def test_a_number_that_names_no_row_is_found_before_the_run(where, table, field, value):
    scene = mixed()
    model = compile_scene(scene)
    system, collision = model.system(), collision_of(scene)
    require_agreement(model.size, system, collision)
    places = {"system": system, "collision": collision, "elements": system.elements,
              "interactions": system.interactions}  # fmt: skip
    rows = getattr(places[where], table)
    (rows if field is None else rows[field])[...] = value
    with pytest.raises(Disagreement, match="bug of dalembert"):
        require_agreement(model.size, system, collision)


@pytest.mark.parametrize("name", ["kinematics", "bias", "rhs", "particle_mass", "pushes", "power"])
def test_a_table_of_the_wrong_length_is_found_before_the_run(name):
    model = compile_scene(mixed())
    system = model.system()
    with pytest.raises(Disagreement, match="bug of dalembert"):
        require_agreement(model.size, system._replace(**{name: getattr(system, name)[:-1]}))


def test_colliders_numbered_with_another_world_are_found_before_the_run():
    scene = mixed()
    model = compile_scene(scene)
    short = dal.Scene("short")
    short.add_body("ball", dal.Sphere(0.1), mass=1.0, material=dal.Material())
    with pytest.raises(Disagreement, match="rigid bodies"):
        require_agreement(model.size, model.system(), collision_of(short))
