"""What is raised where the equations of contact were not solved."""


class NoSolution(RuntimeError):
    """The impulses of an impact or of a step, or the forces of resting contacts, were not found."""
