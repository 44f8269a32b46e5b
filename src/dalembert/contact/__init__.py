"""Contact with friction: the solvers of one time step, impulses, resting contact, and how contact enters a run."""

# The modules here that add a contact solver; see `solvers`.
SOLVER_FILES = ("converge",)
