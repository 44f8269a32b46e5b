"""What cannot pull at particles is refused with the name of the force, the value, and what to do."""

import numpy as np
import pytest

import dalembert as dal

from .refusals import NAN, refused, some

PAIR, TRIPLE, FACE, TOP = [[0, 1]], [[0, 1, 2]], [[0, 1, 2]], [[0, 1, 2, 4]]

FORCES = [
    # on each
    (
        lambda s: s.field("f", "sand", force=(0, 0, 1)),
        "field 'f': there are no particles 'sand' in this scene; groups: dust",
    ),
    (lambda s: s.field("f", ["dust", "dust"]), "field 'f': a group of particles is given twice"),
    (lambda s: s.field("f", some().particles["dust"]), "field 'f': there are no particles 'dust' in this scene"),
    (lambda s: s.field("f", 7), "field 'f': there are no particles"),
    (lambda s: s.field("f", acceleration=(0, 0)), r"field 'f': acceleration must be numbers of shape \(3,\)"),
    (lambda s: s.field("f", force=(0, 0, NAN)), r"field 'f': force\[2\] is nan; give finite"),
    (lambda s: s.field("f", force=(0, 0, 1), function=lambda t, x, v: x), "field 'f': give a function, or .* not both"),
    (lambda s: s.medium("f", linear=-1.0), "medium 'f': linear must be a finite number not below 0; got -1.0"),
    (lambda s: s.medium("f", quadratic=NAN), "medium 'f': quadratic must be .* got nan"),
    (lambda s: s.medium("f", linear="thick"), "medium 'f': linear must be .* got 'thick'"),
    (lambda s: s.medium("f", velocity=3.0), r"medium 'f': velocity must be numbers of shape \(3,\)"),
    (lambda s: s.wind("f", "dust"), "wind 'f': particles 'dust' have no surface; give faces"),
    (lambda s: s.wind("f", "dust", [[0, 1]]), r"wind 'f': give a table of whole numbers of shape \(m, 3\).*\(1, 2\)"),
    (lambda s: s.wind("f", "dust", FACE, density=-1.0), "wind 'f': density must be .* got -1.0"),
    (lambda s: s.wind("f", "dust", FACE, coefficient=np.inf), "wind 'f': coefficient must be .* got inf"),
    # between a few
    (
        lambda s: s.springs("f", "dust", [0, 1], stiffness=1.0),
        r"springs 'f': give a table .* \(m, 2\), indices within 'dust'",
    ),
    (
        lambda s: s.springs("f", "dust", [[0.0, 1.0]], stiffness=1.0),
        "springs 'f': give a table of whole numbers.*float64",
    ),
    (lambda s: s.springs("f", "dust", np.zeros((0, 2), int), stiffness=1.0), r"springs 'f': give a table.*\(0, 2\)"),
    (
        lambda s: s.springs("f", "dust", [[0, 1], [1, 5]], stiffness=1.0),
        r"'f': element 1 names \[1, 5\].*particles 0 to 4",
    ),
    (lambda s: s.springs("f", "dust", [[-1, 0]], stiffness=1.0), r"'f': element 0 names \[-1, 0\].*particles 0 to 4"),
    (
        lambda s: s.springs("f", "dust", [[2, 2]], stiffness=1.0),
        r"'f': element 0 has a particle twice, \[2, 2\]; use",
    ),
    (
        lambda s: s.springs("f", "dust", PAIR, stiffness=-1.0),
        r"springs 'f': stiffness\[0\] is -1; give numbers not below",
    ),
    (lambda s: s.springs("f", "dust", PAIR, stiffness=NAN), r"springs 'f': stiffness\[0\] is nan; give finite"),
    (
        lambda s: s.springs("f", "dust", PAIR, stiffness=[1, 2]),
        r"springs 'f': stiffness must be numbers of shape \(1,\)",
    ),
    (lambda s: s.springs("f", "dust", PAIR, stiffness=1.0, damping=-2), r"springs 'f': damping\[0\] is -2"),
    (lambda s: s.springs("f", "dust", PAIR, stiffness=1.0, rest=-1), r"springs 'f': rest\[0\] is -1"),
    (lambda s: s.springs("f", "dust", PAIR, stiffness=1.0, rest=np.inf), r"springs 'f': rest\[0\] is inf"),
    (lambda s: s.angular_springs("f", "dust", TRIPLE, stiffness=-1.0), r"angular springs 'f': stiffness\[0\] is -1"),
    (lambda s: s.angular_springs("f", "dust", PAIR, stiffness=1.0), r"angular springs 'f': give a table.*\(m, 3\)"),
    (
        lambda s: s.angular_springs("f", "dust", TRIPLE, stiffness=1.0, rest=0.0),
        r"'f': the rest angle of element 0 is 0.*bend",
    ),
    (
        lambda s: s.angular_springs("f", "dust", TRIPLE, stiffness=1.0, rest=np.pi),
        r"'f': the rest angle .* 3.14159.*bending",
    ),
    (lambda s: s.bending("f", "dust", [[0, 1, 0]], stiffness=1.0), r"bending 'f': element 0 has a particle twice"),
    (lambda s: s.bending("f", "dust", TRIPLE, stiffness=-1.0), r"bending 'f': stiffness\[0\] is -1"),
    (lambda s: s.areas("f", "dust", FACE, stiffness=-1.0), r"areas 'f': stiffness\[0\] is -1"),
    (lambda s: s.volumes("f", "dust", TOP, stiffness=NAN), r"volumes 'f': stiffness\[0\] is nan"),
    (
        lambda s: s.volumes("f", "dust", [[0, 2, 1, 4]], stiffness=1.0),
        r"volumes 'f': tetrahedron 0, .*-0.167 m³; exchange",
    ),
    (
        lambda s: s.volumes("f", "dust", [[0, 1, 2, 3]], stiffness=1.0),
        r"volumes 'f': tetrahedron 0, .*has the volume 0 m³",
    ),
    # between all
    (
        lambda s: s.gravitation("f", constant=0.0),
        "gravitation 'f': constant must be a finite number above zero; got 0.0",
    ),
    (lambda s: s.gravitation("f", softening=-1.0), "gravitation 'f': softening must be .* got -1.0"),
    (lambda s: s.gravitation("f", theta=0.0), "gravitation 'f': theta must be a finite number above zero; got 0.0"),
    (lambda s: s.gravitation("f", theta=1.5), "gravitation 'f': theta is 1.5; give an opening angle up to 1"),
    (lambda s: s.gravitation("f", "sand"), "gravitation 'f': there are no particles 'sand'"),
    (lambda s: s.electrostatics("f", charge=[1.0, 2.0]), r"electrostatics 'f': charge must be numbers of shape \(5,\)"),
    (lambda s: s.electrostatics("f", charge="e"), "electrostatics 'f': charge must be numbers"),
    (lambda s: s.electrostatics("f", charge=NAN), r"electrostatics 'f': charge\[0\] is nan"),
    (
        lambda s: s.electrostatics("f", charge=1.0, constant=-1.0),
        "electrostatics 'f': constant must be .* above zero; got -1.0",
    ),
    (lambda s: s.lennard_jones("f", depth=0.0, diameter=1.0), "lennard_jones 'f': depth must be .* in J; got 0.0"),
    (lambda s: s.lennard_jones("f", depth=1.0, diameter=-1.0), "lennard_jones 'f': diameter must be .* in m; got -1.0"),
    (
        lambda s: s.lennard_jones("f", depth=1.0, diameter=1.0, cutoff=NAN),
        "lennard_jones 'f': cutoff must be .* got nan",
    ),
    (lambda s: s.repulsion("f", stiffness=0.0, diameter=1.0), "repulsion 'f': stiffness must be .* in N/m; got 0.0"),
    (lambda s: s.repulsion("f", stiffness=1.0, diameter=np.inf), "repulsion 'f': diameter must be .* got inf"),
    (
        lambda s: s.repulsion("f", stiffness=1.0, diameter=1.0, damping=-1.0),
        "repulsion 'f': damping must be .* got -1.0",
    ),
    (lambda s: s.radial("f", function=lambda r: (r, 1.0), cutoff=0.0), "radial 'f': cutoff must be .* in m; got 0.0"),
]


