"""Which cases of a test run: one in `n` of those of a test marked `sampled(n)`, or every one with `--every-case`.

The cases are chosen by a hash of their names, so they are always the same. Each value of a parameter is in one of them,
unless it has more values than there are to be cases. A test that is named on the command line (`file.py::test`, or `-k`)
runs with every case.
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
    left_out = {item for (_, number), found in cases.items() for item in set(found) - sample(found, number)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def sample(cases, number):
    """One in `number` of the cases, or a few more, so that each value of a parameter is in one of them."""
    cases = sorted(cases, key=lambda case: zlib.crc32(case.nodeid.encode()))
    size = -(-len(cases) // number)
    values = {case: {(name, repr(value)) for name, value in case.callspec.params.items()} for case in cases}
    many = [
        name for name in cases[0].callspec.params if len({case[name] for case in map(dict, values.values())}) > size
    ]
    taken, seen = [], set()
    for case in cases:
        new = {value for value in values[case] if value[0] not in many} - seen
        if new:
            taken.append(case)
            seen |= new
    return {*taken, *[case for case in cases if case not in taken][: max(size - len(taken), 0)]}
