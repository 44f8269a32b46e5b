"""What cannot be a thread, a cloth or a soft body is refused with its name, the value, and what to do."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene import mesh_file as mesh_topology

from .refusals import NAN, SQUARE, refused


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
        ({"faces": [[0, 1, 1]]}, "element 0 has a particle twice"),
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
        (lambda: mesh_topology.triangle_grid(0.0, 1.0, 2, 2), "triangle_grid: width must be .* got 0.0"),
        (lambda: mesh_topology.triangle_grid(1.0, NAN, 2, 2), "triangle_grid: height must be .* got nan"),
        (
            lambda: mesh_topology.triangle_grid(1.0, 1.0, 1, 2),
            "triangle_grid: 1 columns and 2 rows of vertices; give whole numbers above one",
        ),
        (lambda: mesh_topology.triangle_grid(1.0, 1.0, 2.5, 2), "triangle_grid: 2.5 columns"),
        (
            lambda: mesh_topology.tetrahedron_grid((1.0, 1.0, -1.0), (1, 1, 1)),
            "tetrahedron_grid: size must be .* got -1.0",
        ),
        (lambda: mesh_topology.tetrahedron_grid((1.0, 1.0), (1, 1, 1)), "tetrahedron_grid: size .* give three lengths"),
        (
            lambda: mesh_topology.tetrahedron_grid((1.0, 1.0, 1.0), (1, 1, 0)),
            r"tetrahedron_grid: .*cells \(1, 1, 0\); give",
        ),
    ],
)
def test_meshes(make, pattern):
    with refused(pattern):
        make()
