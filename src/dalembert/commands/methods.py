"""`dalembert methods`: the methods that can step a run, and their options."""

from __future__ import annotations


def methods() -> int:
    """List the methods of runs: order, steps, and what each is for; then the options with their defaults."""
    from ..simulation.methods import registry

    for family in registry.FAMILIES:
        for name in family.names():
            facts = family.facts(name)
            print(f"{name:22} order {facts.order}, {facts.steps + ';':19} {facts.help}")
    for each in registry.classes():
        print(
            f"\noptions of {', '.join(each.names())} ({each.__name__}):\n    {', '.join(registry.option_words(each))}"
        )
    return 0