@pytest.mark.parametrize("add, pattern", FORCES, ids=[str(i) for i in range(len(FORCES))])
def test_force_on_particles(add, pattern):
    scene = some()
    with refused(pattern):
        add(scene)
    assert not scene.forces
    scene.springs("f", "dust", PAIR, stiffness=1.0)  # the name is still free


def test_elements_whose_ends_are_at_one_place():
    scene = dal.Scene()
    scene.add_particles("p", [[0, 0, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]], mass=1.0)
    with refused(
        r"springs 'f': spring 1, particles \[0, 1\], starts with both ends at one point and a rest length of 0.5 m"
    ):
        scene.springs("f", "p", [[0, 2], [0, 1]], stiffness=1.0, rest=0.5)
    scene.springs("loose", "p", [[0, 1]], stiffness=1.0)
    with refused(
        r"angular springs 'f': element 0, particles \[0, 1, 2\], has two particles at the same place; an angle needs"
    ):
        scene.angular_springs("f", "p", [[0, 1, 2]], stiffness=1.0)
    with refused(r"bending 'f': element 0, particles \[2, 0, 1\], has two particles at the same place"):
        scene.bending("f", "p", [[2, 0, 1]], stiffness=1.0)
    with refused(r"angular springs 'f': the rest angle of element 0 is 3\.14.*bending\(\)"):
        scene.angular_springs("f", "p", [[0, 2, 3]], stiffness=1.0)
    with refused(r"areas 'f': area\[0\] is 0; give numbers above zero"):
        scene.areas("f", "p", [[0, 2, 3]], stiffness=1.0)


def test_a_law_without_particles():
    with refused("repulsion 'f': there are no particles yet; add particles first"):
        dal.Scene().repulsion("f", stiffness=1.0, diameter=1.0)
