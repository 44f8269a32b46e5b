"""Batches: many runs of one scene, which differ in numbers, inside one compiled call a thread."""
