"""Runs: what steps them (`stepper`), the methods by name (`registry`, `methods`), and the parts of `Simulation`."""
