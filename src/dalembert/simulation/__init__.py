"""Runs: `Simulation` and its parts, methods by name (`registry`, `methods`), trajectories, checkpoints and sessions."""
