"""Codes by which a system of equations is told what to do: a code that two tasks share makes one of them do the other."""

import re
from pathlib import Path

from dalembert.core import c_function as pointer
from dalembert.dynamics.joint_space import mechanism
from dalembert.symbolic.constrained import FILL


def test_tasks_have_codes_of_their_own():
    text = Path(pointer.__file__).read_text("utf-8").split("# Tasks")[1].split("C_TYPE")[0]
    codes = {name: int(code) for name, code in re.findall(r"^([A-Z_]+) = (\d+)", text, re.MULTILINE)}
    codes |= {name: getattr(mechanism, name) for name in ("FORWARD_KINEMATICS", "INVERSE_KINEMATICS", "INERTIA")} | {
        "FILL": FILL
    }
    assert len(codes) > 15
    assert len(set(codes.values())) == len(codes), codes
