"""Kernels call nothing outside themselves but what moves memory: no libm, whose bits differ between processors, no Python."""

import math
import struct
import sys

import pytest
import sympy as sp

import dalembert as dal
from dalembert.core.jit import DISABLED, CFunction
from dalembert.simulation import precompile as ahead
from dalembert.symbolic import expressions as generate

ALLOWED = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"}
SYMBOLS, SYMBOL_SIZE = 2, 24  # the kind of a section with symbols, and bytes of one, in an ELF file

pytestmark = pytest.mark.skipif(
    DISABLED or sys.platform != "linux", reason="kernels are compiled to ELF files elsewhere"
)


def undefined(code: bytes) -> set[str]:
    """Names of what a 64-bit ELF object needs from outside."""
    assert code[:5] == b"\x7fELF\x02"
    table, size, count = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQII", code, table + k * size) for k in range(count)]
    names = set()
    for _, kind, _, _, offset, length, linked, _ in sections:
        if kind == SYMBOLS:
            text = sections[linked][4]
            for at in range(offset, offset + length, SYMBOL_SIZE):
                name, _, _, section = struct.unpack_from("<IBBH", code, at)
                if section == 0 and name:
                    names.add(code[text + name : code.index(b"\0", text + name)].decode())
    return names


def needed_by(function: CFunction) -> set[str]:
    return undefined(function.object_file().code)


@pytest.mark.parametrize("function", ahead.everything(), ids=lambda function: function.name)
def test_kernels_need_nothing_from_outside(function):
    assert needed_by(function) <= ALLOWED


def test_generated_code_needs_nothing_from_outside():
    x, v = sp.symbols("x v")
    of_all = [sp.sin(x), sp.cos(x), sp.tan(x), sp.asin(x), sp.acos(x), sp.atan(x), sp.sinh(x), sp.cosh(x), sp.tanh(x)]
    of_all += [sp.asinh(x), sp.acosh(2 + x), sp.atanh(x), sp.exp(x), sp.log(2 + x), sp.atan2(x, 3), (2 + x) ** 1.3]
    system = dal.Lagrangian(v**2 / 2 - sum(of_all) - sp.sqrt(2 + x), [x], velocities=[v])
    assert needed_by(generate._compiled(system._generated.source)) <= ALLOWED


def test_what_calls_libm_is_found():
    def calls_sine(x):
        return int(math.sin(x))

    assert "sin" in undefined(CFunction(calls_sine, "int64(float64)", source="sin").object_file().code)
