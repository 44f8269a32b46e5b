"""`dalembert methods`."""

from __future__ import annotations

from . import command


@command("methods")
def methods() -> int:
    """List the methods of runs and the solvers of contact, with their options and defaults."""
    from ..contact.solvers import SOLVERS
    from ..simulation.methods import registry

    print("Methods (--method)")
    for family in registry.FAMILIES:
        for name in family.names():
            facts = family.facts(name)
            print(f"  {name:24} order {facts.order}, {facts.steps + ';':19} {facts.help}")
    print("Options of methods")
    for each in registry.classes():
        print(f"  {each.__name__:24} {', '.join(registry.option_words(each))}")
    print("Solvers of contact (--solver)")
    for name, own in SOLVERS.items():
        print(f"  {name:24} {own.help}; at most {own.iterations} passes, to {own.tolerance:g} {own.unit}")
    return 0
