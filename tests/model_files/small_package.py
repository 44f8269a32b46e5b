"""A small package with a URDF, an MJCF file and meshes, written where a test wants it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (0.0, 1.0)])
FACES = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
         (1, 5, 7), (1, 7, 3)]  # fmt: skip
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="block"><mesh>
    <source id="points"><float_array id="numbers" count="24">{numbers}</float_array>
      <technique_common><accessor source="#numbers" count="8" stride="3"/></technique_common></source>
    <vertices id="vertices"><input semantic="POSITION" source="#points"/></vertices>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene">
    <node><translate>0 0 50</translate><node><rotate>0 0 1 90</rotate><scale>100 200 100</scale>
      <instance_geometry url="#block"/></node></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""


def write_package(folder: Path) -> Path:
    """The folder of the package: robot.urdf, features.xml, meshes/block.stl, .obj, .dae."""
    package = folder / "small"
    meshes = package / "meshes"
    meshes.mkdir(parents=True)
    for name in ("robot.urdf", "features.xml"):
        shutil.copyfile(HERE / name, package / name)
    text = "\n".join(
        "facet normal 0 0 0\nouter loop\n" + "\n".join("vertex {} {} {}".format(*CORNERS[i]) for i in face)
        + "\nendloop\nendfacet"
        for face in FACES
    )  # fmt: skip
    (meshes / "block.stl").write_text(f"solid block\n{text}\nendsolid block\n")
    rows = ["v {} {} {}".format(*corner) for corner in CORNERS]
    rows += ["f {} {} {}".format(*(i + 1 for i in face)) for face in FACES]
    (meshes / "block.obj").write_text("\n".join(rows) + "\n")
    (meshes / "block.dae").write_text(COLLADA.format(numbers=" ".join(map(str, CORNERS.ravel()))))
    return package
