"""What a step reports of its solver."""

from ..jit import njit


@njit
def note_residual(report):
    """Keep the worst residual of the run, and count the steps in which the solver missed its aim."""
    report.largest_residual = max(report.largest_residual, report.residual)
    report.worst_residual = max(report.worst_residual, report.residual)
    if report.residual > report.aim:
        report.unsolved += 1
