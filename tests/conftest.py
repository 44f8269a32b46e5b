"""Which cases of a test run: one in `n` of those of a test marked `sampled(n)`, or every one with `--every-case`.

The cases are chosen by a hash of their names, so they are always the same. A test that is named on the command line
(`file.py::test`, or `-k`) runs with every case.
"""

import zlib
from collections import defaultdict


def pytest_addoption(parser):
    parser.addoption("--every-case", action="store_true", help="run every case of the tests that are marked `sampled`")


def pytest_collection_modifyitems(config, items):
    if config.option.every_case or config.option.keyword or any("::" in argument for argument in config.args):
        return
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            cases[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    left_out = set()
    for (_, number), found in cases.items():
        found.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        left_out.update(found[-(-len(found) // number) :])
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
