"""What cannot be run of particles is refused with the name of the object, the value, and what to do."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene import mesh_topology

SQUARE = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.3, 0.4, 1.0]]  # and a top
NAN = float("nan")


def some():
    scene = dal.Scene("some")
    scene.add_particles("dust", SQUARE, mass=1.0)
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 3))
    return scene


def refused(pattern):
    return pytest.raises(ValueError, match=pattern)


# Groups ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"position": [[0, 0]]}, r"position must be numbers of shape \(n, 3\).*\(1, 2\)"),
        ({"position": [[0, 0, 0], [0, 0]]}, "position must be numbers of shape"),
        ({"position": "here"}, "position must be numbers"),
        ({"position": [[0, 0, NAN]]}, r"position\[0, 2\] is nan; give finite"),
        ({"position": np.zeros((0, 3))}, "0 particles; give 1 to"),
        ({"mass": 0.0}, r"mass\[0\] is 0; give numbers above zero"),
        ({"mass": [1, -2, 1, 1, 1]}, r"mass\[1\] is -2; give numbers above zero"),
        ({"mass": [1, 2]}, r"mass must be numbers of shape \(5,\)"),
        ({"mass": np.inf}, r"mass\[0\] is inf; give finite"),
        ({"mass": "heavy"}, r"mass must be numbers of shape \(5,\); got <U5"),
        ({"velocity": [[0, 0, 0]]}, r"velocity must be numbers of shape \(5, 3\)"),
        ({"velocity": (0, np.inf, 0)}, r"velocity\[0, 1\] is inf"),
        ({"mass": True}, "mass must be numbers"),
        ({"mass": [[1.0], [1.0, 2.0]]}, "mass must be numbers"),
        ({"velocity": [[0, 0, 0], [0]]}, "velocity must be numbers"),
        ({"pinned": [[0], [1, 2]]}, "pinned is .*; give"),
        ({"radius": -0.1}, "radius must be a finite number not below 0; got -0.1"),
        ({"radius": NAN}, "radius must be a finite number not below 0; got nan"),
        ({"pinned": [0, 5]}, r"pinned is \[0, 5\]; give True or False.*indices below 5"),
        ({"pinned": [-6]}, r"pinned is \[-6\].*indices below 5"),
        ({"pinned": [0.5]}, r"pinned is \[0.5\]; give"),
        ({"pinned": [True, False]}, r"pinned is \[True, False\]; give"),
        ({"pinned": "all"}, "pinned is 'all'; give"),
        (
            {"pinned": [2], "velocity": (0, 0, 1)},
            r"particle 2 is pinned and has velocity \[0.0, 0.0, 1.0\]; give it none",
        ),
    ],
)
def test_particles(fields, pattern):
    scene = dal.Scene()
    with refused(pattern) as caught:
        scene.add_particles("cloud", **{"position": SQUARE, "mass": 1.0, **fields})
    assert str(caught.value).startswith("particles 'cloud': ")
    assert not scene.particles


def test_names_of_groups_and_their_forces_are_given_once():
    scene = some()
    with refused("particles 'dust': the scene has one of that name already"):
        scene.add_particles("dust", [0, 0, 0], mass=1.0)
    scene.field("f")
    with refused("'f': the scene has one of that name already"):
        scene.medium("f", linear=1.0)
    with refused("name must be a text"):
        scene.add_particles("", [0, 0, 0], mass=1.0)


def test_a_particle_that_there_is_not():
    group = some().particles["dust"]
    with pytest.raises(IndexError, match="'dust': there is no particle 5; there are 5"):
        group[5]
    assert group[-1].name == "dust[4]"


# Forces ---------------------------------------------------------------------------------------------------------------

PAIR, TRIPLE, FACE, TOP = [[0, 1]], [[0, 1, 2]], [[0, 1, 2]], [[0, 1, 2, 4]]

FORCES = [
    # on each
    (
        lambda s: s.field("f", "sand", force=(0, 0, 1)),
        "field 'f': there are no particles 'sand' in this scene; groups: dust",
    ),
    (lambda s: s.field("f", ["dust", "dust"]), "field 'f': a group of particles is named twice"),
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
        r"'f': element 0 names a particle twice, \[2, 2\]; name",
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
    (lambda s: s.bending("f", "dust", [[0, 1, 0]], stiffness=1.0), r"bending 'f': element 0 names a particle twice"),
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
    (lambda s: s.coulomb("f", charge=[1.0, 2.0]), r"coulomb 'f': charge must be numbers of shape \(5,\)"),
    (lambda s: s.coulomb("f", charge="e"), "coulomb 'f': charge must be numbers"),
    (lambda s: s.coulomb("f", charge=NAN), r"coulomb 'f': charge\[0\] is nan"),
    (lambda s: s.coulomb("f", charge=1.0, constant=-1.0), "coulomb 'f': constant must be .* above zero; got -1.0"),
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
        r"springs 'f': spring 1, particles \[0, 1\], starts with both ends at one place and a rest length of 0.5 m"
    ):
        scene.springs("f", "p", [[0, 2], [0, 1]], stiffness=1.0, rest=0.5)
    scene.springs("loose", "p", [[0, 1]], stiffness=1.0)
    with refused(r"angular springs 'f': element 0, particles \[0, 1, 2\], has two at the same place; an angle needs"):
        scene.angular_springs("f", "p", [[0, 1, 2]], stiffness=1.0)
    with refused(r"bending 'f': element 0, particles \[2, 0, 1\], has two at the same place"):
        scene.bending("f", "p", [[2, 0, 1]], stiffness=1.0)
    with refused(r"angular springs 'f': the rest angle of element 0 is 3\.14.*bending\(\)"):
        scene.angular_springs("f", "p", [[0, 2, 3]], stiffness=1.0)
    with refused(r"areas 'f': area\[0\] is 0; give numbers above zero"):
        scene.areas("f", "p", [[0, 2, 3]], stiffness=1.0)


def test_a_law_without_particles():
    with refused("repulsion 'f': there are no particles yet; add some first"):
        dal.Scene().repulsion("f", stiffness=1.0, diameter=1.0)


# Threads, cloth, soft bodies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"points": [[0, 0, 0]]}, r"points must have the shape \(n, 3\).*got \(1, 1, 3\)"),
        ({"points": [0.0, 1.0]}, "points must have the shape"),
        ({"points": "here"}, "points must have the shape"),
        ({"points": [[0, 0, 0], [1]]}, "points must have the shape"),
        ({"points": [[0, 0, 0], [0, 0, 0]]}, r"two neighbours, \[0, 0\], are at the same place"),
        ({"points": [[0, 0, 0], [0, 0, NAN]]}, r"two neighbours, \[0, 0\], are .* not finite"),
        ({"density": 0.0}, "density must be a finite number above zero, in kg/m; got 0.0"),
        ({"stretch": 0.0}, "stretch must be a finite number above zero, in N; got 0.0"),
        ({"bend": -1.0}, "bend must be a finite number not below 0; got -1.0"),
        ({"damping": NAN}, "damping must be a finite number not below 0; got nan"),
        ({"pinned": [3]}, r"pinned is \[3\]"),
    ],
)
def test_thread(fields, pattern):
    with refused(pattern) as caught:
        dal.Scene().thread(
            "yarn", **{"points": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "density": 1.0, "stretch": 1.0, **fields}
        )
    assert "'yarn'" in str(caught.value)


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, NAN]]}, r"vertices\[2, 2\] is nan"),
        ({"faces": [[0, 1]]}, r"give a table of whole numbers of shape \(m, 3\)"),
        ({"faces": [[0, 1, 9]]}, r"element 0 names \[0, 1, 9\].*particles 0 to 4"),
        ({"faces": [[0, 1, 1]]}, "element 0 names a particle twice"),
        ({"faces": [[0, 1, 2]]}, "vertex 3 belongs to no triangle; leave it out"),
        (
            {"faces": [[0, 1, 2], [0, 1, 3], [0, 1, 4]]},
            "the edge between vertices 0 and 1 belongs to more than two triangles",
        ),
        ({"density": -1.0}, "density must be a finite number above zero, in kg/m²; got -1.0"),
        ({"stretch": 0.0}, "stretch must be a finite number above zero, in N/m; got 0.0"),
        ({"stretch": (1.0, -1.0)}, "stretch must be .* got -1.0"),
        ({"shear": -1.0}, "shear must be a finite number not below 0; got -1.0"),
        ({"bend": np.inf}, "bend must be .* got inf"),
        ({"damping": -1.0}, "damping must be .* got -1.0"),
        ({"coordinates": [[0, 0]]}, r"coordinates must be numbers of shape \(5, 2\)"),
        ({"coordinates": np.zeros((5, 2))}, r"triangle 0, vertices \[0, 1, 2\], has no area; leave it out"),
    ],
)
def test_cloth(fields, pattern):
    good = {
        "vertices": SQUARE,
        "faces": [[0, 1, 2], [0, 2, 3], [0, 1, 4]],
        "density": 1.0,
        "stretch": 1.0,
        "shear": 1.0,
    }
    scene = dal.Scene()
    with refused(pattern) as caught:
        scene.cloth("flag", **{**good, **fields})
    assert "'flag'" in str(caught.value)
    scene.cloth("other", **good)


def test_a_cloth_with_a_flat_triangle():
    with refused(r"cloth 'flag': triangle 1, vertices \[0, 2, 3\], has no area; leave it out, or move a vertex"):
        dal.Scene().cloth("flag", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]], density=1.0,
                          stretch=1.0, shear=1.0)  # fmt: skip


@pytest.mark.parametrize(
    "fields, pattern",
    [
        (
            {"tetrahedra": [[0, 2, 1, 4]]},
            r"tetrahedron 0, particles \[0, 2, 1, 4\], has the volume -0.167 m³; exchange two",
        ),
        ({"tetrahedra": [[0, 1, 2, 3]]}, "tetrahedron 0, .* has the volume 0 m³"),
        ({"tetrahedra": [[0, 1, 2]]}, r"give a table of whole numbers of shape \(m, 4\)"),
        ({"tetrahedra": [[0, 1, 2, 4]]}, "vertex 3 belongs to no tetrahedron; leave it out"),
        ({"density": NAN}, "density must be .* in kg/m³; got nan"),
        ({"young": 0.0}, "young must be .* in Pa; got 0.0"),
        ({"poisson": 0.5}, "poisson is 0.5; give a number below ½"),
        ({"poisson": -0.1}, "poisson must be a finite number not below 0; got -0.1"),
        ({"viscosity": -1.0}, "viscosity must be .* got -1.0"),
    ],
)
def test_soft_body(fields, pattern):
    good = {"vertices": SQUARE, "tetrahedra": [[0, 1, 2, 4], [0, 2, 3, 4]], "density": 1.0, "young": 1e4}
    with refused(pattern) as caught:
        dal.Scene().soft_body("jelly", **{**good, **fields})
    assert "'jelly'" in str(caught.value)


@pytest.mark.parametrize(
    "make, pattern",
    [
        (lambda: mesh_topology.sheet(0.0, 1.0, 2, 2), "sheet: width must be .* got 0.0"),
        (lambda: mesh_topology.sheet(1.0, NAN, 2, 2), "sheet: height must be .* got nan"),
        (
            lambda: mesh_topology.sheet(1.0, 1.0, 1, 2),
            "sheet: 1 columns and 2 rows of vertices; give whole numbers above one",
        ),
        (lambda: mesh_topology.sheet(1.0, 1.0, 2.5, 2), "sheet: 2.5 columns"),
        (lambda: mesh_topology.block((1.0, 1.0, -1.0), (1, 1, 1)), "block: size must be .* got -1.0"),
        (lambda: mesh_topology.block((1.0, 1.0), (1, 1, 1)), "block: size .* give three lengths"),
        (lambda: mesh_topology.block((1.0, 1.0, 1.0), (1, 1, 0)), r"block: .*cells \(1, 1, 0\); give"),
    ],
)
def test_meshes(make, pattern):
    with refused(pattern):
        make()


# Joints and springs of bodies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "connect, pattern",
    [
        (
            lambda s, p: s.hinge("j", "ball", p, (0, 0, 0), (0, 0, 1)),
            r"hinge 'j': dust\[0\] is a particle, which has no axes",
        ),
        (
            lambda s, p: s.weld("j", p, "ball", (0, 0, 0)),
            r"weld 'j': dust\[0\] is a particle, which has no axes; it takes ball",
        ),
        (
            lambda s, p: s.point_on_line("j", p, "ball", (0, 0, 0), (0, 0, 1)),
            r"'j': dust\[0\] is a particle; let it be b",
        ),
        (
            lambda s, p: s.ball("j", "ball", p, (0, 0, 1)),
            r"'j': at is \[0.0, 0.0, 1.0\], and dust\[0\] is at .* only point",
        ),
        (lambda s, p: s.rod("j", p, "ball"), "'j': at_b is missing; give the point of 'ball'"),
        (lambda s, p: s.rod("j", p, p), r"'j': both ends are 'dust\[0\]'"),
        (
            lambda s, p: s.rod("j", "ball", some().particles["dust"][0], (0, 0, 3)),
            r"'j': particle dust\[0\] belongs to another",
        ),
        (
            lambda s, p: s.load("j", p, force=(0, 0, 1)),
            r"load 'j': it acts on 'dust\[0\]', which is no body.*field\(\)",
        ),
        (lambda s, p: s.rods("j", "dust", [[0, 9]]), r"rods 'j': element 0 names \[0, 9\]"),
        (lambda s, p: s.rods("j", "sand", [[0, 1]]), "rods 'j': there are no particles 'sand'"),
    ],
)
def test_joints_of_particles(connect, pattern):
    scene = some()
    with refused(pattern):
        connect(scene, scene.particles["dust"][0])


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, pattern",
    [
        (
            {"method": "implicit_eulers", "dt": 0.1},
            "unknown method 'implicit_eulers'; .*implicit_euler, implicit_midpoint, bdf2",
        ),
        ({"method": "implicit_euler"}, "method 'implicit_euler' takes fixed steps; give dt"),
        ({"method": "time_stepping"}, "method 'time_stepping' takes fixed steps; give dt"),
        ({"method": "bdf2", "dt": 0.0}, "dt is 0.0; give a finite number above zero"),
        ({"method": "bdf2", "dt": NAN}, "dt is nan; give a finite number above zero"),
        ({"method": "bdf2", "dt": 0.1, "newton_tolerance": -1.0}, "newton_tolerance is -1.0; give"),
        ({"method": "bdf2", "dt": 0.1, "linear_tolerance": 0.0}, "linear_tolerance is 0.0; give"),
        ({"method": "bdf2", "dt": 0.1, "linear_solver": "lu"}, "unknown linear solver 'lu'; there are cg, direct"),
        (
            {"method": "bdf2", "dt": 0.1, "hold": "feedback"},
            "hold is 'feedback', and method 'bdf2' holds joints by 'projection'",
        ),
        ({"method": "rk4"}, "method 'rk4' has no error estimate; give its step, dt"),
        ({"method": "rk4", "dt": 0.1, "frames": 0.0}, "frames is 0.0"),
    ],
)
def test_settings(settings, pattern):
    with refused(pattern):
        dal.Simulation(some(), **settings)


@pytest.mark.parametrize("method", ["linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"])
def test_steps_of_particles_need_particles(method):
    scene = dal.Scene("bodies")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    with refused(f"method '{method}' is one for particles, and scene 'bodies' has none; take 'time_stepping'"):
        dal.Simulation(scene, method=method, dt=0.1)


@pytest.mark.parametrize(
    "method", ["time_stepping", "linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"]
)
def test_time_steps_refuse_a_thread_of_rods(method):
    scene = dal.Scene("thread")
    scene.thread("rope", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], density=1.0, pinned=[0])
    with refused(rf"method '{method}' moves particles apart from joints, and 'rope\[0\]' holds rope\[1\]; .*'rk4'"):
        dal.Simulation(scene, method=method, dt=0.1)


def test_a_saved_run_of_another_scene_is_refused():
    run = dal.simulate(some(), 0.1, method="rk4", dt=0.05)
    other = some()
    other.add_particles("more", [0, 0, 9], mass=1.0)
    with refused("the saved run has .* numbers in its state and this scene .*; resume the same scene"):
        dal.Simulation(other, method="rk4", dt=0.05).resume(run.trajectory)
