"""Forces, joints and energies that are registered: what is refused, and that the methods of a scene are short forms."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.core.cache_folders import ROOT, sources
from dalembert.energies.cloth import Cloth
from dalembert.energies.hinge import Hinges
from dalembert.energies.kinds import KINDS, register
from dalembert.energies.spring import Springs
from dalembert.energies.tetrahedron import Tetrahedra
from dalembert.model.compile import compile_scene
from dalembert.scene.force import Force
from dalembert.scene.forces.laws import LAWS, law_on_bodies
from dalembert.scene.forces.spring import Spring
from dalembert.scene.joints.standard import Hinge
from dalembert.scene.mesh_file import hinges_of


def pendulum():
    scene = dal.Scene("pendulum")
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.0))
    scene.add_particles("dust", [[0.0, 0.0, 1.0], [0.0, 0.5, 1.0]], mass=1.0)
    return scene


def test_methods_are_short_forms():
    short, long = pendulum(), pendulum()
    short.hinge("pivot", dal.WORLD, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    long.add_joint("pivot", Hinge(dal.WORLD, "bob", (0, 0, 0), (0, 1, 0)))
    short.spring("spring", dal.WORLD, "bob", (0, 0, 1), (1, 0, 0), stiffness=2.0, damping=0.5)
    long.add_force("spring", Spring(dal.WORLD, "bob", (0, 0, 1), (1, 0, 0), stiffness=2.0, damping=0.5))
    short.springs("threads", "dust", [[0, 1]], stiffness=3.0)
    long.add_energy("threads", Springs("dust", [[0, 1]], stiffness=3.0))
    vertices, faces = dal.triangle_grid(1.0, 1.0, 3, 3)
    short.cloth("flag", vertices, faces, density=0.2, stretch=(30.0, 20.0), shear=10.0, bend=0.1, damping=0.01)
    mass = short.particles["flag"].mass
    flag = long.add_particles("flag", vertices, mass=mass)
    long.add_energy("flag stretch", Cloth(flag, faces, stretch=(30.0, 20.0), shear=10.0, damping=0.01))
    hinges, factor = hinges_of("flag", vertices, faces)
    long.add_energy("flag bend", Hinges(flag, hinges, stiffness=0.1 * factor, damping=0.01 * 0.1 * factor))
    vertices, tetrahedra = dal.tetrahedron_grid((1.0, 1.0, 1.0), (1, 1, 1))
    short.soft_body("jelly", vertices, tetrahedra, density=1000.0, young=1e4, poisson=0.3, viscosity=2.0)
    jelly = long.add_particles("jelly", vertices, mass=short.particles["jelly"].mass)
    long.add_energy("jelly elastic", Tetrahedra(jelly, tetrahedra, young=1e4, poisson=0.3, viscosity=2.0))
    one, other = compile_scene(short), compile_scene(long)
    for name, table in one.tables.items():
        assert np.array_equal(table, other.tables[name]), name
    rows = other.particles.element_rows()
    assert all(np.array_equal(table, rows[name]) for name, table in one.particles.element_rows().items())


def test_an_unregistered_law_is_named():
    class Nowhere(Force):
        kind = "nowhere"

        def resolve(self, found):
            self.a = found.body("bob", "{name!r} is no body")

        def rows(self, compiler):
            return [compiler.row("nowhere", self)]

    scene = pendulum()
    scene.add_force("lost", Nowhere())
    with pytest.raises(ValueError, match="law 'nowhere' is not registered; registered: field, spring"):
        compile_scene(scene)


def test_a_law_from_outside_the_package_or_of_a_name_that_is_taken_is_refused():
    def exert(t, y, force, at, kinematics, exerted, power, scratch):
        return 0

    with pytest.raises(ValueError, match=r"law 'outside': it is defined in .*put its file in dalembert/scene/forces"):
        law_on_bodies("outside", exert)
    with pytest.raises(ValueError, match="law 'spring': the name is already in use"):
        law_on_bodies("spring", exert)
    assert "outside" not in LAWS


def test_an_energy_that_kernels_have_no_room_for_is_refused():
    with pytest.raises(ValueError, match="energy 'five': 5 nodes and 1 rows of damping; give up to 4 and 6"):
        register("five", 5, 1, "stiffness", None, None)
    with pytest.raises(ValueError, match="energy 'springs': the name is already in use"):
        register("springs", 2, 1, "stiffness", None, None)
    assert "five" not in KINDS


@pytest.mark.parametrize(
    ("kernel", "folder"),
    [("dynamics/forces.py", "scene/forces"), ("energies/elements.py", "energies")],
)
def test_kernels_that_dispatch_are_made_of_all_files_of_the_registry(kernel, folder):
    """So that an added file compiles them anew."""
    assert {path for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"} <= sources(ROOT / kernel)
