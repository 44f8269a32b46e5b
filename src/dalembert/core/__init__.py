"""Compilation, tables, threads, vectors: what all other packages are written with. No mechanics."""
