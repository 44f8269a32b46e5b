"""`dalembert methods`."""

from __future__ import annotations

from . import command


@command("methods")
def methods() -> int:
    """List the integration methods, the methods for particles and the solvers of contact, with their defaults."""
    from ..contact.solvers import SOLVERS
    from ..integrate.methods import METHODS
    from ..particles.schemes import SCHEMES

    tables = {
        "Integration methods (--method)": {name: METHODS.help(name) for name in METHODS},
        "Fixed steps of particles and of contact (--method, with --dt)": {name: SCHEMES[name].help for name in SCHEMES},
        "Solvers of contact (--solver)": {
            name: f"{own.help}; at most {own.iterations} passes, to {own.tolerance:g} {own.unit}"
            for name, own in SOLVERS.items()
        },
    }
    for title, rows in tables.items():
        print(title)
        for name, text in rows.items():
            print(f"  {name:24} {text}")
    return 0
