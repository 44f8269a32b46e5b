"""Forces between all particles that are near, or between all of them: cell lists, trees, all pairs."""
