"""Runs each scene named in its arguments, and prints the hash of its last state and which kernels ran, as JSON.

A program of its own, which the tests of the wheel start in the place where that is installed.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import dalembert as dal
from dalembert.core import shipped
from dalembert.gallery import double_pendulum

LEG = """
  <link name="leg {i}">
    <inertial><origin xyz="0 0 -0.15"/><mass value="0.5"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.0004"/></inertial>
    <collision><origin xyz="0 0 -0.15"/><geometry><cylinder radius="0.02" length="0.3"/></geometry></collision>
    <collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <joint name="hip {i}" type="revolute">
    <origin xyz="{x} {y} 0"/><parent link="trunk"/><child link="leg {i}"/><axis xyz="0 1 0"/>
    <limit lower="-0.8" upper="0.8" effort="20" velocity="10"/><dynamics damping="0.05" friction="0.02"/>
  </joint>"""
TRUNK = """
  <link name="trunk">
    <inertial><mass value="6"/><inertia ixx="0.05" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>
    <collision><geometry><box size="0.6 0.25 0.1"/></geometry></collision>
  </link>"""


def pendulum():
    return dal.simulate(double_pendulum.build(), 1.0)


def boxes():
    """A stack of boxes that turn a little falls over."""
    scene = dal.Scene("boxes", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for k in range(4):
        scene.add_body(
            f"box {k}", dal.Box(0.4, 0.5, 0.3), mass=1.0, position=(0.05 * k, 0.02 * k * k, 0.2 + 0.32 * k),
            angular_velocity=(0.1 * k, 0.2, -0.5),
        )  # fmt: skip
    return dal.simulate(scene, 1.0, dt=1 / 240)


def cloth():
    vertices, faces = dal.triangle_grid(1.0, 1.0, 12, 12)
    scene = dal.Scene("cloth")
    scene.cloth("cloth", vertices, faces, density=0.2, stretch=500.0, shear=200.0, bend=1e-5, pinned=[0, 11])
    return dal.simulate(scene, 0.5, method="linear_implicit_euler", dt=1 / 60)


def quadruped():
    """A robot of a URDF that falls onto its feet."""
    corners = [(x, y) for x in (-0.25, 0.25) for y in (-0.15, 0.15)]
    legs = "".join(LEG.format(i=i, x=x, y=y) for i, (x, y) in enumerate(corners))
    path = Path("quadruped.urdf")
    path.write_text(f'<robot name="quadruped">{TRUNK}{legs}</robot>')
    scene = dal.load_model(path, floating=True).scene
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0.0, 0.0, -0.5), material=dal.Material(friction=0.8))
    return dal.simulate(scene, 0.5, coordinates="joint", method="time_stepping", dt=1e-3)


def batch():
    return dal.run_batch(double_pendulum.build(), 0.5, vary={"lower.mass": np.linspace(0.5, 2.0, 8)}, frame_rate=10.0)


def numbers(run):
    """The last state of a run, or of every member of a batch."""
    return run.state[:, -1] if isinstance(run, dal.Batch) else run.recorder.frames["state"][-1]


if __name__ == "__main__":
    found = {
        name: hashlib.sha256(np.ascontiguousarray(numbers(globals()[name]()), "<f8").tobytes()).hexdigest()
        for name in sys.argv[1:]
    }
    print(json.dumps({"states": found, "kernels": shipped.description(), "package": dal.__file__,
                      "numba": "numba" in sys.modules}))  # fmt: skip
