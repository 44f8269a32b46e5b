"""Contact with friction: the solvers of one time step, impulses, and steppers of runs."""

# The modules here that add a contact solver; see `solvers`.
SOLVER_FILES = ("converge",)
