"""A library that cannot be used: one line says why, and kernels are compiled for the machine."""

import hashlib
import json
import subprocess
import sys

import pytest

from dalembert.core import shipped

from .test_wheel import run

pytestmark = pytest.mark.skipif(
    shipped.machine() not in shipped.BASELINES, reason="no library is made for this machine"
)


def best(place):
    """The file of the library that this processor takes."""
    flags = shipped.cpu_flags()
    baseline = next(baseline for baseline in shipped.BASELINES[shipped.machine()] if baseline.flags <= flags)
    return place.library / shipped.file_name(baseline.name)


def change_record(place, **changes):
    path = place.library / shipped.RECORD
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def put(place, data):
    """Another library, whose checksum the record gives."""
    path = best(place)
    path.write_bytes(data)
    record = json.loads((place.library / shipped.RECORD).read_text())
    libraries = record["libraries"] | {path.stem.removeprefix("kernels-"): hashlib.sha256(data).hexdigest()}
    change_record(place, libraries=libraries)


def of_another_source(place):
    with (place.package / "ensemble" / "batch_kernel.py").open("a") as file:  # of which no pendulum is made
        file.write("\n")
    return "built from other sources"


def of_another_format(place):
    change_record(place, format=shipped.FORMAT + 1)
    return f"format {shipped.FORMAT + 1}"


def for_another_machine(place):
    change_record(place, machine="riscv64")
    return "riscv64"


def truncated(place):
    data = best(place).read_bytes()
    best(place).write_bytes(data[: len(data) // 2])
    return "is damaged"


def a_bit_turned(place):
    data = bytearray(best(place).read_bytes())
    data[len(data) // 2] ^= 1
    best(place).write_bytes(data)
    return "is damaged"


def garbage(place):
    best(place).write_bytes(b"garbage" * 100)
    return "is damaged"


def garbage_that_the_record_names(place):
    put(place, b"garbage" * 100)
    return "invalid ELF header"


def missing(place):
    best(place).unlink()
    return "cannot be read"


def without_a_record(place):
    (place.library / shipped.RECORD).unlink()
    return "cannot be read"


def with_half_a_record(place):
    path = place.library / shipped.RECORD
    path.write_text(path.read_text()[:300])
    return "is damaged"


def with_another_kind_of_record(place):
    (place.library / shipped.RECORD).write_text("[1, 2]")
    return "is damaged"


def of_another_name(place):
    put(place, best(place).read_bytes().replace(b"format 1 ", b"format 7 "))
    return "does not match its record"


def without_a_symbol(place):
    put(place, best(place).read_bytes().replace(b"dalembert_integrate_driver_", b"dalembert_integrate_drover_"))
    return "has no dalembert_integrate_driver_integration_entry"


DAMAGES = (
    of_another_source, of_another_format, for_another_machine, truncated, a_bit_turned, garbage, missing, without_a_record,
    with_half_a_record, with_another_kind_of_record, of_another_name, without_a_symbol,
)  # fmt: skip
if sys.platform == "linux":
    DAMAGES += (garbage_that_the_record_names,)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_one_line_says_why_a_library_is_not_used_and_scenes_run(damaged, damage):
    reason = damage(damaged)
    said, lines = run(damaged, ["pendulum"])
    (line,) = [line for line in lines if not line.startswith("compiling ")]
    assert line.startswith("dalembert: ") and reason in line and "compiled for this machine" in line
    assert len(said["states"]["pendulum"]) == 64
    assert said["kernels"].endswith(shipped.COMPILED)
    assert said["kernels"].startswith("shipped library ") == (damage is without_a_symbol)


@pytest.mark.skipif(shipped.machine() != "x86_64", reason="there is one library, for all")
def test_a_processor_below_all_levels_is_told_what_it_lacks(damaged):
    flags = shipped.BASELINES["x86_64"][1].flags - {"ssse3"}
    said, lines = run(damaged, ["pendulum"], flags)
    (line,) = [line for line in lines if not line.startswith("compiling ")]
    assert "this processor lacks ssse3" in line and said["kernels"] == shipped.COMPILED


def test_a_checkout_has_no_library_and_says_nothing():
    assert not shipped.FOLDER.exists()
    symbol = "dalembert_core_thread_pool_serve"
    program = f"from dalembert.core import shipped; print(shipped.description(), shipped.address({symbol!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{shipped.COMPILED} None\n" and done.stderr == ""
