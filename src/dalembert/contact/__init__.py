"""Contact with friction: the solvers of one time step, impulses, resting contact, and how contact enters a run."""
